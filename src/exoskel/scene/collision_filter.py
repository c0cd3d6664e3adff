"""Which bodies of a world may touch, in a form in which two worlds are compared without asking of every pair."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from random import Random

from msgspec import Struct

from exoskel.scene.body import Body
from exoskel.scene.connected_bodies import Pair, ties
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World

Labels = frozenset[Hashable]
"""Two shapes that have a label in common pass each other."""
Kind = Hashable
"""What tells bodies that pass the same others."""

OWN_BITS = 64
"""Of the numbers that stand for bodies: that two different sets of them have the same sum does not happen."""


class CollisionRules(Struct, frozen=True):
    """Who passes whom: the kinds of bodies with something to touch, by id; which kinds pass which; and single pairs.

    Besides that nothing touches itself, and nothing that is fixed touches anything else that is.
    """

    kinds: Mapping[int, Kind]
    friends: Mapping[Kind, Collection[Kind]]
    pairs: Collection[Pair] = ()
    fixed: Collection[int] = frozenset()


# --- rules ----------------------------------------------------------------------------------------------


def rules_of(
    world: World, *, meets_itself: Collection[int] | None = None, passing: bool = True, touching: bool = True
) -> CollisionRules:
    """The rules of a world, but for parts that are not asked for: groups that pass, joints that let touch.

    `meets_itself` are the ids of models whose bodies meet each other, where the world does not say it for all.
    """
    if meets_itself is None:
        meets_itself = {id(model) for model in world.models} if world.self_collision else ()
    groups = world.collision_exempt_groups if passing else ()
    kinds: dict[int, Kind] = {}
    for model in world.models:
        own = () if id(model) in meets_itself or model.static else (id(model),)
        for body in model.bodies:
            solid = [shape for shape in body.collisions if shape.collidable]
            if solid:
                kinds[id(body)] = frozenset(_labels(body, shape, own, groups) for shape in solid)
    pairs = [
        (one, other)
        for model in world.models
        if id(model) in meets_itself and not model.static
        for joint, one, other in ties(model)
        if not (joint.collide_connected and touching)
    ]
    return CollisionRules(kinds, friends_by_labels(kinds.values()), pairs, fixed(world.models))


def _labels(body: Body, shape: Shape, own: Iterable[int], groups: Iterable[tuple[str, ...]]) -> Labels:
    if not groups:
        return frozenset(own)
    # A body's first geom is called like the body.
    name = body.name if body.collisions[0] is shape else shape.name
    shared = (f"passing {i}" for i, words in enumerate(groups) if any(word in name for word in words))
    return frozenset([*own, *shared])


def fixed(models: Iterable[Model]) -> set[int]:
    """The ids of bodies that stand still: of static models, and what welds hold to the world, loops among them."""
    found: set[int] = set()
    for model in models:
        if model.static:
            found.update(map(id, model.bodies))
            continue
        welds = [joint for joint in model.joints if joint.kind == "weld"]
        before = -1
        while before != len(found):  # twice, but where a loop holds what other welds hang on
            before = len(found)
            found.update(id(j.child) for j in welds if j.parent is None or id(j.parent) in found)
            found.update(id(j.parent) for j in welds if j.loop and j.parent is not None and id(j.child) in found)
    return found


def friends_by_labels(kinds: Iterable[Kind]) -> dict[Kind, list[Kind]]:
    """Which kinds pass which; a kind is the set of the labels that each shape of a body has."""
    found: set[frozenset[Labels]] = set(kinds)  # type: ignore[arg-type]
    holders: dict[Hashable, set[frozenset[Labels]]] = {}
    for kind in found:
        for label in frozenset().union(*kind):
            holders.setdefault(label, set()).add(kind)
    friends: dict[Kind, list[Kind]] = {}
    for kind in found:
        first = min(kind, key=lambda labels: sum(len(holders[label]) for label in labels))
        near = set[frozenset[Labels]]().union(*(holders[label] for label in first))
        friends[kind] = [other for other in near if all(a & b for a in kind for b in other)]
    return friends


# --- comparing ------------------------------------------------------------------------------------------


def differing(mine: CollisionRules, theirs: CollisionRules, bodies: Collection[Pair]) -> list[Pair]:
    """Those of `bodies`, which are pairs of a body and its counterpart, that may not touch the same others.

    Each body has a number drawn for it, the same on both sides, and each side sums the numbers of those it passes.
    """
    draw = Random(0).getrandbits
    numbers = [draw(OWN_BITS) for _ in bodies]
    one, other = (
        _touched(rules, {id(pair[side]): number for pair, number in zip(bodies, numbers, strict=True)})
        for side, rules in enumerate((mine, theirs))
    )
    return [pair for pair in bodies if one.get(id(pair[0])) != other.get(id(pair[1]))]


def _touched(rules: CollisionRules, numbers: Mapping[int, int]) -> dict[int, int]:
    """The sum of the numbers of those that each body may touch, by id; of bodies with something to touch."""
    solid = {body: number for body, number in numbers.items() if body in rules.kinds}
    moving: dict[Kind, int] = {}
    standing: dict[Kind, int] = {}
    for body, number in solid.items():
        kind, sums = rules.kinds[body], standing if body in rules.fixed else moving
        sums[kind] = sums.get(kind, 0) + number
    still = sum(standing.values())
    everyone = sum(moving.values()) + still
    passed: dict[Kind, tuple[int, int]] = {}
    for kind in moving.keys() | standing.keys():
        friends = rules.friends.get(kind, ())
        passed[kind] = sum(moving.get(f, 0) for f in friends), sum(standing.get(f, 0) for f in friends)
    found: dict[int, int] = {}
    for body in solid:
        loose, rigid = passed[rules.kinds[body]]
        found[body] = everyone - loose - (still if body in rules.fixed else rigid)
    for one, other in _further(rules, solid):
        found[one] -= numbers[other]
        if one != other:
            found[other] -= numbers[one]
    return found


def _further(rules: CollisionRules, solid: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Pairs of bodies that pass each other and that no kind tells it of."""
    friends = {kind: frozenset(others) for kind, others in rules.friends.items()}
    said = {tuple(sorted((id(one), id(other)))) for one, other in rules.pairs}
    for one, other in chain(said, ((body, body) for body in solid)):
        if one not in solid or other not in solid or (one in rules.fixed and other in rules.fixed):
            continue
        if rules.kinds[other] not in friends.get(rules.kinds[one], ()):
            yield one, other
