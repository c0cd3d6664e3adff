"""Scenes flattened into lists, so that hundreds of thousands of items are compared in bulk.

Two lists of models have the same layout if their lists of bodies, joints, shapes and markers have the same lengths.
Then their items correspond one by one.
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
_values: dict[type[Item], Callable[[Any], Any]] = {
    kind: attrgetter(*(name for name in fields if name not in _REFERENCES)) for kind, fields in FIELDS.items()
}
_NODE, _DOCUMENT = attrgetter("node"), attrgetter("document")


def changed_fields(one: Item, other: Item) -> list[str]:
    """The fields in which two items differ, however little."""
    if one is other or is_plainly_same(one, other):
        return []
    return [name for name in FIELDS[type(one)] if comparable_value(one, name) != comparable_value(other, name)]


def is_plainly_same(one: Item, other: Item) -> bool:
    """A quick comparison: True is certain, False may be due to two forms of the same value."""
    values = _values[type(one)]
    if values(one) != values(other):
        return False
    return not (isinstance(one, Joint) and isinstance(other, Joint)) or _joint_values(one) == _joint_values(other)


def _joint_values(joint: Joint) -> tuple[str, str | None, object]:
    """The names of a joint's bodies, and its degrees of freedom."""
    parent = None if joint.parent is None else joint.parent.name
    return joint.child.name, parent, None if joint._dofs is None else comparable_dofs(joint) or None


class FlatModels:
    """The items of some models in one list for each type, in order."""

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
        """The lengths of all lists of all items."""
        lists = [(self.models, "bodies"), (self.models, "joints")]
        lists += [(self.bodies, name) for name in ("visuals", "collisions", "markers")]  # type: ignore[misc]
        return [list(map(len, map(attrgetter(name), items))) for items, name in lists]

    def names(self) -> list[list[str]]:
        """The names of all items that are identified by name."""
        return [[item.name for item in items] for items in (self.models, self.bodies, self.joints, self.markers)]

    def models_with(self, wanted: set[int]) -> set[int]:
        """The ids of the models that contain, or are, items with some ids."""
        bodies = {id(body) for body in self.bodies if any(id(part) in wanted for part in _parts(body))}
        inside = wanted | bodies
        return {
            id(model)
            for model in self.models
            if id(model) in inside
            or any(id(item) in inside for items in (model.bodies, model.joints) for item in items)
        }

    def origins(self) -> list[list[object]]:
        """The elements that items were read from, and the names of items without an element."""
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


def unequal(ours: FlatModels, theirs: FlatModels) -> Iterator[tuple[Item, Item]]:
    """The pairs of corresponding items that are not plainly the same."""
    for mine, others in zip(ours.all, theirs.all, strict=True):
        if mine:
            yield from _unequal(mine, others)


def _unequal(ours: Sequence[Item], theirs: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    values = _values[type(ours[0])]
    getters: list[Callable[[Any], Any]] = [values, _joint_values] if isinstance(ours[0], Joint) else [values]
    for getter in getters:
        mine, others = list(map(getter, ours)), list(map(getter, theirs))
        if mine != others:
            found = [index for index, (a, b) in enumerate(zip(mine, others, strict=True)) if a != b]
            yield from ((ours[index], theirs[index]) for index in found)


def moment_may_differ(one: Item, other: Item) -> bool:
    """Whether derived moments have to be compared although all fields are the same."""
    if not isinstance(one, Body) or not isinstance(other, Body) or one.inertia.moment is not None:
        return False
    return len(one.shapes) != len(other.shapes) or not all(map(is_plainly_same, one.shapes, other.shapes))
