"""Joints of another kind, and joints in place of removed ones, replace the joints in the author's document."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.fates import Fate

DOCUMENT = """<mujoco>
  <size nuser_jnt="1"/><compiler angle="degree"/>
  <default><joint damping="0.3" solimplimit="0.8 0.9 0.01"/></default>
  <worldbody>
    <body name="a" pos="0 0 1">
      <freejoint name="f"/><geom size="0.1"/>
      <body name="b" pos="0 0 1">
        <!-- the hinge -->
        <joint name="j" axis="0 1 0" range="-90 90" solreflimit="0.03 1" user="3" group="2" stiffness="2 1"/> <!-- here -->
        <geom size="0.1"/>
        <body name="c" pos="0 0 1"><joint name="k" type="slide" axis="0 1 0"/><geom size="0.1"/></body>
      </body>
    </body>
    <body name="d" pos="3 0 0"><joint name="l" axis="0 1 0"/><geom size="0.1"/></body>
  </worldbody>
  <tendon><fixed name="t"><joint joint="j" coef="1"/><joint joint="k" coef="1"/></fixed></tendon>
  <equality><joint name="e" joint1="j" joint2="l" polycoef="0 1 1 0 0"/></equality>
  <actuator>
    <muscle name="mus" joint="j" lengthrange="0 1"/><motor name="m" joint="k"/>
    <intvelocity name="i" joint="j" kp="2" actrange="-1 1"/>
  </actuator>
  <sensor>
    <jointpos name="s" joint="j"/><jointlimitpos name="lim" joint="j"/><tendonpos name="tp" tendon="t"/>
    <framepos name="fp" objtype="body" objname="b"/><actuatorfrc name="af" actuator="mus"/>
  </sensor>
  <custom><tuple name="u"><element objtype="joint" objname="j"/><element objtype="body" objname="b"/></tuple></custom>
  <keyframe><key name="home" qpos="1 2 3 1 0 0 0  0.5 0.6 0.7" qvel="1 2 3 4 5 6  7 8 9" act="0.1 0.2" ctrl="1 2 3"/></keyframe>
</mujoco>
"""
HINGE = ("mus", "i", "s", "lim", "t", "e", "tp", "af")
"""What refers to the hinge, directly or not."""


def _names(model: mujoco.MjModel) -> set[str]:
    return {one.decode() for one in model.names.split(b"\0") if one}


def _convert(scene: exoskel.Scene) -> tuple[exoskel.Report, mujoco.MjModel]:
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b"<!-- the hinge -->" in report.data
    assert b"<!-- here -->" in report.data
    assert b"nuser_jnt" in report.data
    return report, mujoco.MjModel.from_xml_string(report.data.decode())


def _joint(scene: exoskel.Scene, name: str) -> exoskel.Joint:
    return next(joint for joint in scene.world.joints() if joint.name == name)


def test_what_refers_to_a_joint_of_another_kind_stays_if_it_fits() -> None:
    scene = exoskel.load(DOCUMENT)
    _joint(scene, "j").kind = "prismatic"
    report, model = _convert(scene)
    assert set(HINGE) <= _names(model)
    assert report.losses == []
    joint = model.joint("j")
    assert joint.type[0] == mujoco.mjtJoint.mjJNT_SLIDE
    assert joint.user.tolist() == [3]
    assert joint.group[0] == 2
    assert joint.range == pytest.approx(np.radians((-90, 90)))
    assert model.jnt_solref[joint.id].tolist() == [0.03, 1]
    assert model.jnt_solimp[joint.id][:3].tolist() == [0.8, 0.9, 0.01]
    assert model.jnt_stiffness[joint.id] == 2
    assert model.jnt_stiffnesspoly[joint.id][0] == 1
    assert model.key("home").qpos.tolist() == [1, 2, 3, 1, 0, 0, 0, 0.5, 0.6, 0.7]
    assert model.key("home").act.tolist() == [0.1, 0.2]
    edited = [item for item in report.items if "replaced by the joint" in item.why]
    assert {item.fate for item in edited} == {Fate.LOWERED}
    assert {item.path.rpartition("joint")[2] for item in edited} >= {"[@name='j']", "[@name='j']/@range"}


def test_what_does_not_fit_to_a_joint_is_removed_and_reported() -> None:
    scene = exoskel.load(DOCUMENT)
    joint = _joint(scene, "j")
    joint.kind, joint.axes = "ball", ()
    report, model = _convert(scene)
    names = _names(model)
    assert not names & set(HINGE)
    assert {"m", "fp", "u", "home"} <= names
    key = model.key("home")
    assert key.qpos.tolist() == [1, 2, 3, 1, 0, 0, 0, 1, 0, 0, 0, 0.6, 0.7]
    assert key.qvel.tolist() == [1, 2, 3, 4, 5, 6, 0, 0, 0, 8, 9]
    assert key.ctrl.tolist() == [2]
    assert len(key.act) == 0
    lost = {item.path.rpartition("/")[2] for item in report.losses}
    assert {"muscle[@name='mus']", "jointlimitpos[@name='lim']", "fixed[@name='t']", "joint[@name='e']"} <= lost
    assert "@stiffness" in lost


def test_saving_reports_what_is_removed_with_a_joint(tmp_path: Path) -> None:
    (tmp_path / "robot.xml").write_text(DOCUMENT)
    scene = exoskel.load(tmp_path / "robot.xml")
    joint = _joint(scene, "j")
    joint.kind, joint.axes = "ball", ()
    exoskel.save(scene)
    reported = [one for one in scene.diagnostics if one.code == "FM204"]
    assert reported
    assert "<!-- the hinge -->" in (tmp_path / "robot.xml").read_text()


def test_keyframes_follow_joints_with_other_numbers_of_coordinates() -> None:
    scene = exoskel.load(DOCUMENT)
    free = _joint(scene, "f")
    free.kind, free.axes = "revolute", ((1, 0, 0),)
    report, model = _convert(scene)
    key = model.key("home")
    assert len(key.qpos) == 4
    assert key.qpos[1:].tolist() == [0.5, 0.6, 0.7]
    assert key.qvel[1:].tolist() == [7, 8, 9]
    assert set(HINGE) <= _names(model)
    assert report.losses == []


def test_joints_of_included_documents_are_replaced(tmp_path: Path) -> None:
    start, end = DOCUMENT.index('    <body name="a"'), DOCUMENT.index('    <body name="d"')
    (tmp_path / "part.xml").write_text(f"<mujocoinclude>{DOCUMENT[start:end]}</mujocoinclude>")
    (tmp_path / "robot.xml").write_text(DOCUMENT[:start] + '<include file="part.xml"/>' + DOCUMENT[end:])
    scene = exoskel.load(tmp_path / "robot.xml")
    _joint(scene, "j").kind = "prismatic"
    report, model = _convert(scene)
    assert model.joint("j").type[0] == mujoco.mjtJoint.mjJNT_SLIDE
    assert set(HINGE) <= _names(model)
    assert report.losses == []


def test_documents_of_ours_keep_their_names() -> None:
    world = exoskel.World(name="w")
    for name in ("one", "two"):
        model = world.add_model(name)
        model.add_body("base", joint="revolute", axis=(1, 0, 0), mass=1.0)
        model.add_body("tip", parent="base", joint="universal", mass=1.0, axes=((1, 0, 0), (0, 1, 0)))
    text = exoskel.convert(exoskel.Scene(worlds=[world]), None, to="mjcf").data
    scene = exoskel.load(text, format="mjcf")
    one = scene.world.model("one")
    one.joint("base_joint").kind = "prismatic"
    one.joint("tip_joint").kind, one.joint("tip_joint").axes = "revolute", ((0, 0, 1),)
    two = scene.world.model("two")
    two.joint("base_joint").kind, two.joint("base_joint").axes = "universal", ((1, 0, 0), (0, 1, 0))
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    again = exoskel.load(report.data, format="mjcf").world
    kinds = {f"{model.name}/{joint.name}": joint.kind for model in again.models for joint in model.joints}
    assert kinds == {
        "one/base_joint": "prismatic",
        "one/tip_joint": "revolute",
        "two/base_joint": "universal",
        "two/tip_joint": "universal",
    }
