"""Groups XODE bodies into assemblies and builds the models, bodies and joints of the scene from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import inf, isfinite, pi

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.xode.context import DOCUMENT, XodeContext
from exoskel.formats.xode.document_layout import Frames
from exoskel.formats.xode.joints import ENVIRONMENT, OdeJoint
from exoskel.formats.xode.vocabulary import JOINT_ELEMENT
from exoskel.scene.body import Body
from exoskel.scene.inertia import NO_MOMENT, Inertia
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import UNLIMITED, Drive, Interval, Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import ZERO, Pose, Vector, poses_from_matrices
from exoskel.scene.shape import Shape
from exoskel.spatial import Array


class Assembly:
    """One model: its bodies by number, in tree order, and its joints.

    `tree` holds (link, parent, child) with -1 for the environment, parents first.  `root` is the body with a free
    joint (-1: no body).  `loops` are the remaining joints.
    """

    def __init__(self, members: list[int], links: list[OdeJoint]) -> None:
        self.first = min(members)
        self.root = ENVIRONMENT
        self.bodies: list[int] = []
        self.tree: list[tuple[OdeJoint, int, int]] = []
        self.loops: list[OdeJoint] = []
        self._build_tree(links)

    def _build_tree(self, links: list[OdeJoint]) -> None:
        by_body: dict[int, list[OdeJoint]] = {}
        for link in links:
            by_body.setdefault(link.first, []).append(link)
            by_body.setdefault(link.second, []).append(link)
        reached: set[int] = set()
        start = ENVIRONMENT
        if ENVIRONMENT not in by_body:
            start = self.root = self.first
            self.bodies.append(start)
        reached.add(start)
        used: set[int] = set()
        queue = deque([start])
        while queue:
            body = queue.popleft()
            for link in by_body.get(body, ()):
                other = link.second if link.first == body else link.first
                if other not in reached:
                    reached.add(other)
                    used.add(id(link))
                    self.tree.append((link, body, other))
                    self.bodies.append(other)
                    queue.append(other)
        self.loops = [link for link in links if id(link) not in used]


def assemble(bodies: Sequence[int], links: Sequence[OdeJoint]) -> list[Assembly]:
    """The models formed by bodies of one world, in the order of their first bodies."""
    representative = {body: body for body in bodies}

    def find(body: int) -> int:
        while representative[body] != body:
            representative[body] = representative[representative[body]]
            body = representative[body]
        return body

    for link in links:
        if link.first >= 0 and link.second >= 0:
            first, second = find(link.first), find(link.second)
            representative[max(first, second)] = min(first, second)
    members: dict[int, list[int]] = {}
    for body in bodies:
        members.setdefault(find(body), []).append(body)
    own_links: dict[int, list[OdeJoint]] = {}
    for link in links:
        own_links.setdefault(find(link.first if link.first >= 0 else link.second), []).append(link)
    return [Assembly(group, own_links.get(first, [])) for first, group in sorted(members.items())]


# --- models --------------------------------------------------------------------------------------------


ENVIRONMENT_NAME = "environment"

_TWO_AXES = ("universal", "hinge2")


class _Connection(Struct, frozen=True):
    """A joint of an assembly, with the numbers of its parent and child bodies."""

    link: OdeJoint
    parent: int
    child: int
    loop: bool = False


class ModelBuilder:
    """Builds the models of one world.  `numbers` are those of the frames of all bodies of the document."""

    def __init__(self, context: XodeContext, bodies: Sequence[Body], frames: Frames, numbers: list[int]) -> None:
        self.context = context
        self.bodies = bodies
        self.frames = frames
        self.numbers = numbers
        self.names = Names()

    @cached_property
    def poses(self) -> Array:
        """The transforms of all bodies of the document."""
        return self.frames.rigid(self.numbers)

    def build_environment(self, shapes: list[Shape]) -> Model:
        """The model of all static geoms."""
        self.names.add(ENVIRONMENT_NAME)
        body = Body(name=ENVIRONMENT_NAME, inertia=Inertia(mass=0.0, moment=NO_MOMENT), collisions=shapes)
        fixed = Joint(name=f"{ENVIRONMENT_NAME}_root", kind="weld", child=body, implicit=True)
        return Model(name=ENVIRONMENT_NAME, static=True, bodies=[body], joints=[fixed])

    def build_models(self, assemblies: Sequence[Assembly]) -> list[Model]:
        connections = [_connections(assembly) for assembly in assemblies]
        frames = iter(
            self._joint_frames([(connection.link, connection.child) for own in connections for connection in own])
        )
        return [self._build_model(assembly, own, frames) for assembly, own in zip(assemblies, connections, strict=True)]

    def _build_model(self, assembly: Assembly, connections: list[_Connection], frames: Iterator[Pose]) -> Model:
        first = self.bodies[assembly.first]
        name = unique_name(first.name, self.names)
        self.names.add(name)
        members = [self.bodies[number] for number in assembly.bodies]
        self._make_names_unique(members)
        joints = self._build_joints(assembly, connections, frames)
        return Model(
            name=name, bodies=members, joints=joints, document=DOCUMENT, node=first.node, given=frozenset({"bodies"})
        )

    def _make_names_unique(self, members: list[Body]) -> None:
        names = Names()
        for body in members:
            body.name = unique_name(body.name, names)
            names.add(body.name)

    def _build_joints(self, assembly: Assembly, connections: list[_Connection], frames: Iterator[Pose]) -> list[Joint]:
        names = Names()
        joints: list[Joint] = []
        ends: list[tuple[int, int]] = []
        if assembly.root >= 0:
            joints.append(self._free_joint(self.bodies[assembly.root], names))
            ends.append((ENVIRONMENT, assembly.root))
        joints += [self._build_joint(connection, next(frames), names) for connection in connections]
        if any(_is_moving(self.bodies[number]) for number in assembly.bodies):
            ends += [(connection.parent, connection.child) for connection in connections]
            for joint, (parent, child) in zip(joints, ends, strict=True):
                self._set_velocity(joint, parent, child)
        return joints

    def _free_joint(self, body: Body, names: set[str]) -> Joint:
        name = f"{body.name}_root"
        names.add(name)
        return Joint(name=name, kind="free", child=body, implicit=True, document=DOCUMENT, node=body.node)

    def _joint_frames(self, connections: list[tuple[OdeJoint, int]]) -> list[Pose]:
        """Joint frames in their child bodies: at the anchor, aligned with the world axes in the initial state."""
        if not connections:
            return []
        if self.frames.positions is not None:
            places = [self.frames.positions[number] for number in self.numbers]
            return [_translated_frame(link.anchor, places[child]) for link, child in connections]
        children = self.poses[[child for _, child in connections]]
        anchors = np.array(
            [link.anchor if link.anchor is not None else self.poses[child, :3, 3] for link, child in connections]
        )
        frames = spatial.inverse(children) @ spatial.transform(np.eye(3), anchors)
        sizes = np.abs(np.hstack([children[:, :3, 3], anchors])).max(axis=1)
        frames[:, :3, 3] = spatial.without_noise(frames[:, :3, 3], sizes)
        return poses_from_matrices(frames)

    def _build_joint(self, connection: _Connection, frame: Pose, names: set[str]) -> Joint:
        link = connection.link
        name = unique_name(link.name, names)
        names.add(name)
        child_is_first = connection.child == link.first
        joint = Joint(
            name=name,
            kind=link.kind,
            child=self.bodies[connection.child],
            parent=None if connection.parent == ENVIRONMENT else self.bodies[connection.parent],
            pose=frame,
            # The coordinate is the first body's motion relative to the second's, whichever is the child.
            axes=link.axes if child_is_first else tuple(_negate(axis) for axis in link.axes),
            swapped=child_is_first and link.kind in _TWO_AXES,
            drives=link.drives,
            group=link.group,
            loop=connection.loop,
            document=DOCUMENT,
            node=link.node.number,
            given=link.node.stated_fields(JOINT_ELEMENT),
        )
        _set_limits(joint)
        return joint

    def _set_velocity(self, joint: Joint, parent: int, child: int) -> None:
        """Set the initial velocity of a joint from those of its bodies, projected onto its degrees of freedom."""
        if joint.loop or not joint.motion:
            return
        pose = self.poses[child]
        with np.errstate(all="ignore"):  # values that are not finite are reported below
            origin = pose[:3, 3] + pose[:3, :3] @ joint.pose.position
            spin, speed = self._twist_at(child, origin)
            if parent != ENVIRONMENT:
                parent_spin, parent_speed = self._twist_at(parent, origin)
                spin, speed = spin - parent_spin, speed - parent_speed
            parent_rotation = np.eye(3) if parent == ENVIRONMENT else self.poses[parent, :3, :3]
            velocities = _project_velocity(joint, spin, speed, pose[:3, :3] @ joint.pose.position, parent_rotation)
        if not all(map(isfinite, velocities)):
            self.context.report("X303.overflow", joint.node, what="the velocity of the joint", instead="0 is used")
        elif any(velocities):
            joint.velocities = velocities

    def _twist_at(self, number: int, point: Array) -> tuple[Array, Array]:
        """The angular velocity of a body, and the velocity of a point on it, as stated in the file."""
        state = self.bodies[number].state
        if state is None:
            return np.zeros(3), np.zeros(3)
        spin = np.array(state.angular_velocity)
        arm = point - self.poses[number, :3, 3]
        return spin, np.array(state.linear_velocity) + spatial.cross_matrix(spin) @ arm


def _translated_frame(anchor: Vector | None, child: Vector) -> Pose:
    """The pose of an anchor in a child body that is not rotated."""
    a, b, c = child if anchor is None else anchor
    x, y, z = child
    size = max(abs(a), abs(b), abs(c), abs(x), abs(y), abs(z))
    p, q, r = [0.0 if abs(value) < spatial.NOISE * size else value for value in (a - x, b - y, c - z)]
    return Pose((p, q, r))


def _connections(assembly: Assembly) -> list[_Connection]:
    connections = [_Connection(link, parent, child) for link, parent, child in assembly.tree]
    return connections + [_Connection(link, *_loop_ends(link), loop=True) for link in assembly.loops]


def _loop_ends(link: OdeJoint) -> tuple[int, int]:
    """The parent and child of a loop joint; the environment is never the child."""
    return (link.first, link.second) if link.first == ENVIRONMENT else (link.second, link.first)


def _negate(axis: Vector) -> Vector:
    x, y, z = axis
    return (-x or 0.0, -y or 0.0, -z or 0.0)


def _set_limits(joint: Joint) -> None:
    """Set position limits from stops, for kinds with one coordinate per axis.

    ODE ignores the stops of a hinge2's second axis.
    """
    if joint.kind == "amotor":
        return
    for number, drive in enumerate(joint.drives[:1] if joint.kind == "hinge2" else joint.drives):
        limits = _limits_from_stops(drive, rotational=joint.motion[number] == "r")
        if limits != UNLIMITED:
            joint.dofs[number].position_limits = limits


def _limits_from_stops(drive: Drive, *, rotational: bool) -> Interval:
    """The position limits that ODE's stops impose; reversed stops and angles beyond ±π impose none."""
    low = -inf if drive.low_stop is None else drive.low_stop
    high = inf if drive.high_stop is None else drive.high_stop
    if low > high or low == inf or high == -inf:
        return UNLIMITED
    if rotational:
        low, high = (low if low > -pi else -inf), (high if high < pi else inf)
    return (low, high)


def _is_moving(body: Body) -> bool:
    return body.state is not None and (body.state.linear_velocity != ZERO or body.state.angular_velocity != ZERO)


def _project_velocity(
    joint: Joint, spin: Array, speed: Array, offset: Array, parent_rotation: Array
) -> tuple[float, ...]:
    """The joint velocities, at zero positions, that best match a relative motion in world axes.

    `offset` points from the child's origin to the joint; `parent_rotation` is the rotation of the parent.
    """
    match joint.kind:
        case "revolute":
            velocities = spatial.unit(joint.axes) @ spin
        case "prismatic":
            velocities = spatial.unit(joint.axes) @ speed
        case "universal" | "hinge2":
            velocities = np.linalg.pinv(spatial.unit(joint.axes).T) @ spin
        case "ball":
            velocities = spin
        case _:  # A free joint's velocity is that of the body's origin, in parent axes.
            frame = joint.pose.matrix()
            angular = parent_rotation.T @ spin
            linear = parent_rotation.T @ (speed - spatial.cross_matrix(spin) @ offset)
            linear = linear - spatial.cross_matrix(frame[:3, 3]) @ angular
            velocities = np.concatenate([frame[:3, :3].T @ angular, frame[:3, :3].T @ linear])
    return tuple(velocities.tolist())
