"""Checks of a scene before it is saved: joints that do not match their kind, and numbers that are not finite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isinf, isnan
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.scene.fields import DOF_FIELDS, FIELDS, iter_items
from exoskel.scene.item import Item
from exoskel.scene.joint import PLANES, TRAITS, Joint, wrong_count
from exoskel.scene.world import Scene

_MAY_BE_INFINITE = ("low_stop", "high_stop")


def joint_problem(joint: Joint) -> str:
    """What is wrong with a joint for its kind, as no reader creates it; empty if it is valid."""
    if joint.kind not in TRAITS:
        return f"joint {joint.name!r} has the unknown kind {joint.kind!r}"
    wanted = TRAITS[joint.kind].axes
    if joint.kind in ("planar", "translational2d"):
        wanted = 2 if joint.plane == "arbitrary" else 0
        if joint.plane not in (*PLANES, "arbitrary"):
            return f"joint {joint.name!r} has the unknown plane {joint.plane!r}"
    if len(joint.axes) != wanted and not (joint.kind == "amotor" and len(joint.axes) < wanted):
        return wrong_count("axes", joint, wanted, len(joint.axes))
    if joint.kind == "euler" and (len(joint.order) != 3 or set(joint.order) - set("xyz")):
        return f"joint {joint.name!r} has the invalid axis order {joint.order!r}"
    if joint._dofs is not None and len(joint._dofs) != len(joint.motion):
        return wrong_count("degrees of freedom", joint, len(joint.motion), len(joint._dofs))
    return ""


def first_joint_problem(joints: Iterable[Joint]) -> str:
    """The first problem that keeps joints from being saved; empty if all are valid."""
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint == joint.name:
            return f"joint {joint.name!r} mimics itself; mimic another joint, or set mimic to None"
        problem = joint_problem(joint)
        if problem:
            return f"{problem}; after changing the kind of a joint, set these fields too"
    return ""


def first_non_finite_number(scene: Scene) -> str:
    """A message about the first number of a scene that is not finite; empty if all are finite."""
    for item, _, _ in iter_items(scene):
        for field, found in _field_values(item):
            text = _non_finite(found, infinite=field.endswith("_limits"))
            if text:
                return f"the {field} of {_describe(item)} is {text}; files can only store finite numbers"
    return ""


def _field_values(item: Item) -> Iterator[tuple[str, Any]]:
    for field in FIELDS[type(item)]:
        if isinstance(item, Joint) and field in ("child", "parent", "dofs"):
            continue
        yield field, getattr(item, field)
    for number, dof in enumerate((item._dofs or ()) if isinstance(item, Joint) else ()):
        yield from ((f"dofs[{number}].{field}", getattr(dof, field)) for field in DOF_FIELDS)


def _non_finite(value: Any, *, infinite: bool) -> str:
    """`nan` or `inf` if a value contains one; empty if all its numbers are finite."""
    if isinstance(value, float):
        return str(value) if isnan(value) or (isinf(value) and not infinite) else ""
    inner: Iterable[str] = ()
    if isinstance(value, np.ndarray):
        return "" if np.isfinite(value).all() else "not finite"
    if isinstance(value, Struct):
        names = value.__struct_fields__
        inner = (_non_finite(getattr(value, name), infinite=infinite or name in _MAY_BE_INFINITE) for name in names)
    elif isinstance(value, tuple | list):
        inner = (_non_finite(part, infinite=infinite) for part in value)
    return next((text for text in inner if text), "")


def _describe(item: Item) -> str:
    name = getattr(item, "name", "")
    kind = type(item).__name__.lower()
    return f"{kind} {name!r}" if name else f"a {kind}"
