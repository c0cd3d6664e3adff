"""How bodies move at the initial state, from the velocities of their joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exoskel import spatial
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import Vector
from exoskel.scene.world import Model
from exoskel.spatial import Array

Twist = tuple[Vector, Vector]
"""Velocity of the body origin (m/s) and angular velocity (rad/s), both in world axes."""

_STEP = 1e-6
_BY_RATE = frozenset(TRAITS) - {"weld", "ball", "free", "amotor"}
"""Kinds whose velocities are the rates of their positions."""
_BY_VELOCITY = frozenset({"ball", "free", "amotor"})
"""Kinds whose velocities are angular and linear velocities."""


def twists(
    models: Sequence[Model], kinematics: Kinematics, stated: Mapping[int, Twist] | None = None
) -> dict[int, Twist]:
    """The motion of every body that moves at all, by the body's id.

    Bodies whose motion is `stated` move like that, whatever their joints do, and take along what hangs on them.
    """
    joints = [joint for model in models for joint in model.joints if not joint.loop]
    transforms = kinematics.poses()
    number = {id(body): i for i, body in enumerate(body for model in models for body in model.bodies)}
    relative = kinematics.relative(kinematics.initial)
    ahead, behind = (kinematics.relative(kinematics.initial + sign * _rates(joints)) for sign in (_STEP, -_STEP))
    spin, speed = np.zeros((len(number), 3)), np.zeros((len(number), 3))
    for i, joint in enumerate(joints):
        child = number[id(joint.child)]
        parent = np.eye(4) if joint.parent is None else transforms[number[id(joint.parent)]]
        own_spin, own_speed = _own(joint, relative[i], ahead[i], behind[i])
        offset = transforms[child][:3, 3] - parent[:3, 3]
        above = (np.zeros(3), np.zeros(3)) if joint.parent is None else _of(number[id(joint.parent)], spin, speed)
        spin[child] = above[0] + parent[:3, :3] @ own_spin
        speed[child] = above[1] + np.cross(above[0], offset) + parent[:3, :3] @ own_speed
        if stated is not None and id(joint.child) in stated:
            speed[child], spin[child] = stated[id(joint.child)]
    return {body: _pair(speed[i], spin[i]) for body, i in number.items() if speed[i].any() or spin[i].any()}


def _rates(joints: Sequence[Joint]) -> Array:
    return np.array(
        [rate if joint.kind in _BY_RATE else 0.0 for joint in joints for rate in joint.velocities], dtype=float
    )


def _own(joint: Joint, here: Array, ahead: Array, behind: Array) -> tuple[Array, Array]:
    """Angular velocity, and velocity of the child's origin, in the axes of the parent."""
    if joint.kind in _BY_RATE:
        spin = spatial.log(ahead[:3, :3] @ behind[:3, :3].T) / (2 * _STEP)
        return spin, (ahead[:3, 3] - behind[:3, 3]) / (2 * _STEP)
    if joint.kind not in _BY_VELOCITY:
        return np.zeros(3), np.zeros(3)
    spin, speed = free_twist(joint, np.array([*joint.velocities, 0.0, 0.0, 0.0][:6]))
    # A free joint's velocity is in the axes of the parent, a ball joint's in those of the child.
    return (spin, speed) if joint.kind != "ball" else (here[:3, :3] @ spin, here[:3, :3] @ speed)


def free_twist(joint: Joint, velocities: Array) -> tuple[Array, Array]:
    """The six velocities of a free joint as angular velocity and velocity of the child's origin, in parent axes."""
    frame = joint.pose.matrix()
    spin: Array = frame[:3, :3] @ velocities[:3]
    return spin, np.cross(frame[:3, 3], spin) + frame[:3, :3] @ velocities[3:]


def _of(index: int, spin: Array, speed: Array) -> tuple[Array, Array]:
    return spin[index], speed[index]


def _pair(speed: Array, spin: Array) -> Twist:
    (a, b, c), (x, y, z) = speed.tolist(), spin.tolist()
    return (a, b, c), (x, y, z)


def moved_at_start(model: Model) -> set[int]:
    """The ids of the bodies that initial positions move, their own joint's or those of joints further up."""
    holders = {id(joint.child): joint for joint in model.joints if not joint.loop}
    moved: dict[int, bool] = {}
    for body in model.bodies:
        chain: list[int] = []
        found, here = False, holders.get(id(body))
        while here is not None and not found:
            if id(here.child) in moved:
                found = moved[id(here.child)]
                break
            chain.append(id(here.child))
            found = any(here.positions)
            here = None if here.parent is None else holders.get(id(here.parent))
        # All of the chain lies below where the search ended, so what was found holds for all of it.
        moved.update(dict.fromkeys(chain, found))
    return {body for body, has_moved in moved.items() if has_moved}
