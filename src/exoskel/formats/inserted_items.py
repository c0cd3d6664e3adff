"""The differences between a scene and a document into which its new items were inserted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from exoskel.formats.saving.changes import Changes, changed_fields
from exoskel.formats.saving.verification import TOLERANCE
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import CHILD_LISTS, comparable_value, differences, relative_difference
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World

COLLISION_RULES = ("self_collision", "collision_exempt_groups")
"""Fields of worlds for which other values may mean the same between other bodies: certificates compare their effect."""
_NAMED = ("models", "bodies", "joints", "markers")


class _UnknownItemsError(Exception):
    """The items of the document are others than expected."""


def changes_after_insertion(
    changes: Changes, base: Scene, inserted: Scene, scene: Scene, numbers: Sequence[int], *, is_rotated: bool = False
) -> Changes | None:
    """The differences between `inserted`, which was read from the document with the new items, and a scene.

    `changes` are those between `base`, which was read from the document before, and the scene.  `numbers` are the
    elements of the document before, by those of the new one; -1 for new ones.  None if other items were read.
    If the world `is_rotated`, so are bodies in the document, and models in the scene.
    """
    try:
        replaced = {id(one) for one in changes.removed if isinstance(one, Joint) and one.implicit}
        old = dict(_old_pairs(base.worlds, inserted.worlds, numbers, replaced))
        found = Changes(
            removed=[old[id(item)] for item in changes.removed if id(item) in old or id(item) not in replaced],
            models=changes.models,
            reordered=changes.reordered,
            is_selection=changes.is_selection,
        )
        _restore_names_of_shapes(changes, old)
        new: set[int] = set()
        sources = {key: old[id(item)] for key, item in changes.sources.items()}
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


def _is_edited(changes: Changes, name: str) -> bool:
    return any(isinstance(item, World) and name in changed_fields(source, item) for source, item in changes.edited)


def _old_pairs(
    items: Sequence[Item], others: Sequence[Item], numbers: Sequence[int], replaced: Set[int]
) -> Iterator[tuple[int, Item]]:
    """Items of a document before insertion, by their ids, with those after it.

    `replaced` are the ids of welds that no element states: they are not there if their bodies got other joints.
    """
    same = [one for one in others if one.node < 0 or numbers[one.node] >= 0]
    if len(same) != len(items) and replaced:
        items = [one for one in items if id(one) not in replaced]
    if len(same) != len(items) or any(type(one) is not type(other) for one, other in zip(items, same, strict=True)):
        raise _UnknownItemsError
    for one, other in zip(items, same, strict=True):
        yield id(one), other
        for name in CHILD_LISTS.get(type(one), ()):
            yield from _old_pairs(getattr(one, name), getattr(other, name), numbers, replaced)


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
