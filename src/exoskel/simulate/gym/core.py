"""The common part of single and vector environments: worlds, actions, observations and rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.preflight import require
from exoskel.scene.world import Scene, World
from exoskel.simulate.batch.worlds import Mask, Worlds
from exoskel.simulate.gym.tasks import Moment, Task
from exoskel.simulate.options import check_positive, numbers
from exoskel.spatial import Array

DEFAULT_BOUND = 100.0
"""The bound of actions for a coordinate without limits, in N or N·m, rad/s or m/s."""
_OPTIONS = ("step", "limits", "friction", "integrator")
_DRIVEN = ("force", "servo", "velocity", "acceleration")


def _check_options(options: dict[str, Any]) -> None:
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise ExoskelError(f"unknown option {unknown[0]}; options of the engine are {', '.join(_OPTIONS)}")
    check_positive("the time step", options.get("step"))
    check_positive("the friction coefficient", options.get("friction"), or_zero=True)


class Core:
    """Worlds with a task.  Actions are between `low` and `high`, one per driven coordinate."""

    def __init__(self, scene: Scene | World, task: Task, count: int, *, threads: int = 0, **options: Any) -> None:
        _check_options(options)
        require(scene, "mujoco", limits=options.get("limits"))
        self.task = task
        self.world = scene.world if isinstance(scene, Scene) else scene
        self.engine = MujocoWorld(self.world, **options)
        self.worlds = Worlds(self.engine, count, threads=threads)
        self.worlds.reset()
        names = self.engine.coordinates.names
        self.driven, self.scale, self.low, self.high = _actions(self.engine, task)
        self.seconds = task.frame_skip * self.engine.time_step
        joints = [j for m in self.world.models for j in m.joints if not j.loop]
        self._start = [
            np.array([number for joint in joints for number in getattr(joint, name)], dtype=np.float64)
            for name in ("positions", "velocities")
        ]
        self._bounds = self._find_bounds(names)
        self.now = Moment(self.worlds)
        self.observation = np.asarray(task.observe(self.now))
        if self.observation.ndim != 2 or len(self.observation) != count:
            raise ExoskelError(f"a task must observe one row per environment, not {self.observation.shape}")
        self.ages: NDArray[np.intp] = np.zeros(count, dtype=np.intp)

    def _find_bounds(self, names: list[str]) -> tuple[Array, Array]:
        """The lower and upper bounds of the initial noise of each position."""
        unknown = set(self.task.shifts) - set(names)
        if unknown:
            raise ExoskelError(f"the task shifts unknown coordinates: {', '.join(sorted(unknown))}")
        noise = self.task.noise
        bounds = np.array([self.task.shifts.get(name, (-noise, noise)) for name in names]).reshape(-1, 2)
        return bounds[:, 0], bounds[:, 1]

    def reset(self, which: Mask, streams: list[np.random.Generator]) -> None:
        """Reset the chosen environments, each with noise from its own random stream."""
        low, high = self._bounds
        numbers = np.flatnonzero(which).tolist()
        uniform = np.array([(streams[n].random(len(low)), streams[n].random(len(low))) for n in numbers])
        uniform = uniform.reshape(len(numbers), 2, len(low))
        positions = self._start[0] + low + (high - low) * uniform[:, 0]
        velocities = self._start[1] + self.task.speed_noise * (2.0 * uniform[:, 1] - 1.0)
        self.worlds.reset(which, positions, velocities)
        self.now = Moment(self.worlds)
        self.observation[which] = self.task.observe(self.now)[which]
        self.ages[which] = 0

    def step(self, actions: Any) -> tuple[Array, Mask, Mask]:
        """Apply actions; returns rewards, and which environments are terminated and truncated."""
        given = numbers("actions", actions)
        if given.shape != (self.worlds.count, len(self.driven)):
            wanted = (self.worlds.count, len(self.driven))
            raise ExoskelError(f"actions must have the shape {wanted}, not {given.shape}")
        clipped = np.clip(given, self.low, self.high)
        commands = self.worlds.commands
        commands[:, self.driven] = self.scale * clipped
        self.worlds.commands = commands
        before = self.now
        self.worlds.step(self.task.frame_skip)
        self.now = Moment(self.worlds)
        self.ages += 1
        alive = self.worlds.alive & np.isfinite(self.now.positions).all(axis=-1)
        with np.errstate(invalid="ignore", over="ignore"):
            observation = self.task.observe(self.now)
            rewards = self._per_environment("reward", self.task.reward(before, self.now, clipped, self.seconds))
            over = self._per_environment("is_over", self.task.is_over(self.now)).astype(bool) | ~alive
        self.observation = np.where(alive[:, None], observation, self.observation)
        return np.where(alive, rewards, 0.0), over, self.ages >= self.task.horizon

    def _per_environment(self, name: str, values: Any) -> NDArray[Any]:
        """Numbers from a task: one per environment, or the same for all."""
        found = np.asarray(values)
        if found.dtype.kind not in "bifu" or found.shape not in ((), (self.worlds.count,)):
            raise ExoskelError(f"{name} of a task must return a number for each environment, not {values!r}")
        return found


def _actions(engine: MujocoWorld, task: Task) -> tuple[NDArray[np.intp], Array, Array, Array]:
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
        np.where(np.isfinite(side), side, DEFAULT_BOUND * np.sign(side)) for side in engine.actuation.force_limits
    ]
    is_force = engine.actuation.force[driven]
    low, high = (np.where(is_force, b[driven], s * DEFAULT_BOUND) for b, s in zip(bounds, (-1.0, 1.0), strict=True))
    return driven, np.ones(len(driven)), low, high
