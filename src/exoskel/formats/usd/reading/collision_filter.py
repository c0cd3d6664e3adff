"""Read the collision filter: collision groups, joints without collision, and filtered pairs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from exoskel.formats.usd.reading.bodies import BodyReader
from exoskel.formats.usd.reading.prim_values import targets, value_of
from exoskel.formats.usd.writing.collision_filter import SCOPE
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import CollisionRules, Kind, Pair, exempt_kinds_by_labels, fixed_bodies
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model

Labels = dict[str, set[Hashable]]
"""By path: the groups within which its descendants do not collide."""


def read_collision_rules(
    prim: Any, models: dict[str, Model], bodies: BodyReader, shapes: dict[str, Shape], non_colliding: list[Pair]
) -> CollisionRules:
    """The collision rules of a world; `non_colliding` are bodies connected by joints without collision.

    Models and shapes are keyed by path.
    """
    labels = _labels(prim, models)
    paths = {id(shape): path for path, shape in shapes.items()}
    kinds: dict[int, Kind] = {}
    for path, number in bodies.number.items():
        body = bodies.bodies[number]
        solid = [paths[id(shape)] for shape in body.collisions if shape.collidable]
        if solid:
            above = labels.get(path.rpartition("/")[0], set()) | labels.get(path, set())
            kinds[id(body)] = frozenset(frozenset(above | labels.get(one, set())) for one in solid)
    pairs = [*non_colliding, *_filtered(bodies)]
    return CollisionRules(kinds, exempt_kinds_by_labels(kinds.values()), pairs, fixed_bodies(models.values()))


def _labels(prim: Any, models: dict[str, Model]) -> Labels:
    found: Labels = {}
    scope = prim.nameChildren.get(SCOPE)
    for group in scope.nameChildren if scope is not None else ():
        path = str(group.path)
        for member in targets(group, "collection:colliders:includes") if _filters_itself(group) else ():
            found.setdefault(member, set()).add(path)
    for path in models:
        # Newton's property for the self-collision of an articulation.
        if value_of(prim.layer, path, "newton:selfCollisionEnabled") is False:
            found.setdefault(path, set()).add(path)
    return found


def _filters_itself(group: Any) -> bool:
    return str(group.path) in targets(group, "physics:filteredGroups")


def _filtered(bodies: BodyReader) -> list[Pair]:
    pairs: list[tuple[Body, Body]] = []
    for number, others in bodies.filtered.items():
        known = [bodies.number[path] for path in others if path in bodies.number]
        pairs += [(bodies.bodies[number], bodies.bodies[other]) for other in known]
    return pairs
