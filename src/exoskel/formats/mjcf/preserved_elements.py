"""Elements of an MJCF document that a scene does not contain, for writing them to MJCF again.

The reader collects them with the items of the scene that they refer to, the writer adds them to the new document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from exoskel.formats.mjcf.names import reference_kind
from exoskel.formats.mjcf.tree import MjcfElement

ACTUATOR_TAGS = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion"),
    "dcmotor",
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


class SourceElement(Struct, frozen=True):
    """An element of a section such as `sensor`, with its node in the document and that of the section.

    `files` are the paths of the files that its attributes name; None if there is no such file.
    """

    section: str
    element: MjcfElement
    node: int
    section_node: int
    files: Mapping[str, str | None] = {}


class PreservedElements(Struct, frozen=True):
    """The elements of a document that are in no item of the scene, and what they depend on.

    `items` are the items that they refer to, by kind and name.  `materials` are the materials of geoms, by the nodes
    and names of the shapes.  `defaults` are the default classes.  `options` are attributes of `<option>`.
    """

    elements: list[SourceElement] = field(default_factory=list)
    items: Mapping[tuple[str, str], ItemReference] = {}
    materials: Mapping[tuple[int, str], str] = {}
    defaults: list[SourceElement] = field(default_factory=list)
    options: Mapping[str, str] = {}
    option_nodes: tuple[int, ...] = ()
    has_automatic_limits: bool = True

    def __bool__(self) -> bool:
        return bool(self.elements or self.options)


def copy_element(source: TreeElement, tags: frozenset[str] | None = None) -> MjcfElement:
    """A copy of an element and its content; with `tags`, only of the children with one of these tags."""
    root = MjcfElement(source.tag, dict(source.attributes))
    waiting = [(source, root)]
    while waiting:
        original, made = waiting.pop()
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
