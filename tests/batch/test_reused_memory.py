"""Coordinates that replace the states of a rollout in the same memory equal those in new memory, to the last bit."""

from __future__ import annotations

import _thread
import copy
import pickle
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import exoskel
from exoskel import Pose, Scene, World
from exoskel.formats.mjcf.model import rotational_joints
from exoskel.samples import samples
from exoskel.scene.joint import TRAITS
from exoskel.simulate.batch import recorder, released_memory
from exoskel.simulate.batch.worlds import Worlds

RECORDS = ("positions", "velocities")
KINDS = ("free", "ball", "revolute", "prismatic", "universal", "screw", "translational", "weld", "euler")
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
STEPS = 150
BOXES = exoskel.load("dart://sample/skel/falling_boxes.skel")


@pytest.fixture(autouse=True)
def small_arrays_are_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released_memory, "_LARGE", 1)


def random_scene(seed: int) -> Scene:
    """Some models of up to six bodies, with joints of all kinds; one model may be static."""
    random = np.random.default_rng(seed)
    world = World(name="random", gravity=tuple(random.normal(size=3)))
    for number in range(3):
        model = world.add_model(f"m{number}")
        model.static = number == 2 and seed % 4 == 1
        parent = None
        for body in range(int(random.integers(2, 6))):
            kind = str(random.choice(KINDS if parent else KINDS[:4]))
            angles = exoskel.Euler(tuple(random.normal(size=3)))
            pose = Pose(tuple(random.normal(size=3)), angles)
            axes: dict[str, Any] = {"axes": AXES[: TRAITS[kind].axes]} if TRAITS[kind].axes else {}
            mass = float(random.uniform(1, 2))
            parent = model.add_body(f"b{body}", joint=cast("Any", kind), parent=parent, mass=mass, pose=pose, **axes)
            joint = model.joints[-1]
            joint.actuator = "locked" if kind == "revolute" and seed % 4 == 2 else "force"
            joint.positions = tuple(0.3 * random.normal(size=joint.dof_count))
            joint.velocities = tuple(0.3 * random.normal(size=joint.dof_count))
    return Scene(worlds=[world])


def rolled_out(scene: Scene, worlds: int = 5, steps: int = STEPS, **options: Any) -> exoskel.BatchTrajectory:
    return exoskel.rollout(scene, worlds, steps, stride=1, warn=False, **options)


def in_new_memory(
    scene: Scene, folder: Path, worlds: int = 5, steps: int = STEPS, **options: Any
) -> exoskel.BatchTrajectory:
    """The same rollout, converted while it runs."""
    return rolled_out(scene, worlds, steps, memory=0, folder=str(folder), **options)


def reused(many: exoskel.BatchTrajectory) -> list[str]:
    """The records that will replace states, before the first access."""
    blocks: Any = many.arrays._blocks  # type: ignore[attr-defined]
    slots: Any = many.arrays._arrays  # type: ignore[attr-defined]
    return [name for name, slot in slots.items() if any(np.shares_memory(slot, one) for one in blocks[-1][1:])]


def assert_same(found: exoskel.BatchTrajectory, expected: exoskel.BatchTrajectory) -> None:
    np.testing.assert_array_equal(found.valid_samples, expected.valid_samples)
    for name in expected.arrays:
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_coordinates_of_random_scenes_are_the_same(
    seed: int, compiled: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scene = random_scene(seed)
    push = np.zeros((5, 1, scene.world.dof_count))
    push[2:4, 0, :1] = [[1e12], [1e300]]  # these diverge
    expected = in_new_memory(scene, tmp_path, forces=push, limits=False)
    if compiled:
        pytest.importorskip("numba")
        monkeypatch.setattr(rotational_joints, "_MIN_COMPILED", 1)
    found = rolled_out(scene, forces=push, limits=False)
    assert len(found.diverged)
    assert_same(found, expected)


def test_random_scenes_reuse_memory() -> None:
    found = [reused(rolled_out(random_scene(seed), limits=False)) for seed in range(12) if seed % 4 != 2]
    assert found.count(list(RECORDS)) >= 4


@pytest.mark.parametrize("uri", [sample.uri for sample in samples()])
def test_coordinates_of_samples_are_the_same(uri: str, tmp_path: Path) -> None:
    scene = exoskel.load(uri)
    assert_same(rolled_out(scene, 2, 60, limits=False), in_new_memory(scene, tmp_path, 2, 60, limits=False))


@pytest.mark.parametrize("steps", [6, 83, 84])
def test_coordinates_that_do_not_fit_get_new_memory(steps: int, tmp_path: Path) -> None:
    many = rolled_out(BOXES, steps=steps)
    assert reused(many) == {6: ["positions"], 83: ["positions"], 84: ["positions", "velocities"]}[steps]
    assert_same(many, in_new_memory(BOXES, tmp_path, steps=steps))
    assert reused(rolled_out(BOXES, steps=5)) == []


def test_several_chunks_of_states_get_new_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = in_new_memory(BOXES, tmp_path)
    monkeypatch.setattr(Worlds, "max_thread_steps", 200)
    many = rolled_out(BOXES, threads=1)
    assert reused(many) == []
    assert_same(many, expected)


def test_memory_far_larger_than_the_coordinates_is_not_kept() -> None:
    memory = np.empty((2, 30, 40))
    assert released_memory.reused(memory, (2, 20, 40)) is not None
    assert released_memory.reused(memory, (2, 19, 40)) is None
    assert released_memory.reused(memory, (2, 31, 40)) is None


@pytest.mark.parametrize("record", RECORDS)
def test_a_single_record_is_the_same(record: str, tmp_path: Path) -> None:
    many = rolled_out(BOXES, record=record)
    assert reused(many) == [record]
    assert_same(many, in_new_memory(BOXES, tmp_path, record=record))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("written", [0, 1, 2])
def test_a_conversion_that_fails_is_repeated_from_the_same_states(
    written: int, threads: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also if some coordinates were written over the states before."""
    many = rolled_out(BOXES, threads=threads)
    monkeypatch.setattr(recorder, "_GROUP_BYTES", 1)  # one world at a time
    plain, fails = recorder.StateConverter._convert, [True, False, True]

    def failing(self: Any, qpos: Any, qvel: Any, slots: Any) -> None:
        if fails and fails.pop():
            plain(self, qpos, qvel, {name: slots[name] for name in RECORDS[:written]})
            raise MemoryError
        plain(self, qpos, qvel, slots)

    monkeypatch.setattr(recorder.StateConverter, "_convert", failing)
    while fails:
        with pytest.raises(MemoryError):
            many["positions"]
    assert_same(many, in_new_memory(BOXES, tmp_path))


def test_an_interrupt_of_a_single_thread_loses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    many = rolled_out(BOXES, threads=1)
    monkeypatch.setattr(recorder, "_BLOCK_BYTES", 1)  # one world at a time
    plain = recorder.StateConverter._convert
    begun: list[int] = []

    def interrupted(self: Any, qpos: Any, *others: Any) -> None:
        begun.append(len(qpos))
        if len(begun) == 2:
            _thread.interrupt_main()
            time.sleep(0.05)
        plain(self, qpos, *others)

    monkeypatch.setattr(recorder.StateConverter, "_convert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        many["positions"]
    assert_same(many, in_new_memory(BOXES, tmp_path))


def test_an_interrupted_rollout_has_its_samples(tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    many = rolled_out(BOXES, progress=stop)
    assert many.meta["interrupted"]
    assert_same(many, in_new_memory(BOXES, tmp_path))


@pytest.mark.parametrize("remade", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_have_their_own_memory(remade: Any) -> None:
    many = rolled_out(BOXES)
    again = remade(many)
    for name in RECORDS:
        assert not many[name].flags.c_contiguous
        assert again[name].nbytes == again[name].size * 8
        assert not np.shares_memory(again[name], many[name])
    assert_same(again, many)
    joined = np.concatenate([many["positions"], again["positions"]])
    np.testing.assert_array_equal(joined[5:], joined[:5])


@pytest.mark.parametrize("extension", ["npz", "parquet"])
def test_saved_rollouts_are_the_same(extension: str, tmp_path: Path) -> None:
    if extension == "parquet":
        pytest.importorskip("pyarrow")
    many = rolled_out(BOXES, 2, 90)
    many.save(tmp_path / f"many.{extension}")
    assert_same(exoskel.BatchTrajectory.load(tmp_path / f"many.{extension}"), many)


def test_coordinates_can_be_edited() -> None:
    many = rolled_out(BOXES)
    velocities = many["velocities"].copy()
    many["positions"][:] = 7.0
    np.testing.assert_array_equal(many["velocities"], velocities)
    assert (many.get("positions", samples=3) == 7.0).all()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_single_block_of_states_is_copied_before_it_is_replaced(
    compiled: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if compiled:
        pytest.importorskip("numba")
        monkeypatch.setattr(rotational_joints, "_MIN_COMPILED", 1)
    random = np.random.default_rng(0)
    initial = {name: random.normal(size=(5, BOXES.world.dof_count)) for name in RECORDS}
    many = rolled_out(BOXES, steps=0, initial=initial)
    assert reused(many) == list(RECORDS)
    assert_same(many, in_new_memory(BOXES, tmp_path, steps=0, initial=initial))
