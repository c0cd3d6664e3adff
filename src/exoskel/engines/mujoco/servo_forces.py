"""The controls of the scene's actuators, and their forces in `ImpulseStep`: feedback acts like springs and dampers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct, structs

from exoskel.engines.mujoco.equality_states import SwitchedEqualities
from exoskel.engines.mujoco.sensor_values import MeasuredSensors
from exoskel.formats.mjcf.compile import CompiledWorld, actuator_numbers
from exoskel.formats.mjcf.controls import first_controls, first_outputs
from exoskel.formats.mjcf.model.driven_joints import actuator_joints, actuator_targets, element_name
from exoskel.scene.actuator import Actuator
from exoskel.spatial import Array, Indices, Mask


class JointValues(Struct):
    """Springs, dampers and friction of the coordinates of one world, `(nv)`, or of many, `(worlds, nv)`."""

    damping: Array
    stiffness: Array
    rest: Array
    friction: Array

    def of(self, number: int) -> JointValues:
        """The values of one of many worlds."""
        every = (self.damping, self.stiffness, self.rest, self.friction)
        return JointValues(*(values[number] if values.ndim > 1 else values for values in every))


class ControlledActuators(MeasuredSensors, SwitchedEqualities):
    """The controls of the actuators of one world; those of the compiled model are relative to the initial ones."""

    _is_stale: bool

    @cached_property
    def _driving(self) -> dict[int, Actuator]:
        """The actuators by MuJoCo's numbers."""
        known = actuator_numbers(self.compiled.model) if self.compiled.world.actuators else {}
        return {known[element_name(one)]: one for one, _, _ in actuator_targets(self.compiled.layout)}

    @property
    def driving_actuators(self) -> list[Actuator]:
        """The actuators that drive a joint or tendon, in the order of their controls."""
        return list(self._driving.values())

    @property
    def actuator_names(self) -> list[str]:
        """The names of the actuators that drive a joint or tendon, in the order of their controls."""
        return [one.name for one in self._driving.values()]

    @property
    def actuator_controls(self) -> Array:
        """The controls of actuators, within their ranges, until they are changed."""
        return self.controls_of(self.data.ctrl)

    @actuator_controls.setter
    def actuator_controls(self, values: Array) -> None:
        self.set_controls(self.data.ctrl, values)
        self._is_stale = True

    def controls_of(self, ctrl: Array) -> Array:
        """The controls of actuators, `(..., actuators)`, from MuJoCo's own of one world or of many, `(..., nu)`."""
        return ctrl[..., self._control_places] + self._initial_controls

    def set_controls(self, ctrl: Array, values: Array) -> None:
        """Set MuJoCo's own controls, `(..., nu)`, for those of actuators, which are kept within their ranges."""
        low, high = self._control_ranges.T
        ctrl[..., self._control_places] = np.clip(values, low, high) - self._initial_controls

    def set_controls_within_ranges(self, ctrl: Array, values: Array) -> None:
        """`set_controls` for values that are within their ranges."""
        ctrl[..., self._control_places] = values - self._initial_controls
        self._is_stale = True

    @cached_property
    def _control_places(self) -> Indices:
        numbers = np.array(list(self._driving), dtype=np.intp)
        return first_controls(self.compiled.model)[numbers]

    @cached_property
    def _initial_controls(self) -> Array:
        """The controls at which MuJoCo's own are zero."""
        stated = [0.0 if one.activation is not None else one.clipped(one.control) for one in self._driving.values()]
        return np.array(stated, dtype=np.float64)

    @cached_property
    def _active(self) -> list[tuple[int, int, Actuator]]:
        """The places of the controls and activations of actuators with activations, in MuJoCo's data."""
        if not any(one.activation is not None for one in self.compiled.world.actuators):
            return []
        first, model = first_controls(self.compiled.model), self.compiled.model
        rows = ((number, one) for number, one in self._driving.items() if one.activation is not None)
        return [(int(first[number]), int(model.actuator_actadr[number]), one) for number, one in rows]

    def begin_activations(self, ctrl: Array, act: Array) -> None:
        """Set the initial controls and activations of one world or of many: others are zero after a reset."""
        for control, place, one in self._active:
            ctrl[..., control] = one.clipped(one.control)
            act[..., place] = 0.0 if one.activation is None else one.activation.initial

    @property
    def actuator_inputs(self) -> Array:
        """What the forces of actuators depend on: their controls, or their activations."""
        out = self.actuator_controls.copy()
        names = {one.name: number for number, one in enumerate(self._driving.values())}
        for _, place, one in self._active:
            out[names[one.name]] = self.data.act[place]
        return out

    @cached_property
    def _control_ranges(self) -> Array:
        ranges = [one.control_range for one in self._driving.values()]
        return np.array(ranges, dtype=np.float64).reshape(-1, 2)


class ServoForces:
    """Computes the forces of actuators, and what they add to springs and dampers; arrays have one row per actuator."""

    def __init__(self, compiled: CompiledWorld) -> None:
        model: Any = compiled.model
        rows = list(actuator_joints(compiled.layout))
        known = actuator_numbers(model) if rows else {}
        numbers = [known[element_name(actuator)] for actuator, _, _ in rows]
        self.numbers: Indices = np.array(numbers, dtype=np.intp)
        """MuJoCo's numbers of the actuators."""
        self._controls: Indices = first_controls(model)[self.numbers]
        joints = model.actuator_trnid[self.numbers, 0]
        self.dofs: Indices = np.asarray(model.jnt_dofadr[joints], dtype=np.intp)
        self._positions: Indices = np.asarray(model.jnt_qposadr[joints], dtype=np.intp)
        self._gear: Array = model.actuator_gear[first_outputs(model)[self.numbers], 0].copy()
        self._gain: Array = model.actuator_gainprm[self.numbers, 0].copy()
        self._bias: Array = model.actuator_biasprm[self.numbers, :3].copy()
        self._limits = _limits(model.actuator_forcelimited, model.actuator_forcerange, self.numbers)
        self._total_limits = _limits(model.jnt_actfrclimited, model.jnt_actfrcrange, np.arange(model.njnt))
        self._joint_dofs: Indices = np.asarray(model.jnt_dofadr, dtype=np.intp)
        self._count = int(model.nv)
        self._coordinates = compiled.coordinates
        self.has_feedback: Mask = np.zeros(self._count, dtype=bool)
        """Which degrees of freedom have feedback, `(nv)`."""
        self.has_feedback[self.dofs[self._bias[:, 1:].any(axis=1)]] = True

    def apply(self, data: Any, values: JointValues) -> JointValues:
        """Apply the forces to MuJoCo's data; returns springs and dampers with the feedback.

        The springs keep their rest positions, so that the difference is a force.
        """
        if not len(self.numbers):
            return values
        force, stiffness, damping = self.forces(data)
        positions = np.zeros(self._count)
        positions[self._coordinates.qvel] = data.qpos[self._coordinates.qpos]
        data.qfrc_applied += force + stiffness * (positions - values.rest) + damping * data.qvel
        return structs.replace(values, damping=values.damping + damping, stiffness=values.stiffness + stiffness)

    def forces(self, data: Any) -> tuple[Array, Array, Array]:
        """The forces at the present state, and the stiffness and damping with which they change, `(nv)`."""
        lengths, speeds = self._gear * data.qpos[self._positions], self._gear * data.qvel[self.dofs]
        wanted = self._gain * data.ctrl[self._controls] + self._bias[:, 0]
        wanted += self._bias[:, 1] * lengths + self._bias[:, 2] * speeds
        clipped = np.clip(wanted, *self._limits)
        yields = np.where(clipped == wanted, self._gear**2, 0.0)
        force, stiffness, damping = np.zeros((3, self._count))
        np.add.at(force, self.dofs, self._gear * clipped)
        np.add.at(stiffness, self.dofs, -yields * self._bias[:, 1])
        np.add.at(damping, self.dofs, -yields * self._bias[:, 2])
        total = force[self._joint_dofs]
        bounded = np.clip(total, *self._total_limits)
        stopped = self._joint_dofs[bounded != total]
        force[self._joint_dofs], stiffness[stopped], damping[stopped] = bounded, 0.0, 0.0
        return force, stiffness, damping


def _limits(is_limited: Any, ranges: Any, chosen: Indices) -> Array:
    """Lower and upper limits, `(2, n)`."""
    flags = np.asarray(is_limited)[chosen].astype(bool)
    return np.where(flags, np.asarray(ranges)[chosen].T, [[-np.inf], [np.inf]])
