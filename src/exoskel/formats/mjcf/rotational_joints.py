"""Joints with a rotation of their own, many at once: between MuJoCo's quaternions and the scene's rotation vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.mjcf import component_math
from exoskel.formats.mjcf.component_math import Parts
from exoskel.scene.joint import Joint
from exoskel.scene.pose import pose_matrices
from exoskel.spatial import Array

RoundKind = Literal["ball", "free", "inner"]
Indices = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


class RotationalJoint(Struct, frozen=True):
    """Where the coordinates of a joint are: the scene's first one, and MuJoCo's addresses.

    `slide` are the addresses of the first of three slides, for a free joint that is not at the root.
    """

    joint: Joint
    first: int
    qpos: int
    qvel: int
    slide: tuple[int, int] = (0, 0)


class RotationalJoints:
    """All joints of one kind: `ball`, `free` at the root, or `inner`, which are slides and a ball.

    `zero` are the children's zero poses in their parents.  Velocities of MuJoCo are `block @ velocities` of ours.
    Arrays of coordinates may have any leading shape: many worlds, many times.
    """

    def __init__(self, kind: RoundKind, places: Sequence[RotationalJoint], zero: Array) -> None:
        self.kind = kind
        self.places = places
        self.zero = zero.reshape(-1, 4, 4)
        self.frame = pose_matrices([place.joint.pose for place in places])
        self.turn = self.frame[:, :3, :3]
        self.back = spatial.inverse(self.frame)
        size = 3 if kind == "ball" else 6
        self.ours = _spread([place.first for place in places], size)
        self.qpos = _spread([place.qpos for place in places], 7 if kind == "free" else 4)
        self.slides = _spread([place.slide[0] for place in places], 3)
        spin = _spread([place.qvel for place in places], 6 if kind == "free" else 3)
        slide = _spread([place.slide[1] for place in places], 3)
        self.rows = np.hstack([slide, spin]) if kind == "inner" else spin
        self._own, self._theirs, self._speeds = (
            component_math.columns(one) for one in (self.ours, self.qpos, self.rows)
        )
        self._offset = tuple(self.frame[:, :3, 3].T)
        self._is_plain = bool((self.frame == np.eye(4)).all())
        self._home = tuple(self.zero[:, :3, 3].T)
        self._upright = bool((self.zero[:, :3, :3] == np.eye(3)).all())
        self._facing = tuple(spatial.quaternion(self.zero[:, :3, :3]).T)

    def __len__(self) -> int:
        return len(self.places)

    def positions(self, qpos: Array, out: Array) -> None:
        """The scene's positions, from MuJoCo's."""
        own = component_math.taken(qpos, self._theirs)
        if self.kind == "free":
            component_math.put(out, self._own, self._free_positions(own[:3], own[3:]))
            return
        component_math.put(out, self._own[:3], self._in_frame(component_math.log(own)))
        if self.kind == "inner":
            out[..., self.ours[:, 3:]] = qpos[..., self.slides]

    def _free_positions(self, place: Parts, turn: Parts) -> Parts:
        place = component_math.minus(place, self._home)
        if not self._is_plain:
            place = component_math.plus(place, component_math.turned(turn, self._offset))
        if not self._upright:
            turn = component_math.behind(self._facing, turn)
            place = component_math.times(_flipped(self.zero[:, :3, :3]), place)
        if not self._is_plain:
            place = self._in_frame(component_math.minus(place, self._offset))
        return self._in_frame(component_math.log(turn)) + place

    def _in_frame(self, vector: Parts) -> Parts:
        """Vectors of the child's axes in those of the joint."""
        return vector if self._is_plain else component_math.times(_flipped(self.turn), vector)

    def set_positions(self, positions: Array, qpos: Array) -> None:
        own = positions[..., self.ours]
        if self.kind == "free":
            motion = spatial.transform(spatial.exp(own[..., :3]), own[..., 3:])
            placed = self.zero @ self.frame @ motion @ self.back
            qpos[..., self.qpos] = spatial.pose7(placed)
            return
        turned = self.turn @ spatial.exp(own[..., :3]) @ _flipped(self.turn)
        qpos[..., self.qpos] = spatial.quaternion(turned)
        if self.kind == "inner":
            qpos[..., self.slides] = own[..., 3:]

    def velocities(self, qpos: Array, qvel: Array, out: Array) -> None:
        """The scene's velocities, from MuJoCo's: what `blocks` makes of them, undone."""
        if self.kind == "ball":
            component_math.put(out, self._own, self._in_frame(component_math.taken(qvel, self._speeds)))
            return
        if self.kind == "free":
            component_math.put(out, self._own, self._free_velocities(qpos, component_math.taken(qvel, self._speeds)))
            return
        own, blocks = qvel[..., self.rows], self.blocks(qpos)
        across, along, around = blocks[..., :3, :3], blocks[..., :3, 3:], blocks[..., 3:, :3]
        spin = _times(_flipped(around), own[..., 3:])
        slide = _times(_flipped(along), own[..., :3] - _times(across, spin))
        out[..., self.ours] = np.concatenate([spin, slide], axis=-1)

    def _free_velocities(self, qpos: Array, own: Parts) -> Parts:
        spin, speed = component_math.turned(component_math.taken(qpos, self._theirs[3:]), own[3:]), own[:3]
        if self._is_plain:
            return spin + speed
        return self._in_frame(spin) + self._in_frame(
            component_math.minus(speed, component_math.cross(self._offset, spin))
        )

    def set_velocities(self, velocities: Array, qpos: Array, qvel: Array) -> None:
        qvel[..., self.rows] = _times(self.blocks(qpos), velocities[..., self.ours])

    def forces(self, qpos: Array, forces: Array, out: Array) -> None:
        """Generalised forces for MuJoCo that do the same work as the scene's."""
        own, blocks = forces[..., self.ours], self.blocks(qpos)
        if self.kind == "ball":
            out[..., self.rows] = _times(blocks, own)
            return
        across, along, around = blocks[..., :3, :3], blocks[..., :3, 3:], blocks[..., 3:, :3]
        push = _times(along, own[..., 3:])
        torque = _times(around, own[..., :3] - _times(_flipped(across), push))
        out[..., self.rows] = np.concatenate([push, torque], axis=-1)

    def blocks(self, qpos: Array) -> Array:
        """The matrices from the scene's velocities to MuJoCo's at `rows`, `(..., n, k, k)`.

        That of a ball is a rotation.  The others have a rotation in the upper right and in the lower left, and
        nothing in the lower right: they are undone without solving anything.
        """
        if self.kind == "ball":
            return self.turn
        cross = spatial.cross_matrix(self.frame[:, :3, 3])
        twist = np.zeros((len(self), 6, 6))  # angular and linear velocity of the child's origin, in parent axes
        twist[:, :3, :3] = self.turn
        twist[:, 3:, :3] = cross @ self.turn
        twist[:, 3:, 3:] = self.turn
        turned = spatial.quaternion_matrix(qpos[..., self.qpos[:, -4:]])
        if self.kind == "free":
            return _stacked(twist[:, 3:], _flipped(turned) @ twist[:, :3])
        motion = _flipped(self.turn) @ turned @ self.turn  # exp(w), in the joint frame
        relative = self.zero[:, :3, :3] @ turned  # the child's rotation in the parent
        side = self.zero[:, :3, :3] @ self.turn  # the joint frame on the parent's side
        arm = _times(motion, self.back[:, :3, 3])  # from the joint to the child's origin, in the joint frame
        spin = _flipped(side) @ twist[:, :3]
        slide = _flipped(side) @ twist[:, 3:] + spatial.cross_matrix(arm) @ spin
        return _stacked(slide, _flipped(relative) @ twist[:, :3])

    def axis_values(self, number: int, field: str) -> Array | None:
        """A value for each of MuJoCo's axes of rotation of one joint, if its own axes are those in some order."""
        own = np.array([getattr(dof, field) for dof in self.places[number].joint.dofs[:3]])
        share = self.turn[number] ** 2
        return share @ own if np.allclose(share, share.round(), rtol=0, atol=1e-12) else None


def _spread(firsts: Sequence[int], size: int) -> Indices:
    return np.array(firsts, dtype=np.intp).reshape(-1, 1) + np.arange(size)


def _flipped(matrices: Array) -> Array:
    return np.swapaxes(matrices, -1, -2)


def _times(matrices: Array, vectors: Array) -> Array:
    out: Array = (matrices @ vectors[..., None])[..., 0]
    return out


def _stacked(upper: Array, lower: Array) -> Array:
    """Rows on top of rows; what is the same for all worlds is spread over them."""
    shape = np.broadcast_shapes(upper.shape, lower.shape)
    return np.concatenate([np.broadcast_to(upper, shape), lower], axis=-2)
