"""Positions and velocities of joints, from where bodies stand and how they move."""

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

UNSTATED = ("ball", "free")
"""Joints of which a file states no positions and velocities beside those of the bodies."""
_SAME = 1e-4
"""How far the places of bodies may be from the positions stated beside them, which are in single precision."""


def set_positions(joints: Sequence[Joint], plans: Sequence[AxisPlan], here: Array) -> None:
    """Positions that lead to where the bodies stand, which is known better than what is stated beside it.

    What is stated tells how often a hinge has turned, and which of two sets of angles is meant.  `here` is the frame
    on the child's side in that on the parent's, of each joint.
    """
    stated = [i for i, joint in enumerate(joints) if joint.motion and joint.kind not in UNSTATED]
    reached = here.copy()
    reached[stated] = _moved([joints[i] for i in stated])
    far = np.abs(reached - here).max(axis=(1, 2)) > _SAME * (1.0 + np.abs(here).max(axis=(1, 2)))
    angles, vectors = spatial.euler_xyz(here[:, :3, :3]), spatial.log(here[:, :3, :3])
    for i, (joint, made) in enumerate(zip(joints, plans, strict=True)):
        if not joint.motion:
            continue
        measured = _measured(joint, made, here[i], angles[i], vectors[i])
        if joint.kind not in UNSTATED:
            said = joint.positions
            measured = [
                q + 2.0 * pi * round((s - q) / (2.0 * pi)) if motion == "r" else q
                for q, s, motion in zip(measured, said, joint.motion, strict=True)
            ]
            other = any(abs(q - s) > _SAME * (1.0 + abs(s)) for q, s in zip(measured, said, strict=True))
            if other and not far[i]:
                continue  # other angles for the same rotation
        if any(measured) or joint._dofs is not None:
            joint.positions = tuple(measured)


def _moved(joints: Sequence[Joint]) -> Array:
    """The frame on the child's side in that on the parent's, at the positions that joints have."""
    alone = Model(name="")
    for joint in joints:
        body = Body(name="")
        made = Joint(name="", kind=joint.kind, child=body, axes=joint.axes, order=joint.order, swapped=joint.swapped)
        made.positions = joint.positions
        alone.bodies.append(body)
        alone.joints.append(made)
    return Kinematics([alone]).poses()


def _measured(joint: Joint, made: AxisPlan, here: Array, angles: Array, vector: Array) -> list[float]:
    """Positions from the frame on the child's side in that on the parent's, in the axes of the scene's joint."""
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
        angles = spatial.euler_xyz(made.turn.T @ here[:3, :3] @ made.turn)
    values = [0.0] * len(joint.motion)
    for freedom in made.freedoms:
        if freedom.coordinate is not None:
            values[freedom.coordinate] = freedom.sign * float(angles[ROTATIONS.index(freedom.name)])
    return values


def set_velocities(
    joint: Joint, places: tuple[Array, Array], spins: tuple[Array, Array], speeds: tuple[Array, Array]
) -> None:
    """Velocities of a ball or free joint, from the motion of its parent and child, in world axes."""
    (above, below), frame = places, joint.pose.matrix()
    spin = spins[1] - spins[0]
    if joint.kind == "ball":
        joint.velocities = tuple((frame[:3, :3].T @ below[:3, :3].T @ spin).tolist())
        return
    along = speeds[1] - speeds[0] - np.cross(spins[0], below[:3, 3] - above[:3, 3])
    spin, along = above[:3, :3].T @ spin, above[:3, :3].T @ along
    at_joint = along - np.cross(frame[:3, 3], spin)
    joint.velocities = (*(frame[:3, :3].T @ spin).tolist(), *(frame[:3, :3].T @ at_joint).tolist())
