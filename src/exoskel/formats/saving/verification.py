"""Whether a document that was read again is the scene that was to be saved."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct, field

from exoskel.formats.model_grouping import is_native
from exoskel.formats.saving.bulk_compare import Layers, changed_fields, is_same, moment_may_differ, unequal
from exoskel.formats.saving.changes import Changes
from exoskel.scene.body import Body
from exoskel.scene.fields import CHILD_LISTS, Difference, differences
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, Scene

TOLERANCE = 1e-12
"""Relative above 1, in rad for rotations: what turning a pose into other words and back may cost."""


_NAMED = ("models", "bodies", "joints", "markers")


class Match(Struct):
    """A scene beside one that was read: which items correspond, and in which fields they differ.

    `lost` are items of the scene that are not there; `failure` says why the two cannot be matched at all.
    `inexact` are pairs that are the same within the tolerance, but not to the last bit.
    """

    sides: list[tuple[Sequence[Item], Sequence[Item]]] = field(default_factory=list)
    unequal: list[tuple[Item, Item]] = field(default_factory=list)
    lost: list[tuple[Item, Item, str]] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    inexact: list[tuple[Item, Item]] = field(default_factory=list)
    failure: str = ""

    @property
    def pairs(self) -> Iterator[tuple[Item, Item]]:
        for ours, theirs in self.sides:
            yield from zip(ours, theirs, strict=True)

    @property
    def problem(self) -> str:
        if self.failure or not (self.lost or self.differences):
            return self.failure
        if self.lost:
            item, holder, _ = self.lost[0]
            return f"{_called(item)} of {_called(holder)} does not come back"
        first = self.differences[0]
        return f"the {first.field} of {_called(first.one)} does not come back as it is"


def match(scene: Scene, again: Scene, unsaid: Collection[int] = ()) -> Match:
    """Hold a scene against one that was read.  Items whose ids are in `unsaid` are not expected to be there."""
    found = Match()
    if len(scene.worlds) != len(again.worlds):
        found.failure = f"read again, the file has {len(again.worlds)} worlds instead of {len(scene.worlds)}"
        return found
    _match_lists(found, scene.worlds, again.worlds, None, "worlds", unsaid)
    if not found.failure:
        _measure(found)
    return found


def _match_lists(
    found: Match, items: Sequence[Item], others: Sequence[Item], holder: Item | None, name: str, unsaid: Collection[int]
) -> None:
    if unsaid and holder is not None:
        found.lost += [(item, holder, name) for item in items if id(item) in unsaid]
        items = [item for item in items if id(item) not in unsaid]
    if len(items) != len(others):
        owner = f"in {_called(holder)}" if holder is not None else ""
        found.failure = f"read again, there are {len(others)} {name} instead of {len(items)} {owner}"
        return
    if name in _NAMED:
        others = _in_order(items, others)
    if name == "models" and _match_in_bulk(found, items, others):
        return
    pairs = list(zip(items, others, strict=True))
    found.sides.append((items, others))
    found.unequal += [(one, other) for one, other in pairs if not is_same(one, other) or moment_may_differ(one, other)]
    inside = CHILD_LISTS.get(type(items[0]), ()) if items else ()
    for item, other in pairs if inside else ():
        for inner in inside:
            ours, theirs = getattr(item, inner), getattr(other, inner)
            if ours or theirs:
                _match_lists(found, ours, theirs, item, inner, unsaid)
                if found.failure:
                    return


def _match_in_bulk(found: Match, items: Sequence[Item], others: Sequence[Item]) -> bool:
    """Models of the same layout and with the same names in it, which is most of them; False if they are not such."""
    ours, theirs = Layers(items), Layers(others)  # type: ignore[arg-type]
    if ours.layout() != theirs.layout() or ours.names() != theirs.names():
        return False
    found.sides += zip(ours.all, theirs.all, strict=True)
    different = {id(one): (one, other) for one, other in unequal(ours, theirs)}
    if any(isinstance(one, Shape) for one, _ in different.values()):
        for one, other in zip(ours.bodies, theirs.bodies, strict=True):
            if moment_may_differ(one, other):
                different[id(one)] = (one, other)
    found.unequal += different.values()
    return True


def _in_order(items: Sequence[Item], others: Sequence[Item]) -> Sequence[Item]:
    """What was read in the order of the scene: by names, where all have some and they are the same ones."""
    names = [item.name for item in items]  # type: ignore[attr-defined]
    if names == [other.name for other in others]:  # type: ignore[attr-defined]
        return others
    theirs = {other.name: other for other in others}  # type: ignore[attr-defined]
    if len(theirs) == len(others) and theirs.keys() == set(names):
        return [theirs[name] for name in names]
    return others


def _measure(found: Match) -> None:
    found.differences = differences(found.unequal, TOLERANCE)
    different = {id(one.one) for one in found.differences}
    found.inexact = [(one, other) for one, other in found.unequal if id(one) not in different]


def settle(found: Match, changes: Changes, follows: Collection[tuple[type[Item], str]]) -> None:
    """Fields that the format works out from others, and that nobody has edited, count as what was read."""
    left: list[Difference] = []
    for one in found.differences:
        source = changes.sources.get(id(one.one))
        edited = changed_fields(source, one.one) if source is not None else _given(one.one)
        if (type(one.one), one.field) in follows and one.field not in edited and _may_follow(one, source):
            found.inexact.append((one.one, one.other))
        else:
            left.append(one)
    found.differences = left


def _may_follow(one: Difference, source: Item | None) -> bool:
    """Names follow only where the source has none of their own, and mass properties by the same mass."""
    if isinstance(one.one, Body) and isinstance(one.other, Body) and one.field == "inertia":
        return source is not None and one.one.mass == one.other.mass
    if one.field != "name":
        return True
    if isinstance(source, Joint):
        return source.implicit and source.name == f"{source.child.name}_root"
    if isinstance(source, Model):
        return is_native(source)
    return not one.one.name  # type: ignore[attr-defined]


def _given(item: Item) -> list[str]:
    """The fields of a new item that somebody has set."""
    if isinstance(item, Joint):
        return [name for name in ("drives", "dofs") if getattr(item, "_dofs" if name == "dofs" else name)]
    return ["state"] if isinstance(item, Body) and item.state is not None else []


def _called(item: Item | None) -> str:
    kind = type(item).__name__.lower()
    name = getattr(item, "name", "")
    return f"{kind} {name!r}" if name else f"a {kind}"
