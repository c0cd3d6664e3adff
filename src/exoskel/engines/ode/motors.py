"""Springs, dampers, friction and actuators as motors beside the joints.

A motor is one row of ODE's equations: it brings a joint to a speed v with a force of at most F; a larger CFM makes it
softer.  With unbounded F it is a damper of 1 / CFM; with v = ERP (rest - q) / step it is an implicit spring and damper;
with v = 0 it is Coulomb friction of F.  A joint's own motor and stops keep the values of the source.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.engines.ode.bodies import STATIC
from exoskel.scene.joint import Dof, Joint, erp_cfm_from_spring
from exoskel.spatial import Array

LOCK_ERP = 0.2
"""The share of its error that a locked joint corrects in a step: ODE's default."""
_WORLD, _FIRST, _SECOND = 0, 1, 2
"""ODE's numbers for what the axis of a motor is fixed in."""


class Ends(Struct, frozen=True):
    """The two bodies of a joint by number, the first one never static, and whether the child comes first."""

    first: int
    second: int
    child_first: bool

    @property
    def sign(self) -> float:
        """The factor of the axes."""
        return 1.0 if self.child_first else -1.0

    @property
    def pair(self) -> list[int]:
        return [self.first, self.second]


class MotorRow(Struct, frozen=True):
    """A target speed, the maximum force, and the softness; a spring corrects the share `erp` of `rest - q` a step."""

    velocity: float = 0.0
    max_force: float = inf
    cfm: float = 0.0
    erp: float = 0.0
    rest: float = 0.0


class Motors:
    """Collects the motors of all joints; `step` is the time step in s."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.records: list[dict[str, Any]] = []

    def add(self, joint: Joint, ends: Ends, frame: Array, axes: list[Array], order: list[int], number: int) -> None:
        """Add the motors that drive and resist a joint.

        `frame` is the joint's and `axes` its axes in the world at zero positions; `number` is that of ODE's joint,
        and `order` are the coordinates of its axes.
        """
        rows = [motor_rows(joint, dof, self.step) for dof in joint._dofs or ()]
        if joint._dofs is None and joint.actuator in ("locked", "servo"):
            rows = [motor_rows(joint, Dof(), self.step) for _ in joint.motion]
        if not any(rows) or joint.kind in ("weld", "amotor"):
            return
        for coordinate, own in enumerate(rows):
            for row in own:
                motor = self._motor(joint, ends, frame, axes, coordinate)
                motor["parameters"] = [{"Vel": row.velocity, "FMax": row.max_force, "CFM": row.cfm}]
                if row.erp:
                    if joint.kind in ("ball", "free"):
                        raise ExoskelError(f"ODE has no springs on {joint.kind} joints ({joint.name!r})")
                    motor["spring"] = [number, order.index(coordinate), row.rest, row.erp / self.step]
                self.records.append(motor)

    def _motor(self, joint: Joint, ends: Ends, frame: Array, axes: list[Array], coordinate: int) -> dict[str, Any]:
        other = _WORLD if ends.second == STATIC else _SECOND
        child, parent = (_FIRST, other) if ends.child_first else (other, _FIRST)
        match joint.kind:
            case "prismatic":
                return _record("slider", ends, _WORLD, axes[0])
            case "revolute":
                return _record("amotor", ends, _FIRST, axes[0])
            case "universal" | "hinge2":
                in_child = (coordinate == 0) == joint.swapped
                return _record("amotor", ends, child if in_child else parent, axes[coordinate])
            case "ball":  # its velocities are in the axes of the child
                return _record("amotor", ends, child, frame[:3, coordinate])
            case _:
                return self._free(joint, ends, coordinate)

    def _free(self, joint: Joint, ends: Ends, coordinate: int) -> dict[str, Any]:
        """ODE's linear motors act between centres of mass, along fixed axes."""
        if joint.parent is not None or any(joint.child.com) or any(joint.pose.position):
            raise ExoskelError(
                f"ODE supports damping, friction and actuators on a free joint only for a floating body with the joint "
                f"at its centre of mass; {joint.name!r} is not such a joint"
            )
        axis = joint.pose.matrix()[:3, coordinate % 3]
        return _record("amotor" if coordinate < 3 else "lmotor", ends, _WORLD, axis)


def motor_rows(joint: Joint, dof: Dof, step: float) -> list[MotorRow]:
    """The motors of one coordinate.  Velocity and acceleration actuators keep the initial speed of the joint."""
    match joint.actuator:
        case "locked":
            is_rotation_vector = joint.kind in ("ball", "free")
            return [MotorRow(rest=dof.position, erp=0.0 if is_rotation_vector else LOCK_ERP)]
        case "velocity" | "acceleration":
            return [MotorRow(velocity=dof.velocity)]
        case "servo":
            low, high = dof.force_limits
            rows = [MotorRow(max_force=min(abs(low), abs(high)))]
        case _:
            rows = []
    if dof.stiffness or dof.damping:
        erp, cfm = erp_cfm_from_spring(dof.stiffness, dof.damping, step)
        rows.append(MotorRow(cfm=cfm, erp=erp, rest=dof.rest))
    if dof.friction:
        rows.append(MotorRow(max_force=dof.friction))
    return rows


def _record(kind: str, ends: Ends, frame: int, axis: Array) -> dict[str, Any]:
    return {
        "type": kind,
        "bodies": ends.pair,
        "frame": frame,
        "axes": [(ends.sign * np.asarray(axis)).tolist()],
        "start": [0.0],
    }
