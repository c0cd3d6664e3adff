"""Compares the scene to be saved with the scene that was read back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct, field

from exoskel.formats.embedded_writer import has_native_grouping
from exoskel.formats.saving.changes import (
    Changes,
    FlatModels,
    changed_fields,
    is_clearly_equal,
    moment_may_differ,
    unequal,
)
from exoskel.scene.body import Body
from exoskel.scene.field_checks import kind_name
from exoskel.scene.fields import CHILD_LISTS, Difference, differences
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene

TOLERANCE = 1e-12
"""The largest error of a pose that was converted to another form and back: relative above 1, in rad for rotations."""


_NAMED = ("models", "bodies", "joints", "markers", "visuals", "collisions")


class Match(Struct):
    """Corresponding items of a scene and of one that was read back, and the fields in which they differ.

    `sides` are lists of corresponding items; `lost` are items that were not read back, with the item that contains
    them and the name of the list; `failure` states why the two scenes cannot be matched at all.  `inexact` are pairs
    that are the same within the tolerance, but not to the last bit.
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
        """The first difference in words; empty if the scenes are the same."""
        if self.failure or not (self.lost or self.differences):
            return self.failure
        if self.lost:
            item, owner, _ = self.lost[0]
            return f"{_label(item)} of {_label(owner)} is lost"
        first = self.differences[0]
        if first.field == "name":  # the item has its new name: state the other one too
            return f"{_label(first.one)} would be read back as {item_name(first.other)!r}"
        return f"the {first.field} of {_label(first.one)} would change"


def match(scene: Scene, reread: Scene, unsupported: Collection[int] = ()) -> Match:
    """Compare a scene with one that was read back.  Items whose ids are `unsupported` are expected to be lost."""
    found = Match()
    if len(scene.worlds) != len(reread.worlds):
        found.failure = f"the saved file would have {len(reread.worlds)} worlds instead of {len(scene.worlds)}"
        return found
    _match_lists(found, scene.worlds, reread.worlds, None, "worlds", unsupported)
    if not found.failure:
        _compare_fields(found)
    return found


def match_models(models: Sequence[Model], reread: Sequence[Model]) -> Match:
    """Compare some models of a scene with the same ones that were read back."""
    found = Match()
    _match_lists(found, models, reread, None, "models", ())
    if not found.failure:
        _compare_fields(found)
    return found


def _match_lists(
    found: Match,
    items: Sequence[Item],
    others: Sequence[Item],
    owner: Item | None,
    name: str,
    unsupported: Collection[int],
) -> None:
    if unsupported and owner is not None:
        found.lost += [(item, owner, name) for item in items if id(item) in unsupported]
        items = [item for item in items if id(item) not in unsupported]
    if len(items) != len(others):
        where = f" in {_label(owner)}" if owner is not None else ""
        found.failure = f"the saved file would have {len(others)} {name} instead of {len(items)}{where}"
        return
    if name in _NAMED:
        others = _in_order(items, others)
    if name == "models" and _match_in_bulk(found, items, others):
        return
    pairs = list(zip(items, others, strict=True))
    found.sides.append((items, others))
    found.unequal += [
        (one, other) for one, other in pairs if not is_clearly_equal(one, other) or moment_may_differ(one, other)
    ]
    inside = CHILD_LISTS.get(type(items[0]), ()) if items else ()
    for item, other in pairs if inside else ():
        for inner in inside:
            ours, theirs = getattr(item, inner), getattr(other, inner)
            if ours or theirs:
                _match_lists(found, ours, theirs, item, inner, unsupported)
                if found.failure:
                    return


def _match_in_bulk(found: Match, items: Sequence[Item], others: Sequence[Item]) -> bool:
    """Match models of the same layout and names, the usual case; False if they differ in these."""
    ours, theirs = FlatModels(items), FlatModels(others)  # type: ignore[arg-type]
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
    """The items that were read back in the order of the scene, if both have the same names and these are unique."""
    names = [item.name for item in items]  # type: ignore[attr-defined]
    if names == [other.name for other in others]:  # type: ignore[attr-defined]
        return others
    theirs = {other.name: other for other in others}  # type: ignore[attr-defined]
    if len(theirs) == len(others) and theirs.keys() == set(names):
        return [theirs[name] for name in names]
    return others


def _compare_fields(found: Match) -> None:
    found.differences = differences(found.unequal, TOLERANCE)
    different = {id(one.one) for one in found.differences}
    found.inexact = [(one, other) for one, other in found.unequal if id(one) not in different]


def accept_derived_fields(found: Match, changes: Changes, derived: Collection[tuple[type[Item], str]]) -> None:
    """Accept the values that were read back for fields that the reader derives and that were not edited."""
    rest: list[Difference] = []
    for difference in found.differences:
        item, name = difference.one, difference.field
        source = changes.sources.get(id(item))
        edited = changed_fields(source, item) if source is not None else _set_fields(item)
        if (type(item), name) in derived and name not in edited and _is_derived(difference, source):
            found.inexact.append((item, difference.other))
        else:
            rest.append(difference)
    found.differences = rest


def _is_derived(one: Difference, source: Item | None) -> bool:
    """Whether a value is derived: a name only if the source states none, an inertia only for the same mass."""
    if isinstance(one.one, Body) and isinstance(one.other, Body) and one.field == "inertia":
        return source is not None and one.one.mass == one.other.mass
    if one.field != "name":
        return True
    if isinstance(source, Joint):
        return source.implicit and source.name == f"{source.child.name}_root"
    if isinstance(source, Model):
        return has_native_grouping(source)
    return not one.one.name  # type: ignore[attr-defined]


def _set_fields(item: Item) -> list[str]:
    """The fields of a new item that were set."""
    if isinstance(item, Joint):
        return [name for name in ("drives", "dofs") if getattr(item, "_dofs" if name == "dofs" else name)]
    return ["state"] if isinstance(item, Body) and item.state is not None else []


def _label(item: Item | None) -> str:
    kind = kind_name(item)
    name = "" if item is None else item_name(item)
    return f"{kind} {name!r}" if name else f"a {kind}"
