"""Controllers from the box, inverse dynamics and inverse kinematics."""

from __future__ import annotations

from math import sin

import numpy as np
import pytest

import exoskel
from exoskel import Box, Euler, ExoskelError, Model, Pose, Simulation, UnknownNameError, World, ik
from exoskel.simulate.controllers import PD, ForceController, GravityCompensation, InverseDynamics
from tests.simulate.test_access_by_name import CONTROLLABLE


def arm(damping: float = 0.0, stiffness: float = 0.0) -> World:
    """Three revolute joints with different axes, and a hand."""
    world = World(name="lab")
    model = world.add_model("arm")
    parent = None
    for number, (name, axis) in enumerate((("upper", (0, 1, 0)), ("lower", (0, 1, 0)), ("hand", (1, 0, 0)))):
        parent = model.add_body(
            name,
            parent=parent,
            at=(0, 0, 1.0) if number == 0 else (0.5, 0, 0),
            shapes=[exoskel.Shape(geometry=Box((0.4, 0.05, 0.08)), pose=Pose((0.25, 0, 0)))],
            mass=1.0,
            joint="revolute",
            joint_name=f"joint_{name}",
            axis=axis,
            limits=(-2.5, 2.5),
            damping=damping,
            stiffness=stiffness,
        )
    for body in model.bodies:
        body.collisions.clear()
    return world


# --- dynamics ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", CONTROLLABLE)
@pytest.mark.parametrize(("damping", "stiffness"), [(0.0, 0.0), (0.7, 30.0)])
def test_inverse_dynamics_reproduces_accelerations(engine: str, damping: float, stiffness: float) -> None:
    with Simulation(arm(damping, stiffness), engine) as simulation:
        rng = np.random.default_rng(1)
        for _ in range(5):
            simulation.positions = rng.uniform(-1, 1, 3)
            simulation.velocities = rng.uniform(-2, 2, 3)
            wanted = rng.uniform(-5, 5, 3)
            simulation.forces = simulation.inverse_dynamics(wanted)
            assert simulation.accelerations == pytest.approx(wanted, abs=1e-6)


def test_inverse_dynamics_reproduces_the_accelerations_of_a_free_body() -> None:
    world = World(name="space")
    world.add_model("box").add_body("box", shapes=[Box((0.1, 0.2, 0.3))], mass=2.0, velocities=[1, 2, 3, 0, 0, 0])
    simulation = Simulation(world, step=1e-6)
    wanted = np.array([1.0, -2.0, 0.5, 0.3, 0.2, 0.1])
    simulation.forces = simulation.inverse_dynamics(wanted)
    assert simulation.accelerations == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("engine", CONTROLLABLE)
def test_gravity_forces_are_the_gradient_of_the_potential_energy(engine: str) -> None:
    with Simulation(arm(), engine) as simulation:
        simulation.positions, simulation.velocities = [0.3, -0.8, 0.5], [1, 2, 3]
        found, at = simulation.gravity_forces(), np.array(simulation.positions)
        assert simulation.velocities == pytest.approx([1, 2, 3])
        for number in range(3):
            energies = []
            for change in (1e-5, -1e-5):
                simulation.positions = at + change * np.eye(3)[number]
                energies.append(simulation.energy[1])
            assert found[number] == pytest.approx((energies[0] - energies[1]) / 2e-5, abs=1e-5)


def test_an_array_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(ExoskelError, match=r"the accelerations have the shape \(2,\), but must have 3 numbers"):
        Simulation(arm()).inverse_dynamics([1, 2])


# --- controllers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", CONTROLLABLE)
def test_gravity_compensation_holds_an_arm(engine: str) -> None:
    world = arm()
    for number, joint in enumerate(world.joints()):
        joint.positions = [0.3 * number + 0.1]
    motion = exoskel.run(world, 0.5, engine=engine, controller=GravityCompensation())
    assert motion.positions[-1] == pytest.approx(motion.positions[0], abs=1e-9)


def test_pd_control_with_gravity_compensation_reaches_its_target() -> None:
    target = {"joint_upper": -0.5, "joint_lower": 0.7}
    motion = exoskel.run(
        arm(),
        3.0,
        controller=PD(60, {"joint_upper": 12, "joint_lower": 8, "joint_hand": 0.2}, target) + GravityCompensation(),
    )
    assert motion.positions[-1] == pytest.approx([-0.5, 0.7, 0.0], abs=1e-3)


def test_a_controller_drives_only_its_joints() -> None:
    simulation = Simulation(arm())
    forces = PD(10.0, 1.0, [1, 1, 1], joints=["joint_lower"])(simulation)
    assert forces.tolist() == [0, 10, 0]
    with pytest.raises(UnknownNameError, match="did you mean 'joint_lower'"):
        PD(10.0, 1.0, joints=["joint_lowr"])(simulation)


def test_free_joints_are_not_driven() -> None:
    world = World(name="space")
    world.add_model("box").add_body("box", shapes=[Box((1, 1, 1))])
    assert not GravityCompensation()(Simulation(world)).any()


@pytest.mark.parametrize("engine", CONTROLLABLE)
def test_a_motion_can_be_followed(engine: str) -> None:
    def wave(time: float) -> list[float]:
        return [0.5 * sin(2 * time), 0.3 * sin(3 * time), 0.0]

    motion = exoskel.run(arm(damping=0.2), 1.0, engine=engine, controller=InverseDynamics(wave))
    expected = np.array([wave(time) for time in motion.time])
    assert np.abs(motion.positions - expected)[30:].max() < 5e-2
    assert motion.positions[-1] == pytest.approx(expected[-1], abs=1e-2)
    again = exoskel.run(arm(damping=0.2), 1.0, engine=engine, controller=InverseDynamics(motion))
    assert np.abs(again.positions - motion.positions).max() < 2e-2


def test_a_motion_of_another_scene_cannot_be_followed() -> None:
    other = exoskel.run(exoskel.load("dart://sample/skel/pendulum.skel"), 0.1)
    with pytest.raises(ExoskelError, match="belongs to another scene"):
        exoskel.run(arm(), 0.1, controller=InverseDynamics(other))


@pytest.mark.parametrize("bad", ["much", [1, 2], float("nan")])
def test_invalid_gains_are_refused(bad: object) -> None:
    with pytest.raises(ExoskelError, match="kp"):
        PD(bad, 1.0)(Simulation(arm()))  # type: ignore[arg-type]


# --- inverse kinematics ----------------------------------------------------------------------------------


def test_inverse_kinematics_finds_positions_of_a_pose() -> None:
    world = arm()
    simulation = Simulation(world)
    rng = np.random.default_rng(2)
    for _ in range(5):
        simulation.positions = rng.uniform(-2.4, 2.4, 3)
        target = simulation.body("hand").pose
        solution = ik(world, {"hand": target})
        assert solution.reached and solution.distance < 1e-6 and solution.angle < 1e-6
        simulation.positions = solution.positions
        assert simulation.body("hand").pose.matrix() == pytest.approx(target.matrix(), abs=1e-5)


def test_a_target_may_be_a_position_or_a_matrix() -> None:
    solution = ik(arm(), {"arm/hand": (0.3, 0, 1.6)})
    assert solution.reached
    assert ik(arm(), {"hand": Pose((1.0, 0, 1.0)).matrix()}).positions == pytest.approx([0, 0, 0], abs=1e-6)
    assert solution["joint_hand"] == 0.0
    with pytest.raises(UnknownNameError, match="did you mean 'joint_hand'"):
        solution["joint_hnd"]


def test_a_target_out_of_reach_gives_the_nearest_pose() -> None:
    solution = ik(arm(), {"hand": (5, 0, 1)})
    assert not solution.reached
    assert solution.distance == pytest.approx(4.0, abs=1e-3)
    assert "not reached" in repr(solution)


def test_limits_are_respected_unless_they_are_off() -> None:
    world = arm()
    for joint in world.joints():
        for dof in joint.dofs:
            dof.position_limits = (-0.2, 0.2)
    target = {"hand": (0.0, 0.0, 2.0)}
    limited = ik(world, target)
    assert not limited.reached and (np.abs(limited.positions) <= 0.2).all()
    assert ik(world, target, limits=False).reached


def test_joints_that_mimic_others_follow() -> None:
    world = arm()
    world.model("arm").joint("joint_lower").mimic = exoskel.Mimic("joint_upper", 2.0, 0.1)
    solution = ik(world, {"hand": (0.6, 0, 1.3)}, tolerance=10.0)
    assert solution.positions[1] == pytest.approx(2 * solution.positions[0] + 0.1)


def test_inverse_kinematics_handles_ball_and_free_joints() -> None:
    model = Model(name="figure")
    root = model.add_body("torso", shapes=[Box((0.2, 0.2, 0.5))])
    model.add_body("head", parent=root, at=(0, 0, 0.5), joint="ball", joint_at=(0, 0, -0.2))
    target = Pose((1, 2, 3), Euler((0.4, 0.5, 0.6)))
    solution = ik(model, {"torso": Pose((1, 2, 2.5)), "head": target}, tolerance=5.0)
    assert ik(model, {"head": target}).reached
    assert solution.positions.shape == (9,)


def test_loops_unknown_bodies_and_invalid_targets_are_refused() -> None:
    world = arm()
    with pytest.raises(UnknownNameError, match="did you mean 'hand'"):
        ik(world, {"hnd": (0, 0, 0)})
    with pytest.raises(ExoskelError, match=r"the target of body 'hand' has the shape \(2,\)"):
        ik(world, {"hand": (0, 0)})
    with pytest.raises(ExoskelError, match="at least one target"):
        ik(world, {})
    model = world.model("arm")
    model.add_joint("closing", "ball", child=model.body("hand"))
    with pytest.raises(ExoskelError, match="joint 'closing' closes a loop"):
        ik(world, {"hand": (0, 0, 0)})


def test_a_force_controller_without_forces_cannot_be_created() -> None:
    class Incomplete(ForceController):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Incomplete()  # type: ignore[abstract]


def test_controllers_and_functions_can_be_added_in_any_order() -> None:
    world = arm()

    def push(simulation: Simulation) -> list[float]:
        return [0.5] * len(simulation.dof_names)

    with Simulation(world) as simulation:
        hold = GravityCompensation()
        expected = hold(simulation) + 0.5
        for both in (hold + push, push + hold, PD(0, 0) + hold + push):
            assert np.array_equal(both(simulation), expected)
    with pytest.raises(TypeError):
        hold + 3  # type: ignore[operator]
