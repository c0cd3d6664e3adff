"""How a world is laid out for MuJoCo: body poses, joint chains and names, computed once and shared.

MuJoCo's bodies and joints are named `model/body` and `model/joint` (see `qualified_name`); generated elements that
have no counterpart in the scene have a third part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from exoskel.formats.mjcf.model.inertials import Inertials
from exoskel.formats.mjcf.model.joints import MujocoJoint, free_joint_chain, joint_chain
from exoskel.scene.body import Body
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.spatial import Array

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
        self.bodies = list(world.bodies())
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
    def inertials(self) -> Inertials:
        return Inertials(self.bodies)

    @cached_property
    def kinematics(self) -> Kinematics:
        return Kinematics(self.world.models)

    @cached_property
    def zero_poses(self) -> dict[int, Array]:
        """The zero pose of each body in the world, by id."""
        return dict(zip(map(id, self.bodies), self.kinematics.zero_poses, strict=True))

    @cached_property
    def tree_joints(self) -> tuple[list[tuple[Model, Joint]], Array]:
        """The joints that do not close loops, and the zero pose of each one's child in its parent."""
        joints = [(m, j) for m in self.world.models for j in m.joints if not j.loop]
        return joints, self.kinematics.in_parent(self.kinematics.zero_poses[self.kinematics.child])

    @cached_property
    def zero_poses_in_parent(self) -> dict[int, Array]:
        """The zero pose of each body in its parent (the world, if it has none), by id."""
        joints, poses = self.tree_joints
        return {id(joint.child): pose for (_, joint), pose in zip(joints, poses, strict=True)}

    @cached_property
    def initial_poses(self) -> Array:
        """The world poses of the children of `tree_joints` in the initial state."""
        return np.asarray(self.kinematics.poses()[self.kinematics.child])


# --- layout for simulation ----------------------------------------------------------------------------


def simulation_layout(world: World) -> WorldLayout:
    """The layout that the engine runs: spinning single bodies are three slides and a ball.

    As in DART, a free joint moves the origin of its child, wherever the joint itself is.

    MuJoCo's implicit integrators treat the gyroscopic torque of a free joint without moving children implicitly.
    That of every other body, and of all bodies in DART, is explicit.  After a second the two are 1e-4 to 1e-2 rad
    apart.  As three slides and a ball, such a body follows the common rule.
    """
    spinning = {id(joint) for model in world.models if not model.static for joint in _spinning_free_joints(model)}

    def chain(joint: Joint) -> list[MujocoJoint]:
        found = joint_chain(joint)
        if id(joint) in spinning or (len(found) == 4 and joint.kind in ("free", "amotor")):
            return free_joint_chain(joint, whole=False, at_origin=True)
        return found

    return WorldLayout(world, chain)


def _spinning_free_joints(model: Model) -> list[Joint]:
    spinning = [j for j in model.joints if j.kind == "free" and j.parent is None and any(j.velocities[:3])]
    return [joint for joint in spinning if _has_unequal_moments(joint.child) and not _has_moving_children(model, joint)]


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
