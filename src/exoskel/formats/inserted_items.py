"""The differences between a scene and a document into which its new items were inserted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec import Struct

from exoskel.formats.saving.changes import Changes, changed_fields
from exoskel.formats.saving.verification import TOLERANCE
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import CHILD_LISTS, comparable_value, differences, relative_difference
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import Joint
from exoskel.scene.merge import copy_world
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World

COLLISION_RULES = ("self_collision", "collision_exempt_groups")
"""Fields of worlds for which other values may mean the same between other bodies: certificates compare their effect."""
_NAMED = ("models", "bodies", "joints", "markers")


class _UnknownItemsError(Exception):
    """The items of the document are others than expected."""


def changes_after_insertion(
    changes: Changes,
    base: Scene,
    inserted: Scene,
    scene: Scene,
    numbers: Sequence[int],
    *,
    is_rotated: bool = False,
    replaced_items: Set[int] = frozenset(),
) -> Changes | None:
    """The differences between `inserted`, which was read from the document with the new items, and a scene.

    `changes` are those between `base`, which was read from the document before, and the scene.  `numbers` are the
    elements of the document before, by those of the new one; -1 for new ones.  None if other items were read.
    If the world `is_rotated`, so are bodies in the document, and models in the scene.  The joints with the ids of
    `replaced_items` are not in the new document.
    """
    try:
        implicit = {id(one) for one in changes.removed if isinstance(one, Joint) and one.implicit}
        joints = (joint for world in base.worlds for joint in world.joints() if id(joint) in replaced_items)
        known = [number for number in numbers if number >= 0]
        gone = _GoneJoints(implicit, replaced_items, {joint.child.node for joint in joints}, known != sorted(known))
        old = dict(_old_pairs(base.worlds, inserted.worlds, numbers, gone))
        lost = implicit | replaced_items
        found = Changes(
            removed=[old[id(item)] for item in changes.removed if id(item) in old or id(item) not in lost],
            models=changes.models,
            reordered=changes.reordered,
            is_selection=changes.is_selection,
        )
        _restore_names_of_shapes(changes, old)
        new: set[int] = set()
        sources = {key: old[id(item)] for key, item in changes.sources.items() if id(item) not in replaced_items}
        for item, other in _all_pairs(scene.worlds, inserted.worlds, sources, set(map(id, old.values())), "worlds"):
            found.sources[id(item)] = other
            is_new = id(item) not in sources
            if is_new:
                new.add(id(item))
            if not is_new or (isinstance(item, Joint) and item.kind == getattr(other, "kind", "")):
                names = changed_fields(other, item)
                found.edited += [(other, item)] if names and (not is_new or "dofs" in names) else []
        found.inserted = frozenset(new)
        found.derived = frozenset(name for name in COLLISION_RULES if not _is_edited(changes, name))
        found.derived |= frozenset(_fields_without_unknown(scene, inserted))
        if is_rotated:
            found.moved = frozenset(key for key, other in found.sources.items() if not isinstance(other, World | Joint))
            edited = {id(one.one) for one in differences([(item, other) for other, item in found.edited], TOLERANCE)}
            found.edited = [(o, item) for o, item in found.edited if id(item) in edited and not isinstance(item, Model)]
            found.derived |= frozenset(_rounded_fields(scene, inserted))
    except (_UnknownItemsError, KeyError):
        return None
    return found


def _restore_names_of_shapes(changes: Changes, old: Mapping[int, Item]) -> None:
    """Let shapes of a document that was read again be without a name if they were before.

    A reader may name them to state which of them collide.
    """
    with no_edits():
        for source in changes.sources.values():
            other = old.get(id(source))
            if isinstance(source, Shape) and isinstance(other, Shape) and not source.name:
                other.name = ""


def _rounded_fields(scene: Scene, inserted: Scene) -> Iterator[str]:
    """The fields of worlds in which a scene and a document are the same up to rounding."""
    for world, other in zip(scene.worlds, inserted.worlds, strict=True):
        for name in changed_fields(other, world):
            if relative_difference(*(comparable_value(one, name) for one in (world, other))) <= TOLERANCE:
                yield name


def _fields_without_unknown(scene: Scene, inserted: Scene) -> Iterator[str]:
    """The fields of worlds in which only items are missing that refer to what is not there any more."""
    for world, other in zip(scene.worlds, inserted.worlds, strict=True):
        if names := changed_fields(other, world):
            known = copy_world(world)
            known.drop_dangling_references()
            yield from (name for name in names if comparable_value(known, name) == comparable_value(other, name))


def _is_edited(changes: Changes, name: str) -> bool:
    return any(isinstance(item, World) and name in changed_fields(source, item) for source, item in changes.edited)


class _GoneJoints(Struct, frozen=True):
    """The ids of joints of a document that are not in the next one.

    Welds that no element states are not there if their bodies got other joints.  `children` are the elements of the
    bodies of replaced joints.
    """

    implicit: Set[int]
    replaced: Set[int]
    children: Set[int]
    is_reordered: bool = False
    """Elements are in another order than before."""

    def is_replacement(self, item: Item, numbers: Sequence[int]) -> bool:
        if not isinstance(item, Joint) or item.loop or not self.children or item.child.node < 0:
            return False
        return numbers[item.child.node] in self.children


def _old_pairs(
    items: Sequence[Item], others: Sequence[Item], numbers: Sequence[int], gone: _GoneJoints
) -> Iterator[tuple[int, Item]]:
    """Items of a document before insertion, by their ids, with those after it."""
    same = [one for one in others if one.node < 0 or numbers[one.node] >= 0]
    same = [one for one in same if not gone.is_replacement(one, numbers)]
    if gone.is_reordered:
        items, same = (
            sorted(items, key=_place),
            sorted(same, key=lambda one: numbers[p] if (p := _place(one)) >= 0 else p),
        )
    items = [one for one in items if id(one) not in gone.replaced]
    if len(same) != len(items) and gone.implicit:
        items = [one for one in items if id(one) not in gone.implicit]
    if len(same) != len(items) or any(type(one) is not type(other) for one, other in zip(items, same, strict=True)):
        raise _UnknownItemsError
    for one, other in zip(items, same, strict=True):
        yield id(one), other
        for name in CHILD_LISTS.get(type(one), ()):
            yield from _old_pairs(getattr(one, name), getattr(other, name), numbers, gone)


def _place(item: Item) -> int:
    """The element of an item; for a joint, that of the body which it moves."""
    return item.child.node if isinstance(item, Joint) and not item.loop else item.node


def _all_pairs(
    items: Sequence[Item], others: Sequence[Item], sources: dict[int, Item], old: set[int], name: str
) -> Iterator[tuple[Item, Item]]:
    """Items of a scene with those of the document with the new items."""
    new = [one for one in items if id(one) not in sources]
    found = [one for one in others if id(one) not in old]
    if len(new) != len(found):
        raise _UnknownItemsError
    names = {item_name(one): one for one in found} if name in _NAMED else {}
    if len(names) == len(found) and names.keys() == {item_name(one) for one in new}:
        found = [names[item_name(one)] for one in new]
    pairs = {id(one): other for one, other in zip(new, found, strict=True)}
    for one in items:
        other = sources.get(id(one)) or pairs[id(one)]
        yield one, other
        for inner in CHILD_LISTS.get(type(one), ()):
            yield from _all_pairs(getattr(one, inner), getattr(other, inner), sources, old, inner)
