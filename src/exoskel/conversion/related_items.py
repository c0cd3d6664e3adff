"""The items whose fields an element sets, besides the item around the element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene
from exoskel.source.document import Document

_ITEMS = frozenset({"link", "joint"})


def files_without_items(scene: Scene) -> Iterator[int]:
    """The numbers of included files without links and joints: a scene has nothing of a nested model of them."""
    for number in scene.source_info.included:
        document = scene.documents[number]
        if isinstance(document, Document) and _ITEMS.isdisjoint(document.outline.tags):
            yield number


class RelatedItems:
    """Finds the items whose fields an element sets, from the item around the element."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        joints = [joint for world in scene.worlds for joint in world.joints()]
        models = [model for world in scene.worlds for model in world.models]
        self.moving_joints = [joint for model in models if not model.static for joint in model.joints if joint.motion]
        self.bodies = [body for world in scene.worlds for body in world.bodies()]
        self.parent_joints = {id(joint.child): joint for joint in joints if not joint.loop}

    @cached_property
    def shapes(self) -> list[Shape]:
        return [shape for body in self.bodies for shape in body.shapes]

    @cached_property
    def visual_shapes(self) -> set[int]:
        """The ids of shapes that are only seen."""
        return {id(shape) for body in self.bodies for shape in body.visuals}

    @cached_property
    def _body_of_shape(self) -> dict[int, Item]:
        return {id(shape): body for body in self.bodies for shape in body.shapes}

    @cached_property
    def _world_of_item(self) -> dict[int, Item]:
        found: dict[int, Item] = {}
        for world in self.scene.worlds:
            found |= {id(item): world for item in (world, *world.models, *world.bodies(), *world.joints())}
            found |= {id(item): world for body in world.bodies() for item in (*body.markers, *body.shapes)}
        return found

    def driven_joints(self, name: str) -> Sequence[Item]:
        """The joints that an actuator of a joint of that name may drive: all, if no joint has that name."""
        return self._joints_by_name.get(name) or self.moving_joints

    @cached_property
    def _joints_by_name(self) -> dict[str, list[Joint]]:
        """Joints by their names and those of their degrees of freedom."""
        found: dict[str, list[Joint]] = {}
        for joint in self.moving_joints:
            for name in {joint.name, *(dof.name for dof in joint.dofs)}:
                found.setdefault(name, []).append(joint)
        return found

    def find(self, item: Item, relation: str) -> Sequence[Item]:
        """The items in a relation to an item, as `SceneField.owner` names it."""
        match relation:
            case "child":
                return [item.child] if isinstance(item, Joint) else []
            case "body":
                return [self._body_of_shape[id(item)]] if id(item) in self._body_of_shape else []
            case "world":
                return [self._world_of_item[id(item)]] if id(item) in self._world_of_item else []
            case "joints":
                return self.moving_joints
            case "shapes":
                return self.shapes
        return self.bodies
