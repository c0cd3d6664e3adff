"""The passes that a conversion applies to a scene before writing: convex parts, up axis, and lowering of joints.

Each pass checks that it changed only what it is meant to change, and determines the fates of what it changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from exoskel import spatial
from exoskel.conversion.comparison import (
    CONSTANT_DOF_GROUPS,
    DOF_GROUPS,
    TOLERANCE,
    PlacedWorlds,
    SceneComparison,
    check,
    check_added_mass,
    difference_or_inf,
    dof_difference,
    dof_names,
    field_difference,
    largest,
    shape_difference,
)
from exoskel.conversion.report import Check
from exoskel.conversion.selection import with_worlds
from exoskel.fates import Fate, Verdict
from exoskel.formats.write import Written
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import (
    DOF_FIELDS,
    relative_difference,
)
from exoskel.scene.joint import MOTION_FIELDS, Dof, Joint, can_mimic
from exoskel.scene.lowering import joint_passes
from exoskel.scene.lowering.joint_passes import Chain, LoweredWorld
from exoskel.scene.lowering.up_axis import UP_AXIS_PASS, RotatedWorld, Up, rotate_up_axis, with_rotated_shapes
from exoskel.scene.world import Scene, World
from exoskel.source.convex_decomposition import DECOMPOSITION_PASS, THRESHOLD, PartFiles, decompose_meshes
from exoskel.source.meshes import MeshFiles, Triangles
from exoskel.source.surface import faces_with_area, has_hollows
from exoskel.spatial import Array

# --- up axis ------------------------------------------------------------------------------------------


class UpAxisRotation:
    """A scene before the pass and after it; `now` are the axes that point up in its worlds."""

    def __init__(self, scene: Scene, up: Up, now: list[str]) -> None:
        self.before = scene
        self.passes = [rotate_up_axis(world, up, axis) for world, axis in zip(scene.worlds, now, strict=True)]
        worlds = [one.world if one is not None else w for one, w in zip(self.passes, scene.worlds, strict=True)]
        self.after = with_worlds(scene, worlds)

    def with_rotated_shapes(self) -> Scene:
        """The scene after the pass, in which the body of the world has no frame of its own."""
        with no_edits():
            worlds = [
                with_rotated_shapes(world, done.rotation) if done is not None else world
                for world, done in zip(self.after.worlds, self.passes, strict=True)
            ]
        return with_worlds(self.after, worlds)

    @property
    def moved_axes(self) -> frozenset[int]:
        """The numbers of the coordinate axes that change in any world."""
        return frozenset().union(*(one.moved_axes for one in self.passes if one is not None))

    def checks(self) -> list[Check]:
        """Compare the scene before the pass, rotated, with the one after it."""
        pairs = zip(self.before.worlds, self.passes, strict=True)
        return [one for world, done in pairs if done is not None for one in _rotation_checks(world, done)]


def _rotation_checks(world: World, done: RotatedWorld) -> list[Check]:
    label, rotation = f"before {UP_AXIS_PASS}: ", done.rotation
    first, second = PlacedWorlds([world]), PlacedWorlds([done.world])
    comparison = SceneComparison(first, second, list(zip(first.bodies, second.bodies, strict=True)))
    whole = spatial.transform(rotation, np.zeros(3))
    trial = np.random.default_rng(0).uniform(-1.0, 1.0, first.kinematics.dof_count)
    initial, moved = (
        comparison.poses(whole @ first.kinematics.poses(positions), second.kinematics.poses(positions))
        for positions in (None, trial)
    )
    return [
        check(label + "gravity", relative_difference(rotation @ world.gravity, np.array(done.world.gravity))),
        check(label + "poses in the initial state", initial),
        check(label + "poses at a random configuration", moved),
        check(label + "initial velocities", comparison.velocities(comparison.pairs, rotation)),
    ]


# --- convex decomposition -----------------------------------------------------------------------------

_PARTS_LABEL = f"before {DECOMPOSITION_PASS}: "
_MOST_POINTS = 1000
"""The points of a mesh that are looked for in its parts."""


class MeshDecomposition:
    """A scene before the pass and after it; `parts` counts those of each mesh, by its document and element.

    With `as_files`, parts are mesh files.
    """

    def __init__(self, scene: Scene, within: Path | None, *, as_files: bool) -> None:
        self.before = scene
        self.files = PartFiles() if as_files else None
        meshes = MeshFiles(within=within)
        self.passes = [decompose_meshes(world, meshes, self.files) for world in scene.worlds]
        self.after = with_worlds(scene, [done.world for done in self.passes])
        found = [shapes for done in self.passes for shapes, _ in done.parts]
        self.is_applied = bool(found)
        self.parts = {(shapes[0].document, shapes[0].node): len(shapes) for shapes in found}

    def checks(self) -> list[Check]:
        """Check that masses stay as they were, that all parts are convex, and that they cover the meshes."""
        if not self.is_applied:
            return []
        first, second = PlacedWorlds(self.before.worlds), PlacedWorlds(self.after.worlds)
        pairs = list(zip(first.bodies, second.bodies, strict=True))
        found = [one for done in self.passes for one in done.parts]
        read = MeshFiles()
        meshes = [(mesh, [t for shape in shapes if (t := read.triangles(shape.geometry))]) for shapes, mesh in found]
        return [
            check(
                _PARTS_LABEL + "masses, centres of mass and inertias",
                SceneComparison(first, second, pairs).inertias(pairs),
            ),
            check(
                _PARTS_LABEL + "convex parts",
                difference_or_inf(not any(has_hollows(*part) for _, parts in meshes for part in parts)),
            ),
            check(
                _PARTS_LABEL + "meshes in their parts",
                largest([_uncovered(mesh[0], parts) for mesh, parts in meshes]),
                THRESHOLD,
            ),
        ]


def _uncovered(vertices: Array, parts: list[tuple[Array, Triangles]]) -> float:
    """How far a point of a mesh is outside of all parts, relative to the size of the mesh."""
    points = vertices[:: max(1, len(vertices) // _MOST_POINTS)]
    outside = np.full(len(points), np.inf)
    for own, triangles in parts:
        corners, normals = faces_with_area(own, triangles)
        distances = points @ normals.T - np.einsum("fk,fk->f", normals, corners[:, 0])
        outside = np.minimum(outside, distances.max(axis=1, initial=0.0))
    return float(outside.max()) / max(float(np.ptp(vertices, axis=0).max()), SMALLEST_SIZE)


SMALLEST_SIZE = 1e-300


def verdict_on_decomposed(count: int, found: Verdict) -> Verdict:
    """The fate of the geometry of a mesh that was decomposed into parts, from that of the first part."""
    if found.fate is Fate.DROPPED:
        return found
    parts = "1 convex part" if count == 1 else f"{count} convex parts"
    return Verdict(Fate.APPROXIMATED, f"{DECOMPOSITION_PASS}: as {parts}, by CoACD")


# --- lowering of joints -------------------------------------------------------------------------------

_LABEL = f"before {joint_passes.JOINTS_PASS}: "


class JointLowering:
    """A scene before the pass and after it; `chains` are the lowered joints, by the ids of their last links."""

    def __init__(self, scene: Scene, lower: Callable[[World], LoweredWorld]) -> None:
        self.before = scene
        self.passes = [lower(world) for world in scene.worlds]
        self.after = with_worlds(scene, [done.world for done in self.passes])
        self.chains = {id(chain.links[-1]): chain for done in self.passes for chain in done.chains}

    def checks(self) -> list[Check]:
        """Check that the bodies move as before, and that the pass adds only the mass that it states."""
        pairs = zip(self.before.worlds, self.passes, strict=True)
        return [one for world, done in pairs for one in _lowering_checks(world, done)]

    def checks_of_output(self, written: Written) -> list[Check]:
        """Compare the scene before the pass with its output.

        The total mass may differ by the mass of the added bodies.  A scene that was read without embedded data has
        another order and other names, and was compared with the lowered scene already.
        """
        read = written.reread if written.output.target == "portable" else self.after
        if len(read.worlds) != len(self.passes):
            return [check(_LABEL + "worlds", np.inf)]
        found: dict[str, Check] = {}
        for before, done, world in zip(self.before.worlds, self.passes, read.worlds, strict=True):
            for one in _LoweringCertificate(before, done, world).checks():
                known = found.get(one.name)
                found[one.name] = one if known is None or known.passed else known
        return list(found.values())


def _lowering_checks(before: World, done: LoweredWorld) -> Iterator[Check]:
    chains = {id(chain.joint): chain for chain in done.chains}

    def convert(rows: Array) -> tuple[Array, Array]:
        mapped: list[Array] = []
        at = 0
        for joint in before.joints():
            own = rows[:, at : at + joint.dof_count]
            at += joint.dof_count
            mapped.append(np.array([chains[id(joint)].positions(row) for row in own]) if id(joint) in chains else own)
        return rows, np.concatenate(mapped, axis=1)

    yield check(
        _LABEL + "poses at random configurations", _compare_with(before, done, done.world).random_poses(convert)
    )
    yield check_added_mass(_LABEL + "total mass", before.bodies(), list(done.world.bodies()), done.added_mass)


def _compare_with(before: World, done: LoweredWorld, after: World) -> SceneComparison:
    """The bodies before the pass, and their counterparts in a world that has the bodies of the lowered one."""
    first, second = PlacedWorlds([before]), PlacedWorlds([after])
    others = [second.bodies[number] for number in _original_bodies(done)]
    return SceneComparison(first, second, list(zip(first.bodies, others, strict=True)))


def _original_bodies(done: LoweredWorld) -> list[int]:
    """The numbers of the bodies in the lowered world that the pass did not add."""
    added = {id(body) for chain in done.chains for body in chain.bodies}
    return [number for number, body in enumerate(done.world.bodies()) if id(body) not in added]


class _LoweringCertificate:
    """The checks of one world before the pass, and of the world that was read back."""

    def __init__(self, before: World, done: LoweredWorld, read: World) -> None:
        self.before = before
        self.done = done
        self.read = read
        self.original = _original_bodies(done)
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
        bodies, others = list(self.before.bodies()), list(self.read.bodies())
        dofs, other_dofs = _dofs(self.before), _dofs(self.read)
        is_complete = len(others) == len(list(self.done.world.bodies())) and len(bodies) == len(self.original)
        if not is_complete or len(dofs) != len(other_dofs):
            return [check(_LABEL + "bodies and joints", np.inf)]
        comparison = _compare_with(self.before, self.done, self.read)
        pairs = comparison.pairs
        mapped = [dofs[number] for number in self.coordinates]
        rows = [
            ("bodies", largest([difference_or_inf(a.name == b.name) for a, b in pairs])),
            ("masses, centres of mass and inertias", comparison.inertias(pairs)),
            ("degrees of freedom", difference_or_inf(self._dof_names() == dof_names(self.read))),
            ("poses in the initial state", comparison.initial_poses()),
            ("poses at random configurations", comparison.random_poses(lambda rows: (rows, rows[:, self.coordinates]))),
            ("initial velocities", comparison.velocities(pairs)),
            ("mimic joints", difference_or_inf(self._mimics() == _mimics(self.read))),
            *((name, dof_difference(mapped, other_dofs, DOF_GROUPS[name])) for name in CONSTANT_DOF_GROUPS),
            ("shapes", largest([shape_difference(a, b) for a, b in pairs])),
            ("gravity flags of bodies", largest([field_difference(a, b, ("gravity",)) for a, b in pairs])),
        ]
        return [
            check_added_mass(_LABEL + "total mass", bodies, others, self.done.added_mass),
            *(check(_LABEL + name, error) for name, error in rows),
        ]

    def _dof_names(self) -> list[str]:
        names = dof_names(self.before)
        return [names[number] for number in self.coordinates]

    def _mimics(self) -> set[_MimicRow]:
        """Those of the world before, in the coordinates of the one after."""
        place = {before: after for after, before in enumerate(self.coordinates)}
        return {
            (place[own], place[other] if isinstance(other, int) else other, multiplier, offset)
            for own, other, multiplier, offset in _mimics(self.before)
        }


_MimicRow = tuple[int, int | str, float, float]
"""A coordinate, the coordinate that it follows (or the name of its joint), multiplier and offset."""


def _mimics(world: World) -> set[_MimicRow]:
    found: set[_MimicRow] = set()
    first: dict[int, int] = {}
    count = 0
    for joint in world.joints():
        first[id(joint)] = count
        count += joint.dof_count
    for model in world.models:
        for joint in model.joints:
            if joint.mimic is not None:
                leader = joint_passes.mimicked_joint(joint, model)
                is_valid = leader is not None and (leader.kind == joint.kind or can_mimic(joint.kind, leader.kind))
                for number in range(joint.dof_count):
                    other = first[id(leader)] + number if is_valid else joint.mimic.joint
                    found.add((first[id(joint)] + number, other, joint.mimic.multiplier, joint.mimic.offset))
    return found


def _dofs(world: World) -> list[Dof]:
    return [dof for joint in world.joints() if not joint.loop for dof in joint.dofs]


# --- fates of lowered joints --------------------------------------------------------------------------

_SAME_MOTION = f"by {joint_passes.JOINTS_PASS}: the same motion"
_MOTION_FIELDS = MOTION_FIELDS | {"", "parent"}
"""The fields of a joint that its chain expresses in another way; an empty one is the joint itself."""
_LOSSY_KINDS = frozenset({"amotor", "hinge2", "screw"})
"""Joints that a chain does not replace completely: a motor, a suspension, a coupling that some readers ignore."""


def verdict_on_lowered(chain: Chain, field: str, written: Written) -> Verdict | None:
    """The fate of a field of a lowered joint; None where the pass does not change it."""
    if field == "kind":
        is_exact = chain.added_mass <= TOLERANCE * chain.joint.child.mass and not chain.uses_angles
        is_lossless = chain.joint.kind not in _LOSSY_KINDS
        return Verdict(Fate.LOWERED if is_exact and is_lossless else Fate.APPROXIMATED, _describe(chain))
    if field in _MOTION_FIELDS or (field == "dofs" and _has_all_dof_fields(chain, written)):
        return Verdict(Fate.LOWERED, _SAME_MOTION)
    return None


def lowering_hint(scene: Scene, kinds: frozenset[str], label: str) -> str:
    """A hint about what lowering would do, if it was not requested; empty if it would do nothing."""
    found = [joint for world in scene.worlds for joint in joint_passes.joints_to_lower(world, kinds)]
    if not found:
        return ""
    listed = ", ".join(sorted({joint.kind for joint in found}))
    count = "1 joint is" if len(found) == 1 else f"{len(found)} joints are"
    return (
        f"{count} not supported by {label} ({listed}); "
        "use --lower (lower=True) to replace them with hinges, sliders and balls"
    )


def _describe(chain: Chain) -> str:
    counted = Counter(link.kind for link in chain.links)
    links = " and ".join(f"{number} {kind}" for kind, number in counted.items())
    added, child = chain.added_mass, chain.joint.child.mass
    share = f", {100.0 * added / child:.2g} % of the child's mass" if child > 0.0 else ""
    if not chain.bodies:
        return f"as {links} joint without a motor"
    angles = " (angles about x, y, z; singular at 90° about y)" if chain.uses_angles else ""
    bodies = "1 added body" if len(chain.bodies) == 1 else f"{len(chain.bodies)} added bodies"
    return f"{joint_passes.JOINTS_PASS}: as {links} joints{angles} with {bodies}, {added:.6g} kg{share}"


def _has_all_dof_fields(chain: Chain, written: Written) -> bool:
    """Whether a reader that ignores embedded data finds all fields of the degrees of freedom."""
    stated = iter(chain.joint.dofs[number] for number in chain.coordinates)
    for link in chain.links:
        other = written.counterparts.get(id(link))
        if not isinstance(other, Joint) or other.kind != link.kind:
            return False
        names = zip(link.dof_names, other.dof_names, strict=True)
        # A name that is only a default does not count.
        if any(next(stated).name and mine != theirs for mine, theirs in names):
            return False
        if dof_difference(link.dofs, other.dofs, DOF_FIELDS[1:]) > TOLERANCE:
            return False
    return True
