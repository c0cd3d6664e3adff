"""Records how the worlds in `worlds` move in DART.

python -m tests.motion.record_worlds
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

import exoskel
from exoskel import Simulation

FOLDER = Path(__file__).resolve().parent / "worlds"
FILE = FOLDER / "dart.json"


class Case(Struct, frozen=True):
    """A world, the commands of its joints, the options of the simulation, and the steps after which it is compared."""

    file: str
    commands: tuple[float, ...] = ()
    steps: tuple[int, ...] = (1, 2, 200)
    limits: bool | None = None

    @property
    def name(self) -> str:
        return f"{self.file}{'' if self.limits is None else '-limits'}{'-commanded' if self.commands else ''}"


CASES = [
    Case("driven_cart"),
    Case("driven_cart", (1.0, 0.0)),
    Case("spun_up_chain"),
    Case("spun_up_chain", (0.0, 0.5)),
    Case("free_joint_damper"),
    Case("free_joint_springs"),
    Case("friction_beside_damping"),
    Case("friction_holds"),
    Case("servo_beside_damping"),
    Case("servo_beside_damping", (0.0, 1.0)),
    Case("servo_with_limits", (1.0,), (1, 299, 300, 301, 302, 400)),
    Case("servo_with_limits", (1.0,), (1, 299, 300, 301, 302, 400), limits=True),
    Case("offset_free_joint"),
    Case("weak_servo", (1.0,), (1, 50, 60, 61, 62, 100)),
    Case("weak_servo", (1.0,), (1, 50, 60, 61, 62, 100), limits=True),
    Case("locked_start"),
    Case("locked_above_chain"),
    Case("falling_onto_limits", limits=True),
    Case("ball_springs"),
    Case("velocity_limits", limits=True),
    Case("static_with_velocity"),
    Case("initial_inputs_beyond_limits"),
    Case("initial_inputs_beyond_limits", (9.0, 9.0, 0.0, 0.0, 9.0)),
]


def move(case: Case, engine: str) -> list[dict[str, Any]]:
    """The states after the steps of a case."""
    scene = exoskel.load(FOLDER / f"{case.file}.skel", semantics="dart")
    found, done = [], 0
    with Simulation(scene, engine, limits=case.limits) as simulation:
        if case.commands:
            simulation.commands = np.array(case.commands)
        for steps in case.steps:
            simulation.step(steps - done)
            done = steps
            found.append({"positions": simulation.positions.tolist(), "velocities": simulation.velocities.tolist()})
    return found


def main() -> None:
    rows = (f'"{case.name}": {json.dumps(move(case, "dart"), separators=(",", ":"))}' for case in CASES)
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(len(CASES), "motions recorded")


if __name__ == "__main__":
    main()
