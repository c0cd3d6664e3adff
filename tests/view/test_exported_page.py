"""Exported pages: one file with the motion, without a server or network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")

import exoskel
from tests.support.findings import load_text
from tests.view.browser import Browser
from tests.view.documents import RED, falling, pinned, world
from tests.view.test_browser import mostly


def test_a_page_shows_its_scene_and_plays_its_motion_without_a_server(browser: Browser, tmp_path: Path) -> None:
    scene = load_text(world(falling("ball", "0 0 3", RED)))
    page = tmp_path / "scene.html"
    exoskel.export(scene, page, motion=exoskel.run(scene, 0.7))
    browser.driver.get(page.as_uri())
    browser.wait(lambda: browser.nodes() and mostly(browser.pixels(), 0).sum() > 200, 120)
    node = next(name for name in browser.nodes() if "/visual/" in name)
    heights: set[float] = set()
    browser.wait(lambda: heights.add(round(browser.place(node)[2], 2)) or len(heights) > 3)
    assert max(heights) <= 3.0
    # Everything is in the file; nothing is fetched.
    fetched = browser.script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert [name for name in fetched if not name.startswith(("data:", "blob:"))] == []
    assert browser.driver.title == "world"


def test_a_page_without_a_motion_does_not_move(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "scene.html"
    exoskel.export(load_text(world(pinned("part", "0 0 0.25", RED))), page, dark=True)
    browser.driver.get(page.as_uri())
    browser.wait(lambda: browser.nodes() and mostly(browser.pixels(), 0).sum() > 200, 120)
    node = next(name for name in browser.nodes() if "/visual/" in name)
    assert np.allclose(browser.place(node), [0.0, 0.0, 0.25])
