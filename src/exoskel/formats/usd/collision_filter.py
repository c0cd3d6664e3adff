"""The collision filter in USD: collision groups, filtered pairs and self-collision of articulations, written and read.

In USD everything collides unless it is filtered, except for bodies that a joint connects.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import combinations, islice, product
from typing import Any

from exoskel.formats.usd.reader.prims import ModelSource, PrimIndex, is_in, targets, value_of
from exoskel.formats.usd.reader.shape_prims import ReportProblem
from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.formats.usd.tree import Identifiers, Prim, PrimPath
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import (
    CollisionKind,
    CollisionRules,
    Pair,
    ShapeNames,
    connected_pairs,
    exempt_kinds_by_labels,
    exempt_names,
    fixed_bodies,
    shape_names,
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


_GROUP = "PhysicsCollisionGroup"
_INCLUDES, _EXCLUDES = "collection:colliders:includes", "collection:colliders:excludes"
_SELF_COLLISION = ("newton:selfCollisionEnabled", "physxArticulation:enabledSelfCollisions")
_MAX_PAIRS = 1000
"""Pairs of bodies that are exempt one by one: more names than that say nothing to a reader."""


class FilterReader:
    """The collision filter of one world; `shapes` and `bodies` are by the paths of their prims."""

    def __init__(
        self,
        index: PrimIndex,
        world: World,
        models: list[tuple[ModelSource, Model]],
        bodies: Mapping[str, Body],
        shapes: Mapping[str, Shape],
        report: ReportProblem,
    ) -> None:
        self.index = index
        self.world = world
        self.models = models
        self.bodies = bodies
        self.report = report
        owners = {id(shape): body for body in bodies.values() for shape in body.collisions}
        self.shapes = {path: (owners[id(shape)], shape) for path, shape in shapes.items() if id(shape) in owners}
        self.names = ShapeNames(world)

    def read(self, root: str) -> None:
        """Set self-collision and the exempt groups of the world; `root` is the path of its prim."""
        groups = [prim for prim in self.index.prims if prim.type == _GROUP and is_in(prim.path, root)]
        members = {group.path: self._members(group) for group in groups}
        own = [group for group in groups if group.path in group.targets.get("physics:filteredGroups", ())]
        several = [(s, m) for s, m in self.models if not m.static and sum(map(_collides, m.bodies)) > 1]
        apart = {id(model) for source, model in several if self._is_apart(source, model, own, members)}
        self.world.self_collision = any(id(model) not in apart for _, model in several)
        if self.world.self_collision:
            for _, model in several:
                if id(model) in apart:
                    self._exempt([body for body in model.bodies if _collides(body)])
        for group in own:
            if not self._is_of_model(members[group.path], several):
                self._exempt_shapes(members[group.path])
        pairs = [*self._pairs_between(groups, members), *self._filtered_pairs(root)]
        self._exempt_pairs(pairs)

    def _members(self, group: StagePrim) -> list[str]:
        """The paths of the colliders of a group."""
        includes, excludes = (group.targets.get(name, []) for name in (_INCLUDES, _EXCLUDES))
        return [
            path
            for path in self.shapes
            if any(is_in(path, one) for one in includes) and not any(is_in(path, one) for one in excludes)
        ]

    def _is_apart(
        self, source: ModelSource, model: Model, groups: list[StagePrim], members: Mapping[str, list[str]]
    ) -> bool:
        """Whether the bodies of a model do not collide with each other."""
        prims = [source.prim] if source.prim is not None else []
        prims += [body.prim for body in source.bodies] + source.joints
        for prim in prims:
            stated = [prim.values[name] for name in _SELF_COLLISION if name in prim.values]
            if stated:
                return not any(stated)
        solid = self._paths_of(model)
        return any(solid <= set(members[group.path]) for group in groups)

    def _paths_of(self, model: Model) -> set[str]:
        own = {id(body) for body in model.bodies}
        return {path for path, (body, _) in self.shapes.items() if id(body) in own}

    def _is_of_model(self, paths: list[str], models: list[tuple[ModelSource, Model]]) -> bool:
        return any(set(paths) == self._paths_of(model) for _, model in models)

    # --- pairs ----------------------------------------------------------------------------------------

    def _pairs_between(self, groups: list[StagePrim], members: Mapping[str, list[str]]) -> Iterator[tuple[int, Pair]]:
        """The pairs of bodies in different groups of which one filters the other."""
        known = {group.path for group in groups}
        for group in groups:
            for other in group.targets.get("physics:filteredGroups", ()):
                if other != group.path and other in known:
                    node = self.index.node(group)
                    for one, two in product(members[group.path], members[other]):
                        yield node, (self.shapes[one][0], self.shapes[two][0])

    def _filtered_pairs(self, root: str) -> Iterator[tuple[int, Pair]]:
        for prim in self.index.prims:
            if is_in(prim.path, root):
                for path in prim.targets.get(FILTERED_PAIRS, ()):
                    for pair in product(self._bodies_at(prim.path), self._bodies_at(path)):
                        yield self.index.node(prim), pair

    def _bodies_at(self, path: str) -> list[Body]:
        """The body at a path, or all bodies below it."""
        if path in self.bodies:
            return [self.bodies[path]]
        inside = [body for own, body in self.bodies.items() if is_in(own, path)]
        return inside or [body for own, (body, _) in self.shapes.items() if own == path]

    def _exempt_pairs(self, pairs: list[tuple[int, Pair]]) -> None:
        owner = {id(body): model for _, model in self.models for body in model.bodies}
        connected = {frozenset(map(id, pair)) for _, model in self.models for pair in connected_pairs(model)}
        done: set[frozenset[int]] = set()
        for node, (one, other) in islice(pairs, _MAX_PAIRS):
            ends = frozenset((id(one), id(other)))
            same = owner[id(one)] is owner[id(other)]
            if one is other or ends in done or (same and (not self.world.self_collision or ends in connected)):
                continue
            done.add(ends)
            if _collides(one) and _collides(other) and not self._exempt([one, other]):
                self.report("US109", node, one=one.name, other=other.name)
        if len(pairs) > _MAX_PAIRS:
            self.report("US109.pairs", pairs[_MAX_PAIRS][0], count=len(pairs) - _MAX_PAIRS)

    def _exempt(self, bodies: list[Body]) -> bool:
        """Exempt bodies from collision with each other by their names; False if the names cannot express it."""
        group = exempt_names(self.names, bodies)
        if group is not None:
            self.world.collision_exempt_groups.append(group)
        return group is not None

    def _exempt_shapes(self, paths: list[str]) -> None:
        """Exempt shapes from collision with each other; whole bodies, where all of their shapes are among them."""
        chosen = [self.shapes[path] for path in paths]
        ids = {id(shape) for _, shape in chosen}
        bodies = list({id(body): body for body, _ in chosen}.values())
        if all(id(shape) in ids for body in bodies for shape in body.collisions):
            if not self._exempt(bodies):
                for one, other in islice(combinations(bodies, 2), 1):
                    self.report("US109", -1, one=one.name, other=other.name)
            return
        self.names.name_shapes(bodies)
        names = tuple(dict.fromkeys(body.collision_name(shape) for body, shape in chosen))
        self.world.collision_exempt_groups.append(names)


def _collides(body: Body) -> bool:
    return any(shape.collidable for shape in body.collisions) and bool(shape_names(body))
