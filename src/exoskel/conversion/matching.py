"""Matching of the parts of two scenes: by name, by connection, by content, and by elimination."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

from exoskel.scene.body import Body, Marker
from exoskel.scene.fields import CHILD_LISTS, FIELDS, comparable_value
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import World

T = TypeVar("T", bound=Item)
MatchKey = Callable[[T], Hashable]
"""The value that matching items share; None if an item has none."""


class Matching(Generic[T]):
    """Pairs of items of two lists, by index.

    Each rule pairs only items that earlier rules left unmatched, in time proportional to their number.
    """

    def __init__(self, ones: Sequence[T], others: Sequence[T]) -> None:
        self.ones = ones
        self.others = others
        self.to: dict[int, int] = {}
        self._matched_others: set[int] = set()

    @property
    def unmatched(self) -> list[int]:
        """The indices of items in the first list without a counterpart, in order."""
        return [] if len(self.to) == len(self.ones) else [i for i in range(len(self.ones)) if i not in self.to]

    @property
    def unmatched_others(self) -> list[int]:
        """The same for the second list."""
        if len(self._matched_others) == len(self.others):
            return []
        return [j for j in range(len(self.others)) if j not in self._matched_others]

    @property
    def is_incomplete(self) -> bool:
        """Whether both lists have unmatched items."""
        return len(self.to) < len(self.ones) and len(self._matched_others) < len(self.others)

    def pairs(self) -> list[tuple[T, T]]:
        """The pairs, in the order of the first list."""
        return [(self.ones[i], self.others[j]) for i, j in sorted(self.to.items())]

    def add(self, i: int, j: int) -> None:
        self.to[i] = j
        self._matched_others.add(j)

    def match_by(self, key: MatchKey[T], other_key: MatchKey[T] | None = None) -> None:
        """Pair items with the same key; several with one key in their order."""
        if not self.is_incomplete:
            return
        waiting: dict[Hashable, list[int]] = {}
        for j in reversed(self.unmatched_others):
            found = (other_key or key)(self.others[j])
            if found is not None:
                waiting.setdefault(found, []).append(j)
        for i in self.unmatched:
            places = waiting.get(key(self.ones[i]))
            if places:
                self.add(i, places.pop())

    def match_in_order(self) -> None:
        """Pair the unmatched items in order."""
        for i, j in zip(self.unmatched, self.unmatched_others, strict=False):
            self.add(i, j)

    def match_last(self, resembles: Callable[[T, T], bool]) -> None:
        """Pair the unmatched items if there is one on each side, and they resemble each other."""
        mine, theirs = self.unmatched, self.unmatched_others
        if len(mine) == len(theirs) == 1 and resembles(self.ones[mine[0]], self.others[theirs[0]]):
            self.match_in_order()

    def match_only(self) -> None:
        """Pair the items if each list has one."""
        if len(self.ones) == len(self.others) == 1:
            self.match_in_order()

    def moved(self) -> list[tuple[int, int]]:
        """The fewest pairs to remove so that the others have the same order on both sides."""
        pairs = sorted(self.to.items())
        places = [j for _, j in pairs]
        if all(a < b for a, b in pairwise(places)):
            return []
        rising = _longest_increasing(places)
        return [pair for number, pair in enumerate(pairs) if number not in rising]


def _longest_increasing(numbers: Sequence[int]) -> set[int]:
    """The indices of a longest increasing subsequence of distinct numbers."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(tops, number)
        before.append(ends[length - 1] if length else -1)
        tops[length : length + 1] = [number]
        ends[length : length + 1] = [place]
    rising: set[int] = set()
    place = ends[-1] if ends else -1
    while place >= 0:
        rising.add(place)
        place = before[place]
    return rising


def match_names(ones: Sequence[T], others: Sequence[T]) -> Matching[T]:
    """Match items by name; items with the same name in their order."""
    found = Matching(ones, others)
    found.match_by(_name)
    return found


def _name(item: Item) -> str | None:
    return item_name(item) or None


def match_rest(matching: Matching[T], resembles: Callable[[T, T], bool]) -> Matching[T]:
    """Match the other items by equal content, and then the last one if it resembles its counterpart."""
    matching.match_by(content)
    matching.match_last(resembles)
    return matching


def match_worlds(ones: Sequence[World], others: Sequence[World]) -> Matching[World]:
    found = match_rest(match_names(ones, others), lambda one, other: _have_same_names(one.models, other.models))
    found.match_only()
    return found


def match_models(ones: Sequence[Model], others: Sequence[Model]) -> Matching[Model]:
    found = match_rest(match_names(ones, others), _are_similar_models)
    found.match_only()
    return found


def _have_same_names(ones: Sequence[Item], others: Sequence[Item]) -> bool:
    """Whether at least half of the items have the same names."""
    mine, theirs = ({_name(item) for item in side} for side in (ones, others))
    return 2 * len(mine & theirs) >= max(len(mine), len(theirs), 1)


def _are_similar_models(one: Model, other: Model) -> bool:
    """Whether two models have the same bodies; many single bodies have the same name, such as `link`."""
    if len(one.bodies) == len(other.bodies) == 1:
        return _are_similar(one.bodies[0], other.bodies[0])
    return _have_same_names(one.bodies, other.bodies)


def _are_similar(one: Body, other: Body) -> bool:
    """Whether two bodies have the same shapes or the same mass properties."""
    mine, theirs = ([shape.geometry for shape in body.shapes] for body in (one, other))
    if mine and mine == theirs:
        return True
    is_whole = one.inertia.moment is not None or not (mine or theirs)  # other moments are those of the shapes
    return is_whole and one.inertia == other.inertia != Inertia()


def match_members(one: Model, other: Model) -> tuple[Matching[Body], Matching[Joint]]:
    """Match the bodies and joints of two models.

    A renamed body is identified by its parent joint, and a renamed joint only by its child body: joints of unrelated
    bodies often have the same content.
    """
    bodies, joints = match_names(one.bodies, other.bodies), match_names(one.joints, other.joints)
    if bodies.is_incomplete:
        mine = {id(one.joints[i].child): j for i, j in joints.to.items() if not one.joints[i].loop}
        theirs = {id(joint.child): j for j, joint in enumerate(other.joints) if not joint.loop}
        bodies.match_by(lambda body: mine.get(id(body)), lambda body: theirs.get(id(body)))
    match_rest(bodies, _are_similar)
    if joints.is_incomplete:
        children = {id(one.bodies[i]): j for i, j in bodies.to.items()}
        place = {id(body): j for j, body in enumerate(other.bodies)}
        joints.match_by(
            lambda joint: (children.get(id(joint.child), -1), joint.loop),
            lambda joint: (place.get(id(joint.child), -2), joint.loop),
        )
    return bodies, joints


def match_shapes(ones: Sequence[Shape], others: Sequence[Shape]) -> Matching[Shape]:
    """Match shapes by name, by content, by kind, and then in order."""
    found = Matching(ones, others)
    for place, (a, b) in enumerate(zip(ones, others, strict=False)):
        if a.name == b.name and a.pose == b.pose and a.geometry == b.geometry:
            found.add(place, place)
    if found.is_incomplete:
        found.match_by(_name)
        found.match_by(content)
        found.match_by(lambda shape: shape.kind)
        found.match_in_order()
    return found


def match_markers(ones: Sequence[Marker], others: Sequence[Marker]) -> Matching[Marker]:
    found = match_names(ones, others)
    found.match_by(content)
    found.match_in_order()
    return found


def content(item: Item) -> str:
    """A text of all fields except names and connections; equal for items with the same content."""
    fields = [f for f in FIELDS[type(item)] if f not in ("name", "child", "parent")]
    own = [repr(comparable_value(item, field)) for field in fields]
    inner = [
        f"{name}:{item_name(part)}:{content(part)}"
        for name in CHILD_LISTS.get(type(item), ())
        for part in getattr(item, name)
    ]
    return "|".join([*own, *inner])
