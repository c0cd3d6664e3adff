"""Actuators with activations: states between the control and the force."""

from __future__ import annotations

import re
from typing import Any

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel import Activation, Actuator, ExoskelError, Simulation

STEP = 1e-4
ACTUATORS = {
    "filter": '<general name="a" joint="turn" dyntype="filter" dynprm="0.05" gainprm="3" ctrlrange="-1 1"/>',
    "exact filter": '<position name="a" joint="turn" kp="30" kv="2" timeconst="0.05"/>',
    "integrator": '<intvelocity name="a" joint="turn" kp="20" kv="1" actrange="-0.4 0.6"/>',
    "early": '<general name="a" joint="turn" dyntype="filter" dynprm="0.1" gainprm="3" actearly="true"/>',
    "cylinder": '<cylinder name="a" joint="turn" area="2" bias="0.1 -3 -0.2" timeconst="0.2"/>',
    "tendon": '<general name="a" tendon="t" dyntype="filter" dynprm="0.05" gainprm="3"/>',
}


def document(actuator: str) -> str:
    return f"""<mujoco><option timestep="{STEP}"/><worldbody>
    <body name="arm"><joint name="turn" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="1"/>
      <body name="fore" pos="0.3 0 0"><joint name="elbow" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="0.5" contype="0"/></body></body></worldbody>
    <tendon><fixed name="t"><joint joint="turn" coef="2"/></fixed></tendon>
    <actuator><motor name="m" joint="elbow"/>{actuator}</actuator>
    <keyframe><key qpos="0.1 0.2" ctrl="0.1 1.5" act="0.3"/></keyframe></mujoco>"""


def motion_in_mujoco(text: str, steps: int, control: float) -> list[float]:
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for number in range(steps):
        if number == steps // 2:
            data.ctrl[1] = control
        mujoco.mj_step(model, data)
    found: list[float] = data.qpos.tolist()
    return found


@pytest.mark.parametrize("case", ACTUATORS)
def test_activations_move_a_scene_as_in_mujoco(case: str) -> None:
    text = document(ACTUATORS[case])
    scene = exoskel.load(text)
    assert [one.code for one in scene.diagnostics] == []
    simulation = Simulation(scene, engine="mujoco")
    for _ in range(2):  # a reset begins again
        assert dict(simulation.controls) == pytest.approx({"m": 0.1, "a": 1.0 if case == "filter" else 1.5})
        simulation.step(1500)
        simulation.controls["a"] = -0.5
        simulation.step(1500)
        assert simulation.positions.tolist() == pytest.approx(motion_in_mujoco(text, 3000, -0.5), abs=2e-3)
        simulation.reset()


def test_states_contain_activations() -> None:
    simulation = Simulation(exoskel.load(document(ACTUATORS["integrator"])), engine="mujoco")
    simulation.step(100)
    before = simulation.state
    simulation.step(500)
    wanted = simulation.positions.tolist()
    simulation.state = before
    simulation.step(500)
    assert simulation.positions.tolist() == wanted


def test_rollouts_begin_with_the_initial_activations() -> None:
    scene = exoskel.load(document(ACTUATORS["integrator"]))
    motion = exoskel.rollout(scene, 3, steps=500, controls={"a": np.array([0.0, 0.5, 1.5])[:, None]})
    simulation = Simulation(scene, engine="mujoco")
    simulation.step(500)
    final: Any = motion.positions[:, -1]
    assert final[2].tolist() == pytest.approx(simulation.positions.tolist(), abs=1e-9)
    assert abs(final[0, 0] - final[2, 0]) > 1e-4


def test_inverse_dynamics_use_the_activation() -> None:
    text = re.sub("<tendon>.*</tendon>", "", document(ACTUATORS["exact filter"]))
    simulation = Simulation(exoskel.load(text), engine="mujoco")
    assert np.abs(simulation.inverse_dynamics(simulation.accelerations)).max() < 1e-2


def test_activations_are_reported_where_they_are_lost() -> None:
    def reported(text: str) -> list[str]:
        found = exoskel.preflight(exoskel.load(text), engine="dart")
        return [one.message for one in found if one.code == "EN021" and "'a'" in one.message]

    filtered = document('<position name="a" joint="turn" kp="30" timeconst="0.05"/>')
    assert any("acts at once" in one for one in reported(filtered))
    assert any("integrates its control" in one for one in reported(document(ACTUATORS["integrator"])))
    for text, fate in ((filtered, "dropped"), (document(ACTUATORS["exact filter"]), "dropped")):
        report = exoskel.convert(text, None, to="sdf")
        (item,) = [one for one in report.items if one.path.endswith("@timeconst")]
        assert (item.fate.value, item.loss) == (fate, True) and "activation" in item.why
    report = exoskel.convert(document(ACTUATORS["integrator"]), None, to="urdf")
    (item,) = [one for one in report.items if one.path.endswith("@kp") and "intvelocity" in one.path]
    assert item.fate.value == "dropped" and "integrates its control 1.5" in item.why


def test_an_integrator_without_a_control_holds_its_activation() -> None:
    held = Actuator("a", "m/j", kind="position", gain=5.0, activation=Activation("integrator", initial=0.4)).settled()
    assert held is not None and (held.control, held.activation) == (0.4, None)
    limited = Activation("filter", 0.1, (-0.2, 0.2))
    settled = Actuator("a", "m/j", control=1.0, control_range=(-3, 3), activation=limited).settled()
    assert settled is not None and (settled.control, settled.control_range) == (0.2, (-0.2, 0.2))


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"kind": "muscle"}, "is 'muscle'"),
        ({"kind": "integrator", "time_constant": 0.5}, "must not have a time constant"),
        ({"time_constant": -1.0}, "negative time constant"),
    ],
)
def test_wrong_activations_are_refused(values: dict[str, Any], part: str) -> None:
    with pytest.raises(ExoskelError, match=part):
        Activation(**values)


def test_activations_are_embedded_and_saved_in_keyframes() -> None:
    scene = exoskel.load(document(ACTUATORS["integrator"]))
    scene.world.add_keyframe("start")
    kept = exoskel.load(exoskel.convert(scene, None, to="skel").data)
    assert kept.world.actuators == scene.world.actuators
    assert kept.world.keyframe("start").activations == (("a", 0.3),)
    kept.world.apply_keyframe(exoskel.Keyframe("other", activations=(("a", -0.2),)))
    again = exoskel.load(exoskel.convert(kept, None, to="mjcf").data)
    (one,) = [one for one in again.world.actuators if one.name == "a"]
    assert one.activation == Activation("integrator", range=(-0.4, 0.6), initial=-0.2)


def test_edited_activations_are_written_into_the_document() -> None:
    scene = exoskel.load(document(ACTUATORS["integrator"]))
    scene.world.apply_keyframe(exoskel.Keyframe("other", activations=(("a", 0.25),), controls=(("a", 1.0),)))
    report = exoskel.convert(scene, None, to="mjcf")
    assert b'act="0.25"' in report.data and report.certificate.passed
    (one,) = [one for one in exoskel.load(report.data).world.actuators if one.name == "a"]
    assert one.activation is not None and one.activation.initial == 0.25
