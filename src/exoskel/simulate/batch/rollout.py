"""Simulates many copies of a world with one call."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.preflight import engine_notes, require, warn_about
from exoskel.scene.item import qualified_name
from exoskel.scene.world import SceneLike, as_scene
from exoskel.simulate.batch import threads as on_threads
from exoskel.simulate.batch.parameters import Variation
from exoskel.simulate.batch.plan import (
    MEASURED_RECORDS,
    RECORDS,
    STATE_RECORDS,
    STEP_RECORDS,
    Policy,
    RolloutPlan,
    broadcastable,
    named_controls,
)
from exoskel.simulate.batch.recorder import MEMORY, ArrayRecorder, LazySamples, RawStates, Recorder, ScratchArrays
from exoskel.simulate.batch.trajectory import BatchTrajectory
from exoskel.simulate.options import MAX_THREADS, check_positive, sample_stride, whole_number
from exoskel.simulate.records import CONTACTS, POINTS
from exoskel.simulate.simulation import FRAMES_A_SECOND
from exoskel.simulate.trajectory import Trajectory
from exoskel.spatial import Array
from exoskel.version import __version__

_OWN_OPTIONS: dict[str, tuple[str, ...]] = {
    "threads": (),
    "gpu": ("device", "capacities", "compiling"),
    "ray": ("address", "workers", "shard"),
}
"""The backends, and the options that only one of them supports."""
BACKENDS = tuple(_OWN_OPTIONS)
_MAX_CAPACITY = 2**31 - 1


def rollout(
    world: SceneLike,
    worlds: int = 1,
    steps: int = 1000,
    *,
    backend: str = "threads",
    initial: dict[str, Any] | Trajectory | BatchTrajectory | None = None,
    forces: Any = None,
    commands: Any = None,
    controls: Any = None,
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
    compiling: Callable[[int, int], None] | None = None,
    warn: bool = True,
) -> BatchTrajectory:
    """Simulate many copies of a world for `steps` time steps, and return samples, `stride` steps apart.

    By default there are 100 samples per simulated second, as in `run`.  `initial` has the initial `positions` and
    `velocities`, `(dofs)` or `(worlds, dofs)`, or is a motion to continue.  `forces` and `commands` are arrays that
    broadcast to `(worlds, steps, dofs)`.  `controls` of actuators broadcast to `(worlds, steps, actuators)`, or are
    arrays by name that broadcast to `(worlds, steps)`.  Alternatively, `policy` is called every `hold` steps with the
    worlds, whose values are `(worlds, dofs)`; it may set their commands and controls, or return forces.  `vary` states
    what differs between worlds: see `exoskel.simulate.batch.parameters` for the keys, and `distributions` for the
    values.  The values of a world depend only on `seed` and its number.  `record` names what is recorded: `positions`,
    `velocities`, `body_poses`, `energy`, or `all` for these four; and, as in `run`, `forces`, `commands`,
    `accelerations`, `body_velocities`, `body_accelerations`, `reactions`, `com`, `momentum`, and the `soft_points` of
    soft bodies, which do not deform on a GPU.  Contacts cannot be recorded, because their number differs between
    samples.

    `backend` is `threads`, on this machine; or `gpu`, on Warp's `device` in single precision, with `capacities` for
    contacts and constraint rows per world (a short run measures them by default); or `ray`, on a cluster at `address`
    (by default a local cluster with `workers` workers), in shards of `shard` worlds.  Samples beyond `memory` bytes are
    stored in files in `folder` as long as the result exists.  An interrupt (Ctrl-C) ends the rollout and returns the
    samples so far.  `progress` is called with the number of steps done.  On a GPU, `compiling` is called before that,
    with the numbers of compiled modules of kernels and of all.  `meta["diagnostics"]` lists what the engine does
    differently from the scene; with `warn`, an EngineWarning reports it, too.
    """
    scene = as_scene(world)
    if backend not in BACKENDS:
        raise ExoskelError(f"unknown backend {backend!r}; choose one of {', '.join(BACKENDS)}")
    worlds, hold = whole_number("worlds", worlds, 1), whole_number("hold", hold, 1)
    steps, seed, memory = (
        whole_number("steps", steps, 0),
        whole_number("seed", seed, 0),
        whole_number("memory", memory, 0),
    )
    stride, threads = _optional_count("stride", stride), _optional_count("threads", threads, MAX_THREADS)
    check_positive("the time step", step)
    check_positive("the friction coefficient", friction, or_zero=True)
    _check_functions(policy=policy, progress=progress, compiling=compiling)
    extras = _extras(
        backend,
        address=address,
        workers=workers,
        shard=shard,
        device=device,
        capacities=capacities,
        compiling=compiling,
    )
    name = "warp" if backend == "gpu" else "mujoco"
    diagnostics = require(scene, name, limits=limits, integrator=integrator)
    if warn:
        warn_about(diagnostics, name)
    notes = {"diagnostics": engine_notes(diagnostics)}
    options = {"step": step, "limits": limits, "friction": friction, "integrator": integrator or "discrete"}
    options["skins"] = backend != "gpu"
    plan = RolloutPlan(scene.world, worlds, steps, 1, seed=seed, threads=threads or 0, policy=policy, hold=hold)
    plan.vary, plan.options = _variations(vary), options
    engine = plan.compile()
    plan.stride = stride or sample_stride(1.0 / FRAMES_A_SECOND, engine.time_step)
    plan.record = _records(record, backend)
    dofs = engine.coordinates.count
    plan.forces = broadcastable("forces", forces, (worlds, steps, dofs))
    plan.commands = broadcastable("commands", commands, (worlds, steps, dofs))
    plan.controls = named_controls(controls, engine.actuator_names, engine.actuator_controls, worlds, steps)
    plan.positions, plan.velocities = _initial(initial, engine, worlds)
    Variation(engine, plan.vary)  # report an invalid key before the rollout starts
    scratch = ScratchArrays(plan.shapes(engine), memory, folder)
    states = 8 * worlds * plan.samples * (engine.coordinates.nq + engine.coordinates.nv)
    if backend == "threads" and STATE_RECORDS.issuperset(plan.record) and scratch.size + states <= memory:
        states_recorder = RawStates(worlds, plan.samples, "velocities" in plan.record)
        info = _run(plan, engine, backend, extras, states_recorder, progress) | notes
        lazy = LazySamples(states_recorder, scratch.arrays, engine.coordinates, plan.threads)
        return _result(plan, engine, states_recorder, lazy, info)
    recorder = ArrayRecorder(scratch.arrays)
    info = _run(plan, engine, backend, extras, recorder, progress) | notes
    if not recorder.present.all():  # some shards had not finished
        scratch = scratch.only(np.flatnonzero(recorder.present))
    arrays = {name: array[:, : recorder.done] for name, array in scratch.arrays.items()}
    return _result(plan, engine, recorder, arrays, info, scratch)


def _run(
    plan: RolloutPlan,
    engine: MujocoWorld,
    backend: str,
    extras: dict[str, Any],
    recorder: Recorder,
    progress: Callable[[int], None] | None,
) -> dict[str, Any]:
    """Run a plan; returns metadata about the run."""
    begin = clock.perf_counter()
    interrupted = False
    device_name, set_up = "", 0.0
    try:
        if backend == "ray":
            from exoskel.simulate.batch import cluster

            assert isinstance(recorder, ArrayRecorder)
            cluster.run(plan, recorder, progress, **extras)
        elif backend == "gpu":
            device_name, set_up = _run_on_device(plan, recorder, progress, engine, **extras)
        else:
            on_threads.run(plan, recorder, progress, engine)
    except KeyboardInterrupt:
        if not recorder.done or not recorder.present.any():
            raise
        interrupted = True
    except MemoryError:
        raise ExoskelError(f"not enough memory for {plan.count} worlds") from None
    wall = clock.perf_counter() - begin - set_up
    return {
        "engine": "warp" if backend == "gpu" else "mujoco",
        "backend": backend,
        "device": device_name,
        "wall": wall,
        "interrupted": interrupted,
    }


def _run_on_device(
    plan: RolloutPlan,
    recorder: Recorder,
    progress: Callable[[int], None] | None,
    engine: MujocoWorld,
    device: str | None = None,
    capacities: tuple[int, int] | None = None,
    compiling: Callable[[int, int], None] | None = None,
) -> tuple[str, float]:
    """Run a plan with MuJoCo Warp; returns the name of the device, and the set-up time in s."""
    from exoskel.engines.mujoco.warp import Capacities
    from exoskel.simulate.batch.gpu import WarpWorlds

    wanted = Capacities(*capacities) if capacities is not None else None
    begin = clock.perf_counter()
    create = partial(WarpWorlds, device=device, capacities=wanted, progress=compiling)
    worlds = on_threads.create_worlds(plan, engine, create)
    name = str(worlds.device_name)  # it measures the capacities and compiles
    set_up = clock.perf_counter() - begin
    on_threads.run_worlds(plan, worlds, recorder, progress)
    return name, set_up


def _result(
    plan: RolloutPlan,
    engine: MujocoWorld,
    recorder: Recorder,
    arrays: Mapping[str, Array],
    info: dict[str, Any],
    keep: object = None,
) -> BatchTrajectory:
    cuts = np.array(plan.cuts[: recorder.done])
    variation = Variation(engine, plan.vary)
    numbers = np.flatnonzero(recorder.present)
    drawn = variation.draw(plan.seed, numbers)
    meta: dict[str, Any] = {
        **info,
        "exoskel": __version__,
        "world": plan.world.name,
        "time_step": engine.time_step,
        "seed": plan.seed,
        "steps": int(cuts[-1]),
        **({} if recorder.present.all() else {"numbers": numbers.tolist()}),
        **({"record_columns": columns} if (columns := plan.columns(engine)) else {}),
        "bodies": [list(pair) for pair in engine.bodies],
        "dof_pairs": [[m.name, name] for m in plan.world.models for name in m.dof_names],
    }
    return BatchTrajectory(
        cuts * engine.time_step,
        [qualified_name(*pair) for pair in engine.bodies],
        engine.coordinates.names,
        arrays,
        np.minimum(recorder.valid_samples, recorder.done)[numbers],
        {key: values[:, 0] if values.shape[1] == 1 else values for key, values in drawn.items()},
        meta,
        keep,
    )


def _optional_count(name: str, number: object, maximum: int | None = None) -> int | None:
    return None if number is None else whole_number(name, number, 1, maximum)


def _check_functions(**given: object) -> None:
    for name, function in given.items():
        if function is not None and not callable(function):
            raise ExoskelError(f"{name} must be a function, not {function!r}")


def _extras(backend: str, **given: Any) -> dict[str, Any]:
    """The given options, which this backend must support."""
    extras = {name: value for name, value in given.items() if value is not None}
    for name, value in extras.items():
        if name not in _OWN_OPTIONS[backend]:
            raise ExoskelError(f"the backend {backend!r} does not support {name}")
        if name in ("workers", "shard"):
            extras[name] = whole_number(name, value, 1)
    if "capacities" in extras:
        extras["capacities"] = _capacities(extras["capacities"])
    return extras


def _capacities(stated: Any) -> tuple[int, int]:
    try:
        contacts, rows = stated
    except (TypeError, ValueError):
        raise ExoskelError(f"capacities must be (contacts, rows) per world, not {stated!r}") from None
    both = whole_number("the capacity for contacts", contacts, 0), whole_number("the capacity for rows", rows, 0)
    if max(both) > _MAX_CAPACITY:
        raise ExoskelError(f"a capacity of {max(both)} exceeds the maximum of {_MAX_CAPACITY}")
    return both


def _variations(stated: Any) -> dict[str, Any]:
    if stated is None:
        return {}
    if not isinstance(stated, Mapping) or not all(isinstance(key, str) for key in stated):
        raise ExoskelError(f"vary must be a dict of keys and values, not {stated!r}")
    return dict(stated)


def _records(stated: object, backend: str) -> tuple[str, ...]:
    names = (stated,) if isinstance(stated, str) else tuple(stated) if isinstance(stated, Iterable) else (stated,)
    names = tuple(dict.fromkeys(name for one in names for name in (RECORDS if one == "all" else (one,))))
    known = [*RECORDS, *MEASURED_RECORDS]
    if backend == "gpu":
        known = [name for name in known if name not in (*STEP_RECORDS, POINTS)]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        name = (unknown[0] if unknown else "") or "nothing"
        reason = _REASONS.get(str(name), "") or (" on a GPU" if name in (*STEP_RECORDS, POINTS) else "")
        raise ExoskelError(f"cannot record {name}{reason}; choose from {', '.join(known)}")
    return names


_REASONS = {CONTACTS: ", whose number changes, for many worlds (`run` records those of one)"}
"""Why rollouts cannot record what `run` can."""


def _initial(stated: Any, engine: MujocoWorld, worlds: int) -> tuple[Array | None, Array | None]:
    """Initial positions and velocities, `(worlds or 1, dofs)`."""
    if stated is None:
        return None, None
    if isinstance(stated, Trajectory | BatchTrajectory):
        if list(stated.dof_names) != engine.coordinates.names or not len(stated.time):
            raise ExoskelError("the initial motion belongs to a different scene: its coordinates have other names")
        stated = _final_state(stated)
    if not isinstance(stated, Mapping):
        raise ExoskelError(f"an initial state must be a dict of positions and velocities, or a motion, not {stated!r}")
    unknown = set(stated) - {"positions", "velocities"}
    if unknown:
        raise ExoskelError(
            f"an initial state has positions and velocities only, not {', '.join(sorted(map(str, unknown)))}"
        )
    shape = (worlds, engine.coordinates.count)
    positions, velocities = (broadcastable(name, stated.get(name), shape) for name in ("positions", "velocities"))
    return positions, velocities


def _final_state(motion: Trajectory | BatchTrajectory) -> dict[str, Array]:
    names = ("positions", "velocities")
    if isinstance(motion, Trajectory):
        return {name: getattr(motion, name)[-1] for name in names}
    if any(name not in motion.arrays for name in names):
        raise ExoskelError("the initial motion has no positions or no velocities")
    return {name: motion.get(name, samples=-1) for name in names}
