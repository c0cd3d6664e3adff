"""Measures and rows that all certificates share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.convert.report import Check
from exoskel.scene.body import Body
from exoskel.scene.fields import comparable_value, relative_difference, transform_differences
from exoskel.scene.joint import DOF_DYNAMICS, DOF_LIMITS, Dof
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import Vector
from exoskel.scene.shape import Plane, Shape
from exoskel.scene.world import World
from exoskel.spatial import Array

TOLERANCE = 1e-9
AT_REST: tuple[Vector, Vector] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
"""The twist of a body that does not move."""

Row = tuple[str, float]
"""The name of a check, and the largest error found."""

DOF_GROUPS: dict[str, tuple[str, ...]] = {
    "initial velocities": ("velocity", "acceleration", "force"),
    "limits": DOF_LIMITS,
    "springs, damping and friction": DOF_DYNAMICS,
}
"""Rows about degrees of freedom, and the fields that each compares."""
CONSTANT_DOF_GROUPS = ("limits", "springs, damping and friction")
"""The rows whose fields do not depend on the initial state."""

_ALL = slice(None)
_CONFIGURATIONS = 5
_ANGLES, _LENGTHS = 1.0, 0.5
"""The range of random joint positions: rad and m, in both directions."""
SMALLEST_MASS = 1e-300
"""The divisor of relative errors of masses and moments that are zero."""


def check(name: str, error: float, tolerance: float = TOLERANCE) -> Check:
    """The result of a comparison; an error that is not finite fails it."""
    finite = bool(np.isfinite(error))
    return Check(name, float(error) if finite else None, tolerance, finite and error <= tolerance)


def largest(errors: Sequence[float] | Array) -> float:
    """The largest error; 0 for an empty list."""
    return float(np.max(errors)) if len(errors) else 0.0


def difference_or_inf(same: bool) -> float:
    """The error of things that are either the same or not."""
    return 0.0 if same else np.inf


def effective_value(dof: Dof, field: str) -> Any:
    """The value of a field.  A rest position has no effect without stiffness, and then counts as 0."""
    return 0.0 if field == "rest" and not dof.stiffness else getattr(dof, field)


def worst_rows(rows: Iterable[Row]) -> list[Row]:
    """The largest error of each name, in the order in which the names appear."""
    found: dict[str, float] = {}
    for name, error in rows:
        found[name] = max(found.get(name, 0.0), error)
    return list(found.items())


def mass_difference(before: Iterable[Body], after: Iterable[Body]) -> float:
    """How much the total mass differs, relative to the total before."""
    mine, theirs = (sum(body.mass for body in side) for side in (before, after))
    return 0.0 if mine == theirs else abs(mine - theirs) / max(abs(mine), SMALLEST_MASS)


def check_added_mass(name: str, before: Iterable[Body], after: Sequence[Body], added: float) -> Check:
    """Check that the total mass grew by no more than `added` (kg)."""
    bodies = list(before)
    size = max(sum(body.mass for body in bodies), SMALLEST_MASS)
    return check(name, mass_difference(bodies, after), added / size + TOLERANCE)


def random_configurations(world: World) -> Iterator[Array]:
    """Some joint positions of a world, the same for each call."""
    rng = np.random.default_rng(0)
    letters = "".join(joint.motion for joint in world.joints() if not joint.loop)
    reach = np.array([_ANGLES if letter == "r" else _LENGTHS for letter in letters])
    for _ in range(_CONFIGURATIONS if letters else 0):
        yield rng.uniform(-1.0, 1.0, len(letters)) * reach


def compare_random_poses(
    first: Kinematics,
    second: Kinematics,
    world: World,
    bodies: list[int] | slice = _ALL,
    coordinates: list[int] | slice = _ALL,
) -> float:
    """How far bodies are apart at some configurations of `world`, whose kinematics are the first.

    The second may have more bodies and other coordinates.  `bodies` are the numbers that the bodies of the first have
    in the second; `coordinates` are the numbers that the coordinates of the second have in the first.
    """
    if first.dof_count != second.dof_count:
        return np.inf
    worst = 0.0
    for positions in random_configurations(world):
        poses = first.poses(positions), second.poses(positions[coordinates])[bodies]
        worst = max(worst, largest(transform_differences(*poses)))
    return worst


def dof_names(world: World) -> list[str]:
    """The names of all degrees of freedom, in their order."""
    return [name for model in world.models for name in model.dof_names]


@lru_cache
def field_getter(fields: tuple[str, ...]) -> Callable[[Any], Any]:
    """A function that returns these attributes of an object."""
    return attrgetter(*fields)


def field_difference(one: Any, other: Any, fields: tuple[str, ...]) -> float:
    """The largest difference of these fields of two items."""
    if field_getter(fields)(one) == field_getter(fields)(other):  # most are equal and need no closer look
        return 0.0
    return max(relative_difference(comparable_value(one, field), comparable_value(other, field)) for field in fields)


def anchor_and_axes(frame: Array, axes: Iterable[Sequence[float]]) -> tuple[Array, Array]:
    """The origin of a joint's frame, and axes rotated from the frame, one in each row."""
    rotated = [frame[:3, :3] @ spatial.unit(axis) for axis in axes]
    return frame[:3, 3], np.array(rotated).reshape(-1, 3)


def half_space(plane: Shape, frame: Array) -> list[float]:
    """The normal of a plane whose frame is given, and its offset along the normal."""
    assert isinstance(plane.geometry, Plane)
    normal = frame[:3, :3] @ np.array(plane.geometry.normal)
    return [*normal.tolist(), float(normal @ frame[:3, 3]) + plane.geometry.offset]


def shape_difference(one: Body, other: Body) -> float:
    """How far the shapes of two bodies differ, pair by pair; infinite if their numbers differ."""
    mine, theirs = [*one.visuals, *one.collisions], [*other.visuals, *other.collisions]
    if len(one.visuals) != len(other.visuals) or len(mine) != len(theirs):
        return np.inf
    fields = ("geometry", "pose", "color", "collidable", "friction", "restitution")
    return largest([field_difference(a, b, fields) for a, b in zip(mine, theirs, strict=True)])
