"""The tree of models, bodies, joints and constraints on the panel, as HTML, and the item that is selected in it.

The page script (`page_script.js`) sends clicks on elements with `data-exoskel`, with their `data-value`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from exoskel.diagnostics import printable
from exoskel.scene.actuator import Actuator
from exoskel.scene.body import Body
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.spatial import Array
from exoskel.view import html_text
from exoskel.view.html_text import MAX_ROWS, safe
from exoskel.view.render_scene import RenderScene
from exoskel.view.surfaces import PoseRows

UNNAMED = "(unnamed)"
_MAX_INDENT = 8


class ItemKind(StrEnum):
    """What a row of the tree is."""

    MODEL = "model"
    BODY = "body"
    JOINT = "joint"
    TENDON = "tendon"
    EQUALITY = "equality"


PLACED = frozenset({ItemKind.BODY, ItemKind.JOINT})
"""The kinds of items that a body stands for."""


class TreeItem(Struct, frozen=True):
    """A model, body, joint, tendon or equality constraint, by its number in the world."""

    kind: ItemKind
    number: int

    @property
    def key(self) -> str:
        return f"{self.kind.value}:{self.number}"


def parse_item(key: str) -> TreeItem | None:
    """The item with a key, or None if the page sent something else."""
    kind, _, number = key.partition(":")
    if kind not in set(ItemKind) or not (number.isascii() and number.isdecimal()) or len(number) > 9:
        return None
    return TreeItem(ItemKind(kind), int(number))


class _TreeRow(Struct, frozen=True):
    """A row: an item with the joint that is shown beside it; `parents` are the keys of the rows it is folded with."""

    item: TreeItem
    name: str
    note: str
    depth: int
    parents: tuple[str, ...]
    joint: TreeItem | None = None
    joint_text: str = ""
    has_children: bool = False


class SceneTree:
    """The rows of a world.  `selected` is None or the selected item; `search` filters the rows."""

    def __init__(self, world: World) -> None:
        self.rows = list(_rows(world))
        self.selected: TreeItem | None = None
        self.search = ""
        self.folded: set[str] = set()

    def toggle(self, item: TreeItem) -> None:
        """Fold or unfold the rows below one."""
        self.folded ^= {item.key}

    def select(self, item: TreeItem | None) -> None:
        """Select an item and unfold the rows around it."""
        self.selected = item
        row = next((row for row in self.rows if item is not None and item in (row.item, row.joint)), None)
        if row is not None:
            self.folded -= set(row.parents)

    def html(self) -> str:
        """The visible rows; at most `MAX_ROWS` around the selected one."""
        shown = self._matching() if self.search else [row for row in self.rows if not self.folded & set(row.parents)]
        place = next((i for i, row in enumerate(shown) if self._is_selected(row)), 0)
        first = min(max(0, place - MAX_ROWS // 2), max(0, len(shown) - MAX_ROWS))
        part = shown[first : first + MAX_ROWS]
        rows = [_more(first, "above"), *(self._row(row) for row in part), _more(len(shown) - first - len(part), "more")]
        inside = "".join(rows) if shown else "<i>Nothing matches.</i>"
        key = self.selected.key if self.selected is not None else ""
        return f"<div id='exoskel-tree' role='tree' data-selected='{key}'>{inside}</div>"

    def _matching(self) -> list[_TreeRow]:
        text = printable(self.search).casefold()
        return [row for row in self.rows if text in f"{row.name} {row.joint_text}".casefold()]

    def _is_selected(self, row: _TreeRow) -> bool:
        return self.selected is not None and self.selected in (row.item, row.joint)

    def _row(self, row: _TreeRow) -> str:
        is_folded = row.item.key in self.folded
        mark = ("▸" if is_folded else "▾") if row.has_children and not self.search else ""
        depth = 0 if self.search else min(row.depth, _MAX_INDENT)
        joint = ""
        if row.joint is not None:
            joint = (
                f"<span class='exoskel-joint' data-exoskel='select' data-value='{row.joint.key}'"
                f" data-chosen='{row.joint == self.selected}'>{safe(row.joint_text)}</span>"
            )
        return (
            f"<div role='treeitem' tabindex='0' data-exoskel='select' data-value='{row.item.key}'"
            f" aria-selected='{str(self._is_selected(row)).lower()}'"
            f" style='padding-left:{0.2 + 0.8 * depth:.1f}em'>"
            f"<span class='exoskel-fold' data-exoskel='fold' data-value='{row.item.key}'>{mark}</span>"
            f"<span class='exoskel-name {row.item.kind.value}'>{safe(row.name)}{row.note}</span>{joint}</div>"
        )


def _more(count: int, text: str) -> str:
    return f"<div><i>and {count} {text}; search for a name</i></div>" if count > 0 else ""


def _rows(world: World) -> Iterator[_TreeRow]:
    body_numbers = {id(body): number for number, body in enumerate(world.bodies())}
    joint_numbers = {id(joint): number for number, joint in enumerate(world.joints())}
    for number, model in enumerate(world.models):
        item = TreeItem(ItemKind.MODEL, number)
        note = " <i>static</i>" if model.static else ""
        has_children = bool(model.bodies)
        yield _TreeRow(item, printable(model.name) or UNNAMED, note, 0, (), has_children=has_children)
        for depth, body, joint, parents, is_parent in _traverse(model):
            yield _TreeRow(
                TreeItem(ItemKind.BODY, body_numbers[id(body)]),
                printable(body.name) or UNNAMED,
                "",
                depth,
                (item.key, *(TreeItem(ItemKind.BODY, body_numbers[id(one)]).key for one in parents)),
                TreeItem(ItemKind.JOINT, joint_numbers[id(joint)]) if joint is not None else None,
                _joint_text(joint),
                is_parent,
            )
        for joint in (joint for joint in model.joints if joint.loop):
            loop = TreeItem(ItemKind.JOINT, joint_numbers[id(joint)])
            yield _TreeRow(loop, printable(joint.name) or UNNAMED, " <i>loop</i>", 1, (item.key,))
    for number, tendon in enumerate(world.tendons):
        yield _TreeRow(TreeItem(ItemKind.TENDON, number), printable(tendon.name) or UNNAMED, " <i>tendon</i>", 0, ())
    for number, one in enumerate(world.equalities):
        note = f" <i>{one.kind} equality{'' if one.active else ', inactive'}</i>"
        yield _TreeRow(TreeItem(ItemKind.EQUALITY, number), printable(one.name) or UNNAMED, note, 0, ())


def _joint_text(joint: Joint | None) -> str:
    return "" if joint is None else f"{printable(joint.name)} · {joint.kind}" if joint.name else joint.kind


def _traverse(model: Model) -> Iterator[tuple[int, Body, Joint | None, tuple[Body, ...], bool]]:
    """Traverse the bodies depth first: depth, body, parent joint, all parents, and whether it has children."""
    parent_joint = {id(joint.child): joint for joint in model.joints if not joint.loop}
    children: dict[int, list[Body]] = {}
    for body in model.bodies:
        joint = parent_joint.get(id(body))
        children.setdefault(id(joint.parent) if joint else id(None), []).append(body)
    stack: list[tuple[Body, tuple[Body, ...]]] = [(body, ()) for body in reversed(children.get(id(None), []))]
    while stack:
        body, parents = stack.pop()
        below = children.get(id(body), [])
        yield len(parents) + 1, body, parent_joint.get(id(body)), parents, bool(below)
        stack += [(child, (*parents, body)) for child in reversed(below)]


class ItemSelection:
    """The selected item of a world, or none.  `tree` shows it."""

    def __init__(self, scene: Scene, world: World, render_scene: RenderScene) -> None:
        self._scene, self._models, self._actuators = scene, list(world.models), list(world.actuators)
        self._tendons, self._equalities = list(world.tendons), list(world.equalities)
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
        if self.item is None or self.item.kind not in PLACED:
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
        if self.item is None or self.item.kind not in PLACED:
            return None
        if self.item.kind is ItemKind.JOINT:
            return self._joints[self.item.number][1]
        body = self._bodies[self.item.number][1]
        return next((joint for _, joint in self._joints if joint.child is body and not joint.loop), None)

    def dofs_of(self, joint: Joint) -> range:
        """The numbers of the coordinates of a joint."""
        number = next(number for number, (_, one) in enumerate(self._joints) if one is joint)
        return range(self._first_dof[number], self._first_dof[number] + (0 if joint.loop else joint.dof_count))

    def actuators_of(self, joint: Joint) -> list[Actuator]:
        """The actuators that drive a joint."""
        paths = {qualified_name(model.name, one.name) for model, one in self._joints if one is joint}
        return [one for one in self._actuators if one.joint in paths]

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
            ItemKind.TENDON: len(self._tendons),
            ItemKind.EQUALITY: len(self._equalities),
        }
        kind = next((kind for kind in ItemKind if names and kind.value == names[0]), None)
        items = [TreeItem(kind, number) for number in range(counts[kind])] if kind is not None else []
        return next((item for item in items if self._names(item) == names), None)

    def _names(self, item: TreeItem) -> tuple[str, ...]:
        if item.kind not in PLACED:
            names = {
                ItemKind.MODEL: [one.name for one in self._models],
                ItemKind.TENDON: [one.name for one in self._tendons],
            }.get(item.kind, [one.name for one in self._equalities])
            return (item.kind.value, names[item.number]) if item.number < len(names) else ()
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
        if self.item.kind is ItemKind.TENDON:
            return html_text.describe_tendon(self._tendons[self.item.number])
        if self.item.kind is ItemKind.EQUALITY:
            return html_text.describe_equality(self._equalities[self.item.number])
        if self.item.kind is ItemKind.JOINT:
            model, joint = self._joints[self.item.number]
            now = [float(positions[number]) for number in self.dofs_of(joint)]
            return html_text.describe_joint(self._scene, model, joint, now)
        model, body = self._bodies[self.item.number]
        return html_text.describe_body(self._scene, model, body, poses[self.item.number])
