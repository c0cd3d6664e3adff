"""The free axes of UsdPhysics joints: how the joint frame is rotated to them, and which coordinates they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from exoskel.formats.usd.mapping import JOINTS
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import plane_frames
from exoskel.spatial import Array, rotation_from_z, unit

AXES = ("X", "Y", "Z")
TRANSLATIONS = ("transX", "transY", "transZ")
ROTATIONS = ("rotX", "rotY", "rotZ")
GEAR_AXES = (*TRANSLATIONS, *ROTATIONS)
"""The axes of a joint in the order of the numbers of an actuator's gear."""
_AXES = {tuple(sign * row): (i, sign < 0.0) for i, row in enumerate(np.eye(3)) for sign in (1.0, -1.0)}
"""The coordinate axes, to which most axes are equal: the number, and whether the axis is reversed."""
_UNITS = dict(zip("xyz", np.eye(3), strict=True))
_RIGHT_ANGLE = 1e-9
"""The tolerance for the cosine of the axes of a generic joint, which are perpendicular."""
_ALIGNED = 1e-15
"""The tolerance for an axis along one of the child's axes: rounding errors only."""
_FLIPS = (np.diag([-1.0, -1.0, 1.0]), np.diag([1.0, -1.0, -1.0]), np.diag([1.0, -1.0, -1.0]))
"""Rotations by 180 degrees that reverse x, y and z."""


class AxisFreedom(Struct, frozen=True):
    """A free axis: its name, and the coordinate of the joint that it represents, multiplied by `sign`.

    The suspension of a hinge2 has no coordinate.
    """

    name: str
    coordinate: int | None = None
    sign: float = 1.0

    @property
    def is_rotation(self) -> bool:
        return self.name[0] in "ra"


class AxisPlan(Struct, frozen=True):
    """A joint of UsdPhysics: its type, the rotation of its frame in the scene's joint frame, and its free axes.

    `axis` is the axis token of a joint with one axis.  If `in_child`, the rotation is relative to the child.
    """

    type: str
    rotation: Array
    freedoms: tuple[AxisFreedom, ...] = ()
    axis: str = ""
    in_child: bool = False


def cone_coordinates(axis: int) -> tuple[int, int]:
    """The components of the rotation vector that the two angles of a cone around an axis limit.

    An axis turns towards the next one about the third one.
    """
    return (axis + 2) % 3, (axis + 1) % 3


def plan(joint: Joint) -> AxisPlan | None:
    """How a joint is written; None if UsdPhysics does not support it."""
    kind = JOINTS[joint.kind].prim
    if not kind or not fits(joint):
        return None
    match joint.kind:
        case "revolute" | "prismatic":
            return _single(joint, kind)
        case "universal" | "hinge2":
            return _universal(joint, kind)
        case "euler":
            return _euler(joint, kind)
        case "planar" | "translational2d":
            rotation = np.stack([direction[0] for direction in plane_frames([joint])], axis=1)
            slides = (AxisFreedom("transX", 0), AxisFreedom("transY", 1))
            return AxisPlan(kind, rotation, (*slides, AxisFreedom("rotZ", 2)) if joint.kind == "planar" else slides)
        case "translational":
            return AxisPlan(kind, np.eye(3), _along(TRANSLATIONS, 0))
        case "free":
            return AxisPlan(kind, np.eye(3), (*_along(TRANSLATIONS, 3), *_along(ROTATIONS, 0)))
    return AxisPlan(kind, np.eye(3))


def fits(joint: Joint) -> bool:
    """Whether one joint of UsdPhysics can represent a joint; others are lowered."""
    if joint.kind in ("universal", "hinge2"):
        one, two = unit(joint.axes[0]), unit(joint.axes[1])
        return bool(one.any() and two.any()) and abs(float(one @ two)) <= _RIGHT_ANGLE
    if joint.kind == "euler":
        return len(set(joint.order)) == 3
    return joint.kind != "screw"


def _along(names: Sequence[str], first: int) -> tuple[AxisFreedom, ...]:
    return tuple(AxisFreedom(name, first + i) for i, name in enumerate(names))


def _single(joint: Joint, kind: str) -> AxisPlan:
    # If the frame of a joint to the world is the world's, Newton assumes position zero at the body's pose.
    may_align = joint.parent is not None or not any(joint.positions)
    if may_align and joint.pose.has_no_rotation and joint.axes[0] in _AXES:
        return _along_axis(kind, joint.kind, *_AXES[joint.axes[0]], in_child=True)
    direction = unit(joint.axes[0])
    if not direction.any():
        return AxisPlan(JOINTS["weld"].prim, np.eye(3))
    for in_child in (True, False) if may_align else ():
        own = joint.pose.rotation.matrix() @ direction if in_child else direction
        number = int(np.argmax(np.abs(own)))
        if np.delete(np.abs(own), number).max() <= _ALIGNED:
            return _along_axis(kind, joint.kind, number, bool(own[number] < 0.0), in_child)
    return AxisPlan(kind, rotation_from_z(direction), _single_freedom(joint.kind), "Z")


@lru_cache
def _along_axis(type: str, kind: str, number: int, backwards: bool, in_child: bool) -> AxisPlan:
    """The plan of a joint along a coordinate axis: its frame is exact in single precision."""
    rotation = _FLIPS[number] if backwards else np.eye(3)
    rotation.flags.writeable = False
    return AxisPlan(type, rotation, _single_freedom(kind), AXES[number], in_child)


def _single_freedom(kind: str) -> tuple[AxisFreedom, ...]:
    return (AxisFreedom("angular" if kind == "revolute" else "linear", 0),)


def _universal(joint: Joint, kind: str) -> AxisPlan:
    """The axis fixed in the parent is x, the axis fixed in the child is y."""
    first, second = (1, 0) if joint.swapped else (0, 1)
    x = unit(joint.axes[first])
    z = unit(np.cross(x, joint.axes[second]))
    rotations = (AxisFreedom("rotX", first), AxisFreedom("rotY", second))
    travel = (AxisFreedom("transY" if joint.swapped else "transX"),) if has_suspension(joint) else ()
    return AxisPlan(kind, np.stack([x, np.cross(z, x), z], axis=1), (*travel, *rotations))


def has_suspension(joint: Joint) -> bool:
    """Whether a hinge2 travels along its first axis: ODE's default is rigid."""
    return joint.kind == "hinge2" and bool(joint.drives) and (joint.drives[0].suspension_cfm or 0.0) > 0.0


def _euler(joint: Joint, kind: str) -> AxisPlan:
    rotation, sign = euler_frame(joint.order)
    return AxisPlan(kind, rotation, (AxisFreedom("rotX", 0), AxisFreedom("rotY", 1), AxisFreedom("rotZ", 2, sign)))


def euler_frame(order: str) -> tuple[Array, float]:
    """The right-handed frame of an axis order, and the sign of its third axis."""
    one, two, three = (_UNITS[letter] for letter in order)
    z = np.cross(one, two)
    return np.stack([one, two, z], axis=1), float(z @ three)
