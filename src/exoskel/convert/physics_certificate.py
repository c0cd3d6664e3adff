"""The proof of a conversion to a format with frames and words of its own: the same physics, seen from the world.

The output carries nothing of ours, so that it is held against the scene by what a reader of the format finds: each body
by the element it became.  Masses, moments and shapes are compared where they are in the world, since a format may have
its frames elsewhere, and positions of joints in the coordinates that each side has for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.convert.certificate import TOLERANCE, check
from exoskel.convert.collision_check import CollisionCheck
from exoskel.convert.output_coordinates import OutputCoordinates
from exoskel.convert.report import Certificate, Check
from exoskel.convert.shape_check import ShapeCheck
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.body import Body
from exoskel.scene.fields import relative_difference, transform_differences
from exoskel.scene.initial_velocities import initial_twists
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.joint_passes import LoweredWorld
from exoskel.scene.pose import pose_matrices
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World
from exoskel.spatial import Array

_CONFIGURATIONS = 5
_ANGLES, _LENGTHS = 1.0, 0.5
"""How far random configurations reach: rad and m."""
_PART_ROWS = {
    "limits": ("position_limits", "velocity_limits", "force_limits"),
    "springs, damping and friction": ("damping", "friction", "stiffness", "rest"),
}

FolderRow = tuple[str, float]


def certify(
    scene: Scene, written: Written, target: Format, passes: Sequence[tuple[World, LoweredWorld]] = ()
) -> Certificate:
    """Hold a scene against its output; `passes` are the worlds before joints were lowered, and how."""
    rows: dict[str, float] = {}
    if len(scene.worlds) != len(written.native.worlds):
        return Certificate.of([check("worlds", np.inf)])
    for mine, theirs in zip(scene.worlds, written.native.worlds, strict=True):
        for name, error in _Comparison(mine, theirs, written, target).rows():
            rows[name] = max(rows.get(name, 0.0), error)
    precision = target.capabilities().precision
    checks = [check(name, error, precision) for name, error in rows.items()]
    return Certificate.of([*checks, *(one for before, done in passes for one in lowering_checks(before, done))])


def lowering_checks(before: World, done: LoweredWorld) -> Iterator[Check]:
    """That a pass moves the bodies as before, and adds no mass but what it says."""
    added = {id(body) for chain in done.chains for body in chain.bodies}
    kept = [number for number, body in enumerate(done.world.bodies()) if id(body) not in added]
    first, second = Kinematics(before.models), Kinematics(done.world.models)
    chains = {id(chain.joint): chain for chain in done.chains}
    worst = 0.0
    for positions in _configurations(before):
        mapped: list[Array] = []
        at = 0
        for joint in before.joints():
            own = positions[at : at + joint.dof_count]
            at += joint.dof_count
            mapped.append(chains[id(joint)].positions(own) if id(joint) in chains else own)
        there = np.concatenate(mapped) if mapped else positions
        worst = max(worst, _most(transform_differences(first.poses(positions), second.poses(there)[kept])))
    yield check("before joints were lowered: poses at random configurations", worst)
    mass = sum(body.mass for body in before.bodies())
    more = abs(sum(body.mass for body in done.world.bodies()) - mass)
    size = max(mass, 1e-300)
    yield check("before joints were lowered: total mass", more / size, done.added_mass / size + TOLERANCE)


def _configurations(world: World) -> Iterator[Array]:
    rng = np.random.default_rng(0)
    letters = "".join(joint.motion for joint in world.joints() if not joint.loop)
    reach = np.array([_ANGLES if letter == "r" else _LENGTHS for letter in letters])
    for _ in range(_CONFIGURATIONS if letters else 0):
        yield rng.uniform(-1.0, 1.0, len(letters)) * reach


class _Side(Struct):
    """A world, with where each body is at zero positions, by id."""

    world: World
    kinematics: Kinematics
    zero: dict[int, Array]

    @classmethod
    def of(cls, world: World) -> _Side:
        kinematics = Kinematics(world.models)
        return cls(world, kinematics, dict(zip(map(id, world.bodies()), kinematics.zero_poses, strict=True)))

    @property
    def joints(self) -> list[Joint]:
        return [joint for joint in self.world.joints() if not joint.loop]


class _Comparison:
    """One world, held against the world that was read back."""

    def __init__(self, mine: World, theirs: World, written: Written, target: Format) -> None:
        self.mine, self.theirs = _Side.of(mine), _Side.of(theirs)
        capabilities = target.capabilities()
        self.made = {**written.counterparts, **capabilities.shapes_read_back(written.native)}
        self.elements = written.elements
        self.inexact = {id(loss.item) for loss in written.output.losses}
        self.at_joints = capabilities.body_frames_at_joints
        self.starts = capabilities.has_initial_state
        self.dof_words = capabilities.dof_fields
        self.says = capabilities.fields
        self.shape_words = capabilities.shapes | capabilities.rewritten_shapes.keys()
        self.touching = CollisionCheck(mine, theirs, written.native, self.made, target, self.inexact)
        self.static = {id(body) for model in mine.models if model.static for body in model.bodies}
        self._rest_static()
        bodies = [body for body in mine.bodies() if id(body) in self.made]
        self.pairs: list[tuple[Body, Body]] = [(body, self.made[id(body)]) for body in bodies]  # type: ignore[misc]
        self.shifts = self._shifts()
        self.adrift = self._adrift()

    def _rest_static(self) -> None:
        """What never moves stands where it is at the start."""
        for side in (self.mine, self.theirs):
            poses = dict(zip(map(id, side.world.bodies()), side.kinematics.poses(), strict=True))
            for model in side.world.models:
                if model.static:
                    side.zero |= {id(body): poses[id(body)] for body in model.bodies}

    def _shifts(self) -> dict[int, Array]:
        """The frame that a body's link has, in the body's own."""
        if not self.at_joints:
            return {}
        joints = [
            joint for joint in self.mine.joints if not joint.pose.is_identity and id(joint.child) not in self.static
        ]
        return dict(zip((id(j.child) for j in joints), pose_matrices([j.pose for j in joints]), strict=True))

    def _adrift(self) -> set[int]:
        """Bodies that float in the scene, where a loop ties them, and hang on that loop's joint in the output.

        Where they are follows from the loop there, and from coordinates of their own here: only at the start, and by
        the frame of that joint, can they be held against each other.
        """
        found: set[int] = set()
        for joint in self.mine.joints:
            other = self.made.get(id(joint))
            floats = joint.kind == "free" and joint.parent is None and id(joint.child) not in self.static
            if id(joint.parent) in found or (floats and isinstance(other, Joint) and other.kind != "free"):
                found.add(id(joint.child))
        return found

    def rows(self) -> list[FolderRow]:
        lost = [body for body in self.mine.world.bodies() if id(body) not in self.made]
        rows: list[FolderRow] = [
            ("bodies", np.inf if lost or len(self.pairs) != len(list(self.theirs.world.bodies())) else 0.0),
            ("gravity and time step", self._settings()),
        ]
        if rows[0][1]:
            return rows
        rows += [
            ("total mass", self._total()),
            ("masses, centres of mass and inertias", self._inertias()),
            ("poses at zero positions", self._poses(self._zero(self.mine), self._zero(self.theirs))),
            ("poses at random configurations", self._random_poses()),
        ]
        if self.starts:
            rows.append(
                ("poses at the start", self._poses(self.mine.kinematics.poses(), self.theirs.kinematics.poses()))
            )
            rows.append(("initial velocities", self._velocities()))
        rows.append(("loops", self._loops()))
        rows += [(name, self._parts(parts)) for name, parts in _PART_ROWS.items()]
        rows.append(("joints that follow others", self._followers()))
        rows.append(("who may touch whom", np.inf if self.touching.differing() else 0.0))
        solids = ShapeCheck(self.pairs, self.made, self.inexact, self.elements, self.shape_words, self.says)
        rows.append(("shapes", solids.gap(self.mine.zero, self.theirs.zero)))
        return rows

    # --- worlds and masses ----------------------------------------------------------------------------

    def _settings(self) -> float:
        fields = [field for field in ("gravity", "time_step") if (World, field) in self.says]
        return max(
            (relative_difference(getattr(self.mine.world, f), getattr(self.theirs.world, f)) for f in fields),
            default=0.0,
        )

    def _weighed(self) -> list[tuple[Body, Body]]:
        """Pairs whose masses can be the same: not those that the writer has had to change."""
        return [
            (a, b)
            for a, b in self.pairs
            if id(a) not in self.inexact and not (id(a) in self.static and (a.mass <= 0.0 or not self.starts))
        ]

    def _total(self) -> float:
        pairs = self._weighed()
        mine, theirs = (sum(pair[side].mass for pair in pairs) for side in (0, 1))
        return abs(mine - theirs) / max(abs(mine), 1e-300) if mine != theirs else 0.0

    def _inertias(self) -> float:
        pairs = self._weighed()
        if not pairs:
            return 0.0
        sides = [
            _weights([pair[side] for pair in pairs], world.zero) for side, world in enumerate((self.mine, self.theirs))
        ]
        (mass, com, moment), (other_mass, other_com, other_moment) = sides
        masses = np.abs(mass - other_mass) / np.maximum(np.abs(mass), 1e-300)
        apart = np.abs(com - other_com).max(axis=1) / np.maximum(1.0, np.abs(com).max(axis=1))
        size = np.maximum(np.abs(moment).max(axis=(1, 2)), 1e-300)
        # A centre without mass is nowhere, and a moment without size as well.
        centres = np.where(mass > 0.0, apart, 0.0)
        tensors = np.abs(moment - other_moment).max(axis=(1, 2)) / size
        found = np.array([masses, centres, tensors])
        return float(np.nan_to_num(found, nan=np.inf, posinf=np.inf).max())

    # --- poses ----------------------------------------------------------------------------------------

    def _zero(self, side: _Side) -> Array:
        return np.array([side.zero[id(body)] for body in side.world.bodies()]).reshape(-1, 4, 4)

    def _poses(self, mine: Array, theirs: Array, apart: Collection[int] = ()) -> float:
        """How far bodies are apart, of poses in the order of each world's own bodies, but for some by id."""
        one, other, shifts = self._places
        if apart:
            kept = [i for i, (body, _) in enumerate(self.pairs) if id(body) not in apart]
            one, other, shifts = one[kept], other[kept], shifts[kept] if shifts is not None else None
        wanted = mine[one] if shifts is None else mine[one] @ shifts
        return _most(transform_differences(wanted, theirs[other]))

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array | None]:
        """The numbers of the bodies of all pairs in their worlds, and the frames that links have in their bodies."""
        numbers = [
            {id(body): number for number, body in enumerate(side.world.bodies())} for side in (self.mine, self.theirs)
        ]
        one, other = (np.array([numbers[i][id(pair[i])] for pair in self.pairs], dtype=np.intp) for i in (0, 1))
        if not self.shifts:
            return one, other, None
        return one, other, np.array([self.shifts.get(id(body), _UNSHIFTED) for body, _ in self.pairs])

    def _random_poses(self) -> float:
        if not self.mine.kinematics.dof_count:
            return 0.0
        both = OutputCoordinates(self.mine.joints, self.theirs.joints, self.made, self.static, self.shifts)
        positions = np.array(list(_configurations(self.mine.world)))
        here, there = both.both(positions, self.mine.kinematics.initial, self.theirs.kinematics.initial)
        poses = zip(map(self.mine.kinematics.poses, here), map(self.theirs.kinematics.poses, there), strict=True)
        return _most([self._poses(one, other, self.adrift) for one, other in poses])

    def _loops(self) -> float:
        """Where joints that close loops are in the world, and along which axes, at zero positions."""
        worst = 0.0
        for joint in (joint for joint in self.mine.world.joints() if joint.loop):
            other = self.made.get(id(joint))
            if not isinstance(other, Joint) or other.kind != joint.kind or id(joint) in self.inexact:
                continue
            (place, axes), (there, theirs) = _hold(self.mine, joint), _hold(self.theirs, other)
            if joint.swapped != other.swapped:
                theirs = theirs[::-1]
            anchor = 0.0 if joint.kind in ("weld", "prismatic") else relative_difference(place.tolist(), there.tolist())
            # Seen from the other end an axis points the other way.
            worst = max(
                worst, anchor, min(relative_difference(axes.tolist(), (sign * theirs).tolist()) for sign in (1.0, -1.0))
            )
        return worst

    def _velocities(self) -> float:
        mine, theirs = (initial_twists(side.world.models, side.kinematics) for side in (self.mine, self.theirs))
        worst = 0.0
        for model in self.mine.world.models:
            if model.static or any(id(joint) in self.inexact for joint in model.joints):
                continue
            for body in model.bodies:
                other = mine.get(id(body), _REST), theirs.get(id(self.made[id(body)]), _REST)
                worst = max(worst, relative_difference(*other))
        return worst

    # --- joints ----------------------------------------------------------------------------

    def _parts(self, parts: Sequence[str]) -> float:
        """What is said of degrees of freedom, where the format has words for it and nothing had to be changed."""
        worst = 0.0
        for joint in self.mine.joints:
            other = self.made.get(id(joint))
            if not isinstance(other, Joint) or id(joint) in self.inexact or id(joint.child) in self.static:
                continue
            if joint._dofs is None and other._dofs is None:
                continue
            if id(joint) not in self.elements or other.kind != joint.kind or joint.collapses:
                continue
            rows, others = joint.dofs, other.dofs[::-1] if joint.swapped != other.swapped else other.dofs
            for part in parts:
                if joint.kind not in self.dof_words.get(part, ()):
                    continue
                if part == "position_limits" and not joint.limits_enforced:
                    continue
                worst = max(
                    worst, relative_difference([getattr(d, part) for d in rows], [getattr(d, part) for d in others])
                )
        return worst

    def _followers(self) -> float:
        if (Joint, "mimic") not in self.says:
            return 0.0
        worst = 0.0
        for joint in self.mine.joints:
            other = self.made.get(id(joint))
            if joint.mimic is None or id(joint) in self.inexact or not isinstance(other, Joint):
                continue
            mine, theirs = joint.mimic, other.mimic
            if theirs is None:
                worst = np.inf if self._leads(joint) else worst
            else:
                worst = max(
                    worst, relative_difference((mine.multiplier, mine.offset), (theirs.multiplier, theirs.offset))
                )
        return worst

    def _leads(self, joint: Joint) -> bool:
        """Whether there is a joint to follow, which moves alike."""
        assert joint.mimic is not None
        home = next(model for model in self.mine.world.models if any(one is joint for one in model.joints))
        found = [one for one in home.joints if one.name == joint.mimic.joint and not one.loop]
        return bool(found) and found[0].kind == joint.kind and joint.kind not in ("ball", "free")


_UNSHIFTED = np.eye(4)
_REST = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def _hold(side: _Side, joint: Joint) -> tuple[Array, Array]:
    """The anchor and the axes of a joint in the world."""
    frame = side.zero[id(joint.child)] @ joint.pose.matrix()
    axes = [frame[:3, :3] @ spatial.unit(axis) for axis in joint.axes]
    return frame[:3, 3], np.array(axes).reshape(-1, 3)


def _weights(bodies: Sequence[Body], places: dict[int, Array]) -> tuple[Array, Array, Array]:
    """Masses, centres of mass in the world, and moments about them in the axes of the world."""
    frames = np.array([places[id(body)] for body in bodies])
    com = np.array([[*body.com, 1.0] for body in bodies])
    centres = np.einsum("nij,nj->ni", frames, com)[:, :3]
    turns = frames[:, :3, :3]
    tensors = turns @ spatial.moment_matrix(moments(list(bodies))) @ turns.transpose(0, 2, 1)
    return np.array([body.mass for body in bodies]), centres, tensors


def _most(errors: Sequence[float] | Array) -> float:
    return float(np.max(errors)) if len(errors) else 0.0
