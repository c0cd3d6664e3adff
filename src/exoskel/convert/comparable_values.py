"""What the fields of a scene come down to: defaults filled in, and taken apart into single values."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import numpy as np
from msgspec import Struct, structs

from exoskel.scene.body import Body, BodyState
from exoskel.scene.fields import DOF_FIELDS, SOFT_FIELDS, comparable_value, relative_difference, transform_differences
from exoskel.scene.item import Item
from exoskel.scene.joint import PLANES, TRAITS, Dof, Drive, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import Pose
from exoskel.scene.shape import DEFAULT_COLOR, Mesh
from exoskel.scene.world import Model

Leaf = tuple[str, Any, Any, float]
"""A single value: its path, both sides, and how far they are apart."""

HOLD = frozenset({"pose", "axes", "order", "plane", "pitch", "swapped"})
"""The fields of a joint that together say how it moves."""

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
"""ODE's own, where they do not depend on how it was built."""
_DEFAULT_ROW = tuple(getattr(Dof(), name) for name in DOF_FIELDS)


def leaves(item: Item, other: Item, field: str) -> Iterator[Leaf]:
    """The single values that a field of two items of one kind is made of, defaults filled in."""
    match field:
        case "dofs":
            yield from _apart("", _dofs(item), _dofs(other))
        case "drives":
            yield from _apart("", *_drives(item, other))
        case "self_collision":
            if item.self_collision_matters or other.self_collision_matters:  # type: ignore[attr-defined]
                yield _leaf(field, item.self_collision, other.self_collision)  # type: ignore[attr-defined]
        case "collision_exempt_groups":
            yield _leaf(field, _groups(item), _groups(other))
        case _:
            yield from _apart(field, _filled(item, field), _filled(other, field))


def _filled(item: Any, field: str) -> Any:
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
    plain = [joint.name + suffix for suffix in joint._suffixes()]
    return {
        f"dof[{number}]": dict(zip(DOF_FIELDS, (name if name != default else "", *rest), strict=True))
        for number, ((name, *rest), default) in enumerate(zip(rows, plain, strict=False), 1)
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


def _groups(world: Any) -> list[tuple[str, ...]]:
    """Neither groups nor the names in them have an order."""
    return sorted({tuple(sorted(set(group))) for group in world.collision_exempt_groups})


def _apart(path: str, one: Any, other: Any) -> Iterator[Leaf]:
    if isinstance(one, Mesh) and isinstance(other, Mesh):
        mine, theirs = (mesh.path or mesh.uri.strip() for mesh in (one, other))
        yield f"{path}/file", mine, theirs, 0.0 if _same_file(one, other) else inf
        yield _leaf(f"{path}/scale", one.scale, other.scale)
    elif isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            yield from _apart(f"{path}/{name}" if path else name, one.get(name), other.get(name))
    elif isinstance(one, Struct) and type(one) is type(other) and not isinstance(one, Pose):
        for name in one.__struct_fields__:
            yield from _apart(f"{path}/{name}", getattr(one, name), getattr(other, name))
    elif isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape == other.shape:
        yield from _rows(path, one, other)
    else:
        yield _leaf(path, one, other)


def _rows(path: str, one: np.ndarray, other: np.ndarray) -> Iterator[Leaf]:
    """Of two tables the first row that differs, and how far any of them do."""
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


def _leaf(path: str, one: Any, other: Any) -> Leaf:
    return path, one, other, relative_difference(one, other)


def _same_file(one: Mesh, other: Mesh) -> bool:
    """Whether references lead to one file, or to copies of it."""
    if one.path is None or other.path is None:
        return one.path == other.path and one.uri.strip() == other.uri.strip()
    try:
        return one.path == other.path or filecmp.cmp(one.path, other.path, shallow=False)
    except OSError:
        return False


# --- joints -------------------------------------------------------------------------------------------


def is_used(field: str, one: Joint, other: Joint) -> bool:
    """Whether a field says anything about joints of these kinds."""
    users = _USED_BY.get(field)
    return users is None or one.kind in users or other.kind in users


def motion_gaps(ones: Sequence[Joint], others: Sequence[Joint]) -> np.ndarray:
    """How differently joints move: infinite where they are of two kinds, or their motion is not all they say.

    Frames and axes can be written in many ways that all mean the same hinge.
    """
    found = np.full(len(ones), np.inf)
    judged = [
        i
        for i, (a, b) in enumerate(zip(ones, others, strict=True))
        if a.kind == b.kind and _is_plain(a) and _is_plain(b)
    ]
    if judged:
        mine, theirs = _Mover([ones[i] for i in judged]), _Mover([others[i] for i in judged])
        rng = np.random.default_rng(0)
        trials = [rng.uniform(0.4, 1.2, mine.kinematics.dof_count) for _ in range(2)]
        found[judged] = np.max([transform_differences(mine.at(q), theirs.at(q)) for q in trials], axis=0)
    found[np.isnan(found)] = np.inf
    return found


def _is_plain(joint: Joint) -> bool:
    if joint.kind == "amotor" or joint.collapses:
        return False
    if joint.kind in _USED_BY["plane"] and joint.plane in PLANES:
        return True
    return len(joint.axes) >= TRAITS[joint.kind].axes


class _Mover:
    """The motion of joints in the frames of their children, whatever they are tied to."""

    def __init__(self, joints: Sequence[Joint]) -> None:
        body = Body(name="")
        loose = [
            Joint(
                name="", kind=j.kind, child=body, pose=j.pose, axes=j.axes,
                order=j.order, plane=j.plane, pitch=j.pitch, swapped=j.swapped,
            )
            for j in joints
        ]  # fmt: skip
        self.kinematics = Kinematics([Model(name="", bodies=[body], joints=loose)])

    def at(self, positions: np.ndarray) -> np.ndarray:
        return self.kinematics.relative(positions)
