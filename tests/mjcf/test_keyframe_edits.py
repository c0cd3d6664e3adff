"""Edits of the initial state and of keyframes are written to the keyframes of the document that a scene comes from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from msgspec import structs

import exoskel
from tests.mjcf.model_fields import differing_fields

DOCUMENT = """<mujoco model="robot">
  <compiler angle="radian"/>
  <extension><plugin plugin="mujoco.pid"><instance name="p"><config key="kp" value="4"/></instance></plugin></extension>
  <worldbody>
    <body name="target" mocap="true" pos="0 0 2"><geom size=".1" contype="0" conaffinity="0"/></body>
    <body name="first" pos="1 0 1"><joint name="a" axis="0 1 0" ref="0.2"/><joint name="b" type="slide"/><geom size=".1"/></body>
    <body name="torso" pos="0 0 1" quat="0.8 0.6 0 0"><freejoint name="root"/><geom size=".1"/>
      <body name="arm" pos="0 0 .3"><joint name="shoulder" type="ball"/><geom size=".05" pos=".1 0 0"/>
        <body name="hand" pos=".2 0 0"><joint name="wrist" axis="0 0 1"/><geom size=".05"/><site name="tip"/></body>
      </body>
    </body>
    <body name="last" pos="3 0 1"><joint name="z" axis="1 0 0"/><geom size=".1"/></body>
  </worldbody>
  <actuator>
    <motor name="ma" joint="a"/><position name="mw" joint="wrist" timeconst=".1"/><motor name="mz" joint="z"/>
  </actuator>
  <sensor><jointpos name="s" joint="wrist"/><framepos name="f" objtype="site" objname="tip"/><gyro name="g" site="tip"/></sensor>
</mujoco>
"""
KEYS = """<keyframe>
  <key name="home" time="0.5" qpos="0.30 0.1 0 0 1 1 0 0 0 1 0 0 0 0.250 0.75" ctrl="1 2 3" act="0.5" mpos="0 1 2"/>
  <key name="other" qvel="1 2 3 4 5 6 7 8 9 10 11 12 13"/>
</keyframe>"""


def _document(keys: str) -> str:
    plugin = "<extension>" + DOCUMENT.partition("<extension>")[2].partition("</extension>")[0] + "</extension>"
    return DOCUMENT.replace(plugin, "").replace("</mujoco>", f"{keys}</mujoco>")


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    (tmp_path / "robot.xml").write_text(_document(KEYS))
    return tmp_path / "robot.xml"


def _joint(scene: exoskel.Scene, name: str) -> exoskel.Joint:
    return next(joint for joint in scene.world.joints() if joint.name == name)


def _saved(scene: exoskel.Scene, path: Path) -> mujoco.MjModel:
    exoskel.save(scene, path)
    assert not [one for one in scene.diagnostics if one.code == "FM201"]  # not a new document
    assert b"exoskel_camera" not in path.read_bytes()
    return mujoco.MjModel.from_xml_path(str(path))


def _converted(scene: exoskel.Scene, path: Path) -> mujoco.MjModel:
    report = exoskel.convert(scene, path, to="mjcf")
    assert report.certificate.passed
    assert report.losses == []
    assert b"exoskel_camera" not in report.data
    return mujoco.MjModel.from_xml_path(str(path))


@pytest.fixture(params=[_saved, _converted], ids=["saved", "converted"])
def write(request: pytest.FixtureRequest) -> Callable[[exoskel.Scene, Path], mujoco.MjModel]:
    return request.param  # type: ignore[no-any-return]


Write = Callable[[exoskel.Scene, Path], mujoco.MjModel]


def test_initial_states_become_the_first_keyframe(robot: Path, write: Write) -> None:
    scene = exoskel.load(robot)
    _joint(scene, "wrist").dofs[0].position = 0.5
    _joint(scene, "a").dofs[0].velocity = 4.0
    model, before = write(scene, robot.with_name("out.xml")), mujoco.MjModel.from_xml_path(str(robot))
    assert [model.key(number).name for number in range(3)] == ["initial", "home", "other"]
    expected = before.key_qpos[0].copy()
    expected[13] = 0.5
    np.testing.assert_array_equal(model.key_qpos[0], expected)
    assert model.key_qvel[0].tolist() == [4.0, *[0.0] * 12]
    np.testing.assert_array_equal(model.key_qpos[1:], before.key_qpos)
    for name in ("key_ctrl", "key_act", "key_mpos"):
        np.testing.assert_array_equal(getattr(model, name)[[0, 1, 2]], getattr(before, name)[[0, 0, 1]])


def test_initial_states_of_documents_without_keyframes(robot: Path, write: Write) -> None:
    robot.write_text(_document(""))
    scene = exoskel.load(robot)
    _joint(scene, "a").dofs[0].position = 0.1
    _joint(scene, "root").dofs[3].position = 2.0
    scene.world.actuators[2] = structs.replace(scene.world.actuators[2], control=0.7)
    model = write(scene, robot.with_name("out.xml"))
    expected = model.qpos0.copy()
    expected[0], expected[2] = 0.3, 2.0
    np.testing.assert_allclose(model.key_qpos, [expected], rtol=0, atol=1e-15)
    assert model.key_ctrl.tolist() == [[0.0, 0.0, 0.7]]
    again = exoskel.load(robot.with_name("out.xml"))
    assert _joint(again, "a").positions == pytest.approx((0.1,), abs=1e-15)


def test_the_keyframe_of_the_initial_state_is_edited_in_place(robot: Path, write: Write) -> None:
    robot.write_text(_document('<keyframe><key name="initial" qvel="1 0 0 0 0 0 0 0 0 0 0 0 0"/></keyframe>'))
    scene = exoskel.load(robot)
    _joint(scene, "z").dofs[0].position = 0.25
    scene.world.actuators[0] = structs.replace(scene.world.actuators[0], control=0.7)
    model = write(scene, robot.with_name("out.xml"))
    assert model.nkey == 1
    assert (model.key_qpos[0, 14], model.key_qvel[0, 0]) == (0.25, 1.0)
    assert model.key_ctrl.tolist() == [[0.7, 0.0, 0.0]]


def test_keyframes_are_edited_in_place(robot: Path, write: Write) -> None:
    """Numbers that stay the same stay as they are written."""
    scene = exoskel.load(robot)
    home, other = scene.world.keyframes
    states = [structs.replace(one, positions=(0.5,)) if one.joint.endswith("/z") else one for one in home.joints]
    edited = structs.replace(home, joints=tuple(states), controls=(("ma", 5.0), ("mw", 2.0)), time=0.75)
    scene.world.keyframes = [edited, other]
    _joint(scene, "z").dofs[0].position = 0.5
    scene.world.actuators = [
        structs.replace(one, control={"ma": 5.0, "mw": 2.0}.get(one.name, 0.0)) for one in scene.world.actuators
    ]
    model = write(scene, robot.with_name("out.xml"))
    text = robot.with_name("out.xml").read_text()
    assert 'qpos="0.30 0.1 0 0 1 1 0 0 0 1 0 0 0 0.250 0.5" ctrl="5 2 0" act="0.5" mpos="0 1 2"' in text
    assert [model.key(number).name for number in range(model.nkey)] == ["home", "other"]
    assert model.key_time.tolist() == [0.75, 0.0]


def test_keyframes_follow_moved_bodies(robot: Path, write: Write) -> None:
    """The state of a free joint is relative to where its body is placed."""
    scene = exoskel.load(robot)
    model = next(one for one in scene.world.models if any(body.name == "torso" for body in one.bodies))
    body = model.body("torso")
    body.pose = exoskel.Pose((0, 5, 0)) @ body.pose
    other = write(scene, robot.with_name("out.xml"))
    assert other.body("torso").pos.tolist() == [0.0, 5.0, 1.0]
    np.testing.assert_allclose(other.key_qpos[0, 2:5], [0, 5, 1], atol=1e-12)


def test_numbers_of_removed_bodies_are_removed(robot: Path, write: Write) -> None:
    scene = exoskel.load(robot)
    owner = next(one for one in scene.world.models if any(body.name == "hand" for body in one.bodies))
    owner.remove("hand")
    report = exoskel.convert(scene, robot.with_name("out.xml"), to="mjcf")
    assert report.certificate.passed
    dropped = {item.path.rpartition("/")[2] for item in report.items if item.fate == "dropped" and not item.attribute}
    assert {"position[@name='mw']", "jointpos[@name='s']", "framepos[@name='f']"} <= dropped
    model = mujoco.MjModel.from_xml_path(str(robot.with_name("out.xml")))
    assert model.key_qpos[0].tolist() == [0.3, 0.1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0.75]
    assert model.key_qvel[1].tolist() == [*range(1, 12), 13]
    assert (model.key_ctrl[0].tolist(), model.na) == ([1, 3], 0)
    text = robot.with_name("out.xml").read_text()
    assert 'qpos="0.30 0.1 0 0 1 1 0 0 0 1 0 0 0 0.75"' in text


def test_renaming_leaves_keyframes_alone(robot: Path, tmp_path: Path) -> None:
    scene = exoskel.load(robot)
    joint = _joint(scene, "wrist")
    owner = next(model for model in scene.world.models if joint in model.joints)
    scene.world.rename(f"{owner.name}/wrist", "twist")
    exoskel.save(scene, tmp_path / "out.xml")
    assert KEYS in (tmp_path / "out.xml").read_text()
    before, after = (mujoco.MjModel.from_xml_path(str(path)) for path in (robot, tmp_path / "out.xml"))
    assert [name for name in differing_fields(before, after) if "name" not in name] == []
