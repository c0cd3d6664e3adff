"""What one environment and many have in common: some worlds, an action for each, and what comes of it."""

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

MOST_FORCE = 100.0
"""N or N·m, rad/s or m/s: what an action may ask of a coordinate without limits of its own."""
_OPTIONS = ("step", "limits", "friction", "integrator")
_DRIVEN = ("force", "servo", "velocity", "acceleration")


def _check_options(options: dict[str, Any]) -> None:
    unknown = [word for word in options if word not in _OPTIONS]
    if unknown:
        raise ExoskelError(f"an environment has no {unknown[0]}; of the engine, {', '.join(_OPTIONS)} can be set")
    check_positive("a time step", options.get("step"))
    check_positive("a friction coefficient", options.get("friction"), or_zero=True)


class Core:
    """Worlds under a task.  Actions are between `low` and `high`, one for each of the driven coordinates."""

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
            np.array([number for joint in joints for number in getattr(joint, word)], dtype=np.float64)
            for word in ("positions", "velocities")
        ]
        self._widths = self._find_widths(names)
        self.now = Moment(self.worlds)
        self.observation = np.asarray(task.observe(self.now))
        if self.observation.ndim != 2 or len(self.observation) != count:
            raise ExoskelError(f"a task has to observe one row an environment, not {self.observation.shape}")
        self.ages: NDArray[np.intp] = np.zeros(count, dtype=np.intp)

    def _find_widths(self, names: list[str]) -> tuple[Array, Array]:
        """The bounds of the shift of each coordinate, and how much velocities shift."""
        unknown = set(self.task.shifts) - set(names)
        if unknown:
            raise ExoskelError(f"the task shifts {', '.join(sorted(unknown))}, which the scene does not have")
        noise = self.task.noise
        bounds = np.array([self.task.shifts.get(name, (-noise, noise)) for name in names]).reshape(-1, 2)
        return bounds[:, 0], bounds[:, 1]

    def reset(self, which: Mask, streams: list[np.random.Generator]) -> None:
        """Put the chosen environments at their start, each shifted by its own stream."""
        low, high = self._widths
        numbers = np.flatnonzero(which).tolist()
        even = np.array([(streams[n].random(len(low)), streams[n].random(len(low))) for n in numbers])
        even = even.reshape(len(numbers), 2, len(low))
        positions = self._start[0] + low + (high - low) * even[:, 0]
        velocities = self._start[1] + self.task.speed_noise * (2.0 * even[:, 1] - 1.0)
        self.worlds.reset(which, positions, velocities)
        self.now = Moment(self.worlds)
        self.observation[which] = self.task.observe(self.now)[which]
        self.ages[which] = 0

    def step(self, actions: Any) -> tuple[Array, Mask, Mask]:
        """Act, and return rewards, who is over, and whose time is up."""
        given = numbers("actions", actions)
        if given.shape != (self.worlds.count, len(self.driven)):
            one = f"an action is {len(self.driven)} numbers"
            raise ExoskelError(f"{one}, for {self.worlds.count} at once; not an array of shape {given.shape}")
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
            seen = self.task.observe(self.now)
            rewards = self._each("reward", self.task.reward(before, self.now, clipped, self.seconds))
            over = self._each("is_over", self.task.is_over(self.now)).astype(bool) | ~alive
        self.observation = np.where(alive[:, None], seen, self.observation)
        return np.where(alive, rewards, 0.0), over, self.ages >= self.task.horizon

    def _each(self, word: str, told: Any) -> NDArray[Any]:
        """What a task says of every environment: a number each, or the same for all."""
        found = np.asarray(told)
        if found.dtype.kind not in "bifu" or found.shape not in ((), (self.worlds.count,)):
            raise ExoskelError(f"{word} of a task has to return a number for each environment, not {told!r}")
        return found


def _actions(engine: MujocoWorld, task: Task) -> tuple[NDArray[np.intp], Array, Array, Array]:
    """Coordinates that are driven, what an action is multiplied by, and the bounds of actions."""
    names = engine.coordinates.names
    if task.gears is not None:
        unknown = set(task.gears) - set(names)
        if unknown:
            raise ExoskelError(f"the task drives {', '.join(sorted(unknown))}, which the scene does not have")
        driven = np.array([names.index(name) for name in task.gears], dtype=np.intp)
        return driven, np.array(list(task.gears.values())), -np.ones(len(driven)), np.ones(len(driven))
    words = [
        "" if m.static or j.kind == "free" else j.actuator
        for m in engine.world.models
        for j in m.joints
        if not j.loop
        for _ in range(j.dof_count)
    ]
    driven = np.array([number for number, word in enumerate(words) if word in _DRIVEN], dtype=np.intp)
    bounds = [np.where(np.isfinite(side), side, MOST_FORCE * np.sign(side)) for side in engine.actuation.force_limits]
    is_force = engine.actuation.force[driven]
    low, high = (np.where(is_force, b[driven], s * MOST_FORCE) for b, s in zip(bounds, (-1.0, 1.0), strict=True))
    return driven, np.ones(len(driven)), low, high
