"""Many worlds on threads: each moves as it would alone, bit for bit."""

from __future__ import annotations

import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.samples import samples

URIS = [sample.uri for sample in samples()]
STEPS = 40


def scene(name: str, folder: str = "skel") -> exoskel.Scene:
    return exoskel.load(f"dart://sample/{folder}/{name}.{folder}")


def alone(world: Any, steps: int, *, forces: Any = None, start: Any = None, **options: Any) -> Any:
    """Positions and velocities after each step of a simulation."""
    simulation = exoskel.Simulation(world, **options)
    if start is not None:
        simulation.positions, simulation.velocities = start
    rows = [(simulation.positions, simulation.velocities)]
    for number in range(steps):
        if forces is not None:
            simulation.forces = forces(number, simulation)
        simulation.step()
        rows.append((simulation.positions, simulation.velocities))
    return tuple(np.array(part) for part in zip(*rows, strict=True))


@pytest.mark.parametrize("uri", URIS)
def test_every_sample_file_moves_as_in_a_simulation(uri: str) -> None:
    one = exoskel.load(uri)
    positions, velocities = alone(one, STEPS)
    for stride in (1, 7):
        many = exoskel.rollout(one, 3, STEPS, stride=stride)
        cuts = [*range(0, STEPS, stride), STEPS]
        np.testing.assert_array_equal(many.positions, np.broadcast_to(positions[cuts], many.positions.shape))
        np.testing.assert_array_equal(many.velocities, np.broadcast_to(velocities[cuts], many.velocities.shape))
        assert (many.valid_samples == len(cuts)).all()


@pytest.mark.parametrize("name", ["cart_pole", "walker", "chain"])
def test_changing_forces_act_as_in_a_simulation(name: str) -> None:
    one = scene(name)
    dofs = one.world.dof_count
    forces = np.random.default_rng(1).normal(size=(2, STEPS, dofs))
    for stride in (1, 3):
        many = exoskel.rollout(one, 2, STEPS, forces=forces, stride=stride)
        for world in range(2):
            positions, _ = alone(one, STEPS, forces=lambda step, _, w=world: forces[w, step])
            np.testing.assert_array_equal(many.positions[world], positions[[*range(0, STEPS, stride), STEPS]])


def test_constant_forces_on_rotating_joints_are_updated_every_step() -> None:
    one = scene("chain")
    force = np.linspace(-1.0, 1.0, one.world.dof_count)
    many = exoskel.rollout(one, 2, STEPS, forces=force, stride=1)
    positions, _ = alone(one, STEPS, forces=lambda *_: force)
    np.testing.assert_array_equal(many.positions[1], positions)


@pytest.mark.parametrize("name", ["cart_pole", "actuators", "robot_arm"])
def test_commands_act_as_in_a_simulation(name: str) -> None:
    one = scene(name)
    commands = np.full(one.world.dof_count, 0.3)
    many = exoskel.rollout(one, 2, STEPS, commands=commands, stride=1)
    simulation = exoskel.Simulation(one)
    simulation.commands = commands
    rows = [simulation.positions]
    for _ in range(STEPS):
        simulation.step()
        rows.append(simulation.positions)
    np.testing.assert_array_equal(many.positions[1], np.array(rows))


def test_a_policy_sees_all_worlds_and_closes_the_loop() -> None:
    one = scene("cart_pole")
    seen: list[tuple[int, ...]] = []

    def hold(worlds: Any) -> Any:
        seen.append(worlds.positions.shape)
        return -20.0 * worlds.positions - 2.0 * worlds.velocities

    starts = np.array([[0.0, 0.1], [0.0, 0.2], [0.1, -0.1]])
    many = exoskel.rollout(one, 3, STEPS, policy=hold, initial={"positions": starts}, stride=1)
    assert seen == [(3, 2)] * STEPS
    for world, start in enumerate(starts):
        law = lambda _, s: -20.0 * s.positions - 2.0 * s.velocities  # noqa: E731
        positions, _ = alone(one, STEPS, forces=law, start=(start, np.zeros(2)))
        np.testing.assert_array_equal(many.positions[world], positions)


def test_a_policy_may_be_called_less_often_than_samples_are_taken() -> None:
    asked: list[float] = []
    note = lambda worlds: asked.append(float(worlds.time[0]))  # noqa: E731
    exoskel.rollout(scene("cart_pole"), 2, 10, policy=note, hold=4, stride=1, step=0.001)
    assert asked == pytest.approx([0.0, 0.004, 0.008])


def test_poses_and_energy_are_those_of_a_simulation() -> None:
    for uri in URIS:
        one = exoskel.load(uri)
        many = exoskel.rollout(one, 2, 20, record="all", stride=10)
        simulation = exoskel.Simulation(one)
        simulation.step(20)
        motion = many.world(1)
        from exoskel import spatial

        np.testing.assert_allclose(motion.body_poses[-1], spatial.pose7(simulation.body_poses), rtol=0, atol=1e-12)
        scale = 1.0 + np.abs(simulation.energy).max()
        np.testing.assert_allclose(motion.energy[-1], simulation.energy, rtol=0, atol=1e-11 * scale, err_msg=uri)


def test_results_do_not_depend_on_the_threads() -> None:
    one = scene("falling_boxes")
    spin = f"dof:{one.world.models[1].dof_names[0]}.velocity"
    first, second = (exoskel.rollout(one, 5, 60, threads=n, vary={spin: (-1.0, 1.0)}, seed=3) for n in (1, 4))
    np.testing.assert_array_equal(first.positions, second.positions)
    assert len(np.unique(first.positions[:, -1].round(6), axis=0)) == 5


def test_a_diverged_world_repeats_its_last_valid_sample() -> None:
    one = scene("pendulum")
    dofs = one.world.dof_count
    push = np.zeros((3, 1, dofs))
    push[1] = 1e300
    many = exoskel.rollout(one, 3, 50, forces=push, stride=1)
    assert many.diverged.tolist() == [1]
    end = int(many.valid_samples[1])
    assert 1 <= end < 51
    assert np.isfinite(many.positions).all()
    assert (many.positions[1, end:] == many.positions[1, end - 1]).all()
    np.testing.assert_array_equal(many.positions[0], exoskel.rollout(one, 1, 50, stride=1).positions[0])
    strided = exoskel.rollout(one, 3, 50, forces=push, stride=10)
    assert strided.diverged.tolist() == [1]
    assert np.isfinite(strided.positions).all()


def test_static_scenes_roll_out() -> None:
    world = exoskel.World()
    world.add_model("ground", static=True).add_body("floor", shapes=[exoskel.Box((1.0, 1.0, 1.0))], joint="weld")
    for stride in (1, 5):
        many = exoskel.rollout(world, 2, 20, record="all", stride=stride)
        assert many.positions.shape == (2, 20 // stride + 1, 0)
        assert (many.valid_samples == len(many.time)).all()
    assert exoskel.rollout(world, 2, 20, stride=1).positions.size == 0
    assert len(exoskel.rollout(world, 3, 0).time) == 1


def test_a_rollout_continues_another() -> None:
    one = scene("double_pendulum")
    whole = exoskel.rollout(one, 2, 60, vary={"gravity.y": (-10.0, -9.0)}, stride=20)
    half = exoskel.rollout(one, 2, 40, vary={"gravity.y": (-10.0, -9.0)}, stride=20)
    rest = exoskel.rollout(one, 2, 20, vary={"gravity.y": (-10.0, -9.0)}, stride=20, initial=half)
    np.testing.assert_allclose(rest.positions[:, -1], whole.positions[:, -1], rtol=0, atol=1e-12)


def test_an_interrupt_preserves_the_samples_so_far() -> None:
    def stop(done: int) -> None:
        if done >= 20:
            raise KeyboardInterrupt

    many = exoskel.rollout(scene("pendulum"), 2, 100, stride=10, progress=stop)
    assert len(many.time) == 3
    assert many.meta["interrupted"]
    assert many.positions.shape[1] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"worlds": 0}, "worlds must be a whole number"),
        ({"worlds": float("nan")}, "worlds must be a whole number"),
        ({"worlds": None}, "worlds must be a whole number"),
        ({"worlds": 10**30}, "not enough"),
        ({"steps": float("inf")}, "steps must be"),
        ({"steps": 10**15}, "not enough"),
        ({"seed": "x"}, "seed must be"),
        ({"memory": None}, "memory must be"),
        ({"step": -0.01}, "the time step must be finite and positive"),
        ({"step": 0.0}, "the time step must be finite and positive"),
        ({"step": "short"}, "the time step must be finite and positive"),
        ({"friction": np.nan}, "the friction coefficient must be"),
        ({"policy": 5}, "policy must be a function"),
        ({"policy": lambda worlds: [[1.0], [1.0, 2.0]]}, "must be numbers"),
        ({"record": None}, "cannot record nothing"),
        ({"forces": "strong"}, "forces must be numbers"),
        ({"forces": [[1.0], [2.0, 3.0]]}, "forces must be numbers"),
        ({"initial": np.zeros(2)}, "a dict of positions and velocities"),
        ({"initial": {"positions": 1e12}}, "a number exceeds"),
        ({"vary": ["gravity"]}, "vary must be a dict"),
        ({"steps": -1}, "steps must be"),
        ({"stride": 0}, "stride must be"),
        ({"backend": "abacus"}, "unknown backend 'abacus'"),
        ({"record": "colours"}, "cannot record colours"),
        ({"forces": [1.0, 2.0, 3.0]}, "do not match"),
        ({"forces": [np.nan, 0.0]}, "finite"),
        ({"initial": {"speed": 1.0}}, "not speed"),
        ({"initial": {"positions": np.zeros((7, 2))}}, "do not match"),
    ],
)
def test_invalid_arguments_are_an_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=message):
        exoskel.rollout(scene("cart_pole"), **{"worlds": 2, "steps": 10, **options})


def test_a_file_name_instead_of_a_world_is_an_error() -> None:
    with pytest.raises(exoskel.ExoskelError, match=r"use exoskel\.load"):
        exoskel.rollout("robot.skel", 2, 5)  # type: ignore[arg-type]


def test_whole_numbers_may_be_of_any_type(tmp_path: Path) -> None:
    many = exoskel.rollout(scene("pendulum"), 2.0, 10.0, seed=np.int64(3), stride=np.int64(5))  # type: ignore[arg-type]
    many.save(tmp_path / "out.npz")
    assert exoskel.BatchTrajectory.load(tmp_path / "out.npz").meta["seed"] == 3


def test_a_rollout_without_steps_ignores_forces() -> None:
    assert exoskel.rollout(scene("cart_pole"), 2, 0, forces=np.zeros((2, 0, 2))).positions.shape == (2, 1, 2)


def test_diverged_worlds_raise_no_warnings() -> None:
    def push(worlds: Any) -> Any:
        return np.where(worlds.indices[:, None] == 1, 1e200 * (worlds.time[:, None] + 1e-3), 0.0 * worlds.positions)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many = exoskel.rollout(scene("cart_pole"), 3, 20, policy=push, stride=1, record="all")
    assert many.diverged.tolist() == [1]


def test_missing_disk_space_is_an_error_before_the_rollout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(exoskel.ExoskelError, match="not enough"):
        exoskel.rollout(scene("pendulum"), 5, 100, stride=1, memory=0, folder=str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_an_older_mujoco_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco.batch", None)  # as before MuJoCo 4
    with pytest.raises(exoskel.ExoskelError, match=r"needs MuJoCo 4\.0 or newer, and .* is installed: pip install"):
        exoskel.rollout(scene("pendulum"), worlds=2, steps=2)


def test_a_vector_environment_with_an_older_mujoco_names_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gymnasium chooses this vector environment by default."""
    gymnasium = pytest.importorskip("gymnasium")
    exoskel.gym.register()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "mujoco.batch", None)
        with pytest.raises(exoskel.ExoskelError, match=r"use gymnasium.make_vec\(id, vectorization_mode=\"async\"\)"):
            gymnasium.make_vec("exoskel/Cartpole-v0", num_envs=2)
        env = gymnasium.make_vec("exoskel/Cartpole-v0", num_envs=2, vectorization_mode="sync")
        assert env.reset(seed=0)[0].shape[0] == 2


def test_a_single_environment_needs_no_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gymnasium")
    monkeypatch.setitem(sys.modules, "mujoco.batch", None)
    env = exoskel.gym.make(task="cartpole")
    start, _ = env.reset(seed=0)
    assert (env.step(env.action_space.high)[0] != start).any()
