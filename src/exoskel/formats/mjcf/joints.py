"""Joints as MuJoCo has them: chains of hinges, slides and balls, and how their coordinates correspond.

A body's MuJoCo joints act in order, the first nearest to the parent.  Each kind of ours is such a chain, and all
but ball and free have the very same coordinates.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exoskel.scene.joint import PLANES, UNLIMITED, Joint
from exoskel.scene.pose import Vector
from exoskel.spatial import Array, unit

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
DEFAULT_ERP = 0.2
"""ODE's own error reduction."""
_UNITS = {"x": X, "y": Y, "z": Z}


class MujocoJoint(Struct, frozen=True):
    """One MuJoCo joint: its type, its axis in the child body, and which of our coordinates it is.

    `coordinates` are numbers of degrees of freedom of the joint it stands for; none for the slide of a screw, which
    an equality ties to its hinge, and for the suspension of a hinge2, which is no coordinate of the scene.
    """

    type: str
    axis: Vector = Z
    coordinates: tuple[int, ...] = ()


_FREE = MujocoJoint("free", coordinates=(0, 1, 2, 3, 4, 5))
_BALL = MujocoJoint("ball", coordinates=(0, 1, 2))


def links(joint: Joint) -> list[MujocoJoint]:
    """The chain that a joint is made of; empty for a weld."""
    if joint.kind in ("free", "amotor") and joint.parent is None and not _has_dynamics(joint):
        return [_FREE]
    if joint.kind in ("ball", "weld"):
        return [_BALL] if joint.kind == "ball" else []
    turn = joint.pose.matrix()[:3, :3]

    def along(kind: str, axes: list[Vector], first: int = 0) -> list[MujocoJoint]:
        return [MujocoJoint(kind, _vector(turn @ unit(axis)), (first + i,)) for i, axis in enumerate(axes)]

    match joint.kind:
        case "revolute":
            return along("hinge", [joint.axes[0]])
        case "prismatic":
            return along("slide", [joint.axes[0]])
        case "screw":
            return [*along("hinge", [joint.axes[0]]), MujocoJoint("slide", _vector(turn @ unit(joint.axes[0])))]
        case "universal" | "hinge2":
            chain = along("hinge", list(joint.axes))
            if suspension(joint) is not None:
                chain.insert(0, MujocoJoint("slide", chain[0].axis))
            return chain[::-1] if joint.swapped else chain  # the axis that is fixed in the parent comes first
        case "euler":
            return along("hinge", [_UNITS[axis] for axis in joint.order])
        case "translational":
            return along("slide", [X, Y, Z])
        case "translational2d":
            return along("slide", list(plane_axes(joint)))
        case "planar":
            first, second = plane_axes(joint)
            normal = _vector(np.cross(first, second))
            return [*along("slide", [first, second]), *along("hinge", [normal], 2)]
        case _:  # free below a body or with something that resists, amotor
            return free_links(joint, whole=False)


def free_links(joint: Joint, *, whole: bool) -> list[MujocoJoint]:
    """A free joint as MuJoCo's own, or as slides and a ball."""
    if whole:
        return [_FREE]
    turn = joint.pose.matrix()[:3, :3]
    return [
        *(MujocoJoint("slide", _vector(turn @ np.array(axis)), (3 + i,)) for i, axis in enumerate((X, Y, Z))),
        _BALL,
    ]


def _has_dynamics(joint: Joint) -> bool:
    """Whether anything resists the motion: MuJoCo's free joint has one value for all six directions at best."""
    return any(
        dof.damping or dof.stiffness or dof.friction or dof.position_limits != UNLIMITED for dof in joint._dofs or ()
    )


def suspension(joint: Joint) -> tuple[float, float] | None:
    """ODE's ERP and CFM of a hinge2's travel along its first axis; None where it is rigid."""
    if joint.kind != "hinge2" or not joint.drives:
        return None
    drive = joint.drives[0]
    return (drive.suspension_erp or DEFAULT_ERP, drive.suspension_cfm) if drive.suspension_cfm else None


def stop_spring(joint: Joint, coordinate: int) -> tuple[float, float] | None:
    """ODE's ERP and CFM of the stops of one coordinate; None where they are hard."""
    drive = joint.drives[coordinate] if coordinate < len(joint.drives) else None
    if drive is None or not drive.stop_cfm:
        return None
    return DEFAULT_ERP if drive.stop_erp is None else drive.stop_erp, drive.stop_cfm


def plane_axes(joint: Joint) -> tuple[Vector, Vector]:
    """The two directions of motion in a plane, the second made orthogonal to the first."""
    if joint.plane != "arbitrary":
        return PLANES[joint.plane]
    first = unit(joint.axes[0])
    second = unit(joint.axes[1])
    across = unit(second - first * float(first @ second))
    return _vector(first), _vector(across)


def _vector(array: Array) -> Vector:
    x, y, z = np.asarray(array).tolist()
    return (x, y, z)
