"""Values of a scene as short text, for differences."""

from __future__ import annotations

from math import degrees, hypot
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import printable
from exoskel.scene.body import Body, Marker
from exoskel.scene.joint import Joint
from exoskel.scene.pose import Pose
from exoskel.scene.shape import Mesh, Shape, TriMesh
from exoskel.scene.world import Model, World

_DIGITS = (6, 9, 12, 17)
_LONGEST = 200


def texts_of_pair(one: Any, other: Any) -> tuple[str, str]:
    """The texts of two values, with as few digits as distinguish them."""
    shown = ("", "")
    for digits in _DIGITS:
        shown = (_short(text_of(one, digits)), _short(text_of(other, digits)))
        if shown[0] != shown[1]:
            break
    return shown


def text_of(value: Any, digits: int = _DIGITS[0]) -> str:
    """A value as short text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | int):
        return _number(value, digits)
    if isinstance(value, str):
        return repr(printable(value))
    if isinstance(value, Pose):
        return _frame(frames(value.matrix()[None])[0], digits)
    if isinstance(value, TextFrame):
        return _frame(value, digits)
    if isinstance(value, np.ndarray):
        return f"{len(value)} rows"
    if isinstance(value, tuple | list):
        flat = all(isinstance(part, float | int | str) for part in value)
        return (" " if flat else "; ").join(text_of(part, digits) for part in value) or "none"
    if isinstance(value, Struct):
        return _struct(value, digits)
    return printable(str(value))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _number(value: float, digits: int) -> str:
    # Hide rounding errors close to zero, unless only they distinguish two values.
    return "0" if digits < _DIGITS[-1] and abs(value) < 10.0 ** (-6 - digits) else f"{value:.{digits}g}"


class TextFrame(NamedTuple):
    """A position and a rotation vector."""

    position: list[float]
    rotation: list[float]


def frames(transforms: np.ndarray) -> list[TextFrame]:
    """Positions and rotation vectors of 4x4 transforms."""
    return list(map(TextFrame, transforms[:, :3, 3].tolist(), spatial.log(transforms[:, :3, :3]).tolist()))


def _frame(frame: TextFrame, digits: int) -> str:
    position = " ".join(_number(v, digits) for v in frame.position)
    angle = hypot(*frame.rotation)
    if _number(angle, digits) == "0":
        return position
    axis = " ".join(_number(v / angle, digits) for v in frame.rotation)
    return f"{position}, rotated {_number(degrees(angle), digits)}° about {axis}"


def _struct(value: Struct, digits: int) -> str:
    if isinstance(value, TriMesh):
        return f"trimesh of {len(value.triangles)} triangles"
    if isinstance(value, Mesh):
        return f"mesh {text_of(value.path or value.uri)}"
    tag = value.__struct_config__.tag
    parts = [text_of(getattr(value, name), digits) for name in value.__struct_fields__]
    return " ".join([str(tag), *parts] if tag else parts)


def summary(item: object) -> str:
    """A summary of an item that is in only one of two scenes."""
    match item:
        case World():
            return _count(len(item.models), "model")
        case Model():
            bodies = _count(len(item.bodies), "body", "bodies")
            return f"{bodies}, {_count(len(item.joints), 'joint')}, {item.mass:.6g} kg"
        case Body():
            return f"{item.mass:.6g} kg, {_count(len(item.visuals) + len(item.collisions), 'shape')}"
        case Joint():
            parent = "the world" if item.parent is None else repr(printable(item.parent.name))
            return f"{'loop, ' if item.loop else ''}{item.kind}, {parent} to {printable(item.child.name)!r}"
        case Shape():
            return _short(text_of(item.geometry))
        case Marker():
            return text_of(item.offset)
    return ""


def _count(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
