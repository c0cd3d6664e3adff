"""What acts on the coordinates of joints: springs, dampers, limits, motors and actuators."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from msgspec.structs import replace

from exoskel.formats.mjcf.model.motors import PRESCRIBED_ARMATURE, Motor
from exoskel.formats.mjcf.reading.compiled import Compiled
from exoskel.formats.mjcf.reading.generated_parts import GeneratedParts
from exoskel.formats.mjcf.reading.joint_chains import vector
from exoskel.formats.mjcf.reading.models import DOCUMENT, FoundParts, Owner
from exoskel.formats.mjcf.reading.names import within
from exoskel.formats.mjcf.reading.option_flags import switched_off
from exoskel.scene.item import qualified_name, unique_name
from exoskel.scene.joint import UNLIMITED, Dof, Drive, Interval, Joint

_FAR = 1e10
"""A limit from which on it is none: what the writer puts for infinity."""
_AFFINE, _FIXED, _STATELESS, _AT_JOINT = 1, 0, 0, (0, 1)
"""Of mjtBias, mjtGain, mjtDyn and mjtTrn."""


class ActuatorReader:
    """Gives joints their dynamics."""

    def __init__(
        self, compiled: Compiled, helpers: GeneratedParts, found: FoundParts, report: Callable[..., None]
    ) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.helpers = helpers
        self.found = found
        self.report = report
        self.off = switched_off(compiled)
        self._pushed: set[int] = set()
        """The ids of coordinates that have a motor."""

    def read(self) -> None:
        for number, owner in self.found.owners.items():
            self._passive(number, owner)
        for _, joint, segment in self.found.segments:
            motors = {i: self.helpers.motors[n] for i, n in enumerate(segment.coordinates) if n in self.helpers.motors}
            if motors:
                _drive(joint, motors)
        for number in range(self.model.nu):
            if number not in self.helpers.actuators and "actuation" not in self.off:
                self._actuator(number)
        for number in np.flatnonzero(self.model.jnt_actfrclimited).tolist():
            self._bound(number)
        for name, actuators in self.helpers.angular.items():
            self._amotor(name, actuators)
        for number in range(self.model.ntendon):
            if number not in self.helpers.tendons:
                named = self.compiled.tendons.name(number)
                name = f" '{named}'" if named else ""
                self.report("MJ202", self.compiled.tendons.node(number), tag="tendon", name=name, what="tendons")

    # --- passive --------------------------------------------------------------------------------------

    def _passive(self, number: int, owner: Owner) -> None:
        model, kind = self.model, self.compiled.types[number]
        width = {"free": 6, "ball": 3}.get(kind, 1)
        address, position = int(model.jnt_dofadr[number]), int(model.jnt_qposadr[number])
        rows = owner.joint.dofs[owner.first : owner.first + width]
        # A free joint counts translations first there, and rotations first here.
        order = (3, 4, 5, 0, 1, 2) if kind == "free" else range(width)
        for dof, i in zip(rows, order, strict=True):
            dof.damping = 0.0 if "damper" in self.off else float(model.dof_damping[address + i])
            dof.friction = 0.0 if "frictionloss" in self.off else float(model.dof_frictionloss[address + i])
            dof.stiffness = 0.0 if "spring" in self.off else float(model.jnt_stiffness[number])
        if width == 1 and rows[0].stiffness:
            rows[0].rest = float(model.qpos_spring[position] - model.qpos0[position])
        self._limits(number, kind, rows, float(model.qpos0[position]))
        self._armature(number, owner.joint, address, width)
        node = self.compiled.joints.node(number)
        for what, flag, values in (
            ("damping", "damper", model.dof_dampingpoly[address]),
            ("stiffness", "spring", model.jnt_stiffnesspoly[number]),
        ):
            if np.any(values) and flag not in self.off:
                self.report("MJ303", node, attribute=what, what=what, joint=owner.joint.name)

    def _limits(self, number: int, kind: str, rows: list[Dof], reference: float) -> None:
        if not self.model.jnt_limited[number] or "limit" in self.off:
            return
        low, high = self.model.jnt_range[number].tolist()
        if kind == "ball":
            self.report(
                "MJ304", self.compiled.joints.node(number), attribute="range", joint=self.compiled.joints.name(number)
            )
            low, reference = -high, 0.0
        for dof in rows:
            dof.position_limits = (
                -inf if low <= -_FAR else low - reference,
                inf if high >= _FAR else high - reference,
            )

    def _armature(self, number: int, joint: Joint, address: int, width: int) -> None:
        value = float(self.model.dof_armature[address])
        if value >= 0.5 * PRESCRIBED_ARMATURE:
            # What no force moves goes on as it is: at an acceleration of zero, or not at all.
            moves = self.compiled.start[1][address : address + width].any()
            joint.actuator = "acceleration" if moves or joint.actuator == "acceleration" else "locked"
        elif value:
            self.report("MJ302", self.compiled.joints.node(number), attribute="armature", joint=joint.name, value=value)

    # --- actuators ------------------------------------------------------------------------------------

    def _actuator(self, number: int) -> None:
        model = self.model
        owner = self.found.owners.get(int(model.actuator_trnid[number, 0]))
        reason = ""
        if int(model.actuator_trntype[number]) not in _AT_JOINT or owner is None:
            reason = "it does not act on a joint"
        elif self.compiled.types[int(model.actuator_trnid[number, 0])] in ("ball", "free"):
            reason = "it acts on a joint with several coordinates"
        elif int(model.actuator_dyntype[number]) != _STATELESS or int(model.actuator_gaintype[number]) != _FIXED:
            reason = "it has activation dynamics or a variable gain"
        elif int(model.actuator_biastype[number]) > _AFFINE:
            reason = "its bias is not linear"
        if reason or owner is None:
            self._leave(number, reason)
        elif int(model.actuator_biastype[number]) == _AFFINE:
            self._feedback(number, owner)
        else:
            self._force(number, owner)

    def _leave(self, number: int, reason: str) -> None:
        parts = self.compiled.actuators
        self.report("MJ402", parts.node(number), actuator=parts.quoted(number), reason=reason)

    def _force(self, number: int, owner: Owner) -> None:
        """A motor: what it can do at most are the limits of the coordinate's force."""
        model = self.model
        gear = float(model.actuator_gear[number, 0])
        gain = gear * float(model.actuator_gainprm[number, 0])
        dof = owner.joint.dofs[owner.first]
        bounds: Interval = (-inf, inf)
        if model.actuator_ctrllimited[number] and "clampctrl" not in self.off:
            bounds = _within(bounds, gain * model.actuator_ctrlrange[number])
        if model.actuator_forcelimited[number]:
            bounds = _within(bounds, gear * model.actuator_forcerange[number])
        if bounds == UNLIMITED:
            parts = self.compiled.actuators
            self.report("MJ402.boundless", parts.node(number), actuator=parts.quoted(number))
        # Several motors of one coordinate push together.
        before = dof.force_limits if id(dof) in self._pushed else (0.0, 0.0)
        dof.force_limits = (before[0] + bounds[0], before[1] + bounds[1])
        self._pushed.add(id(dof))
        control = float(self.compiled.controls[number])
        if control:
            dof.force += gain * control
            self._tell(number, "a force in the first step", control)

    def _bound(self, number: int) -> None:
        """All motors of a hinge or slide together have bounds."""
        owner = self.found.owners.get(number)
        if owner is not None and self.compiled.types[number] in ("hinge", "slide"):
            dof = owner.joint.dofs[owner.first]
            dof.force_limits = _within(dof.force_limits, self.model.jnt_actfrcrange[number])

    def _feedback(self, number: int, owner: Owner) -> None:
        """With a control that stays as it is, linear feedback is a spring and a damper."""
        model = self.model
        gear, gain = float(model.actuator_gear[number, 0]), float(model.actuator_gainprm[number, 0])
        steady, stiffness, damping = (model.actuator_biasprm[number, :3] * (gear, -gear * gear, -gear * gear)).tolist()
        control = float(self.compiled.controls[number])
        force = steady + gear * gain * control
        joint = int(model.actuator_trnid[number, 0])
        force -= stiffness * float(model.qpos0[model.jnt_qposadr[joint]])
        if stiffness < 0.0 or damping < 0.0 or (force and not stiffness):
            self._leave(number, "its feedback is not a spring and damper")
            return
        dof = owner.joint.dofs[owner.first]
        dof.damping += damping
        if stiffness:
            both = dof.stiffness + stiffness
            dof.rest = (dof.stiffness * dof.rest + force) / both
            dof.stiffness = both
        self._tell(number, "a spring and damper", control)
        if model.actuator_forcelimited[number] or model.actuator_ctrllimited[number]:
            parts = self.compiled.actuators
            self.report("MJ401.bounds", parts.node(number), actuator=parts.quoted(number))

    def _tell(self, number: int, what: str, control: float) -> None:
        parts = self.compiled.actuators
        self.report("MJ401", parts.node(number), actuator=parts.quoted(number), what=what, control=control)

    def _amotor(self, name: str, actuators: list[int]) -> None:
        """Torques about axes of the world, as the writer makes them, as one angular motor."""
        model = self.model
        site, reference = (int(model.actuator_trnid[actuators[0], i]) for i in (0, 1))
        body, holder = int(model.site_bodyid[site]), int(model.site_bodyid[reference])
        back = self.compiled.zero[body][:3, :3].T
        home = self.found.models[body]
        axes = [vector(back @ model.actuator_gear[number, 3:6]) for number in actuators]
        drives = [
            Drive(
                velocity=-float(model.actuator_biasprm[number, 0] / model.actuator_biasprm[number, 2]),
                max_force=float(model.actuator_forcerange[number, 1]),
            )
            for number in actuators
        ]
        spare = [axis for axis in np.eye(3) if len(axes) < 3]
        while len(axes) < 3:
            axes.append(vector(spare.pop(0)))
        home.joints.append(
            Joint(
                name=unique_name(within(name, qualified_name(home.name)), {joint.name for joint in home.joints}),
                kind="amotor",
                child=self.found.bodies[body],
                parent=self.found.bodies.get(holder) if holder else None,
                axes=tuple(axes),
                drives=tuple(drives),
                loop=True,
                document=DOCUMENT,
                node=self.compiled.actuators.node(actuators[0]),
            )
        )


def _drive(joint: Joint, motors: dict[int, Motor]) -> None:
    """A servo, if all coordinates are driven and none towards a speed; else ODE's motors."""
    if len(motors) == len(joint.motion) and not any(motor.velocity for motor in motors.values()):
        joint.actuator = "servo"
        for place, motor in motors.items():
            joint.dofs[place].force_limits = motor.force
        return
    own = list(joint.drives) or [Drive()] * len(joint.motion)
    for place, motor in motors.items():
        own[place] = replace(own[place], velocity=motor.velocity, max_force=motor.force[1])
    joint.drives = tuple(own)


def _within(bounds: Interval, other: Any) -> Interval:
    low, high = sorted(float(value) for value in other)
    return (max(bounds[0], low), min(bounds[1], high))
