"""Who meets whom: from MuJoCo's bits and exclusions to the rules of a scene."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

from exoskel.formats.mjcf.reading.compiled import Compiled
from exoskel.formats.mjcf.reading.models import Found
from exoskel.scene.body import Body
from exoskel.scene.world import World

Bits = tuple[int, int]
Crowd = tuple[int, Bits]
"""A model, by id, and the bits of some of its geoms."""


def set_contacts(world: World, compiled: Compiled, found: Found, report: Callable[..., None]) -> None:
    """Set whether bodies of one model meet, and which pass; what cannot be said so is reported."""
    crowds = _crowds(compiled, found)
    static = {id(model) for model in world.models if model.static}
    meetings = [
        (one[0] == other[0], _meet(one[1], other[1]))
        for one, other in combinations_with_replacement(crowds, 2)
        if not (one[0] in static and other[0] in static)
        and (one[0] != other[0] or len(crowds[one].keys() | crowds[other].keys()) > 1)
    ]
    world.self_collision = any(meets for same, meets in meetings if same)
    if any(meets != (world.self_collision if same else True) for same, meets in meetings):
        report("MJ308", min((node for nodes in crowds.values() for node in nodes.values()), default=-1))
    _exclude(world, compiled, found, report)


def _crowds(compiled: Compiled, found: Found) -> dict[Crowd, dict[int, int]]:
    """The bodies that each has geoms on, with the node of the first."""
    model: Any = compiled.model
    out: dict[Crowd, dict[int, int]] = {}
    rows = zip(model.geom_bodyid.tolist(), model.geom_contype.tolist(), model.geom_conaffinity.tolist(), strict=True)
    for geom, (body, kind, affinity) in enumerate(rows):
        owner = found.models.get(body)
        if owner is not None and (kind or affinity):
            out.setdefault((id(owner), (kind, affinity)), {}).setdefault(body, compiled.geoms.node(geom))
    return out


def _meet(one: Bits, other: Bits) -> bool:
    return bool(one[0] & other[1] or other[0] & one[1])


def _exclude(world: World, compiled: Compiled, found: Found, report: Callable[..., None]) -> None:
    model: Any = compiled.model
    joined = {frozenset((id(j.parent), id(j.child))) for j in world.joints() if j.parent is not None}
    names = [name for body in world.bodies() for name in _names(body)]
    for number, signature in enumerate(model.exclude_signature.tolist()):
        ends = [found.bodies.get(part) for part in (signature >> 16, signature & 0xFFFF)]
        homes = [found.models.get(part) for part in (signature >> 16, signature & 0xFFFF)]
        one, other = ends
        if one is None or other is None or not one.collisions or not other.collisions:
            continue
        if frozenset((id(one), id(other))) in joined or (homes[0] is homes[1] and not world.self_collision):
            continue
        group = (*_names(one), *_names(other))
        if all(sum(part in name for name in names) == 1 for part in group):
            world.passing.append(group)
        else:
            report("MJ308.exclude", compiled.excludes.node(number), one=one.name, other=other.name)


def _names(body: Body) -> list[str]:
    """What the shapes of a body go by: the first by the body's name, the others by their own."""
    return [body.name, *(shape.name for shape in body.collisions[1:])] if body.collisions else []
