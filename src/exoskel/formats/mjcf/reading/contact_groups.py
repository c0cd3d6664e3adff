"""Who meets whom: from MuJoCo's bits and exclusions to the rules of a scene."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Set
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from exoskel.formats.mjcf.reading.compiled import Compiled
from exoskel.formats.mjcf.reading.models import FoundParts
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import connected_pairs
from exoskel.scene.world import World

Bits = tuple[int, int]
Members = dict[int, dict[int, int]]
"""By model, by id, the bodies that have geoms with some bits, and the node of the first such geom of each."""


def set_contacts(world: World, compiled: Compiled, found: FoundParts, report: Callable[..., None]) -> None:
    """Set whether bodies of one model meet, and which pass; what cannot be said so is reported."""
    crowds = _crowds(compiled, found)
    static = {id(model) for model in world.models if model.static}
    world.self_collision = any(
        _meet(*pair) and _share(crowds[pair[0]], crowds[pair[1]], static) for pair in _housemates(crowds)
    )
    apart = _apart(list(crowds))
    across = [pair for pair in apart if _differ(crowds[pair[0]].keys(), crowds[pair[1]].keys(), static)]
    within = [pair for pair in apart if world.self_collision and _share(crowds[pair[0]], crowds[pair[1]], static)]
    passing = list(dict.fromkeys([*across, *within]))
    if not _pass(world, passing, {bits: _bodies(members, found) for bits, members in crowds.items()}):
        nodes = (node for members in crowds.values() for bodies in members.values() for node in bodies.values())
        report("MJ308", min(nodes, default=-1))
    excluded = _excluded(compiled, found)
    if world.self_collision:
        _let_touch(world, excluded)
    _exclude(world, excluded, compiled, report)


def _housemates(crowds: dict[Bits, Members]) -> Iterator[tuple[Bits, Bits]]:
    """Pairs of crowds that have bodies in the same model; there may be as many crowds as models."""
    homes: dict[int, list[Bits]] = {}
    for bits, members in crowds.items():
        for model in members:
            homes.setdefault(model, []).append(bits)
    for own in homes.values():
        yield from combinations_with_replacement(own, 2)


def _apart(crowds: list[Bits]) -> list[tuple[Bits, Bits]]:
    """Pairs of crowds that do not meet, in their order."""
    kind, affinity = np.array(crowds, dtype=np.int64).reshape(-1, 2).T
    found: list[tuple[Bits, Bits]] = []
    for place, (one, other) in enumerate(crowds):
        meets = (one & affinity[place:]) | (kind[place:] & other)
        found += [(crowds[place], crowds[place + further]) for further in np.flatnonzero(meets == 0).tolist()]
    return found


def _bodies(members: Members, found: FoundParts) -> list[Body]:
    return [found.bodies[body] for bodies in members.values() for body in bodies]


def _pass(world: World, passing: list[tuple[Bits, Bits]], crowds: dict[Bits, list[Body]]) -> bool:
    """Let crowds pass each other by the names of their bodies; whether that says it all, and nothing else.

    All of a group pass, so that each crowd of a pair has to pass itself too, or be a single body.
    """
    alone = {bits for bits, bodies in crowds.items() if len(bodies) == 1} | {a for a, b in passing if a == b}
    counts = Counter(id(body) for bodies in crowds.values() for body in bodies)
    groups: list[tuple[str, ...]] = []
    for one, other in passing:
        bodies = {id(body): body for bits in (one, other) for body in crowds[bits]}
        group = _group(world, list(bodies.values()))
        if not {one, other} <= alone or any(counts[body] > 1 for body in bodies) or group is None:
            return False
        groups.append(group)
    world.collision_exempt_groups += groups
    return True


def _group(world: World, bodies: list[Body]) -> tuple[str, ...] | None:
    """Parts of names that only shapes of these bodies have, or None; shapes without names are called after bodies."""
    for body in bodies:
        for number, shape in enumerate(body.collisions[1:], start=1):
            shape.name = shape.name or f"{body.name}_{number}"
    names = [name for body in bodies for name in _names(body)]
    everything = [name for body in world.bodies() for name in _names(body)]
    own = tuple(dict.fromkeys(names))
    inside = sum(any(part in name for part in own) for name in everything)
    return own if all(own) and inside == len(names) else None


def _crowds(compiled: Compiled, found: FoundParts) -> dict[Bits, Members]:
    model: Any = compiled.model
    out: dict[Bits, Members] = {}
    rows = zip(model.geom_bodyid.tolist(), model.geom_contype.tolist(), model.geom_conaffinity.tolist(), strict=True)
    for geom, (body, kind, affinity) in enumerate(rows):
        owner = found.models.get(body)
        if owner is not None and (kind or affinity):
            bodies = out.setdefault((kind, affinity), {}).setdefault(id(owner), {})
            bodies.setdefault(body, compiled.geoms.node(geom))
    return out


def _share(one: Members, other: Members, static: set[int]) -> bool:
    """Whether two bodies of one model that moves are among them."""
    return any(len(one[model].keys() | other[model].keys()) > 1 for model in one.keys() & other.keys() - static)


def _differ(one: Set[int], other: Set[int], static: set[int]) -> bool:
    """Whether two models of which one moves are among them."""
    return any(bool(theirs - {model}) for mine, theirs in ((one, other), (other, one)) for model in mine - static)


def _meet(one: Bits, other: Bits) -> bool:
    return bool(one[0] & other[1] or other[0] & one[1])


def _excluded(compiled: Compiled, found: FoundParts) -> list[tuple[int, Body, Body]]:
    """The pairs of bodies with shapes that an element excludes, with its number."""
    out = []
    for number, signature in enumerate(compiled.model.exclude_signature.tolist()):
        one, other = (found.bodies.get(part) for part in (signature >> 16, signature & 0xFFFF))
        if one is not None and other is not None and one.collisions and other.collisions:
            out.append((number, one, other))
    return out


def _let_touch(world: World, excluded: list[tuple[int, Body, Body]]) -> None:
    """MuJoCo keeps a body and its parent apart, but not what a constraint ties."""
    apart = {_pair(one, other) for _, one, other in excluded}
    for model in world.models:
        loops = [j for j in model.joints if j.loop and j.parent is not None and j.parent.collisions]
        if not loops:
            continue
        held = apart | {_pair(*pair) for pair in connected_pairs(model, loops=False)}
        for joint in loops:
            joint.collide_connected = bool(joint.child.collisions) and _pair(joint.parent, joint.child) not in held


def _pair(one: Body | None, other: Body | None) -> frozenset[int]:
    return frozenset((id(one), id(other)))


def _exclude(
    world: World, excluded: list[tuple[int, Body, Body]], compiled: Compiled, report: Callable[..., None]
) -> None:
    joined = {_pair(*pair) for model in world.models for pair in connected_pairs(model)}
    home = {id(body): model for model in world.models for body in model.bodies}
    for number, one, other in excluded:
        if _pair(one, other) in joined or (home[id(one)] is home[id(other)] and not world.self_collision):
            continue
        group = _group(world, [one, other])
        if group is not None:
            world.collision_exempt_groups.append(group)
        else:
            report("MJ308.exclude", compiled.excludes.node(number), one=one.name, other=other.name)


def _names(body: Body) -> list[str]:
    """What the shapes of a body go by: the first by the body's name, the others by their own."""
    return [body.name, *(shape.name for shape in body.collisions[1:])] if body.collisions else []
