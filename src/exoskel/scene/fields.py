"""The fields of scene items that describe the world: the basis for comparing, saving and embedding scenes.

Fields that only record where an object comes from (`node`, `given`, `implicit`, …) are not included.
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
from exoskel.scene.equality import comparable_equalities
from exoskel.scene.item import Item
from exoskel.scene.joint import DOF_VALUES, Dof, Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, pose_matrices
from exoskel.scene.shape import Material, Mesh, Shape, Texture
from exoskel.scene.tendon import comparable_tendons
from exoskel.scene.world import Scene, World

DOF_FIELDS = ("name", *DOF_VALUES)
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
        "cameras",
        "lights",
        "keyframes",
        "actuators",
        "tendons",
        "sensors",
        "equalities",
    ),
    Model: ("name", "pose", "static"),
    Body: ("name", "pose", "inertia", "gravity", "soft", "state", "ignored_values"),
    Shape: ("geometry", "pose", "color", "collidable", "name", "space", "friction", "restitution", "material"),
    Marker: ("name", "offset", "quaternion", "kind", "size", "color"),
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
        "solver",
        "dofs",
    ),
}
"""The fields of each type of item that describe the world."""

VIEW_FIELDS = ("cameras", "lights", "keyframes")
"""The fields of a world that change no motion."""
CHILD_LISTS: dict[type[Item], tuple[str, ...]] = {
    World: ("models",),
    Model: ("bodies", "joints"),
    Body: ("visuals", "collisions", "markers"),
}
"""The lists of child items of each type of item."""

_dof_row = attrgetter(*DOF_FIELDS)
DEFAULT_DOF_ROW = _dof_row(Dof())

_COMPARED_BY_MEANING: dict[type[Item], tuple[str, ...]] = {
    Joint: ("child", "parent", "dofs"),
    Body: ("inertia", "soft"),
    Shape: ("geometry",),
}
"""Fields that are compared by meaning; all others are the same if they are equal."""
_COMPARED_BY_VALUE = {
    kind: tuple(field for field in fields if field not in _COMPARED_BY_MEANING.get(kind, ()))
    for kind, fields in FIELDS.items()
}
_values_to_compare = {kind: attrgetter(*fields) for kind, fields in _COMPARED_BY_VALUE.items()}


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
    if isinstance(item, World) and field == "keyframes":
        return tuple(one.comparable(item.models) for one in item.keyframes)
    if isinstance(item, World) and field == "tendons":
        return comparable_tendons(item.tendons, item.models)
    if isinstance(item, World) and field == "equalities":
        return comparable_equalities(item.equalities, item.models)
    if isinstance(found, SoftBody):
        return tuple(getattr(found, name) for name in SOFT_FIELDS)
    if isinstance(found, Mesh):  # the file matters, not how the reference is written
        return (_file(found), found.scale)
    if isinstance(found, Material):
        image = found.texture
        return (found.roughness, found.metalness, None if image is None else (_file(image), image.repeat))
    return found


def _file(found: Mesh | Texture) -> str:
    return _real_path(found.path) if found.path else found.uri.strip()


@lru_cache
def _real_path(path: str) -> str:
    return os.path.realpath(path)


def comparable_dofs(joint: Joint) -> tuple[tuple[Any, ...], ...]:
    """The degrees of freedom as tuples; empty if all values are defaults."""
    if joint._dofs is None:
        return ()
    rows = tuple(map(_dof_row, joint._dofs))
    return () if all(row == DEFAULT_DOF_ROW for row in rows) else rows


def dof_rows(joint: Joint) -> list[tuple[Any, ...]]:
    """The degrees of freedom as tuples, those with default values included."""
    return [DEFAULT_DOF_ROW] * len(joint.motion) if joint._dofs is None else list(map(_dof_row, joint._dofs))


def iter_items(scene: Scene) -> Iterator[tuple[Item, Item | None, str]]:
    """Yield every item of a scene, parents first, with its parent item and the name of the list it is in."""
    for world in scene.worlds[:]:
        yield world, None, "worlds"
        for model in world.models[:]:
            yield model, world, "models"
            if type(model) is Model:  # an edited list may hold anything
                yield from _items_of_model(model)


def _items_of_model(model: Model) -> list[tuple[Item, Item | None, str]]:
    found: list[tuple[Item, Item | None, str]] = []
    for body in model.bodies:
        found.append((body, model, "bodies"))
        if type(body) is Body:
            for name in CHILD_LISTS[Body]:
                items = getattr(body, name)
                if items:
                    found += [(one, body, name) for one in items]
    found += [(joint, model, "joints") for joint in model.joints]
    return found


def items_by_node(scene: Scene) -> dict[int, Item]:
    """The item that comes from each element of the scene's main document."""
    return items_by_document(scene).get(0, {})


def items_by_document(scene: Scene) -> dict[int, dict[int, Item]]:
    """The items by document number and element number.

    Of several items from one element, the body is returned, not the model or joint generated for it.
    """
    found: dict[int, dict[int, Item]] = {}
    for item, _, _ in iter_items(scene):
        if item.node < 0 or (isinstance(item, Joint) and item.implicit):
            continue
        known = found.setdefault(item.document, {})
        if item.node not in known or isinstance(item, Body):
            known[item.node] = item
    return found


def items_of_documents(scene: Scene) -> dict[int, dict[int, list[Item]]]:
    """The same as `items_by_document`, with all items of each element: a file may be included several times."""
    found: dict[int, dict[int, list[Item]]] = {}
    for item, _, _ in iter_items(scene):
        if item.node >= 0 and not (isinstance(item, Joint) and item.implicit):
            found.setdefault(item.document, {}).setdefault(item.node, []).append(item)
    return found


def stated_items(scene: Scene) -> dict[int, dict[int, Item]]:
    """The same as `items_by_document`, and shapes also by the elements that state only their appearance."""
    found = items_by_document(scene)
    for item, _, _ in iter_items(scene):
        if isinstance(item, Shape) and item.appearance_node >= 0:
            found.setdefault(item.document, {}).setdefault(item.appearance_node, item)
    return found


class Difference(Struct, frozen=True):
    """A field in which two items differ; `error` is the relative difference, infinite for values without numbers."""

    one: Item
    other: Item
    field: str
    error: float


def differences(pairs: Sequence[tuple[Item, Item]], tolerance: float = 0.0) -> list[Difference]:
    """The fields in which the items of each pair differ by more than a tolerance, relative above 1.

    Rotations are compared by angle in radians, whatever their representation; axes by direction; moments by value,
    derived or not.
    """
    found: list[Difference] = []
    poses: list[tuple[Item, Item, str]] = []
    inertias: list[tuple[Item, Item]] = []
    for one, other in pairs:
        if one is other:
            continue
        kind = type(one)
        for field in _fields_to_compare(kind, one, other):
            mine, theirs = comparable_value(one, field), comparable_value(other, field)
            if mine == theirs and field != "inertia":
                continue
            if field == "pose":
                poses.append((one, other, field))
            elif field == "inertia":
                if mine != theirs or mine.derived:
                    inertias.append((one, other))
            else:
                error = _direction_difference(mine, theirs) if field == "axes" else relative_difference(mine, theirs)
                if error > tolerance:
                    found.append(Difference(one, other, field, error))
    if poses:
        errors = pose_differences([getattr(a, f) for a, _, f in poses], [getattr(b, f) for _, b, f in poses])
        found += [Difference(*pair, e) for pair, e in zip(poses, errors.tolist(), strict=True) if e > tolerance]
    if inertias:
        errors = inertia_differences([a for a, _ in inertias], [b for _, b in inertias])  # type: ignore[misc]
        found += [
            Difference(a, b, "inertia", e) for (a, b), e in zip(inertias, errors.tolist(), strict=True) if e > tolerance
        ]
    return found


def _fields_to_compare(kind: type[Item], one: Item, other: Item) -> Sequence[str]:
    """The fields that may differ between two items of a type, in the order of `FIELDS`."""
    meant = _COMPARED_BY_MEANING.get(kind, ())
    mine, theirs = _values_to_compare[kind](one), _values_to_compare[kind](other)
    if mine == theirs:
        return () if meant and _is_clearly_equal(one, other) else meant
    unequal = {*meant, *(name for name, a, b in zip(_COMPARED_BY_VALUE[kind], mine, theirs, strict=True) if a != b)}
    return [name for name in FIELDS[kind] if name in unequal]


def _is_clearly_equal(one: Item, other: Item) -> bool:
    """Whether the fields that are compared by meaning need no closer look: the common case."""
    if isinstance(one, Joint) and isinstance(other, Joint):
        mine, theirs = one.parent, other.parent
        if one._dofs is not None or other._dofs is not None or one.child.name != other.child.name:
            return False
        return mine is theirs if mine is None or theirs is None else mine.name == theirs.name
    if isinstance(one, Body) and isinstance(other, Body):
        has_soft = one.soft is not None or other.soft is not None
        return not has_soft and one.inertia == other.inertia and not one.inertia.derived
    return False


_NUMBER, _SEQUENCE = (float, int), (tuple, list)
"""Types for `isinstance`: making a union takes longer than the comparison."""


def relative_difference(one: Any, other: Any) -> float:
    """The largest difference between two values: relative above 1, infinite for values that are not numbers."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return _array_difference(np.asarray(one), np.asarray(other))
    if one == other:
        return 0.0
    if isinstance(one, bool) or isinstance(other, bool):
        return np.inf
    if isinstance(one, _NUMBER) and isinstance(other, _NUMBER):
        distance = abs(one - other) / max(1.0, abs(one), abs(other))
        return np.inf if isnan(distance) else float(distance)
    if isinstance(one, Pose) and isinstance(other, Pose):
        return float(pose_differences([one], [other])[0])
    if isinstance(one, _SEQUENCE) and isinstance(other, _SEQUENCE) and len(one) == len(other):
        return max((relative_difference(a, b) for a, b in zip(one, other, strict=True) if a != b), default=0.0)
    if isinstance(one, Struct) and type(one) is type(other):
        names = one.__struct_fields__
        return max((relative_difference(getattr(one, name), getattr(other, name)) for name in names), default=0.0)
    return np.inf


def _array_difference(one: np.ndarray, other: np.ndarray) -> float:
    if one.shape != other.shape:
        return np.inf
    scale = np.maximum(1.0, np.maximum(np.abs(one), np.abs(other)))
    error = float((np.abs(one - other) / scale).max(initial=0.0))
    return np.inf if isnan(error) else error


def _direction_difference(one: Sequence[Any], other: Sequence[Any]) -> float:
    if len(one) != len(other):
        return np.inf
    return float(np.abs(spatial.unit(one) - spatial.unit(other)).max(initial=0.0))


def pose_differences(ones: Sequence[Pose], others: Sequence[Pose]) -> np.ndarray:
    """The differences of poses: the larger of the relative distance and the angle between them."""
    a, b = pose_matrices(ones), pose_matrices(others)
    return transform_differences(a, b)


def transform_differences(
    a: np.ndarray, b: np.ndarray, lengths: np.ndarray | float = 1.0, growth: np.ndarray | float = 1.0
) -> np.ndarray:
    """The differences of 4x4 transforms, as in `pose_differences`.

    Transforms that are composed of others have errors relative to the `lengths` of these, and larger by the factor
    `growth`.
    """
    largest = np.maximum(np.abs(a[:, :3, 3]), np.abs(b[:, :3, 3])).max(axis=1, initial=0.0)
    scale = np.maximum(lengths, np.maximum(1.0, largest))
    with np.errstate(over="ignore", invalid="ignore"):
        distance = spatial.lengths(a[:, :3, 3] - b[:, :3, 3])
        moved = np.where(np.isfinite(scale), distance / scale, np.where(distance == 0.0, 0.0, np.inf))
        # The chord between rotations; for small angles it is the angle, without the loss of an arc cosine.
        chord = np.linalg.norm(a[:, :3, :3] - b[:, :3, :3], axis=(1, 2)) / np.sqrt(2.0)
        larger: np.ndarray = np.maximum(moved, chord) / growth
    return np.where(np.isnan(larger), np.inf, larger)


def inertia_differences(ones: Sequence[Body], others: Sequence[Body]) -> np.ndarray:
    """The largest difference of the mass properties of each pair of bodies, each relative to its own size."""
    largest: np.ndarray = inertia_component_differences(ones, others).max(axis=1)
    return largest


def inertia_component_differences(ones: Sequence[Body], others: Sequence[Body]) -> np.ndarray:
    """The relative differences of masses, centres of mass and moments, `(n, 3)`."""
    from exoskel.scene.summary import moments

    mass = np.array([[b.mass for b in side] for side in (ones, others)])
    com = np.array([[b.com for b in side] for side in (ones, others)])
    moment = np.array([moments(ones), moments(others)])
    masses = np.abs(mass[0] - mass[1]) / np.maximum(np.abs(mass).max(axis=0), 1e-300)
    centres = np.abs(com[0] - com[1]).max(axis=1) / np.maximum(1.0, np.abs(com).max(axis=(0, 2)))
    largest = np.maximum(np.abs(moment).max(axis=(0, 2)), 1e-300)
    tensors = np.abs(moment[0] - moment[1]).max(axis=1) / largest
    components: np.ndarray = np.nan_to_num(np.stack([masses, centres, tensors], axis=1), nan=np.inf, posinf=np.inf)
    return components
