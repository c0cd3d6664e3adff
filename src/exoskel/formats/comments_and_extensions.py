"""What a document holds beside the scene, comments and data of other applications, on its way into another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from copy import deepcopy
from functools import cached_property

import numpy as np
from lxml import etree
from msgspec import Struct, field

from exoskel.scene.fields import items_by_node
from exoskel.scene.item import Item
from exoskel.scene.world import Model, Scene, World
from exoskel.source.document import Document, Tree, split_tag
from exoskel.source.element_context import Elements
from exoskel.source.embedded_data import EXTENSION, OURS, PREFIX
from exoskel.source.markup import RAW_TAG, Markup
from exoskel.source.prolog import escape_undeclared_references

KEPT = "kept"
"""The element of our own that holds data of other applications where the format has no place for it."""

STOOD = "in"
"""Its attribute that tells what the data stood in, where that is not the world it is found in."""

_DATA_COMMENT = b"odeenvironment parameters"
_WORLD_DATA = frozenset({"gravity", "CFM", "ERP", "timestep"})


STRANGERS = frozenset({"SK010.prefixed", "X202.prefixed"})
"""What readers say of elements of another namespace, outside of extensions."""


class PreservedData(Struct):
    """What was kept: numbers of elements, and places of comments in the source."""

    nodes: set[int] = field(default_factory=set)
    strangers: set[int] = field(default_factory=set)
    """Those of the elements that stand, or lie in one that stands, where the format knows nothing like it."""
    comments: set[int] = field(default_factory=set)
    copied: bool = False
    """Whether the output holds data of other applications, in a layout of its own."""


def keep(root: Markup, scene: Scene, format: str) -> PreservedData:
    """Put the comments and foreign data of a scene's source where their neighbours are in the output."""
    kept = PreservedData()
    document = scene.documents[0] if scene.documents else None
    if isinstance(document, Document):
        _Keeper(root, scene, document, format, kept).run()
    return kept


def keep_comments(root: Markup, scene: Scene, *, is_part: bool) -> PreservedData:
    """As `keep`, but comments alone, for formats that have no place for data of others.

    Of a scene that `is_part` of what was read, comments are left out that may belong to the rest.
    """
    kept = PreservedData()
    document = scene.documents[0] if scene.documents else None
    if isinstance(document, Document) and b"<!--" in document.text:
        _Keeper(root, scene, document, "", kept, is_part=is_part).comments([])
    return kept


class _Keeper:
    def __init__(
        self, root: Markup, scene: Scene, document: Document, format: str, kept: PreservedData, *, is_part: bool = False
    ) -> None:
        self.is_part = is_part
        self.root = root
        self.document = document
        self.source = scene.reading.format
        self.format = format
        self.kept = kept
        self.strangers = {d.place.node for d in scene.diagnostics if d.key in STRANGERS}
        self.scene = scene

    # Most documents hold neither comments nor data of others, and need none of these.

    @cached_property
    def elements(self) -> dict[int, Markup]:
        return {id(e.item): e for e in self.root.iter() if isinstance(e.item, Item)}

    @cached_property
    def items(self) -> dict[int, Item]:
        return items_by_node(self.scene)

    @cached_property
    def world(self) -> Markup:
        return next((e for e in self.root.iter() if isinstance(e.item, World)), self.root)

    def run(self) -> None:
        text = self.document.text
        foreign: list[int] = []
        if self.strangers or b"<ext" in text or b":ext" in text or KEPT.encode() in text:
            foreign = self._foreign_data()
        if b"<!--" in text:
            self.comments(foreign)

    def _home(self, node: int) -> Markup:
        """The output's element for the nearest item around an element of the source; else that of the world."""
        return self._around(node) or self.world

    def _around(self, node: int) -> Markup | None:
        parents = self.document.outline.parents
        while node >= 0:
            item = self.items.get(node)
            if isinstance(item, Model) and id(item) not in self.elements and item.bodies:
                item = item.bodies[0]  # a format where models have no elements
            if item is not None and id(item) in self.elements:
                return self.elements[id(item)]
            node = parents[node]
        return None

    def _last(self, node: int) -> Markup:
        """As `_home`, but of a model that has no element what stands last."""
        item = self.items.get(node)
        if isinstance(item, Model) and id(item) not in self.elements:
            members = [self.elements[id(one)] for one in (*item.bodies, *item.joints) if id(one) in self.elements]
            if members:
                return members[-1]
        return self._home(node)

    # --- comments -------------------------------------------------------------------------------------

    def comments(self, foreign: list[int]) -> None:
        """Take along all but those in foreign data, which go with it."""
        scan, text = self.document.scan, self.document.text
        elements = Elements(scan)
        spans = [elements.span(node) for node in foreign]
        starts = [span.start for span in spans]
        for (start, end), home in _around_regions(self.document):
            if not text.startswith(b"<!--", start):
                continue
            inside = bisect_right(starts, start) - 1
            if inside >= 0 and start < spans[inside].end:
                self.kept.comments.add(start)
                continue
            content = text[start + 4 : end - 3]
            if content.lstrip().startswith(_DATA_COMMENT):
                continue
            said = content.decode(scan.codec, "replace").replace("\r\n", "\n").replace("\r", "\n")
            place = self._list_for(*home)
            if place is not None:
                place.append(said)
                self.kept.comments.add(start)

    def _list_for(self, following: int, container: int) -> list[str] | None:
        """Where a comment goes: in front of what follows it, or at the end of what it is the end of."""
        if following == 0:
            return self.root.comments
        if container < 0:
            return self.root.behind
        parents = self.document.outline.parents
        if following < len(parents) and parents[following] == container:
            return None if self._is_astray(following) else self._home(following).comments
        return None if self._is_astray(container) else self._last(container).endings

    def _is_astray(self, node: int) -> bool:
        """Whether a comment stands at no part of the output in particular, and perhaps at one that was not chosen."""
        if not self.is_part:
            return False
        home = self._around(node)
        return home is None or isinstance(home.item, World)

    # --- data of other applications -------------------------------------------------------------------

    def _foreign_data(self) -> list[int]:
        """Copies what is foreign; returns the numbers of its elements in the source."""
        found: list[int] = []
        for number, beyond, element in self._foreign(self._tree()):
            is_stranger = number in self.strangers
            if is_stranger and ":" in str(element.tag).rpartition("}")[2]:
                continue  # nobody declared its prefix: there is no way to write it that all XML readers take
            found.append(number)
            (self.kept.strangers if is_stranger else self.kept.nodes).update(range(number, beyond))
            rest = element if is_stranger else _without_world_data(element)
            if rest is not None:
                self._copy(number, rest, is_stranger=is_stranger or element.tag == KEPT)
        return found

    def _foreign(self, tree: Tree) -> Iterator[tuple[int, int, Tree]]:
        """Data of others, and what an earlier writing kept of it, outermost elements only.

        Each with its number and that of the first element behind it.
        """
        beyond = 0
        for number, element in enumerate(tree.iter(etree.Element)):
            if number >= beyond and (number in self.strangers or self._is_foreign(element)):
                beyond = number + sum(1 for _ in element.iter(etree.Element))
                yield number, beyond, element

    def _is_foreign(self, element: Tree) -> bool:
        if self.source != "xode":
            return bool(element.tag == OURS + KEPT)
        if element.tag == KEPT:
            return _is_own(element.getparent())
        return element.tag.endswith("ext") and split_tag(element)[1] == "ext" and not _is_own(element)

    def _tree(self) -> Tree:
        document = self.document
        codec = document.encoding.codec if document.encoding.scannable else "utf-8"
        parser = etree.XMLParser(
            encoding=codec, resolve_entities=False, load_dtd=False, no_network=True, huge_tree=True, recover=True
        )
        text = document.text
        if b"&" in text and document.prolog.doctype is not None:
            text = escape_undeclared_references(text, document.scan.regions)
        return etree.fromstring(text, parser)

    def _copy(self, number: int, element: Tree, *, is_stranger: bool) -> None:
        """Put data of others into the output, each part in a copy that needs nothing from around it."""
        self.kept.copied = True
        home = self._home(number)
        stood = _stood_in(element) if isinstance(home.item, World) and not is_stranger else ""
        parts = list(element) if element.tag in (KEPT, OURS + KEPT) else [element]
        for part in map(deepcopy, parts):
            if not isinstance(part.tag, str):
                home.endings.append(part.text or "")
                continue
            etree.cleanup_namespaces(part)
            copy = Markup(RAW_TAG, verbatim=etree.tostring(part, encoding="unicode", with_tail=False))
            if self.format == "xode":
                place = _own_extension(home).add(KEPT) if is_stranger else self._place(home, stood)
                place.children.append(copy)
            elif is_stranger:
                home.children.append(copy)
            else:
                self.root.attributes.setdefault(f"xmlns:{PREFIX}", OURS[1:-1])
                told = {STOOD: stood} if stood else {}
                home.children.append(Markup(f"{PREFIX}:{KEPT}", told, verbatim=copy.verbatim))

    def _place(self, world: Markup, stood: str) -> Markup:
        """Where an extension belongs: what stands in a world itself, and only there, is read as gravity and such."""
        if stood == "xode":
            return self.root
        return next(child for child in world.children if child.tag == "space") if stood else world


def _around_regions(document: Document) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Comments and the like, each with the number of the element that follows and of the one that it lies in."""
    scan, text, parents = document.scan, document.text, document.outline.parents
    elements = Elements(scan)
    following, container, at = -1, -1, 0
    for start, end in scan.regions:
        behind = int(np.searchsorted(scan.starts, start))
        if behind != following:
            following, container = behind, behind - 1
            at = scan.tag_end(container) if container >= 0 else 0
            if container >= 0 and elements.is_empty_tag(container):
                container = parents[container]
        # Each end tag on the way leads one element out.
        for _ in range(text.count(b"</", at, start)):
            container = parents[container] if container >= 0 else -1
        at = end
        yield (start, end), (following, container)


def _is_own(element: Tree | None) -> bool:
    """Whether an element is the extension that exoskel writes."""
    return element is not None and element.tag == "ext" and element.get("ename") == EXTENSION


def _own_extension(home: Markup) -> Markup:
    """The extension that exoskel writes in an element of XODE; it is made if there is none."""
    found = next((child for child in home.children if child.attributes.get("ename") == EXTENSION), None)
    if found is None:
        found = Markup("ext", {"ename": EXTENSION})
        home.children.insert(1 if home.tag == "world" else len(home.children), found)
    return found


def _stood_in(element: Tree) -> str:
    """What an extension of a world stood in, unless it was the world itself: the root, or else some space or group."""
    if element.tag == OURS + KEPT:
        return str(element.get(STOOD, ""))
    parent = element.getparent()
    tag = "xode" if parent is None else split_tag(parent)[1]
    return {"world": "", "xode": "xode"}.get(tag, "space")


def _without_world_data(element: Tree) -> Tree | None:
    """An extension without what the scene holds anyway; None if nothing is left."""
    if element.tag in (KEPT, OURS + KEPT) or _stood_in(element) or not any(map(_is_world_data, element)):
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
    namespace, name = split_tag(child)
    return name in _WORLD_DATA and namespace in ("", split_tag(child.getparent())[0])
