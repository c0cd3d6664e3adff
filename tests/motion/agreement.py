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
DISTURBANCES = {"perturbation": 1e-13, "noise": 1e-15}
"""Changes of DART's positions, at the start and after each step, that show whether a motion is chaotic, m or rad."""
DIVERGED = 1e4
"""The speed above which a motion has diverged, m/s or rad/s."""
SHORTER = (100, 50, 25, 12, 6, 3, 1)
"""Numbers of steps after which a world is compared if DART cannot integrate it for more."""
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
    """How far DART departs from its own motion after one of the `DISTURBANCES`, at most."""
    steps: int = STEPS
    """The number of steps after which the states are compared."""

    @property
    def agrees(self) -> bool:
        return self.difference <= self.tolerance

    @property
    def is_chaotic(self) -> bool:
        """Whether DART itself does not repeat the motion within the tolerance."""
        return not self.diverges and self.departure > self.tolerance

    @property
    def is_comparable(self) -> bool:
        """Whether DART can integrate the world; it says so without a look at the difference."""
        return not (self.diverges or self.is_chaotic)

    @property
    def is_silent_miss(self) -> bool:
        return not (self.agrees or self.codes)


def in_dart(worlds: Iterable[RandomWorld], steps: int = STEPS) -> Iterator[Motion]:
    """DART's states after `steps` steps, and how far it departs from them after the `DISTURBANCES`."""
    changes = [{}, *({name: size} for name, size in DISTURBANCES.items())]
    requests = [
        json.dumps({"text": w.text, "steps": steps, "commands": w.commands, "limits": w.limits} | change)
        for w in worlds
        for change in changes
    ]
    found = dart.answers(requests)
    for first in range(0, len(found), len(changes)):
        motion, *others = found[first : first + len(changes)]
        departures = [_departure(motion, other) for other in others]
        departure = {what: max(one[what] for one in departures) for what in ("poses", "velocities")}
        yield motion | {"departure": departure, "steps": steps}


def longest_in_dart(worlds: Iterable[RandomWorld]) -> list[tuple[Motion, Agreement]]:
    """DART's states after `STEPS` steps, or the most of `SHORTER` that DART can integrate, and how well they agree."""
    every = list(worlds)
    found = [(motion, compare(world, motion)) for world, motion in zip(every, in_dart(every), strict=True)]
    for steps in SHORTER:
        places = [i for i, (_, agreement) in enumerate(found) if not agreement.is_comparable]
        for i, motion in zip(places, in_dart([every[i] for i in places], steps), strict=True):
            found[i] = motion, compare(every[i], motion)
    return found


def _departure(motion: Motion, other: Motion) -> dict[str, float]:
    pairs = {
        "poses": [(motion["poses"][name], other["poses"][name]) for name in motion["poses"]],
        "velocities": [
            (values, other["velocities"][name][joint])
            for name, joints in motion["velocities"].items()
            for joint, values in joints.items()
        ],
    }
    return {what: _largest_difference(both) for what, both in pairs.items()}


def _largest_difference(pairs: list[tuple[list[Any], list[Any]]]) -> float:
    """The largest difference; 1e300 if a number is not finite."""
    worst = np.array([np.abs(np.array(a) - np.array(b)).max(initial=0.0) for a, b in pairs]).max(initial=0.0)
    return float(worst) if np.isfinite(worst) else 1e300


def compare(world: RandomWorld, motion: Motion) -> Agreement:
    """Move a world with the default engine and compare its state with DART's, after as many steps."""
    steps = int(motion["steps"])
    scene = exoskel.load(world.text.encode(), semantics="dart")
    with Simulation(scene, limits=world.limits or None) as simulation:
        if world.commands:
            simulation.commands = by_degree_of_freedom(scene, world.commands)
        simulation.step(steps)
        try:
            worst = _difference(scene, simulation, motion)
        except exoskel.DivergedError:
            worst = np.inf
        codes = [d.code for d in simulation.diagnostics if d.severity is not Severity.INFO]
        departure = max(motion["departure"]["poses"], motion["departure"]["velocities"] * simulation.time_step)
    diverges = not np.abs(by_degree_of_freedom(scene, motion["velocities"])).max(initial=0.0) < DIVERGED
    tolerance = 1e-5 if any(_turning(scene)) else 1e-7
    return Agreement(world.name, worst, tolerance, codes, diverges, departure, steps)


def _turning(scene: exoskel.Scene) -> list[bool]:
    """Which degrees of freedom are those of ball and free joints."""
    return [j.kind in ("ball", "free") for j in scene.world.joints() for _ in range(j.dof_count)]


def _difference(scene: exoskel.Scene, simulation: Simulation, motion: Motion) -> float:
    """The largest difference of a state from DART's; infinite if it is not finite."""
    # Rotation vectors of one attitude differ; the poses say whether these agree.
    apart = np.abs(simulation.positions - by_degree_of_freedom(scene, motion["positions"]))
    faster = np.abs(simulation.velocities - by_degree_of_freedom(scene, motion["velocities"]))
    poses = np.concatenate([np.array(motion["poses"][model.name]) for model in scene.world.models])
    shifted = np.abs(simulation.body_poses[:, :3].reshape(-1, 12) - poses)
    differences = (apart[~np.array(_turning(scene), dtype=bool)], faster * simulation.time_step, shifted)
    worst = max((float(d.max()) for d in differences if d.size), default=0.0)
    return worst if np.isfinite(worst) else np.inf


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
    """Compare `count` worlds of a class with DART, with seeds from `first` on."""
    return [agreement for _, agreement in longest_in_dart(random_worlds(kind, count, first))]


def record() -> None:
    """Record the motion of the first worlds of each class."""
    rows = []
    for kind in CLASSES:
        motions = longest_in_dart(random_worlds(kind, RECORDED))
        rows += [f'"{agreement.name}": {json.dumps(motion, separators=(",", ":"))}' for motion, agreement in motions]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def seed_of(name: str) -> int:
    """The seed of a world, from its name."""
    return int(name.rpartition("-")[2])


def main(count: int, only: str, first: int) -> None:
    columns = ("worlds with", "agree", "differ with a warning", "differ silently", "compared after fewer steps")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for kind in CLASSES:
        if only not in ("all", kind):
            continue
        found = measure(kind, count, first)
        agree, silent = sum(a.agrees for a in found), sum(a.is_silent_miss for a in found)
        fewer = sorted(a.steps for a in found if a.steps < STEPS)
        which = f"{len(fewer)} ({', '.join(map(str, fewer))})" if fewer else "0"
        print(f"| {TITLES[kind]} | {agree} of {count} | {count - agree - silent} | {silent} | {which} |", flush=True)
        for a in found if only == kind else ():
            if not a.agrees or a.steps < STEPS:
                print(f"    {a.name:16} {a.difference:.2e}  {a.departure:.2e}  {' '.join(a.codes)} {a.steps} steps")


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
