"""Which bodies meet: DART's and ODE's rules in MuJoCo's bits and exclusions."""

from __future__ import annotations

from collections.abc import Callable

from exoskel.formats.mjcf.tree import Element
from exoskel.scene.world import Model, World

_BITS = 31


class Filter:
    """Bodies of one model do not meet each other; those of different models do.

    Each model of several bodies has a bit of its own as long as there are enough; further ones list their pairs.
    """

    def __init__(self, world: World) -> None:
        several = [model for model in world.models if len(model.bodies) > 1]
        self.own = {id(model): 1 << (number + 1) for number, model in enumerate(several[: _BITS - 1])}
        self.listed = several[_BITS - 1 :]
        self.all = sum(self.own.values()) | 1

    def bits(self, model: Model) -> tuple[int, int]:
        """`contype` and `conaffinity` of a model's geoms."""
        own = self.own.get(id(model), 1)
        return own, self.all & ~own if own != 1 else self.all

    def exclude(self, contact: Element, path: Callable[..., str]) -> None:
        for model in self.listed:
            for number, one in enumerate(model.bodies):
                for other in model.bodies[number + 1 :]:
                    contact.add("exclude", body1=path(model.name, one.name), body2=path(model.name, other.name))
