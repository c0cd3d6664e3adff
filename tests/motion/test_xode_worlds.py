"""Random XODE worlds move as in ODE: recorded worlds everywhere, others where ODE is installed.

A difference beyond the tolerance is reported by the engine before the first step.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import exoskel
from exoskel.engines.ode import ode_world
from exoskel.scene.joint import JointKind
from tests.motion import xode_agreement
from tests.motion.agreement import Agreement
from tests.motion.random_xode import CLASSES, random_xode, random_xodes
from tests.motion.xode_agreement import RECORDED_COUNT, compare, measure

RECORDED: dict[str, list[list[float]]] = json.loads(xode_agreement.FILE.read_text(encoding="utf-8"))
SHARES = {"bounce": 0.3, "springs": 0.5, "amotor": 0.0}
"""The least share of worlds that agree; 0.9 for all other classes.  Angular motors are all approximate and reported."""
LARGEST = {"amotor": 0.05}
"""The largest difference, where a note excuses every world of a class; 0.02 was measured."""


def assert_agree_or_reported(kind: str, found: list[Agreement]) -> None:
    assert [a for a in found if a.is_silent_miss] == []
    assert all(a.difference < LARGEST.get(kind, np.inf) for a in found)
    assert sum(a.agrees for a in found) >= SHARES.get(kind, 0.9) * len(found)


@pytest.mark.parametrize("kind", CLASSES)
def test_recorded_worlds_move_as_in_ode_or_the_difference_is_reported(kind: str) -> None:
    worlds = list(random_xodes(kind, RECORDED_COUNT))
    poses = [np.array(RECORDED[world.name]).reshape(-1, 3, 4) for world in worlds]
    assert_agree_or_reported(kind, [compare(kind, world, then) for world, then in zip(worlds, poses, strict=True)])


@pytest.mark.skipif(not ode_world.available(), reason="Panda3D, which brings ODE, is not installed")
@pytest.mark.parametrize("kind", CLASSES)
def test_other_worlds_move_as_in_ode_or_the_difference_is_reported(kind: str) -> None:
    assert [a for a in measure(kind, 3, first=1000) if a.is_silent_miss] == []


@pytest.mark.skipif(not ode_world.available(), reason="Panda3D, which brings ODE, is not installed")
@pytest.mark.parametrize("kind", CLASSES)
def test_the_recorded_motion_is_that_of_ode(kind: str) -> None:
    world = random_xode(kind, 1)
    poses, _ = xode_agreement.move(world, "ode")
    assert np.allclose(poses.reshape(-1, 12), RECORDED[world.name], rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", CLASSES)
def test_random_documents_have_no_errors(kind: str) -> None:
    for world in random_xodes(kind, 10):
        scene = exoskel.load(world.text.encode(), dialect="spec")
        assert [d for d in scene.diagnostics if d.severity == "error"] == []


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_equal_stops_switch_a_motor_off(kind: JointKind) -> None:
    """ODE lets a motor drive no joint that both stops hold; soft stops would yield to it."""
    world = exoskel.World(gravity=(0.0, 0.0, 0.0), time_step=1e-3)
    world.add_model("m").add_body("b", mass=1.0, moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0), joint=kind, axis=(0, 0, 1))
    joint = world.models[0].joints[0]
    stops = exoskel.Drive(velocity=2.0, max_force=50.0, low_stop=0.0, high_stop=0.0, stop_cfm=0.1, stop_erp=0.2)
    joint.drives = (stops,)
    joint.dofs[0].position_limits = (0.0, 0.0)
    engines = ["mujoco"] + ["ode"] * ode_world.available()
    for engine in engines:
        with exoskel.Simulation(world, engine) as simulation:
            simulation.step(100)
            assert simulation.positions[0] == pytest.approx(0.0, abs=1e-6)
