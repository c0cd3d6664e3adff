"""Copies the elements that a scene does not contain from its source into a document of the same format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from pathlib import Path

from lxml import etree
from msgspec import Struct

from exoskel.diagnostics import Diagnostic
from exoskel.fates import Fate, Verdict
from exoskel.formats.copied_markup import COMPILER, as_markup, relocate_files
from exoskel.formats.motor_markup import CONTROL, take_motors
from exoskel.formats.written_names import ElementOwner
from exoskel.scene.item import Item
from exoskel.scene.world import World
from exoskel.source.document import Document, Tree
from exoskel.source.markup import Markup
from exoskel.source.output_context import InnerModel, NodeOfDocument
from exoskel.source.source_elements import FindUnread, SourceElements, UnreadParts, within

FindName = Callable[[str, ElementOwner], "str | None"]
"""The name in the output of what an element in an item calls so; None if it is not written."""


class UnreadElements(Struct, frozen=True):
    """The elements that are not part of a scene, and that the format of the source has a place for.

    `keys` are those of `diagnostics` about them.  `settings` are the tags of others, by the tags of the elements around
    them.  `folder` is that of the output; references to files are changed for it.  `changed` are those that the scene
    has with other values.  `copies` are the elements of the output that those of the source replace.  `frames` are the
    names of frames in the output, and `resolve_pose` finds poses in their default frames: see `OutputContext`.  They
    are written so if a frame is not in the output, or if links `is_moved` from where they are in the source.
    `find_parts` finds more parts of documents that no scene has, `may_carry` states whether one of them has the same
    meaning in an element of the output, and `used` are those that the scene has in another form.
    """

    source: SourceElements
    diagnostics: Sequence[Diagnostic] = ()
    keys: tuple[str, ...] = ()
    settings: Mapping[str, frozenset[str]] = {}
    folder: Path | None = None
    changed: frozenset[NodeOfDocument] = frozenset()
    copies: Mapping[NodeOfDocument, Sequence[Markup]] = {}
    frames: Mapping[tuple[int, str], str | None] | None = None
    resolve_pose: Callable[[NodeOfDocument], str | None] = lambda _: None
    is_moved: bool = False
    inner_models: Mapping[NodeOfDocument, Sequence[InnerModel]] = {}
    find_parts: FindUnread | None = None
    may_carry: Callable[[Document, int, Markup], bool] = lambda *_: True
    used: frozenset[NodeOfDocument] = frozenset()


ALL_READ = UnreadElements(SourceElements())
_Addition = tuple[Markup, Markup, "Markup | None"]
"""An element of the output, a copy for it, and the element in it that the copy replaces, if any."""


class ElementCopier:
    """Copies unread elements of one document of the source; `elements` are those of the output by the ids of items."""

    root: Markup | None = None
    """The root of the output, if elements directly in that of the source are copied."""
    skips_worlds = False

    is_nested: Callable[[ElementOwner], bool] = staticmethod(lambda _: False)
    """Whether an item is in a nested model of the source."""

    find_frame: FindName | None = None
    """Finds the names of frames that poses are relative to, if these may differ."""

    def __init__(
        self,
        document: Document,
        number: int,
        unread: UnreadElements,
        elements: Mapping[int, Markup],
        find_name: FindName,
    ) -> None:
        self.document = document
        self.number = number
        self.unread = unread
        self.elements = elements
        self.find_name = find_name
        self._items: Mapping[int, Sequence[Item]] = {}
        self.nodes: set[int] = set()
        """The elements that were copied, with all that is inside."""
        self.moved: dict[int, Verdict] = {}
        """What becomes of those that were copied from a nested model into the model of the scene around it."""
        self.lost: set[int] = set()
        """Those that were not copied into at least one of the items that they are in."""
        self.omitted: set[int] = set()
        """Parts of copied elements that refer to what is not written, with all that is inside."""
        self.restated: set[int] = set()
        """Parts of copied elements that the scene states, with all that is inside."""
        self.resolved: set[int] = set()
        """Poses in elements that were copied, which are written in their default frames, with all that is inside."""
        self.attributes: set[tuple[int, str]] = set()
        """The attributes that were copied, with their elements."""
        self._generic: frozenset[int] = frozenset()
        """The elements that are copied because no field of the scene has them."""
        self._materials: dict[int, Markup | None] = {}
        self._new: dict[int, tuple[Markup, Markup]] = {}
        """Elements that are added to the output if something is copied into them, with those around them, by id."""
        self._inner: dict[tuple[int, int], Markup | None] = {}
        """The elements of the output for those of the source, by the ids of the elements around them."""

    def copy(self, items: Mapping[int, Sequence[Item]], spans: Sequence[range] | None, is_nested: bool) -> list[int]:
        """Copy elements that are directly in written items or in their materials; returns their numbers.

        Only elements in the `spans` are copied, and none that the scene has with other values.  If the document
        `is_nested` in models, some of its models are not in the scene.
        """
        source = self.unread.source
        every = source.unread(self.document, self.unread.diagnostics, self.unread.keys, self.unread.settings)
        noted = frozenset(every)
        edited = (one for node, one in self._parts.inside.items() if (self.number, node) in self.unread.changed)
        self._generic = (self._parts.elements | frozenset().union(*edited)) - noted
        every = sorted(noted | self._generic)
        left_out = self.unread.changed | self.unread.used
        found = self._outermost(node for node in within(every, spans) if (self.number, node) not in left_out)
        self._items = items
        copied: list[int] = []
        added: list[_Addition] = []
        for number in found:
            element, before = source.elements(self.document)[number], len(added)
            is_lost = self._copy_to_items(number, element, added)
            inside = range(number, self.document.outline.ends[number])
            if is_lost or (is_nested and self._is_in_unknown_model(number)):
                self.lost.update(inside)
            if len(added) > before:
                copied.append(number)
                self.nodes.update(inside)
            if number in self.moved:
                self.moved.update(dict.fromkeys(inside, self.moved[number]))
        self.nodes -= self.resolved | self.omitted | self.restated
        for owner, made, own in added:
            self._attach(owner)
            if own is None:
                owner.children.append(made)
            else:
                made.item = own.item
                owner.children[owner.children.index(own)] = made
        self._copy_attributes(spans)
        return copied

    def _outermost(self, nodes: Iterable[int]) -> Iterator[int]:
        """The elements, which are in order, that are in no other one of them."""
        end = 0
        for node in nodes:
            if node >= end:
                end = self.document.outline.ends[node]
                yield node

    @cached_property
    def _parts(self) -> UnreadParts:
        find = self.unread.find_parts
        return UnreadParts() if find is None else self.unread.source.unread_parts(self.document, find)

    def _copy_attributes(self, spans: Sequence[range] | None) -> None:
        """Copy the attributes that a scene does not have, with the namespaces that they need."""
        elements = self.unread.source.elements(self.document) if self._parts.attributes else ()
        for node, name in self._parts.attributes:
            if not within([node], spans):
                continue
            prefix = name.partition(":")[0] if ":" in name else ""
            namespace = elements[node].nsmap.get(prefix) if prefix else ""
            found = [*self._owners(node)]
            owners = [owner for item, owner in found if owner is not None and not isinstance(item, InnerModel)]
            if namespace is None or not owners or len(owners) < len(found):
                continue
            for owner in owners:
                self._attach(owner)
                owner.attributes[name] = self.document.attribute_text(node, name)
                if prefix and prefix != "xml":
                    owner.attributes[f"xmlns:{prefix}"] = namespace
            self.attributes.add((node, name))

    def _attach(self, owner: Markup) -> None:
        """Add an element to the output that has none for one of the source, and those around it."""
        while id(owner) in self._new:
            around, made = self._new.pop(id(owner))
            around.children.append(made)
            owner = around

    def _inside(self, owner: Markup, node: int, item: ElementOwner) -> Markup | None:
        """The element of the output for one of the source, in that for the element around it."""
        key = (id(owner), node)
        if key not in self._inner:
            tag = self.document.outline.tags[node]
            name = self.document.attribute_text(node, "name") if tag == _FRAME else ""
            if name and self.unread.frames is not None:
                name = self.unread.frames.get((id(item), name)) or name
            same = (one for one in owner.children if one.tag == tag)
            found = next((one for one in same if not name or one.attributes.get("name") == name), None)
            if found is None and self._parts.containers[node]:
                found = Markup(tag)
                self._new[id(found)] = (owner, found)
            self._inner[key] = found
        return self._inner[key]

    def _is_in_unknown_model(self, number: int) -> bool:
        """Whether an element is directly in the model that others include, and these are not all known."""
        parent = self.document.outline.parents[number]
        return parent == self._outer_model and (self.number, parent) not in self.unread.inner_models

    @cached_property
    def _outer_model(self) -> int:
        """The element of the model that others include."""
        tags, parents = self.document.outline.tags, self.document.outline.parents
        return next((node for node, tag in enumerate(tags) if tag == "model" and parents[node] == 0), -1)

    def _copy_to_items(self, number: int, element: Tree, added: list[_Addition]) -> bool:
        """Copy an element for each item that it is in; returns whether at least one does not get it.

        What the writer has made from the scene is not lost, unless other items get a copy with more in it.
        """
        is_lost, is_only_read, before, key = False, False, len(added), (self.number, number)
        replaced = {id(one) for one in self.unread.copies.get(key, ())}
        known = {id(item) for item in self._items.get(number, ())}
        moved: Tree | None = None
        for item, owner in self._owners(self.document.outline.parents[number]):
            is_setting = isinstance(item, InnerModel) and not _can_move(element, item)
            if owner is None or is_setting or (self.skips_worlds and isinstance(owner.item, World)):
                is_lost = True
                continue
            own = next((one for one in owner.children if id(one) in replaced or id(one.item) in known), None)
            if number in self._generic:
                if not self.unread.may_carry(self.document, number, owner):
                    is_only_read = True
                    continue
                own = self._single_own(number, owner)
                is_written = own is not None
            else:
                is_written = own is not None or key in self.unread.copies or self._is_written(element, owner)
            made: Markup | None = None
            if own is not None or not is_written:
                moved = self._with_paths(element) if moved is None else moved
                made = self._copy(number, moved, item)
            if made is not None:
                if own is not None:
                    _take_references(made, own)
                    _take_options(made, own)
                    take_motors(made, own)
                    self._note_motors(number, element)
                added.append((owner, made, own))
                if isinstance(item, InnerModel) and item.prefix:
                    found = _IN_OUTER_MODEL if self._names_links(element, item) else _OF_OUTER_MODEL
                    self.moved[number] = max(found, self.moved.get(number, found), key=_BY_HARM.index)
            elif is_written:
                is_only_read = True
            else:
                is_lost = True
        return is_lost or (is_only_read and len(added) > before)

    def _single_own(self, number: int, owner: Markup) -> Markup | None:
        """The element of the output that one of the source replaces, which occurs once."""
        tag = self.document.outline.tags[number] if number in self._parts.single else ""
        return next((one for one in owner.children if tag and one.tag == tag), None)

    def _with_paths(self, element: Tree) -> Tree:
        """A copy of an element with the paths of files from the folder of the output."""
        copy = deepcopy(element)
        relocate_files(copy, self.document.location.directory, self.unread.folder)
        return copy

    def _names_links(self, element: Tree, item: InnerModel) -> bool:
        """Whether an element of a nested model names links or joints, which have other names in the output."""
        names: list[str] = []

        def record(name: str, _: ElementOwner) -> str:
            names.append(name)
            return name

        _rename_references(deepcopy(element), item, record)
        return any(self.find_name(name, item) != name for name in names)

    def _copy(self, number: int, element: Tree, item: ElementOwner) -> Markup | None:
        """A copy of an element with the names of the output; None if it refers to what is not written."""
        copy = deepcopy(element)
        if element.tag in _PARTS:
            self._remove_parts(number, copy, item)
        if self.find_frame is not None and not self._rename_frames(number, copy, item, self.find_frame):
            return None
        joins_models = isinstance(item, World) and element.tag == "joint"
        find = (self.find_frame or self.find_name) if joins_models else self.find_name
        return as_markup(copy) if _rename_references(copy, item, find) else None

    def _remove_parts(self, number: int, element: Tree, item: ElementOwner) -> None:
        """Remove the parts of an element that refer to what is not written, unless all of its joints do."""
        parts, ends = _PARTS[str(element.tag)], self.document.outline.ends
        nodes = {one: node for node, one in enumerate(element.iter(etree.Element), number)}
        lost = [part for part in element if part.tag in parts and self._is_unwritten(part, item)]
        joints = [part for part in element if part.tag == "joint"]
        if joints and all(part in lost for part in joints):
            return
        for part in lost:
            self.omitted.update(range(nodes[part], ends[nodes[part]]))
            element.remove(part)

    def _note_motors(self, number: int, element: Tree) -> None:
        """Note the effort interfaces of a copied element, which are those of the scene."""
        ends = self.document.outline.ends
        for node, one in enumerate(element.iter(etree.Element), number):
            if element.tag == CONTROL and one.tag == "command_interface" and one.get("name") == "effort":
                self.restated.update(range(node, ends[node]))

    def _is_unwritten(self, part: Tree, item: ElementOwner) -> bool:
        own = [str(part.get("name"))] if part.tag == "joint" else []
        stated = [str(one.text or "").strip() for one in part.iter("param") if one.get("name") in _NAMING_PARAMETERS]
        return any(name and self.find_name(name, item) is None for name in (*own, *stated))

    def _rename_frames(self, number: int, element: Tree, item: ElementOwner, find: FindName) -> bool:
        """Replace the names of frames that poses are relative to; False if one of them is not written.

        A pose that is known in its default frame is written so instead.
        """
        for node, one in enumerate(element.iter(etree.Element), number):
            keys = [key for key in (*_FRAMES, "frame") if key != "frame" or one.tag == "pose"]
            for key in keys:
                frame = str(one.get(key) or "").strip()
                pose = self.unread.resolve_pose((self.number, node)) if frame else None
                written = find(frame, item) if frame and not (pose and self.unread.is_moved) else None
                if frame and written is None:
                    if pose is None:
                        return False
                    one.attrib.clear()
                    one.text = pose
                    self.resolved.update(range(node, self.document.outline.ends[node]))
                elif frame:
                    one.attrib.pop(key)
                    one.set("relative_to" if key == "frame" else key, str(written))
        return True

    def _owners(self, node: int) -> Iterator[tuple[ElementOwner, Markup | None]]:
        """The items whose own element this is, or whose material it is, with their elements in the output."""
        items, inner = self._items.get(node, ()), self.unread.inner_models.get((self.number, node), ())
        for item in items:
            yield item, self.elements.get(id(item))
        for one in inner:
            yield one, self.elements.get(id(one.model))
        if items or inner:
            return
        if node > 0 and self.document.outline.tags[node] == _MATERIAL:
            for item in self._items.get(self.document.outline.parents[node], ()):
                if id(item) not in self._materials:
                    self._materials[id(item)] = self._material_of(item, node)
                yield item, self._materials[id(item)]
        elif (self.number, node) in self.unread.changed and (self.number, node) in self.unread.copies:
            for made in self.unread.copies[self.number, node]:
                yield None, made
        elif node in self._parts.containers and node > 0:
            for around, owner in self._owners(self.document.outline.parents[node]):
                yield around, None if owner is None else self._inside(owner, node, around)
        elif node == 0 and self.root is not None:
            yield None, self.root

    def _material_of(self, item: Item, node: int) -> Markup | None:
        """The material of a visual in the output, for that of the source.

        An ambient colour that the writer made from the other one is removed, if the source states its own.
        """
        visual = self.elements.get(id(item))
        if visual is None:
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

    @staticmethod
    def _is_written(element: Tree, owner: Markup) -> bool:
        """Whether the output already has an element of this tag, which its writer made from the scene.

        Of sensors and lights, a link may have several: those with other names.  Plugins are only copied.
        """
        if element.tag == _PLUGIN:
            return False
        name = element.get("name") if element.tag in _NAMED else None
        return any(
            child.tag == element.tag and name in (None, child.attributes.get("name")) for child in owner.children
        )


# --- copies --------------------------------------------------------------------------------------------

_FRAME = "frame"
_MATERIAL, _PLUGIN, _NAMED = "material", "plugin", ("sensor", "light")
_MOVABLE = (_PLUGIN, "gripper")
"""The tags of elements of a nested model that the model around it can have: no settings of the model itself."""
_IN_OUTER_MODEL = Verdict(Fate.LOWERED, "in the outermost model, with the names of its links and joints")
_OF_OUTER_MODEL = Verdict(
    Fate.APPROXIMATED, "in the outermost model: without the name of a link or joint, it may act on all of that model"
)
_BY_HARM = (_IN_OUTER_MODEL, _OF_OUTER_MODEL)


def _can_move(element: Tree, source: InnerModel) -> bool:
    """Whether an element of a model of the source can be one of the model that this became a part of.

    Of merged models, which keep their names, all elements with names are merged.
    """
    return element.tag in _MOVABLE or (not source.prefix and element.get("name") is not None)


def _same_numbers(one: str, other: str) -> bool:
    """Whether two colours have the same red, green and blue."""
    try:
        return [*map(float, one.split())][:3] == [*map(float, other.split())][:3]
    except ValueError:
        return False


def _take_references(made: Markup, own: Markup) -> None:
    """Give a copy of an element the reference to an image that the element in the output has: it may be a copy too."""
    found = next((one.text for one in own.iter() if one.tag == _IMAGE and one.text), "")
    copied = next((one for one in made.iter() if one.tag == _IMAGE and one.text), None)
    if found and copied is not None:
        copied.text = found


def _take_options(made: Markup, own: Markup) -> None:
    """Give a copy of MuJoCo's options those of the element in the output, unless it states where mesh files are."""
    ours = next((one for one in own.children if one.tag == COMPILER), None)
    if ours is None:
        return
    theirs = next((one for one in made.children if one.tag == COMPILER), None)
    if theirs is None:
        made.children.append(ours)
    elif "meshdir" not in theirs.attributes:
        theirs.attributes = {**ours.attributes, **theirs.attributes}


_PARTS = {CONTROL: frozenset({"joint", "sensor"})}
"""Elements whose parts have a meaning without the others, and the tags of these parts."""
_NAMING_PARAMETERS = frozenset({"mimic", "frame_id"})
"""Parameters that name joints or links."""
_IMAGE = "albedo_map"
_REFERENCES = frozenset({"reference", "link", "joint"})
_REFERRING_ELEMENTS = frozenset(
    {"joint_name", "link_name", "joint", "link", "parent", "child", "parent_link", "gripper_link", "palm_link"}
)
"""Attributes, and elements with their text or their attribute `name`, that refer to links and joints."""
_REFERRING_ENDS = ("joint", "link", "joint_name", "link_name", "jointname", "linkname", "bodyname")
"""How the tags of other elements end, in lower case, whose text refers to them in parameters of plugins."""
_FRAMES = ("relative_to", "expressed_in", "attached_to")


def _rename_references(element: Tree, item: ElementOwner, names: FindName) -> bool:
    """Replace the names of links and joints in an element; False if it refers to one that is not written."""
    for one in element.iter(etree.Element):
        places = [(key, value) for key, value in one.attrib.items() if key in _REFERENCES]
        if one is not element and one.tag in _REFERRING_ELEMENTS and one.get("name"):
            places.append(("name", one.get("name", "")))
        for key, value in places:
            written = names(str(value), item)
            if written is None:
                return False
            one.set(key, written)
        text = (one.text or "").strip()
        is_reference = one.tag in _REFERRING_ELEMENTS or str(one.tag).lower().endswith(_REFERRING_ENDS)
        if is_reference and text and not len(one):
            written = names(text, item)
            if written is None:
                return False
            if written != text:
                one.text = written
    return True
