"""How many random worlds move as in ODE.

python -m tests.motion.xode_agreement [COUNT [SEED [CLASS]]]   a table by class, with fresh motion of ODE
python -m tests.motion.xode_agreement --record                 record the motion of a few worlds of each class

ODE has single precision, soft joints (CFM 1e-5), and a first-order integrator for bodies instead of coordinates.  So
the engines differ by more than rounding errors.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import numpy as np

import exoskel
from exoskel import Simulation
from exoskel.spatial import Array
from tests.motion.agreement import Agreement
from tests.motion.random_worlds import RandomWorld
from tests.motion.random_xode import CLASSES, STEPS, random_xodes
from tests.support.places import GOLDEN

FILE = GOLDEN / "ode" / "random_worlds.json"
RECORDED_COUNT = 6
"""The number of recorded worlds in each class."""

TOLERANCES = {
    "joints": 1e-3,
    "ball": 1e-3,
    "motors": 1e-3,
    "stops": 1e-3,
    "bounce": 1e-3,
    "springs": 1e-3,
    "suspension": 1e-3,
    "amotor": 1e-3,
    "rigid": 1e-3,
}
"""Largest difference of poses, in m and of entries of rotation matrices, after `STEPS` steps."""


def move(world: RandomWorld, engine: str) -> tuple[Array, list[str]]:
    """The poses of a world after `STEPS` steps, and the keys of what the engine reports."""
    with Simulation(exoskel.load(world.text.encode(), dialect="spec"), engine) as simulation:
        simulation.step(STEPS)
        return simulation.body_poses[:, :3], [d.key for d in simulation.diagnostics]


def compare(kind: str, world: RandomWorld, poses: Array) -> Agreement:
    """Move a world with the default engine and compare its poses with ODE's."""
    found, keys = move(world, "mujoco")
    return Agreement(world.name, float(np.abs(found - poses).max()), TOLERANCES[kind], keys)


def measure(kind: str, count: int, first: int = 0) -> list[Agreement]:
    """Compare `count` worlds of a class with ODE."""
    return [compare(kind, world, move(world, "ode")[0]) for world in random_xodes(kind, count, first)]


def record() -> None:
    """Record the poses in ODE, with the digits of single precision."""
    rows = []
    for kind in CLASSES:
        for world in random_xodes(kind, RECORDED_COUNT):
            poses = [[float(f"{v:.7g}") for v in pose] for pose in move(world, "ode")[0].reshape(-1, 12).tolist()]
            rows.append(f'"{world.name}": {json.dumps(poses, separators=(",", ":"))}')
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(len(rows), "motions recorded")


def main(arguments: Sequence[str]) -> None:
    count = int(arguments[0]) if arguments else 100
    first = int(arguments[1]) if len(arguments) > 1 else 0
    only = arguments[2] if len(arguments) > 2 else ""
    print("| class | median | 90 % below | largest | tolerance | agree | reported | silent |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in CLASSES:
        if only and kind != only:
            continue
        found = measure(kind, count, first)
        misses = [a for a in found if not a.agrees]
        silent = [a for a in misses if a.is_silent_miss]
        median, most, largest = np.quantile([a.difference for a in found], [0.5, 0.9, 1.0])
        counts = f"{count - len(misses)} | {len(misses) - len(silent)} | {len(silent)}"
        print(f"| {kind} | {median:.0e} | {most:.0e} | {largest:.0e} | {TOLERANCES[kind]:g} | {counts} |", flush=True)
        for a in misses if only else ():
            print(f"    {a.name:16} {a.difference:.2e}  {' '.join(a.codes)}")


if __name__ == "__main__":
    record() if sys.argv[1:] == ["--record"] else main(sys.argv[1:])
