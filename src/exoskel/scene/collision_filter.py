"""Collision filtering: which bodies of a world collide, and a comparison of two worlds without testing every pair."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from random import Random

from msgspec import Struct

from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import World

Pair = tuple[Body, Body]
Labels = frozenset[Hashable]
"""Two shapes that share a label do not collide."""
CollisionKind = Hashable
"""The filter category of a body: bodies of one kind do not collide with the same other bodies."""

NEGLIGIBLE_MASS = 1e-9
"""A body without shapes up to this mass, kg, belongs to the joints next to it instead of being connected by them: one
joint of a format can be several of a scene.  It is not zero because MuJoCo runs no body without mass."""

_HASH_BITS = 64
"""The size of the random number of each body: two different sets of bodies do not have the same sum."""


# --- bodies connected by joints -------------------------------------------------------------------------


def connected_pairs(model: Model, loops: bool = True) -> Iterator[Pair]:
    """Yield the parents and children that do not collide because a joint connects them.

    A joint with `collide_connected` is omitted, and so is a loop joint unless `loops` is set.
    """
    for joint, parent, child in connections(model):
        if not joint.collide_connected and (loops or not joint.loop):
            yield parent, child


def connections(model: Model) -> Iterator[tuple[Joint, Body, Body]]:
    """Yield every joint with each parent and child that it connects, directly or through bodies of negligible mass."""
    parents = {id(joint.child): joint.parent for joint in model.joints if not joint.loop}
    for joint in model.joints:
        parent = joint.parent
        while parent is not None:
            yield joint, parent, joint.child
            parent = parents.get(id(parent)) if not joint.loop and _is_negligible(parent) else None


def _is_negligible(body: Body) -> bool:
    return not body.collisions and body.mass <= NEGLIGIBLE_MASS


# --- rules ----------------------------------------------------------------------------------------------


class CollisionRules(Struct, frozen=True):
    """The collision filter of a world: the kind of each body that can collide, by id, and what is exempt.

    Kinds do not collide with their `exempt_kinds`, and the two bodies of an exempt pair do not collide.  Nothing
    collides with itself, and two fixed bodies do not collide.
    """

    kinds: Mapping[int, CollisionKind]
    exempt_kinds: Mapping[CollisionKind, Collection[CollisionKind]]
    exempt_pairs: Collection[Pair] = ()
    fixed: Collection[int] = frozenset()


def collision_rules(
    world: World,
    *,
    self_colliding: Collection[int] | None = None,
    exempt_groups: bool = True,
    collide_connected: bool = True,
) -> CollisionRules:
    """Derive the rules of a world.

    `self_colliding` are the ids of the models whose bodies collide with each other; by default, `World.self_collision`
    decides for all.  Without `exempt_groups` or `collide_connected`, these fields of the world and its joints are
    ignored.
    """
    if self_colliding is None:
        self_colliding = {id(model) for model in world.models} if world.self_collision else ()
    exempting = world if exempt_groups and world.collision_exempt_groups else None
    kinds: dict[int, CollisionKind] = {}
    for model in world.models:
        own = () if id(model) in self_colliding or model.static else (id(model),)
        for body in model.bodies:
            solid = [shape for shape in body.collisions if shape.collidable]
            if solid:
                kinds[id(body)] = frozenset(_shape_labels(exempting, body, shape, own) for shape in solid)
    pairs = [
        (parent, child)
        for model in world.models
        if id(model) in self_colliding and not model.static
        for joint, parent, child in connections(model)
        if not (joint.collide_connected and collide_connected)
    ]
    return CollisionRules(kinds, exempt_kinds_by_labels(kinds.values()), pairs, fixed_bodies(world.models))


def _shape_labels(exempting: World | None, body: Body, shape: Shape, own: Iterable[int]) -> Labels:
    if exempting is None:
        return frozenset(own)
    shared = (f"exempt group {number}" for number in exempting.exempt_groups_of(body.collision_name(shape)))
    return frozenset([*own, *shared])


def fixed_bodies(models: Iterable[Model]) -> set[int]:
    """The ids of bodies that cannot move: those of static models, and those welded to the world, also by loops."""
    found: set[int] = set()
    for model in models:
        if model.static:
            found.update(map(id, model.bodies))
            continue
        welds = [joint for joint in model.joints if joint.kind == "weld"]
        before = -1
        while before != len(found):  # two rounds, or more where a loop fixes the parent of other welds
            before = len(found)
            found.update(id(j.child) for j in welds if j.parent is None or id(j.parent) in found)
            found.update(id(j.parent) for j in welds if j.loop and j.parent is not None and id(j.child) in found)
    return found


def exempt_kinds_by_labels(kinds: Iterable[CollisionKind]) -> dict[CollisionKind, list[CollisionKind]]:
    """The kinds that each kind does not collide with, where a kind is the set of the labels of each shape of a body."""
    found: set[frozenset[Labels]] = set(kinds)  # type: ignore[arg-type]
    by_label: dict[Hashable, set[frozenset[Labels]]] = {}
    for kind in found:
        for label in frozenset().union(*kind):
            by_label.setdefault(label, set()).add(kind)
    exempt: dict[CollisionKind, list[CollisionKind]] = {}
    for kind in found:
        rarest = min(kind, key=lambda labels: sum(len(by_label[label]) for label in labels))
        candidates = set[frozenset[Labels]]().union(*(by_label[label] for label in rarest))
        exempt[kind] = [other for other in candidates if all(a & b for a in kind for b in other)]
    return exempt


# --- exempt groups by name -----------------------------------------------------------------------------


class ShapeNames:
    """The names of all collision shapes of a world, searched as one text: a document may have thousands of exclusions.

    Names are identified by where they end in the text.
    """

    _END = "\0"

    def __init__(self, world: World) -> None:
        self._text = "".join(name + self._END for body in world.bodies() for name in shape_names(body))
        self._found: dict[str, frozenset[int]] = {}

    def name_shapes(self, bodies: Iterable[Body]) -> None:
        """Name unnamed shapes after their bodies."""
        for body in bodies:
            for number, shape in enumerate(body.collisions[1:], start=1):
                if not shape.name:
                    shape.name = f"{body.name}_{number}"
                    self._text += shape.name + self._END
                    self._found.clear()

    def containing(self, part: str) -> frozenset[int]:
        """The names that contain a text."""
        found = self._found.get(part)
        if found is None:
            found = self._found[part] = frozenset(self._search(part))
        return found

    def _search(self, part: str) -> Iterator[int]:
        at = self._text.find(part)
        while at >= 0:
            end = self._text.index(self._END, at)
            yield end
            at = self._text.find(part, end)


def exempt_names(known: ShapeNames, bodies: list[Body]) -> tuple[str, ...] | None:
    """Parts of names that only the shapes of these bodies have, or None; unnamed shapes are named after bodies."""
    known.name_shapes(bodies)
    names = [name for body in bodies for name in shape_names(body)]
    own = tuple(dict.fromkeys(names))
    if not all(own):
        return None
    inside = frozenset[int]().union(*(known.containing(part) for part in own))
    return own if len(inside) == len(names) else None


def shape_names(body: Body) -> list[str]:
    """The names of the shapes of a body: the body's name for the first, their own for the others."""
    return [body.name, *(shape.name for shape in body.collisions[1:])] if body.collisions else []


# --- comparison -----------------------------------------------------------------------------------------


def pairs_with_different_rules(mine: CollisionRules, theirs: CollisionRules, bodies: Collection[Pair]) -> list[Pair]:
    """The pairs in `bodies`, of a body and its counterpart, that do not collide with the same other bodies.

    Each pair gets a random number, and each side sums the numbers of what a body collides with.
    """
    draw = Random(0).getrandbits
    numbers = [draw(_HASH_BITS) for _ in bodies]
    one, other = (
        _collision_sums(rules, {id(pair[side]): number for pair, number in zip(bodies, numbers, strict=True)})
        for side, rules in enumerate((mine, theirs))
    )
    return [pair for pair in bodies if one.get(id(pair[0])) != other.get(id(pair[1]))]


def _collision_sums(rules: CollisionRules, numbers: Mapping[int, int]) -> dict[int, int]:
    """The sum of the numbers of all bodies that each body collides with, by id, for bodies that can collide."""
    solid = {body: number for body, number in numbers.items() if body in rules.kinds}
    moving: dict[CollisionKind, int] = {}
    fixed: dict[CollisionKind, int] = {}
    for body, number in solid.items():
        kind, sums = rules.kinds[body], fixed if body in rules.fixed else moving
        sums[kind] = sums.get(kind, 0) + number
    all_fixed = sum(fixed.values())
    everything = sum(moving.values()) + all_fixed
    exempt: dict[CollisionKind, tuple[int, int]] = {}
    for kind in moving.keys() | fixed.keys():
        kinds = rules.exempt_kinds.get(kind, ())
        exempt[kind] = sum(moving.get(k, 0) for k in kinds), sum(fixed.get(k, 0) for k in kinds)
    found: dict[int, int] = {}
    for body in solid:
        exempt_moving, exempt_fixed = exempt[rules.kinds[body]]
        found[body] = everything - exempt_moving - (all_fixed if body in rules.fixed else exempt_fixed)
    for one, other in _further_pairs(rules, solid):
        found[one] -= numbers[other]
        if one != other:
            found[other] -= numbers[one]
    return found


def _further_pairs(rules: CollisionRules, solid: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of bodies that do not collide although their kinds do."""
    exempt = {kind: frozenset(others) for kind, others in rules.exempt_kinds.items()}
    stated = {tuple(sorted((id(one), id(other)))) for one, other in rules.exempt_pairs}
    for one, other in chain(stated, ((body, body) for body in solid)):
        if one not in solid or other not in solid or (one in rules.fixed and other in rules.fixed):
            continue
        if rules.kinds[other] not in exempt.get(rules.kinds[one], ()):
            yield one, other
