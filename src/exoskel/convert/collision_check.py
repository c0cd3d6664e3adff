"""The row of a certificate that says who may touch whom: the rules of a scene, held against those of its output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import structs

from exoskel.formats.interface import Format
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import (
    CollisionRules,
    Pair,
    collision_rules,
    connections,
    pairs_with_different_rules,
)
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import Scene, World

Reading = Callable[[Scene, World], CollisionRules]
"""How a format says who passes whom, in a scene that was read back."""


class CollisionCheck:
    """One world and its output, as far as the format has words for who may touch whom."""

    def __init__(
        self, mine: World, theirs: World, native: Scene, made: Mapping[int, Item], target: Format, told: set[int]
    ) -> None:
        self.mine, self.theirs, self.made = mine, theirs, made
        self.native = native
        self.told = told
        """The ids of what could not be written as it is."""
        capabilities = target.capabilities()
        says = capabilities.fields
        self.meets = (World, "self_collision") in says
        self.passing = (World, "collision_exempt_groups") in says
        self.touching = (Joint, "collide_connected") in says
        self.read: Reading = capabilities.collision_rules or self._plain

    def differing(self) -> list[Body]:
        """The bodies that may not touch what they may in the scene."""
        mine, theirs = self._rules(self.mine), self.read(self.native, self.theirs)
        open_ = list(self._open())
        there = [(self.made[id(a)], self.made[id(b)]) for a, b in open_ if {id(a), id(b)} <= self.made.keys()]
        mine = structs.replace(mine, exempt_pairs=[*mine.exempt_pairs, *open_])
        theirs = structs.replace(theirs, exempt_pairs=[*theirs.exempt_pairs, *there])
        return [body for body, _ in pairs_with_different_rules(mine, theirs, list(self._compared()))]

    def _plain(self, _: Scene, world: World) -> CollisionRules:
        return self._rules(world)

    def _rules(self, world: World) -> CollisionRules:
        meets = None if self.meets else ()
        return collision_rules(world, self_colliding=meets, exempt_groups=self.passing, collide_connected=self.touching)

    def _compared(self) -> Iterator[Pair]:
        """Bodies and their counterparts, but for those that have lost all they could touch with."""
        for body in self.mine.bodies():
            other = self.made.get(id(body))
            solid = [shape for shape in body.collisions if shape.collidable]
            if isinstance(other, Body) and (not solid or any(id(shape) in self.made for shape in solid)):
                yield body, other

    def _open(self) -> Iterator[Pair]:
        """What joints tie that are not in the output, or not as they are: that is told of the joints themselves.

        A format that says of joints whether what they tie may touch can say so of bodies without one.
        """
        for model in self.mine.models if self.meets and self.mine.self_collision else ():
            for joint, one, other in connections(model):
                same = self.made.get(id(joint))
                is_lost = not self.touching and (not isinstance(same, Joint) or same.parent is None)
                if is_lost or (joint.collide_connected and id(joint) in self.told):
                    yield one, other
