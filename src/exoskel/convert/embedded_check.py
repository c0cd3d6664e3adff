"""What was carried although the format has words for it: a sign that they were not found, or were wrong."""

from __future__ import annotations

from sys import float_info

from exoskel.formats.interface import Format
from exoskel.formats.write import EmbeddedField
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene


def unsaid(scene: Scene, carried: list[EmbeddedField], target: Format) -> list[str]:
    """Each thing that a reader without our extension should have seen and does not."""
    return _Judge(scene, target).findings(carried)


class _Judge:
    def __init__(self, scene: Scene, target: Format) -> None:
        capabilities = target.capabilities()
        self.says = capabilities.fields
        self.shapes = capabilities.shapes
        self.kinds = capabilities.native_joints
        self.orders = capabilities.euler_orders
        self.renamed: set[int] = set()
        self.has_loops = target.name == "xode"
        models = [model for world in scene.worlds for model in world.models]
        self.static = {id(item) for m in models if m.static for item in (*m.bodies, *m.joints)}
        self.solid = {id(shape) for m in models for body in m.bodies for shape in body.collisions}
        self.seen = (
            self.solid
            if target.name == "xode"
            else self.solid | {id(shape) for m in models for body in m.bodies for shape in body.visuals}
        )

    def findings(self, carried: list[EmbeddedField]) -> list[str]:
        self.renamed = {id(one.item) for one in carried if one.field == "name"}
        # Numbers below the least normal one are written as zero: nothing could say them.
        sayable = [one for one in carried if one.error >= float_info.min]
        return [f"{one.item!r}.{one.field}" for one in sayable if self._could_be_said(one.item, one.field)]

    def _could_be_said(self, item: Item, field: str) -> bool:
        if isinstance(item, Shape) and not field:
            return id(item) in self.seen and item.kind in self.shapes
        if isinstance(item, Joint) and not field:
            return item.kind in self.kinds and (self.has_loops or not item.loop)
        if (type(item), field) not in self.says:
            return False
        if isinstance(item, Joint):
            if field in ("child", "parent") and id(getattr(item, field)) in self.renamed:
                return False  # it is the body that has another name
            if item.loop and field in ("child", "parent"):
                return False  # either end of a loop may be found to hold the other
            if field in ("order", "pose") and item.kind == "euler" and item.order not in self.orders:
                return False  # the same joint in another frame
            return item.kind in self.kinds and not item.swapped and not self._rests(item)
        if isinstance(item, Body):
            return self._body(item, field)
        if isinstance(item, Shape):
            return item.kind in self.shapes
        return True

    def _body(self, body: Body, field: str) -> bool:
        if field == "state":
            return body.state is not None
        return not (field == "inertia" and (body.mass <= 0.0 or self._rests(body)))

    def _rests(self, item: Item) -> bool:
        """What never moves may be held in other words."""
        return (id(item) in self.static and self.has_loops) or (isinstance(item, Body) and id(item) in self.static)
