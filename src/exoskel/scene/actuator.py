"""Actuators: motors and servos that turn a control into a force on one coordinate of a joint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, get_args

from msgspec import structs

from exoskel.diagnostics import ExoskelError
from exoskel.scene.edit_tracking import CheckedValue, checks_values
from exoskel.scene.field_checks import ConvertedField, NumberSequence, initially
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import UNLIMITED, Dof, Interval, Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Vector

ActuatorKind = Literal["motor", "position", "velocity", "general"]
ActivationKind = Literal["filter", "exact_filter", "integrator"]
ROTATION_VECTORS = frozenset({"ball", "free", "amotor"})
"""Kinds of joint whose coordinates no actuator drives: their axes are not fixed."""


class Activation(CheckedValue, frozen=True):
    """A state between the control of an actuator and its force: the activation, which takes the place of the control.

    That of an `integrator` changes at the rate of the control.  A `filter` follows the control with a `time_constant`
    in s: its rate is the difference divided by it.  An `exact_filter` does the same, without an error of the time step.
    The activation stays within `range`.  With `early`, a force depends on the activation at the end of the step.
    """

    kind: ActivationKind = "filter"
    time_constant: float = 1.0
    range: ConvertedField[Interval, NumberSequence] = initially(UNLIMITED)
    initial: float = 0.0
    early: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if checks_values() and (problem := self.problem):
            raise ExoskelError(f"an activation {problem}")

    @property
    def problem(self) -> str:
        """What is wrong with it, or an empty string."""
        if self.kind not in get_args(ActivationKind):
            expected = " or ".join(map(repr, get_args(ActivationKind)))
            return f"has the kind {self.kind!r}, but it must be {expected}"
        if self.kind == "integrator":
            return "" if self.time_constant == 1.0 else "of kind 'integrator' must not have a time constant"
        return "has a negative time constant" if self.time_constant < 0.0 else ""


class Actuator(CheckedValue, frozen=True):
    """A motor or servo that drives one coordinate of a joint, given by its path `model/joint`, or a `tendon`.

    The force on the coordinate, or along the tendon, is `gear` times `gain * control + bias`.  The control is kept
    within `control_range`, and that sum within `force_range`.  The bias depends on the kind, for `gear` times the
    position (or length) and velocity: 0 for a motor, `-gain * position - damping * velocity` for a position servo,
    `-gain * velocity` for a velocity servo, `bias[0] + bias[1] * position + bias[2] * velocity` for a general actuator.
    `control` is the initial control.  With an `activation`, this state takes the place of the control in the force.
    """

    name: str
    joint: str = ""
    coordinate: int = 0
    kind: ActuatorKind = "motor"
    gear: float = 1.0
    gain: float = 1.0
    damping: float = 0.0
    bias: ConvertedField[Vector, NumberSequence] = initially((0.0, 0.0, 0.0))
    control_range: ConvertedField[Interval, NumberSequence] = initially(UNLIMITED)
    force_range: ConvertedField[Interval, NumberSequence] = initially(UNLIMITED)
    control: float = 0.0
    tendon: str = ""
    """The name of the tendon that it drives, if it drives no joint."""
    activation: Activation | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if checks_values() and self.unused_field:
            raise ExoskelError(
                f"the {self.unused_field} of actuator {self.name!r} has no effect: it is a {self.kind} actuator"
            )

    @property
    def unused_field(self) -> str:
        """The name of a field that is set but has no effect on actuators of this kind, or an empty string."""
        if self.damping and self.kind != "position":
            return "damping"
        return "bias" if any(self.bias) and self.kind != "general" else ""

    @property
    def feedback(self) -> Vector:
        """The constant part of the bias, and its factors of position and velocity."""
        match self.kind:
            case "position":
                return (0.0, -self.gain, -self.damping)
            case "velocity":
                return (0.0, 0.0, -self.gain)
            case "general":
                return self.bias
        return (0.0, 0.0, 0.0)

    @property
    def has_feedback(self) -> bool:
        """Whether the force depends on the position or velocity, or is not zero without a control."""
        return any(self.feedback)

    def settled(self) -> Actuator | None:
        """The actuator without its activation, with the control that acts in the end; None if the activation grows."""
        if self.activation is None:
            return self
        low, high = self.activation.range
        if self.activation.kind == "integrator":
            if self.clipped(self.control):
                return None
            control, limits = self.activation.initial, self.activation.range
        else:
            control, limits = self.clipped(self.control), self.control_range
            limits = (max(low, limits[0]), min(high, limits[1]))
        limits = limits if limits[0] <= limits[1] else self.activation.range
        control = min(max(control, low), high)
        return structs.replace(self, activation=None, control=control, control_range=limits)

    def clipped(self, control: float) -> float:
        """A control within the range."""
        low, high = self.control_range
        return min(max(control, low), high)

    def force(self, control: float, position: float, velocity: float) -> float:
        """The force on the coordinate, N or N·m, for a control, or an activation, and a state of the coordinate."""
        source = self.clipped(control) if self.activation is None else control
        constant, stiffness, damping = self.feedback
        length, speed = self.gear * position, self.gear * velocity
        force = self.gain * source + constant + stiffness * length + damping * speed
        low, high = self.force_range
        return self.gear * min(max(force, low), high)

    def __repr__(self) -> str:
        target = f"tendon={self.tendon!r}" if self.tendon else f"joint={self.joint!r}"
        return f"Actuator({self.name!r}, {self.kind}, {target})"


def initial_activations(actuators: Iterable[Actuator]) -> dict[str, float]:
    """The initial activations that are not zero, by the names of actuators."""
    stated = {one.name: one.activation.initial for one in actuators if one.activation is not None}
    return {name: value for name, value in stated.items() if value}


def driven_joints(models: Iterable[Model]) -> Iterator[tuple[str, Joint]]:
    """Yield the joints that actuators may drive, and their paths."""
    for model in models:
        for joint in model.joints:
            if joint.dof_count and not model.static and joint.kind not in ROTATION_VECTORS:
                yield qualified_name(model.name, joint.name), joint


def drives_joint(actuator: Actuator, joints: Mapping[str, Joint]) -> bool:
    """Whether an actuator drives a coordinate of a joint; `joints` are those that actuators may drive, by path."""
    joint = joints.get(actuator.joint)
    return joint is not None and 0 <= actuator.coordinate < joint.dof_count


def driven_dofs(actuators: Iterable[Actuator], models: Iterable[Model]) -> Iterator[tuple[Actuator, Joint, Dof]]:
    """Yield actuators with the joints and degrees of freedom that they drive; those without one are skipped."""
    found = list(actuators)
    joints = dict(driven_joints(models)) if found else {}
    for actuator in found:
        if drives_joint(actuator, joints):
            joint = joints[actuator.joint]
            yield actuator, joint, joint.dofs[actuator.coordinate]


def comparable_actuators(
    actuators: Iterable[Actuator], models: Iterable[Model], *, by_name: bool = False
) -> list[tuple[object, ...]]:
    """Actuators for comparisons of motion: without names, and with the number of the coordinate in the state.

    Joints of static models have no coordinates: formats write their bodies without them.  With `by_name`, joints are
    numbered in the order of their names, for worlds in which they have another order.

    Those of tendons have the name of the tendon, and follow the others.
    """
    models, actuators = list(models), list(actuators)
    first: dict[int, int] = {}
    count = 0
    joints = [(model.name, joint.name, joint) for model in models if not model.static for joint in model.joints]
    for _, _, joint in sorted(joints, key=lambda one: one[:2]) if by_name else joints:
        first[id(joint)] = count
        count += joint.dof_count
    targets: list[tuple[Actuator, object]] = [
        (one, first[id(joint)] + one.coordinate) for one, joint, _ in driven_dofs(actuators, models)
    ]
    targets += [(one, one.tendon) for one in actuators if one.tendon]
    return [
        (
            *(target, one.gear, one.gain, one.feedback, one.control_range, one.force_range, one.control),
            *(() if one.activation is None else structs.astuple(one.activation)),
        )
        for one, target in targets
    ]
