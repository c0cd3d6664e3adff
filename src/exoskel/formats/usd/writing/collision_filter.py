"""Write the collision filter: collision groups and filtered pairs of bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from exoskel.formats.usd.tree import Identifiers, Prim, PrimPath
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import connected_pairs
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World

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
        # A body's first geom has the name of the body.
        name = body.name if body.collisions and body.collisions[0] is shape else shape.name
        for members, parts in zip(self.exempt, self.world.collision_exempt_groups, strict=True):
            if any(part in name for part in parts):
                members.append(path)

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
