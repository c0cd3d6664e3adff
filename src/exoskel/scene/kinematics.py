"""Forward kinematics of whole worlds at once: poses of bodies, and their initial velocities.

Coordinates are those of the SKEL reference: a ball joint has a rotation vector, a free joint a rotation
vector and then a translation.  At zero positions every body is at its `pose`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import Body
from exoskel.scene.joint import PLANES, Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import IDENTITY, Pose, Vector, pose_matrices, vector_from_array
from exoskel.spatial import Array, Indices

_NO_ROTATION_MATRIX = np.eye(3)


def _overflow_allowed() -> np.errstate:
    """Silence overflow: huge numbers give poses that are not finite, and the caller decides what to do."""
    return np.errstate(over="ignore", invalid="ignore")


class ZeroPoses:
    """The poses of bodies at zero joint positions, and the bodies that each joint connects.

    Bodies are numbered through all models in order; `parent` is -1 for the world.  `stated` are poses to use instead of
    the bodies' own.
    """

    def __init__(self, models: Sequence[Model], stated: Sequence[Pose] | None = None) -> None:
        joints = _tree_joints(models)
        bodies = [body for model in models for body in model.bodies]
        number: dict[int | None, int] = {id(body): i for i, body in enumerate(bodies)}
        number[id(None)] = -1
        self.zero_poses = pose_matrices([body.pose for body in bodies] if stated is None else stated)
        if any(model.pose is not IDENTITY and not model.pose.is_identity for model in models):
            self._apply_model_poses(models)
        self.child = np.array([number[id(joint.child)] for joint in joints], dtype=np.intp)
        self.parent = np.array([number[id(joint.parent)] for joint in joints], dtype=np.intp)

    def relative_poses(self) -> Array:
        """The zero pose of each joint's child in its parent."""
        own = self.zero_poses[self.child]
        inner = np.flatnonzero(self.parent >= 0)
        if not len(inner):
            return own
        places = self.zero_poses[:, :3, 3]
        children, parents = places[self.child[inner]], places[self.parent[inner]]
        sizes = np.maximum(np.abs(children), np.abs(parents)).max(axis=1)
        is_upright = (self.zero_poses[:, :3, :3] == _NO_ROTATION_MATRIX).all()
        if not (is_upright and np.isfinite(sizes).all()):
            return self.in_parent(own)
        moved = children - parents + 0.0  # the same as with matrices
        moved[np.abs(moved) < (spatial.NOISE * sizes)[:, None]] = 0.0
        own[inner, :3, 3] = moved
        return own

    def _apply_model_poses(self, models: Sequence[Model]) -> None:
        counts = [len(model.bodies) for model in models]
        owner = np.repeat(np.arange(len(models)), counts)
        with _overflow_allowed():
            self.zero_poses = pose_matrices([model.pose for model in models])[owner] @ self.zero_poses

    def in_parent(self, world: Array) -> Array:
        """Convert frames of the joints in the world, at zero positions, to frames in their parents."""
        has_parent = self.parent >= 0
        out = world.copy()
        if not has_parent.any():
            return out
        parents, inner = self.zero_poses[self.parent[has_parent]], world[has_parent]
        out[has_parent] = spatial.inverse(parents) @ inner
        sizes = np.abs(np.hstack([parents[:, :3, 3], inner[:, :3, 3]])).max(axis=1, initial=0.0)
        out[has_parent, :3, 3] = spatial.without_noise(out[has_parent, :3, 3], sizes)
        return out


class Kinematics(ZeroPoses):
    """The joints of some models, arranged for computing body poses in bulk.

    Bodies and coordinates are numbered through all models in order.  `stated` are poses to use instead of the bodies'
    own.
    """

    def __init__(self, models: Sequence[Model], stated: Sequence[Pose] | None = None) -> None:
        super().__init__(models, stated)
        joints = _tree_joints(models)
        frames = pose_matrices([joint.pose for joint in joints])
        self.from_child = frames
        self.to_child = spatial.inverse(frames)
        with _overflow_allowed():
            self.from_parent = self.in_parent(self.zero_poses[self.child] @ frames)
        counts = np.array([joint.dof_count for joint in joints], dtype=np.intp)
        self.first_dof = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        self.dof_count = int(self.first_dof[-1])
        self.groups = _groups(joints)
        self.levels = _levels(self.parent, self.child, len(self.zero_poses))
        self.initial = np.array([q for joint in joints for q in joint.positions])
        self.collapsing = {i: joint.axes for i, joint in enumerate(joints) if joint.collapses}

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
        with _overflow_allowed():
            for joints, parents, children in self._steps:
                world[children] = relative[joints] if parents is None else world[parents] @ relative[joints]
        return world

    def initial_poses(self) -> Array:
        """World poses of all bodies at the initial positions; the stated ones, exactly, where no joint has moved."""
        world = self.poses()
        moved = np.zeros(len(world), dtype=bool)
        has_moved = np.array([np.any(q) for q in np.split(self.initial, self.first_dof[1:-1])], dtype=bool)
        has_moved = has_moved[: len(self.child)]
        has_moved[list(self.collapsing)] = True
        for joints, parents, children in self._steps:
            moved[children] = has_moved[joints] if parents is None else has_moved[joints] | moved[parents]
        world[~moved] = self.zero_poses[~moved]
        return world

    @cached_property
    def _steps(self) -> list[tuple[_RowIndex, _RowIndex | None, _RowIndex]]:
        """The joints of each level with their parents and children; None where the parent is the world."""
        found = ((level, self.parent[level], self.child[level]) for level in self.levels)
        return [
            (_rows(level), None if parents[0] < 0 else _rows(parents), _rows(children))
            for level, parents, children in found
        ]

    def chains(self) -> tuple[Array, Array]:
        """The lengths in m of the chains of joint frames that lead to each body, and their numbers of joints."""
        lengths, counts = spatial.lengths(self.zero_poses[:, :3, 3]), np.zeros(len(self.zero_poses))
        arms = spatial.lengths(self.from_parent[:, :3, 3]) + spatial.lengths(self.from_child[:, :3, 3])
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


def _tree_joints(models: Sequence[Model]) -> list[Joint]:
    return [joint for model in models for joint in model.joints if not joint.loop]


_RowIndex = Indices | slice


def _rows(indices: Indices) -> _RowIndex:
    """Indices of rows; a single one as a slice, which is ten times as fast, and long chains have only such levels."""
    return slice(int(indices[0]), int(indices[0]) + 1) if len(indices) == 1 else indices


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


def translation_axes(joint: Joint) -> Sequence[Vector]:
    """The axes of a joint in its frame; for one in a plane, the two orthonormal directions of translation."""
    if joint.kind not in ("planar", "translational2d"):
        return joint.axes
    first, second, _ = plane_frames([joint])
    return [vector_from_array(first[0]), vector_from_array(second[0])]


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


Twist = tuple[Vector, Vector]
"""Velocity of the body origin (m/s) and angular velocity (rad/s), both in world axes."""

_VELOCITY_KINDS = frozenset({"ball", "free", "amotor"})
"""Kinds whose velocities are angular and linear velocities; those of all others are rates of their positions."""
_UNITS = {"x": np.array([1.0, 0.0, 0.0]), "y": np.array([0.0, 1.0, 0.0]), "z": np.array([0.0, 0.0, 1.0])}


def stated_twists(bodies: Iterable[Body]) -> dict[int, Twist]:
    """The initial motion of bodies that state it themselves, by the body's id."""
    return {id(body): (s.linear_velocity, s.angular_velocity) for body in bodies if (s := body.state) is not None}


def initial_twists(
    models: Sequence[Model], kinematics: Kinematics, stated: Mapping[int, Twist] | None = None
) -> dict[int, Twist]:
    """The initial motion of every body that moves, by the body's id.

    A `stated` motion overrides that of the joint and also moves the bodies below.
    """
    joints = [joint for model in models for joint in model.joints if not joint.loop]
    if not stated and not any(joint._dofs and any(joint.velocities) for joint in joints):
        return {}
    transforms = kinematics.poses()
    number = {id(body): i for i, body in enumerate(body for model in models for body in model.bodies)}
    relative = kinematics.relative(kinematics.initial)
    spin, speed = np.zeros((len(number), 3)), np.zeros((len(number), 3))
    for i, joint in enumerate(joints):
        child = number[id(joint.child)]
        parent = np.eye(4) if joint.parent is None else transforms[number[id(joint.parent)]]
        own_spin, own_speed = _joint_twist(joint, relative[i], kinematics.from_parent[i], kinematics.to_child[i])
        offset = transforms[child][:3, 3] - parent[:3, 3]
        index = -1 if joint.parent is None else number[id(joint.parent)]
        parent_spin, parent_speed = (np.zeros(3), np.zeros(3)) if index < 0 else (spin[index], speed[index])
        spin[child] = parent_spin + parent[:3, :3] @ own_spin
        speed[child] = parent_speed + np.cross(parent_spin, offset) + parent[:3, :3] @ own_speed
        if stated is not None and id(joint.child) in stated:
            speed[child], spin[child] = stated[id(joint.child)]
    return {body: _twist(speed[i], spin[i]) for body, i in number.items() if speed[i].any() or spin[i].any()}


def _joint_twist(joint: Joint, here: Array, frame: Array, to_child: Array) -> tuple[Array, Array]:
    """Angular velocity and velocity of the child's origin, in the axes of the parent.

    `here` is the child in the parent; `frame` is the joint in the parent, `to_child` the child in the joint.
    """
    if not any(joint.velocities):
        return np.zeros(3), np.zeros(3)
    if joint.kind not in _VELOCITY_KINDS:
        if joint.collapses and np.array_equal(here, np.eye(4)):
            return np.zeros(3), np.zeros(3)
        spin, speed = _twist_from_rates(joint)
        rotation = frame[:3, :3].T @ here[:3, :3] @ to_child[:3, :3].T
        return frame[:3, :3] @ spin, frame[:3, :3] @ (speed + np.cross(spin, rotation @ to_child[:3, 3]))
    spin, speed = free_twist(joint, np.array([*joint.velocities, 0.0, 0.0, 0.0][:6]))
    # A free joint's velocity is in the axes of the parent, a ball joint's in those of the child.
    return (spin, speed) if joint.kind != "ball" else (here[:3, :3] @ spin, here[:3, :3] @ speed)


def _twist_from_rates(joint: Joint) -> tuple[Array, Array]:
    """Angular velocity and velocity of the moved frame's origin, in the joint frame of the parent."""
    rates, still = np.array(joint.velocities), np.zeros(3)
    match joint.kind:
        case "translational":
            return still, rates
        case "translational2d" | "planar":
            one, two, normal = (direction[0] for direction in plane_frames([joint]))
            spin = normal * rates[2] if joint.kind == "planar" else still
            return spin, one * rates[0] + two * rates[1]
        case "euler":
            return _angular_velocity([_UNITS[axis] for axis in joint.order], joint.positions, rates), still
    axes = spatial.unit(np.array(joint.axes))
    if joint.kind == "prismatic":
        return still, axes[0] * rates[0]
    if joint.swapped and joint.kind in ("universal", "hinge2"):
        return _angular_velocity(list(axes[::-1]), joint.positions[::-1], rates[::-1]), still
    spin = _angular_velocity(list(axes), joint.positions, rates)
    return spin, spin * joint.pitch / (2 * np.pi) if joint.kind == "screw" else still


def _angular_velocity(axes: Sequence[Array], angles: Sequence[float], rates: Array) -> Array:
    """The angular velocity of successive rotations, each about an axis that the previous ones have rotated."""
    spin, rotation = np.zeros(3), np.eye(3)
    for axis, angle, rate in zip(axes, angles, rates.tolist(), strict=True):
        spin = spin + rotation @ axis * rate
        rotation = rotation @ spatial.axis_angle_matrix(axis, np.array(angle))
    return spin


def free_twist(joint: Joint, velocities: Array) -> tuple[Array, Array]:
    """The six velocities of a free joint as angular velocity and velocity of the child's origin, in parent axes."""
    frame = joint.pose.matrix()
    spin: Array = frame[:3, :3] @ velocities[:3]
    return spin, np.cross(frame[:3, 3], spin) + frame[:3, :3] @ velocities[3:]


def _twist(speed: Array, spin: Array) -> Twist:
    (a, b, c), (x, y, z) = spatial.without_noise(np.stack([speed, spin])).tolist()
    return (a, b, c), (x, y, z)


def bodies_moved_by_initial_positions(model: Model) -> set[int]:
    """The ids of the bodies that initial joint positions move: those of their own joint or of joints above it."""
    parent_joints = {id(joint.child): joint for joint in model.joints if not joint.loop}
    moved: dict[int, bool] = {}
    for body in model.bodies:
        chain: list[int] = []
        found, here = False, parent_joints.get(id(body))
        while here is not None and not found:
            if id(here.child) in moved:
                found = moved[id(here.child)]
                break
            chain.append(id(here.child))
            found = any(here.positions)
            here = None if here.parent is None else parent_joints.get(id(here.parent))
        # The whole chain lies below the joint where the search ended, so the result applies to all of it.
        moved.update(dict.fromkeys(chain, found))
    return {body for body, has_moved in moved.items() if has_moved}
