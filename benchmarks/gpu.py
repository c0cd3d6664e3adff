"""How fast many worlds run on a GPU, beside bare MuJoCo Warp on the same model: `python -m benchmarks.gpu`.

Runs by itself where little is installed: NumPy, msgspec, lxml, MuJoCo, Warp and MuJoCo Warp will do.  With other
files as arguments, those are measured instead of the samples.
"""

from __future__ import annotations

import argparse
import copy
import json
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.mujoco.warp import load
from exoskel.formats.load import load as read
from exoskel.simulate.batch import threads
from exoskel.simulate.batch.gpu import WarpWorlds
from exoskel.simulate.batch.plan import Plan
from exoskel.simulate.batch.recorder import ArrayRecorder

SAMPLES = ("pendulum", "double_pendulum", "robot_arm", "walker", "hexapod", "chain", "falling_boxes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="scenes; samples if none are given")
    parser.add_argument("--worlds", type=int, nargs="*", default=[8192, 32768])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--stride", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--ours-only", action="store_true", help="do not try the capacities that Warp guesses")
    parser.add_argument("--device", default=None)
    parser.add_argument("--out", type=Path, default=Path("out/gpu.json"))
    told = parser.parse_args()
    warp, _ = load()
    device = warp.get_device(told.device)
    print(f"{device.name}, Python {platform.python_version()}, Warp {warp.__version__}", flush=True)
    files = told.files or [f"dart://sample/skel/{name}.skel" for name in SAMPLES]
    rows: list[dict[str, Any]] = []
    for file in files:
        for worlds in told.worlds:
            try:
                rows.append(_measure(file, worlds, told))
            except Exception as error:
                rows.append({"file": file, "worlds": worlds, "error": f"{type(error).__name__}: {error}"})
            print(json.dumps(rows[-1]), flush=True)
            told.out.parent.mkdir(parents=True, exist_ok=True)
            told.out.write_text(json.dumps({"device": device.name, "rows": rows}, indent=2) + "\n", encoding="utf-8")


def _measure(file: str, worlds: int, told: Any) -> dict[str, Any]:
    """Steps a second of a whole rollout and of a bare loop of replayed graphs, in turns."""
    scene = read(file)
    engine = MujocoWorld(scene.world)
    plan = Plan(scene.world, worlds, told.steps, told.stride)
    many = threads.create_worlds(plan, engine, partial(WarpWorlds, device=told.device))
    start = many.qpos.copy(), many.qvel.copy()
    begin = time.perf_counter()
    own = many.device  # probes, compiles, records the graph
    set_up = time.perf_counter() - begin
    room = own.data.naconmax // worlds, own.data.njmax
    ours, bare, default = [], [], []
    raw = _bare(engine, worlds, told.device, start, room)
    raw_default = None if told.ours_only else _bare(engine, worlds, told.device, start)
    for _ in range(told.pairs):
        ours.append(_ours(plan, many))
        if raw is not None:
            bare.append(raw(told.steps))
        if raw_default is not None:
            default.append(raw_default(told.steps))
    total = worlds * told.steps
    return {
        "file": file,
        "worlds": worlds,
        "dofs": engine.coordinates.count,
        "contacts_and_rows": room,
        "set_up_s": round(set_up, 2),
        "ours_steps_per_s": round(total / float(np.median(ours))),
        "bare_steps_per_s": round(total / float(np.median(bare))) if bare else None,
        "ratio": round(float(np.median(np.array(bare) / np.array(ours))), 3) if bare else None,
        "bare_with_warps_own_capacities_steps_per_s": round(total / float(np.median(default))) if default else None,
        "samples_kept": len(plan.cuts),
    }


def _ours(plan: Plan, many: WarpWorlds) -> float:
    """A rollout from the start: stepping, samples brought here, turned into the scene's coordinates, judged, kept."""
    shapes = plan.shapes(many.engine)
    many.reset()
    many.device.warp.synchronize_device(many.device.device)
    begin = time.perf_counter()
    tape = ArrayRecorder({name: np.empty(shape) for name, shape in shapes.items()})
    threads.run_worlds(plan, many, tape)
    return time.perf_counter() - begin


def _bare(
    engine: MujocoWorld,
    worlds: int,
    name: str | None,
    start: tuple[Any, Any],
    room: tuple[int, int] | None = None,
) -> Callable[[int], float] | None:
    """MuJoCo Warp itself: a step recorded as a graph and launched in a loop, and nothing else, no sample either.

    With our capacities, or those that it guesses; None if they do not suffice or fit.
    """
    warp, mujoco_warp = load()
    own = copy.copy(engine.model)
    own.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # it does not know that flag
    sizes = {} if room is None else {"nconmax": room[0], "njmax": room[1]}
    with warp.ScopedDevice(name):
        try:
            model, data = mujoco_warp.put_model(own), mujoco_warp.make_data(own, nworld=worlds, **sizes)
            step = partial(mujoco_warp.step, model, data)  # a graph does not keep alive what it reads
            replay = _replayed(warp, step)
        except Exception:
            return None

    def run(steps: int) -> float:
        with warp.ScopedDevice(name):
            data.qpos.assign(start[0].astype(np.float32))
            data.qvel.assign(start[1].astype(np.float32))
            data.qacc_warmstart.zero_()
            warp.synchronize_device(name)
            begin = time.perf_counter()
            for _ in range(steps):
                replay()
            warp.synchronize_device(name)
            return time.perf_counter() - begin

    run(20)
    run.__dict__["step"] = step
    return None if data.overflow.numpy().any() else run


def _replayed(warp: Any, step: Callable[[], None]) -> Callable[[], None]:
    """A step: replayed where a device can, called where it cannot."""
    step()
    if not warp.get_device().is_cuda:
        return step
    with warp.ScopedCapture() as capture:
        step()
    return partial(warp.capture_launch, capture.graph)


if __name__ == "__main__":
    main()
