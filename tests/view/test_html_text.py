"""The HTML texts of the page."""

from __future__ import annotations

import re

import exoskel
from exoskel.view import html_text
from tests.support.findings import load_text
from tests.view.documents import RED, pinned, sliding, world


def text_lines(html: str) -> list[str]:
    return [line for line in re.sub(r"<[^>]+>", "\n", html.replace("<br>", "\n")).split("\n") if line.strip()]


def test_child_bodies_follow_their_parent_in_the_tree() -> None:
    built = exoskel.World()
    model = built.add_model("robot")
    for name, parent in (("trunk", None), ("left", "trunk"), ("right", "trunk"), ("hand", "left")):
        model.add_body(name, parent=parent, joint="weld")
    text = [line.strip() for line in text_lines(html_text.tree(built)) if line.strip() != "weld"]
    assert text == ["robot", "trunk", "left", "hand", "right"]
    assert "padding-left:3em'>hand" in html_text.tree(built)


def test_a_large_tree_is_truncated() -> None:
    built = exoskel.World()
    for number in range(1000):
        built.add_model(f"m{number}").add_body("b")
    text = html_text.tree(built)
    assert text.count("<br>") <= html_text.MAX_ROWS + 1
    assert re.search(r"and \d+ more", text)


def test_a_body_is_described_with_its_joint_limits_and_line() -> None:
    scene = load_text(world(sliding("cart", "1 2 0.5", RED)))
    (model,) = scene.world.models
    text = " ".join(text_lines(html_text.describe_body(scene, model, model.bodies[0], [1, 2, 0.5, 1, 0, 0, 0])))  # type: ignore[arg-type]
    for part in ("cart / cart", "line 6", "1 kg", "1 2 0.5 m", "cart_joint", "prismatic", "the world", "-0.5 … 0.5"):
        assert part in text, part


def test_diagnostics_are_listed_with_code_and_line() -> None:
    scene = load_text(world(pinned("part", "0 0 0", RED)).replace("<mass>1</mass>", "<mass>heavy</mass>"))
    text = " ".join(text_lines(html_text.problems(scene.diagnostics)))
    (one, *_) = scene.diagnostics
    assert one.code in text and f"line {one.line}" in text
    assert "no problems" in html_text.problems([])


def test_text_from_a_file_is_escaped() -> None:
    assert html_text.safe("<b>&\"'\x1b") == "&lt;b&gt;&amp;&quot;&#x27;\\u001b"
