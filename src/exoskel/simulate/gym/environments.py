"""Gymnasium environments of one scene, or of many copies of it.  This module needs Gymnasium."""

from __future__ import annotations

from math import hypot
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.preflight import require, warn_about
from exoskel.scene.world import SceneLike, as_scene
from exoskel.simulate.batch.worlds import Worlds
from exoskel.simulate.gym.actions import find_actions
from exoskel.simulate.gym.rendering import RENDER_MODES, Drawing, PictureOptions
from exoskel.simulate.gym.tasks import EnvironmentState, SingleState, Task
from exoskel.simulate.options import check_positive, numbers, whole_number
from exoskel.spatial import Array, Mask

_OPTIONS = ("step", "limits", "friction", "integrator")


def _check_options(options: dict[str, Any]) -> None:
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise ExoskelError(f"unknown option {unknown[0]}; options of the engine are {', '.join(_OPTIONS)}")
    check_positive("the time step", options.get("step"))
    check_positive("the friction coefficient", options.get("friction"), or_zero=True)


class SingleWorld:
    """One world with the interface of `Worlds`, without what many need: the first axis of arrays has the length 1."""

    count = 1

    def __init__(self, engine: MujocoWorld) -> None:
        self.engine = engine
        self.alive: Mask = np.ones(1, dtype=bool)
        self.dof_names = engine.coordinates.names
        self.driver = engine.driver
        self._has_equal_coordinates = engine.coordinates.are_equal
        self._qpos, self._qvel = engine.qpos, engine.qvel
        self.qpos: Array = engine.qpos[None]
        self.qvel: Array = engine.qvel[None]
        self.own_controls: Array = engine.data.ctrl
        self._warnings = engine.data.warning.number

    def reset(self, _: Mask, positions: Array, velocities: Array) -> None:
        self.engine.restart(positions[0], velocities[0])
        self.alive[0] = True

    @property
    def positions(self) -> Array:
        return self.engine.coordinates.positions(self.qpos)

    @property
    def velocities(self) -> Array:
        return self.engine.coordinates.velocities(self.qpos, self.qvel)

    def lists(self) -> tuple[list[float], list[float]]:
        """The positions and the velocities."""
        if self._has_equal_coordinates:
            return self._qpos.tolist(), self._qvel.tolist()
        return self.positions[0].tolist(), self.velocities[0].tolist()

    @property
    def body_poses(self) -> Array:
        poses = self.engine.body_poses
        return np.concatenate([poses[:, :3, 3], spatial.quaternion(poses[:, :3, :3])], axis=-1)[None]

    def saved_state(self) -> dict[str, Array | Mask]:
        """Everything that the motion depends on."""
        return {"state": self.engine.state, "alive": self.alive.copy()}

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue in a saved state."""
        self.engine.state = saved["state"]
        self.alive[:] = saved["alive"]

    def step(self, count: int) -> None:
        if self.alive[0]:
            try:
                self.engine.step(count)
            except ExoskelError:  # MuJoCo cannot continue
                self.alive[0] = False
            if any(self._warnings.tolist()) and self.engine.state_problem:
                self.alive[0] = False


class Core:
    """Worlds with a task.  Actions are between `low` and `high`, one per actuator or driven coordinate.

    `count` is the number of worlds, or None for a single one.
    """

    def __init__(self, scene: SceneLike, task: Task, count: int | None, *, threads: int = 0, **options: Any) -> None:
        _check_options(options)
        scene, integrator = as_scene(scene), options.get("integrator")
        warn_about(require(scene, "mujoco", limits=options.get("limits"), integrator=integrator), "mujoco")
        options["integrator"] = integrator or task.integrator or "discrete"
        self.task = task
        self.world = scene.world
        self.engine = MujocoWorld(self.world, **options)
        self.worlds = SingleWorld(self.engine) if count is None else _create_worlds(self.engine, count, threads)
        count = self.worlds.count
        self._shape = (count,)
        self._single = self.worlds if task.take_single and isinstance(self.worlds, SingleWorld) else None
        names = self.engine.coordinates.names
        self.actions = find_actions(self.worlds, task)
        self.low, self.high, self._apply = self.actions.low, self.actions.high, self.actions.apply
        self._action_shape = self.low.shape
        self._greatest_low = float(self.low.max(initial=-np.inf))
        self._least_high = float(self.high.min(initial=np.inf))
        self.seconds = task.frame_skip * self.engine.time_step
        joints = [j for m in self.world.models for j in m.joints if not j.loop]
        self._start = [
            np.array([number for joint in joints for number in getattr(joint, name)], dtype=np.float64)
            for name in ("positions", "velocities")
        ]
        self._bounds = self._find_bounds(names)
        self._speed_noise = np.where(self.engine.actuation.locked, 0.0, task.speed_noise)
        self._now = self._read_state()
        self.observation = np.asarray(task.observe(self.now))
        if self.observation.ndim != 2 or len(self.observation) != count:
            raise ExoskelError(f"a task must observe one row per environment, not {self.observation.shape}")
        self.ages: NDArray[np.intp] = np.zeros(count, dtype=np.intp)

    @property
    def now(self) -> EnvironmentState:
        """The present state, environments first."""
        now = self._now
        if not isinstance(now, SingleState):
            return now
        return EnvironmentState(self.worlds, now.positions[None], now.velocities[None])

    def _read_state(self) -> EnvironmentState:
        worlds = self.worlds
        if self._single is not None:
            return SingleState(self._single, *self._single.lists())
        return EnvironmentState(worlds, worlds.positions, worlds.velocities)

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
        velocities = self._start[1] + self._speed_noise * (2.0 * uniform[:, 1] - 1.0)
        self.worlds.reset(which, positions, velocities)
        self._now = self._read_state()
        self.observation[which] = self.task.observe(self.now)[which]
        self.ages[which] = 0

    def step(self, actions: Any) -> tuple[Array, Mask, Mask]:
        """Apply actions; returns rewards, and which environments are terminated and truncated."""
        given = numbers("actions", actions)
        wanted = (self.worlds.count, len(self.low))
        if given.shape != wanted:
            raise ExoskelError(f"actions must have the shape {wanted}, not {given.shape}")
        clipped = np.clip(given, self.low, self.high)
        self._apply(clipped)
        before = self.now
        self.worlds.step(self.task.frame_skip)
        self._now = self._read_state()
        return self._results(before, clipped)

    def _results(self, before: EnvironmentState, clipped: Array) -> tuple[Array, Mask, Mask]:
        """Observe the new state, and return rewards and ends."""
        now = self.now
        self.ages += 1
        alive = self.worlds.alive & np.isfinite(now.positions).all(axis=-1)
        with np.errstate(invalid="ignore", over="ignore"):
            observation = self.task.observe(now)
            rewards = self._per_environment("reward", self.task.reward(before, now, clipped, self.seconds))
            over = self._per_environment("is_over", self.task.is_over(now)).astype(bool) | ~alive
        self.observation = np.where(alive[:, None], observation, self.observation)
        return np.where(alive, rewards, 0.0), over, self.ages >= self.task.horizon

    def step_one(self, action: Any) -> tuple[float, bool, bool]:
        """`step` for a single world: with one action, and one of each result."""
        given = action
        if type(action) is not np.ndarray or action.dtype is not _FLOAT:
            given = spatial.array(action) if isinstance(action, np.ndarray) else numbers("actions", action)
        if given.shape != self._action_shape:
            raise ExoskelError(f"actions must have the shape {self._action_shape}, not {given.shape}")
        values = given.tolist()
        if not hypot(*values) < _LARGE:
            return self._first(self.step([action]))
        if values and (max(values) > self._least_high or min(values) < self._greatest_low):
            given = np.minimum(np.maximum(given, self.low), self.high)
        self._apply(given)
        task, old, worlds = self.task, self._now, self.worlds
        worlds.step(task.frame_skip)
        self._now = now = self._read_state()
        if not (worlds.alive.item(0) and _is_moderate(now)):
            before = EnvironmentState(worlds, *np.atleast_2d(old.positions, old.velocities))
            return self._first(self._results(before, given[None]))
        self.ages[0] = age = self.ages.item(0) + 1
        observation = np.asarray(task.observe(now))
        if self._single is not None:
            self.observation = observation[None]
            reward, is_over = task.reward(old, now, given, self.seconds), task.is_over(now)
        else:
            self.observation = observation
            reward, is_over = task.reward(old, now, given[None], self.seconds), task.is_over(now)
        if type(reward) is not float:
            reward = float(self._per_environment("reward", reward).item())
        if type(is_over) is not bool:
            is_over = bool(self._per_environment("is_over", is_over).item())
        return reward, is_over, age >= task.horizon

    @staticmethod
    def _first(results: tuple[Array, Mask, Mask]) -> tuple[float, bool, bool]:
        rewards, over, late = results
        return float(rewards[0]), bool(over[0]), bool(late[0])

    def saved_state(self) -> dict[str, Any]:
        """Everything that the next steps and their results depend on."""
        now = bool(self._now.derived)
        return {"worlds": self.worlds.saved_state(), **{name: getattr(self, name) for name in _OWN}, "derives": now}

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue in a saved state of worlds with the same scene and options."""
        self.worlds.restore(saved["worlds"])
        for name in _OWN:
            setattr(self, name, saved[name].copy())
        self._now = self._read_state()
        if saved["derives"]:  # what the task computed from the state
            self.task.observe(self._now)

    def _per_environment(self, name: str, values: Any) -> NDArray[Any]:
        """Numbers from a task: one per environment, or the same for all."""
        if type(values) is np.ndarray and values.dtype in _USUAL and values.shape == self._shape:
            return values
        found = np.asarray(values)
        if found.dtype.kind not in "bifu" or found.shape not in ((), self._shape):
            raise ExoskelError(f"{name} of a task must return a number for each environment, not {values!r}")
        return found


_OWN = ("observation", "ages")
_USUAL = (np.dtype(np.float64), np.dtype(np.bool_))
"""The types of most rewards and ends."""


def _create_worlds(engine: MujocoWorld, count: int, threads: int) -> Worlds:
    worlds = Worlds(engine, count, threads=threads)
    worlds.reset()
    return worlds


def _is_moderate(state: EnvironmentState) -> bool:
    """Whether all numbers are finite, and small enough that tasks can compute with them without an overflow."""
    if isinstance(state, SingleState):
        return hypot(*state.position_list, *state.velocity_list) < _LARGE
    return hypot(*state.positions.ravel().tolist(), *state.velocities.ravel().tolist()) < _LARGE


_LARGE = 1e100
_FLOAT = np.dtype(np.float64)


# --- environments --------------------------------------------------------------------------------------


_ALL = np.ones(1, dtype=bool)


def _spaces(core: Core) -> tuple[Any, Any]:
    observation = Box(-np.inf, np.inf, core.observation.shape[1:], dtype=np.float64)
    return observation, Box(core.low, core.high, dtype=np.float64)


def _create(kind: Any, options: dict[str, Any]) -> Any:
    """Create an environment that was pickled."""
    return kind(**options)


_REMADE = ("core", "_made_from", "_drawing")
"""The attributes of an environment that the arguments that created it determine, but for the state of the core."""


def _saved(env: SceneEnv | SceneVectorEnv) -> dict[str, Any]:
    """The state of an environment: that of its worlds, its random generators, `spec` and other attributes."""
    own = {name: value for name, value in vars(env).items() if name not in _REMADE}
    return {"attributes": own, "core": env.core.saved_state()}


def _restore(env: SceneEnv | SceneVectorEnv, saved: dict[str, Any]) -> None:
    vars(env).update(saved["attributes"])
    env.core.restore(saved["core"])


class SceneEnv(gymnasium.Env[Array, Array]):
    """A scene as an environment: an action is held for `frame_skip` time steps.

    Unless `ends_late` is set, episodes do not end at the horizon.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDER_MODES)}  # type: ignore[misc]

    def __init__(
        self,
        scene: SceneLike,
        task: Task,
        *,
        render_mode: str | None = None,
        picture: PictureOptions | None = None,
        **options: Any,
    ) -> None:
        self.core = Core(scene, task, None, **options)
        self.ends_late = True
        given = {"render_mode": render_mode, "picture": picture}
        self._made_from = {"scene": self.core.world, "task": task, **given, **options}
        self._drawing = Drawing(self.core, render_mode, picture)
        self.observation_space, self.action_space = _spaces(self.core)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": round(1.0 / self.core.seconds)}  # type: ignore[misc]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=None if seed is None else whole_number("a seed", seed, 0))
        self.core.reset(_ALL, [self.np_random])
        self._drawing.follow()
        return self.core.observation[0].copy(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        core = self.core
        reward, is_over, is_late = core.step_one(action)
        if self.render_mode is not None:
            self._drawing.follow()
        info = {} if core.worlds.alive.item(0) else {"diverged": True}
        return core.observation[0].copy(), reward, is_over, self.ends_late and is_late, info

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments that created the environment, and its state: copies continue like the original."""
        return _create, (type(self), self._made_from), _saved(self)

    def __setstate__(self, saved: dict[str, Any]) -> None:
        _restore(self, saved)

    def render(self) -> Any:
        """A picture, or the coordinates as a line of text; the mode `human` shows every step by itself."""
        return self._drawing.show(0)

    def close(self) -> None:
        self._drawing.close()


class SceneVectorEnv(VectorEnv[Array, Array, Any]):
    """Many copies of a scene.  Number i, reset with a seed, equals `SceneEnv` reset with that seed plus i.

    An environment that has ended is reset by the next step, whose action and reward do not count.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        scene: SceneLike,
        task: Task,
        num_envs: int,
        *,
        threads: int = 0,
        render_mode: str | None = None,
        picture: PictureOptions | None = None,
        **options: Any,
    ) -> None:
        self.num_envs = num_envs = whole_number("num_envs", num_envs, 1)
        if render_mode == "human" and num_envs > 1:
            raise ExoskelError("a window shows one environment; use rgb_array for many")
        self.core = Core(scene, task, num_envs, threads=threads, **options)
        given = {"num_envs": num_envs, "threads": threads, "render_mode": render_mode, "picture": picture}
        self._made_from = {"scene": self.core.world, "task": task, **given, **options}
        self._drawing = Drawing(self.core, render_mode, picture)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": round(1.0 / self.core.seconds)}  # type: ignore[misc]
        self.single_observation_space, self.single_action_space = _spaces(self.core)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._streams = [seeding.np_random(None)[0] for _ in range(num_envs)]
        self._done = np.zeros(num_envs, dtype=bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        which = np.ones(self.num_envs, dtype=bool)
        chosen = (options or {}).get("reset_mask")
        if chosen is not None:
            which = np.asarray(chosen)
            if which.shape != (self.num_envs,) or which.dtype != bool:
                raise ExoskelError(f"a reset_mask must be {self.num_envs} booleans, not {chosen!r}")
        for number, one in enumerate(self._seeds(seed)):
            if one is not None and which[number]:
                self._streams[number] = seeding.np_random(one)[0]
        self.core.reset(which, self._streams)
        self._done[which] = False
        self._drawing.follow()
        return self.core.observation.copy(), {}

    def _seeds(self, stated: Any) -> list[int | None]:
        """One seed for each environment: consecutive from a number, or as given."""
        if stated is None:
            return [None] * self.num_envs
        if np.ndim(stated) == 0:
            first = whole_number("a seed", stated, 0)
            return [first + number for number in range(self.num_envs)]
        if len(stated) != self.num_envs:
            raise ExoskelError(f"expected one seed or {self.num_envs}, not {len(stated)}")
        return [None if one is None else whole_number("a seed", one, 0) for one in stated]

    def step(self, actions: Array) -> tuple[Array, Array, Any, Any, dict[str, Any]]:
        begun = self._done.copy()
        rewards, over, late = self.core.step(actions)
        if begun.any():  # their step does not count: reset them
            self.core.reset(begun, self._streams)
            rewards = np.where(begun, 0.0, rewards)
            over, late = over & ~begun, late & ~begun
        self._done = over | late
        self._drawing.follow()
        diverged = ~self.core.worlds.alive
        return self.core.observation.copy(), rewards, over, late, {"diverged": diverged} if diverged.any() else {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments that created the environments, and their states: copies continue like the originals."""
        return _create, (type(self), self._made_from), _saved(self)

    def __setstate__(self, saved: dict[str, Any]) -> None:
        _restore(self, saved)

    def render(self) -> tuple[Any, ...] | None:
        """A picture, or a line of text, of each."""
        return None if self.render_mode in (None, "human") else tuple(map(self._drawing.show, range(self.num_envs)))

    def close_extras(self, **_: Any) -> None:
        if hasattr(self, "_drawing"):  # Gymnasium 1.1 also closes what could not be created
            self._drawing.close()
