"""What a scene says, field by field: the ground for comparing, saving and carrying scenes.

Fields that only tell how an object came to be (`node`, `given`, `implicit`, …) are not part of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isnan
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.scene.body import Body, Marker, SoftBody
from exoskel.scene.item import Item
from exoskel.scene.joint import Dof, Joint
from exoskel.scene.pose import Pose, pose_matrices
from exoskel.scene.shape import Mesh, Shape
from exoskel.scene.world import Model, Scene, World

DOF_FIELDS = (
    "name",
    "position",
    "velocity",
    "acceleration",
    "force",
    "position_limits",
    "velocity_limits",
    "acceleration_limits",
    "force_limits",
    "damping",
    "friction",
    "stiffness",
    "rest",
)
SOFT_FIELDS = ("total_mass", "geometry", "tessellation", "pose", "vertex_stiffness", "edge_stiffness", "damping")

FIELDS: dict[type[Item], tuple[str, ...]] = {
    World: (
        "name",
        "gravity",
        "time_step",
        "collision_detector",
        "erp",
        "cfm",
        "collision_exempt_groups",
        "self_collision",
    ),
    Model: ("name", "pose", "static"),
    Body: ("name", "pose", "inertia", "gravity", "soft", "state", "kept"),
    Shape: ("geometry", "pose", "color", "collidable", "name", "space", "friction", "restitution"),
    Marker: ("name", "offset"),
    Joint: (
        "name",
        "kind",
        "child",
        "parent",
        "pose",
        "axes",
        "order",
        "plane",
        "pitch",
        "actuator",
        "limits_enforced",
        "drives",
        "mimic",
        "swapped",
        "group",
        "loop",
        "collide_connected",
        "collapses",
        "dofs",
    ),
}
"""The fields of each kind of item that say something about the world."""

CHILD_LISTS: dict[type[Item], tuple[str, ...]] = {
    World: ("models",),
    Model: ("bodies", "joints"),
    Body: ("visuals", "collisions", "markers"),
}
"""The lists of items that an item holds."""

_dof_row = attrgetter(*DOF_FIELDS)
_DEFAULT_DOF = _dof_row(Dof())

_MEANT: dict[type[Item], tuple[str, ...]] = {
    Joint: ("child", "parent", "dofs"),
    Body: ("inertia", "soft"),
    Shape: ("geometry",),
}
"""Fields that are compared by what they mean; all others are the same where they are equal."""
_PLAIN = {
    kind: tuple(field for field in fields if field not in _MEANT.get(kind, ())) for kind, fields in FIELDS.items()
}
_plainly = {kind: attrgetter(*fields) for kind, fields in _PLAIN.items()}


def comparable_value(item: Item, field: str) -> Any:
    """A field as comparable data: bodies by name, degrees of freedom and soft skins as tuples."""
    if isinstance(item, Joint):
        if field == "child":
            return item.child.name
        if field == "parent":
            return None if item.parent is None else item.parent.name
        if field == "dofs":
            return comparable_dofs(item)
    found = getattr(item, field)
    if isinstance(found, SoftBody):
        return tuple(getattr(found, name) for name in SOFT_FIELDS)
    if isinstance(found, Mesh):  # where the file is counts, not how the reference is spelled
        return (_real(found.path) if found.path else found.uri.strip(), found.scale)
    return found


@lru_cache
def _real(path: str) -> str:
    return os.path.realpath(path)


def comparable_dofs(joint: Joint) -> tuple[tuple[Any, ...], ...]:
    """The degrees of freedom, empty if all of them hold nothing but defaults."""
    if joint._dofs is None:
        return ()
    rows = tuple(map(_dof_row, joint._dofs))
    return () if all(row == _DEFAULT_DOF for row in rows) else rows


def iter_items(scene: Scene) -> Iterator[tuple[Item, Item | None, str]]:
    """Every item of a scene with the item that holds it and the name of the list it is in; holders first."""
    waiting: list[tuple[Item, Item | None, str]] = [(world, None, "worlds") for world in scene.worlds[::-1]]
    while waiting:
        row = waiting.pop()
        yield row
        for name in CHILD_LISTS.get(type(row[0]), ())[::-1]:
            waiting += [(inner, row[0], name) for inner in getattr(row[0], name)[::-1]]


def items_by_node(scene: Scene) -> dict[int, Item]:
    """The item that each element of the scene's document is."""
    return items_by_document(scene).get(0, {})


def items_by_document(scene: Scene) -> dict[int, dict[int, Item]]:
    """The items that elements are, by the numbers of their documents.

    Several items may come from one element: of those its body is meant, not the model or joint made for it.
    """
    found: dict[int, dict[int, Item]] = {}
    for item, _, _ in iter_items(scene):
        if item.node < 0 or (isinstance(item, Joint) and item.implicit):
            continue
        known = found.setdefault(item.document, {})
        if item.node not in known or isinstance(item, Body):
            known[item.node] = item
    return found


class Difference(Struct, frozen=True):
    """A field in which two items differ; `error` is how far numbers are apart (infinite where no number is)."""

    one: Item
    other: Item
    field: str
    error: float


def differences(pairs: Sequence[tuple[Item, Item]], tolerance: float = 0.0) -> list[Difference]:
    """The fields in which the items of each pair differ by more than a tolerance, relative above 1.

    Rotations are compared as such, in radians, however they are written; axes by direction; moments by value,
    derived or not.
    """
    found: list[Difference] = []
    turned: list[tuple[Item, Item, str]] = []
    heavy: list[tuple[Item, Item]] = []
    for one, other in pairs:
        if one is other:
            continue
        kind = type(one)
        for field in _perhaps_different(kind, one, other):
            mine, theirs = comparable_value(one, field), comparable_value(other, field)
            if mine == theirs and field != "inertia":
                continue
            if field == "pose":
                turned.append((one, other, field))
            elif field == "inertia":
                if mine != theirs or mine.moment is None:
                    heavy.append((one, other))
            else:
                error = _directions(mine, theirs) if field == "axes" else relative_difference(mine, theirs)
                if error > tolerance:
                    found.append(Difference(one, other, field, error))
    if turned:
        errors = pose_differences([getattr(a, f) for a, _, f in turned], [getattr(b, f) for _, b, f in turned])
        found += [Difference(*pair, e) for pair, e in zip(turned, errors.tolist(), strict=True) if e > tolerance]
    if heavy:
        errors = inertia_differences([a for a, _ in heavy], [b for _, b in heavy])  # type: ignore[misc]
        found += [
            Difference(a, b, "inertia", e) for (a, b), e in zip(heavy, errors.tolist(), strict=True) if e > tolerance
        ]
    return found


def _perhaps_different(kind: type[Item], one: Item, other: Item) -> Sequence[str]:
    """The fields of a kind in which two items are not plainly the same, in their order."""
    meant = _MEANT.get(kind, ())
    mine, theirs = _plainly[kind](one), _plainly[kind](other)
    if mine == theirs:
        return meant
    unequal = {*meant, *(name for name, a, b in zip(_PLAIN[kind], mine, theirs, strict=True) if a != b)}
    return [name for name in FIELDS[kind] if name in unequal]


def relative_difference(one: Any, other: Any) -> float:
    """How far two values are apart: relative where numbers are above 1, infinite where they are no numbers."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return _array_gap(np.asarray(one), np.asarray(other))
    if one == other:
        return 0.0
    if isinstance(one, bool) or isinstance(other, bool):
        return np.inf
    if isinstance(one, float | int) and isinstance(other, float | int):
        distance = abs(one - other) / max(1.0, abs(one), abs(other))
        return np.inf if isnan(distance) else float(distance)
    if isinstance(one, Pose) and isinstance(other, Pose):
        return float(pose_differences([one], [other])[0])
    if isinstance(one, tuple | list) and isinstance(other, tuple | list) and len(one) == len(other):
        return max((relative_difference(a, b) for a, b in zip(one, other, strict=True) if a != b), default=0.0)
    if isinstance(one, Struct) and type(one) is type(other):
        names = one.__struct_fields__
        return max((relative_difference(getattr(one, name), getattr(other, name)) for name in names), default=0.0)
    return np.inf


def _array_gap(one: np.ndarray, other: np.ndarray) -> float:
    if one.shape != other.shape:
        return np.inf
    scale = np.maximum(1.0, np.maximum(np.abs(one), np.abs(other)))
    error = float((np.abs(one - other) / scale).max(initial=0.0))
    return np.inf if isnan(error) else error


def _directions(one: Sequence[Any], other: Sequence[Any]) -> float:
    if len(one) != len(other):
        return np.inf
    return float(np.abs(spatial.unit(one) - spatial.unit(other)).max(initial=0.0))


def pose_differences(ones: Sequence[Pose], others: Sequence[Pose]) -> np.ndarray:
    """How far poses are apart: the larger of the relative distance in position and the angle between them."""
    a, b = pose_matrices(ones), pose_matrices(others)
    return transform_differences(a, b)


def transform_differences(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As `pose_differences`, of 4x4 transforms."""
    largest = np.maximum(np.abs(a[:, :3, 3]), np.abs(b[:, :3, 3])).max(axis=1, initial=0.0)
    scale = np.maximum(1.0, largest)
    moved = np.linalg.norm(a[:, :3, 3] - b[:, :3, 3], axis=1) / scale
    # The chord between rotations; for small angles it is the angle, without the loss of an arc cosine.
    chord = np.linalg.norm(a[:, :3, :3] - b[:, :3, :3], axis=(1, 2)) / np.sqrt(2.0)
    gaps: np.ndarray = np.maximum(moved, chord)
    return gaps


def inertia_differences(ones: Sequence[Body], others: Sequence[Body]) -> np.ndarray:
    """How far mass properties are apart, each relative to its own size."""
    gaps: np.ndarray = inertia_component_differences(ones, others).max(axis=1)
    return gaps


def inertia_component_differences(ones: Sequence[Body], others: Sequence[Body]) -> np.ndarray:
    """As `inertia_differences`, of masses, centres of mass and moments apart: `(n, 3)`."""
    from exoskel.scene.summary import moments

    mass = np.array([[b.mass for b in side] for side in (ones, others)])
    com = np.array([[b.com for b in side] for side in (ones, others)])
    moment = np.array([moments(ones), moments(others)])
    masses = np.abs(mass[0] - mass[1]) / np.maximum(np.abs(mass).max(axis=0), 1e-300)
    centres = np.abs(com[0] - com[1]).max(axis=1) / np.maximum(1.0, np.abs(com).max(axis=(0, 2)))
    largest = np.maximum(np.abs(moment).max(axis=(0, 2)), 1e-300)
    tensors = np.abs(moment[0] - moment[1]).max(axis=1) / largest
    parts: np.ndarray = np.nan_to_num(np.stack([masses, centres, tensors], axis=1), nan=np.inf, posinf=np.inf)
    return parts
