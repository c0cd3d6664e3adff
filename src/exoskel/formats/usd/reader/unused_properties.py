"""Finds properties that have no effect where they are: they need another property, schema or type of prim."""

from __future__ import annotations

from collections.abc import Iterator

from exoskel.formats.usd.joint_axes import ROTATIONS, TRANSLATIONS
from exoskel.formats.usd.reader.actuators import DRIVING
from exoskel.formats.usd.reader.joint_prims import EQUALITY
from exoskel.formats.usd.reader.joints import free_axes
from exoskel.formats.usd.reader.prims import GPRIMS, JOINTS, PrimIndex
from exoskel.formats.usd.reader.stage import StagePrim

_SOLID, _TAPERED = ("radius", "height", "axis"), ("radiusTop", "radiusBottom", "height", "axis")
_SIZES: dict[str, tuple[str, ...]] = {
    "Cube": ("size",),
    "Sphere": ("radius",),
    **dict.fromkeys(("Cylinder", "Capsule", "Cone"), _SOLID),
    **dict.fromkeys(("Cylinder_1", "Capsule_1"), _TAPERED),
    "Plane": ("axis",),
}
"""The properties that state the size of a type of prim."""
_ALL_SIZES = frozenset({"size", *_SOLID, *_TAPERED})
_LIMITS = ("physics:lowerLimit", "physics:upperLimit")
_CONE = ("physics:coneAngle0Limit", "physics:coneAngle1Limit")
_ONE_AXIS = frozenset({"PhysicsRevoluteJoint", "PhysicsPrismaticJoint"})
_GENERIC = "PhysicsJoint"
_INSTANCES: dict[str, tuple[str, ...]] = {
    "PhysicsRevoluteJoint": ("angular",),
    "PhysicsPrismaticJoint": ("linear",),
    "PhysicsSphericalJoint": ROTATIONS,
    _GENERIC: (*TRANSLATIONS, *ROTATIONS),
}
"""The axes of a joint, as drives and states name them."""
_FORCE_RANGE = ("mjc:actuatorfrcrange:min", "mjc:actuatorfrcrange:max")
_COEFFICIENTS = tuple(f"mjc:coef{power}" for power in range(5))
_NEWTON_MIMIC = ("newton:mimicEnabled", "newton:mimicCoef0", "newton:mimicCoef1")
_PHYSX_MIMIC = "physxMimicJoint:"


def unused_properties(index: PrimIndex) -> dict[tuple[int, str], str]:
    """The reasons by the numbers of prims in the document and the names of their properties."""
    is_driven = any(prim.type in DRIVING for prim in index.prims)
    found: dict[tuple[int, str], str] = {}
    for prim in index.prims:
        rows = _of_joint(prim, is_driven=is_driven) if prim.type in JOINTS else _of_body_or_shape(prim)
        stated = frozenset(prim.properties)
        found |= {(index.number[prim.path], name): reason for name, reason in rows if name in stated}
    return found


def _of_body_or_shape(prim: StagePrim) -> Iterator[tuple[str, str]]:
    if prim.type in GPRIMS:
        for name in sorted(_ALL_SIZES.difference(_SIZES.get(prim.type, ()))):
            yield name, f"a prim of type {prim.type} has no such size"
    if "physics:diagonalInertia" not in prim.values:
        yield "physics:principalAxes", "without moments of inertia, their axes have no effect"


def _of_joint(prim: StagePrim, *, is_driven: bool) -> Iterator[tuple[str, str]]:
    kind = f"a joint of type {prim.type} has no such limit"
    if prim.type not in _ONE_AXIS:
        yield from ((name, kind) for name in _LIMITS)
    if prim.type != "PhysicsSphericalJoint":
        yield from ((name, kind) for name in _CONE)
    yield from _of_axes(prim)
    has_spring = bool(prim.values.get("mjc:stiffness"))
    if not has_spring:
        yield "mjc:springref", "the joint has no spring of MuJoCo's schema"
    if not (has_spring or _has_limits(prim) or is_driven):
        yield "mjc:ref", "the joint has neither limits nor a spring of MuJoCo's schema, and positions are relative"
    yield from _of_equality(prim)
    if not _limits_forces(prim):
        yield from ((name, "the range limits nothing") for name in (*_FORCE_RANGE, "mjc:actuatorfrclimited"))


def _has_limits(prim: StagePrim) -> bool:
    """Whether an axis of a joint is limited, but not locked."""
    if prim.type in _ONE_AXIS:
        return any(name in prim.values for name in _LIMITS)
    ends = [
        [prim.values.get(f"limit:{axis}:physics:{end}") for end in ("low", "high")] for axis in _INSTANCES[_GENERIC]
    ]
    return any(
        (low is not None or high is not None) and (low is None or high is None or low <= high) for low, high in ends
    )


def _of_axes(prim: StagePrim) -> Iterator[tuple[str, str]]:
    """The limits, drives and states of axes that a joint does not have, and targets of drives without a spring."""
    known = _INSTANCES.get(prim.type, ())
    for name in prim.properties:
        head, _, rest = name.partition(":")
        axis = rest.partition(":")[0]
        if head not in ("limit", "drive", "state"):
            continue
        if axis not in known or (head == "limit" and prim.type != _GENERIC):
            yield name, f"a joint of type {prim.type} has no such {head}"
        elif head == "state" and axis not in _stated_axes(prim):
            yield name, "the poses of the bodies state the positions of this joint"
        elif name.endswith(":targetPosition") and not prim.values.get(f"drive:{axis}:physics:stiffness"):
            yield name, "the drive has no stiffness"


def _stated_axes(prim: StagePrim) -> tuple[str, ...]:
    """The axes whose states are read: neither those of ball and free joints, nor locked ones."""
    if prim.type != _GENERIC:
        return _INSTANCES.get(prim.type, ()) if prim.type in _ONE_AXIS else ()
    moving = free_axes(prim.values)
    return () if len(moving) == len(_INSTANCES[_GENERIC]) else moving


def _of_equality(prim: StagePrim) -> Iterator[tuple[str, str]]:
    """What states how a joint follows another one that it does not have."""
    has_equality = EQUALITY in prim.apis
    if not has_equality:
        yield from ((name, f"the joint has no {EQUALITY}") for name in (*_COEFFICIENTS, "mjc:target"))
    if not prim.target("newton:mimicJoint") and not (has_equality and prim.target("mjc:target")):
        yield from ((name, "the joint follows no other joint") for name in _NEWTON_MIMIC)
    for name in prim.properties:
        head = name.rpartition(":")[0]
        if name.startswith(_PHYSX_MIMIC) and not prim.target(f"{head}:referenceJoint"):
            yield name, "the joint follows no other joint"


def _limits_forces(prim: StagePrim) -> bool:
    low, high = (float(prim.values.get(name, 0.0)) for name in _FORCE_RANGE)
    limited = prim.values.get("mjc:actuatorfrclimited", "auto")
    return limited == "true" or (limited == "auto" and low < high)
