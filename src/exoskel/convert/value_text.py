"""Values of a scene in a few words, for people who compare them."""

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


def both(one: Any, other: Any) -> tuple[str, str]:
    """Two values in as few digits as tell them apart."""
    shown = ("", "")
    for digits in _DIGITS:
        shown = (_short(words(one, digits)), _short(words(other, digits)))
        if shown[0] != shown[1]:
            break
    return shown


def words(value: Any, digits: int = _DIGITS[0]) -> str:
    """A value in a few words."""
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
        return (" " if flat else "; ").join(words(part, digits) for part in value) or "none"
    if isinstance(value, Struct):
        return _struct(value, digits)
    return printable(str(value))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _number(value: float, digits: int) -> str:
    # What is left of a sum of rounded numbers is no news, unless nothing else tells two values apart.
    return "0" if digits < _DIGITS[-1] and abs(value) < 10.0 ** (-6 - digits) else f"{value:.{digits}g}"


class TextFrame(NamedTuple):
    """A position and a rotation vector."""

    position: list[float]
    turn: list[float]


def frames(transforms: np.ndarray) -> list[TextFrame]:
    """Many 4x4 transforms, to be told in words."""
    return list(map(TextFrame, transforms[:, :3, 3].tolist(), spatial.log(transforms[:, :3, :3]).tolist()))


def _frame(frame: TextFrame, digits: int) -> str:
    position = " ".join(_number(v, digits) for v in frame.position)
    angle = hypot(*frame.turn)
    if _number(angle, digits) == "0":
        return position
    axis = " ".join(_number(v / angle, digits) for v in frame.turn)
    return f"{position}, turned {_number(degrees(angle), digits)}° about {axis}"


def _struct(value: Struct, digits: int) -> str:
    if isinstance(value, TriMesh):
        return f"trimesh of {len(value.triangles)} triangles"
    if isinstance(value, Mesh):
        return f"mesh {words(value.path or value.uri)}"
    tag = value.__struct_config__.tag
    parts = [words(getattr(value, name), digits) for name in value.__struct_fields__]
    return " ".join([str(tag), *parts] if tag else parts)


def summary(item: object) -> str:
    """An item that stands in only one of two scenes."""
    match item:
        case World():
            return _counted(len(item.models), "model")
        case Model():
            bodies = _counted(len(item.bodies), "body", "bodies")
            return f"{bodies}, {_counted(len(item.joints), 'joint')}, {item.mass:.6g} kg"
        case Body():
            return f"{item.mass:.6g} kg, {_counted(len(item.visuals) + len(item.collisions), 'shape')}"
        case Joint():
            parent = "the world" if item.parent is None else repr(printable(item.parent.name))
            return f"{'loop, ' if item.loop else ''}{item.kind}, {parent} to {printable(item.child.name)!r}"
        case Shape():
            return _short(words(item.geometry))
        case Marker():
            return words(item.offset)
    return ""


def _counted(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
