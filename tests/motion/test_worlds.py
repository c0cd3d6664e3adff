"""Actuators, friction, limits, springs and free joints: small worlds move as in DART, to rounding errors.

DART's motion is recorded, so that the tests hold without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Simulation, rollout
from exoskel.engines.dart import dart_world
from exoskel.engines.mujoco.linear_systems import solve_boxed_lcp, solve_by_active_set
from exoskel.engines.mujoco.step_model import CONSTRAINT_MIXING, needs_impulse_step
from exoskel.engines.preflight import preflight
from exoskel.spatial import Array
from tests.motion.record_worlds import CASES, FILE, FOLDER, Case, move
from tests.support.places import GOLDEN

RECORDED: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))


def load(name: str) -> exoskel.Scene:
    return exoskel.load(FOLDER / f"{name}.skel", semantics="dart")


def assert_same(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """Compare states; a ball joint's attitude drifts in DART, which truncates its exponential."""
    for one, other in zip(found, wanted, strict=True):
        assert one["positions"] == pytest.approx(other["positions"], rel=0, abs=1e-7)
        assert one["velocities"] == pytest.approx(other["velocities"], rel=0, abs=1e-6)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_worlds_move_as_recorded_from_dart(case: Case) -> None:
    assert_same(move(case, "mujoco"), RECORDED[case.name])


@pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_recorded_motion_is_that_of_dart(case: Case) -> None:
    assert_same(move(case, "dart"), RECORDED[case.name])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rollouts_move_like_a_single_world(case: Case) -> None:
    commands = np.array(case.commands) if case.commands else None
    steps = case.steps[-1]
    motion = rollout(load(case.file), 2, steps, stride=steps, commands=commands, limits=case.limits, record="all")
    assert motion.positions is not None and motion.velocities is not None and motion.energy is not None
    (wanted,) = RECORDED[case.name][-1:]
    assert motion.positions[1, -1] == pytest.approx(wanted["positions"], rel=0, abs=1e-7)
    assert motion.velocities[1, -1] == pytest.approx(wanted["velocities"], rel=0, abs=1e-6)
    with Simulation(load(case.file), limits=case.limits) as simulation:
        if commands is not None:
            simulation.commands = commands
        simulation.step(case.steps[-1])
        assert motion.energy[1, -1] == pytest.approx(simulation.energy, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_engines_without_two_stages_report_it_before_the_first_step(case: Case) -> None:
    scene = load(case.file)
    differs = needs_impulse_step(scene.world, case.limits)
    assert bool(preflight(scene, "warp", limits=case.limits)) is differs


def test_parameters_vary_between_worlds_that_step_as_in_dart() -> None:
    scene = load("friction_beside_damping")
    frictions, dampings = [0.5, 2.0, 0.0], [1.0, 10.0, 0.0]
    vary = {"joint:k.friction": frictions, "joint:j.damping": dampings}
    motion = rollout(scene, 3, 100, stride=100, vary=vary)
    assert motion.positions is not None
    first, second = scene.world.models[0].joints
    for number, (friction, damping) in enumerate(zip(frictions, dampings, strict=True)):
        first.dofs[0].damping, second.dofs[0].friction = damping, friction
        simulation = Simulation(scene)
        simulation.step(100)
        assert motion.positions[number, -1] == pytest.approx(simulation.positions, rel=0, abs=1e-9)


@pytest.mark.parametrize("stride", [1, 7, 70])
def test_recorded_samples_of_rollouts_stay_within_limits(stride: int) -> None:
    """MuJoCo takes the steps between the limits, and those at them are repeated; two worlds reach them later."""
    scene = load("falling_onto_limits")
    start = [0.1, 0.1, 0.0, 0.0]
    motion = rollout(scene, 4, 70, stride=stride, limits=True, vary={"joint:slider.position": start})
    assert motion.positions is not None
    for number in (0, 3):
        simulation = Simulation(scene, limits=True)
        simulation.positions = np.array([start[number], 0.0, 0.0])
        for sample in motion.positions[number]:
            assert sample == pytest.approx(simulation.positions, rel=0, abs=1e-12)
            simulation.step(stride)
    assert motion.positions[:, :, 0].min() > -0.05 - 1e-9


def test_steps_one_by_one_are_those_in_bulk() -> None:
    scene = load("falling_onto_limits")
    bulk, single = Simulation(scene, limits=True), Simulation(scene, limits=True)
    for _ in range(150):
        single.step()
    bulk.step(150)
    assert single.state.tolist() == bulk.state.tolist()


def test_limits_of_a_body_in_contact_hold() -> None:
    """A slider with a ball falls onto a floor that moves down to its own limit."""
    world = exoskel.World(gravity=(0.0, 0.0, -9.81), time_step=1e-3)
    for name, height in (("floor", 0.0), ("ball", 0.3)):
        pose = exoskel.Pose((0.0, 0.0, height))
        body = world.add_model(name).add_body(name, mass=1.0, pose=pose, joint="prismatic", axes=((0.0, 0.0, 1.0),))
        shape = exoskel.Sphere(0.1) if name == "ball" else exoskel.Box((1.0, 1.0, 0.1))
        body.collisions.append(exoskel.Shape(geometry=shape))
    world.models[0].joints[0].dofs[0].position_limits = (-0.02, 1.0)
    simulation = Simulation(world)
    simulation.step(1000)
    assert simulation.positions[0] == pytest.approx(-0.02, abs=1e-3)
    assert simulation.positions[1] == pytest.approx(-0.17, abs=5e-3)


def add_resting_box(world: exoskel.World, x: float, **joint: Any) -> None:
    """Add a floor, with its surface at the height 0, and a box on it."""
    floor = world.add_model("floor", static=True).add_body("floor", pose=exoskel.Pose((x, 0.0, -0.1)), joint="weld")
    floor.collisions.append(exoskel.Shape(geometry=exoskel.Box((4.0, 4.0, 0.2))))
    box = world.add_model("box").add_body("box", mass=1.0, pose=exoskel.Pose((x, 0.0, 0.099)), **joint)
    box.collisions.append(exoskel.Shape(geometry=exoskel.Box((0.2, 0.2, 0.2))))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_contacts_elsewhere_change_no_motion(case: Case) -> None:
    """Joints whose bodies touch nothing move as in DART, whatever other bodies touch."""
    scene = load(case.file)
    count = sum(joint.dof_count for joint in scene.world.joints())
    add_resting_box(scene.world, 50.0, joint="prismatic", axes=((0.0, 0.0, 1.0),))
    with Simulation(scene, limits=case.limits) as simulation:
        if case.commands:
            simulation.commands = np.array([*case.commands, 0.0])
        simulation.forces = np.array([*[0.0] * count, -20.0])
        simulation.step(case.steps[-1])
        assert simulation.contact_count
        found = {"positions": simulation.positions[:count], "velocities": simulation.velocities[:count]}
    assert_same([found], RECORDED[case.name][-1:])


def pushing(limits: exoskel.scene.joint.Interval = (-np.inf, np.inf)) -> tuple[exoskel.World, exoskel.Joint]:
    """A slider that touches a box on a floor."""
    world = exoskel.World(gravity=(0.0, 0.0, -9.81), time_step=1e-3)
    pose = exoskel.Pose((-0.15, 0.0, 0.1))
    pusher = world.add_model("pusher").add_body("pusher", mass=1.0, pose=pose, joint="prismatic", axes=((1, 0, 0),))
    pusher.collisions.append(exoskel.Shape(geometry=exoskel.Box((0.1, 0.1, 0.1))))
    add_resting_box(world, 0.0)
    joint = world.models[0].joints[0]
    joint.dofs[0].position_limits = limits
    return world, joint


@pytest.mark.parametrize("friction", [0.0, 0.1])
def test_velocity_limits_hold_in_contact(friction: float) -> None:
    world, joint = pushing()
    joint.dofs[0].velocity_limits, joint.dofs[0].friction = (-0.2, 0.2), friction
    simulation = Simulation(world, friction=0.2)
    simulation.commands = np.array([40.0, *[0.0] * 6])
    for _ in range(100):
        simulation.step(5)
        assert simulation.velocities[0] <= 0.2 + 1e-8
    assert simulation.contact_count
    assert simulation.positions[4] == pytest.approx(0.099, abs=1e-3)
    assert simulation.velocities[0] == pytest.approx(0.2, abs=1e-8)
    assert simulation.diagnostics == []


def test_a_servo_in_contact_stops_at_its_limits() -> None:
    """DART lets a servo aim at positions within its limits, even if these are not enforced."""
    world, joint = pushing((-1.0, 0.1))
    joint.actuator, joint.limits_enforced = "servo", False
    simulation = Simulation(world)
    simulation.commands = np.array([0.4, *[0.0] * 6])
    simulation.step(400)
    assert simulation.positions[0] == pytest.approx(0.1, abs=1e-6)
    assert simulation.velocities[0] == pytest.approx(0.0, abs=1e-6)


def test_internal_actuators_conserve_momentum() -> None:
    """Two wheels on a common axle: what the second gains, the first loses."""
    for actuator in ("velocity", "acceleration", "servo"):
        scene = load("spun_up_chain")
        joint = scene.world.models[0].joints[1]
        joint.actuator = actuator
        joint.velocities = (0.0,)
        simulation = Simulation(scene)
        simulation.commands = np.array([0.0, 0.5])
        for _ in range(20):
            simulation.step(5)
            momentum = simulation.mass_matrix() @ simulation.velocities
            assert momentum[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("actuator", ["velocity", "acceleration", "locked", "servo", "force"])
@pytest.mark.parametrize("file", ["driven_body", "driven_cart"])
def test_public_dynamics_do_not_depend_on_actuators(file: str, actuator: str) -> None:
    scene = load(file)
    scene.world.models[0].joints[0].actuator = "force"
    plain = Simulation(scene)
    scene.world.models[0].joints[0].actuator = actuator  # type: ignore[assignment]
    found = Simulation(scene)
    assert found.mass_matrix() == pytest.approx(plain.mass_matrix(), rel=1e-12)
    assert found.bias_forces() == pytest.approx(plain.bias_forces(), rel=1e-12, abs=1e-12)


def test_a_driven_joint_pushes_what_it_touches() -> None:
    """A commanded velocity is met in contact, too, and moves a box on a floor."""
    world = exoskel.World(gravity=(0.0, 0.0, -9.81), time_step=1e-3)
    floor = world.add_model("floor")
    floor.static = True
    floor.add_body("floor", joint="weld").collisions.append(exoskel.Shape(geometry=exoskel.Box((4.0, 4.0, 0.2))))
    pusher = world.add_model("pusher").add_body(
        "pusher", pose=exoskel.Pose((-0.3, 0.0, 0.2)), joint="prismatic", axes=((1, 0, 0),)
    )
    pusher.collisions.append(exoskel.Shape(geometry=exoskel.Box((0.1, 0.1, 0.1))))
    world.models[1].joints[0].actuator = "velocity"
    box = world.add_model("box").add_body("box", mass=1.0, pose=exoskel.Pose((0.0, 0.0, 0.2)))
    box.collisions.append(exoskel.Shape(geometry=exoskel.Box((0.2, 0.2, 0.2))))
    simulation = Simulation(world)
    commands = np.zeros(len(simulation.dof_names))
    commands[0] = 0.5
    simulation.commands = commands
    simulation.step(1000)
    assert simulation.positions[0] == pytest.approx(0.5, abs=1e-9)
    assert simulation.velocities[0] == pytest.approx(0.5, abs=1e-9)
    assert simulation.body_poses[2, 0, 3] == pytest.approx(-0.3 + 0.5 + 0.15, abs=5e-3)


def test_states_restore_worlds_that_step_as_in_dart() -> None:
    simulation = Simulation(load("driven_cart"))
    simulation.commands = np.array([1.0, 0.0])
    simulation.step(50)
    state = simulation.state
    simulation.step(50)
    wanted = simulation.positions
    simulation.state = state
    simulation.step(50)
    assert simulation.positions.tolist() == wanted.tolist()


ENGINES = ["mujoco", *["dart"] * dart_world.available()]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("file", ["free_joint_damper", "offset_free_joint"])
def test_other_positions_keep_the_velocities(engine: str, file: str) -> None:
    """MuJoCo's velocities of a free joint are about axes that its positions rotate."""
    with Simulation(load(file), engine) as simulation:
        rng = np.random.default_rng(5)
        wanted, positions = rng.uniform(-1.0, 1.0, (2, len(simulation.positions)))
        simulation.velocities = wanted
        simulation.positions = positions
        assert simulation.velocities == pytest.approx(wanted, rel=0, abs=1e-12)
        assert simulation.positions == pytest.approx(positions, rel=0, abs=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_velocities_that_are_set_hold_for_a_step_without_a_command_only(engine: str) -> None:
    for inputs, wanted in (
        ({}, [0.5, 0.0]),
        ({"forces": [0.0, 0.1]}, [0.5, 0.0]),
        ({"commands": [1.0, 0.0]}, [1.0] * 2),
    ):
        with Simulation(load("driven_cart"), engine) as simulation:
            for name, values in inputs.items():
                setattr(simulation, name, values)
            simulation.step(5)
            simulation.velocities = [0.5, 0.0]
            for speed in wanted:
                simulation.step()
                assert simulation.velocities[0] == pytest.approx(speed, abs=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("file", ["spun_up_chain", "initial_inputs_beyond_limits", "locked_start"])
def test_measurements_change_no_motion(engine: str, file: str) -> None:
    """DART has the inputs of the first step, and velocities that hold for a step, as commands."""
    scene = load(file)
    for joint in scene.world.joints():
        for dof in joint.dofs:
            dof.velocity_limits = (-0.2, 0.2)  # initial velocities may be beyond them
    found = []
    for measures in (False, True):
        with Simulation(scene, engine) as simulation:
            for _ in range(3):
                if measures:
                    assert np.isfinite(simulation.mass_matrix()).all()
                    assert np.isfinite(simulation.accelerations).all()
                simulation.step()
            found.append([simulation.positions.tolist(), simulation.velocities.tolist()])
    assert found[0] == found[1]


def test_commands_replace_velocities_that_are_set_with_other_integrators() -> None:
    with pytest.warns(exoskel.EngineWarning), Simulation(load("driven_cart"), integrator="rk4") as simulation:
        simulation.commands = [1.0, 0.0]
        simulation.velocities = [0.5, 0.0]
        simulation.step(3)
        assert simulation.velocities[0] == pytest.approx(1.0, abs=1e-9)


LcpSolver = Callable[[Array, Array, Array, Array], Array]


def assert_solves(solve: LcpSolver, matrix: Array, wanted: Array, low: Array, high: Array) -> None:
    found = solve(matrix, wanted, low, high)
    excess = matrix @ found - wanted
    assert (found >= low).all() and (found <= high).all()
    inside = (found > low) & (found < high)
    assert np.abs(excess[inside]).max(initial=0.0) < 1e-8
    assert (excess[found == low] > -1e-8).all() and (excess[found == high] < 1e-8).all()


@pytest.mark.parametrize("solve", [solve_boxed_lcp, solve_by_active_set])
def test_boxed_problems_have_their_unique_solution(solve: LcpSolver) -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        size = int(rng.integers(1, 9))
        factor = rng.normal(size=(size, size))
        matrix, wanted = factor @ factor.T + 1e-3 * np.eye(size), rng.normal(size=size)
        low, high = -rng.exponential(size=size), rng.exponential(size=size)
        low[rng.random(size) < 0.2], high[rng.random(size) < 0.2] = -np.inf, np.inf
        assert_solves(solve, matrix, wanted, low, high)


@pytest.mark.parametrize("solve", [solve_boxed_lcp, solve_by_active_set])
def test_boxed_problems_with_two_rows_for_one_joint_are_solved(solve: LcpSolver) -> None:
    """Friction and limits of the same joints make the matrix almost singular."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        joints = int(rng.integers(1, 9))
        rows = [*range(joints), *rng.permutation(joints)[: rng.integers(1, joints + 1)].tolist()]
        factor = rng.normal(size=(joints, joints))
        matrix = (factor @ factor.T + 1e-3 * np.eye(joints))[np.ix_(rows, rows)]
        matrix.ravel()[:: len(rows) + 1] *= 1.0 + CONSTRAINT_MIXING
        is_limit, pushes_up = np.arange(len(rows)) < joints, rng.random(len(rows)) < 0.5
        friction = rng.exponential(0.01, len(rows))
        low = np.where(is_limit, np.where(pushes_up, 0.0, -np.inf), -friction)
        high = np.where(is_limit, np.where(pushes_up, np.inf, 0.0), friction)
        assert_solves(solve, matrix, rng.normal(size=len(rows)), low, high)


def test_an_almost_singular_problem_from_a_simulation_is_solved() -> None:
    """Block pivoting does not end for it, and gave impulses of 1e9 N·s."""
    stored = json.loads((GOLDEN / "almost_singular_lcp.json").read_text(encoding="utf-8"))
    assert_solves(
        solve_boxed_lcp, *(np.array(stored[name], dtype=float) for name in ("matrix", "wanted", "low", "high"))
    )
