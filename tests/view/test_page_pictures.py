"""Pictures in a real browser, in a wide and in a narrow window: the viewer and exported pages agree."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec import Struct
from numpy.typing import NDArray

pytest.importorskip("viser", reason="viser is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")

import exoskel
from exoskel.view.viewer import Viewer
from tests.support.findings import load_text
from tests.view.browser import Browser, Pixels
from tests.view.documents import RED, falling, world
from tests.view.test_browser import mostly
from tests.view.test_pictures import bluish, world_on

WINDOWS = {"wide": (1280, 800), "narrow": (390, 844)}


class Pictures(Struct):
    """The same scene in the viewer and on an exported page, and whether the scene is covered by the panel."""

    viewer: Pixels
    page: Pixels
    is_covered: bool


def settled(browser: Browser) -> Pixels:
    """The picture when nothing changes.  On a busy machine, the camera may arrive long after the first picture."""
    for _ in range(5):
        picture = browser.settle()
        rows, _ = np.nonzero(mostly(picture, 0))
        if len(rows) and np.ptp(rows) > 0.2 * len(picture):
            break
        time.sleep(3.0)
    return picture


def resize(browser: Browser, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.fixture(scope="module", params=WINDOWS)
def pictures(
    request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    resize(browser, *WINDOWS[request.param])
    made = world_on(exoskel.Box((10.0, 10.0, 0.1)), size=0.8, distance=0.1)
    page = tmp_path_factory.mktemp("page") / "scene.html"
    exoskel.export(made, page)
    viewer = Viewer(lambda: exoskel.Scene([made]), port=0)
    viewer.start()
    try:
        browser.open(viewer.page.url)
        live = settled(browser)
        is_covered = covered(browser, mostly(live, 0))
        browser.open(page.as_uri())
        yield Pictures(live, settled(browser), is_covered)
    finally:
        viewer.close()
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def covered(browser: Browser, mask: NDArray[np.bool_]) -> bool:
    """Whether something lies over the box around pixels of the image."""
    rows, columns = np.nonzero(mask)
    corners = [(int(x), int(y)) for x in (columns.min(), columns.max()) for y in (rows.min(), rows.max())]
    names = browser.script(
        "return arguments[0].map(([x, y]) => document.elementFromPoint(x, y)?.tagName ?? '')", corners
    )
    return names != ["CANVAS"] * 4


def test_the_panel_does_not_cover_the_body_that_moves(pictures: Pictures) -> None:
    assert not pictures.is_covered
    for picture in (pictures.viewer, pictures.page):
        rows, columns = np.nonzero(mostly(picture, 0))
        height, width = picture.shape[:2]
        assert rows.min() > 0 and rows.max() < height - 1 and columns.min() > 0 and columns.max() < width - 1
        assert max(np.ptp(rows), np.ptp(columns)) > 0.5 * min(height, width)


def test_an_exported_page_has_the_light_and_the_view_of_the_viewer(pictures: Pictures) -> None:
    live, page = (mostly(picture, 0) for picture in (pictures.viewer, pictures.page))
    assert page.sum() == pytest.approx(live.sum(), rel=0.15)
    brightness = [float(picture[mask].mean()) for picture, mask in ((pictures.viewer, live), (pictures.page, page))]
    assert brightness[1] == pytest.approx(brightness[0], rel=0.05)
    grounds = [float(picture[bluish(picture)].mean()) for picture in (pictures.viewer, pictures.page)]
    assert grounds[1] == pytest.approx(grounds[0], rel=0.05)


def test_a_large_ground_is_evenly_lit_except_for_the_shadow_of_the_body(pictures: Pictures) -> None:
    """Large grounds cast grey bands on themselves."""
    for picture in (pictures.viewer, pictures.page):
        brightness = picture.astype(float).sum(axis=-1)
        on_ground = bluish(picture)
        lit = np.median(brightness[on_ground])
        dark = on_ground & (brightness < 0.93 * lit)
        _, body = np.nonzero(mostly(picture, 0))
        _, columns = np.nonzero(dark)
        assert len(columns) > 300
        # The sun shines from the left.
        assert (columns < body.min()).sum() < 0.01 * len(columns)
        assert len(columns) < 0.3 * on_ground.sum()


def test_a_motion_that_repeats_does_not_flash(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    """viser restores its own lights, which are brighter, whenever a recording repeats."""
    scene = load_text(world(falling("ball", "0 0 1", RED)))
    page = tmp_path_factory.mktemp("page") / "scene.html"
    exoskel.export(scene, page, motion=exoskel.run(scene, 0.2))
    resize(browser, 300, 220)
    try:
        browser.driver.get(page.as_uri())
        browser.wait(lambda: browser.nodes() and mostly(browser.pixels(), 0).sum() > 100, 120)
        browser.script(_RECORD_BRIGHTNESS)
        browser.wait(lambda: len(set(map(tuple, browser.script("return window.seen")))) > 8, 120)
        time.sleep(3.0)
        seen = np.array([one for one in browser.script("return window.seen") if one[0] > 20])
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert seen[:, 1].max() < 1.3 * np.median(seen[:, 1])


_RECORD_BRIGHTNESS = """
const canvas = [...document.querySelectorAll("canvas")].sort((a, b) => b.width * b.height - a.width * a.height)[0];
const small = document.createElement("canvas");
[small.width, small.height] = [75, 55];
const drawing = small.getContext("2d", {willReadFrequently: true});
window.seen = [];
const record = () => {
  drawing.fillStyle = "white";
  drawing.fillRect(0, 0, 75, 55);
  drawing.drawImage(canvas, 0, 0, 75, 55);
  const data = drawing.getImageData(0, 0, 75, 55).data;
  let count = 0, sum = 0;
  for (let i = 0; i < data.length; i += 4) {
    const [red, green, blue] = [data[i], data[i + 1], data[i + 2]];
    if (red > 1.5 * Math.max(green, blue) + 15) { count += 1; sum += red + green + blue; }
  }
  window.seen.push([count, count ? sum / count : 0]);
  requestAnimationFrame(record);
};
record();
"""
