"""Joints, bodies and models of a simulation by name: what they measure agrees with physics, in every engine."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import Box, Capsule, ExoskelError, Simulation, Sphere, UnknownNameError, World
from tests.support.places import sample_files
from tests.support.scenes import name_of

needs_dart = pytest.mark.skipif(importlib.util.find_spec("dartpy") is None, reason="needs DART")
needs_ode = pytest.mark.skipif(importlib.util.find_spec("panda3d") is None, reason="needs ODE")
CONTROLLABLE = ["mujoco", pytest.param("dart", marks=needs_dart)]
ENGINES = [*CONTROLLABLE, pytest.param("ode", marks=needs_ode)]
GRAVITY = 9.81


def laboratory() -> World:
    """A pendulum of 2 kg that hangs 0.5 m below its joint, and a box of 3 kg on the ground."""
    world = World(name="lab")
    pendulum = world.add_model("pendulum")
    pendulum.add_body(
        "rod",
        shapes=[Capsule(0.02, 0.8)],
        mass=2.0,
        at=(0, 0, 2.5),
        joint="revolute",
        joint_name="hinge",
        axis=(0, 1, 0),
        joint_at=(0, 0, 0.5),
    )
    world.add_model("crate").add_body("box", shapes=[Box((0.2, 0.2, 0.2))], mass=3.0, at=(2, 0, 0.1))
    ground = world.add_model("ground", static=True)
    ground.add_body("floor", joint="weld", at=(0, 0, -0.05), shapes=[Box((10, 10, 0.1))])
    return world


# --- names ---------------------------------------------------------------------------------------------


def test_a_joint_can_be_read_and_set_by_name() -> None:
    simulation = Simulation(laboratory())
    hinge = simulation.joint("hinge")
    hinge.position, hinge.velocity, hinge.force, hinge.command = 0.3, 0.4, 0.5, 0.6
    assert (hinge.position, hinge.velocity, hinge.force, hinge.command) == (0.3, 0.4, 0.5, 0.6)
    assert simulation.positions["hinge"] == simulation.positions[0] == 0.3
    assert simulation.joint("pendulum/hinge") is hinge is simulation.joint(hinge.joint)
    assert hinge.dof_names == ["hinge"]


def test_a_joint_with_several_degrees_of_freedom_has_arrays() -> None:
    simulation = Simulation(laboratory())
    free = simulation.joint("box_joint")
    free.velocities = [0, 0, 1, 0, 0, 0]
    assert free.velocities.tolist() == [0, 0, 1, 0, 0, 0]
    with pytest.raises(ExoskelError, match=r"'crate/box_joint' has 6 degrees of freedom; use positions"):
        _ = free.position
    with pytest.raises(ExoskelError, match="use velocities"):
        free.velocity = 1.0
    with pytest.raises(ExoskelError, match=r"shape \(2,\), but must have 6 numbers"):
        free.positions = [1, 2]


def test_a_model_has_its_own_part_of_the_coordinates() -> None:
    simulation = Simulation(laboratory())
    crate = simulation.model("crate")
    crate.positions = [0, 0, 0, 1, 2, 3]
    assert simulation.positions.tolist() == [0, 0, 0, 0, 1, 2, 3]
    assert crate.positions.tolist() == [0, 0, 0, 1, 2, 3]
    assert crate.mass == 3.0


@pytest.mark.parametrize(
    ("kind", "name", "near"), [("joint", "hing", "hinge"), ("body", "bax", "box"), ("model", "crat", "crate")]
)
def test_an_unknown_name_is_an_error_with_a_suggestion(kind: str, name: str, near: str) -> None:
    simulation = Simulation(laboratory())
    with pytest.raises(UnknownNameError, match=f"no {kind} called {name!r}; did you mean {near!r}"):
        getattr(simulation, kind)(name)
    with pytest.raises(UnknownNameError, match="did you mean 'hinge'"):
        simulation.commands["hing"] = 1.0


def test_a_name_in_several_models_needs_its_path() -> None:
    world = laboratory()
    world.add(world.model("crate"), name="other", at=(4, 0, 0))
    simulation = Simulation(world)
    with pytest.raises(UnknownNameError, match="2 models have a body called 'box'; use 'crate/box' or 'other/box'"):
        simulation.body("box")
    assert simulation.body("other/box").position[0] == pytest.approx(6.0)


# --- arrays --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["positions", "velocities", "forces", "commands"])
def test_writing_into_an_array_is_an_error_that_says_what_to_do(name: str) -> None:
    simulation = Simulation(laboratory())
    before = np.array(getattr(simulation, name))
    for write in ("[0] = 1", "[:] = 1", "[0] += 1", "[:2] += 1"):
        with pytest.raises(ExoskelError, match=rf"set all with simulation\.{name} = values, or one with"):
            exec(f"simulation.{name}{write}", {"simulation": simulation})
    assert np.array_equal(getattr(simulation, name), before)


@pytest.mark.parametrize("name", ["positions", "velocities", "forces", "commands"])
def test_an_array_can_be_replaced_changed_in_place_and_set_by_name(name: str) -> None:
    simulation = Simulation(laboratory())
    setattr(simulation, name, [0.1] * 7)
    assert getattr(simulation, name) == pytest.approx(0.1, abs=1e-12)
    exec(f"simulation.{name} += 0.1", {"simulation": simulation})
    assert getattr(simulation, name) == pytest.approx(0.2, abs=1e-12)
    array = getattr(simulation, name)
    array["hinge"] = 0.5
    assert array["hinge"] == getattr(simulation, name)["hinge"] == 0.5
    array["box_joint"] = np.arange(6) / 10
    assert getattr(simulation, name)[1:] == pytest.approx(np.arange(6) / 10, abs=1e-12)


def test_results_of_computations_and_copies_are_ordinary_arrays() -> None:
    simulation = Simulation(laboratory())
    computed = -10.0 * simulation.positions - simulation.velocities
    assert type(computed) is np.ndarray
    computed[0] = 1.0
    copied = simulation.positions.copy()
    copied[0] = 1.0
    assert copied[0] == 1.0 and simulation.positions[0] == 0.0
    assert isinstance(simulation.positions.sum(), float)


def test_measured_arrays_are_read_only() -> None:
    simulation = Simulation(laboratory())
    for array in (simulation.body_poses, simulation.body_velocities, simulation.body_accelerations):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    with pytest.raises(ExoskelError, match="accelerations of a simulation are a read-only copy"):
        simulation.accelerations["hinge"] = 1.0


@pytest.mark.parametrize("engine", CONTROLLABLE)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_state_that_is_not_finite_is_refused(engine: str, bad: float) -> None:
    with Simulation(laboratory(), engine) as simulation:
        for name in ("positions", "velocities", "forces", "commands"):
            with pytest.raises(ExoskelError, match=f"the {name} of 'hinge' are {bad}, but must be finite"):
                setattr(simulation, name, [bad, 0, 0, 0, 0, 0, 0])
        state = simulation.state.copy()
        state[3] = bad
        with pytest.raises(ExoskelError, match="a state must be finite"):
            simulation.state = state
        with pytest.raises(ExoskelError, match="must be finite"):
            simulation.joint("hinge").position = bad
        with pytest.raises(ExoskelError, match="the force on body 'crate/box' is"):
            simulation.body("box").apply_force((0, bad, 0))
        assert np.isfinite(simulation.positions).all()


# --- bodies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_velocities_of_bodies_are_the_change_of_their_poses(engine: str) -> None:
    world = laboratory()
    world.model("pendulum").joint("hinge").positions = [1.0]
    with Simulation(world, engine, step=1e-4) as simulation:
        simulation.step(2000)
        rod = simulation.body("rod")
        before, velocity, spin = rod.position, rod.velocity, rod.angular_velocity
        simulation.step(1)
        assert (rod.position - before) / 1e-4 == pytest.approx((velocity + rod.velocity) / 2, abs=2e-2)
        assert spin == pytest.approx([0, simulation.velocities[0], 0], abs=1e-2)
        assert rod.velocity_at((0, 0, 0.5)) == pytest.approx([0, 0, 0], abs=1e-3)
        assert rod.pose.apply((0, 0, 0.5)) == pytest.approx([0, 0, 3], abs=1e-4)


@pytest.mark.parametrize("engine", CONTROLLABLE)
def test_accelerations_of_a_swinging_body_are_centripetal_and_tangential(engine: str) -> None:
    with Simulation(laboratory(), engine) as simulation:
        hinge, rod = simulation.joint("hinge"), simulation.body("rod")
        hinge.velocity = 2.0
        assert rod.acceleration == pytest.approx([0, 0, 4 * 0.5], abs=1e-9)
        hinge.position, hinge.velocity = np.pi / 2, 0.0
        moment = 2 * 0.25 + rod.body.moment[1]
        angular = -2 * GRAVITY * 0.5 / moment
        assert hinge.acceleration == pytest.approx(angular)
        assert simulation.accelerations["hinge"] == pytest.approx(angular)
        assert rod.angular_acceleration == pytest.approx([0, angular, 0])
        assert rod.acceleration == pytest.approx([0, 0, angular * 0.5], abs=1e-9)


@pytest.mark.parametrize("engine", CONTROLLABLE)
def test_the_reaction_of_a_hanging_pendulum_is_its_weight(engine: str) -> None:
    with Simulation(laboratory(), engine) as simulation:
        hinge = simulation.joint("hinge")
        assert hinge.reaction.force == pytest.approx([0, 0, 2 * GRAVITY], abs=1e-9)
        assert hinge.reaction.torque == pytest.approx([0, 0, 0], abs=1e-9)
        hinge.velocity = 2.0
        assert hinge.reaction.force == pytest.approx([0, 0, 2 * GRAVITY + 2 * 4 * 0.5], abs=1e-9)
        hinge.velocity, hinge.force = 0.0, 3.0
        assert hinge.reaction.torque == pytest.approx([0, 3, 0], abs=1e-9)
        hinge.force = 0.0
        simulation.body("rod").apply_torque((1, 0, 0))
        assert hinge.reaction.torque == pytest.approx([-1, 0, 0], abs=1e-9)


@pytest.mark.parametrize("engine", CONTROLLABLE)
def test_reactions_through_a_chain_add_up(engine: str) -> None:
    world = World(name="chain")
    model = world.add_model("arm")
    shoulder = model.add_body("upper", mass=2.0, at=(0, 0, 1), moment=(0.1, 0.1, 0.1, 0, 0, 0), joint="weld")
    weightless = model.add_body("balloon", parent=shoulder, mass=5.0, at=(1, 0, 0), joint="weld")
    weightless.gravity = False
    model.add_body("hand", parent=shoulder, mass=1.0, at=(1, 0, 0), joint="weld")
    with Simulation(world, engine) as simulation:
        assert simulation.joint("hand_joint").reaction.force == pytest.approx([0, 0, GRAVITY], abs=1e-9)
        assert simulation.joint("balloon_joint").reaction.force == pytest.approx([0, 0, 0], abs=1e-9)
        root = simulation.joint("upper_joint").reaction
        assert root.force == pytest.approx([0, 0, 3 * GRAVITY], abs=1e-9)
        assert root.torque == pytest.approx([0, -GRAVITY, 0], abs=1e-9)


@needs_ode
def test_an_engine_without_accelerations_says_so() -> None:
    with Simulation(laboratory(), "ode") as simulation:
        with pytest.raises(ExoskelError, match="the ode engine does not support accelerations"):
            _ = simulation.body("box").acceleration
        with pytest.raises(ExoskelError, match="the ode engine does not support joint reactions"):
            _ = simulation.joint("hinge").reaction


@pytest.mark.parametrize("engine", ENGINES)
def test_a_force_on_a_body_accelerates_it_until_it_is_removed(engine: str) -> None:
    world = laboratory()
    world.gravity = (0.0, 0.0, 0.0)
    with Simulation(world, engine) as simulation:
        box = simulation.body("box")
        box.apply_force((0, 0, 6))
        simulation.step(100)
        assert box.velocity == pytest.approx([0, 0, 0.2], rel=1e-5, abs=1e-6)
        box.apply_force((0, 0, 0))
        box.apply_torque((0, 0, 0.02))
        simulation.step(100)
        assert box.velocity == pytest.approx([0, 0, 0.2], rel=1e-5, abs=1e-6)
        assert box.angular_velocity == pytest.approx([0, 0, 0.1], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_point_of_a_force_moves_with_the_body(engine: str) -> None:
    """The work of the force is the energy that the body gains."""
    world = World(name="space", gravity=(0.0, 0.0, 0.0))
    world.add_model("rod").add_body("rod", shapes=[Box((1, 0.1, 0.1))], mass=1.0)
    with Simulation(world, engine, step=1e-4) as simulation:
        rod = simulation.body("rod")
        before = rod.pose.apply((0.5, 0, 0))
        rod.apply_force((0, 1, 0), at=(0.5, 0, 0))
        simulation.step(5000)
        moved = rod.pose.apply((0.5, 0, 0)) - before
        assert simulation.energy[0] == pytest.approx(moved[1], rel=2e-3)
        assert rod.angular_velocity[2] > 1.0


@pytest.mark.parametrize("engine", CONTROLLABLE)
def test_a_saved_state_has_the_forces_on_bodies(engine: str) -> None:
    with Simulation(laboratory(), engine) as simulation:
        box = simulation.body("box")
        box.apply_force((0, 0, 60), at=(0.1, 0, 0))
        state = simulation.state
        box.apply_force((0, 0, 0))
        simulation.step(10)
        assert abs(box.velocity[2]) < 1e-3
        simulation.state = state
        simulation.step(10)
        assert box.velocity[2] > 0.05
        simulation.reset()
        simulation.step(10)
        assert abs(box.velocity[2]) < 1e-3


# --- sensors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_the_contact_force_of_a_resting_box_is_its_weight(engine: str) -> None:
    with Simulation(laboratory(), engine) as simulation:
        simulation.step(500)
        assert simulation.contact_force("floor", "box") == pytest.approx([0, 0, 3 * GRAVITY], rel=1e-4, abs=1e-5)
        assert simulation.contact_force("box", "floor") == pytest.approx([0, 0, -3 * GRAVITY], rel=1e-4, abs=1e-5)
        assert simulation.body("box").contact_force == pytest.approx([0, 0, 3 * GRAVITY], rel=1e-4, abs=1e-5)
        assert simulation.contact_force("rod", "box").tolist() == [0, 0, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_distances_are_those_of_the_shapes(engine: str) -> None:
    world = laboratory()
    world.add_model("ball").add_body("ball", shapes=[Sphere(0.1)], at=(2, 3, 0.5))
    with Simulation(world, engine) as simulation:
        assert simulation.distance("ball", "floor") == pytest.approx(0.4, abs=1e-6)
        assert simulation.distance("ball", "box") == pytest.approx(np.hypot(2.9, 0.3) - 0.1, abs=1e-5)
        shape = world.model("ball").body("ball").collisions[0]
        assert simulation.distance(shape, "floor") == simulation.distance("ball", "floor")
    world.model("ball").body("ball").collisions.clear()
    with Simulation(world, engine) as simulation, pytest.raises(ExoskelError, match="no collision shape"):
        simulation.distance("ball", "floor")


def test_shapes_that_overlap_have_a_negative_distance() -> None:
    world = World(name="space", gravity=(0, 0, 0))
    model = world.add_model("balls")
    model.add_body("one", shapes=[Sphere(1.0)])
    model.add_body("two", shapes=[Sphere(1.0)], at=(1.5, 0, 0))
    assert Simulation(world).distance("one", "two") == pytest.approx(-0.5, abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_momentum_is_conserved_and_follows_forces(engine: str) -> None:
    world = World(name="space", gravity=(0.0, 0.0, 0.0))
    model = world.add_model("arm")
    one = model.add_body("one", shapes=[Box((0.2, 0.1, 0.3))], mass=1.0, velocities=[0.3, 1.0, 0.5, 0.1, 0.2, 0.3])
    model.add_body(
        "two",
        parent=one,
        at=(0.4, 0, 0),
        shapes=[Box((0.4, 0.1, 0.1))],
        mass=0.5,
        joint="revolute",
        axis=(0, 1, 0),
        joint_at=(-0.2, 0, 0),
        velocity=2.0,
    )
    with Simulation(world, engine, step=1e-4) as simulation:
        arm = simulation.model("arm")
        linear, angular, com = arm.momentum, arm.angular_momentum, arm.com
        simulation.step(1000)
        assert arm.momentum == pytest.approx(linear, abs=1e-3)
        assert arm.angular_momentum == pytest.approx(angular, abs=1e-3)
        assert arm.com == pytest.approx(com + 0.1 * linear / arm.mass, abs=1e-3)
        simulation.body("two").apply_force((0, 3, 0))
        simulation.step(1000)
        assert arm.momentum == pytest.approx(linear + np.array([0, 0.3, 0]), abs=1e-3)


# --- measuring changes nothing -------------------------------------------------------------------------


@pytest.mark.parametrize("engine", CONTROLLABLE)
def test_measuring_does_not_change_the_motion(engine: str) -> None:
    finals = []
    for measures in (False, True):
        with Simulation(laboratory(), engine) as simulation:
            simulation.joint("hinge").position = 1.0
            for _ in range(50):
                simulation.step(1)
                if measures:
                    contacts = [(c.bodies, c.force.tolist()) for c in simulation.contacts]
                    simulation.step_dynamics()
                    _ = simulation.body_velocities, simulation.gravity_forces(), simulation.distance("box", "floor")
                    assert [(c.bodies, c.force.tolist()) for c in simulation.contacts] == contacts
            finals.append((simulation.time, *simulation.positions, *simulation.velocities))
    # DART is put back to the state before a trial step up to rounding.
    assert finals[0] == finals[1] if engine == "mujoco" else finals[0] == pytest.approx(finals[1], abs=1e-15)


@needs_dart
@pytest.mark.parametrize(
    "file",
    [f for f in sample_files() if f.stem in ("pendulum", "robot_arm", "cart_pole", "double_pendulum")],
    ids=name_of,
)
def test_measurements_in_mujoco_and_dart_agree(file: Path) -> None:
    found = []
    for engine in ("mujoco", "dart"):
        scene = exoskel.load(file)
        for body in scene.world.bodies():
            body.collisions.clear()
        with Simulation(scene, engine, warn=False) as simulation:
            simulation.step(20)
            dynamics = simulation.step_dynamics()
            joints = [joint for joint in simulation.world.joints() if not joint.loop]
            moving = [m.name for m in simulation.world.models if not m.static]
            reactions = [
                simulation.reaction_from(dynamics, joint)
                for model in simulation.world.models
                for joint in model.joints
                if model.name in moving and joint in joints
            ]
            found.append(
                [
                    simulation.body_velocities,
                    dynamics.accelerations,
                    dynamics.body_accelerations,
                    np.array([[*one.force, *one.torque] for one in reactions]),
                    simulation.gravity_forces(),
                ]
            )
    for one, other in zip(*found, strict=True):
        scale = max(1.0, float(np.abs(one).max(initial=0.0)))
        assert one == pytest.approx(other, abs=1e-6 * scale)
