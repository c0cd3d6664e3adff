"""Rollouts on a Ray cluster: shards of worlds, each run by one worker as on threads.

The motion of a world depends only on its number.  So the results are the same, bit for bit, regardless of which worker
runs it, how often a worker is lost, and how the worlds are divided.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from threading import Event
from typing import Any

import numpy as np
from msgspec import structs

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.scene.world import World
from exoskel.simulate.batch import threads
from exoskel.simulate.batch.plan import RolloutPlan
from exoskel.simulate.batch.recorder import ArrayRecorder
from exoskel.spatial import Array

ATTEMPTS = 4
"""How often a shard is started before its loss is an error."""
_SHARDS_A_WORKER = 8
"""Enough that no worker waits long for the last one."""
_CONNECT_SECONDS = 10.0
"""The time limit for a connection to a cluster."""
_POLL_SECONDS = 1.0
"""The time between two checks for finished shards."""
STOPPED = Event()
"""Set it to end rollouts that wait in threads, which Ctrl-C does not reach; they return the worlds they have."""
_COMPILED: dict[str, MujocoWorld] = {}
"""In a worker: the last compiled world, by the name of the rollout."""


def run(
    plan: RolloutPlan,
    recorder: ArrayRecorder,
    progress: Callable[[int], None] | None = None,
    *,
    address: str | None = None,
    workers: int | None = None,
    shard: int | None = None,
) -> None:
    """Run a plan on a cluster (by default a local one with this machine's cores), and record its samples.

    `workers` is the number of cores of a local cluster; `shard` the number of worlds that a worker runs at a time.
    """
    ray = connect(address, workers)
    cores = int(ray.cluster_resources().get("CPU", 1)) if workers is None else workers
    size = shard or max(1, -(-plan.count // (_SHARDS_A_WORKER * cores)))
    parts = [(first, min(size, plan.count - first)) for first in range(0, plan.count, size)]
    _Shards(ray, plan, recorder, parts, cores).run(progress or (lambda _: None))


def connect(address: str | None = None, workers: int | None = None) -> Any:
    """Ray, connected to the cluster at an address, or to a new local one."""
    try:
        import ray
    except ImportError:
        raise ExoskelError("the backend 'ray' needs Ray: pip install 'exoskel[cluster]'") from None
    if ray.is_initialized():
        _check_same(ray, address)
    else:
        _check_reachable(address or "")
        options: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error", **options)
        except Exception as error:  # Ray raises many types of exceptions
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            failed = (
                "Ray does not start on this machine" if address is None else f"cannot connect to Ray at {address!r}"
            )
            raise ExoskelError(f"{failed}: {reason}") from None
    return ray


def _check_same(ray: Any, address: str | None) -> None:
    """Raise if Ray is already connected to a different cluster."""
    here = ray.get_runtime_context().gcs_address
    if address is not None and ":" in address and "://" not in address and address != here:
        raise ExoskelError(f"Ray is connected to {here!r}, not to {address!r}; call ray.shutdown() first")


def _check_reachable(address: str) -> None:
    """Raise if no server listens at `host:port` or `ray://host:port`: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # a name that Ray defines, such as `auto`
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ExoskelError(f"cannot connect to Ray at {address!r}: {reason[:1].lower()}{reason[1:]}") from None


class _Shards:
    """The shards of a rollout: waiting, running or finished."""

    def __init__(
        self, ray: Any, plan: RolloutPlan, recorder: ArrayRecorder, parts: list[tuple[int, int]], cores: int
    ) -> None:
        self.ray = ray
        self.plan = plan
        self.recorder = recorder
        self.parts = parts
        self.cores = cores
        self.attempts = [0] * len(parts)
        self.world = ray.put(plan.world)
        self.task = ray.remote(num_cpus=1, max_retries=0)(work)
        self.running: dict[Any, int] = {}

    def run(self, progress: Callable[[int], None]) -> None:
        waiting = list(range(len(self.parts)))[::-1]
        finished = 0
        self.recorder.present[:] = False
        self.recorder.done = len(self.plan.cuts)
        try:
            while waiting or self.running:
                while waiting and len(self.running) < 2 * self.cores:
                    self._begin(waiting.pop())
                found, _ = self.ray.wait(list(self.running), num_returns=1, timeout=_POLL_SECONDS)
                if STOPPED.is_set():
                    raise KeyboardInterrupt
                if not found:
                    continue
                number = self.running.pop(found[0])
                if self._receive(found[0], number):
                    finished += 1
                    progress(self.plan.steps * finished // len(self.parts))
                else:
                    waiting.append(number)
        finally:
            for reference in self.running:
                self.ray.cancel(reference, force=True)

    def _begin(self, number: int) -> None:
        self.attempts[number] += 1
        part = structs.replace(self.plan.part(*self.parts[number]), world=World(), threads=1)
        self.running[self.task.remote(self.world.hex(), self.world, part)] = number

    def _receive(self, reference: Any, number: int) -> bool:
        """Record the samples of a shard; False if it was lost and has to run again."""
        errors = self.ray.exceptions
        try:
            arrays, valid_samples = self.ray.get(reference)
        except errors.RayTaskError as error:
            cause = error.cause if isinstance(getattr(error, "cause", None), ExoskelError) else None
            raise cause or ExoskelError(f"a worker failed: {str(error).strip().splitlines()[-1]}") from None
        except errors.RayError as error:  # the worker, its machine or its memory was lost
            if self.attempts[number] < ATTEMPTS:
                return False
            first, count = self.parts[number]
            lost = f"worlds {first} to {first + count - 1} were lost {ATTEMPTS} times"
            raise ExoskelError(f"{lost}, the last time with {type(error).__name__}") from None
        first, count = self.parts[number]
        for name, array in arrays.items():
            self.recorder.arrays[name][first : first + count] = array
        self.recorder.valid_samples[first : first + count] = valid_samples
        self.recorder.present[first : first + count] = True
        return True


def work(name: str, world: World, plan: RolloutPlan) -> tuple[dict[str, Array], Any]:
    """Run a shard in a worker, and return its samples and the number of valid ones of each world."""
    engine = _COMPILED.get(name)
    if engine is None:
        _COMPILED.clear()
        engine = _COMPILED[name] = structs.replace(plan, world=world).compile()
    own = structs.replace(plan, world=engine.world)
    recorder = ArrayRecorder({key: np.empty(shape) for key, shape in own.shapes(engine).items()}, own.first)
    threads.run(own, recorder, engine=engine)
    return dict(recorder.arrays), recorder.valid_samples
