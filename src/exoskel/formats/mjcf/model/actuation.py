"""What commands do in MuJoCo: forces, speeds of flywheels, speeds and accelerations of prescribed joints.

A command is one number per coordinate, in state order, as in the SKEL reference: a force for `force` actuators
(clipped to the force limits), a velocity for `servo` (tracked within the force limits), ODE's motors and
`velocity`, an acceleration for `acceleration`; `passive` and `locked` joints take none.  Velocities and accelerations
are clipped to their limits, too.  Forces and accelerations that the file states are not, as in DART.

In files, servos of ball and free joints are a `velocity` actuator for each axis, with the target speed as control.  The
dry friction of flywheels (see `joints`) acts along single coordinates.  About three axes, feedback tracks the speed
with bounded force.  Its gain is the largest that cannot overshoot within one time step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.mjcf.model.coordinates import Coordinates, LateCoordinates
from exoskel.formats.mjcf.model.inertials import Inertials
from exoskel.formats.mjcf.model.joints import (
    PRESCRIBED_ARMATURE,
    Motor,
    MujocoJoint,
    flywheel_name,
    motor_force_range,
    motors_of,
    motors_of_chain,
    needs_duplicate,
)
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.edit_tracking import CLOCK, no_edits
from exoskel.scene.joint import TRAITS, UNLIMITED, Dof, Interval, Joint
from exoskel.scene.lowering.actuators import lower_actuators
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.spatial import Array, Mask

ModelFields = Callable[[str], Array]
"""The writable arrays of a compiled model by name: of one world, or of many with these as the first axis."""
_SITE_TRANSMISSION = 4
"""MuJoCo's number for actuators that act at a site."""


class StatedActuators:
    """What a scene states about the actuators of its coordinates: masks of their kinds, limits, and first values."""

    def __init__(self, layout: WorldLayout) -> None:
        count = layout.dof_count
        is_plain = not layout.world.actuators and all(joint.is_plain for _, joint in layout.other_joints)
        has_static = True in [model.static for model in layout.world.models]
        actuators = _actuators(layout) if not is_plain or has_static else []
        self.force, self.velocity, self.acceleration, self.locked = _masks(actuators, count)
        self.first_forces, self.first_accelerations, low, high = np.zeros((4, count))
        low.fill(-np.inf)
        high.fill(np.inf)
        self.command_limits = low, high
        if not is_plain:
            self._set_values(layout, actuators)

    def _set_values(self, layout: WorldLayout, actuators: list[str]) -> None:
        low, high = self.command_limits
        stated = _stated_dofs(layout.world)
        lowered = lower_actuators(layout.world)  # motors limit commands, too
        for number, dof in stated if lowered.world is layout.world else _stated_dofs(lowered.world):
            limits = dof.force_limits if actuators[number] == "force" else _command_limits(actuators[number], dof)
            if limits is UNLIMITED or limits == UNLIMITED:
                continue
            low[number], high[number] = limits
            if id(dof) in lowered.originals:  # without a command, only the actuators act
                low[number], high[number] = min(low[number], 0.0), max(high[number], 0.0)
        first = [(number, dof) for number, dof in stated if dof.force or dof.acceleration]
        for number, dof in first:
            self.first_forces[number], self.first_accelerations[number] = dof.force, dof.acceleration
        if first:
            self.first_forces *= self.force
            self.first_accelerations *= self.acceleration


class Actuation:
    """The kind of actuator of each coordinate, as masks, and the initial commands.

    `first_forces` and `first_accelerations` act during the first step only, as in DART; so do the initial velocities
    of `velocity` actuators.  Arrays may have any leading shape, for many worlds at once.  What the scene states is
    read when it is first needed, or before a scene is edited.
    """

    def __init__(self, layout: WorldLayout, model: Any, coordinates: LateCoordinates) -> None:
        self._layout = layout
        self._late = coordinates
        CLOCK.notify_before_edit(self)
        self.accelerates = any(
            joint.actuator == "acceleration" and joint.dof_count and not model.static
            for model, joint in layout.other_joints
        )
        """Whether a coordinate has an acceleration actuator."""
        self.initial = np.zeros(layout.dof_count)
        self.flywheels: list[tuple[int, int]] = []
        """Of each commanded motor: its coordinate, and MuJoCo's degree of freedom of its flywheel."""
        self.constant_speeds: list[tuple[int, float]] = []
        """Flywheels of joints that close loops: their degree of freedom, and the speed that the file states."""
        if layout.has_motors:
            self._find_flywheels(model, layout)
        self.armature = np.asarray(model.dof_armature, dtype=np.float64).copy()
        self._bias: Array = model.actuator_biasprm.copy()

    @property
    def coordinates(self) -> Coordinates:
        return self._late.coordinates

    @cached_property
    def _stated(self) -> StatedActuators:
        found = StatedActuators(self._layout)
        for number, _ in self.flywheels:  # their commands are speeds
            found.force[number] = False
        return found

    def read_scene(self) -> None:
        """Read the scene, which may change afterwards."""
        with no_edits():
            self._stated  # noqa: B018 - they are read once

    @property
    def force(self) -> Mask:
        return self._stated.force

    @property
    def velocity(self) -> Mask:
        return self._stated.velocity

    @property
    def acceleration(self) -> Mask:
        return self._stated.acceleration

    @property
    def locked(self) -> Mask:
        return self._stated.locked

    @property
    def first_forces(self) -> Array:
        return self._stated.first_forces

    @property
    def first_accelerations(self) -> Array:
        return self._stated.first_accelerations

    @property
    def command_limits(self) -> tuple[Array, Array]:
        """The lowest and the highest command of each coordinate."""
        return self._stated.command_limits

    @property
    def first_step_differs(self) -> bool:
        """Whether something acts in the first step alone, or is set right after it."""
        acts = self.first_forces.any() or self.first_accelerations.any()
        moves = self.velocity.any() or self.acceleration.any() or self.flywheels or self.constant_speeds
        return bool(acts or moves)

    def _find_flywheels(self, model: Any, layout: WorldLayout) -> None:
        first = 0
        for one in layout.world.models:
            for joint in one.joints if not one.static else ():
                has_motors = joint.drives or joint.actuator == "servo"
                for name, motor in joints_with_motors(layout, one, joint) if has_motors else ():
                    address = int(model.joint(flywheel_name(name)).dofadr[0])
                    if joint.loop:  # no coordinate of the scene, so no command changes its speed
                        self.constant_speeds.append((address, motor.velocity))
                        continue
                    number = first + motor.coordinate
                    self.initial[number] = motor.velocity
                    self.flywheels.append((number, address))
                first += joint.dof_count
            first += one.dof_count if one.static else 0

    def set_motor_gains(self, model: Any, fields: ModelFields) -> None:
        """Let angular motors remove a difference in speed within one step, for the inertia that they move.

        MJCF states gains for one body alone; connected bodies add to its inertia.  Twice the gain would oscillate.
        """
        if not model.nu:
            return
        at_sites = np.flatnonzero(np.asarray(model.actuator_trntype) == _SITE_TRANSMISSION)
        if not len(at_sites):
            return
        speed = -self._bias[at_sites, 0] / self._bias[at_sites, 2]
        gain = 1.0 / (model.opt.timestep * fields("actuator_acc0")[..., at_sites])
        gain = np.maximum(gain, -self._bias[at_sites, 2])
        target = fields("actuator_biasprm")
        target[..., at_sites, 0], target[..., at_sites, 2] = gain * speed, -gain

    def clipped(self, commands: Array) -> Array:
        """Commands within the limits of force, velocity or acceleration, as in DART."""
        low, high = self.command_limits
        within: Array = np.minimum(np.maximum(commands, low), high)  # `clip` takes longer
        return within

    def commanded_forces(self, commands: Array) -> Array:
        """The generalised forces among clipped commands."""
        return np.where(self.force, commands, 0.0)

    def applied_forces(self, qpos: Array, forces: Array, commands: Array) -> Array:
        """MuJoCo's generalised forces for external forces and clipped commands."""
        out = self.coordinates.forces(qpos, forces + self.commanded_forces(commands))
        if self.acceleration.any():
            wanted = np.zeros_like(out)
            self.coordinates.set_velocities(np.where(self.acceleration, commands, 0.0), qpos, wanted)
            out += self.armature * wanted
        return out

    def set_speeds(self, qpos: Array, qvel: Array, commands: Array, velocities: bool = True) -> None:
        """Set the speeds of flywheels and, if `velocities`, of joints with a velocity actuator to clipped commands."""
        for address, speed in self.constant_speeds:
            qvel[..., address] = speed
        for number, address in self.flywheels:
            qvel[..., address] = commands[..., number]
        if velocities and self.velocity.any():
            current = self.coordinates.velocities(qpos, qvel)
            self.coordinates.set_velocities(np.where(self.velocity, commands, current), qpos, qvel)


def _command_limits(actuator: str, dof: Dof) -> Interval:
    """What DART clips a command to."""
    if actuator in ("velocity", "servo"):
        return dof.velocity_limits
    return dof.acceleration_limits if actuator == "acceleration" else dof.force_limits


def _actuators(layout: WorldLayout) -> list[str]:
    """The actuator of each coordinate; static models have none."""
    names: list[str] = []
    for model, joint in layout.joints:
        names += ["" if model.static else joint.actuator] * len(TRAITS[joint.kind].motion)
    return names


def _masks(actuators: list[str], count: int) -> Iterator[Mask]:
    """The coordinates with a force, velocity, acceleration or locked actuator; without a list, all have forces."""
    masks = np.zeros((len(_MASKED), count), dtype=np.bool_)
    if not actuators:
        masks[0] = True
        return iter(masks)
    used = set(actuators)
    for kind, mask in zip(_MASKED, masks, strict=True):
        if kind in used:
            mask[:] = True if len(used) == 1 else [actuator == kind for actuator in actuators]
    return iter(masks)


_MASKED = ("force", "velocity", "acceleration", "locked")


def _stated_dofs(world: World) -> list[tuple[int, Dof]]:
    """The coordinates for which the scene states values, by number."""
    found: list[tuple[int, Dof]] = []
    first = 0
    for joint in world.joints():
        count = joint.dof_count
        if joint._dofs is not None:
            found += enumerate(joint._dofs[:count], first)
        first += count
    return found


def joints_with_motors(layout: WorldLayout, model: Model, joint: Joint) -> Iterator[tuple[str, Motor]]:
    """The names of a joint's MuJoCo joints that a motor drives, with the motors."""
    if not motors_of(joint) or (joint.loop and not needs_duplicate(joint)):
        return
    chain, names = layout.chain(model, joint)
    for name, motor in zip(names, motors_of_chain(joint, chain), strict=True):
        if motor is not None:
            yield name, motor


def is_prescribed(armature: Array) -> Mask:
    """Which of MuJoCo's degrees of freedom move regardless of forces."""
    return np.asarray(armature >= 0.5 * PRESCRIBED_ARMATURE)


_GAIN_DIGITS = 6
"""Digits of gains: they are computed, and need not be exact."""


class ServoAxis(Struct, frozen=True):
    """One axis of a servo: the motor of its coordinate, MuJoCo's `gear`, and the force per difference in speed.

    The axis of rotation is fixed in the parent if `in_parent`, otherwise in the child.
    """

    motor: Motor
    gear: tuple[float, ...]
    gain: float
    in_parent: bool


def is_servo_link(joint: Joint, link: MujocoJoint) -> bool:
    """Whether a MuJoCo joint of a joint is driven about or along several axes."""
    return joint.actuator == "servo" and joint.kind in ("ball", "free") and link.type in ("ball", "free")


def servo_axes(layout: WorldLayout, joint: Joint, link: MujocoJoint, step: float) -> Iterator[ServoAxis]:
    """The axes of the servo of a ball or free joint, in the order of its coordinates."""
    frame, zero = joint.pose.matrix(), layout.zero_poses_in_parent.get(id(joint.child), np.eye(4))
    angular_gain, linear_gain = _gains(layout.inertials, joint, step)
    in_parent = joint.kind == "free"
    # MuJoCo's parent frame of a ball is that of its child at zero positions, and the world for a free joint.
    inner = zero[:3, :3].T if in_parent and link.type == "ball" else np.eye(3)
    for motor in motors_of(joint):
        if motor.coordinate not in link.coordinates:
            continue
        axis = frame[:3, motor.coordinate % 3]
        if motor.coordinate >= 3:
            push, torque, gain = axis, np.cross(frame[:3, 3], axis), linear_gain
        else:
            push, torque, gain = np.zeros(3), inner @ axis, angular_gain
        gear = np.concatenate([push, torque]) if link.type == "free" else torque
        yield ServoAxis(motor, tuple(spatial.without_noise(gear).tolist()), gain, in_parent)


def _gains(inertials: Inertials, joint: Joint, step: float) -> tuple[float, float]:
    """The gains of rotations (N·m·s/rad) and translations (N·s/m).

    Joints to other bodies only make the two bodies harder to move.  So the sum of their mobilities bounds what one
    step of feedback changes.
    """
    angular_mobility = sum(1.0 / inertials.min_moment(body) for body in (joint.child, joint.parent) if body is not None)
    # The force acts at the joint: at this distance from the centre of mass, or less.
    lever = _length(joint.pose.position) + _length(joint.child.com)
    linear_mobility = 1.0 / inertials.mass(joint.child) + lever**2 * angular_mobility
    share = 0.5 if lever else 1.0
    return _rounded(share / (step * angular_mobility)), _rounded(share / (step * linear_mobility))


def _length(vector: tuple[float, float, float]) -> float:
    return float(np.linalg.norm(vector))


def _rounded(gain: float) -> float:
    return float(f"{gain:.{_GAIN_DIGITS}g}")


# --- elements ------------------------------------------------------------------------------------------


SERVO = "/servo/"
"""Between the name of a MuJoCo joint and the coordinate, in the names of actuators."""


def add_servo(layout: WorldLayout, model: Model, joint: Joint, step: float, root: MjcfElement) -> None:
    """Add the actuators of the servo of a ball or free joint; other joints have none."""
    for link, name in zip(*layout.chain(model, joint), strict=True):
        if is_servo_link(joint, link):
            for axis in servo_axes(layout, joint, link, step):
                _add_axis(axis, name, root.child("actuator")).item = joint


def _add_axis(axis: ServoAxis, joint_name: str, actuator: MjcfElement) -> MjcfElement:
    low, high = motor_force_range(axis.motor)
    reference = "jointinparent" if axis.in_parent else "joint"
    name = f"{joint_name}{SERVO}{axis.motor.coordinate}"
    given: dict[str, Value] = {"name": name, reference: joint_name, "gear": axis.gear}
    if low == high:  # a constant force; MuJoCo rejects a range of one value
        given |= {"gainprm": (0.0, 0.0, 0.0), "biastype": "affine", "biasprm": (low, 0.0, 0.0)}
        return actuator.add("general", **given)
    given["kv"] = axis.gain
    if axis.motor.force != UNLIMITED:
        given |= {"forcelimited": True, "forcerange": (low, high)}
    return actuator.add("velocity", **given)
