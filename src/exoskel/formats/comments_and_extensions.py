"""Preserves comments and data of other applications when a document is written in another format."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from operator import attrgetter

from lxml import etree
from msgspec import Struct, field, structs

from exoskel.fates import Verdict
from exoskel.formats import registry
from exoskel.formats.unread_elements import ALL_READ, ElementCopier, FindName, UnreadElements
from exoskel.formats.written_names import ElementOwner, IncludedNames, WrittenNames
from exoskel.scene.fields import items_by_node, items_of_documents
from exoskel.scene.item import Item
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document, PlacedComment
from exoskel.source.embedded_format import NAMESPACED, EmbeddedDataFormat, OtherData, might_contain_other_data
from exoskel.source.markup import RAW_TAG, Markup
from exoskel.source.output_context import InnerModel, NodeOfDocument
from exoskel.source.positions import Elements, Span
from exoskel.source.source_elements import SourceElements, within

_DATA_COMMENT = b"odeenvironment parameters"
"""How a comment starts that is read as data: PyBrain's parameters."""

UNKNOWN_NAMESPACE = frozenset({"SK010.prefixed", "X202.prefixed"})
"""Diagnostics about elements of other namespaces outside of extensions."""


class PreservedData(Struct):
    """What was preserved: the numbers of elements, and the byte offsets of comments in the source."""

    nodes: set[int] = field(default_factory=set)
    """Extensions, with all that is inside."""
    unknown: set[int] = field(default_factory=set)
    """Elements of other namespaces outside of extensions, and others that are written again as they are, with all that
    is inside."""
    attributes: set[tuple[int, str]] = field(default_factory=set)
    """Attributes that are written again as they are, by their elements and names."""
    lost_attributes: set[tuple[int, str]] = field(default_factory=set)
    """Attributes of such elements that are not written."""
    resolved: set[NodeOfDocument] = field(default_factory=set)
    """Poses in such elements that are written in their default frames, with the numbers of their documents."""
    comments: set[int] = field(default_factory=set)
    included: dict[int, PreservedData] = field(default_factory=dict)
    """The same for included files, by the numbers of their documents."""
    moved: dict[int, Verdict] = field(default_factory=dict)
    """What becomes of elements of nested models that are written in the model around these."""
    lost: set[int] = field(default_factory=set)
    """Elements of an included file that at least one of the models that include it does not have in the output."""
    has_other_data: bool = False
    """Whether the output contains data of other applications, in a layout of its own."""

    @property
    def has_comments(self) -> bool:
        """Whether the output contains comments of the source, or of the files that it includes."""
        return bool(self.comments) or any(one.comments for one in self.included.values())


def combine_included(parts: Sequence[PreservedData]) -> dict[int, PreservedData]:
    """What all parts of a scene together have preserved of included files."""
    found: dict[int, PreservedData] = {}
    for part in parts:
        for number, one in part.included.items():
            known = found.setdefault(number, PreservedData())
            known.unknown |= one.unknown
            known.comments |= one.comments
            known.moved |= one.moved
            known.attributes |= one.attributes
            known.lost |= one.lost
    return found


def preserve(root: Markup, scene: Scene, embedding: EmbeddedDataFormat) -> PreservedData:
    """Copy comments and data of other applications from a scene's source into the output, next to the same items."""
    preserved = PreservedData()
    document = scene.documents[0] if scene.documents else None
    if isinstance(document, Document):
        _Preserver(root, scene, document, preserved, SourceElements()).copy_all(embedding)
    return preserved


def preserve_comments(
    root: Markup,
    scene: Scene,
    *,
    is_part: bool,
    unread: UnreadElements = ALL_READ,
    is_rotated: bool = False,
) -> PreservedData:
    """Copy comments, for formats without a place for data of other applications.

    If the scene `is_part` of what was read, comments that may belong to other parts are omitted.  Elements that are
    `unread` are copied too.  If the world `is_rotated`, those of the world are omitted.
    """
    preserved = PreservedData()
    document = scene.documents[0] if scene.documents else None
    if isinstance(document, Document):
        preserver = _Preserver(
            root, scene, document, preserved, unread.source, is_part=is_part, inner_models=unread.inner_models
        )
        copied = preserver.copy_unread(unread, is_rotated) if unread.keys or unread.settings else []
        if document.placed_comments:
            preserver.copy_comments(copied)
        preserver.copy_included_comments()
    return preserved


_MODELS = ("model", "robot")
_following = attrgetter("following")


class _Spans:
    """The bytes of some elements of a document that are not inside each other."""

    def __init__(self, document: Document, nodes: Sequence[int]) -> None:
        elements = Elements(document.scan)
        self.spans = [elements.span(node) for node in nodes]
        self.starts = [span.start for span in self.spans]

    def __contains__(self, start: int) -> bool:
        index = bisect_right(self.starts, start) - 1
        return index >= 0 and start < self.spans[index].end


def _comment_text(document: Document, span: Span) -> str | None:
    """The text of a comment; None if it is read as data."""
    content = document.text[span.start + 4 : span.end - 3]
    if content.lstrip().startswith(_DATA_COMMENT):
        return None
    return content.decode(document.scan.codec, "replace").replace("\r\n", "\n").replace("\r", "\n")


class _Preserver:
    def __init__(
        self,
        root: Markup,
        scene: Scene,
        document: Document,
        preserved: PreservedData,
        source: SourceElements,
        *,
        is_part: bool = False,
        inner_models: Mapping[NodeOfDocument, Sequence[InnerModel]] | None = None,
    ) -> None:
        self.inner_models = inner_models or {}
        self.is_part = is_part
        self.root = root
        self.document = document
        self.preserved = preserved
        self.source = source
        self.scene = scene
        self.copied_of_included: dict[int, list[int]] = {}
        """The elements of included files that were copied whole, by the numbers of their documents."""

    # Most documents have neither comments nor data of other applications, and need none of these.

    @cached_property
    def unknown(self) -> set[int]:
        """Elements of other namespaces outside of extensions."""
        return {d.place.node for d in self.scene.diagnostics if d.key in UNKNOWN_NAMESPACE}

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
        copied: list[int] = []
        if self.unknown or might_contain_other_data(self.document.text):
            copied = self._copy_other_data(embedding)
        if self.document.placed_comments:
            self.copy_comments(copied)
        self.copy_included_comments()

    def copy_unread(self, unread: UnreadElements, is_rotated: bool) -> list[int]:
        """Copy the elements directly in written items, or in their materials, that are not read; returns their numbers.

        An element that refers to a link or joint that is not written is omitted.  Those of included files are copied
        into each of the models that include them.
        """
        every = WrittenNames(self.scene, self.elements, unread.frames)
        written = every if self.scene.source_info.included else None
        names = self._written_names(every, written)
        copier = ElementCopier(self.document, 0, unread, self.elements, names)
        copier.root = None if self.is_part else self.root
        copier.skips_worlds = is_rotated
        if unread.frames is not None:
            copier.find_frame = lambda name, item: every.find_frame(name, item, 0)
        copier.is_nested = lambda item: bool((place := every.place(item)) and place.path)
        parts = {node for number, node in unread.inner_models if not number} - self.items.keys()
        others = [node for node in parts if not any(node in span for span in self._spans or ())]
        spans = None if self._spans is None else self._spans + self._spans_of(others)
        copied = copier.copy({node: [item] for node, item in self.items.items()}, spans, is_nested=False)
        self.preserved.unknown |= copier.nodes
        self.preserved.moved |= copier.moved
        self.preserved.attributes |= copier.attributes
        self.preserved.lost |= (copier.lost & copier.nodes) | copier.omitted
        self.preserved.resolved |= {(0, node) for node in copier.resolved}
        if written is not None:
            self._copy_included(unread, written)
        return copied

    @cached_property
    def _spans(self) -> list[range] | None:
        """The elements of the models that are written, if there are others and no world; None: all elements."""
        if not self.is_part or any(isinstance(element.item, World) for element in self.elements.values()):
            return None
        return self._spans_of(node for node, item in self.items.items() if isinstance(item, Model))

    def _spans_of(self, nodes: Iterable[int]) -> list[range]:
        return [range(node, self.document.outline.ends[node]) for node in sorted(nodes)]

    def _copy_included(self, unread: UnreadElements, written: WrittenNames) -> None:
        """Copy the unread elements of included files."""
        items, included = items_of_documents(self.scene), self.scene.source_info.included
        unread = structs.replace(unread, folder=unread.folder or self.document.location.directory)
        for number in sorted(included):
            document = self.scene.documents[number]
            if not isinstance(document, Document):
                continue
            names = IncludedNames(written, document, number)
            copier = ElementCopier(document, number, unread, self.elements, names.find)
            copier.find_frame = names.find_frame
            self.copied_of_included[number] = copier.copy(items.get(number, {}), None, is_nested=included[number])
            if copier.nodes or copier.lost or copier.attributes:
                self.preserved.included[number] = PreservedData(
                    unknown=copier.nodes,
                    attributes=copier.attributes,
                    moved=copier.moved,
                    lost=copier.lost | copier.omitted,
                )
                self.preserved.resolved |= {(number, node) for node in copier.resolved}

    def _written_names(self, every: WrittenNames, written: WrittenNames | None) -> FindName:
        """Finds the names of links and joints in the output by those in the source."""

        def find(name: str, item: ElementOwner) -> str | None:
            place = every.place(item)
            if place is not None and every.is_known(name, place, 0):
                return every.find_stated(name, place, 0)
            if name in self._names_of_model(item):
                return None
            if name in self._stated_names or written is None or item is None:
                return self._stated_names.get(name, name)
            return written.find_path(name, item)

        return find

    def _names_of_model(self, item: ElementOwner) -> frozenset[str]:
        """The names of the links and joints directly in the model around an item, in the source."""
        if item is None:
            return frozenset()
        number, node = item.node if isinstance(item, InnerModel) else (item.document, item.node)
        if number or node < 0:
            return frozenset()
        outline = self.document.outline
        around = next((one for one in reversed(outline.ancestry(node)) if outline.tags[one] in _MODELS), -1)
        return self._names_by_model.get(around, frozenset())

    @cached_property
    def _names_by_model(self) -> dict[int, frozenset[str]]:
        found: dict[int, set[str]] = {}
        for node in self.source.named(self.document):
            found.setdefault(self.document.outline.parents[node], set()).add(self.document.attribute_text(node, "name"))
        return {node: frozenset(names) for node, names in found.items()}

    @cached_property
    def _stated_names(self) -> dict[str, str | None]:
        """The names of links and joints in the output by those in the source; None if they are not written."""
        found: dict[str, str | None] = {}
        written = {str(one.attributes.get("name")) for one in self.root.iter() if one.tag in ("link", "joint")}
        for node in within(self.source.named(self.document), self._spans):
            item, name = self.items.get(node), self.document.attribute_text(node, "name")
            if item is not None and id(item) in self.elements:
                found[name] = self.elements[id(item)].attributes.get("name", name)
            else:
                found[name] = name if name in written else None
        return found

    def _element_around(self, node: int) -> Markup | None:
        """The element in the output of the nearest item around an element of the source."""
        parents = self.document.outline.parents
        while node >= 0:
            item = self.items.get(node)
            if isinstance(item, Model) and id(item) not in self.elements and item.bodies:
                item = item.bodies[0]  # a format without elements for models
            if item is not None and id(item) in self.elements:
                return self.elements[id(item)]
            if (found := self._element_of_inner(node)) is not None:
                return found
            node = parents[node]
        return None

    def _element_of_inner(self, node: int) -> Markup | None:
        return next(iter(self._elements_of_inner(0, node)), None)

    def _elements_of_inner(self, number: int, node: int) -> list[Markup]:
        """The elements of the models that a nested or included model became, or of its first link in each of them."""
        found: list[Markup] = []
        for inner in self.inner_models.get((number, node), ()):
            links = (body for body in inner.model.bodies if inner.prefix and body.name.startswith(inner.prefix))
            first = [self.elements[id(one)] for one in (*links, inner.model) if id(one) in self.elements]
            found += first[:1]
        return found

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
        inside = _Spans(self.document, copied)
        for span, following, container in self._comments_nearby(copied):
            if span.start in inside:
                self.preserved.comments.add(span.start)
                continue
            comment = _comment_text(self.document, span)
            comments = self._comments_at(following, container) if comment is not None else None
            if comment is not None and comments is not None:
                comments.append(comment)
                self.preserved.comments.add(span.start)

    def copy_included_comments(self) -> None:
        """Copy the comments of included files into each of the models that include them."""
        items: dict[int, dict[int, list[Item]]] | None = None
        for number in sorted(self.scene.source_info.included):
            document = self.scene.documents[number]
            if not isinstance(document, Document) or not document.placed_comments:
                continue
            items = items_of_documents(self.scene) if items is None else items
            found = self._copy_comments_of(number, document, items.get(number, {}))
            if found:
                self.preserved.included.setdefault(number, PreservedData()).comments |= found

    def _copy_comments_of(self, number: int, document: Document, items: Mapping[int, Sequence[Item]]) -> set[int]:
        """Copy the comments of an included file; returns where they start."""
        inside = _Spans(document, self.copied_of_included.get(number, []))
        parents = document.outline.parents
        outermost = next((node for node, tag in enumerate(document.outline.tags) if tag in _MODELS), 0)
        found: set[int] = set()
        for span, following, container in document.placed_comments:
            comment = _comment_text(document, span)
            if comment is None:
                continue
            precedes = following == 0 or (following < len(parents) and parents[following] == container)
            node = following if precedes and following else max(container, outermost)
            owners = self._elements_of_included(number, parents, items, node)
            for owner in owners if span.start not in inside else ():
                (owner.comments if precedes else owner.closing_comments).append(comment)
            if owners or span.start in inside:
                found.add(span.start)
        return found

    def _elements_of_included(
        self, number: int, parents: Sequence[int], items: Mapping[int, Sequence[Item]], node: int
    ) -> list[Markup]:
        """The elements in the output of the nearest items around an element of an included file."""
        while node >= 0:
            around = [
                one.bodies[0] if isinstance(one, Model) and id(one) not in self.elements and one.bodies else one
                for one in items.get(node, ())
            ]
            found = [self.elements[id(one)] for one in around if id(one) in self.elements]
            found = found or self._elements_of_inner(number, node)
            if found:
                return found
            node = parents[node]
        return []

    def _comments_nearby(self, copied: list[int]) -> list[PlacedComment]:
        """The comments outside of the root element, and those from the first to the last element that is written.

        Others belong to other parts.  Without this, the parts of a document would take quadratic time.
        """
        comments, ends = self.document.placed_comments, self.document.outline.ends
        if not self.is_part:
            return comments
        written = [*copied, *(node for node, item in self.items.items() if not isinstance(item, World))]
        first = bisect_left(comments, min(written, default=0), key=_following)
        last = bisect_right(comments, max((ends[node] for node in written), default=0), key=_following)
        before = bisect_right(comments, 0, key=_following)
        after = bisect_left(comments, len(ends), key=_following)
        outside = [one for one in comments[max(after, last) :] if one.container < 0]
        return [*comments[: min(before, first)], *comments[first:last], *outside]

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
        for number, element in enumerate(self.source.elements(self.document)):
            if number < end:
                continue
            is_unknown = number in self.unknown
            found = OtherData([element], is_unknown=True) if is_unknown else source.other_data(element)
            if found is not None:
                end = number + sum(1 for _ in element.iter(etree.Element))
                yield number, end, found

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
