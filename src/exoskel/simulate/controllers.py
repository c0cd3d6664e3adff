"""Controllers for `run(..., controller=...)`: functions of a simulation that return generalised forces.

Controllers can be added, also to other functions: `PD(50, 5, target) + GravityCompensation()`.  Without `joints`, a
controller drives all joints except free joints.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exoskel.diagnostics import ExoskelError
from exoskel.simulate.simulation import Simulation
from exoskel.simulate.trajectory import Trajectory
from exoskel.spatial import Array, Mask

Gains = float | ArrayLike | Mapping[str, float]
"""One number for all degrees of freedom, one number each, or numbers by the name of the joint."""
TargetPositions = Gains | Trajectory | Callable[[float], ArrayLike]
"""Positions, a motion, or a function from the time in s to positions."""


ForceFunction = Callable[[Simulation], ArrayLike]
"""A function of a simulation that returns generalised forces for all degrees of freedom."""


class _Addable(ABC):
    """A function of a simulation that returns generalised forces, and can be added to others."""

    @abstractmethod
    def __call__(self, simulation: Simulation) -> Array:
        """The forces on all degrees of freedom."""

    def __add__(self, other: ForceFunction) -> _Sum:
        return _Sum(self, other) if callable(other) else NotImplemented

    def __radd__(self, other: ForceFunction) -> _Sum:
        return _Sum(other, self) if callable(other) else NotImplemented


class _Sum(_Addable):
    def __init__(self, first: ForceFunction, second: ForceFunction) -> None:
        self._parts = (first, second)

    def __call__(self, simulation: Simulation) -> Array:
        one, other = (np.asarray(part(simulation), dtype=np.float64) for part in self._parts)
        return one + other

    def __repr__(self) -> str:
        return " + ".join(map(repr, self._parts))


class ForceController(_Addable):
    """A controller that returns generalised forces for some joints, and none for the others.

    Subclasses define `forces`.
    """

    def __init__(self, joints: Sequence[str] | None = None) -> None:
        self.joints = joints

    @abstractmethod
    def forces(self, simulation: Simulation) -> Array:
        """The forces on all degrees of freedom; those of other joints are not used."""

    def __call__(self, simulation: Simulation) -> Array:
        return np.where(_driven(simulation, self.joints), self.forces(simulation), 0.0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.joints is None else f'joints={self.joints!r}'})"


class PD(ForceController):
    """Forces towards a target: `kp * (target - position) + kd * (target velocity - velocity)`.

    Gains are in N·m/rad and N·m·s/rad, or N/m and N·s/m: one for all joints, one each, or a dict by joint.  The
    `target` is positions, a dict of positions by joint (others stay where they are at first), a motion, or a
    function of the time.
    """

    def __init__(
        self,
        kp: Gains,
        kd: Gains,
        target: TargetPositions | None = None,
        *,
        joints: Sequence[str] | None = None,
    ) -> None:
        super().__init__(joints)
        _check_numbers("kp", kp)
        _check_numbers("kd", kd)
        _check_target(target)
        self.kp, self.kd, self.target = kp, kd, target
        self._reference: _TargetMotion | None = None

    def __repr__(self) -> str:
        return f"PD(kp={self.kp!r}, kd={self.kd!r}, target={self.target!r})"

    def forces(self, simulation: Simulation) -> Array:
        if self._reference is None or self._reference.simulation is not simulation:
            self._reference = _TargetMotion(simulation, self.target)
        positions, velocities, _ = self._reference.at(simulation.time)
        kp, kd = (_per_dof(simulation, name, gain, 0.0) for name, gain in (("kp", self.kp), ("kd", self.kd)))
        out: Array = kp * (positions - simulation.positions) + kd * (velocities - simulation.velocities)
        return out


class GravityCompensation(ForceController):
    """The forces that hold the bodies against gravity."""

    def forces(self, simulation: Simulation) -> Array:
        return simulation.gravity_forces()


class InverseDynamics(ForceController):
    """Follow a motion with the forces of inverse dynamics, and correct errors of positions and velocities.

    `stiffness` (1/s²) and `damping` (1/s) are those of the errors; by default these decay within about 0.3 s.
    """

    def __init__(
        self,
        target: TargetPositions,
        *,
        stiffness: float = 100.0,
        damping: float = 20.0,
        joints: Sequence[str] | None = None,
    ) -> None:
        super().__init__(joints)
        _check_numbers("the stiffness", stiffness)
        _check_numbers("the damping", damping)
        _check_target(target)
        self.target, self.stiffness, self.damping = target, stiffness, damping
        self._reference: _TargetMotion | None = None

    def __repr__(self) -> str:
        return f"InverseDynamics({self.target!r})"

    def forces(self, simulation: Simulation) -> Array:
        if self._reference is None or self._reference.simulation is not simulation:
            self._reference = _TargetMotion(simulation, self.target)
        positions, velocities, accelerations = self._reference.at(simulation.time)
        wanted = (
            accelerations
            + self.stiffness * (positions - simulation.positions)
            + self.damping * (velocities - simulation.velocities)
        )
        return simulation.inverse_dynamics(np.where(_driven(simulation, self.joints), wanted, 0.0))


class _TargetMotion:
    """Wanted positions, velocities and accelerations at any time."""

    def __init__(self, simulation: Simulation, target: TargetPositions | None) -> None:
        self.simulation = simulation
        self._motion = target if isinstance(target, Trajectory) else None
        self._function: Callable[[float], Any] | None = None
        self._positions = np.array(simulation.positions)
        if self._motion is not None:
            if self._motion.dof_names != simulation.dof_names or len(self._motion) < 1:
                raise ExoskelError("the motion to follow belongs to another scene: its coordinates have other names")
        elif callable(target):
            self._function = target
        elif target is not None:
            self._positions = _per_dof(simulation, "the target", target, self._positions)

    def at(self, time: float) -> tuple[Array, Array, Array]:
        if self._motion is not None:
            return _interpolate(self._motion, time)
        if self._function is not None:
            h = 1e-4
            before, now, after = (self._call(t) for t in (time - h, time, time + h))
            return now, (after - before) / (2 * h), (after - 2 * now + before) / h**2
        return self._positions, np.zeros_like(self._positions), np.zeros_like(self._positions)

    def _call(self, time: float) -> Array:
        assert self._function is not None
        return _per_dof(self.simulation, "the target", self._function(time), self._positions)


def _interpolate(motion: Trajectory, time: float) -> tuple[Array, Array, Array]:
    """A motion at a time, by cubic interpolation of positions and velocities; at rest before and after it."""
    times = motion.time
    zero = np.zeros(len(motion.dof_names))
    if len(times) < 2 or time <= times[0] or time >= times[-1]:
        index = 0 if time <= times[0] else -1
        return motion.positions[index], zero, zero
    k = int(np.searchsorted(times, time, side="right")) - 1
    h = float(times[k + 1] - times[k])
    s = (time - float(times[k])) / h
    p, q, v, w = motion.positions[k], motion.positions[k + 1], motion.velocities[k], motion.velocities[k + 1]
    jump = q - p
    positions = p + s * h * v + s**2 * (3 * jump - h * (2 * v + w)) + s**3 * (h * (v + w) - 2 * jump)
    velocities = v + (2 * s * (3 * jump - h * (2 * v + w)) + 3 * s**2 * (h * (v + w) - 2 * jump)) / h
    accelerations = (2 * (3 * jump - h * (2 * v + w)) + 6 * s * (h * (v + w) - 2 * jump)) / h**2
    return positions, velocities, accelerations


def _check_numbers(what: str, values: Any) -> None:
    """Raise ExoskelError unless a gain or target is finite numbers: one, some, or by the name of the joint."""
    rows = values.values() if isinstance(values, Mapping) else [values]
    for row in rows:
        try:
            valid = row is not None and bool(np.isfinite(np.asarray(row, dtype=np.float64)).all())
        except (TypeError, ValueError, OverflowError):
            valid = False
        if not valid:
            raise ExoskelError(f"{what} is {row!r}, but must be finite numbers")


def _check_target(target: Any) -> None:
    if target is not None and not isinstance(target, Trajectory) and not callable(target):
        _check_numbers("the target", target)


def _driven(simulation: Simulation, joints: Sequence[str] | None) -> Mask:
    """The degrees of freedom that a controller drives."""
    out = np.zeros(len(simulation.dof_names), dtype=bool)
    if joints is None:
        for one in (simulation.joint(j) for j in simulation.world.joints() if j.kind != "free" and not j.loop):
            out[one.dofs] = True
        return out
    for name in [joints] if isinstance(joints, str) else joints:
        out[simulation.dof_slice(name)] = True
    return out


def _per_dof(simulation: Simulation, what: str, values: Any, default: ArrayLike) -> Array:
    """A number for each degree of freedom, from one for all, one each, or some by name."""
    count = len(simulation.dof_names)
    out = np.array(np.broadcast_to(np.asarray(default, dtype=np.float64), (count,)))
    try:
        if isinstance(values, Mapping):
            for name, value in values.items():
                out[simulation.dof_slice(name)] = value
        else:
            out[:] = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ExoskelError(f"{what} is {values!r}, but must be a number, {count} numbers, or a dict by joint") from None
    if not np.isfinite(out).all():
        raise ExoskelError(f"{what} must be finite")
    return out
