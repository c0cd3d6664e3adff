"""How many random worlds move as in DART.

python -m tests.motion.agreement [COUNT [CLASS [FIRST]]]    a table by class, with fresh motion of DART
python -m tests.motion.agreement record                     record the motion of some worlds, for machines without DART
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct

import exoskel
from exoskel import Severity, Simulation
from tests.motion.random_worlds import CLASSES, STEPS, RandomWorld, random_worlds
from tests.oracles import dart
from tests.support.places import GOLDEN

Motion = dict[str, Any]
PERTURBATION = 1e-14
"""The change of DART's initial positions that shows whether a motion is chaotic, m or rad."""
CHAOTIC = 10.0
"""The largest ratio of a difference to what such a change makes of it in DART, for a chaotic motion."""
DIVERGED = 1e4
"""The speed above which a motion has diverged, m/s or rad/s."""
FILE = GOLDEN / "random_motion.json"
RECORDED = 20
"""The number of worlds of each class whose motion is recorded."""


class Agreement(Struct, frozen=True):
    """The largest difference of coordinates (with velocities times the step) and poses, and what was reported."""

    name: str
    difference: float
    tolerance: float
    codes: list[str]
    diverges: bool = False
    """Whether the motion diverges in DART, so that there is nothing to compare."""
    departure: float = 0.0
    """How far DART departs from its own motion after a change of `PERTURBATION` at the start."""

    @property
    def agrees(self) -> bool:
        return self.difference <= self.tolerance

    @property
    def is_chaotic(self) -> bool:
        """Whether DART itself cannot repeat the motion better than the engines agree."""
        return not self.agrees and not self.diverges and self.difference <= CHAOTIC * self.departure

    @property
    def is_silent_miss(self) -> bool:
        return not (self.agrees or self.codes or self.diverges or self.is_chaotic)


def in_dart(worlds: Iterable[RandomWorld], steps: int = STEPS) -> Iterator[Motion]:
    """DART's states after `steps` steps, and how far it departs from them after a change of `PERTURBATION`."""
    requests = [
        json.dumps(
            {"text": w.text, "steps": steps, "commands": w.commands, "limits": w.limits, "perturbation": perturbation}
        )
        for w in worlds
        for perturbation in (0.0, PERTURBATION)
    ]
    found = dart.answers(requests)
    for motion, other in zip(found[::2], found[1::2], strict=True):
        pairs = {
            "poses": [(motion["poses"][name], other["poses"][name]) for name in motion["poses"]],
            "velocities": [
                (values, other["velocities"][name][joint])
                for name, joints in motion["velocities"].items()
                for joint, values in joints.items()
            ],
        }
        yield motion | {"departure": {what: _largest_difference(both) for what, both in pairs.items()}}


def _largest_difference(pairs: list[tuple[list[Any], list[Any]]]) -> float:
    worst = max((float(np.abs(np.array(a) - np.array(b)).max(initial=0.0)) for a, b in pairs), default=0.0)
    return worst if np.isfinite(worst) else 1e300


def compare(world: RandomWorld, motion: Motion, steps: int = STEPS) -> Agreement:
    """Move a world with the default engine and compare its state with DART's."""
    scene = exoskel.load(world.text.encode(), semantics="dart")
    with Simulation(scene, limits=world.limits or None) as simulation:
        if world.commands:
            simulation.commands = by_degree_of_freedom(scene, world.commands)
        simulation.step(steps)
        # Rotation vectors of one attitude differ; the poses say whether these agree.
        turning = [j.kind in ("ball", "free") for j in scene.world.joints() for _ in range(j.dof_count)]
        apart = np.abs(simulation.positions - by_degree_of_freedom(scene, motion["positions"]))
        faster = np.abs(simulation.velocities - by_degree_of_freedom(scene, motion["velocities"]))
        poses = np.concatenate([np.array(motion["poses"][model.name]) for model in scene.world.models])
        shifted = np.abs(simulation.body_poses[:, :3].reshape(-1, 12) - poses)
        differences = (apart[~np.array(turning, dtype=bool)], faster * simulation.time_step, shifted)
        codes = [d.code for d in simulation.diagnostics if d.severity is not Severity.INFO]
        departure = max(motion["departure"]["poses"], motion["departure"]["velocities"] * simulation.time_step)
        diverges = not np.abs(by_degree_of_freedom(scene, motion["velocities"])).max(initial=0.0) < DIVERGED
    worst = max((float(d.max()) for d in differences if d.size), default=0.0)
    tolerance = 1e-5 if any(turning) else 1e-7
    return Agreement(world.name, worst if np.isfinite(worst) else np.inf, tolerance, codes, diverges, departure)


def by_degree_of_freedom(scene: exoskel.Scene, values: dict[str, dict[str, list[float]]]) -> np.ndarray:
    """Values by skeleton and joint, in the order of the scene."""
    return np.array(
        [
            value
            for model in scene.world.models
            for joint in model.joints
            for value in values[model.name].get(joint.name, [0.0] * joint.dof_count)
        ],
        dtype=float,
    )


def measure(kind: str, count: int, first: int = 0) -> list[Agreement]:
    """Compare `count` worlds of a class with DART."""
    worlds = list(random_worlds(kind, count, first))
    return [compare(world, motion) for world, motion in zip(worlds, in_dart(worlds), strict=True)]


def record() -> None:
    """Record the motion of the first worlds of each class."""
    worlds = [world for kind in CLASSES for world in random_worlds(kind, RECORDED)]
    rows = (
        f'"{world.name}": {json.dumps(motion, separators=(",", ":"))}'
        for world, motion in zip(worlds, in_dart(worlds), strict=True)
    )
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def main(count: int, only: str, first: int) -> None:
    columns = ("worlds with", "agree", "differ with a warning", "differ silently", "chaotic", "diverge in DART")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for kind in CLASSES:
        if only not in ("all", kind):
            continue
        found = measure(kind, count, first)
        agree, diverge = sum(a.agrees for a in found), sum(a.diverges and not a.agrees for a in found)
        silent, chaotic = sum(a.is_silent_miss for a in found), sum(a.is_chaotic for a in found)
        warned = count - agree - diverge - silent - chaotic
        print(f"| {TITLES[kind]} | {agree} of {count} | {warned} | {silent} | {chaotic} | {diverge} |", flush=True)
        for a in found if only == kind else ():
            if not a.agrees:
                print(f"    {a.name:16} {a.difference:.2e}  {a.departure:.2e}  {' '.join(a.codes)}")


TITLES = {
    "plain": "joints with fixed axes, springs, dampers",
    "ball": "ball joints",
    "free": "free joints",
    "friction": "joint friction",
    "actuators": "all actuators, with commands",
    "limits": "enforced limits of positions and velocities",
    "masses": "mass ratios up to 1e5",
}

if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        record()
    else:
        count, only, first = (*sys.argv[1:], *("100", "all", "0")[len(sys.argv) - 1 :])
        main(int(count), only, int(first))
