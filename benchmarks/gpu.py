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
from exoskel.simulate.batch.plan import RolloutPlan
from exoskel.simulate.batch.recorder import ArrayRecorder

SAMPLES = ("pendulum", "double_pendulum", "robot_arm", "walker", "hexapod", "chain", "falling_boxes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="scene files; default: samples")
    parser.add_argument("--worlds", type=int, nargs="*", default=[8192, 32768])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--stride", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--ours-only", action="store_true", help="do not measure the capacities that Warp estimates")
    parser.add_argument("--device", default=None)
    parser.add_argument("--out", type=Path, default=Path("out/gpu.json"))
    options = parser.parse_args()
    warp, _ = load()
    device = warp.get_device(options.device)
    print(f"{device.name}, Python {platform.python_version()}, Warp {warp.__version__}", flush=True)
    files = options.files or [f"dart://sample/skel/{name}.skel" for name in SAMPLES]
    rows: list[dict[str, Any]] = []
    for file in files:
        for worlds in options.worlds:
            try:
                rows.append(_measure(file, worlds, options))
            except Exception as error:
                rows.append({"file": file, "worlds": worlds, "error": f"{type(error).__name__}: {error}"})
            print(json.dumps(rows[-1]), flush=True)
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps({"device": device.name, "rows": rows}, indent=2) + "\n", encoding="utf-8")


def _measure(file: str, worlds: int, options: Any) -> dict[str, Any]:
    """Steps per second of a whole rollout and of a bare loop of replayed graphs, measured alternately."""
    scene = read(file)
    engine = MujocoWorld(scene.world)
    plan = RolloutPlan(scene.world, worlds, options.steps, options.stride)
    many = threads.create_worlds(plan, engine, partial(WarpWorlds, device=options.device))
    assert isinstance(many, WarpWorlds)
    start = many.qpos.copy(), many.qvel.copy()
    begin = time.perf_counter()
    own = many.device  # measures capacities, compiles, captures the graph
    set_up = time.perf_counter() - begin
    capacities = own.data.naconmax // worlds, own.data.njmax
    ours, bare, default = [], [], []
    # Where nothing can touch, we reserve nothing; the loop of Warp alone has the least that Warp's users would reserve.
    raw = _bare(engine, worlds, options.device, start, (max(8, capacities[0]), max(16, capacities[1])))
    raw_default = None if options.ours_only else _bare(engine, worlds, options.device, start)
    for _ in range(options.pairs):
        ours.append(_ours(plan, many))
        if raw is not None:
            bare.append(raw(options.steps))
        if raw_default is not None:
            default.append(raw_default(options.steps))
    total = worlds * options.steps
    return {
        "file": file,
        "worlds": worlds,
        "dofs": engine.coordinates.count,
        "contacts_and_rows": capacities,
        "set_up_s": round(set_up, 2),
        "ours_steps_per_s": round(total / float(np.median(ours))),
        "bare_steps_per_s": round(total / float(np.median(bare))) if bare else None,
        "ratio": round(float(np.median(np.array(bare) / np.array(ours))), 3) if bare else None,
        "bare_with_warps_own_capacities_steps_per_s": round(total / float(np.median(default))) if default else None,
        "samples_kept": len(plan.cuts),
    }


def _ours(plan: RolloutPlan, many: WarpWorlds) -> float:
    """A rollout from the initial state: steps, copies to the host, conversion, validation and recording."""
    shapes = plan.shapes(many.engine)
    many.reset()
    many.device.warp.synchronize_device(many.device.device)
    begin = time.perf_counter()
    recorder = ArrayRecorder({name: np.empty(shape) for name, shape in shapes.items()})
    threads.run_worlds(plan, many, recorder)
    return time.perf_counter() - begin


def _bare(
    engine: MujocoWorld,
    worlds: int,
    name: str | None,
    start: tuple[Any, Any],
    capacities: tuple[int, int] | None = None,
) -> Callable[[int], float] | None:
    """MuJoCo Warp alone: a step captured as a graph and launched in a loop, without samples.

    It uses our capacities, or its own estimate; None if they are too small or exceed the memory.
    """
    warp, mujoco_warp = load()
    own = copy.copy(engine.model)
    own.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # Warp does not know that flag
    sizes = {} if capacities is None else {"nconmax": capacities[0], "njmax": capacities[1]}
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
    """A step: replayed on a GPU, called on the CPU."""
    step()
    if not warp.get_device().is_cuda:
        return step
    with warp.ScopedCapture() as capture:
        step()
    return partial(warp.capture_launch, capture.graph)


if __name__ == "__main__":
    main()
