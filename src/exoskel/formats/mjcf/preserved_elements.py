"""Elements of an MJCF document that a scene does not contain, for writing them to MJCF again.

The reader collects them with the items of the scene that they refer to, the writer adds them to the new document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct, field, structs

from exoskel.formats.mjcf.extra_attributes import (
    OptionElement,
    collect_options,
    collect_sizes,
)
from exoskel.formats.mjcf.item_keys import PartKey
from exoskel.formats.mjcf.names import GENERATED, reference_kind
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.shape import Material
from exoskel.spatial import Array

ACTUATOR_TAGS = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion"),
    *("dcmotor", "orientation", "pid"),
)
DEFAULT_TAGS = frozenset({*ACTUATOR_TAGS, "tendon", "equality", "material", "pair"})
"""Elements of default classes that apply to preserved elements."""
TEXTURE_FILES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
"""The attributes of textures that name files."""


class TreeElement(Protocol):
    """An element of a document that was read."""

    @property
    def tag(self) -> str: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...
    @property
    def children(self) -> Sequence[TreeElement]: ...


class ItemReference(Struct, frozen=True):
    """The item that a name refers to: its node in the document, and its own name and that of its model as read."""

    node: int
    model: str
    name: str
    coordinate: int = 0
    """Of a joint: the coordinate that the MuJoCo joint has in the joint of the scene."""
    is_shifted: bool = False
    """The position of the joint is not zero in the reference pose, but it is in a scene."""
    joint_kind: str = ""


class ActuatorState(Struct, frozen=True, eq=False):
    """The controls and the activations of an actuator, in columns.

    There is a row for the initial state, and then one for each keyframe of the scene.
    """

    controls: Array
    activations: Array


class MocapState(Struct, frozen=True, eq=False):
    """The positions and quaternions of a mocap body in the rows of keyframes."""

    positions: Array
    quaternions: Array


class KeyframeRow(Struct, frozen=True):
    """A keyframe as it was read: its name, which may be empty, and its node if it has states that a scene lacks."""

    name: str
    node: int = -1


class ExtraAttributes(Struct, frozen=True):
    """Attributes of an element that its object in the scene does not have, and those that the node itself states."""

    values: Mapping[str, Value]
    node: int
    stated: frozenset[str]
    is_shifted: bool = False
    """The length of a tendon differs in the scene, in which all joints are at zero in the reference pose."""


class ExtraAttributesOfItems(Struct, frozen=True):
    """Attributes of geoms, joints and bodies that a scene does not contain.

    `bodies` have the nodes and names of their items as keys.  `solref` are the time constant and the damping ratio of
    most contacts, `defaults` the attributes in default classes.
    """

    geoms: Mapping[PartKey, ExtraAttributes]
    joints: Sequence[tuple[ItemReference, ExtraAttributes]]
    bodies: Mapping[tuple[int, str], ExtraAttributes]
    solref: tuple[float, ...]
    defaults: frozenset[tuple[int, str]]
    sites: Mapping[PartKey, ExtraAttributes] = {}
    named: Mapping[tuple[str, str], ExtraAttributes] = {}
    """Those of cameras, lights and actuators, by their kinds and names (see `views.view_key`)."""


class SourceElement(Struct, frozen=True):
    """An element of a section such as `sensor`, with its node in the document and that of the section.

    `files` are the paths of the files that its attributes name; None if there is no such file.  `state` is that of an
    actuator in the keyframes of the document.
    """

    section: str
    element: MjcfElement
    node: int
    section_node: int
    files: Mapping[str, str | None] = {}
    state: ActuatorState | None = None


class PreservedElements(Struct, frozen=True):
    """The elements of a document that are in no item of the scene, and what they depend on.

    `items` are the items that they refer to, by kind and name.  `materials` are the materials of geoms and sites.
    `defaults` are the default classes.  `options` and `sizes` are those that a scene does not contain.
    """

    elements: list[SourceElement] = field(default_factory=list)
    items: Mapping[tuple[str, str], ItemReference] = {}
    materials: Mapping[PartKey, str] = {}
    defaults: list[SourceElement] = field(default_factory=list)
    options: Sequence[OptionElement] = ()
    sizes: Sequence[OptionElement] = ()
    has_automatic_limits: bool = True
    keyframes: tuple[KeyframeRow, ...] = ()
    """The keyframe of the initial state, and then those of the scene, for the states of actuators."""
    mocap: Mapping[tuple[int, str], MocapState] = {}
    """The poses of mocap bodies in keyframes that state them, by the nodes and names of the bodies."""
    tendons: Mapping[str, ExtraAttributes] = {}
    """Solver settings and appearance of the tendons of the scene, by their names."""

    sensors: tuple[str | int, ...] = ()
    """The names of the sensors of the scene, and the nodes of others, in the order of the document."""
    actuators: tuple[str | int, ...] = ()
    """The same for actuators."""
    appearances: Mapping[str, Material | None] = {}
    """What shapes have of materials, by the names of these."""

    extras: ExtraAttributesOfItems | None = None

    def __bool__(self) -> bool:
        return bool(self.elements or self.options or self.tendons or self.extras)


def copy_element(
    source: TreeElement, tags: frozenset[str] | None = None, copies: dict[int, MjcfElement] | None = None
) -> MjcfElement:
    """A copy of an element and its content; with `tags`, only of the children with one of these tags.

    `copies` gets the copy of each element, by the id of the element.
    """
    root = MjcfElement(source.tag, dict(source.attributes))
    waiting = [(source, root)]
    while waiting:
        original, made = waiting.pop()
        if copies is not None:
            copies[id(original)] = made
        for child in original.children:
            if tags is None or child.tag in tags:
                made.children.append(MjcfElement(child.tag, dict(child.attributes)))
                waiting.append((child, made.children[-1]))
    return root


def references(element: MjcfElement) -> Iterator[tuple[MjcfElement, str, str, str]]:
    """The attributes of an element and its content that refer to others: element, attribute, kind and name."""
    for one in element.iter():
        for attribute, value in one.attributes.items():
            kind = reference_kind(one, attribute)
            if kind:
                yield one, attribute, kind, str(value)


# --- collecting, before a document is prepared for MuJoCo ------------------------------------------------


class NumberedElement(TreeElement, Protocol):
    """An element of a document that was read, and its number there."""

    @property
    def children(self) -> Sequence[NumberedElement]: ...
    @property
    def node(self) -> int: ...


_WHOLE = ("visual", "statistic")
"""Sections that are preserved as a whole."""
_SECTIONS: dict[str, frozenset[str] | None] = {
    "asset": frozenset({"texture", "material", "skin"}),
    "deformable": frozenset({"skin"}),
    "contact": frozenset({"pair"}),
    "tendon": None,
    "equality": None,
    "actuator": None,
    "sensor": None,
    "custom": None,
    "compiler": frozenset({"lengthrange"}),
}
"""Sections of which elements are preserved, and the tags of these elements; None: all."""
_UNPRESERVED = frozenset({"plugin", "flex", "flexvert", "flexstrain"})
"""Elements that need others which are not preserved."""
_OPTIONS = frozenset({"option", "flag", "size"})
FindFile = Callable[[str], str | None]
"""The path of a texture file by its reference; None if it is not found."""


_RowValue = TypeVar("_RowValue")


def _without(rows: Mapping[str, _RowValue], name: str, is_removed: bool) -> Mapping[str, _RowValue]:
    """A mapping without a name, if this is removed."""
    return {key: value for key, value in rows.items() if key != name} if is_removed else rows


class CollectedElements:
    """What a document may have to preserve, taken before it is prepared for MuJoCo."""

    def __init__(self, root: NumberedElement, find_texture: FindFile) -> None:
        self.find_texture = find_texture
        self.elements: list[tuple[int, SourceElement]] = []
        """The elements in order, with the ids of the fragments that they are copies of."""
        self.defaults: list[SourceElement] = []
        self.options: list[OptionElement] = []
        self.sizes: list[OptionElement] = []
        self.has_automatic_limits = True
        self.light_images: dict[int, dict[str, str]] = {}
        """The textures of lights, and kinds of these, by the ids of their fragments."""
        self._copies: dict[int, MjcfElement] = {}
        """The copies of fragments, by the ids of these."""
        for section in root.children:
            self._collect(section)

    def remove(self, fragment: NumberedElement, parent: NumberedElement) -> None:
        """Remove a copy: the element is rejected."""
        self.elements = [(key, one) for key, one in self.elements if key != id(fragment)]
        copy, owner = self._copies.get(id(fragment)), self._copies.get(id(parent))
        if copy is not None and owner is not None:
            owner.children = [one for one in owner.children if one is not copy]

    def remove_attribute(self, fragment: NumberedElement, name: str) -> None:
        """Remove an attribute of a copy: its value is rejected."""
        if id(fragment) in self._copies:
            self._copies[id(fragment)].attributes.pop(name, None)
        if fragment.tag in _OPTIONS:
            is_flag = fragment.tag == "flag"
            rows = self.sizes if fragment.tag == "size" else self.options
            rows[:] = [
                structs.replace(
                    one,
                    values=one.values if is_flag else _without(one.values, name, one.node == fragment.node),
                    flags=_without(one.flags, name, one.flags.get(name) == fragment.node),
                    states=_without(one.states, name, one.flags.get(name) == fragment.node),
                )
                for one in rows
            ]

    def _copy(self, source: NumberedElement, tags: frozenset[str] | None = None) -> MjcfElement:
        return copy_element(source, tags, self._copies)

    def _collect(self, section: NumberedElement) -> None:
        if section.tag in _WHOLE:
            self._add(section, section)
        elif section.tag == "option":
            self.options.append(collect_options(section))
        elif section.tag == "size":
            self.sizes.append(collect_sizes(section))
        elif section.tag == "default":
            made = self._copy(section, DEFAULT_TAGS | {"default"})
            self.defaults.append(SourceElement(section.tag, made, section.node, section.node))
        elif section.tag in _SECTIONS:
            if section.tag == "compiler":
                self.has_automatic_limits = section.attributes.get("autolimits") != "false"
            tags = _SECTIONS[section.tag]
            for child in section.children:
                is_own = child.attributes.get("name", "").startswith(GENERATED)
                is_own |= child.tag == "skin" and "file" in child.attributes  # the file has names of bodies
                if not is_own and child.tag not in _UNPRESERVED and (tags is None or child.tag in tags):
                    self._add(section, child)

    def _add(self, section: NumberedElement, fragment: NumberedElement) -> None:
        files: dict[str, str | None] = {}
        if fragment.tag == "texture":
            named = {name: fragment.attributes[name] for name in TEXTURE_FILES if fragment.attributes.get(name)}
            files = {name: self.find_texture(reference) for name, reference in named.items()}
        element = self._copy(fragment)
        made = SourceElement(section.tag, element, fragment.node, section.node, files)
        self.elements.append((id(fragment), made))
