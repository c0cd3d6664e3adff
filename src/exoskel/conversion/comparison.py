"""The comparison of two scenes that all certificates share, its measures and its rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.conversion.report import Check
from exoskel.scene.body import Body
from exoskel.scene.fields import comparable_value, inertia_differences, relative_difference, transform_differences
from exoskel.scene.joint import DOF_DYNAMICS, DOF_LIMITS, UNLIMITED, Dof
from exoskel.scene.kinematics import Kinematics, Twist, initial_twists, stated_twists
from exoskel.scene.pose import Vector
from exoskel.scene.shape import Plane, Shape, clamp_color
from exoskel.scene.summary import moments
from exoskel.scene.world import World
from exoskel.spatial import Array

TOLERANCE = 1e-9
AT_REST: tuple[Vector, Vector] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
"""The twist of a body that does not move."""

Row = tuple[str, float]
"""The name of a check, and the largest error found."""

DOF_GROUPS: dict[str, tuple[str, ...]] = {
    "initial velocities": ("velocity", "acceleration", "force"),
    "limits": DOF_LIMITS,
    "springs, damping and friction": (*DOF_DYNAMICS, "armature"),
}
"""Rows about degrees of freedom, and the fields that each compares."""
CONSTANT_DOF_GROUPS = ("limits", "springs, damping and friction")
"""The rows whose fields do not depend on the initial state."""

SMALLEST_MASS = 1e-300
"""The divisor of relative errors of masses and moments that are zero."""


def check(name: str, error: float, tolerance: float = TOLERANCE) -> Check:
    """The result of a comparison; an error that is not finite fails it."""
    finite = bool(np.isfinite(error))
    return Check(name, float(error) if finite else None, tolerance, finite and error <= tolerance)


def largest(errors: Sequence[float] | Array) -> float:
    """The largest error; 0 for an empty list."""
    return float(np.max(errors)) if len(errors) else 0.0


def difference_or_inf(same: bool) -> float:
    """The error of things that are either the same or not."""
    return 0.0 if same else np.inf


def effective_value(dof: Dof, field: str) -> Any:
    """The value of a field.

    A rest position has no effect without stiffness, and then counts as 0.  Limits that are equal and infinite cannot be
    reached, and count as none.
    """
    if field == "position_limits" and dof.has_limits_at_infinity:
        return UNLIMITED
    return 0.0 if field == "rest" and not dof.stiffness else getattr(dof, field)


def worst_rows(rows: Iterable[Row]) -> list[Row]:
    """The largest error of each name, in the order in which the names appear."""
    found: dict[str, float] = {}
    for name, error in rows:
        found[name] = max(found.get(name, 0.0), error)
    return list(found.items())


def mass_difference(before: Iterable[Body], after: Iterable[Body]) -> float:
    """How much the total mass differs, relative to the total before."""
    mine, theirs = (sum(body.mass for body in side) for side in (before, after))
    return 0.0 if mine == theirs else abs(mine - theirs) / max(abs(mine), SMALLEST_MASS)


def check_added_mass(name: str, before: Iterable[Body], after: Sequence[Body], added: float) -> Check:
    """Check that the total mass grew by no more than `added` (kg)."""
    bodies = list(before)
    size = max(sum(body.mass for body in bodies), SMALLEST_MASS)
    return check(name, mass_difference(bodies, after), added / size + TOLERANCE)


def dof_names(world: World) -> list[str]:
    """The names of all degrees of freedom, in their order."""
    return [name for model in world.models for name in model.dof_names]


@lru_cache
def field_getter(fields: tuple[str, ...]) -> Callable[[Any], Any]:
    """A function that returns these attributes of an object."""
    return attrgetter(*fields)


def field_difference(one: Any, other: Any, fields: tuple[str, ...]) -> float:
    """The largest difference of these fields of two items."""
    if field_getter(fields)(one) == field_getter(fields)(other):  # most are equal and need no closer look
        return 0.0
    return max(relative_difference(comparable_value(one, field), comparable_value(other, field)) for field in fields)


def dof_difference(ones: Sequence[Dof], others: Sequence[Dof], fields: tuple[str, ...]) -> float:
    """The largest difference of these fields of degrees of freedom, pair by pair."""
    pick = field_getter(fields)
    return relative_difference([pick(dof) for dof in ones], [pick(dof) for dof in others])


def anchor_and_axes(frame: Array, axes: Iterable[Sequence[float]]) -> tuple[Array, Array]:
    """The origin of a joint's frame, and axes rotated from the frame, one in each row."""
    rotated = [frame[:3, :3] @ spatial.unit(axis) for axis in axes]
    return frame[:3, 3], np.array(rotated).reshape(-1, 3)


def half_space(plane: Shape, frame: Array) -> list[float]:
    """The normal of a plane whose frame is given, and its offset along the normal."""
    assert isinstance(plane.geometry, Plane)
    normal = frame[:3, :3] @ np.array(plane.geometry.normal)
    return [*normal.tolist(), float(normal @ frame[:3, 3]) + plane.geometry.offset]


def shape_difference(one: Body, other: Body) -> float:
    """How far the shapes of two bodies differ, pair by pair; infinite if their numbers differ."""
    mine, theirs = [*one.visuals, *one.collisions], [*other.visuals, *other.collisions]
    if len(one.visuals) != len(other.visuals) or len(mine) != len(theirs):
        return np.inf
    fields = ("geometry", "pose", "collidable", "friction", "restitution", "material")
    pairs = list(zip(mine, theirs, strict=True))
    differences = [field_difference(a, b, fields) for a, b in pairs]
    differences += [
        relative_difference(clamp_color(a.color), clamp_color(b.color)) for a, b in pairs if a.color != b.color
    ]
    return largest(differences) if any(differences) else 0.0  # mostly none, without NumPy


# --- the comparison -------------------------------------------------------------------------------------

_CONFIGURATIONS = 5
_ANGLES, _LENGTHS = 1.0, 0.5
"""The range of random joint positions: rad and m, in both directions."""
_IDENTITY = np.eye(4)

BodyPair = tuple[Body, Body]
"""A body and its counterpart."""
ConvertPositions = Callable[[Array], tuple[Array, Array]]
"""Converts joint positions of the first side, a configuration in each row, to those that both sides are placed at."""


class ChainErrors(Struct):
    """How rounding errors of joint frames add up to those of bodies, by the body's id; empty if they do not matter.

    The error of a position is relative to the length in m of the chain of frames that leads to it.  All errors grow
    with the square root of the number of joints.
    """

    lengths: Mapping[int, float]
    growth: Mapping[int, float]

    def of(self, bodies: Sequence[Body], offsets: Sequence[Vector] | None = None) -> tuple[Array, Array]:
        """Lengths of at least 1 m, and factors, for bodies or for places at `offsets` in them."""
        lengths = np.array([self.lengths.get(id(body), 0.0) for body in bodies])
        if offsets and self.lengths:
            lengths += spatial.lengths(offsets)
        return np.maximum(lengths, 1.0), np.array([self.growth.get(id(body), 1.0) for body in bodies])


class PlacedWorlds:
    """One side of a comparison: some worlds, with the poses and velocities of their bodies.

    With `at_bodies`, velocities that bodies state override those of their joints.
    """

    def __init__(self, worlds: Sequence[World], *, at_bodies: bool = False) -> None:
        self.models = [model for world in worlds for model in world.models]
        self.bodies = [body for model in self.models for body in model.bodies]
        self.joints = [joint for model in self.models for joint in model.joints]
        self.tree_joints = [joint for joint in self.joints if not joint.loop]
        self.static = {id(body) for model in self.models if model.static for body in model.bodies}
        self.kinematics = Kinematics(self.models)
        self._at_bodies = at_bodies

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The places of bodies in the arrays of poses, by id."""
        return {id(body): number for number, body in enumerate(self.bodies)}

    @cached_property
    def _initial_poses(self) -> Array:
        return self.kinematics.poses()

    def initial_pose(self, body: Body) -> Array:
        pose: Array = self._initial_poses[self.numbers[id(body)]]
        return pose

    @cached_property
    def zero(self) -> dict[int, Array]:
        """The poses of bodies at zero joint positions, by id; bodies of static models are where they stay."""
        initial, zero = self.kinematics.poses(), self.kinematics.zero_poses
        return {key: (initial if key in self.static else zero)[number] for key, number in self.numbers.items()}

    @property
    def zero_poses(self) -> Array:
        """The same, in the order of the bodies."""
        return np.array([self.zero[id(body)] for body in self.bodies]).reshape(-1, 4, 4)

    @cached_property
    def twists(self) -> dict[int, Twist]:
        """The initial velocities of the bodies that move, by id."""
        return initial_twists(self.models, self.kinematics, stated_twists(self.bodies) if self._at_bodies else None)

    def random_configurations(self) -> Array:
        """Some joint positions, one configuration in each row, the same for each call."""
        letters = "".join(joint.motion for joint in self.tree_joints)
        reach = np.array([_ANGLES if letter == "r" else _LENGTHS for letter in letters])
        positions: Array = np.random.default_rng(0).uniform(-1.0, 1.0, (_CONFIGURATIONS, len(letters))) * reach
        return positions


class SceneComparison:
    """How far pairs of bodies of two sides differ in mass properties, poses and velocities.

    The bodies of both sides have the same frames, unless `frames` has that of the second in that of the first, by the
    id of the first.  Where `chains` are given, a reader has composed the frames of bodies: mass properties are compared
    in the world frame at zero positions, and errors may add up along the chains.
    """

    def __init__(
        self,
        first: PlacedWorlds,
        second: PlacedWorlds,
        pairs: Sequence[BodyPair],
        *,
        frames: Mapping[int, Array] | None = None,
        chains: ChainErrors | None = None,
    ) -> None:
        self.first, self.second = first, second
        self.pairs = pairs
        self.frames = frames or {}
        self.chains = chains

    # --- mass properties ------------------------------------------------------------------------------

    def inertias(self, pairs: Sequence[BodyPair]) -> float:
        """The largest difference of masses, centres of mass and moments of some pairs."""
        if not pairs:
            return 0.0
        ones, others = [a for a, _ in pairs], [b for _, b in pairs]
        if self.chains is None:
            return largest(inertia_differences(ones, others))
        mass, com, moment = _inertias_in_world(ones, self.first.zero)
        other_mass, other_com, other_moment = _inertias_in_world(others, self.second.zero)
        masses = np.abs(mass - other_mass) / np.maximum(np.abs(mass), SMALLEST_MASS)
        lengths, growth = self.chains.of(ones, [body.com for body in ones])
        apart = np.abs(com - other_com).max(axis=1) / np.maximum(lengths, np.abs(com).max(axis=1)) / growth
        size = np.maximum(np.abs(moment).max(axis=(1, 2)), SMALLEST_MASS)
        # Without mass there is no centre of mass.
        centres = np.where(mass > 0.0, apart, 0.0)
        tensors = np.abs(moment - other_moment).max(axis=(1, 2)) / size / growth
        found = np.array([masses, centres, tensors])
        return float(np.nan_to_num(found, nan=np.inf, posinf=np.inf).max())

    # --- poses ----------------------------------------------------------------------------------------

    def poses(self, mine: Array, theirs: Array, excluded: Collection[int] = ()) -> float:
        """How far bodies are apart, given poses in the order of each side's own bodies; `excluded` are some ids."""
        one, other, frames = self._places
        bodies = [body for body, _ in self.pairs]
        if excluded:
            included = [i for i, body in enumerate(bodies) if id(body) not in excluded]
            one, other, frames = one[included], other[included], frames[included] if frames is not None else None
            bodies = [bodies[i] for i in included]
        wanted = mine[one] if frames is None else mine[one] @ frames
        allowed = () if self.chains is None else self.chains.of(bodies)
        return largest(transform_differences(wanted, theirs[other], *allowed))

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array | None]:
        """The numbers of the bodies of all pairs on their sides, and the frames of the second in the first."""
        one = np.array([self.first.numbers[id(body)] for body, _ in self.pairs], dtype=np.intp)
        other = np.array([self.second.numbers[id(body)] for _, body in self.pairs], dtype=np.intp)
        if not self.frames:
            return one, other, None
        return one, other, np.array([self.frames.get(id(body), _IDENTITY) for body, _ in self.pairs])

    def initial_poses(self) -> float:
        """How far bodies are apart in the initial state."""
        return self.poses(self.first.kinematics.poses(), self.second.kinematics.poses())

    def random_poses(self, convert: ConvertPositions | None = None, excluded: Collection[int] = ()) -> float:
        """How far bodies are apart at some configurations; without `convert`, both sides have the same coordinates."""
        first, second = self.first.kinematics, self.second.kinematics
        if convert is None and first.dof_count != second.dof_count:
            return np.inf
        if not first.dof_count:
            return 0.0
        positions = self.first.random_configurations()
        here, there = (positions, positions) if convert is None else convert(positions)
        both = zip(map(first.poses, here), map(second.poses, there), strict=True)
        return largest([self.poses(mine, theirs, excluded) for mine, theirs in both])

    # --- velocities -----------------------------------------------------------------------------------

    def velocities(self, pairs: Sequence[BodyPair], rotation: Array | None = None) -> float:
        """The largest difference of initial velocities of some pairs; `rotation` is applied to those of the first."""
        mine: list[Any] = [self._twist_of_second_frame(body) for body, _ in pairs]
        theirs: list[Any] = [self.second.twists.get(id(body), AT_REST) for _, body in pairs]
        if rotation is None and mine == theirs:
            return 0.0  # most models start at rest
        if self.chains is not None:
            return largest(self._velocity_errors([body for body, _ in pairs], np.array([mine, theirs]), self.chains))
        if rotation is not None:
            mine = [((rotation @ linear).tolist(), (rotation @ angular).tolist()) for linear, angular in mine]
        return relative_difference(mine, theirs)

    def _twist_of_second_frame(self, body: Body) -> Twist:
        """The initial velocity of a body of the first side, at the origin of the frame that the second side has."""
        twist = self.first.twists.get(id(body), AT_REST)
        if id(body) not in self.frames or twist is AT_REST:
            return twist
        linear, angular = twist
        rotation = self._initial_poses[self.first.numbers[id(body)], :3, :3]
        x, y, z = (np.array(linear) + np.cross(angular, rotation @ self.frames[id(body)][:3, 3])).tolist()
        return (x, y, z), angular

    @cached_property
    def _initial_poses(self) -> Array:
        return self.first.kinematics.poses()

    def _velocity_errors(self, bodies: Sequence[Body], twists: Array, chains: ChainErrors) -> Array:
        """The errors of velocities, `(2, bodies, 2, 3)`: on each side, linear and angular ones.

        The velocity of a body is composed of the rotations of all bodies before it, times the lengths between them.
        """
        twists = twists.reshape(2, -1, 2, 3)
        lengths, growth = chains.of(bodies)
        apart = np.abs(twists[0] - twists[1]).max(axis=2)
        sizes = np.maximum(1.0, np.abs(twists).max(axis=(0, 3)))
        if chains.lengths:
            fastest = sizes.max(axis=0, initial=1.0)
            sizes = np.maximum(
                sizes, np.stack([lengths * fastest[1] + fastest[0], np.full(len(bodies), fastest[1])], 1)
            )
        errors: Array = (apart / sizes).max(axis=1) / growth
        return errors


def _inertias_in_world(bodies: Sequence[Body], poses: Mapping[int, Array]) -> tuple[Array, Array, Array]:
    """Masses, centres of mass in the world frame, and moments about them along the axes of the world."""
    frames = np.array([poses[id(body)] for body in bodies])
    com = np.array([[*body.com, 1.0] for body in bodies])
    centres = np.einsum("nij,nj->ni", frames, com)[:, :3]
    rotations = frames[:, :3, :3]
    tensors = rotations @ spatial.moment_matrix(moments(list(bodies))) @ rotations.transpose(0, 2, 1)
    return np.array([body.mass for body in bodies]), centres, tensors
