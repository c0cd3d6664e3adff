"""An MJCF document with another up axis stays as it is, in a rotated frame."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.source.output_context import Target

DOCUMENT = """<mujoco model="robot">
  <!-- y up -->
  <option gravity="0 -9.81 0" wind="1 2 3" magnetic="0 -0.5 0.1" density="1.2"/>
  <extension><plugin plugin="mujoco.pid"/></extension>
  <statistic center="0 1 0"/>
  <worldbody>
    <!-- content -->
    <light name="l" pos="0 3 0" dir="0 -1 0"/><camera name="c" pos="0 1 3"/>
    <geom name="ground" type="plane" size="5 5 0.1" euler="-90 0 0"/><site name="w" pos="1 0 0"/>
    <body name="m" mocap="true" pos="0 2 0"><geom size="0.1" contype="0" conaffinity="0"/></body>
    <frame pos="1 0 0" euler="0 30 0">
      <body name="arm" pos="0 1 0"><joint name="j" axis="0 0 1"/><geom size="0.1"/><site name="s"/></body>
    </frame>
    <body name="ball" pos="0 2 1" euler="10 20 30"><freejoint name="f"/><geom size="0.1"/></body>
    FLEX
    <replicate count="2" offset="0 0 1"><body name="r" pos="3 1 0"><joint/><geom size="0.1"/></body></replicate>
  </worldbody>
  <equality><connect body1="arm" anchor="0 0 0" body2="r0" active="false"/></equality>
  <actuator>
    <plugin name="pid" plugin="mujoco.pid" joint="j" actdim="0"><config key="kp" value="40.0"/></plugin>
  </actuator>
  <sensor><framepos name="fp" objtype="site" objname="s"/><magnetometer site="s"/></sensor>
  KEY
</mujoco>
"""
FLEX = """<body name="cloth" pos="0 5 0"><flexcomp name="cloth" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" radius="0.01"
  dim="2" mass="0.1"/></body>"""
KEY = """<keyframe><key name="k" qpos="0.5 1 2 3 1 0 0 0 0.1 0.2" qvel="1 0 1 2 3 4 5 6 7" mpos="1 2 3" mquat="0 1 0 0"/>
  </keyframe>"""
ROTATION = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize(("flex", "key"), [(FLEX, ""), ("", KEY)])
def test_the_document_is_kept_in_a_rotated_frame(flex: str, key: str) -> None:
    text = DOCUMENT.replace("FLEX", flex).replace("KEY", key)
    report = exoskel.convert(exoskel.load(text), None, to="mjcf", up="z")
    assert report.certificate.passed
    assert report.losses == []
    written = report.data.decode()
    assert all(word in written for word in ("<!-- y up -->", "<!-- content -->", "<replicate", '<plugin name="pid"'))
    before, after = mujoco.MjModel.from_xml_string(text), mujoco.MjModel.from_xml_string(written)
    for name in ("gravity", "wind", "magnetic"):
        np.testing.assert_allclose(ROTATION @ getattr(before.opt, name), getattr(after.opt, name), atol=1e-14)
    np.testing.assert_allclose(ROTATION @ before.stat.center, after.stat.center, atol=1e-14)
    one, other = mujoco.MjData(before), mujoco.MjData(after)
    if key:
        mujoco.mj_resetDataKeyframe(before, one, 0)
        mujoco.mj_resetDataKeyframe(after, other, 0)
    for _ in range(50):
        mujoco.mj_step(before, one)
        mujoco.mj_step(after, other)
    for name in ("xpos", "geom_xpos", "site_xpos", "cam_xpos", "light_xpos", "light_xdir", "flexvert_xpos"):
        mine, theirs = (np.asarray(getattr(data, name)).reshape(-1, 3) for data in (one, other))
        np.testing.assert_allclose(mine @ ROTATION.T, theirs, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(one.sensordata[3:], other.sensordata[3:], atol=1e-9)


def test_edits_are_made_in_the_rotated_document() -> None:
    text = DOCUMENT.replace("FLEX", "").replace("KEY", KEY)
    scene = exoskel.load(text)
    next(one for one in scene.world.joints() if one.name == "j").dofs[0].damping = 0.5
    report = exoskel.convert(scene, None, to="mjcf", up="z")
    assert report.certificate.passed
    assert b"<!-- content -->" in report.data
    assert mujoco.MjModel.from_xml_string(report.data.decode()).dof_damping.ravel()[0] == 0.5


PLACED = """<mujoco>
  <option gravity="0 -9.81 0" wind="1 2 3"/><size nuser_body="1"/>
  <default><geom rgba="1 0 0 1"/></default>
  <worldbody>
    <!-- content -->
    <light pos="0 3 0" dir="1 -1 0"/><light name="l"/><camera name="c" pos="0 1 3" xyaxes="1 0 0 0 0 1"/><camera name="d"/>
    <geom type="plane" size="5 5 0.1" euler="-90 0 0"/><geom type="capsule" fromto="0 0 0 1 2 3" size="0.1" contype="0" conaffinity="0"/>
    <site name="w" pos="1 0 0" zaxis="1 2 3"/><site name="v" type="capsule" fromto="0 0 0 1 2 3" size="0.1"/>
    <body name="m" mocap="true" pos="0 2 0" axisangle="1 2 3 40"><geom size="0.1" contype="0" conaffinity="0"/></body>
    <body name="arm" quat="1 2 3 4" user="7"><joint name="j" axis="0 0 1"/><geom size="0.1" pos="0.3 0 0"/></body>
    <body name="ball" pos="0 2 1" euler="10 20 30"><freejoint name="f"/><geom size="0.1"/></body>
    FRAME
  </worldbody>
  KEY
</mujoco>"""
PLACED_KEY = """<keyframe><key name="k" qpos="0.5 1 2 3 1 0 0 0" qvel="1 0 1 2 3 4 5" mpos="1 2 3" mquat="0 1 0 0"/></keyframe>"""
FRAME = """<frame pos="1 0 0" euler="0 30 0"><body name="leg" pos="0 1 0"><geom size="0.1"/></body></frame>"""


@pytest.mark.parametrize("key", ["", PLACED_KEY])
@pytest.mark.parametrize(("target", "frame"), [("dm_control", ""), ("isaac", ""), ("isaac", FRAME)])
def test_poses_are_rotated_for_programs_that_do_not_read_frames(target: Target, frame: str, key: str) -> None:
    text = PLACED.replace("FRAME", frame).replace("KEY", key)
    report = exoskel.convert(exoskel.load(text), None, to="mjcf", up="z", target=target)
    assert report.certificate.passed
    written = report.data.decode()
    assert all(word in written for word in ("<!-- content -->", "nuser_body", 'user="7"'))
    assert written.count("<frame") == text.count("<frame")
    before, after = mujoco.MjModel.from_xml_string(text), mujoco.MjModel.from_xml_string(written)
    after.opt.integrator = before.opt.integrator
    one, other = mujoco.MjData(before), mujoco.MjData(after)
    if key:
        mujoco.mj_resetDataKeyframe(before, one, 0)
        mujoco.mj_resetDataKeyframe(after, other, 0)
    for _ in range(50):
        mujoco.mj_step(before, one)
        mujoco.mj_step(after, other)
    for name in ("xpos", "geom_xpos", "site_xpos", "cam_xpos", "light_xpos", "light_xdir"):
        mine, theirs = (np.asarray(getattr(data, name)).reshape(-1, 3) for data in (one, other))
        np.testing.assert_allclose(mine @ ROTATION.T, theirs, atol=1e-9, err_msg=name)
    for name in ("xmat", "geom_xmat", "site_xmat", "cam_xmat"):
        mine, theirs = (np.asarray(getattr(data, name)).reshape(-1, 3, 3) for data in (one, other))
        mine, theirs = (side[1:] if name == "xmat" else side for side in (ROTATION @ mine, theirs))  # not the world
        np.testing.assert_allclose(mine[..., 2], theirs[..., 2], atol=1e-9, err_msg=name)
        if name in ("xmat", "cam_xmat"):  # other shapes may be turned about their axis
            np.testing.assert_allclose(mine, theirs, atol=1e-9, err_msg=name)


def test_poses_in_default_classes_need_a_new_document() -> None:
    text = PLACED.replace("FRAME", "").replace("KEY", "").replace('rgba="1 0 0 1"', 'quat="1 2 3 4"')
    report = exoskel.convert(exoskel.load(text), None, to="mjcf", up="z", target="isaac")
    assert report.certificate.passed
    assert b"exoskel_camera" in report.data or b"exoskel_sky" in report.data


@pytest.mark.parametrize("target", ["dm_control", "dart"])
def test_programs_that_refuse_frames_get_none(target: Target) -> None:
    text = '<mujoco><option gravity="0 -9.81 0" wind="1 2 3"/><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'
    report = exoskel.convert(exoskel.load(text), None, to="mjcf", up="z", target=target)
    assert report.certificate.passed
    assert b"<frame" not in report.data
    assert mujoco.MjModel.from_xml_string(report.data.decode()).opt.wind.tolist() == [1.0, -3.0, 2.0]


def test_generated_elements_in_the_world_need_a_new_document() -> None:
    text = """<mujoco><option gravity="0 -9.81 0"/><worldbody><geom name="g" size="1"/>
      <flexcomp name="c" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" radius="0.01" dim="2" mass="0.1"/>
    </worldbody></mujoco>"""
    report = exoskel.convert(exoskel.load(text), None, to="mjcf", up="z")
    assert report.certificate.passed
    assert b"flexcomp" not in report.data
    assert any("flexcomp" in item.path for item in report.losses)
