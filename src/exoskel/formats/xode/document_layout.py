"""Flattens an XODE document into lists of frames, bodies, geoms, joints and extensions in document order.

XODE elements nest freely; each entry states the frame, world, body, space and group it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from exoskel.source.embedded_format import EXTENSION
from exoskel.source.flat_tree import Node

CONTAINERS = ("space", "group", "jointgroup", "body", "geom")


class DocumentFrame(Struct):
    """An element that may have a transform, and its place in the hierarchy.

    `parent` is the number of the enclosing frame (-1 for the root).  `body` is the number of the enclosing body,
    or of the element itself if it is a body (-1: none).
    """

    node: Node
    kind: str
    parent: int
    depth: int
    body: int


class BodyEntry(Struct):
    node: Node
    frame: int
    world: int


class GeomEntry(Struct):
    node: Node
    frame: int
    world: int
    body: int
    space: str


class JointEntry(Struct):
    """`frame` is the enclosing frame, `body` the innermost enclosing body (-1: none)."""

    node: Node
    frame: int
    world: int
    body: int
    group: str


class ExtensionEntry(Struct):
    node: Node
    owner: Node
    kind: str


class DocumentLayout:
    """All objects of a document, by kind, in document order."""

    def __init__(self, root: Node) -> None:
        self.frames: list[DocumentFrame] = [DocumentFrame(root, "xode", -1, 0, -1)]
        self.worlds: list[Node] = root.nodes("world")
        self.bodies: list[BodyEntry] = []
        self.geoms: list[GeomEntry] = []
        self.joints: list[JointEntry] = []
        self.extensions: list[ExtensionEntry] = []
        self._add_extensions(root, "xode")
        for number, world in enumerate(self.worlds):
            frame = self._add_frame(world, "world", 0)
            for space in world.nodes("space"):
                self._visit(space, "space", frame, _Surroundings(world=number))
        self.bodies.sort(key=_by_number)
        self.geoms.sort(key=_by_number)
        self.joints.sort(key=_by_number)
        self.extensions.sort(key=_by_number)
        self._renumber()

    def _add_frame(self, node: Node, kind: str, parent: int, body: int = -1) -> int:
        self.frames.append(DocumentFrame(node, kind, parent, self.frames[parent].depth + 1, body))
        self._add_extensions(node, kind)
        return len(self.frames) - 1

    def _add_extensions(self, node: Node, kind: str) -> None:
        for extension in node.nodes(EXTENSION.tag):
            self.extensions.append(ExtensionEntry(extension, node, kind))

    def _visit(self, node: Node, kind: str, parent: int, surroundings: _Surroundings) -> None:
        if kind == "body":
            surroundings = _Surroundings(surroundings.world, len(self.bodies), surroundings.space, surroundings.group)
        frame = self._add_frame(node, kind, parent, surroundings.body)
        if kind == "body":
            self.bodies.append(BodyEntry(node, frame, surroundings.world))
            for mass in node.nodes("mass"):
                self._add_mass_extensions(mass)
        elif kind == "geom":
            self.geoms.append(GeomEntry(node, frame, surroundings.world, surroundings.body, surroundings.space))
        elif kind == "space":
            surroundings = _Surroundings(
                surroundings.world, surroundings.body, node.get("@name", ""), surroundings.group
            )
        elif kind == "jointgroup":
            surroundings = _Surroundings(
                surroundings.world, surroundings.body, surroundings.space, node.get("@name", "")
            )
        for child_kind, child in _children(node):
            self._visit(child, child_kind, frame, surroundings)
        for joint in node.nodes("joint"):
            self.joints.append(JointEntry(joint, frame, surroundings.world, surroundings.body, surroundings.group))
            self._add_extensions(joint, "joint")
            self._add_inner_extensions(joint)
        if kind == "geom":
            self._add_inner_extensions(node)

    def _add_inner_extensions(self, node: Node) -> None:
        """Add the extensions of the shape or joint type inside a node."""
        for name, value in node.fields.items():
            if isinstance(value, Node) and EXTENSION.tag in value.fields:
                self._add_extensions(value, name)

    def _add_mass_extensions(self, node: Node) -> None:
        self._add_extensions(node, "mass")
        for shape in node.nodes("mass_shape"):
            self._add_inner_extensions(shape)
        for nested in node.nodes("mass"):
            self._add_mass_extensions(nested)

    def _renumber(self) -> None:
        """Replace the preliminary body numbers, in visiting order, by the final ones, in document order."""
        number_of = {body.frame: number for number, body in enumerate(self.bodies)}
        entered = sorted(number_of)
        final = [number_of[frame] for frame in entered]
        if final != list(range(len(final))):
            entries: list[GeomEntry | JointEntry | DocumentFrame] = [*self.geoms, *self.joints, *self.frames]
            for entry in entries:
                if entry.body >= 0:
                    entry.body = final[entry.body]


class _Surroundings(Struct, frozen=True):
    """The enclosing world, body, space and joint group of an element."""

    world: int
    body: int = -1
    space: str = ""
    group: str = ""


def _children(node: Node) -> Iterator[tuple[str, Node]]:
    for kind in CONTAINERS:
        for child in node.nodes(kind):
            yield kind, child


def _by_number(entry: BodyEntry | GeomEntry | JointEntry | ExtensionEntry) -> int:
    return entry.node.number
