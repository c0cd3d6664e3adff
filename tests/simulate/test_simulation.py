"""A simulation tells and takes what users of DART live on, in the scene's coordinates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import Simulation
from tests.support.places import sample_files, xode_sample_files
from tests.support.scenes import name_of

FILES = [
    f for f in [*sample_files(), *xode_sample_files()] if f.stem not in ("actuators", "ferris_wheel", "swing_ride")
]
"""Without the scenes whose joints are driven: forces do not move those."""


def stirred(file: Path) -> Simulation:
    """A scene without constraints, at a random state."""
    scene = exoskel.load(file)
    for model in scene.world.models:
        model.joints[:] = [j for j in model.joints if not j.loop]
        for joint in model.joints:
            joint.drives = ()
            joint.actuator = "force"
            for dof in joint.dofs:
                dof.damping = dof.stiffness = dof.friction = 0.0
    for body in scene.world.bodies():
        body.moment = body.moment
        body.collisions.clear()
        body.state = body.soft = None
    simulation = Simulation(scene, limits=False, integrator="rk4", step=1e-6)
    rng = np.random.default_rng(3)
    free = np.ones(len(simulation.dof_names), dtype=bool)
    free[[index for index, _ in simulation.engine.coordinates.static]] = False
    simulation.positions = simulation.positions + np.where(free, rng.uniform(-0.3, 0.3, len(free)), 0.0)
    simulation.velocities = np.where(free, rng.uniform(-1.0, 1.0, len(free)), 0.0)
    simulation.engine.refresh()
    return simulation


@pytest.mark.parametrize("file", [f for f in FILES if f.stem not in ("screw_press",)], ids=name_of)
def test_mass_matrix_and_bias_forces_give_the_acceleration(file: Path) -> None:
    """M a + c = 0 without other forces: what a small step of MuJoCo's own does to the velocities."""
    simulation = stirred(file)
    matrix, bias, before = simulation.mass_matrix(), simulation.bias_forces(), simulation.velocities
    moving = np.diag(matrix) > 0.0
    wanted = np.zeros(len(before))
    wanted[moving] = np.linalg.solve(matrix[np.ix_(moving, moving)], -bias[moving])
    simulation.step(1)
    found = (simulation.velocities - before) / simulation.time_step
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    assert np.allclose(found, wanted, rtol=0, atol=2e-3 * scale)


@pytest.mark.parametrize("file", [f for f in FILES if f.stem not in ("screw_press",)], ids=name_of)
def test_forces_that_balance_the_bias_preserve_velocities(file: Path) -> None:
    simulation = stirred(file)
    before = simulation.velocities
    simulation.forces = simulation.bias_forces()
    simulation.step(1)
    assert np.allclose(simulation.velocities, before, rtol=0, atol=1e-6)


def test_the_jacobian_is_found_by_name_and_maps_velocities() -> None:
    simulation = Simulation(exoskel.load("dart://sample/skel/double_pendulum.skel"))
    body = simulation.world.models[-1].bodies[-1]
    assert np.array_equal(simulation.jacobian(body.name), simulation.jacobian(body))
    with pytest.raises(exoskel.ExoskelError, match="no body called 'elbow'"):
        simulation.jacobian("elbow")


def test_commands_and_forces_need_one_number_per_coordinate() -> None:
    simulation = Simulation(exoskel.load("dart://sample/skel/double_pendulum.skel"))
    with pytest.raises(exoskel.ExoskelError, match=r"the commands have the shape \(17,\), but must have \d numbers"):
        simulation.commands = np.zeros(17)


def test_reset_restores_the_initial_state() -> None:
    scene = exoskel.load("dart://sample/skel/actuators.skel")
    one = Simulation(scene)
    one.commands = np.ones(len(one.dof_names))
    one.step(50)
    one.reset()
    other = Simulation(scene)
    for simulation in (one, other):
        simulation.step(50)
    assert np.array_equal(one.positions, other.positions) and np.array_equal(one.velocities, other.velocities)


def test_a_run_continues_another() -> None:
    scene = exoskel.load("dart://sample/skel/double_pendulum.skel")
    whole = exoskel.run(scene, 1.0)
    first = exoskel.run(scene, 0.5)
    second = exoskel.run(scene, 0.5, start=first)
    assert np.allclose(second.positions[-1], whole.positions[-1], rtol=0, atol=1e-12)
    with pytest.raises(exoskel.ExoskelError, match="a different scene"):
        exoskel.run(exoskel.load("dart://sample/skel/chain.skel"), 0.1, start=first)


def test_contacts_name_both_bodies() -> None:
    simulation = Simulation(exoskel.load("dart://sample/skel/stack.skel"))
    simulation.step(100)
    touching = simulation.contacts
    assert simulation.contact_count == len(touching) > 0
    known = {"/".join(pair) for pair in simulation.bodies}
    assert all(set(one.bodies) <= known and abs(np.linalg.norm(one.normal) - 1.0) < 1e-9 for one in touching)


def test_an_unknown_engine_is_an_error() -> None:
    with pytest.raises(exoskel.ExoskelError, match="unknown engine 'bullet'"):
        Simulation(exoskel.World(), "bullet")


def chain() -> exoskel.World:
    world = exoskel.World(gravity=(0.0, 0.0, 0.0))
    model = world.add_model("m")
    for number in range(2):
        model.add_body(
            f"b{number}",
            pose=exoskel.Pose((0.5 + number, 0.0, 0.0)),
            moment=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
            parent=model.bodies[-1] if number else None,
            joint="revolute",
            axes=((0, 0, 1),),
        )
    for joint in model.joints:
        joint.pose = exoskel.Pose((-0.5, 0.0, 0.0))
    return world


def test_the_jacobian_is_that_of_the_current_state() -> None:
    simulation = Simulation(chain())
    before = simulation.jacobian("b1")
    simulation.positions = np.array([1.0, 2.0])
    now = simulation.jacobian("b1")
    simulation.engine.refresh()
    assert np.array_equal(now, simulation.jacobian("b1")) and not np.allclose(before, now)


def test_contacts_are_those_of_the_positions_that_were_set() -> None:
    world = exoskel.World()
    world.add_model("g", static=True).add_body("g", joint="weld", shapes=[exoskel.Plane((0.0, 0.0, 1.0))])
    world.add_model("b").add_body("b", pose=exoskel.Pose((0.0, 0.0, 0.09)), shapes=[exoskel.Sphere(0.1)])
    simulation = Simulation(world)
    assert simulation.contact_count == 1
    simulation.positions = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 5.0])
    assert simulation.contact_count == 0 and simulation.contacts == []


def test_a_constant_force_keeps_its_axes() -> None:
    """A free joint's force is along the world's axes, however the body turns meanwhile."""
    world = exoskel.World(gravity=(0.0, 0.0, 0.0))
    world.add_model("m").add_body(
        "b", com=(0.1, 0.0, 0.0), moment=(0.1, 0.11, 0.12, 0.0, 0.0, 0.0), velocities=(0.5, 1.0, 0.2, 1.0, 0.0, 0.0)
    )
    held, repeated = Simulation(world), Simulation(world)
    held.forces = np.array([0.0, 0.0, 0.3, 1.0, 0.0, 0.0])
    held.step(500)
    for _ in range(500):
        repeated.forces = np.array([0.0, 0.0, 0.3, 1.0, 0.0, 0.0])
        repeated.step()
    assert np.allclose(held.positions, repeated.positions, rtol=0, atol=1e-12)


def test_a_state_includes_forces_and_commands() -> None:
    """Initial forces, velocities that hold for one step, and the commands of actuators."""
    simulation = Simulation(exoskel.load("dart://sample/skel/actuators.skel"))
    simulation.commands = np.array([0.5, 0.0, 2.0, 0.25, 3.0, 0.0])
    simulation.reset()
    start = simulation.state
    simulation.step(100)
    wanted = simulation.positions
    simulation.commands = np.ones(6)
    simulation.state = start
    simulation.step(100)
    assert np.array_equal(simulation.positions, wanted) and not simulation.commands.any()
    with pytest.raises(exoskel.ExoskelError, match="a state has"):
        simulation.state = np.zeros(3)


def test_values_must_be_finite_and_divergence_is_visible() -> None:
    simulation = Simulation(chain())
    with pytest.raises(exoskel.ExoskelError, match="must be finite"):
        simulation.positions = np.array([np.nan, 0.0])
    simulation.forces = np.array([1e300, 0.0])
    simulation.step(10)
    assert simulation.time > 0.005
    with pytest.raises(exoskel.DivergedError, match=r"the motion of '.*' diverged before"):
        simulation.positions  # noqa: B018


def test_a_velocity_that_is_set_on_a_prescribed_joint_holds_for_a_step() -> None:
    world = chain()
    world.models[0].joints[0].actuator = "velocity"
    world.models[0].joints[1].actuator = "locked"
    simulation = Simulation(world)
    simulation.step(10)
    simulation.velocities = np.array([1.0, 1.0])
    simulation.step(100)
    assert np.allclose(simulation.positions, [simulation.time_step, 0.0], rtol=0, atol=1e-9)


def test_samples_before_a_crash_are_preserved() -> None:
    world = exoskel.World()
    world.add_model("m").add_body("b", moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    world.add_model("n").add_body("b", joint="revolute", axes=((0, 0, 1),), moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))

    def die(simulation: Simulation) -> None:
        if simulation.time > 0.05:
            raise exoskel.ExoskelError("the engine died")

    with pytest.raises(exoskel.DivergedError, match=r"the engine died, after 0\.05 s") as problem:
        exoskel.run(world, 1.0, controller=die)
    assert len(problem.value.trajectory) == 6


def test_limits_of_a_free_joint_are_enforced() -> None:
    world = exoskel.World()
    world.add_model("m").add_body("b", moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    world.models[0].joints[0].dofs[5].position_limits = (-0.1, np.inf)
    assert exoskel.run(world, 2.0).positions[-1, 5] == pytest.approx(-0.1, abs=5e-3)


def test_an_empty_world_runs() -> None:
    assert len(exoskel.run(exoskel.World(), 0.05)) > 1


# --- coordinates are created for their first use ------------------------------------------------------


def jointed_world(place: exoskel.Pose) -> exoskel.World:
    world = exoskel.World()
    model = world.add_model("robot")
    trunk = model.add_body("trunk", pose=place, shapes=[exoskel.Box((1.0, 0.4, 0.2))])
    leg = exoskel.Pose((0.3, 0.1, -0.4)) if place.has_no_rotation else place
    model.add_body("leg", parent=trunk, pose=leg, joint="revolute", axis=(1, 0, 0), shapes=[exoskel.Sphere(0.1)])
    model.add_body("foot", parent=trunk, pose=leg, joint="ball", shapes=[exoskel.Sphere(0.1)])
    return world


def test_edits_after_creation_do_not_change_the_limits_of_commands() -> None:
    world = exoskel.World()
    model = world.add_model("arm")
    model.add_body("link", joint="revolute", axis=(0.0, 1.0, 0.0), shapes=[exoskel.Box((0.1, 0.1, 0.1))])
    dof = model.joints[0].dofs[0]
    dof.force_limits = (-1.0, 1.0)
    simulation = exoskel.Simulation(world)
    dof.force_limits = (-5.0, 5.0)
    simulation.commands = [3.0]
    assert simulation.engine.clipped_commands().tolist() == [1.0]


def test_edits_after_creation_do_not_change_the_coordinates() -> None:
    world = jointed_world(exoskel.Pose((0.0, 0.0, 1.0)))
    early, late = Simulation(world), Simulation(world)
    names, positions = early.dof_names, early.positions
    free, hinge, _ = world.models[0].joints
    hinge.name = "renamed"
    free.pose = exoskel.Pose((1.0, 2.0, 3.0))
    free.child.pose = exoskel.Pose((4.0, 5.0, 6.0))
    assert late.dof_names == names
    assert np.array_equal(late.positions, positions)
    for one in (early, late):
        one.positions = np.linspace(0.1, 1.0, len(names))
    assert np.array_equal(late.engine.qpos, early.engine.qpos)


@pytest.mark.parametrize(
    "place",
    [
        exoskel.Pose((0.1, 0.2, 0.3)),
        exoskel.Pose((1e-20, 0.0, 1.0)),
        exoskel.Pose((-0.0, -0.0, -0.0)),
        exoskel.Pose((0.1, 0.2, 0.3), exoskel.Euler((0.4, 0.5, 0.6))),
    ],
    ids=["plain", "noise", "minus-zero", "rotated"],
)
def test_a_simulation_starts_where_its_coordinates_are_zero(place: exoskel.Pose) -> None:
    simulation = Simulation(jointed_world(place))
    started = simulation.engine.qpos.copy()
    simulation.engine.coordinates.set_positions(np.zeros(len(simulation.dof_names)), simulation.engine.qpos)
    assert started.tobytes() == simulation.engine.qpos.tobytes()
