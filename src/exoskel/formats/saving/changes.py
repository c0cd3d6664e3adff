"""What differs between two readings of a document, item by item; hundreds of thousands of items in a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from msgspec import Struct, field

from exoskel.formats.saving.bulk_compare import Layers, changed_fields, is_same, unequal
from exoskel.scene.fields import CHILD_LISTS
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model, Scene, World


class Added(Struct):
    """A new item, the item that holds it, and its neighbours in front, nearest first."""

    item: Item
    holder: Item | None
    name: str
    before: Sequence[Item]


class Changes(Struct):
    """Differences between a source and a scene: pairs of the source's item and the scene's, items on one side only.

    `sources` finds the source's item by the id of the scene's; `models` are the ones, of either side, that hold
    a difference.
    """

    edited: list[tuple[Item, Item]] = field(default_factory=list)
    added: list[Added] = field(default_factory=list)
    removed: list[Item] = field(default_factory=list)
    sources: dict[int, Item] = field(default_factory=dict)
    models: dict[int, Model] = field(default_factory=dict)
    reordered: Item | None = None
    """Something whose parts have changed places."""

    def __bool__(self) -> bool:
        return bool(self.edited or self.added or self.removed or self.reordered)


def compare(source: Scene, scene: Scene) -> Changes:
    comparison = _Comparison()
    comparison.lists(source.worlds, scene.worlds, None, "worlds")
    return comparison.changes


class _Comparison:
    def __init__(self) -> None:
        self.changes = Changes()

    def lists(self, sources: Sequence[Item], items: Sequence[Item], holder: Item | None, name: str) -> None:
        if len(sources) == len(items) and all(map(_alike, sources, items)):
            if name == "models" and items:
                self.models(cast("Sequence[Model]", sources), cast("Sequence[Model]", items))
            else:
                for source, item in zip(sources, items, strict=True):
                    self.pair(source, item)
            return
        changes = self.changes
        both: list[tuple[Item, Item]] = []
        for source_or_none, item_or_none, place in _paired(sources, items):
            if source_or_none is not None and item_or_none is not None:
                both.append((source_or_none, item_or_none))
            elif item_or_none is not None:
                changes.added.append(Added(item_or_none, holder, name, items[:place][::-1]))
                self._note(item_or_none)
            elif source_or_none is not None:
                changes.removed.append(source_or_none)
                self._note(source_or_none)
        if name == "models" and both:
            self.models(*cast("list[list[Model]]", [list(side) for side in zip(*both, strict=True)]))
        else:
            for source, item in both:
                self.pair(source, item)
        if changes.reordered is None and _reordered(changes, sources, items):
            changes.reordered = holder or items[0]

    def models(self, sources: Sequence[Model], items: Sequence[Model]) -> None:
        """Models that correspond: those of the same layout in bulk, the others one by one."""
        ours, theirs = Layers(sources), Layers(items)
        if ours.layout() == theirs.layout() and ours.origins() == theirs.origins():
            self._bulk(ours, theirs)
            return
        same: list[tuple[Model, Model]] = []
        for source, item in zip(sources, items, strict=True):
            one, other = Layers([source]), Layers([item])
            if one.layout() == other.layout() and one.origins() == other.origins():
                same.append((source, item))
            else:
                self.pair(source, item)
        if same:
            left, right = zip(*same, strict=True)
            self._bulk(Layers(left), Layers(right))

    def _bulk(self, ours: Layers, theirs: Layers) -> None:
        changes = self.changes
        for mine, others in zip(ours.all, theirs.all, strict=True):
            changes.sources.update(zip(map(id, others), mine, strict=True))
        found = {id(item): (source, item) for source, item in unequal(ours, theirs) if changed_fields(source, item)}
        changes.edited += found.values()
        if found:
            holders = theirs.holders(set(found))
            for source, item in zip(ours.models, theirs.models, strict=True):
                if id(item) in holders:
                    self._note(source)
                    self._note(item)

    def pair(self, source: Item, item: Item) -> None:
        changes = self.changes
        changes.sources[id(item)] = source
        before = len(changes.edited) + len(changes.added) + len(changes.removed)
        if not is_same(source, item) and changed_fields(source, item):
            changes.edited.append((source, item))
        for name in CHILD_LISTS.get(type(item), ()):
            ours, theirs = getattr(source, name), getattr(item, name)
            if ours or theirs:
                self.lists(ours, theirs, item, name)
        if before != len(changes.edited) + len(changes.added) + len(changes.removed):
            self._note(source)
            self._note(item)

    def _note(self, item: Item) -> None:
        if isinstance(item, Model):
            self.changes.models[id(item)] = item


def _reordered(changes: Changes, sources: Sequence[Item], items: Sequence[Item]) -> bool:
    places = {id(source): place for place, source in enumerate(sources)}
    found = [places[id(changes.sources[id(item)])] for item in items if id(item) in changes.sources]
    return found != sorted(found)


Pair = tuple[Item | None, Item | None, int]


def _paired(sources: Sequence[Item], items: Sequence[Item]) -> Iterator[Pair]:
    """The items of two lists that are the same, each with its place; those without a partner come last."""
    waiting: dict[tuple[int, bool, str], list[Item]] = {}
    for source in sources:
        waiting.setdefault(_key(source), []).append(source)
    alone: list[tuple[Item, int]] = []
    for place, item in enumerate(items):
        same = waiting.get(_key(item))
        if same:
            yield same.pop(0), item, place
        else:
            alone.append((item, place))
    yield from ((None, item, place) for item, place in alone)
    yield from ((source, None, -1) for group in waiting.values() for source in group)


def _alike(one: Item, other: Item) -> bool:
    if isinstance(one, World):
        return True
    if one.node != other.node or one.document != other.document:
        return False
    return _key(one) == _key(other) if one.node < 0 or isinstance(one, Joint) else True


def _key(item: Item) -> tuple[int, bool, str]:
    """What an item is known by in two readings of a document: its element, or its name if it has none."""
    if item.node < 0 or item.document < 0:
        return -1, False, getattr(item, "name", "")
    return item.node, isinstance(item, Joint) and item.implicit, ""
