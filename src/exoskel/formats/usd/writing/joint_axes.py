"""Which axes of a UsdPhysics joint move, how its frame is turned for that, and which coordinates they are."""

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
_AXES = {tuple(sign * row): (i, sign < 0.0) for i, row in enumerate(np.eye(3)) for sign in (1.0, -1.0)}
"""What most axes are: which one, and whether it is the other way round."""
_UNITS = dict(zip("xyz", np.eye(3), strict=True))
_RIGHT_ANGLE = 1e-9
"""How far the cosine of two axes may be from 0 for a generic joint, which has them at a right angle."""
_ALIGNED = 1e-15
"""How far an axis may be from one of the child's, rounding apart."""
_FLIPS = (np.diag([-1.0, -1.0, 1.0]), np.diag([1.0, -1.0, -1.0]), np.diag([1.0, -1.0, -1.0]))
"""Turns by half a circle that take x, y and z to the other side."""


class AxisFreedom(Struct, frozen=True):
    """One axis that moves: its name, and the coordinate of the joint that it is, times `sign`.

    The suspension of a hinge2 is no coordinate.
    """

    name: str
    coordinate: int | None = None
    sign: float = 1.0

    @property
    def is_turn(self) -> bool:
        return self.name[0] in "ra"


class AxisPlan(Struct, frozen=True):
    """A joint of UsdPhysics: its type, its frame in the axes of the scene's joint, and what moves.

    `axis` is the word of a joint with one axis; the frame of one that is `in_child` is in the axes of the child.
    """

    type: str
    turn: Array
    freedoms: tuple[AxisFreedom, ...] = ()
    axis: str = ""
    in_child: bool = False


def plan(joint: Joint) -> AxisPlan | None:
    """How a joint is written; None if UsdPhysics has none like it."""
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
            turn = np.stack([direction[0] for direction in plane_frames([joint])], axis=1)
            slides = (AxisFreedom("transX", 0), AxisFreedom("transY", 1))
            return AxisPlan(kind, turn, (*slides, AxisFreedom("rotZ", 2)) if joint.kind == "planar" else slides)
        case "translational":
            return AxisPlan(kind, np.eye(3), _along(TRANSLATIONS, 0))
        case "free":
            return AxisPlan(kind, np.eye(3), (*_along(TRANSLATIONS, 3), *_along(ROTATIONS, 0)))
    return AxisPlan(kind, np.eye(3))


def fits(joint: Joint) -> bool:
    """Whether one joint of UsdPhysics can stand for a joint; others are taken apart."""
    if joint.kind in ("universal", "hinge2"):
        one, two = unit(joint.axes[0]), unit(joint.axes[1])
        return bool(one.any() and two.any()) and abs(float(one @ two)) <= _RIGHT_ANGLE
    if joint.kind == "euler":
        return len(set(joint.order)) == 3
    return joint.kind != "screw"


def _along(names: Sequence[str], first: int) -> tuple[AxisFreedom, ...]:
    return tuple(AxisFreedom(name, first + i) for i, name in enumerate(names))


def _single(joint: Joint, kind: str) -> AxisPlan:
    # Newton takes a joint of the world whose frame is the world's to be at zero where its body stands.
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
    """The same for all joints along it, and most are: a frame that single precision holds exactly."""
    turn = _FLIPS[number] if backwards else np.eye(3)
    turn.flags.writeable = False
    return AxisPlan(type, turn, _single_freedom(kind), AXES[number], in_child)


def _single_freedom(kind: str) -> tuple[AxisFreedom, ...]:
    return (AxisFreedom("angular" if kind == "revolute" else "linear", 0),)


def _universal(joint: Joint, kind: str) -> AxisPlan:
    """The axis that is fixed in the parent is x, the one that is fixed in the child y."""
    first, second = (1, 0) if joint.swapped else (0, 1)
    x = unit(joint.axes[first])
    z = unit(np.cross(x, joint.axes[second]))
    turns = (AxisFreedom("rotX", first), AxisFreedom("rotY", second))
    travel = (AxisFreedom("transY" if joint.swapped else "transX"),) if has_suspension(joint) else ()
    return AxisPlan(kind, np.stack([x, np.cross(z, x), z], axis=1), (*travel, *turns))


def has_suspension(joint: Joint) -> bool:
    """Whether a hinge2 travels along its first axis: ODE's default is rigid."""
    return joint.kind == "hinge2" and bool(joint.drives) and bool(joint.drives[0].suspension_cfm)


def _euler(joint: Joint, kind: str) -> AxisPlan:
    turn, sign = euler_frame(joint.order)
    return AxisPlan(kind, turn, (AxisFreedom("rotX", 0), AxisFreedom("rotY", 1), AxisFreedom("rotZ", 2, sign)))


def euler_frame(order: str) -> tuple[Array, float]:
    """The frame whose x, y, z are the axes of an order, and the sign of the third: not every order is right-handed."""
    one, two, three = (_UNITS[letter] for letter in order)
    z = np.cross(one, two)
    return np.stack([one, two, z], axis=1), float(z @ three)
