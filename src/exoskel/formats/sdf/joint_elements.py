"""Write joints with their axes, limits and dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from exoskel import spatial
from exoskel.formats.sdf.shape_elements import add_pose
from exoskel.formats.sdf.values import JOINT_KINDS
from exoskel.formats.sdf.vocabulary import DRIVES, DYNAMICS, SDF, SYMMETRIC_LIMITS
from exoskel.scene.joint import DOF_STATES, UNLIMITED, Dof, Drive, Interval, Joint, Mimic
from exoskel.scene.pose import Vector
from exoskel.source.markup import Markup, format_number, format_numbers
from exoskel.source.output_context import OutputContext

TYPES: dict[str, str] = {kind: type for type, kind in reversed(JOINT_KINDS.items())}
"""SDFormat's joint types by joint kind."""

_AXES = ("axis", "axis2")
_DOF_FIELDS = SDF.field_parts(Joint, "dofs")
_DEFAULT_DOF = Dof()


class JointWriter:
    """Writes the joints of one model; `bodies` and `joints` are the names to use."""

    def __init__(self, bodies: dict[int, str], joints: dict[str, str], output: OutputContext) -> None:
        self.bodies = bodies
        self.joints = joints
        self.output = output

    def write(self, joint: Joint, name: str) -> Markup:
        kind = TYPES[joint.kind]
        axes: Sequence[Vector] = joint.axes
        rows: Sequence[Dof] = joint._dofs or ()
        if joint.swapped:
            # In SDF the first axis is fixed in the parent: swap the axes and their coordinates.
            axes, rows = axes[::-1], rows[::-1]
        if any(not any(axis) for axis in axes):
            self._add_loss(joint, "the axis is zero; the joint is written as fixed")
            kind, axes, rows = "fixed", (), ()
        element = Markup("joint", {"name": name, "type": kind}, item=joint)
        element.add("parent", "world" if joint.parent is None else self.bodies[id(joint.parent)])
        element.add("child", self.bodies[id(joint.child)])
        add_pose(element, joint.pose)
        if kind == "screw":
            element.add("screw_thread_pitch", format_number(joint.pitch))
        for index, axis in enumerate(axes):
            dof = rows[index] if index < len(rows) else None
            self._add_axis(element, joint, _AXES[index], axis, dof)
        if joint.mimic is not None:
            self._add_mimic(element, joint, joint.mimic)
        self._add_drive(element, joint)
        self._report_losses(joint, rows, with_axes=bool(axes))
        return element

    def _add_axis(self, element: Markup, joint: Joint, tag: str, axis: Vector, dof: Dof | None) -> None:
        made = element.add(tag)
        made.add("xyz", format_numbers(_unit(axis)))
        if dof is None:
            return
        dynamics = Markup("dynamics")
        for name, field in DYNAMICS.items():
            if getattr(dof, field):
                dynamics.add(name, format_number(getattr(dof, field)))
        if dynamics.children:
            made.children.append(dynamics)
        limit = Markup("limit")
        if joint.limits_enforced:
            for word, bound in zip(("lower", "upper"), dof.position_limits, strict=True):
                if isfinite(bound):
                    limit.add(word, format_number(bound))
        for word, field in SYMMETRIC_LIMITS.items():
            most = self._larger(joint, word, field, getattr(dof, field))
            if isfinite(most):
                limit.add(word, format_number(most))
        if limit.children:
            made.children.append(limit)

    def _larger(self, joint: Joint, word: str, field: str, interval: Interval) -> float:
        """One number for both directions."""
        low, high = interval
        if -low != high:
            self._add_loss(joint, f"SDF has one {word} limit for both directions: the larger is written", field)
        return max(abs(low), abs(high))

    def _add_mimic(self, element: Markup, joint: Joint, mimic: Mimic) -> None:
        axis = next((child for child in element.children if child.tag == "axis"), None)
        if axis is None or mimic.joint not in self.joints:
            self._add_loss(joint, "the joint mimics a joint that is not written", "mimic")
            return
        made = axis.add("mimic", joint=self.joints[mimic.joint])
        made.add("multiplier", format_number(mimic.multiplier))
        made.add("offset", format_number(mimic.offset))
        made.add("reference", "0")

    def _add_drive(self, element: Markup, joint: Joint) -> None:
        """Add ODE's parameters, of which SDFormat has one set per joint."""
        if not joint.drives:
            return
        drive = joint.drives[0]
        if any(_parameters_without_stops(other) != _parameters_without_stops(drive) for other in joint.drives[1:]):
            self._add_loss(
                joint,
                "SDF has one set of ODE parameters for all axes: those of the first axis are written",
                "drives",
            )
        ode = Markup("ode")
        for container, fields in DRIVES.items():
            element_of_rows = Markup(container) if container else ode
            for tag, field in fields.items():
                if getattr(drive, field) is not None:
                    element_of_rows.add(tag, format_number(getattr(drive, field)))
            if container and element_of_rows.children:
                ode.children.append(element_of_rows)
        if ode.children:
            element.add("physics").children.append(ode)

    # --- losses ---------------------------------------------------------------------------------------

    def _report_losses(self, joint: Joint, rows: Sequence[Dof], *, with_axes: bool) -> None:
        if joint.actuator not in ("force", "passive"):
            self._add_loss(joint, f"SDF has no actuators: '{joint.actuator}' is not written", "actuator")
        if any(getattr(dof, field) for dof in rows for field in DOF_STATES):
            self._add_loss(
                joint, "SDF has no initial state: links are written at rest, at zero joint positions", *DOF_STATES
            )
        if any(dof.acceleration_limits != UNLIMITED for dof in rows):
            self._add_loss(joint, "SDF has no acceleration limits", "acceleration_limits")
        if not joint.limits_enforced and any(dof.position_limits != UNLIMITED for dof in rows):
            self._add_loss(joint, "limits that are not enforced are not written", "position_limits")
        if not with_axes and any(_has_dynamics(dof) for dof in rows):
            self._add_loss(joint, "SDF has no limits and dynamics for joints without axes", *_DOF_FIELDS)

    def _add_loss(self, joint: Joint, text: str, *fields: str) -> None:
        self.output.add_loss(joint, text, *fields)


def _unit(axis: Vector) -> Vector:
    """The axis with unit length; its digits are preserved if it already has it."""
    length = float(spatial.array(axis) @ spatial.array(axis)) ** 0.5
    if spatial.unit_divisor(length) == 1.0:
        return axis
    x, y, z = spatial.settled(spatial.unit(axis)).tolist()
    return (x, y, z)


def _parameters_without_stops(drive: Drive) -> tuple[float | None, ...]:
    return tuple(getattr(drive, field) for fields in DRIVES.values() for field in fields.values())


def _has_dynamics(dof: Dof) -> bool:
    return any(getattr(dof, field) != getattr(_DEFAULT_DOF, field) for field in _DOF_FIELDS)
