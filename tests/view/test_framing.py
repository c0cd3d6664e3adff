"""Framing in a real browser: the whole scene stays in view whatever the shape of the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")

import exoskel
from tests.support.findings import load_text
from tests.view.browser import Browser
from tests.view.conftest import Show
from tests.view.documents import RED, falling, world
from tests.view.test_browser import mostly
from tests.view.test_page_pictures import resize

WIDE = world(falling("plate", "0 0 1", RED, "0.5 3 0.5"))
TALL = world(falling("tower", "0 0 1.5", RED, "0.5 0.5 3"))


@pytest.fixture(autouse=True)
def _restore_window(browser: Browser) -> Iterator[None]:
    yield
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def extent(browser: Browser) -> tuple[float, float]:
    """The fractions of the width and height of the canvas that the scene fills; 1 if an edge cuts it off."""
    seen = mostly(browser.pixels(), 0)
    if not seen.any() or any(edge.any() for edge in (seen[0], seen[-1], seen[:, 0], seen[:, -1])):
        return 1.0, 1.0
    rows, columns = np.nonzero(seen)
    return float(np.ptp(columns) / seen.shape[1]), float(np.ptp(rows) / seen.shape[0])


def wait_until_framed(browser: Browser, aspect: tuple[float, float] = (0.0, 99.0)) -> tuple[float, float]:
    """Wait until the canvas has an aspect ratio in a range and shows the whole scene in a good size."""

    def framed() -> tuple[float, float] | None:
        height, width = browser.pixels().shape[:2]
        found = extent(browser)
        return found if aspect[0] < width / height < aspect[1] and 0.3 < max(found) < 0.9 else None

    browser.wait(framed, 60)
    browser.settle()
    return framed() or (0.0, 0.0)


@pytest.mark.parametrize("size", [(1280, 800), (1024, 768), (844, 390), (700, 800), (390, 844)])
def test_a_wide_scene_is_in_view_in_every_window(browser: Browser, show: Show, size: tuple[int, int]) -> None:
    """In windows of middle width, the panel takes half of the window after the camera was set."""
    resize(browser, *size)
    viewer, _ = show(WIDE)
    browser.open(viewer.page.url)
    assert wait_until_framed(browser) != (0.0, 0.0)


def test_a_tall_scene_fills_the_height_of_a_phone(browser: Browser, show: Show) -> None:
    resize(browser, 390, 844)
    viewer, _ = show(TALL)
    browser.open(viewer.page.url)
    assert 0.6 < wait_until_framed(browser)[1] < 0.9


def test_the_view_fits_again_after_the_window_changes(browser: Browser, show: Show) -> None:
    resize(browser, 1280, 800)
    viewer, _ = show(WIDE)
    browser.open(viewer.page.url)
    wait_until_framed(browser, (1.0, 1.3))
    for size, aspect in (((700, 800), (0.0, 0.5)), ((844, 390), (1.1, 1.5)), ((390, 844), (0.0, 0.5))):
        resize(browser, *size)
        assert wait_until_framed(browser, aspect) != (0.0, 0.0), size


def test_the_view_fits_again_after_the_panel_is_collapsed_and_expanded(browser: Browser, show: Show) -> None:
    resize(browser, 700, 800)
    viewer, _ = show(WIDE)
    browser.open(viewer.page.url)
    narrow = wait_until_framed(browser, (0.0, 0.5))
    toggle = "document.querySelector(`[role=button][aria-label^='${arguments[0]}']`).click()"
    browser.script(toggle, "Collapse")
    wide = wait_until_framed(browser, (0.7, 0.95))
    browser.script(toggle, "Expand")
    again = wait_until_framed(browser, (0.0, 0.5))
    assert (0.0, 0.0) not in (narrow, wide, again)


def test_a_camera_that_was_moved_stays(browser: Browser, show: Show) -> None:
    resize(browser, 1280, 800)
    viewer, _ = show(WIDE)
    browser.open(viewer.page.url)
    (client,) = viewer.page.server.get_clients().values()
    browser.script("window.__viserMutable.cameraControl.rotate(0.4, 0.1, false)")
    before = np.array(client.camera.position)
    browser.wait(lambda: not np.allclose(client.camera.position, before, atol=1e-3))
    browser.settle()
    moved = np.array(client.camera.position)
    resize(browser, 700, 800)
    browser.wait(lambda: client.camera.aspect < 0.6)
    browser.settle()
    assert np.allclose(client.camera.position, moved, atol=1e-6)


def test_an_exported_page_fits_again_after_the_window_changes(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "scene.html"
    exoskel.export(load_text(TALL), page)
    resize(browser, 390, 844)
    browser.open(page.as_uri())
    assert 0.6 < wait_until_framed(browser)[1] < 0.9
    exoskel.export(load_text(WIDE), page)
    browser.open(page.as_uri())
    for size in ((390, 844), (844, 390), (300, 844)):
        resize(browser, *size)
        assert wait_until_framed(browser, (size[0] / size[1] - 0.05, size[0] / size[1] + 0.05)) != (0.0, 0.0), size
