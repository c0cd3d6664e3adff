"""Actuators of a world: they round-trip, act as in MuJoCo, and are lowered where there are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exoskel
from exoskel import Actuator
from exoskel.scene.lowering.actuators import lower_actuators

JOINTS = ("r", "s", "u_1", "u_2")
numbers = st.floats(-5.0, 5.0).map(lambda value: round(value, 3))
gains = st.floats(0.5, 50.0).map(lambda value: round(value, 3))


@st.composite
def ranges(draw: st.DrawFn, name: str) -> str:
    if not draw(st.booleans()):
        return ""
    low = draw(st.floats(-9.0, 4.0).map(lambda value: round(value, 2)))
    return f'{name}="{low} {low + 5.0}"'


@st.composite
def elements(draw: st.DrawFn) -> str:
    """An actuator element of MJCF."""
    kind = draw(st.sampled_from(["motor", "position", "velocity", "general"]))
    joint, gear = draw(st.sampled_from(JOINTS)), draw(gains) / 10.0
    given_ranges = f"{draw(ranges('ctrlrange'))} {draw(ranges('forcerange'))}"
    values = {
        "motor": "",
        "position": f'kp="{draw(gains)}" kv="{draw(gains)}"',
        "velocity": f'kv="{draw(gains)}"',
        "general": f'gainprm="{draw(numbers)}" biastype="affine" '
        f'biasprm="{draw(numbers)} {-draw(gains)} {-draw(gains)}"',
    }[kind]
    return f'<{kind} joint="{joint}" gear="{gear:g}" {values} {given_ranges}/>'


def document(actuators: str, controls: str = "", joint: str = "") -> str:
    """Three bodies with four coordinates, and actuators."""
    key = f'<keyframe><key name="home" ctrl="{controls}"/></keyframe>' if controls else ""
    return f"""<mujoco><option timestep="0.002" integrator="discrete"><flag contact="disable"/></option><worldbody>
    <body name="a"><joint name="r" axis="0 1 0" {joint}/><geom size=".1" pos=".3 0 0"/>
      <body name="b" pos=".6 0 0"><joint name="s" type="slide" axis="1 0 0" ref="0.2" stiffness="40"/><geom size=".1"/>
        <body name="c" pos=".5 0 0"><joint name="u_1" axis="1 0 0"/><joint name="u_2" axis="0 1 0" damping=".3"/>
        <geom size=".1" pos=".1 .2 0"/></body></body></body></worldbody>
    <actuator>{actuators}</actuator>{key}</mujoco>"""


def mujoco_states(text: str, controls: list[float], steps: int) -> np.ndarray:
    """The positions, relative to the reference pose, and velocities that MuJoCo computes from a document."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    data.ctrl[:] = controls
    mujoco.mj_step(model, data, steps)
    return np.array([data.qpos - model.qpos0, data.qvel])


@settings(max_examples=6, deadline=None)
@given(st.lists(elements(), min_size=1, max_size=5), st.lists(numbers, min_size=5, max_size=5))
def test_random_actuators_round_trip_and_move_as_in_mujoco(parts: list[str], controls: list[float]) -> None:
    controls = controls[: len(parts)]
    text = document("".join(parts), " ".join(map(str, controls)), 'actuatorfrcrange="-30 20"')
    scene = exoskel.load(text)
    assert [one.control for one in scene.world.actuators] == controls
    report = exoskel.convert(text, None, to="mjcf")
    assert report.certificate.passed
    assert not [item for item in report.items if "/actuator[" in item.path and item.fate != "exact"]
    again = exoskel.load(report.data).world
    mine, theirs = (np.array([one.feedback for one in world.actuators]) for world in (scene.world, again))
    assert theirs == pytest.approx(mine)
    assert [one.kind for one in again.actuators] == [one.kind for one in scene.world.actuators]
    simulation = exoskel.Simulation(scene)
    simulation.step(50)
    wanted = mujoco_states(text, controls, 50)
    assert np.array([simulation.positions, simulation.velocities]) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@settings(max_examples=6, deadline=None)
@given(st.lists(elements(), min_size=1, max_size=4))
def test_random_actuators_are_embedded(parts: list[str]) -> None:
    world = exoskel.load(document("".join(parts))).world
    for format in ("skel", "xode"):
        report = exoskel.convert(world, None, to=format)
        assert report.certificate.passed
        back = exoskel.load(report.data).world
        pairs = zip(back.actuators, world.actuators, strict=True)
        assert all((a.name, a.joint, a.kind) == (b.name, b.joint, b.kind) for a, b in pairs)
        assert not exoskel.diff(world, back)


@pytest.mark.parametrize(
    "values", ["x", ["a"], [10**400], [None, None], {"push": 10**400}, {"push": "x"}, {"push": [1]}]
)
def test_wrong_controls_are_refused(values: Any) -> None:
    simulation = exoskel.Simulation(exoskel.load(document('<motor name="push" joint="s"/>', "0")))
    with pytest.raises(exoskel.ExoskelError, match=r"must (be|have)"):
        simulation.controls = values
    assert dict(simulation.controls) == {"push": 0.0}


def test_controls_are_set_by_name() -> None:
    text = document(
        '<position name="servo" joint="r" kp="50" kv="5" ctrlrange="-1 1"/><motor name="push" joint="s"/>', "0.3 0"
    )
    simulation = exoskel.Simulation(exoskel.load(text))
    assert dict(simulation.controls) == {"servo": 0.3, "push": 0.0}
    simulation.controls["servo"] = 4.0
    simulation.controls = {"push": 2.0}
    assert dict(simulation.controls) == {"servo": 1.0, "push": 2.0}  # within its range
    state = simulation.state
    simulation.step(100)
    wanted = mujoco_states(text, [4.0, 2.0], 100)
    assert np.array([simulation.positions, simulation.velocities]) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    simulation.state = state
    assert simulation.controls["push"] == 2.0
    simulation.reset()
    assert dict(simulation.controls) == {"servo": 0.3, "push": 0.0}
    simulation.controls = [0.1, -1.0]
    assert dict(simulation.controls) == pytest.approx({"servo": 0.1, "push": -1.0})
    with pytest.raises(exoskel.UnknownNameError, match="has no actuator called 'serv'; did you mean 'servo'"):
        simulation.controls["serv"] = 1.0
    with pytest.raises(exoskel.ExoskelError, match="must be finite"):
        simulation.controls["servo"] = float("nan")


def test_impulse_steps_treat_feedback_as_springs_and_dampers() -> None:
    """With joint friction, Exoskel makes the steps itself; an actuator then acts as the spring that it equals."""
    world = exoskel.load(document('<position joint="r" kp="500" kv="3"/>', "0.4")).world
    joint = world.find("joint:r", exoskel.Joint)[0]
    joint.dofs[0].friction = 0.5
    spring = lower_actuators(world).world
    one, other = exoskel.Simulation(world), exoskel.Simulation(spring)
    one.step(300)
    other.step(300)
    assert np.array(one.positions) == pytest.approx(np.array(other.positions), abs=1e-9)


def test_inverse_dynamics_include_actuators() -> None:
    world = exoskel.load(document('<position joint="r" kp="50" kv="3" gear="2"/>', "0.4")).world
    one, other = exoskel.Simulation(world), exoskel.Simulation(lower_actuators(world).world)
    wanted = [1.0, -2.0, 0.5, 0.0]
    assert one.inverse_dynamics(wanted) == pytest.approx(other.inverse_dynamics(wanted))


def pendulum() -> exoskel.World:
    return exoskel.load("dart://sample/skel/pendulum.skel").world


def test_actuators_are_built_renamed_merged_and_removed() -> None:
    world = pendulum()
    servo = world.add_actuator("servo", "hinge", kind="position", gain=20.0, damping=1.0, force_range=(-5, 5))
    assert servo.joint == "pendulum/hinge"
    assert world.actuator("servo") is servo
    assert servo.force(control=0.5, position=0.1, velocity=0.2) == 5.0
    world.rename("joint:hinge", "knee")
    assert world.actuator("servo").joint == "pendulum/knee"
    merged = exoskel.merge(world, world).world
    assert [(one.name, one.joint) for one in merged.actuators] == [
        ("servo", "pendulum/knee"),
        ("servo(1)", "pendulum(1)/knee"),
    ]
    world.remove("pendulum")
    assert world.actuators == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "muscle"}, "must be motor, position, velocity or general"),
        ({"gear": float("nan")}, "must be finite"),
        ({"force_range": (2.0, 1.0)}, "lower limit must not exceed"),
        ({"damping": 1.0}, "has no effect"),
        ({"kind": "position", "bias": (1.0, 0.0, 0.0)}, "has no effect"),
        ({"coordinate": 2}, "must drive 0"),
    ],
)
def test_invalid_actuators_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=message):
        pendulum().add_actuator("a", "hinge", **options)  # type: ignore[arg-type]


def test_names_of_actuators_and_joints_are_checked() -> None:
    world = pendulum()
    world.add_actuator("a", "hinge")
    with pytest.raises(exoskel.TakenNameError):
        world.add_actuator("a", "hinge")
    with pytest.raises(exoskel.UnknownNameError):
        world.add_actuator("b", "hing")
    world.actuators.append(Actuator("a", "pendulum/nothing", 0))
    assert {(d.code, d.severity) for d in exoskel.check(world)} == {("SC102", "error"), ("SC116", "warning")}
    world.actuators[:] = [Actuator("a", "pendulum/hinge", 4)]
    (found,) = exoskel.check(world)
    assert found.code == "SC116"
    assert "actuator 'a' refers to coordinate 4 of joint 'pendulum/hinge', which has 1" in found.message
    world.actuators[:] = [Actuator("a", "pendulum/hinge", -1)]
    assert [d.code for d in exoskel.check(world)] == ["SC101"]


def test_keyframes_have_controls(tmp_path: Path) -> None:
    world = pendulum()
    world.add_actuator("servo", "hinge", kind="position", gain=20.0, control=0.5)
    world.add_keyframe("raised")
    world.actuators[0] = Actuator("servo", "pendulum/hinge", kind="position", gain=20.0)
    exoskel.save(world, tmp_path / "p.xml")
    again = exoskel.load(tmp_path / "p.xml").world
    assert again.keyframe("raised").controls == (("servo", 0.5),)
    assert again.actuator("servo").control == 0.0
    again.apply_keyframe("raised")
    assert again.actuator("servo").control == 0.5


def test_controls_of_keyframes_follow_their_actuators() -> None:
    world = pendulum()
    world.add_actuator("servo", "hinge", kind="position", gain=20.0, control=0.5)
    world.add_keyframe("raised")
    merged = exoskel.merge(world, world).world
    assert [one.controls for one in merged.keyframes] == [(("servo", 0.5),), (("servo(1)", 0.5),)]
    assert exoskel.check(merged) == []
    merged.remove("pendulum")
    assert [one.controls for one in merged.keyframes] == [(), (("servo(1)", 0.5),)]
    assert exoskel.check(merged) == []
    merged.actuators.clear()
    (found,) = exoskel.check(merged)
    assert found.code == "SC116"
    assert found.message == "keyframe 'raised(1)' refers to 'servo(1)', which is not in the world; it is ignored"


def test_references_to_actuators_and_renamed_joints_are_followed() -> None:
    text = document('<position name="p" joint="r" kp="3"/>').replace(
        "</mujoco>", '<sensor><actuatorfrc name="f" actuator="p"/></sensor></mujoco>'
    )
    scene = exoskel.load(text)
    scene.world.rename("joint:r", "hip")
    data = exoskel.convert(scene, None, to="mjcf").data
    model = mujoco.MjModel.from_xml_string(data.decode())
    assert model.sensor("f").objid == model.actuator("p").id
    assert model.joint(model.actuator("p").trnid[0]).name == "hip"


@pytest.mark.parametrize("engine", ["dart", "ode"])
def test_other_engines_report_what_actuators_become(engine: str) -> None:
    world = pendulum()
    world.add_actuator("servo", "hinge", kind="position", gain=20.0, force_range=(-5, 5))
    world.add_actuator("push", "hinge", control_range=(-1, 1))
    found = [d.message for d in exoskel.preflight(world, engine) if d.code == "EN021"]
    assert len(found) == 2
    assert not [d for d in exoskel.preflight(world) if d.code == "EN021"]


def test_saving_in_place_reports_how_other_programs_read_the_actuators(tmp_path: Path) -> None:
    file = tmp_path / "arm.skel"
    exoskel.convert("dart://sample/skel/cart_pole.skel", file)
    scene = exoskel.load(file)
    world = scene.world
    world.add_actuator("motor", "slide", control_range=(-1, 1))
    world.add_actuator("pusher", "slide", control=0.5)
    world.add_actuator("servo", "hinge", kind="position", gain=5, damping=1, control=0.1)
    world.add_actuator("odd", "hinge", kind="general", bias=(0, 1, 0))
    for _ in range(2):
        exoskel.save(scene)
        assert [d.message for d in scene.diagnostics if d.code == "FM203"] == [
            "other programs read the actuator 'motor' as force limits of its joint",
            "in other programs, the control 0.5 of 'pusher' acts in the first step",
            "other programs read the actuator 'servo' as a spring and damper, with its control fixed at 0.1",
            "other programs do not read the actuator 'odd'",
        ]
        world.time_step *= 2
    world.actuators.clear()
    exoskel.save(scene)
    assert not [d for d in scene.diagnostics if d.code == "FM203"]
