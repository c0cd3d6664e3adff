"""Joint coordinates from poses and velocities of bodies: the inverse of `scene.kinematics`.

It is for engines that know bodies, but no coordinates.  Where a joint is satisfied only approximately, its coordinates
are those of the nearest motion that it allows.  Angles are between -pi and pi; with an estimate (`near`), they are
those closest to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from exoskel import spatial
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics, plane_frames
from exoskel.scene.model import Model
from exoskel.spatial import Array, Indices

_FULL_TURN = 2 * np.pi
_MIN_SINE = 1e-9
"""The sine below which two axes count as parallel."""


class InverseKinematics:
    """The inverse kinematics of models.  Bodies and coordinates are numbered as in their `Kinematics`."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.kinematics = Kinematics(models)
        joints = [joint for model in models for joint in model.joints if not joint.loop]
        self._groups = [
            _SolverGroup(self.kinematics, joints, members, width) for members, width, _ in self.kinematics.groups
        ]

    def positions(self, poses: Array, near: Array | None = None) -> Array:
        """Coordinates from world poses of all bodies, `(bodies, 4, 4)`."""
        out = np.zeros(self.kinematics.dof_count)
        motion = self._motion(poses)
        for group in self._groups:
            guess = None if near is None else near[group.dofs]
            out[group.dofs] = group.kind.positions(group.joints, motion[group.members], guess)
        return out

    def velocities(self, poses: Array, twists: Array) -> Array:
        """Velocities, in the conventions of the SKEL reference.

        `twists` `(bodies, 6)` are the angular velocity and that of the body origin, both in world axes.
        """
        out = np.zeros(self.kinematics.dof_count)
        motion = self._motion(poses)
        spin, speed = self._relative(poses, twists)
        for group in self._groups:
            mine = group.members
            found = group.kind.velocities(group, motion[mine], spin[mine], speed[mine])
            out[group.dofs] = found
        return out

    def _parent_poses(self, poses: Array) -> Array:
        """The pose of each joint's parent; the world's is the identity."""
        has_no_parent = self.kinematics.parent < 0
        return np.where(has_no_parent[:, None, None], np.eye(4), poses[self.kinematics.parent])

    def _motion(self, poses: Array) -> Array:
        """The motion of each joint: the pose of its frame in the child relative to its frame in the parent."""
        known = self.kinematics
        parent_side = self._parent_poses(poses) @ known.from_parent
        return spatial.inverse(parent_side) @ poses[known.child] @ known.from_child

    def _relative(self, poses: Array, twists: Array) -> tuple[Array, Array]:
        """Angular velocity, and velocity of the child's origin, relative to the parent and in its axes."""
        known = self.kinematics
        above = self._parent_poses(poses)
        has_no_parent = (known.parent < 0)[:, None]
        parent = np.where(has_no_parent, 0.0, twists[known.parent])
        child = twists[known.child]
        arm = poses[known.child, :3, 3] - above[:, :3, 3]
        spin = child[:, :3] - parent[:, :3]
        speed = child[:, 3:] - parent[:, 3:] - np.cross(parent[:, :3], arm)
        back = np.swapaxes(above[:, :3, :3], 1, 2)
        return _apply(back, spin), _apply(back, speed)


class _SolverGroup:
    """Joints of one kind: their numbers, the numbers of their coordinates, and their frames."""

    def __init__(self, known: Kinematics, joints: Sequence[Joint], members: Indices, width: int) -> None:
        self.members = members
        self.joints = [joints[i] for i in members.tolist()]
        self.dofs = known.first_dof[members][:, None] + np.arange(width)
        self.parent_side = known.from_parent[members][:, :3, :3]
        self.frame = known.from_child[members]
        self.kind = _SOLVERS[self.joints[0].kind]()


# --- kinds --------------------------------------------------------------------------------------------


class _JointSolver(ABC):
    """Computes the coordinates of one joint kind from its motion, for all members of a group at once."""

    @abstractmethod
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        """The coordinates of a motion, near others if these are given."""

    @abstractmethod
    def velocities(self, group: _SolverGroup, motion: Array, spin: Array, speed: Array) -> Array:
        """The velocities of the coordinates."""


class _RateSolver(_JointSolver):
    """Computes velocities from the angular velocity and that of the joint's frame in the child.

    Both are in the axes of the joint's frame in the parent.
    """

    def velocities(self, group: _SolverGroup, motion: Array, spin: Array, speed: Array) -> Array:
        back = np.swapaxes(group.parent_side, 1, 2)
        rotation = group.parent_side @ motion[:, :3, :3] @ np.swapaxes(group.frame[:, :3, :3], 1, 2)
        arm = _apply(rotation, group.frame[:, :3, 3])  # from the child's origin to the joint, in the parent's axes
        return self.rates(group.joints, motion, _apply(back, spin), _apply(back, speed + np.cross(spin, arm)))

    @abstractmethod
    def rates(self, joints: Sequence[Joint], motion: Array, spin: Array, speed: Array) -> Array:
        """The rates of the coordinates."""


class _RevoluteSolver(_RateSolver):
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        return _nearest(_angles(motion[:, :3, :3], _axis(joints, 0))[:, None], near)

    def rates(self, joints: Sequence[Joint], motion: Array, spin: Array, speed: Array) -> Array:
        return _along(spin, _axis(joints, 0))


class _ScrewSolver(_RevoluteSolver):
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        """The travel determines the number of whole turns."""
        travel = np.array([joint.pitch for joint in joints])[:, None] / _FULL_TURN
        moved = _along(motion[:, :3, 3], _axis(joints, 0))
        angles = super().positions(joints, motion, near)
        by_travel = np.divide(moved, travel, out=angles.copy(), where=travel != 0.0)
        return _nearest(angles, by_travel)


class _PrismaticSolver(_RateSolver):
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        return _along(motion[:, :3, 3], _axis(joints, 0))

    def rates(self, joints: Sequence[Joint], motion: Array, spin: Array, speed: Array) -> Array:
        return _along(speed, _axis(joints, 0))


class _UniversalSolver(_RateSolver):
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        """The inner axis moves with the outer rotation only, which gives its angle; the rest is the inner rotation."""
        outer, inner, swapped = self._order(joints)
        rotation = motion[:, :3, :3]
        first = _angle_between(outer, inner, _apply(rotation, inner))
        rest = np.swapaxes(spatial.axis_angle_matrix(outer, first), 1, 2) @ rotation
        found = np.stack([first, _angles(rest, inner)], axis=1)
        return _nearest(np.where(swapped, found[:, ::-1], found), near)

    def rates(self, joints: Sequence[Joint], motion: Array, spin: Array, speed: Array) -> Array:
        outer, inner, swapped = self._order(joints)
        columns = np.stack([outer, _apply(motion[:, :3, :3], inner)], axis=2)
        found = _apply(np.linalg.pinv(columns), spin)
        return np.where(swapped, found[:, ::-1], found)

    @staticmethod
    def _order(joints: Sequence[Joint]) -> tuple[Array, Array, Array]:
        """The axes fixed in the parent, those fixed in the child, and which joints have them swapped."""
        first, second = _axis(joints, 0), _axis(joints, 1)
        swapped = np.array([joint.swapped for joint in joints])[:, None]
        return np.where(swapped, second, first), np.where(swapped, first, second), swapped


class _BallSolver(_RateSolver):
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        return spatial.log(motion[:, :3, :3])

    def rates(self, joints: Sequence[Joint], motion: Array, spin: Array, speed: Array) -> Array:
        return _apply(np.swapaxes(motion[:, :3, :3], 1, 2), spin)


class _EulerSolver(_RateSolver):
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        """All six orders are xyz with permuted axes, mirrored for half of them."""
        order = joints[0].order
        names = np.eye(3)[["xyz".index(axis) for axis in order]]
        sign = round(float(np.linalg.det(names)))
        angles = sign * spatial.euler_xyz(names @ motion[:, :3, :3] @ names.T)
        if near is None:
            return angles
        other = np.stack([angles[:, 0] + np.pi, np.pi - angles[:, 1], angles[:, 2] + np.pi], axis=1)
        one, two = _nearest(angles, near), _nearest(other, near)
        closer = np.abs(one - near).sum(axis=1) <= np.abs(two - near).sum(axis=1)
        return np.where(closer[:, None], one, two)

    def rates(self, joints: Sequence[Joint], motion: Array, spin: Array, speed: Array) -> Array:
        order = joints[0].order
        angles = self.positions(joints, motion, None)
        first, second, third = (np.eye(3)["xyz".index(axis)] for axis in order)
        one = spatial.axis_rotation(order[0], angles[:, 0])
        two = one @ spatial.axis_rotation(order[1], angles[:, 1])
        columns = np.stack([np.broadcast_to(first, spin.shape), one @ second, two @ third], axis=2)
        return _apply(np.linalg.pinv(columns), spin)


class _TranslationalSolver(_RateSolver):
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        return motion[:, :3, 3]

    def rates(self, joints: Sequence[Joint], motion: Array, spin: Array, speed: Array) -> Array:
        return speed


class _Translational2dSolver(_RateSolver):
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        first, second, _ = plane_frames(joints)
        return np.hstack([_along(motion[:, :3, 3], first), _along(motion[:, :3, 3], second)])

    def rates(self, joints: Sequence[Joint], motion: Array, spin: Array, speed: Array) -> Array:
        first, second, _ = plane_frames(joints)
        return np.hstack([_along(speed, first), _along(speed, second)])


class _PlanarSolver(_Translational2dSolver):
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        _, _, normal = plane_frames(joints)
        angles = _nearest(_angles(motion[:, :3, :3], normal)[:, None], None if near is None else near[:, 2:])
        return np.hstack([super().positions(joints, motion, None), angles])

    def rates(self, joints: Sequence[Joint], motion: Array, spin: Array, speed: Array) -> Array:
        _, _, normal = plane_frames(joints)
        return np.hstack([super().rates(joints, motion, spin, speed), _along(spin, normal)])


class _FreeSolver(_JointSolver):
    def positions(self, joints: Sequence[Joint], motion: Array, near: Array | None) -> Array:
        return np.hstack([spatial.log(motion[:, :3, :3]), motion[:, :3, 3]])

    def velocities(self, group: _SolverGroup, motion: Array, spin: Array, speed: Array) -> Array:
        """Velocities in the convention of the reference: the adjoint of the frame in the child, in parent axes."""
        back = np.swapaxes(group.frame[:, :3, :3], 1, 2)
        return np.hstack([_apply(back, spin), _apply(back, speed - np.cross(group.frame[:, :3, 3], spin))])


_SOLVERS: dict[str, Callable[[], _JointSolver]] = {
    "revolute": _RevoluteSolver,
    "prismatic": _PrismaticSolver,
    "screw": _ScrewSolver,
    "universal": _UniversalSolver,
    "hinge2": _UniversalSolver,
    "ball": _BallSolver,
    "euler": _EulerSolver,
    "translational": _TranslationalSolver,
    "translational2d": _Translational2dSolver,
    "planar": _PlanarSolver,
    "free": _FreeSolver,
    "amotor": _FreeSolver,
}


# --- helpers for many joints at once ------------------------------------------------------------------


def _axis(joints: Sequence[Joint], which: int) -> Array:
    return spatial.unit(np.array([joint.axes[which] for joint in joints]))


def _apply(matrices: Array, vectors: Array) -> Array:
    out: Array = (matrices @ vectors[..., None])[..., 0]
    return out


def _along(vectors: Array, axes: Array) -> Array:
    out: Array = np.sum(vectors * axes, axis=1, keepdims=True)
    return out


def _angles(rotations: Array, axes: Array) -> Array:
    """The angle about an axis that is closest to a rotation, from -pi to pi."""
    q = spatial.quaternion(rotations)
    out: Array = 2.0 * np.arctan2(np.sum(q[:, 1:] * axes, axis=1), q[:, 0])
    return out


def _angle_between(axes: Array, before: Array, after: Array) -> Array:
    """The angle about an axis between two directions; 0 if they are parallel to it."""
    one, two = (v - _along(v, axes) * axes for v in (before, after))
    sine, cosine = np.sum(axes * np.cross(one, two), axis=1), np.sum(one * two, axis=1)
    is_defined = np.linalg.norm(one, axis=1) > _MIN_SINE
    out: Array = np.where(is_defined, np.arctan2(sine, cosine), 0.0)
    return out


def _nearest(angles: Array, near: Array | None) -> Array:
    """The angles plus the whole turns that bring them closest to `near`."""
    return angles if near is None else angles + _FULL_TURN * np.round((near - angles) / _FULL_TURN)
