"""Scenes laid flat, so that hundreds of thousands of items are compared in bulk.

Two models of the same layout hold as many bodies, joints, shapes and markers in the same places; their items
correspond one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from exoskel.scene.body import Body
from exoskel.scene.fields import FIELDS, comparable_dofs, comparable_value
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model

_REFERENCES = ("child", "parent", "dofs")
_PLAIN: dict[type[Item], Callable[[Any], Any]] = {
    kind: attrgetter(*(name for name in fields if name not in _REFERENCES)) for kind, fields in FIELDS.items()
}
_NODE, _DOCUMENT = attrgetter("node"), attrgetter("document")


def changed_fields(one: Item, other: Item) -> list[str]:
    """The fields in which two items differ, however little."""
    if one is other or is_same(one, other):
        return []
    return [name for name in FIELDS[type(one)] if comparable_value(one, name) != comparable_value(other, name)]


def is_same(one: Item, other: Item) -> bool:
    """A quick yes; a no may be about the spelling only."""
    plain = _PLAIN[type(one)]
    if plain(one) != plain(other):
        return False
    return not (isinstance(one, Joint) and isinstance(other, Joint)) or _tie(one) == _tie(other)


def _tie(joint: Joint) -> tuple[str, str | None, object]:
    """What a joint says about other things, and its degrees of freedom."""
    parent = None if joint.parent is None else joint.parent.name
    return joint.child.name, parent, None if joint._dofs is None else comparable_dofs(joint) or None


class Layers:
    """The items of some models, kind by kind, in order."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = models
        self.bodies = [body for model in models for body in model.bodies]
        self.joints = [joint for model in models for joint in model.joints]
        self.visuals = [shape for body in self.bodies for shape in body.visuals]
        self.collisions = [shape for body in self.bodies for shape in body.collisions]
        self.markers = [marker for body in self.bodies for marker in body.markers]

    @property
    def all(self) -> tuple[Sequence[Item], ...]:
        return self.models, self.bodies, self.joints, self.visuals, self.collisions, self.markers

    def layout(self) -> list[list[int]]:
        """How many items each of them holds."""
        counted = [(self.models, "bodies"), (self.models, "joints")]
        counted += [(self.bodies, name) for name in ("visuals", "collisions", "markers")]  # type: ignore[misc]
        return [list(map(len, map(attrgetter(name), items))) for items, name in counted]

    def names(self) -> list[list[str]]:
        """The names of what is known by name."""
        return [[item.name for item in items] for items in (self.models, self.bodies, self.joints, self.markers)]

    def holders(self, wanted: set[int]) -> set[int]:
        """The ids of the models that items with some ids are in, or are."""
        parts = {id(body) for body in self.bodies if any(id(part) in wanted for part in _parts(body))}
        inside = wanted | parts
        return {
            id(model)
            for model in self.models
            if id(model) in inside
            or any(id(item) in inside for items in (model.bodies, model.joints) for item in items)
        }

    def origins(self) -> list[list[object]]:
        """Where items come from, and by name if they come from nowhere."""
        found: list[list[object]] = [list(map(_NODE, items)) for items in self.all]
        found += [list(map(_DOCUMENT, items)) for items in self.all]
        found.append([joint.implicit for joint in self.joints])
        if any(-1 in nodes for nodes in found):
            found += [[getattr(item, "name", "") for item in items if item.node < 0] for items in self.all]
        return found


def _parts(body: Body) -> Iterator[Item]:
    yield from body.visuals
    yield from body.collisions
    yield from body.markers


def unequal(ours: Layers, theirs: Layers) -> Iterator[tuple[Item, Item]]:
    """The corresponding items of two layers that are not the same at a glance."""
    for mine, others in zip(ours.all, theirs.all, strict=True):
        if mine:
            yield from _unequal(mine, others)


def _unequal(ours: Sequence[Item], theirs: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    plain = _PLAIN[type(ours[0])]
    views: list[Callable[[Any], Any]] = [plain, _tie] if isinstance(ours[0], Joint) else [plain]
    for view in views:
        mine, others = list(map(view, ours)), list(map(view, theirs))
        if mine != others:
            found = [place for place, (a, b) in enumerate(zip(mine, others, strict=True)) if a != b]
            yield from ((ours[place], theirs[place]) for place in found)


def moment_may_differ(one: Item, other: Item) -> bool:
    """Whether a derived moment has to be looked at although the fields are the same."""
    if not isinstance(one, Body) or not isinstance(other, Body) or one.inertia.moment is not None:
        return False
    return len(one.shapes) != len(other.shapes) or not all(map(is_same, one.shapes, other.shapes))
