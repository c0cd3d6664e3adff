"""Reads the joints of XODE: the bodies they connect, their anchors, axes and drives."""

from __future__ import annotations

from functools import cached_property
from math import degrees, hypot, inf, isfinite, pi
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import KnownNames
from exoskel.formats.xode.context import XodeContext
from exoskel.formats.xode.document_layout import LARGEST, DocumentLayout, Frames, JointEntry
from exoskel.formats.xode.transforms import TransformReader, vector
from exoskel.formats.xode.vocabulary import ANCHORED, AXIS_COUNT, DRIVE_ATTRIBUTES, JOINT_KINDS
from exoskel.scene.joint import Drive, JointKind
from exoskel.scene.pose import ZERO, Vector
from exoskel.source.flat_tree import Node
from exoskel.spatial import Array

ENVIRONMENT = -1

_ROTATIONAL = ("hinge", "hinge2", "universal", "amotor")
_MAX_LINES = 8
"""The most lines that a message lists: with thousands of bodies of one name, listing all would take minutes."""

_PARALLEL = 1e-6
_PERPENDICULAR = 1e-3

_RANGES: dict[str, tuple[float, float, str]] = {
    "FMax": (0.0, inf, "at least 0"),
    "FudgeFactor": (0.0, 1.0, "from 0 to 1"),
    "Bounce": (0.0, 1.0, "from 0 to 1"),
    "CFM": (0.0, inf, "at least 0"),
    "StopERP": (0.0, 1.0, "from 0 to 1"),
    "StopCFM": (0.0, inf, "at least 0"),
    "SuspensionERP": (0.0, 1.0, "from 0 to 1"),
    "SuspensionCFM": (0.0, inf, "at least 0"),
}
_DRIVE_ROWS = [("@" + attribute, attribute, field) for attribute, (field, _) in DRIVE_ATTRIBUTES.items()]
_STOPS = ("LowStop", "LoStop", "HiStop")
_IGNORED_BY_ODE = ("FMax", "FudgeFactor")
"""The parameters that ODE ignores out of range; it uses any value of others."""


class OdeJoint(Struct):
    """A joint between two bodies, given by number (-1: the environment).

    `anchor` is None for types without an anchor.  `anchor` and `axes` are in world coordinates.
    """

    node: Node
    name: str
    kind: JointKind
    first: int
    second: int
    world: int
    anchor: Vector | None = None
    axes: tuple[Vector, ...] = ()
    drives: tuple[Drive, ...] = ()
    group: str = ""


class OdeJointReader:
    """Reads the `joint` elements of one document."""

    def __init__(self, context: XodeContext, layout: DocumentLayout, frames: Frames) -> None:
        self.context = context
        self.report = context.report
        self.layout = layout
        self.frames = frames
        self.transforms = TransformReader(context)
        is_plain = frames.positions is not None or frames.is_identity[0]
        self.root_is_rotated = not (is_plain or np.array_equal(_rotation(frames.world[0]), np.eye(3)))
        self.root_is_moved = not (frames.is_identity[0] or np.array_equal(frames.world[0], np.eye(4)))
        self.bodies: dict[str, list[int]] = {}
        for number, body in enumerate(layout.bodies):
            if "@name" in body.node.fields:
                self.bodies.setdefault(body.node.fields["@name"], []).append(number)
        self.non_bodies = _names_of_non_bodies(layout)

    def read_joint(self, entry: JointEntry) -> OdeJoint | None:
        """The joint, or None if it is invalid."""
        node = entry.node
        kind = self._read_kind(node)
        ends = self._find_bodies(entry)
        if not kind or ends is None:
            return None
        inner: Node = node.fields[kind]
        frame = self._anchor_frame(entry)
        axes = self._read_axes(kind, inner, frame)
        if axes is None:
            return None
        return OdeJoint(
            node=node,
            name=node.get("@name", ""),
            kind=JOINT_KINDS[kind],
            first=ends[0],
            second=ends[1],
            world=entry.world,
            anchor=self._read_anchor(kind, inner, frame),
            axes=axes,
            drives=self._read_drives(kind, inner),
            group=entry.group,
        )

    def _read_kind(self, node: Node) -> str:
        present = [kind for kind in JOINT_KINDS if kind in node.fields]
        if not present:
            if not node.is_invalid("?"):
                self.report("X203.type", node.number, allowed=list(JOINT_KINDS))
            return ""
        return self.context.choose_first(node, present, "X204.type")

    # --- bodies ---------------------------------------------------------------------------------------

    def _find_bodies(self, entry: JointEntry) -> tuple[int, int] | None:
        """The numbers of both bodies, by the rules for omitted links; None if a link is invalid."""
        given = [self._find_body(entry.node, name) for name in ("link1", "link2")]
        if "wrong" in given:
            return None
        first, second = given
        if first is None and second is None:
            if entry.body < 0:
                self.report("X404.environment", entry.node.number)
                return None
            return entry.body, ENVIRONMENT
        ends = (entry.body if first is None else first, entry.body if second is None else second)
        if ends[0] == ends[1]:
            name = self.layout.bodies[int(ends[0])].node.get("@name", "")
            self.report("X404.same", entry.node.number, name=name)
            return None
        return self._check_world(entry, int(ends[0]), int(ends[1]))

    def _find_body(self, node: Node, link: str) -> int | str | None:
        """The number of the body, None for an omitted link, or `wrong` for an invalid one."""
        inner: Node | None = node.fields.get(link)
        if inner is None:
            return None
        name = inner.fields.get("@body")
        if name is None:
            if inner.is_invalid("@body"):  # it is there, but empty
                self.report("X301", inner.number, attribute_name="body", element=link)
            return "wrong"
        found = self.bodies.get(name, [])
        if len(found) == 1:
            return found[0]
        place: dict[str, Any] = {"attribute": "body", "name": name}
        if found:
            nodes = [self.layout.bodies[number].node.number for number in found[:_MAX_LINES]]
            lines = [str(self.context.line(node)) for node in nodes] + ["…"] * (len(found) > _MAX_LINES)
            self.report("X403", inner.number, lines=", ".join(lines), **place)
        elif name in self.non_bodies:
            self.report("X402", inner.number, kind=self.non_bodies[name], **place)
        else:
            self.report("X401", inner.number, suggestion=self._known_bodies.did_you_mean(name), **place)
        return "wrong"

    @cached_property
    def _known_bodies(self) -> KnownNames:
        return self.context.suggestions.among(self.bodies)

    def _check_world(self, entry: JointEntry, first: int, second: int) -> tuple[int, int] | None:
        """Both bodies, if they are in the world of the joint."""
        bodies = [self.layout.bodies[end] for end in (first, second) if end >= 0]
        if all(body.world == entry.world for body in bodies):
            return first, second
        names = [body.node.get("@name", "") for body in bodies]
        shown = [self.layout.worlds[world].get("@name") or str(world + 1) for world in (b.world for b in bodies)]
        if len({body.world for body in bodies}) > 1:
            self.report("X405", entry.node.number, first=names[0], second=names[1], world1=shown[0], world2=shown[1])
        else:
            own = self.layout.worlds[entry.world].get("@name") or str(entry.world + 1)
            self.report("X405.joint", entry.node.number, name=names[0], world=shown[0], own=own)
        return None

    # --- anchors --------------------------------------------------------------------------------------

    def _anchor_frame(self, entry: JointEntry) -> Array | Vector:
        """The frame an anchor is relative to: that of the enclosing element and the joint's own transform.

        A frame that is only translated may be its position.
        """
        if self.frames.positions is not None and "transform" not in entry.node.fields:
            return self.frames.positions[entry.frame]
        frame: Array = self.frames.world[entry.frame]
        if "transform" in entry.node.fields:
            self.report("X516", entry.node.number, "transform")
            local = self.transforms.read(entry.node)
            own = local.pose.matrix()
            own[:3, :3] *= local.scale
            with np.errstate(all="ignore"):
                moved: Array = (self.frames.world[0] if local.absolute else frame) @ own
            if np.abs(moved[:3]).max() <= LARGEST and hypot(*moved[0, :3]) >= 1.0 / LARGEST:
                return moved
            what, instead = "the position or scale of the <joint>", "its transform counts as absent"
            self.report("X303.overflow", entry.node.number, "transform", what=what, instead=instead)
        return frame

    def _read_anchor(self, kind: str, inner: Node, frame: Array | Vector) -> Vector | None:
        node: Node | None = inner.fields.get("anchor")
        if kind not in ANCHORED:
            if node is not None:
                self.report("X803.amotor" if kind == "amotor" else "X803", node.number, kind=kind)
            return None
        local = ZERO if node is None else vector(node)
        if node is None:
            point = _transform_point(frame, ZERO)
            self.report("X804", inner.number, kind=kind, point=_format_point(point))
            return point
        if local is None:
            return _transform_point(frame, ZERO)
        x, y, z = local
        # Adding zero removes the sign of a negative zero, as a matrix product does.
        fixed = _transform_point(self.frames.world[0], local) if self.root_is_moved else (x + 0.0, y + 0.0, z + 0.0)
        relative = fixed if node.fields.get("@absolute", False) else _transform_point(frame, local)
        if not all(abs(value) <= LARGEST for value in (*fixed, *relative)):
            self.report("X303.overflow", node.number, what="the anchor", instead="the origin of the frame is used")
            return _transform_point(frame, ZERO)
        if all(abs(a - b) <= 1e-12 for a, b in zip(fixed, relative, strict=True)):
            return relative
        self.context.ambiguous_anchors.append(node.number)
        pyode = self.context.dialect == "pyode"
        used, other = (fixed, relative) if pyode else (relative, fixed)
        self.report(
            "X805", node.number, point=_format_point(used), other=_format_point(other), dialect=self.context.dialect
        )
        return used

    # --- axes -----------------------------------------------------------------------------------------

    def _read_axes(self, kind: str, inner: Node, frame: Array | Vector) -> tuple[Vector, ...] | None:
        nodes = inner.nodes("axis")
        expected = AXIS_COUNT[kind]
        if len(nodes) != expected:
            tolerable = kind == "amotor" and len(nodes) < expected
            key = "X801.amotor" if tolerable else "X801"
            self.report(key, inner.number, kind=kind, expected=expected, found=len(nodes))
            if not tolerable:
                return None
        axes: list[Vector] = []
        for node in nodes:
            axis = vector(node)
            if axis is None:
                return None
            if axis == ZERO:
                self.report("X802", node.number)
                return None
            axes.append(self._axis_in_root(node, axis, frame))
        return tuple(axes) if self._check_angles(kind, inner, axes) else None

    def _axis_in_root(self, node: Node, axis: Vector, frame: Array | Vector) -> Vector:
        """The axis in world coordinates."""
        relative = node.fields.get("@absolute") is False
        rotated = not isinstance(frame, tuple) and _is_rotated(frame, self.frames.world[0])
        if relative:
            self.report("X806.relative", node.number, attribute="absolute")
        elif rotated:
            self.report("X806", node.number)
        if isinstance(frame, tuple) or not (relative or self.root_is_rotated):
            return axis
        rotation = _rotation(frame if relative else self.frames.world[0])
        if np.array_equal(rotation, np.eye(3)):
            return axis
        x, y, z = (rotation @ spatial.unit(axis)).tolist()
        return (x, y, z)

    def _check_angles(self, kind: str, inner: Node, axes: list[Vector]) -> bool:
        if kind not in ("hinge2", "universal"):
            return True
        cosine = _cosine(*axes)
        if kind == "hinge2" and are_parallel(*axes):
            self.report("X812", inner.number)
            return False
        if kind == "universal" and abs(cosine) > _PERPENDICULAR:
            self.report("X812.universal", inner.number, angle=f"{degrees(np.arccos(cosine)):.4g}")
        return True

    # --- drives ---------------------------------------------------------------------------------------

    def _read_drives(self, kind: str, inner: Node) -> tuple[Drive, ...]:
        return tuple(self._read_drive(kind, number, node) for number, node in enumerate(inner.nodes("axis")))

    def _read_drive(self, kind: str, number: int, node: Node) -> Drive:
        values: dict[str, float] = {}
        for row, attribute, field in _DRIVE_ROWS:
            value = node.fields.get(row)
            if value is None:
                continue
            low, high, shown = _RANGES.get(attribute, (-inf, inf, ""))
            if not low <= value <= high:
                kept = self.context.dialect == "pyode" and attribute not in _IGNORED_BY_ODE
                key = "X810.kept" if kept else "X810"
                self.report(key, node.number, attribute=attribute, name=attribute, value=value, range=shown)
                if not kept:
                    continue
            if attribute.startswith("Suspension") and not (kind == "hinge2" and number == 0):
                self.report("X811", node.number, attribute=attribute, name=attribute)
            values[field] = value
        self._read_stops(kind, node, values)
        if kind == "hinge2" and number == 1:
            for name in _STOPS:  # ODE never limits this axis
                if isfinite(node.fields.get("@" + name, inf)):
                    self.report("X811.stop", node.number, attribute=name, name=name)
        return Drive(**values)

    def _read_stops(self, kind: str, node: Node, values: dict[str, float]) -> None:
        other = node.fields.get("@LoStop")
        if other is not None:
            low = values.setdefault("low_stop", other)
            if low != other:
                self.report("X808", node.number, attribute="LoStop", low=low, lo=other)
                del values["low_stop"]
        low, high = values.get("low_stop", -inf), values.get("high_stop", inf)
        if low > high:
            self.report("X809", node.number, low=low, high=high)
        elif low == inf or high == -inf:
            self.report("X809.infinite", node.number, low=low, high=high)
        elif kind in _ROTATIONAL:
            for name, value in (("LowStop", low), ("HiStop", high)):
                if isfinite(value) and not -pi < value < pi:
                    self.report("X813", node.number, name=name, value=value)


def _names_of_non_bodies(layout: DocumentLayout) -> dict[str, str]:
    """The kinds of other named elements that a link could refer to by mistake, by name."""
    kinds: dict[str, str] = {}
    for geom in layout.geoms:
        kinds.setdefault(geom.node.get("@name", ""), "a geom")
    for joint in layout.joints:
        kinds.setdefault(joint.node.get("@name", ""), "a joint")
    for frame in layout.frames:
        if frame.kind not in ("body", "geom"):
            kinds.setdefault(frame.node.get("@name", ""), f"a {frame.kind}")
    kinds.pop("", None)
    return kinds


def are_parallel(first: Vector, second: Vector) -> bool:
    """Whether two axes are so close to parallel that ODE does not accept them in a hinge2."""
    return 1.0 - abs(_cosine(first, second)) < _PARALLEL


def _cosine(first: Vector, second: Vector) -> float:
    one, other = spatial.unit((first, second))
    return float(np.clip(one @ other, -1.0, 1.0))


def _transform_point(frame: Array | Vector, local: Vector) -> Vector:
    if isinstance(frame, tuple):
        (a, b, c), (x, y, z) = frame, local
        return (x + a, y + b, z + c)
    with np.errstate(all="ignore"):
        x, y, z = (frame[:3, :3] @ local + frame[:3, 3]).tolist()
    return (x, y, z)


def _rotation(frame: Array) -> Array:
    """The rotation of a frame with a uniform scale."""
    rotation: Array = frame[:3, :3] / hypot(*frame[0, :3])
    return rotation


def _is_rotated(frame: Array, root: Array) -> bool:
    if (frame[:3, :3] == root[:3, :3]).all():
        return False
    return bool(np.abs(_rotation(root).T @ _rotation(frame) - np.eye(3)).max() > 1e-12)


def _format_point(point: Vector) -> str:
    return "({:g}, {:g}, {:g})".format(*point)
