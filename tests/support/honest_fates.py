"""Compares the fates of values with what is read back from the output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import exoskel
from exoskel.conversion.node_fates import FateRecorder
from exoskel.fates import Fate, Verdict
from exoskel.scene.body import Body, BodyState
from exoskel.scene.fields import DOF_FIELDS, differences, relative_difference
from exoskel.scene.item import Item
from exoskel.scene.joint import Dof, Drive, Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape, Sphere
from exoskel.scene.world import World

Decision = tuple[FateRecorder, Item, str, tuple[str, ...], Verdict]
Part = tuple[str, bool, bool]
"""A part of a field: its name, whether the output has the same value, and whether a reader assumes that value anyway."""

_DEFAULTS: dict[type[Item], Item] = {
    World: World(name=""),
    Model: Model(name=""),
    Body: Body(name=""),
    Shape: Shape(geometry=Sphere(1.0)),
    Joint: Joint(name="", kind="revolute", child=Body(name=""), axes=((0.0, 0.0, 1.0),)),
}
_NEEDED = frozenset({"name", "kind", "child", "axes", "geometry"})
"""Fields without a default."""


def dishonest_fates(scene: exoskel.Scene, to: str, **options: Any) -> list[str]:
    """Values that are reported as dropped but are in the output, or as exact but are not."""
    decisions: list[Decision] = []
    decide = FateRecorder.field_verdict

    def record(self: FateRecorder, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        found = decide(self, item, field, parts)
        decisions.append((self, item, field, tuple(parts), found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FateRecorder, "field_verdict", record)
        exoskel.convert(scene, None, to=to, **options)
    return sorted({problem for decision in decisions for problem in _problems(*decision, to)})


def _problems(
    recorder: FateRecorder, item: Item, field: str, parts: tuple[str, ...], found: Verdict, to: str
) -> Iterator[str]:
    shapes = recorder.target.capabilities().shapes_read_back(recorder.written.native)
    other = recorder.written.counterparts.get(id(item)) or shapes.get(id(item))
    if not field or type(other) is not type(item) or other is None:
        return
    for part, is_same, is_default in _parts(recorder, item, other, field, parts):
        what = f"{to}: {type(item).__name__} '{getattr(item, 'name', '')}' ({getattr(item, 'kind', '')}) {part}"
        is_lost = found.fate is Fate.DROPPED and not found.harmless
        if is_lost and is_same and not is_default and id(item) in recorder.written.elements:
            yield f"{what} is in the output, but dropped: {found.why}"
        if found.fate is Fate.EXACT and not is_same:
            yield f"{what} is not in the output, but exact"


def _parts(recorder: FateRecorder, one: Item, other: Item, field: str, parts: Sequence[str]) -> Iterator[Part]:
    tolerance = recorder.target.capabilities().tolerance(type(one), field)
    if isinstance(one, Joint) and isinstance(other, Joint) and field in ("dofs", "drives"):
        find = _dof_values if field == "dofs" else _drive_values
        for part in parts or (DOF_FIELDS if field == "dofs" else Drive.__struct_fields__):
            mine, theirs, default = find(one, part), find(other, part), getattr(Dof(), part, None)
            has_no_effect = part == "rest" and not any(dof.stiffness for dof in one.dofs)
            is_default = has_no_effect or all(value == default for value in mine)
            yield part, is_default or relative_difference(mine, theirs) <= tolerance, is_default
        return
    if isinstance(one, Body) and isinstance(other, Body) and field == "state":
        for part in parts or BodyState.__struct_fields__:
            name = part.partition("/")[0]
            values = [getattr(state or BodyState(), name) for state in (one.state, other.state)]
            is_default = values[0] == getattr(BodyState(), name)
            yield f"state/{part}", values[0] == values[1], is_default
        return
    mine, theirs = getattr(one, field), getattr(other, field)
    is_same = not any(d.field == field and d.error > tolerance for d in differences([(one, other)]))
    is_renamed = isinstance(mine, Body) and recorder.written.counterparts.get(id(mine)) is theirs
    default = _DEFAULTS.get(type(one))
    is_default = field in _NEEDED or (default is not None and getattr(default, field) == mine)
    yield field, is_same or is_renamed, is_default


def _dof_values(joint: Joint, part: str) -> list[Any]:
    return [getattr(dof, part) for dof in joint.dofs]


def _drive_values(joint: Joint, part: str) -> list[Any]:
    """The parameter of an axis; a part without a number is that of the first axis."""
    name, _, number = part.partition("/")
    place = int(number or 1) - 1
    return [getattr(joint.drives[place], name) if place < len(joint.drives) else None]
