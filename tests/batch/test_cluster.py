"""Many worlds on a Ray cluster: the same numbers as on threads, whatever happens to workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from tests.cli.conftest import Command, exoskel_command  # noqa: F401 - a fixture

ray = pytest.importorskip("ray")

CART = "dart://sample/skel/cart_pole.skel"
WALKER = "dart://sample/skel/walker.skel"
VARY: dict[str, Any] = {"gravity.y": (-10.0, -9.0), "friction": ("normal", 1.0, 0.1)}


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


def both(scene: Any, worlds: int, steps: int, **options: Any) -> exoskel.BatchTrajectory:
    """A rollout on the cluster, after seeing that it is the one on threads."""
    shard = options.pop("shard", None)
    here = exoskel.rollout(scene, worlds, steps, **options)
    there = exoskel.rollout(scene, worlds, steps, backend="ray", shard=shard, **options)
    assert here.arrays.keys() == there.arrays.keys()
    for name, array in here.arrays.items():
        np.testing.assert_array_equal(there.arrays[name], array)
    np.testing.assert_array_equal(there.valid_samples, here.valid_samples)
    for key, values in here.parameters.items():
        np.testing.assert_array_equal(there.parameters[key], values)
    return there


@pytest.mark.parametrize("shard", [1, 3, 7, None])
def test_results_do_not_depend_on_the_shards(shard: int | None) -> None:
    both(exoskel.load(WALKER), 7, 30, vary=VARY, seed=2, record="all", shard=shard)


def test_arrays_are_divided_with_their_worlds() -> None:
    scene = exoskel.load("dart://sample/skel/chain.skel")
    dofs = scene.world.dof_count
    draws = np.random.default_rng(0)
    start = {"positions": 0.1 * draws.normal(size=(5, dofs)), "velocities": draws.normal(size=dofs)}
    both(scene, 5, 20, initial=start, forces=draws.normal(size=(5, 20, dofs)), shard=2)


def test_policies_run_on_workers() -> None:
    gain = 3.0
    both(
        exoskel.load("dart://sample/skel/cart_pole.skel"),
        4,
        20,
        policy=lambda worlds: -gain * worlds.positions * (1 + worlds.indices[:, None]),
        shard=1,
    )


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    killed, begun = tmp_path / "killed", tmp_path / "begun"
    begun.mkdir()

    def deadly(worlds: Any) -> Any:
        first = int(worlds.indices[0])
        if worlds.time[0] == 0.0:
            (begun / f"{first}-{os.getpid()}").touch()
        if first == 4 and worlds.time[0] > 0.01 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return -worlds.velocities

    scene = exoskel.load(WALKER)
    seen: list[int] = []
    there = exoskel.rollout(
        scene, 10, 40, backend="ray", shard=2, policy=deadly, vary=VARY, progress=seen.append, stride=1
    )
    assert killed.exists()
    assert len(list(begun.glob("4-*"))) == 2  # run twice, by two workers
    here = exoskel.rollout(scene, 10, 40, policy=lambda worlds: -worlds.velocities, vary=VARY, stride=1)
    np.testing.assert_array_equal(there.positions, here.positions)
    assert seen == [8, 16, 24, 32, 40]  # each shard has come back once


def test_a_shard_that_is_always_lost_is_an_error() -> None:
    def deadly(worlds: Any) -> None:
        if 1 in worlds.indices:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(exoskel.ExoskelError, match="worlds 1 to 1 were lost 4 times"):
        exoskel.rollout(exoskel.load(WALKER), 3, 5, backend="ray", shard=1, policy=deadly)


def test_an_error_in_a_worker_is_raised() -> None:
    def wrong(worlds: Any) -> Any:
        return np.zeros(99)

    with pytest.raises(exoskel.ExoskelError, match="an array of shape"):
        exoskel.rollout(exoskel.load(WALKER), 2, 5, backend="ray", policy=wrong)

    def broken(worlds: Any) -> Any:
        raise ZeroDivisionError("by nothing")

    with pytest.raises(exoskel.ExoskelError, match="ZeroDivisionError: by nothing"):
        exoskel.rollout(exoskel.load(WALKER), 2, 5, backend="ray", policy=broken)


def test_several_files_run_at_the_same_time(exoskel_command: Command, tmp_path: Path) -> None:  # noqa: F811
    names = ("walker", "cart_pole", "pendulum")
    files = [f"dart://sample/skel/{name}.skel" for name in names]
    ran = exoskel_command("rollout", *files, "--worlds=3", "--steps=20", "--backend=ray", "--out", tmp_path)
    assert ran.code == 0, ran.err
    assert [f"{name}.skel: 3 worlds" in line for name, line in zip(names, ran.out.splitlines(), strict=True)] == [
        True
    ] * 3
    for name, file in zip(names, files, strict=True):
        here = exoskel.rollout(exoskel.load(file), 3, 20)
        np.testing.assert_array_equal(exoskel.BatchTrajectory.load(tmp_path / f"{name}.npz").positions, here.positions)


def test_options_belong_to_their_backend() -> None:
    with pytest.raises(exoskel.ExoskelError, match="'threads' does not support shard"):
        exoskel.rollout(exoskel.load(WALKER), 2, 5, shard=1)


def test_a_second_cluster_is_an_error() -> None:
    with pytest.raises(exoskel.ExoskelError, match="is connected to"):
        exoskel.rollout(exoskel.load(CART), 2, 5, backend="ray", address="127.0.0.1:1")
    here = ray.get_runtime_context().gcs_address
    assert len(exoskel.rollout(exoskel.load(CART), 2, 5, backend="ray", address=here)) == 2


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999"])
def test_an_unreachable_cluster_is_an_error_at_once(address: str) -> None:
    script = f"""
import exoskel
try:
    exoskel.rollout(exoskel.load({CART!r}), 2, 5, backend="ray", address={address!r})
except exoskel.ExoskelError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.startswith(f"cannot connect to Ray at {address!r}: ")


def test_stopping_preserves_finished_worlds() -> None:
    def stop(done: int) -> None:
        if done >= 20:
            raise KeyboardInterrupt

    whole = exoskel.rollout(exoskel.load(WALKER), 8, 40, vary=VARY, seed=5)
    many = exoskel.rollout(exoskel.load(WALKER), 8, 40, vary=VARY, seed=5, backend="ray", shard=1, progress=stop)
    assert many.meta["interrupted"]
    assert 4 <= len(many) < 8
    np.testing.assert_array_equal(many.positions, whole.positions[many.numbers])
    for key, values in whole.parameters.items():
        np.testing.assert_array_equal(many.parameters[key], values[many.numbers])


def test_ctrl_c_stops_files_that_run_at_the_same_time(
    exoskel_command: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    files = [f"dart://sample/skel/{name}.skel" for name in ("walker", "cart_pole")]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
    timer = threading.Timer(20.0, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    ran = exoskel_command(
        "rollout", *files, "--worlds=8", "--steps=100000000", "--stride=100000", "--backend=ray", "--out", tmp_path
    )
    timer.cancel()
    signal.signal(signal.SIGINT, before)
    assert ran.code == 130
