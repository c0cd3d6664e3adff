"""Which bodies meet: DART's and ODE's rules in MuJoCo's bits and exclusions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement

from exoskel.formats.mjcf.tree import Element
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import connected_pairs
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World

_BITS = 31
_EVERYONE = 1 << (_BITS - 1)
_NUMBERS = _EVERYONE - 1
Crowd = tuple[int, frozenset[int]]
"""Shapes that meet the same others: the model they are of (0: it does not matter), the groups they pass with."""


class ContactBits:
    """Bits for shapes, so that those meet that should.

    Bodies of one model pass each other (DART), or meet unless a joint ties them (ODE, `world.self_collision`);
    shapes whose names are in one passing group pass (PyBrain).  Each crowd of shapes has a bit of its own as long
    as there are enough.  More models than that have numbers: shapes are of the kind of the number's ones, and meet the
    kinds of its zeros, so that any two differ and each passes itself.  With passing groups, bodies of further crowds
    are listed pair by pair.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._models = {id(m): n + 1 for n, m in enumerate(world.models) if len(m.bodies) > 1}
        self._crowds: dict[Crowd, int] = {}
        for model in world.models:
            for body in model.bodies:
                for shape in body.collisions:
                    self._crowds.setdefault(self._crowd(model, body, shape), len(self._crowds))
        self._numbered = len(self._crowds) >= _BITS and not world.collision_exempt_groups
        crowded = list(self._crowds) if not self._numbered else []
        self._own, self._listed = crowded[: _BITS - 1], crowded[_BITS - 1 :]
        self._masks = [0] * (len(self._own) + bool(self._listed))
        for one, other in combinations_with_replacement(range(len(self._masks)), 2):
            if max(one, other) == len(self._own) or _meet(self._own[one], self._own[other]):
                self._masks[one] |= 1 << other
                self._masks[other] |= 1 << one

    def _crowd(self, model: Model, body: Body, shape: Shape) -> Crowd:
        own = 0 if self.world.self_collision else self._models.get(id(model), 0)
        if not self.world.collision_exempt_groups:
            return own, frozenset()
        name = body.name if body.collisions and body.collisions[0] is shape else shape.name
        groups = (
            i for i, words in enumerate(self.world.collision_exempt_groups) if any(word in name for word in words)
        )
        return own, frozenset(groups)

    def bits(self, model: Model, body: Body, shape: Shape) -> tuple[int, int]:
        """`contype` and `conaffinity` of a shape."""
        if not shape.collidable:
            return 0, 0
        crowd = self._crowd(model, body, shape)
        if self._numbered:
            # The highest bit is for what meets all, itself too.
            own = self._crowds[crowd] & _NUMBERS if crowd[0] else _EVERYONE
            return own, (~own & _NUMBERS) | _EVERYONE if crowd[0] else _NUMBERS | _EVERYONE
        number = min(self._crowds[crowd], len(self._own))
        return 1 << number, self._masks[number]

    def exclude(self, contact: Element, path: Callable[..., str]) -> None:
        for one, other in dict.fromkeys([*self._listed_pairs(), *self._joined_pairs()]):
            contact.add("exclude", body1=path(*one), body2=path(*other))

    def _joined_pairs(self) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """What a joint ties does not meet; without self-collision its model does not anyway."""
        for model in self.world.models if self.world.self_collision else ():
            for parent, child in connected_pairs(model) if not model.static else ():
                yield (model.name, parent.name), (model.name, child.name)

    def _listed_pairs(self) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        listed = set(self._listed)
        if not listed:
            return
        members: dict[Crowd, dict[tuple[str, str], None]] = {}
        for model in self.world.models:
            for body in model.bodies:
                for shape in body.collisions:
                    members.setdefault(self._crowd(model, body, shape), {})[model.name, body.name] = None
        for one, other in combinations_with_replacement(members, 2):
            if (one in listed or other in listed) and not _meet(one, other):
                yield from ((a, b) for a in members[one] for b in members[other] if a != b)


def _meet(one: Crowd, other: Crowd) -> bool:
    return not (one[0] and one[0] == other[0]) and not one[1] & other[1]
