"""The conversions of states in `layout` and `rotational_joints`, compiled by numba.  This module needs numba.

States and coordinates are `SampleRows`.  The last indices of constants are those of axes, the first ones those of
joints.  All run without Python's lock, so that threads do not wait for each other.  Addresses are unsigned: numba would
test others for being negative, which takes longer than the computation.
"""

# mypy: disable-error-code="untyped-decorator"

from math import sqrt
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from exoskel.spatial import SMALL_SINE, Array

SampleRows = tuple[Array, int, int, int]
"""Arrays `(worlds, samples, count)`, in a type for which access is compiled well.

They are contiguous `(worlds, ...)`; the number of samples; how far these are apart; and the number of columns up to the
end of the last one.
"""
SampleRow = tuple[Array, int]
"""The numbers of one world, and how far its samples are apart."""
Unsigned = NDArray[np.uintp]
Joints = tuple[Unsigned, Unsigned, Unsigned, bool, Array, Array, bool, Array, Array, Array]
"""Constants of joints.

The numbers of their first coordinates in the scene, in qpos and in qvel.  Whether the frames of the joints are not
those of the children, and their rotations and offsets in these.  Whether the zero poses of the children are rotated,
and these rotations as matrices, the positions, and the rotations as quaternions.
"""

_INDICES, _FLAG = numba.uintp[::1], numba.boolean
_VECTORS, _MATRICES = numba.float64[:, ::1], numba.float64[:, :, ::1]
_ROWS = numba.types.Tuple((_VECTORS, numba.uintp, numba.uintp, numba.uintp))
_JOINTS = numba.types.Tuple(
    (_INDICES, _INDICES, _INDICES, _FLAG, _MATRICES, _VECTORS, _FLAG, _MATRICES, _VECTORS, _VECTORS)
)
_1, _2, _3, _4, _5, _6 = map(np.uintp, range(1, 7))
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@numba.njit(**_OPTIONS)
def _turned(matrices: Array, joint: int, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A vector times a joint's matrix, that is, in the axes of its columns."""
    return (
        matrices[joint, 0, 0] * x + matrices[joint, 1, 0] * y + matrices[joint, 2, 0] * z,
        matrices[joint, 0, 1] * x + matrices[joint, 1, 1] * y + matrices[joint, 2, 1] * z,
        matrices[joint, 0, 2] * x + matrices[joint, 1, 2] * y + matrices[joint, 2, 2] * z,
    )


@numba.njit(**_OPTIONS)
def _relative(
    quaternions: Array, joint: int, w: float, x: float, y: float, z: float
) -> tuple[float, float, float, float]:
    """The rotation from a joint's to the other one: the conjugate of the first times the second."""
    a, b, c, d = quaternions[joint, 0], quaternions[joint, 1], quaternions[joint, 2], quaternions[joint, 3]
    return (
        a * w + b * x + c * y + d * z,
        a * x - b * w - c * z + d * y,
        a * y + b * z - c * w - d * x,
        a * z - b * y + c * x - d * w,
    )


@numba.njit(**_OPTIONS)
def _log_scale(half_angle: float, sine: float, w: float) -> float:
    """The length of the rotation vector over that of the vector of a unit quaternion: see `rotational_joints.log`."""
    scale = (half_angle + half_angle) / sine
    if sine < SMALL_SINE:
        scale = -2.0 if w < 0.0 else 2.0
    return scale


@numba.njit(numba.void(_ROWS, _MATRICES, _INDICES, _FLAG, _VECTORS), **_OPTIONS)
def half_angles(qpos: SampleRows, out: Array, at: Unsigned, turned: bool, zero_rotation: Array) -> None:
    """The tangents and sines of half the angles of rotations, `(2, states, joints)`.

    `at` are the addresses of their quaternions.  They are relative to `zero_rotation`, if there is one (`turned`).
    NumPy computes the arctangents, so that angles are its own to the last bit.
    """
    memory, samples, gap, _ = qpos
    for world in range(len(memory)):
        row, state = memory[world], np.uintp(world) * samples
        for sample in range(samples):
            for joint in range(len(at)):
                begin = sample * gap + at[joint]
                w, x, y, z = row[begin], row[begin + _1], row[begin + _2], row[begin + _3]
                if turned:
                    w, x, y, z = _relative(zero_rotation, joint, w, x, y, z)
                sine = sqrt(x * x + y * y + z * z)
                out[0, state + sample, joint] = sine / (w + 0.0)  # no minus zero, which would turn the vector around
                out[1, state + sample, joint] = sine


# The following functions convert all samples of a world: the constants of joints are found once for all of them.


@numba.njit(**_OPTIONS)
def _single_coordinates(own: SampleRow, out: SampleRow, samples: int, first: Unsigned, at: Unsigned) -> None:
    (row, gap), (target, step) = own, out
    for sample in range(samples):
        for number in range(len(at)):
            target[sample * step + first[number]] = row[sample * gap + at[number]]


@numba.njit(**_OPTIONS)
def _ball_positions(own: SampleRow, angles: Array, state: int, out: SampleRow, samples: int, joints: Joints) -> None:
    first, at, framed, rotation = joints[0], joints[1], joints[3], joints[4]
    (row, gap), (target, step) = own, out
    for sample in range(samples):
        for joint in range(len(at)):
            begin, to = sample * gap + at[joint], sample * step + first[joint]
            w, x, y, z = row[begin], row[begin + _1], row[begin + _2], row[begin + _3]
            scale = _log_scale(angles[0, state + sample, joint], angles[1, state + sample, joint], w)
            x, y, z = scale * x, scale * y, scale * z
            if framed:
                x, y, z = _turned(rotation, joint, x, y, z)
            target[to], target[to + _1], target[to + _2] = x, y, z


@numba.njit(**_OPTIONS)
def _ball_velocities(moving: SampleRow, out: SampleRow, samples: int, joints: Joints) -> None:
    first, speeds, framed, rotation = joints[0], joints[2], joints[3], joints[4]
    (row, gap), (target, step) = moving, out
    for sample in range(samples):
        for joint in range(len(speeds)):
            at, to = sample * gap + speeds[joint], sample * step + first[joint]
            x, y, z = row[at], row[at + _1], row[at + _2]
            if framed:
                x, y, z = _turned(rotation, joint, x, y, z)
            target[to], target[to + _1], target[to + _2] = x, y, z


@numba.njit(**_OPTIONS)
def _free_positions(own: SampleRow, angles: Array, state: int, out: SampleRow, samples: int, joints: Joints) -> None:
    first, at, _, framed, rotation, offset, turned, zero, zero_position, zero_rotation = joints
    (row, gap), (target, step) = own, out
    for sample in range(samples):
        for joint in range(len(at)):
            begin, to = sample * gap + at[joint], sample * step + first[joint]
            w, x, y, z = row[begin + _3], row[begin + _4], row[begin + _5], row[begin + _6]
            a, b, c = offset[joint, 0], offset[joint, 1], offset[joint, 2]
            i, j, k = zero_position[joint, 0], zero_position[joint, 1], zero_position[joint, 2]
            px, py, pz = row[begin] - i, row[begin + _1] - j, row[begin + _2] - k
            if framed:  # add the offset, rotated by a quaternion that need not be unit
                scale = 2.0 / (w * w + x * x + y * y + z * z)
                e, f, g = y * c - z * b, z * a - x * c, x * b - y * a
                px += a + scale * (w * e + (y * g - z * f))
                py += b + scale * (w * f + (z * e - x * g))
                pz += c + scale * (w * g + (x * f - y * e))
            if turned:  # in the axes of the zero pose
                px, py, pz = _turned(zero, joint, px, py, pz)
                w, x, y, z = _relative(zero_rotation, joint, w, x, y, z)
            scale = _log_scale(angles[0, state + sample, joint], angles[1, state + sample, joint], w)
            x, y, z = scale * x, scale * y, scale * z
            if framed:
                x, y, z = _turned(rotation, joint, x, y, z)
                px, py, pz = _turned(rotation, joint, px - a, py - b, pz - c)
            target[to], target[to + _1], target[to + _2] = x, y, z
            target[to + _3], target[to + _4], target[to + _5] = px, py, pz


@numba.njit(**_OPTIONS)
def _free_velocities(own: SampleRow, moving: SampleRow, out: SampleRow, samples: int, joints: Joints) -> None:
    first, at, speeds, framed, rotation, offset = joints[:6]
    (row, gap), (motion, pace), (target, step) = own, moving, out
    for sample in range(samples):
        for joint in range(len(at)):
            begin, fast, to = sample * gap + at[joint], sample * pace + speeds[joint], sample * step + first[joint]
            w, x, y, z = row[begin + _3], row[begin + _4], row[begin + _5], row[begin + _6]
            a, b, c = motion[fast + _3], motion[fast + _4], motion[fast + _5]
            e, f, g = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
            sx, sy, sz = a + w * e + (y * g - z * f), b + w * f + (z * e - x * g), c + w * g + (x * f - y * e)
            vx, vy, vz = motion[fast], motion[fast + _1], motion[fast + _2]
            if framed:
                i, j, k = offset[joint, 0], offset[joint, 1], offset[joint, 2]
                vx, vy, vz = vx - (j * sz - k * sy), vy - (k * sx - i * sz), vz - (i * sy - j * sx)
                sx, sy, sz = _turned(rotation, joint, sx, sy, sz)
                vx, vy, vz = _turned(rotation, joint, vx, vy, vz)
            target[to], target[to + _1], target[to + _2] = sx, sy, sz
            target[to + _3], target[to + _4], target[to + _5] = vx, vy, vz


@numba.njit(**_OPTIONS)
def _copy(row: Array, out: Array) -> None:
    """Copy the first numbers, faster than numba's assignment of slices."""
    for number in range(len(out)):
        out[number] = row[number]


@numba.njit(
    numba.void(
        _ROWS, _ROWS, _FLAG, _ROWS, _ROWS, numba.types.UniTuple(_INDICES, 3), _JOINTS, _MATRICES, _JOINTS, _MATRICES
    ),
    **_OPTIONS,
)
def convert_states(
    qpos: SampleRows,
    qvel: SampleRows,
    copies: bool,
    positions: SampleRows,
    velocities: SampleRows,
    single: tuple[Unsigned, Unsigned, Unsigned],
    balls: Joints,
    ball_angles: Array,
    frees: Joints,
    free_angles: Array,
) -> None:
    """The scene's positions and velocities from MuJoCo's; those without samples are not written.

    If it `copies` the states of a world before the first of its coordinates is written, these may be in the same
    memory.  `single` are the numbers of coordinates that are the same in both: the scene's, in qpos and in qvel.
    Angles are those of `half_angles`, and their sines.
    """
    samples = qpos[1]
    poses, speeds = np.empty(qpos[3]), np.empty(qvel[3])
    for world in range(len(qpos[0])):
        state = np.uintp(world) * samples
        own, moving = (qpos[0][world], qpos[2]), (qvel[0][world], qvel[2])
        if copies:
            _copy(qpos[0][world], poses)
            _copy(qvel[0][world], speeds)
            own, moving = (poses, qpos[2]), (speeds, qvel[2])
        if positions[1]:
            out = positions[0][world], positions[2]
            _single_coordinates(own, out, samples, single[0], single[1])
            _ball_positions(own, ball_angles, state, out, samples, balls)
            _free_positions(own, free_angles, state, out, samples, frees)
        if velocities[1]:
            out = velocities[0][world], velocities[2]
            _single_coordinates(moving, out, samples, single[0], single[2])
            _ball_velocities(moving, out, samples, balls)
            _free_velocities(own, moving, out, samples, frees)
