"""Values that make no sense in any file, named by item and field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isinf, isnan
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.scene.fields import DOF_FIELDS, FIELDS, iter_items
from exoskel.scene.item import Item
from exoskel.scene.joint import PLANES, TRAITS, Joint
from exoskel.scene.world import Scene

_MAY_BE_INFINITE = ("low_stop", "high_stop")


def joint_problem(joint: Joint) -> str:
    """What about a joint does not go with its kind, as no reader would leave it; empty if all does."""
    if joint.kind not in TRAITS:
        return f"there is no joint kind {joint.kind!r}, which joint {joint.name!r} is said to be"
    wanted = TRAITS[joint.kind].axes
    if joint.kind in ("planar", "translational2d"):
        wanted = 2 if joint.plane == "arbitrary" else 0
        if joint.plane not in (*PLANES, "arbitrary"):
            return f"joint {joint.name!r} has no plane {joint.plane!r}"
    if len(joint.axes) != wanted and not (joint.kind == "amotor" and len(joint.axes) < wanted):
        return f"joint {joint.name!r} has {len(joint.axes)} axes, but a {joint.kind} joint has {wanted}"
    if joint.kind == "euler" and (len(joint.order) != 3 or set(joint.order) - set("xyz")):
        return f"joint {joint.name!r} has no order {joint.order!r}"
    if joint._dofs is not None and len(joint._dofs) != len(joint.motion):
        wanted = len(joint.motion)
        return f"joint {joint.name!r} has {len(joint._dofs)} dofs, but a {joint.kind} joint has {wanted}"
    return ""


def first_joint_problem(joints: Iterable[Joint]) -> str:
    """The first thing about some joints that cannot be saved; empty if there is none."""
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint == joint.name:
            return f"joint {joint.name!r} follows itself; let it follow another joint, or set its mimic to None"
        problem = joint_problem(joint)
        if problem:
            return f"{problem}; set both when the kind of a joint is changed"
    return ""


def first_non_finite_number(scene: Scene) -> str:
    """The first number of a scene that no file can hold, by item and field; empty if there is none."""
    for item, _, _ in iter_items(scene):
        for field, found in _numbers_of(item):
            text = _odd(found, infinite=field.endswith("_limits"))
            if text:
                return f"the {field} of {_called(item)} is {text}, which no file can hold"
    return ""


def _numbers_of(item: Item) -> Iterator[tuple[str, Any]]:
    for field in FIELDS[type(item)]:
        if isinstance(item, Joint) and field in ("child", "parent", "dofs"):
            continue
        yield field, getattr(item, field)
    for number, dof in enumerate((item._dofs or ()) if isinstance(item, Joint) else ()):
        yield from ((f"dofs[{number}].{field}", getattr(dof, field)) for field in DOF_FIELDS)


def _odd(value: Any, *, infinite: bool) -> str:
    """`nan` or `inf` if there is such in a value; empty if there is none."""
    if isinstance(value, float):
        return str(value) if isnan(value) or (isinf(value) and not infinite) else ""
    inner: Iterable[str] = ()
    if isinstance(value, np.ndarray):
        return "" if np.isfinite(value).all() else "not finite"
    if isinstance(value, Struct):
        names = value.__struct_fields__
        inner = (_odd(getattr(value, name), infinite=infinite or name in _MAY_BE_INFINITE) for name in names)
    elif isinstance(value, tuple | list):
        inner = (_odd(part, infinite=infinite) for part in value)
    return next((text for text in inner if text), "")


def _called(item: Item) -> str:
    name = getattr(item, "name", "")
    kind = type(item).__name__.lower()
    return f"{kind} {name!r}" if name else f"a {kind}"
