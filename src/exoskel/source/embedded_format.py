"""How our own elements are embedded in a file: one class for each way, used to read, write, save and preserve.

SKEL readers ignore unknown elements, so ours are placed where they belong, in a namespace: `<exoskel:carry …>`.
XODE has a place for the data of applications: `<ext ename="exoskel"><carry …/></ext>`.  The elements are:

    <carry field="actuator" was="9d1e77aa">"servo"</carry>      a field of the item around it
    <carry of="joint" field="…" …>                              a field of the parent joint of the body around it
    <add to="visuals" at="0">{…}</add>                          an item of a list that the format has no element for;
                                                                a joint may be embedded in its child body
    <stand-in/>                                                 the element around it is a placeholder for other readers
    <models>[{…}]</models>                                      how bodies are grouped, where the format has no models

`exoskel.source.embedded_data` applies them to a scene.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from enum import StrEnum
from typing import Any, ClassVar

from msgspec import UNSET, Struct

from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.json_codec import encode_json, encode_value, field_of_name, name_in_file
from exoskel.scene.model import Model
from exoskel.source.document import Document, Outline, Tree, split_tag
from exoskel.source.markup import Markup
from exoskel.source.positions import Elements
from exoskel.source.splice import Patch

NAMESPACE = "urn:exoskel:carried"
TAG_START = f"{{{NAMESPACE}}}"
"""How the tags of our own elements start in a parsed tree."""
FINGERPRINT = "was"
"""The attribute with the fingerprint of a field: hexadecimal digits."""


class EmbeddedTag(StrEnum):
    """The elements that hold data of the scene."""

    FIELD = "carry"
    ITEM = "add"
    PLACEHOLDER = "stand-in"
    GROUPING = "models"


_TAGS = frozenset(tag.value for tag in EmbeddedTag)
_PREFIX = "exoskel"
_DECLARATION = f"xmlns:{_PREFIX}"
OWN_EXTENSION = "exoskel"
"""The name of our own extensions."""
_PRESERVED = "kept"
"""Our element around data of other applications, where the format has no place for such data."""
_CONTAINER = "in"
"""Its attribute: the element that the data was in, where that is not the world."""
_WORD_IN_FILE = b"exoskel"


class EmbeddedElement(Struct):
    """What one element of ours holds, and where it belongs.

    `number` and `owner` are the numbers of the element and of the element that it is embedded in, where it was read.
    """

    tag: EmbeddedTag
    text: str = ""
    field: str = ""
    """The field that it sets, by its name in the scene."""
    fingerprint: str = ""
    """The fingerprint of the value that the format itself states for the field."""
    is_of_parent_joint: bool = False
    """Whether the field is one of the parent joint of the body around it."""
    list_name: str = ""
    """The list that the item is added to."""
    index: int | None = None
    """The index of the item in the list; None if it is missing or invalid."""
    number: int = -1
    owner: int = -1

    @classmethod
    def parse(cls, tag: str, attribute: Callable[[str, str], str], text: str = "") -> EmbeddedElement:
        """Interpret an element by its tag without a namespace; `attribute` gets an attribute, or a default."""
        index = attribute("at", "")
        return cls(
            EmbeddedTag(tag),
            text,
            field=field_of_name(attribute("field", "")),
            fingerprint=attribute(FINGERPRINT, ""),
            is_of_parent_joint=attribute("of", "") == "joint",
            list_name=attribute("to", ""),
            index=int(index) if index.isascii() and index.isdigit() and len(index) < 9 else None,
        )

    @classmethod
    def read(cls, element: Tree, number: int, owner: int) -> EmbeddedElement:
        """Interpret a parsed element with these numbers."""
        found = cls.parse(element.tag.removeprefix(TAG_START), element.get, element.text or "")
        found.number, found.owner = number, owner
        return found

    def markup(self) -> Markup:
        """The element to be written; its place decides on a namespace."""
        attributes: dict[str, str] = {}
        if self.tag is EmbeddedTag.FIELD:
            attributes = {"of": "joint"} if self.is_of_parent_joint else {}
            attributes |= {"field": name_in_file(self.field), FINGERPRINT: self.fingerprint}
        elif self.tag is EmbeddedTag.ITEM:
            attributes = {"to": self.list_name, "at": str(self.index)}
        return Markup(self.tag, attributes, self.text)


class GroupingRow(Struct):
    """A model in an element that groups bodies: its bodies by their names in the file, its index among the models."""

    bodies: list[str]
    name: str | None = None
    index: int | None = None
    static: bool = False
    pose: Any = UNSET
    """The pose as JSON data; unset for the identity."""

    @classmethod
    def of(cls, model: Model, name: str, index: int, bodies: Sequence[str]) -> GroupingRow:
        pose = UNSET if model.pose.is_identity else encode_value(model.pose)
        return cls(list(bodies), name, index, model.static, pose)


def grouping_element(rows: Sequence[GroupingRow]) -> EmbeddedElement:
    """The element of ours that groups the bodies of a world."""
    data: list[dict[str, Any]] = []
    for row in rows:
        data.append({"name": row.name, "at": row.index, "bodies": row.bodies})
        if row.static:
            data[-1]["static"] = True
        if row.pose is not UNSET:
            data[-1]["pose"] = row.pose
    return EmbeddedElement(EmbeddedTag.GROUPING, encode_json(data))


def parse_grouping(data: Any) -> list[GroupingRow] | None:
    """The rows of an element that groups bodies; None if the data is something else."""
    if not isinstance(data, list):
        return None
    rows: list[GroupingRow] = []
    for row in data:
        if not isinstance(row, dict) or not isinstance(row.get("bodies"), list):
            return None
        index = row.get("at")
        rows.append(
            GroupingRow(
                [str(name) for name in row["bodies"]],
                str(row["name"]) if "name" in row else None,
                index if isinstance(index, int) else None,
                bool(row.get("static", False)),
                row.get("pose", UNSET),
            )
        )
    return rows


# --- formats -------------------------------------------------------------------------------------------


class OtherData(Struct):
    """Data of other applications found in a document.

    `container` is the element that an extension was in: the root (`xode`), a `space` or group, or the world (empty).
    `is_unknown` is set for elements of other namespaces, which stand outside of extensions.
    """

    parts: Sequence[Tree]
    container: str = ""
    is_unknown: bool = False


class RejectedElements(Struct, frozen=True):
    """Embedded elements that make the scene invalid, by number, with the reasons; found in some rounds of reading."""

    reasons: Mapping[int, str] = {}
    rounds: int = 0


class EmbeddedDataFormat(ABC):
    """How our own elements are embedded in the documents of one format."""

    exact_fields: frozenset[tuple[type[Item], str]] = frozenset()
    """Fields that are embedded unless they are read back exactly, because each round trip would lose another bit."""
    containers: frozenset[str] = frozenset()
    """Tags of elements of the format that hold embedded data, ours or that of other applications."""
    states_initial_poses: bool = False
    """Whether the format states where bodies are in the initial state instead of at zero configuration."""

    def is_in_container(self, path: str) -> bool:
        """Whether a path of tags, separated by slashes, contains an element that holds embedded data."""
        return any(tag in path and tag in path.split("/") for tag in self.containers)

    # --- documents to be written ----------------------------------------------------------------------

    @abstractmethod
    def add(self, root: Markup, owner: Markup, element: Markup) -> None:
        """Embed an element of ours in another one."""

    @abstractmethod
    def add_other_data(self, root: Markup, owner: Markup, copy: Markup, found: OtherData) -> None:
        """Add a copy of one part of the data of another application to an element."""

    # --- documents to be edited -----------------------------------------------------------------------

    @abstractmethod
    def elements_in(self, elements: Elements, node: int) -> list[int]:
        """Our own elements that are embedded in an element, by their numbers."""

    def find(self, elements: Elements, node: int, tag: EmbeddedTag) -> list[EmbeddedElement]:
        """The elements of ours with a tag that are embedded in an element, without their text."""
        found: list[EmbeddedElement] = []
        for child in self.elements_in(elements, node):
            if elements.tag(child).rpartition(":")[2] == tag:
                element = EmbeddedElement.parse(tag, elements.attributes(child).get)
                element.number, element.owner = child, node
                found.append(element)
        return found

    def set_field(self, patch: Patch, number: int, fingerprint: str, text: str | None = None) -> None:
        """Change the fingerprint, and the text, of an element of ours that holds a field."""
        patch.set_attribute(number, FINGERPRINT, fingerprint)
        if text is not None:
            patch.set_text(number, text)

    @abstractmethod
    def owner(self, parents: Sequence[int], node: int) -> int:
        """The number of the element that an element of ours is embedded in."""

    @abstractmethod
    def remove(self, patch: Patch, node: int, removed: Collection[int]) -> None:
        """Remove elements of ours from an element."""

    @abstractmethod
    def insert(self, patch: Patch, node: int, new: Sequence[Markup], after: int, *, can_join: bool = True) -> None:
        """Embed elements in an element, following its child `after`.

        With `can_join`, they may join those that are embedded already.
        """

    def insert_grouping(self, patch: Patch, node: int, element: Markup) -> None:
        """Embed the element that groups bodies in the element of a world."""
        children = patch.elements.children(node)
        self.insert(patch, node, [element], children[-1] if children else -1)

    # --- documents that were parsed -------------------------------------------------------------------

    @abstractmethod
    def owner_in_tree(self, element: Tree) -> Tree | None:
        """The element that a parsed element is embedded in; None if the element is not ours."""

    @abstractmethod
    def other_data(self, element: Tree) -> OtherData | None:
        """The data of other applications in a parsed element; None if the element does not hold such data itself."""


class NamespacedElements(EmbeddedDataFormat):
    """Elements in a namespace of our own, directly in the element that they belong to (SKEL)."""

    def add(self, root: Markup, owner: Markup, element: Markup) -> None:
        root.attributes.setdefault(_DECLARATION, NAMESPACE)
        element.tag = f"{_PREFIX}:{element.tag}"
        owner.children.append(element)

    def add_other_data(self, root: Markup, owner: Markup, copy: Markup, found: OtherData) -> None:
        if found.is_unknown:
            owner.children.append(copy)
            return
        root.attributes.setdefault(_DECLARATION, NAMESPACE)
        attributes = {_CONTAINER: found.container} if found.container else {}
        owner.children.append(Markup(f"{_PREFIX}:{_PRESERVED}", attributes, verbatim=copy.verbatim))

    def elements_in(self, elements: Elements, node: int) -> list[int]:
        return [child for child in elements.children(node) if elements.tag(child).startswith(f"{_PREFIX}:")]

    def owner(self, parents: Sequence[int], node: int) -> int:
        return parents[node]

    def remove(self, patch: Patch, node: int, removed: Collection[int]) -> None:
        for element in patch.elements.children(node):
            if element in removed:
                patch.remove(element)

    def insert(self, patch: Patch, node: int, new: Sequence[Markup], after: int, *, can_join: bool = True) -> None:
        is_declared = patch.elements.attribute(0, _DECLARATION) is not None
        for element in new:
            element.tag = f"{_PREFIX}:{element.tag}"
            if not is_declared:
                element.attributes = {_DECLARATION: NAMESPACE, **element.attributes}
            patch.insert(node, element, after)

    def owner_in_tree(self, element: Tree) -> Tree | None:
        return element.getparent() if element.tag.startswith(TAG_START) else None

    def other_data(self, element: Tree) -> OtherData | None:
        if element.tag != TAG_START + _PRESERVED:
            return None
        return OtherData(list(element), str(element.get(_CONTAINER, "")))


class ExtensionElements(EmbeddedDataFormat):
    """Elements in an `<ext ename="exoskel">` of the element that they belong to (XODE).

    XODE states joints and moments in other frames than the scene does.  Each change of frames loses a bit.
    """

    exact_fields = frozenset({(Joint, "pose"), (Joint, "axes"), (Joint, "dofs"), (Body, "inertia")})
    tag = "ext"
    """The element for data of applications."""
    name_attribute = "ename"
    containers = frozenset({tag})
    states_initial_poses = True
    world_extension = "world-params"
    """The extension of the XODE reference for parameters of a world; they are read from other extensions too.

    Only problems in this extension are reported.
    """
    world_parameters: ClassVar[Mapping[str, str]] = {
        "gravity": "gravity",
        "CFM": "cfm",
        "ERP": "erp",
        "timestep": "time_step",
    }
    """Elements in extensions of a world that are read as values of the world: the scene fields by their tags."""

    def add(self, root: Markup, owner: Markup, element: Markup) -> None:
        self._extension(owner).children.append(element)

    def add_other_data(self, root: Markup, owner: Markup, copy: Markup, found: OtherData) -> None:
        if found.is_unknown:
            place = self._extension(owner).add(_PRESERVED)
        elif found.container == "xode":
            place = root
        elif found.container:  # a world's own extensions are read as gravity and the like
            place = next(child for child in owner.children if child.tag == "space")
        else:
            place = owner
        place.children.append(copy)

    def new(self, name: str, children: Sequence[Markup] = ()) -> Markup:
        """An extension with a name."""
        return Markup(self.tag, {self.name_attribute: name}, children=list(children))

    def _extension(self, owner: Markup) -> Markup:
        """Our extension in an element; it is created if missing."""
        for child in owner.children:
            if child.attributes.get(self.name_attribute) == OWN_EXTENSION:
                return child
        made = self.new(OWN_EXTENSION)
        owner.children.insert(1 if owner.tag == "world" else len(owner.children), made)
        return made

    def elements_in(self, elements: Elements, node: int) -> list[int]:
        return [inner for extension in _extensions_in(elements, node) for inner in elements.children(extension)]

    def owner(self, parents: Sequence[int], node: int) -> int:
        return parents[parents[node]]

    def remove(self, patch: Patch, node: int, removed: Collection[int]) -> None:
        """Remove elements of ours from an element, and extensions that are empty then."""
        for extension in _extensions_in(patch.elements, node):
            inside = patch.elements.children(extension)
            leaving = [element for element in inside if element in removed]
            for element in [extension] if leaving and leaving == inside else leaving:
                patch.remove(element)

    def insert(self, patch: Patch, node: int, new: Sequence[Markup], after: int, *, can_join: bool = True) -> None:
        extensions = _extensions_in(patch.elements, node) if can_join else []
        if not extensions:
            patch.insert(node, self.new(OWN_EXTENSION, new), after)
            return
        inside = patch.elements.children(extensions[0])
        for element in new:
            patch.insert(extensions[0], element, inside[-1] if inside else -1)

    def insert_grouping(self, patch: Patch, node: int, element: Markup) -> None:
        """Embed the element that groups bodies in front of the first space of a world."""
        after = -1
        for child in patch.elements.children(node):
            if patch.elements.tag(child) == "space":
                break
            after = child
        self.insert(patch, node, [element], after)

    def owner_in_tree(self, element: Tree) -> Tree | None:
        extension = element.getparent()
        return extension.getparent() if _is_own_extension(extension) else None

    def other_data(self, element: Tree) -> OtherData | None:
        if element.tag == _PRESERVED:
            return OtherData(list(element), is_unknown=True) if _is_own_extension(element.getparent()) else None
        if not element.tag.endswith(self.tag) or split_tag(element)[1] != self.tag:
            return None
        if _is_own_extension(element):
            return None
        parent = element.getparent()
        tag = "xode" if parent is None else split_tag(parent)[1]
        if tag != "world":
            return OtherData([element], "xode" if tag == "xode" else "space")
        if not any(map(_is_world_data, element)):
            return OtherData([element])
        rest = _without_world_data(element)
        return OtherData([] if rest is None else [rest], "xode")


NAMESPACED = NamespacedElements()
EXTENSION = ExtensionElements()


def might_contain_embedded_data(text: bytes) -> bool:
    """Whether a document can contain elements of ours.  Most do not, and are not searched."""
    return _WORD_IN_FILE in text


def might_contain_other_data(text: bytes) -> bool:
    """Whether a document can contain extensions, or data of other applications that we preserved."""
    return b"<ext" in text or b":ext" in text or _PRESERVED.encode() in text


def embedded_lines() -> bytes:
    """A regular expression for the lines of embedded elements in a document as we write it.

    Data of other applications that we preserved is not part of it.
    """
    tags = "|".join(_TAGS)
    inside = rf"(?:{tags})(?: [^<>]*)?(?:/>|>[^<]*</(?:{tags})>)"
    extension = (
        rf'{EXTENSION.tag} {EXTENSION.name_attribute}="{OWN_EXTENSION}">(?:\n *<{inside})*\n *</{EXTENSION.tag}>'
    )
    namespaced = inside.replace(f"(?:{tags})", f"{_PREFIX}:(?:{tags})")
    return rf"\n *<(?:{extension}|{namespaced})".encode()


def embedded_declaration() -> bytes:
    """The declaration of the namespace of embedded elements, as we write it."""
    return f' {_DECLARATION}="{NAMESPACE}"'.encode()


def embedded_elements(tree: Tree) -> Iterator[EmbeddedElement]:
    """All elements that hold data of the scene, in document order, embedded in whichever way."""
    owners: dict[Tree, Tree] = {}
    for element in tree.iter(*_TAGS, *(TAG_START + tag for tag in _TAGS)):
        owner = (NAMESPACED if element.tag.startswith(TAG_START) else EXTENSION).owner_in_tree(element)
        if owner is not None:
            owners[element] = owner
    if not owners:
        return
    numbered = {*owners, *owners.values()}
    numbers = {element: number for number, element in enumerate(tree.iter()) if element in numbered}
    for element, owner in owners.items():
        yield EmbeddedElement.read(element, numbers[element], numbers[owner])


def elements_in_part(part: Tree, number: int, parent: int) -> Iterator[EmbeddedElement]:
    """The elements in what `embedded_lines` matches; `part` has this number, and the element around it `parent`."""
    is_container = part.tag == EXTENSION.tag
    for found, element in enumerate(part if is_container else (part,), number + is_container):
        yield EmbeddedElement.read(element, found, parent)


def embedded_nodes(document: Document) -> set[int]:
    """The numbers of all elements of ours in a document, with the extensions around them."""
    outline = document.outline
    found: set[int] = set()
    prefixed = {tag for tag in set(outline.tags) if ":" in tag and tag.rpartition(":")[2] in _TAGS}
    for node, tag in enumerate(outline.tags):
        if tag in prefixed or (
            tag == EXTENSION.tag and document.attribute_text(node, EXTENSION.name_attribute) == OWN_EXTENSION
        ):
            found.update(range(node, outline.ends[node]))
    return found


def embedded_element(document: Document, node: int) -> EmbeddedElement | None:
    """An element of ours without its text; None for the extension around it and for other elements."""
    outline = document.outline
    tag = outline.tags[node].rpartition(":")[2]
    if tag not in _TAGS:
        return None
    found = EmbeddedElement.parse(tag, lambda name, _: document.attribute_text(node, name))
    style = EXTENSION if outline.tags[outline.parents[node]] == EXTENSION.tag else NAMESPACED
    found.number, found.owner = node, style.owner(outline.parents, node)
    return found


def is_extension(outline: Outline, node: int) -> bool:
    """Whether an element is an extension, ours or that of another application."""
    return outline.tags[node].rpartition(":")[2] == EXTENSION.tag


def _extensions_in(elements: Elements, node: int) -> list[int]:
    return [
        child
        for child in elements.children(node)
        if elements.tag(child) == EXTENSION.tag and elements.attribute(child, EXTENSION.name_attribute) == OWN_EXTENSION
    ]


def _is_own_extension(element: Tree | None) -> bool:
    if element is None or element.tag != EXTENSION.tag:
        return False
    return bool(element.get(EXTENSION.name_attribute) == OWN_EXTENSION)


def _without_world_data(extension: Tree) -> Tree | None:
    """A copy of a world's extension without the values that the scene holds; None if nothing is left."""
    rest = deepcopy(extension)
    for child in [c for c in rest if _is_world_data(c)]:
        before = child.getprevious()
        if before is not None:  # removing an element also removes the text after it
            before.tail = (before.tail or "") + (child.tail or "")
        else:
            rest.text = (rest.text or "") + (child.tail or "")
        rest.remove(child)
    return rest if len(rest) or (rest.text or "").strip() else None


def _is_world_data(child: Tree) -> bool:
    """Whether an element in an extension of a world is read as a value of the world."""
    if not isinstance(child.tag, str):
        return False
    namespace, name = split_tag(child)
    return name in EXTENSION.world_parameters and namespace in ("", split_tag(child.getparent())[0])
