"""The actions of environments: controls of actuators, or commands of joints."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, pi
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.scene.actuator import Actuator, driven_dofs
from exoskel.scene.joint import Dof, Interval, Joint
from exoskel.scene.tendon import Tendon
from exoskel.simulate.gym.tasks import Task
from exoskel.spatial import Array, Indices

DEFAULT_BOUND = 100.0
"""The bound of actions without limits, in N or N·m, rad/s or m/s, m, or the unit of a control."""
_DRIVEN = ("force", "servo", "velocity", "acceleration")

Apply = Callable[[Array], None]


class DrivenWorlds(Protocol):
    """One world, or many, with actions."""

    engine: MujocoWorld
    own_controls: Array
    """MuJoCo's controls."""

    @property
    def driver(self) -> Callable[[Indices, Array, Array, Array], Apply]: ...


class ActionSet(Struct, frozen=True):
    """The names and bounds of actions, and a function that applies actions within them."""

    names: list[str]
    low: Array
    high: Array
    apply: Apply


def find_actions(worlds: DrivenWorlds, task: Task) -> ActionSet:
    """The actions of worlds.

    They are the coordinates with `gears`, the controls of the actuators of the world, or commands of driven joints.
    """
    if task.gears is None and worlds.engine.actuator_names:
        return _control_actions(worlds)
    driven, scale, low, high = _command_actions(worlds.engine, task)
    names = [worlds.engine.coordinates.names[number] for number in driven.tolist()]
    return ActionSet(names, low, high, worlds.driver(driven, scale, low, high))


def _control_actions(worlds: DrivenWorlds) -> ActionSet:
    engine = worlds.engine
    driven = {id(one): (joint, dof) for one, joint, dof in driven_dofs(engine.world.actuators, engine.world.models)}
    tendons = {tendon.name: tendon for tendon in engine.world.tendons}
    bounds = [
        _control_bounds(one, *driven[id(one)]) if id(one) in driven else _tendon_bounds(one, tendons[one.tendon])
        for one in engine.driving_actuators
    ]
    low, high = np.array(bounds, dtype=np.float64).reshape(-1, 2).T
    own, set_controls = worlds.own_controls, engine.set_controls_within_ranges
    return ActionSet(engine.actuator_names, low, high, lambda actions: set_controls(own, actions))


def _control_bounds(actuator: Actuator, joint: Joint, dof: Dof) -> Interval:
    """The range of a control; for a position servo without one, the positions that the joint reaches."""
    fallback = (-DEFAULT_BOUND, DEFAULT_BOUND)
    if actuator.kind == "position":
        if joint.motion[actuator.coordinate] == "r":
            fallback = (-pi, pi)
        ends = sorted(actuator.gear * limit for limit in dof.position_limits)
        fallback = (_finite(ends[0], fallback[0]), _finite(ends[1], fallback[1]))
    return _within(actuator, fallback)


def _tendon_bounds(actuator: Actuator, tendon: Tendon) -> Interval:
    """The range of a control; for a position servo without one, the lengths that the tendon reaches."""
    ends = sorted(actuator.gear * limit for limit in tendon.limits) if actuator.kind == "position" else (-inf, inf)
    return _within(actuator, (_finite(ends[0], -DEFAULT_BOUND), _finite(ends[1], DEFAULT_BOUND)))


def _within(actuator: Actuator, fallback: Interval) -> Interval:
    """The range of a control, with other ends where it has none."""
    low, high = actuator.control_range
    return _finite(low, min(fallback[0], high)), _finite(high, max(fallback[1], low))


def _finite(value: float, otherwise: float) -> float:
    return value if isfinite(value) else otherwise


def _command_actions(engine: MujocoWorld, task: Task) -> tuple[NDArray[np.intp], Array, Array, Array]:
    """The driven coordinates, the factors of actions, and the bounds of actions."""
    names = engine.coordinates.names
    if task.gears is not None:
        unknown = set(task.gears) - set(names)
        if unknown:
            raise ExoskelError(f"the task drives unknown coordinates: {', '.join(sorted(unknown))}")
        driven = np.array([names.index(name) for name in task.gears], dtype=np.intp)
        return driven, np.array(list(task.gears.values())), -np.ones(len(driven)), np.ones(len(driven))
    actuators = [
        "" if m.static or j.kind == "free" else j.actuator
        for m in engine.world.models
        for j in m.joints
        if not j.loop
        for _ in range(j.dof_count)
    ]
    driven = np.array([number for number, actuator in enumerate(actuators) if actuator in _DRIVEN], dtype=np.intp)
    bounds = [
        np.where(np.isfinite(side), side, DEFAULT_BOUND * np.sign(side)) for side in engine.actuation.command_limits
    ]
    is_force = engine.actuation.force[driven]
    low, high = (np.where(is_force, b[driven], s * DEFAULT_BOUND) for b, s in zip(bounds, (-1.0, 1.0), strict=True))
    return driven, np.ones(len(driven)), low, high
