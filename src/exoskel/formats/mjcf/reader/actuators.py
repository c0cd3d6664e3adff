"""Read the dynamics of joints: springs, dampers, limits, motors and actuators."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf, isfinite
from typing import Any

import numpy as np
from msgspec.structs import replace

from exoskel.formats.mjcf.controls import actuator_count
from exoskel.formats.mjcf.model.joints import PRESCRIBED_ARMATURE, UNLIMITED_RANGE, Motor, force_motor_name
from exoskel.formats.mjcf.names import plain_name
from exoskel.formats.mjcf.reader.compiled import Compiled, disabled_flags
from exoskel.formats.mjcf.reader.generated_parts import GeneratedParts, servo_motors, strip_model
from exoskel.formats.mjcf.reader.joint_chains import Segment
from exoskel.formats.mjcf.reader.keyframe_lists import key_elements
from exoskel.formats.mjcf.reader.models import DOCUMENT, FoundParts, Owner
from exoskel.formats.mjcf.reader.tendons import TendonReader
from exoskel.scene.actuator import Activation, ActivationKind, Actuator
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.joint import UNLIMITED, Dof, Drive, Interval, Joint
from exoskel.scene.pose import vector_from_array
from exoskel.scene.world import World

_AFFINE, _FIXED, _STATELESS, _AT_JOINT, _AT_TENDON = 1, 0, 0, (0, 1), 3
"""Values of mjtBias and mjtGain, of mjtDyn, and of mjtTrn."""
_ACTIVATIONS: dict[int, ActivationKind] = {1: "integrator", 2: "filter", 3: "exact_filter"}
"""Kinds of activation, by the values of mjtDyn."""
_ONE_COORDINATE = ("hinge", "slide")


class _PassiveForces:
    """Springs, dampers and friction: values by coordinate or joint, none if they are disabled."""

    def __init__(self, model: Any, disabled: Collection[str]) -> None:
        damper, spring, friction = ((flag not in disabled) for flag in ("damper", "spring", "frictionloss"))
        self.damping: list[float] = np.where(damper, model.dof_damping, 0.0).tolist()
        self.friction: list[float] = np.where(friction, model.dof_frictionloss, 0.0).tolist()
        self.stiffness: list[float] = np.where(spring, model.jnt_stiffness, 0.0).tolist()
        self.nonlinear_damping: list[bool] = (model.dof_dampingpoly.any(axis=1) & damper).tolist()
        self.nonlinear_stiffness: list[bool] = (model.jnt_stiffnesspoly.any(axis=1) & spring).tolist()


class ActuatorReader:
    """Sets the dynamics of joints, and the actuators of a world."""

    def __init__(
        self,
        compiled: Compiled,
        generated: GeneratedParts,
        found: FoundParts,
        world: World,
        tendons: TendonReader,
        report: Callable[..., None],
    ) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.generated = generated
        self.found = found
        self.world = world
        self.tendons = tendons
        self.report = report
        self.disabled = disabled_flags(compiled)
        self._passive = _PassiveForces(compiled.model, self.disabled)
        self.unread: list[int] = []
        """The numbers of actuators that are not part of the scene."""
        self.numbers: dict[str, int] = {}
        """The numbers of the actuators of the scene, by name."""
        self._names = Names()

    def read(self) -> None:
        for number, owner in self.found.owners.items():
            self._read_passive(number, owner)
        for _, joint, segment in self.found.segments:
            motors = self._motors(segment)
            if motors:
                _set_drives(joint, motors)
        for number in range(actuator_count(self.model)):
            if number not in self.generated.actuators:
                self._read_actuator(number)
        for number in np.flatnonzero(self.model.jnt_actfrclimited).tolist():
            self._read_joint_force_range(number)
        for name, actuators in self.generated.angular.items():
            self._read_angular_motor(name, actuators)

    def _motors(self, segment: Segment) -> dict[int, Motor]:
        """The motors of a joint, by coordinate."""
        found: dict[int, Motor] = {}
        for number in segment.numbers:
            if number in self.generated.servos and "actuation" not in self.disabled:
                found |= servo_motors(self.compiled, self.generated.servos[number])
            elif number in self.generated.motors:
                found[self.found.owners[number].first] = self.generated.motors[number]
        return found

    # --- passive --------------------------------------------------------------------------------------

    def _read_passive(self, number: int, owner: Owner) -> None:
        model, kind, passive = self.model, self.compiled.types[number], self._passive
        width = {"free": 6, "ball": 3}.get(kind, 1)
        address, position = int(model.jnt_dofadr[number]), int(model.jnt_qposadr[number])
        rows = owner.joint.dofs[owner.first : owner.first + width]
        # MuJoCo orders translations first in a free joint, a scene rotations.
        order = (3, 4, 5, 0, 1, 2) if kind == "free" else range(width)
        for dof, i in zip(rows, order, strict=True):
            dof.damping = passive.damping[address + i]
            dof.friction = passive.friction[address + i]
            dof.stiffness = passive.stiffness[number]
        if width == 1 and rows[0].stiffness:
            rows[0].rest = float(model.qpos_spring[position] - model.qpos0[position])
        self._read_limits(number, kind, rows, float(model.qpos0[position]))
        self._read_armature(owner.joint, rows, [address + i for i in order])
        node = self.compiled.joints.node(number)
        nonlinear = {"damping": passive.nonlinear_damping[address], "stiffness": passive.nonlinear_stiffness[number]}
        for what, is_nonlinear in nonlinear.items():
            if is_nonlinear:
                self.report("MJ303", node, attribute=what, what=what, joint=owner.joint.name)

    def _read_limits(self, number: int, kind: str, rows: list[Dof], reference: float) -> None:
        if not self.model.jnt_limited[number] or "limit" in self.disabled:
            return
        low, high = self.model.jnt_range[number].tolist()
        if kind == "ball":
            self.report(
                "MJ304", self.compiled.joints.node(number), attribute="range", joint=self.compiled.joints.name(number)
            )
            high = max(low, high)  # MuJoCo uses the larger angle; the lower one is 0
            low, reference = -high, 0.0
        for dof in rows:
            dof.position_limits = (
                -inf if low <= -UNLIMITED_RANGE else low - reference,
                inf if high >= UNLIMITED_RANGE else high - reference,
            )

    def _read_armature(self, joint: Joint, rows: list[Dof], addresses: list[int]) -> None:
        values = self.model.dof_armature[addresses].tolist()
        if values[0] >= 0.5 * PRESCRIBED_ARMATURE:
            # A body that no force moves keeps its velocity: zero acceleration, or locked if it is at rest.
            moves = self.compiled.initial_state[1][addresses].any()
            joint.actuator = "acceleration" if moves or joint.actuator == "acceleration" else "locked"
            return
        for dof, value in zip(rows, values, strict=True):
            dof.armature = value

    # --- actuators ------------------------------------------------------------------------------------

    def _read_actuator(self, number: int) -> None:
        model = self.model
        owner, tendon = self._target(number)
        reason = ""
        if self.compiled.control(number) is None:
            reason = "it does not have one control"
        elif owner is None and not tendon:
            reason = "it does not act on a joint or tendon of the scene"
        elif owner is not None and not self._drives_coordinate(number):
            reason = "it acts on a joint with several coordinates"
        elif int(model.actuator_dyntype[number]) not in (_STATELESS, *_ACTIVATIONS):
            reason = "its activation is neither filtered nor integrated"
        elif not self._has_constant_gain(number):
            reason = "its gain is not constant"
        elif int(model.actuator_biastype[number]) > _AFFINE:
            reason = "its bias is not linear"
        if self._is_disabled(number):
            if owner is not None and self._drives_coordinate(number):
                self._read_own_dynamics(number, owner)  # they act all the same
        elif reason:
            self._report_unsupported(number, reason)
        elif owner is not None:
            self._read_own_dynamics(number, owner)
            self._add_actuator(number, owner)
        else:
            offset = self.tendons.offsets[int(model.actuator_trnid[number, 0])]
            self.world.actuators.append(self._actuator(number, tendon, -offset, tendon=tendon))

    def _has_constant_gain(self, number: int) -> bool:
        """Whether the gain depends on nothing: an affine one may have no factors of the length and velocity."""
        kind = int(self.model.actuator_gaintype[number])
        return kind == _FIXED or (kind == _AFFINE and not np.any(self.model.actuator_gainprm[number, 1:3]))

    def partly_read_states(self) -> dict[tuple[int, str], bool]:
        """The lists of keyframes with numbers of actuators that are not read, and whether all of them are.

        Zero is as good as no number.
        """
        model: Any = self.model
        found: dict[tuple[int, str], bool] = {}
        if not (self.unread and model.nkey):
            return found
        slices = {"ctrl": self.compiled.control_slices}
        if getattr(model, "na", 0):
            first, count = np.maximum(model.actuator_actadr, 0), model.actuator_actnum
            slices["act"] = [slice(*ends) for ends in np.column_stack((first, first + count)).tolist()]
        for number, key in enumerate(key_elements(self.compiled.prepared)):
            for name in slices.keys() & key.attributes.keys():
                values = getattr(model, f"key_{name}")[number]
                owners = {one for one, own in enumerate(slices[name]) if values[own].any()}
                if not owners.isdisjoint(self.unread):
                    found[key.node, name] = owners.issubset(self.unread)
        return found

    def _target(self, number: int) -> tuple[Owner | None, str]:
        """The joint that an actuator acts on, or the name of the tendon."""
        target, kind = int(self.model.actuator_trnid[number, 0]), int(self.model.actuator_trntype[number])
        if kind == _AT_TENDON and not self._has_own_dynamics(number):
            return None, self.tendons.names.get(target, "")
        return (self.found.owners.get(target), "") if kind in _AT_JOINT else (None, "")

    def _has_own_dynamics(self, number: int) -> bool:
        """Whether an actuator has damping or armature, which a scene has in joints only."""
        names = ("actuator_armature", "actuator_damping", "actuator_dampingpoly")
        return any(np.any(getattr(self.model, name)[number]) for name in names if hasattr(self.model, name))

    def _drives_coordinate(self, number: int) -> bool:
        """Whether an actuator acts on a hinge or slide."""
        joint = int(self.model.actuator_trnid[number, 0])
        return int(self.model.actuator_trntype[number]) in _AT_JOINT and self.compiled.types[joint] in _ONE_COORDINATE

    def _is_disabled(self, number: int) -> bool:
        """Whether options disable an actuator: all of them, or its group, which is reported."""
        if "actuation" in self.disabled:
            return True
        group = int(self.model.actuator_group[number])
        if group < 0 or not int(self.model.opt.disableactuator) >> group & 1:
            return False
        parts = self.compiled.actuators
        reason = f"the option actuatorgroupdisable disables group {group}"
        self.report("MJ402", parts.node(number), actuator=parts.quoted(number), reason=reason)
        return True

    def _add_actuator(self, number: int, owner: Owner) -> None:
        if self._is_generated_motor(number):
            self._read_generated_motor(number, owner)
        else:
            shift = float(self.model.qpos0[self.model.jnt_qposadr[int(self.model.actuator_trnid[number, 0])]])
            path = qualified_name(owner.model.name, owner.joint.name)
            made = self._actuator(number, owner.joint.name, shift, joint=path, coordinate=owner.first)
            self.world.actuators.append(made)

    def _report_unsupported(self, number: int, reason: str) -> None:
        self.unread.append(number)
        parts = self.compiled.actuators
        self.report("MJ402", parts.node(number), actuator=parts.quoted(number), reason=reason)

    def _read_own_dynamics(self, number: int, owner: Owner) -> None:
        """Add the damping and armature of an actuator to those of its coordinate."""
        model, dof = self.model, owner.joint.dofs[owner.first]
        gear = float(self.compiled.gears[number, 0])
        square = gear * gear  # of very large ones, infinite
        if hasattr(model, "actuator_armature"):
            dof.armature += square * float(model.actuator_armature[number])
        if hasattr(model, "actuator_damping") and "damper" not in self.disabled:
            dof.damping += square * float(model.actuator_damping[number])
            if np.any(model.actuator_dampingpoly[number]):
                node = self.compiled.actuators.node(number)
                self.report("MJ303", node, attribute="damping", what="damping", joint=owner.joint.name)

    def _is_generated_motor(self, number: int) -> bool:
        """Whether a motor was written for the force limits of a coordinate."""
        driven = self.compiled.joints.name(int(self.model.actuator_trnid[number, 0]))
        control = self.compiled.control(number)
        is_plain = not self.model.actuator_biasprm[number, :3].any() and self.model.actuator_ctrllimited[control]
        return self.compiled.actuators.name(number) == force_motor_name(driven) and bool(is_plain)

    def _read_generated_motor(self, number: int, owner: Owner) -> None:
        model, limits = self.model, UNLIMITED
        gear = float(self.compiled.gears[number, 0])
        if "clampctrl" not in self.disabled:
            control_range = model.actuator_ctrlrange[self.compiled.control(number)]
            limits = _within(limits, gear * float(model.actuator_gainprm[number, 0]) * control_range)
        if model.actuator_forcelimited[number]:
            limits = _within(limits, gear * model.actuator_forcerange[number])
        owner.joint.dofs[owner.first].force_limits = limits

    def _actuator(self, number: int, target: str, shift: float, **place: Any) -> Actuator:
        """An actuator of the scene; unnamed ones are named after their targets.

        `shift` is the position or length of the target in the document where it is zero in the scene.
        """
        model = self.model
        gear, gain = float(self.compiled.gears[number, 0]), float(model.actuator_gainprm[number, 0])
        bias = [0.0, 0.0, 0.0]
        if int(model.actuator_biastype[number]) == _AFFINE:
            bias = model.actuator_biasprm[number, :3].tolist()
        # Positions of a scene are relative to the reference pose.
        bias[0] += bias[1] * gear * shift
        given = self.compiled.actuators.name(number)
        name = unique_name(plain_name(given) or target, self._names)
        self._names.add(name)
        self.numbers[name] = number
        control = self.compiled.control(number)
        has_range = model.actuator_ctrllimited[control] and "clampctrl" not in self.disabled
        return Actuator(
            name=name,
            gear=gear,
            control_range=_range(model.actuator_ctrlrange[control]) if has_range else UNLIMITED,
            force_range=_range(model.actuator_forcerange[number]) if model.actuator_forcelimited[number] else UNLIMITED,
            control=float(self.compiled.controls[control]),
            activation=self._activation(number),
            **_gains(gain, *bias),
            **place,
        )

    def _activation(self, number: int) -> Activation | None:
        model = self.model
        kind = _ACTIVATIONS.get(int(model.actuator_dyntype[number]))
        if kind is None:
            return None
        limits = _range(model.actuator_actrange[number]) if model.actuator_actlimited[number] else UNLIMITED
        constant = 1.0 if kind == "integrator" else max(0.0, float(model.actuator_dynprm[number, 0]))
        return Activation(
            kind, constant, limits, self.compiled.activation(number), early=bool(model.actuator_actearly[number])
        )

    def _read_joint_force_range(self, number: int) -> None:
        """Read the bounds on the total force of all motors of a hinge or slide."""
        owner = self.found.owners.get(number)
        if owner is not None and self.compiled.types[number] in ("hinge", "slide"):
            dof = owner.joint.dofs[owner.first]
            dof.force_limits = _within(dof.force_limits, self.model.jnt_actfrcrange[number])

    def _read_angular_motor(self, name: str, actuators: list[int]) -> None:
        """Read the torques about world axes that the writer generates as one angular motor."""
        model = self.model
        site, reference = (int(model.actuator_trnid[actuators[0], i]) for i in (0, 1))
        body, parent = int(model.site_bodyid[site]), int(model.site_bodyid[reference])
        back = self.compiled.zero[body][:3, :3].T
        home = self.found.models[body]
        axes = [vector_from_array(back @ self.compiled.gears[number, 3:6]) for number in actuators]
        drives = [
            Drive(
                velocity=-float(model.actuator_biasprm[number, 0] / model.actuator_biasprm[number, 2]),
                max_force=float(model.actuator_forcerange[number, 1]),
            )
            for number in actuators
        ]
        spare = [axis for axis in np.eye(3) if len(axes) < 3]
        while len(axes) < 3:
            axes.append(vector_from_array(spare.pop(0)))
            drives.append(Drive())
        own_name = strip_model(name, qualified_name(home.name))
        child, base = self.found.bodies[body], self.found.bodies.get(parent) if parent else None
        floating = next((j for j in home.joints if j.child is child and not j.loop and j.kind == "free"), None)
        if floating is not None and floating.name == own_name and floating.parent is base:
            frame = floating.pose.matrix()[:3, :3]
            floating.kind, floating.drives = "amotor", tuple(drives)
            floating.axes = tuple(vector_from_array(frame.T @ axis) for axis in axes)
            return
        home.joints.append(
            Joint(
                name=unique_name(own_name, {joint.name for joint in home.joints}),
                kind="amotor",
                child=child,
                parent=base,
                axes=tuple(axes),
                drives=tuple(drives),
                loop=True,
                document=DOCUMENT,
                node=self.compiled.actuators.node(actuators[0]),
            )
        )


def _set_drives(joint: Joint, motors: dict[int, Motor]) -> None:
    """Set a servo if all coordinates are driven and none has a target velocity; otherwise ODE motors.

    Files of earlier versions drive only the translation of a free joint, and the force of ODE motors is finite.
    """
    is_whole = len(motors) == len(joint.motion) or joint.kind == "free"
    is_whole = is_whole or any(not all(map(isfinite, motor.force)) for motor in motors.values())
    if is_whole and not any(motor.velocity for motor in motors.values()):
        joint.actuator = "servo"
        for place, motor in motors.items():
            joint.dofs[place].force_limits = motor.force
        return
    own = list(joint.drives) or [Drive()] * len(joint.motion)
    for place, motor in motors.items():
        own[place] = replace(own[place], velocity=motor.velocity, max_force=motor.force[1])
    joint.drives = tuple(own)


def _gains(gain: float, constant: float, stiffness: float, damping: float) -> dict[str, Any]:
    """The kind of an actuator and its gains, from MuJoCo's gain and bias."""
    if gain == 1.0 and not (constant or stiffness or damping):
        return {"kind": "motor"}
    if gain > 0.0 and not (constant or stiffness) and damping == -gain:
        return {"kind": "velocity", "gain": gain}
    if gain > 0.0 and not constant and stiffness == -gain and damping <= 0.0:
        return {"kind": "position", "gain": gain, "damping": -damping + 0.0}
    return {"kind": "general", "gain": gain, "bias": (constant, stiffness, damping)}


def _range(limits: Any) -> Interval:
    low, high = limits.tolist()
    return (-inf if low <= -UNLIMITED_RANGE else low, inf if high >= UNLIMITED_RANGE else high)


def _within(bounds: Interval, other: Any) -> Interval:
    low, high = sorted(float(value) for value in other)
    return (max(bounds[0], low), min(bounds[1], high))
