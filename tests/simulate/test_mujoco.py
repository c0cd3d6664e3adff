"""MuJoCo runs every scene, in the scene's own coordinates."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.formats.mjcf.compile import CONTACT_TOLERANCE
from exoskel.formats.mjcf.write import TOLERANCE
from exoskel.simulate.batch.parameters import Variation
from exoskel.simulate.batch.worlds import Worlds
from exoskel.simulate.gym.tasks import SCENES
from tests.support.findings import load_text
from tests.support.places import sample_files, xode_sample_files
from tests.support.scenes import name_of

FILES = [*sample_files(), *xode_sample_files()]


def moving(simulation: MujocoWorld) -> np.ndarray:
    """Which coordinates belong to models that are not static."""
    out = np.ones(simulation.coordinates.count, dtype=bool)
    out[[index for index, _ in simulation.coordinates.static]] = False
    return out


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_poses_match_our_kinematics(file: Path) -> None:
    world = exoskel.load(file).world
    simulation, kinematics = MujocoWorld(world), exoskel.Kinematics(world.models)
    assert np.allclose(simulation.body_poses, kinematics.poses(), rtol=0, atol=1e-12)
    rng = np.random.default_rng(0)
    free = moving(simulation)
    for _ in range(5):
        positions = kinematics.initial.copy()
        positions[free] = rng.uniform(-0.8, 0.8, free.sum())
        simulation.positions = positions
        assert np.allclose(simulation.positions, positions, rtol=0, atol=1e-12)
        assert np.allclose(simulation.body_poses, kinematics.poses(positions), rtol=0, atol=1e-12)


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_velocities_follow_the_conventions_of_the_reference(file: Path) -> None:
    """The Jacobian in our coordinates is what finite differences of MuJoCo's own motion give."""
    world = exoskel.load(file).world
    simulation = MujocoWorld(world)
    rng = np.random.default_rng(1)
    free = moving(simulation)
    positions = simulation.positions
    positions[free] += rng.uniform(-0.3, 0.3, free.sum())
    free &= ~simulation.actuation.locked  # these take no velocity
    velocities = np.where(free, rng.uniform(-1, 1, len(free)), 0.0)
    simulation.positions = positions
    simulation.velocities = velocities
    assert np.allclose(simulation.velocities, velocities, rtol=0, atol=1e-11)
    simulation.refresh()
    body = list(world.bodies())[-1]
    twist = simulation.jacobian(body) @ velocities
    number = simulation.bodies.index((world.models[-1].name, body.name))
    before = simulation.body_poses[number]
    mujoco, step = simulation._mujoco, 1e-7
    mujoco.mj_integratePos(simulation.model, simulation.data.qpos, simulation.data.qvel, step)
    after = simulation.body_poses[number]
    assert np.allclose((after[:3, 3] - before[:3, 3]) / step, twist[3:], rtol=0, atol=1e-5)
    turned = exoskel.spatial.log(after[:3, :3] @ before[:3, :3].T) / step
    assert np.allclose(turned, twist[:3], rtol=0, atol=1e-5)


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_every_sample_runs(file: Path) -> None:
    trajectory = exoskel.run(exoskel.load(file), 0.2)
    assert np.isfinite(trajectory.body_poses).all() and trajectory.time[-1] == pytest.approx(0.2)
    assert np.isfinite(trajectory.energy).all()


def test_mass_matrix_is_symmetric_and_gives_the_kinetic_energy() -> None:
    world = exoskel.load("dart://sample/skel/walker.skel").world
    simulation = MujocoWorld(world)
    rng = np.random.default_rng(2)
    free = moving(simulation)
    simulation.velocities = np.where(free, rng.uniform(-1, 1, len(free)), 0.0)
    simulation.refresh()
    matrix, velocities = simulation.mass_matrix(), simulation.velocities
    assert np.allclose(matrix, matrix.T)
    assert velocities @ matrix @ velocities / 2 == pytest.approx(simulation.energy[0], rel=1e-9)


def test_state_is_everything_the_motion_depends_on() -> None:
    simulation = MujocoWorld(exoskel.load("dart://sample/skel/double_pendulum.skel").world)
    simulation.step(100)
    saved = simulation.state
    simulation.step(100)
    wanted = simulation.positions
    simulation.state = saved
    simulation.step(100)
    assert np.array_equal(simulation.positions, wanted)
    simulation.reset()
    assert simulation.time == 0.0


def test_an_unknown_integrator_is_an_error() -> None:
    with pytest.raises(exoskel.ExoskelError, match="unknown integrator 'leapfrog'"):
        MujocoWorld(exoskel.load("dart://sample/skel/pendulum.skel").world, integrator="leapfrog")


def test_mujoco_running_out_of_memory_for_contacts_is_our_error() -> None:
    links = "".join(
        f'<link name="b{i}"><collision><geometry><box size="1 1 1"/></geometry></collision></link>'
        f'<joint name="j{i}" type="fixed"><parent link="b"/><child link="b{i}"/></joint>'
        for i in range(3000)
    )
    scene = load_text(f'<robot name="r"><link name="b"/>{links}</robot>')
    with pytest.raises(exoskel.ExoskelError, match="MuJoCo stopped: mj_stackAlloc: out of memory"):
        exoskel.run(scene, 0.001)


@pytest.mark.parametrize("task", ["hopper", "walker2d", "half_cheetah"])
def test_motion_is_that_of_the_strictest_solver(task: str) -> None:
    """Worlds with no constraints but contacts and limits need fewer iterations; single trees need no islands."""
    world = exoskel.load(str(SCENES / f"{task}.skel")).world
    ours, strict = MujocoWorld(world), MujocoWorld(world)
    islands = int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    assert (ours.model.opt.tolerance, ours.model.opt.disableflags & islands) == (CONTACT_TOLERANCE, islands)
    assert strict.impulse_step is not None
    strict.model.opt.tolerance = TOLERANCE
    strict.model.opt.disableflags &= ~islands
    strict._step_model = strict.impulse_step.prepare(strict.model, strict.compiled.stated_friction)
    rng = np.random.default_rng(0)
    touches = 0
    for _ in range(100):
        forces = np.concatenate([np.zeros(3), rng.uniform(-50.0, 50.0, len(ours.forces) - 3)])
        for one in (ours, strict):
            one.forces = forces
            one.step(5)
        touches += bool(ours.data.ncon)
    assert touches > 20
    np.testing.assert_allclose(ours.positions, strict.positions, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(ours.velocities, strict.velocities, rtol=0.0, atol=1e-8)


def test_varied_joint_friction_has_the_strict_tolerance() -> None:
    engine = MujocoWorld(exoskel.load("dart://sample/skel/pendulum.skel").world)
    assert engine.model.opt.tolerance == CONTACT_TOLERANCE
    worlds, variation = Worlds(engine, 2), Variation(engine, {"joint:hinge.friction": [0.1, 0.2]})
    variation.apply(worlds, variation.draw(0, worlds.indices))
    assert [worlds.batch.get_model(number).opt.tolerance for number in range(2)] == [TOLERANCE, TOLERANCE]


def test_friction_and_loops_have_the_strict_tolerance() -> None:
    for name in ("skel/actuators.skel", "xode/four_bar.xode"):
        engine = MujocoWorld(exoskel.load(f"dart://sample/{name}").world)
        assert engine.model.opt.tolerance == TOLERANCE


def _limited_arm() -> exoskel.World:
    world = exoskel.World()
    model = world.add_model("arm")
    model.add_body("upper", joint="revolute", axis=(0.0, 1.0, 0.0), shapes=[exoskel.Box((0.5, 0.1, 0.1))])
    dof = model.joints[0].dofs[0]
    dof.position_limits, dof.stiffness, dof.velocity = (-0.05, 0.05), 3.0, 1.0
    return world


@pytest.mark.parametrize("is_list", [False, True], ids=["a value", "a list"])
def test_edits_after_compiling_do_not_change_the_motion(is_list: bool) -> None:
    """What takes the steps is created when it is first used, but from the scene as it was compiled."""
    world, other = _limited_arm(), _limited_arm()
    edited, expected = MujocoWorld(world), MujocoWorld(other)
    if is_list:
        world.models[0].joints[0].dofs[:] = [exoskel.Dof()]
    else:
        world.models[0].joints[0].dofs[0].position_limits = (-2.0, 2.0)
    for engine in (edited, expected):
        engine.step(200)
    assert edited.positions.tolist() == expected.positions.tolist()
    assert edited.energy == expected.energy


def test_forces_of_the_first_step_are_those_of_the_compiled_scene() -> None:
    positions = []
    for is_edited in (False, True):
        world = exoskel.World()
        body = world.add_model("ball").add_body("ball", shapes=[exoskel.Sphere(0.1)])
        body.state = exoskel.BodyState(force=(5.0, 0.0, 0.0))
        engine = MujocoWorld(world)
        if is_edited:
            body.state = None
        engine.step(10)
        positions.append(engine.positions.tolist())
    assert positions[1] == positions[0]
    assert positions[0][3] > 0.0


def test_parts_for_limits_are_created_for_the_first_step() -> None:
    engine = MujocoWorld(_limited_arm())
    assert "impulse_step" not in vars(engine)
    engine.step()
    assert engine.limit_guard is not None
    assert {"impulse_step", "limit_guard", "_step_model"} <= vars(engine).keys()
