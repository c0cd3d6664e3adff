"""The pass `lower.hinges`: hinges, sliders, welds, and joints that float on the world, for formats with nothing else.

It is the other passes one after the other: free joints below a body become sliders and balls, balls become euler
joints, and all that are left become chains of hinges and sliders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exoskel.scene.body import Body
from exoskel.scene.copies import copy_world
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.joint import Joint
from exoskel.scene.lowering import joint_passes
from exoskel.scene.lowering.joint_passes import ALL_KINDS, Chain, LoweredWorld
from exoskel.scene.world import World

HINGES_PASS = "lower.hinges"
"""The name of the pass, for reports."""

BETWEEN_RATIO = 1e-10
"""What a body in between weighs, relative to the child: beyond what anybody measures, but more than nothing.  MuJoCo
refuses links that move without mass, Gazebo leaves them out, and DART gives them 1 kg if they state none."""
_LEAST = 1e-13
"""kg and kg·m²: MuJoCo refuses what is below 1e-15."""

_PLAIN = ("weld", "revolute", "prismatic")


def needs_hinge_lowering(world: World) -> bool:
    """Whether there is anything to take apart."""
    return any(not (model.static or joint.loop or _is_plain(joint)) for model in world.models for joint in model.joints)


def _is_plain(joint: Joint) -> bool:
    return joint.kind in _PLAIN or (joint.kind == "free" and joint.parent is None)


def lower_to_hinges(world: World) -> LoweredWorld:
    """A copy of a world without any other joints, but for loops and static models.

    An angular motor, which holds nothing, becomes a free joint.  The rotation vectors of balls and free joints become
    angles about x, y and z.
    """
    with no_edits():  # making another world is no edit of this one
        return _Composition(world).lowered()


class _Composition:
    """Three passes, and what became of each joint and body in all of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.loose = copy_world(world)
        self.motors = [joint.kind == "amotor" for joint in world.joints()]
        for model in self.loose.models:
            for joint in model.joints if not model.static else ():
                if joint.kind == "amotor" and not joint.loop:
                    joint.kind, joint.axes = "free", ()
        self.slid = joint_passes.lower_joints(self.loose, frozenset({"free"}), mass_ratio=BETWEEN_RATIO)
        self.turned = joint_passes.replace_balls(self.slid.world)
        self.done = joint_passes.lower_joints(self.turned, ALL_KINDS, mass_ratio=BETWEEN_RATIO)
        self.first = _Step(self.loose, self.slid)
        self.copies = dict(zip(map(id, self.slid.world.joints()), self.turned.joints(), strict=True))
        self.last = _Step(self.turned, self.done)

    def lowered(self) -> LoweredWorld:
        chains = list(self._chains())
        for chain in chains:
            for body in chain.bodies:
                mass, moment = max(body.mass, _LEAST), max(body.moment[0], _LEAST)
                body.inertia.mass, body.inertia.moment = mass, (moment, moment, moment, 0.0, 0.0, 0.0)
        return LoweredWorld(self.done.world, chains)

    def _chains(self) -> Iterator[Chain]:
        for joint, loose, is_motor in zip(self.world.joints(), self.loose.joints(), self.motors, strict=True):
            one = self.first.chain(loose)
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
                turned = any(link.kind == "ball" for link in one.links)
                yield Chain(joint, links, between, tuple(coordinates), tuple(factors), turned)


class _Step:
    """What one pass made of each joint: a chain, or a copy, which is a chain of one."""

    def __init__(self, before: World, done: LoweredWorld) -> None:
        self.chains = {id(chain.joint): chain for chain in done.chains}
        added = {id(link) for chain in done.chains for link in chain.links[:-1]}
        kept = [joint for joint in done.world.joints() if id(joint) not in added]
        self.copies = dict(zip(map(id, before.joints()), kept, strict=True))

    def chain(self, joint: Joint) -> Chain:
        own = tuple(range(joint.dof_count))
        return self.chains.get(id(joint)) or Chain(joint, [self.copies[id(joint)]], [], own, (1.0,) * len(own))


def map_to_originals(world: World, done: LoweredWorld) -> dict[int, object]:
    """What the parts of a lowered world are in the world before, by id; what a pass has added is not there.

    Passes copy everything in its order, with bodies and joints of their own in between.
    """
    added = {id(body) for chain in done.chains for body in chain.bodies}
    links = {id(link) for chain in done.chains for link in chain.links[:-1]}
    known: dict[int, object] = {id(done.world): world}
    for before, after in zip(world.models, done.world.models, strict=True):
        known[id(after)] = before
        kept = [body for body in after.bodies if id(body) not in added]
        for old, new in zip(before.bodies, kept, strict=True):
            known[id(new)] = old
            known |= {id(copy): shape for shape, copy in zip(_parts(old), _parts(new), strict=True)}
        joints = [joint for joint in after.joints if id(joint) not in links]
        known |= {id(new): joint for joint, new in zip(before.joints, joints, strict=True)}
    return known


def _parts(body: Body) -> Sequence[object]:
    return [*body.visuals, *body.collisions, *body.markers]
