"""States that become the scene's coordinates when they are asked for, with the same results."""

from __future__ import annotations

import _thread
import copy
import gc
import pickle
import sys
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.samples import samples
from exoskel.simulate.batch import recorder, released_memory
from exoskel.simulate.batch.worlds import Worlds

URIS = [sample.uri for sample in samples()]


def boxes() -> exoskel.Scene:
    return exoskel.load("dart://sample/skel/falling_boxes.skel")


@pytest.fixture
def turned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many samples were turned, each time."""
    counted: list[int] = []
    plain = recorder.StateConverter._convert

    def counting(self: Any, qpos: Any, *others: Any) -> None:
        counted.append(qpos.shape[1])
        plain(self, qpos, *others)

    monkeypatch.setattr(recorder.StateConverter, "_convert", counting)
    return counted


@pytest.mark.parametrize("stride", [1, 10])
@pytest.mark.parametrize("uri", URIS)
def test_lazy_samples_equal_those_converted_at_once(uri: str, stride: int, tmp_path: Any) -> None:
    scene = exoskel.load(uri)
    late = exoskel.rollout(scene, 3, 30, stride=stride)
    at_once = exoskel.rollout(scene, 3, 30, stride=stride, memory=0, folder=str(tmp_path))
    for name in ("positions", "velocities"):
        np.testing.assert_array_equal(late.arrays[name], at_once.arrays[name])


@pytest.mark.parametrize("stride", [1, 10])
def test_samples_are_converted_once_on_first_access(stride: int, turned: list[int]) -> None:
    many = exoskel.rollout(boxes(), 2, 30, stride=stride)
    assert list(many.arrays) == ["positions", "velocities"]
    assert "positions" in repr(many)
    assert turned == []
    first = many.positions
    assert sum(turned) == len(many.time)
    assert many.positions is first
    assert many.velocities is not None
    assert sum(turned) == len(many.time)


def test_single_samples_are_converted_together(turned: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    many = exoskel.rollout(boxes(), 2, 100, stride=5)
    assert many.positions is not None
    assert turned == [21]
    for name in ("_RELEASE_BYTES", "_UNRELEASED_BYTES"):  # with few threads and with many
        monkeypatch.setattr(recorder, name, 1)
    one_by_one = exoskel.rollout(boxes(), 2, 100, stride=5)
    np.testing.assert_array_equal(one_by_one.positions, many.positions)
    assert turned == 3 * [21]


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e10, -1e10, 1e300])
def test_a_single_number_out_of_bounds_is_found(number: float) -> None:
    rows = np.full((3, 4, 5), 9e9)
    assert recorder.is_in_bounds(rows)  # though their squares add up to more than the square of the bound
    assert recorder.is_in_bounds(rows[:0])
    rows[1, 2, 3] = number
    assert not recorder.is_in_bounds(rows)
    assert not recorder.is_in_bounds(rows[:, 2])


def test_only_recorded_arrays_are_available() -> None:
    both = exoskel.rollout(boxes(), 2, 10, stride=1)
    for name in ("positions", "velocities"):
        one = exoskel.rollout(boxes(), 2, 10, stride=1, record=name)
        np.testing.assert_array_equal(one.arrays[name], both.arrays[name])
        assert list(one.arrays) == [name]
        with pytest.raises(KeyError):
            one.arrays["energy"]


def test_edits_of_the_scene_do_not_change_earlier_results() -> None:
    scene = boxes()
    early, late = (exoskel.rollout(scene, 1, 20, stride=1) for _ in range(2))
    expected = early.positions
    body = scene.world.models[1].bodies[0]
    body.pose = exoskel.Pose((1.0, 2.0, 3.0), exoskel.Euler((0.1, 0.2, 0.3)))
    scene.world.models[1].joints[0].pose = exoskel.Pose((0.1, 0.0, 0.0), exoskel.Euler((0.5, 0.0, 0.0)))
    np.testing.assert_array_equal(late.positions, expected)


@pytest.mark.parametrize("stride", [1, 5])
def test_a_diverged_world_repeats_the_same_sample(stride: int, tmp_path: Any) -> None:
    scene = exoskel.load("dart://sample/skel/pendulum.skel")
    push = np.zeros((4, 1, scene.world.dof_count))
    push[1], push[2] = 1e300, 1e12
    late = exoskel.rollout(scene, 4, 50, forces=push, stride=stride)
    at_once = exoskel.rollout(scene, 4, 50, forces=push, stride=stride, memory=0, folder=str(tmp_path))
    assert 1 in late.diverged.tolist()
    np.testing.assert_array_equal(late.valid_samples, at_once.valid_samples)
    np.testing.assert_array_equal(late.positions, at_once.positions)
    np.testing.assert_array_equal(late.velocities, at_once.velocities)
    assert np.isfinite(late.positions).all()


def test_an_interrupted_rollout_has_the_samples_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(done: int) -> None:
        if done >= 20:
            raise KeyboardInterrupt

    scene = boxes()
    many = exoskel.rollout(scene, 2, 100, stride=5, progress=stop)
    whole = exoskel.rollout(scene, 2, 100, stride=5)
    assert many.meta["interrupted"]
    assert many.positions.shape[1] == len(many.time) == 5
    np.testing.assert_array_equal(many.positions, whole.positions[:, :5])


@pytest.mark.parametrize("memory", [0, 1 << 30])
@pytest.mark.parametrize("stage", ["moved", "is_valid", "pair", "write_to"])
def test_an_interrupt_while_recording_loses_and_shifts_no_samples(
    stage: str, memory: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    scene = exoskel.load("dart://sample/skel/pendulum.skel")
    whole = exoskel.rollout(scene, 2, 100, stride=5)
    _interrupt(monkeypatch, stage, after=12)
    many = exoskel.rollout(scene, 2, 100, stride=5, memory=memory, folder=str(tmp_path))
    count = len(many.time)
    assert many.positions.shape[1] == count
    assert many.meta["interrupted"] == (count < 21)
    np.testing.assert_array_equal(many.positions, whole.positions[:, :count])
    np.testing.assert_array_equal(many.velocities, whole.velocities[:, :count])


def _interrupt(monkeypatch: pytest.MonkeyPatch, stage: str, after: int) -> None:
    """Raise KeyboardInterrupt at the given number of accesses to a part of the samples."""
    seen = 0

    def look(self: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == after:
            raise KeyboardInterrupt
        return self.__dict__["_" + stage] if stage in ("moved", "pair") else plain.__get__(self)

    plain = getattr(recorder.MujocoStates, stage, None)
    setter = (lambda self, value: self.__dict__.__setitem__("_" + stage, value)) if plain is None else None
    monkeypatch.setattr(recorder.MujocoStates, stage, property(look, setter), raising=False)


def test_an_interrupted_conversion_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = exoskel.load("dart://sample/skel/pendulum.skel")
    push = np.zeros((3, 1, 1))
    push[1] = 1e300
    expected = exoskel.rollout(scene, 3, 100, stride=5, forces=push).positions
    many = exoskel.rollout(scene, 3, 100, stride=5, forces=push)
    for name in ("_RELEASE_BYTES", "_UNRELEASED_BYTES"):  # with few threads and with many
        monkeypatch.setattr(recorder, name, 1)  # one world at a time
    plain, turns = recorder.StateConverter._convert, 0

    def interrupted(self: Any, *states: Any) -> None:
        nonlocal turns
        turns += 1
        if turns in (2, 3, 5):
            raise KeyboardInterrupt
        plain(self, *states)

    monkeypatch.setattr(recorder.StateConverter, "_convert", interrupted)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            assert many.positions is None
    np.testing.assert_array_equal(many.positions, expected)


def test_an_interrupt_while_threads_convert_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads finish the worlds that they have begun, and release their states."""
    expected = exoskel.rollout(boxes(), 16, 50, stride=1).positions
    monkeypatch.setattr(released_memory, "_LARGE", 1)
    monkeypatch.setattr(recorder, "_BLOCK_BYTES", 1)  # one world at a time
    many = exoskel.rollout(boxes(), 16, 50, stride=1, threads=2)
    plain, turned = recorder.StateConverter._convert, []

    def interrupted(self: Any, qpos: Any, *others: Any) -> None:
        turned.append(qpos.shape[0] * qpos.shape[1])
        if len(turned) == 3:
            _thread.interrupt_main()
        time.sleep(0.05)
        plain(self, qpos, *others)

    monkeypatch.setattr(recorder.StateConverter, "_convert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        assert many.positions is None
    assert sum(turned) < 16 * 51
    np.testing.assert_array_equal(many.positions, expected)
    assert sum(turned) == 16 * 51


@pytest.mark.skipif(sys.platform != "linux", reason="other systems release whole arrays only")
def test_states_are_released_while_they_are_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = exoskel.rollout(boxes(), 30, 50, stride=1, memory=0).positions
    monkeypatch.setattr(released_memory, "_LARGE", 1)
    for name in ("_RELEASE_BYTES", "_UNRELEASED_BYTES"):  # with few threads and with many
        monkeypatch.setattr(recorder, name, 1)
    monkeypatch.setattr(Worlds, "max_thread_steps", 375)  # two chunks
    many = exoskel.rollout(boxes(), 30, 50, stride=1, threads=2)
    blocks = [qpos for _, qpos, _ in many.arrays._blocks if qpos.shape[1] > 1]
    released: list[int] = []
    plain = recorder.StateConverter._convert

    def watched(self: Any, *states: Any) -> None:
        released.extend(int((~block.any(axis=(1, 2))).sum()) for block in blocks)
        plain(self, *states)

    monkeypatch.setattr(recorder.StateConverter, "_convert", watched)
    np.testing.assert_array_equal(many.positions, expected)
    assert released[0] == 0
    assert released[-1] > 20


def test_a_world_that_diverges_in_the_last_step_repeats_the_sample_before() -> None:
    scene = boxes()
    (joint,) = scene.world.models[1].joints
    joint.velocities = (*joint.velocities[:3], 9e9, 0.0, 0.0)
    longer = exoskel.rollout(scene, 2, 2000, stride=1)
    steps = int(longer.valid_samples[0])  # its sample is the first that exceeds the bound
    many = exoskel.rollout(scene, 2, steps, stride=1)
    assert many.valid_samples.tolist() == [steps, steps]
    assert abs(many.positions[0, -1]).max() < 1e10
    np.testing.assert_array_equal(many.positions[:, -1], many.positions[:, -2])


@pytest.mark.parametrize("stride", [1, 2, 3, 7])
def test_valid_samples_do_not_depend_on_the_stride(stride: int) -> None:
    scene = exoskel.load("dart://sample/skel/double_pendulum.skel")
    forces = np.zeros((1, 50, scene.world.dof_count))
    forces[0, 20:] = 1e9  # the step that this ends has a valid state

    def policy(worlds: Any) -> Any:
        return forces[:, min(49, round(worlds.time[0] / scene.world.time_step))]

    ways: list[dict[str, Any]] = [{"forces": forces}, {"forces": forces, "record": "all"}, {"policy": policy}]
    many = [exoskel.rollout(scene, 1, 50, stride=stride, **way) for way in ways]
    assert [one.valid_samples.tolist() for one in many] == 3 * [[21 // stride + 1]]
    for one in many[1:]:
        np.testing.assert_array_equal(one.positions, many[0].positions)
        np.testing.assert_array_equal(one.velocities, many[0].velocities)


def test_changing_forces_between_distant_samples_stay_within_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = exoskel.load("dart://sample/skel/walker.skel")
    forces = np.random.default_rng(0).normal(size=(1, 60, scene.world.dof_count))
    expected = exoskel.rollout(scene, 2, 60, forces=forces, stride=30)
    rolled: list[int] = []
    plain = Worlds._roll_out

    def counting(self: Any, chunk: Any) -> Any:
        rolled.append(chunk.cuts[-1])
        return plain(self, chunk)

    monkeypatch.setattr(Worlds, "_roll_out", counting)
    monkeypatch.setattr(Worlds, "buffer_bytes", 0)
    monkeypatch.setattr(recorder.RawStates, "buffer_bytes", 10000)
    seen: list[int] = []
    monkeypatch.setattr(Worlds, "max_thread_steps", 20)
    many = exoskel.rollout(scene, 2, 60, forces=forces, stride=30, threads=1, progress=seen.append)
    assert not rolled
    assert seen == [10, 20, 30, 40, 50, 60]
    np.testing.assert_array_equal(many.positions, expected.positions)


def test_states_and_coordinates_together_stay_within_memory(turned: list[int]) -> None:
    size = exoskel.rollout(boxes(), 2, 30, stride=1).positions.nbytes
    turned.clear()
    exoskel.rollout(boxes(), 2, 30, stride=1, memory=5 * size)
    assert not turned
    exoskel.rollout(boxes(), 2, 30, stride=1, memory=3 * size)
    assert sum(turned) == 31


@pytest.mark.parametrize("stride", [1, 40])
def test_progress_and_interrupts_work_between_distant_samples(stride: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = exoskel.rollout(boxes(), 2, 80, stride=stride).positions
    monkeypatch.setattr(Worlds, "max_thread_steps", 20)
    seen: list[int] = []
    many = exoskel.rollout(boxes(), 2, 80, stride=stride, threads=1, progress=seen.append)
    assert seen == [10, 20, 30, 40, 50, 60, 70, 80]
    np.testing.assert_array_equal(many.positions, expected)


@pytest.mark.parametrize("remade", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_equal(remade: Any) -> None:
    many = exoskel.rollout(boxes(), 2, 10, stride=1)
    again = remade(many)
    np.testing.assert_array_equal(again.positions, many.positions)
    np.testing.assert_array_equal(again.velocities, many.velocities)


def test_many_threads_may_access_samples() -> None:
    many = exoskel.rollout(boxes(), 8, 50, stride=1)
    expected = copy.deepcopy(many).positions
    many = exoskel.rollout(boxes(), 8, 50, stride=1)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: many.positions, range(8)):
            np.testing.assert_array_equal(found, expected)


def test_states_are_freed_after_conversion() -> None:
    many = exoskel.rollout(boxes(), 2, 50, stride=1)
    blocks = many.arrays._blocks
    states = weakref.ref(blocks[-1][1])
    assert many.positions is not None
    gc.collect()
    assert states() is None
    assert not blocks
