"""One call from one world to thousands."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco import MujocoWorld
from exoskel.engines.preflight import require
from exoskel.formats.mjcf.layout import path
from exoskel.scene.world import Scene, World
from exoskel.simulate.batch import threads as on_threads
from exoskel.simulate.batch.knobs import Variation
from exoskel.simulate.batch.plan import RECORDS, Plan, Policy, spread
from exoskel.simulate.batch.tape import MEMORY, Scratch, Tape
from exoskel.simulate.batch.trajectory import BatchTrajectory
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
    `exoskel.simulate.batch.knobs` for the keys, and `laws` for the values.  What a world draws depends on `seed` and
    its number alone.  `record` names what is kept: `positions`, `velocities`, `body_poses`, `energy`, or `all`.
    `backend` is `threads`, on this machine; or `gpu`, on Warp's `device` in single precision, with room for so many
    contacts and constraint rows a world (`capacities`; a short run finds them by default); or `ray`, on a cluster at
    `address` (by default one that is started here with so many `workers`), in shards of so many worlds.  Samples
    beyond `memory` bytes are kept in files in `folder` until the result is forgotten.  An interruption (Ctrl-C) keeps
    what was simulated.
    """
    own = world.world if isinstance(world, Scene) else world
    if backend not in BACKENDS:
        raise ExoskelError(f"there is no backend {backend!r}; there are {', '.join(BACKENDS)}")
    counts = {"worlds": worlds, "hold": hold, "stride": stride, "threads": threads, "workers": workers, "shard": shard}
    for word, number in counts.items():
        _check_count(word, number, 1)
    for word, number in {"steps": steps, "seed": seed}.items():
        _check_count(word, number, 0)
    extras: dict[str, Any] = {"address": address, "workers": workers, "shard": shard}
    extras |= {"device": device, "capacities": capacities}
    extras = {word: value for word, value in extras.items() if value is not None}
    for word in extras:
        if word not in _OWN_OPTIONS[backend]:
            raise ExoskelError(f"the backend {backend!r} has no {word}")
    require(world, "mujoco", limits=limits)
    options = {"step": step, "limits": limits, "friction": friction, "integrator": integrator or "discrete"}
    plan = Plan(own, worlds, steps, 1, seed=seed, threads=threads or 0, vary=dict(vary or {}), policy=policy, hold=hold)
    plan.options = options
    engine = plan.compile()
    plan.stride = stride or max(1, round(1.0 / (FRAMES_A_SECOND * engine.time_step)))
    plan.record = _records(record)
    dofs = engine.coordinates.count
    plan.forces = spread("forces", forces, (worlds, steps, dofs))
    plan.commands = spread("commands", commands, (worlds, steps, dofs))
    plan.positions, plan.velocities = _initial(initial, engine, worlds)
    Variation(engine, plan.vary)  # a mistake in a key is told before anything else happens
    return _run(plan, engine, backend, extras, Scratch(plan.shapes(engine), memory, folder), progress)


def _run(
    plan: Plan,
    engine: MujocoWorld,
    backend: str,
    extras: dict[str, Any],
    scratch: Scratch,
    progress: Callable[[int], None] | None,
) -> BatchTrajectory:
    tape = Tape(scratch.arrays)
    begin = clock.perf_counter()
    interrupted = False
    place, set_up = "", 0.0
    try:
        if backend == "ray":
            from exoskel.simulate.batch import cluster

            cluster.run(plan, tape, progress, **extras)
        elif backend == "gpu":
            place, set_up = _run_on_device(plan, tape, progress, engine, **extras)
        else:
            on_threads.run(plan, tape, progress, engine)
    except KeyboardInterrupt:
        if not tape.done:
            raise
        interrupted = True
    except MemoryError:
        raise ExoskelError(f"there is not enough memory for {plan.count} worlds") from None
    wall = clock.perf_counter() - begin - set_up
    return _result(plan, engine, (backend, place), scratch, tape, wall, interrupted)


def _run_on_device(
    plan: Plan,
    tape: Tape,
    progress: Callable[[int], None] | None,
    engine: MujocoWorld,
    device: str | None = None,
    capacities: tuple[int, int] | None = None,
) -> tuple[str, float]:
    """Do what the plan says with MuJoCo Warp; returns where that was, and how long (s) setting it up took."""
    from exoskel.engines.warp import Capacities
    from exoskel.simulate.batch.gpu import WarpWorlds

    room = Capacities(*capacities) if capacities is not None else None
    begin = clock.perf_counter()
    worlds = on_threads.prepare(plan, engine, partial(WarpWorlds, device=device, room=room))
    place = str(worlds.place)  # it probes and compiles
    set_up = clock.perf_counter() - begin
    on_threads.go(plan, worlds, tape, progress)
    return place, set_up


def _result(
    plan: Plan,
    engine: MujocoWorld,
    where: tuple[str, str],
    scratch: Scratch,
    tape: Tape,
    wall: float,
    interrupted: bool,
) -> BatchTrajectory:
    cuts = np.array(plan.cuts[: tape.done])
    variation = Variation(engine, plan.vary)
    drawn = variation.draw(plan.seed, np.arange(plan.first, plan.first + plan.count))
    meta: dict[str, Any] = {
        "engine": "warp" if where[0] == "gpu" else "mujoco",
        "backend": where[0],
        "device": where[1],
        "exoskel": __version__,
        "world": plan.world.name,
        "time_step": engine.time_step,
        "seed": plan.seed,
        "steps": int(cuts[-1]),
        "wall": wall,
        "interrupted": interrupted,
        "bodies": [list(pair) for pair in engine.bodies],
        "dof_pairs": [[m.name, name] for m in plan.world.models for name in m.dof_names],
    }
    return BatchTrajectory(
        cuts * engine.time_step,
        [path(*pair) for pair in engine.bodies],
        engine.coordinates.names,
        {name: array[:, : tape.done] for name, array in scratch.arrays.items()},
        np.minimum(tape.sound, tape.done),
        {key: values[:, 0] if values.shape[1] == 1 else values for key, values in drawn.items()},
        meta,
        scratch,
    )


def _check_count(word: str, number: int | None, least: int) -> None:
    if number is not None and (isinstance(number, bool) or int(number) != number or number < least):
        raise ExoskelError(f"{word} has to be a whole number of at least {least}, not {number}")


def _records(stated: str | Sequence[str]) -> tuple[str, ...]:
    names = RECORDS if stated == "all" else (stated,) if isinstance(stated, str) else tuple(stated)
    unknown = [name for name in names if name not in RECORDS]
    if unknown or not names:
        raise ExoskelError(f"{unknown[0] if unknown else 'nothing'} cannot be recorded; {', '.join(RECORDS)} can")
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
    unknown = set(stated) - {"positions", "velocities"}
    if unknown:
        raise ExoskelError(f"an initial state has positions and velocities, no {', '.join(sorted(unknown))}")
    shape = (worlds, engine.coordinates.count)
    positions, velocities = (spread(word, stated.get(word), shape) for word in ("positions", "velocities"))
    return positions, velocities
