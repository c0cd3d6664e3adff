"""The differences between two readings of a document, item by item and in bulk where possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, cast

from msgspec import Struct, field

from exoskel.scene.actuator import driven_dofs
from exoskel.scene.body import Body
from exoskel.scene.fields import CHILD_LISTS, FIELDS, comparable_dofs, comparable_value
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World

_REFERENCES = ("child", "parent", "dofs")
_values: dict[type[Item], Callable[[Any], Any]] = {
    kind: attrgetter(*(name for name in fields if name not in _REFERENCES)) for kind, fields in FIELDS.items()
}
_NODE, _DOCUMENT = attrgetter("node"), attrgetter("document")


def changed_fields(one: Item, other: Item) -> list[str]:
    """The fields in which two items differ, however little."""
    if one is other or is_clearly_equal(one, other):
        return []
    return [name for name in FIELDS[type(one)] if comparable_value(one, name) != comparable_value(other, name)]


def is_clearly_equal(one: Item, other: Item) -> bool:
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
        named = (self.models, self.bodies, self.joints, self.markers, self.visuals, self.collisions)
        return [[item.name for item in items] for items in named]

    def models_with(self, wanted: set[int]) -> set[int]:
        """The ids of the models that contain, or are, items with some ids."""
        inside = set(wanted)
        if any(id(part) in wanted for parts in (self.visuals, self.collisions, self.markers) for part in parts):
            inside |= {id(body) for body in self.bodies if not wanted.isdisjoint(map(id, _parts(body)))}
        return {
            id(model)
            for model in self.models
            if id(model) in inside
            or not (inside.isdisjoint(map(id, model.bodies)) and inside.isdisjoint(map(id, model.joints)))
        }

    def origins(self) -> list[list[object]]:
        """The elements that items were read from, and the names of items without an element."""
        found: list[list[object]] = [list(map(_NODE, items)) for items in self.all]
        found += [list(map(_DOCUMENT, items)) for items in self.all]
        found.append([joint.implicit for joint in self.joints])
        if any(-1 in nodes for nodes in found):
            found += [[item_name(item) for item in items if item.node < 0] for items in self.all]
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
    """Whether derived mass properties have to be compared although all fields are the same."""
    if not isinstance(one, Body) or not isinstance(other, Body) or not one.inertia.derived:
        return False
    return len(one.shapes) != len(other.shapes) or not all(map(is_clearly_equal, one.shapes, other.shapes))


# --- changes -------------------------------------------------------------------------------------------


class AddedItem(Struct):
    """A new item, the item that contains it, the name of the list, and the preceding items, nearest first."""

    item: Item
    owner: Item | None
    name: str
    before: Sequence[Item]


class Changes(Struct):
    """The differences between a source and a scene.

    `edited` are pairs of the source's item and the scene's.  `sources` gives the source's item by the id of the
    scene's.  `models` are those of both sides that contain differences, by id.
    """

    edited: list[tuple[Item, Item]] = field(default_factory=list)
    added: list[AddedItem] = field(default_factory=list)
    removed: list[Item] = field(default_factory=list)
    sources: dict[int, Item] = field(default_factory=dict)
    models: dict[int, Model] = field(default_factory=dict)
    reordered: Item | None = None
    """An item whose parts are in another order."""
    is_selection: bool = False
    """Removed models were not selected: what only they use goes with them."""
    derived: frozenset[str] = frozenset()
    """Fields of worlds that have other values because of new items, and the same meaning."""
    inserted: frozenset[int] = frozenset()
    """The ids of items that are already in the source, into which they were inserted."""
    moved: frozenset[int] = frozenset()
    """The ids of items that have another frame in the source, and the same place in the world."""

    def __bool__(self) -> bool:
        return bool(self.edited or self.added or self.removed or self.reordered)


class SourceChanges(Struct, frozen=True):
    """The scene that was read from a document, and what was changed since; None if nothing was edited."""

    base: Scene | None = None
    changes: Changes | None = None

    def __bool__(self) -> bool:
        return bool(self.changes)


def compare(source: Scene, scene: Scene) -> Changes:
    """Find what was edited, added and removed in a scene since its source was read."""
    finder = _ChangeFinder()
    finder.compare_lists(source.worlds, scene.worlds, None, "worlds")
    if finder.changes:
        for before, after in zip(source.worlds, scene.worlds, strict=False):
            finder.add_driven_joints(before, after)
    return finder.changes


class _ChangeFinder:
    def __init__(self) -> None:
        self.changes = Changes()

    def compare_lists(self, sources: Sequence[Item], items: Sequence[Item], owner: Item | None, name: str) -> None:
        if len(sources) == len(items) and all(map(_is_same_item, sources, items)):
            if name == "models" and items:
                self.compare_models(cast("Sequence[Model]", sources), cast("Sequence[Model]", items))
            else:
                for source, item in zip(sources, items, strict=True):
                    self.compare_items(source, item)
            return
        changes = self.changes
        both: list[tuple[Item, Item]] = []
        for source_or_none, item_or_none, index in _pairs(sources, items):
            if source_or_none is not None and item_or_none is not None:
                both.append((source_or_none, item_or_none))
            elif item_or_none is not None:
                changes.added.append(AddedItem(item_or_none, owner, name, items[:index][::-1]))
                self._note_model(item_or_none)
            elif source_or_none is not None:
                changes.removed.append(source_or_none)
                self._note_model(source_or_none)
        if name == "models" and both:
            self.compare_models(*cast("list[list[Model]]", [list(side) for side in zip(*both, strict=True)]))
        else:
            for source, item in both:
                self.compare_items(source, item)
        if changes.reordered is None and _is_reordered(changes, sources, items):
            changes.reordered = owner or items[0]

    def compare_models(self, sources: Sequence[Model], items: Sequence[Model]) -> None:
        """Compare corresponding models: those of the same layout in bulk, the others one by one."""
        ours, theirs = FlatModels(sources), FlatModels(items)
        if ours.layout() == theirs.layout() and ours.origins() == theirs.origins():
            self._compare_bulk(ours, theirs)
            return
        same: list[tuple[Model, Model]] = []
        for source, item in zip(sources, items, strict=True):
            one, other = FlatModels([source]), FlatModels([item])
            if one.layout() == other.layout() and one.origins() == other.origins():
                same.append((source, item))
            else:
                self.compare_items(source, item)
        if same:
            left, right = zip(*same, strict=True)
            self._compare_bulk(FlatModels(left), FlatModels(right))

    def _compare_bulk(self, ours: FlatModels, theirs: FlatModels) -> None:
        changes = self.changes
        for mine, others in zip(ours.all, theirs.all, strict=True):
            changes.sources.update(zip(map(id, others), mine, strict=True))
        found = {id(item): (source, item) for source, item in unequal(ours, theirs) if changed_fields(source, item)}
        changes.edited += found.values()
        if found:
            changed = theirs.models_with(set(found))
            for source, item in zip(ours.models, theirs.models, strict=True):
                if id(item) in changed:
                    self._note_model(source)
                    self._note_model(item)

    def compare_items(self, source: Item, item: Item) -> None:
        changes = self.changes
        changes.sources[id(item)] = source
        before = len(changes.edited) + len(changes.added) + len(changes.removed)
        if not is_clearly_equal(source, item) and changed_fields(source, item):
            changes.edited.append((source, item))
        for name in CHILD_LISTS.get(type(item), ()):
            ours, theirs = getattr(source, name), getattr(item, name)
            if ours or theirs:
                self.compare_lists(ours, theirs, item, name)
        if before != len(changes.edited) + len(changes.added) + len(changes.removed):
            self._note_model(source)
            self._note_model(item)

    def add_driven_joints(self, source: World, world: World) -> None:
        """Add the joints of edited actuators, which are written with the actuators as springs and force limits."""
        if list(source.actuators) == list(world.actuators):
            return
        changes = self.changes
        driven = {id(joint) for one in (source, world) for _, joint, _ in driven_dofs(one.actuators, one.models)}
        known = {id(item) for _, item in changes.edited}
        for model in world.models:
            for joint in model.joints:
                before = changes.sources.get(id(joint))
                if before is None or not {id(before), id(joint)} & driven:
                    continue
                if id(joint) not in known:
                    changes.edited.append((before, joint))
                self._note_model(model)
                self._note_model(changes.sources.get(id(model), model))

    def _note_model(self, item: Item) -> None:
        if isinstance(item, Model):
            self.changes.models[id(item)] = item


def _is_reordered(changes: Changes, sources: Sequence[Item], items: Sequence[Item]) -> bool:
    indices = {id(source): index for index, source in enumerate(sources)}
    found = [indices[id(changes.sources[id(item)])] for item in items if id(item) in changes.sources]
    return found != sorted(found)


ItemPair = tuple[Item | None, Item | None, int]


def _pairs(sources: Sequence[Item], items: Sequence[Item]) -> Iterator[ItemPair]:
    """Pairs of the same item in two lists, with its index in the second; items without a partner come last."""
    waiting: dict[tuple[int, bool, str], list[Item]] = {}
    for source in sources:
        waiting.setdefault(_key(source), []).append(source)
    alone: list[tuple[Item, int]] = []
    for index, item in enumerate(items):
        same = waiting.get(_key(item))
        if same:
            yield same.pop(_partner(same, item)), item, index
        else:
            alone.append((item, index))
    yield from ((None, item, index) for item, index in alone)
    yield from ((source, None, -1) for group in waiting.values() for source in group)


def _partner(sources: Sequence[Item], item: Item) -> int:
    """The place of the item of a source among those with the same element: copies of it have names of their own."""
    if len(sources) == 1:
        return 0
    return next((place for place, one in enumerate(sources) if item_name(one) == item_name(item)), 0)


def _is_same_item(one: Item, other: Item) -> bool:
    if isinstance(one, World):
        return True
    if one.node != other.node or one.document != other.document:
        return False
    return _key(one) == _key(other) if one.node < 0 or isinstance(one, Joint) else True


def _key(item: Item) -> tuple[int, bool, str]:
    """What identifies an item in two readings of a document: its element, or its name if it has none."""
    if item.node < 0 or item.document < 0:
        return -1, False, item_name(item)
    return item.node, isinstance(item, Joint) and item.implicit, ""
