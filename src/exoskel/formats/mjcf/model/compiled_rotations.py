"""The conversions of ball and free joints in `rotational_joints`, compiled by numba.  This module needs numba.

States are `(states, nq)` and `(states, nv)`; the scene's coordinates are `(worlds, samples, count)`.  The last
indices of constants are those of axes, the first ones those of joints.  All run without Python's lock, so that threads
do not wait for each other.  Addresses are unsigned: numba would test others for being negative, which takes longer than
the computation.
"""

# mypy: disable-error-code="untyped-decorator"

from math import sqrt
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from exoskel.spatial import SMALL_SINE, Array

Unsigned = NDArray[np.uintp]

_STATES, _SCENE, _INDICES = numba.float64[:, ::1], numba.float64[:, :, :], numba.uintp[::1]
_VECTORS, _MATRICES = numba.float64[:, ::1], numba.float64[:, :, ::1]
_FLAG = numba.boolean
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


@numba.njit(numba.void(_STATES, _MATRICES, _INDICES, _FLAG, _VECTORS), **_OPTIONS)
def half_angles(qpos: Array, out: Array, at: Unsigned, turned: bool, zero_rotation: Array) -> None:
    """The tangents and sines of half the angles of rotations, `(2, states, joints)`.

    `at` are the addresses of their quaternions.  They are relative to `zero_rotation`, if there is one (`turned`).
    NumPy computes the arctangents, so that angles are its own to the last bit.
    """
    for state in range(len(qpos)):
        own, tangents, sines = qpos[state], out[0, state], out[1, state]
        for joint in range(len(at)):
            w, x, y, z = own[at[joint]], own[at[joint] + _1], own[at[joint] + _2], own[at[joint] + _3]
            if turned:
                w, x, y, z = _relative(zero_rotation, joint, w, x, y, z)
            sine = sqrt(x * x + y * y + z * z)
            tangents[joint] = sine / (w + 0.0)  # no minus zero, which would turn the vector around
            sines[joint] = sine


@numba.njit(numba.void(_STATES, _MATRICES, _SCENE, _INDICES, _INDICES, _FLAG, _MATRICES), **_OPTIONS)
def ball_positions(
    qpos: Array, angles: Array, out: Array, first: Unsigned, at: Unsigned, framed: bool, rotation: Array
) -> None:
    """The scene's positions of ball joints from MuJoCo's; `angles` are those of `half_angles`, and their sines."""
    samples = out.shape[1]
    for state in range(len(qpos)):
        own, row = qpos[state], out[state // samples, state % samples]
        for joint in range(len(at)):
            w, x, y, z = own[at[joint]], own[at[joint] + _1], own[at[joint] + _2], own[at[joint] + _3]
            scale = _log_scale(angles[0, state, joint], angles[1, state, joint], w)
            x, y, z = scale * x, scale * y, scale * z
            if framed:
                x, y, z = _turned(rotation, joint, x, y, z)
            to = first[joint]
            row[to], row[to + _1], row[to + _2] = x, y, z


@numba.njit(numba.void(_STATES, _SCENE, _INDICES, _INDICES, _FLAG, _MATRICES), **_OPTIONS)
def ball_velocities(qvel: Array, out: Array, first: Unsigned, at: Unsigned, framed: bool, rotation: Array) -> None:
    """The scene's velocities of ball joints from MuJoCo's."""
    samples = out.shape[1]
    for state in range(len(qvel)):
        own, row = qvel[state], out[state // samples, state % samples]
        for joint in range(len(at)):
            x, y, z = own[at[joint]], own[at[joint] + _1], own[at[joint] + _2]
            if framed:
                x, y, z = _turned(rotation, joint, x, y, z)
            to = first[joint]
            row[to], row[to + _1], row[to + _2] = x, y, z


@numba.njit(
    numba.void(
        _STATES, _MATRICES, _SCENE, _INDICES, _INDICES, _FLAG, _MATRICES, _VECTORS, _FLAG, _MATRICES, _VECTORS, _VECTORS
    ),
    **_OPTIONS,
)
def free_positions(
    qpos: Array,
    angles: Array,
    out: Array,
    first: Unsigned,
    at: Unsigned,
    framed: bool,
    rotation: Array,
    offset: Array,
    turned: bool,
    zero: Array,
    zero_position: Array,
    zero_rotation: Array,
) -> None:
    """The scene's positions of free joints from MuJoCo's.

    `rotation` and `offset` are the frame of the joint in the child, if that is not the child's own (`framed`).  `zero`
    and `zero_rotation` are the rotation of the child's zero pose as a matrix and as a quaternion, if there is one
    (`turned`).
    """
    samples = out.shape[1]
    for state in range(len(qpos)):
        own, row = qpos[state], out[state // samples, state % samples]
        for joint in range(len(at)):
            begin, to = at[joint], first[joint]
            w, x, y, z = own[begin + _3], own[begin + _4], own[begin + _5], own[begin + _6]
            a, b, c = offset[joint, 0], offset[joint, 1], offset[joint, 2]
            i, j, k = zero_position[joint, 0], zero_position[joint, 1], zero_position[joint, 2]
            px, py, pz = own[begin] - i, own[begin + _1] - j, own[begin + _2] - k
            if framed:  # add the offset, rotated by a quaternion that need not be unit
                scale = 2.0 / (w * w + x * x + y * y + z * z)
                e, f, g = y * c - z * b, z * a - x * c, x * b - y * a
                px += a + scale * (w * e + (y * g - z * f))
                py += b + scale * (w * f + (z * e - x * g))
                pz += c + scale * (w * g + (x * f - y * e))
            if turned:  # in the axes of the zero pose
                px, py, pz = _turned(zero, joint, px, py, pz)
                w, x, y, z = _relative(zero_rotation, joint, w, x, y, z)
            scale = _log_scale(angles[0, state, joint], angles[1, state, joint], w)
            x, y, z = scale * x, scale * y, scale * z
            if framed:
                x, y, z = _turned(rotation, joint, x, y, z)
                px, py, pz = _turned(rotation, joint, px - a, py - b, pz - c)
            row[to], row[to + _1], row[to + _2] = x, y, z
            row[to + _3], row[to + _4], row[to + _5] = px, py, pz


@numba.njit(numba.void(_STATES, _STATES, _SCENE, _INDICES, _INDICES, _INDICES, _FLAG, _MATRICES, _VECTORS), **_OPTIONS)
def free_velocities(
    qpos: Array,
    qvel: Array,
    out: Array,
    first: Unsigned,
    at: Unsigned,
    speeds: Unsigned,
    framed: bool,
    rotation: Array,
    offset: Array,
) -> None:
    """The scene's velocities of free joints from MuJoCo's; `speeds` are their addresses among the velocities."""
    samples = out.shape[1]
    for state in range(len(qpos)):
        own, moving, row = qpos[state], qvel[state], out[state // samples, state % samples]
        for joint in range(len(at)):
            begin, fast, to = at[joint], speeds[joint], first[joint]
            w, x, y, z = own[begin + _3], own[begin + _4], own[begin + _5], own[begin + _6]
            a, b, c = moving[fast + _3], moving[fast + _4], moving[fast + _5]
            e, f, g = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
            sx, sy, sz = a + w * e + (y * g - z * f), b + w * f + (z * e - x * g), c + w * g + (x * f - y * e)
            vx, vy, vz = moving[fast], moving[fast + _1], moving[fast + _2]
            if framed:
                i, j, k = offset[joint, 0], offset[joint, 1], offset[joint, 2]
                vx, vy, vz = vx - (j * sz - k * sy), vy - (k * sx - i * sz), vz - (i * sy - j * sx)
                sx, sy, sz = _turned(rotation, joint, sx, sy, sz)
                vx, vy, vz = _turned(rotation, joint, vx, vy, vz)
            row[to], row[to + _1], row[to + _2] = sx, sy, sz
            row[to + _3], row[to + _4], row[to + _5] = vx, vy, vz
