"""Cameras, lights and keyframes: read, written, converted, edited, checked and embedded."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel import ExoskelError, Keyframe, Pose, SceneCamera, SceneLight, World
from exoskel.formats.mjcf import read
from exoskel.scene.fields import relative_difference

TEXT = """<mujoco model="m">
<default><camera fovy="60"/></default>
<worldbody>
<light name="sun" directional="true" pos="0 0 3" dir="0 0.5 -1" diffuse=".8 .7 .1"/>
<camera name="eye" pos="1 2 3" xyaxes="1 0 0 0 1 1"/>
<body name="a"><freejoint name="f"/><geom size=".1"/>
<camera name="head" mode="targetbody" target="b" pos="0 0 1" resolution="640 480"/>
<body name="b" pos="0 0 1"><joint name="h" axis="0 1 0" ref="10"/><geom size=".1"/>
<light pos="1 0 0" type="point" castshadow="false"/></body></body>
<body name="c" pos="3 0 0"><joint name="ball" type="ball"/><geom size=".2"/></body>
</worldbody>
<keyframe><key name="home" qpos="0 0 1 1 0 0 0 .2 1 0 0 0" qvel="0 0 0 0 0 1 0 0 0 0"/>
<key name="up" time="2" qpos="0 0 2 0 1 0 0 .7 .6 .8 0 0"/><key/></keyframe>
</mujoco>"""


def views_of(world: World) -> tuple[object, ...]:
    return world.cameras, world.lights, [one.comparable(world.models) for one in world.keyframes]


def test_cameras_lights_and_keyframes_are_read() -> None:
    scene = exoskel.load(TEXT)
    world = scene.world
    assert scene.diagnostics == []
    eye, head = world.cameras
    assert (eye.name, eye.body, eye.pose.position, eye.field_of_view) == ("eye", "", (1.0, 2.0, 3.0), 60.0)
    assert (head.body, head.mode, head.target, head.resolution) == ("a/a", "targetbody", "a/b", (640, 480))
    sun, bulb = world.lights
    assert (sun.kind, sun.diffuse, bulb.kind, bulb.body, bulb.casts_shadows) == (
        "directional",
        (0.8, 0.7, 0.1),
        "point",
        "a/b",
        False,
    )
    assert [one.name for one in world.keyframes] == ["home", "up", ""]
    assert world.keyframe("up").time == 2.0
    states = {state.joint: state.positions for state in world.keyframe("up").joints}
    assert states["a/f"][:3] == pytest.approx((np.pi, 0.0, 0.0)) and states["a/f"][3:] == (0.0, 0.0, 2.0)


def test_mjcf_to_mjcf_keeps_them_exactly() -> None:
    report = exoskel.convert(TEXT, None, to="mjcf")
    assert report.certificate.passed and report.losses == []
    text = report.data.decode()
    before, after = (mujoco.MjModel.from_xml_string(one) for one in (TEXT, text))
    assert [after.camera(i).name for i in range(after.ncam)] == ["eye", "head"]
    assert np.allclose(after.cam_quat, before.cam_quat) and np.allclose(after.light_diffuse, before.light_diffuse)
    assert [after.key(i).name for i in range(after.nkey)] == ["home", "up", ""]
    reread = exoskel.load(text)
    assert exoskel.diff(exoskel.load(TEXT), reread) == []
    assert exoskel.convert(text, None, to="mjcf").data == report.data


@pytest.mark.parametrize("to", ["skel", "xode"])
def test_formats_without_them_embed_them(to: str) -> None:
    report = exoskel.convert(TEXT, None, to=to)
    assert report.certificate.passed
    after, before = (views_of(exoskel.load(text).world) for text in (report.data.decode(), TEXT))
    assert relative_difference(after, before) < 1e-12
    fates = {item.path: item.fate for item in report.items}
    assert fates["/mujoco/keyframe[1]/key[@name='up']/@qpos"] == "kept"


@pytest.mark.parametrize("to", ["urdf", "sdf"])
def test_formats_that_drop_them_say_so(to: str) -> None:
    report = exoskel.convert(TEXT, None, to=to, model="a" if to == "urdf" else None)
    found = {item.path: item for item in report.items}
    camera = found["/mujoco/worldbody[1]/camera[@name='eye']"]
    assert (camera.fate, camera.loss) == ("dropped" if to == "urdf" else "lowered", False)
    key = found["/mujoco/keyframe[1]/key[@name='up']/@qpos"]
    assert (key.fate, key.loss) == ("dropped", True)


def test_a_written_world_with_its_own_camera_and_light_gets_no_generated_ones() -> None:
    text = exoskel.convert(TEXT, None, to="mjcf").data.decode()
    assert "exoskel_camera" not in text and "exoskel_light" not in text
    plain = exoskel.convert("dart://sample/skel/pendulum.skel", None, to="mjcf").data.decode()
    assert "exoskel_camera" in plain and exoskel.load(plain).world.cameras == []


def test_a_keyframe_called_like_the_initial_state_keeps_its_name() -> None:
    text = TEXT.replace('name="up"', 'name="initial"')
    report = exoskel.convert(text, None, to="mjcf")
    assert report.certificate.passed
    assert [one.name for one in exoskel.load(report.data.decode()).world.keyframes] == ["home", "initial", ""]


def test_a_camera_that_looks_at_the_world_is_kept() -> None:
    text = TEXT.replace('target="b"', 'target="world"')
    report = exoskel.convert(text, None, to="mjcf")
    assert report.certificate.passed and report.losses == []
    head = exoskel.load(report.data.decode()).world.camera("head")
    assert (head.mode, head.target) == ("targetbody", "")


def test_keyframes_of_a_world_without_coordinates_are_kept() -> None:
    text = '<mujoco><worldbody><geom size="1"/></worldbody><keyframe><key name="k" time="1"/></keyframe></mujoco>'
    report = exoskel.convert(text, None, to="mjcf")
    assert report.certificate.passed
    assert [(one.name, one.time) for one in exoskel.load(report.data.decode()).world.keyframes] == [("k", 1.0)]


def test_keyframes_are_added_and_applied() -> None:
    world = World()
    arm = world.add_model("arm").add_body("upper", joint="revolute", axis=(0, 1, 0), position=0.5)
    joint = world.models[0].joint("upper_joint")
    world.add_keyframe("bent")
    joint.positions = (0.0,)
    assert repr(world.keyframe("bent")) == "Keyframe('bent', time=0, joints=1)"
    world.apply_keyframe("bent")
    assert joint.positions == (0.5,) and world.keyframe("bent").positions(world.models) == (0.5,)
    with pytest.raises(exoskel.TakenNameError):
        world.add_keyframe("bent")
    with pytest.raises(exoskel.UnknownNameError, match="bent"):
        world.keyframe("bnt")
    assert arm.name == "upper"


def test_renaming_and_removing_update_references() -> None:
    world = exoskel.load(TEXT).world
    world.rename("a/b", "forearm")
    world.rename("a/h", "elbow")
    world.rename("a", "robot")
    assert [one.body for one in world.cameras] == ["", "robot/a"]
    assert world.camera("head").target == "robot/forearm"
    assert [state.joint for state in world.keyframes[0].joints] == ["robot/f", "robot/elbow", "c/ball"]
    assert exoskel.check(world) == []
    world.remove("robot")
    assert [one.name for one in world.cameras] == ["eye"]
    assert [state.joint for state in world.keyframes[0].joints] == ["c/ball"]
    assert exoskel.check(world) == []


def test_references_to_unknown_items_are_warnings() -> None:
    world = exoskel.load(TEXT).world
    world.cameras.append(SceneCamera(name="lost", body="nobody/here"))
    (found,) = exoskel.check(world)
    assert found.code == "SC116" and "camera 'lost' refers to 'nobody/here'" in found.message
    world.cameras[-1] = SceneCamera(name="eye")
    assert [one.code for one in exoskel.check(world)] == ["SC102"]


def test_values_are_checked() -> None:
    with pytest.raises(ExoskelError, match="field_of_view"):
        SceneCamera(field_of_view="wide")  # type: ignore[arg-type]
    with pytest.raises(ExoskelError, match="mode"):
        SceneLight(mode="follow")  # type: ignore[arg-type]
    world = World()
    world.cameras.append(SceneCamera(field_of_view=-1.0))
    assert [one.code for one in exoskel.check(world)] == ["SC101"]


def test_a_camera_looks_at_a_point() -> None:
    pose = exoskel.look_at((2.0, 0.0, 1.0), (0.0, 0.0, 1.0))
    assert np.allclose(pose.matrix()[:3, 2], (1.0, 0.0, 0.0)) and np.allclose(pose.matrix()[:3, 1], (0.0, 0.0, 1.0))
    with pytest.raises(ExoskelError, match="target"):
        exoskel.look_at((0.0, 0.0, 1.0), (0.0, 0.0, 0.0))


def test_merging_and_rotating_worlds_moves_them() -> None:
    merged = exoskel.merge(exoskel.load(TEXT), exoskel.load(TEXT)).world
    assert len({one.name for one in merged.cameras}) == 4 and exoskel.check(merged) == []
    assert merged.cameras[3].body.startswith("a") and merged.cameras[3].body != "a/a"
    turned = exoskel.load(exoskel.convert(TEXT, None, to="mjcf", up="y").data.decode()).world
    assert np.allclose(turned.camera("eye").pose.position, (1.0, 3.0, -2.0))
    assert np.allclose(turned.lights[0].position, (0.0, 3.0, 0.0))


def test_saving_a_skel_file_embeds_an_added_camera(tmp_path: Path) -> None:
    file = tmp_path / "a.skel"
    file.write_bytes(exoskel.convert("dart://sample/skel/pendulum.skel", None, to="skel").data)
    scene = exoskel.load(file)
    scene.world.cameras.append(SceneCamera(name="front", pose=Pose((0.0, 0.0, 3.0))))
    scene.world.add_keyframe("start")
    exoskel.save(scene)
    again = exoskel.load(file).world
    assert again.camera("front").pose.position == (0.0, 0.0, 3.0) and again.keyframes == scene.world.keyframes


def test_selecting_a_model_leaves_the_views_of_others_out() -> None:
    report = exoskel.convert(TEXT, None, to="mjcf", model="c")
    world = exoskel.load(report.data.decode()).world
    assert [one.name for one in world.cameras] == ["eye"]
    assert [len(one.joints) for one in world.keyframes] == [1, 1, 1]


def test_very_many_keyframes_are_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_MOST_NUMBERS", 50)
    scene = exoskel.load(TEXT)
    assert len(scene.world.keyframes) == 2 and [one.code for one in scene.diagnostics] == ["MJ310"]


def test_keyframes_of_static_models_are_in_the_initial_state() -> None:
    world = World()
    world.add_model("fixed", static=True).add_body("a", joint="revolute", axis=(0, 0, 1), position=1.0)
    assert world.add_keyframe("k").joints == () and Keyframe("x").positions(world.models) == (1.0,)


KEYFRAME = """<mujoco>
<worldbody>
<body name="b"><joint name="j"/><joint name="k" axis="1 0 0"/><geom size=".1"/></body>
<body name="m" mocap="true"><geom size=".1"/></body>
</worldbody>
<actuator><motor joint="j"/><motor joint="k"/><intvelocity joint="j" actrange="-1 1"/><intvelocity joint="k" actrange="-1 1"/></actuator>
<keyframe>
<key name="home" {}/>
</keyframe>
</mujoco>"""


def keyframe_problems(text: str) -> list[exoskel.Diagnostic]:
    found = exoskel.load(KEYFRAME.format(text)).diagnostics
    return [one for one in found if one.code == "MJ311" or one.key == "MJ106.keyframe"]


@pytest.mark.parametrize("name", ["time", "qpos", "qvel", "act", "ctrl", "mpos", "mquat"])
@pytest.mark.parametrize("number", ["nan", "-inf", "NaN"])
def test_a_number_of_a_keyframe_that_is_not_finite_is_reported_and_ignored(name: str, number: str) -> None:
    text = KEYFRAME.format(f'{name}="{number}"')
    (problem,) = keyframe_problems(f'{name}="{number}"')
    assert (problem.code, problem.severity, problem.line) == ("MJ311", "error", 8)
    assert f"the {name} of keyframe 'home' contains {number}" in problem.message
    scene = exoskel.load(text)
    assert [one.name for one in scene.world.keyframes] == ["home"] and not exoskel.check(scene.world)
    exoskel.convert(text, None, to="sdf")


@pytest.mark.parametrize(
    ("name", "numbers", "expected"),
    [
        ("qpos", "0.5", 2),
        ("qvel", "1", 2),
        ("act", "1", 2),
        ("ctrl", "1 2 3", 4),
        ("mpos", "1 2", 3),
        ("mquat", "1", 4),
    ],
)
def test_too_few_numbers_of_a_keyframe_are_reported(name: str, numbers: str, expected: int) -> None:
    (problem,) = keyframe_problems(f'{name}="{numbers}"')
    assert (problem.severity, problem.line) == ("warning", 8)
    assert f"the {name} of keyframe 'home' has too few numbers: {len(numbers.split())}, {expected}" in problem.message


@pytest.mark.parametrize("name", ["qpos", "qvel", "act", "ctrl", "mpos", "mquat"])
def test_too_many_numbers_of_a_keyframe_are_reported_at_its_line(name: str) -> None:
    (problem,) = keyframe_problems(f'{name}="1 2 3 4 5"')
    assert (problem.key, problem.line) == ("MJ106.keyframe", 8)
    assert f"the {name} of keyframe 'home' has too many numbers: 5, " in problem.message


def test_complete_keyframes_are_not_reported() -> None:
    assert not keyframe_problems('time="1" qpos="1 2" qvel="1 2" act="0 0" ctrl="0 0 0 0" mpos="1 2 3" mquat="1 0 0 0"')
    assert not keyframe_problems('qpos=""')
