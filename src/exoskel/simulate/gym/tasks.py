"""Tasks: observations, rewards and ends of episodes.  Built-in ones have their classic names; users can add others.

The first axis of all arrays is that of the environments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from exoskel.spatial import Array

if TYPE_CHECKING:
    from exoskel.engines.mujoco.mujoco_world import MujocoWorld

SCENES = Path(__file__).parent / "scenes"


class SteppedWorlds(Protocol):
    """The worlds of environments: their states, as arrays of which the first axis is the number of the world."""

    engine: MujocoWorld

    @property
    def positions(self) -> Array: ...

    @property
    def velocities(self) -> Array: ...

    @property
    def body_poses(self) -> Array: ...


class EnvironmentState:
    """The state of the environments: `positions` and `velocities (N, dofs)`, and derived values."""

    def __init__(self, worlds: SteppedWorlds, positions: Array, velocities: Array) -> None:
        self._worlds = worlds
        self.positions = positions
        self.velocities = velocities
        self.names: dict[str, int] = worlds.engine.coordinates.numbers
        self.derived: dict[str, Any] = {}
        """Values that a task has computed from this state, by any names, to use them again."""

    def position(self, name: str) -> Array:
        return self.positions[..., self.names[name]]

    @cached_property
    def body_poses(self) -> Array:
        """`(N, bodies, 7)`; valid only until the next step."""
        return np.asarray(self._worlds.body_poses)


class SingleState(EnvironmentState):
    """The state of one environment for tasks that `take_single`: arrays have no first axis.

    `position_list` and `velocity_list` are the same numbers: Python computes with few of them faster than NumPy.
    """

    def __init__(self, worlds: SteppedWorlds, positions: list[float], velocities: list[float]) -> None:
        self._worlds = worlds
        self.position_list = positions
        self.velocity_list = velocities
        self.names = worlds.engine.coordinates.numbers
        self.derived = {}

    @cached_property
    def positions(self) -> Array:  # type: ignore[override]
        return np.array(self.position_list)

    @cached_property
    def velocities(self) -> Array:  # type: ignore[override]
        return np.array(self.velocity_list)

    def position(self, name: str) -> Any:
        return self.position_list[self.names[name]]

    @cached_property
    def body_poses(self) -> Array:
        """`(bodies, 7)`; valid only until the next step."""
        return np.asarray(self._worlds.body_poses[0])


Observe = Callable[[EnvironmentState], Array]
Reward = Callable[[EnvironmentState, EnvironmentState, Array, float], ArrayLike]
Termination = Callable[[EnvironmentState], ArrayLike]


def observe_state(now: EnvironmentState) -> Array:
    """All positions and velocities."""
    if isinstance(now, SingleState):
        return np.array(now.position_list + now.velocity_list)
    return np.concatenate([now.positions, now.velocities], axis=-1)


def zero_reward(before: EnvironmentState, now: EnvironmentState, action: Array, seconds: float) -> float:
    """No reward: for scenes without a task."""
    return 0.0


def never_ends(now: EnvironmentState) -> bool:
    """No world ends early."""
    return False


class Task(Struct, frozen=True):
    """A scene and a goal in it.

    `gears` are the forces (N, N·m) or speeds of an action of 1, by coordinate; without them the actuators of the world
    act, or all driven coordinates, within their own limits.  The initial state is the scene's, with uniform noise of up
    to `noise` in positions and `speed_noise` in velocities, or between the bounds in `shifts` for a coordinate.
    `horizon` is the number of actions of an episode, each of `frame_skip` steps.  `integrator` is used unless the
    environment states another.

    If the functions `take_single`, a single environment calls them without the first axis of arrays, and `position` is
    a number then: this takes less time.
    """

    scene: str = ""
    observe: Observe = observe_state
    reward: Reward = zero_reward
    is_over: Termination = never_ends
    gears: dict[str, float] | None = None
    frame_skip: int = 5
    horizon: int = 1000
    noise: float = 0.0
    speed_noise: float = 0.0
    shifts: dict[str, tuple[float, float]] = {}
    integrator: str | None = None
    take_single: bool = False


def _effort(action: Array) -> Any:
    return np.vecdot(action, action) if action.ndim > 1 else float(action.dot(action))


def _forward(before: EnvironmentState, now: EnvironmentState, seconds: float) -> Any:
    return (now.position("root_x") - before.position("root_x")) / seconds


def _without_distance(now: EnvironmentState) -> Array:
    """Everything but the distance travelled; velocities are clipped."""
    if isinstance(now, SingleState):
        velocities = now.velocity_list
        if max(velocities) > 10.0 or min(velocities) < -10.0:
            velocities = [min(max(velocity, -10.0), 10.0) for velocity in velocities]
        return np.array(now.position_list[1:] + velocities)
    return np.concatenate([now.positions[:, 1:], np.minimum(np.maximum(now.velocities, -10.0), 10.0)], axis=-1)


# --- cart and pole --------------------------------------------------------------------------------------------


def _upright_reward(before: EnvironmentState, now: EnvironmentState, action: Array, seconds: float) -> Any:
    return 1.0


def _has_fallen_pole(now: EnvironmentState) -> Any:
    """The cart is 2.4 m from the middle, or the pole leans by 0.2 rad."""
    return (abs(now.position("slide")) > 2.4) | (abs(now.position("hinge")) > 0.2)


# --- legs -----------------------------------------------------------------------------------------------------


def _progress_reward(before: EnvironmentState, now: EnvironmentState, action: Array, seconds: float) -> Any:
    return _forward(before, now, seconds) + 1.0 - 1e-3 * _effort(action)


def _speed_reward(before: EnvironmentState, now: EnvironmentState, action: Array, seconds: float) -> Any:
    return _forward(before, now, seconds) - 0.1 * _effort(action)


def _has_fallen(now: EnvironmentState) -> Any:
    """The torso is half a metre below its initial height, or leans by a radian."""
    return (now.position("root_y") < -0.5) | (abs(now.position("root_rot")) > 1.0)


# --- arm ------------------------------------------------------------------------------------------------------

_UPPER, _FORE = 0.1, 0.11
"""Lengths of the arm's links in the scene, m."""


def _observe_arm(now: EnvironmentState) -> Array:
    """The shoulder and the elbow, the target, and the vector to it from the fingertip."""
    if isinstance(now, SingleState):
        shoulder, elbow, *spot = now.position_list[:4]
        angles = np.array([shoulder, elbow, shoulder + elbow])
        cosines, sines = np.cos(angles).tolist(), np.sin(angles).tolist()
        now.derived["to_target"] = to_target = _find_target(cosines, sines, spot)
        return np.array([*cosines[:2], *sines[:2], *spot, *now.velocity_list[:2], *to_target])
    positions, velocities = now.positions.T, now.velocities.T
    many = np.stack([positions[0], positions[1], positions[0] + positions[1]])
    cosines, sines = np.cos(many), np.sin(many)
    now.derived["to_target"] = to_target = _find_target(cosines, sines, positions[2:4])
    return np.stack([*cosines[:2], *sines[:2], *positions[2:4], *velocities[:2], *to_target], axis=-1)


def _find_target(cosines: Any, sines: Any, spot: Any) -> tuple[Any, Any]:
    """The vector from the fingertip to the target, from functions of the angles of both joints and of the forearm."""
    return (
        spot[0] - (_UPPER * cosines[0] + _FORE * cosines[2]),
        spot[1] - (_UPPER * sines[0] + _FORE * sines[2]),
    )


def _distance_reward(before: EnvironmentState, now: EnvironmentState, action: Array, seconds: float) -> Any:
    if "to_target" not in now.derived:
        _observe_arm(now)
    x, y = now.derived["to_target"]
    distance = sqrt(x * x + y * y) if isinstance(x, float) else np.sqrt(x * x + y * y)
    return -distance - _effort(action)


_LEG = ("hip", "knee", "ankle")


_FAST = "implicitfast"
"""The default integrator stops joints at their limits as DART does; to learn a task, speed matters more."""
TASKS: dict[str, Task] = {
    "cartpole": Task(
        scene="cartpole.skel",
        integrator=_FAST,
        take_single=True,
        reward=_upright_reward,
        is_over=_has_fallen_pole,
        gears={"slide": 40.0},
        frame_skip=10,
        noise=0.05,
        speed_noise=0.05,
    ),
    "hopper": Task(
        scene="hopper.skel",
        integrator=_FAST,
        take_single=True,
        observe=_without_distance,
        reward=_progress_reward,
        is_over=_has_fallen,
        gears=dict.fromkeys(_LEG, 200.0),
        frame_skip=4,
        noise=0.005,
        speed_noise=0.005,
    ),
    "walker2d": Task(
        scene="walker2d.skel",
        integrator=_FAST,
        take_single=True,
        observe=_without_distance,
        reward=_progress_reward,
        is_over=_has_fallen,
        gears={f"{side}_{name}": 100.0 for side in ("right", "left") for name in _LEG},
        frame_skip=4,
        noise=0.005,
        speed_noise=0.005,
    ),
    "half_cheetah": Task(
        scene="half_cheetah.skel",
        integrator=_FAST,
        take_single=True,
        observe=_without_distance,
        reward=_speed_reward,
        gears={
            f"{end}_{name}": gear
            for end, gears in (("back", (120.0, 90.0, 60.0)), ("front", (120.0, 60.0, 30.0)))
            for name, gear in zip(_LEG, gears, strict=True)
        },
        frame_skip=10,
        noise=0.1,
        speed_noise=0.1,
    ),
    "reacher": Task(
        scene="reacher.skel",
        integrator=_FAST,
        take_single=True,
        observe=_observe_arm,
        reward=_distance_reward,
        gears={"shoulder": 0.05, "elbow": 0.05},
        frame_skip=2,
        horizon=50,
        noise=0.1,
        speed_noise=0.005,
        shifts={"spot_x": (-0.14, 0.14), "spot_y": (-0.14, 0.14), "spot_rot": (0.0, 0.0)},
    ),
}
"""The built-in tasks, by their names in dart-env and Gymnasium; the scenes are our own."""
