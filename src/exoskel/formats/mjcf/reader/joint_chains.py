"""Convert the MuJoCo joints of one body to joints of a scene: the inverse of `joints.links`.

A chain is split, from its first joint on, into the longest segments that are exactly one joint of a scene.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from exoskel.scene.joint import JointKind
from exoskel.scene.pose import ZERO, Vector, vector_from_array
from exoskel.spatial import Array

EXACT = 1e-12
"""The relative tolerance for equal axes and anchors: rounding errors only."""
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_ORDERS = ("xyz", "yzx", "zxy", "xzy", "zyx", "yxz")


class ChainJoint(Struct, frozen=True):
    """One MuJoCo joint: its number, type, anchor and axis in the body's frame."""

    number: int
    type: str
    anchor: Array
    axis: Array


class Segment(Struct, kw_only=True):
    """A joint of a scene and its MuJoCo joints, in the order of `links`.

    `anchor` is its frame's origin in the body, `rotation` the rotation of its frame there (None: the body's own).
    `coordinates` are the numbers of the MuJoCo joints of its degrees of freedom.
    """

    kind: JointKind
    numbers: list[int]
    anchor: Vector = ZERO
    rotation: Array | None = None
    axes: tuple[Vector, ...] = ()
    order: str = "xyz"
    plane: str = "xy"
    pitch: float = 0.1
    swapped: bool = False
    suspension: int = -1
    """The slide of a hinge2, which is not a coordinate."""

    @property
    def coordinates(self) -> list[int]:
        own = [n for n in self.numbers if n != self.suspension]
        return own[::-1] if self.swapped else own[:1] if self.kind == "screw" else own


Screws = dict[int, tuple[int, float]]
"""Slides that an equality couples to a hinge: the hinge and the travel in m per radian."""


def segments(parts: Sequence[ChainJoint], screws: Screws, suspended: bool = False) -> list[Segment]:
    """Split a chain into joints of a scene; a `suspended` chain is a hinge2 from our own writer."""
    if suspended and (found := _hinge2(parts)) is not None:
        return [found]
    out: list[Segment] = []
    rest = list(parts)
    while rest:
        found = next(made for rule in _RULES if (made := rule(rest, screws)) is not None)
        out.append(found)
        rest = rest[len(found.numbers) :]
    return out


SegmentRule = Callable[[Sequence[ChainJoint], Screws], Segment | None]


def _of(parts: Sequence[ChainJoint], types: str) -> list[ChainJoint] | None:
    """The first parts, if they are of these types: f, b, s, h."""
    head = list(parts[: len(types)])
    return head if [part.type[0] for part in head] == list(types) else None


def _same(one: Array, other: Array) -> bool:
    return bool(np.abs(one - other).max() <= EXACT * max(1.0, float(np.abs(one).max())))


def _share_anchor(parts: Sequence[ChainJoint]) -> bool:
    return all(_same(parts[0].anchor, part.anchor) for part in parts[1:])


def _numbers(parts: Sequence[ChainJoint]) -> list[int]:
    return [part.number for part in parts]


def _free(parts: Sequence[ChainJoint], _: Screws) -> Segment | None:
    head = _of(parts, "f")
    return Segment(kind="free", numbers=_numbers(head)) if head else None


def _inner_free(parts: Sequence[ChainJoint], _: Screws) -> Segment | None:
    """Three slides along a frame's axes and a ball at its origin."""
    head = _of(parts, "sssb")
    if head is None or (rotation := _right_handed(head[:3])) is None:
        return None
    return Segment(kind="free", numbers=_numbers(head), anchor=vector_from_array(head[3].anchor), rotation=rotation)


def _translational(parts: Sequence[ChainJoint], _: Screws) -> Segment | None:
    head = _of(parts, "sss")
    if head is None or (rotation := _right_handed(head)) is None:
        return None
    return Segment(
        kind="translational", numbers=_numbers(head), anchor=vector_from_array(head[0].anchor), rotation=rotation
    )


def _euler(parts: Sequence[ChainJoint], _: Screws) -> Segment | None:
    head = _of(parts, "hhh")
    if head is None or not _share_anchor(head) or not _orthogonal(head):
        return None
    axes = np.array([part.axis for part in head])
    for order in _ORDERS:  # use the body's own frame if its axes match
        if _same(axes, np.array([_AXES[name] for name in order])):
            return Segment(kind="euler", numbers=_numbers(head), anchor=vector_from_array(head[0].anchor), order=order)
    order = "xyz" if _right_handed(head) is not None else "xzy"
    rotation = np.stack([axes[order.index(name)] for name in "xyz"], axis=1)
    return Segment(
        kind="euler", numbers=_numbers(head), anchor=vector_from_array(head[0].anchor), rotation=rotation, order=order
    )


def _planar(parts: Sequence[ChainJoint], _: Screws) -> Segment | None:
    head = _of(parts, "ssh")
    if head is None or not _orthogonal(head) or _right_handed(head) is None:
        return None
    return Segment(
        kind="planar",
        numbers=_numbers(head),
        anchor=vector_from_array(head[2].anchor),
        plane="arbitrary",
        axes=_span(head),
    )


def _translational2d(parts: Sequence[ChainJoint], _: Screws) -> Segment | None:
    head = _of(parts, "ss")
    if head is None or not _orthogonal(head):
        return None
    return Segment(
        kind="translational2d",
        numbers=_numbers(head),
        anchor=vector_from_array(head[0].anchor),
        plane="arbitrary",
        axes=_span(head),
    )


def _screw(parts: Sequence[ChainJoint], screws: Screws) -> Segment | None:
    head = _of(parts, "hs")
    if head is None or not _same(head[0].axis, head[1].axis) or head[1].number not in screws:
        return None
    hinge, travel = screws[head[1].number]
    if hinge != head[0].number:
        return None
    own = (vector_from_array(head[0].axis),)
    pitch = 2 * np.pi * travel
    return Segment(
        kind="screw", numbers=_numbers(head), anchor=vector_from_array(head[0].anchor), axes=own, pitch=pitch
    )


def _universal(parts: Sequence[ChainJoint], _: Screws) -> Segment | None:
    head = _of(parts, "hh")
    if head is None or not _share_anchor(head):
        return None
    axes = (vector_from_array(head[0].axis), vector_from_array(head[1].axis))
    return Segment(kind="universal", numbers=_numbers(head), anchor=vector_from_array(head[0].anchor), axes=axes)


def _single(parts: Sequence[ChainJoint], _: Screws) -> Segment | None:
    one = parts[0]
    kind: JointKind = "ball" if one.type == "ball" else "revolute" if one.type == "hinge" else "prismatic"
    axes = () if kind == "ball" else (vector_from_array(one.axis),)
    return Segment(kind=kind, numbers=[one.number], anchor=vector_from_array(one.anchor), axes=axes)


_RULES: tuple[SegmentRule, ...] = (
    _free,
    _inner_free,
    _translational,
    _euler,
    _planar,
    _translational2d,
    _screw,
    _universal,
    _single,
)
"""Longer segments first; the last rule matches any joint."""


def _hinge2(parts: Sequence[ChainJoint]) -> Segment | None:
    for types, slide, first, second in (("shh", 0, 1, 2), ("hhs", 2, 1, 0)):
        head = _of(parts, types)
        if head is None or len(parts) != 3 or not _same(head[slide].axis, head[first].axis):
            continue
        return Segment(
            kind="hinge2",
            numbers=_numbers(head),
            anchor=vector_from_array(head[first].anchor),
            axes=(vector_from_array(head[first].axis), vector_from_array(head[second].axis)),
            swapped=types == "hhs",
            suspension=head[slide].number,
        )
    return None


def _orthogonal(parts: Sequence[ChainJoint]) -> bool:
    axes = np.array([part.axis for part in parts])
    return _same(axes @ axes.T, np.eye(len(parts)))


def _right_handed(parts: Sequence[ChainJoint]) -> Array | None:
    """The right-handed frame of the axes of three joints, if they form one."""
    rotation = np.stack([part.axis for part in parts], axis=1)
    return rotation if _orthogonal(parts) and _same(np.cross(rotation[:, 0], rotation[:, 1]), rotation[:, 2]) else None


def _span(parts: Sequence[ChainJoint]) -> tuple[Vector, ...]:
    return (vector_from_array(parts[0].axis), vector_from_array(parts[1].axis))
