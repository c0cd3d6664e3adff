"""The types of values that the reader uses: a file may state any type, also for properties of a schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_INSTANCE = re.compile(r"^(limit|drive|state|physxMimicJoint):[^:]+:")
TypeCheck = Callable[[object], bool]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _is_word(value: object) -> bool:
    return isinstance(value, str)


def _numbers(count: int) -> TypeCheck:
    return lambda value: isinstance(value, list | tuple) and len(value) == count and all(map(_is_number, value))


def _rows(check: TypeCheck, head: str, names: Iterable[str]) -> dict[str, TypeCheck]:
    return {f"{head}{name}": check for name in names}


_SIDES = ("min", "max")
_TYPES: dict[str, TypeCheck] = {
    **_rows(_is_number, "", ("size", "radius", "radiusTop", "radiusBottom", "height")),
    **_rows(_is_number, "", ("focalLength", "horizontalAperture", "verticalAperture")),
    **_rows(_is_number, "physics:", ("mass", "density", "gravityMagnitude", "dynamicFriction", "restitution")),
    **_rows(_is_number, "physics:", ("lowerLimit", "upperLimit", "coneAngle0Limit", "coneAngle1Limit")),
    **_rows(_is_number, "limit:physics:", ("low", "high")),
    **_rows(_is_number, "drive:physics:", ("stiffness", "damping", "maxForce", "targetPosition", "targetVelocity")),
    **_rows(_is_number, "state:physics:", ("position", "velocity")),
    **_rows(_is_number, "newton:", ("friction", "damping", "armature", "velocityLimit", "timeStepsPerSecond")),
    **_rows(_is_number, "newton:", ("limitStiffness", "limitDamping", "mimicCoef0", "mimicCoef1")),
    **_rows(_is_number, "newton:", ("kp", "ki", "kd", "constEffort", "maxEffort")),
    **_rows(_is_number, "mjc:", ("option:timestep", "body:gravcomp", *(f"coef{power}" for power in range(5)))),
    **_rows(_is_number, "mjc:", ("frictionloss", "armature", "damping", "stiffness", "springref", "ref")),
    **_rows(
        _is_number,
        "mjc:",
        (
            f"{name}:{side}"
            for name in ("actuatorfrcrange", "ctrlRange", "forceRange", "actRange", "range")
            for side in _SIDES
        ),
    ),
    **_rows(_is_number, "physxJoint:", ("jointFriction", "armature", "maxJointVelocity")),
    **_rows(_is_number, "physxMimicJoint:", ("gearing", "offset")),
    **_rows(_is_number, "physxScene:", ("timeStepsPerSecond",)),
    **_rows(_is_number, "inputs:", ("roughness", "metallic", "opacity", "opacity_constant", "intensity", "exposure")),
    **_rows(_is_number, "inputs:", ("angle", "radius", "width", "height", "length", "diffuse", "specular")),
    **_rows(_is_number, "inputs:shaping:", ("cone:angle", "cone:softness", "focus")),
    **_rows(_numbers(3), "physics:", ("centerOfMass", "diagonalInertia", "velocity", "angularVelocity")),
    **_rows(_numbers(3), "physics:", ("localPos0", "localPos1", "gravityDirection")),
    **_rows(_numbers(3), "inputs:", ("diffuseColor", "diffuse_color_constant", "base_color", "color")),
    **_rows(_numbers(4), "physics:", ("localRot0", "localRot1", "principalAxes")),
    **_rows(_is_word, "", ("axis", "orientation", "physics:axis", "physics:approximation")),
}
"""What the values of properties must be; others are words and flags, of which any value is read."""


def has_type(name: str, value: object) -> bool:
    """Whether a value has the type that the reader expects for a property."""
    check = _TYPES.get(_INSTANCE.sub(r"\1:", name))
    return check is None or check(value)


_FINITE = frozenset(
    {
        *(f"physics:{name}" for name in ("mass", "density", "dynamicFriction", "restitution", "gravityDirection")),
        *(f"physics:{name}" for name in ("velocity", "angularVelocity", "diagonalInertia", "principalAxes")),
        *(f"physics:local{word}{side}" for word in ("Pos", "Rot") for side in "01"),
        *("state:physics:position", "state:physics:velocity"),
        *("drive:physics:targetPosition", "drive:physics:targetVelocity"),
    }
)
"""Properties that cannot be infinite; for others, infinity means that there is no limit, or that nothing is stated."""


def is_finite_property(name: str) -> bool:
    """Whether a property cannot be infinite."""
    return _INSTANCE.sub(r"\1:", name) in _FINITE
