"""From an item of a scene to the others that an element beside it may feed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene


class RelatedItems:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        joints = [joint for world in scene.worlds for joint in world.joints()]
        models = [model for world in scene.worlds for model in world.models]
        self.joints = [joint for model in models if not model.static for joint in model.joints if joint.motion]
        """Those that move."""
        self.bodies = [body for world in scene.worlds for body in world.bodies()]
        self.holders = {id(joint.child): joint for joint in joints if not joint.loop}

    @cached_property
    def shapes(self) -> list[Shape]:
        return [shape for body in self.bodies for shape in body.shapes]

    @cached_property
    def _bodies(self) -> dict[int, Item]:
        return {id(shape): body for body in self.bodies for shape in body.shapes}

    @cached_property
    def _worlds(self) -> dict[int, Item]:
        found: dict[int, Item] = {}
        for world in self.scene.worlds:
            found |= {id(item): world for item in (world, *world.models, *world.bodies(), *world.joints())}
        return found

    def driven(self, name: str) -> Sequence[Item]:
        """The joints that an actuator of a joint of that name may drive: all, if none is called so."""
        return self._by_name.get(name) or self.joints

    @cached_property
    def _by_name(self) -> dict[str, list[Joint]]:
        """Joints by their names and those of their degrees of freedom."""
        found: dict[str, list[Joint]] = {}
        for joint in self.joints:
            for name in {joint.name, *(dof.name for dof in joint.dofs)}:
                found.setdefault(name, []).append(joint)
        return found

    def of(self, item: Item, way: str) -> Sequence[Item]:
        """The items that lie that way."""
        match way:
            case "child":
                return [item.child] if isinstance(item, Joint) else []
            case "body":
                return [self._bodies[id(item)]] if id(item) in self._bodies else []
            case "world":
                return [self._worlds[id(item)]] if id(item) in self._worlds else []
        found: Sequence[Item] = getattr(self, way)
        return found
