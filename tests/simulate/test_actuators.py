"""Actuators, motors and commands: the table of section 7.5 of the SKEL reference, and ODE's motors."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Drive, Mimic, Pose, Simulation, World

H = 1e-3
INERTIA = 0.5
"""Of wheel and load about the axle, kg·m²."""


def axle(actuator: str = "force", velocity: float = 6.0, **options: object) -> exoskel.Joint:
    """One wheel on a fixed axle, without gravity; returns its joint, whose child's world is `_worlds`' last."""
    world = World(gravity=(0.0, 0.0, 0.0), time_step=H)
    model = world.add_model("m")
    model.add_body(
        "wheel", mass=1.0, moment=(0.1, 0.1, INERTIA - 1e-6) + (0.0,) * 3, joint="revolute", axes=((0, 0, 1),)
    )  # type: ignore[arg-type]
    model.add_body("load", mass=1.0, joint="weld", parent="wheel", moment=(1e-6,) * 3 + (0.0,) * 3)  # type: ignore[arg-type]
    joint = model.joints[0]
    joint.actuator = actuator  # type: ignore[assignment]
    joint.velocities = (velocity,)
    for name, value in options.items():
        setattr(joint.dofs[0] if hasattr(joint.dofs[0], name) else joint, name, value)
    _worlds.append(world)
    return joint


_worlds: list[World] = []


def after(steps: int, **commands: float) -> tuple[float, float]:
    """Angle and speed of the last wheel after some steps."""
    simulation = Simulation(_worlds[-1])
    if "command" in commands:
        simulation.commands = np.array([commands["command"]])
    simulation.step(steps)
    return float(simulation.positions[0]), float(simulation.velocities[0])


@pytest.mark.checklist("skel", [80])
@pytest.mark.parametrize(
    ("actuator", "angle", "speed"),
    [
        ("force", 0.6, 6.0),
        ("passive", 0.6, 6.0),
        ("servo", 0.0, 0.0),  # brakes at once
        ("acceleration", 0.6, 6.0),
        ("velocity", 6.0 * H, 0.0),
        ("locked", 0.0, 0.0),
    ],
)
def test_each_actuator_moves_as_documented_without_commands(actuator: str, angle: float, speed: float) -> None:
    axle(actuator)
    # A servo without bounds stops within two steps: 1e-4 of the speed is left after the first.
    found = after(100)
    assert found == (pytest.approx(angle, abs=1e-6), pytest.approx(speed, abs=1e-9))


def test_a_servo_stays_within_its_force_limits() -> None:
    axle("servo", force_limits=(-2.0, 2.0))
    _, speed = after(1000)
    assert speed == pytest.approx(6.0 - 2.0 / INERTIA, abs=1e-6)


def test_the_force_limits_of_a_servo_may_be_asymmetric() -> None:
    axle("servo", force_limits=(-1.0, 4.0))
    assert after(1000)[1] == pytest.approx(6.0 - 1.0 / INERTIA, abs=1e-5)
    axle("servo", velocity=-6.0, force_limits=(-1.0, 4.0))
    assert after(500)[1] == pytest.approx(-6.0 + 0.5 * 4.0 / INERTIA, abs=1e-5)


@pytest.mark.parametrize("actuator", ["servo", "velocity"])
def test_a_velocity_is_commanded(actuator: str) -> None:
    axle(actuator, velocity=0.0)
    angle, speed = after(1000, command=3.0)
    assert speed == pytest.approx(3.0, abs=1e-8) and angle == pytest.approx(3.0, abs=1e-5)


def test_an_acceleration_is_commanded() -> None:
    axle("acceleration")
    angle, speed = after(1000, command=0.5)
    assert speed == pytest.approx(6.5, abs=1e-9)
    assert angle == pytest.approx(6.0 + 0.5 * 0.5 * (1.0 + H), abs=1e-9)


def test_a_force_is_commanded_within_its_limits() -> None:
    axle(velocity=0.0)
    assert after(1000, command=2.0)[1] == pytest.approx(2.0 / INERTIA, abs=1e-5)
    axle(velocity=0.0, force_limits=(-inf, 1.0))
    assert after(1000, command=2.0)[1] == pytest.approx(1.0 / INERTIA, abs=1e-5)


@pytest.mark.parametrize("actuator", ["passive", "locked"])
def test_passive_and_locked_joints_ignore_commands(actuator: str) -> None:
    axle(actuator, velocity=0.0)
    assert after(100, command=5.0) == (pytest.approx(0.0, abs=1e-12), pytest.approx(0.0, abs=1e-12))


@pytest.mark.checklist("skel", [81])
def test_initial_forces_and_accelerations_act_for_one_step() -> None:
    axle(velocity=0.0, force=10.0)
    assert after(100)[1] == pytest.approx(10.0 * H / INERTIA, rel=1e-9)
    axle("acceleration", velocity=0.0, acceleration=10.0)
    assert after(100)[1] == pytest.approx(10.0 * H, rel=1e-9)


def test_a_prescribed_joint_ignores_loads_limits_and_friction() -> None:
    axle("acceleration", friction=100.0, position_limits=(-0.1, 0.1))
    assert after(1000) == (pytest.approx(6.0, abs=1e-8), pytest.approx(6.0, abs=1e-8))


def test_prescribed_joints_add_neither_energy_nor_inertia() -> None:
    axle("acceleration")
    simulation = Simulation(_worlds[-1])
    assert simulation.energy[0] == pytest.approx(0.5 * INERTIA * 36.0, rel=1e-9)
    assert simulation.mass_matrix() == pytest.approx(np.array([[INERTIA]]), rel=1e-9)


def test_ode_motors_reach_their_speed_within_their_force() -> None:
    axle(velocity=0.0, drives=(Drive(velocity=2.0, max_force=1.0),))
    assert after(500)[1] == pytest.approx(0.5 * 1.0 / INERTIA, abs=1e-5)
    assert after(3000)[1] == pytest.approx(2.0, abs=1e-8)
    assert Simulation(_worlds[-1]).commands.tolist() == [2.0]


@pytest.mark.parametrize("bounce", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_a_stop_bounces_as_stated(bounce: float) -> None:
    axle(velocity=1.0, position_limits=(-inf, 0.1), drives=(Drive(high_stop=0.1, bounce=bounce),))
    assert after(400)[1] == pytest.approx(-bounce, abs=0.12 if bounce else 0.03)


def test_a_mimic_joint_follows_its_source() -> None:
    world = World(gravity=(0.0, 0.0, 0.0), time_step=H)
    model = world.add_model("m")
    for name in ("a", "b"):
        model.add_body(name, joint="revolute", axes=((0, 0, 1),), moment=(1.0,) * 3 + (0.0,) * 3)  # type: ignore[arg-type]
    model.joints[0].velocities, model.joints[1].positions = (1.0,), (0.25,)
    model.joints[1].mimic = Mimic(model.joints[0].name, multiplier=-2.0, offset=0.25)
    simulation = Simulation(world)
    simulation.step(500)
    one, other = simulation.positions
    assert one > 0.05 and other == pytest.approx(0.25 - 2.0 * one, abs=1e-4)
    model.rename(model.joints[0], "leader")
    assert model.joints[1].mimic.joint == "leader"


def test_a_soft_suspension_yields_and_a_rigid_one_does_not() -> None:
    def travel(**suspension: float) -> float:
        world = World(gravity=(0.0, 0.0, -9.81), time_step=H)
        model = world.add_model("m")
        model.add_body("wheel", mass=1.0, moment=(0.1,) * 3 + (0.0,) * 3, joint="hinge2", axes=((0, 0, 1), (0, 1, 0)))  # type: ignore[arg-type]
        model.joints[0].drives = (Drive(**suspension), Drive())
        return float(exoskel.run(world, 3.0).body_poses[-1, 0, 2])

    stiffness, damping = 100.0, 20.0
    erp, cfm = H * stiffness / (H * stiffness + damping), 1.0 / (H * stiffness + damping)
    assert travel(suspension_erp=erp, suspension_cfm=cfm) == pytest.approx(-9.81 / stiffness, abs=1e-4)
    assert travel() == 0.0


def test_forces_and_torques_of_bodies_act_for_one_step() -> None:
    world = World(gravity=(0.0, 0.0, 0.0), time_step=H)
    body = world.add_model("m").add_body("b", mass=2.0, pose=Pose((1.0, 0.0, 0.0)))
    body.state = exoskel.BodyState(force=(4.0, 0.0, 0.0))
    motion = exoskel.run(world, 0.1)
    assert motion.velocities[-1, 3] == pytest.approx(4.0 / 2.0 * H, rel=1e-9)


@pytest.mark.parametrize("loop", [False, True])
def test_an_angular_motor_rotates_its_body_about_fixed_axes(loop: bool) -> None:
    world = World(gravity=(0.0, 0.0, -9.81), time_step=H)
    model = world.add_model("m")
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    drives = (
        Drive(velocity=0.0, max_force=50.0),
        Drive(velocity=0.0, max_force=50.0),
        Drive(velocity=0.7, max_force=2.0),
    )
    kind: dict[str, Any] = {"joint": "ball"} if loop else {"joint": "amotor", "axes": axes, "drives": drives}
    body = model.add_body("b", mass=1.0, com=(0.2, 0.0, 0.0), moment=(0.5, 0.5, 0.5, 0.0, 0.0, 0.0), **kind)
    if loop:
        model.add_joint("motor", "amotor", child=body, axes=axes, drives=drives)
    simulation = Simulation(world)
    simulation.step(100)
    inertia = 0.5 + 0.04 * loop  # about the ball joint; a body that nothing holds turns about its centre of mass
    assert simulation.jacobian(body)[2] @ simulation.velocities == pytest.approx(0.1 * 2.0 / inertia, rel=0.02)
    simulation.step(2000)
    spin = simulation.jacobian(body)[:3] @ simulation.velocities
    # Under the weight of 2 N·m it gives way by what the step leaves: torque times step over inertia.
    assert spin == pytest.approx(np.array([0.0, 0.0, 0.7]), abs=2.0 * H / 0.5 + 1e-3)


def test_a_soft_stop_yields_like_its_spring() -> None:
    """A weight on a slide rests on its stop: a spring of 200 N/m under 2 kg."""
    world = World(gravity=(0.0, 0.0, -9.81), time_step=H)
    model = world.add_model("m")
    model.add_body("b", mass=2.0, joint="prismatic", axes=((0, 0, 1),), moment=(1.0,) * 3 + (0.0,) * 3)  # type: ignore[arg-type]
    stiffness, damping = 200.0, 30.0
    erp, cfm = H * stiffness / (H * stiffness + damping), 1.0 / (H * stiffness + damping)
    model.joints[0].drives = (Drive(low_stop=-0.1, stop_erp=erp, stop_cfm=cfm),)
    model.joints[0].dofs[0].position_limits = (-0.1, inf)
    sag = 2.0 * 9.81 / stiffness
    assert exoskel.run(world, 5.0).positions[-1, 0] == pytest.approx(-0.1 - sag, rel=2e-3)
    model.joints[0].dofs[0].position_limits = (0.2, 0.2)  # both stops at one point: a spring both ways
    assert exoskel.run(world, 5.0).positions[-1, 0] == pytest.approx(0.2 - sag, rel=2e-3)
