"""An XODE document laid out: which frame, body, space and group everything belongs to.

XODE nests everything in everything; here the tree becomes a few flat lists in document order.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from exoskel.source.flat_tree import Node

CONTAINERS = ("space", "group", "jointgroup", "body", "geom")


class DocumentFrame(Struct):
    """An element that has a transform, or could have: its place in the chain.

    `parent` is the number of the enclosing frame (-1 for the root), `body` the number of the body it is
    inside of, itself included (-1: none).
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
    """`frame` is the enclosing one, `body` the nearest body around the joint (-1: none)."""

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
        self._extend(root, "xode")
        for number, world in enumerate(self.worlds):
            frame = self._enter(world, "world", 0)
            for space in world.nodes("space"):
                self._walk(space, "space", frame, _Surroundings(world=number))
        self.bodies.sort(key=_by_number)
        self.geoms.sort(key=_by_number)
        self.joints.sort(key=_by_number)
        self.extensions.sort(key=_by_number)
        self._renumber()

    def _enter(self, node: Node, kind: str, parent: int, body: int = -1) -> int:
        self.frames.append(DocumentFrame(node, kind, parent, self.frames[parent].depth + 1, body))
        self._extend(node, kind)
        return len(self.frames) - 1

    def _extend(self, node: Node, kind: str) -> None:
        for extension in node.nodes("ext"):
            self.extensions.append(ExtensionEntry(extension, node, kind))

    def _walk(self, node: Node, kind: str, parent: int, around: _Surroundings) -> None:
        if kind == "body":
            around = _Surroundings(around.world, len(self.bodies), around.space, around.group)
        frame = self._enter(node, kind, parent, around.body)
        if kind == "body":
            self.bodies.append(BodyEntry(node, frame, around.world))
            for mass in node.nodes("mass"):
                self._mass_extensions(mass)
        elif kind == "geom":
            self.geoms.append(GeomEntry(node, frame, around.world, around.body, around.space))
        elif kind == "space":
            around = _Surroundings(around.world, around.body, node.get("@name", ""), around.group)
        elif kind == "jointgroup":
            around = _Surroundings(around.world, around.body, around.space, node.get("@name", ""))
        for child_kind, child in _children(node):
            self._walk(child, child_kind, frame, around)
        for joint in node.nodes("joint"):
            self.joints.append(JointEntry(joint, frame, around.world, around.body, around.group))
            self._extend(joint, "joint")
            self._inner_extensions(joint)
        if kind == "geom":
            self._inner_extensions(node)

    def _inner_extensions(self, node: Node) -> None:
        """Those of the shape or of the joint type that a node holds."""
        for name, value in node.fields.items():
            if isinstance(value, Node) and "ext" in value.fields:
                self._extend(value, name)

    def _mass_extensions(self, node: Node) -> None:
        self._extend(node, "mass")
        for shape in node.nodes("mass_shape"):
            self._inner_extensions(shape)
        for nested in node.nodes("mass"):
            self._mass_extensions(nested)

    def _renumber(self) -> None:
        """Bodies were numbered as they were entered; after sorting they have their final numbers."""
        number_of = {body.frame: number for number, body in enumerate(self.bodies)}
        entered = sorted(number_of)
        final = [number_of[frame] for frame in entered]
        if final != list(range(len(final))):
            entries: list[GeomEntry | JointEntry | DocumentFrame] = [*self.geoms, *self.joints, *self.frames]
            for entry in entries:
                if entry.body >= 0:
                    entry.body = final[entry.body]


class _Surroundings(Struct, frozen=True):
    """What an element stands in."""

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
