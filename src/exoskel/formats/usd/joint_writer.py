"""Write joints: bodies, frames, limits, drives, and properties of the schemas of Newton and MuJoCo.

The two frames of a joint coincide at position zero.  So limits, springs and initial positions have the numbers of the
scene, at any pose of the bodies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import degrees, inf, isfinite, pi, radians

import numpy as np

from exoskel import spatial
from exoskel.formats.usd.codes import CATALOGUE
from exoskel.formats.usd.joint_axes import (
    AXES,
    ROTATIONS,
    TRANSLATIONS,
    AxisFreedom,
    AxisPlan,
    cone_coordinates,
    plan,
)
from exoskel.formats.usd.mapping import CONE_ANGLES
from exoskel.formats.usd.tree import Prim, PrimPath
from exoskel.scene.joint import (
    DOF_VALUES,
    PRESCRIBED_ACTUATORS,
    UNLIMITED,
    Dof,
    Drive,
    Interval,
    Joint,
    Mimic,
    spring_from_erp_cfm,
)
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import pose_matrices
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext

MOTOR_DAMPING = 1e6
"""The damping with which a motor tracks its target velocity, N·m·s/rad or N·s/m."""
DEFAULT_ERP = 0.2
"""ODE's default ERP."""
_UNSUPPORTED_DRIVE_FIELDS = (("bounce", "bounce of stops"), ("fudge_factor", "fudge factor"), ("cfm", "CFM of an axis"))

JointFrames = dict[int, tuple[list[float], list[float], list[float], list[float]]]
"""Position and quaternion in the parent, position and quaternion in the child, of each joint by its id."""


class UsdJointWriter:
    """The joints of one world."""

    def __init__(
        self, world: World, kinematics: Kinematics, output: OutputContext, driven: Collection[int] = ()
    ) -> None:
        self.world = world
        self.driven = driven
        """The ids of joints with one axis whose springs and dampers must not be drives."""
        self.output = output
        self.plans: dict[int, AxisPlan] = {}
        for model in world.models:
            for joint in model.joints if not model.static else ():
                axis_plan = self._plan(joint)
                if axis_plan is not None:
                    self.plans[id(joint)] = axis_plan
        self.zero = kinematics.zero_poses
        self.number = {id(body): i for i, body in enumerate(world.bodies())}
        self.frames = self._frames()

    def _plan(self, joint: Joint) -> AxisPlan | None:
        """How a joint is written; None, with a recorded loss, if it cannot be written."""
        if joint.kind == "amotor":
            self.output.add_loss(joint, CATALOGUE["US302"])
            return None
        if joint.kind == "free" and (joint.loop or not _is_resisted(joint)):
            return None
        axis_plan = plan(joint)
        if axis_plan is None:
            self.output.add_loss(joint, CATALOGUE["US313"], kind=joint.kind)
        return axis_plan

    def _frames(self) -> JointFrames:
        """The frames of all joints in parent and child, rotated to their free axes."""
        joints = [joint for joint in self.world.joints() if id(joint) in self.plans]
        if not joints:
            return {}
        rotations = spatial.transform(np.array([self.plans[id(j)].rotation for j in joints]), np.zeros(3))
        inner = pose_matrices([joint.pose for joint in joints]) @ rotations
        own = [i for i, joint in enumerate(joints) if self.plans[id(joint)].in_child]
        inner[own, :3, :3] = rotations[own, :3, :3]
        outer = self.zero[[self.number[id(joint.child)] for joint in joints]] @ inner
        below = [i for i, joint in enumerate(joints) if joint.parent is not None]
        if below:
            parents = self.zero[[self.number[id(joints[i].parent)] for i in below]]
            outer[below] = spatial.inverse(parents) @ outer[below]
        sizes = np.abs(self.zero[:, :3, 3]).max(initial=0.0)
        for frames in (outer, inner):
            frames[:, :3, 3] = spatial.without_noise(frames[:, :3, 3], sizes)
        outers, inners = spatial.pose7(outer).tolist(), spatial.pose7(inner).tolist()
        return {id(j): (a[:3], a[3:], b[:3], b[3:]) for j, a, b in zip(joints, outers, inners, strict=True)}

    def is_written(self, joint: Joint) -> bool:
        return id(joint) in self.plans

    def floating_data(self, joint: Joint, bodies: dict[int, PrimPath]) -> dict[str, str]:
        """The custom data of a joint that is not written: its name, and the frames of its coordinates."""
        custom = {} if joint.implicit else {"exoskelJoint": joint.name}
        if joint.parent is None and joint.pose.is_identity and not any(joint.positions):
            return custom
        inner = joint.pose.matrix()
        outer = self.zero[self.number[id(joint.child)]] @ inner
        if joint.parent is not None:
            custom["exoskelParent"] = bodies[id(joint.parent)]
            outer = spatial.inverse(self.zero[self.number[id(joint.parent)]]) @ outer
        poses = spatial.pose7(np.stack([outer, inner]))
        size = np.abs(self.zero[:, :3, 3]).max(initial=0.0)
        parts = spatial.round_vectors(poses[:, :3], size), spatial.round_vectors(poses[:, 3:])
        rows = np.hstack(parts).tolist()
        return custom | {f"exoskelFrame{i}": " ".join(map(repr, row)) for i, row in enumerate(rows)}

    def prim(
        self, joint: Joint, name: str, bodies: dict[int, PrimPath], joints: dict[str, tuple[Joint, PrimPath]]
    ) -> Prim:
        """The prim of a joint between the prims of `bodies`; `joints` are those of its model by name."""
        axis_plan = self.plans[id(joint)]
        prim = Prim(axis_plan.type, name, item=joint)
        if joint.parent is not None:
            prim.properties["rel physics:body0"] = bodies[id(joint.parent)]
        prim.properties["rel physics:body1"] = bodies[id(joint.child)]
        outer, outer_rotation, inner, inner_rotation = self.frames[id(joint)]
        prim.properties["point3f physics:localPos0"] = tuple(outer)
        prim.properties["quatf physics:localRot0"] = tuple(outer_rotation)
        prim.properties["point3f physics:localPos1"] = tuple(inner)
        prim.properties["quatf physics:localRot1"] = tuple(inner_rotation)
        if axis_plan.axis:
            prim.properties["uniform token physics:axis"] = axis_plan.axis
        if joint.loop:
            prim.properties["uniform bool physics:excludeFromArticulation"] = True
        if joint.collide_connected:
            prim.properties["bool physics:collisionEnabled"] = True
        prim.metadata["customData"] = _custom_data(joint)
        self._add_dynamics(prim, joint, axis_plan)
        if joint.mimic is not None:
            self._add_mimic(prim, joint, joint.mimic, joints)
        self._record_losses(joint, axis_plan)
        return prim

    # --- axes -----------------------------------------------------------------------------------------

    def _add_dynamics(self, prim: Prim, joint: Joint, axis_plan: AxisPlan) -> None:
        if axis_plan.type == "PhysicsJoint":
            self._add_axis_limits(prim, axis_plan)
        rows = joint._dofs
        for freedom in axis_plan.freedoms:
            if freedom.coordinate is None:
                self._add_suspension(prim, joint, freedom)
                continue
            dof = rows[freedom.coordinate] if rows is not None else Dof()
            self._add_limits(prim, joint, freedom, dof)
            self._add_drive(prim, joint, freedom, dof)
            if rows is not None:
                _add_state(prim, freedom, dof)
        if axis_plan.type == "PhysicsSphericalJoint":
            self._add_ball(prim, joint)
        self._add_shared(prim, joint, axis_plan)

    @staticmethod
    def _add_axis_limits(prim: Prim, axis_plan: AxisPlan) -> None:
        """Add limits to every axis, including free ones: Newton moves only axes that have limits."""
        moving = {freedom.name for freedom in axis_plan.freedoms}
        for name in (*TRANSLATIONS, *ROTATIONS):
            low, high = (-inf, inf) if name in moving else (1.0, -1.0)  # crossed limits lock an axis
            prim.apis.append(f"PhysicsLimitAPI:{name}")
            prim.properties[f"float limit:{name}:physics:low"] = low
            prim.properties[f"float limit:{name}:physics:high"] = high

    def _add_limits(self, prim: Prim, joint: Joint, freedom: AxisFreedom, dof: Dof) -> None:
        low, high = _signed(dof.position_limits, freedom)
        if (low, high) == UNLIMITED:
            return
        if not joint.limits_enforced:
            self.output.add_loss(joint, CATALOGUE["US304"], "position_limits")
            return
        if low > high:
            self.output.add_loss(joint, CATALOGUE["US304.crossed"], "position_limits")
            return
        low, high = _unit(low, freedom), _unit(high, freedom)
        if prim.type == "PhysicsJoint":
            prim.properties[f"float limit:{freedom.name}:physics:low"] = low
            prim.properties[f"float limit:{freedom.name}:physics:high"] = high
            return
        for side, bound in (("lower", low), ("upper", high)):
            if isfinite(bound):
                prim.properties[f"float physics:{side}Limit"] = bound

    def _add_drive(self, prim: Prim, joint: Joint, freedom: AxisFreedom, dof: Dof) -> None:
        """Add the drive of an axis: a spring and damper, or a motor."""
        motor = self._motor(joint, freedom, dof)
        if (dof.stiffness or dof.damping) and id(joint) in self.driven:
            _add_passive_spring(prim, freedom, dof)
        elif dof.stiffness or dof.damping:
            if motor is not None:
                self.output.add_loss(joint, CATALOGUE["US203.spring"], "force_limits", "drives")
            rest = _unit(freedom.sign * dof.rest, freedom)
            _add_drive_api(prim, freedom, stiffness=dof.stiffness, damping=dof.damping, target=rest)
        elif motor is not None:
            velocity, most = motor
            _add_drive_api(
                prim, freedom, damping=MOTOR_DAMPING, speed=_unit(freedom.sign * velocity, freedom), most=most
            )

    def _motor(self, joint: Joint, freedom: AxisFreedom, dof: Dof) -> tuple[float, float] | None:
        """The target velocity of a motor (rad/s or m/s), and its maximum force (N·m or N)."""
        if joint.actuator in PRESCRIBED_ACTUATORS:
            self.output.add_loss(joint, CATALOGUE["US203.prescribed"], "actuator", actuator=joint.actuator)
            return (dof.velocity if joint.actuator == "acceleration" else 0.0), inf
        if joint.actuator == "servo":
            self.output.add_loss(joint, CATALOGUE["US203"], "actuator", "force_limits", "drives")
            return 0.0, self._larger(joint, "force_limits", "the force limit of a motor", dof.force_limits)
        place = freedom.coordinate or 0
        drive = joint.drives[place] if place < len(joint.drives) else None
        if drive is None or not drive.max_force:
            return None
        self.output.add_loss(joint, CATALOGUE["US203"], "actuator", "force_limits", "drives")
        return drive.velocity or 0.0, drive.max_force

    def _add_suspension(self, prim: Prim, joint: Joint, freedom: AxisFreedom) -> None:
        drive = joint.drives[0]
        stiffness, damping = _spring(drive.suspension_erp, drive.suspension_cfm, self.world.time_step)
        _add_drive_api(prim, freedom, stiffness=stiffness, damping=damping)
        if joint.swapped:
            self.output.add_loss(joint, CATALOGUE["US208"], "drives")

    def _add_ball(self, prim: Prim, joint: Joint) -> None:
        rows = joint._dofs or []
        if any(dof.damping for dof in rows):
            _apply(prim, "NewtonJointAPI")
            prim.properties["float newton:damping"] = radians(
                self._mean(joint, "damping", "damping", [d.damping for d in rows])
            )
        if joint.actuator not in ("force", "passive"):
            self.output.add_loss(joint, CATALOGUE["US303"], "actuator", what=f"'{joint.actuator}' actuator")
        if any(dof.stiffness for dof in rows):
            self.output.add_loss(joint, CATALOGUE["US303"], "stiffness", "rest", what="springs")
        if joint.limits_enforced and any(dof.position_limits != UNLIMITED for dof in rows):
            self._add_cone(prim, joint, rows)

    def _add_cone(self, prim: Prim, joint: Joint, rows: Sequence[Dof]) -> None:
        """Add the limits of a ball joint: a cone around the axis without limits, if both others are symmetric."""
        limits = [dof.position_limits for dof in rows]
        axis = limits.index(UNLIMITED) if UNLIMITED in limits else 0
        angles = [limits[coordinate] for coordinate in cone_coordinates(axis)]
        if limits[axis] != UNLIMITED or any(low != -high or high < 0.0 for low, high in angles):
            self.output.add_loss(joint, CATALOGUE["US303"], "position_limits", what="limits for each axis")
            return
        prim.properties["uniform token physics:axis"] = AXES[axis]
        for name, (_, high) in zip(CONE_ANGLES, angles, strict=True):
            if isfinite(high):
                prim.properties[f"float {name}"] = degrees(high)
        self.output.add_loss(joint, CATALOGUE["US217"], "position_limits", axis=AXES[axis].lower())

    # --- values for all axes --------------------------------------------------------------------------

    def _add_shared(self, prim: Prim, joint: Joint, axis_plan: AxisPlan) -> None:
        rows = joint._dofs or []
        if any(dof.friction for dof in rows):
            friction = self._mean(joint, "friction", "dry friction", [dof.friction for dof in rows])
            _apply(prim, "NewtonJointAPI", "MjcJointAPI")
            prim.properties["float newton:friction"] = friction
            prim.properties["uniform double mjc:frictionloss"] = friction
        if any(dof.armature for dof in rows):
            armature = self._mean(joint, "armature", "armature", [dof.armature for dof in rows])
            _apply(prim, "NewtonJointAPI", "MjcJointAPI")
            prim.properties["float newton:armature"] = armature
            prim.properties["uniform double mjc:armature"] = armature
        if any(dof.velocity_limits != UNLIMITED for dof in rows):
            most = [self._larger(joint, "velocity_limits", "the velocity limit", dof.velocity_limits) for dof in rows]
            fastest = self._mean(joint, "velocity_limits", "the velocity limit", most)
            _apply(prim, "NewtonJointAPI")
            is_angular = "r" in joint.motion
            prim.properties["float newton:velocityLimit"] = degrees(fastest) if is_angular else fastest
        self._add_force_limits(prim, joint, axis_plan, rows)
        self._add_stops(prim, joint, axis_plan)

    def _add_force_limits(self, prim: Prim, joint: Joint, axis_plan: AxisPlan, rows: Sequence[Dof]) -> None:
        limited = [dof.force_limits for dof in rows if dof.force_limits != UNLIMITED]
        if not limited or joint.actuator == "servo":
            return
        low, high = limited[0]
        if not axis_plan.axis or not (isfinite(low) and isfinite(high)):
            self.output.add_loss(joint, CATALOGUE["US305.force"], "force_limits")
            return
        _apply(prim, "NewtonJointAPI", "MjcJointAPI")
        prim.properties["uniform double mjc:actuatorfrcrange:min"] = low
        prim.properties["uniform double mjc:actuatorfrcrange:max"] = high

    def _add_stops(self, prim: Prim, joint: Joint, axis_plan: AxisPlan) -> None:
        """ODE's soft stops as springs."""
        soft = [drive for drive in joint.drives if drive.stop_cfm and drive.stop_cfm > 0.0]
        if not soft or not axis_plan.freedoms:
            return
        springs = [_spring(drive.stop_erp, drive.stop_cfm, self.world.time_step) for drive in soft]
        per_degree = radians(1.0) if axis_plan.freedoms[-1].is_rotation else 1.0
        _apply(prim, "NewtonJointAPI")
        for word, values in zip(("Stiffness", "Damping"), zip(*springs, strict=True), strict=True):
            prim.properties[f"float newton:limit{word}"] = per_degree * self._mean(
                joint, "drives", "a soft stop", values
            )

    def _mean(self, joint: Joint, field: str, what: str, values: Sequence[float]) -> float:
        if len(set(values)) > 1:
            self.output.add_loss(joint, CATALOGUE["US205"], field, what=what)
        return sum(values) / len(values)

    def _larger(self, joint: Joint, field: str, what: str, interval: Interval) -> float:
        low, high = interval
        if -low != high:
            self.output.add_loss(joint, CATALOGUE["US205.sides"], field, what=what)
        return max(abs(low), abs(high))

    # --- mimic ----------------------------------------------------------------------------------------

    def _add_mimic(self, prim: Prim, joint: Joint, mimic: Mimic, joints: dict[str, tuple[Joint, PrimPath]]) -> None:
        leader, path = joints.get(mimic.joint, (joint, ""))
        if not path or leader.loop:
            self.output.add_loss(joint, CATALOGUE["US309"], "mimic")
            return
        own, other = self.plans[id(joint)], self.plans[id(leader)]
        if not own.axis or not other.axis:
            self.output.add_loss(joint, CATALOGUE["US309.axes"], "mimic")
            return
        if joint.kind != leader.kind:
            self.output.add_loss(joint, CATALOGUE["US204"], "mimic")
        _apply(prim, "NewtonMimicAPI")
        prim.properties["rel newton:mimicJoint"] = path
        prim.properties["float newton:mimicCoef0"] = _unit(mimic.offset, own.freedoms[0])
        prim.properties["float newton:mimicCoef1"] = mimic.multiplier

    # --- losses ---------------------------------------------------------------------------------------

    def _record_losses(self, joint: Joint, axis_plan: AxisPlan) -> None:
        rows = joint._dofs or ()
        if joint.axes and not axis_plan.freedoms:
            self.output.add_loss(joint, CATALOGUE["US312"], "kind", "axes", *DOF_VALUES)
        if joint.kind in ("universal", "hinge2", "euler"):
            self.output.add_loss(joint, CATALOGUE["US201"], "kind", *DOF_VALUES)
        if joint.kind == "free" and any(_has_dynamics(dof) for dof in rows[:3]):
            self.output.add_loss(
                joint, CATALOGUE["US202"], "position_limits", "damping", "stiffness", "rest", changes_effect=True
            )
        if any(dof.acceleration_limits != UNLIMITED for dof in rows):
            self.output.add_loss(joint, CATALOGUE["US305"], "acceleration_limits")
        if any(dof.force or dof.acceleration for dof in rows):
            self.output.add_loss(joint, CATALOGUE["US307"], "force", "acceleration")
        for field, what in _UNSUPPORTED_DRIVE_FIELDS:
            if any(getattr(drive, field) for drive in joint.drives):
                self.output.add_loss(joint, CATALOGUE["US306"], "drives", what=what)


def _custom_data(joint: Joint) -> dict[str, str]:
    """The kind of a joint in the scene and the order of its axes, for reading back."""
    custom: dict[str, str] = {"exoskelKind": joint.kind}
    if joint.kind == "euler":
        custom["exoskelOrder"] = joint.order
    if joint.swapped:
        custom["exoskelSwapped"] = "true"
    return custom


def _apply(prim: Prim, *apis: str) -> None:
    prim.apis += [api for api in apis if api not in prim.apis]


def _add_drive_api(
    prim: Prim,
    freedom: AxisFreedom,
    *,
    stiffness: float = 0.0,
    damping: float = 0.0,
    target: float = 0.0,
    speed: float = 0.0,
    most: float = inf,
) -> None:
    """Add a drive.  Gains are in N·m/rad or N/m, dampings also times s; USD has them per degree.

    Targets are in USD's units already.
    """
    per_unit = pi / 180.0 if freedom.is_rotation else 1.0
    head = f"drive:{freedom.name}:physics"
    prim.apis.append(f"PhysicsDriveAPI:{freedom.name}")
    prim.properties[f"uniform token {head}:type"] = "force"
    prim.properties[f"float {head}:stiffness"] = stiffness * per_unit
    prim.properties[f"float {head}:damping"] = damping * per_unit
    if stiffness:
        prim.properties[f"float {head}:targetPosition"] = target
    if speed:
        prim.properties[f"float {head}:targetVelocity"] = speed
    if isfinite(most):
        prim.properties[f"float {head}:maxForce"] = most


def _add_passive_spring(prim: Prim, freedom: AxisFreedom, dof: Dof) -> None:
    """Add the spring and damper of a joint with one axis in the schemas of Newton and MuJoCo."""
    _apply(prim, "NewtonJointAPI", "MjcJointAPI")
    if dof.damping:
        prim.properties["float newton:damping"] = dof.damping * (radians(1.0) if freedom.is_rotation else 1.0)
        prim.properties["uniform double mjc:damping"] = dof.damping
    if dof.stiffness:
        prim.properties["uniform double mjc:stiffness"] = dof.stiffness
        prim.properties["uniform double mjc:springref"] = _unit(freedom.sign * dof.rest, freedom)


def _add_state(prim: Prim, freedom: AxisFreedom, dof: Dof) -> None:
    if dof.position or dof.velocity:
        prim.apis.append(f"PhysxJointStateAPI:{freedom.name}")
        prim.properties[f"float state:{freedom.name}:physics:position"] = _unit(freedom.sign * dof.position, freedom)
        prim.properties[f"float state:{freedom.name}:physics:velocity"] = _unit(freedom.sign * dof.velocity, freedom)


def _unit(value: float, freedom: AxisFreedom) -> float:
    """A value in USD's unit: degrees for rad, m unchanged."""
    return degrees(value) if freedom.is_rotation else value


def _signed(interval: Interval, freedom: AxisFreedom) -> Interval:
    low, high = interval
    return (low, high) if freedom.sign > 0.0 else (-high, -low)


def _spring(erp: float | None, cfm: float | None, step: float) -> tuple[float, float]:
    return spring_from_erp_cfm(DEFAULT_ERP if erp is None else erp, cfm or 1.0, step)


def _has_dynamics(dof: Dof) -> bool:
    return bool(dof.damping or dof.stiffness or dof.friction) or dof.position_limits != UNLIMITED


def _is_resisted(joint: Joint) -> bool:
    """Whether a free joint has limits, springs, dampers, friction or an actuator."""
    moving = joint.actuator in ("servo", *PRESCRIBED_ACTUATORS)
    return (
        moving or any(_has_dynamics(dof) for dof in joint._dofs or ()) or any(_drives(drive) for drive in joint.drives)
    )


def _drives(drive: Drive) -> bool:
    return bool(drive.max_force)
