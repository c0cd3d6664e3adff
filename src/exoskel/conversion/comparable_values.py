"""The single values of scene fields, with defaults filled in, and how shapes differ in place and joints in motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from math import inf
from typing import Any

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.scene.body import Body, BodyState
from exoskel.scene.fields import DOF_FIELDS, SOFT_FIELDS, comparable_value, relative_difference, transform_differences
from exoskel.scene.item import Item
from exoskel.scene.joint import KINDS_OF_FLAGS, PLANES, TRAITS, Dof, Drive, Joint, coordinate_suffixes
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose
from exoskel.scene.shape import (
    DEFAULT_COLOR,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    MultiSphere,
    Plane,
    Pyramid,
    Ray,
    Shape,
    Sphere,
    Texture,
)
from exoskel.scene.world import World
from exoskel.source.file_access import is_same_content

ValuePair = tuple[str, Any, Any, float]
"""A single value: its path, its value on both sides, and the difference."""

_USED_BY: dict[str, tuple[str, ...]] = {
    "order": ("euler",),
    "plane": ("planar", "translational2d"),
    "pitch": ("screw",),
    **KINDS_OF_FLAGS,
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
    match field, item, other:
        case "dofs", Joint() as mine, Joint() as theirs:
            yield from _split("", _dofs(mine), _dofs(theirs))
        case "drives", Joint() as mine, Joint() as theirs:
            yield from _split("", *_drives(mine, theirs))
        case "self_collision", World() as mine, World() as theirs:
            if mine.self_collision_matters or theirs.self_collision_matters:
                yield _value_pair(field, mine.self_collision, theirs.self_collision)
        case "collision_exempt_groups", World() as mine, World() as theirs:
            yield _value_pair(field, _sorted_groups(mine), _sorted_groups(theirs))
        case _:
            yield from _split(field, _with_default(item, field), _with_default(other, field))


def _with_default(item: Item, field: str) -> Any:
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


def _dofs(joint: Joint) -> dict[str, Any]:
    rows = comparable_value(joint, "dofs") or (_DEFAULT_ROW,) * len(joint.motion)
    default_names = [joint.name + suffix for suffix in coordinate_suffixes(joint.kind, joint.order, joint.plane)]
    return {
        f"dof[{number}]": dict(zip(DOF_FIELDS, (name if name != default else "", *rest), strict=True))
        for number, ((name, *rest), default) in enumerate(zip(rows, default_names, strict=False), 1)
    }


def _drives(one: Joint, other: Joint) -> tuple[dict[str, Any], dict[str, Any]]:
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


def _sorted_groups(world: World) -> list[tuple[str, ...]]:
    """Groups of names in a fixed order: neither groups nor the names in them have one."""
    return sorted({tuple(sorted(set(group))) for group in world.collision_exempt_groups})


def _split(path: str, one: Any, other: Any) -> Iterator[ValuePair]:
    if isinstance(one, Mesh) and isinstance(other, Mesh):
        mine, theirs = (mesh.path or mesh.uri.strip() for mesh in (one, other))
        yield f"{path}/file", mine, theirs, 0.0 if _same_file(one, other) else inf
        yield _value_pair(f"{path}/scale", one.scale, other.scale)
    elif isinstance(one, Texture) and isinstance(other, Texture):
        mine, theirs = (image.path or image.uri.strip() for image in (one, other))
        yield f"{path}/file", mine, theirs, 0.0 if _same_file(one, other) else inf
        yield _value_pair(f"{path}/repeat", one.repeat, other.repeat)
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


def _same_file(one: Mesh | Texture, other: Mesh | Texture) -> bool:
    """Whether references lead to the same file or to copies of it."""
    if one.path is None or other.path is None:
        return one.path == other.path and one.uri.strip() == other.uri.strip()
    return one.path == other.path or is_same_content(one.path, other.path)


# --- shapes -------------------------------------------------------------------------------------------


def space_difference(one: Shape, other: Shape) -> float:
    """The difference of the spaces that two shapes take up, whatever their frames and kinds; infinite if unrelated.

    Sizes are compared as numbers, places and orientations as poses.
    """
    (mine, a), (theirs, b) = _simplest(one), _simplest(other)
    if isinstance(mine, Plane) and isinstance(theirs, Plane):
        return _half_space_difference(a, mine, b, theirs)
    if isinstance(mine, Ellipsoid) and isinstance(theirs, Ellipsoid):
        return _ellipsoid_difference(a, mine, b, theirs)
    if isinstance(mine, MultiSphere) and isinstance(theirs, MultiSphere):
        return _multi_sphere_difference(a, mine, b, theirs)
    if isinstance(mine, Box | Pyramid) and type(mine) is type(theirs):
        return min(
            max(relative_difference(mine, _rotated(theirs, rotation)), _pose_difference(a, b @ rotation))
            for rotation in (_CUBE_ROTATIONS if isinstance(mine, Box) else _UPRIGHT_ROTATIONS)
        )
    size = relative_difference(mine, theirs)
    if isinstance(mine, _ROUND) and size < inf:
        return max(size, _axis_difference(a, b, has_ends=isinstance(mine, Cone | Ray)))
    return size if size == inf else max(size, _pose_difference(a, b))


_ROUND = (Cylinder, Capsule, Cone, Ray)
"""Geometries that any rotation about z leaves unchanged."""


def _simplest(shape: Shape) -> tuple[Geometry, np.ndarray]:
    """The geometry of a shape in its simplest form, and the transform that places it: every sphere is an ellipsoid."""
    geometry, place = shape.geometry, shape.pose.matrix()
    offset = np.zeros(3)
    if isinstance(geometry, MultiSphere) and len(geometry.spheres) == 1:
        offset, geometry = np.array(geometry.spheres[0].position), Sphere(geometry.spheres[0].radius)
    elif isinstance(geometry, Cone) and not geometry.centred:
        offset, geometry = np.array([0.0, 0.0, geometry.height / 2]), Cone(geometry.radius, geometry.height)
    if isinstance(geometry, Sphere):
        geometry = Ellipsoid((2 * geometry.radius,) * 3)
    return geometry, place @ spatial.transform(np.eye(3), offset)


def _pose_difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(transform_differences(a[None], b[None])[0])


def _half_space_difference(a: np.ndarray, one: Plane, b: np.ndarray, other: Plane) -> float:
    normals = [transform[:3, :3] @ plane.normal for transform, plane in ((a, one), (b, other))]
    offsets = [
        plane.offset + float(normal @ transform[:3, 3])
        for normal, transform, plane in zip(normals, (a, b), (one, other), strict=True)
    ]
    return max(float(np.linalg.norm(normals[0] - normals[1])), relative_difference(*offsets))


def _axis_difference(a: np.ndarray, b: np.ndarray, has_ends: bool) -> float:
    """The difference of places and z axes; without different ends, an axis may point either way."""
    first, second = a[:3, 2], b[:3, 2]
    gap = float(np.linalg.norm(first - second))
    return max(_place_difference(a, b), gap if has_ends else min(gap, float(np.linalg.norm(first + second))))


def _place_difference(a: np.ndarray, b: np.ndarray) -> float:
    return _pose_difference(spatial.transform(np.eye(3), a[:3, 3]), spatial.transform(np.eye(3), b[:3, 3]))


def _ellipsoid_difference(a: np.ndarray, one: Ellipsoid, b: np.ndarray, other: Ellipsoid) -> float:
    """Compares the matrices that stretch a sphere to each ellipsoid: they do not depend on the names of the axes."""
    sizes = relative_difference(tuple(sorted(one.size)), tuple(sorted(other.size)))
    stretches = [
        matrix[:3, :3] @ np.diag(np.array(solid.size) / max(solid.size)) @ matrix[:3, :3].T
        for matrix, solid in ((a, one), (b, other))
    ]
    return max(sizes, _place_difference(a, b), float(np.abs(stretches[0] - stretches[1]).max()))


def _multi_sphere_difference(a: np.ndarray, one: MultiSphere, b: np.ndarray, other: MultiSphere) -> float:
    """Compares the spheres, which have no order, where they are."""
    if len(one.spheres) != len(other.spheres):
        return inf
    placed = [
        sorted(
            ((*(matrix[:3, :3] @ ball.position + matrix[:3, 3]).tolist(), ball.radius) for ball in solid.spheres),
            key=lambda row: [round(value, _SORTED_DECIMALS) for value in row],
        )
        for matrix, solid in ((a, one), (b, other))
    ]
    return min(relative_difference(*placed), max(relative_difference(one, other), _pose_difference(a, b)))


_SORTED_DECIMALS = 10
"""Noise below these decimals does not change the order of positions."""


def _signed_permutations() -> list[np.ndarray]:
    """The 24 rotations of a cube onto itself, as 4x4 transforms."""
    found = []
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            rotation = np.zeros((3, 3))
            rotation[range(3), order] = signs
            if np.linalg.det(rotation) > 0.0:
                found.append(spatial.transform(rotation, np.zeros(3)))
    return found


_CUBE_ROTATIONS = _signed_permutations()
_UPRIGHT_ROTATIONS = [rotation for rotation in _CUBE_ROTATIONS if rotation[2, 2] == 1.0]


def _rotated(solid: Box | Pyramid, rotation: np.ndarray) -> Box | Pyramid:
    """The same solid in a frame that is rotated by a symmetry of the cube."""
    size = solid.size if isinstance(solid, Box) else (solid.width, solid.depth, solid.height)
    x, y, z = (np.abs(rotation[:3, :3]).T @ size).tolist()
    return Box((x, y, z)) if isinstance(solid, Box) else Pyramid(x, y, z)


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
