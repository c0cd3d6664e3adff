"""Conversions that lower joints: the account of what the pass did, and the proof that it did no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from exoskel.convert.certificate import GROUPS, TOLERANCE, check, random_poses, shape_gap
from exoskel.convert.report import Check
from exoskel.fates import Fate, Verdict
from exoskel.formats.write import Written
from exoskel.scene.body import Body
from exoskel.scene.fields import (
    DOF_FIELDS,
    comparable_value,
    inertia_differences,
    relative_difference,
    transform_differences,
)
from exoskel.scene.initial_velocities import initial_twists
from exoskel.scene.joint import Dof, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering import joint_passes
from exoskel.scene.world import Scene, World

_SAME = f"by {joint_passes.JOINTS_PASS}: the same motion"
_MOTION = frozenset({"", "parent", "pose", "axes", "order", "plane", "pitch", "swapped"})
"""The fields of a joint that its chain says in other words; an empty one is structure."""


_LOSING = frozenset({"amotor", "hinge2", "screw"})
"""Joints that are more than their chain: motors, a suspension, a tie that some readers ignore."""


class LoweringFates:
    """A scene before the pass and after it."""

    def __init__(self, scene: Scene, lowered: Callable[[World], joint_passes.LoweredWorld]) -> None:
        self.before = scene
        self.passes = [lowered(world) for world in scene.worlds]
        worlds = [done.world for done in self.passes]
        self.after = Scene(worlds, scene.diagnostics, scene.documents, scene.reading, scene.extensions)
        self.chains = {id(chain.links[-1]): chain for done in self.passes for chain in done.chains}

    # --- certificate ----------------------------------------------------------------------------------

    def checks(self, read: Scene) -> list[Check]:
        """The scene before the pass against the output, as read in `read`, which has what the pass made and no more.

        The total mass may be off by what the bodies in between weigh, and by nothing else.
        """
        if len(read.worlds) != len(self.passes):
            return [check(_LABEL + "worlds", np.inf)]
        found: dict[str, Check] = {}
        for before, done, world in zip(self.before.worlds, self.passes, read.worlds, strict=True):
            for one in _Comparison(before, done, world).checks():
                known = found.get(one.name)
                found[one.name] = one if known is None or known.passed else known
        return list(found.values())


def verdict_of(chain: joint_passes.Chain, field: str, written: Written) -> Verdict | None:
    """The fate of a field of a joint that was taken apart; None where the pass has no part in it."""
    if field == "kind":
        is_exact = chain.added_mass <= TOLERANCE * chain.joint.child.mass and not chain.turned
        is_whole = chain.joint.kind not in _LOSING
        return Verdict(Fate.LOWERED if is_exact and is_whole else Fate.APPROXIMATED, _told(chain))
    if field in _MOTION or (field == "dofs" and _are_said(chain, written)):
        return Verdict(Fate.LOWERED, _SAME)
    return None


def hint(scene: Scene, kinds: frozenset[str], format: str) -> str:
    """What lowering would do, where it was not asked for; empty if nothing."""
    found = [joint for world in scene.worlds for joint in joint_passes.joints_to_lower(world, kinds)]
    if not found:
        return ""
    listed = ", ".join(sorted({joint.kind for joint in found}))
    return (
        f"{len(found)} joint{'s' if len(found) > 1 else ''} ({listed}) cannot be said in {format.upper()}; "
        "--lower (lower=True) takes them apart into hinges, sliders and balls"
    )


def _told(chain: joint_passes.Chain) -> str:
    counted = Counter(link.kind for link in chain.links)
    links = " and ".join(f"{number} {kind}" for kind, number in counted.items())
    weight, child = chain.added_mass, chain.joint.child.mass
    share = f", {100.0 * weight / child:.2g} % of the child's mass" if child > 0.0 else ""
    if chain.turned:
        links += " joints, in angles about x, y, z, of which y locks at a quarter turn; as that many"
    if not chain.bodies:
        return f"as {links} joint, which drives nothing"
    between = "a body" if len(chain.bodies) == 1 else f"{len(chain.bodies)} bodies"
    return f"{joint_passes.JOINTS_PASS}: as {links} joints; {between} in between: {weight:.6g} kg more{share}"


def _are_said(chain: joint_passes.Chain, written: Written) -> bool:
    """Whether all that the degrees of freedom hold is there for a reader that knows nothing of ours."""
    stated = iter(chain.joint.dofs[number] for number in chain.coordinates)
    for link in chain.links:
        other = written.counterparts.get(id(link))
        if not isinstance(other, Joint) or other.kind != link.kind:
            return False
        names = zip(link.dof_names, other.dof_names, strict=True)
        # A name that nobody chose says nothing.
        if any(next(stated).name and mine != theirs for mine, theirs in names):
            return False
        if _rows_gap(link.dofs, other.dofs, DOF_FIELDS[1:]) > TOLERANCE:
            return False
    return True


def _rows_gap(ones: Sequence[Dof], others: Sequence[Dof], fields: Sequence[str]) -> float:
    return relative_difference(
        *([tuple(getattr(dof, field) for field in fields) for dof in side] for side in (ones, others))
    )


class _Comparison:
    """One world before the pass, held against the world that was read back."""

    def __init__(self, before: World, done: joint_passes.LoweredWorld, read: World) -> None:
        self.before = before
        self.done = done
        self.read = read
        added = {id(body) for chain in done.chains for body in chain.bodies}
        self.kept = [number for number, body in enumerate(done.world.bodies()) if id(body) not in added]
        self.coordinates = self._coordinates()

    def _coordinates(self) -> list[int]:
        """The number that each coordinate of the lowered world has in the one before."""
        chains = {id(chain.joint): chain.coordinates for chain in self.done.chains}
        found: list[int] = []
        for joint in self.before.joints():
            if not joint.loop:
                own = chains.get(id(joint), range(joint.dof_count))
                found += [len(found) + number for number in own]
        return found

    def checks(self) -> list[Check]:
        ours, theirs = list(self.before.bodies()), list(self.read.bodies())
        dofs, others = _dofs(self.before), _dofs(self.read)
        as_made = len(theirs) == len(list(self.done.world.bodies())) and len(ours) == len(self.kept)
        if not as_made or len(dofs) != len(others):
            return [check(_LABEL + "bodies and joints", np.inf)]
        pairs = list(zip(ours, [theirs[number] for number in self.kept], strict=True))
        mapped = [dofs[number] for number in self.coordinates]
        rows = [
            ("bodies", _most([0.0 if a.name == b.name else np.inf for a, b in pairs])),
            ("masses, centres of mass and inertias", self._inertias(pairs)),
            ("degrees of freedom", 0.0 if self._names() == _names(self.read) else np.inf),
            *self._poses(),
            ("initial velocities", self._velocities(pairs)),
            ("joints that follow others", 0.0 if self._followers() == _followers(self.read) else np.inf),
            *((name, _rows_gap(mapped, others, GROUPS[name])) for name in _CARRIED_OVER),
            ("shapes", _most([shape_gap(a, b) for a, b in pairs])),
            (
                "gravity of bodies",
                _most(
                    [
                        relative_difference(comparable_value(a, "gravity"), comparable_value(b, "gravity"))
                        for a, b in pairs
                    ]
                ),
            ),
        ]
        return [self._total(ours, theirs), *(check(_LABEL + name, error) for name, error in rows)]

    def _total(self, ours: list[Body], theirs: list[Body]) -> Check:
        """The tolerance is what the pass says that it added."""
        before, after = (sum(body.mass for body in side) for side in (ours, theirs))
        size = max(before, 1e-300)
        return check(_LABEL + "total mass", abs(after - before) / size, self.done.added_mass / size + TOLERANCE)

    def _inertias(self, pairs: list[tuple[Body, Body]]) -> float:
        return _most(inertia_differences([a for a, _ in pairs], [b for _, b in pairs])) if pairs else 0.0

    def _names(self) -> list[str]:
        names = _names(self.before)
        return [names[number] for number in self.coordinates]

    def _followers(self) -> set[Follower]:
        """Those of the world before, in the coordinates of the one after."""
        place = {before: after for after, before in enumerate(self.coordinates)}
        return {
            (place[own], place[other] if isinstance(other, int) else other, multiplier, offset)
            for own, other, multiplier, offset in _followers(self.before)
        }

    def _poses(self) -> list[tuple[str, float]]:
        first, second = Kinematics(self.before.models), Kinematics(self.read.models)
        at_start = transform_differences(first.poses(), second.poses()[self.kept])
        return [
            ("poses at the start", _most(at_start)),
            ("poses at random configurations", random_poses(first, second, self.before, self.kept, self.coordinates)),
        ]

    def _velocities(self, pairs: list[tuple[Body, Body]]) -> float:
        mine, theirs = (initial_twists(world.models, Kinematics(world.models)) for world in (self.before, self.read))
        return _most([relative_difference(mine.get(id(a), _REST), theirs.get(id(b), _REST)) for a, b in pairs])


_LABEL = f"before {joint_passes.JOINTS_PASS}: "
_CARRIED_OVER = ("limits", "springs, damping and friction")
_REST = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


Follower = tuple[int, int | str, float, float]
"""A coordinate, the one it follows (by its joint's name if there is no such one), multiplier and offset."""


def _followers(world: World) -> set[Follower]:
    found: set[Follower] = set()
    first: dict[int, int] = {}
    count = 0
    for joint in world.joints():
        first[id(joint)] = count
        count += joint.dof_count
    for model in world.models:
        for joint in model.joints:
            if joint.mimic is not None:
                leader = joint_passes.mimicked_joint(joint, model)
                sound = leader is not None and leader.kind == joint.kind
                for number in range(joint.dof_count):
                    other = first[id(leader)] + number if sound else joint.mimic.joint
                    found.add((first[id(joint)] + number, other, joint.mimic.multiplier, joint.mimic.offset))
    return found


def _dofs(world: World) -> list[Dof]:
    return [dof for joint in world.joints() if not joint.loop for dof in joint.dofs]


def _names(world: World) -> list[str]:
    return [name for model in world.models for name in model.dof_names]


def _most(errors: Sequence[float] | np.ndarray) -> float:
    return float(np.max(errors)) if len(errors) else 0.0
