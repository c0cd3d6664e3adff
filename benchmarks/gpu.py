"""How fast many worlds run on a GPU, beside bare MuJoCo Warp on the same model: `python -m benchmarks.gpu`.

Runs by itself where little is installed: NumPy, msgspec, lxml, MuJoCo, Warp and MuJoCo Warp will do.  With other
files as arguments, those are measured instead of the samples.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from exoskel.engines.mujoco import MujocoWorld
from exoskel.engines.warp import Device, load
from exoskel.formats.load import load as read
from exoskel.simulate.batch import threads
from exoskel.simulate.batch.gpu import WarpWorlds
from exoskel.simulate.batch.plan import Plan
from exoskel.simulate.batch.tape import Tape

SAMPLES = ("pendulum", "double_pendulum", "robot_arm", "walker", "hexapod", "chain", "falling_boxes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="scenes; samples if none are given")
    parser.add_argument("--worlds", type=int, nargs="*", default=[8192, 32768])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--stride", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=5)
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
    many = threads.prepare(plan, engine, partial(WarpWorlds, device=told.device))
    start = many.qpos.copy(), many.qvel.copy()
    begin = time.perf_counter()
    own = many.device  # probes, compiles, records the graph
    set_up = time.perf_counter() - begin
    room = own.data.naconmax // worlds, own.data.njmax
    ours, bare, default = [], [], []
    raw, raw_default = _bare(own, start), _bare_as_it_comes(engine, worlds, told.device, start)
    for _ in range(told.pairs):
        ours.append(_ours(plan, many))
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
        "bare_steps_per_s": round(total / float(np.median(bare))),
        "ratio": round(float(np.median(np.array(bare) / np.array(ours))), 3),
        "bare_with_warps_own_capacities_steps_per_s": round(total / float(np.median(default))) if default else None,
        "samples_kept": len(plan.cuts),
    }


def _ours(plan: Plan, many: WarpWorlds) -> float:
    """A rollout from the start: stepping, samples brought here, turned into the scene's coordinates, judged, kept."""
    shapes = plan.shapes(many.engine)
    begin = time.perf_counter()
    tape = Tape({name: np.empty(shape) for name, shape in shapes.items()})
    many.reset()
    threads.go(plan, many, tape)
    return time.perf_counter() - begin


def _bare(device: Device, start: tuple[Any, Any]) -> Any:
    """The same graph on the same data, launched in a loop, and nothing else."""

    def run(steps: int) -> float:
        device.data.qpos.assign(start[0].astype(np.float32))
        device.data.qvel.assign(start[1].astype(np.float32))
        device.data.qacc_warmstart.zero_()
        device.warp.synchronize_device(device.device)
        begin = time.perf_counter()
        device.step(steps)
        device.warp.synchronize_device(device.device)
        return time.perf_counter() - begin

    return run


def _bare_as_it_comes(engine: MujocoWorld, worlds: int, name: str | None, start: tuple[Any, Any]) -> Any:
    """With the capacities that MuJoCo Warp guesses by itself; None if they do not suffice or fit."""
    zero = np.zeros((worlds, engine.model.nv)), np.zeros((worlds, engine.model.nbody, 6))
    state = {"qpos": start[0], "qvel": start[1], "qfrc_applied": zero[0], "xfrc_applied": zero[1]}
    try:
        device = Device(engine.model, worlds, name=name)
        device.begin(state)
        device.step(20)
        if (device.data.overflow.numpy() & device.bits).any():
            return None
    except Exception:
        return None
    return _bare(device, start)


if __name__ == "__main__":
    main()
