"""Joints that move alike although they are stated in other frames, with other axes, or as another kind.

A format without frames of joints states the same motion in the frame of the body.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel import spatial
from exoskel.scene.fields import DOF_FIELDS, dof_rows, transform_differences
from exoskel.scene.joint import PLANES, UNLIMITED, Joint
from exoskel.scene.kinematics import free_twist
from exoskel.spatial import Array

FORMS = frozenset({"pose", "axes", "plane", "order"})
"""Fields of a joint that state its axes, if its kind has any."""
_IN_PLANES = frozenset({"planar", "translational2d"})
"""Kinds of joints whose axes may be stated as the name of a plane."""
ROTATING = frozenset({"ball", "free"})
"""Kinds whose coordinates are vectors in their frame."""
_STATE = frozenset({"position", "velocity"})
_RIGID = frozenset({"universal", "hinge2"})
"""Kinds that are the same without a suspension."""


def move_alike(one: Joint, other: Joint, tolerance: float) -> bool:
    """Whether two joints move along the same axes, and ball and free joints from the same state."""
    if one.kind != other.kind and not (_is_rigid(one) and _is_rigid(other)):
        return False
    if one.kind == "weld":
        return True
    if one.kind in ROTATING:
        return one.pose == other.pose or _rotate_alike(one, other, tolerance)
    frames = [joint.pose.matrix() for joint in (one, other)]
    turned = [_axes(joint) @ frame[:3, :3].T for joint, frame in zip((one, other), frames, strict=True)]
    if turned[0].shape != turned[1].shape or abs(one.pitch - other.pitch) > tolerance or one.swapped != other.swapped:
        return False
    places = [frame[:3, 3] for frame in frames]
    return max(float(np.abs(np.subtract(*pair)).max()) for pair in (turned, places)) <= tolerance


def _axes(joint: Joint) -> Array:
    """The axes of a joint in its frame, in the order of its coordinates."""
    if joint.kind == "euler":
        return np.eye(3)[["xyz".index(letter) for letter in joint.order]]
    if joint.kind == "translational":
        return np.eye(3)
    found: Array = np.array(PLANES.get(joint.plane, joint.axes) if joint.kind in _IN_PLANES else joint.axes)
    return found


def _is_rigid(joint: Joint) -> bool:
    """Whether a joint has two hinges and nothing else, such as a suspension."""
    return joint.kind in _RIGID and not any(drive.suspension_cfm for drive in joint.drives)


def _rotate_alike(one: Joint, other: Joint, tolerance: float) -> bool:
    """Whether ball or free joints with other frames have the same state, and nothing that depends on the frame."""
    rows = [[_values(row) for row in dof_rows(joint)] for joint in (one, other)]
    if rows[0] != rows[1] or one.kind != other.kind:
        return False
    has_same_place = np.abs(np.subtract(one.pose.position, other.pose.position)).max() <= tolerance
    if not (has_same_place or one.kind == "free") or not _is_isotropic(rows[0], is_free=one.kind == "free"):
        return False
    moved = [_displacement(joint)[None] for joint in (one, other)]
    if transform_differences(*moved)[0] > tolerance:
        return False
    speeds = [np.concatenate(free_twist(joint, _six(joint.velocities))) for joint in (one, other)]
    return bool(np.abs(np.subtract(*speeds)).max() <= tolerance * max(1.0, float(np.abs(speeds[0]).max())))


def _values(row: Sequence[object]) -> tuple[object, ...]:
    """The values of a degree of freedom besides its state and name."""
    return tuple(value for name, value in zip(DOF_FIELDS, row, strict=True) if name not in _STATE | {"name"})


def _is_isotropic(rows: Sequence[tuple[object, ...]], *, is_free: bool) -> bool:
    """Whether what acts on a joint does not depend on its frame: nothing on a free joint, the same about all axes."""
    names = [name for name in DOF_FIELDS if name not in _STATE | {"name"}]
    first = dict(zip(names, rows[0], strict=True))
    if any(row != rows[0] for row in rows) or first["rest"]:
        return False
    acting = ("damping", "friction", "stiffness", "armature") if is_free else ()
    return first["position_limits"] == first["force_limits"] == UNLIMITED and not any(first[name] for name in acting)


def _displacement(joint: Joint) -> Array:
    """The pose of the child in its pose at zero positions."""
    frame, moved = joint.pose.matrix(), _six(joint.positions)
    here: Array = frame @ spatial.transform(spatial.exp(moved[:3]), moved[3:]) @ spatial.inverse(frame)
    if joint.kind == "ball":
        here[:3, 3] = 0.0
    return here


def _six(values: Sequence[float]) -> Array:
    return np.array([*values, 0.0, 0.0, 0.0][:6])
