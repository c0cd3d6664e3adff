"""How DART rotates ball and free joints in a step: it truncates the exponential of small rotation vectors.

For less than 0.001 rad, DART uses `1 + [w] + [w]²/2`, which rotates by `|w|³/6` too far.  It does so twice in a step:
for the rotation of the joint before the step, and for that in the step.  MuJoCo rotates exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoints, cross, relative_rotation, rotate
from exoskel.spatial import Array, Indices

SMALL_ANGLE = 1e-3
"""The angle below which DART truncates the exponential, rad."""
_SMALL_SQUARE = SMALL_ANGLE**2
_CLOSE = 1.0 - SMALL_ANGLE**2
"""The square of the cosine of half an angle, below which the angle is not small."""

FloatOrArray = Any
"""A float, or an array with a value for each of many worlds: lists of floats are faster than small arrays."""
FloatsOrArrays = tuple[FloatOrArray, ...]


class _Arm(Struct, frozen=True):
    """The way from the origin of a child to its free joint.

    `places` are the addresses of its position; `axes` is the matrix to their axes, from those of the child at rotation
    zero.
    """

    offset: FloatsOrArrays
    places: list[int]
    axes: list[list[float]]


class _TruncatedJoint(Struct, frozen=True):
    """`zero` is the rotation at which the scene's coordinates are zero; None if it is the identity."""

    zero: FloatsOrArrays | None
    arm: _Arm | None


class TruncatedRotations:
    """Adds what DART rotates too far to MuJoCo's positions after each step.

    The results are the same to the last digit for one world and for many.
    """

    def __init__(self, compiled: CompiledWorld) -> None:
        self._mj_step = mujoco_import.load().mj_step
        self._step_size = float(compiled.model.opt.timestep)
        groups = compiled.coordinates.rotational
        self._dofs: Indices = np.concatenate([group.qvel[:, -3:].ravel() for group in groups])
        self._places: Indices = np.concatenate([group.qpos[:, -4:].ravel() for group in groups])
        self._joints = [joint for group in groups for joint in _find_joints(group)]

    @classmethod
    def find(cls, compiled: CompiledWorld) -> TruncatedRotations | None:
        """The joints concerned, in worlds that follow DART to the last digits: those with soft bodies."""
        return cls(compiled) if compiled.skins and compiled.coordinates.rotational else None

    def step(self, model: Any, data: Any, count: int = 1) -> None:
        """Make steps of MuJoCo, as `mj_step` does."""
        for _ in range(count):
            self._mj_step(model, data)
            self.correct(data.qpos, data.qvel)

    def correct(self, qpos: Array, qvel: Array) -> None:
        """Change positions, `(..., nq)`, that a step of MuJoCo led to with these velocities, `(..., nv)`."""
        speeds, places = qvel.take(self._dofs, axis=-1), qpos.take(self._places, axis=-1)
        if qpos.ndim == 1:
            qpos[self._places] = self._corrected(qpos, speeds.tolist(), places.tolist())
            return
        with np.errstate(all="ignore"):  # a motion that diverges is reported by MuJoCo
            qpos[:, self._places] = np.stack(self._corrected(qpos, list(speeds.T), list(places.T)), axis=-1)

    def _corrected(
        self, qpos: Array, speeds: Sequence[FloatOrArray], places: Sequence[FloatOrArray]
    ) -> list[FloatOrArray]:
        """The components of all quaternions, from those after the step; moves the children of free joints."""
        h, out = self._step_size, []
        for number, joint in enumerate(self._joints):
            x, y, z = speeds[3 * number : 3 * number + 3]
            turn = h * x, h * y, h * z
            quaternion = tuple(places[4 * number : 4 * number + 4])
            a, b, c = _excess(turn)
            relative = quaternion if joint.zero is None else relative_rotation(joint.zero, quaternion)
            if _any(relative[0] * relative[0] > _CLOSE):
                before = _excess(_vector_before(relative, turn))
                if joint.arm is not None:
                    _move_child(qpos, joint.arm, quaternion, before)
                a, b, c = a + before[0], b + before[1], c + before[2]
            w, x, y, z = quaternion  # times a rotation by (a, b, c), which is too small for its square to matter
            out.append(w - 0.5 * (x * a + y * b + z * c))
            out.append(x + 0.5 * (w * a + y * c - z * b))
            out.append(y + 0.5 * (w * b + z * a - x * c))
            out.append(z + 0.5 * (w * c + x * b - y * a))
        return out


def _any(condition: Any) -> bool:
    return condition if isinstance(condition, bool) else bool(condition.any())


def _excess(vector: FloatsOrArrays) -> FloatsOrArrays:
    """The rotation by which DART rotates too far."""
    x, y, z = vector
    square = x * x + y * y + z * z
    factor = square / 6.0 * (square < _SMALL_SQUARE)
    return factor * x, factor * y, factor * z


def _vector_before(quaternion: FloatsOrArrays, turn: FloatsOrArrays) -> FloatsOrArrays:
    """The rotation vector before the step, if it is small."""
    w, x, y, z = quaternion
    double = 2.0 - 4.0 * (w < 0.0)
    return double * x - turn[0], double * y - turn[1], double * z - turn[2]


def _move_child(qpos: Array, arm: _Arm, quaternion: FloatsOrArrays, rotation: FloatsOrArrays) -> None:
    """Let a child rotate about its joint; MuJoCo's rotate about their origins."""
    x, y, z = rotate(quaternion, cross(arm.offset, rotation))
    for place, (i, j, k) in zip(arm.places, arm.axes, strict=True):
        qpos[..., place] += i * x + j * y + k * z


def _find_joints(group: RotationalJoints) -> Iterator[_TruncatedJoint]:
    is_free = group.kind == "free"
    places = group.qpos[:, :3] if is_free else group.slides
    for number, (zero, frame) in enumerate(zip(group.zero_quaternions.tolist(), group.frame, strict=True)):
        arm: _Arm | None = None
        if group.kind != "ball" and frame[:3, 3].any():
            axes = np.eye(3) if is_free else frame[:3, :3].T
            arm = _Arm(tuple(frame[:3, 3].tolist()), places[number].tolist(), axes.tolist())
        yield _TruncatedJoint(None if zero == [1.0, 0.0, 0.0, 0.0] else tuple(zero), arm)
