"""The HTML texts of the page."""

from __future__ import annotations

import re

from exoskel.view import html_text
from tests.support.findings import load_text
from tests.view.documents import RED, pinned, sliding, world


def text_lines(html: str) -> list[str]:
    return [line for line in re.sub(r"<[^>]+>", "\n", html.replace("<br>", "\n")).split("\n") if line.strip()]


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
