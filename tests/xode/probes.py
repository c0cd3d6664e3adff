"""Masses and joints that are compared with ODE."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.support.xode import TURN, at, axis, body, joint, mass, mass_shape, position, scene, transform


class WeighedMass(NamedTuple):
    """A `mass` element, and the same as calls of ODE's mass functions."""

    element: str
    steps: list[Any]


BOX = '<box sizex="1" sizey="2" sizez="3"/>'
SPHERE = '<sphere radius="0.4"/>'
CYLINDER = '<cylinder radius="0.3" length="2"/>'
CAPSULE = '<cappedCylinder radius="0.3" length="2"/>'

_SOLIDS = {
    "box": (BOX, ["box", 7.5, 1, 2, 3]),
    "sphere": (SPHERE, ["sphere", 7.5, 0.4]),
    "cylinder": (CYLINDER, ["cylinder", 7.5, 0.3, 2]),
    "cappedCylinder": (CAPSULE, ["cappedCylinder", 7.5, 0.3, 2]),
}

MASSES: dict[str, WeighedMass] = {
    **{
        f"{name} by density": WeighedMass(mass(mass_shape(shape, ' density="7.5"')), [steps])
        for name, (shape, steps) in _SOLIDS.items()
    },
    **{
        f"{name} by total": WeighedMass(mass(mass_shape(shape, ' total="3"')), [steps, ["adjust", 3]])
        for name, (shape, steps) in _SOLIDS.items()
    },
    **{
        f"{name} moved and adjusted": WeighedMass(
            mass(mass_shape(shape, ' density="7.5"') + at(0.5, -1, 2) + '<adjust total="4"/>'),
            [steps, ["translate", 0.5, -1, 2], ["adjust", 4]],
        )
        for name, (shape, steps) in _SOLIDS.items()
    },
    "a sum": WeighedMass(
        mass(
            mass_shape(BOX, ' density="2"')
            + mass(mass_shape(SPHERE, ' density="3"') + at(1, 0, 0))
            + mass(mass_shape(CYLINDER, ' total="5"') + at(0, 1, 0.5) + mass(mass_shape(CAPSULE, ' density="1"')))
        ),
        [
            ["box", 2, 1, 2, 3],
            ["add", [["sphere", 3, 0.4], ["translate", 1, 0, 0]]],
            [
                "add",
                [
                    ["cylinder", 1, 0.3, 2],
                    ["adjust", 5],
                    ["translate", 0, 1, 0.5],
                    ["add", [["cappedCylinder", 1, 0.3, 2]]],
                ],
            ],
        ],
    ),
}


class Probe(NamedTuple):
    """One or two bodies with a joint named j, the same as ODE calls, and positions to move it to."""

    document: str
    kind: str
    ends: tuple[int, int]
    anchor: tuple[float, float, float]
    axes: list[tuple[float, float, float]]
    positions: tuple[float, ...]


ANCHOR = (0.5, -0.25, 1.0)
_ANCHOR = '<anchor x="0.5" y="-0.25" z="1" absolute="true"/>'
_FIRST, _SECOND = (0.0, 0.6, 0.8), (1.0, 0.0, 0.0)
_AXES = {"hinge": [_FIRST], "slider": [_FIRST], "universal": [_FIRST, _SECOND], "hinge2": [_FIRST, _SECOND]}
_POSITIONS = {"hinge": (0.7,), "slider": (0.7,), "universal": (0.4, -0.6), "hinge2": (0.4, -0.6)}


def _kind(name: str) -> str:
    axes = "".join(axis("", *direction) for direction in _AXES[name])
    return f"<{name}>{'' if name == 'slider' else _ANCHOR}{axes}</{name}>"


_A = body(transform(position(0.2, 0.1, 0.3) + TURN), "a")
_B = body(at(1, -0.5, 2), "b")


def _probe(name: str, first: str, second: str) -> Probe:
    """Body a is listed first, so it is the root and b its child; with the environment, a is the child."""
    number = {"a": 0, "b": 1, "": -1}
    bodies = _A + _B if "b" in (first, second) else _A
    document = scene(bodies + joint(_kind(name), first=first, second=second))
    return Probe(document, name, (number[first], number[second]), ANCHOR, _AXES[name], _POSITIONS[name])


PROBES: dict[str, Probe] = {
    f"{name}: {first or 'environment'} to {second or 'environment'}": _probe(name, first, second)
    for name in _AXES
    for first, second in (("a", "b"), ("b", "a"), ("a", ""), ("", "a"))
}
