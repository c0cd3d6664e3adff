"""Steps of worlds in which MuJoCo's step differs from DART's only because of enforced limits.

MuJoCo steps them by itself until a joint passes a limit.  That step is undone and taken by `ImpulseStep`, which stops
the joint at the limit, as in DART.  In trees of bodies with contacts or equality constraints, MuJoCo's soft limits of
positions act.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exoskel.engines.mujoco.impulse_step import ImpulseStep, JointInputs, JointValues
from exoskel.engines.mujoco.step_model import StepModel
from exoskel.formats.mjcf import mujoco_import
from exoskel.spatial import Array, Mask

MOST_STEPS = 64
"""Steps that MuJoCo takes before the limits are checked."""
FEW_POSITIONS = 32
"""Up to this number, values are compared faster as a list than as an array."""


class LimitGuard:
    """Notices that joints with one degree of freedom per axis pass their limits."""

    def __init__(self, impulse_step: ImpulseStep) -> None:
        self._mj_step = mujoco_import.load().mj_step
        self.impulse_step = impulse_step
        coordinates, limits = impulse_step.compiled.coordinates, impulse_step.enforced_limits
        positions = limits.positions[:, coordinates.qvel]
        places = dict(zip(coordinates.qvel.tolist(), coordinates.qpos.tolist(), strict=True))
        self._stops = [(places[dof], low, high) for dof, low, high in limits.motor_stops]
        self._qpos, self._low, self._high = _bounded(coordinates.qpos, positions)
        self._dofs, _, _ = _bounded(coordinates.qvel, positions)
        every = np.arange(limits.velocities.shape[1])
        self._qvel, self._slowest, self._fastest = _bounded(every, limits.velocities)
        self.most_steps = 1 if len(self._qvel) else MOST_STEPS
        """The number of steps after which it is too late to notice: velocities are checked after every step."""
        self._has_many = bool(len(self._qvel)) or int(impulse_step.compiled.model.nq) > FEW_POSITIONS
        self._watched: tuple[Any, Any] = (None, None)
        """MuJoCo's data that were stepped last, and their numbers of warnings: to find these takes time."""
        self._limit_rows = list(zip(self._qpos.tolist(), self._low.tolist(), self._high.tolist(), strict=True))

    def is_outside(self, qpos: Array, qvel: Array) -> Mask:
        """Whether positions or velocities, `(..., nq)` and `(..., nv)`, are beyond a limit."""
        chosen = qpos[..., self._qpos]
        out = ((chosen < self._low) | (chosen > self._high)).any(axis=-1)
        if len(self._qvel):
            speeds = qvel[..., self._qvel]
            out = out | ((speeds < self._slowest) | (speeds > self._fastest)).any(axis=-1)
        return np.asarray(out)

    def _is_one_outside(self, data: Any) -> bool:
        """`is_outside` for one world."""
        if self._has_many:
            return bool(self.is_outside(data.qpos, data.qvel))
        values = data.qpos.tolist()
        for number, low, high in self._limit_rows:  # noqa: SIM110 - a generator would be slower
            if values[number] < low or values[number] > high:
                return True
        return False

    def _is_at_stop(self, data: Any) -> bool:
        """Whether a joint with a motor is at a stop, where the motor acts differently."""
        return any(not low < data.qpos[place] < high for place, low, high in self._stops)

    def advance(
        self,
        models: tuple[Any, StepModel],
        data: Any,
        inputs: Callable[[], JointInputs],
        count: int,
        values: JointValues | None = None,
    ) -> None:
        """Advance one world by `count` steps; `models` are MuJoCo's own, and that for `ImpulseStep.step`.

        `inputs` is called only if a limit is passed.
        """
        watched, warnings = self._watched
        if watched is not data:
            warnings = data.warning.number
            self._watched = data, warnings
        given: JointInputs | None = None
        chunk = 1 if data.nefc > data.nf else self.most_steps
        while count > 0 and not any(warnings.tolist()):
            taken = min(count, chunk)
            if self._step_freely(models, data, taken):
                if taken == count:
                    return
                chunk = 1 if data.ncon or data.ne else min(2 * chunk, self.most_steps)
            elif taken > 1:
                taken, chunk = 0, 1
            else:
                given = inputs() if given is None else given
                self.impulse_step.step(models[1], data, given, coasts=False, values=values)
            count -= taken

    def _step_freely(self, models: tuple[Any, StepModel], data: Any, count: int) -> bool:
        """Take steps with MuJoCo; if a limit was passed, undo them and return False."""
        model, step_model = models
        starts_at_stop = bool(self._stops) and self._is_at_stop(data)
        if starts_at_stop and count > 1:
            return False
        before = data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy(), data.time
        data.maxuse_efc = 0
        self._mj_step(model, data, count)
        if count == 1 and (data.ncon or data.ne):
            if not self._passes_in_contact(step_model, data):
                return True
        elif data.maxuse_efc <= data.nf and not (starts_at_stop or self._is_one_outside(data)):
            return True  # there were no constraints but the friction of motors
        data.qpos[:], data.qvel[:], data.qacc_warmstart[:], data.time = before
        return False

    def _passes_in_contact(self, step_model: StepModel, data: Any) -> bool:
        """Whether a velocity is beyond its limit, or a position in a tree without contacts."""
        if not data.nl and not self._is_one_outside(data):
            return False
        if len(self._qvel):
            speeds = data.qvel[self._qvel]
            if ((speeds < self._slowest) | (speeds > self._fastest)).any():
                return True
        touched = step_model.touched_trees(data)
        if touched.all():
            return False
        is_free, places = ~touched[step_model.model.dof_treeid], data.qpos[self._qpos]
        is_outside = ((places < self._low) | (places > self._high)) & is_free[self._dofs]
        return bool(is_outside.any() or is_free[step_model.limited_dofs(data)].any())


def _bounded(numbers: Any, limits: Array) -> tuple[Any, Array, Array]:
    """The numbers that have limits, `(2, n)`, with these."""
    which = np.isfinite(limits).any(axis=0)
    return numbers[which], limits[0, which], limits[1, which]
