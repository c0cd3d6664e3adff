"""States of many worlds, converted to the scene's coordinates by compiled functions.  This module needs numba."""

from __future__ import annotations

import numpy as np

from exoskel.formats.mjcf.model import compiled_rotations
from exoskel.formats.mjcf.model.compiled_rotations import SampleRows, Unsigned
from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoints
from exoskel.spatial import Array


class CompiledConversion:
    """Converts states to the positions and velocities for which there are arrays; all are `(worlds, samples, ...)`.

    The results are those of `Coordinates.positions` and `velocities` to the last bit.  If `can_replace_states`, the
    coordinates of a world may be in the memory of its states.
    """

    def __init__(
        self, coordinates: Coordinates, qpos: Array, qvel: Array, positions: Array | None, velocities: Array | None
    ) -> None:
        self._coordinates = coordinates
        self._arrays = qpos, qvel, positions, velocities
        none = np.empty((len(qpos), 0, 0))
        self._qpos, self._qvel = _rows(qpos), _rows(qvel)
        self._positions = _rows(none if positions is None else positions)
        self._velocities = _rows(none if velocities is None else velocities)
        outs = [one for one in (positions, velocities) if one is not None]
        self._copies = any(np.may_share_memory(out, state) for out in outs for state in (qpos, qvel))
        groups = {group.kind: group for group in coordinates.rotational}
        self._balls = groups.get("ball") or RotationalJoints("ball", [], np.empty(0))
        self._frees = groups.get("free") or RotationalJoints("free", [], np.empty(0))
        self._joints = self._balls.compiled_constants, self._frees.compiled_constants
        single = coordinates.scene, coordinates.qpos, coordinates.qvel
        self._single: tuple[Unsigned, ...] = tuple(one.astype(np.uintp) for one in single)

    def convert(self, worlds: slice) -> None:
        """Convert the states of some worlds; little of it keeps other threads waiting."""
        qpos = _part(self._qpos, worlds)
        outs = _part(self._positions, worlds), _part(self._velocities, worlds)
        turned = qpos if self._positions[1] else _part(self._positions, worlds)
        angles = self._half_angles(self._balls, turned), self._half_angles(self._frees, turned)
        (balls, frees), (ball_angles, free_angles) = self._joints, angles
        compiled_rotations.convert_states(
            qpos, _part(self._qvel, worlds), self._copies, *outs, self._single, balls, ball_angles, frees, free_angles
        )
        if self._coordinates.has_others:
            self._convert_others(worlds)

    def _half_angles(self, joints: RotationalJoints, qpos: SampleRows) -> Array:
        """Half the angles of the rotations, and their sines, `(2, states, joints)`."""
        memory, samples, *_ = qpos
        out = np.empty((2, len(memory) * samples, len(joints)))
        if out.size:
            at, turned, zero_rotation = (joints.compiled_constants[number] for number in (1, 6, 9))
            quaternions = at if joints.kind == "ball" else at + np.uintp(3)
            compiled_rotations.half_angles(qpos, out, quaternions, turned, zero_rotation)
            np.arctan(out[0], out=out[0])
        return out

    def _convert_others(self, worlds: slice) -> None:
        """Set the coordinates that are not those of ball, free and simple joints."""
        qpos, qvel, positions, velocities = self._arrays
        if positions is not None:
            self._coordinates.set_other_positions(qpos[worlds], positions[worlds])
        if velocities is not None:
            self._coordinates.set_other_velocities(qpos[worlds], qvel[worlds], velocities[worlds])


def _part(rows: SampleRows, worlds: slice) -> SampleRows:
    memory, samples, gap, used = rows
    return memory[worlds], samples, gap, used


def _rows(array: Array) -> SampleRows:
    """An array as compiled functions read or write it."""
    worlds, samples, count = array.shape
    if not array.size:
        return np.empty((worlds, 0)), samples, 0, 0
    row, gap, step = (stride // array.itemsize for stride in array.strides)
    if step != 1 or gap < count or row < samples * gap:
        raise ValueError("the numbers of a sample, or the samples of a world, do not follow each other in memory")
    memory = np.lib.stride_tricks.as_strided(array, (worlds, row), (row * array.itemsize, array.itemsize))
    return memory, samples, gap, (samples - 1) * gap + count
