"""Write poses."""

from __future__ import annotations

from exoskel import spatial
from exoskel.scene.pose import Euler, Pose
from exoskel.source.markup import Markup, format_numbers


def add_pose(element: Markup, pose: Pose) -> None:
    if not pose.is_identity:
        element.add("pose", pose_text(pose))


def pose_text(pose: Pose) -> str:
    """Position, then roll, pitch and yaw about fixed axes, preserved if the scene has them and computed otherwise."""
    return format_numbers((*pose.position, *_angles(pose)))


def _angles(pose: Pose) -> tuple[float, float, float]:
    rotation = pose.rotation
    if isinstance(rotation, Euler) and rotation.order == "zyx":
        yaw, pitch, roll = rotation.in_radians
        return (roll, pitch, yaw)
    if isinstance(rotation, Euler) and rotation.order == "xyz" and rotation.angles.count(0.0) > 1:
        return rotation.in_radians  # for a single axis the order does not matter
    # R = Rz(yaw) Ry(pitch) Rx(roll) means that its inverse is Rx(-roll) Ry(-pitch) Rz(-yaw).
    roll, pitch, yaw = (-spatial.euler_xyz(rotation.matrix().T)).tolist()
    return (roll, pitch, yaw)
