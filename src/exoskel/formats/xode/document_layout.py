"""Flattens an XODE document into lists of frames, bodies, geoms, joints and extensions in document order.

XODE elements nest freely; each entry states the frame, world, body, space and group it belongs to.  The transforms of
all frames are composed at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.formats.xode.context import XodeContext
from exoskel.formats.xode.transforms import NO_TRANSFORM, LocalTransform, TransformReader
from exoskel.scene.pose import IDENTITY, NO_ROTATION, ZERO, Pose, Vector, pose_matrices
from exoskel.source.embedded_format import EXTENSION
from exoskel.source.flat_tree import Node
from exoskel.spatial import Array, Indices

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
                self._visit(space, "space", frame, _Ancestors(world=number))
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
        for extension in node.fields.get(EXTENSION.tag, ()):
            self.extensions.append(ExtensionEntry(extension, node, kind))

    def _visit(self, node: Node, kind: str, parent: int, ancestors: _Ancestors) -> None:
        if kind == "body":
            ancestors = _Ancestors(ancestors.world, len(self.bodies), ancestors.space, ancestors.group)
        frame = self._add_frame(node, kind, parent, ancestors.body)
        if kind == "body":
            self.bodies.append(BodyEntry(node, frame, ancestors.world))
            for mass in node.nodes("mass"):
                self._add_mass_extensions(mass)
        elif kind == "geom":
            self.geoms.append(GeomEntry(node, frame, ancestors.world, ancestors.body, ancestors.space))
        elif kind == "space":
            ancestors = _Ancestors(ancestors.world, ancestors.body, node.get("@name", ""), ancestors.group)
        elif kind == "jointgroup":
            ancestors = _Ancestors(ancestors.world, ancestors.body, ancestors.space, node.get("@name", ""))
        fields = node.fields
        for child_kind in CONTAINERS:
            for child in fields.get(child_kind, ()):
                self._visit(child, child_kind, frame, ancestors)
        for joint in fields.get("joint", ()):
            self.joints.append(JointEntry(joint, frame, ancestors.world, ancestors.body, ancestors.group))
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


class _Ancestors(Struct, frozen=True):
    """The enclosing world, body, space and joint group of an element."""

    world: int
    body: int = -1
    space: str = ""
    group: str = ""


def _by_number(entry: BodyEntry | GeomEntry | JointEntry | ExtensionEntry) -> int:
    return entry.node.number


# --- transforms of frames -----------------------------------------------------------------------------


LARGEST = 1e300
"""The largest position in metres, and the largest scale; sums and differences of them do not overflow."""
_FAR = 1e100
_FEW = 100
"""Up to this number of frames, NumPy takes longer than Python."""
_ARRAYS = frozenset({"world", "inner", "scale", "inner_scale"})


class Frames:
    """The composed transforms of all frames.

    `world` are the frames in world coordinates, including the root's own transform and the scale; `scale` is the
    scale of each.  `inner` and `inner_scale` are the same relative to the enclosing body, if there is one.  These
    arrays are computed when they are first used, if a few frames have `positions`.
    """

    world: Array
    inner: Array
    scale: Array
    inner_scale: Array
    has_absolute_offset: Sequence[bool] | NDArray[np.bool_]

    def __init__(self, context: XodeContext, layout: DocumentLayout) -> None:
        self.context = context
        self.layout = layout
        reader = TransformReader(context)
        self.local: list[LocalTransform] = [reader.read(frame.node) for frame in layout.frames]
        self.is_identity = [local.is_identity for local in self.local]
        self.positions = self._translated_positions() if len(layout.frames) <= _FEW else None
        """The positions of a few frames in world coordinates, if all are only translated."""
        if self.positions is None:
            self._compose_all()
        else:
            self.has_absolute_offset = [False] * len(self.positions)

    def __getattr__(self, name: str) -> Array:
        if name not in _ARRAYS:
            raise AttributeError(name)
        self._compose_all()
        found: Array = self.__dict__[name]
        return found

    def _translated_positions(self) -> list[Vector] | None:
        found: list[Vector] = []
        for frame, local in zip(self.layout.frames, self.local, strict=True):
            x, y, z = ZERO if frame.parent < 0 else found[frame.parent]
            if local is not NO_TRANSFORM:
                a, b, c = local.pose.position
                if local.scale != 1.0 or local.absolute or local.pose.rotation is not NO_ROTATION:
                    return None
                x, y, z = x + a + 0.0, y + b + 0.0, z + c + 0.0  # no minus zero, as in products
                if not max(abs(x), abs(y), abs(z)) < _FAR:
                    return None
            found.append((x, y, z))
        return found

    def _compose_all(self) -> None:
        with np.errstate(all="ignore"):  # frames that are not finite are reported
            self._compose(self.layout.frames)
            while (overflowing := self._find_overflowing()).size:
                self._remove_transforms(overflowing.tolist())
                self._compose(self.layout.frames)

    def _find_overflowing(self) -> Indices:
        """The outermost frames whose position or scale overflows."""
        size = np.maximum(np.abs(self.world), np.abs(self.inner))
        scale = np.minimum(self.scale, self.inner_scale)
        if size.max() <= LARGEST and scale.min() >= 1.0 / LARGEST:
            return np.empty(0, dtype=np.intp)
        valid = (size.max(axis=(1, 2)) <= LARGEST) & (scale >= 1.0 / LARGEST)
        parent = np.array([frame.parent for frame in self.layout.frames])
        return np.flatnonzero(~valid & ((parent < 0) | valid[parent]))

    def _remove_transforms(self, numbers: list[int]) -> None:
        for number in numbers:
            frame = self.layout.frames[number]
            what, instead = f"the position or scale of the <{frame.kind}>", "its transform counts as absent"
            self.context.report("X303.overflow", frame.node.number, "transform", what=what, instead=instead)
            self.local[number], self.is_identity[number] = NO_TRANSFORM, True

    def _compose(self, frames: list[DocumentFrame]) -> None:
        own = pose_matrices([local.pose for local in self.local])
        scales = [local.scale for local in self.local]
        factor = np.array(scales)
        if scales.count(1.0) != len(scales):
            own[:, :3, :3] *= factor[:, None, None]
        is_body = np.array([frame.kind == "body" for frame in frames])
        self.world, self.inner = own + 0.0, own + 0.0  # no minus zero, as in products
        self.scale, self.inner_scale = factor.copy(), factor.copy()
        self.inner[is_body], self.inner_scale[is_body] = np.eye(4), 1.0
        has_absolute_offset = np.zeros(len(frames), dtype=np.bool_)
        levels = self._nested_levels(frames)
        if levels:  # so it is if a frame inside a body is absolute
            absolute = np.array([local.absolute for local in self.local])
            body = np.array([frame.body for frame in frames])
            has_absolute_offset |= absolute & (body >= 0) & ~is_body
            parent = np.array([frame.parent for frame in frames])
            start = np.where(absolute, 0, parent)
            depth = np.array([frame.depth for frame in frames])
        for level in levels:
            members = np.flatnonzero(depth == level)
            self.world[members] = self.world[start[members]] @ own[members]
            self.scale[members] = self.scale[start[members]] * factor[members]
            inside = members[(body[members] >= 0) & ~is_body[members]]
            self.inner[inside] = self.inner[parent[inside]] @ own[inside]
            self.inner_scale[inside] = self.inner_scale[parent[inside]] * factor[inside]
            has_absolute_offset[inside] |= has_absolute_offset[parent[inside]]
        self.has_absolute_offset = has_absolute_offset
        if has_absolute_offset.any():
            self._compute_absolute_offsets(np.flatnonzero(has_absolute_offset), body)

    def _nested_levels(self, frames: list[DocumentFrame]) -> list[int]:
        """The levels with frames inside others that are not the identity: all others need not be composed."""
        levels: set[int] = set()
        in_world, in_body = [self.is_identity[0]], [False]  # whether frames are those of the world and of their body
        for frame, local, is_identity in zip(frames[1:], self.local[1:], self.is_identity[1:], strict=True):
            is_inside = frame.body >= 0 and frame.kind != "body"
            if local.absolute and is_inside:
                return list(range(1, max(one.depth for one in frames) + 1))
            is_direct = in_world[0 if local.absolute else frame.parent]
            is_direct_in_body = is_inside and in_body[frame.parent]
            if not is_direct or (is_inside and not is_direct_in_body):
                levels.add(frame.depth)
            in_world.append(is_direct and is_identity)
            in_body.append(frame.kind == "body" or (is_direct_in_body and is_identity))
        return sorted(levels)

    def _compute_absolute_offsets(self, members: Indices, body: Indices) -> None:
        """Compute the pose in the body of frames below an absolute transform, from the initial poses of both."""
        body_frame = np.array([self.layout.bodies[number].frame for number in body[members].tolist()])
        outer, frames = self.rigid(body_frame), self.rigid(members)
        self.inner[members] = spatial.inverse(outer) @ frames
        sizes = np.abs(np.hstack([outer[:, :3, 3], frames[:, :3, 3]])).max(axis=1)
        self.inner[members, :3, 3] = spatial.without_noise(self.inner[members, :3, 3], sizes)
        self.inner_scale[members] = 1.0

    def rigid(self, numbers: Indices | list[int]) -> Array:
        """Frames in world coordinates without their scale."""
        out = self.world[numbers].copy()
        out[:, :3, :3] /= self.scale[numbers][:, None, None]
        return out

    def inner_rigid(self, numbers: list[int]) -> Array:
        """Frames relative to their bodies without their scale."""
        out = self.inner[numbers].copy()
        out[:, :3, :3] /= self.inner_scale[numbers][:, None, None]
        return out

    def pose(self, number: int) -> Pose:
        """The pose of a frame in world coordinates, as written if all enclosing transforms are the identity."""
        local = self.local[number]
        if local.scale == 1.0 and self.is_root_frame(self._base_frame(number)):
            return local.pose
        return Pose.from_matrix(self.rigid([number])[0])

    def is_root_frame(self, number: int) -> bool:
        """Whether a frame equals the world frame: all transforms in its chain are the identity."""
        while number >= 0:
            if not self.is_identity[number]:
                return False
            number = self._base_frame(number)
        return True

    def _base_frame(self, number: int) -> int:
        """The frame that a transform is relative to: the enclosing one, or the root (-1: the world)."""
        return 0 if number > 0 and self.local[number].absolute else self.layout.frames[number].parent

    def pose_in_body(self, number: int) -> Pose:
        """The pose of a frame in its body, as written if all transforms in between are the identity."""
        local, frame = self.local[number], self.layout.frames[number]
        body_frame = self.layout.bodies[frame.body].frame
        between = frame.parent
        while between != body_frame and self.is_identity[between]:
            between = self.layout.frames[between].parent
        if between == body_frame and local.scale == 1.0 and not self.has_absolute_offset[number]:
            return local.pose if not local.is_identity else IDENTITY
        return Pose.from_matrix(self.inner_rigid([number])[0])

    # --- nested transforms ----------------------------------------------------------------------------

    def report_nested_transforms(self) -> None:
        """Report nested rotations and translations, which PyODE composes incorrectly."""
        moved: list[bool] = []
        rotated: list[bool] = []
        for frame, local in zip(self.layout.frames, self.local, strict=True):
            independent = frame.parent < 0 or local.absolute or self._is_placed_in_body(frame)
            parent_moved = not independent and moved[frame.parent]
            parent_rotated = not independent and rotated[frame.parent]
            moves, rotates = (False, False) if local is NO_TRANSFORM else (local.moves, local.rotates)
            if (moves and parent_rotated) or (rotates and parent_moved):
                self.context.report("X515", frame.node.number, "transform")
            moved.append(parent_moved or moves)
            rotated.append(parent_rotated or rotates)

    def _is_placed_in_body(self, frame: DocumentFrame) -> bool:
        """Whether a frame is placed directly in a body, so that transforms around the body do not matter."""
        above = self.layout.frames[frame.parent]
        return above.kind == "body" and frame.kind != "body"
