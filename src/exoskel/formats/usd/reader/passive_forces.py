"""What acts on a joint besides drives, in whichever schema states it: springs, dampers, friction, armature, bounds.

The values of joints have them afterwards under Newton's names, and under names of our own what Newton's schema has not.
"""

from __future__ import annotations

from math import isfinite, radians
from typing import Any

from exoskel.formats.usd.reader.prims import PrimIndex, Values
from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.scene.joint import Dof

STIFFNESS, REST, REFERENCE = "passive:stiffness", "passive:rest", "passive:reference"
"""A spring in N·m/rad or N/m, its rest position, and the position of the joint in the pose that the file states."""
_FRICTION = ("newton:friction", "mjc:frictionloss", "physxJoint:jointFriction")
_ARMATURE = ("mjc:armature", "newton:armature", "physxJoint:armature")
_SPEED = ("newton:velocityLimit", "physxJoint:maxJointVelocity")
_FORCES = ("mjc:actuatorfrcrange:min", "mjc:actuatorfrcrange:max")
_ROUNDING = 1e-6
"""The relative error of numbers in single precision."""
_ANGLE = "mjc:compiler:angle"


def add_passive_forces(found: Values, joint: StagePrim, index: PrimIndex, *, is_linear: bool) -> None:
    """Set friction, armature, dampers, springs and bounds in m and kg; angles are in degrees in Newton's schema."""
    inertia = index.kilogram * (1.0 if is_linear else index.metre**2)
    force = index.kilogram * index.metre * (1.0 if is_linear else index.metre)
    friction, armature, speed = (_first(joint, names) for names in (_FRICTION, _ARMATURE, _SPEED))
    if friction is not None:
        found["newton:friction"] = friction * force
    if armature is not None:
        found["newton:armature"] = armature * inertia
    if speed is not None and isfinite(speed):
        found["newton:velocityLimit"] = speed * (index.metre if is_linear else 1.0)
    damping, rounded = joint.values.get("mjc:damping"), joint.values.get("newton:damping")
    if damping is not None:  # in double precision
        stated = float(damping) * (1.0 if is_linear else radians(1.0))
        if rounded is None or abs(rounded - stated) <= _ROUNDING * abs(stated):
            found["newton:damping"] = stated * inertia
    _add_spring(found, joint, index, inertia, is_linear=is_linear)
    _add_force_range(found, joint, force)


def _first(joint: StagePrim, names: tuple[str, ...]) -> float | None:
    return next((float(joint.values[name]) for name in names if name in joint.values), None)


def _add_spring(found: Values, joint: StagePrim, index: PrimIndex, inertia: float, *, is_linear: bool) -> None:
    """Set the spring of MuJoCo's schema and its rest position, relative to the pose that the file states."""
    in_degrees = all(prim.values.get(_ANGLE, "degree") == "degree" for prim in index.prims_with(_ANGLE))
    unit = index.metre if is_linear else radians(1.0) if in_degrees else 1.0
    stiffness, rest, reference = (float(joint.values.get(f"mjc:{name}", 0.0)) for name in _SPRING)
    if stiffness:
        found |= {STIFFNESS: stiffness * inertia, REST: (rest - reference) * unit}
    if reference:
        found[REFERENCE] = reference * unit


def set_written_spring(found: Values, *, is_linear: bool) -> None:
    """Set the spring of MuJoCo's schema in a file of Exoskel, which has no references."""
    unit = 1.0 if is_linear else radians(1.0)
    found |= {STIFFNESS: float(found["mjc:stiffness"]), REST: float(found.get("mjc:springref", 0.0)) * unit}


_SPRING = ("stiffness", "springref", "ref")


def _add_force_range(found: Values, joint: StagePrim, force: float) -> None:
    """Set the range of the forces of actuators: an empty one limits nothing unless it is stated to be a limit."""
    low, high = (force * float(joint.values.get(name, 0.0)) for name in _FORCES)
    limited = joint.values.get("mjc:actuatorfrclimited", "auto")
    for name in _FORCES:
        found.pop(name, None)
    if limited == "true" or (limited == "auto" and low < high):
        found |= dict(zip(_FORCES, (low, high), strict=True))


def passive_damping(found: Values, motion: str) -> float:
    """The damping of a coordinate in N·m·s/rad or N·s/m; the motion is r or t."""
    return float(found.get("newton:damping", 0.0)) / (radians(1.0) if motion == "r" else 1.0)


def set_passive_forces(dofs: list[Dof], motion: str, found: Values) -> None:
    """Set the friction, armature, damping and spring of all coordinates of a joint."""
    friction, armature, stiffness, rest = (float(found.get(name, 0.0)) for name in _SHARED)
    for dof, kind in zip(dofs, motion, strict=True):
        dof.friction, dof.armature, dof.damping = friction, armature, passive_damping(found, kind)
        dof.stiffness, dof.rest = stiffness, rest


_SHARED = ("newton:friction", "newton:armature", STIFFNESS, REST)


def has_passive_forces(found: Values) -> bool:
    return any(found.get(name) for name in (*_SHARED, "newton:damping"))


def add_spring(dof: Dof, stiffness: float, rest: float) -> None:
    """Add a spring to that of a coordinate: both together are a spring with a mean rest position."""
    total = dof.stiffness + stiffness
    if dof.stiffness and total:
        rest = (dof.stiffness * dof.rest + stiffness * rest) / total
    dof.stiffness, dof.rest = total, rest


def polynomial(joint: StagePrim) -> tuple[float, ...]:
    """The coefficients of an equality of MuJoCo's schema between the positions of two joints, in rad or m.

    The first two may be those of Newton's schema, whose offset is in degrees.
    """
    values = joint.values
    unit = 1.0 if joint.type == "PhysicsPrismaticJoint" else radians(1.0)
    lowest = (unit * float(values.get("newton:mimicCoef0", 0.0)), float(values.get("newton:mimicCoef1", 1.0)))
    defaults = (*lowest, 0.0, 0.0, 0.0)
    return tuple(float(values.get(f"mjc:coef{power}", one)) for power, one in enumerate(defaults))


def finite(value: Any) -> float:
    """A number; 0 for one that is not finite and means a default or a rigid limit."""
    found = float(value)
    return found if isfinite(found) else 0.0
