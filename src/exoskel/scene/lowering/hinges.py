"""The pass `lower.hinges`, for formats that only have hinges, sliders, welds and free bodies.

It applies the other passes in turn: free joints below a body become sliders and balls, balls become euler joints, and
all remaining joints become chains of hinges and sliders.
"""

from __future__ import annotations

from collections.abc import Iterator

from exoskel.scene.copies import copy_world
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.joint import Joint
from exoskel.scene.lowering import joint_passes
from exoskel.scene.lowering.joint_passes import ALL_KINDS, Chain, LoweredWorld
from exoskel.scene.world import World

BETWEEN_RATIO = 1e-10
"""The mass of a body in between, relative to the child: negligible, but not zero.  MuJoCo refuses moving links without
mass, Gazebo leaves them out, and DART gives them 1 kg if they state none."""
_MIN_MASS_AND_MOMENT = 1e-13
"""kg and kg·m²: MuJoCo refuses values below 1e-15."""

_SUPPORTED = ("weld", "revolute", "prismatic")


def needs_hinge_lowering(world: World) -> bool:
    """Whether `lower_to_hinges` would change a world."""
    return any(
        not (model.static or joint.loop or _is_supported(joint)) for model in world.models for joint in model.joints
    )


def _is_supported(joint: Joint) -> bool:
    return joint.kind in _SUPPORTED or (joint.kind == "free" and joint.parent is None)


def lower_to_hinges(world: World) -> LoweredWorld:
    """Copy a world and replace all other joints, except loops and those of static models.

    An angular motor, which constrains nothing, becomes a free joint.  The rotation vectors of balls and free joints
    become angles about x, y and z.
    """
    with no_edits():  # creating another world does not edit this one
        return _Composition(world).lowered()


class _Composition:
    """Three passes in turn, and their combined chains."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.without_motors = copy_world(world)
        self.motors = [joint.kind == "amotor" for joint in world.joints()]
        for model in self.without_motors.models:
            for joint in model.joints if not model.static else ():
                if joint.kind == "amotor" and not joint.loop:
                    joint.kind, joint.axes = "free", ()
        self.without_free = joint_passes.lower_joints(
            self.without_motors, frozenset({"free"}), mass_ratio=BETWEEN_RATIO
        )
        self.without_balls = joint_passes.replace_balls(self.without_free.world)
        self.done = joint_passes.lower_joints(self.without_balls, ALL_KINDS, mass_ratio=BETWEEN_RATIO)
        self.first = _Step(self.without_motors, self.without_free)
        self.copies = dict(zip(map(id, self.without_free.world.joints()), self.without_balls.joints(), strict=True))
        self.last = _Step(self.without_balls, self.done)

    def lowered(self) -> LoweredWorld:
        chains = list(self._chains())
        for chain in chains:
            for body in chain.bodies:
                mass, moment = max(body.mass, _MIN_MASS_AND_MOMENT), max(body.moment[0], _MIN_MASS_AND_MOMENT)
                body.inertia.mass, body.inertia.moment = mass, (moment, moment, moment, 0.0, 0.0, 0.0)
        return LoweredWorld(self.done.world, chains)

    def _chains(self) -> Iterator[Chain]:
        for joint, copied, is_motor in zip(self.world.joints(), self.without_motors.joints(), self.motors, strict=True):
            one = self.first.chain(copied)
            links: list[Joint] = []
            coordinates: list[int] = []
            factors: list[float] = []
            at = 0
            for link in one.links:
                own = one.coordinates[at : at + link.dof_count]
                at += link.dof_count
                two = self.last.chain(self.copies[id(link)])
                links += two.links
                coordinates += [own[number] for number in two.coordinates]
                factors += two.factors
            if len(links) > 1 or is_motor:
                between = [link.child for link in links[:-1]]
                uses_angles = any(link.kind == "ball" for link in one.links)
                yield Chain(joint, links, between, tuple(coordinates), tuple(factors), uses_angles)


class _Step:
    """The result of one pass for each joint: a chain, or a copy, which is a chain of one."""

    def __init__(self, before: World, done: LoweredWorld) -> None:
        self.chains = {id(chain.joint): chain for chain in done.chains}
        added = {id(link) for chain in done.chains for link in chain.links[:-1]}
        copies = [joint for joint in done.world.joints() if id(joint) not in added]
        self.copies = dict(zip(map(id, before.joints()), copies, strict=True))

    def chain(self, joint: Joint) -> Chain:
        own = tuple(range(joint.dof_count))
        return self.chains.get(id(joint)) or Chain(joint, [self.copies[id(joint)]], [], own, (1.0,) * len(own))
