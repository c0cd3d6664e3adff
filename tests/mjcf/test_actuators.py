"""Unusual actuators of MJCF: they act as in MuJoCo after a conversion, and nothing is lost without a report."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import exoskel
from tests.support.edits import edited

DEFAULTS = """<default class="k"><general gear="2" ctrlrange="-1 1" ctrllimited="true" damping="0.5"/>
<position kp="33" kv="2" forcerange="-3 3" gear="3"/></default>"""
CASES = {
    "no gear": '<motor joint="r" gear="0"/>',
    "negative gear": '<position joint="s" gear="-2" kp="30" ctrlrange="-1 3" forcerange="-5 20"/>',
    "two of one joint": '<motor joint="r" ctrlrange="-1 1"/><position joint="r" kp="10"/>',
    "unlimited": '<motor joint="r" ctrllimited="false" ctrlrange="-1 1" forcelimited="false" forcerange="-1 1"/>',
    "reversed range": '<motor joint="r" ctrlrange="1 -1"/>',
    "class": '<position class="k" joint="r"/>',
    "class of another kind": '<motor class="k" joint="r"/>',
    "no bias": '<general joint="r" biastype="none" gainprm="3" biasprm="1 2 3" user="1 2 3" group="3"/>',
    "damping ratio": '<position joint="s" kp="30" dampratio="1"/>',
    "range of the joint": '<position joint="r" kp="30" inheritrange="1"/>',
    "in the frame of the parent": '<motor jointinparent="r" gear="2"/>',
    "negative gain": '<general joint="s" gainprm="-3" biastype="affine" biasprm="0 3 0"/>',
    "constant": '<general joint="s" gainprm="0" biastype="affine" biasprm="2 0 0"/>',
    "damping": '<motor joint="r" gear="3" damping="2"/>',
    "armature": '<motor joint="s" gear="-2" armature="0.7"/>',
    "filter": '<general joint="r" dyntype="filter" dynprm="0.1" gainprm="3"/>',
    "integrator": '<general joint="r" dyntype="integrator" gainprm="3" actlimited="true" actrange="-1 1"/>',
    "integrated velocity": '<intvelocity joint="r" kp="3" actrange="-1 1"/>',
    "filtered servo": '<position joint="s" kp="30" kv="1" timeconst="0.05"/><motor joint="r"/>',
    "cylinder": '<cylinder joint="s" area="2" bias="0.1 -3 -0.2" timeconst="0.2"/>',
    "early": '<general joint="s" dyntype="filter" dynprm="0.1" gainprm="3" actearly="true"/>',
    "tendon": '<position tendon="t" kp="3" gear="2"/>',
    "names": '<motor name="r" joint="r"/><motor name="a/b" joint="s"/>',
}
PRESERVED = {
    "ball": '<motor joint="ball" gear="1 2 3"/>',
    "site": '<motor site="tip" gear="0 0 1 0 0 0"/>',
    "damper": '<damper joint="r" kv="3" ctrlrange="0 2"/>',
    "muscle": '<muscle joint="r" lengthrange="0.1 1"/>',
    "adhesion": '<adhesion body="b" gain="3" ctrlrange="0 1"/>',
}


def document(actuators: str) -> str:
    """Two bodies with a hinge and a slide, and one with a ball joint, which move."""
    count = actuators.count("/>")
    active = sum(word in actuators for word in ("dyntype", "timeconst", "intvelocity"))
    states = 'act="0.7"' if active else ""
    return f"""<mujoco><option><flag contact="disable"/></option><default>{DEFAULTS}</default><worldbody>
    <body name="a"><joint name="r" axis="0 1 0" range="-70 70"/><geom size=".1" pos=".3 0 0"/><site name="tip"/>
      <body name="b" pos=".6 0 0"><joint name="s" type="slide" axis="1 0 0" ref="0.2" stiffness="40"/>
      <geom size=".1"/></body></body>
    <body name="d" pos="0 2 0"><joint name="ball" type="ball"/><geom size=".1"/></body></worldbody>
    <tendon><fixed name="t"><joint joint="r" coef="1"/></fixed></tendon><actuator>{actuators}</actuator>
    <keyframe><key name="home" ctrl="{"2.5 " * count}" qpos=".1 .3 1 0 0 0" qvel="1 2 0 0 0" {states}/></keyframe></mujoco>"""


def dynamics(text: str) -> list[np.ndarray]:
    """Forces of actuators, passive forces and accelerations in the initial state."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return [np.array(one) for one in (data.qfrc_actuator, data.qfrc_passive, data.qacc)]


@pytest.mark.parametrize("case", CASES)
def test_actuators_act_as_in_mujoco(case: str) -> None:
    text = document(CASES[case])
    wanted = dynamics(text)
    report = exoskel.convert(edited(text), None, to="mjcf")
    through_skel = exoskel.convert(exoskel.convert(text, None, to="skel").data, None, to="mjcf")
    for found in (report, through_skel):
        assert found.certificate.passed
        for mine, theirs in zip(dynamics(found.data.decode()), wanted, strict=True):
            assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    assert exoskel.check(exoskel.load(report.data)) == []
    written = {item.path.rpartition("@")[2]: item.fate.value for item in report.items if "/actuator[" in item.path}
    assert {name: fate for name, fate in written.items() if name in ("user", "group")} == (
        {"user": "dropped", "group": "dropped"} if "user" in CASES[case] else {}
    )


@pytest.mark.parametrize("case", PRESERVED)
def test_other_actuators_are_kept_in_mjcf_and_reported(case: str) -> None:
    text = document(PRESERVED[case])
    scene = exoskel.load(text)
    assert [one.code for one in scene.diagnostics if one.code == "MJ402"] == ["MJ402"]
    for mine, theirs in zip(
        dynamics(exoskel.convert(edited(text), None, to="mjcf").data.decode()), dynamics(text), strict=True
    ):
        assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    lost = [item for item in exoskel.convert(text, None, to="skel").items if "/actuator[1]/" in item.path]
    assert {item.fate.value for item in lost} == {"dropped"}


@pytest.mark.parametrize(
    ("option", "flag", "count"),
    [('actuatorgroupdisable="3"', "", 1), ('actuatorgroupdisable="0 3"', "", 0), ("", 'actuation="disable"', 0)],
)
def test_disabled_actuators_are_left_out(option: str, flag: str, count: int) -> None:
    """Their damping acts all the same."""
    actuators = '<motor joint="r" group="3" gear="2" damping="3"/><motor joint="s"/><motor tendon="t" group="3"/>'
    text = document(actuators).replace("<option>", f"<option {option}>").replace("<flag ", f"<flag {flag} ")
    scene = exoskel.load(text)
    assert len(scene.world.actuators) == count
    assert [one.code for one in scene.diagnostics if one.code == "MJ402"] == ["MJ402"] * (3 - count if option else 0)
    found = dynamics(exoskel.convert(edited(text), None, to="mjcf").data.decode())
    for mine, theirs in zip(found, dynamics(text), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-9)
