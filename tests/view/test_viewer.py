"""The viewer without a browser: cameras, reloads, comparison and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed")

from exoskel.diagnostics import ExoskelError, Severity
from exoskel.formats.load import load
from exoskel.simulate.simulation import run
from exoskel.view.camera import Camera, corners_of
from exoskel.view.live_plot import Quantity
from exoskel.view.live_reload import watched_files
from exoskel.view.page import Page
from exoskel.view.selection import ItemKind, TreeItem
from exoskel.view.sliders import slider_range
from exoskel.view.viewer import Viewer
from tests.view.documents import BLUE, GREEN, RED, falling, pinned, sliding, world

Open = Callable[..., "OpenViewer"]
ONE = world(falling("a", "0 0 .5", RED, "1 1 1"))


class OpenViewer:
    """A viewer that runs in the thread of the test, its file, and the file it is compared with."""

    def __init__(self, folder: Path, text: str, other: str | None, **options: Any) -> None:
        self.file, self.other = folder / "scene.skel", folder / "other.skel"
        self.file.write_text(text, encoding="utf-8")
        if other is not None:
            self.other.write_text(other, encoding="utf-8")
            options["comparison"] = ("other.skel", lambda: load(self.other))
        self.viewer = Viewer(lambda: load(self.file), port=0, **options)

    def save(self, text: str, *, other: bool = False) -> None:
        (self.other if other else self.file).write_text(text, encoding="utf-8")
        self.tick(1e6)

    def tick(self, seconds: float = 0.2) -> None:
        self._now = getattr(self, "_now", 0.0) + seconds
        self.viewer._tick(self._now, 0.02)

    @property
    def error_text(self) -> str:
        box = self.viewer.panel._error_box
        return "" if box is None else str(box[1].content)

    def connect(self, aspect: float = 1.4, number: int = 0) -> Any:
        """Connect a client that has the initial camera."""
        first = self.viewer.page.server.initial_camera
        camera = SimpleNamespace(
            position=first.position, look_at=first.look_at, up_direction=first.up, aspect=aspect, fov=first.fov,
            near=first.near, far=first.far,
        )  # fmt: skip
        client = SimpleNamespace(camera=camera, atomic=nullcontext)
        server: Any = self.viewer.page.server
        others = server.get_clients()
        server.get_clients = lambda: {**others, number: client}
        return client


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    viewers: list[OpenViewer] = []

    def start(text: str, other: str | None = None, **options: Any) -> OpenViewer:
        viewers.append(OpenViewer(tmp_path, text, other, **options))
        return viewers[-1]

    yield start
    for one in viewers:
        one.viewer.close()


def pieces(viewer: Viewer) -> np.ndarray[Any, Any]:
    """The corners of everything on the page, in page coordinates."""
    found = []
    for browser_scene in (viewer.browser_scene, *([viewer.ghost.browser_scene] if viewer.ghost else [])):
        assert browser_scene is not None
        moved = np.array(viewer.ghost._frame.position) if viewer.ghost and browser_scene.ghost else np.zeros(3)
        for batch, handle in browser_scene.meshes:
            if batch.role == "visual":
                half, at = (values.reshape(-1, 3) for values in (handle.batched_scales / 2, handle.batched_positions))
                found += [
                    corners_of(place - reach, place + reach) + moved for place, reach in zip(at, half, strict=True)
                ]
    return np.concatenate(found)


def assert_in_view(viewer: Viewer, eye: Any, aspect: float = 1.0) -> None:
    """Everything is between the near and the far plane, inside the image, and fills it."""
    target, up = (eye.look_at, eye.up) if hasattr(eye, "up") else (eye.look_at, eye.up_direction)
    camera = Camera(tuple(eye.position), tuple(target), tuple(up), eye.fov, eye.near, eye.far)
    seen = camera.project(pieces(viewer), aspect)
    assert (seen[:, 2] > eye.near).all() and (seen[:, 2] < eye.far).all()
    assert np.abs(seen[:, :2]).max() <= 0.9
    assert np.ptp(seen[:, :2], axis=0).max() / 2 > 0.3


# --- cameras ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (world(), ONE),
        (ONE, world(falling("a", "0 0 .5", RED, "1 1 1"), falling("b", "0 400 100", BLUE, "200 200 200"))),
        (ONE, world(falling("a", "8 8 .5", RED, "1 1 1"))),
        (ONE, world(falling("a", "0 .5 0", RED, "1 1 1"), gravity="0 -9.81 0")),
    ],
    ids=["was empty", "grown", "moved", "another up"],
)
def test_presets_and_new_clients_show_the_current_scene(opened: Open, before: str, after: str) -> None:
    one = opened(before)
    client = one.connect()
    one.save(after)
    assert_in_view(one.viewer, one.viewer.page.server.initial_camera)
    one.viewer.set_view("default")
    assert_in_view(one.viewer, client.camera, client.camera.aspect)


def test_a_client_of_an_empty_scene_sees_the_first_bodies(opened: Open) -> None:
    one = opened(world())
    client = one.connect()
    one.save(ONE)
    assert_in_view(one.viewer, client.camera, client.camera.aspect)


def test_a_camera_stays_in_the_world_when_the_scene_outgrows_the_page(opened: Open) -> None:
    one = opened(ONE)
    client = one.connect()
    before = one.viewer.placement.in_world(client.camera.position)
    one.save(world(falling("a", "0 0 .5", RED, "1 1 1"), falling("b", "0 400 100", BLUE, "200 200 200")))
    assert np.allclose(one.viewer.placement.in_world(client.camera.position), before)


def test_a_preset_moves_only_the_camera_of_the_requesting_client(opened: Open) -> None:
    one = opened(ONE)
    first, second = one.connect(number=0), one.connect(number=1)
    before = first.camera.position.copy()
    one.viewer.set_view("top", 1)
    assert np.allclose(first.camera.position, before)
    assert not np.allclose(second.camera.position, before)


@pytest.mark.parametrize("place", ["60 0 .5", "0 300 .5", "100000 0 .5", "1e7 0 .5"])
def test_a_distant_scene_lies_near_the_origin_of_the_page_undistorted(opened: Open, place: str) -> None:
    x, y, _ = place.split()
    beside = f"{float(x) + 1.25} {y} .5"
    viewer = opened(world(falling("a", place, RED), falling("b", beside, BLUE))).viewer
    corners = pieces(viewer)
    assert np.abs(corners).max() < 12.0
    assert np.allclose(np.ptp(corners, axis=0), [1.75, 0.5, 0.5], atol=1e-4)
    ground = viewer.browser_scene._handles["ground"]
    assert np.linalg.norm(ground.position) < 12.0
    assert_in_view(viewer, viewer.page.server.initial_camera)


@pytest.mark.parametrize(
    ("gravity", "up"), [("0 0 9.81", (0, 0, -1)), ("-9.81 0 0", (1, 0, 0)), ("0 -9.81 0", (0, 1, 0))]
)
def test_the_ground_receives_shadows_from_above(opened: Open, gravity: str, up: Any) -> None:
    from exoskel import spatial

    ground = opened(world(falling("a", "0 0 0", RED), gravity=gravity)).viewer.browser_scene._handles["ground"]
    assert ground.plane == "xy"
    assert np.allclose(spatial.quaternion_matrix(ground.wxyz) @ [0, 0, 1], up)


# --- broken files -------------------------------------------------------------------------------------

WITH_ERROR = ONE.replace("<time_step>0.001", "<time_step>0.001s")


def test_errors_of_a_file_are_shown_from_the_start(opened: Open) -> None:
    one = opened(WITH_ERROR)
    assert "The file has errors" in one.error_text and "0.001s" in one.error_text
    one.save(ONE)
    assert one.error_text == ""


@pytest.mark.parametrize("worse", ["<size>1 x 1</size>", "<siz"])
def test_a_scene_with_fewer_bodies_and_new_errors_is_not_shown(opened: Open, worse: str) -> None:
    one = opened(WITH_ERROR)
    one.save(WITH_ERROR.replace("<size>1 1 1</size>", worse))
    assert len(one.viewer.browser_scene.meshes) == 2
    assert "Showing the last valid scene" in one.error_text


def test_a_file_with_errors_can_be_edited(opened: Open) -> None:
    two = WITH_ERROR.replace("</world>", falling("b", "2 0 .5", BLUE) + "</world>")
    one = opened(two)
    one.save(two.replace("2 0 .5", "3 0 .5"))
    assert one.viewer.player.poses[1, 0] == 3.0
    one.save(WITH_ERROR)
    assert len(one.viewer.render_scene.bodies) == 1, "a removed body disappears"
    assert "The file has errors" in one.error_text


@pytest.mark.parametrize("act", ["toggle", "reset", "step"])
def test_errors_of_a_broken_file_stay_until_it_is_fixed(opened: Open, act: str) -> None:
    one = opened(ONE)
    one.save(ONE[:300])
    assert "The file is broken" in one.error_text
    getattr(one.viewer, act)()
    one.tick()
    assert "The file is broken" in one.error_text
    one.save(ONE)
    assert one.error_text == ""


def test_errors_of_actions_are_shown_with_the_errors_of_the_file(opened: Open) -> None:
    one = opened(WITH_ERROR)
    one.viewer._report_error("no such thing")
    assert "no such thing" in one.error_text and "The file has errors" in one.error_text
    one.viewer.toggle()
    assert "no such thing" not in one.error_text and "The file has errors" in one.error_text


# --- comparing ----------------------------------------------------------------------------------------

ASIDE = world(falling("a", "0 2 .5", GREEN, "1 1 1"))


def test_both_scenes_are_in_view_overlaid_and_side_by_side(opened: Open) -> None:
    one = opened(ONE, ASIDE)
    client = one.connect()
    assert one.viewer.ghost is not None
    assert_in_view(one.viewer, one.viewer.page.server.initial_camera)
    one.viewer.ghost._beside.value = True
    one.tick()
    assert np.abs(one.viewer.ghost._frame.position).max() / one.viewer.placement.scale > 1.0
    for eye, aspect in ((one.viewer.page.server.initial_camera, 1.0), (client.camera, 1.4)):
        assert_in_view(one.viewer, eye, aspect)


def test_the_distance_is_plotted_before_anything_moves(opened: Open) -> None:
    ghost = opened(ONE, ASIDE).viewer.ghost
    assert ghost is not None
    assert ghost.distances == pytest.approx([2.0])
    assert ghost._plot_data()[1] == pytest.approx([2.0, 2.0])


def test_the_second_file_is_watched(opened: Open) -> None:
    one = opened(ONE, ASIDE)
    ghost = one.viewer.ghost
    assert ghost is not None
    one.save(world(falling("a", "0 7 .5", GREEN, "1 1 1")), other=True)
    assert ghost.gap(one.viewer.player.poses) == pytest.approx(7.0)
    one.save("<skel", other=True)
    assert "The file is broken" in one.error_text and ghost.gap(one.viewer.player.poses) == pytest.approx(7.0)
    one.save(ASIDE, other=True)
    assert one.error_text == "" and ghost.gap(one.viewer.player.poses) == pytest.approx(2.0)


def test_gravity_stays_off_for_both_after_a_reload(opened: Open) -> None:
    one = opened(ONE, ASIDE)
    one.viewer.set_gravity(False)
    one.save(world(falling("a", "0 0 1.5", RED, "1 1 1")))
    assert one.viewer.ghost is not None
    assert not one.viewer.player.gravity and not one.viewer.ghost.player.gravity


def test_a_whole_core_stays_allowed_after_a_reload(opened: Open) -> None:
    one = opened(ONE)
    assert one.viewer.player.core_share < 0.5
    one.viewer.set_whole_core(True)
    one.save(world(falling("a", "0 0 1.5", RED, "1 1 1")))
    assert one.viewer.player.core_share > 0.5
    one.viewer.set_whole_core(False)
    assert one.viewer.player.core_share < 0.5


# --- the panel ----------------------------------------------------------------------------------------


def test_sliders_and_numbers_update_while_paused(opened: Open) -> None:
    one = opened(world(sliding("a", "0 0 .5", RED)), world(sliding("a", "0 0 .5", GREEN, "-0.1 0.1")))
    (slider,) = [slider.handle for slider in one.viewer.panel._sliders.sliders]
    one.viewer.select(0)
    one.tick()
    one.viewer.pose(0, 0.4)
    one.tick()
    assert slider.value == pytest.approx(0.4)
    assert "0 0.4 0.5 m" in one.viewer.panel._about.content
    one.viewer.reset()
    one.tick()
    assert slider.value == 0.0
    assert "0 0 0.5 m" in one.viewer.panel._about.content


def test_sliders_are_in_the_folders_of_their_models(opened: Open) -> None:
    two = opened(world(falling("ball", "0 0 .5", RED), sliding("left", "0 0 .5", RED), sliding("right", "0 2 .5", RED)))
    sliders = two.viewer.panel._sliders
    assert [folder.label for folder in sliders._folders] == ["left", "right", "ball"]
    assert [slider.number for slider in sliders.sliders] == [6, 7, 0, 1, 2, 3, 4, 5]
    two.save(world(sliding("<b>other</b>", "0 0 .5", RED).replace("<b>", "&lt;b>").replace("</b>", "&lt;/b>")))
    assert [folder.label for folder in sliders._folders] == ["<b>other</b>"]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (-2.0943951023931953, 2.0943951023931953, (-2.1, 2.1, 0.01)),
        (0.0, 2.4, (0.0, 2.4, 0.005)),
        (-3.14, 3.14, (-3.14, 3.14, 0.01)),
        (-0.17453292, 0.3, (-0.175, 0.3, 0.001)),
        (0.0, 0.02, (0.0, 0.02, 0.00005)),
        (0.0, 1000.5, (0.0, 1002.0, 2.0)),
        (-1e300, 1e300, (-1e12, 1e12, 5e9)),
    ],
)
def test_sliders_have_round_steps_and_ends(low: float, high: float, shown: tuple[float, float, float]) -> None:
    found = slider_range(low, high)
    assert (found.low, found.high, found.step) == shown


def test_a_slider_poses_within_the_limits(opened: Open) -> None:
    one = opened(world(sliding("a", "0 0 .5", RED, "-0.123456789 0.123456789")))
    (slider,) = one.viewer.panel._sliders.sliders
    assert slider.shown.low < -0.123456789 and slider.handle.precision <= 4
    one.viewer.panel._sliders.pose(slider, slider.shown.low)
    assert one.viewer.player.positions == pytest.approx([-0.123456789], abs=1e-15)


def test_the_time_slider_ends_where_the_motion_ends(opened: Open) -> None:
    one = opened(ONE)
    time = one.viewer.panel._time
    assert time.disabled
    one.viewer.player.advance_to(0.25)
    one.tick()
    one.viewer._show()
    one.tick()
    assert not time.disabled and time.max == pytest.approx(0.25) and time.value == pytest.approx(0.25)
    one.viewer.reset()
    one.tick()
    assert time.disabled


def test_a_recorded_motion_fills_the_time_slider(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "motion.skel").write_text(ONE, encoding="utf-8")
    motion = run(load(tmp_path / "motion.skel"), 0.006)
    time = opened(ONE, recorded=motion).viewer.panel._time
    assert time.max == pytest.approx(0.006) and time.step <= 0.0001 and time.precision >= 4


def test_notes_are_not_in_the_box_of_a_broken_file(opened: Open) -> None:
    good = world(sliding("a", "0 0 .5", RED))
    one = opened(good)
    one.save(good.replace("<time_step>0.001", "<time_step>0.001s").replace("<mass>", "<mas/><mass>"))
    found = load(one.file).diagnostics
    assert {diagnostic.severity for diagnostic in found} == set(Severity)
    for diagnostic in found:
        assert (diagnostic.code in one.error_text) is (diagnostic.severity is not Severity.INFO)


@pytest.mark.parametrize("count", [3, 300])
def test_names_are_apart_from_each_other(opened: Open, count: int) -> None:
    one = opened(world(*(pinned(f"part{i}", f"{0.001 * i} 0 0.25", RED) for i in range(count))))
    one.viewer.set_layer("labels", True)
    assert 1 <= len(one.viewer.browser_scene._labels) <= 12


def test_starting_an_engine_is_announced(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    one = opened(ONE)
    states: list[str] = []
    start = one.viewer.player._ensure_started

    def slow() -> Any:
        states.append(one.viewer.panel._state.content)
        return start()

    monkeypatch.setattr(one.viewer.player, "_ensure_started", slow)
    one.viewer.toggle()
    one.tick()
    assert "starting MuJoCo" in states[0]
    one.tick()
    assert "playing" in one.viewer.panel._state.content


# --- selection and plot -------------------------------------------------------------------------------

ARM = world(sliding("cart", "0 0 .5", RED), falling("ball", "0 2 .25", GREEN), pinned("floor", "0 2 -.25", BLUE))


def test_a_joint_stands_for_its_child_and_stays_selected_after_a_reload(opened: Open) -> None:
    one = opened(ARM)
    one.viewer.select_item(TreeItem(ItemKind.JOINT, 0))
    assert one.viewer.selected == 0 and "cart_joint now" in one.viewer.panel._about.content
    one.save(world(falling("new", "0 5 .5", BLUE), sliding("cart", "0 0 .5", RED)))
    assert one.viewer.selection.names == ("joint", "cart", "cart_joint") and one.viewer.selected == 1
    one.save(world(falling("new", "0 5 .5", BLUE)))
    assert one.viewer.selection.item is None and one.viewer.selected == -1


@pytest.mark.parametrize(
    "item", [TreeItem(ItemKind.BODY, 99), TreeItem(ItemKind.JOINT, 99), TreeItem(ItemKind.MODEL, 99)]
)
def test_items_that_do_not_exist_are_not_selected(opened: Open, item: TreeItem) -> None:
    one = opened(ARM)
    one.viewer.select_item(item)
    assert one.viewer.selection.item is None and "internal error" not in one.error_text


def test_a_command_of_the_selected_joint_acts_until_a_reset(opened: Open) -> None:
    one = opened(world(sliding("cart", "0 0 .5", RED, "-50 50"), falling("ball", "0 2 5", GREEN), gravity="0 0 0"))
    commands = one.viewer.panel.commands
    one.viewer.select(1)
    assert not commands.sliders, "a free joint has no actuator"
    one.viewer.select(0)
    (slider,) = commands.sliders
    assert slider.label == "cart_joint force (N)"
    one.viewer.set_command(0, 2.0)
    one.viewer.player.advance_to(1.0)
    assert one.viewer.player.positions[0] == pytest.approx(1.0, rel=0.01)  # 1 kg, 2 N
    one.viewer.set_command(0, -2.0)
    one.viewer.player.advance_to(2.0)
    assert one.viewer.player.positions[0] == pytest.approx(2.0, rel=0.01)
    one.viewer.reset()
    assert slider.value == 0.0
    one.viewer.player.advance_to(1.0)
    assert one.viewer.player.positions[0] == 0.0
    one.save(world(sliding("cart", "0 0 .5", RED)))
    assert [slider.label for slider in commands.sliders] == ["cart_joint force (N)"]


CART = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="cart"><joint name="rail" type="slide" axis="1 0 0"/><geom type="sphere" size=".1" mass="1"/></body>
</worldbody><actuator>
  <motor name="push" joint="rail" ctrlrange="-4 8" ctrllimited="true" gear="2"/>
</actuator><keyframe><key qpos="0"/><key name="pushed" qpos="3" ctrl="1"/></keyframe></mujoco>"""


def test_a_control_of_an_actuator_of_the_selected_joint_acts_until_a_reset(opened: Open) -> None:
    one = opened(CART)
    one.viewer.select(0)
    (slider,) = one.viewer.panel.commands.sliders
    assert slider.label == "push (motor)" and (slider.min, slider.max) == (-4.0, 8.0)
    one.viewer.set_control("push", 1.0)
    one.viewer.player.advance_to(1.0)
    assert one.viewer.player.positions[0] == pytest.approx(1.0, rel=0.01)  # 1 kg, 2 N
    one.viewer.reset()
    one.viewer.player.advance_to(1.0)
    assert one.viewer.player.positions[0] == 0.0
    one.viewer.reset()
    one.viewer.set_keyframe(1)
    assert [slider.value for slider in one.viewer.panel.commands.sliders] == [1.0]
    one.viewer.player.advance_to(1.0)
    assert one.viewer.player.positions[0] == pytest.approx(4.0, rel=0.01)


def test_a_control_on_an_engine_without_actuators_is_an_error(opened: Open) -> None:
    one = opened(CART)
    one.viewer.set_engine("ode")
    with pytest.raises(ExoskelError, match="no actuators"):
        one.viewer.set_control("push", 1.0)
    one.viewer.player.advance_to(0.1)
    assert one.viewer.player.positions[0] == 0.0


def test_nothing_is_plotted_or_measured_while_no_page_shows_the_plot(opened: Open) -> None:
    one = opened(ARM)
    one.viewer.select(1)
    one.viewer._set_quantity(Quantity.CONTACT)
    one.viewer.step()
    one.tick()
    assert one.viewer.plot.lines is None and not one.viewer.plot._samples


@pytest.mark.parametrize(
    ("quantity", "names", "last"),
    [
        (Quantity.POSITION, ("x", "y", "z"), (0.0, 2.0, 0.25)),
        (Quantity.VELOCITY, ("x", "y", "z"), (0.0, 0.0, 0.0)),
        (Quantity.CONTACT, ("x", "y", "z"), (0.0, 0.0, 9.81)),
    ],
)
def test_the_selected_body_is_plotted(
    opened: Open, quantity: Quantity, names: tuple[str, ...], last: tuple[float, ...]
) -> None:
    one = opened(ARM)
    one.connect(number=7)
    one.viewer._set_visible_panels(7, "plot")
    one.viewer.select(1)
    one.viewer._set_quantity(quantity)
    for _ in range(30):
        one.viewer.player.advance_to(one.viewer.player.time + 0.02)
        one.viewer._show()
        one.tick()
    lines = one.viewer.plot.lines
    assert lines is not None and lines.names == names and f"ball / ball: {quantity.value}" in lines.title
    assert lines.values[-1] == pytest.approx(last, abs=0.05)
    rows = one.viewer.plot.csv().decode().splitlines()
    assert rows[0] == "time,x,y,z" and len(rows) == len(lines.times) + 1
    one.viewer._set_visible_panels(7, "")
    assert not one.viewer.plot.is_visible


# --- invalid arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize("port", [99999, -5])
def test_an_invalid_port_is_an_error(port: int) -> None:
    with pytest.raises(ExoskelError, match="0 to 65535"):
        Page(port)


def test_an_unknown_world_is_an_error(opened: Open) -> None:
    with pytest.raises(ExoskelError, match="unknown world 'nosuch'; choose one of 'world'"):
        opened(ONE, world="nosuch")


# --- files --------------------------------------------------------------------------------------------


def test_a_mesh_that_appears_later_is_shown(opened: Open, tmp_path: Path) -> None:
    mesh = "<mesh><file_name>later.obj</file_name><scale>1 1 1</scale></mesh>"
    one = opened(ONE.replace("<box><size>1 1 1</size></box>", mesh, 1))
    assert one.viewer.render_scene.missing_meshes
    (tmp_path / "later.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    one.tick()
    assert not one.viewer.render_scene.missing_meshes


def test_a_file_that_an_mjcf_file_includes_is_watched(tmp_path: Path) -> None:
    body = '<mujoco><worldbody><body name="i"><freejoint/><geom type="sphere" size=".1"/></body></worldbody></mujoco>'
    (tmp_path / "part.xml").write_text(body, encoding="utf-8")
    (tmp_path / "main.xml").write_text('<mujoco><include file="part.xml"/></mujoco>', encoding="utf-8")
    assert {Path(path).name for path in watched_files(load(tmp_path / "main.xml"))} == {"main.xml", "part.xml"}


def test_a_deleted_file_is_reported_until_it_reappears(opened: Open) -> None:
    one = opened(ONE)
    aside = one.file.rename(one.file.with_suffix(".aside"))
    one.tick()
    assert one.error_text == "", "an editor may be saving it"
    for _ in range(20):
        one.tick()
    assert "A file was deleted" in one.error_text and "scene.skel" in one.error_text
    aside.rename(one.file)
    one.tick()
    assert one.error_text == ""


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("place", ["0 1e300 .5", "0 1e30 .5"])
def test_huge_coordinates_are_handled(opened: Open, place: str) -> None:
    one = opened(ONE)
    one.save(world(falling("a", place, RED)))
    assert "internal error" not in one.error_text
    one.save(ONE)
    assert_in_view(one.viewer, one.viewer.page.server.initial_camera)
