"""Mistakes of programs that control a simulation: each is an error that says what is wrong, never a silent nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import (
    Box,
    Capsule,
    DivergedError,
    ExoskelError,
    Pose,
    Simulation,
    Sphere,
    UnknownNameError,
    World,
    controllers,
)


def lab() -> World:
    world = World(name="lab")
    robot = world.add_model("robot")
    leg = robot.add_body(
        "leg",
        shapes=[Capsule(0.05, 0.6)],
        mass=2,
        at=(0, 0, 1.2),
        joint="revolute",
        joint_name="hip",
        joint_at=(0, 0, 0.4),
        axis=(0, 1, 0),
    )
    robot.add_body(
        "hand", parent=leg, at=(0, 0, -0.5), shapes=[Sphere(0.1)], joint="revolute", joint_name="knee", axis=(0, 1, 0)
    )
    world.add_model("crate").add_body("box", shapes=[Box((0.2, 0.2, 0.2))], mass=3, at=(1, 0, 0.1))
    world.add_model("ground", static=True).add_body("floor", joint="weld", at=(0, 0, -0.05), shapes=[Box((9, 9, 0.1))])
    return world


def test_a_misspelt_attribute_is_an_error() -> None:
    simulation = Simulation(lab())
    with pytest.raises(AttributeError, match="did you mean 'forces'"):
        simulation.force = 1  # type: ignore[attr-defined]
    for part, name in ((simulation.joint("hip"), "positon"), (simulation.body("hand"), "mass")):
        with pytest.raises(AttributeError, match=name):
            setattr(part, name, 1)
    with pytest.raises(AttributeError, match="velocitys"):
        simulation.model("robot").velocitys = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("count", [-1, 1.5, "x", True])
def test_a_number_of_steps_must_be_a_whole_number(count: Any) -> None:
    simulation = Simulation(lab())
    if count is not True:
        with pytest.raises(ExoskelError, match="the number of steps is"):
            simulation.step(count)
    simulation.step(np.int64(2))
    simulation.step(0)
    assert simulation.time == pytest.approx(2 * simulation.time_step)


@pytest.mark.parametrize("name", ["positions", "velocities", "forces", "commands", "state"])
def test_integers_beyond_all_numbers_are_refused(name: str) -> None:
    simulation = Simulation(lab())
    with pytest.raises(ExoskelError, match=r"must be .*numbers"):
        setattr(simulation, name, [10**400] * 8)
    with pytest.raises(ExoskelError, match="must be"):
        controllers.PD(10**400, 1)
    with pytest.raises(ExoskelError, match="must be numbers"):
        simulation.joint("hip").positions = [10**400]


def test_reading_a_state_that_diverged_in_a_loop_of_the_user_is_an_error() -> None:
    with Simulation(lab()) as simulation:
        simulation.velocities = np.full(8, 1e200)
        for _ in range(50):
            simulation.step()
        reads: list[Callable[[], Any]] = [
            lambda: simulation.positions,
            lambda: simulation.body_poses,
            lambda: simulation.joint("hip").position,
            lambda: simulation.body("box").pose,
            lambda: simulation.model("robot").velocities,
        ]
        for read in reads:
            with pytest.raises(DivergedError, match=r"the motion of '.*' diverged before 0.05 s") as found:
                read()
            assert len(found.value.trajectory) == 0


def test_reading_positions_that_diverged_in_dart_is_an_error() -> None:
    with Simulation(lab(), "dart") as simulation:
        simulation.velocities = np.full(8, 1e307)
        simulation.step(50)
        with pytest.raises(DivergedError):
            simulation.positions  # noqa: B018


def test_arrays_handed_out_are_read_only() -> None:
    simulation = Simulation(lab())
    for array in (
        simulation.mass_matrix(),
        simulation.bias_forces(),
        simulation.gravity_forces(),
        simulation.jacobian("hand"),
        simulation.body_poses,
        simulation.body("hand").velocity,
        simulation.model("robot").positions,
        simulation.joint("hip").positions,
    ):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    "change",
    [
        lambda simulation: simulation.forces.fill(1.0),
        lambda simulation: simulation.forces.sort(),
        lambda simulation: simulation.forces.put(0, 1.0),
        lambda simulation: simulation.forces[1:3].fill(1.0),
        lambda simulation: simulation.joint("hip").positions.__setitem__(0, 1.0),
        lambda simulation: simulation.model("robot").forces.__setitem__(0, 1.0),
        lambda simulation: simulation.forces[1:3].__setitem__("hip", 1.0),
    ],
)
def test_changing_a_copy_says_how_to_set_values(change: Callable[[Simulation], Any]) -> None:
    with pytest.raises(ExoskelError, match=r"read-only copy.*set all with simulation\."):
        change(Simulation(lab()))


def test_copies_of_arrays_can_be_changed() -> None:
    forces = Simulation(lab()).forces.copy()
    forces.fill(2.0)
    forces[0] = 1.0
    forces.sort()
    assert forces.tolist() == [1.0] + [2.0] * 7


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        (lambda _: np.zeros(3), "the forces have the shape"),
        (lambda _: "x", "but must be numbers"),
        (lambda _: np.full(8, np.nan), "but must be finite"),
        (controllers.PD(1, 1, {"hipp": 0}), "did you mean 'hip'"),
        (controllers.PD(1, 1, {"hip": 0}, joints=["nowhere"]), "no joint called 'nowhere'"),
    ],
)
def test_a_mistake_of_a_controller_is_no_divergence(controller: Any, message: str) -> None:
    with pytest.raises(ExoskelError, match=message) as found:
        exoskel.run(lab(), 0.05, controller=controller)
    assert not isinstance(found.value, DivergedError)


def test_a_sensor_must_return_numbers_of_one_shape() -> None:
    with pytest.raises(ExoskelError, match="returned None, but must return numbers"):
        exoskel.run(lab(), 0.05, sensors={"x": lambda _: None})  # type: ignore[dict-item,return-value]
    with pytest.raises(ExoskelError, match="returned the shape"):
        exoskel.run(lab(), 0.05, sensors={"x": lambda simulation: np.zeros(1 if simulation.time < 0.02 else 2)})


@pytest.mark.parametrize("value", ["x", np.nan, None, {"hip": "x"}])
def test_gains_must_be_finite_numbers(value: Any) -> None:
    with pytest.raises(ExoskelError, match=r"kp is .* but must be finite numbers"):
        controllers.PD(value, 1)
    with pytest.raises(ExoskelError, match="the stiffness is"):
        controllers.InverseDynamics(0.0, stiffness=value)
    if value is not None:
        with pytest.raises(ExoskelError, match="the target is"):
            controllers.PD(1, 1, value)


@pytest.mark.parametrize("duration", ["x", [1, 2], None, np.nan, -1])
def test_a_duration_must_be_a_number(duration: Any) -> None:
    with pytest.raises(ExoskelError, match="the duration must be finite and not negative"):
        exoskel.run(lab(), duration)


def test_inverse_kinematics_takes_bodies_and_positions_by_name() -> None:
    world = lab()
    leg = world.models[0].bodies[0]
    solution = exoskel.ik(world, {leg: (0.24, 0, 1.28)}, start={"knee": 0.5})
    assert solution.reached
    assert solution["knee"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"targets": "hand"}, "must be a dict of bodies and poses"),
        ({"targets": {"hand": "x"}}, "the target of body 'hand' is 'x'"),
        ({"targets": {"hand": 10**400}}, "the target of body 'hand'"),
        ({"targets": {"hand": np.ones((4, 4))}}, "is not a rotation"),
        ({"targets": {"hand": np.diag([1.0, 1.0, -1.0, 1.0])}}, "is not a rotation"),
        ({"targets": {3: (0, 0, 1)}}, "3 is not in world 'lab'"),
        ({"targets": {"hand": (0, 0, 1)}, "tolerance": -1}, "the tolerance"),
        ({"targets": {"hand": (0, 0, 1)}, "attempts": 0}, "attempts must be a whole number"),
        ({"targets": {"hand": (0, 0, 1)}, "start": {"hipp": 0}}, "did you mean 'hip'"),
        ({"targets": {"hand": (0, 0, 1)}, "start": {"hip": "x"}}, "the start of 'hip' must be numbers"),
    ],
)
def test_inverse_kinematics_refuses_wrong_values(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ExoskelError, match=message):
        exoskel.ik(lab(), **arguments)


def test_contact_forces_of_a_motion_take_names_of_bodies() -> None:
    motion = exoskel.run(lab(), 0.05, record="contacts")
    assert np.array_equal(motion.contact_force("floor", "box"), motion.contact_force("ground/floor", "crate/box"))
    with pytest.raises(UnknownNameError, match="flor"):
        motion.contact_force("flor", "box")
    world = lab()
    world.add(world.model("crate"), name="other", at=(2, 0, 0.1))
    with pytest.raises(UnknownNameError, match="2 models have a body called 'box'; use 'crate/box' or 'other/box'"):
        exoskel.run(world, 0.05, record="contacts").contact_force("floor", "box")


def test_all_results_have_short_texts() -> None:
    world = lab()
    motion = exoskel.run(world, 0.5, record=["contacts", "forces"])
    comparison = exoskel.compare(world, 0.05)
    simulation = Simulation(world)
    simulation.step(5)
    hold = controllers.PD(kp=40, kd=6, target={"hip": 0.3}) + controllers.GravityCompensation()
    shown = [
        motion,
        motion.contacts,
        motion["forces"].shape,
        motion.records["forces"],
        comparison,
        comparison.tracks[0],
        simulation.contacts[0],
        hold,
        controllers.InverseDynamics(motion),
        controllers.GravityCompensation(joints=["hip"]),
        Pose(),
    ]
    for one in shown:
        assert len(repr(one)) < 250
        assert " object at 0x" not in repr(one)
