"""Frames in URDF: a position in m, and roll, pitch, yaw in rad about fixed x, y, z axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import numpy as np

from exoskel import spatial
from exoskel.scene.pose import IDENTITY, ZERO, Euler, Pose, Vector
from exoskel.source.flat_tree import Node
from exoskel.source.markup import Markup, format_numbers
from exoskel.spatial import Array

_ROLL_PITCH_YAW = "zyx"
"""Rotations about fixed x, y, z equal intrinsic rotations about z, y, x."""


def pose_of(origin: Node | None) -> Pose:
    """The pose of an origin element, with its angles preserved."""
    if origin is None:
        return IDENTITY
    roll, pitch, yaw = origin.fields.get("@rpy", ZERO)
    position: Vector = origin.fields.get("@xyz", ZERO)
    if roll == pitch == yaw == 0.0:
        return Pose(position)
    return Pose(position, Euler((yaw, pitch, roll), _ROLL_PITCH_YAW))


def roll_pitch_yaw(rotation: Array) -> Vector:
    # R = Rz(yaw) Ry(pitch) Rx(roll), so the transpose is Rx(-roll) Ry(-pitch) Rz(-yaw).
    roll, pitch, yaw = (-spatial.euler_xyz(rotation.T) + 0.0).tolist()
    return (roll, pitch, yaw)


def add_pose(element: Markup, pose: Pose, frame: Array | None = None) -> None:
    """Add an origin element for a pose that is relative to the parent of `frame`; roll, pitch, yaw are preserved."""
    rotation = pose.rotation
    if frame is None and isinstance(rotation, Euler) and rotation.angles == ZERO:
        _add(element, pose.position, ZERO)
        return
    if frame is None and isinstance(rotation, Euler) and rotation.order == _ROLL_PITCH_YAW:
        yaw, pitch, roll = rotation.in_radians
        if max(abs(roll), abs(pitch), abs(yaw)) <= pi:
            _add(element, pose.position, (roll, pitch, yaw))
            return
    matrix = pose.matrix()
    add_transform(element, matrix if frame is None else spatial.inverse(frame) @ matrix)


def add_transform(element: Markup, transform: Array) -> None:
    rotation = transform[:3, :3]
    rotated = ZERO if np.array_equal(rotation, np.eye(3)) else roll_pitch_yaw(rotation)
    _add(element, transform[:3, 3].tolist(), rotated)


def _add(element: Markup, xyz: Sequence[float], rpy: Sequence[float]) -> None:
    given = {name: format_numbers(values) for name, values in (("xyz", xyz), ("rpy", rpy)) if any(values)}
    if given:
        element.children.append(Markup("origin", given))
