"""Preserves comments and data of other applications when a document is written in another format."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from copy import deepcopy
from functools import cached_property

import numpy as np
from lxml import etree
from msgspec import Struct, field

from exoskel.formats import registry
from exoskel.scene.fields import items_by_node
from exoskel.scene.item import Item
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document, Tree
from exoskel.source.embedded_format import NAMESPACED, EmbeddedDataFormat, OtherData, might_contain_other_data
from exoskel.source.encoding import escape_undeclared_references
from exoskel.source.markup import RAW_TAG, Markup
from exoskel.source.positions import Elements

_DATA_COMMENT = b"odeenvironment parameters"
"""How a comment starts that is read as data: PyBrain's parameters."""

UNKNOWN_NAMESPACE = frozenset({"SK010.prefixed", "X202.prefixed"})
"""Diagnostics about elements of other namespaces outside of extensions."""


class PreservedData(Struct):
    """What was preserved: the numbers of elements, and the byte offsets of comments in the source."""

    nodes: set[int] = field(default_factory=set)
    """Extensions, with all that is inside."""
    unknown: set[int] = field(default_factory=set)
    """Elements of other namespaces outside of extensions, with all that is inside."""
    comments: set[int] = field(default_factory=set)
    has_other_data: bool = False
    """Whether the output contains data of other applications, in a layout of its own."""


def preserve(root: Markup, scene: Scene, embedding: EmbeddedDataFormat) -> PreservedData:
    """Copy comments and data of other applications from a scene's source into the output, next to the same items."""
    preserved = PreservedData()
    document = scene.documents[0] if scene.documents else None
    if isinstance(document, Document):
        _Preserver(root, scene, document, preserved).copy_all(embedding)
    return preserved


def preserve_comments(root: Markup, scene: Scene, *, is_part: bool) -> PreservedData:
    """Copy comments only, for formats without a place for data of other applications.

    If the scene `is_part` of what was read, comments that may belong to other parts are omitted.
    """
    preserved = PreservedData()
    document = scene.documents[0] if scene.documents else None
    if isinstance(document, Document) and b"<!--" in document.text:
        _Preserver(root, scene, document, preserved, is_part=is_part).copy_comments([])
    return preserved


class _Preserver:
    def __init__(
        self, root: Markup, scene: Scene, document: Document, preserved: PreservedData, *, is_part: bool = False
    ) -> None:
        self.is_part = is_part
        self.root = root
        self.document = document
        self.preserved = preserved
        self.unknown = {d.place.node for d in scene.diagnostics if d.key in UNKNOWN_NAMESPACE}
        self.scene = scene

    # Most documents have neither comments nor data of other applications, and need none of these.

    @cached_property
    def elements(self) -> dict[int, Markup]:
        """Elements of the output by the ids of their items."""
        return {id(e.item): e for e in self.root.iter() if isinstance(e.item, Item)}

    @cached_property
    def items(self) -> dict[int, Item]:
        """Items by their elements in the source."""
        return items_by_node(self.scene)

    @cached_property
    def world(self) -> Markup:
        return next((e for e in self.root.iter() if isinstance(e.item, World)), self.root)

    def copy_all(self, embedding: EmbeddedDataFormat) -> None:
        text = self.document.text
        copied: list[int] = []
        if self.unknown or might_contain_other_data(text):
            copied = self._copy_other_data(embedding)
        if b"<!--" in text:
            self.copy_comments(copied)

    def _element_around(self, node: int) -> Markup | None:
        """The element in the output of the nearest item around an element of the source."""
        parents = self.document.outline.parents
        while node >= 0:
            item = self.items.get(node)
            if isinstance(item, Model) and id(item) not in self.elements and item.bodies:
                item = item.bodies[0]  # a format without elements for models
            if item is not None and id(item) in self.elements:
                return self.elements[id(item)]
            node = parents[node]
        return None

    def _owner(self, node: int) -> Markup:
        return self._element_around(node) or self.world

    def _last_owner(self, node: int) -> Markup:
        """As `_owner`, but the last element of a model that has no element of its own."""
        item = self.items.get(node)
        if isinstance(item, Model) and id(item) not in self.elements:
            members = [self.elements[id(one)] for one in (*item.bodies, *item.joints) if id(one) in self.elements]
            if members:
                return members[-1]
        return self._owner(node)

    # --- comments -------------------------------------------------------------------------------------

    def copy_comments(self, copied: list[int]) -> None:
        """Copy all comments except those in elements that have been copied whole."""
        scan, text = self.document.scan, self.document.text
        elements = Elements(scan)
        spans = [elements.span(node) for node in copied]
        starts = [span.start for span in spans]
        for (start, end), place in _regions_with_neighbours(self.document):
            if not text.startswith(b"<!--", start):
                continue
            inside = bisect_right(starts, start) - 1
            if inside >= 0 and start < spans[inside].end:
                self.preserved.comments.add(start)
                continue
            content = text[start + 4 : end - 3]
            if content.lstrip().startswith(_DATA_COMMENT):
                continue
            comment = content.decode(scan.codec, "replace").replace("\r\n", "\n").replace("\r", "\n")
            comments = self._comments_at(*place)
            if comments is not None:
                comments.append(comment)
                self.preserved.comments.add(start)

    def _comments_at(self, following: int, container: int) -> list[str] | None:
        """The list that a comment goes to: before the element that follows it, or at the end of its container."""
        if following == 0:
            return self.root.comments
        if container < 0:
            return self.root.trailing_comments
        parents = self.document.outline.parents
        if following < len(parents) and parents[following] == container:
            return None if self._may_belong_elsewhere(following) else self._owner(following).comments
        return None if self._may_belong_elsewhere(container) else self._last_owner(container).closing_comments

    def _may_belong_elsewhere(self, node: int) -> bool:
        """Whether a comment may be about a part of the source that is not in the output."""
        if not self.is_part:
            return False
        owner = self._element_around(node)
        return owner is None or isinstance(owner.item, World)

    # --- data of other applications -------------------------------------------------------------------

    def _copy_other_data(self, embedding: EmbeddedDataFormat) -> list[int]:
        """Copy data of other applications; returns the numbers of its elements in the source."""
        copied: list[int] = []
        for number, end, found in self._other_data():
            is_unknown = number in self.unknown
            if is_unknown and any(":" in str(part.tag).rpartition("}")[2] for part in found.parts):
                continue  # its prefix is not declared: not all XML readers would accept it
            copied.append(number)
            (self.preserved.unknown if is_unknown else self.preserved.nodes).update(range(number, end))
            self._copy(number, found, embedding)
        return copied

    def _other_data(self) -> Iterator[tuple[int, int, OtherData]]:
        """Data of other applications in the source, outermost elements only.

        Each with the number of its element and that of the first element after it.
        """
        format = self.scene.source_info.format
        source = (registry.by_name(format).embedding if format else None) or NAMESPACED
        end = 0
        for number, element in enumerate(self._tree().iter(etree.Element)):
            if number < end:
                continue
            is_unknown = number in self.unknown
            found = OtherData([element], is_unknown=True) if is_unknown else source.other_data(element)
            if found is not None:
                end = number + sum(1 for _ in element.iter(etree.Element))
                yield number, end, found

    def _tree(self) -> Tree:
        document = self.document
        codec = document.encoding.codec if document.encoding.scannable else "utf-8"
        parser = etree.XMLParser(
            encoding=codec, resolve_entities=False, load_dtd=False, no_network=True, huge_tree=True, recover=True
        )
        text = document.text
        if b"&" in text and document.prolog.is_incomplete:
            text = escape_undeclared_references(text, document.scan.regions, document.scan.codec)
        return etree.fromstring(text, parser)

    def _copy(self, number: int, found: OtherData, embedding: EmbeddedDataFormat) -> None:
        """Copy data into the output, each part with the namespaces it needs."""
        owner = self._owner(number)
        if not isinstance(owner.item, World):
            found.container = ""
        for part in map(deepcopy, found.parts):
            self.preserved.has_other_data = True
            if not isinstance(part.tag, str):
                owner.closing_comments.append(part.text or "")
                continue
            etree.cleanup_namespaces(part)
            copy = Markup(RAW_TAG, verbatim=etree.tostring(part, encoding="unicode", with_tail=False))
            embedding.add_other_data(self.root, owner, copy, found)


def _regions_with_neighbours(document: Document) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Comments and the like, each with the number of the element that follows and of the one around it."""
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
        # Each end tag before the comment closes one more element.
        for _ in range(text.count(b"</", at, start)):
            container = parents[container] if container >= 0 else -1
        at = end
        yield (start, end), (following, container)
