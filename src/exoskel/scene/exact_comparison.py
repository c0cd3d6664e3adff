"""Whether two scenes have exactly the same values, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from operator import attrgetter
from typing import Any

import msgspec

from exoskel.scene.body import Body
from exoskel.scene.fields import FIELDS, dof_rows, iter_items
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World

_LISTS = ("cameras", "lights", "keyframes", "actuators", "tendons", "sensors", "equalities")
"""Fields of a world whose entries refer to other items."""
_CONNECTIONS = ("child", "parent")
_OTHER_FIELDS: dict[type[Item], tuple[str, ...]] = {World: _LISTS, Joint: (*_CONNECTIONS, "dofs")}
_values: dict[type[Item], Callable[[Any], Any]] = {
    kind: attrgetter(*(name for name in FIELDS[kind] if name not in _OTHER_FIELDS.get(kind, ())))
    for kind in (World, Model, Body, Shape, Joint)
}


def have_same_values(one: Scene, other: Scene) -> bool:
    """Whether two scenes certainly have the same items in the same order, with the same values to the bit.

    Worlds with cameras, actuators and the like, soft bodies, markers and triangles are not compared.
    """
    mine, theirs = _Encoder(), _Encoder()
    try:
        return all(
            a is not None and b is not None and a[2] == b[2] and mine.encode(a[0]) == theirs.encode(b[0])
            for a, b in zip_longest(iter_items(one), iter_items(other))
        )
    except (KeyError, TypeError, ValueError, OverflowError):  # a value that cannot be encoded
        return False


class _Encoder:
    """Encodes the items of a scene, bodies that joints connect as their numbers."""

    def __init__(self) -> None:
        self.bodies: dict[int, int] = {}
        self.encode_values = msgspec.msgpack.Encoder().encode

    def encode(self, item: Item) -> tuple[Any, ...]:
        """The type of an item, the bodies that it connects, and its values; raises an error if that is not possible."""
        kind = type(item)
        values = _values[kind](item)
        if isinstance(item, Body):
            if item.soft is not None:
                raise TypeError
            self.bodies[id(item)] = len(self.bodies)
        elif isinstance(item, World) and any(getattr(item, name) for name in _LISTS):
            raise TypeError
        elif isinstance(item, Joint):
            parent = None if item.parent is None else self.bodies[id(item.parent)]
            dofs = None if item._dofs is None else dof_rows(item)
            return kind, self.bodies[id(item.child)], parent, self.encode_values((values, dofs))
        return kind, self.encode_values(values)
