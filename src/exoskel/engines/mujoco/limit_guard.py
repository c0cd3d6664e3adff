"""Steps of worlds in which nothing but enforced limits makes MuJoCo's step differ from DART's.

MuJoCo steps them by itself until a joint passes a limit.  That step is undone and taken by `ImpulseStep`, which stops
the joint at the limit, as in DART.  In trees of bodies with contacts or equality constraints, MuJoCo's soft limits of
positions act.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel.engines.mujoco.impulse_step import ImpulseStep, JointInputs, JointValues
from exoskel.engines.mujoco.step_model import StepModel
from exoskel.formats.mjcf import mujoco_import
from exoskel.spatial import Array, Mask

MOST_STEPS = 64
"""Steps that MuJoCo takes before the limits are checked."""


class LimitGuard:
    """Notices that joints with one degree of freedom per axis pass their limits."""

    def __init__(self, impulse_step: ImpulseStep) -> None:
        self._mujoco = mujoco_import.load()
        self.impulse_step = impulse_step
        coordinates, limits = impulse_step.compiled.coordinates, impulse_step.enforced_limits
        positions = limits.positions[:, coordinates.qvel]
        self._qpos, self._low, self._high = _bounded(coordinates.qpos, positions)
        self._dofs, _, _ = _bounded(coordinates.qvel, positions)
        every = np.arange(limits.velocities.shape[1])
        self._qvel, self._slowest, self._fastest = _bounded(every, limits.velocities)
        self.most_steps = 1 if len(self._qvel) else MOST_STEPS
        """The number of steps after which it is too late to notice: velocities are checked after every step."""

    def is_outside(self, qpos: Array, qvel: Array) -> Mask:
        """Whether positions or velocities, `(..., nq)` and `(..., nv)`, are beyond a limit."""
        chosen = qpos[..., self._qpos]
        out = ((chosen < self._low) | (chosen > self._high)).any(axis=-1)
        if len(self._qvel):
            speeds = qvel[..., self._qvel]
            out = out | ((speeds < self._slowest) | (speeds > self._fastest)).any(axis=-1)
        return np.asarray(out)

    def advance(
        self,
        models: tuple[Any, StepModel],
        data: Any,
        inputs: JointInputs,
        count: int,
        values: JointValues | None = None,
    ) -> None:
        """Advance one world by `count` steps; `models` are MuJoCo's own, and that for `ImpulseStep.step`."""
        chunk = 1
        while count > 0 and not data.warning.number.any():
            taken = min(count, chunk)
            if self._step_freely(models, data, taken):
                chunk = 1 if data.ncon or data.ne else min(2 * chunk, self.most_steps)
            elif taken > 1:
                taken, chunk = 0, 1
            else:
                self.impulse_step.step(models[1], data, inputs, coasts=False, values=values)
            count -= taken

    def _step_freely(self, models: tuple[Any, StepModel], data: Any, count: int) -> bool:
        """Take steps with MuJoCo; if a limit was passed, undo them and return False."""
        model, step_model = models
        before = data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy(), data.time
        data.maxuse_efc = 0
        self._mujoco.mj_step(model, data, count)
        if count == 1 and (data.ncon or data.ne):
            if not self._passes_in_contact(step_model, data):
                return True
        elif not data.maxuse_efc and not self.is_outside(data.qpos, data.qvel):
            return True
        data.qpos[:], data.qvel[:], data.qacc_warmstart[:], data.time = before
        return False

    def _passes_in_contact(self, step_model: StepModel, data: Any) -> bool:
        """Whether a velocity is beyond its limit, or a position in a tree without contacts."""
        if not data.nl and not self.is_outside(data.qpos, data.qvel):
            return False
        speeds, places = data.qvel[self._qvel], data.qpos[self._qpos]
        if ((speeds < self._slowest) | (speeds > self._fastest)).any():
            return True
        is_free = ~step_model.touched_trees(data)[step_model.model.dof_treeid]
        is_outside = ((places < self._low) | (places > self._high)) & is_free[self._dofs]
        return bool(is_outside.any() or is_free[step_model.limited_dofs(data)].any())


def _bounded(numbers: Any, limits: Array) -> tuple[Any, Array, Array]:
    """The numbers that have limits, `(2, n)`, with these."""
    which = np.isfinite(limits).any(axis=0)
    return numbers[which], limits[0, which], limits[1, which]
