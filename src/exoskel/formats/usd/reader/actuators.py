"""Read actuators and tendons of MuJoCo's schema, and actuators of Newton's.

Their gains are in the units of the stage, with angles in radians.  `actuator_writer` is the other direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite
from typing import get_args

from msgspec import Struct, structs

from exoskel.formats.usd.joint_axes import GEAR_AXES, plan
from exoskel.formats.usd.reader.passive_forces import REFERENCE
from exoskel.formats.usd.reader.prims import Values
from exoskel.formats.usd.reader.shape_prims import ReportProblem
from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.formats.usd.reader.tendon_paths import TendonPathReader, UnsupportedPrimError, numbers
from exoskel.scene.actuator import ROTATION_VECTORS, Activation, ActivationKind, Actuator, ActuatorKind
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import UNLIMITED, Interval, Joint
from exoskel.scene.pose import Vector
from exoskel.scene.tendon import AUTOMATIC_LENGTH, Tendon, TendonJoint, TendonPoint
from exoskel.scene.world import World

MUJOCO_ACTUATOR, TENDON, NEWTON_ACTUATOR = "MjcActuator", "MjcTendon", "NewtonActuator"
DRIVING = frozenset({MUJOCO_ACTUATOR, NEWTON_ACTUATOR, TENDON})
"""The types of prims that are actuators and tendons."""
_PD, _PID, _MOST = "NewtonPDControlAPI", "NewtonPIDControlAPI", "NewtonMaxEffortClampingAPI"
_DELAY = "NewtonActuatorDelayAPI"
_READ_APIS = frozenset({_PD, _PID, _MOST, _DELAY, "NewtonActuatorControlBaseAPI", "NewtonActuatorClampingBaseAPI"})
ACTIVATION_TYPES: dict[ActivationKind, str] = {
    "filter": "filter",
    "exact_filter": "filterexact",
    "integrator": "integrator",
}
"""The words of MuJoCo's schema for activations."""
_ACTIVATIONS = {word: kind for kind, word in ACTIVATION_TYPES.items()}
KIND, CONTROL, INITIAL_ACTIVATION = "exoskelKind", "exoskelControl", "exoskelActivation"
"""The custom data of an actuator that Exoskel wrote: its kind, if its numbers do not tell it, and its initial state."""
OWN_PATH, OWN_AXES = "exoskel:path", "exoskel:path:axes"
"""The joints of a fixed tendon, if some have several axes, and the places of their axes in `GEAR_AXES`."""
_KINDS: dict[str, ActuatorKind] = {kind: kind for kind in get_args(ActuatorKind)}


class DrivenJoint(Struct, frozen=True):
    """A joint that may be driven: its path in the scene, and what the file states about it."""

    path: str
    joint: Joint
    found: Values

    @property
    def reference(self) -> float:
        """The position in the pose that the file states, where the position in the scene is zero."""
        return float(self.found.get(REFERENCE, 0.0))


class _DrivenPart(Struct, frozen=True):
    """What an actuator drives, its position where that of the scene is zero, and whether this is a length."""

    joint: str = ""
    tendon: str = ""
    reference: float = 0.0
    is_linear: bool = False
    coordinate: int = 0


class DrivingPrims(Struct, frozen=True):
    """What is known of the prims that may be actuators and tendons, and of what they refer to.

    `joints`, `sites` and `shapes` are by the paths of their prims; the latter are paths in the scene.
    """

    prims: Sequence[StagePrim]
    node: Callable[[StagePrim], int]
    joints: Mapping[str, DrivenJoint]
    sites: Mapping[str, str]
    shapes: Mapping[str, str]
    metre: float = 1.0
    kilogram: float = 1.0


class ActuatorPrimReader:
    """The actuators and tendons of one world."""

    def __init__(self, source: DrivingPrims, world: World, report: ReportProblem) -> None:
        self.source = source
        self.world = world
        self.report = report
        self._tendons: dict[str, _DrivenPart] = {}
        self._paths = TendonPathReader(source.sites, source.shapes)
        self._names: dict[str, Names] = {TENDON: Names(), MUJOCO_ACTUATOR: Names()}
        self.nodes: dict[int, str] = {}
        """The names of the actuators, by the numbers of their prims."""
        self.tendon_nodes: dict[int, str] = {}

    def read(self) -> None:
        for prim in self.source.prims:
            if prim.type == TENDON:
                self._add(prim)
        for prim in self.source.prims:
            if prim.type in (MUJOCO_ACTUATOR, NEWTON_ACTUATOR):
                self._add(prim)

    def _add(self, prim: StagePrim) -> None:
        try:
            if prim.type == TENDON:
                made = self._tendon(prim)
                self.world.tendons.append(made)
                self.tendon_nodes[self.source.node(prim)] = made.name
            else:
                is_newton = prim.type == NEWTON_ACTUATOR
                found = self._newton_actuator(prim) if is_newton else self._mujoco_actuator(prim)
                self.world.actuators.append(found)
                self.nodes[self.source.node(prim)] = found.name
        except UnsupportedPrimError as problem:
            self.report("US113.actuator", self.source.node(prim), kind=prim.type, name=prim.title, reason=str(problem))

    def _name(self, prim: StagePrim) -> str:
        names = self._names[TENDON if prim.type == TENDON else MUJOCO_ACTUATOR]
        name = unique_name(prim.title, names)
        names.add(name)
        return name

    def _target(self, prim: StagePrim, relationship: str) -> _DrivenPart:
        path = prim.target(relationship)
        if path in self._tendons:
            return self._tendons[path]
        driven = self.source.joints.get(path)
        if driven is None or driven.joint.dof_count != 1:
            raise UnsupportedPrimError("it does not drive a joint with one axis, or a tendon that is read")
        return _DrivenPart(driven.path, "", driven.reference, driven.joint.motion == "t")

    def _geared_target(self, prim: StagePrim) -> tuple[_DrivenPart, float]:
        """What an actuator drives, and its gear there: one number, whose place is that of an axis of the joint."""
        gears = numbers(prim, "mjc:gear", (1.0, *(0.0,) * (len(GEAR_AXES) - 1)))
        driven = self.source.joints.get(prim.target("mjc:target"))
        if driven is None or driven.joint.dof_count <= 1 or driven.joint.kind in ROTATION_VECTORS:
            target = self._target(prim, "mjc:target")
            if any(gears[1:]):
                raise UnsupportedPrimError("its gear has several axes")
            return target, gears[0]
        places = [place for place, gear in enumerate(gears) if gear]
        found = _axis_part(driven, places[0]) if len(places) == 1 else None
        if found is None:
            raise UnsupportedPrimError("its gear does not have one axis of its joint")
        return found[0], found[1] * gears[places[0]]

    # --- MuJoCo ---------------------------------------------------------------------------------------

    def _mujoco_actuator(self, prim: StagePrim) -> Actuator:
        target, gear = self._geared_target(prim)
        gain_type, gains = prim.values.get("mjc:gainType", "fixed"), numbers(prim, "mjc:gainPrm", (1.0,))
        if gain_type not in ("fixed", "affine") or (gain_type == "affine" and any(gains[1:3])):
            raise UnsupportedPrimError("its gain is not constant")
        if prim.values.get("mjc:dynType", "none") not in ("none", *_ACTIVATIONS):
            raise UnsupportedPrimError("its activation is neither filtered nor integrated")
        bias_type = prim.values.get("mjc:biasType", "none")
        if bias_type not in ("none", "affine"):
            raise UnsupportedPrimError("its bias is not linear")
        bias = numbers(prim, "mjc:biasPrm", (0.0, 0.0, 0.0)) if bias_type == "affine" else (0.0, 0.0, 0.0)
        control = _range(prim, "mjc:ctrlRange", "mjc:ctrlLimited")
        force = _range(prim, "mjc:forceRange", "mjc:forceLimited")
        law = _Law(gear, gains[0], (bias[0], bias[1], bias[2]), control, force, _activation(prim))
        return self._actuator(prim, target, law)

    def _actuator(self, prim: StagePrim, target: _DrivenPart, law: _Law) -> Actuator:
        """An actuator in m and kg, for positions relative to the stated pose."""
        length = self.source.metre if target.is_linear else 1.0
        force = self.source.kilogram * self.source.metre * (1.0 if target.is_linear else self.source.metre)
        constant, stiffness, damping = law.bias
        is_servo = bool(law.gain) and -law.gain in (stiffness, damping)  # its control is a position or velocity
        bias = (force * constant, force / length * stiffness, force / length * damping)
        bias = (bias[0] + bias[1] * law.gear * target.reference, *bias[1:])
        gain = force * law.gain / (length if is_servo else 1.0)
        kind = _stated_kind(prim, gain, bias)
        unit = length if is_servo else 1.0
        activation = law.activation
        if activation is not None:
            initial = _stated_number(prim, INITIAL_ACTIVATION)
            activation = structs.replace(activation, range=_scaled(activation.range, unit), initial=initial)
        return Actuator(
            name=self._name(prim),
            joint=target.joint,
            coordinate=target.coordinate,
            tendon=target.tendon,
            kind=kind,
            gear=law.gear,
            gain=gain,
            damping=-bias[2] + 0.0 if kind == "position" else 0.0,
            bias=bias if kind == "general" else (0.0, 0.0, 0.0),
            control=_stated_number(prim, CONTROL),
            control_range=_scaled(law.control, unit),
            force_range=_scaled(law.force, force),
            activation=activation,
        )

    def _tendon(self, prim: StagePrim) -> Tendon:
        kind = prim.values.get("mjc:type", "spatial")
        if kind == "fixed":
            return self._fixed_tendon(prim)
        if kind != "spatial":
            raise UnsupportedPrimError(f"its type is '{kind}'")
        made = self._made_tendon(prim, self.source.metre, 0.0, path=self._paths.points(prim))
        if made.problem:
            raise UnsupportedPrimError(f"it {made.problem}")
        return made

    def _fixed_tendon(self, prim: StagePrim) -> Tendon:
        """A fixed tendon; lengths are measured from the stated pose."""
        paths = prim.targets.get("mjc:path", []) or prim.targets.get(OWN_PATH, [])
        order = [int(one) for one in numbers(prim, "mjc:path:indices", tuple(range(len(paths))))]
        weights = numbers(prim, "mjc:path:coef", (1.0,) * len(order))
        if len(weights) != len(order) or not all(0 <= number < len(paths) for number in order):
            raise UnsupportedPrimError("its joints do not fit their coefficients")
        axes = [int(one) for one in numbers(prim, OWN_AXES, (0.0,) * len(order))]
        if len(axes) != len(order) or not order:
            raise UnsupportedPrimError("it does not act on joints with one axis")
        parts = [self._tendon_joint(paths[number], place) for number, place in zip(order, axes, strict=True)]
        unit = self.source.metre if all(one.is_linear for one, _ in parts) else 1.0
        offset = sum(weight * one.reference for weight, (one, _) in zip(weights, parts, strict=True))
        joints = tuple(
            TendonJoint(one.joint, sign * weight, one.coordinate)
            for weight, (one, sign) in zip(weights, parts, strict=True)
        )
        return self._made_tendon(prim, unit, offset, joints=joints)

    def _tendon_joint(self, path: str, place: int) -> tuple[_DrivenPart, float]:
        """A coordinate of a fixed tendon, and its sign; `place` is that of an axis of a joint with several."""
        driven = self.source.joints.get(path)
        if driven is not None and driven.joint.dof_count == 1:
            return _DrivenPart(driven.path, "", driven.reference, driven.joint.motion == "t"), 1.0
        found = _axis_part(driven, place) if driven is not None else None
        if found is None:
            raise UnsupportedPrimError("it does not act on joints with one axis")
        return found

    def _made_tendon(
        self,
        prim: StagePrim,
        unit: float,
        offset: float,
        *,
        joints: tuple[TendonJoint, ...] = (),
        path: tuple[TendonPoint, ...] = (),
    ) -> Tendon:
        """A tendon whose length has a unit in m or rad, and is `offset` where it is zero in the scene."""
        stated = prim.arrays.get("mjc:springlength")
        one_length = stated is not None and len(stated.array()) == 1
        spring = numbers(prim, "mjc:springlength", (-1.0, -1.0))
        spring = (spring[0], spring[0] if one_length else spring[1])
        low, high = _scaled(_range(prim, "mjc:range", "mjc:limited"), unit)
        force = self.source.kilogram * self.source.metre
        values = {name: float(prim.values.get(f"mjc:{name}", 0.0)) for name in ("stiffness", "damping", "armature")}
        made = Tendon(
            self._name(prim),
            joints,
            path,
            stiffness=values["stiffness"] * force / self.source.metre,
            damping=values["damping"] * force / self.source.metre,
            friction=float(prim.values.get("mjc:frictionloss", 0.0)) * force,
            armature=values["armature"] * self.source.kilogram,
            rest_length=None if spring == AUTOMATIC_LENGTH else (spring[0] * unit - offset, spring[1] * unit - offset),
            limits=(low - offset, high - offset),
            force_limits=_scaled(_range(prim, "mjc:actuatorfrcrange", "mjc:actuatorfrclimited"), force),
        )
        self._tendons[prim.path] = _DrivenPart("", made.name, offset, is_linear=True)
        return made

    # --- Newton ---------------------------------------------------------------------------------------

    def _newton_actuator(self, prim: StagePrim) -> Actuator:
        target = self._target(prim, "newton:targets")
        unread = [name for name in prim.apis if name.startswith("Newton") and name not in _READ_APIS]
        if unread or not {_PD, _PID} & {*prim.apis}:
            raise UnsupportedPrimError(f"it has {unread[0]}" if unread else "it has no linear control law")
        kp, ki, kd, constant = (
            float(prim.values.get(f"newton:{name}", 0.0)) for name in ("kp", "ki", "kd", "constEffort")
        )
        if ki:
            raise UnsupportedPrimError("it integrates the error of the position")
        if _DELAY in prim.apis:
            self.report("US113.delay", self.source.node(prim), attribute="newton:delaySteps", name=prim.title)
        most = float(prim.values.get("newton:maxEffort", inf)) if _MOST in prim.apis else inf
        gain = kp or kd or 1.0
        return self._actuator(prim, target, _Law(1.0, gain, (constant, -kp, -kd), UNLIMITED, (-most, most)))


def _axis_part(driven: DrivenJoint, place: int) -> tuple[_DrivenPart, float] | None:
    """The coordinate of a joint with several axes, by the place of its axis, and its sign; None if it has no such axis.

    Rotations about three axes at once have no coordinate that is driven.
    """
    axes = plan(driven.joint) if driven.joint.kind not in ROTATION_VECTORS else None
    for one in axes.freedoms if axes is not None else ():
        if one.coordinate is not None and GEAR_AXES.index(one.name) == place:
            is_linear = driven.joint.motion[one.coordinate] == "t"
            return _DrivenPart(driven.path, "", 0.0, is_linear, one.coordinate), one.sign
    return None


class _Law(Struct, frozen=True):
    """A control law in the units of the stage: gear, gain, bias and ranges, as in MuJoCo."""

    gear: float
    gain: float
    bias: Vector
    control: Interval
    force: Interval
    activation: Activation | None = None


def kind_of(gain: float, bias: Vector) -> ActuatorKind:
    """The kind of an actuator, by its gain and bias."""
    constant, stiffness, damping = bias
    if gain == 1.0 and not any(bias):
        return "motor"
    if gain > 0.0 and not (constant or stiffness) and damping == -gain:
        return "velocity"
    if gain > 0.0 and not constant and stiffness == -gain and damping <= 0.0:
        return "position"
    return "general"


def _stated_kind(prim: StagePrim, gain: float, bias: Vector) -> ActuatorKind:
    """The kind that Exoskel stated, if it has this bias; else that of the numbers."""
    kind = _KINDS.get(str(prim.custom.get(KIND, "")))
    if kind is not None:
        damping = -bias[2] if kind == "position" else 0.0
        stated = Actuator("", kind=kind, gain=gain, damping=damping, bias=bias if kind == "general" else _NO_BIAS)
        if stated.feedback == bias:
            return kind
    return kind_of(gain, bias)


_NO_BIAS = (0.0, 0.0, 0.0)


def _stated_number(prim: StagePrim, key: str) -> float:
    """A number of the custom data; 0 if it is not stated or not a finite number."""
    try:
        found = float(prim.custom.get(key, 0.0))
    except ValueError:
        return 0.0
    return found if isfinite(found) else 0.0


def _activation(prim: StagePrim) -> Activation | None:
    kind = _ACTIVATIONS.get(str(prim.values.get("mjc:dynType", "none")))
    if kind is None:
        return None
    constant = 1.0 if kind == "integrator" else max(0.0, numbers(prim, "mjc:dynPrm", (1.0,))[0])
    early = bool(prim.values.get("mjc:actEarly", False))
    return Activation(kind, constant, _range(prim, "mjc:actRange", "mjc:actLimited"), early=early)


def _range(prim: StagePrim, name: str, limited: str) -> Interval:
    """A range; an empty one limits nothing unless it is stated to be a limit."""
    low, high = (float(prim.values.get(f"{name}:{side}", 0.0)) for side in ("min", "max"))
    stated = prim.values.get(limited, "auto")
    return (low, high) if stated == "true" or (stated == "auto" and low < high) else UNLIMITED


def _scaled(limits: Interval, factor: float) -> Interval:
    return (limits[0] * factor, limits[1] * factor)
