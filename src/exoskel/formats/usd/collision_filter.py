"""The collision filter in USD: collision groups and filtered pairs, written and read back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from exoskel.formats.usd.reader.prim_index import targets, value_of
from exoskel.formats.usd.tree import Identifiers, Prim, PrimPath
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import (
    CollisionKind,
    CollisionRules,
    Pair,
    connected_pairs,
    exempt_kinds_by_labels,
    fixed_bodies,
)
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import World

SCOPE = "CollisionGroups"
FILTERED_PAIRS = "physics:filteredPairs"


class CollisionGroups:
    """The collision groups of one world.

    Bodies of one model do not collide (as in DART) unless the world has self-collision (as in ODE).  Even then, bodies
    connected by a joint do not collide, the default of USD joints.  If the joint is not written, the two bodies
    are a filtered pair.  Exempt groups select shapes by parts of their names (as in PyBrain).
    """

    def __init__(self, world: World, path: str) -> None:
        self.world = world
        self.path = f"{path}/{SCOPE}"
        self.names = Identifiers()
        self.prims: list[Prim] = []
        self.exempt: list[list[PrimPath]] = [[] for _ in world.collision_exempt_groups]

    def add_model(self, model: Model, name: str, path: PrimPath) -> None:
        if self.world.self_collision or model.static:
            return
        if sum(any(s.collidable for s in body.collisions) for body in model.bodies) > 1:
            self._add(name, [path])

    def add_shape(self, body: Body, shape: Shape, path: PrimPath) -> None:
        if not self.exempt:
            return
        for number in self.world.exempt_groups_of(body.collision_name(shape)):
            self.exempt[number].append(path)

    def pairs(self, model: Model, written: Iterable[Joint]) -> Iterator[tuple[Body, Body]]:
        """Connected bodies that do not collide and that no joint in `written` filters."""
        if not self.world.self_collision or model.static:
            return
        filtered = {frozenset((id(j.parent), id(j.child))) for j in written if not j.collide_connected}
        for one, other in connected_pairs(model):
            ends = frozenset((id(one), id(other)))
            if ends not in filtered and one.collisions and other.collisions:
                filtered.add(ends)
                yield one, other

    def prim(self) -> Prim | None:
        for members in self.exempt:
            if members:
                self._add("passing", members)
        return Prim("Scope", SCOPE, children=self.prims) if self.prims else None

    def _add(self, name: str, members: list[PrimPath]) -> None:
        fit = self.names.unique(name, "group")
        made = Prim("PhysicsCollisionGroup", fit, apis=["CollectionAPI:colliders"])
        made.properties["rel collection:colliders:includes"] = members
        made.properties["rel physics:filteredGroups"] = PrimPath(f"{self.path}/{fit}")
        self.prims.append(made)


# --- reading -------------------------------------------------------------------------------------------


GroupsByPath = dict[str, set[Hashable]]
"""By path: the groups within which its descendants do not collide."""


def read_collision_rules(
    prim: Any, models: dict[str, Model], bodies: dict[str, Body], shapes: dict[str, Shape], pairs: list[Pair]
) -> CollisionRules:
    """The collision rules of a world; `pairs` are bodies that do not collide with each other.

    Models, bodies and shapes are keyed by path.
    """
    labels = _labels(prim, models)
    paths = {id(shape): path for path, shape in shapes.items()}
    kinds: dict[int, CollisionKind] = {}
    for path, body in bodies.items():
        solid = [paths[id(shape)] for shape in body.collisions if shape.collidable]
        if solid:
            above = labels.get(path.rpartition("/")[0], set()) | labels.get(path, set())
            kinds[id(body)] = frozenset(frozenset(above | labels.get(one, set())) for one in solid)
    return CollisionRules(kinds, exempt_kinds_by_labels(kinds.values()), pairs, fixed_bodies(models.values()))


def _labels(prim: Any, models: dict[str, Model]) -> GroupsByPath:
    found: GroupsByPath = {}
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
