"""The tree of models, bodies and joints on the panel: search, folded parts and the selected row, as HTML.

The page script (`page_script.js`) sends clicks on elements with `data-exoskel`, with their `data-value`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from exoskel.diagnostics import printable
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.view.html_text import MAX_ROWS, safe

UNNAMED = "(unnamed)"
_MAX_INDENT = 8


class ItemKind(StrEnum):
    """What a row of the tree is."""

    MODEL = "model"
    BODY = "body"
    JOINT = "joint"


class TreeItem(Struct, frozen=True):
    """A model, body or joint, by its number in the world."""

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
        place = next((i for i, row in enumerate(shown) if self.selected in (row.item, row.joint)), 0)
        first = min(max(0, place - MAX_ROWS // 2), max(0, len(shown) - MAX_ROWS))
        part = shown[first : first + MAX_ROWS]
        rows = [_more(first, "above"), *(self._row(row) for row in part), _more(len(shown) - first - len(part), "more")]
        inside = "".join(rows) if shown else "<i>Nothing matches.</i>"
        key = self.selected.key if self.selected is not None else ""
        return f"<div id='exoskel-tree' role='tree' data-selected='{key}'>{inside}</div>"

    def _matching(self) -> list[_TreeRow]:
        text = printable(self.search).casefold()
        return [row for row in self.rows if text in f"{row.name} {row.joint_text}".casefold()]

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
            f" aria-selected='{str(self.selected in (row.item, row.joint)).lower()}'"
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
