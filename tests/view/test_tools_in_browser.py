"""Tools of the viewer in a real browser, on a desktop, in a window of middle width and on a phone.

Where each feature of the viewer is tested in a browser, at 1280 by 800 and at 390 by 844 unless a window is given:

| feature | test |
|---|---|
| token, folders of models, joint sliders | test_features: test_the_page_opens_with_its_token_and_shows_the_folders_of_models |
| quick clicks | test_features: test_three_quick_clicks_all_reach_the_server |
| tree, selection both ways, line of the file, editor | test_features: test_a_row_of_the_tree_selects_and_a_selection_shows_its_row |
| search | test_features: test_the_search_filters_the_tree |
| keys | test_features: test_keys_play_step_reset_and_turn_the_camera, test_a_focused_control_keeps_the_keys |
| orientation gizmo | test_features: test_the_gizmo_turns_the_camera |
| follow a body | test_features: test_the_camera_follows_a_body |
| cameras and keyframes | test_features: test_cameras_and_keyframes_of_the_file_can_be_used |
| picture and video | test_features: test_a_picture_and_a_video_are_saved |
| live plot, export, units | test_features: test_the_selected_joint_is_plotted_and_exported; here: test_contacts_are_plotted |
| command sliders | here: test_a_command_slider_moves_the_robot |
| pulling with its force | test_browser: test_a_body_is_pulled_while_the_motion_plays (900 by 640); here: test_the_force_of_a_pull_is_shown |
| textures and colours | test_textures: TestInTheBrowser |
| contact forces, joint axes | here: test_contact_forces_are_arrows_with_numbers, test_joint_axes_fit_the_bodies |
| measuring | here: test_two_clicks_measure_a_distance |
| last version as a ghost | here: test_the_last_version_is_a_ghost |
| names do not cover the scene | here: test_names_leave_the_scene_visible |
| time slider | here: test_the_time_slider_ends_where_the_motion_ends |
| broken file | here: test_errors_and_warnings_of_a_broken_file_are_shown |
| no empty folder of joints | here: test_a_scene_without_joints_has_no_folder_for_them |
| light, framing, grounds, exported page | test_page_pictures |
| framing after the window or the panel has changed | test_framing (also 1024 by 768, 844 by 390 and 700 by 800) |
| name of the file, tabs in one row | test_page_details |
| a window of 700 pixels | here: the window "middle" |
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("viser", reason="viser is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")

from exoskel.formats.load import load
from exoskel.view.browser_scene import AXES, CONTACTS, LABELS
from exoskel.view.live_plot import Quantity
from exoskel.view.viewer import Viewer
from tests.view.browser import Browser, Pixels
from tests.view.test_features import ROBOT, ShownPage, expand_panel

WINDOWS = {"desktop": (1280, 800), "middle": (700, 800), "phone": (390, 844)}
CART = 'name="cart" pos="0 0 .5"'
STILL = """<mujoco><worldbody><geom type="box" size=".2 .2 .2" rgba=".9 .1 .1 1"/></worldbody></mujoco>"""


@pytest.fixture(scope="module", params=WINDOWS)
def page(
    browser: Browser, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ShownPage]:
    width, height = WINDOWS[request.param]
    file = tmp_path_factory.mktemp("tools") / "robot.xml"
    file.write_text(ROBOT, encoding="utf-8")
    viewer = Viewer(lambda: load(file), port=0)
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


def open_tab(page: ShownPage, name: str) -> None:
    """Click a tab until it is open: a click while the panel expands is lost."""
    chosen = "return document.querySelector('[role=tab][aria-selected=true]')?.innerText.trim() === arguments[0]"

    def is_open() -> bool:
        page.browser.press(name)
        return bool(page.script(chosen, name))

    page.wait(is_open)


def labels(page: ShownPage) -> list[str]:
    """The texts of the visible labels in the scene."""
    found: list[str] = page.script(
        "return Object.entries(window.__viserSceneTree.getState()).filter(([name, one]) =>"
        " one?.message?.type === 'LabelMessage' && one.visibility !== false).map(([, one]) => one.message.props.text)"
    )
    return found


def test_contact_forces_are_arrows_with_numbers(page: ShownPage) -> None:
    open_tab(page, "Display")
    page.do(lambda: page.viewer.set_layer(CONTACTS, True), lambda: page.viewer.player.advance_to(0.3), page.viewer.step)
    page.wait(lambda: "strongest force" in page.browser.text("exoskel-forces"))
    assert " N" in page.browser.text("exoskel-forces")
    page.wait(lambda: any(one.endswith(" N") for one in labels(page)))
    assert f"/exoskel/scene/{CONTACTS}" in page.browser.nodes()
    page.screenshot("contacts")
    page.do(lambda: page.viewer.set_layer(CONTACTS, False), page.viewer.reset)
    page.wait(lambda: page.browser.text("exoskel-forces") == "")


def test_joint_axes_fit_the_bodies(page: ShownPage) -> None:
    page.do(lambda: page.viewer.set_layer(AXES, True))
    ends = page.wait(
        lambda: page.script(
            "return window.__viserSceneTree.getState()['/exoskel/scene/axes']?.message.props.points && "
            "[...window.__viserSceneTree.getState()['/exoskel/scene/axes'].message.props.points]"
        )
    )
    lengths = (
        np.linalg.norm(np.diff(np.array(ends).reshape(-1, 2, 3), axis=1)[:, 0], axis=1) / page.viewer.placement.scale
    )
    assert lengths[0] != pytest.approx(lengths[1], rel=0.01), "a cart and a pole of different sizes"
    page.screenshot("axes")
    page.do(lambda: page.viewer.set_layer(AXES, False))


def test_two_clicks_measure_a_distance(page: ShownPage) -> None:
    open_tab(page, "Display")
    page.do(page.viewer.reset, lambda: page.viewer.set_view("default"))
    page.browser.press("Measure")
    page.wait(lambda: "Click two points" in page.browser.text("exoskel-measured"))
    width, height = page.script("return [innerWidth, innerHeight]")
    free = page.script(
        "const found = []; for (let y = 20; y < arguments[1] - 20; y += 12) for (let x = 20; x < arguments[0] - 20; x += 12)"
        " if (document.elementFromPoint(x, y)?.tagName === 'CANVAS') found.push([x, y]); return found",
        width,
        height,
    )
    first, second = free[len(free) // 3], free[-1]
    page.browser.click_canvas(*first)
    page.wait(lambda: len(page.viewer.measurement.points) == 1)
    page.browser.click_canvas(*second)
    page.wait(lambda: "distance" in page.browser.text("exoskel-measured"))
    ends = page.viewer.measurement.ends(page.viewer.player.poses)
    length = f"{np.linalg.norm(ends[1] - ends[0]):.4g} m"
    text = page.browser.text("exoskel-measured")
    assert length in text and "Δx" in text and page.viewer.selected == -1
    page.wait(lambda: length in labels(page))
    page.screenshot("measure")
    page.browser.press("Measure")
    page.wait(lambda: not page.viewer.measurement.is_on and length not in labels(page))


def test_the_last_version_is_a_ghost(page: ShownPage) -> None:
    open_tab(page, "Display")
    page.browser.press("Last version")
    page.wait(lambda: "no earlier version" in page.browser.text("exoskel-errors"))
    before = page.viewer.scene
    page.file.write_text(ROBOT.replace(CART, 'name="cart" pos="0 0 .8"'), encoding="utf-8")
    page.wait(lambda: page.viewer.scene is not before)
    ghosts = page.wait(lambda: [one for one in page.browser.nodes() if one.startswith("/exoskel/last/visual/")])
    cart = next(one for one in ghosts if "box" in one)
    ours = cart.replace("/last/", "/scene/")
    lift = 0.3 * page.viewer.placement.scale
    page.wait(lambda: page.browser.place(ours)[2] - page.browser.place(cart)[2] == pytest.approx(lift, rel=0.01))
    page.screenshot("last_version")
    page.browser.press("Last version")
    page.wait(lambda: not [one for one in page.browser.nodes() if one.startswith("/exoskel/last/visual/")])


def test_contacts_are_plotted(page: ShownPage) -> None:
    open_tab(page, "Plot")
    page.wait(lambda: page.viewer.plot.is_visible)
    page.do(page.viewer.reset, lambda: page.viewer.select(3), lambda: page.viewer.plot.set_quantity(Quantity.COUNT))
    page.do(page.viewer.toggle)
    page.wait(lambda: page.viewer.plot.lines is not None and len(page.viewer.plot.lines.times) > 3)
    page.do(page.viewer.toggle)
    page.wait(lambda: "ball: contacts" in page.browser.text("exoskel-plot"))
    page.do(lambda: page.viewer.plot.set_quantity(Quantity.POSITION))
    page.do(page.viewer.reset, lambda: page.viewer.select(-1))
    open_tab(page, "Motion")


def test_a_command_slider_moves_the_robot(page: ShownPage) -> None:
    page.do(lambda: page.viewer.select(1), lambda: page.viewer.set_command(0, 20.0), page.viewer.toggle)
    page.wait(lambda: page.viewer.player.positions[0] > 0.1)
    page.do(page.viewer.reset, lambda: page.viewer.select(-1))


def test_the_force_of_a_pull_is_shown(page: ShownPage) -> None:
    viewer = page.viewer
    page.do(viewer.toggle)
    page.wait(lambda: viewer.player.time > 0.05)
    start = np.asarray(viewer.player.poses[3, :3], dtype=float)
    page.do(lambda: viewer.pull.drag(viewer.player, "start", 3, start, start + np.array([0.0, 0.0, 1.0])))
    page.wait(lambda: any(one.endswith(" N") for one in labels(page)))
    page.do(lambda: viewer.pull.drag(viewer.player, "end", 3, start, start))
    page.wait(lambda: not any(one.endswith(" N") for one in labels(page)))
    page.do(viewer.reset)


def sampled(picture: Pixels) -> NDArray[np.int64]:
    """A grid of 300 by 300 pixels: a browser under load draws at a lower resolution."""
    rows, columns = (np.linspace(0, size - 1, 300).astype(int) for size in picture.shape[:2])
    return picture[np.ix_(rows, columns)].astype(np.int64)


def test_names_leave_the_scene_visible(page: ShownPage) -> None:
    plain = page.browser.settle()
    page.do(lambda: page.viewer.set_layer(LABELS, True))
    page.wait(lambda: "cart" in labels(page))
    named = page.browser.settle()
    page.screenshot("names")
    assert (np.abs(sampled(named) - sampled(plain)).max(axis=2) > 40).mean() < 0.06
    page.do(lambda: page.viewer.set_layer(LABELS, False))
    page.wait(lambda: "cart" not in labels(page))


def test_the_time_slider_ends_where_the_motion_ends(page: ShownPage) -> None:
    open_tab(page, "Motion")
    page.do(lambda: page.viewer.player.advance_to(0.4), page.viewer.step)
    last = page.wait(lambda: page.viewer.player.span[1] > 0.39 and page.viewer.player.span[1])
    ends = "return [...document.querySelectorAll('[role=slider]')].map(one => Number(one.ariaValueMax))"
    page.wait(lambda: page.script(ends)[0] == pytest.approx(last, abs=1e-6))
    page.do(page.viewer.reset)


def test_errors_and_warnings_of_a_broken_file_are_shown(page: ShownPage) -> None:
    page.file.write_text(ROBOT.replace('type="hinge"', 'type="hing"'), encoding="utf-8")
    page.wait(lambda: "hing" in page.browser.text("exoskel-errors"))
    page.screenshot("broken")
    page.file.write_text(ROBOT, encoding="utf-8")
    page.wait(lambda: page.browser.text("exoskel-errors") == "")


def test_a_scene_without_joints_has_no_folder_for_them(page: ShownPage) -> None:
    open_tab(page, "Motion")
    has_folder = "return document.body.innerText.split('\\n').some(one => one.trim() === 'Joints')"
    page.wait(lambda: page.script(has_folder))
    page.file.write_text(STILL, encoding="utf-8")
    page.wait(lambda: not page.script(has_folder))
    page.file.write_text(ROBOT, encoding="utf-8")
    page.wait(lambda: page.script(has_folder))
