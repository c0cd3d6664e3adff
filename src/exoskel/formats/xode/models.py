"""Models, bodies and joints of the scene, from assemblies of XODE bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isfinite, pi

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.xode.assemblies import Assembly
from exoskel.formats.xode.context import DOCUMENT, Context
from exoskel.formats.xode.joints import ENVIRONMENT, OdeJoint
from exoskel.scene.body import Body
from exoskel.scene.inertia import NO_MOMENT, Inertia
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import UNLIMITED, Drive, Interval, Joint
from exoskel.scene.pose import ZERO, Pose, Vector, poses_from_matrices
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model
from exoskel.spatial import Array

ENVIRONMENT_NAME = "environment"

_TWO_AXES = ("universal", "hinge2")


class _Tie(Struct, frozen=True):
    """A joint of an assembly, with the numbers of its bodies in the tree."""

    link: OdeJoint
    parent: int
    child: int
    loop: bool = False


class ModelBuilder:
    """Builds the models of one world.  `poses` are the transforms of all bodies of the document."""

    def __init__(self, context: Context, bodies: Sequence[Body], poses: Array) -> None:
        self.context = context
        self.bodies = bodies
        self.poses = poses
        self.names = Names()

    def environment(self, shapes: list[Shape]) -> Model:
        """The model of all geoms that stand still."""
        self.names.add(ENVIRONMENT_NAME)
        body = Body(name=ENVIRONMENT_NAME, inertia=Inertia(mass=0.0, moment=NO_MOMENT), collisions=shapes)
        fixed = Joint(name=f"{ENVIRONMENT_NAME}_root", kind="weld", child=body, implicit=True)
        return Model(name=ENVIRONMENT_NAME, static=True, bodies=[body], joints=[fixed])

    def models(self, assemblies: Sequence[Assembly]) -> list[Model]:
        ties = [_ties(assembly) for assembly in assemblies]
        frames = iter(self._frames([(tie.link, tie.child) for some in ties for tie in some]))
        return [self._model(assembly, some, frames) for assembly, some in zip(assemblies, ties, strict=True)]

    def _model(self, assembly: Assembly, ties: list[_Tie], frames: Iterator[Pose]) -> Model:
        first = self.bodies[assembly.first]
        name = unique_name(first.name, self.names)
        self.names.add(name)
        members = [self.bodies[number] for number in assembly.bodies]
        self._tell_apart(members)
        joints = self._joints(assembly, ties, frames)
        return Model(
            name=name, bodies=members, joints=joints, document=DOCUMENT, node=first.node, given=frozenset({"bodies"})
        )

    def _tell_apart(self, members: list[Body]) -> None:
        names = Names()
        for body in members:
            body.name = unique_name(body.name, names)
            names.add(body.name)

    def _joints(self, assembly: Assembly, ties: list[_Tie], frames: Iterator[Pose]) -> list[Joint]:
        names = Names()
        joints: list[Joint] = []
        ends: list[tuple[int, int]] = []
        if assembly.root >= 0:
            joints.append(self._floating(self.bodies[assembly.root], names))
            ends.append((ENVIRONMENT, assembly.root))
        joints += [self._joint(tie, next(frames), names) for tie in ties]
        if any(_moves(self.bodies[number]) for number in assembly.bodies):
            ends += [(tie.parent, tie.child) for tie in ties]
            for joint, (parent, child) in zip(joints, ends, strict=True):
                self._set_velocity(joint, parent, child)
        return joints

    def _floating(self, body: Body, names: set[str]) -> Joint:
        name = f"{body.name}_root"
        names.add(name)
        return Joint(name=name, kind="free", child=body, implicit=True, document=DOCUMENT, node=body.node)

    def _frames(self, ties: list[tuple[OdeJoint, int]]) -> list[Pose]:
        """Joint frames in their child bodies: at the anchor, with the axes of the world at the start."""
        if not ties:
            return []
        children = self.poses[[child for _, child in ties]]
        anchors = np.array(
            [link.anchor if link.anchor is not None else self.poses[child, :3, 3] for link, child in ties]
        )
        frames = spatial.inverse(children) @ spatial.transform(np.eye(3), anchors)
        return poses_from_matrices(frames)

    def _joint(self, tie: _Tie, frame: Pose, names: set[str]) -> Joint:
        link = tie.link
        name = unique_name(link.name, names)
        names.add(name)
        child_is_first = tie.child == link.first
        joint = Joint(
            name=name,
            kind=link.kind,
            child=self.bodies[tie.child],
            parent=None if tie.parent == ENVIRONMENT else self.bodies[tie.parent],
            pose=frame,
            # The coordinate is the first body's motion relative to the second's, whichever is the child.
            axes=link.axes if child_is_first else tuple(_opposite(axis) for axis in link.axes),
            swapped=child_is_first and link.kind in _TWO_AXES,
            drives=link.drives,
            group=link.group,
            loop=tie.loop,
            document=DOCUMENT,
            node=link.node.number,
            given=self.context.given(link.node),
        )
        _set_limits(joint)
        return joint

    def _set_velocity(self, joint: Joint, parent: int, child: int) -> None:
        """The initial velocity of a joint from what the bodies' own are, as far as the joint allows them."""
        if joint.loop or not joint.motion:
            return
        pose = self.poses[child]
        with np.errstate(all="ignore"):  # what is not finite is told of below
            origin = pose[:3, 3] + pose[:3, :3] @ joint.pose.position
            spin, speed = self._twist_at(child, origin)
            if parent != ENVIRONMENT:
                parent_spin, parent_speed = self._twist_at(parent, origin)
                spin, speed = spin - parent_spin, speed - parent_speed
            outside = np.eye(3) if parent == ENVIRONMENT else self.poses[parent, :3, :3]
            velocities = _projected(joint, spin, speed, pose[:3, :3] @ joint.pose.position, outside)
        if not all(map(isfinite, velocities)):
            self.context.report("X303.overflow", joint.node, what="the velocity of the joint", instead="0 is used")
        elif any(velocities):
            joint.velocities = velocities

    def _twist_at(self, number: int, point: Array) -> tuple[Array, Array]:
        """Angular velocity, and velocity of a point, of a body that moves as its source states."""
        state = self.bodies[number].state
        if state is None:
            return np.zeros(3), np.zeros(3)
        spin = np.array(state.angular_velocity)
        arm = point - self.poses[number, :3, 3]
        return spin, np.array(state.linear_velocity) + spatial.cross_matrix(spin) @ arm


def _ties(assembly: Assembly) -> list[_Tie]:
    ties = [_Tie(link, parent, child) for link, parent, child in assembly.tree]
    return ties + [_Tie(link, *_loop_ends(link), loop=True) for link in assembly.loops]


def _loop_ends(link: OdeJoint) -> tuple[int, int]:
    """A loop ties its first body to its second; the environment is never a child."""
    return (link.first, link.second) if link.first == ENVIRONMENT else (link.second, link.first)


def _opposite(axis: Vector) -> Vector:
    x, y, z = axis
    return (-x or 0.0, -y or 0.0, -z or 0.0)


def _set_limits(joint: Joint) -> None:
    """Stops become limits of the coordinates, where each axis is one."""
    if joint.kind == "amotor":
        return
    for number, drive in enumerate(joint.drives):
        limits = stop_limits(drive, turning=joint.motion[number] == "r")
        if limits != UNLIMITED:
            joint.dofs[number].position_limits = limits


def stop_limits(drive: Drive, *, turning: bool) -> Interval:
    """The range that ODE's stops leave: all of it if they leave nothing, or an angle never gets there."""
    low = -inf if drive.low_stop is None else drive.low_stop
    high = inf if drive.high_stop is None else drive.high_stop
    if low > high or low == inf or high == -inf:
        return UNLIMITED
    if turning:
        low, high = (low if low > -pi else -inf), (high if high < pi else inf)
    return (low, high)


def _moves(body: Body) -> bool:
    return body.state is not None and (body.state.linear_velocity != ZERO or body.state.angular_velocity != ZERO)


def _projected(joint: Joint, spin: Array, speed: Array, offset: Array, outside: Array) -> tuple[float, ...]:
    """The velocities of a joint at zero positions that come closest to a relative motion in world axes.

    `offset` leads from the child's origin to the joint; `outside` is the rotation of the parent.
    """
    match joint.kind:
        case "revolute":
            found = spatial.unit(joint.axes) @ spin
        case "prismatic":
            found = spatial.unit(joint.axes) @ speed
        case "universal" | "hinge2":
            found = np.linalg.pinv(spatial.unit(joint.axes).T) @ spin
        case "ball":
            found = spin
        case _:  # A free joint's velocity is that of the body origin in the axes of the parent, seen from the joint.
            frame = joint.pose.matrix()
            turned = outside.T @ spin
            shifted = outside.T @ (speed - spatial.cross_matrix(spin) @ offset)
            shifted = shifted - spatial.cross_matrix(frame[:3, 3]) @ turned
            found = np.concatenate([frame[:3, :3].T @ turned, frame[:3, :3].T @ shifted])
    return tuple(found.tolist())
