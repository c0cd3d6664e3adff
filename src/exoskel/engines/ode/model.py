"""A world for ODE: rigid bodies with the origin at the centre of mass, joints and motors.

Joints are at zero positions: ODE's coordinates are zero there too.  ODE measures its first body relative to the second.
Where the child comes second, the axes are reversed, which gives the same joint with the same coordinate.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.formats.xode.vocabulary import DRIVE_ATTRIBUTES, JOINT_KINDS
from exoskel.scene.body import Body, BodyState
from exoskel.scene.collision_filter import connected_pairs
from exoskel.scene.joint import PRESCRIBED_ACTUATORS, STOPS, UNLIMITED, Dof, Drive, Joint, erp_cfm_from_spring
from exoskel.scene.kinematics import Kinematics, initial_twists
from exoskel.scene.model import Model
from exoskel.scene.moment_checks import check_moment
from exoskel.scene.pose import ZERO
from exoskel.scene.summary import moments
from exoskel.scene.world import World
from exoskel.spatial import Array

STATIC = -1
"""The number of all bodies that never move: ODE has no body for them."""


class OdeBodies:
    """All bodies of a world, which of them move, and their poses.

    `number` is a body's number among the moving ones, by id; `STATIC` for those of static models and those that are
    welded to the world, which need no mass.  `index` is its number among all.  `zero` and `start` are the world poses
    of all bodies, at zero and at initial positions.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.all = list(world.bodies())
        self.index = {id(body): i for i, body in enumerate(self.all)}
        kinematics = Kinematics(world.models)
        self.zero, self.start = kinematics.zero_poses, kinematics.poses()
        _require_finite(self.all, self.start)
        static = {body for model in world.models for body in _static_bodies(model)}
        self.moving = [body for body in self.all if id(body) not in static]
        self.number = dict.fromkeys(static, STATIC) | {id(body): i for i, body in enumerate(self.moving)}
        self.rows = np.array([self.index[id(body)] for body in self.moving], dtype=np.intp)
        self.coms = np.array([body.com for body in self.moving]).reshape(-1, 3)
        self.masses = np.array([body.mass for body in self.moving])
        self.moments = moments(self.moving)
        self.twists = self._twists(kinematics)

    def _twists(self, kinematics: Kinematics) -> Array:
        """Initial angular velocities, and velocities of the centres of mass, of the bodies that move."""
        found = initial_twists(self.world.models, kinematics)
        pairs = [found.get(id(body), (ZERO, ZERO)) for body in self.moving]
        spin = np.array([spin for _, spin in pairs]).reshape(-1, 3)
        speed = np.array([speed for speed, _ in pairs]).reshape(-1, 3)
        arm = (self.start[self.rows, :3, :3] @ self.coms[..., None])[..., 0]
        return np.hstack([spin, speed + np.cross(spin, arm)])

    def records(self) -> list[dict[str, Any]]:
        """The records that the worker builds the bodies from; poses are those of the centres of mass, in body axes."""
        centres = spatial.transform(np.eye(3), self.coms)
        zero, start = (spatial.pose7(poses[self.rows] @ centres) for poses in (self.zero, self.start))
        return [self._record(i, body, zero[i], start[i]) for i, body in enumerate(self.moving)]

    def _record(self, number: int, body: Body, zero: Array, start: Array) -> dict[str, Any]:
        moment = self.moments[number].tolist()
        _require_mass(body, moment)
        state = body.state or BodyState()
        return {
            "mass": body.mass,
            "moment": moment,
            "zero": zero.tolist(),
            "start": start.tolist(),
            "twist": self.twists[number].tolist(),
            "gravity": body.gravity,
            "enabled": state.enabled,
            "force": state.force,
            "torque": state.torque,
            "finite": [state.finite_rotation.mode, *state.finite_rotation.axis],
        }

    # --- from ODE back to the scene -------------------------------------------------------------------

    def poses(self, centres: Array) -> Array:
        """World poses of all bodies, from those of the centres of mass of the moving ones, x y z qw qx qy qz."""
        out = self.start.copy()
        if len(self.moving):
            moved = spatial.transform(spatial.quaternion_matrix(centres[:, 3:]), centres[:, :3])
            out[self.rows] = moved @ spatial.transform(np.eye(3), -self.coms)
        return out

    def origin_twists(self, poses: Array, moving: Array) -> Array:
        """Angular velocities, and velocities of the origins, of all bodies."""
        out = np.zeros((len(self.all), 6))
        arm = (poses[self.rows, :3, :3] @ self.coms[..., None])[..., 0]
        out[self.rows] = moving
        out[self.rows, 3:] -= np.cross(moving[:, :3], arm)
        return out

    def energy(self, poses: Array, moving: Array) -> tuple[float, float]:
        """Kinetic energy, and potential energy in the world's gravity, in J."""
        rotation = poses[self.rows, :3, :3]
        spin = (np.swapaxes(rotation, 1, 2) @ moving[:, :3, None])[..., 0]
        rotational = np.einsum("ni,nij,nj->", spin, spatial.moment_matrix(self.moments), spin)
        kinetic = 0.5 * (rotational + float(self.masses @ np.sum(moving[:, 3:] ** 2, axis=1)))
        centres = poses[self.rows, :3, 3] + (rotation @ self.coms[..., None])[..., 0]
        weights = self.masses * np.array([body.gravity for body in self.moving], dtype=float)
        return float(kinetic), -float(weights @ (centres @ np.array(self.world.gravity)))


def _static_bodies(model: Model) -> set[int]:
    """The ids of the bodies that never move."""
    if model.static:
        return {id(body) for body in model.bodies}
    static: set[int] = set()
    for joint in model.joints:  # parents precede children
        if joint.kind == "weld" and not joint.loop and (joint.parent is None or id(joint.parent) in static):
            static.add(id(joint.child))
    return static


def _require_mass(body: Body, moment: list[float]) -> None:
    """Raise for masses and inertia tensors that ODE cannot invert: it crashes on them."""
    if not (np.isfinite(body.mass) and body.mass > 0.0):
        raise ExoskelError(f"ODE cannot move body {body.name!r}: its mass is {body.mass:g} kg")
    xx, yy, zz, xy, xz, yz = moment
    found = check_moment((xx, yy, zz, xy, xz, yz))
    if not found.definite or found.singular:
        raise ExoskelError(
            f"ODE cannot move body {body.name!r}: its moment of inertia is not positive definite "
            f"(eigenvalues {', '.join(f'{value:g}' for value in found.eigenvalues)})"
        )


def _require_finite(bodies: list[Body], poses: Array) -> None:
    lost = np.flatnonzero(~np.isfinite(poses).all(axis=(1, 2)))
    if lost.size:
        raise ExoskelError(f"ODE cannot place body {bodies[int(lost[0])].name!r}: its position is not finite")


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


# --- joints --------------------------------------------------------------------------------------------


TYPES: dict[str, str] = {kind: type for type, kind in JOINT_KINDS.items()}
"""ODE's joints, which have the names of XODE, by joint kind."""
PARAMETERS = {field: name for name, (field, _) in DRIVE_ATTRIBUTES.items() if field not in STOPS}
"""ODE's parameters of an axis, which have the names of XODE, by the fields of `Drive`; stops depend on the state."""
_PERPENDICULAR = 1e-3
"""Cosine up to which two axes count as perpendicular."""


class OdeJoints:
    """The records of all joints; `limits` switches stops on or off, by default each joint decides."""

    def __init__(self, bodies: OdeBodies, limits: bool | None, step: float) -> None:
        self.bodies = bodies
        self.limits = limits
        self.records: list[dict[str, Any]] = []
        self.motors = Motors(step)
        self.coordinates: list[tuple[int, int, int]] = []
        """The coordinates that ODE measures: their number in the state, that of the joint, and that of its axis."""
        first = 0
        for model in bodies.world.models:
            for joint in model.joints:
                if not model.static:
                    self._add(model, joint, first)
                first += joint.dof_count

    def _add(self, model: Model, joint: Joint, first: int) -> None:
        ends = self._ends(joint)
        if ends is None:
            return
        self._refuse(model, joint, ends)
        frame = self.bodies.zero[self.bodies.index[id(joint.child)]] @ joint.pose.matrix()
        axes = [frame[:3, :3] @ spatial.unit(axis) for axis in joint.axes]
        order = _order(joint, ends)
        if joint.kind == "amotor":
            self._amotor(joint, ends, axes)
        elif joint.kind in TYPES:
            self.records.append(
                {
                    "type": TYPES[joint.kind],
                    "bodies": ends.pair,
                    "anchor": frame[:3, 3].tolist(),
                    "axes": [(ends.sign * axes[i]).tolist() for i in order],
                    "parameters": [self._parameters(joint, i) for i in order],
                    "start": [joint.positions[i] for i in order],
                }
            )
            if not joint.loop:
                self.coordinates += [(first + i, len(self.records) - 1, at) for at, i in enumerate(order)]
        self.motors.add(joint, ends, frame, axes, order, len(self.records) - 1)

    def _ends(self, joint: Joint) -> Ends | None:
        """The two bodies of a joint; None if neither moves."""
        child = self.bodies.number[id(joint.child)]
        parent = STATIC if joint.parent is None else self.bodies.number[id(joint.parent)]
        if child == parent == STATIC:
            return None
        child_first = joint.swapped if joint.kind == "hinge2" else True
        if STATIC in (child, parent):
            child_first = child != STATIC
        return Ends(child, parent, True) if child_first else Ends(parent, child, False)

    def _amotor(self, joint: Joint, ends: Ends, axes: list[Array]) -> None:
        """Add one motor per axis, all fixed in the world: the same equations as one motor with three axes."""
        for number, axis in enumerate(axes):
            drive = joint.drives[number] if number < len(joint.drives) else Drive()
            stops = {"LoStop": drive.low_stop, "HiStop": drive.high_stop}
            given = {name: value for name, value in stops.items() if value is not None and self.limits is not False}
            self.records.append(
                {
                    "type": "amotor",
                    "bodies": ends.pair,
                    "frame": 0,
                    "axes": [(ends.sign * axis).tolist()],
                    "parameters": [given | _drive_parameters(drive)],
                    "start": [0.0],
                }
            )

    def _parameters(self, joint: Joint, coordinate: int) -> dict[str, float]:
        out: dict[str, float] = {}
        if coordinate < len(joint.drives):
            out |= _drive_parameters(joint.drives[coordinate])
        limited = joint.limits_enforced if self.limits is None else self.limits
        low, high = joint.dofs[coordinate].position_limits if joint._dofs else UNLIMITED
        if limited and low <= high and joint.actuator not in PRESCRIBED_ACTUATORS:
            out |= {name: value for name, value in (("LoStop", low), ("HiStop", high)) if abs(value) != inf}
        return out

    def _refuse(self, model: Model, joint: Joint, ends: Ends) -> None:
        name = f"joint {joint.name!r} of model {model.name!r}"
        if joint.kind != "free" and joint.kind not in TYPES:
            raise ExoskelError(f"ODE has no {joint.kind} joints ({name})")
        if joint.kind == "hinge2" and STATIC in ends.pair:
            raise ExoskelError(f"ODE's hinge2 joints need two moving bodies, but one body of {name} is static")
        if joint.kind == "universal" and abs(float(np.prod(spatial.unit(joint.axes), axis=0).sum())) > _PERPENDICULAR:
            raise ExoskelError(f"ODE's universal joints need perpendicular axes, but those of {name} are not")


def _order(joint: Joint, ends: Ends) -> list[int]:
    """The coordinates of ODE's axes.

    The first of two axes is fixed in the first body.  A universal joint may swap its bodies; with the environment
    first, ODE computes one of the angles wrongly.
    """
    if joint.kind != "universal":
        return list(range(len(joint.axes)))
    in_child = 0 if joint.swapped else 1
    return [in_child, 1 - in_child] if ends.child_first else [1 - in_child, in_child]


def _drive_parameters(drive: Drive) -> dict[str, float]:
    found = {name: getattr(drive, field) for field, name in PARAMETERS.items()}
    return {name: value for name, value in found.items() if value is not None}


def connected_numbers(bodies: OdeBodies) -> list[list[int]]:
    """Pairs of bodies, by number, that do not collide because a joint connects them."""
    number, models = bodies.number, bodies.world.models
    pairs = [[number[id(parent)], number[id(child)]] for model in models for parent, child in connected_pairs(model)]
    return pairs + [[number[id(j.child)], STATIC] for model in models for j in model.joints if j.parent is None]
