"""Compute positions and velocities of joints from the poses and velocities of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import numpy as np

from exoskel import spatial
from exoskel.formats.usd.writing.joint_axes import ROTATIONS, AxisPlan
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.world import Model
from exoskel.spatial import Array

WITHOUT_STATE = ("ball", "free")
"""Joint kinds whose positions and velocities a file states only through their bodies."""
_TOLERANCE = 1e-4
"""The tolerance between body poses and stated joint positions, which are in single precision."""


def set_positions(joints: Sequence[Joint], plans: Sequence[AxisPlan], here: Array) -> None:
    """Set the positions that give the poses of the bodies, which are more precise than stated positions.

    Stated positions select the number of full turns of a revolute joint, and one of two equivalent sets of angles.
    `here` is the child's frame of each joint relative to the parent's frame.
    """
    stated = [i for i, joint in enumerate(joints) if joint.motion and joint.kind not in WITHOUT_STATE]
    reached = here.copy()
    reached[stated] = _relative_frames([joints[i] for i in stated])
    far = np.abs(reached - here).max(axis=(1, 2)) > _TOLERANCE * (1.0 + np.abs(here).max(axis=(1, 2)))
    angles, vectors = spatial.euler_xyz(here[:, :3, :3]), spatial.log(here[:, :3, :3])
    for i, (joint, axis_plan) in enumerate(zip(joints, plans, strict=True)):
        if not joint.motion:
            continue
        measured = _measure(joint, axis_plan, here[i], angles[i], vectors[i])
        if joint.kind not in WITHOUT_STATE:
            given = joint.positions
            measured = [
                q + 2.0 * pi * round((s - q) / (2.0 * pi)) if motion == "r" else q
                for q, s, motion in zip(measured, given, joint.motion, strict=True)
            ]
            other = any(abs(q - s) > _TOLERANCE * (1.0 + abs(s)) for q, s in zip(measured, given, strict=True))
            if other and not far[i]:
                continue  # other angles for the same rotation
        if any(measured) or joint._dofs is not None:
            joint.positions = tuple(measured)


def _relative_frames(joints: Sequence[Joint]) -> Array:
    """The child's frame relative to the parent's frame, at the positions of the joints."""
    alone = Model(name="")
    for joint in joints:
        body = Body(name="")
        axis_plan = Joint(
            name="", kind=joint.kind, child=body, axes=joint.axes, order=joint.order, swapped=joint.swapped
        )
        axis_plan.positions = joint.positions
        alone.bodies.append(body)
        alone.joints.append(axis_plan)
    return Kinematics([alone]).poses()


def _measure(joint: Joint, axis_plan: AxisPlan, here: Array, angles: Array, vector: Array) -> list[float]:
    """The positions of a joint, from the child's frame relative to the parent's frame."""
    shift: list[float] = here[:3, 3].tolist()
    match joint.kind:
        case "ball":
            found: list[float] = vector.tolist()
            return found
        case "free":
            return [*vector.tolist(), *shift]
        case "prismatic":
            return [float(np.dot(shift, joint.axes[0]))]
        case "revolute":
            return [float(vector @ joint.axes[0])]
        case "translational" | "translational2d":
            return shift[: len(joint.motion)]
        case "planar":
            return [*shift[:2], float(angles[2])]
    if joint.kind == "euler":
        angles = spatial.euler_xyz(axis_plan.rotation.T @ here[:3, :3] @ axis_plan.rotation)
    values = [0.0] * len(joint.motion)
    for freedom in axis_plan.freedoms:
        if freedom.coordinate is not None:
            values[freedom.coordinate] = freedom.sign * float(angles[ROTATIONS.index(freedom.name)])
    return values


def set_velocities(
    joint: Joint, places: tuple[Array, Array], spins: tuple[Array, Array], speeds: tuple[Array, Array]
) -> None:
    """Set the velocities of a ball or free joint from the world velocities of its parent and child."""
    (above, below), frame = places, joint.pose.matrix()
    spin = spins[1] - spins[0]
    if joint.kind == "ball":
        joint.velocities = tuple((frame[:3, :3].T @ below[:3, :3].T @ spin).tolist())
        return
    along = speeds[1] - speeds[0] - np.cross(spins[0], below[:3, 3] - above[:3, 3])
    spin, along = above[:3, :3].T @ spin, above[:3, :3].T @ along
    at_joint = along - np.cross(frame[:3, 3], spin)
    joint.velocities = (*(frame[:3, :3].T @ spin).tolist(), *(frame[:3, :3].T @ at_joint).tolist())
