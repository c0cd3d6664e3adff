"""What a world is worked out to be before it is written for MuJoCo, once for all who need it.

Bodies and joints are called `model/body` and `model/joint`, with `~1` for a slash in a name and `~0` for a tilde;
what a scene has no name for has a third part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from exoskel.formats.mjcf.inertials import Inertials
from exoskel.formats.mjcf.joints import MujocoJoint, links
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.world import Model, World
from exoskel.spatial import Array


def path(*names: str) -> str:
    """Names as one path: a slash inside of one is written `~1`, a tilde `~0`."""
    whole = "/".join(names)
    if "~" not in whole and whole.count("/") == len(names) - 1:
        return whole
    return "/".join(name.replace("~", "~0").replace("/", "~1") for name in names)


def link_names(model: Model, joint: Joint, chain: Sequence[MujocoJoint]) -> list[str]:
    """What the MuJoCo joints of a joint are called: as it, or by number if there are several."""
    if len(chain) == 1:
        return [path(model.name, joint.name)]
    return [path(model.name, joint.name, str(number)) for number in range(len(chain))]


def stand_in(model: Model, joint: Joint) -> str:
    """What the stand-in on a joint that closes a loop is called."""
    return path(model.name, joint.name, "stand-in")


class WorldLayout:
    """The bodies of a world, where they stand, what they weigh, and the MuJoCo joints that its joints are made of.

    `chains` tells what MuJoCo's joints are of each of ours.
    """

    def __init__(self, world: World, chains: Callable[[Joint], list[MujocoJoint]] = links) -> None:
        self.world = world
        self.bodies = list(world.bodies())
        self._make = chains
        self._chains: dict[int, tuple[list[MujocoJoint], list[str]]] = {}

    def chain(self, model: Model, joint: Joint) -> tuple[list[MujocoJoint], list[str]]:
        """The MuJoCo joints of a joint, and what they are called."""
        found = self._chains.get(id(joint))
        if found is None:
            chain = self._make(joint)
            found = self._chains[id(joint)] = chain, link_names(model, joint, chain)
        return found

    @cached_property
    def inertials(self) -> Inertials:
        return Inertials(self.bodies)

    @cached_property
    def kinematics(self) -> Kinematics:
        return Kinematics(self.world.models)

    @cached_property
    def places(self) -> dict[int, Array]:
        """The zero pose of each body in the world, by id."""
        return dict(zip(map(id, self.bodies), self.kinematics.zero_poses, strict=True))

    @cached_property
    def held(self) -> tuple[list[tuple[Model, Joint]], Array]:
        """The joints of the tree, and the zero pose of each one's child in its parent."""
        joints = [(m, j) for m in self.world.models for j in m.joints if not j.loop]
        return joints, self.kinematics.in_parent(self.kinematics.zero_poses[self.kinematics.child])

    @cached_property
    def zero(self) -> dict[int, Array]:
        """The zero pose of each body in its parent (the world, if it has none), by id."""
        joints, poses = self.held
        return {id(joint.child): pose for (_, joint), pose in zip(joints, poses, strict=True)}

    @cached_property
    def starts(self) -> Array:
        """The world poses of the children of the tree's joints, at the start."""
        return np.asarray(self.kinematics.poses()[self.kinematics.child])
