"""Motion against what can be worked out by hand."""

from __future__ import annotations

from math import cos, exp, pi, sin, sqrt

import numpy as np
import pytest

import exoskel


def world(step: float = 1e-3, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> exoskel.World:
    return exoskel.World(gravity=gravity, time_step=step)


def ball(one: exoskel.World, **options: object) -> exoskel.Model:
    model = one.add_model("m")
    model.add_body("b", mass=2.0, moment=(0.1, 0.2, 0.3, 0.0, 0.0, 0.0), **options)  # type: ignore[arg-type]
    return model


def test_a_body_falls_as_far_as_gravity_moves_it() -> None:
    one = world()
    ball(one, pose=exoskel.Pose((0.0, 0.0, 100.0)))
    motion = exoskel.run(one, 1.0)
    # A step of the scheme is off by half a step's worth of speed.
    assert motion.body_poses[-1, 0, 2] == pytest.approx(100.0 - 9.81 / 2 * 1.0 * (1.0 + 1e-3), abs=1e-9)
    assert motion.velocities[-1, 5] == pytest.approx(-9.81, abs=1e-9)


def test_a_pendulum_swings_with_its_known_period() -> None:
    one = world(1e-4)
    model = one.add_model("m")
    model.add_body(
        "bob", mass=1.0, moment=(1e-9, 1e-9, 1e-9, 0.0, 0.0, 0.0), pose=exoskel.Pose((0.0, 0.0, -1.0)),
        joint="revolute", axes=((0, 1, 0),), positions=(0.01,),
    )  # fmt: skip
    model.joints[0].pose = exoskel.Pose((0.0, 0.0, 1.0))
    motion = exoskel.run(one, 3.0, every=1e-4)
    angle = motion.positions[:, 0]
    crossings = motion.time[1:][(angle[:-1] > 0) & (angle[1:] <= 0)]
    assert np.diff(crossings)[0] == pytest.approx(2 * pi / sqrt(9.81), rel=2e-4)


def test_a_damped_spring_follows_the_exact_solution() -> None:
    one = world(1e-5, (0.0, 0.0, 0.0))
    model = ball(one, joint="prismatic", axes=((1, 0, 0),), positions=(1.0,))
    dof = model.joints[0].dofs[0]
    dof.stiffness, dof.damping = 50.0, 2.0
    motion = exoskel.run(one, 1.0)
    rate, frequency = 2.0 / (2 * 2.0), sqrt(50.0 / 2.0 - 0.25)
    wanted = exp(-rate) * (cos(frequency) + rate / frequency * sin(frequency))
    assert motion.positions[-1, 0] == pytest.approx(wanted, abs=1e-4)


def test_torque_free_rotation_conserves_energy_and_momentum() -> None:
    one = world(1e-3, (0.0, 0.0, 0.0))
    ball(one, velocities=(0.01, 5.0, 0.02, 0.0, 0.0, 0.0))
    motion = exoskel.run(one, 2.0, integrator="rk4")
    assert motion.energy[-1, 0] == pytest.approx(motion.energy[0, 0], rel=1e-8)


def test_rk4_conserves_the_energy_of_a_double_pendulum() -> None:
    scene = exoskel.load("dart://sample/skel/double_pendulum.skel")
    motion = exoskel.run(scene, 1.0, step=1e-3, integrator="rk4")
    total = motion.energy.sum(axis=1)
    assert np.abs(total - total[0]).max() < 1e-8 * abs(total[0])


def test_limits_are_enforced_and_can_be_switched_off() -> None:
    one = world()
    model = ball(one, joint="prismatic", axes=((0, 0, 1),))
    model.joints[0].dofs[0].position_limits = (-0.5, 0.5)
    assert exoskel.run(one, 2.0).positions[-1, 0] == pytest.approx(-0.5, abs=5e-3)
    assert exoskel.run(one, 2.0, limits=False).positions[-1, 0] < -10.0


def test_a_screw_travels_its_pitch() -> None:
    one = world(1e-3, (0.0, 0.0, 0.0))
    model = ball(one, joint="screw", axes=((0, 0, 1),), pitch=0.2, velocities=(2 * pi,))
    motion = exoskel.run(one, 1.0)
    turns = motion.positions[-1, 0] / (2 * pi)
    assert model.joints[0].pitch * turns == pytest.approx(motion.body_poses[-1, 0, 2], abs=1e-5)
    assert turns == pytest.approx(1.0, abs=1e-3)


def test_coulomb_friction_stops_a_slider_in_time() -> None:
    one = world(1e-4, (0.0, 0.0, 0.0))
    model = ball(one, joint="prismatic", axes=((1, 0, 0),), velocities=(1.0,))
    model.joints[0].dofs[0].friction = 4.0  # 2 m/s² on 2 kg: half a second, a quarter of a metre
    motion = exoskel.run(one, 1.0)
    assert motion.positions[-1, 0] == pytest.approx(0.25, abs=1e-3)
    assert abs(motion.velocities[-1, 0]) < 1e-4


def test_a_controller_is_called_before_every_step() -> None:
    one = world(1e-3)
    ball(one, joint="prismatic", axes=((0, 0, 1),))
    motion = exoskel.run(one, 1.0, controller=lambda _: np.array([2.0 * 9.81]))
    assert motion.positions[-1, 0] == pytest.approx(0.0, abs=1e-9)


def test_a_stack_of_ten_boxes_is_stable() -> None:
    one = world()
    ground = one.add_model("ground", static=True)
    ground.add_body("g", joint="weld", shapes=[exoskel.Plane((0.0, 0.0, 1.0))])
    for i in range(10):
        model = one.add_model(f"box{i}")
        model.add_body(
            "b", mass=1.0, pose=exoskel.Pose((0.0, 0.0, 0.1 + 0.2 * i)), shapes=[exoskel.Box((0.4, 0.4, 0.2))]
        )
    motion = exoskel.run(one, 5.0)
    wanted = [0.1 + 0.2 * i for i in range(10)]
    assert np.allclose(motion.body_poses[-1, 1:, 2], wanted, atol=5e-3)
    assert np.abs(motion.body_poses[-1, 1:, :2]).max() < 5e-3
