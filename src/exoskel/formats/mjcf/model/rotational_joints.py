"""Ball and free joints, many at once: between MuJoCo's quaternions and the scene's rotation vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.scene.joint import Joint
from exoskel.scene.pose import IDENTITY, Vector, pose_matrices
from exoskel.spatial import Array, Indices

if TYPE_CHECKING:
    from exoskel.formats.mjcf.model.compiled_rotations import Joints

Components = tuple[Array, ...]
Columns = list[slice | Indices]
_IDENTITY = np.eye(4)
_MIN_COMPILED = 200_000
"""The least number of conversions of one joint for which numba is imported, which takes half a second."""
_MAX_CONSTANTS = 4
"""Numbers of states for which the constants of joints are kept."""
_quiet = np.errstate(over="ignore", invalid="ignore")
"""The numbers of a motion that diverged are not finite; the engine reports it."""


def columns(indices: Indices) -> Columns:
    """The columns of `(n, k)` indices, as slices where they are evenly spaced: those need no copies."""
    if not len(indices):
        return [slice(0, 0)] * indices.shape[1]
    gaps = np.diff(indices, axis=0) if len(indices) > 1 else np.ones_like(indices)
    are_even = (gaps == gaps[0]).all(axis=0) & (gaps[0] > 0)
    rows = zip(are_even.tolist(), indices[0].tolist(), indices[-1].tolist(), gaps[0].tolist(), indices.T, strict=True)
    return [slice(first, last + 1, gap) if is_even else column for is_even, first, last, gap, column in rows]


def as_slice(indices: Indices) -> slice | Indices:
    """The same indices as a slice if they are evenly spaced."""
    return columns(indices[:, None])[0]


def get_components(values: Array, chosen: Columns) -> Components:
    """The chosen columns, each as one contiguous array: NumPy computes several times faster with these."""
    return tuple(np.ascontiguousarray(values[..., column]).reshape(-1) for column in chosen)


def set_components(values: Array, chosen: Columns, components: Sequence[Array]) -> None:
    """Set the chosen columns to contiguous arrays."""
    for column, component in zip(chosen, components, strict=True):
        part = values[..., column]
        values[..., column] = component.reshape(part.shape)


def multiply(matrices: Sequence[Components], vector: Components) -> Components:
    """Matrices, as rows of components, times vectors."""
    x, y, z = vector
    return tuple(a * x + b * y + c * z for a, b, c in matrices)


def cross(a: Components, b: Components) -> Components:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def subtract(a: Components, b: Components) -> Components:
    return tuple(one - other for one, other in zip(a, b, strict=True))


def add(a: Components, b: Components) -> Components:
    return tuple(one + other for one, other in zip(a, b, strict=True))


def rotate(quaternion: Components, vector: Components) -> Components:
    """Vectors rotated by quaternions, which need not be unit."""
    w, x, y, z = quaternion
    scale = 2.0 / (w * w + x * x + y * y + z * z)
    once = cross((x, y, z), vector)
    twice = cross((x, y, z), once)
    return tuple(own + scale * (w * first + second) for own, first, second in zip(vector, once, twice, strict=True))


def rotate_by_unit(quaternion: Components, vector: Components) -> Components:
    """Vectors rotated by quaternions that are unit up to rounding: in three quarters of the time of `rotate`."""
    w, x, y, z = quaternion
    twice = cross((x + x, y + y, z + z), vector)
    across = cross((x, y, z), twice)
    return tuple(own + w * first + second for own, first, second in zip(vector, twice, across, strict=True))


def relative_rotation(quaternion: Components, other: Components) -> Components:
    """The rotation from the first to the second: the conjugate of the first times the second."""
    w, x, y, z = quaternion
    a, b, c, d = other
    return (
        w * a + x * b + y * c + z * d,
        w * b - x * a - y * d + z * c,
        w * c + x * d - y * a - z * b,
        w * d - x * c + y * b - z * a,
    )


def log(quaternion: Components) -> Components:
    """Rotation vectors of at most pi, from quaternions that are unit up to rounding."""
    w, x, y, z = quaternion
    sine = np.sqrt(x * x + y * y + z * z)
    with np.errstate(divide="ignore", invalid="ignore"):  # the angle is pi where w is zero
        angle = np.arctan(sine / (w + 0.0))  # no minus zero, which would turn the vector around
        scale = (angle + angle) / sine
    near = sine < spatial.SMALL_SINE
    if near.any():
        scale = np.where(near, np.where(w < 0.0, -2.0, 2.0), scale)
    return scale * x, scale * y, scale * z


def are_compiled(conversions: int) -> bool:
    """Whether numba converts: if it is installed, and for that many conversions of a joint it is worth its import.

    The results are NumPy's to the last bit.
    """
    return conversions >= _MIN_COMPILED and _has_numba()


@cache
def _has_numba() -> bool:
    try:
        from exoskel.formats.mjcf.model import compiled_rotations  # noqa: F401
    except Exception:  # not installed, made for another NumPy, or without a place for its cache
        return False
    return True


# --- rotational joints ---------------------------------------------------------------------------------


RotationKind = Literal["ball", "free", "inner"]


class RotationalJoint(Struct, frozen=True):
    """Where the coordinates of a joint are: the number of the scene's first one, and MuJoCo's addresses.

    `slide` are the addresses of the first of three slides, for a free joint that is not at the root.  `anchor` is the
    point of the child about which it rotates.
    """

    joint: Joint
    first: int
    qpos: int
    qvel: int
    slide: tuple[int, int] = (0, 0)
    anchor: Vector = (0.0, 0.0, 0.0)


class _Constants(Struct, frozen=True):
    """Components of constants of joints, repeated for a number of states: `(states * n)`, or empty where not needed.

    Matrices are rows of components: from the child's axes to those of the joint, and from the parent's axes to those
    of the child in the zero pose.
    """

    offset: Components
    zero_position: Components
    zero_rotation: Components
    to_joint: list[Components]
    to_zero: list[Components]


class RotationalJoints:
    """All joints of one kind: `ball`, `free` at the root, or `inner`, which are three slides and a ball.

    `zero` are the zero poses of the children in their parents.  `scene`, `qpos` and `qvel` are the numbers of the
    joints' coordinates in the scene's and in MuJoCo's arrays.  Arrays may have any leading shape: many worlds, many
    times.  MuJoCo's velocities are `velocity_blocks @ velocities` of the scene's.
    """

    def __init__(self, kind: RotationKind, members: Sequence[RotationalJoint], zero: Array) -> None:
        self.kind = kind
        self.members = members
        self.zero = zero.reshape(-1, 4, 4)
        poses = [member.joint.pose for member in members]
        self.frame = pose_matrices(poses)
        self.rotation = self.frame[:, :3, :3]
        self.scene = _ranges([member.first for member in members], 3 if kind == "ball" else 6)
        self.qpos = _ranges([member.qpos for member in members], 7 if kind == "free" else 4)
        self.qvel = _ranges([member.qvel for member in members], 6 if kind == "free" else 3)
        if kind == "inner":
            self.qvel = np.hstack([_ranges([member.slide[1] for member in members], 3), self.qvel])
        are_identities = all(pose is IDENTITY for pose in poses)
        self._frame_is_identity = are_identities or bool((self.frame == _IDENTITY).all())

    def subset(self, chosen: Indices, kept: Indices) -> RotationalJoints:
        """The chosen joints, for arrays that have only the `kept` coordinates of the scene, in ascending order."""
        firsts = np.searchsorted(kept, self.scene[chosen, 0]).tolist()
        pairs = zip(chosen.tolist(), firsts, strict=True)
        members = [structs.replace(self.members[row], first=first) for row, first in pairs]
        return RotationalJoints(self.kind, members, self.zero[chosen])

    @cached_property
    def slides(self) -> Indices:
        """MuJoCo's positions of the slides of `inner` joints, `(n, 3)`."""
        return _ranges([member.slide[0] for member in self.members], 3)

    @cached_property
    def _scene(self) -> Columns:
        return columns(self.scene)

    @cached_property
    def _qpos(self) -> Columns:
        return columns(self.qpos)

    @cached_property
    def _qvel(self) -> Columns:
        return columns(self.qvel)

    @cached_property
    def _zero_is_upright(self) -> bool:
        return bool((self.zero[:, :3, :3] == np.eye(3)).all())

    @cached_property
    def _zero_rotations(self) -> Array:
        """The rotations of the zero poses as quaternions, `(n, 4)`."""
        return spatial.quaternion(self.zero[:, :3, :3])

    @cached_property
    def _constants(self) -> dict[int, _Constants]:
        """Those of recent numbers of states."""
        return {}

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def _anchors(self) -> Array:
        """The points of the children about which they rotate, `(n, 3)`."""
        return np.array([member.anchor for member in self.members]).reshape(-1, 3)

    @cached_property
    def _anchor(self) -> Array:
        """The same in the axes of the joint frame."""
        return _multiply(_transpose(self.rotation), self._anchors)

    @cached_property
    def _lever(self) -> Array:
        """From the anchor to the joint, in the axes of the joint frame."""
        return _multiply(_transpose(self.rotation), self.frame[:, :3, 3] - self._anchors)

    @cached_property
    def _twist(self) -> Array:
        """The matrix from the scene's velocities to those of the child's origin, in the axes of the parent."""
        out = np.zeros((len(self), 6, 6))
        out[:, :3, :3] = out[:, 3:, 3:] = self.rotation
        out[:, 3:, :3] = spatial.cross_matrix(self.frame[:, :3, 3]) @ self.rotation
        return out

    @cached_property
    def _spin_and_slide(self) -> tuple[Array, Array]:
        """The upper and lower half of the same in the axes of the joint frame."""
        parent_side = self.zero[:, :3, :3] @ self.rotation  # the joint frame on the parent's side
        return _transpose(parent_side) @ self._twist[:, :3], _transpose(parent_side) @ self._twist[:, 3:]

    @property
    def zero_quaternions(self) -> Array:
        """MuJoCo's quaternions where the scene's coordinates are zero, `(n, 4)`."""
        if self.kind == "free":
            return self._zero_rotations
        return np.tile((1.0, 0.0, 0.0, 0.0), (len(self), 1))

    def _repeated(self, states: int) -> _Constants:
        """The constants for a number of states.  Those of recent numbers are kept: blocks of states are of equal size.

        Arrays of equal shape are multiplied faster than by broadcasting.
        """
        found = self._constants.get(states)
        if found is None:
            framed, turned = (0 if one else states for one in (self._frame_is_identity, self._zero_is_upright))
            found = _Constants(
                _repeat(self.frame[:, :3, 3].T, framed),
                _repeat(self.zero[:, :3, 3].T, states if self.kind == "free" else 0),
                _repeat(self._zero_rotations.T, turned),
                [_repeat(self.rotation[:, :, row].T, framed) for row in range(3)],
                [_repeat(self.zero[:, :3, row].T, turned) for row in range(3)],
            )
            if len(self._constants) >= _MAX_CONSTANTS:
                self._constants.clear()
            self._constants[states] = found
        return found

    @_quiet
    def positions(self, qpos: Array, out: Array) -> None:
        """Convert MuJoCo's positions to the scene's, into `out`."""
        own, constants = get_components(qpos, self._qpos), self._repeated(qpos.size // qpos.shape[-1])
        if self.kind == "free":
            set_components(out, self._scene, self._free_positions(own[:3], own[3:], constants))
            return
        set_components(out, self._scene[:3], self._to_joint_frame(log(own), constants))
        if self.kind == "inner":
            slides = qpos[..., self.slides]
            if self._lever.any():
                slides = slides - self._swing(spatial.exp(out[..., self.scene[:, :3]]))
            out[..., self.scene[:, 3:]] = slides

    @cached_property
    def compiled_constants(self) -> Joints:
        """The constants of compiled conversions."""
        first, qpos, qvel = (one[:, 0].astype(np.uintp) for one in (self.scene, self.qpos, self.qvel))
        zero = self.zero[:, :3, :3]
        parts = self.rotation, self.frame[:, :3, 3], zero, self.zero[:, :3, 3], self._zero_rotations
        rotation, offset, zero, zero_position, zero_rotation = map(np.ascontiguousarray, parts)
        framed, turned = not self._frame_is_identity, self.kind == "free" and not self._zero_is_upright
        return first, qpos, qvel, framed, rotation, offset, turned, zero, zero_position, zero_rotation

    def _swing(self, motion: Array) -> Array:
        """How far rotations about the joint, in its frame, move the anchor."""
        return self._lever - _multiply(motion, self._lever)

    def _free_positions(self, position: Components, rotation: Components, constants: _Constants) -> Components:
        position = subtract(position, constants.zero_position)
        if not self._frame_is_identity:
            position = add(position, rotate(rotation, constants.offset))
        if not self._zero_is_upright:
            rotation = relative_rotation(constants.zero_rotation, rotation)
            position = multiply(constants.to_zero, position)
        if not self._frame_is_identity:
            position = self._to_joint_frame(subtract(position, constants.offset), constants)
        return self._to_joint_frame(log(rotation), constants) + position

    def _to_joint_frame(self, vector: Components, constants: _Constants) -> Components:
        """Rotate vectors from the child's axes to those of the joint."""
        return vector if self._frame_is_identity else multiply(constants.to_joint, vector)

    def set_positions(self, positions: Array, qpos: Array) -> None:
        """Convert the scene's positions to MuJoCo's, into `qpos`."""
        own = positions[..., self.scene]
        if self._frame_is_identity and not own.any():
            self._set_zero_positions(qpos)
            return
        if self.kind == "free":
            motion = spatial.transform(spatial.exp(own[..., :3]), own[..., 3:])
            poses = self.zero @ self.frame @ motion @ spatial.inverse(self.frame)
            qpos[..., self.qpos] = spatial.pose7(poses)
            return
        rotation = self.rotation @ spatial.exp(own[..., :3]) @ _transpose(self.rotation)
        qpos[..., self.qpos] = spatial.quaternion(rotation)
        if self.kind == "inner":
            qpos[..., self.slides] = own[..., 3:] + self._swing(spatial.exp(own[..., :3]))

    def _set_zero_positions(self, qpos: Array) -> None:
        """Set MuJoCo's positions where the scene's are zero, if the joint frames are those of the children."""
        qpos[..., self.qpos[:, -4:]] = self.zero_quaternions
        if self.kind == "free":
            qpos[..., self.qpos[:, :3]] = self.zero[:, :3, 3] + 0.0  # no minus zero
        elif self.kind == "inner":
            qpos[..., self.slides] = 0.0

    @_quiet
    def velocities(self, qpos: Array, qvel: Array, out: Array) -> None:
        """Convert MuJoCo's velocities to the scene's, into `out`: the inverse of `velocity_blocks`."""
        if self.kind == "inner":
            out[..., self.scene] = _multiply(self.inverse_blocks(self.velocity_blocks(qpos)), qvel[..., self.qvel])
            return
        own, constants = get_components(qvel, self._qvel), self._repeated(qvel.size // qvel.shape[-1])
        if self.kind == "ball":
            found = self._to_joint_frame(own, constants)
        else:
            found = self._free_velocities(get_components(qpos, self._qpos[3:]), own, constants)
        set_components(out, self._scene, found)

    def _free_velocities(self, quaternion: Components, own: Components, constants: _Constants) -> Components:
        spin, speed = rotate_by_unit(quaternion, own[3:]), own[:3]
        if self._frame_is_identity:
            return spin + speed
        speed = subtract(speed, cross(constants.offset, spin))
        return self._to_joint_frame(spin, constants) + self._to_joint_frame(speed, constants)

    @_quiet
    def set_velocities(self, velocities: Array, qpos: Array, qvel: Array) -> None:
        """Convert the scene's velocities to MuJoCo's, into `qvel`."""
        own = velocities[..., self.scene]
        qvel[..., self.qvel] = _multiply(self.velocity_blocks(qpos), own) if own.any() else 0.0

    @_quiet
    def forces(self, qpos: Array, forces: Array, out: Array) -> None:
        """Convert the scene's generalised forces to MuJoCo's that do the same work, into `out`."""
        own, blocks = forces[..., self.scene], self.inverse_blocks(self.velocity_blocks(qpos))
        out[..., self.qvel] = _multiply(_transpose(blocks), own)

    @_quiet
    def velocity_blocks(self, qpos: Array) -> Array:
        """The matrices from the scene's velocities to MuJoCo's at `qvel`, `(..., n, k, k)`.

        That of a ball is a rotation.  The others have a rotation in the upper right and in the lower left, and
        zeros in the lower right, so that their inverse needs no solver.
        """
        if self.kind == "ball":
            return self.rotation
        child_rotation = spatial.quaternion_matrix(qpos[..., self.qpos[:, -4:]])
        if self.kind == "free":
            return _stack_rows(self._twist[:, 3:], _transpose(child_rotation) @ self._twist[:, :3])
        relative = self.zero[:, :3, :3] @ child_rotation  # the child's rotation in the parent
        spin, slide = self._spin_and_slide
        if self._anchor.any():
            motion = _transpose(self.rotation) @ child_rotation @ self.rotation  # exp(w), in the joint frame
            arm = -_multiply(motion, self._anchor)  # from the anchor to the child's origin, joint frame
            slide = slide + spatial.cross_matrix(arm) @ spin
        return _stack_rows(slide, _transpose(relative) @ self._twist[:, :3])

    @_quiet
    def inverse_blocks(self, blocks: Array) -> Array:
        """The inverse of `velocity_blocks`."""
        if self.kind == "ball":
            return _transpose(blocks)
        around, along = _transpose(blocks[..., 3:, :3]), _transpose(blocks[..., :3, 3:])
        out = np.zeros(blocks.shape)
        out[..., :3, 3:], out[..., 3:, :3] = around, along
        if blocks[..., :3, :3].any():
            out[..., 3:, 3:] = -along @ blocks[..., :3, :3] @ around
        return out

    def axis_values(self, number: int, field: str) -> Array | None:
        """A value for each of MuJoCo's rotation axes of one joint; None if the joint's axes are not among them."""
        own = np.array([getattr(dof, field) for dof in self.members[number].joint.dofs[:3]])
        share = self.rotation[number] ** 2
        return share @ own if np.allclose(share, share.round(), rtol=0, atol=1e-12) else None


def _repeat(rows: Array, states: int) -> Components:
    """The rows, each repeated for a number of states."""
    return tuple(np.tile(rows, (1, states)))


def _ranges(firsts: Sequence[int], size: int) -> Indices:
    """`size` consecutive indices from each first one, `(n, size)`."""
    return np.array(firsts, dtype=np.intp).reshape(-1, 1) + np.arange(size)


def _transpose(matrices: Array) -> Array:
    return np.swapaxes(matrices, -1, -2)


def _multiply(matrices: Array, vectors: Array) -> Array:
    out: Array = (matrices @ vectors[..., None])[..., 0]
    return out


def _stack_rows(upper: Array, lower: Array) -> Array:
    """Rows above rows; an upper block that is the same for all worlds is broadcast."""
    shape = np.broadcast_shapes(upper.shape, lower.shape)
    return np.concatenate([np.broadcast_to(upper, shape), lower], axis=-2)
