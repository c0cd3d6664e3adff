"""Read the collision filter: convert MuJoCo's contact bits and exclusions to the rules of a scene."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Set
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exoskel.formats.mjcf.collision_filter import Bits
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.formats.mjcf.reader.models import FoundParts
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import ShapeNames, connected_pairs, exempt_names
from exoskel.scene.world import World
from exoskel.spatial import Mask

Ids = NDArray[np.int64]
_MAX_PAIRS = 1000
"""Groups that a document separates pair by pair: more names than that say nothing to a reader."""
Members = dict[int, dict[int, int]]
"""By the id of a model: the bodies that have geoms with some bits, and the node of the first such geom of each."""


def read_collision_filter(world: World, compiled: Compiled, found: FoundParts, report: Callable[..., None]) -> None:
    """Set self-collision and the exempt groups of a world; report rules that a scene does not support."""
    groups = _contact_groups(compiled, found)
    static = {id(model) for model in world.models if model.static}
    table = _PairTable(groups, static)
    world.self_collision = any(_share_model(groups[a], groups[b], static) for a, b in table.colliding_in_models())
    between_models = (
        (a, b) for a, b in table.apart_between_models() if _span_models(groups[a].keys(), groups[b].keys(), static)
    )
    in_models = (
        (a, b)
        for a, b in (table.apart_in_models() if world.self_collision else ())
        if _share_model(groups[a], groups[b], static)
    )
    exempt = list(dict.fromkeys(islice(chain(between_models, in_models), _MAX_PAIRS + 1)))
    bodies = {bits: _bodies(members, found) for bits, members in groups.items()}
    if len(exempt) > _MAX_PAIRS or not _exempt(world, exempt, bodies):
        nodes = (node for members in groups.values() for bodies in members.values() for node in bodies.values())
        report("MJ308", min(nodes, default=-1))
    excluded = _excluded(compiled, found)
    if world.self_collision:
        _set_collide_connected(world, excluded)
    _apply_exclusions(world, excluded, compiled, report)


class _PairTable:
    """Pairs of groups, found row by row in arrays: there may be as many groups as geoms.

    A group with one body or one model has its id; others have a number of their own, so that they differ from all.
    """

    def __init__(self, groups: dict[Bits, Members], static: set[int]) -> None:
        self.groups = list(groups)
        self.kind, self.affinity = np.array(self.groups, dtype=np.int64).reshape(-1, 2).T
        members = list(groups.values())
        self.static = np.array([one.keys() <= static for one in members], dtype=bool)
        self.model = np.array([_only(one, place) for place, one in enumerate(members)], dtype=np.int64)
        self.body = np.array(
            [_only([body for bodies in one.values() for body in bodies], place) for place, one in enumerate(members)],
            dtype=np.int64,
        )

    def _rows(self) -> Iterator[tuple[int, Mask]]:
        """For each group: which of it and the groups after it collide with it."""
        for place, (one, other) in enumerate(self.groups):
            yield place, np.not_equal((one & self.affinity[place:]) | (self.kind[place:] & other), 0)

    def _moving(self, place: int) -> Mask:
        """Which of a group and the groups after it are not static together with it."""
        out: Mask = np.logical_not(self.static[place:] & self.static[place])
        return out

    def _pairs(self, place: int, wanted: Mask) -> Iterator[tuple[Bits, Bits]]:
        for further in np.flatnonzero(wanted).tolist():
            yield self.groups[place], self.groups[place + further]

    def _differ(self, owner: Ids, place: int) -> Mask:
        """Which of a group and the groups after it have another owner, or several: these are negative."""
        out: Mask = np.logical_or(owner[place:] != owner[place], owner[place:] < 0)
        return out

    def colliding_in_models(self) -> Iterator[tuple[Bits, Bits]]:
        """Pairs that collide and may have two bodies of one model."""
        for place, collide in self._rows():
            yield from self._pairs(place, collide & self._differ(self.body, place) & self._may_share_model(place))

    def apart_between_models(self) -> Iterator[tuple[Bits, Bits]]:
        """Pairs that do not collide and have two models."""
        for place, collide in self._rows():
            yield from self._pairs(place, ~collide & self._differ(self.model, place) & self._moving(place))

    def apart_in_models(self) -> Iterator[tuple[Bits, Bits]]:
        """Pairs that do not collide and may have two bodies of one model."""
        for place, collide in self._rows():
            yield from self._pairs(place, ~collide & self._differ(self.body, place) & self._may_share_model(place))

    def _may_share_model(self, place: int) -> Mask:
        own = self.model
        same = np.logical_or(own[place:] == own[place], np.minimum(own[place:], own[place]) < 0)
        out: Mask = np.logical_and(same, self._moving(place))
        return out


def _only(owners: Collection[int], place: int) -> int:
    """The only owner, or a negative number that no other group has."""
    return next(iter(owners)) if len(owners) == 1 else -1 - place


def _bodies(members: Members, found: FoundParts) -> list[Body]:
    return [found.bodies[body] for bodies in members.values() for body in bodies]


def _exempt(world: World, exempt: list[tuple[Bits, Bits]], groups: dict[Bits, list[Body]]) -> bool:
    """Exempt pairs of groups from collision by the names of their bodies; False if names cannot express it exactly.

    All members of an exempt group are exempt from each other.  So each group of a pair must be exempt from itself too,
    or be a single body.
    """
    alone = {bits for bits, bodies in groups.items() if len(bodies) == 1} | {a for a, b in exempt if a == b}
    counts = Counter(id(body) for bodies in groups.values() for body in bodies)
    known = ShapeNames(world)
    names: list[tuple[str, ...]] = []
    for one, other in exempt:
        bodies = {id(body): body for bits in (one, other) for body in groups[bits]}
        group = exempt_names(known, list(bodies.values()))
        if not {one, other} <= alone or any(counts[body] > 1 for body in bodies) or group is None:
            return False
        names.append(group)
    world.collision_exempt_groups += names
    return True


def _contact_groups(compiled: Compiled, found: FoundParts) -> dict[Bits, Members]:
    model: Any = compiled.model
    out: dict[Bits, Members] = {}
    rows = zip(model.geom_bodyid.tolist(), model.geom_contype.tolist(), model.geom_conaffinity.tolist(), strict=True)
    for geom, (body, kind, affinity) in enumerate(rows):
        owner = found.models.get(body)
        if owner is not None and (kind or affinity):
            bodies = out.setdefault((kind, affinity), {}).setdefault(id(owner), {})
            bodies.setdefault(body, compiled.geoms.node(geom))
    return out


def _share_model(one: Members, other: Members, static: set[int]) -> bool:
    """Whether they contain two bodies of one model that is not static."""
    return any(len(one[model].keys() | other[model].keys()) > 1 for model in one.keys() & other.keys() - static)


def _span_models(one: Set[int], other: Set[int], static: set[int]) -> bool:
    """Whether they contain two models of which one is not static."""
    return any(bool(theirs - {model}) for mine, theirs in ((one, other), (other, one)) for model in mine - static)


def _excluded(compiled: Compiled, found: FoundParts) -> list[tuple[int, Body, Body]]:
    """The excluded pairs of bodies with shapes, and the numbers of the elements."""
    out = []
    for number, signature in enumerate(compiled.model.exclude_signature.tolist()):
        one, other = (found.bodies.get(part) for part in (signature >> 16, signature & 0xFFFF))
        if one is not None and other is not None and one.collisions and other.collisions:
            out.append((number, one, other))
    return out


def _set_collide_connected(world: World, excluded: list[tuple[int, Body, Body]]) -> None:
    """Set `collide_connected` of loop joints: MuJoCo filters a body and its parent, but not bodies of a constraint."""
    apart = {_pair(one, other) for _, one, other in excluded}
    for model in world.models:
        loops = [j for j in model.joints if j.loop and j.parent is not None and j.parent.collisions]
        if not loops:
            continue
        filtered = apart | {_pair(*pair) for pair in connected_pairs(model, loops=False)}
        for joint in loops:
            joint.collide_connected = bool(joint.child.collisions) and _pair(joint.parent, joint.child) not in filtered


def _pair(one: Body | None, other: Body | None) -> frozenset[int]:
    return frozenset((id(one), id(other)))


def _apply_exclusions(
    world: World, excluded: list[tuple[int, Body, Body]], compiled: Compiled, report: Callable[..., None]
) -> None:
    connected = {_pair(*pair) for model in world.models for pair in connected_pairs(model)}
    models = {id(body): model for model in world.models for body in model.bodies}
    known = ShapeNames(world)
    for number, one, other in excluded:
        if _pair(one, other) in connected or (models[id(one)] is models[id(other)] and not world.self_collision):
            continue
        group = exempt_names(known, [one, other])
        if group is not None:
            world.collision_exempt_groups.append(group)
        else:
            report("MJ308.exclude", compiled.excludes.node(number), one=one.name, other=other.name)
