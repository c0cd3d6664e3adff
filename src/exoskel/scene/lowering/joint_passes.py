"""Passes that lower joints: they copy a scene and express the same motion with simpler joints.

`lower_joints` is for engines and formats that only have hinges, sliders and balls.  A joint becomes a chain of these,
with bodies without shapes in between.  The pose of the child at coordinates q of the chain is its pose at q of the
joint; limits, dynamics and initial values stay with their coordinate.  `replace_balls` is for formats without balls:
it replaces them by euler joints, which have other coordinates.  `lower_to_hinges` is for formats that only have
hinges, sliders, welds and free bodies.

Names: the bodies in between are `JOINT~1`, `JOINT~2`, … starting at the parent.  The last joint of a chain, which moves
the child, has the name of the joint.  The others are named after their degree of freedom, and all degrees of freedom
keep their names.  A name that is in use gets a number appended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from math import isfinite, pi
from typing import Any, NamedTuple, TypeVar

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.scene.actuator import Actuator
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.joint import Dof, Joint, JointKind, Mimic, can_mimic
from exoskel.scene.kinematics import Kinematics, free_twist, plane_frames
from exoskel.scene.merge import copy_world
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, Vector, vector_from_array
from exoskel.scene.tendon import TendonJoint
from exoskel.scene.world import World
from exoskel.spatial import Array

JOINTS_PASS = "lower.joints"
"""The name of the pass, for reports."""

KINDS = frozenset({"euler", "planar", "translational", "translational2d", "free"})
"""The kinds that the pass lowers by default; a free joint only below another body, as a body without a joint is
free anyway."""

ALL_KINDS = KINDS | {"universal", "hinge2", "screw"}
"""The kinds that the pass can lower.  A hinge2 loses its suspension.  A screw couples a rotation and a translation,
which a chain of hinges and sliders cannot express: its slider mimics its hinge, and a reader that ignores `mimic` has
one degree of freedom too many."""

MASS_RATIO = 1e-3
"""The mass of a body in between, relative to the child.

ODE refuses bodies without mass, so this is a compromise.  Measured on a double pendulum of two euler joints, 1 s in
steps of 1 ms: the error of ODE's exact solver is 0.6 mm from its steps alone, 1.3 mm with this ratio, and ten times as
much with ten times the ratio.  The error of its iterative solver is 2 cm with this ratio, 13 cm with a tenth of it, and
metres below that.
"""
_LEAST_MOMENT = 1e-3
"""A lower bound relative to the child's largest principal moment: that of a thin rod about its axis is nearly zero."""
_DEFAULT_MASS, _DEFAULT_LENGTH = 1.0, 0.1
"""kg and m, for a child without mass or with an invalid moment.  ODE gives such a child 1 kg too."""

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_UNITS = {"x": _X, "y": _Y, "z": _Z}


class Chain(Struct, frozen=True):
    """The chain of simpler joints that replaces one joint.

    `joint` is in the world before, `links` (from the parent to the child) and the `bodies` in between are in the world
    after.  `coordinates` are the numbers of the joint's coordinates in the order of the chain, times `factors`, which
    are 1 except for the translation of a screw (m/rad).
    """

    joint: Joint
    links: list[Joint]
    bodies: list[Body]
    coordinates: tuple[int, ...]
    factors: tuple[float, ...]
    uses_angles: bool = False
    """The rotation vector of a ball is replaced by angles about x, y and z."""

    def positions(self, own: Array) -> Array:
        """Convert positions of the joint to positions of the chain."""
        if self.uses_angles:
            own = own.copy()
            own[:3] = spatial.euler_xyz(spatial.exp(own[:3]))
        converted: Array = own[list(self.coordinates)] * np.array(self.factors)
        return converted

    @property
    def added_mass(self) -> float:
        """The mass of the bodies in between, kg."""
        return sum(body.mass for body in self.bodies)


class LoweredWorld(Struct, frozen=True):
    """A new world, and the chains that replace joints of the old one."""

    world: World
    chains: list[Chain]

    @property
    def added_mass(self) -> float:
        """The mass of all bodies in between, kg."""
        return sum(chain.added_mass for chain in self.chains)


JointFilter = Callable[[Joint], bool]
"""Selects joints to lower, of the kinds that a pass can lower."""


def any_joint(_: Joint) -> bool:
    """Select all joints."""
    return True


def lower_joints(
    world: World, kinds: frozenset[str] = KINDS, *, mass_ratio: float = MASS_RATIO, only: JointFilter = any_joint
) -> LoweredWorld:
    """Copy a world and replace joints of these kinds by chains of revolute, prismatic and ball joints.

    Of these kinds, `only` the selected joints are lowered.  Static models, which do not move, and loops, which have no
    coordinates, are not changed.  The bodies in between have no gravity: they add inertia, but no weight.  Damping and
    springs of a free joint act on the coordinates of the chain, which are the same; its velocities differ and are
    converted.  A joint that mimics another is lowered together with it, link by link.
    """
    with no_edits():  # creating another world does not edit this one
        return _Pass(world, kinds & ALL_KINDS, mass_ratio, only).run()


def joints_to_lower(world: World, kinds: frozenset[str] = KINDS, only: JointFilter = any_joint) -> list[Joint]:
    """The joints that `lower_joints` would lower."""
    return [
        joint
        for model in world.models
        for joint, is_selected in zip(model.joints, _select_joints(model, kinds & ALL_KINDS, only), strict=True)
        if is_selected
    ]


def _select_joints(model: Model, kinds: frozenset[str], only: JointFilter) -> list[bool]:
    """Which joints of a model are lowered.

    A joint that mimics another can only be lowered together with it, link by link: if one of them is not lowered, or
    their kinds differ, both are left.  A follower of a kind that cannot follow does not prevent it.
    """
    found = {id(joint) for joint in model.joints if _can_lower(joint, model, kinds) and only(joint)}
    every = [(joint, mimicked_joint(joint, model)) for joint in model.joints if joint.mimic is not None and found]
    mimics = [
        (joint, leader)
        for joint, leader in every
        if leader is None or id(joint) in found or can_mimic(joint.kind, leader.kind)
    ]
    changing = True
    while changing:
        changing = False
        for joint, leader in mimics:
            pair = {id(joint), id(leader)}
            whole = leader is not None and joint.kind == leader.kind
            if pair & found and not (whole and pair <= found):
                found -= pair
                changing = True
    return [id(joint) in found for joint in model.joints]


def mimicked_joint(joint: Joint, model: Model) -> Joint | None:
    """The joint that a joint mimics, if the model has it."""
    if joint.mimic is None:
        return None
    return next((one for one in model.joints if one.name == joint.mimic.joint and not one.loop), None)


def replace_balls(world: World) -> World:
    """Copy a world and replace ball joints by euler joints of order xyz.

    Poses and the initial motion are the same; coordinates are angles instead of a rotation vector.  Damping, friction,
    springs and limits act on the angles, which equal the rotation vector only at zero.
    """
    with no_edits():
        copied = copy_world(world)
        for model in copied.models:
            for joint in model.joints:
                if joint.kind == "ball" and not joint.loop and not model.static:
                    _replace_ball(joint)
    return copied


def _replace_ball(joint: Joint) -> None:
    vector, spin = np.array(joint.positions), np.array(joint.velocities)
    joint.kind, joint.order = "euler", "xyz"
    if not (vector.any() or spin.any()):
        return
    angles = spatial.euler_xyz(spatial.exp(vector))
    second, third = spatial.axis_rotation("y", angles[1]), spatial.axis_rotation("z", angles[2])
    # The angular velocity in the child's axes, as a ball has it, for each of the three rates.
    columns = [(second @ third).T @ _X, third.T @ _Y, np.array(_Z)]
    joint.positions = vector_from_array(angles)
    joint.velocities = vector_from_array(np.linalg.lstsq(np.stack(columns, axis=1), spin, rcond=None)[0])


def _can_lower(joint: Joint, model: Model, kinds: frozenset[str]) -> bool:
    if model.static or joint.loop or joint.kind not in kinds:
        return False
    return joint.kind != "free" or joint.parent is not None


class _Link(Struct, frozen=True):
    """One joint of a chain: its axes in the joint's frame, and the joint's coordinates that it has."""

    kind: JointKind
    coordinates: tuple[int, ...]
    axes: tuple[Vector, ...] = ()
    factor: float = 1.0
    mimics_last: bool = False
    """The link mimics the last one of the chain."""


def _links(joint: Joint) -> list[_Link]:
    match joint.kind:
        case "universal" | "hinge2":
            links = _links_along("revolute", joint.axes)
            return links[::-1] if joint.swapped else links
        case "screw":
            slider = _Link("prismatic", (0,), joint.axes, factor=joint.pitch / (2.0 * pi), mimics_last=True)
            return [slider, _Link("revolute", (0,), joint.axes)]
        case "euler":
            return _links_along("revolute", [_UNITS[axis] for axis in joint.order])
        case "translational":
            return _links_along("prismatic", [_X, _Y, _Z])
        case "free":  # the ball comes last: the translation is in the axes of the parent
            return [*_links_along("prismatic", [_X, _Y, _Z], first=3), _Link("ball", (0, 1, 2))]
    one, two, normal = (vector_from_array(direction[0]) for direction in plane_frames([joint]))
    if joint.kind == "translational2d":
        return _links_along("prismatic", [one, two])
    return [*_links_along("prismatic", [one, two]), *_links_along("revolute", [normal], first=2)]


def _links_along(kind: JointKind, axes: Sequence[Vector], first: int = 0) -> list[_Link]:
    return [_Link(kind, (first + number,), (axis,)) for number, axis in enumerate(axes)]


Driven = TypeVar("Driven", Actuator, TendonJoint)


class _Pass:
    def __init__(self, world: World, kinds: frozenset[str], mass_ratio: float, only: JointFilter) -> None:
        self.old = world
        self.only = only
        self.new = copy_world(world)
        self.kinds = kinds
        self.mass_ratio = mass_ratio
        self.taken = Names()
        """The names of the model that is lowered."""
        self.chains: list[Chain] = []

    def run(self) -> LoweredWorld:
        for old, new in zip(self.old.models, self.new.models, strict=True):
            selected = _select_joints(old, self.kinds, self.only)
            if any(selected):
                self._lower_model(old, new, selected)
        self._transfer_drives()
        return LoweredWorld(self.new, self.chains)

    def _lower_model(self, old: Model, new: Model, selected: list[bool]) -> None:
        self.taken = Names(_names(old))
        made: dict[int, Chain] = {}
        for before, after, is_selected in zip(old.joints, new.joints, selected, strict=True):
            if is_selected:
                made[id(after)] = self._build_chain(before, after, old)
        _transfer_mimics(old, list(made.values()))
        between = {id(joint.child): made[id(joint)].bodies for joint in new.joints if id(joint) in made}
        # Parents come before children, and joints are in the order of their children.
        new.bodies[:] = [b for body in new.bodies for b in (*between.get(id(body), ()), body)]
        new.joints[:] = [
            link for joint in new.joints for link in (made[id(joint)].links if id(joint) in made else [joint])
        ]
        self.chains += made.values()

    def _transfer_drives(self) -> None:
        """Let actuators and tendons act on the links of the joints that they acted on."""
        if not (self.chains and (self.new.actuators or self.new.tendons)):
            return
        paths = {
            id(joint): qualified_name(model.name, joint.name)
            for world in (self.old, self.new)
            for model in world.models
            for joint in model.joints
        }
        places: dict[tuple[str, int], tuple[str, int]] = {}
        for chain in self.chains:
            owned = [(paths[id(link)], own) for link in chain.links for own in range(link.dof_count)]
            before = [(paths[id(chain.joint)], number) for number in chain.coordinates]
            places |= zip(before, owned, strict=True)  # a screw is driven by its last link, the hinge

        def moved(one: Driven) -> Driven:
            joint, coordinate = places.get((one.joint, one.coordinate), (one.joint, one.coordinate))
            return structs.replace(one, joint=joint, coordinate=coordinate)

        self.new.actuators[:] = [moved(one) for one in self.new.actuators]
        self.new.tendons[:] = [structs.replace(one, joints=tuple(map(moved, one.joints))) for one in self.new.tendons]

    def _build_chain(self, before: Joint, after: Joint, model: Model) -> Chain:
        links = _links(before)
        place = _joint_frame(after)
        inertia = _between_inertia(after.child, self.mass_ratio)
        bodies = [
            Body(name=self._unused_name(f"{before.name}~{number}"), pose=place, inertia=copy(inertia), gravity=False)
            for number in range(1, len(links))
        ]
        names = [
            self._unused_name(f"{before.name}_travel" if link.mimics_last else before.dof_names[link.coordinates[0]])
            for link in links[:-1]
        ]
        parents = [after.parent, *bodies]
        made = [
            Joint(
                name=name, kind=link.kind, child=child, parent=parent, axes=link.axes,
                actuator=after.actuator, limits_enforced=after.limits_enforced,
            )
            for name, link, parent, child in zip(names, links, parents, bodies, strict=False)
        ]  # fmt: skip
        made.append(_last_link(after, links[-1], parents[-1]))
        dofs = _dofs(before, model)
        for joint, link in zip(made, links, strict=True):
            if link.mimics_last:
                joint.mimic = Mimic(made[-1].name, multiplier=link.factor)
                joint.dofs[0].position = link.factor * dofs[0].position
                joint.dofs[0].velocity = link.factor * dofs[0].velocity
                continue
            joint.drives = tuple(after.drives[i] for i in link.coordinates if i < len(after.drives))
            _set_dofs(joint, [dofs[i] for i in link.coordinates])
        coordinates = tuple(i for link in links for i in link.coordinates)
        return Chain(before, made, bodies, coordinates, tuple(link.factor for link in links for _ in link.coordinates))

    def _unused_name(self, name: str) -> str:
        chosen = unique_name(name, self.taken)
        self.taken.add(chosen)
        return chosen


def _transfer_mimics(model: Model, chains: list[Chain]) -> None:
    """Let the links of a joint that mimics another mimic the links of that one."""
    made = {id(chain.joint): chain for chain in chains}
    for chain in chains:
        mimic, leader = chain.joint.mimic, mimicked_joint(chain.joint, model)
        if mimic is not None and leader is not None and id(leader) in made:
            for link, other in zip(chain.links, made[id(leader)].links, strict=True):
                if link.mimic is None or link.mimic == mimic:  # the slider of a screw mimics its own hinge
                    link.mimic = structs.replace(mimic, joint=other.name)


def _last_link(joint: Joint, link: _Link, parent: Body | None) -> Joint:
    """A copy of the joint as the last link of its chain; it has the provenance of the joint."""
    made = copy(joint)
    made.kind, made.axes, made.parent = link.kind, link.axes, parent
    plain = Joint(name="", kind=link.kind, child=joint.child)
    made.order, made.plane, made.swapped, made.pitch = plain.order, plain.plane, plain.swapped, plain.pitch
    return made


def _names(model: Model) -> Iterator[str]:
    """All names in use; writers of formats whose names are unique in a whole document see to that themselves."""
    for body in model.bodies:
        yield body.name
        yield from (shape.name for shape in body.shapes)
    for joint in model.joints:
        yield joint.name


def _joint_frame(joint: Joint) -> Pose:
    """The joint's frame in the model at zero positions, which is the pose of all bodies in between."""
    if joint.pose.is_identity:
        return joint.child.pose
    return Pose.from_matrix(joint.child.pose.matrix() @ joint.pose.matrix())


def _between_inertia(child: Body, ratio: float) -> Inertia:
    """The inertia of a sphere at the joint, with at most `ratio` times the mass and moments of the child."""
    mass = child.mass if child.mass > 0.0 and isfinite(child.mass) else _DEFAULT_MASS
    moment = mass * _DEFAULT_LENGTH**2
    tensor = spatial.moment_matrix(child.moment)
    if np.isfinite(tensor).all():
        least, _, most = np.linalg.eigvalsh(tensor).tolist()
        if most > 0.0:
            moment = max(least, _LEAST_MOMENT * most)
    diagonal = ratio * moment
    return Inertia(mass=ratio * mass, moment=(diagonal, diagonal, diagonal, 0.0, 0.0, 0.0))


def _set_dofs(link: Joint, dofs: list[Dof]) -> None:
    """Set the degrees of freedom of a link, and keep their names."""
    link._dofs = dofs
    names = [dof.name for dof in dofs]
    for dof in dofs:
        dof.name = ""
    for dof, name, default in zip(dofs, names, link.dof_names, strict=True):
        dof.name = name if name != default else ""


def _dofs(joint: Joint, model: Model) -> list[Dof]:
    """Copies of the degrees of freedom, in the joint's order, with explicit names and the velocities of the chain."""
    copies = [copy(dof) for dof in joint.dofs]
    for dof, name in zip(copies, joint.dof_names, strict=True):
        dof.name = name
    if joint.kind == "free" and any(dof.velocity or dof.acceleration or dof.force for dof in copies):
        rates = _free_to_chain_velocities(joint, model)
        # Forces are dual to velocities.
        for field, factor in (("velocity", rates), ("acceleration", rates), ("force", np.linalg.inv(rates).T)):
            values = factor @ np.array([getattr(dof, field) for dof in copies])
            for dof, value in zip(copies, values.tolist(), strict=True):
                setattr(dof, field, value)
    return copies


def _free_to_chain_velocities(joint: Joint, model: Model) -> Array:
    """The matrix from a free joint's velocities to those of sliders and ball at the initial state, `(6, 6)`.

    Velocities of the joint are in the axes of the parent, those of the ball in the axes of the child, those of the
    sliders are rates of their positions.
    """
    kinematics = Kinematics([model])
    number = next(i for i, one in enumerate(j for j in model.joints if not j.loop) if one is joint)
    here = kinematics.relative(kinematics.initial)[number][:3, :3]
    axes = kinematics.from_parent[number][:3, :3]
    own = joint.pose.matrix()
    columns = []
    for velocities in np.eye(6):
        spin, speed = free_twist(joint, velocities)
        at_joint = speed + np.cross(spin, here @ own[:3, 3])
        columns.append(np.concatenate([(here @ own[:3, :3]).T @ spin, axes.T @ at_joint]))
    return np.array(columns).T


# --- origins --------------------------------------------------------------------------------------------

Original = Callable[[Any], Any]
"""Maps a part of a lowered world to its original; None for parts that a pass has added."""


class WorldWithOrigins(NamedTuple):
    """A lowered world, the originals of its parts, and the item of the scene that each part describes.

    `owner` is the original, or the joint that a chain replaces; None for bodies that a pass has added.
    """

    world: World
    original: Original
    owner: Original


def lower_with_origins(world: World, kinds: frozenset[str] = KINDS, only: JointFilter = any_joint) -> WorldWithOrigins:
    """Lower joints as `lower_joints` does; returns the world itself if it has no joints to lower."""
    if not joints_to_lower(world, kinds, only):
        return WorldWithOrigins(world, lambda item: item, lambda item: item)
    done = lower_joints(world, kinds, only=only)
    known = map_to_originals(world, done)
    owners = {**{id(link): chain.joint for chain in done.chains for link in chain.links}, **known}
    return WorldWithOrigins(done.world, lambda item: known.get(id(item)), lambda item: owners.get(id(item)))


def map_to_originals(world: World, done: LoweredWorld) -> dict[int, object]:
    """The originals of the parts of a lowered world, by id; parts that a pass has added are missing.

    Passes copy everything in order and insert bodies and joints of their own.
    """
    added = {id(body) for chain in done.chains for body in chain.bodies}
    links = {id(link) for chain in done.chains for link in chain.links[:-1]}
    known: dict[int, object] = {id(done.world): world}
    for before, after in zip(world.models, done.world.models, strict=True):
        known[id(after)] = before
        copies = [body for body in after.bodies if id(body) not in added]
        for old, new in zip(before.bodies, copies, strict=True):
            known[id(new)] = old
            known |= {id(copied): part for part, copied in zip(_parts(old), _parts(new), strict=True)}
        joints = [joint for joint in after.joints if id(joint) not in links]
        known |= {id(new): joint for joint, new in zip(before.joints, joints, strict=True)}
    return known


def _parts(body: Body) -> Sequence[object]:
    return [*body.visuals, *body.collisions, *body.markers]


# --- hinges and sliders only ---------------------------------------------------------------------------

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
    """Copy a world and replace all joints but hinges, sliders, welds, free bodies, loops and those of static models.

    The passes run in turn: free joints below a body become sliders and balls, balls become euler joints, and all
    remaining joints become chains of hinges and sliders.  An angular motor, which constrains nothing, becomes a free
    joint.  A joint that cannot follow the joint it mimics link by link loses its mimic.  The rotation
    vectors of balls and free joints become angles about x, y and z.
    """
    with no_edits():  # creating another world does not edit this one
        return _Composition(world).lowered()


def _remove_separate_mimics(model: Model) -> None:
    """Remove mimics without effect: `lower_joints` would leave a joint that cannot follow another link by link."""
    for joint in model.joints if not model.static else ():
        if joint.mimic is not None and not _mimics_by_link(joint, mimicked_joint(joint, model)):
            joint.mimic = None


def _mimics_by_link(joint: Joint, leader: Joint | None) -> bool:
    if leader is None:
        return _is_supported(joint)
    if _is_supported(joint) or _is_supported(leader) or joint.loop:
        return _is_supported(joint) and _is_supported(leader)
    return joint.kind == leader.kind


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
            _remove_separate_mimics(model)
        self.without_free = lower_joints(self.without_motors, frozenset({"free"}), mass_ratio=BETWEEN_RATIO)
        self.without_balls = replace_balls(self.without_free.world)
        self.done = lower_joints(self.without_balls, ALL_KINDS, mass_ratio=BETWEEN_RATIO)
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
