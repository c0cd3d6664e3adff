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
from tests.motion.random_xode import CLASSES, STEPS, random_xode, random_xodes
from tests.motion.xode_agreement import RECORDED_COUNT, compare, measure

RECORDED: dict[str, list[list[float]]] = json.loads(xode_agreement.FILE.read_text(encoding="utf-8"))
SHARES = {"bounce": 0.6}
"""The least share of worlds that agree; 0.9 for all other classes.  In ODE, soft joints yield to impacts."""
LARGEST = {"bounce": 0.05}
"""The largest difference, where a note excuses every world of a class; 0.01 was measured."""


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


def hinged(**parameters: float) -> exoskel.World:
    """A body with a moment of 1 on a hinge with stops at ±0.1."""
    world = exoskel.World(gravity=(0.0, 0.0, 0.0), time_step=1e-3, cfm=1e-10)
    world.add_model("m").add_body(
        "b", mass=1.0, moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0), joint="revolute", axis=(0, 0, 1)
    )
    joint = world.models[0].joints[0]
    joint.drives, joint.dofs[0].position_limits = (exoskel.Drive(**parameters),), (-0.1, 0.1)
    return world


def test_a_bounce_takes_one_step() -> None:
    with exoskel.Simulation(hinged(bounce=0.5)) as simulation:
        simulation.velocities = [2.0]
        speeds = []
        for _ in range(100):
            simulation.step()
            speeds.append(round(float(simulation.velocities[0]), 6))
    assert sorted(set(speeds)) == [-1.0, 2.0]


def test_a_motor_pushes_with_its_full_force_at_a_stop() -> None:
    """The fudge factor reduces what it applies away from the stop, in the step that begins there."""
    with exoskel.Simulation(hinged(velocity=-1.0, max_force=100.0, fudge_factor=0.25)) as simulation:
        simulation.positions = [0.1]
        simulation.step()
        assert simulation.velocities[0] == pytest.approx(-0.025)
        simulation.step()
        assert simulation.velocities[0] == pytest.approx(-0.125)


@pytest.mark.parametrize("kind", ["stops", "bounce", "springs", "amotor"])
def test_rollouts_of_motors_and_stops_move_like_a_single_world(kind: str) -> None:
    scene = exoskel.load(random_xode(kind, 1).text.encode(), dialect="spec")
    motion = exoskel.rollout(scene, 2, STEPS, stride=STEPS)
    with exoskel.Simulation(scene) as simulation:
        simulation.step(STEPS)
        assert motion.positions is not None
        assert motion.positions[1, -1] == pytest.approx(simulation.positions, rel=0, abs=1e-9)


def test_an_angular_motor_keeps_the_momentum_of_the_bodies_that_it_drives() -> None:
    world = exoskel.World(gravity=(0.0, 0.0, 0.0), time_step=1e-3)
    model = world.add_model("m")
    for name, place in (("a", -1.0), ("b", 1.0)):
        body = model.add_body(name, mass=1.0, moment=(1.0, 2.0, 3.0, 0.0, 0.0, 0.0), joint="free")
        model.joints[-1].positions = (0.0, 0.0, 0.0, place, 0.0, 0.0)
    motor = exoskel.Joint(name="motor", kind="amotor", parent=model.bodies[0], child=body, loop=True)
    motor.axes = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    motor.drives = (exoskel.Drive(velocity=2.0, max_force=1000.0), exoskel.Drive(), exoskel.Drive(max_force=0.5))
    model.joints.append(motor)
    with exoskel.Simulation(world) as simulation:
        assert simulation.diagnostics == []
        simulation.step(10)
        first, second = simulation.body_velocities[:, 2]
    assert second - first == pytest.approx(2.0, abs=0.05)
    assert first + second == pytest.approx(0.0, abs=1e-9)
