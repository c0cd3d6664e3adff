"""Passes that lower joints: they copy a scene and express the same motion with simpler joints.

`lower_joints` is for engines and formats that only have hinges, sliders and balls.  A joint becomes a chain of these,
with bodies without shapes in between.  The pose of the child at coordinates q of the chain is its pose at q of the
joint; limits, dynamics and initial values stay with their coordinate.  `replace_balls` is for formats without balls:
it replaces them by euler joints, which have other coordinates.

Names: the bodies in between are `JOINT~1`, `JOINT~2`, … starting at the parent.  The last joint of a chain, which moves
the child, has the name of the joint.  The others are named after their degree of freedom, and all degrees of freedom
keep their names.  A name that is in use gets a number appended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from math import isfinite, pi

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.scene.body import Body
from exoskel.scene.copies import copy_world
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.inertia import Inertia
from exoskel.scene.initial_velocities import free_twist
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Dof, Joint, Kind, Mimic
from exoskel.scene.kinematics import Kinematics, plane_frames
from exoskel.scene.pose import Pose, Vector
from exoskel.scene.world import Model, World
from exoskel.spatial import Array

JOINTS_PASS, BALLS_PASS = "lower.joints", "lower.balls"
"""The names of the passes, for reports."""

KINDS = frozenset({"euler", "planar", "translational", "translational2d", "free"})
"""What the pass takes apart unless told otherwise; a free joint only below another body, as a body without a joint
floats anyway."""

ALL_KINDS = KINDS | {"universal", "hinge2", "screw"}
"""What the pass can take apart.  A hinge2 loses its suspension.  A screw ties a turn to a travel, which no chain of
hinges and sliders does by itself: its slider mimics its hinge, and who ignores that has one freedom too many."""

MASS_RATIO = 1e-3
"""What a body in between weighs, relative to the child.

ODE refuses bodies without mass, so this is a compromise.  Measured on a tumbling double pendulum of two euler joints,
1 s in steps of 1 ms: ODE's exact solver is off by 0.6 mm for its steps alone, by 1.3 mm with this ratio, and by ten
times as much with ten times the ratio.  Its iterative solver bears no less: it is off by 2 cm with this ratio, by 13 cm
with a tenth of it, and by metres below that.
"""
_LEAST_MOMENT = 1e-3
"""Of the child's largest principal moment: a child that is next to a line has hardly any about itself."""
_SOME_MASS, _SOME_LENGTH = 1.0, 0.1
"""kg and m, for a child without mass or with a moment of no real thing.  ODE gives such a child 1 kg itself."""

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_UNITS = {"x": _X, "y": _Y, "z": _Z}


class Chain(Struct, frozen=True):
    """What one joint became.

    `joint` is that of the world before, `links` (from the parent to the child) and the `bodies` in between are in
    the world after.  The chain's coordinates, in their order, are those numbers of the joint's, times `factors`,
    which are 1 but for the travel of a screw (m/rad).
    """

    joint: Joint
    links: list[Joint]
    bodies: list[Body]
    coordinates: tuple[int, ...]
    factors: tuple[float, ...]
    turned: bool = False
    """The rotation vector of a ball has become angles about x, y, z."""

    def positions(self, own: Array) -> Array:
        """The chain's positions, from those of the joint."""
        if self.turned:
            own = own.copy()
            own[:3] = spatial.euler_xyz(spatial.exp(own[:3]))
        made: Array = own[list(self.coordinates)] * np.array(self.factors)
        return made

    @property
    def added_mass(self) -> float:
        """kg."""
        return sum(body.mass for body in self.bodies)


class LoweredWorld(Struct, frozen=True):
    """A new world, and what was done to the old one."""

    world: World
    chains: list[Chain]

    @property
    def added_mass(self) -> float:
        """kg."""
        return sum(chain.added_mass for chain in self.chains)


JointFilter = Callable[[Joint], bool]
"""Which joints of the kinds in question are meant."""


def any_joint(_: Joint) -> bool:
    """The choice of all joints."""
    return True


def lower_joints(
    world: World, kinds: frozenset[str] = KINDS, *, mass_ratio: float = MASS_RATIO, only: JointFilter = any_joint
) -> LoweredWorld:
    """A copy of a world in which joints of these kinds are chains of revolute, prismatic and ball joints.

    Of these kinds, `only` the chosen joints are taken apart.
    Static models, which do not move, and loops, which have no coordinates, stay as they are.  The bodies in between
    feel no gravity: they add inertia, but no weight.  A free joint's damping and springs act on the coordinates of
    the chain, which are the same, while its velocities are not: these are converted.  A joint that follows another
    is taken apart with it, and each of its links follows the other's.
    """
    with no_edits():  # making another world is no edit of this one
        return _Pass(world, kinds & ALL_KINDS, mass_ratio, only).run()


def joints_to_lower(world: World, kinds: frozenset[str] = KINDS, only: JointFilter = any_joint) -> list[Joint]:
    """The joints that the pass would take apart."""
    return [
        joint
        for model in world.models
        for joint, is_meant in zip(model.joints, _meant(model, kinds & ALL_KINDS, only), strict=True)
        if is_meant
    ]


def _meant(model: Model, kinds: frozenset[str], only: JointFilter) -> list[bool]:
    """Which joints of a model are to be taken apart.

    A joint that follows another can only be taken apart with it, link by link: if one of them has to stay, or they
    are of two kinds, both stay.
    """
    found = {id(joint) for joint in model.joints if _is_meant(joint, model, kinds) and only(joint)}
    ties = [(joint, mimicked_joint(joint, model)) for joint in model.joints if joint.mimic is not None] if found else []
    changing = True
    while changing:
        changing = False
        for joint, leader in ties:
            pair = {id(joint), id(leader)}
            whole = leader is not None and joint.kind == leader.kind
            if pair & found and not (whole and pair <= found):
                found -= pair
                changing = True
    return [id(joint) in found for joint in model.joints]


def mimicked_joint(joint: Joint, model: Model) -> Joint | None:
    """The joint that a joint follows, if there is one of that name."""
    if joint.mimic is None:
        return None
    return next((one for one in model.joints if one.name == joint.mimic.joint and not one.loop), None)


def replace_balls(world: World) -> World:
    """A copy of a world in which ball joints are euler joints of order xyz.

    Poses, initial values and velocities are the same; coordinates are angles in place of a rotation vector.  Damping
    and friction act on the rates of these, which are the ball's at zero only; springs and limits likewise.
    """
    with no_edits():
        made = copy_world(world)
        for model in made.models:
            for joint in model.joints:
                if joint.kind == "ball" and not joint.loop and not model.static:
                    _as_euler(joint)
    return made


def _as_euler(joint: Joint) -> None:
    vector, spin = np.array(joint.positions), np.array(joint.velocities)
    joint.kind, joint.order = "euler", "xyz"
    if not (vector.any() or spin.any()):
        return
    angles = spatial.euler_xyz(spatial.exp(vector))
    second, third = spatial.axis_rotation("y", angles[1]), spatial.axis_rotation("z", angles[2])
    # The angular velocity in the child's axes, as a ball has it, for each of the three rates.
    columns = [(second @ third).T @ _X, third.T @ _Y, np.array(_Z)]
    joint.positions = _vector(angles)
    joint.velocities = _vector(np.linalg.lstsq(np.stack(columns, axis=1), spin, rcond=None)[0])


def _is_meant(joint: Joint, model: Model, kinds: frozenset[str]) -> bool:
    if model.static or joint.loop or joint.kind not in kinds:
        return False
    return joint.kind != "free" or joint.parent is not None


class _Link(Struct, frozen=True):
    """One joint of a chain: its axis in the joint's frame, and which of the joint's coordinates it has."""

    kind: Kind
    coordinates: tuple[int, ...]
    axes: tuple[Vector, ...] = ()
    factor: float = 1.0
    follows: bool = False
    """The link mimics the last one of the chain."""


def _links(joint: Joint) -> list[_Link]:
    match joint.kind:
        case "universal" | "hinge2":
            links = _along("revolute", joint.axes)
            return links[::-1] if joint.swapped else links
        case "screw":
            slider = _Link("prismatic", (0,), joint.axes, factor=joint.pitch / (2.0 * pi), follows=True)
            return [slider, _Link("revolute", (0,), joint.axes)]
        case "euler":
            return _along("revolute", [_UNITS[axis] for axis in joint.order])
        case "translational":
            return _along("prismatic", [_X, _Y, _Z])
        case "free":  # the ball comes last: the translation is in the axes of the parent
            return [*_along("prismatic", [_X, _Y, _Z], first=3), _Link("ball", (0, 1, 2))]
    one, two, normal = (_vector(direction[0]) for direction in plane_frames([joint]))
    if joint.kind == "translational2d":
        return _along("prismatic", [one, two])
    return [*_along("prismatic", [one, two]), *_along("revolute", [normal], first=2)]


def _along(kind: Kind, axes: Sequence[Vector], first: int = 0) -> list[_Link]:
    return [_Link(kind, (first + number,), (axis,)) for number, axis in enumerate(axes)]


class _Pass:
    def __init__(self, world: World, kinds: frozenset[str], mass_ratio: float, only: JointFilter) -> None:
        self.old = world
        self.only = only
        self.new = copy_world(world)
        self.kinds = kinds
        self.mass_ratio = mass_ratio
        self.taken = Names(_names(world))
        self.chains: list[Chain] = []

    def run(self) -> LoweredWorld:
        for old, new in zip(self.old.models, self.new.models, strict=True):
            meant = _meant(old, self.kinds, self.only)
            if any(meant):
                self._model(old, new, meant)
        return LoweredWorld(self.new, self.chains)

    def _model(self, old: Model, new: Model, meant: list[bool]) -> None:
        made: dict[int, Chain] = {}
        for before, after, is_meant in zip(old.joints, new.joints, meant, strict=True):
            if is_meant:
                made[id(after)] = self._chain(before, after, old)
        _tie(old, list(made.values()))
        between = {id(joint.child): made[id(joint)].bodies for joint in new.joints if id(joint) in made}
        # Parents stand before children, and each joint at the place of its child.
        new.bodies[:] = [b for body in new.bodies for b in (*between.get(id(body), ()), body)]
        new.joints[:] = [
            link for joint in new.joints for link in (made[id(joint)].links if id(joint) in made else [joint])
        ]
        self.chains += made.values()

    def _chain(self, before: Joint, after: Joint, model: Model) -> Chain:
        links = _links(before)
        place = _place(after)
        inertia = _inertia(after.child, self.mass_ratio)
        bodies = [
            Body(name=self._fresh(f"{before.name}~{number}"), pose=place, inertia=copy(inertia), gravity=False)
            for number in range(1, len(links))
        ]
        names = [
            self._fresh(f"{before.name}_travel" if link.follows else before.dof_names[link.coordinates[0]])
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
        made.append(_last(after, links[-1], parents[-1]))
        dofs = _dofs(before, model)
        for joint, link in zip(made, links, strict=True):
            if link.follows:
                joint.mimic = Mimic(made[-1].name, multiplier=link.factor)
                joint.dofs[0].position = link.factor * dofs[0].position
                joint.dofs[0].velocity = link.factor * dofs[0].velocity
                continue
            joint.drives = tuple(after.drives[i] for i in link.coordinates if i < len(after.drives))
            _set_dofs(joint, [dofs[i] for i in link.coordinates])
        coordinates = tuple(i for link in links for i in link.coordinates)
        return Chain(before, made, bodies, coordinates, tuple(link.factor for link in links for _ in link.coordinates))

    def _fresh(self, name: str) -> str:
        chosen = unique_name(name, self.taken)
        self.taken.add(chosen)
        return chosen


def _tie(model: Model, chains: list[Chain]) -> None:
    """Let the links of a joint that followed another follow the links of that one."""
    made = {id(chain.joint): chain for chain in chains}
    for chain in chains:
        mimic, leader = chain.joint.mimic, mimicked_joint(chain.joint, model)
        if mimic is not None and leader is not None:
            for link, other in zip(chain.links, made[id(leader)].links, strict=True):
                if link.mimic is None or link.mimic == mimic:  # the slide of a screw follows its own hinge
                    link.mimic = structs.replace(mimic, joint=other.name)


def _last(joint: Joint, link: _Link, parent: Body | None) -> Joint:
    """The joint itself, as far as it is left: it came from where the whole of it came from."""
    made = copy(joint)
    made.kind, made.axes, made.parent = link.kind, link.axes, parent
    plain = Joint(name="", kind=link.kind, child=joint.child)
    made.order, made.plane, made.swapped, made.pitch = plain.order, plain.plane, plain.swapped, plain.pitch
    return made


def _names(world: World) -> Iterator[str]:
    """All names there are: XODE wants them to be unique in the whole document."""
    yield world.name
    for body in world.bodies():
        yield body.name
        yield from (shape.name for shape in body.shapes)
    for joint in world.joints():
        yield joint.name


def _place(joint: Joint) -> Pose:
    """The joint's frame in the model at zero positions, where all bodies in between are."""
    if joint.pose.is_identity:
        return joint.child.pose
    return Pose.from_matrix(joint.child.pose.matrix() @ joint.pose.matrix())


def _inertia(child: Body, ratio: float) -> Inertia:
    """A ball about the joint: as heavy, and as hard to turn about any axis, as `ratio` says of the child at most."""
    mass = child.mass if child.mass > 0.0 and isfinite(child.mass) else _SOME_MASS
    moment = mass * _SOME_LENGTH**2
    tensor = spatial.moment_matrix(child.moment)
    if np.isfinite(tensor).all():
        least, _, most = np.linalg.eigvalsh(tensor).tolist()
        if most > 0.0:
            moment = max(least, _LEAST_MOMENT * most)
    turn = ratio * moment
    return Inertia(mass=ratio * mass, moment=(turn, turn, turn, 0.0, 0.0, 0.0))


def _set_dofs(link: Joint, dofs: list[Dof]) -> None:
    """Give a link its degrees of freedom, under the names they had."""
    link._dofs = dofs
    names = [dof.name for dof in dofs]
    for dof in dofs:
        dof.name = ""
    for dof, name, default in zip(dofs, names, link.dof_names, strict=True):
        dof.name = name if name != default else ""


def _dofs(joint: Joint, model: Model) -> list[Dof]:
    """Copies of the degrees of freedom, in the joint's order, all with names and with the chain's velocities."""
    made = [copy(dof) for dof in joint.dofs]
    for dof, name in zip(made, joint.dof_names, strict=True):
        dof.name = name
    if joint.kind == "free" and any(dof.velocity or dof.acceleration or dof.force for dof in made):
        rates = _rates_of_free(joint, model)
        # Forces are dual to velocities.
        for field, factor in (("velocity", rates), ("acceleration", rates), ("force", np.linalg.inv(rates).T)):
            values = factor @ np.array([getattr(dof, field) for dof in made])
            for dof, value in zip(made, values.tolist(), strict=True):
                setattr(dof, field, value)
    return made


def _rates_of_free(joint: Joint, model: Model) -> Array:
    """From a free joint's velocities to those of ball and sliders at the initial state, `(6, 6)`.

    The joint's are in the axes of the parent, the ball's in those of the child, the sliders' are rates of positions.
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


def _vector(array: Array) -> Vector:
    x, y, z = array.tolist()
    return (x, y, z)
