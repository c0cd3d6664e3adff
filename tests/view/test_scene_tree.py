"""The tree of models, bodies and joints on the panel."""

from __future__ import annotations

import re
from typing import Any

import pytest

import exoskel
from exoskel.view.html_text import MAX_ROWS
from exoskel.view.selection import ItemKind, SceneTree, TreeItem, parse_item


@pytest.fixture
def tree() -> SceneTree:
    world = exoskel.World()
    model = world.add_model("robot")
    for name, parent in (("trunk", None), ("left", "trunk"), ("right", "trunk"), ("hand", "left")):
        joint: dict[str, Any] = {"joint": "revolute", "axis": (1, 0, 0)} if parent else {"joint": "weld"}
        model.add_body(name, parent=parent, joint_name=f"to_{name}", **joint)
    return SceneTree(world)


def names(tree: SceneTree) -> list[str]:
    return re.findall(r"class='exoskel-name [a-z]+'>([^<]*)", tree.html())


def test_child_bodies_follow_their_parent(tree: SceneTree) -> None:
    assert names(tree) == ["robot", "trunk", "left", "hand", "right"]
    indents = [float(one) for one in re.findall(r"padding-left:([0-9.]+)em", tree.html())]
    assert indents == [*sorted(indents[:4]), indents[2]]
    assert "to_hand · revolute" in tree.html()


def test_bodies_below_a_folded_one_are_hidden_until_one_is_selected(tree: SceneTree) -> None:
    tree.toggle(TreeItem(ItemKind.BODY, 1))
    assert names(tree) == ["robot", "trunk", "left", "right"]
    tree.select(TreeItem(ItemKind.BODY, 3))
    assert names(tree) == ["robot", "trunk", "left", "hand", "right"]
    tree.toggle(TreeItem(ItemKind.MODEL, 0))
    assert names(tree) == ["robot"]


@pytest.mark.parametrize(
    ("text", "found"), [("HAND", ["hand"]), ("to_", ["trunk", "left", "hand", "right"]), ("weld", ["trunk"]), ("?", [])]
)
def test_a_search_finds_bodies_and_joints(tree: SceneTree, text: str, found: list[str]) -> None:
    tree.toggle(TreeItem(ItemKind.MODEL, 0))
    tree.search = text
    assert names(tree) == found
    assert ("Nothing matches" in tree.html()) is (not found)


def test_the_row_of_the_selected_item_is_marked(tree: SceneTree) -> None:
    for item in (TreeItem(ItemKind.BODY, 2), TreeItem(ItemKind.JOINT, 2)):
        tree.select(item)
        assert tree.html().count("aria-selected='true'") == 1
        assert f"data-selected='{item.key}'" in tree.html()


def test_a_large_tree_shows_the_rows_around_the_selected_one() -> None:
    world = exoskel.World()
    for number in range(1000):
        world.add_model(f"m{number}").add_body(f"b{number}")
    tree = SceneTree(world)
    assert len(names(tree)) == MAX_ROWS and re.search(r"and \d+ more", tree.html())
    tree.select(TreeItem(ItemKind.BODY, 700))
    assert "b700" in names(tree) and len(names(tree)) == MAX_ROWS
    assert re.search(r"and \d+ above", tree.html())
    tree.search = "b999"
    assert names(tree) == ["b999"]


def test_names_are_escaped() -> None:
    world = exoskel.World()
    bad = "<img src=x onerror='x'>"
    world.add_model(bad).add_body(bad, joint="weld", joint_name=bad)
    tree = SceneTree(world)
    tree.search = "img"
    assert "<img" not in tree.html() and tree.html().count("&lt;img") == 3


@pytest.mark.parametrize(
    "key", ["", "body", "body:", "body:-1", "body:x", "planet:1", "body:1:2", "body:²", "body:" + "9" * 99]
)
def test_malformed_keys_are_ignored(key: str) -> None:
    assert parse_item(key) is None


def test_keys_of_items_are_parsed() -> None:
    assert parse_item(TreeItem(ItemKind.JOINT, 7).key) == TreeItem(ItemKind.JOINT, 7)
