"""Write actuators and tendons of a world as prims of MuJoCo's schema, in two groups of the world.

An actuator of a joint with several axes has its gear in the place of its axis: three translations, three rotations.
A fixed tendon of such joints states its path in properties of our own, as other readers would take another axis.
`reader.actuators` is the other direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exoskel.formats.usd.codes import CATALOGUE
from exoskel.formats.usd.joint_axes import GEAR_AXES, AxisPlan
from exoskel.formats.usd.reader.actuators import (
    ACTIVATION_TYPES,
    CONTROL,
    INITIAL_ACTIVATION,
    KIND,
    MUJOCO_ACTUATOR,
    OWN_AXES,
    OWN_PATH,
    TENDON,
    kind_of,
)
from exoskel.formats.usd.tree import Identifiers, Prim, PrimPath, Properties, display_name
from exoskel.scene.actuator import Actuator, driven_joints
from exoskel.scene.item import Item
from exoskel.scene.joint import UNLIMITED, Interval, Joint
from exoskel.scene.lowering.actuators import actuator_part, state_parts
from exoskel.scene.tendon import Tendon, TendonParts, TendonPoint, tendon_part
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext

ACTUATORS, TENDONS = "Actuators", "Tendons"
"""The groups of the prims in their world."""
_PARAMETERS = 10


def servo_joints(world: World) -> set[int]:
    """The ids of the joints with one axis that a servo drives.

    Newton takes such a servo for the drive of its joint, so that springs and dampers must not be one.
    """
    if not world.actuators:
        return set()
    joints = dict(driven_joints(world.models))
    driven = [joints.get(one.joint) for one in world.actuators if one.has_feedback]
    return {id(joint) for joint in driven if joint is not None and joint.dof_count == 1}


class UsdActuatorWriter:
    """Creates the prims of the actuators and tendons of a world."""

    def __init__(self, world: World, output: OutputContext) -> None:
        self.world = world
        self.output = output
        self.parts = TendonParts(world.models if world.actuators or world.tendons else ())
        self.reserved = (ACTUATORS, TENDONS) if world.actuators or world.tendons else ()
        """The names that no other prim of the world may have."""
        self.sites = set(self._sites())
        """The ids of the markers that tendons pass."""

    def _sites(self) -> Iterator[int]:
        paths = (path for one in self.world.tendons for point in one.path for path in (point.site, point.side_site))
        return (id(self.parts.sites[path][2]) for path in paths if path in self.parts.sites)

    def prims(self, plans: Mapping[int, AxisPlan], root: Prim) -> list[Prim]:
        """The groups of prims; `plans` are those of written joints, `root` the prim of the world with all others."""
        if not self.reserved:
            return []
        self._plans = plans
        self._where = {id(prim.item): PrimPath(path) for path, prim in root.paths() if isinstance(prim.item, Item)}
        tendons, actuators = Prim("Scope", TENDONS), Prim("Scope", ACTUATORS)
        known = self._add_tendons(tendons, f"/{root.name}/{TENDONS}")
        names = Identifiers()
        for one in self.world.actuators:
            target, axis = self._target(one, known)
            if not target:
                parts = (actuator_part(one.name), *state_parts(one))
                self.output.add_loss(self.world, CATALOGUE["US316.target"], *parts, name=one.name)
                continue
            prim = Prim(MUJOCO_ACTUATOR, names.unique(one.name, "actuator"))
            prim.metadata |= display_name(one.name, prim.name)
            prim.properties = {"rel mjc:target": target, **_law(one, axis)}
            joint = self.parts.joints.get(one.joint)
            if joint is not None and not self._plans[id(joint)].axis:
                self._report_own(actuator_part(one.name), kind="actuator", name=one.name)
            self._add_custom_data(prim, one)
            actuators.children.append(prim)
        return [group for group in (tendons, actuators) if group.children]

    def _report_own(self, part: str, kind: str, name: str) -> None:
        """Report an actuator or tendon of a joint with several axes, which other programs do not read."""
        self.output.add_loss(self.world, CATALOGUE["US219"], part, changes_effect=True, kind=kind, name=name)

    # --- actuators ------------------------------------------------------------------------------------

    def _target(self, one: Actuator, tendons: Mapping[str, PrimPath]) -> tuple[str, tuple[int, float]]:
        """The path of what an actuator drives, empty if it is not written; the place of its gear, and its sign."""
        if one.tendon:
            return tendons.get(one.tendon, PrimPath("")), (0, 1.0)
        joint = self.parts.joints.get(one.joint)
        axis = self._axis(joint, one.coordinate)
        return ("", (0, 1.0)) if joint is None or axis is None else (self._where[id(joint)], axis)

    def _axis(self, joint: Joint | None, coordinate: int) -> tuple[int, float] | None:
        """The place of a coordinate in the gear of an actuator, and its sign; None if it is not in the file."""
        plan = self._plans.get(id(joint))
        if joint is None or plan is None or id(joint) not in self._where:
            return None
        for freedom in plan.freedoms:
            if freedom.coordinate == coordinate:
                return (0, freedom.sign) if plan.axis else (GEAR_AXES.index(freedom.name), freedom.sign)
        return None

    def _add_custom_data(self, prim: Prim, one: Actuator) -> None:
        """Add what MuJoCo's schema does not have: a kind that its numbers do not tell, and the initial control."""
        custom: dict[str, str] = {}
        if kind_of(one.gain, one.feedback) != one.kind:
            custom[KIND] = one.kind
        initial = one.activation.initial if one.activation is not None else 0.0
        for key, value in ((CONTROL, one.control), (INITIAL_ACTIVATION, initial)):
            if value:
                custom[key] = repr(value)
        if custom:
            prim.metadata["customData"] = custom
        if parts := state_parts(one):
            self.output.add_loss(self.world, CATALOGUE["US218"], *parts, changes_effect=True, name=one.name)

    # --- tendons --------------------------------------------------------------------------------------

    def _add_tendons(self, group: Prim, path: str) -> dict[str, PrimPath]:
        """Add all tendons to a group; returns their paths by name."""
        names, found, lost = Identifiers(), dict[str, PrimPath](), list[tuple[Tendon, str]]()
        for tendon in self.world.tendons:
            key = self._problem(tendon)
            if key:
                lost.append((tendon, key))
                continue
            prim = Prim(TENDON, names.unique(tendon.name, "tendon"))
            prim.metadata |= display_name(tendon.name, prim.name)
            prim.properties = {**(self._joints(tendon) if tendon.joints else self._path(tendon)), **_values(tendon)}
            group.children.append(prim)
            found[tendon.name] = PrimPath(f"{path}/{prim.name}")
        for tendon, key in lost:
            self.output.add_loss(self.world, CATALOGUE[key], tendon_part(tendon.name), name=tendon.name)
        return found

    def _problem(self, tendon: Tendon) -> str:
        """The diagnostic of a tendon that is not written, or an empty string."""
        if self.output.target != "portable":
            return "US316.isaac"
        for one in tendon.joints:
            joint = self.parts.joints.get(one.joint)
            if self._axis(joint, one.coordinate) is None:
                return "US316.part"
        is_known = all(self._points_to(path) for point in tendon.path for path in self._targets(point))
        return "" if is_known else "US316.part"

    @staticmethod
    def _targets(point: TendonPoint) -> Iterator[str]:
        return (path for path in (point.site, point.shape, point.side_site) if path)

    def _points_to(self, path: str) -> PrimPath:
        """The path of the prim of a site or shape; empty if it is not written."""
        item: Any = None
        if path in self.parts.sites:
            item = self.parts.sites[path][2]
        elif path in self.parts.shapes:
            item = self.parts.shapes[path].shape
        return self._where.get(id(item), PrimPath("")) if item is not None else PrimPath("")

    def _joints(self, tendon: Tendon) -> Properties:
        joints = [self.parts.joints[one.joint] for one in tendon.joints]
        targets = [self._where[id(joint)] for joint in joints]
        axes = [self._axis(joint, one.coordinate) or (0, 1.0) for joint, one in zip(joints, tendon.joints, strict=True)]
        unique = list(dict.fromkeys(targets))
        made: Properties = {
            "uniform token mjc:type": "fixed",
            "rel mjc:path": unique,
            "uniform int[] mjc:path:indices": [unique.index(one) for one in targets],
            "uniform double[] mjc:path:coef": [
                sign * one.coefficient for (_, sign), one in zip(axes, tendon.joints, strict=True)
            ],
        }
        if all(self._plans[id(joint)].axis for joint in joints):
            return made
        self._report_own(tendon_part(tendon.name), kind="tendon", name=tendon.name)
        del made["rel mjc:path"]
        own = {f"custom rel {OWN_PATH}": unique, f"custom uniform int[] {OWN_AXES}": [place for place, _ in axes]}
        return made | own

    def _path(self, tendon: Tendon) -> Properties:
        """The path of a spatial tendon; a pulley starts a new segment."""
        targets: list[PrimPath] = []
        sides: list[PrimPath | None] = []
        segments: list[int] = []
        divisors = [1.0]
        for point in tendon.path:
            if point.divisor and not targets:
                divisors[0] = point.divisor
            elif point.divisor:
                divisors.append(point.divisor)
            else:
                targets.append(self._points_to(point.site or point.shape))
                sides.append(self._points_to(point.side_site) if point.side_site else None)
                segments.append(len(divisors) - 1)
        unique, known = list(dict.fromkeys(targets)), list(dict.fromkeys(one for one in sides if one is not None))
        made: Properties = {
            "uniform token mjc:type": "spatial",
            "rel mjc:path": unique,
            "uniform int[] mjc:path:indices": [unique.index(one) for one in targets],
            "uniform int[] mjc:path:segments": segments,
            "uniform double[] mjc:path:divisors": divisors,
        }
        if known:
            made["rel mjc:sideSites"] = known
            made["uniform int[] mjc:sideSites:indices"] = [-1 if one is None else known.index(one) for one in sides]
        return made


def _law(one: Actuator, axis: tuple[int, float]) -> Properties:
    """The control law of an actuator."""
    place, sign = axis
    gear = [0.0] * len(GEAR_AXES)
    gear[place] = sign * one.gear
    made: Properties = {"uniform double[] mjc:gear": gear, "uniform double[] mjc:gainPrm": _parameters(one.gain)}
    if one.has_feedback:
        made["uniform token mjc:biasType"] = "affine"
        made["uniform double[] mjc:biasPrm"] = _parameters(*one.feedback)
    made |= _range("ctrlLimited", "ctrlRange", one.control_range)
    made |= _range("forceLimited", "forceRange", one.force_range)
    if one.activation is not None:
        made["uniform token mjc:dynType"] = ACTIVATION_TYPES[one.activation.kind]
        made["uniform double[] mjc:dynPrm"] = _parameters(one.activation.time_constant)
        made |= _range("actLimited", "actRange", one.activation.range)
        if one.activation.early:
            made["uniform bool mjc:actEarly"] = True
    return made


def _parameters(*numbers: float) -> list[float]:
    """As many parameters as MuJoCo has: Newton refuses fewer."""
    return [*map(float, numbers), *(0.0,) * (_PARAMETERS - len(numbers))]


def _values(tendon: Tendon) -> Properties:
    """The values of a tendon that differ from those of the schema."""
    values = {
        "stiffness": tendon.stiffness,
        "damping": tendon.damping,
        "frictionloss": tendon.friction,
        "armature": tendon.armature,
    }
    made: Properties = {f"uniform double mjc:{name}": value for name, value in values.items() if value}
    if tendon.stated_rest_length is not None and tendon.stiffness:
        made["uniform double[] mjc:springlength"] = list(tendon.stated_rest_length)
    made |= _range("limited", "range", tendon.limits)
    return made | _range("actuatorfrclimited", "actuatorfrcrange", tendon.force_limits)


def _range(flag: str, name: str, limits: Interval) -> Properties:
    if limits == UNLIMITED:
        return {}
    return {
        f"uniform token mjc:{flag}": "true",
        f"uniform double mjc:{name}:min": float(limits[0]),
        f"uniform double mjc:{name}:max": float(limits[1]),
    }
