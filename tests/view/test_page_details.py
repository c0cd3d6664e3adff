"""Details of the page that a new user notices, in a real browser."""

from __future__ import annotations

import pytest

pytest.importorskip("viser", reason="viser is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")

from tests.view.browser import Browser
from tests.view.conftest import Show
from tests.view.documents import RED, falling, world
from tests.view.test_page_pictures import resize

BOX = world(falling("box", "0 0 1", RED))


def test_the_tab_and_the_panel_show_the_name_of_the_file(browser: Browser, show: Show) -> None:
    viewer, _ = show(BOX, "my box.skel")
    browser.open(viewer.page.url)
    browser.wait(lambda: browser.driver.title == "my box.skel – exoskel")
    assert "my box.skel" in str(browser.script("return document.body.innerText"))


def test_all_tabs_are_in_one_row_when_scenes_are_compared(browser: Browser, show: Show) -> None:
    resize(browser, 1280, 800)
    try:
        viewer, _ = show(BOX, comparison=("mujoco", None))
        browser.open(viewer.page.url)
        tops = "return [...document.querySelectorAll('[role=tab]')].map(one => one.getBoundingClientRect().top)"
        browser.wait(lambda: len(browser.script(tops)) == 6)
        browser.wait(lambda: len(set(browser.script(tops))) == 1)
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_many_errors_leave_the_scene_visible_and_mark_a_collapsed_panel(browser: Browser, show: Show) -> None:
    boxes = world(*(falling(f"box{i}", f"0 {i} 1", RED) for i in range(30)))
    broken = boxes.replace("<mass>1</mass>", "<mass>heavy</mass>")
    assert broken.count("heavy") == 30
    viewer, _ = show(broken)
    header = "return [...document.querySelectorAll('body *')].some(one => one.offsetParent && one.innerText === '⚠ scene.skel')"
    height = "return document.getElementById('exoskel-errors')?.getBoundingClientRect().height ?? 0"
    try:
        resize(browser, 1280, 800)
        browser.open(viewer.page.url)
        assert 0 < browser.wait(lambda: browser.script(height)) <= 0.31 * 800
        resize(browser, 390, 844)
        browser.open(viewer.page.url)
        browser.wait(lambda: browser.script(header))
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
