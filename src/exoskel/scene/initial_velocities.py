"""Initial velocities of bodies, derived from the initial velocities of their joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from exoskel import spatial
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics, plane_frames
from exoskel.scene.model import Model
from exoskel.scene.pose import Vector
from exoskel.spatial import Array

Twist = tuple[Vector, Vector]
"""Velocity of the body origin (m/s) and angular velocity (rad/s), both in world axes."""

_VELOCITY_KINDS = frozenset({"ball", "free", "amotor"})
"""Kinds whose velocities are angular and linear velocities; those of all others are rates of their positions."""
_UNITS = {"x": np.array([1.0, 0.0, 0.0]), "y": np.array([0.0, 1.0, 0.0]), "z": np.array([0.0, 0.0, 1.0])}


def stated_twists(bodies: Iterable[Body]) -> dict[int, Twist]:
    """The initial motion of bodies that state it themselves, by the body's id."""
    return {id(body): (s.linear_velocity, s.angular_velocity) for body in bodies if (s := body.state) is not None}


def initial_twists(
    models: Sequence[Model], kinematics: Kinematics, stated: Mapping[int, Twist] | None = None
) -> dict[int, Twist]:
    """The initial motion of every body that moves, by the body's id.

    A `stated` motion overrides that of the joint and also moves the bodies below.
    """
    joints = [joint for model in models for joint in model.joints if not joint.loop]
    if not stated and not any(joint._dofs and any(joint.velocities) for joint in joints):
        return {}
    transforms = kinematics.poses()
    number = {id(body): i for i, body in enumerate(body for model in models for body in model.bodies)}
    relative = kinematics.relative(kinematics.initial)
    spin, speed = np.zeros((len(number), 3)), np.zeros((len(number), 3))
    for i, joint in enumerate(joints):
        child = number[id(joint.child)]
        parent = np.eye(4) if joint.parent is None else transforms[number[id(joint.parent)]]
        own_spin, own_speed = _joint_twist(joint, relative[i], kinematics.from_parent[i], kinematics.to_child[i])
        offset = transforms[child][:3, 3] - parent[:3, 3]
        index = -1 if joint.parent is None else number[id(joint.parent)]
        parent_spin, parent_speed = (np.zeros(3), np.zeros(3)) if index < 0 else (spin[index], speed[index])
        spin[child] = parent_spin + parent[:3, :3] @ own_spin
        speed[child] = parent_speed + np.cross(parent_spin, offset) + parent[:3, :3] @ own_speed
        if stated is not None and id(joint.child) in stated:
            speed[child], spin[child] = stated[id(joint.child)]
    return {body: _twist(speed[i], spin[i]) for body, i in number.items() if speed[i].any() or spin[i].any()}


def _joint_twist(joint: Joint, here: Array, frame: Array, to_child: Array) -> tuple[Array, Array]:
    """Angular velocity and velocity of the child's origin, in the axes of the parent.

    `here` is the child in the parent; `frame` is the joint in the parent, `to_child` the child in the joint.
    """
    if not any(joint.velocities):
        return np.zeros(3), np.zeros(3)
    if joint.kind not in _VELOCITY_KINDS:
        if joint.collapses and np.array_equal(here, np.eye(4)):
            return np.zeros(3), np.zeros(3)
        spin, speed = _twist_from_rates(joint)
        rotation = frame[:3, :3].T @ here[:3, :3] @ to_child[:3, :3].T
        return frame[:3, :3] @ spin, frame[:3, :3] @ (speed + np.cross(spin, rotation @ to_child[:3, 3]))
    spin, speed = free_twist(joint, np.array([*joint.velocities, 0.0, 0.0, 0.0][:6]))
    # A free joint's velocity is in the axes of the parent, a ball joint's in those of the child.
    return (spin, speed) if joint.kind != "ball" else (here[:3, :3] @ spin, here[:3, :3] @ speed)


def _twist_from_rates(joint: Joint) -> tuple[Array, Array]:
    """Angular velocity and velocity of the moved frame's origin, in the joint frame of the parent."""
    rates, still = np.array(joint.velocities), np.zeros(3)
    match joint.kind:
        case "translational":
            return still, rates
        case "translational2d" | "planar":
            one, two, normal = (direction[0] for direction in plane_frames([joint]))
            spin = normal * rates[2] if joint.kind == "planar" else still
            return spin, one * rates[0] + two * rates[1]
        case "euler":
            return _angular_velocity([_UNITS[axis] for axis in joint.order], joint.positions, rates), still
    axes = spatial.unit(np.array(joint.axes))
    if joint.kind == "prismatic":
        return still, axes[0] * rates[0]
    if joint.swapped and joint.kind in ("universal", "hinge2"):
        return _angular_velocity(list(axes[::-1]), joint.positions[::-1], rates[::-1]), still
    spin = _angular_velocity(list(axes), joint.positions, rates)
    return spin, spin * joint.pitch / (2 * np.pi) if joint.kind == "screw" else still


def _angular_velocity(axes: Sequence[Array], angles: Sequence[float], rates: Array) -> Array:
    """The angular velocity of successive rotations, each about an axis that the previous ones have rotated."""
    spin, rotation = np.zeros(3), np.eye(3)
    for axis, angle, rate in zip(axes, angles, rates.tolist(), strict=True):
        spin = spin + rotation @ axis * rate
        rotation = rotation @ spatial.axis_angle_matrix(axis, np.array(angle))
    return spin


def free_twist(joint: Joint, velocities: Array) -> tuple[Array, Array]:
    """The six velocities of a free joint as angular velocity and velocity of the child's origin, in parent axes."""
    frame = joint.pose.matrix()
    spin: Array = frame[:3, :3] @ velocities[:3]
    return spin, np.cross(frame[:3, 3], spin) + frame[:3, :3] @ velocities[3:]


def _twist(speed: Array, spin: Array) -> Twist:
    (a, b, c), (x, y, z) = spatial.without_noise(np.stack([speed, spin])).tolist()
    return (a, b, c), (x, y, z)


def bodies_moved_by_initial_positions(model: Model) -> set[int]:
    """The ids of the bodies that initial joint positions move: those of their own joint or of joints above it."""
    parent_joints = {id(joint.child): joint for joint in model.joints if not joint.loop}
    moved: dict[int, bool] = {}
    for body in model.bodies:
        chain: list[int] = []
        found, here = False, parent_joints.get(id(body))
        while here is not None and not found:
            if id(here.child) in moved:
                found = moved[id(here.child)]
                break
            chain.append(id(here.child))
            found = any(here.positions)
            here = None if here.parent is None else parent_joints.get(id(here.parent))
        # The whole chain lies below the joint where the search ended, so the result applies to all of it.
        moved.update(dict.fromkeys(chain, found))
    return {body for body, has_moved in moved.items() if has_moved}
