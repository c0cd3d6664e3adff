"""What is selected in the viewer: a model, body or joint of the tree, and the body that stands for it in the scene."""

from __future__ import annotations

from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.spatial import Array
from exoskel.view import html_text
from exoskel.view.render_scene import RenderScene
from exoskel.view.scene_tree import ItemKind, SceneTree, TreeItem
from exoskel.view.skins import PoseRows


class ItemSelection:
    """The selected item of a world, or none.  `tree` shows it."""

    def __init__(self, scene: Scene, world: World, render_scene: RenderScene) -> None:
        self._scene, self._models = scene, list(world.models)
        self.tree = SceneTree(world)
        self.item: TreeItem | None = None
        self._bodies: list[tuple[Model, Body]] = [(model, body) for model in world.models for body in model.bodies]
        self._joints: list[tuple[Model, Joint]] = [(model, joint) for model in world.models for joint in model.joints]
        self._number = {id(body): number for number, body in enumerate(render_scene.bodies)}
        self._first_dof: list[int] = []
        """The number of the first coordinate of each joint."""
        count = 0
        for _, joint in self._joints:
            self._first_dof.append(count)
            count += 0 if joint.loop else joint.dof_count

    def select(self, item: TreeItem | None) -> None:
        """Select an item, or nothing if it does not exist."""
        self.item = item if item is not None and self._names(item) else None
        self.tree.select(self.item)

    @property
    def body(self) -> int:
        """The number of the selected body, or of the child of the selected joint; otherwise -1."""
        if self.item is None or self.item.kind is ItemKind.MODEL:
            return -1
        if self.item.kind is ItemKind.BODY:
            return self.item.number
        child = self._joints[self.item.number][1].child
        return self._number.get(id(child), -1)

    @property
    def chosen_body(self) -> Body | None:
        """The body that stands for the item, if there is one."""
        return self._bodies[self.body][1] if self.body >= 0 else None

    @property
    def joint(self) -> Joint | None:
        """The selected joint, or the parent joint of the selected body."""
        if self.item is None or self.item.kind is ItemKind.MODEL:
            return None
        if self.item.kind is ItemKind.JOINT:
            return self._joints[self.item.number][1]
        body = self._bodies[self.item.number][1]
        return next((joint for _, joint in self._joints if joint.child is body and not joint.loop), None)

    def dofs_of(self, joint: Joint) -> range:
        """The numbers of the coordinates of a joint."""
        number = next(number for number, (_, one) in enumerate(self._joints) if one is joint)
        return range(self._first_dof[number], self._first_dof[number] + (0 if joint.loop else joint.dof_count))

    @property
    def names(self) -> tuple[str, ...]:
        """The kind and the names of the item, to find it again after a reload; empty for none."""
        return () if self.item is None else self._names(self.item)

    def find(self, names: tuple[str, ...]) -> TreeItem | None:
        """The item with these names, if it exists."""
        counts = {
            ItemKind.MODEL: len(self._models),
            ItemKind.BODY: len(self._bodies),
            ItemKind.JOINT: len(self._joints),
        }
        kind = next((kind for kind in ItemKind if names and kind.value == names[0]), None)
        items = [TreeItem(kind, number) for number in range(counts[kind])] if kind is not None else []
        return next((item for item in items if self._names(item) == names), None)

    def _names(self, item: TreeItem) -> tuple[str, ...]:
        if item.kind is ItemKind.MODEL:
            return (item.kind.value, self._models[item.number].name) if item.number < len(self._models) else ()
        rows: list[tuple[Model, Body | Joint]] = [*(self._bodies if item.kind is ItemKind.BODY else self._joints)]
        if item.number >= len(rows):
            return ()
        model, part = rows[item.number]
        return item.kind.value, model.name, part.name

    def about(self, poses: PoseRows, positions: Array) -> str:
        """HTML about the item, with the poses of all bodies and the positions of all coordinates."""
        if self.item is None:
            return html_text.nothing_selected()
        if self.item.kind is ItemKind.MODEL:
            return html_text.describe_model(self._scene, self._models[self.item.number])
        if self.item.kind is ItemKind.JOINT:
            model, joint = self._joints[self.item.number]
            now = [float(positions[number]) for number in self.dofs_of(joint)]
            return html_text.describe_joint(self._scene, model, joint, now)
        model, body = self._bodies[self.item.number]
        return html_text.describe_body(self._scene, model, body, poses[self.item.number])
