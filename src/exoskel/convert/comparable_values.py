"""The single values of scene fields, with defaults filled in, and how shapes differ in place and joints in motion."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.scene.body import Body, BodyState
from exoskel.scene.fields import DOF_FIELDS, SOFT_FIELDS, comparable_value, relative_difference, transform_differences
from exoskel.scene.item import Item
from exoskel.scene.joint import PLANES, TRAITS, Dof, Drive, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, pose_matrices
from exoskel.scene.shape import (
    DEFAULT_COLOR,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    Plane,
    Ray,
    Shape,
    Sphere,
)

ValuePair = tuple[str, Any, Any, float]
"""A single value: its path, its value on both sides, and the difference."""

_USED_BY: dict[str, tuple[str, ...]] = {
    "order": ("euler",),
    "plane": ("planar", "translational2d"),
    "pitch": ("screw",),
    "swapped": ("universal", "hinge2"),
}
_DRIVE_DEFAULTS = {
    "low_stop": -inf,
    "high_stop": inf,
    "velocity": 0.0,
    "max_force": 0.0,
    "fudge_factor": 1.0,
    "bounce": 0.0,
}
"""The defaults of ODE, where they do not depend on its build options."""
_DEFAULT_ROW = tuple(getattr(Dof(), name) for name in DOF_FIELDS)


def single_values(item: Item, other: Item, field: str) -> Iterator[ValuePair]:
    """The single values of a field of two items of the same type, with defaults filled in."""
    match field:
        case "dofs":
            yield from _split("", _dofs(item), _dofs(other))
        case "drives":
            yield from _split("", *_drives(item, other))
        case "self_collision":
            if item.self_collision_matters or other.self_collision_matters:  # type: ignore[attr-defined]
                yield _value_pair(field, item.self_collision, other.self_collision)  # type: ignore[attr-defined]
        case "collision_exempt_groups":
            yield _value_pair(field, _sorted_groups(item), _sorted_groups(other))
        case _:
            yield from _split(field, _with_default(item, field), _with_default(other, field))


def _with_default(item: Any, field: str) -> Any:
    found = getattr(item, field)
    match field:
        case "state":
            return found or BodyState()
        case "ignored_values":
            return found or {}
        case "color":
            return found or DEFAULT_COLOR
        case "soft":
            return found and {name: getattr(found, name) for name in SOFT_FIELDS}
    return found


def _dofs(joint: Any) -> dict[str, Any]:
    rows = comparable_value(joint, "dofs") or (_DEFAULT_ROW,) * len(joint.motion)
    default_names = [joint.name + suffix for suffix in joint._suffixes()]
    return {
        f"dof[{number}]": dict(zip(DOF_FIELDS, (name if name != default else "", *rest), strict=True))
        for number, ((name, *rest), default) in enumerate(zip(rows, default_names, strict=False), 1)
    }


def _drives(one: Any, other: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    count = max(len(one.drives), len(other.drives))
    first, second = (
        {
            f"drive[{number + 1}]": _drive(joint.drives[number] if number < len(joint.drives) else Drive())
            for number in range(count)
        }
        for joint in (one, other)
    )
    return first, second


def _drive(drive: Drive) -> dict[str, Any]:
    stated = structs.asdict(drive)
    return {name: _DRIVE_DEFAULTS.get(name) if known is None else known for name, known in stated.items()}


def _sorted_groups(world: Any) -> list[tuple[str, ...]]:
    """Groups of names in a fixed order: neither groups nor the names in them have one."""
    return sorted({tuple(sorted(set(group))) for group in world.collision_exempt_groups})


def _split(path: str, one: Any, other: Any) -> Iterator[ValuePair]:
    if isinstance(one, Mesh) and isinstance(other, Mesh):
        mine, theirs = (mesh.path or mesh.uri.strip() for mesh in (one, other))
        yield f"{path}/file", mine, theirs, 0.0 if _same_file(one, other) else inf
        yield _value_pair(f"{path}/scale", one.scale, other.scale)
    elif isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            yield from _split(f"{path}/{name}" if path else name, one.get(name), other.get(name))
    elif isinstance(one, Struct) and type(one) is type(other) and not isinstance(one, Pose):
        for name in one.__struct_fields__:
            yield from _split(f"{path}/{name}", getattr(one, name), getattr(other, name))
    elif isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape == other.shape:
        yield from _first_changed_row(path, one, other)
    else:
        yield _value_pair(path, one, other)


def _first_changed_row(path: str, one: np.ndarray, other: np.ndarray) -> Iterator[ValuePair]:
    """The first row in which two tables differ, and the largest difference of any row."""
    changed = np.flatnonzero((one != other).any(axis=1)).tolist()
    if changed:
        first = changed[0]
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield (
            f"{path}[{first}]{more}",
            tuple(one[first].tolist()),
            tuple(other[first].tolist()),
            relative_difference(one, other),
        )


def _value_pair(path: str, one: Any, other: Any) -> ValuePair:
    return path, one, other, relative_difference(one, other)


def _same_file(one: Mesh, other: Mesh) -> bool:
    """Whether references lead to the same file or to copies of it."""
    if one.path is None or other.path is None:
        return one.path == other.path and one.uri.strip() == other.uri.strip()
    try:
        return one.path == other.path or filecmp.cmp(one.path, other.path, shallow=False)
    except OSError:
        return False


# --- shapes -------------------------------------------------------------------------------------------


def placement_difference(one: Shape, other: Shape) -> float:
    """The difference between the places of two geometries of one kind, whatever rotations leave them unchanged."""
    a, b = pose_matrices([one.pose, other.pose])
    if isinstance(one.geometry, Plane) and isinstance(other.geometry, Plane):
        return _half_space_difference(a, one.geometry, b, other.geometry)
    aligned = b @ _symmetry(one.geometry, a[:3, :3].T @ b[:3, :3])
    return float(transform_differences(a[None], aligned[None])[0])


def _half_space_difference(a: np.ndarray, one: Plane, b: np.ndarray, other: Plane) -> float:
    normals = [transform[:3, :3] @ plane.normal for transform, plane in ((a, one), (b, other))]
    offsets = [
        plane.offset + float(normal @ transform[:3, 3])
        for normal, transform, plane in zip(normals, (a, b), (one, other), strict=True)
    ]
    return max(float(np.linalg.norm(normals[0] - normals[1])), relative_difference(*offsets))


def _symmetry(geometry: Geometry, rotation: np.ndarray) -> np.ndarray:
    """The rotation that leaves a geometry unchanged and comes closest to undoing `rotation`."""
    found = np.eye(4)
    if isinstance(geometry, Sphere) or (isinstance(geometry, Ellipsoid) and len({*geometry.size}) == 1):
        found[:3, :3] = rotation.T
    elif isinstance(geometry, Box | Ellipsoid):
        steps = np.rint(rotation)  # quarter and half turns
        is_quarter_turn = np.array_equal(steps @ steps.T, np.eye(3))
        if is_quarter_turn and np.array_equal(np.abs(steps) @ geometry.size, geometry.size):
            found[:3, :3] = steps.T
    elif isinstance(geometry, Cylinder | Capsule | Cone | Ray):
        is_flipped = rotation[2, 2] < 0.0 and isinstance(geometry, Cylinder | Capsule)
        flip = np.diag([1.0, -1.0, -1.0]) if is_flipped else np.eye(3)
        upright = rotation @ flip
        angle = np.arctan2(upright[1, 0] - upright[0, 1], upright[0, 0] + upright[1, 1])
        found[:3, :3] = flip @ spatial.exp(np.array([0.0, 0.0, -angle]))
    return found


# --- joints -------------------------------------------------------------------------------------------


def is_used(field: str, one: Joint, other: Joint) -> bool:
    """Whether a field has a meaning for joints of these kinds."""
    users = _USED_BY.get(field)
    return users is None or one.kind in users or other.kind in users


def motion_differences(ones: Sequence[Joint], others: Sequence[Joint]) -> np.ndarray:
    """The differences of motion between joints; infinite where kinds differ or fields mean more than the motion.

    The same hinge can be written with many combinations of frames and axes.
    """
    found = np.full(len(ones), np.inf)
    compared = [
        i
        for i, (a, b) in enumerate(zip(ones, others, strict=True))
        if a.kind == b.kind and _is_defined_by_motion(a) and _is_defined_by_motion(b)
    ]
    if compared:
        mine, theirs = _JointMotion([ones[i] for i in compared]), _JointMotion([others[i] for i in compared])
        rng = np.random.default_rng(0)
        trials = [rng.uniform(0.4, 1.2, mine.kinematics.dof_count) for _ in range(2)]
        found[compared] = np.max([transform_differences(mine.at(q), theirs.at(q)) for q in trials], axis=0)
    found[np.isnan(found)] = np.inf
    return found


def _is_defined_by_motion(joint: Joint) -> bool:
    if joint.kind == "amotor" or joint.collapses:
        return False
    if joint.kind in _USED_BY["plane"] and joint.plane in PLANES:
        return True
    return len(joint.axes) >= TRAITS[joint.kind].axes


class _JointMotion:
    """The motion of joints in the frames of their children, whatever their parents are."""

    def __init__(self, joints: Sequence[Joint]) -> None:
        body = Body(name="")
        unconnected = [
            Joint(
                name="", kind=j.kind, child=body, pose=j.pose, axes=j.axes,
                order=j.order, plane=j.plane, pitch=j.pitch, swapped=j.swapped,
            )
            for j in joints
        ]  # fmt: skip
        self.kinematics = Kinematics([Model(name="", bodies=[body], joints=unconnected)])

    def at(self, positions: np.ndarray) -> np.ndarray:
        return self.kinematics.relative(positions)
