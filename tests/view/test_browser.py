"""The viewer's page in a real browser."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("viser", reason="viser is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.view.browser import Browser, Pixels
from tests.view.conftest import Show
from tests.view.documents import BLUE, GREEN, RED, falling, pinned, sliding, world
from tests.view.proxy import Proxy

pytestmark = pytest.mark.usefixtures("browser")
SCREENSHOTS = os.environ.get("EXOSKEL_SCREENSHOTS", "")
"""A folder for screenshots of the tests; empty for none."""


def mostly(pixels: Pixels, channel: int) -> NDArray[np.bool_]:
    """The pixels in which one of red, green and blue clearly dominates."""
    others = [i for i in range(3) if i != channel]
    seen = pixels.astype(int)
    return np.asarray((seen[..., channel] - seen[..., others].max(axis=-1)) > 60)


def middle(mask: NDArray[np.bool_]) -> tuple[float, float]:
    rows, columns = np.nonzero(mask)
    return float(columns.mean()), float(rows.mean())


def save_screenshot(browser: Browser, name: str) -> None:
    if SCREENSHOTS:
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        browser.driver.save_screenshot(str(Path(SCREENSHOTS) / f"{name}.png"))


THREE = world(
    pinned("left", "0 -1.2 0.25", RED), pinned("centre", "0 0 0.25", GREEN), pinned("right", "0 1.2 0.25", BLUE)
)


def test_the_page_shows_the_scene_in_its_colours(browser: Browser, show: Show) -> None:
    viewer, _ = show(THREE)
    browser.open(viewer.page.url)
    viewer.submit(lambda: viewer.set_view("front"))
    time.sleep(1.0)
    pixels = browser.settle()
    save_screenshot(browser, "three_boxes")
    masks = [mostly(pixels, channel) for channel in range(3)]
    assert all(mask.sum() > 500 for mask in masks)
    # Seen from the front (+x), +y is on the right.
    columns = [middle(mask)[0] for mask in masks]
    assert columns == sorted(columns)
    # Green is 0.1 0.7 0.1 in the file; a paler colour means that sRGB was mistaken for linear light.
    red, green, _ = pixels[masks[1]].mean(axis=0)
    assert red < 0.35 * green


@pytest.mark.parametrize(
    ("place", "size", "gravity"),
    [("0 0 1.5", "0.5 0.5 3", "0 0 -9.81"), ("0 1.5 0", "0.5 3 0.5", "0 -9.81 0")],
    ids=["z up", "y up"],
)
def test_the_initial_view_is_upright_and_fills_the_picture(
    browser: Browser, show: Show, place: str, size: str, gravity: str
) -> None:
    viewer, _ = show(world(falling("column", place, RED, size), gravity=gravity))
    browser.open(viewer.page.url)
    pixels = browser.settle()
    red = mostly(pixels, 0)
    rows, columns = np.nonzero(red)
    height, width = red.shape
    assert 0.5 <= max(np.ptp(rows), np.ptp(columns)) / min(height, width) <= 0.9
    assert np.ptp(rows) > 2 * np.ptp(columns), "the column is upright"
    assert rows.min() > 0 and rows.max() < height - 1 and columns.min() > 0 and columns.max() < width - 1
    below = pixels[rows.max() + 5 :, :].astype(int)
    assert (below.max(axis=-1) < 245).any(), "the ground is visible"
    assert not browser.script("return document.querySelectorAll('.mantine-Notification-root').length")


def test_a_slider_moves_a_body(browser: Browser, show: Show) -> None:
    viewer, _ = show(world(sliding("cart", "0 0 0.25", RED)))
    browser.open(viewer.page.url)
    before = middle(mostly(browser.settle(), 0))
    slider = browser.wait(lambda: _slider(browser, "cart_joint"))
    slider.send_keys(Keys.END)
    node = _visual(browser)
    browser.wait(lambda: np.allclose(browser.place(node), [0.0, 0.5, 0.25], atol=1e-3))
    time.sleep(1.0)
    after = middle(mostly(browser.settle(), 0))
    assert np.hypot(after[0] - before[0], after[1] - before[1]) > 20
    assert viewer.player.positions == pytest.approx([0.5])


def test_playing_advances_time_and_moves_bodies(browser: Browser, show: Show) -> None:
    viewer, _ = show(world(falling("ball", "0 0 3", RED)))
    browser.open(viewer.page.url)
    node = _visual(browser)
    browser.press("Play / pause")
    browser.wait(lambda: _time(browser) > 0.3)
    browser.wait(lambda: browser.place(node)[2] < 2.5)
    browser.press("Play / pause")
    browser.wait(lambda: "paused" in browser.text("exoskel-state"))
    stopped = _time(browser)
    time.sleep(0.5)
    assert _time(browser) == stopped
    time_reached, step = viewer.player.time, 0.001
    assert viewer.player.poses[0, 2] == pytest.approx(3.0 - 4.905 * time_reached * (time_reached + step), abs=1e-9)
    browser.press("Reset")
    browser.wait(lambda: np.allclose(browser.place(node), [0.0, 0.0, 3.0], atol=1e-6))


def test_a_saved_edit_appears_and_preserves_camera_and_selection(browser: Browser, show: Show) -> None:
    viewer, file = show(world(pinned("part", "0 0 0.25", RED), pinned("other", "0 1 0.25", BLUE)))
    browser.open(viewer.page.url)
    viewer.submit(lambda: (viewer.set_view("left"), viewer.select(0)))
    time.sleep(1.0)
    browser.settle()
    camera = _camera(viewer)
    file.write_text(world(pinned("part", "0 0 0.75", GREEN), pinned("other", "0 1 0.25", BLUE)), encoding="utf-8")
    browser.wait(lambda: viewer.player.poses[0, 2] == 0.75 and viewer.selected == 0)
    node = _visual(browser)
    browser.wait(lambda: np.allclose(browser.place(node) or [0, 0, 0], [0.0, 0.0, 0.75], atol=1e-6))
    browser.settle()
    assert np.allclose(_camera(viewer), camera)
    assert viewer.render_scene.names[viewer.selected] == ("part", "part")


def test_a_broken_edit_shows_its_diagnostic_over_the_last_good_scene(browser: Browser, show: Show) -> None:
    good = world(pinned("part", "0 0 0.25", RED))
    viewer, file = show(good)
    browser.open(viewer.page.url)
    before = mostly(browser.settle(), 0)
    file.write_text(good.replace("</inertia>", "</inert>"), encoding="utf-8")
    text = browser.wait(lambda: browser.text("exoskel-errors"))
    save_screenshot(browser, "broken_file")
    assert "error" in text and "line 8" in text
    assert (mostly(browser.settle(), 0) == before).mean() > 0.99
    file.write_text(good, encoding="utf-8")
    browser.wait(lambda: not browser.text("exoskel-errors"))


def test_a_click_shows_the_properties_of_a_body(browser: Browser, show: Show) -> None:
    viewer, _ = show(world(sliding("cart", "0 0 0.25", RED)))
    browser.open(viewer.page.url)
    x, y = middle(mostly(browser.settle(), 0))
    browser.press("Scene")
    _pointer(browser, x, y).click().perform()
    text = browser.wait(lambda: "cart" in browser.text("exoskel-inspector") and browser.text("exoskel-inspector"))
    save_screenshot(browser, "inspector")
    for part in ("mass", "1 kg", "prismatic", "-0.5 … 0.5", "line 6"):
        assert part in text, part


def test_a_body_is_pulled_while_the_motion_plays(browser: Browser, show: Show) -> None:
    viewer, _ = show(world(falling("ball", "0 0 1", RED), gravity="0 0 0"))
    browser.open(viewer.page.url)
    x, y = middle(mostly(browser.settle(), 0))
    browser.press("Play / pause")
    browser.wait(lambda: viewer.player.is_playing)
    drag = _pointer(browser, x, y).key_down(Keys.CONTROL).click_and_hold()
    for _ in range(8):
        drag = drag.move_by_offset(0, -15).pause(0.1)
    drag.perform()
    browser.wait(lambda: viewer.player.poses[0, 2] > 1.05)
    ActionChains(browser.driver).release().key_up(Keys.CONTROL).perform()
    browser.wait(lambda: viewer.player.active_pull is None)


def test_a_restored_connection_shows_the_current_state(browser: Browser, show: Show) -> None:
    viewer, _ = show(world(falling("ball", "0 0 30", RED), gravity="0 0 -1"))
    network = Proxy(viewer.page.port)
    try:
        browser.open(f"http://127.0.0.1:{network.port}")
        node = _visual(browser)
        browser.press("Play / pause")
        browser.wait(lambda: _height(viewer, browser, node) < 29.99)
        network.cut()
        browser.wait(lambda: not viewer.page.server.get_clients())
        before = viewer.player.time
        browser.wait(lambda: viewer.player.time > before + 0.5)  # the motion continues without clients
        network.mend()
        browser.wait(viewer.page.server.get_clients)
        height = float(viewer.player.poses[0, 2])
        browser.wait(lambda: node in (browser.nodes() or {}) and 0.0 < _height(viewer, browser, node) <= height)
    finally:
        network.close()


def test_a_page_closed_while_playing_can_be_opened_again(browser: Browser, show: Show) -> None:
    viewer, _ = show(world(falling("ball", "0 0 30", RED), pinned("part", "0 1 30", BLUE), gravity="0 0 -1"))
    browser.open(viewer.page.url)
    browser.press("Play / pause")
    browser.wait(lambda: viewer.player.time > 0.1)
    browser.driver.get("about:blank")
    browser.wait(lambda: not viewer.page.server.get_clients())
    before = viewer.player.time
    browser.wait(lambda: viewer.player.time > before + 0.3)
    viewer.submit(viewer.toggle)
    browser.wait(lambda: not viewer.player.is_playing)
    browser.open(viewer.page.url)
    height = _height(viewer, browser, _visual(browser))
    assert height == pytest.approx(float(viewer.player.poses[0, 2]), rel=1e-5)
    browser.wait(lambda: _time(browser) == pytest.approx(viewer.player.time))


def test_dark_and_light_pages_have_their_own_ground_colours(browser: Browser, show: Show) -> None:
    viewer, _ = show(world(pinned("part", "0 0 0.25", RED)), dark=True)
    browser.open(viewer.page.url)
    browser.settle()
    dark = browser.screenshot()
    save_screenshot(browser, "dark")
    viewer.submit(lambda: viewer.set_dark(False))
    browser.wait(lambda: np.median(browser.screenshot()) > 200)
    browser.settle()
    light = browser.screenshot()
    edge = np.s_[150:350, :80]  # only grid lines, above the axes
    assert np.ptp(dark[edge].astype(int)) > 15 and dark[edge].max() < 140
    assert np.ptp(light[edge].astype(int)) > 15 and light[edge].min() > 120


def test_names_from_a_file_are_escaped(browser: Browser, show: Show) -> None:
    bad = "&lt;img src=x onerror=&quot;window.caught=1&quot;&gt;"
    viewer, _ = show(world(pinned("part", "0 0 0.25", RED)).replace("part", bad))
    assert viewer.render_scene.names[0][0].startswith("<img")
    browser.open(viewer.page.url)
    viewer.submit(lambda: (viewer.select(0), viewer.set_layer("labels", True)))
    browser.press("Scene")
    browser.wait(lambda: "onerror" in browser.text("exoskel-inspector"))
    assert "onerror" in browser.text("exoskel-tree")
    browser.press("Problems")
    time.sleep(0.5)
    assert browser.script("return window.caught") is None


def _visual(browser: Browser) -> str:
    return next(name for name in browser.nodes() if name.startswith("/exoskel/scene/visual/"))


def _height(viewer: Any, browser: Browser, node: str) -> float:
    """The height of a body in the world; the page shows it nearer to its own origin."""
    return float(viewer.placement.in_world(np.array(browser.place(node)))[2])


def _time(browser: Browser) -> float:
    return float(browser.script("return Number(document.getElementById('exoskel-state')?.dataset.time ?? 0)"))


def _camera(viewer: Any) -> NDArray[np.float64]:
    (client,) = viewer.page.server.get_clients().values()
    return np.concatenate([client.camera.position, client.camera.look_at, client.camera.up_direction])


def _slider(browser: Browser, label: str) -> Any:
    """The thumb of the slider with a label."""
    return browser.script(
        "const label = [...document.querySelectorAll('label')].find(one => one.innerText.trim() === arguments[0]);"
        "let near = label; while (near && !near.querySelector('[role=slider]')) near = near.parentElement;"
        "return near ? near.querySelector('[role=slider]') : null",
        label,
    )


def _pointer(browser: Browser, x: float, y: float) -> ActionChains:
    """The pointer at a pixel of the picture."""
    canvas = browser.canvas()
    box = browser.script(
        "const r = arguments[0].getBoundingClientRect(); return [r.width / arguments[0].width, r.height / arguments[0].height]",
        canvas,
    )
    width, height = browser.script("return [arguments[0].width, arguments[0].height]", canvas)
    return ActionChains(browser.driver).move_to_element_with_offset(
        canvas, round((x - width / 2) * box[0]), round((y - height / 2) * box[1])
    )
