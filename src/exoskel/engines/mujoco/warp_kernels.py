"""Kernels that run on the device beside MuJoCo Warp.  This module needs Warp."""

# mypy: disable-error-code="no-untyped-def,valid-type,untyped-decorator"

from typing import Any

import warp as wp

_SMALL = wp.constant(1e-12)


@wp.kernel
def _bound_rows(nefc: wp.array(dtype=int), overflow: wp.array(dtype=int), most: int, flag: int):
    world = wp.tid()
    if nefc[world] > most:
        nefc[world] = most
        overflow[world] = overflow[world] | flag


def bound_rows(data: Any, flag: int) -> None:
    """Limit the number of constraint rows of each world to its capacity, and set the overflow flag.

    MuJoCo Warp 4.0 sets the flag too, but only after its discrete integrator has read beyond the end of the rows.
    """
    wp.launch(_bound_rows, dim=data.nworld, inputs=[data.nefc, data.overflow, data.njmax, flag])


# --- the scene's coordinates from MuJoCo's: see `exoskel.formats.mjcf.model.rotational_joints` ---------------------


@wp.func
def _quaternion(row: wp.array(dtype=float), first: int):
    """A quaternion of MuJoCo (w first) as one of Warp (w last)."""
    return wp.quat(row[first + 1], row[first + 2], row[first + 3], row[first])


@wp.func
def _vector(row: wp.array(dtype=float), first: int):
    return wp.vec3(row[first], row[first + 1], row[first + 2])


@wp.func
def _put(row: wp.array(dtype=float), first: int, vector: wp.vec3):
    row[first] = vector[0]
    row[first + 1] = vector[1]
    row[first + 2] = vector[2]


@wp.func
def _log(q: wp.quat):
    """The rotation vector of at most pi."""
    axis = wp.vec3(q[0], q[1], q[2])
    sine = wp.length(axis)
    scale = 2.0
    if sine > _SMALL:
        scale = 2.0 * wp.atan2(sine, wp.abs(q[3])) / sine
    if q[3] < 0.0:
        scale = -scale
    return scale * axis


@wp.kernel
def convert_single(
    scene_at: wp.array(dtype=int),
    qpos_at: wp.array(dtype=int),
    qvel_at: wp.array(dtype=int),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    positions: wp.array3d(dtype=float),
    velocities: wp.array3d(dtype=float),
    sample: int,
):
    world, i = wp.tid()
    positions[world, sample, scene_at[i]] = qpos[world, qpos_at[i]]
    velocities[world, sample, scene_at[i]] = qvel[world, qvel_at[i]]


@wp.kernel
def convert_balls(
    scene_at: wp.array(dtype=int),
    qpos_at: wp.array(dtype=int),
    qvel_at: wp.array(dtype=int),
    frame: wp.array(dtype=wp.mat33),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    positions: wp.array3d(dtype=float),
    velocities: wp.array3d(dtype=float),
    sample: int,
):
    world, i = wp.tid()
    back = wp.transpose(frame[i])
    _put(positions[world, sample], scene_at[i], back * _log(_quaternion(qpos[world], qpos_at[i])))
    _put(velocities[world, sample], scene_at[i], back * _vector(qvel[world], qvel_at[i]))


@wp.kernel
def convert_free(
    scene_at: wp.array(dtype=int),
    qpos_at: wp.array(dtype=int),
    qvel_at: wp.array(dtype=int),
    frame: wp.array(dtype=wp.mat33),
    zero: wp.array(dtype=wp.mat33),
    offset: wp.array(dtype=wp.vec3),
    zero_position: wp.array(dtype=wp.vec3),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    positions: wp.array3d(dtype=float),
    velocities: wp.array3d(dtype=float),
    sample: int,
):
    world, i = wp.tid()
    back = wp.transpose(frame[i])
    rotation = wp.normalize(_quaternion(qpos[world], qpos_at[i] + 3))
    position = _vector(qpos[world], qpos_at[i]) - zero_position[i] + wp.quat_rotate(rotation, offset[i])
    position = wp.transpose(zero[i]) * position - offset[i]
    relative = wp.quat_inverse(wp.quat_from_matrix(zero[i])) * rotation
    _put(positions[world, sample], scene_at[i], back * _log(relative))
    _put(positions[world, sample], scene_at[i] + 3, back * position)
    spin = wp.quat_rotate(rotation, _vector(qvel[world], qvel_at[i] + 3))
    speed = _vector(qvel[world], qvel_at[i]) - wp.cross(offset[i], spin)
    _put(velocities[world, sample], scene_at[i], back * spin)
    _put(velocities[world, sample], scene_at[i] + 3, back * speed)
