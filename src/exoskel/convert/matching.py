"""Which part of one scene is which part of another: by name, by what they hold, by what is left."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any, Generic, TypeVar

from exoskel.scene.body import Body, Marker
from exoskel.scene.fields import CHILD_LISTS, FIELDS, comparable_value
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World

T = TypeVar("T", bound=Item)
Key = Callable[[T], Hashable]
"""What two items have in common if they are the same; None: nothing to go by."""


class Matching(Generic[T]):
    """Pairs of items of two lists, by their places; every rule pairs only what the ones before have left.

    Each rule takes time in proportion to what is left.
    """

    def __init__(self, ones: Sequence[T], others: Sequence[T]) -> None:
        self.ones = ones
        self.others = others
        self.to: dict[int, int] = {}
        self._taken: set[int] = set()

    @property
    def left(self) -> list[int]:
        """The places in the first list that have no counterpart, in order."""
        return [] if len(self.to) == len(self.ones) else [i for i in range(len(self.ones)) if i not in self.to]

    @property
    def left_over(self) -> list[int]:
        """The same of the second list."""
        if len(self._taken) == len(self.others):
            return []
        return [j for j in range(len(self.others)) if j not in self._taken]

    @property
    def is_open(self) -> bool:
        """Whether something is left on both sides."""
        return len(self.to) < len(self.ones) and len(self._taken) < len(self.others)

    def pairs(self) -> list[tuple[T, T]]:
        """The pairs, in the order of the first list."""
        return [(self.ones[i], self.others[j]) for i, j in sorted(self.to.items())]

    def add(self, i: int, j: int) -> None:
        self.to[i] = j
        self._taken.add(j)

    def by(self, key: Key[T], other_key: Key[T] | None = None) -> None:
        """Pair what has the same key; several of one key in their order."""
        if not self.is_open:
            return
        waiting: dict[Hashable, list[int]] = {}
        for j in reversed(self.left_over):
            found = (other_key or key)(self.others[j])
            if found is not None:
                waiting.setdefault(found, []).append(j)
        for i in self.left:
            places = waiting.get(key(self.ones[i]))
            if places:
                self.add(i, places.pop())

    def in_order(self) -> None:
        """Pair what is left, the first with the first."""
        for i, j in zip(self.left, self.left_over, strict=False):
            self.add(i, j)

    def the_only_ones(self) -> None:
        """Pair what is left if it is one of each."""
        if len(self.ones) - len(self.to) == len(self.others) - len(self._taken) == 1:
            self.in_order()

    def moved(self) -> list[tuple[int, int]]:
        """The fewest pairs that have to be taken out for the rest to stand in the same order on both sides."""
        pairs = sorted(self.to.items())
        places = [j for _, j in pairs]
        if all(a < b for a, b in pairwise(places)):
            return []
        kept = _longest_rise(places)
        return [pair for number, pair in enumerate(pairs) if number not in kept]


def _longest_rise(numbers: Sequence[int]) -> set[int]:
    """The places of a longest increasing subsequence of distinct numbers."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(tops, number)
        before.append(ends[length - 1] if length else -1)
        tops[length : length + 1] = [number]
        ends[length : length + 1] = [place]
    kept: set[int] = set()
    place = ends[-1] if ends else -1
    while place >= 0:
        kept.add(place)
        place = before[place]
    return kept


def named(ones: Sequence[T], others: Sequence[T]) -> Matching[T]:
    """Items by name; namesakes in their order."""
    found = Matching(ones, others)
    found.by(_name)
    return found


def _name(item: Any) -> str | None:
    return item.name or None


def settled(pairing: Matching[T]) -> Matching[T]:
    """What is left paired by equal content, or because it is all that is left."""
    pairing.by(content)
    pairing.the_only_ones()
    return pairing


def pair_worlds(ones: Sequence[World], others: Sequence[World]) -> Matching[World]:
    return settled(named(ones, others))


def pair_models(ones: Sequence[Model], others: Sequence[Model]) -> Matching[Model]:
    return settled(named(ones, others))


def pair_members(one: Model, other: Model) -> tuple[Matching[Body], Matching[Joint]]:
    """The bodies and joints of two models.

    A body that changed its name is known by the joint that holds it, and a joint by the body it holds.
    """
    bodies, joints = named(one.bodies, other.bodies), named(one.joints, other.joints)
    if bodies.is_open:
        mine = {id(one.joints[i].child): j for i, j in joints.to.items() if not one.joints[i].loop}
        theirs = {id(joint.child): j for j, joint in enumerate(other.joints) if not joint.loop}
        bodies.by(lambda body: mine.get(id(body)), lambda body: theirs.get(id(body)))
    settled(bodies)
    if joints.is_open:
        held = {id(one.bodies[i]): j for i, j in bodies.to.items()}
        place = {id(body): j for j, body in enumerate(other.bodies)}
        joints.by(
            lambda joint: (held.get(id(joint.child), -1), joint.loop),
            lambda joint: (place.get(id(joint.child), -2), joint.loop),
        )
    settled(joints)
    return bodies, joints


def pair_shapes(ones: Sequence[Shape], others: Sequence[Shape]) -> Matching[Shape]:
    """Shapes by name, by what they are, and then in order, those of one kind first."""
    found = Matching(ones, others)
    for place, (a, b) in enumerate(zip(ones, others, strict=False)):
        if a.name == b.name and a.pose == b.pose and a.geometry == b.geometry:
            found.add(place, place)
    if found.is_open:
        found.by(_name)
        found.by(content)
        found.by(lambda shape: shape.kind)
        found.in_order()
    return found


def pair_markers(ones: Sequence[Marker], others: Sequence[Marker]) -> Matching[Marker]:
    found = named(ones, others)
    found.by(content)
    found.in_order()
    return found


def content(item: Item) -> str:
    """What an item is, its name and its place in a tree apart.  Equal for items that are written alike."""
    fields = [f for f in FIELDS[type(item)] if f not in ("name", "child", "parent")]
    own = [repr(comparable_value(item, field)) for field in fields]
    inner = [
        f"{name}:{getattr(part, 'name', '')}:{content(part)}"
        for name in CHILD_LISTS.get(type(item), ())
        for part in getattr(item, name)
    ]
    return "|".join([*own, *inner])
