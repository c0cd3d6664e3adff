"""Compares the forces of springs, dampers, friction and motors in a world with those of its compiled document.

Coefficients alone do not show about which axes springs and dampers act: forces at random states do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import addresses
from exoskel.formats.mjcf.model.actuation import joints_with_motors
from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.model.motors import (
    flywheel_name,
    force_motor_name,
    has_force_motor,
    motor_force_range,
    motors_of,
)
from exoskel.scene.joint import DOF_DYNAMICS, PRESCRIBED_ACTUATORS, Joint
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.spatial import Array, Mask

_STATES = 4
_RANGE = 1.0
"""Random positions and velocities are up to this, rad or m, and rad/s or m/s."""


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


class _ForceComparison:
    """One world and its MuJoCo model."""

    def __init__(self, world: World, model: Any, lost_fields: Mapping[int, frozenset[str]]) -> None:
        self.model = model
        self.lost_fields = lost_fields
        self.layout = WorldLayout(world)
        self.coordinates = Coordinates(self.layout, addresses(model))
        count = self.coordinates.count
        self.damping, self.friction, self.stiffness, self.rest = np.zeros((4, count))
        self.is_compared: Mask = np.zeros(count, dtype=bool)
        self.left_out = 0
        self.force_motors: list[_ForceMotor] = []
        self.speed_motors: list[_SpeedMotor] = []
        first = 0
        for one in world.models:
            for joint in one.joints:
                if not one.static and not self._is_comparable(joint):
                    self.left_out += _has_forces(joint)
                elif not one.static and joint.actuator not in PRESCRIBED_ACTUATORS:
                    self._add(one, joint, slice(first, first + joint.dof_count))
                first += 0 if joint.loop else joint.dof_count

    def _is_comparable(self, joint: Joint) -> bool:
        """Whether the document has what the joint's forces follow from."""
        if joint.loop or joint.kind == "amotor" or any(drive.stop_cfm for drive in joint.drives):
            return False
        if joint.kind in ("ball", "free") and joint.actuator == "servo":
            return False
        lost = self.lost_fields.get(id(joint), frozenset())
        return "" not in lost and "kind" not in lost

    def _add(self, model: Model, joint: Joint, own: slice) -> None:
        self.is_compared[own] = True
        for name in DOF_DYNAMICS if joint._dofs is not None else ():
            getattr(self, name)[own] = [getattr(dof, name) for dof in joint.dofs]
        for name, link in zip(*reversed(self.layout.chain(model, joint)), strict=True):
            for dof in (joint.dofs[c] for c in link.coordinates if joint._dofs is not None):
                if has_force_motor(joint, dof):
                    number = int(self.model.actuator(force_motor_name(name)).id)
                    self.force_motors.append(_ForceMotor(number, self._address(name), *dof.force_limits))
        for name, motor in joints_with_motors(self.layout, model, joint):
            wheel = self._address(flywheel_name(name))
            self.speed_motors.append(_SpeedMotor(wheel, self._address(name), *motor_force_range(motor)))

    def _address(self, joint_name: str) -> int:
        return int(self.model.joint(joint_name).dofadr[0])

    # --- at random states -----------------------------------------------------------------------------

    def difference(self) -> float:
        acts = self.damping.any() or self.stiffness.any() or self.friction.any()
        if not (acts or self.force_motors or self.speed_motors):
            return 0.0
        data = mujoco_import.load().MjData(self.model)
        rng = np.random.default_rng(0)
        return max(self._difference_at_random_state(data, rng) for _ in range(_STATES))

    def _difference_at_random_state(self, data: Any, rng: np.random.Generator) -> float:
        positions, velocities = rng.uniform(-_RANGE, _RANGE, (2, self.coordinates.count))
        self.coordinates.set_positions(positions, data.qpos)
        self.coordinates.set_velocities(velocities, data.qpos, data.qvel)
        driving = self._set_motors(data, rng)
        self._compute(data)
        forces = -self.stiffness * (positions - self.rest) - self.damping * velocities
        wanted = self.coordinates.forces(data.qpos, forces - self.friction * np.sign(velocities))
        self._set_approximations(data, wanted)
        passive = data.qfrc_spring + data.qfrc_damper - self.model.dof_frictionloss * np.sign(data.qvel)
        active = self._actuator_forces(data) + self._motor_friction(data)
        chosen = self._compared_dofs()
        return max(_largest_difference(passive, wanted, chosen), _largest_difference(active, driving, chosen))

    def _set_motors(self, data: Any, rng: np.random.Generator) -> Array:
        """Set random controls of motors; returns the forces that they have to exert, `(nv)`."""
        out = np.zeros(self.model.nv)
        for force_motor in self.force_motors:
            command = rng.uniform(-_RANGE, _RANGE) * force_motor.high * 2.0
            data.ctrl[force_motor.number] = command
            out[force_motor.dof] += min(max(command, force_motor.low), force_motor.high)
        for motor in self.speed_motors:
            speed = data.qvel[motor.wheel] = rng.uniform(-_RANGE, _RANGE)
            out[motor.dof] += motor.high if speed > data.qvel[motor.dof] else motor.low
        return out

    def _compute(self, data: Any) -> None:
        """Let MuJoCo compute what it applies at the state."""
        mujoco = mujoco_import.load()
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_transmission):
            stage(self.model, data)
        mujoco.mj_fwdVelocity(self.model, data)
        mujoco.mj_fwdActuation(self.model, data)

    def _actuator_forces(self, data: Any) -> Array:
        """The forces of actuators of joints, `(nv)`; angular motors, which act at sites, are omitted."""
        model, out = self.model, np.zeros(self.model.nv)
        at_joints = np.flatnonzero(model.actuator_trntype == mujoco_import.load().mjtTrn.mjTRN_JOINT)
        dofs = model.jnt_dofadr[model.actuator_trnid[at_joints, 0]]
        np.add.at(out, dofs, model.actuator_gear[at_joints, 0] * data.actuator_force[at_joints])
        return out

    def _motor_friction(self, data: Any) -> Array:
        """The dry friction between joints and flywheels, `(nv)`."""
        model, out = self.model, np.zeros(self.model.nv)
        for tendon in range(model.ntendon):
            parts = slice(int(model.tendon_adr[tendon]), int(model.tendon_adr[tendon] + model.tendon_num[tendon]))
            dofs, shares = model.jnt_dofadr[model.wrap_objid[parts]], model.wrap_prm[parts]
            speed = float(shares @ data.qvel[dofs])
            out[dofs] -= model.tendon_frictionloss[tendon] * np.sign(speed) * shares
        return out

    def _set_approximations(self, data: Any, wanted: Array) -> None:
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
