"""One call from one world to thousands."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.preflight import require
from exoskel.scene.item import qualified_name
from exoskel.scene.world import Scene, World
from exoskel.simulate.batch import threads as on_threads
from exoskel.simulate.batch.parameters import Variation
from exoskel.simulate.batch.plan import RECORDS, TURNED, Policy, RolloutPlan, spread
from exoskel.simulate.batch.raw_states import LazySamples, RawStates
from exoskel.simulate.batch.recorder import MEMORY, ArrayRecorder, Recorder, ScratchArrays
from exoskel.simulate.batch.trajectory import BatchTrajectory
from exoskel.simulate.options import check_positive, whole
from exoskel.simulate.run import FRAMES_A_SECOND
from exoskel.simulate.trajectory import Trajectory
from exoskel.spatial import Array
from exoskel.version import __version__

_OWN_OPTIONS: dict[str, tuple[str, ...]] = {
    "threads": (),
    "gpu": ("device", "capacities"),
    "ray": ("address", "workers", "shard"),
}
"""The backends, and the options that only one of them has."""
BACKENDS = tuple(_OWN_OPTIONS)
_MOST_ROOM = 2**31 - 1


def rollout(
    world: World | Scene,
    worlds: int = 1,
    steps: int = 1000,
    *,
    backend: str = "threads",
    initial: dict[str, Any] | Trajectory | BatchTrajectory | None = None,
    forces: Any = None,
    commands: Any = None,
    policy: Policy | None = None,
    hold: int = 1,
    vary: dict[str, Any] | None = None,
    seed: int = 0,
    record: str | Sequence[str] = ("positions", "velocities"),
    stride: int | None = None,
    step: float | None = None,
    integrator: str | None = None,
    limits: bool | None = None,
    friction: float | None = None,
    threads: int | None = None,
    address: str | None = None,
    workers: int | None = None,
    shard: int | None = None,
    device: str | None = None,
    capacities: tuple[int, int] | None = None,
    memory: int = MEMORY,
    folder: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> BatchTrajectory:
    """Simulate many copies of a world for `steps` time steps, and return samples, `stride` steps apart.

    By default samples are as close as those of `run`, 100 a second.  `initial` holds `positions` and `velocities` of
    the start, `(dofs)` or `(worlds, dofs)`, or is a motion to go on from.  `forces` and `commands` are arrays that
    spread over `(worlds, steps, dofs)`; or `policy` is called every `hold` steps with the worlds, `(worlds, dofs)` of
    everything, and may set their commands or return forces.  `vary` says what differs from world to world: see
    `exoskel.simulate.batch.parameters` for the keys, and `distributions` for the values.  What a world draws depends on
    `seed` and its number alone.  `record` names what is kept: `positions`, `velocities`, `body_poses`, `energy`,
    or `all`.  `backend` is `threads`, on this machine; or `gpu`, on Warp's `device` in single precision, with room for
    so many contacts and constraint rows a world (`capacities`; a short run finds them by default); or `ray`, on a
    cluster at `address` (by default one that is started here with so many `workers`), in shards of so many worlds.
    Samples beyond `memory` bytes are kept in files in `folder` until the result is forgotten.  An interruption (Ctrl-C)
    keeps what was simulated.
    """
    if not isinstance(world, World | Scene):
        raise ExoskelError(f"a world or a scene is meant, not {world!r}; exoskel.load reads one from a file")
    own = world.world if isinstance(world, Scene) else world
    if backend not in BACKENDS:
        raise ExoskelError(f"there is no backend {backend!r}; there are {', '.join(BACKENDS)}")
    worlds, hold = whole("worlds", worlds, 1), whole("hold", hold, 1)
    steps, seed, memory = whole("steps", steps, 0), whole("seed", seed, 0), whole("memory", memory, 0)
    stride, threads = _perhaps("stride", stride), _perhaps("threads", threads)
    check_positive("a time step", step)
    check_positive("a friction coefficient", friction, or_zero=True)
    _check_functions(policy=policy, progress=progress)
    extras = _extras(backend, address=address, workers=workers, shard=shard, device=device, capacities=capacities)
    require(world, "mujoco", limits=limits)
    options = {"step": step, "limits": limits, "friction": friction, "integrator": integrator or "discrete"}
    plan = RolloutPlan(own, worlds, steps, 1, seed=seed, threads=threads or 0, policy=policy, hold=hold)
    plan.vary, plan.options = _variations(vary), options
    engine = plan.compile()
    plan.stride = stride or max(1, round(1.0 / (FRAMES_A_SECOND * engine.time_step)))
    plan.record = _records(record)
    dofs = engine.coordinates.count
    plan.forces = spread("forces", forces, (worlds, steps, dofs))
    plan.commands = spread("commands", commands, (worlds, steps, dofs))
    plan.positions, plan.velocities = _initial(initial, engine, worlds)
    Variation(engine, plan.vary)  # a mistake in a key is told before anything else happens
    scratch = ScratchArrays(plan.shapes(engine), memory, folder)
    states = 8 * worlds * plan.samples * (engine.coordinates.nq + engine.coordinates.nv)
    if backend == "threads" and TURNED.issuperset(plan.record) and scratch.size + states <= memory:
        reel = RawStates(worlds, plan.samples, "velocities" in plan.record)
        told = _run(plan, engine, backend, extras, reel, progress)
        return _result(plan, engine, reel, LazySamples(reel, scratch.arrays, engine.coordinates, plan.threads), told)
    pages = ArrayRecorder(scratch.arrays)
    told = _run(plan, engine, backend, extras, pages, progress)
    if not pages.here.all():  # shards were still under way
        scratch = scratch.only(np.flatnonzero(pages.here))
    arrays = {name: array[:, : pages.done] for name, array in scratch.arrays.items()}
    return _result(plan, engine, pages, arrays, told, scratch)


def _run(
    plan: RolloutPlan,
    engine: MujocoWorld,
    backend: str,
    extras: dict[str, Any],
    tape: Recorder,
    progress: Callable[[int], None] | None,
) -> dict[str, Any]:
    """Do what the plan says; returns what there is to be told of it."""
    begin = clock.perf_counter()
    interrupted = False
    place, set_up = "", 0.0
    try:
        if backend == "ray":
            from exoskel.simulate.batch import cluster

            assert isinstance(tape, ArrayRecorder)
            cluster.run(plan, tape, progress, **extras)
        elif backend == "gpu":
            place, set_up = _run_on_device(plan, tape, progress, engine, **extras)
        else:
            on_threads.run(plan, tape, progress, engine)
    except KeyboardInterrupt:
        if not tape.done or not tape.here.any():
            raise
        interrupted = True
    except MemoryError:
        raise ExoskelError(f"there is not enough memory for {plan.count} worlds") from None
    wall = clock.perf_counter() - begin - set_up
    return {
        "engine": "warp" if backend == "gpu" else "mujoco",
        "backend": backend,
        "device": place,
        "wall": wall,
        "interrupted": interrupted,
    }


def _run_on_device(
    plan: RolloutPlan,
    tape: Recorder,
    progress: Callable[[int], None] | None,
    engine: MujocoWorld,
    device: str | None = None,
    capacities: tuple[int, int] | None = None,
) -> tuple[str, float]:
    """Do what the plan says with MuJoCo Warp; returns where that was, and how long (s) setting it up took."""
    from exoskel.engines.mujoco.warp import Capacities
    from exoskel.simulate.batch.gpu import WarpWorlds

    room = Capacities(*capacities) if capacities is not None else None
    begin = clock.perf_counter()
    worlds = on_threads.prepare(plan, engine, partial(WarpWorlds, device=device, room=room))
    place = str(worlds.device_name)  # it probes and compiles
    set_up = clock.perf_counter() - begin
    on_threads.go(plan, worlds, tape, progress)
    return place, set_up


def _result(
    plan: RolloutPlan,
    engine: MujocoWorld,
    tape: Recorder,
    arrays: Mapping[str, Array],
    told: dict[str, Any],
    keep: object = None,
) -> BatchTrajectory:
    cuts = np.array(plan.cuts[: tape.done])
    variation = Variation(engine, plan.vary)
    numbers = np.flatnonzero(tape.here)
    drawn = variation.draw(plan.seed, numbers)
    meta: dict[str, Any] = {
        **told,
        "exoskel": __version__,
        "world": plan.world.name,
        "time_step": engine.time_step,
        "seed": plan.seed,
        "steps": int(cuts[-1]),
        **({} if tape.here.all() else {"numbers": numbers.tolist()}),
        "bodies": [list(pair) for pair in engine.bodies],
        "dof_pairs": [[m.name, name] for m in plan.world.models for name in m.dof_names],
    }
    return BatchTrajectory(
        cuts * engine.time_step,
        [qualified_name(*pair) for pair in engine.bodies],
        engine.coordinates.names,
        arrays,
        np.minimum(tape.sound, tape.done)[numbers],
        {key: values[:, 0] if values.shape[1] == 1 else values for key, values in drawn.items()},
        meta,
        keep,
    )


def _perhaps(word: str, number: Any) -> int | None:
    return None if number is None else whole(word, number, 1)


def _check_functions(**given: Any) -> None:
    for word, function in given.items():
        if function is not None and not callable(function):
            raise ExoskelError(f"{word} has to be a function, not {function!r}")


def _extras(backend: str, **given: Any) -> dict[str, Any]:
    """The options that are given and that this backend has."""
    extras = {word: value for word, value in given.items() if value is not None}
    for word, value in extras.items():
        if word not in _OWN_OPTIONS[backend]:
            raise ExoskelError(f"the backend {backend!r} has no {word}")
        if word in ("workers", "shard"):
            extras[word] = whole(word, value, 1)
    if "capacities" in extras:
        extras["capacities"] = _capacities(extras["capacities"])
    return extras


def _capacities(stated: Any) -> tuple[int, int]:
    try:
        contacts, rows = stated
    except (TypeError, ValueError):
        raise ExoskelError(f"capacities are (contacts, rows) for each world, not {stated!r}") from None
    both = whole("the capacity for contacts", contacts, 0), whole("the capacity for rows", rows, 0)
    if max(both) > _MOST_ROOM:
        raise ExoskelError(f"a capacity of {max(both)} is more than a device can count")
    return both


def _variations(stated: Any) -> dict[str, Any]:
    if stated is None:
        return {}
    if not isinstance(stated, Mapping) or not all(isinstance(key, str) for key in stated):
        raise ExoskelError(f"vary is a table of keys and what they vary over, not {stated!r}")
    return dict(stated)


def _records(stated: Any) -> tuple[str, ...]:
    if isinstance(stated, str):
        return RECORDS if stated == "all" else _records((stated,))
    names = tuple(stated) if isinstance(stated, Iterable) else (stated,)
    unknown = [name for name in names if name not in RECORDS]
    if unknown or not names:
        told = (unknown[0] if unknown else "") or "nothing"
        raise ExoskelError(f"{told} cannot be recorded; {', '.join(RECORDS)} can")
    return names


def _initial(stated: Any, engine: MujocoWorld, worlds: int) -> tuple[Array | None, Array | None]:
    """Positions and velocities of the start, `(worlds or 1, dofs)`."""
    if stated is None:
        return None, None
    if isinstance(stated, Trajectory | BatchTrajectory):
        if list(stated.dof_names) != engine.coordinates.names or not len(stated.time):
            raise ExoskelError("the motion to start from is of another scene: its coordinates have other names")
        both = stated.positions, stated.velocities
        if both[0] is None or both[1] is None:
            raise ExoskelError("the motion to start from has no positions or no velocities")
        stated = {"positions": both[0][..., -1, :], "velocities": both[1][..., -1, :]}
    if not isinstance(stated, Mapping):
        raise ExoskelError(f"an initial state is a table of positions and velocities, or a motion, not {stated!r}")
    unknown = set(stated) - {"positions", "velocities"}
    if unknown:
        raise ExoskelError(f"an initial state has positions and velocities, no {', '.join(sorted(map(str, unknown)))}")
    shape = (worlds, engine.coordinates.count)
    positions, velocities = (spread(word, stated.get(word), shape) for word in ("positions", "velocities"))
    return positions, velocities
