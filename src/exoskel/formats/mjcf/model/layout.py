"""How a world is laid out for MuJoCo: body poses, joint chains, names and coordinates, computed once and shared.

MuJoCo's bodies and joints are named `model/body` and `model/joint` (see `qualified_name`); generated elements that
have no counterpart in the scene have a third part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import inf

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.model.inertials import Inertials
from exoskel.formats.mjcf.model.joints import FREE_CHAIN, MujocoJoint, free_joint_chain, joint_chain
from exoskel.formats.mjcf.tree import NO_ROTATION
from exoskel.scene.body import Body
from exoskel.scene.item import extended_name, name_prefix, qualified_name
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.kinematics import Kinematics, ZeroPoses
from exoskel.scene.model import Model
from exoskel.scene.pose import IDENTITY, ZERO
from exoskel.scene.pose import NO_ROTATION as UPRIGHT
from exoskel.scene.world import World
from exoskel.spatial import Array

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
