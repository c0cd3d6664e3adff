"""The conversions of ball and free joints in `rotational_joints`, compiled by numba.  This module needs numba.

States are `(states, nq)` and `(states, nv)`; the scene's coordinates are `(worlds, samples, count)`.  The last
indices of constants are those of axes, the first ones those of joints.  All run without Python's lock, so that threads
do not wait for each other.
"""

# mypy: disable-error-code="untyped-decorator"

from math import sqrt
from typing import Any

import numba

from exoskel.spatial import SMALL_SINE, Array, Indices

_STATES, _SCENE, _INDICES = numba.float64[:, ::1], numba.float64[:, :, :], numba.intp[::1]
_VECTORS, _MATRICES = numba.float64[:, ::1], numba.float64[:, :, ::1]
_FLAG = numba.boolean
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@numba.njit(inline="always", **_OPTIONS)
def _set_vector(out: Array, first: int, x: float, y: float, z: float) -> None:
    out[first], out[first + 1], out[first + 2] = x, y, z


@numba.njit(inline="always", **_OPTIONS)
def _set_turned(out: Array, first: int, matrix: Array, x: float, y: float, z: float) -> None:
    """Set three coordinates to a vector times a matrix, that is, in the axes of its columns."""
    out[first] = matrix[0, 0] * x + matrix[1, 0] * y + matrix[2, 0] * z
    out[first + 1] = matrix[0, 1] * x + matrix[1, 1] * y + matrix[2, 1] * z
    out[first + 2] = matrix[0, 2] * x + matrix[1, 2] * y + matrix[2, 2] * z


@numba.njit(inline="always", **_OPTIONS)
def _relative(q: Array, w: float, x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """The rotation from the first to the second: the conjugate of the first times the second."""
    return (
        q[0] * w + q[1] * x + q[2] * y + q[3] * z,
        q[0] * x - q[1] * w - q[2] * z + q[3] * y,
        q[0] * y + q[1] * z - q[2] * w - q[3] * x,
        q[0] * z - q[1] * y + q[2] * x - q[3] * w,
    )


@numba.njit(inline="always", **_OPTIONS)
def _set_log(
    out: Array, first: int, matrix: Array, framed: bool, angle: float, w: float, x: float, y: float, z: float
) -> None:
    """Set three coordinates to the rotation vector of a unit quaternion, as `rotational_joints.log` computes it.

    `angle` is half that of the rotation.
    """
    sine = sqrt(x * x + y * y + z * z)
    scale = (angle + angle) / sine
    if sine < SMALL_SINE:
        scale = -2.0 if w < 0.0 else 2.0
    if framed:
        _set_turned(out, first, matrix, scale * x, scale * y, scale * z)
    else:
        _set_vector(out, first, scale * x, scale * y, scale * z)


@numba.njit(numba.void(_STATES, _VECTORS, _INDICES, _FLAG, _VECTORS), **_OPTIONS)
def half_angle_tangents(qpos: Array, out: Array, at: Indices, turned: bool, zero_rotation: Array) -> None:
    """The tangents of half the angles of rotations, `(states, joints)`; `at` are the addresses of their quaternions.

    They are relative to `zero_rotation`, if there is one (`turned`).  NumPy computes the arctangents, so that angles
    are its own to the last bit.
    """
    for state in range(len(qpos)):
        own = qpos[state]
        for joint in range(len(at)):
            w, x, y, z = own[at[joint]], own[at[joint] + 1], own[at[joint] + 2], own[at[joint] + 3]
            if turned:
                w, x, y, z = _relative(zero_rotation[joint], w, x, y, z)
            sine = sqrt(x * x + y * y + z * z)
            out[state, joint] = sine / (w + 0.0)  # no minus zero, which would turn the vector around


@numba.njit(numba.void(_STATES, _VECTORS, _SCENE, _INDICES, _INDICES, _FLAG, _MATRICES), **_OPTIONS)
def ball_positions(
    qpos: Array, half_angles: Array, out: Array, first: Indices, at: Indices, framed: bool, rotation: Array
) -> None:
    """The scene's positions of ball joints from MuJoCo's."""
    samples = out.shape[1]
    for state in range(len(qpos)):
        own, row = qpos[state], out[state // samples, state % samples]
        for joint in range(len(at)):
            w, x, y, z = own[at[joint]], own[at[joint] + 1], own[at[joint] + 2], own[at[joint] + 3]
            _set_log(row, first[joint], rotation[joint], framed, half_angles[state, joint], w, x, y, z)


@numba.njit(numba.void(_STATES, _SCENE, _INDICES, _INDICES, _FLAG, _MATRICES), **_OPTIONS)
def ball_velocities(qvel: Array, out: Array, first: Indices, at: Indices, framed: bool, rotation: Array) -> None:
    """The scene's velocities of ball joints from MuJoCo's."""
    samples = out.shape[1]
    for state in range(len(qvel)):
        own, row = qvel[state], out[state // samples, state % samples]
        for joint in range(len(at)):
            x, y, z = own[at[joint]], own[at[joint] + 1], own[at[joint] + 2]
            if framed:
                _set_turned(row, first[joint], rotation[joint], x, y, z)
            else:
                _set_vector(row, first[joint], x, y, z)


@numba.njit(
    numba.void(
        _STATES, _VECTORS, _SCENE, _INDICES, _INDICES, _FLAG, _MATRICES, _VECTORS, _FLAG, _MATRICES, _VECTORS, _VECTORS
    ),
    **_OPTIONS,
)
def free_positions(
    qpos: Array,
    half_angles: Array,
    out: Array,
    first: Indices,
    at: Indices,
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
            w, x, y, z = own[begin + 3], own[begin + 4], own[begin + 5], own[begin + 6]
            a, b, c = offset[joint, 0], offset[joint, 1], offset[joint, 2]
            i, j, k = zero_position[joint, 0], zero_position[joint, 1], zero_position[joint, 2]
            px, py, pz = own[begin] - i, own[begin + 1] - j, own[begin + 2] - k
            if framed:  # add the offset, rotated by a quaternion that need not be unit
                scale = 2.0 / (w * w + x * x + y * y + z * z)
                e, f, g = y * c - z * b, z * a - x * c, x * b - y * a
                px += a + scale * (w * e + (y * g - z * f))
                py += b + scale * (w * f + (z * e - x * g))
                pz += c + scale * (w * g + (x * f - y * e))
            if turned:  # in the axes of the zero pose
                m, q = zero[joint], zero_rotation[joint]
                px, py, pz = (
                    m[0, 0] * px + m[1, 0] * py + m[2, 0] * pz,
                    m[0, 1] * px + m[1, 1] * py + m[2, 1] * pz,
                    m[0, 2] * px + m[1, 2] * py + m[2, 2] * pz,
                )
                w, x, y, z = _relative(q, w, x, y, z)
            _set_log(row, to, rotation[joint], framed, half_angles[state, joint], w, x, y, z)
            if framed:
                _set_turned(row, to + 3, rotation[joint], px - a, py - b, pz - c)
            else:
                _set_vector(row, to + 3, px, py, pz)


@numba.njit(numba.void(_STATES, _STATES, _SCENE, _INDICES, _INDICES, _INDICES, _FLAG, _MATRICES, _VECTORS), **_OPTIONS)
def free_velocities(
    qpos: Array,
    qvel: Array,
    out: Array,
    first: Indices,
    at: Indices,
    speeds: Indices,
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
            w, x, y, z = own[begin + 3], own[begin + 4], own[begin + 5], own[begin + 6]
            a, b, c = moving[fast + 3], moving[fast + 4], moving[fast + 5]
            e, f, g = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
            sx, sy, sz = a + w * e + (y * g - z * f), b + w * f + (z * e - x * g), c + w * g + (x * f - y * e)
            vx, vy, vz = moving[fast], moving[fast + 1], moving[fast + 2]
            if framed:
                i, j, k = offset[joint, 0], offset[joint, 1], offset[joint, 2]
                _set_turned(row, to, rotation[joint], sx, sy, sz)
                vx, vy, vz = vx - (j * sz - k * sy), vy - (k * sx - i * sz), vz - (i * sy - j * sx)
                _set_turned(row, to + 3, rotation[joint], vx, vy, vz)
            else:
                _set_vector(row, to, sx, sy, sz)
                _set_vector(row, to + 3, vx, vy, vz)
