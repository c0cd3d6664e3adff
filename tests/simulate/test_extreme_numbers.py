"""Times, steps and counts that no run can have are refused before it starts, with the number in the message."""

from __future__ import annotations

from typing import Any

import pytest

import exoskel
from exoskel.simulate.options import MAX_CHUNK, sample_stride, step_chunks, step_count

PENDULUM = "dart://sample/skel/double_pendulum.skel"


@pytest.mark.parametrize(
    ("options", "number"),
    [
        ({"duration": 1e308}, "1e\\+308 s"),
        ({"step": 1e-308}, "1e-308 s"),
        ({"step": 5e-324, "duration": 1.0}, "4.94066e-324 s"),
    ],
)
def test_a_run_with_too_many_steps_is_refused(options: dict[str, Any], number: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=f"{number}.*at most 1,000,000,000,000 steps"):
        exoskel.run(exoskel.load(PENDULUM), **options)


def test_the_time_step_of_a_file_is_checked_too() -> None:
    scene = exoskel.load(PENDULUM)
    scene.world.time_step = 1e-308
    with pytest.raises(exoskel.ExoskelError, match="a time step of 1e-308 s"):
        exoskel.run(scene)
    with pytest.raises(exoskel.ExoskelError, match="a time step of 1e-308 s"):
        exoskel.compare(scene, engines=("mujoco", "mujoco"), duration=1.0)


def test_too_many_threads_are_refused() -> None:
    with pytest.raises(exoskel.ExoskelError, match="threads must be at most 4,096, not 99999999999"):
        exoskel.rollout(exoskel.load(PENDULUM), worlds=1, steps=1, threads=99999999999)


@pytest.mark.parametrize(("worlds", "steps"), [(10**400, 1), (1, 10**400)])
def test_more_samples_than_a_float_can_count_are_refused(worlds: int, steps: int) -> None:
    with pytest.raises(exoskel.ExoskelError, match="not enough disk space"):
        exoskel.rollout(exoskel.load(PENDULUM), worlds=worlds, steps=steps)


def test_a_long_stride_reports_progress() -> None:
    times: list[float] = []
    motion = exoskel.run(exoskel.load(PENDULUM), duration=0.0025, step=1e-7, progress=times.append)
    assert len(motion) == 2
    assert len(times) == 3


def test_steps_are_taken_in_chunks() -> None:
    assert list(step_chunks(3)) == [3]
    assert list(step_chunks(2 * MAX_CHUNK + 1)) == [MAX_CHUNK, MAX_CHUNK, 1]
    assert sample_stride(0.01, 5e-324) == 10**12
    assert step_count(1.0, 0.001) == 1000
