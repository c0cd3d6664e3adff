"""The features of the viewer's page in a real browser, on a desktop and on a phone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from exoskel.formats.load import load
from exoskel.view.selection import ItemKind, TreeItem
from exoskel.view.viewer import Viewer
from tests.view.browser import Browser

SCREENSHOTS = os.environ.get("EXOSKEL_SCREENSHOTS", "")
BAD = "&lt;img src=x onerror=window.caught=1&gt;"
ROBOT = f"""<mujoco model="robot">
  <compiler angle="radian"/>
  <worldbody>
    <camera name="side" pos="0 -4 1" xyaxes="1 0 0 0 0 1" fovy="40"/>
    <geom type="plane" size="5 5 .1"/>
    <body name="cart" pos="0 0 .5">
      <joint name="rail" type="slide" axis="1 0 0" range="-1 1"/>
      <geom type="box" size=".3 .2 .1" rgba=".9 .1 .1 1" mass="2"/>
      <body name="pole" pos="0 0 .1">
        <joint name="hinge" type="hinge" axis="0 1 0" range="-1.5 1.5"/>
        <geom type="capsule" size=".04" fromto="0 0 0 0 0 .7" rgba=".1 .2 .9 1" mass=".5"/>
      </body>
    </body>
    <body name="ball" pos="0 .8 .11"><freejoint/><geom type="sphere" size=".1" rgba=".1 .7 .1 1"/></body>
    <body name="{BAD}" pos="0 -.8 .1"><geom type="box" size=".1 .1 .1"/></body>
  </worldbody>
  <actuator><motor name="push" joint="rail" ctrlrange="-20 20"/></actuator>
  <keyframe><key name="start" qpos="0 0 0 .8 .11 1 0 0 0"/><key name="leaning" qpos="0.5 0.7 0 .8 .11 1 0 0 0"/></keyframe>
</mujoco>
"""


class ShownPage:
    """A viewer and the browser that shows it."""

    def __init__(self, browser: Browser, viewer: Viewer, file: Path, width: int) -> None:
        self.browser, self.viewer, self.file, self.width = browser, viewer, file, width

    def script(self, text: str, *arguments: Any) -> Any:
        return self.browser.script(text, *arguments)

    def do(self, *jobs: Any) -> None:
        for job in jobs:
            self.viewer.submit(job)

    def press_key(self, key: str) -> None:
        self.script("document.activeElement?.blur()")
        ActionChains(self.browser.driver).send_keys(key).perform()

    def wait(self, holds: Any) -> Any:
        return self.browser.wait(holds, 45)

    def row(self, key: str) -> Any:
        return self.wait(
            lambda: self.script("return document.querySelector(`#exoskel-tree [data-value='${arguments[0]}']`)", key)
        )

    def screenshot(self, name: str) -> None:
        if SCREENSHOTS:
            Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
            self.browser.driver.save_screenshot(str(Path(SCREENSHOTS) / f"{name}_{self.width}.png"))

    @property
    def client(self) -> Any:
        (found,) = self.viewer.page.server.get_clients().values()
        return found


def expand_panel(browser: Browser) -> None:
    """Open the panel, which is collapsed in a narrow window, as with a tap on its handle."""
    find = """
        const tab = [...document.querySelectorAll('[role=tab]')].find(one => one.innerText.trim() === 'Motion');
        const handle = document.querySelector('[style*="cursor: pointer"][style*="height: 3.5em"]');
        const is_open = !!tab && tab.getBoundingClientRect().top < innerHeight && !!tab.offsetParent;
        return [is_open, handle];
    """
    browser.wait(lambda: browser.script("return !!window.exoskelPanel"))
    browser.wait(lambda: not browser.script(find)[0] and browser.script(find)[1])
    browser.click(browser.script(find)[1])
    browser.wait(lambda: browser.script(find)[0])


@pytest.fixture(scope="module", params=[(1280, 800), (390, 844)], ids=["desktop", "phone"])
def page(
    browser: Browser, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ShownPage]:
    width, height = request.param
    file = tmp_path_factory.mktemp("features") / "robot.xml"
    file.write_text(ROBOT, encoding="utf-8")
    viewer = Viewer(lambda: load(file), port=0, with_token=True)
    viewer.start()
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.open(viewer.page.url)
        if width < 577:
            expand_panel(browser)
        yield ShownPage(browser, viewer, file, width)
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        viewer.close()


def test_the_page_opens_with_its_token_and_shows_the_folders_of_models(page: ShownPage) -> None:
    page.browser.press("Motion")
    assert page.script("return document.cookie") == "", "scripts cannot read the token"
    page.wait(lambda: page.script("return document.body.innerText.includes('hinge')"))
    page.screenshot("motion")


def test_three_quick_clicks_all_reach_the_server(page: ShownPage) -> None:
    page.browser.press("Display")
    before = dict(page.viewer.browser_scene.layers)
    click = """
        const labels = [...document.querySelectorAll('label')].filter(one => arguments[0].includes(one.innerText.trim()));
        for (const one of labels) document.getElementById(one.htmlFor).click();
        return labels.length
    """
    names = ["Body frames", "Joint axes", "Mass and inertia", "Collision shapes"]
    layers = ["frames", "axes", "mass", "collision"]
    for expected in (True, False):
        assert page.script(click, names) == 4
        page.wait(lambda expected=expected: all(page.viewer.browser_scene.layers[one] is expected for one in layers))
        page.screenshot("display") if expected else None
    assert dict(page.viewer.browser_scene.layers) | before == before | {"centre": False}


def test_a_row_of_the_tree_selects_and_a_selection_shows_its_row(page: ShownPage) -> None:
    page.browser.press("Scene")
    page.script("arguments[0].click()", page.row("body:2"))
    page.wait(lambda: page.viewer.selected == 2 and "pole" in page.browser.text("exoskel-inspector"))
    page.script("arguments[0].click()", page.row("joint:2"))
    page.wait(lambda: "hinge now" in page.browser.text("exoskel-inspector"))
    assert page.viewer.selected == 2
    page.screenshot("tree")
    page.do(lambda: page.viewer.select(3))
    page.wait(
        lambda: page.script(
            "return document.querySelector('#exoskel-tree [aria-selected=true]')?.innerText"
        ).startswith("ball")
    )
    link = page.script("return document.querySelector('#exoskel-inspector a').href")
    line = next(i for i, text in enumerate(ROBOT.splitlines(), 1) if 'name="ball"' in text)
    assert link.startswith(f"vscode://file{page.file}:{line}:")
    assert page.script("return window.caught") is None


def test_the_search_filters_the_tree(page: ShownPage) -> None:
    page.browser.press("Scene")
    field = page.script(
        "let near = [...document.querySelectorAll('label')].find(one => one.innerText.trim() === 'Search');"
        "while (!near.querySelector('input, textarea')) near = near.parentElement;"
        "return near.querySelector('input, textarea')"
    )
    field.send_keys("hin")
    rows = "return [...document.querySelectorAll('#exoskel-tree [role=treeitem]')].length"
    page.wait(lambda: page.script(rows) == 1)
    field.send_keys(Keys.BACKSPACE * 3)
    page.wait(lambda: page.script(rows) > 3)


def test_keys_play_step_reset_and_turn_the_camera(page: ShownPage) -> None:
    page.browser.press("Display")
    page.press_key(" ")
    page.wait(lambda: page.viewer.player.time > 0.1)
    page.press_key(" ")
    page.wait(lambda: not page.viewer.player.is_playing)
    stopped, camera = page.viewer.player.time, np.array(page.client.camera.position)
    page.press_key(Keys.ARROW_RIGHT)
    page.wait(lambda: page.viewer.player.time > stopped)
    page.press_key(Keys.ARROW_LEFT)
    page.wait(lambda: page.viewer.player.time == stopped)
    assert np.allclose(page.client.camera.position, camera), "arrows do not move the camera"
    page.press_key("r")
    page.wait(lambda: page.viewer.player.time == 0.0)
    page.press_key("5")
    page.wait(lambda: page.client.camera.position[2] > 5 * abs(page.client.camera.position[0]))


def test_a_focused_control_keeps_the_keys(page: ShownPage) -> None:
    page.browser.press("Motion")
    page.script("[...document.querySelectorAll('[role=slider]')].at(-1).focus()")
    ActionChains(page.browser.driver).send_keys(Keys.ARROW_RIGHT).perform()
    time.sleep(0.5)
    assert page.viewer.player.time == 0.0
    page.press_key("r")


def test_space_plays_after_a_click_on_a_tab(page: ShownPage) -> None:
    page.browser.press("Display")
    ActionChains(page.browser.driver).send_keys(" ").perform()
    page.wait(lambda: page.viewer.player.time > 0.1)
    ActionChains(page.browser.driver).send_keys(" ").perform()
    page.wait(lambda: not page.viewer.player.is_playing)
    page.press_key("r")


def test_the_gizmo_turns_the_camera(page: ShownPage) -> None:
    page.script(
        "document.querySelector('#exoskel-gizmo [data-value=\"+x\"] circle').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    page.wait(lambda: page.client.camera.position[0] > 5 * abs(page.client.camera.position[1]))
    seen = "const c = document.querySelector('#exoskel-gizmo [data-value=\"+y\"] circle'); return [c.cx, c.cy].map(one => one.baseVal.value)"
    page.wait(lambda: page.script(seen)[0] > 25)  # seen from +x, y is on the right
    page.press_key("0")


def test_the_camera_follows_a_body(page: ShownPage) -> None:
    page.do(lambda: page.viewer.select(1))
    page.press_key("f")
    page.wait(
        lambda: (
            page.viewer.following
            and np.allclose(_target(page), page.viewer.placement.on_page(_place(page, 1)), atol=1e-3)
        )
    )
    page.do(lambda: page.viewer.pose(0, 0.9))
    page.wait(lambda: _place(page, 1)[0] == pytest.approx(0.9))
    page.wait(lambda: np.allclose(_target(page), page.viewer.placement.on_page(_place(page, 1)), atol=1e-3))
    page.press_key("f")
    page.wait(lambda: not page.viewer.following)
    page.do(page.viewer.reset, lambda: page.viewer.set_view("default"))


def test_cameras_and_keyframes_of_the_file_can_be_used(page: ShownPage) -> None:
    page.do(lambda: page.viewer.set_camera(0))
    page.wait(lambda: np.allclose(page.viewer.placement.in_world(page.client.camera.position), [0, -4, 1], atol=1e-3))
    page.browser.press("Motion")
    page.do(lambda: page.viewer.set_keyframe(len(page.viewer.world.keyframes) - 1))
    page.wait(lambda: np.allclose(page.viewer.player.positions[:2], [0.5, 0.7]))
    page.screenshot("keyframe")
    page.do(page.viewer.reset, lambda: page.viewer.set_view("default"))


def test_a_picture_and_a_video_are_saved(page: ShownPage) -> None:
    page.browser.press("Display")
    page.browser.press("Save picture")
    found = page.wait(lambda: page.script("return window.exoskel.saved"))
    assert found["name"].endswith(".png") and found["type"] == "image/png" and found["size"] > 3000
    page.browser.press("Record video")
    page.wait(
        lambda: page.script("return document.querySelector('[data-exoskel=record]').innerText").startswith("Stop (")
    )
    time.sleep(1.5)
    page.script("document.querySelector('[data-exoskel=record]').click()")
    found = page.wait(
        lambda: page.script("return window.exoskel.saved.type.startsWith('video/') && window.exoskel.saved")
    )
    assert found["size"] > 3000
    assert page.browser.text("exoskel-errors") == ""


def test_the_selected_joint_is_plotted_and_exported(page: ShownPage) -> None:
    assert not page.viewer.plot.is_visible
    page.do(lambda: page.viewer.select_item(TreeItem(ItemKind.JOINT, 2)), lambda: page.viewer.pose(1, 0.3))
    page.browser.press("Plot")
    page.wait(lambda: page.viewer.plot.is_visible and "hinge: position" in page.browser.text("exoskel-plot"))
    page.do(page.viewer.toggle)
    page.wait(lambda: page.viewer.player.time > 0.3)
    page.do(page.viewer.toggle)
    chart = "return Object.values(window.__viserTestpoints.uplots).map(one => one.chart.data[1].length)"
    page.wait(lambda: max(page.script(chart)) > 2)
    page.screenshot("plot")
    page.browser.press("Save plot")
    page.wait(lambda: page.script("return window.exoskel.saved?.name.startsWith('exoskel-plot')"))
    page.browser.press("Save CSV")
    table = page.viewer.plot.csv().decode().splitlines()
    assert table[0] == "time,hinge" and len(table) > 3
    assert page.browser.text("exoskel-errors") == ""
    page.browser.press("Motion")
    page.wait(lambda: not page.viewer.plot.is_visible)


def _place(page: ShownPage, body: int) -> Any:
    return np.asarray(page.viewer.player.poses[body, :3], dtype=float)


def _target(page: ShownPage) -> Any:
    return np.array(page.client.camera.look_at)
