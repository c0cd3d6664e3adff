"""What a document holds beside the scene, comments and data of other applications, on its way into another."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

import numpy as np
from lxml import etree
from msgspec import Struct, field

from exoskel.scene.content import by_node
from exoskel.scene.item import Item
from exoskel.scene.world import Model, Scene, World
from exoskel.source.carriage import EXTENSION, OURS, PREFIX
from exoskel.source.document import Document, Tree
from exoskel.source.markup import RAW, Markup

KEPT = "kept"
"""The element of our own that holds data of other applications where the format has no place for it."""

STOOD = "in"
"""Its attribute that tells what the data stood in, where that is not the world it is found in."""

_DATA_COMMENT = b"odeenvironment parameters"
_WORLD_DATA = frozenset({"gravity", "CFM", "ERP", "timestep"})


class Kept(Struct):
    """What was kept: numbers of elements, and places of comments in the source."""

    nodes: set[int] = field(default_factory=set)
    comments: set[int] = field(default_factory=set)


def keep(root: Markup, scene: Scene, format: str) -> Kept:
    """Put the comments and foreign data of a scene's source where their neighbours are in the output."""
    kept = Kept()
    document = scene.documents[0] if scene.documents else None
    if isinstance(document, Document):
        _Keeper(root, scene, document, format, kept).run()
    return kept


class _Keeper:
    def __init__(self, root: Markup, scene: Scene, document: Document, format: str, kept: Kept) -> None:
        self.root = root
        self.document = document
        self.format = format
        self.kept = kept
        self.elements = {id(e.item): e for e in root.iter() if isinstance(e.item, Item)}
        self.items = by_node(scene)

    def run(self) -> None:
        text = self.document.text
        foreign: list[tuple[int, int]] = []
        if b"<ext" in text or b":ext" in text or KEPT.encode() in text:
            foreign = self._foreign_data()
        if b"<!--" in text:
            self._comments(foreign)

    def _home(self, node: int) -> Markup:
        """The output's element for the nearest item around an element of the source."""
        for number in reversed(self.document.outline.ancestry(node)):
            item = self.items.get(number)
            if isinstance(item, Model) and id(item) not in self.elements and item.bodies:
                item = item.bodies[0]  # a format where models have no elements
            if item is not None and id(item) in self.elements:
                return self.elements[id(item)]
        return next((e for e in self.root.iter() if isinstance(e.item, World)), self.root)

    # --- comments -------------------------------------------------------------------------------------

    def _comments(self, foreign: list[tuple[int, int]]) -> None:
        scan, text = self.document.scan, self.document.text
        spans = np.array([self._bytes(first, last) for first, last in foreign]).reshape(-1, 2)
        for start, end in scan.regions:
            if not text.startswith(b"<!--", start):
                continue
            inside = int(np.searchsorted(spans[:, 0], start, side="right")) - 1
            if inside >= 0 and start < spans[inside, 1]:
                self.kept.comments.add(start)
                continue
            content = text[start + 4 : end - 3]
            if content.lstrip().startswith(_DATA_COMMENT):
                continue
            said = content.decode(scan.codec, "replace").replace("\r\n", "\n").replace("\r", "\n")
            self._list_for(start, end).append(said)
            self.kept.comments.add(start)

    def _list_for(self, start: int, end: int) -> list[str]:
        """Where a comment goes: in front of what follows it, or at the end of what it is the end of."""
        scan, text = self.document.scan, self.document.text
        following = int(np.searchsorted(scan.starts, start))
        if following == 0:
            return self.root.comments
        stop = int(scan.starts[following]) if following < len(scan.starts) else len(text)
        closed = text.count(b"</", end, stop)
        if following == len(scan.starts):
            closed -= 1  # the root's own end
            if closed < 0:
                return self.root.behind
        if closed <= 0 and following < len(scan.starts):
            return self._home(following).comments
        chain = self.document.outline.ancestry(following - 1)
        outside = self.document.outline.ancestry(following)[:-1] if following < len(scan.starts) else chain[:1]
        depth = min(len(outside) + max(closed, 0), len(chain)) - 1
        return self._home(chain[depth]).endings

    def _bytes(self, first: int, last: int) -> tuple[int, int]:
        starts = self.document.scan.starts
        return int(starts[first]), int(starts[last]) if last < len(starts) else len(self.document.text)

    # --- data of other applications -------------------------------------------------------------------

    def _foreign_data(self) -> list[tuple[int, int]]:
        """Copies what is foreign; returns the ranges of element numbers it takes in the source."""
        ranges: list[tuple[int, int]] = []
        tree = self._tree()
        for number, element in _foreign(tree):
            last = self.document.outline.ends[number]
            ranges.append((number, last))
            if element.tag == "ext" and element.get("ename") == EXTENSION:
                continue
            self.kept.nodes.update(range(number, last))
            rest = _without_world_data(element)
            if rest is not None:
                self._copy(number, rest, _stood_in(element))
        return ranges

    def _tree(self) -> Tree:
        codec = self.document.encoding.codec if self.document.encoding.walkable else "utf-8"
        parser = etree.XMLParser(encoding=codec, resolve_entities=False, no_network=True, huge_tree=True)
        return etree.fromstring(self.document.text, parser)

    def _copy(self, number: int, element: Tree, stood: str) -> None:
        parts = list(element) if element.tag == OURS + KEPT else [element]
        home = self._home(number)
        if not isinstance(home.item, World):
            stood = ""
        for part in map(deepcopy, parts):
            etree.cleanup_namespaces(part)
            source = etree.tostring(part, encoding="unicode", with_tail=False)
            if self.format == "xode" and etree.QName(part).localname == "ext":
                self._place(home, stood).children.append(Markup(RAW, verbatim=source))
            elif self.format == "skel":
                self.root.attributes.setdefault(f"xmlns:{PREFIX}", OURS[1:-1])
                home.children.append(Markup(f"{PREFIX}:{KEPT}", {STOOD: stood} if stood else {}, verbatim=source))

    def _place(self, world: Markup, stood: str) -> Markup:
        """Where an extension belongs: what stands in a world itself, and only there, is read as gravity and such."""
        if stood == "xode":
            return self.root
        return next(child for child in world.children if child.tag == "space") if stood else world


def _foreign(tree: Tree) -> Iterator[tuple[int, Tree]]:
    """Extensions, and what an earlier writing kept, outermost ones only, with their numbers."""
    number = -1
    inside: Tree | None = None
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        if not isinstance(element.tag, str):
            continue
        if event == "start":
            number += 1
            if inside is None and (etree.QName(element).localname == "ext" or element.tag == OURS + KEPT):
                inside = element
                yield number, element
        elif element is inside:
            inside = None


def _stood_in(element: Tree) -> str:
    """What an extension of a world stood in, unless it was the world itself: the root, or else some space or group."""
    if element.tag == OURS + KEPT:
        return str(element.get(STOOD, ""))
    parent = element.getparent()
    tag = "xode" if parent is None else etree.QName(parent).localname
    return {"world": "", "xode": "xode"}.get(tag, "space")


def _without_world_data(element: Tree) -> Tree | None:
    """An extension without what the scene holds anyway; None if nothing is left."""
    if element.tag == OURS + KEPT or _stood_in(element) or not any(map(_is_world_data, element)):
        return element
    rest = deepcopy(element)
    for child in [c for c in rest if _is_world_data(c)]:
        before = child.getprevious()
        if before is not None:  # removing an element takes the text behind it along
            before.tail = (before.tail or "") + (child.tail or "")
        else:
            rest.text = (rest.text or "") + (child.tail or "")
        rest.remove(child)
    return rest if len(rest) or (rest.text or "").strip() else None


def _is_world_data(child: Tree) -> bool:
    """Whether something in an extension of a world is one of the words that are read there."""
    if not isinstance(child.tag, str):
        return False
    name, around = etree.QName(child), etree.QName(child.getparent())
    return name.localname in _WORLD_DATA and name.namespace in (None, around.namespace)
