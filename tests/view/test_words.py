"""What the page says about a scene."""

from __future__ import annotations

import re

import exoskel
from exoskel.view import html_text
from tests.support.findings import load_text
from tests.view.documents import RED, pinned, sliding, world


def plain(html: str) -> list[str]:
    return [line for line in re.sub(r"<[^>]+>", "\n", html.replace("<br>", "\n")).split("\n") if line.strip()]


def test_in_the_tree_what_hangs_on_a_body_follows_it() -> None:
    made = exoskel.World()
    model = made.add_model("robot")
    for name, parent in (("trunk", None), ("left", "trunk"), ("right", "trunk"), ("hand", "left")):
        model.add_body(name, parent=parent, joint="weld")
    told = [line.strip() for line in plain(html_text.tree_of(made)) if line.strip() != "weld"]
    assert told == ["robot", "trunk", "left", "hand", "right"]
    assert "padding-left:3em'>hand" in html_text.tree_of(made)


def test_a_large_tree_is_cut_and_says_so() -> None:
    made = exoskel.World()
    for number in range(1000):
        made.add_model(f"m{number}").add_body("b")
    told = html_text.tree_of(made)
    assert told.count("<br>") <= html_text.MOST_ROWS + 1
    assert re.search(r"and \d+ more", told)


def test_a_body_is_told_with_its_joint_its_limits_and_its_lines() -> None:
    scene = load_text(world(sliding("cart", "1 2 0.5", RED)))
    (model,) = scene.world.models
    told = " ".join(plain(html_text.about_body(scene, model, model.bodies[0], [1, 2, 0.5, 1, 0, 0, 0])))  # type: ignore[arg-type]
    for part in ("cart / cart", "line 6", "1 kg", "1 2 0.5 m", "cart_joint", "prismatic", "the world", "-0.5 … 0.5"):
        assert part in told, part


def test_findings_are_told_with_code_and_line_and_a_sound_file_with_a_word() -> None:
    scene = load_text(world(pinned("part", "0 0 0", RED)).replace("<mass>1</mass>", "<mass>heavy</mass>"))
    told = " ".join(plain(html_text.problems(scene.diagnostics)))
    (one, *_) = scene.diagnostics
    assert one.code in told and f"line {one.line}" in told
    assert "no problems" in html_text.problems([])


def test_text_from_a_file_is_escaped() -> None:
    assert html_text.safe("<b>&\"'\x1b") == "&lt;b&gt;&amp;&quot;&#x27;\\u001b"
