"""Forward kinematics of whole worlds at once.

Coordinates are those of the SKEL reference: a ball joint has a rotation vector, a free joint a rotation
vector and then a translation.  At zero positions every body is at its `pose`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.joint import PLANES, Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, Vector, pose_matrices
from exoskel.spatial import Array, Indices


def _overflow_allowed() -> np.errstate:
    """Silence overflow: huge numbers give poses that are not finite, and the caller decides what to do."""
    return np.errstate(over="ignore", invalid="ignore")


class Kinematics:
    """The joints of some models, arranged for computing body poses in bulk.

    Bodies and coordinates are numbered through all models in order.  `stated` are poses to use instead of the bodies'
    own.
    """

    def __init__(self, models: Sequence[Model], stated: Sequence[Pose] | None = None) -> None:
        joints = [joint for model in models for joint in model.joints if not joint.loop]
        bodies = [body for model in models for body in model.bodies]
        number = {id(body): i for i, body in enumerate(bodies)}
        self.zero_poses = pose_matrices([body.pose for body in bodies] if stated is None else stated)
        if any(not model.pose.is_identity for model in models):
            self._apply_model_poses(models)
        self.child = np.array([number[id(joint.child)] for joint in joints], dtype=np.intp)
        self.parent = np.array(
            [-1 if joint.parent is None else number[id(joint.parent)] for joint in joints], dtype=np.intp
        )
        frames = pose_matrices([joint.pose for joint in joints])
        self.from_child = frames
        self.to_child = spatial.inverse(frames)
        with _overflow_allowed():
            self.from_parent = self.in_parent(self.zero_poses[self.child] @ frames)
        counts = np.array([joint.dof_count for joint in joints], dtype=np.intp)
        self.first_dof = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        self.dof_count = int(self.first_dof[-1])
        self.groups = _groups(joints)
        self.levels = _levels(self.parent, self.child, len(bodies))
        self.initial = np.array([q for joint in joints for q in joint.positions])
        self.collapsing = {i: joint.axes for i, joint in enumerate(joints) if joint.collapses}

    def _apply_model_poses(self, models: Sequence[Model]) -> None:
        counts = [len(model.bodies) for model in models]
        owner = np.repeat(np.arange(len(models)), counts)
        with _overflow_allowed():
            self.zero_poses = pose_matrices([model.pose for model in models])[owner] @ self.zero_poses

    def in_parent(self, world: Array) -> Array:
        """Convert frames of the joints in the world, at zero positions, to frames in their parents."""
        has_parent = self.parent >= 0
        out = world.copy()
        out[has_parent] = spatial.inverse(self.zero_poses[self.parent[has_parent]]) @ world[has_parent]
        return out

    def relative(self, positions: ArrayLike) -> Array:
        """The pose of each joint's child in its parent, `(joints, 4, 4)`."""
        q = self._check_positions(positions)
        motion = spatial.identity(len(self.child))
        with _overflow_allowed():
            for members, width, move in self.groups:
                motion[members] = move(q[self.first_dof[members][:, None] + np.arange(width)])
            relative = self.from_parent @ motion @ self.to_child
        for i, axes in self.collapsing.items():
            skewed = _dart_universal_motion(axes, q[self.first_dof[i] :])
            is_rotation = abs(np.linalg.det(skewed[:3, :3]) - 1.0) <= _DART_EPSILON
            relative[i] = self.from_parent[i] @ skewed @ self.to_child[i] if is_rotation else np.eye(4)
        return relative

    def poses(self, positions: ArrayLike | None = None) -> Array:
        """World poses of all bodies, `(bodies, 4, 4)`, at `positions` (default: the initial positions)."""
        relative = self.relative(self.initial if positions is None else positions)
        world = self.zero_poses.copy()
        for level in self.levels:
            parents = self.parent[level]
            if parents[0] < 0:
                world[self.child[level]] = relative[level]
                continue
            with _overflow_allowed():
                world[self.child[level]] = world[parents] @ relative[level]
        return world

    def chains(self) -> tuple[Array, Array]:
        """The lengths in m of the chains of joint frames that lead to each body, and their numbers of joints."""
        lengths, counts = np.linalg.norm(self.zero_poses[:, :3, 3], axis=1), np.zeros(len(self.zero_poses))
        arms = sum(np.linalg.norm(frames[:, :3, 3], axis=1) for frames in (self.from_parent, self.from_child))
        for level in self.levels:
            child, parents = self.child[level], self.parent[level]
            is_root = parents[0] < 0
            lengths[child] = arms[level] + (0.0 if is_root else lengths[parents])
            counts[child] = 1.0 + (0.0 if is_root else counts[parents])
        return lengths, counts

    def _check_positions(self, positions: ArrayLike) -> Array:
        q = spatial.array(positions)
        if q.shape != (self.dof_count,):
            raise ExoskelError(f"expected {self.dof_count} positions, not an array of shape {q.shape}")
        return q


MotionFunction = Callable[[Array], Array]
JointGroup = tuple[Indices, int, MotionFunction]


def _groups(joints: Sequence[Joint]) -> list[JointGroup]:
    """The joints by kind, each group with the function that moves all its members at once."""
    members: dict[tuple[str, str], list[int]] = {}
    for i, joint in enumerate(joints):
        if joint.motion:
            order = joint.order if joint.kind == "euler" else ""
            members.setdefault((joint.kind, order), []).append(i)
    groups: list[JointGroup] = []
    for (kind, _), indices in members.items():
        own = [joints[i] for i in indices]
        groups.append((np.array(indices, dtype=np.intp), own[0].dof_count, _MOTIONS[kind](own)))
    return groups


def _levels(parent: Indices, child: Indices, bodies: int) -> list[Indices]:
    """Joint numbers by distance from the world, so that each level needs only the one before."""
    depth = np.zeros(bodies, dtype=np.intp)
    level = np.zeros(len(child), dtype=np.intp)
    if np.any(parent >= 0):
        for i, (p, c) in enumerate(zip(parent.tolist(), child.tolist(), strict=True)):
            if p >= 0:
                level[i] = depth[c] = depth[p] + 1
    order = np.argsort(level, kind="stable")
    cuts = np.flatnonzero(np.diff(level[order])) + 1
    return [part for part in np.split(order, cuts) if len(part)]


def _axis(joints: Sequence[Joint], which: int) -> Array:
    return spatial.unit(np.array([joint.axes[which] for joint in joints]))


def _rotation_about(axes: Array, angles: Array) -> Array:
    return spatial.transform(spatial.axis_angle_matrix(axes, angles), np.zeros_like(axes))


def _translation(offsets: Array) -> Array:
    return spatial.transform(np.eye(3), offsets)


def _revolute(joints: Sequence[Joint]) -> MotionFunction:
    axis = _axis(joints, 0)
    return lambda q: _rotation_about(axis, q[:, 0])


def _prismatic(joints: Sequence[Joint]) -> MotionFunction:
    axis = _axis(joints, 0)
    return lambda q: _translation(axis * q)


def _screw(joints: Sequence[Joint]) -> MotionFunction:
    axis = _axis(joints, 0)
    travel = np.array([joint.pitch for joint in joints]) / (2 * np.pi)
    return lambda q: spatial.transform(spatial.axis_angle_matrix(axis, q[:, 0]), axis * (travel * q[:, 0])[:, None])


def _universal(joints: Sequence[Joint]) -> MotionFunction:
    first, second = _axis(joints, 0), _axis(joints, 1)
    swapped = np.array([joint.swapped for joint in joints])[:, None, None]

    def move(q: Array) -> Array:
        one, two = _rotation_about(first, q[:, 0]), _rotation_about(second, q[:, 1])
        return np.where(swapped, two, one) @ np.where(swapped, one, two)

    return move


_DART_EPSILON = 1e-6
"""How far from 1 the determinant of a rotation may be before DART replaces it by the identity."""


def _dart_universal_motion(axes: Sequence[Vector], angles: Array) -> Array:
    """A universal joint's motion about axes that DART does not normalize: a rotation only if they are unit."""
    out = np.eye(4)
    for axis, angle in zip(axes, angles.tolist(), strict=False):
        cosine = np.cos(angle)
        rotation = cosine * np.eye(3) + (1.0 - cosine) * np.outer(axis, axis)
        out[:3, :3] = out[:3, :3] @ (rotation + np.sin(angle) * spatial.cross_matrix(axis))
    return out


def _ball(_: Sequence[Joint]) -> MotionFunction:
    return lambda q: spatial.transform(spatial.exp(q), np.zeros_like(q))


def _euler(joints: Sequence[Joint]) -> MotionFunction:
    order = joints[0].order
    return lambda q: spatial.transform(spatial.euler_matrix(q, order), np.zeros_like(q))


def _translational(_: Sequence[Joint]) -> MotionFunction:
    return _translation


def plane_frames(joints: Sequence[Joint]) -> tuple[Array, Array, Array]:
    """The two directions of each plane and its normal, orthonormalized as in DART."""
    spans = [joint.axes if joint.plane == "arbitrary" else PLANES[joint.plane] for joint in joints]
    first = spatial.unit(np.array([span[0] for span in spans]))
    second = spatial.unit(np.array([span[1] for span in spans]))
    second = spatial.unit(second - np.sum(first * second, axis=1, keepdims=True) * first)
    return first, second, np.cross(first, second)


def _translational2d(joints: Sequence[Joint]) -> MotionFunction:
    first, second, _ = plane_frames(joints)
    return lambda q: _translation(first * q[:, :1] + second * q[:, 1:])


def _planar(joints: Sequence[Joint]) -> MotionFunction:
    first, second, normal = plane_frames(joints)
    return lambda q: spatial.transform(
        spatial.axis_angle_matrix(normal, q[:, 2]), first * q[:, :1] + second * q[:, 1:2]
    )


def _free(_: Sequence[Joint]) -> MotionFunction:
    return lambda q: spatial.transform(spatial.exp(q[:, :3]), q[:, 3:])


_MOTIONS: dict[str, Callable[[Sequence[Joint]], MotionFunction]] = {
    "revolute": _revolute,
    "prismatic": _prismatic,
    "screw": _screw,
    "universal": _universal,
    "ball": _ball,
    "euler": _euler,
    "translational": _translational,
    "translational2d": _translational2d,
    "planar": _planar,
    "free": _free,
    "hinge2": _universal,
    "amotor": _free,
}
