"""Speed of rollouts on threads, compared with bare `mujoco.batch` and `mujoco.rollout` on the same model."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import time
from functools import cache

import mujoco
import numpy as np
from mujoco import rollout as raw_rollout
from mujoco.batch import Batch

import exoskel
from benchmarks.harness import Run, compare
from benchmarks.table import Row, Table
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.simulate.batch import threads
from exoskel.simulate.batch.plan import RolloutPlan
from exoskel.simulate.batch.recorder import LazySamples, RawStates, ScratchArrays

SAMPLES = ("pendulum", "robot_arm", "walker", "chain", "falling_boxes")
WORLDS, STEPS = 256, 100
MANY_WORLDS = 2048
"""For the conversion to coordinates, which numba compiles for that many worlds, if it is installed."""


def measure(table: Table, quick: bool = False) -> None:
    pairs = 5 if quick else 15
    for name in SAMPLES:
        scene = exoskel.load(f"dart://sample/skel/{name}.skel")
        engine = MujocoWorld(scene.world, limits=False)
        for stride in (1, 10):
            measured = compare(_ours(scene, engine, stride), _bare(engine, stride), pairs)
            samples = "every step" if stride == 1 else f"every {stride} steps"
            table.add(Row.of(f"{name}: {samples} recorded, speed over bare mujoco.batch", measured, bar=0.95))
        measured = compare(_ours(scene, engine, 1), _raw_rollout(engine), pairs)
        table.add(Row.of(f"{name}: every step recorded, speed over bare mujoco.rollout", measured, bar=0.95))
        both = _ours(scene, engine, 1, converts=True, count=MANY_WORLDS), _bare(engine, 1, count=MANY_WORLDS)
        samples = f"{MANY_WORLDS} worlds, every step recorded and converted to coordinates"
        measured = compare(*both, max(3, pairs // 3))
        table.add(Row.of(f"{name}: {samples}, speed over bare mujoco.batch", measured, bar=0.9))
    if importlib.util.find_spec("numba") is None:
        table.note("numba is not installed: coordinates were converted by NumPy.")
    if (os.cpu_count() or 1) > 1:
        _scaling(table, pairs)
        _cluster(table, 3 if quick else 7)


def _ours(
    scene: exoskel.Scene,
    engine: MujocoWorld,
    stride: int,
    cores: int = 0,
    converts: bool = False,
    count: int = WORLDS,
) -> Run:
    """A whole rollout except compilation, with all samples checked and recorded; `converts` reads coordinates, too."""
    plan = RolloutPlan(scene.world, count, STEPS, stride, threads=cores)

    def run() -> float:
        begin = time.perf_counter()
        scratch = ScratchArrays(plan.shapes(engine))
        recorder = RawStates(plan.count, plan.samples)
        worlds = threads.run(plan, recorder, engine=engine)
        samples = LazySamples(recorder, scratch.arrays, worlds.engine.coordinates, cores)
        if converts:
            dict(samples)
        return time.perf_counter() - begin

    return run


def _bare(engine: MujocoWorld, stride: int, cores: int = 0, count: int = WORLDS) -> Run:
    model, data = engine.model, engine.data

    def run() -> float:
        begin = time.perf_counter()
        batch = Batch(model, count, cores)
        batch.qpos, batch.qvel = data.qpos, data.qvel
        if stride == 1:
            rollout = batch.rollout(STEPS, record=("qpos", "qvel"))
        else:
            rollout, recorded = None, np.empty((2, count, STEPS // stride, max(model.nq, model.nv)))
            qpos, qvel = batch.bind("qpos"), batch.bind("qvel")
            for number in range(STEPS // stride):
                batch.step(nstep=stride)
                recorded[0, :, number, : model.nq], recorded[1, :, number, : model.nv] = qpos, qvel
        seconds = time.perf_counter() - begin
        del rollout  # not timed, as ours is not
        return seconds

    return run


def _raw_rollout(engine: MujocoWorld) -> Run:
    model, cores = engine.model, os.cpu_count() or 1
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, engine.data, start, full)

    def run() -> float:
        begin = time.perf_counter()
        with raw_rollout.Rollout(nthread=cores if cores > 1 else 0) as pool:
            pool.rollout(model, [mujoco.MjData(model) for _ in range(cores)], np.tile(start, (WORLDS, 1)), nstep=STEPS)
        return time.perf_counter() - begin

    return run


def _scaling(table: Table, pairs: int) -> None:
    """The speed of two threads over one, ours and that of bare MuJoCo."""
    scene = exoskel.load("dart://sample/skel/walker.skel")
    engine = MujocoWorld(scene.world, limits=False)
    ours = compare(_ours(scene, engine, 1, 2), _ours(scene, engine, 1, 1), pairs)
    table.add(Row.of("walker: two threads over one", ours, bar=None))
    theirs = compare(_bare(engine, 1, 2), _bare(engine, 1, 1), pairs)
    table.add(Row.of("walker: two threads over one, bare mujoco.batch", theirs, bar=None))


def _cluster(table: Table, pairs: int) -> None:
    """The speed of two workers of a cluster over one, without their start-up."""
    if importlib.util.find_spec("ray") is None:
        table.note("Ray is not installed: a cluster was not measured.")
        return
    measured = compare(_workers(2), _workers(1), pairs, warm_up=0)
    table.add(Row.of("walker: two workers of a cluster over one", measured, bar=1.8))
    possible = compare(_processes(2), _processes(1), pairs, warm_up=0)
    table.add(
        Row.of("walker: two independent processes over one, bare mj_step (limit of the machine)", possible, bar=None)
    )


def _workers(count: int) -> Run:
    import ray

    scene = exoskel.load("dart://sample/skel/walker.skel")

    def run() -> float:
        ray.init(num_cpus=count, include_dashboard=False, log_to_driver=False, logging_level="error")
        try:
            exoskel.rollout(scene, 4 * count, 5, backend="ray", limits=False)  # starts the workers and compiles
            begin = time.perf_counter()
            exoskel.rollout(scene, WORLDS, 10 * STEPS, backend="ray", limits=False)
            return time.perf_counter() - begin
        finally:
            ray.shutdown()

    return run


def _processes(count: int) -> Run:
    """The steps of `_workers` in independent processes."""

    def run() -> float:
        with multiprocessing.get_context("spawn").Pool(count) as pool:
            pool.map(_step_worlds, [1] * (4 * count), chunksize=1)  # starts the processes and compiles
            begin = time.perf_counter()
            pool.map(_step_worlds, [WORLDS // 32] * 32, chunksize=1)
            return time.perf_counter() - begin

    return run


def _step_worlds(worlds: int) -> None:
    model = _walker()
    data = mujoco.MjData(model)
    for _ in range(worlds):
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, nstep=10 * STEPS)


@cache
def _walker() -> mujoco.MjModel:
    return MujocoWorld(exoskel.load("dart://sample/skel/walker.skel").world, limits=False).model
