"""How fast worlds are compiled and stepped, beside bare MuJoCo and DART's own loop."""

from __future__ import annotations

import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
from mujoco import rollout

import exoskel
from benchmarks.hand_built import HAND_BUILT, boxes
from benchmarks.harness import Run, compare, processor_timed, timed
from benchmarks.other import Other, other
from benchmarks.read_skel import CORPUS
from benchmarks.table import Row, Table
from exoskel.engines.dart import dart_world
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.formats.mjcf.tree import to_spec, to_text
from exoskel.formats.mjcf.write import write

SAMPLES = ("pendulum", "robot_arm", "walker", "hexapod", "chain")
STEPS = 1000
MOST_LINKED = 300
"""The most bodies of chains and robots: MuJoCo takes 4 s for a chain of 1,000."""


def measure(table: Table, quick: bool = False) -> None:
    pairs = 5 if quick else 21
    for name in SAMPLES:
        _step(table, name, pairs)
    _against_dart(table, 3 if quick else 9)
    for count in (30, 100, 1_000) if quick else (30, 100, 200, 300, 1_000, 3_000):
        repetitions = min(60, max(5, (1_000 if quick else 6_000) // count))
        _compile(table, count, repetitions)
        _against_hand(table, count, repetitions)
    if not quick:
        _large(table, 10_000)


def sample(name: str) -> exoskel.Simulation:
    """A sample in motion."""
    return in_motion(exoskel.load(f"dart://sample/skel/{name}.skel"))


def in_motion(scene: exoskel.Scene) -> exoskel.Simulation:
    """A scene in which nothing rests, so that no engine can take a short cut."""
    simulation = exoskel.Simulation(scene, limits=False, warn=False)
    simulation.velocities = np.where(simulation.velocities == 0.0, 0.1, simulation.velocities)
    simulation.step()
    return simulation


def _step(table: Table, name: str, pairs: int) -> None:
    simulation = sample(name)
    engine = _mujoco_world(simulation)
    model, data = engine.model, engine.data
    state = simulation.state
    step = mujoco.mj_step

    def loop() -> float:
        simulation.state = state
        begin = time.perf_counter()
        for _ in range(STEPS):
            simulation.step()
        return time.perf_counter() - begin

    def bare() -> float:
        simulation.state = state
        begin = time.perf_counter()
        for _ in range(STEPS):
            step(model, data)
        return time.perf_counter() - begin

    def bulk() -> float:
        simulation.state = state
        begin = time.perf_counter()
        simulation.step(STEPS)
        return time.perf_counter() - begin

    table.add(Row.of(f"{name}: step loop, speed over bare mj_step", compare(loop, bare, pairs), bar=0.9))
    simulation.state = state  # both begin there
    in_bulk = compare(bulk, _rollout(simulation), pairs)
    table.add(Row.of(f"{name}: in bulk, speed over mujoco.rollout", in_bulk, bar=0.97))


def _mujoco_world(simulation: exoskel.Simulation) -> MujocoWorld:
    assert isinstance(simulation.engine, MujocoWorld)
    return simulation.engine


def _rollout(simulation: exoskel.Simulation) -> Run:
    engine = _mujoco_world(simulation)
    model, data = engine.model, mujoco.MjData(engine.model)
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, engine.data, start, full)
    return timed(lambda: rollout.rollout(model, data, start[None], nstep=STEPS))


def _against_dart(table: Table, pairs: int) -> None:
    if not dart_world.available():
        table.note("DART is not installed: its loop was not measured.")
        return
    with other(sys.executable, "dart_stepper.py") as stepper:
        for name in (*SAMPLES, "soft_bodies"):
            _one_against_dart(table, name, exoskel.load(f"dart://sample/skel/{name}.skel"), stepper, pairs)
        for path in sorted(CORPUS.rglob("*.skel")):
            if b"<soft_shape>" in path.read_bytes():
                _one_against_dart(table, path.stem, exoskel.load(path), stepper, max(1, pairs // 3))


def _one_against_dart(table: Table, name: str, scene: exoskel.Scene, stepper: Other, pairs: int) -> None:
    from exoskel.formats.write import write as write_scene

    simulation = in_motion(scene)
    state = simulation.state
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "world.skel"
        file.write_bytes(write_scene(scene, "skel", folder=Path(folder)).data)

        def bulk() -> float:
            simulation.state = state
            begin = time.perf_counter()
            simulation.step(STEPS)
            return time.perf_counter() - begin

        measured = compare(bulk, stepper.run(file), pairs)
    table.add(Row.of(f"{name}: {STEPS} steps, speed over DART's own loop", measured, bar=None))


def _compile(table: Table, count: int, pairs: int) -> None:
    world = boxes(count)
    document = write(world)
    text = to_text(document)
    table.progress(f"compiling {count:,} boxes")
    parsing = processor_timed(lambda: mujoco.MjModel.from_xml_string(text))
    compiling = compare(parsing, processor_timed(lambda: to_spec(document).compile()), pairs)
    name = f"{count:,} free boxes from MJCF document to model, over MuJoCo parsing and compiling the same as text"
    table.add(Row.of(name, compiling, bar=1.1, lower_is_better=True))
    ours = processor_timed(lambda: exoskel.Simulation(world))
    parsed = compare(parsing, ours, pairs)
    name = f"{count:,} free boxes from scene to simulation, over MuJoCo parsing and compiling its own file"
    table.add(Row.of(name, parsed, bar=1.1, lower_is_better=True))


def _against_hand(table: Table, count: int, pairs: int) -> None:
    """From scene to simulation, beside adding the same to MuJoCo's own interface and compiling it."""
    for what, (build, by_hand) in HAND_BUILT.items():
        if count > MOST_LINKED and build is not boxes:
            continue
        world = build(count)
        table.progress(f"compiling {count:,} {what}")
        ours, hand = processor_timed(partial(exoskel.Simulation, world)), processor_timed(partial(by_hand, count))
        name = f"{count:,} {what} from scene to simulation, over adding and compiling them by hand"
        table.add(Row.of(name, compare(hand, ours, pairs), bar=1.3, lower_is_better=True))


def _large(table: Table, count: int) -> None:
    table.progress(f"compiling and running {count:,} free boxes")
    world = boxes(count)
    begin = time.perf_counter()
    simulation = exoskel.Simulation(world)
    compiled = time.perf_counter()
    simulation.step(100)
    table.note(
        f"{count:,} free boxes: compiled in {compiled - begin:.1f} s, "
        f"100 steps in {time.perf_counter() - compiled:.2f} s."
    )
