"""Edits transforms and initial poses: in the frame of the element around, with the author's form of rotation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from math import acos, degrees, radians, sin

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import Collector
from exoskel.formats.interface import ReadOptions
from exoskel.formats.xode.codes import CATALOGUE
from exoskel.formats.xode.context import XodeContext, choose_dialect, find_pybrain_comment
from exoskel.formats.xode.document_layout import DocumentLayout, Frames
from exoskel.formats.xode.transforms import ROTATIONS
from exoskel.formats.xode.vocabulary import XODE
from exoskel.scene.body import Body
from exoskel.scene.fields import relative_difference
from exoskel.scene.kinematics import Kinematics, bodies_moved_by_initial_positions
from exoskel.scene.model import Model
from exoskel.scene.pose import (
    NO_ROTATION,
    ZERO,
    AxisAngle,
    Euler,
    Pose,
    Quaternion,
    Rotation,
    Vector,
    poses_from_matrices,
)
from exoskel.source.document import Document
from exoskel.source.flat_tree import Node
from exoskel.source.markup import Markup, format_number
from exoskel.source.positions import Elements
from exoskel.source.structure import StructureReader
from exoskel.source.vocabulary import Element
from exoskel.spatial import Array

_POSE_ROUNDING = 1e-13
"""The largest rounding error of forward kinematics along a chain of joints."""


class InitialPoses:
    """Initial poses of bodies.  They are computed for models with a pose or with initial joint positions."""

    def __init__(self) -> None:
        self._computed: dict[int, Pose] = {}

    def compute(self, models: Iterable[Model]) -> None:
        """Compute the initial poses of the bodies of some models in their present state."""
        moved = [model for model in models if not model.pose.is_identity or bodies_moved_by_initial_positions(model)]
        if moved:
            bodies = [body for model in moved for body in model.bodies]
            self._computed.update(zip(map(id, bodies), poses_from_matrices(Kinematics(moved).poses()), strict=True))

    def of(self, body: Body) -> Pose:
        return self._computed.get(id(body), body.pose)

    def differ(self, source: Body, body: Body) -> bool:
        if id(source) in self._computed or id(body) in self._computed:
            return relative_difference(self.of(source), self.of(body)) > _POSE_ROUNDING
        return source.pose != body.pose

    def __bool__(self) -> bool:
        return bool(self._computed)


# --- transforms ----------------------------------------------------------------------------------------


_ROUNDING = 1e-15


class Transforms:
    """The transforms of one document, of which some bodies and geoms are moved.

    `items` are the elements that have a transform of their own after the edit: what moves around them does not move
    them.  A geom stays where it is in its body.
    """

    def __init__(
        self, document: Document, options: ReadOptions, elements: Elements, pyode: bool, items: Callable[[], set[int]]
    ) -> None:
        self.document = document
        self.options = options
        self.elements = elements
        self.pyode = pyode
        self.find_items = items
        self.moves: dict[int, Array] = {}
        """From the old pose of a body or geom in the world to its new one, by its element."""
        self.moves_in_body: dict[int, Array] = {}
        """From the old pose of a geom in its body to its new one."""

    def adapt(self, node: int, before: Pose, after: Pose) -> tuple[Markup | None, Markup | None]:
        """The transform of an element before and after an edit; None if it has none."""
        transform = self.elements.child(node, "transform")
        written = None if transform < 0 else self._written_pose(transform)
        has_moved_frame = self.has_moved_frame(node)
        if transform >= 0 and written is None:
            return self._replace_matrix(node, after)
        if not has_moved_frame and (written or Pose()) == self._in_dialect(before):
            local = self._in_dialect(after)
        else:
            local = self._local(self._frame(node), before, after, written or Pose(), stays=not has_moved_frame)
        old = self._markup(transform, written, written)
        new = self._markup(transform, local, written)
        return old, new

    # --- frames ---------------------------------------------------------------------------------------

    @cached_property
    def _frames(self) -> Frames:
        collector = Collector(CATALOGUE, self.document, False)
        reader = StructureReader(self.document, XODE, collector, self.options.limits, literal=False)
        root = reader.read(self.document.parse(self.options.limits), _add_to_parent)
        chosen, _ = choose_dialect(
            self.options.dialect, root, has_pybrain_comment=find_pybrain_comment(self.document) is not None
        )
        return Frames(XodeContext(self.document, self.options, collector, chosen), DocumentLayout(root))

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {frame.node.number: i for i, frame in enumerate(self._frames.layout.frames)}

    def _frame(self, node: int) -> Array:
        """The frame that an element's transform is relative to after the edit, including its scale."""
        return self._frame_of(self._numbers[node], is_moved=True)

    def _frame_of(self, number: int, *, is_moved: bool) -> Array:
        """The frame that the transform of a frame is relative to, before or after the edit."""
        frames = self._frames
        frame, world = frames.layout.frames[number], frames.world
        base = 0 if frames.local[number].absolute else frame.parent
        is_attached = frame.body >= 0 and frame.kind != "body"
        if is_attached and not frames.has_absolute_offset[number]:
            inner: Array = frames.inner[base]
            return self._move(base, in_body=True) @ inner if is_moved else inner
        outer: Array = self._move(base) @ world[base] if is_moved else world[base]
        if not is_attached:
            return outer
        body = frames.layout.bodies[frame.body]
        place = frames.rigid([body.frame])[0]
        if is_moved:
            place = self.moves.get(body.node.number, np.eye(4)) @ place
        found: Array = spatial.inverse(place) @ outer
        return found

    def _move(self, number: int, *, in_body: bool = False) -> Array:
        """From the old place of a frame in the world, or in its body, to its new one.

        What has no pose in the scene, such as a group, moves with what is around it.
        """
        frames, known = self._frames, self.moves_in_body if in_body else self.moves
        while number > 0:
            frame = frames.layout.frames[number]
            node = frame.node.number
            if node in known:
                return known[node]
            if frame.kind == "geom" and frame.body >= 0 and node in self._items and not in_body:
                return self.moves.get(frames.layout.bodies[frame.body].node.number, np.eye(4))
            if node in self._items or frames.local[number].absolute:
                break
            number = frame.parent
        return np.eye(4)

    @cached_property
    def _items(self) -> set[int]:
        return self.find_items()

    def may_move(self, node: int) -> bool:
        """Whether something that moves is around an element, so that it may move, too: content of a body does not."""
        owners = [owner for owner in self.document.outline.ancestry(node)[:-1] if owner in self.moves]
        if self.elements.tag(node) != "geom":
            return bool(owners)
        return any(owner in self.moves_in_body or self._is_placed_in_world(owner) for owner in owners)

    def _is_placed_in_world(self, owner: int) -> bool:
        """Whether something in an element may be relative to the world."""
        span = self.elements.span(owner)
        return self.elements.text.find(b"absolute", span.start, span.end) >= 0

    def has_moved_frame(self, node: int) -> bool:
        """Whether what the transform of an element is relative to is at another place after the edit."""
        if not self.moves or not self.may_move(node):
            return False
        number = self._numbers[node]
        before, after = (self._frame_of(number, is_moved=is_moved) for is_moved in (False, True))
        return not np.array_equal(before, after)

    def is_in_moved_frame(self, node: int) -> bool:
        """Whether the element around another one, which has no pose of its own, is at another place after the edit."""
        if not self.moves or not self.may_move(node):
            return False
        return not np.array_equal(self._move(self._numbers[self.document.outline.parents[node]]), np.eye(4))

    def _local(self, frame: Array, before: Pose, after: Pose, written: Pose, *, stays: bool) -> Pose:
        """The pose `after` in a frame; parts that are the same as in `before` stay as written if the frame `stays`."""
        if np.array_equal(frame, np.eye(4)):
            return self._in_dialect(after)
        scale = float(np.cbrt(np.linalg.det(frame[:3, :3])))
        rotation = frame[:3, :3].T / scale
        computed = rotation @ (np.array(after.position) - frame[:3, 3]) / scale
        position = (
            written.position if stays and after.position == before.position else _without_rounding(computed, written)
        )
        if stays and after.rotation == before.rotation:
            return Pose(position, written.rotation)
        rotated = Pose.from_matrix(spatial.transform(rotation @ after.rotation.matrix(), ZERO))
        return Pose(position, self._in_dialect(rotated).rotation)

    # --- forms of poses -------------------------------------------------------------------------------

    def _in_dialect(self, pose: Pose) -> Pose:
        """A pose with its Euler angles in the document's dialect."""
        if self.pyode and isinstance(pose.rotation, Euler) and pose.rotation.angles != ZERO:
            a, b, c = pose.rotation.angles
            return Pose(pose.position, Euler((-a, -b, -c), pose.rotation.order, pose.rotation.degrees))
        return pose

    def _written_pose(self, transform: int) -> Pose | None:
        """The pose that a transform states literally; None for a matrix or an incomplete position."""
        if any(self.elements.tag(child) in ("matrix4f", "matrix") for child in self.elements.children(transform)):
            return None
        at = self.elements.child(transform, "position")
        position = ZERO if at < 0 else self._vector(at)
        form = self._rotation_element(transform)
        return None if position is None else Pose(position, NO_ROTATION if form < 0 else self._rotation(form))

    def _rotation_element(self, transform: int) -> int:
        inner = self.elements.child(transform, "rotation")
        parents = [inner, transform] if inner >= 0 else [transform]
        forms = (self.elements.child(parent, name) for parent in parents for name in ROTATIONS)
        return next((form for form in forms if form >= 0), -1)

    def _rotation(self, form: int) -> Rotation:
        attributes = self.elements.attributes(form)
        part = self._vector(form) or ZERO
        in_degrees = attributes.get("aformat", "").strip() == "degrees"
        match self.elements.tag(form):
            case "euler":
                return NO_ROTATION if part == ZERO else Euler(part, degrees=in_degrees)
            case "axisangle":
                return AxisAngle(part, _float(attributes.get("angle")), degrees=in_degrees)
            case _:
                return Quaternion((_float(attributes.get("w")), *part))

    def _vector(self, node: int) -> Vector | None:
        found = [self.elements.attribute(node, axis) for axis in "xyz"]
        if None in found:
            return None
        x, y, z = (_float(value) for value in found)
        return (x, y, z)

    def _replace_matrix(self, node: int, after: Pose) -> tuple[Markup, Markup]:
        """Replace a matrix by a position and a rotation."""
        transform = self.elements.child(node, "transform")
        tags = [self.elements.tag(child) for child in self.elements.children(transform)]
        local = self._local(self._frame(node), after, after, Pose(), stays=False)
        new = self._markup(-1, local, None) or Markup("transform")
        return Markup("transform", children=[Markup(tag) for tag in tags]), new

    def _markup(self, transform: int, pose: Pose | None, written: Pose | None) -> Markup | None:
        """A transform element with the document's form of rotation."""
        if pose is None:
            return None
        element = Markup("transform")
        has_position = transform >= 0 and self.elements.child(transform, "position") >= 0
        if has_position or pose.position != ZERO:
            element.children.append(Markup("position", _vector_attributes(pose.position)))
        form = -1 if transform < 0 else self._rotation_element(transform)
        rotation = self._rotation_markup(pose.rotation, form)
        if rotation is not None:
            is_direct = form >= 0 and self.elements.child(transform, rotation.tag) == form
            element.children.append(rotation if is_direct else Markup("rotation", children=[rotation]))
        return element if element.children or transform >= 0 else None

    def _rotation_markup(self, rotation: Rotation, form: int) -> Markup | None:
        tag = self.elements.tag(form) if form >= 0 else "euler" if self.pyode else "quaternion"
        in_degrees = self.elements.attribute(form, "aformat") == "degrees" if form >= 0 else self.pyode
        if form < 0 and (rotation == NO_ROTATION or not np.any(rotation.matrix() != np.eye(3))):
            return None
        match tag:
            case "euler":
                element = Markup("euler", _vector_attributes(self._angles(rotation, in_degrees)))
            case "axisangle":
                axis, angle = _axis_angle(rotation, in_degrees)
                element = Markup("axisangle", {**_vector_attributes(axis), "angle": format_number(angle)})
            case _:
                w, *part = _quaternion(rotation)
                return Markup("quaternion", {**_vector_attributes(part), "w": format_number(w)})
        if form < 0 and in_degrees:
            element.attributes["aformat"] = "degrees"
        return element

    def _angles(self, rotation: Rotation, in_degrees: bool) -> Vector:
        if isinstance(rotation, Euler) and rotation.order == "xyz":
            angles = rotation.angles
            if rotation.degrees == in_degrees:
                return angles
            a, b, c = (degrees(v) if in_degrees else radians(v) for v in angles)
            return (a, b, c)
        sign = -1.0 if self.pyode else 1.0
        a, b, c = (sign * v for v in spatial.euler_xyz(rotation.matrix()).tolist())
        return (degrees(a), degrees(b), degrees(c)) if in_degrees else (a, b, c)


def _without_rounding(computed: Array, written: Pose) -> Vector:
    """A position without the rounding errors of a change of frames; unmoved components stay as written."""
    error = _ROUNDING * max(1.0, float(np.abs(computed).max()))
    x, y, z = (
        known if abs(value - known) <= error else 0.0 if abs(value) <= error else float(f"{value:.15g}")
        for value, known in zip(computed.tolist(), written.position, strict=True)
    )
    return (x, y, z)


def _add_to_parent(node: Node, rule: Element, parent: Node, _parent_rule: Element) -> None:
    parent.fields.setdefault(rule.name, []).append(node)


def _axis_angle(rotation: Rotation, in_degrees: bool) -> tuple[Vector, float]:
    if isinstance(rotation, AxisAngle):
        if rotation.degrees == in_degrees:
            return rotation.axis, rotation.angle
        return rotation.axis, degrees(rotation.angle) if in_degrees else radians(rotation.angle)
    w, x, y, z = _quaternion(rotation)
    angle = 2.0 * acos(max(-1.0, min(1.0, w)))
    half = sin(angle / 2.0)
    axis = (x / half, y / half, z / half) if half > 0.0 else (0.0, 0.0, 1.0)
    return axis, degrees(angle) if in_degrees else angle


def _quaternion(rotation: Rotation) -> tuple[float, float, float, float]:
    return rotation.wxyz if isinstance(rotation, Quaternion) else Pose(ZERO, rotation).quaternion


def _vector_attributes(vector: tuple[float, ...] | list[float]) -> dict[str, str]:
    return {axis: format_number(value) for axis, value in zip("xyz", vector, strict=True)}


def _float(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
