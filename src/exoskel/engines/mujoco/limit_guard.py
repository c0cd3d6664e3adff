"""Steps of worlds in which MuJoCo differs from DART only because of enforced limits.

MuJoCo steps such a world by itself until a joint passes a limit.  That step is undone, and taken as in DART: impulses
on the plain inertia stop the joint at the limit.  In trees of bodies with contacts or equality constraints, MuJoCo's
soft limits of positions act.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.engines.mujoco.impulse_step import MAX_RETURN_SPEED, ImpulseStep, JointInputs
from exoskel.engines.mujoco.linear_systems import solve_boxed_lcp
from exoskel.engines.mujoco.servo_forces import JointValues
from exoskel.engines.mujoco.step_model import CONSTRAINT_MIXING, StepModel
from exoskel.formats.mjcf import mujoco_import
from exoskel.spatial import Array, Indices, Mask

MOST_STEPS = 64
"""Steps that MuJoCo takes before the limits are checked."""
_AT_REST = 1e-9
"""The velocity up to which a locked joint is at rest, rad/s or m/s: MuJoCo has a very large armature there."""
FEW_POSITIONS = 32
"""Up to this number, values are compared faster as a list than as an array."""


_SavedState = tuple[Array, Array, Array, float]
"""Positions, velocities, accelerations and the time of MuJoCo's data, to be restored."""


class _Watched(Struct):
    """MuJoCo's data that were stepped last, and their arrays: to find these takes time."""

    data: Any = None
    qpos: Any = None
    qvel: Any = None
    warm_start: Any = None
    warnings: Any = None

    def state(self) -> _SavedState:
        return self.qpos.copy(), self.qvel.copy(), self.warm_start.copy(), self.data.time

    def restore(self, state: _SavedState) -> None:
        self.qpos[:], self.qvel[:], self.warm_start[:], self.data.time = state


class LimitGuard:
    """Notices that joints with one degree of freedom per axis pass their limits."""

    def __init__(self, impulse_step: ImpulseStep) -> None:
        rotations = impulse_step.rotations
        self._mujoco = mujoco_import.load()
        self._mj_step = self._mujoco.mj_step if rotations is None else rotations.step
        self.impulse_step = impulse_step
        coordinates, limits = impulse_step.compiled.coordinates, impulse_step.enforced_limits
        positions = limits.positions[:, coordinates.qvel]
        places = dict(zip(coordinates.qvel.tolist(), coordinates.qpos.tolist(), strict=True))
        self._stops = [(places[dof], low, high) for dof, low, high in limits.motor_stops]
        self._qpos, self._low, self._high = _bounded(coordinates.qpos, positions)
        self._dofs, _, _ = _bounded(coordinates.qvel, positions)
        every = np.arange(limits.velocities.shape[1])
        self._qvel, self._slowest, self._fastest = _bounded(every, limits.velocities)
        self.most_steps = 1 if len(self._qvel) or rotations is not None else MOST_STEPS
        """The number of steps at a time: velocities are checked, and rotations are corrected, after every step."""
        self._has_many = bool(len(self._qvel)) or int(impulse_step.compiled.model.nq) > FEW_POSITIONS
        self._watched = _Watched()
        columns = (self._qpos.tolist(), self._dofs.tolist(), self._low.tolist(), self._high.tolist())
        self._limit_rows = list(zip(*columns, strict=True))
        model: Any = impulse_step.compiled.model
        self._step_size = float(model.opt.timestep)
        self._stops_joints = rotations is None and not (len(self._qvel) or model.nsensor or impulse_step.has_others)
        """Whether joints are stopped at limits here, which takes less time than steps of `ImpulseStep`."""
        self._is_one_tree = model.ntree == 1 and rotations is None and not (len(self._qvel) or model.neq)
        """Whether contacts are always those of all joints."""
        self._is_watched = self._is_one_tree and not self._stops
        self._is_constrained = False
        """Whether a contact or a limit acted in the last steps: more of them are likely."""
        self._locked = impulse_step.locked_dofs
        self._has_locked = bool(len(self._locked))
        self._is_at_limit = False
        """Whether a joint was stopped in the last step: the next is first taken without MuJoCo's limits."""

    def is_outside(self, qpos: Array, qvel: Array) -> Mask:
        """Whether positions or velocities, `(..., nq)` and `(..., nv)`, are beyond a limit."""
        chosen = qpos[..., self._qpos]
        out = ((chosen < self._low) | (chosen > self._high)).any(axis=-1)
        if len(self._qvel):
            speeds = qvel[..., self._qvel]
            out = out | ((speeds < self._slowest) | (speeds > self._fastest)).any(axis=-1)
        return np.asarray(out)

    def moves_locked(self, qvel: Array) -> Mask:
        """Whether locked joints have velocities, `(..., nv)`, which `ImpulseStep` has to stop."""
        return np.asarray((np.abs(qvel[..., self._locked]) > _AT_REST).any(axis=-1))

    def _is_one_outside(self, data: Any) -> bool:
        """`is_outside` for one world."""
        if self._has_many:
            return bool(self.is_outside(data.qpos, data.qvel))
        values = data.qpos.tolist()
        for number, _, low, high in self._limit_rows:  # noqa: SIM110 - a generator would be slower
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

        `inputs` is called only if `ImpulseStep` has to take a step.
        """
        if self._watched.data is not data:
            self._watched = _Watched(data, data.qpos, data.qvel, data.qacc_warmstart, data.warning.number)
        warnings = self._watched.warnings
        given: JointInputs | None = None
        if self._has_locked and count and max(map(abs, self._watched.qvel[self._locked].tolist())) > _AT_REST:
            given, count = inputs(), count - 1
            self.impulse_step.step(models[1], data, given, coasts=False, values=values)
        chunk = 1 if self._is_at_limit or self._is_constrained or data.nefc > data.nf else self.most_steps
        while count > 0 and not any(warnings.tolist()):
            if chunk == 1 and self._is_watched and not self._is_at_limit:
                count -= self._step_watched(models[0], data, count)
                if not count:
                    return
            taken = min(count, chunk)
            if taken > 1:
                if self._step_freely(models[0], data, taken):
                    if taken == count:
                        return
                    chunk = 1 if data.ncon or data.ne else min(2 * chunk, self.most_steps)
                else:
                    taken, chunk = 0, 1
            elif not self._step_once(models, data):
                given = inputs() if given is None else given
                self.impulse_step.step(models[1], data, given, coasts=False, values=values)
            elif not (self._is_at_limit or data.ncon or data.ne):
                chunk = min(2, self.most_steps)
            count -= taken

    def _step_freely(self, model: Any, data: Any, count: int) -> bool:
        """Take steps with MuJoCo; if a limit was passed, undo them and return False."""
        if self._stops and self._is_at_stop(data):
            return False
        before = self._watched.state()
        data.maxuse_efc = 0
        self._mj_step(model, data, count)
        if data.maxuse_efc <= data.nf and not self._is_one_outside(data):
            return True  # there were no constraints but the friction of motors
        self._watched.restore(before)
        return False

    def _step_watched(self, model: Any, data: Any, count: int) -> int:
        """Take up to `count` steps of a single tree of bodies until it passes a limit without touching anything.

        Returns the number of steps before that.
        """
        before, step = self._watched.state(), self._mujoco.mj_step
        data.maxuse_efc = 0
        for number in range(count):  # nothing more: MuJoCo takes a step in 10 µs
            step(model, data)
            if not data.ncon and (data.nefc > data.nf or self._is_one_outside(data)):
                self._watched.restore(before)
                if number:
                    step(model, data, number)
                return number
        self._is_constrained = data.maxuse_efc > data.nf
        return count

    def _step_once(self, models: tuple[Any, StepModel], data: Any) -> bool:
        """Take one step; returns False if `ImpulseStep` has to take it."""
        model, step_model = models
        before = self._watched.state()
        if self._is_at_limit:
            self._mj_step(step_model.unlimited_model, data)
            if not data.ncon:
                self._stop_joints(step_model.unlimited_model, data, before)
                return True
            self._is_at_limit = False
            self._watched.restore(before)
        starts_at_stop = bool(self._stops) and self._is_at_stop(data)
        self._mj_step(model, data)
        if data.ncon or data.ne:
            if self._is_one_tree or not self._passes_in_contact(step_model, data):
                return True
        elif data.nefc <= data.nf and not (starts_at_stop or self._is_one_outside(data)):
            return True
        elif self._stops_joints:
            self._watched.restore(before)
            self._mj_step(step_model.unlimited_model, data)
            self._stop_joints(step_model.unlimited_model, data, before)
            return True
        self._watched.restore(before)
        return False

    def _stop_joints(self, model: Any, data: Any, before: _SavedState) -> None:
        """Change the velocities after a step without limits by impulses that keep joints within them."""
        qpos, qvel = self._watched.qpos, self._watched.qvel
        dofs, wanted, low, high = self._find_stopped(before[0].tolist(), qvel.tolist())
        self._is_at_limit = bool(dofs)
        if not dofs:
            return
        rows, response = np.zeros((2, len(dofs), len(qvel)))
        numbers = np.arange(len(dofs))
        rows[numbers, dofs] = 1.0
        self._mujoco.mj_solveM(model, data, response, rows)
        matrix = np.ascontiguousarray(response[:, dofs])
        matrix[numbers, numbers] *= 1.0 + CONSTRAINT_MIXING
        try:
            impulses = solve_boxed_lcp(matrix, np.array(wanted), np.array(low), np.array(high))
        except np.linalg.LinAlgError:
            impulses = np.full(len(dofs), np.nan)
        change = impulses @ response
        qvel += change
        self._watched.warm_start += change / self._step_size
        qpos[:] = before[0]
        self._mujoco.mj_integratePos(model, qpos, qvel, self._step_size)

    def _find_stopped(
        self, positions: list[float], velocities: list[float]
    ) -> tuple[list[int], list[float], list[float], list[float]]:
        """The joints that would pass a limit: their degrees of freedom, changes of velocity, and bounds of impulses.

        The next position stays within the limits; one beyond them returns.
        """
        dofs: list[int] = []
        wanted: list[float] = []
        low: list[float] = []
        high: list[float] = []
        for place, dof, lowest, highest in self._limit_rows:
            position, velocity = positions[place], velocities[dof]
            below, above = lowest - position, highest - position
            slowest, fastest = below / self._step_size, above / self._step_size
            if below > 0.0 or (above >= 0.0 and velocity < slowest):
                wanted.append(min(slowest, MAX_RETURN_SPEED) - velocity)
                low.append(0.0)
                high.append(np.inf)
            elif above < 0.0 or velocity > fastest:
                wanted.append(max(fastest, -MAX_RETURN_SPEED) - velocity)
                low.append(-np.inf)
                high.append(0.0)
            else:
                continue
            dofs.append(dof)
        return dofs, wanted, low, high

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


def _bounded(numbers: Indices, limits: Array) -> tuple[Indices, Array, Array]:
    """The numbers that have limits, `(2, n)`, with these."""
    which = np.isfinite(limits).any(axis=0)
    return numbers[which], limits[0, which], limits[1, which]
