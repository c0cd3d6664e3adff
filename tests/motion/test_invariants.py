"""Momentum, energy and work in random worlds of SKEL and XODE, on the default engine.

The integrator is of first order, so what physics conserves drifts: by half as much with half the time step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import exoskel
from exoskel import Simulation, World
from exoskel.scene.joint import UNLIMITED, JointActuator
from exoskel.spatial import Array
from tests.motion.random_worlds import random_world
from tests.motion.random_xode import random_xode

DURATION = 0.1
STEP = 1e-3
SEEDS = range(5)


def floating(kind: str, seed: int, actuator: JointActuator | None = None) -> World:
    """A random world whose models float without gravity; everything else acts between bodies of one model.

    All joints between bodies have the actuator, if one is given.
    """
    world = exoskel.load(random_world(kind, seed).text.encode(), semantics="dart").world
    world.gravity = (0.0, 0.0, 0.0)
    for model in world.models:
        root, *others = model.joints
        root.kind, root.axes, root.actuator = "free", (), "force"
        root._dofs = None
        root.velocities = (0.3, -0.2, 0.4, 0.5, 0.1, -0.3)
        for joint in others:
            joint.parent = joint.parent or model.bodies[0]
            joint.actuator = actuator or joint.actuator
            if joint.actuator == "locked":  # DART stops it, without a reaction
                joint.velocities = (0.0,) * len(joint.motion)
            for dof in joint.dofs:  # a start beyond a limit ends in one step, at any speed
                dof.position_limits = UNLIMITED
    return world


def conservative(kind: str, seed: int) -> World:
    """A random world with gravity and springs, but nothing that takes or gives energy.

    Springs of ball and free joints act on the three coordinates of a rotation vector, and have no potential.
    """
    world = exoskel.load(random_world(kind, seed).text.encode(), semantics="dart").world
    for joint in world.joints():
        for dof in joint.dofs:
            dof.damping = dof.friction = 0.0
            if joint.kind in ("ball", "free"):
                dof.stiffness = 0.0
    return world


def xode_world(kind: str, seed: int) -> World:
    """A random XODE world without the forces that its bodies start with."""
    world = exoskel.load(random_xode(kind, seed).text.encode(), dialect="spec").world
    for body in world.bodies():
        body.state = None
    return world


def floating_xode(kind: str, seed: int) -> World:
    """A random XODE world without gravity; its models float, and only motors act between their bodies."""
    world = xode_world(kind, seed)
    world.gravity = (0.0, 0.0, 0.0)
    for model in world.models:
        for joint in model.joints:
            joint.parent = joint.parent or (model.bodies[0] if joint.child is not model.bodies[0] else None)
            if joint.parent is None:
                joint.kind, joint.axes, joint.drives, joint._dofs = "free", (), (), None
                joint.velocities = (0.3, -0.2, 0.4, 0.5, 0.1, -0.3)
    return world


def momentum(simulation: Simulation) -> Array:
    """Angular momentum about the origin of the world, and linear momentum."""
    total = np.zeros(6)
    for body, pose in zip(simulation.world.bodies(), simulation.body_poses, strict=True):
        twist = simulation.jacobian(body, np.array(body.com)) @ simulation.velocities
        spin, speed = twist[:3], twist[3:]
        inertia = pose[:3, :3] @ exoskel.spatial.moment_matrix(np.array(body.moment)) @ pose[:3, :3].T
        centre = pose[:3, :3] @ body.com + pose[:3, 3]
        total[:3] += inertia @ spin + body.mass * np.cross(centre, speed)
        total[3:] += body.mass * speed
    return total


def drift(world: World, step: float, value: Callable[[Simulation], Array], commands: Array | None = None) -> float:
    """How far a conserved value is from its first at the end, relative to its size."""
    with Simulation(world, step=step, limits=False) as simulation:
        if commands is not None:
            simulation.commands = commands
        first = value(simulation)
        simulation.step(round(DURATION / step))
        return float(np.abs(value(simulation) - first).max() / max(1.0, np.abs(first).max()))


def internal_commands(world: World, seed: int) -> Array:
    """Random commands of all joints between bodies."""
    rng = np.random.default_rng(seed)
    inside = [joint.parent is not None for joint in world.joints() for _ in range(joint.dof_count)]
    commands: Array = rng.uniform(-1.0, 1.0, len(inside)) * np.array(inside)
    return commands


def assert_first_order(coarse: float, fine: float) -> None:
    """Check that an error shrinks with the time step; a missing reaction does not."""
    assert fine < 0.7 * coarse + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("actuator", ["force", "passive", "servo", "velocity", "acceleration", "locked"])
def test_internal_actuators_keep_momentum(actuator: JointActuator, seed: int) -> None:
    world = floating("actuators", seed, actuator)
    commands = internal_commands(world, seed)
    assert_first_order(*(drift(world, h, momentum, commands) for h in (STEP, STEP / 2)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["plain", "ball", "friction", "actuators"])
def test_internal_springs_dampers_and_friction_keep_momentum(kind: str, seed: int) -> None:
    world = floating(kind, seed)
    assert_first_order(*(drift(world, h, momentum, internal_commands(world, seed)) for h in (STEP, STEP / 2)))


def energy(simulation: Simulation) -> Array:
    return np.array([sum(simulation.energy)])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["plain", "ball", "free"])
def test_energy_is_kept_without_dampers_friction_and_motors(kind: str, seed: int) -> None:
    world = conservative(kind, seed)
    assert_first_order(*(drift(world, h, energy) for h in (STEP, STEP / 2)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["plain", "ball"])
def test_the_work_of_forces_becomes_energy(kind: str, seed: int) -> None:
    world = conservative(kind, seed)
    errors = []
    for step in (STEP, STEP / 2):
        with Simulation(world, step=step, limits=False) as simulation:
            forces = np.random.default_rng(seed).uniform(-2.0, 2.0, len(simulation.positions))
            simulation.commands = forces
            first, work = sum(simulation.energy), 0.0
            for _ in range(round(DURATION / step)):
                before = simulation.velocities
                simulation.step()
                work += step * float(forces @ (before + simulation.velocities)) / 2.0
            errors.append(abs(sum(simulation.energy) - first - work) / max(1.0, abs(first)))
    assert_first_order(*errors)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["joints", "ball", "motors", "amotor"])
def test_motors_of_xode_keep_momentum(kind: str, seed: int) -> None:
    world = floating_xode(kind, seed)
    assert_first_order(*(drift(world, h, momentum) for h in (STEP, STEP / 2)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["joints", "ball"])
def test_energy_is_kept_in_xode_without_motors(kind: str, seed: int) -> None:
    world = xode_world(kind, seed)
    assert_first_order(*(drift(world, h, energy) for h in (STEP, STEP / 2)))
