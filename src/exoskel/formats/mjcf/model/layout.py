"""How a world is laid out for MuJoCo: body poses, joint chains, names and coordinates, computed once and shared.

MuJoCo's bodies and joints are named `model/body` and `model/joint` (see `qualified_name`); generated elements that
have no counterpart in the scene have a third part.

Most joints have the same coordinates in MuJoCo and in the scene.  For a ball joint the scene has a rotation vector in
the joint frame, MuJoCo a quaternion.  For a free joint the scene has a rotation vector and a translation, MuJoCo a pose
in the world.  Velocities follow `v_mujoco = A(q) v_scene`, where A is the identity except for these joints.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import inf

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.mjcf.model import rotational_joints
from exoskel.formats.mjcf.model.inertials import Inertials
from exoskel.formats.mjcf.model.joints import FREE_CHAIN, MujocoJoint, free_joint_chain, joint_chain, stop_spring
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoint, RotationalJoints, RotationKind
from exoskel.formats.mjcf.tree import NO_ROTATION, MjcfElement
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import CLOCK
from exoskel.scene.item import extended_name, name_prefix, qualified_name
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.kinematics import Kinematics, ZeroPoses
from exoskel.scene.model import Model
from exoskel.scene.pose import IDENTITY, ZERO
from exoskel.scene.pose import NO_ROTATION as UPRIGHT
from exoskel.scene.world import World
from exoskel.spatial import Array, Indices

_NO_ROTATION_MATRIX = np.eye(3)
_SINGLE_KINDS = frozenset({"weld", "revolute", "prismatic"})
"""Joints with at most one coordinate, which is that of MuJoCo."""
_EQUAL_MOMENTS = 1e-9
"""Relative difference up to which principal moments count as equal."""


def mujoco_joint_names(model: Model, joint: Joint, chain: Sequence[MujocoJoint]) -> list[str]:
    """The names of a joint's MuJoCo joints: its own, or numbered if there are several."""
    if len(chain) == 1:
        return [qualified_name(model.name, joint.name)]
    return [qualified_name(model.name, joint.name, str(number)) for number in range(len(chain))]


def duplicate_name(model: Model, joint: Joint) -> str:
    """The name of the duplicate body behind a joint that closes a loop: see `loop_constraints`."""
    return qualified_name(model.name, joint.name, "stand-in")


class WorldLayout:
    """The bodies of a world, their zero poses and masses, and the MuJoCo joints of each joint.

    `chains` returns the MuJoCo joints of a joint.
    """

    def __init__(self, world: World, chains: Callable[[Joint], list[MujocoJoint]] = joint_chain) -> None:
        self.world = world
        self.bodies: list[Body] = []
        self.joints: list[tuple[Model, Joint]] = []
        """The joints that do not close loops, with their models."""
        self.other_joints: list[tuple[Model, Joint]] = []
        """The joints that close loops or are not plain: most questions concern them alone."""
        for model in world.models:
            self.bodies += model.bodies
            for joint in model.joints:
                if joint.loop or not joint.is_plain:
                    self.other_joints.append((model, joint))
                if not joint.loop:
                    self.joints.append((model, joint))
        self.kinds = Counter([joint.kind for _, joint in self.joints])
        """The number of joints of each kind, without those that close loops."""
        self._build_chain = chains
        self._chains: dict[int, tuple[list[MujocoJoint], list[str]]] = {}

    def chain(self, model: Model, joint: Joint) -> tuple[list[MujocoJoint], list[str]]:
        """The MuJoCo joints of a joint, and their names."""
        found = self._chains.get(id(joint))
        if found is None:
            chain = self._build_chain(joint)
            found = self._chains[id(joint)] = chain, mujoco_joint_names(model, joint, chain)
        return found

    @cached_property
    def body_names(self) -> dict[int, str]:
        """The names of MuJoCo's bodies by the ids of the bodies, in state order."""
        names: dict[int, str] = {}
        for model in self.world.models:
            start = name_prefix(model.name)
            for body in model.bodies:
                names[id(body)] = extended_name(start, body.name)
        return names

    @property
    def is_plain(self) -> bool:
        """Whether all joints are plain, and none closes a loop: most other questions have simple answers then."""
        return not self.other_joints

    @cached_property
    def has_drives(self) -> bool:
        """Whether a joint has ODE's parameters."""
        return any(joint.drives for _, joint in self.other_joints)

    @cached_property
    def has_motors(self) -> bool:
        """Whether a joint has ODE's parameters, or is a servo."""
        return any(joint.drives or joint.actuator == "servo" for _, joint in self.other_joints)

    @cached_property
    def has_loops(self) -> bool:
        """Whether a joint closes a loop."""
        return any(joint.loop for _, joint in self.other_joints)

    @cached_property
    def has_axis_values(self) -> bool:
        """Whether values are stated for the axes of a joint that is, or contains, a ball of MuJoCo."""
        if self.kinds.keys() <= _SINGLE_KINDS:
            return False
        return any(
            link.type == "ball"
            for model, joint in self.other_joints
            if joint._dofs is not None and joint.kind not in _SINGLE_KINDS and not (joint.loop or model.static)
            for link in self.chain(model, joint)[0]
        )

    @cached_property
    def dof_count(self) -> int:
        """The number of the scene's coordinates."""
        return sum(len(TRAITS[kind].motion) * count for kind, count in self.kinds.items())

    @cached_property
    def dof_names(self) -> list[str]:
        """The names of the scene's coordinates, in state order."""
        names: list[str] = []
        for _, joint in self.joints:
            if joint.kind in ("revolute", "prismatic"):  # their only coordinate has no suffix
                names.append((joint._dofs[0].name if joint._dofs is not None else "") or joint.name)
            else:
                names += joint.dof_names
        return names

    @cached_property
    def has_zero_state(self) -> bool:
        """Whether all initial positions and velocities are zero, and no motor moves."""
        if self.has_motors:
            return False
        for _, joint in self.other_joints:
            for dof in joint._dofs or ():
                if dof.position or dof.velocity:
                    return False
        return True

    def initial_state(self) -> tuple[Array, Array | None]:
        """The scene's initial positions and velocities; None for the velocities if nothing moves, also no motors."""
        if self.has_zero_state:
            return np.zeros(self.dof_count), None
        positions: list[float] = []
        velocities: list[float] = []
        for _, joint in self.joints:
            rows = joint._dofs
            if rows is None:
                zeros = [0.0] * len(TRAITS[joint.kind].motion)
                positions += zeros
                velocities += zeros
            else:
                for dof in rows:
                    positions.append(dof.position)
                    velocities.append(dof.velocity)
        return np.array(positions, dtype=np.float64), np.array(velocities, dtype=np.float64)

    @cached_property
    def inertials(self) -> Inertials:
        return Inertials(self.bodies)

    @cached_property
    def _zero(self) -> ZeroPoses:
        return ZeroPoses(self.world.models)

    @cached_property
    def zero_poses(self) -> dict[int, Array]:
        """The zero pose of each body in the world, by id."""
        return dict(zip(map(id, self.bodies), self._zero.zero_poses, strict=True))

    @property
    def roots(self) -> Iterator[Joint]:
        """The joints whose children are in the world itself."""
        return (joint for model, joint in self.joints if joint.parent is None or model.static)

    @cached_property
    def tree_joints(self) -> tuple[list[tuple[Model, Joint]], Array]:
        """The joints that do not close loops, and the zero pose of each one's child in its parent."""
        return self.joints, self._zero.relative_poses()

    @cached_property
    def zero_poses_in_parent(self) -> dict[int, Array]:
        """The zero pose of each body in its parent (the world, if it has none), by id."""
        joints, poses = self.tree_joints
        return {id(joint.child): pose for (_, joint), pose in zip(joints, poses, strict=True)}

    @cached_property
    def initial_poses(self) -> Array:
        """The world poses of the children of `tree_joints` in the initial state."""
        return np.asarray(Kinematics(self.world.models).poses()[self._zero.child])

    def static_poses(self, numbers: Sequence[int]) -> Array:
        """The world poses of the children of some joints, those of all static models, in the initial state."""
        joints = [self.joints[number][1] for number in numbers]
        if all(_is_at_zero_pose(joint) for joint in joints):  # as the ground of most worlds
            return self._zero.zero_poses[self._zero.child[numbers]] + 0.0  # no minus zero, as in a product
        kinematics = Kinematics([model for model in self.world.models if model.static])
        return np.asarray(kinematics.poses()[kinematics.child])

    @cached_property
    def frames(self) -> dict[int, tuple[Array, Array]]:
        """Position and quaternion of each body in the frame of its parent, by id."""
        positions, rotations = self.placement
        children = [id(joint.child) for _, joint in self.joints]
        return dict(zip(children, zip(positions, rotations, strict=True), strict=True))

    @property
    def placement(self) -> tuple[Array, list[Array]]:
        """Position and quaternion of the child of each of `joints` in the frame of its parent."""
        return self._placement[:2]

    @cached_property
    def _placement(self) -> tuple[Array, list[Array], bool]:
        """Position and quaternion of the child of each of `joints` in the frame of its parent.

        Last, whether MuJoCo keeps these to the last digit: it normalizes quaternions.
        """
        upright = self._upright_positions()
        if upright is not None:
            return upright, [NO_ROTATION] * len(upright), True
        joints, poses = self.tree_joints
        fixed = [i for i, (model, _) in enumerate(joints) if model.static]
        if fixed:  # bodies of static models are at their initial poses, without joints
            poses = poses.copy()
            poses[fixed] = self.static_poses(fixed)
        positions = spatial.without_noise(poses[:, :3, 3])
        if (poses[:, :3, :3] == _NO_ROTATION_MATRIX).all():
            is_kept = positions.tobytes() == (poses[:, :3, 3] + 0.0).tobytes()
            return positions, [NO_ROTATION] * len(joints), is_kept
        quaternions = spatial.quaternion(poses[:, :3, :3])
        are_upright = (quaternions == NO_ROTATION).all(axis=1).tolist()
        rotations = [NO_ROTATION if it else row for it, row in zip(are_upright, quaternions, strict=True)]
        return positions, rotations, False

    def _upright_positions(self) -> Array | None:
        """The position of the child of each of `joints` in its parent, if no body is rotated; else None.

        Also None if numbers differ so much in size that some may be rounding errors: others need no correction.
        """
        if any(model.pose is not IDENTITY for model in self.world.models):
            return None
        children: list[float] = []
        moved: list[float] = []
        for model, joint in self.joints:
            pose, parent = joint.child.pose, joint.parent
            if pose.rotation is not UPRIGHT or (model.static and not _is_at_zero_pose(joint)):
                return None
            x, y, z = position = pose.position
            a, b, c = ZERO if parent is None else parent.pose.position
            children += position
            moved += (x - a + 0.0, y - b + 0.0, z - c + 0.0)  # no minus zero
        sizes = list(map(abs, filter(None, moved)))
        largest = max(map(abs, children), default=0.0)
        if not sum(sizes) < inf or (sizes and min(sizes) < 2.0 * spatial.NOISE * largest):
            return None
        return np.array(moved).reshape(-1, 3)

    @cached_property
    def is_zero_at_reset(self) -> bool:
        """Whether it is known that all coordinates are zero, to the last digit, where MuJoCo resets a world to."""
        if self.kinds.keys() <= _SINGLE_KINDS:
            return True
        if not self._placement[2]:
            return False
        others = [joint for _, joint in self.joints if joint.kind not in _SINGLE_KINDS]
        return all(joint.pose is IDENTITY or joint.pose.is_identity for joint in others)


def _is_at_zero_pose(joint: Joint) -> bool:
    """Whether a joint leaves its child where it is in the world at zero positions, without any computation."""
    return joint.parent is None and joint.pose.is_identity and not (joint.collapses or any(joint.positions))


# --- layout for simulation ----------------------------------------------------------------------------


def simulation_layout(world: World) -> WorldLayout:
    """The layout that the engine runs: spinning single bodies are three slides and a ball.

    As in DART, a free joint moves the origin of its child, wherever the joint itself is.

    MuJoCo's implicit integrators treat the gyroscopic torque of a free joint without moving children implicitly.
    That of every other body, and of all bodies in DART, is explicit.  After a second the two are 1e-4 to 1e-2 rad
    apart.  As three slides and a ball, such a body follows the common rule.
    """
    spinning: set[int] = set()

    def chain(joint: Joint) -> list[MujocoJoint]:
        if joint._dofs is None and joint.kind == "free" and joint.parent is None:  # as in most worlds with many bodies
            return FREE_CHAIN
        found = joint_chain(joint)
        is_split = joint.kind in ("free", "amotor") and (len(found) == 4 or id(joint) in spinning)
        return free_joint_chain(joint, whole=False, at_origin=True) if is_split else found

    layout = WorldLayout(world, chain)
    for model, joint in layout.other_joints:
        if joint.kind == "free" and joint._dofs is not None and not model.static and _is_spinning_alone(model, joint):
            spinning.add(id(joint))
    return layout


def _is_spinning_alone(model: Model, joint: Joint) -> bool:
    """Whether a free joint rotates a body with unequal moments and without moving children."""
    is_spinning = joint.parent is None and any(joint.velocities[:3])
    return is_spinning and _has_unequal_moments(joint.child) and not _has_moving_children(model, joint)


def _has_unequal_moments(body: Body) -> bool:
    xx, yy, zz, *products = body.moment
    difference = max(xx, yy, zz) - min(xx, yy, zz)
    return max(difference, *map(abs, products)) > _EQUAL_MOMENTS * max(xx, yy, zz)


def _has_moving_children(model: Model, root: Joint) -> bool:
    """Whether any joint below `root` moves; parents precede their children."""
    below = {id(root.child)}
    for joint in model.joints:
        if not joint.loop and id(joint.parent) in below:
            below.add(id(joint.child))
            if joint.dof_count:
                return True
    return False


SIZES = {"free": (7, 6), "ball": (4, 3), "hinge": (1, 1), "slide": (1, 1)}
"""The number of position and of velocity coordinates of MuJoCo's joints."""


class Addresses(Struct, frozen=True):
    """Where MuJoCo's joints have their coordinates, by name: the first index in `qpos` and in `qvel`."""

    nq: int
    nv: int
    by_name: dict[str, tuple[int, int]]


def document_addresses(document: MjcfElement) -> Addresses:
    """The addresses that a document will have when it is compiled: depth first, in document order."""
    by_name: dict[str, tuple[int, int]] = {}
    nq = nv = 0
    waiting = [document.child("worldbody")]
    while waiting:
        body = waiting.pop()
        for joint in (child for child in body.children if child.tag == "joint"):
            by_name[str(joint.attributes["name"])] = (nq, nv)
            width = SIZES[str(joint.attributes["type"])]
            nq, nv = nq + width[0], nv + width[1]
        waiting += [child for child in reversed(body.children) if child.tag == "body"]
    return Addresses(nq, nv, by_name)


class Coordinates:
    """All coordinates of a world, in state order, and their addresses among MuJoCo's.

    `scene`, `qpos` and `qvel` are the numbers of single coordinates, which are the same in both; `rotational` are
    the joints that need a conversion.  `followers` are the slides of screws: the coordinate they follow, their
    addresses, and the travel per radian.  `static` are the coordinates of static models, with their positions and
    velocities: as in DART, these do not move them.  Arrays may have any leading shape (many worlds, many times):
    `(..., nq)` and `(..., nv)` for MuJoCo's, `(..., count)` for the scene's.
    """

    def __init__(self, layout: WorldLayout, addresses: Addresses) -> None:
        self.names = layout.dof_names
        self.count = len(self.names)
        self.nq, self.nv = addresses.nq, addresses.nv
        self.followers: list[tuple[int, int, int, float]] = []
        self.static: list[tuple[int, float, float]] = []
        self.soft_stops: dict[int, tuple[float, float]] = {}
        """ODE's ERP and CFM of soft stops, by coordinate."""
        self._single: list[tuple[int, int, int]] = []
        self._members: dict[RotationKind, list[RotationalJoint]] = {"ball": [], "free": [], "inner": []}
        joints, zero = layout.tree_joints
        numbers: dict[int, int] = {}
        """The places of rotational joints in `joints`, by id."""
        first, by_name = 0, addresses.by_name
        for number, (model, joint) in enumerate(joints):
            if model.static:
                both = zip(joint.positions, joint.velocities, strict=True)
                self.static += [(first + i, *values) for i, values in enumerate(both)]
                first += len(TRAITS[joint.kind].motion)
                continue
            chain, names = layout.chain(model, joint)
            if chain is FREE_CHAIN:  # as in most worlds with many bodies
                address = by_name[names[0]]
                anchor = ZERO if chain[0].at_origin else joint.pose.position
                self._members["free"].append(RotationalJoint(joint, first, *address, address, anchor))
                numbers[id(joint)] = number
                first += 6
                continue
            if len(chain) == 1 and joint.kind in ("revolute", "prismatic") and not joint.drives:
                self._single.append((first, *by_name[names[0]]))
                first += 1
                continue
            self._add(joint, first, chain, [by_name[name] for name in names])
            numbers[id(joint)] = number
            first += len(TRAITS[joint.kind].motion)
        single = np.array(self._single, dtype=np.intp).reshape(-1, 3)
        self.scene, self.qpos, self.qvel = single[:, 0], single[:, 1], single[:, 2]
        self.rotational = [
            RotationalJoints(kind, members, zero[[numbers[id(member.joint)] for member in members]])
            for kind, members in self._members.items()
            if members
        ]
        self.are_equal = self.nq == self.nv == self.count and (
            self.scene.tolist() == list(range(self.count)) == self.qpos.tolist()
        )
        """Whether both have the same coordinates in the same order."""

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The numbers of the scene's coordinates by name."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _unmapped(self) -> Indices:
        """The coordinates that MuJoCo lacks: those of static models, and of angular motors."""
        converted = [self.scene, *(group.scene.ravel() for group in self.rotational)]
        if sum(map(len, converted)) == self.count:
            return np.zeros(0, dtype=np.intp)
        return np.setdiff1d(np.arange(self.count), np.concatenate(converted))

    @cached_property
    def _scene(self) -> slice | Indices:
        return rotational_joints.as_slice(self.scene)

    @cached_property
    def _qpos(self) -> slice | Indices:
        return rotational_joints.as_slice(self.qpos)

    @cached_property
    def _qvel(self) -> slice | Indices:
        return rotational_joints.as_slice(self.qvel)

    def _add(self, joint: Joint, first: int, chain: list[MujocoJoint], addresses: list[tuple[int, int]]) -> None:
        for link, (qpos, qvel) in zip(chain, addresses, strict=True):
            if link.type in ("ball", "free"):
                kind: RotationKind = "inner" if len(chain) == 4 else "free" if link.type == "free" else "ball"
                anchor = ZERO if link.at_origin else joint.pose.position
                self._members[kind].append(RotationalJoint(joint, first, qpos, qvel, addresses[0], anchor))
            elif link.coordinates and joint.kind not in ("free", "amotor"):
                self._single.append((first + link.coordinates[0], qpos, qvel))
                soft = stop_spring(joint, link.coordinates[0])
                if soft is not None:
                    self.soft_stops[first + link.coordinates[0]] = soft
            elif joint.kind == "screw":
                self.followers.append((first, qpos, qvel, joint.pitch / (2 * np.pi)))

    def limited_to(self, numbers: Indices) -> tuple[Coordinates, Indices]:
        """The coordinates of only those joints that have some of the scene's coordinates, and where these are then."""
        groups = [(group, np.flatnonzero(np.isin(group.scene, numbers).any(axis=1))) for group in self.rotational]
        whole = [group.scene[chosen].ravel() for group, chosen in groups]
        kept = np.unique(np.concatenate([numbers, *whole]))
        out = copy.copy(self)
        for name in ("_scene", "_qpos", "_qvel", "numbers", "_unmapped", "_inner"):
            out.__dict__.pop(name, None)
        out.names, out.count = [self.names[number] for number in kept.tolist()], len(kept)
        single = np.isin(self.scene, kept)
        out.scene, out.qpos, out.qvel = np.searchsorted(kept, self.scene[single]), self.qpos[single], self.qvel[single]
        out.rotational = [group.subset(chosen, kept) for group, chosen in groups if len(chosen)]
        places = {number: place for place, number in enumerate(kept.tolist())}
        out.static = [(places[number], q, v) for number, q, v in self.static if number in places]
        out.are_equal = False
        return out, np.searchsorted(kept, numbers)

    def is_compiled(self, states: int) -> bool:
        """Whether that many states are converted by compiled functions: see `rotational_joints.are_compiled`."""
        return rotational_joints.are_compiled(states * sum(len(group) for group in self.rotational))

    def positions(self, qpos: Array, out: Array | None = None) -> Array:
        """The scene's positions from MuJoCo's, in `out` if it is given."""
        if out is None:
            if self.are_equal:
                return qpos.copy()
            out = np.empty((*qpos.shape[:-1], self.count))
        out[..., self._scene] = qpos[..., self._qpos]
        for group in self.rotational:
            group.positions(qpos, out)
        self._set_unmapped(out, [(index, position) for index, position, _ in self.static])
        return out

    def _set_unmapped(self, out: Array, static: Sequence[tuple[int, float]]) -> None:
        """Set what MuJoCo lacks: the coordinates of static models, and zeros."""
        if len(self._unmapped):
            out[..., self._unmapped] = 0.0
        for index, value in static:
            out[..., index] = value

    def set_positions(self, positions: Array, qpos: Array) -> None:
        """Convert the scene's positions to MuJoCo's, into `qpos`."""
        if len(self.scene):
            qpos[..., self.qpos] = positions[..., self.scene]
        for group in self.rotational:
            group.set_positions(positions, qpos)
        for first, position, _, travel in self.followers:
            qpos[..., position] = travel * positions[..., first]

    def velocity_matrix(self, qpos: Array) -> Array:
        """A with v_mujoco = A v_scene, `(nv, count)`, for one world."""
        out = np.zeros((self.nv, self.count))
        out[self.qvel, self.scene] = 1.0
        for group in self.rotational:
            out[group.qvel[:, :, None], group.scene[:, None, :]] = group.velocity_blocks(qpos)
        for first, _, velocity, travel in self.followers:
            out[velocity, first] = travel
        return out

    def velocities(self, qpos: Array, qvel: Array, out: Array | None = None) -> Array:
        """The scene's velocities from MuJoCo's, in `out` if it is given."""
        if out is None:
            if self.are_equal:
                return qvel.copy()
            out = np.empty((*qvel.shape[:-1], self.count))
        out[..., self._scene] = qvel[..., self._qvel]
        for group in self.rotational:
            group.velocities(qpos, qvel, out)
        self._set_unmapped(out, [(index, velocity) for index, _, velocity in self.static])
        return out

    @property
    def can_replace_states(self) -> bool:
        """Whether compiled functions may write coordinates over the states from which they compute them."""
        return not self._inner

    @cached_property
    def _inner(self) -> list[RotationalJoints]:
        return [group for group in self.rotational if group.kind == "inner"]

    @property
    def has_others(self) -> bool:
        """Whether there are coordinates that compiled functions do not convert."""
        return bool(self._inner or self.static or len(self._unmapped))

    def set_other_positions(self, qpos: Array, out: Array) -> None:
        """Set the positions that compiled functions do not convert, in `out`."""
        for group in self._inner:
            group.positions(qpos, out)
        self._set_unmapped(out, [(index, position) for index, position, _ in self.static])

    def set_other_velocities(self, qpos: Array, qvel: Array, out: Array) -> None:
        """Set the velocities that compiled functions do not convert, in `out`."""
        for group in self._inner:
            group.velocities(qpos, qvel, out)
        self._set_unmapped(out, [(index, velocity) for index, _, velocity in self.static])

    def set_velocities(self, velocities: Array, qpos: Array, qvel: Array) -> None:
        """Convert the scene's velocities to MuJoCo's, into `qvel`; other entries are left unchanged."""
        if len(self.scene):
            qvel[..., self.qvel] = velocities[..., self.scene]
        for group in self.rotational:
            group.set_velocities(velocities, qpos, qvel)
        for first, _, velocity, travel in self.followers:
            qvel[..., velocity] = travel * velocities[..., first]

    def set_free_velocities(self, velocities: Array, qpos: Array, qvel: Array) -> None:
        """Convert the scene's velocities of free joints alone: MuJoCo's depend on the positions."""
        for group in self.rotational:
            if group.kind != "ball":
                group.set_velocities(velocities, qpos, qvel)

    def forces(self, qpos: Array, forces: Array) -> Array:
        """MuJoCo's generalised forces that do the same work as the scene's; on a screw, its hinge does it all."""
        out = np.zeros((*forces.shape[:-1], self.nv))
        out[..., self.qvel] = forces[..., self.scene]
        for group in self.rotational:
            group.forces(qpos, forces, out)
        return out


class LateCoordinates:
    """The coordinates of a compiled world.  They are created for their first use, or before a scene is edited."""

    def __init__(self, layout: WorldLayout, addresses: Callable[[], Addresses]) -> None:
        self._layout = layout
        self._addresses = addresses
        CLOCK.notify_before_edit(self)

    @cached_property
    def coordinates(self) -> Coordinates:
        return Coordinates(self._layout, self._addresses())

    def read_scene(self) -> None:
        """Read the scene, which may change afterwards."""
        self.coordinates  # noqa: B018 - they are created once
