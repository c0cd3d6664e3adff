"""States of documents with deformable bodies and plugins of actuators: their numbers in keyframes stay in place."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from msgspec import structs

import exoskel

FLEX = """<flexcomp name="cloth" type="grid" count="2 2 1" spacing="0.1 0.1 0.1" radius="0.01" dim="2" mass="0.1">
  <elasticity young="1e3" elastic2d="both" thickness="0.01"/></flexcomp>"""
DOCUMENT = f"""<mujoco>
  <size nuser_jnt="1"/><extension><plugin plugin="mujoco.pid"/></extension>
  <worldbody>
    <body name="a"><joint name="i" axis="0 1 0" ref="10"/><geom size="0.1"/></body>
    <body name="sheet" pos="0 0 3">{FLEX}
      <body name="b" pos="1 0 0"><joint name="j" axis="0 1 0"/><geom size="0.1"/></body>
    </body>
    <body name="c" pos="3 0 0"><freejoint name="f"/><geom size="0.1"/></body>
  </worldbody>
  <actuator>
    <motor name="m" joint="i"/>
    <plugin name="pid" plugin="mujoco.pid" joint="j" actdim="2"><config key="ki" value="4"/><config key="slewmax" value="3"/></plugin>
    <intvelocity name="v" joint="j" kp="2" actrange="-1 1"/>
  </actuator>
</mujoco>"""
COUNT = 3 * 4
"""The coordinates of the cloth."""
CLOTH = np.arange(COUNT) / 100.0
QPOS = [0.5, *CLOTH, 0.25, 1, 2, 3, 1, 0, 0, 0]
QVEL = [1.5, *CLOTH, 2.5, 1, 2, 3, 4, 5, 6]


def _text(*, has_key: bool) -> str:
    if not has_key:
        return DOCUMENT
    qpos, qvel = (" ".join(map(str, row)) for row in (QPOS, QVEL))
    key = f'<keyframe><key name="k" qpos="{qpos}" qvel="{qvel}" act="0.1 0.2 0.3" ctrl="7 8 9"/></keyframe>'
    return DOCUMENT.replace("</mujoco>", f"{key}</mujoco>")


def _joint(scene: exoskel.Scene, name: str) -> exoskel.Joint:
    return next(joint for joint in scene.world.joints() if joint.name == name)


def _converted(scene: exoskel.Scene) -> mujoco.MjModel:
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b"nuser_jnt" in report.data
    assert b"flexcomp" in report.data
    return mujoco.MjModel.from_xml_string(report.data.decode())


def test_states_of_what_a_scene_has_are_read() -> None:
    scene = exoskel.load(_text(has_key=True))
    assert {one.key for one in scene.diagnostics if one.key.startswith("MJ311")} == {"MJ311.ignored"}
    (keyframe,) = scene.world.keyframes
    states = {state.joint: (state.positions, state.velocities) for state in keyframe.joints}
    assert states["a/i"][0] == pytest.approx((0.5 - np.radians(10),), abs=1e-15)
    assert states["sheet/j"] == ((0.25,), (2.5,))
    assert states["c/f"][1][:3] == (4, 5, 6)
    assert dict(keyframe.controls) == {"m": 7, "v": 9}
    assert dict(keyframe.activations) == {"v": 0.3}
    assert _joint(scene, "j").positions == (0.25,)


@pytest.mark.parametrize("has_key", [False, True])
def test_initial_states_are_edited(has_key: bool) -> None:
    scene = exoskel.load(_text(has_key=has_key))
    _joint(scene, "i").positions, _joint(scene, "j").velocities = (0.75,), (3.5,)
    actuators = scene.world.actuators
    actuators[1] = structs.replace(
        actuators[1], control=0.5, activation=structs.replace(actuators[1].activation, initial=0.6)
    )
    model = _converted(scene)
    key, start = model.key("initial"), mujoco.MjData(model)
    before = model.key("k") if has_key else None
    qpos = np.array(QPOS if has_key else start.qpos)
    qvel = np.array(QVEL) if has_key else np.zeros(model.nv)
    qpos[0], qvel[1 + COUNT] = 0.75 + np.radians(10), 3.5
    np.testing.assert_allclose(key.qpos, qpos, atol=1e-12)
    np.testing.assert_allclose(key.qvel, qvel, atol=1e-12)
    assert key.ctrl.tolist() == ([7, 8, 0.5] if has_key else [0, 0, 0.5])
    assert key.act.tolist() == ([0.1, 0.2, 0.6] if has_key else [0, 0, 0.6])
    if before is not None:
        np.testing.assert_allclose(before.qpos, QPOS, atol=1e-12)
        np.testing.assert_allclose(before.act, (0.1, 0.2, 0.3))


@pytest.mark.parametrize("parent", ["a", "sheet", "b", "c", None])
def test_numbers_of_new_joints_are_in_their_places(parent: str | None) -> None:
    scene = exoskel.load(_text(has_key=True))
    model = next((one for one in scene.world.models if any(body.name == parent for body in one.bodies)), None)
    model = model or scene.world.add_model("new")
    model.add_body("new", parent=parent, joint="revolute", axis=(1, 0, 0), mass=1.0)
    joint = _joint(scene, "new_joint")
    joint.positions = (0.125,)
    scene.world.add_actuator("w", "new_joint", control=4.0)
    compiled = _converted(scene)
    found = compiled.key("k").qpos
    place = compiled.joint("new_joint").qposadr[0]
    np.testing.assert_allclose(np.delete(found, place), QPOS, atol=1e-12)
    first = compiled.key(0).qpos
    assert first[place] == 0.125
    np.testing.assert_allclose(np.delete(first, place), QPOS, atol=1e-12)
    assert compiled.key("k").ctrl[:3].tolist() == [7, 8, 9]


def test_numbers_of_removed_elements_are_removed() -> None:
    scene = exoskel.load(_text(has_key=True))
    scene.world.models.remove(next(one for one in scene.world.models if one.name == "sheet"))
    report = exoskel.convert(scene, None, to="mjcf")
    assert b"nuser_jnt" in report.data
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    assert model.key("k").qpos.tolist() == [0.5, 1, 2, 3, 1, 0, 0, 0]
    assert model.key("k").ctrl.tolist() == [7]
    scene = exoskel.load(_text(has_key=True))
    _joint(scene, "f").kind = "ball"
    assert _converted(scene).key("k").qpos[: COUNT + 2].tolist() == QPOS[: COUNT + 2]


def test_cloths_in_files_are_compiled(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    faces = ("v 0 0 0", "v 1 0 0", "v 0 1 0", "v 1 1 0", "f 1 2 3", "f 2 4 3")
    (tmp_path / "meshes" / "cloth.obj").write_text("\n".join(faces))
    flex = '<flexcomp name="cloth" type="mesh" file="cloth.obj" radius="0.01" dim="2" mass="0.1"/>'
    text = _text(has_key=True).replace(FLEX, flex).replace("<size", '<compiler meshdir="meshes"/><size')
    (tmp_path / "robot.xml").write_text(text)
    mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    scene = exoskel.load(tmp_path / "robot.xml")
    assert _joint(scene, "j").positions == (0.25,)
    _joint(scene, "j").positions = (0.5,)
    report = exoskel.convert(scene, tmp_path / "out.xml", to="mjcf")
    assert b"flexcomp" in report.data
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert model.key("initial").qpos[1 + COUNT] == 0.5
