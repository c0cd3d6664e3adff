"""Poses that store the rotation as it was written.

The matrix is derived on demand: converting Euler angles to a quaternion and back would change the last digits of nearly
every file.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import radians

import numpy as np
from numpy.typing import ArrayLike

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.edit_tracking import CheckedValue
from exoskel.scene.field_checks import ConvertedField, NumberRows, NumberSequence, initially
from exoskel.spatial import Array

Vector = tuple[float, float, float]
ZERO: Vector = (0.0, 0.0, 0.0)


class Euler(CheckedValue, frozen=True, gc=False, tag="euler"):
    """Intrinsic Euler angles about the axes in `order`."""

    angles: ConvertedField[Vector, NumberSequence] = initially(ZERO)
    order: str = "xyz"
    degrees: bool = False

    def matrix(self) -> Array:
        """The rotation matrix, `(3, 3)`."""
        if self is NO_ROTATION:  # by far the most frequent one
            return _NO_ROTATION_MATRIX.copy()
        return spatial.euler_matrix(self.in_radians, self.order)

    @property
    def in_radians(self) -> Vector:
        if not self.degrees:
            return self.angles
        a, b, c = self.angles
        return (radians(a), radians(b), radians(c))


class Quaternion(CheckedValue, frozen=True, gc=False, tag="quaternion"):
    """A quaternion as written; it is normalised when used."""

    wxyz: ConvertedField[tuple[float, float, float, float], NumberSequence] = initially((1.0, 0.0, 0.0, 0.0))

    def matrix(self) -> Array:
        """The rotation matrix, `(3, 3)`."""
        return spatial.quaternion_matrix(self.wxyz)


class AxisAngle(CheckedValue, frozen=True, gc=False, tag="axis_angle"):
    """A right-handed rotation about an axis, which may have any length but zero."""

    axis: ConvertedField[Vector, NumberSequence] = initially((0.0, 0.0, 1.0))
    angle: float = 0.0
    degrees: bool = False

    def matrix(self) -> Array:
        """The rotation matrix, `(3, 3)`."""
        angle = radians(self.angle) if self.degrees else self.angle
        return spatial.axis_angle_matrix(self.axis, angle)


class Matrix(CheckedValue, frozen=True, gc=False, tag="matrix"):
    """A rotation matrix, row by row."""

    rows: ConvertedField[tuple[Vector, Vector, Vector], NumberRows] = initially(
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    )

    def matrix(self) -> Array:
        """The rotation matrix, `(3, 3)`."""
        return np.array(self.rows)


Rotation = Euler | Quaternion | AxisAngle | Matrix
NO_ROTATION = Euler()
_NO_ROTATION_MATRIX = spatial.euler_matrix(ZERO)


class Pose(CheckedValue, frozen=True, gc=False):
    """A position in metres and a rotation: the pose of one frame in another."""

    position: ConvertedField[Vector, NumberSequence] = initially(ZERO)
    rotation: Rotation = NO_ROTATION
    __array_ufunc__ = None  # `pose @ array` is an error; `apply` moves points

    def matrix(self) -> Array:
        """The 4x4 transform from this frame to the frame it is given in."""
        return spatial.transform(self.rotation.matrix(), self.position)

    def __matmul__(self, other: Pose) -> Pose:
        """Compose two poses: `other` is given in this frame; the result is given in the frame of this pose."""
        if not isinstance(other, Pose):
            return NotImplemented
        if self.is_identity:
            return other
        if self.has_no_rotation:
            (x, y, z), (a, b, c) = self.position, other.position
            return Pose((x + a, y + b, z + c), other.rotation)
        if other.is_identity:
            return self
        return Pose.from_matrix(self.matrix() @ other.matrix())

    def inverse(self) -> Pose:
        """The inverse transform, as a pose."""
        if self.has_no_rotation:
            x, y, z = self.position
            return Pose((-x, -y, -z)) if any(self.position) else IDENTITY
        return Pose.from_matrix(spatial.inverse(self.matrix()))

    def apply(self, points: ArrayLike) -> Array:
        """Transform points `(..., 3)` from this frame to the frame that the pose is given in."""
        try:
            rows = np.asarray(points, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ExoskelError(f"points are {points!r}, but must be numbers: (..., 3)") from None
        if not rows.ndim or rows.shape[-1] != 3:
            raise ExoskelError(f"points have the shape {rows.shape}, but must have 3 numbers each: (..., 3)")
        matrix = self.matrix()
        moved: Array = rows @ matrix[:3, :3].T + matrix[:3, 3]
        return moved

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """The rotation as a unit quaternion w x y z, w not negative."""
        w, x, y, z = spatial.quaternion(self.rotation.matrix()).tolist()
        return (w, x, y, z)

    @property
    def is_identity(self) -> bool:
        return self is IDENTITY or (self.position == ZERO and self.has_no_rotation)

    @property
    def has_no_rotation(self) -> bool:
        """Whether the rotation is written as zero Euler angles."""
        return isinstance(self.rotation, Euler) and self.rotation.angles == ZERO

    @classmethod
    def from_matrix(cls, transform: Array) -> Pose:
        """The pose of a 4x4 transform; the rotation becomes a quaternion."""
        return poses_from_matrices(transform[None])[0]


IDENTITY = Pose()
_IDENTITY_MATRIX = np.eye(4)


def vector_from_array(values: ArrayLike) -> Vector:
    """Three numbers, such as a row of an array, as a vector of the scene."""
    x, y, z = np.asarray(values, dtype=np.float64).tolist()
    return (x, y, z)


def poses_from_matrices(transforms: Array) -> list[Pose]:
    """The poses of many 4x4 transforms; rotations other than the identity become quaternions."""
    positions = spatial.without_noise(transforms[:, :3, 3]).tolist()
    rotated = np.flatnonzero((transforms[:, :3, :3] != np.eye(3)).any(axis=(1, 2)))
    rotations: list[Rotation] = [NO_ROTATION] * len(positions)
    if rotated.size:
        quaternions = spatial.quaternion(transforms[rotated, :3, :3]).tolist()
        for number, (w, x, y, z) in zip(rotated.tolist(), quaternions, strict=True):
            rotations[number] = Quaternion((w, x, y, z))
    return [Pose((x, y, z), rotation) for (x, y, z), rotation in zip(positions, rotations, strict=True)]


def pose_matrices(poses: Sequence[Pose]) -> Array:
    """The 4x4 transforms of many poses as one `(n, 4, 4)` array."""
    count = len(poses)
    if count == 0:
        return np.empty((0, 4, 4))
    if all(pose is IDENTITY for pose in poses):
        identities = np.empty((count, 4, 4))
        identities[:] = _IDENTITY_MATRIX
        return identities
    positions = spatial.rows([pose.position for pose in poses], 3)
    if all(pose.rotation is NO_ROTATION for pose in poses):  # as for most joints and shapes
        return spatial.transform(_NO_ROTATION_MATRIX, positions)
    rotations = np.empty((count, 3, 3))
    xyz: list[int] = []
    quaternions: list[int] = []
    for i, pose in enumerate(poses):
        rotation = pose.rotation
        if type(rotation) is Euler and rotation.order == "xyz":
            xyz.append(i)
        elif type(rotation) is Quaternion:
            quaternions.append(i)
        else:
            rotations[i] = rotation.matrix()
    if quaternions:
        rotations[quaternions] = spatial.quaternion_matrix([poses[i].rotation.wxyz for i in quaternions])  # type: ignore[union-attr]
    if xyz:
        angles = np.array([poses[i].rotation.in_radians for i in xyz])  # type: ignore[union-attr]
        rotations[xyz] = spatial.euler_matrix(angles)
    return spatial.transform(rotations, positions)
