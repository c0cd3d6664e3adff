"""Forces, commands, the first step and energies: the rules that one MuJoCo world and many share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from exoskel.engines.mujoco.impulse_step import ImpulseStep, JointInputs
from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.formats.mjcf.model.rotational_joints import as_slice
from exoskel.spatial import Array, Indices, Mask

CoordinateColumns = Indices | slice | tuple[slice, Indices | slice]
"""Numbers of coordinates of one world, or those of all worlds."""


class CommandedWorlds(ABC):
    """One MuJoCo world, or many, with forces and commands that act until they are changed.

    Arrays have the leading shape `()` for one world and `(worlds,)` for many.  `qpos`, `qvel`, `_applied`
    (generalised forces) and `_wrenches` (on bodies) are MuJoCo's own arrays.
    """

    qpos: Array
    qvel: Array
    _applied: Array
    _wrenches: Array
    impulse_step: ImpulseStep | None
    """What takes the steps, if MuJoCo's own differ from DART's: it prescribes velocities by itself."""

    def __init__(self, compiled: CompiledWorld, shape: tuple[int, ...], has_impulse_steps: bool) -> None:
        self.compiled = compiled
        self._has_impulse_steps = has_impulse_steps
        """Whether `impulse_step` takes the steps."""
        count = compiled.layout.dof_count
        self._forces = np.zeros((*shape, count))
        self._commands = np.zeros((*shape, count))
        if compiled.actuation.initial.any():  # memory of zeros costs no time until it is used
            self._commands[:] = compiled.actuation.initial
        self._stated: Array | None = None
        """Forces and accelerations that the file states, in the step in which they act."""
        self._is_first: Mask = np.array(True) if shape == () else np.ones(shape, dtype=bool)
        """Which worlds have made no step since they were reset."""
        self._is_coasting: Mask = self._is_first.copy()
        """Where velocities were set since the last step: those of prescribed joints hold for one step."""
        self._is_commanded: Mask = np.zeros(shape, dtype=bool)
        springs = compiled.skin_springs
        self._edges = springs if springs is not None and springs.pushes and not has_impulse_steps else None
        """The edges of soft skins, whose forces have to be applied before each step."""
        self._forces_rotate = self._edges is not None
        """Whether forces have to be applied before each step: of edges, or about axes that rotate in MuJoCo."""
        self._accelerates = compiled.actuation.accelerates

    # --- forces and commands --------------------------------------------------------------------------

    @property
    def forces(self) -> Array:
        """External generalised forces, in N or N·m, that act until they are changed."""
        return self._forces.copy()

    @forces.setter
    def forces(self, values: Array) -> None:
        self._forces[...] = self._checked(values)
        self._update_forces_rotate()
        self._apply()

    @property
    def commands(self) -> Array:
        """The commands of actuators until they are changed: see `exoskel.formats.mjcf.model.actuation`."""
        return self._commands.copy()

    @commands.setter
    def commands(self, values: Array) -> None:
        self._commands[...] = self._checked(values)
        self._is_commanded[...] = True
        self._is_coasting[...] = False
        self._update_forces_rotate()
        self._pull()
        self._set_speeds(self.qpos, self.qvel, self.clipped_commands())
        self._apply()

    def driver(self, numbers: Indices, scale: Array, low: Array, high: Array) -> Callable[[Array], None]:
        """A function that changes the commands of some coordinates to `scale` times values, `(..., numbers)`.

        The values are between `low` and `high`.
        """
        actuation, coordinates = self.compiled.actuation, self.compiled.coordinates
        dofs = dict(zip(coordinates.scene.tolist(), coordinates.qvel.tolist(), strict=True))
        acts_alone = not (actuation.first_step_differs or len(self.compiled.first_wrenches) or self._edges is not None)
        if not (acts_alone and actuation.force[numbers].all() and all(number in dofs for number in numbers.tolist())):
            return partial(self._set_commands, numbers, scale)
        own = as_slice(np.array([dofs[number] for number in numbers.tolist()], dtype=np.intp))
        chosen = as_slice(numbers)
        limits = [one[numbers] for one in actuation.command_limits]
        ends = np.stack([scale * low, scale * high])
        is_limited = bool((ends.min(axis=0) < limits[0]).any() or (ends.max(axis=0) > limits[1]).any())
        if isinstance(own, slice) and isinstance(chosen, slice) and not is_limited:
            views = (self._commands[..., chosen], self._forces[..., chosen], self._applied[..., own])
            return partial(self._set_scaled_forces, scale, *views)
        columns, dof_columns = (chosen, own) if self._commands.ndim == 1 else (np.s_[:, chosen], np.s_[:, own])
        return partial(self._set_commanded_forces, columns, dof_columns, scale, (limits[0], limits[1]))

    def _set_commands(self, numbers: Indices, scale: Array, values: Array) -> None:
        commands = self.commands
        commands[..., numbers] = scale * values
        self.commands = commands

    def _set_commanded_forces(
        self,
        numbers: CoordinateColumns,
        dofs: CoordinateColumns,
        scale: Array,
        limits: tuple[Array, Array],
        values: Array,
    ) -> None:
        """Set commands that are forces on joints with one degree of freedom, where nothing else depends on them."""
        self._mark_changed()
        self._commands[numbers] = scaled = scale * values
        self._applied[dofs] = self._forces[numbers] + np.minimum(np.maximum(scaled, limits[0]), limits[1])

    def _set_scaled_forces(self, scale: Array, commands: Array, forces: Array, applied: Array, values: Array) -> None:
        """`_set_commanded_forces` with forces within their limits, in views of the arrays."""
        self._mark_changed()
        np.multiply(values, scale, commands)
        np.add(forces, commands, applied)

    def clipped_commands(self, which: Any = ...) -> Array:
        """The commands of some worlds within their limits; in the first step, with what the file states."""
        clipped = self.compiled.actuation.clipped(self._commands[which])
        return clipped if self._stated is None else clipped + self._stated[which]

    @property
    def _may_rotate(self) -> bool:
        """Whether forces may act about axes that rotate in MuJoCo, in this step."""
        return self._forces_rotate or self._stated is not None

    def _joint_inputs(self) -> JointInputs:
        """What acts on the joints of one world, for `impulse_step`."""
        assert self.impulse_step is not None
        return self.impulse_step.inputs(self._forces, self.clipped_commands())

    def _set_speeds(self, qpos: Array, qvel: Array, commands: Array) -> None:
        self.compiled.actuation.set_speeds(qpos, qvel, commands, velocities=not self._has_impulse_steps)

    @abstractmethod
    def _checked(self, values: Any) -> Array:
        """Finite numbers of the right shape; raises ExoskelError for others."""

    def _possible(self, velocities: Array) -> Array:
        """Velocities without those of locked joints, which MuJoCo would keep."""
        return velocities if self._has_impulse_steps else np.where(self.compiled.actuation.locked, 0.0, velocities)

    def _apply(self) -> None:
        if self._forces_rotate or self._accelerates:
            self._pull()
        self._mark_changed()
        self._applied[...] = self.compiled.actuation.applied_forces(self.qpos, self._forces, self.clipped_commands())
        if self._edges is not None:
            self._applied += self._edges.edge_forces(self.qpos, self.qvel, float(self.compiled.model.opt.timestep))

    def _update_forces_rotate(self) -> None:
        rotating = self.compiled.rotating_coordinates
        is_rotating = self._forces[..., rotating].any() or self._commands[..., rotating].any()
        self._forces_rotate = self._edges is not None or bool(is_rotating)

    def copy_inputs(self, worlds: CommandedWorlds, number: int) -> None:
        """Take the forces and commands of one of many worlds, and what is due in its next step."""
        self._forces[...], self._commands[...] = worlds._forces[number], worlds._commands[number]
        self._applied[...], self._wrenches[...] = worlds._applied[number], worlds._wrenches[number]
        self._is_first[...], self._is_coasting[...] = worlds._is_first[number], worlds._is_coasting[number]
        self._is_commanded[...] = worlds._is_commanded[number]
        self._update_forces_rotate()

    # --- where the states are stepped -----------------------------------------------------------------

    def _pull(self) -> None:  # noqa: B027 - most have no device
        """Bring the states from the device that steps them, if it has its own memory."""

    def _mark_changed(self) -> None:  # noqa: B027 - most have no device
        """Note that a device that has its own memory needs the states and forces again."""

    @abstractmethod
    def _advance(self, count: int) -> None:
        """Step with the forces that are applied now."""

    # --- the first step -------------------------------------------------------------------------------

    def _take_first_step(self) -> None:
        """Take the step after a reset, or after velocities were set.

        Forces and accelerations that the file states act in the first step only, as in DART.  A joint with a
        velocity actuator and no command keeps its initial velocity for that step.
        """
        actuation = self.compiled.actuation
        is_first, is_affected = self._is_first.copy(), self._is_first | self._is_coasting
        stated = actuation.first_forces + actuation.first_accelerations
        is_uncommanded = is_first & ~self._is_commanded
        if stated.any() and is_uncommanded.any():
            self._stated = np.where(is_uncommanded[..., None], stated, 0.0)
        if self._stated is not None or self._commands.any() or self._forces_rotate:
            self._apply()
        wrenches = self.compiled.first_wrenches
        has_wrenches = len(wrenches) > 0 and bool(is_first.any())
        applied = self._wrenches[is_first].copy() if has_wrenches else wrenches
        if has_wrenches:
            self._mark_changed()
            self._wrenches[is_first] = applied + wrenches
        self._advance(1)
        self._stated = None
        if has_wrenches:
            self._wrenches[is_first] = applied
        self._return_to_commands(is_affected & ~(is_first & self._is_commanded))
        self._mark_changed()
        self._is_first[...] = self._is_coasting[...] = False

    def _return_to_commands(self, which: Mask) -> None:
        """After the first step, apply the forces and commands alone."""
        if not which.any():
            return
        self._pull()
        qpos, qvel, commands = self.qpos[which], self.qvel[which], self.clipped_commands(which)
        self._applied[which] = self.compiled.actuation.applied_forces(qpos, self._forces[which], commands)
        self._set_speeds(qpos, qvel, commands)
        self.qvel[which] = qvel


def mechanical_energy(
    model: Any,
    potential: Array,
    *,
    cvel: Array,
    xipos: Array,
    ximat: Array,
    subtree_com: Array,
    masses: Array,
    inertias: Array,
    gravity: Array,
    armature: Array,
    qvel: Array,
) -> tuple[Array, Array]:
    """Kinetic and potential energy in J, from MuJoCo's potential and its arrays of one world or of many.

    The kinetic energy is that of the bodies and of the scene's `armature`: MuJoCo's own includes the armature of
    prescribed joints.
    """
    spin = cvel[..., :3]
    arm = xipos - subtree_com[..., model.body_rootid, :]
    speed = cvel[..., 3:] + np.cross(spin, arm)
    local_spin = np.einsum("...ji,...j->...i", ximat.reshape(*ximat.shape[:-1], 3, 3), spin)
    linear = _dot(masses, np.sum(speed**2, axis=-1))
    kinetic = 0.5 * (linear + np.sum(inertias * local_spin**2, axis=(-1, -2)))
    if armature.any():
        kinetic = kinetic + 0.5 * np.sum(armature * qvel**2, axis=-1)
    is_weightless = model.body_gravcomp > 0.0
    if is_weightless.any():  # MuJoCo counts the height of bodies on which gravity does not act
        weight = masses * _dot(xipos, gravity if gravity.ndim == 1 else gravity[..., None, :])
        potential = potential + weight[..., is_weightless].sum(axis=-1)
    return kinetic, potential


def _dot(a: Array, b: Array) -> Array:
    """The dot product along the last axis; for a single vector `b` by BLAS, whose last bits differ from a sum."""
    return np.asarray(a @ b if b.ndim == 1 else np.sum(a * b, axis=-1))
