"""MuJoCo 4 has actuators without controls: an actuator and its control have different numbers."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import exoskel
from tests.support.edits import edited

pytestmark = pytest.mark.skipif(
    mujoco.__version__.startswith("3.15"), reason="MuJoCo 3.15 refuses keyframes of actuators without controls"
)


def dc_motor(name: str) -> str:
    return f'<dcmotor name="{name}" joint="s" input="none" motorconst="0.1" resistance="2"/>'


def document(keys: str = "") -> str:
    return f"""<mujoco><worldbody><body name="a"><joint name="r" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
      <body name="b" pos=".6 0 0"><joint name="s" type="slide" axis="1 0 0"/><geom size=".1"/></body></body></worldbody>
      <actuator>{dc_motor("dc")}<motor name="m" joint="r" gear="2" ctrlrange="-3 3"/>{dc_motor("dc2")}
      <muscle name="mu" joint="r" lengthrange="0.1 1"/><position name="p" joint="s" kp="5" ctrlrange="-4 4"/></actuator>
      <keyframe>{keys}</keyframe></mujoco>"""


KEYS = '<key name="home" ctrl="0.5 0.7 0.9"/><key name="rest" ctrl="-1 0.25 2"/>'


def test_controls_are_those_of_their_actuators() -> None:
    scene = exoskel.load(document(KEYS))
    found = {one.name: (one.control, one.control_range) for one in scene.world.actuators}
    assert found == {"m": (0.5, (-3.0, 3.0)), "p": (0.9, (-4.0, 4.0))}
    assert [dict(one.controls) for one in scene.world.keyframes] == [{"m": 0.5, "p": 0.9}, {"m": -1.0, "p": 2.0}]


@pytest.mark.parametrize("keys", ["", KEYS], ids=["no keyframe", "keyframes"])
def test_new_documents_state_the_controls_of_all_actuators(keys: str) -> None:
    before = mujoco.MjModel.from_xml_string(document(keys))
    report = exoskel.convert(edited(document(keys)), None, to="mjcf")
    assert report.certificate.passed
    after = mujoco.MjModel.from_xml_string(report.data.decode())
    names = [[model.actuator(number).name for number in range(5)] for model in (before, after)]
    assert names[0] == names[1]
    assert after.key_ctrl[after.nkey - before.nkey :].tolist() == before.key_ctrl.tolist()
    if keys:
        assert after.key_ctrl[0].tolist() == before.key_ctrl[0].tolist()


def test_the_engine_applies_the_controls_of_the_scene() -> None:
    scene = exoskel.load(document(KEYS))
    made = exoskel.to_mujoco(scene)
    data = made.data()
    mujoco.mj_forward(made.model, data)
    simulation = exoskel.Simulation(scene)
    assert simulation.engine.actuator_controls.tolist() == [0.5, 0.9]
    assert np.array(data.qfrc_actuator) == pytest.approx([1.0, 4.5])


SEVERAL = """<mujoco><worldbody><body name="b"><joint name="j" type="ball"/><geom size=".1"/>
<body name="c"><joint name="k"/><geom size=".1"/></body></body></worldbody>
<actuator><orientation name="o" joint="j" kp="3"/><motor name="m" joint="k" gear="2" ctrlrange="-3 3"/>
<pid name="p" joint="k" kp="3"/></actuator><keyframe><key name="x" ctrl="1 2 3 0.5 5 6"/></keyframe></mujoco>"""


def test_actuators_after_those_with_several_controls_and_outputs_are_read() -> None:
    scene = exoskel.load(SEVERAL)
    assert [(one.name, one.gear, one.control, one.control_range) for one in scene.world.actuators] == [
        ("m", 2.0, 0.5, (-3.0, 3.0))
    ]
    report = exoskel.convert(edited(SEVERAL), None, to="mjcf")
    assert report.certificate.passed, report.certificate
    before, after = (mujoco.MjModel.from_xml_string(one) for one in (SEVERAL, report.data.decode()))
    assert after.key_ctrl.tolist() == [*before.key_ctrl.tolist(), *before.key_ctrl.tolist()]
    assert after.actuator_gear.tolist() == before.actuator_gear.tolist()
