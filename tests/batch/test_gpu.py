"""Many worlds with MuJoCo Warp, on its CPU device where there is no GPU: `make test-gpu`.

The first run compiles kernels for some minutes; Warp keeps them.
"""

from __future__ import annotations

import json
import warnings
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.mujoco.warp import Device, WarpStateConverter, _rows, can_convert, load, measure_capacities
from tests.cli.conftest import Command, exoskel_command  # noqa: F401 - a fixture

pytest.importorskip("mujoco_warp")

DOUBLE_PENDULUM = "dart://sample/skel/double_pendulum.skel"
CART = "dart://sample/skel/cart_pole.skel"
SINGLE = 2e-5
"""Single precision, over some tens of steps."""


def boxes(height: float = 0.5) -> exoskel.World:
    """A box above a floor."""
    world = exoskel.World(gravity=(0.0, 0.0, -9.81))
    world.add_model("ground", static=True).add_body("floor", shapes=[exoskel.Box((9.0, 9.0, 0.2))], joint="weld")
    place = exoskel.Pose((0.0, 0.0, 0.2 + height))
    world.add_model("box").add_body("box", mass=1.0, pose=place, shapes=[exoskel.Box((0.2, 0.2, 0.2))])
    return world


def both(
    scene: Any, worlds: int, steps: int, *, close: float = SINGLE, first: int = 0, **options: Any
) -> exoskel.BatchTrajectory:
    """A rollout with Warp, after seeing that it is near the one on threads, from the sample `first` on."""
    here = exoskel.rollout(scene, worlds, steps, **options)
    there = exoskel.rollout(scene, worlds, steps, backend="gpu", **options)
    for name, array in here.arrays.items():
        found, wanted = (one[:, first:] if first else one for one in (there.arrays[name], array))
        np.testing.assert_allclose(found, wanted, rtol=close, atol=close, err_msg=name)
    for key, values in here.parameters.items():
        np.testing.assert_array_equal(there.parameters[key], values)
    assert there.meta["engine"] == "warp"
    return there


@pytest.mark.parametrize("stride", [1, 10])
def test_worlds_move_as_on_threads(stride: int) -> None:
    both(exoskel.load("dart://sample/skel/walker.skel"), 3, 30, stride=stride, close=1e-3)
    both(exoskel.load(CART), 3, 50, stride=stride)


def test_the_first_step_is_as_on_threads() -> None:
    # With Warp, a locked joint rests from the beginning; in DART it has its initial velocity until the first step.
    both(exoskel.load("dart://sample/skel/actuators.skel"), 2, 40, stride=20, close=1e-4, first=1)


def test_each_world_has_its_own_values() -> None:
    vary = {
        "gravity.y": (-12.0, -3.0),
        "body:pole.mass": (0.1, 2.0),
        "joint:hinge.damping": (0.0, 0.5),
        "dof:hinge.position": (-0.5, 0.5),
    }
    many = both(exoskel.load(CART), 5, 60, vary=vary, seed=3, stride=20, close=1e-4)
    # Friction beside damping acts on more inertia with Warp than on threads (EN017).
    both(exoskel.load(CART), 5, 60, vary={**vary, "joint:slide.friction": (0.0, 2.0)}, seed=3, stride=20, close=2e-3)
    assert len(np.unique(many.positions[:, -1].round(4), axis=0)) == 5


def test_forces_commands_and_policies_act() -> None:
    scene = exoskel.load(CART)
    forces = np.random.default_rng(0).normal(size=(3, 40, 2))
    both(scene, 3, 40, forces=forces, stride=10)
    both(scene, 3, 40, commands=[3.0, 0.0], stride=1)
    both(scene, 3, 40, policy=lambda worlds: -5.0 * worlds.positions - worlds.velocities, hold=2, stride=8)


def test_poses_and_energy_are_recorded() -> None:
    both(exoskel.load(CART), 2, 20, record="all", stride=10)


def test_capacities_are_measured() -> None:
    many = both(boxes(0.01), 4, 200, vary={"dof:box_joint_pos_z.position": (0.0, 0.02)}, stride=50, close=1e-3)
    assert (np.abs(many.positions[:, -1, 5] + 0.01) < 2e-3).all()


def test_exceeded_capacity_is_an_error_with_world_and_time() -> None:
    start = np.zeros((4, 6))
    start[2, 5] = -0.499  # this one falls on the floor at once
    with pytest.raises(
        exoskel.ExoskelError, match=r"world 2 exceeded the capacity for (contacts|constraint rows) before 0\.\d+ s"
    ):
        exoskel.rollout(boxes(), 4, 100, backend="gpu", initial={"positions": start}, capacities=(1, 4), stride=5)


def test_exceeded_rows_of_a_large_scene_are_an_error_not_a_crash() -> None:
    world = boxes()
    for number in range(6):  # so many that Warp keeps its rows sparse
        place = exoskel.Pose((1.0 + number, 0.0, 0.199))
        world.add_model(f"more{number}").add_body("box", mass=1.0, pose=place, shapes=[exoskel.Box((0.2, 0.2, 0.2))])
    with pytest.raises(exoskel.ExoskelError, match="world 0 exceeded the capacity for constraint rows"):
        exoskel.rollout(world, 2, 50, backend="gpu", capacities=(64, 16))


def test_a_diverged_world_does_not_affect_others() -> None:
    push = np.zeros((3, 1, 2))
    push[1] = 1e30
    many = exoskel.rollout(exoskel.load(CART), 3, 20, backend="gpu", forces=push, stride=1)
    assert many.diverged.tolist() == [1]
    assert np.isfinite(many.positions).all()


def test_arrays_on_the_device_are_shared_with_other_libraries() -> None:
    from exoskel.engines.mujoco.mujoco_world import MujocoWorld
    from exoskel.simulate.batch.gpu import WarpWorlds

    worlds = WarpWorlds(MujocoWorld(exoskel.load(CART).world), 3)
    worlds.reset()
    worlds.step(5)
    if worlds.data.qpos.device.is_cuda:  # NumPy has no arrays there: PyTorch and JAX do
        assert worlds.data.qpos.__dlpack_device__()[0] == 2
        return
    shared = np.from_dlpack(worlds.data.qpos)
    assert shared.shape == (3, 2)
    np.testing.assert_allclose(worlds.positions, shared, atol=1e-7)
    worlds.step(20)
    np.testing.assert_allclose(worlds.positions, shared, atol=1e-7)
    worlds.reset(np.array([False, True, False]))
    assert worlds.time.tolist() == pytest.approx([0.05, 0.0, 0.05])
    worlds.step(1)
    assert abs(worlds.positions[1, 1] - 0.1) < 1e-3 < abs(worlds.positions[0, 1] - 0.1)


def test_compare_measures_the_error_of_single_precision(exoskel_command: Command) -> None:  # noqa: F811
    ran = exoskel_command("compare", CART, "--engines", "mujoco,warp", "--time", "0.2", "--json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    (gap,) = report["differences"]
    assert gap["engines"] == ["mujoco", "warp"]
    assert 0.0 < gap["position_max"] < 1e-4
    assert len(gap["distance"]) == len(report["time"])


def test_an_unknown_device_is_an_error() -> None:
    with pytest.raises(exoskel.ExoskelError, match="unknown device 'cuda:7'"):
        exoskel.rollout(exoskel.load(CART), 2, 5, backend="gpu", device="cuda:7")


SAMPLES = sorted(path.name for path in (Path(exoskel.__file__).parent / "samples" / "skel").glob("*.skel"))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_device_converts_states_to_the_same_coordinates(name: str) -> None:
    warp, _ = load()
    engine = MujocoWorld(exoskel.load(f"dart://sample/skel/{name}").world)
    coordinates = engine.coordinates
    if not can_convert(coordinates):
        pytest.skip("a free joint with a parent body: its states are converted on the CPU")
    rng = np.random.default_rng(7)
    count, samples = 5, 3
    qpos = rng.uniform(-2.0, 2.0, (samples, count, coordinates.nq))
    for group in coordinates.rotational:
        turns = qpos[..., group.qpos[:, -4:]]
        qpos[..., group.qpos[:, -4:]] = turns / np.linalg.norm(turns, axis=-1, keepdims=True)
    qvel = rng.uniform(-2.0, 2.0, (samples, count, coordinates.nv))
    keeper = WarpStateConverter(warp, coordinates)
    kept = [warp.empty((count, samples, coordinates.count), dtype=float) for _ in range(2)]
    keeper.prepare(kept)
    for number in range(samples):
        arrays = (warp.array(one[number].astype(np.float32)) for one in (qpos, qvel))
        keeper.record(SimpleNamespace(nworld=count, **dict(zip(("qpos", "qvel"), arrays, strict=True))), kept, number)
    expected = coordinates.positions(qpos), coordinates.velocities(qpos, qvel)
    for turned, wanted in zip(kept, expected, strict=True):
        np.testing.assert_allclose(turned.numpy(), np.swapaxes(wanted, 0, 1), rtol=2e-5, atol=2e-5)


def test_motors_drive_in_single_precision_as_in_double() -> None:
    """They are friction against flywheels, whose inertia must not swallow the digits of all else."""
    scene = exoskel.load("dart://sample/xode/hinge2_car.xode")
    for body in scene.world.bodies():
        body.moment = body.moment
        body.collisions.clear()
    both(scene, 2, 40, stride=20, close=1e-4)


def test_a_policy_gets_only_finite_numbers() -> None:
    seen: list[bool] = []

    def push(worlds: Any) -> Any:
        seen.append(bool(np.isfinite(worlds.positions).all() and np.isfinite(worlds.velocities).all()))
        forces = -1.0 * worlds.positions
        forces[1] = 1e30 * (1.0 + abs(worlds.positions[1]))
        return forces

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        many = exoskel.rollout(exoskel.load(CART), 3, 10, backend="gpu", policy=push, stride=1)
    assert many.diverged.tolist() == [1]
    assert len(seen) == 10 and all(seen)


@pytest.mark.parametrize("room", [5, (1,), (1, 2, 3), (-1, 5), ("a", "b"), (1.5, 2.5), (4, 10**12)])
def test_invalid_capacities_are_an_error(room: Any) -> None:
    with pytest.raises(exoskel.ExoskelError, match="capacit"):
        exoskel.rollout(exoskel.load(CART), 2, 3, backend="gpu", capacities=room)


@pytest.mark.parametrize("shape", [(2,), (3, 1, 2), (3, 40, 2)])
def test_controls_of_actuators_act(shape: tuple[int, ...]) -> None:
    world = exoskel.load(CART).world
    slide, hinge = (joint for joint in world.joints() if joint.dof_count == 1)
    world.add_actuator("push", slide, gear=2.0, control_range=(-3, 3), control=0.5)
    world.add_actuator("servo", hinge, kind="position", gain=20.0, damping=1.0, control=0.1)
    controls = np.random.default_rng(4).uniform(-4.0, 4.0, shape)
    both(world, 3, 40, stride=1, controls=controls, close=1e-4)


def test_a_policy_sets_controls() -> None:
    world = exoskel.load(CART).world
    world.add_actuator("push", next(joint for joint in world.joints() if joint.dof_count == 1))

    def push(worlds: Any) -> None:
        worlds.controls = -2.0 * worlds.positions[:, :1] + 1.0

    both(world, 2, 30, policy=push, hold=3, close=1e-4)


def test_a_scene_without_constraints_reserves_no_memory_for_them() -> None:
    """Warp then skips its collision detection and its solver."""
    world = exoskel.load(DOUBLE_PENDULUM).world
    least = 0 if version("mujoco-warp").startswith("4.") else 1
    assert _capacities(world) == (least, least)
    both(world, 2, 40, close=1e-3)
    next(joint for joint in world.joints() if joint.dof_count).dofs[0].friction = 0.1
    contacts, rows = _capacities(world)
    assert contacts == least and rows > 0
    assert min(_capacities(boxes())) > 0


def test_friction_of_one_world_reserves_rows() -> None:
    world = exoskel.load(DOUBLE_PENDULUM).world
    name = next(joint.name for joint in world.joints() if joint.dof_count == 1)
    many = both(world, 4, 40, vary={f"joint:{name}.friction": (0.0, 2.0)}, seed=1, close=2e-3)
    assert len(np.unique(many.positions[:, -1].round(5), axis=0)) == 4


def _capacities(world: exoskel.World) -> tuple[int, int]:
    engine = MujocoWorld(world)
    found = measure_capacities(engine.model, {}, _rows(engine.data), None)
    device = Device(engine.model, 1, capacities=found)
    return device.data.naconmax, device.data.njmax


def test_all_kernels_of_a_step_are_compiled_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    warp, _ = load()
    engine = MujocoWorld(boxes(0.0))
    seen: list[tuple[int, int]] = []
    device = Device(engine.model, 1, progress=lambda done, total: seen.append((done, total)))
    total = len(seen)
    assert total > 10
    assert seen == [(done, total) for done in range(1, total + 1)]
    launched = _modules(warp, monkeypatch)
    device.write(_rows(engine.data))
    device.step(3)
    assert launched
    assert all(module.execs for module in launched)
    assert len(launched) <= total, "nothing is compiled that no step needs"


def _modules(warp: Any, monkeypatch: pytest.MonkeyPatch) -> set[Any]:
    """The modules of the kernels that are launched from now on; none of them may be compiled by that."""
    found: set[Any] = set()
    launch = warp.launch

    def record(kernel: Any, *args: Any, **options: Any) -> Any:
        if np.prod(options["dim"] if "dim" in options else args[0]):
            assert kernel.module.execs, kernel.key
            found.add(kernel.module)
        return launch(kernel, *args, **options)

    monkeypatch.setattr(warp, "launch", record)
    return found
