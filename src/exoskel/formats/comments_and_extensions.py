"""Preserves comments and data of other applications when a document is written in another format."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cached_property
from operator import attrgetter
from pathlib import Path

from lxml import etree
from msgspec import Struct, field

from exoskel.formats import registry
from exoskel.scene.fields import items_by_node
from exoskel.scene.item import Item
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document, PlacedComment, Tree
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
    """Elements of other namespaces outside of extensions, and others that are written again as they are, with all that
    is inside."""
    attributes: set[tuple[int, str]] = field(default_factory=set)
    """Attributes that are written again as they are, by their elements and names."""
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


class UnreadElements(Struct, frozen=True):
    """The elements that are not part of a scene, and that the format of the source has a place for.

    `keys` are those of diagnostics about them.  `settings` are the tags of others, by the tags of the elements around
    them.  `folder` is that of the output; references to files are changed for it.  `changed` are the numbers of those
    that the scene has with other values.  `copies` are the elements of the output that those of the source replace.
    """

    keys: tuple[str, ...] = ()
    settings: Mapping[str, frozenset[str]] = {}
    folder: Path | None = None
    changed: frozenset[int] = frozenset()
    copies: Mapping[int, Sequence[Markup]] = {}


ALL_READ = UnreadElements()


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
        preserver = _Preserver(root, scene, document, preserved, is_part=is_part)
        copied = preserver.copy_unread(unread, is_rotated) if unread.keys or unread.settings else []
        if document.placed_comments:
            preserver.copy_comments(copied)
    return preserved


_following = attrgetter("following")


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
        self._materials: dict[int, Markup | None] = {}

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
        copied: list[int] = []
        if self.unknown or might_contain_other_data(self.document.text):
            copied = self._copy_other_data(embedding)
        if self.document.placed_comments:
            self.copy_comments(copied)

    def copy_unread(self, unread: UnreadElements, is_rotated: bool) -> list[int]:
        """Copy the elements directly in written items, or in their materials, that are not read; returns their numbers.

        An element that refers to a link or joint that is not written is omitted.
        """
        found = {
            self.document.element(one.place)
            for one in self.scene.diagnostics
            if one.key.startswith(unread.keys) and one.source is self.document and not one.place.attribute
        }
        found.update(self._find_settings(unread.settings))
        found -= unread.changed
        if not found:
            return []
        names, copied, added = self._written_names(), list[int](), list[tuple[Markup, Markup, Markup | None]]()
        parents = self.document.outline.parents
        for number, element in enumerate(self._tree().iter(etree.Element)):
            owner = self._container_of(parents[number]) if number in found else None
            if owner is None or (is_rotated and isinstance(owner.item, World)):
                continue
            own = self._own_element(number, owner, unread.copies)
            if own is None and (number in unread.copies or self._is_written(element, owner)):
                continue
            copy = deepcopy(element)
            _relocate_files(copy, self.document.location.directory, unread.folder)
            made = _as_markup(copy) if _rename_references(copy, names) else None
            if made is not None:
                if own is not None:
                    _take_references(made, own)
                added.append((owner, made, own))
                copied.append(number)
                self.preserved.unknown.update(range(number, self.document.outline.ends[number]))
        for owner, made, own in added:
            if own is None:
                owner.children.append(made)
            else:
                made.item = own.item
                owner.children[owner.children.index(own)] = made
        return copied

    def _find_settings(self, settings: Mapping[str, frozenset[str]]) -> Iterator[int]:
        """The numbers of elements with these tags, by the tags of the elements around them."""
        tags, parents = self.document.outline.tags, self.document.outline.parents
        known = frozenset[str]().union(*settings.values())
        for number, tag in enumerate(tags):
            if tag in known and parents[number] >= 0 and tag in settings.get(tags[parents[number]], ()):
                yield number

    def _material_of(self, node: int) -> Markup | None:
        """The material of a visual in the output, for that of the source.

        An ambient colour that the writer made from the other one is removed, if the source states its own.
        """
        item = self.items.get(self.document.outline.parents[node])
        visual = self.elements.get(id(item))
        if item is None or visual is None:
            return None
        found = next((child for child in visual.children if child.tag == _MATERIAL), None)
        if found is None:
            found = visual.add(_MATERIAL)
        texts = {child.tag: child.text for child in found.children}
        inside = range(node + 1, self.document.outline.ends[node])
        stated = {self.document.outline.tags[one]: self.document.value_text(one) for one in inside}
        if "ambient" in stated and _same_numbers(texts.get("diffuse", ""), stated.get("diffuse", "")):
            found.children[:] = [child for child in found.children if child.tag != "ambient"]
        return found

    def _container_of(self, node: int) -> Markup | None:
        """The element in the output of the item whose own element this is, or of the material of one."""
        item = self.items.get(node)
        if item is None and node > 0 and self.document.outline.tags[node] == _MATERIAL:
            if node not in self._materials:
                self._materials[node] = self._material_of(node)
            return self._materials[node]
        if item is None and node == 0 and not self.is_part:
            return self.root
        return self.elements.get(id(item)) if item is not None else None

    def _own_element(self, node: int, owner: Markup, copies: Mapping[int, Sequence[Markup]]) -> Markup | None:
        """The element of a sensor, camera or light of the scene in the output, which a copy of its source replaces."""
        item, made = self.items.get(node), {id(one) for one in copies.get(node, ())}
        return next((one for one in owner.children if id(one) in made or (item is not None and one.item is item)), None)

    @staticmethod
    def _is_written(element: Tree, owner: Markup) -> bool:
        """Whether the output already has an element of this tag, which its writer made from the scene.

        Of sensors and lights, a link may have several: those with other names.
        """
        name = element.get("name") if element.tag in _NAMED else None
        return any(
            child.tag == element.tag and name in (None, child.attributes.get("name")) for child in owner.children
        )

    def _written_names(self) -> dict[str, str | None]:
        """The names of links and joints in the output by those in the source; None if they are not written."""
        found: dict[str, str | None] = {}
        tags, parents = self.document.outline.tags, self.document.outline.parents
        written = {str(one.attributes.get("name")) for one in self.root.iter() if one.tag in ("link", "joint")}
        for node, tag in enumerate(tags):
            if tag not in ("link", "joint") or tags[parents[node]] not in ("robot", "model"):
                continue
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
        for span, following, container in self._comments_nearby(copied):
            start, end = span.start, span.end
            inside = bisect_right(starts, start) - 1
            if inside >= 0 and start < spans[inside].end:
                self.preserved.comments.add(start)
                continue
            content = text[start + 4 : end - 3]
            if content.lstrip().startswith(_DATA_COMMENT):
                continue
            comment = content.decode(scan.codec, "replace").replace("\r\n", "\n").replace("\r", "\n")
            comments = self._comments_at(following, container)
            if comments is not None:
                comments.append(comment)
                self.preserved.comments.add(start)

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


_MATERIAL, _NAMED = "material", ("sensor", "light")
_FILES = ("_map", "uri")
"""How the tags of elements end whose text is the path of a file."""


def _same_numbers(one: str, other: str) -> bool:
    """Whether two colours have the same red, green and blue."""
    try:
        return [*map(float, one.split())][:3] == [*map(float, other.split())][:3]
    except ValueError:
        return False


def _relocate_files(element: Tree, source: Path | None, target: Path | None) -> None:
    """Change relative paths of files that an element refers to, for a document in another folder."""
    if source is None or target is None or source.resolve() == target.resolve():
        return
    for one in element.iter(etree.Element):
        text = (one.text or "").strip()
        if str(one.tag).endswith(_FILES) and text and ":" not in text and not text.startswith("/"):
            with suppress(ValueError):  # another drive
                one.text = Path(os.path.relpath(source.resolve() / text, target.resolve())).as_posix()


def _take_references(made: Markup, own: Markup) -> None:
    """Give a copy of an element the reference to an image that the element in the output has: it may be a copy too."""
    found = next((one.text for one in own.iter() if one.tag == _IMAGE and one.text), "")
    copied = next((one for one in made.iter() if one.tag == _IMAGE and one.text), None)
    if found and copied is not None:
        copied.text = found


_IMAGE = "albedo_map"
_REFERENCES = frozenset({"reference", "link", "joint"})
_REFERRING_ELEMENTS = frozenset({"joint_name", "link_name", "joint", "link", "parent", "child", "parent_link"})
"""Attributes, and elements with their text or their attribute `name`, that refer to links and joints."""


def _as_markup(element: Tree) -> Markup | None:
    """An element with all that it contains; None if it has text between elements, or namespaces."""
    root = Markup(str(element.tag), {str(key): str(value) for key, value in element.attrib.items()})
    waiting = [(element, root)]
    while waiting:
        source, made = waiting.pop()
        text, comments = (source.text or "").strip(), list[str]()
        if "{" in f"{made.tag}{''.join(made.attributes)}" or (text and len(source)):
            return None
        made.text = text
        for child in source:
            if (child.tail or "").strip() or child.tag in (etree.Entity, etree.ProcessingInstruction):
                return None
            if child.tag is etree.Comment:
                comments.append(child.text or "")
                continue
            inner = Markup(str(child.tag), {str(key): str(value) for key, value in child.attrib.items()})
            inner.comments, comments = comments, []
            made.children.append(inner)
            waiting.append((child, inner))
        made.closing_comments = comments
    return root


def _rename_references(element: Tree, names: Mapping[str, str | None]) -> bool:
    """Replace the names of links and joints in an element; False if it refers to one that is not written."""
    for one in element.iter(etree.Element):
        places = [(key, value) for key, value in one.attrib.items() if key in _REFERENCES]
        if one is not element and one.tag in _REFERRING_ELEMENTS and one.get("name"):
            places.append(("name", one.get("name", "")))
        for key, value in places:
            written = names.get(str(value), str(value))
            if written is None:
                return False
            one.set(key, written)
        text = (one.text or "").strip()
        if one.tag in _REFERRING_ELEMENTS and not len(one) and text in names:
            written = names[text]
            if written is None:
                return False
            one.text = written
    return True
