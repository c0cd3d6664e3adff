"""The pass `lower.actuators`: express actuators by springs, dampers and force limits of the joints that they drive.

It is for formats and engines without actuators.  The limits of a motor become those of the commands of its coordinate.
Linear feedback with a fixed control is a spring and a damper, without limits.  Formats with motors keep one for each
joint.
"""

from __future__ import annotations

from copy import copy
from typing import Literal

from msgspec import Struct, field

from exoskel.scene.actuator import Actuator, driven_dofs
from exoskel.scene.edit_tracking import TrackedList, no_edits
from exoskel.scene.item import Item, NameIndex
from exoskel.scene.joint import UNLIMITED, Dof, Interval, Joint
from exoskel.scene.model import Model
from exoskel.scene.world import World

ACTUATORS_PASS = "lower.actuators"
"""The name of the pass, for reports."""
Result = Literal["force limits", "spring", "nothing", "dropped", "motor"]
"""What an actuator becomes; nothing if it has no limits: a joint accepts any force as a command.  A motor stays one,
whose control is a force, if the format has motors."""


def actuator_part(name: str) -> str:
    """How losses name an actuator of a world."""
    return f"actuators/{name}"


CONTROLS, INITIAL_ACTIVATIONS = "control", "activation"
"""The parts of the initial state of actuators."""


def state_parts(actuator: Actuator) -> tuple[str, ...]:
    """How losses name the initial control and activation of an actuator, as far as they are not zero."""
    initial = actuator.activation.initial if actuator.activation is not None else 0.0
    states = ((CONTROLS, actuator.control), (INITIAL_ACTIVATIONS, initial))
    return tuple(state_part(actuator.name, kind) for kind, value in states if value)


def state_part(name: str, kind: str) -> str:
    """How losses name a part of the initial state of an actuator."""
    return f"{actuator_part(name)}/{kind}"


def is_actuator_part(part: str) -> bool:
    """Whether a part of a world is an actuator."""
    return part.startswith(actuator_part(""))


class LoweredActuator(Struct, frozen=True):
    """An actuator before the pass, and what it became."""

    actuator: Actuator
    result: Result
    is_limited: bool = False
    """Whether the forces of the joint have limits."""

    @property
    def control(self) -> float:
        """The control that acts in the end, through the activation if there is one."""
        settled = self.actuator.settled()
        return self.actuator.control if settled is None else settled.control

    @property
    def loses_activation(self) -> bool:
        """Whether the control acts at once instead of through an activation."""
        return self.actuator.activation is not None and self.result != "dropped"

    @property
    def grows(self) -> bool:
        """Whether it was dropped because its activation grows."""
        return self.result == "dropped" and self.actuator.settled() is None

    @property
    def fixes_control(self) -> bool:
        """Whether the output depends on the initial control, which is no input any more."""
        return self.result == "spring" or (self.result != "dropped" and self.control != 0.0)

    @property
    def changes_control(self) -> bool:
        """Whether a motor is written with another control: a force, before the gear."""
        return self.actuator.gear * self.actuator.gain != 1.0 or self.actuator.force_range != UNLIMITED

    @property
    def dof_fields(self) -> tuple[str, ...]:
        """The fields of the degree of freedom that a spring and damper sets."""
        _, stiffness, damping = self.actuator.feedback
        return (*(("stiffness", "rest") if stiffness else ()), *(("damping",) if damping else ()))

    @property
    def loses_limits(self) -> bool:
        """Whether the ranges of control and force are lost."""
        has_limits = self.actuator.control_range != UNLIMITED or self.actuator.force_range != UNLIMITED
        return self.result == "spring" and (has_limits or self.is_limited)


class LoweredActuators(Struct, frozen=True):
    """A new world without actuators, which shares all bodies with the old one; and what the actuators became.

    `originals` are the items that copies replace, by the ids of the copies.
    """

    world: World
    actuators: list[LoweredActuator] = field(default_factory=list)
    originals: dict[int, Item] = {}


def lower_actuators(world: World, motor_joints: frozenset[str] = frozenset()) -> LoweredActuators:
    """Replace the actuators of a world; a world without actuators stays as it is.

    One motor stays at each joint of the kinds `motor_joints`, without its gear and its initial control.
    """
    if not world.actuators:
        return LoweredActuators(world)
    with no_edits():  # creating another world does not edit this one
        done = _ActuatorPass(world, motor_joints).run()
    return LoweredActuators(world) if list(done.world.actuators) == list(world.actuators) else done


class _ActuatorPass:
    def __init__(self, world: World, motor_joints: frozenset[str]) -> None:
        self.before = world
        self.motors = self._find_motors(world, motor_joints)
        """The actuators that stay motors, by the ids of those before."""
        self.world = copy(world)
        self.world._index = NameIndex()
        self.world.actuators = TrackedList()
        self.originals: dict[int, Item] = {id(self.world): world}
        self.limits: dict[int, Interval] = {}
        """The sums of the limits of all motors of a degree of freedom, by its id."""

    def run(self) -> LoweredActuators:
        before = driven_dofs(self.before.actuators, self.before.models)
        driven = {id(joint) for actuator, joint, _ in before if id(actuator) not in self.motors}
        self.world.models = TrackedList(self._model(model, driven) for model in self.before.models)
        self.world.actuators = TrackedList(self.motors.values())
        found = [
            LoweredActuator(actuator, self._lower(actuator, dof), dof.force_limits != UNLIMITED)
            for actuator, _, dof in driven_dofs(self.before.actuators, self.world.models)
        ]
        dofs = {id(dof): dof for _, _, dof in driven_dofs(self.before.actuators, self.world.models)}
        for number, limits in self.limits.items():
            dofs[number].force_limits = _within(dofs[number].force_limits, limits)
        found += [LoweredActuator(one, "dropped") for one in self.before.actuators if one.tendon]
        return LoweredActuators(self.world, found, self.originals)

    def _model(self, model: Model, driven: set[int]) -> Model:
        """The model with copies of the joints that are driven."""
        if not any(id(joint) in driven for joint in model.joints):
            return model
        made = copy(model)
        made._index = None
        made.bodies = TrackedList(model.bodies)
        made.joints = TrackedList(self._joint(one) if id(one) in driven else one for one in model.joints)
        self.originals[id(made)] = model
        return made

    def _joint(self, joint: Joint) -> Joint:
        made = copy(joint)
        made._dofs = [copy(dof) for dof in joint.dofs]
        self.originals[id(made)] = joint
        self.originals |= {id(mine): theirs for mine, theirs in zip(made._dofs, joint.dofs, strict=True)}
        return made

    @staticmethod
    def _find_motors(world: World, kinds: frozenset[str]) -> dict[int, Actuator]:
        """The first motor of each joint of some kinds, with a force as its control, by the ids of the actuators."""
        found: dict[int, Actuator] = {}
        driven: set[int] = set()
        for given, joint, _ in driven_dofs(world.actuators, world.models) if kinds else ():
            one = given.settled()
            if one is not None and joint.kind in kinds and not one.has_feedback and id(joint) not in driven:
                driven.add(id(joint))
                found[id(given)] = Actuator(one.name, one.joint, one.coordinate, control_range=_force_limits(one))
        return found

    def _lower(self, actuator: Actuator, dof: Dof) -> Result:
        if id(actuator) in self.motors:
            return "motor"
        settled = actuator.settled()
        if settled is None:
            return "dropped"
        return self._lower_feedback(settled, dof) if settled.has_feedback else self._lower_motor(settled, dof)

    def _lower_motor(self, actuator: Actuator, dof: Dof) -> Result:
        factor, limits = actuator.gear * actuator.gain, _force_limits(actuator)
        low, high = self.limits.get(id(dof), (0.0, 0.0))
        self.limits[id(dof)] = (low + limits[0], high + limits[1])
        dof.force += factor * actuator.clipped(actuator.control)
        return "nothing" if limits == UNLIMITED else "force limits"

    @staticmethod
    def _lower_feedback(actuator: Actuator, dof: Dof) -> Result:
        constant, stiffness, damping = actuator.feedback
        square = actuator.gear * actuator.gear
        stiffness, damping = -stiffness * square, -damping * square
        force = actuator.gear * (constant + actuator.gain * actuator.clipped(actuator.control))
        if stiffness < 0.0 or damping < 0.0 or (force and not stiffness):
            return "dropped"
        dof.damping += damping
        if stiffness:
            both = dof.stiffness + stiffness
            dof.rest = (dof.stiffness * dof.rest + force) / both
            dof.stiffness = both
        return "spring"


def _force_limits(motor: Actuator) -> Interval:
    """The least and the greatest force of a motor on its joint."""
    limits = _within(UNLIMITED, _scaled(motor.control_range, motor.gear * motor.gain))
    return _within(limits, _scaled(motor.force_range, motor.gear))


def _scaled(limits: Interval, factor: float) -> Interval:
    """Limits times a factor, which may be negative or zero."""
    if not factor:
        return (0.0, 0.0)
    low, high = sorted(limit * factor for limit in limits)
    return low, high


def _within(limits: Interval, other: Interval) -> Interval:
    low, high = max(limits[0], other[0]), min(limits[1], other[1])
    return (low, high) if low <= high else (min(max(0.0, limits[0]), limits[1]),) * 2
