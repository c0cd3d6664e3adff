"""Records how the samples move in DART, without contacts.

python -m tests.golden.record_dart_motion
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import exoskel
from exoskel import Simulation
from tests.golden.record_dart import rounded
from tests.support.places import GOLDEN, sample_files

FILE = GOLDEN / "dart_motion.json"
SECONDS = 1.0
SAMPLES = 4
EXCEPT = {
    "gantry": "DART has no translational2d joint",
    "screw_press": "DART has no screw joint",
}


def bare(file: Path) -> exoskel.Scene:
    """A sample without shapes that could collide, with explicit moments."""
    scene = exoskel.load(file)
    for body in scene.world.bodies():
        body.moment = body.moment
        body.collisions.clear()
        body.soft = None
    return scene


def record(file: Path) -> dict[str, Any]:
    with Simulation(bare(file), "dart", limits=False) as simulation:
        motion: dict[str, Any] = {
            "mass": simulation.mass_matrix().tolist(),
            "bias": simulation.bias_forces().tolist(),
            "positions": [simulation.positions.tolist()],
        }
        for _ in range(SAMPLES):
            simulation.step(round(SECONDS / SAMPLES / simulation.time_step))
            motion["positions"].append(simulation.positions.tolist())
    return motion


@cache
def _all() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def recorded(name: str) -> dict[str, Any]:
    """What DART said about a sample."""
    motion: dict[str, Any] = _all()[name]
    return motion


def main() -> None:
    answers = {file.stem: rounded(record(file)) for file in sample_files() if file.stem not in EXCEPT}
    rows = (f'"{name}": {json.dumps(motion, separators=(",", ":"))}' for name, motion in answers.items())
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(len(answers), "motions recorded")


if __name__ == "__main__":
    main()
