"""Compares the forces of springs, dampers, friction and motors in a world with those of its compiled document.

Coefficients alone do not show about which axes springs and dampers act: forces at random states do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import actuator_numbers, addresses, tendon_names
from exoskel.formats.mjcf.controls import first_controls, first_outputs
from exoskel.formats.mjcf.model.actuation import SERVO, is_servo_link, joints_with_motors
from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.model.driven_joints import actuator_joints, driven_coordinates, element_name
from exoskel.formats.mjcf.model.joints import (
    flywheel_name,
    force_motor_name,
    has_force_motor,
    motor_force_range,
    motors_of,
)
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.names import is_generated
from exoskel.formats.mjcf.reader.combined_model import CombinedModel
from exoskel.scene.actuator import Actuator
from exoskel.scene.joint import DOF_DYNAMICS, PRESCRIBED_ACTUATORS, Interval, Joint
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.spatial import Array, Mask

_STATES = 4
_AT_JOINT = (0, 1)
"""MuJoCo's numbers for actuators that act on a joint, about axes of the child or of the parent."""
_TENDON_FORCES = ("tendon_stiffness", "tendon_stiffnesspoly", "tendon_damping", "tendon_dampingpoly")
_NONLINEAR_FORCES = ("jnt_stiffnesspoly", "dof_dampingpoly")
_RANGE = 1.0
"""Random positions and velocities are up to this, rad or m, and rad/s or m/s."""

_MAX_CONTROL = 1e9
"""MuJoCo ignores all controls if one is above 1e10."""


def compare_forces(world: World, model: object, lost_fields: Mapping[int, frozenset[str]]) -> tuple[float, int]:
    """The largest difference of forces, relative to 1 or the force itself, and the number of omitted joints.

    `lost_fields` are the fields of joints that are written approximately, by the ids of the joints.  A ball or free
    joint with other axes than the scene's is compared with what the document is meant to do: the mean for all
    rotations, and slides along the axes of the joint.
    """
    comparison = _ForceComparison(world, model, lost_fields)
    return comparison.difference(), comparison.left_out


class _ForceMotor(Struct, frozen=True):
    """An actuator with a force as control, within limits, and the degree of freedom that it drives."""

    number: int
    dof: int
    low: float
    high: float


class _SpeedMotor(Struct, frozen=True):
    """The flywheel of a motor that tracks a speed, and the degree of freedom that it drives."""

    wheel: int
    dof: int
    low: float
    high: float


class _DrivenAxis(Struct, frozen=True):
    """An actuator with a speed as control, and the coordinate of the scene that it drives."""

    number: int
    coordinate: int
    low: float
    high: float


class _SceneActuator(Struct, frozen=True):
    """An actuator of the scene, its number, the degree of freedom that it drives, and the limits of the total force."""

    actuator: Actuator
    number: int
    dof: int
    total: Interval


class _ForceState:
    """A state of a model, or of all its parts, and the forces that MuJoCo applies there.

    `passive` are the forces of springs and dampers, `active` those of actuators of joints, both `(nv)`; angular motors,
    which act at sites, are omitted.
    """

    def __init__(self, model: Any, own: Collection[str]) -> None:
        mujoco = mujoco_import.load()
        self.own = own
        """The names of the actuators of the scene."""
        if isinstance(model, CombinedModel):
            self.parts = [(mujoco.MjData(one), one, *numbers) for one, *numbers in model.parts()]
        else:
            self.parts = [(mujoco.MjData(model), model, slice(None), slice(None), slice(None))]
        self.qpos, self.qvel, self.ctrl = model.qpos0.copy(), np.zeros(model.nv), np.zeros(model.nu)
        self.controls = first_controls(model)
        """The places of the controls of actuators."""
        self.passive, self.active = np.zeros((2, model.nv))

    def compute(self) -> None:
        mujoco = mujoco_import.load()
        for data, model, qpos, dofs, actuators in self.parts:
            undo = _silence_preserved_tendons(model)
            data.qpos, data.qvel, data.ctrl = self.qpos[qpos], self.qvel[dofs], self.ctrl[actuators]
            for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_transmission):
                stage(model, data)
            mujoco.mj_fwdVelocity(model, data)
            mujoco.mj_fwdActuation(model, data)
            self.passive[dofs] = data.qfrc_spring + data.qfrc_damper
            self.active[dofs] = _actuator_forces(model, data, self.own)
            undo()


def _silence_preserved_tendons(model: Any) -> Callable[[], None]:
    """Remove the forces of tendons, and the nonlinear ones of joints, that the scene does not contain.

    The result undoes that.
    """
    others = [number for number, name in enumerate(tendon_names(model)) if not is_generated(name)]
    fields: list[tuple[Any, Any]] = [(getattr(model, name), others) for name in _TENDON_FORCES if hasattr(model, name)]
    fields += [(getattr(model, name), ...) for name in _NONLINEAR_FORCES if hasattr(model, name)]
    before = [one[chosen].copy() for one, chosen in fields]
    for one, chosen in fields:
        one[chosen] = 0.0

    def undo() -> None:
        for (one, chosen), values in zip(fields, before, strict=True):
            one[chosen] = values

    return undo


def _actuator_forces(model: Any, data: Any, names: Collection[str]) -> Array:
    """The forces of actuators of joints, `(nv)`, without those that are neither generated nor have one of the names."""
    out = np.zeros(model.nv)
    outputs = first_outputs(model)
    own = {number for name, number in actuator_numbers(model).items() if is_generated(name) or name in names}
    for number in np.flatnonzero(np.isin(model.actuator_trntype, _AT_JOINT)).tolist():
        if number not in own:
            continue
        output = outputs[number]
        first = int(data.moment_rowadr[output])
        row = slice(first, first + int(data.moment_rownnz[output]))
        out[data.moment_colind[row]] += data.actuator_moment[row] * data.actuator_force[output]
    for joint in np.flatnonzero(model.jnt_actfrclimited).tolist():
        dof = int(model.jnt_dofadr[joint])
        out[dof] = np.clip(out[dof], *model.jnt_actfrcrange[joint])
    return out


class _ForceComparison:
    """One world and its MuJoCo model."""

    def __init__(self, world: World, model: Any, lost_fields: Mapping[int, frozenset[str]]) -> None:
        self.model = model
        self.lost_fields = lost_fields
        self.layout = WorldLayout(world)
        self.addresses = addresses(model)
        self.coordinates = Coordinates(self.layout, self.addresses)
        self.actuators = actuator_numbers(model)
        rows = model.rows["tendons"] if isinstance(model, CombinedModel) else None
        names = tendon_names(model) if rows is None else {row.number: row.name for row in rows}
        self.own_tendons = [number for number in range(model.ntendon) if is_generated(names[number])]
        count = self.coordinates.count
        self.damping, self.friction, self.stiffness, self.rest = np.zeros((4, count))
        self.is_compared: Mask = np.zeros(count, dtype=bool)
        self.left_out = 0
        self.force_motors: list[_ForceMotor] = []
        self.speed_motors: list[_SpeedMotor] = []
        self.servo_axes: list[_DrivenAxis] = []
        self.driven = driven_coordinates(world)
        first = 0
        for one in world.models:
            for joint in one.joints:
                if not one.static and not self._is_comparable(joint):
                    self.left_out += _has_forces(joint)
                elif not one.static and joint.actuator not in PRESCRIBED_ACTUATORS:
                    self._add(one, joint, slice(first, first + joint.dof_count))
                first += 0 if joint.loop else joint.dof_count
        self.scene_actuators = self._find_actuators()

    def _find_actuators(self) -> list[_SceneActuator]:
        """The actuators of the scene on coordinates that are compared."""
        found: list[_SceneActuator] = []
        for actuator, joint, name in actuator_joints(self.layout):
            if actuator.activation is not None and actuator.activation.early:  # the force depends on the next step
                continue
            dof = self._address(name)
            if dof in self._compared_dofs() and element_name(actuator) in self.actuators:
                number = self.actuators[element_name(actuator)]
                found.append(_SceneActuator(actuator, number, dof, joint.dofs[actuator.coordinate].force_limits))
        return found

    def _is_comparable(self, joint: Joint) -> bool:
        """Whether the document has what the joint's forces follow from."""
        if joint.loop or joint.kind == "amotor" or any(drive.stop_cfm for drive in joint.drives):
            return False
        lost = self.lost_fields.get(id(joint), frozenset())
        return "" not in lost and "kind" not in lost

    def _add(self, model: Model, joint: Joint, own: slice) -> None:
        self.is_compared[own] = True
        for name in DOF_DYNAMICS if joint._dofs is not None else ():
            getattr(self, name)[own] = [getattr(dof, name) for dof in joint.dofs]
        for name, link in zip(*reversed(self.layout.chain(model, joint)), strict=True):
            for coordinate in link.coordinates if joint._dofs is not None else ():
                dof = joint.dofs[coordinate]
                if has_force_motor(joint, dof) and (id(joint), coordinate) not in self.driven:
                    number = self.actuators[force_motor_name(name)]
                    self.force_motors.append(_ForceMotor(number, self._address(name), *dof.force_limits))
        for name, motor in joints_with_motors(self.layout, model, joint):
            wheel = self._address(flywheel_name(name))
            self.speed_motors.append(_SpeedMotor(wheel, self._address(name), *motor_force_range(motor)))
        for link, name in zip(*self.layout.chain(model, joint), strict=True):
            for motor in motors_of(joint) if is_servo_link(joint, link) else ():
                if motor.coordinate in link.coordinates:
                    number = self.actuators[f"{name}{SERVO}{motor.coordinate}"]
                    self.servo_axes.append(_DrivenAxis(number, own.start + motor.coordinate, *motor.force))

    def _address(self, joint_name: str) -> int:
        return self.addresses.by_name[joint_name][1]

    # --- at random states -----------------------------------------------------------------------------

    def difference(self) -> float:
        acts = self.damping.any() or self.stiffness.any() or self.friction.any()
        if not (acts or self.force_motors or self.speed_motors or self.servo_axes or self.scene_actuators):
            return 0.0
        data = _ForceState(self.model, {element_name(one.actuator) for one in self.scene_actuators})
        rng = np.random.default_rng(0)
        return max(self._difference_at_random_state(data, number, rng) for number in range(_STATES))

    def _difference_at_random_state(self, data: _ForceState, number: int, rng: np.random.Generator) -> float:
        positions, velocities = rng.uniform(-_RANGE, _RANGE, (2, self.coordinates.count))
        self.coordinates.set_positions(positions, data.qpos)
        self.coordinates.set_velocities(velocities, data.qpos, data.qvel)
        driving = self._set_motors(data, number, rng) + self._set_servos(data, velocities, rng)
        driving += self._set_actuators(data, rng)
        data.compute()
        forces = -self.stiffness * (positions - self.rest) - self.damping * velocities
        wanted = self.coordinates.forces(data.qpos, forces - self.friction * np.sign(velocities))
        self._set_approximations(data, wanted)
        passive = data.passive - self.model.dof_frictionloss * np.sign(data.qvel)
        active = data.active + self._motor_friction(data)
        chosen = self._compared_dofs()
        return max(_largest_difference(passive, wanted, chosen), _largest_difference(active, driving, chosen))

    def _set_motors(self, data: _ForceState, number: int, rng: np.random.Generator) -> Array:
        """Set random controls of motors; returns the forces that they have to exert, `(nv)`.

        In the first two states, the controls are beyond the lower and the upper limits.
        """
        out = np.zeros(self.model.nv)
        for force_motor in self.force_motors:
            share = (-1.0, 2.0, *rng.uniform(0.0, 1.0, _STATES))[number]
            low, high = max(force_motor.low, -_MAX_CONTROL), min(force_motor.high, _MAX_CONTROL)
            command = low + share * (high - low)
            data.ctrl[data.controls[force_motor.number]] = command
            out[force_motor.dof] += min(max(command, force_motor.low), force_motor.high)
        for motor in self.speed_motors:
            speed = data.qvel[motor.wheel] = rng.uniform(-_RANGE, _RANGE)
            out[motor.dof] += motor.high if speed > data.qvel[motor.dof] else motor.low
        return out

    def _set_servos(self, data: _ForceState, velocities: Array, rng: np.random.Generator) -> Array:
        """Set random target speeds of ball and free joints; returns the forces that their servos have to exert."""
        forces = np.zeros(self.coordinates.count)
        for axis in self.servo_axes:
            speed = data.ctrl[data.controls[axis.number]] = rng.uniform(-_RANGE, _RANGE)
            gain = float(self.model.actuator_gainprm[axis.number, 0])
            force = gain * (speed - float(velocities[axis.coordinate]))
            forces[axis.coordinate] = min(max(force, axis.low), axis.high)
        return self.coordinates.forces(data.qpos, forces)

    def _set_actuators(self, data: _ForceState, rng: np.random.Generator) -> Array:
        """Set random controls of the actuators of the scene; returns the forces that they have to exert, `(nv)`."""
        out = np.zeros(self.model.nv)
        positions = dict(zip(self.coordinates.qvel.tolist(), self.coordinates.qpos.tolist(), strict=True))
        for one in self.scene_actuators:
            low, high = (float(np.clip(limit, -_RANGE, _RANGE)) for limit in one.actuator.control_range)
            control = rng.uniform(low - _RANGE, high + _RANGE)
            if one.actuator.activation is None:
                data.ctrl[data.controls[one.number]] = control
            else:  # those of new data are zero
                control = 0.0
            out[one.dof] += one.actuator.force(control, float(data.qpos[positions[one.dof]]), float(data.qvel[one.dof]))
        for one in self.scene_actuators:
            out[one.dof] = min(max(out[one.dof], one.total[0]), one.total[1])
        return out

    def _motor_friction(self, data: _ForceState) -> Array:
        """The dry friction between joints and flywheels, `(nv)`."""
        model, out = self.model, np.zeros(self.model.nv)
        wheels = {motor.wheel for motor in self.speed_motors}
        for tendon in self.own_tendons if wheels else ():
            parts = slice(int(model.tendon_adr[tendon]), int(model.tendon_adr[tendon] + model.tendon_num[tendon]))
            dofs, shares = model.jnt_dofadr[model.wrap_objid[parts]], model.wrap_prm[parts]
            speed = float(shares @ data.qvel[dofs])
            out[dofs] -= model.tendon_frictionloss[tendon] * np.sign(speed) * shares
        return out

    def _set_approximations(self, data: _ForceState, wanted: Array) -> None:
        """Replace the forces of ball and free joints that the document has along other axes."""
        for group in self.coordinates.rotational:
            for number, member in enumerate(group.members):
                lost = self.lost_fields.get(id(member.joint), frozenset())
                if group.kind == "free" or lost.isdisjoint(DOF_DYNAMICS):
                    continue
                dofs, scene = group.qvel[number], group.scene[number]
                angles, speeds = np.zeros(3), data.qvel[dofs]
                mujoco_import.load().mju_quat2Vel(angles, data.qpos[group.qpos[number]], 1.0)
                values = [
                    np.concatenate([one[scene[3:]], np.full(3, one[scene[:3]].mean())])
                    for one in (self.stiffness, self.damping, self.friction)
                ]
                offsets = angles
                if group.kind == "inner":
                    slides = data.qpos[group.slides[number]] - self.rest[scene[3:]]
                    offsets = np.concatenate([slides, angles])
                stiffness, damping, friction = values
                wanted[dofs] = -stiffness * offsets - damping * speeds - friction * np.sign(speeds)

    def _compared_dofs(self) -> Array:
        """MuJoCo's degrees of freedom that have a counterpart."""
        single = self.coordinates.qvel[self.is_compared[self.coordinates.scene]]
        groups = [g.qvel[self.is_compared[g.scene[:, 0]]].ravel() for g in self.coordinates.rotational]
        return np.concatenate([single, *groups])


def _has_forces(joint: Joint) -> bool:
    """Whether something acts on the coordinates of a joint."""
    acts = any(dof.damping or dof.stiffness or dof.friction for dof in joint._dofs or ())
    return acts or bool(motors_of(joint)) or any(drive.max_force or drive.stop_cfm for drive in joint.drives)


def _largest_difference(found: Array, wanted: Array, chosen: Array) -> float:
    difference = np.abs(found - wanted) / np.maximum(np.abs(wanted), 1.0)
    return float(difference[chosen].max(initial=0.0))
