"""The certificate of formats without embedded data: the same physics, compared in the world frame.

Each body is compared with what a reader of the format makes of its element.  Masses, moments of inertia and shapes are
compared in the world frame, since a format may have other link frames.  Joint positions are converted to the
coordinates that the output has for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

import numpy as np
from msgspec.structs import astuple

from exoskel import spatial
from exoskel.conversion.comparable_values import single_values
from exoskel.conversion.comparison import (
    CONSTANT_DOF_GROUPS,
    DOF_GROUPS,
    BodyPair,
    ChainErrors,
    PlacedWorlds,
    Row,
    SceneComparison,
    anchor_and_axes,
    difference_or_inf,
    effective_value,
    largest,
    mass_difference,
    worst_rows,
)
from exoskel.conversion.shape_checks import COLORS, MESHES, CollisionCheck, ShapeCheck
from exoskel.conversion.view_checks import view_rows
from exoskel.diagnostics import pluralize
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.actuator import comparable_actuators
from exoskel.scene.body import Body
from exoskel.scene.cameras_and_keyframes import SceneCamera, View, as_perspective, comparable_views, lost_view_part
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.equality import comparable_equalities, known_equalities
from exoskel.scene.fields import VIEW_FIELDS, relative_difference
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint, can_mimic
from exoskel.scene.kinematics import translation_axes
from exoskel.scene.lowering.actuators import actuator_part
from exoskel.scene.lowering.joint_passes import mimicked_joint
from exoskel.scene.merge import copy_world
from exoskel.scene.pose import pose_matrices
from exoskel.scene.sensor import known_sensors, placed_sensors, sensor_part
from exoskel.scene.shape import Shape
from exoskel.scene.tendon import comparable_tendons, known_tendons, tendon_part
from exoskel.scene.world import Scene, World
from exoskel.source.meshes import SINGLE_PRECISION
from exoskel.source.output_context import TEXTURE_FIELD
from exoskel.spatial import Array

DOUBLE_PRECISION = 1e-9
"""The tolerance of formats whose readers hold double precision."""
_ROTATION_VECTORS = {"ball": 3, "free": 6, "amotor": 6}
"""Joints whose rotation is a vector in their own frame, which the output may have rotated, and their coordinates."""
_IDENTITY_MATRIX = np.eye(4)
_FLOATING = ("free", "amotor")
"""Joints that do not restrict the motion of their child."""


class OutputCoordinates:
    """The mapping from the coordinates of a world to those of its output.

    `static` are the ids of bodies that never move, and `link_frames` the frames of links in their bodies, by id.
    """

    def __init__(
        self,
        joints: Sequence[Joint],
        others: Sequence[Joint],
        counterparts: Mapping[int, Item],
        static: Collection[int],
        link_frames: Mapping[int, Array],
    ) -> None:
        self.link_frames = link_frames
        places = dict(zip(map(id, others), _first_coordinates(others), strict=True))
        self._static: list[int] = []
        self._lost: list[int] = []
        self._lost_there: list[int] = []
        self._from: list[int] = []
        self._to: list[int] = []
        rotated: list[tuple[Joint, Joint, int, int]] = []
        for joint, first in zip(joints, _first_coordinates(joints), strict=True):
            own = range(first, first + joint.dof_count)
            other = counterparts.get(id(joint))
            if id(joint.child) in static:
                self._static += own
                continue
            there = places.get(id(other))  # None if it became a loop
            if there is None or not isinstance(other, Joint) or other.dof_count != joint.dof_count:
                self._lost += own
                if there is not None and isinstance(other, Joint):
                    self._lost_there += range(there, there + other.dof_count)
                continue
            self._from += own[::-1] if joint.swapped != other.swapped and joint.dof_count == 2 else own
            self._to += range(there, there + joint.dof_count)
            if {joint.kind, other.kind} <= _ROTATION_VECTORS.keys():
                rotated.append((joint, other, first, there))
        self._rotated = {
            width: self._frame_changes([one for one in rotated if _ROTATION_VECTORS[one[0].kind] == width])
            for width in set(_ROTATION_VECTORS.values())
        }

    def _frame_changes(self, rows: Sequence[tuple[Joint, Joint, int, int]]) -> tuple[Array, list[int], list[int]]:
        """The changes of joint frames, where they differ, and the first coordinates of these joints on both sides."""
        if not rows:
            return np.empty((0, 4, 4)), [], []
        frames, theirs = (pose_matrices([row[side].pose for row in rows]) for side in (0, 1))  # type: ignore[union-attr]
        frames_of_links = np.array([self.link_frames.get(id(row[0].child), _IDENTITY_MATRIX) for row in rows])
        changes = spatial.inverse(theirs) @ spatial.inverse(frames_of_links) @ frames
        changed = np.flatnonzero((changes != _IDENTITY_MATRIX).any(axis=(1, 2))).tolist()
        return changes[changed], [rows[i][2] for i in changed], [rows[i][3] for i in changed]

    def convert(self, positions: Array, initial: Array, there: Array) -> tuple[Array, Array]:
        """Configurations, one per row, in the coordinates of both sides.

        Coordinates that the other side does not have are zero, and static ones at their `initial` positions.  `there`
        are the positions of the output that no coordinate of the world maps to.
        """
        mine, theirs = positions.copy(), np.tile(there, (len(positions), 1))
        theirs[:, self._to] = positions[:, self._from]
        for width, (changes, first, other) in self._rotated.items():
            if len(changes):
                wide = np.arange(width)
                rows = positions[:, np.array(first)[:, None] + wide]
                theirs[:, np.array(other)[:, None] + wide] = _in_changed_frames(changes, rows)
        mine[:, self._lost] = 0.0
        theirs[:, self._lost_there] = 0.0
        mine[:, self._static] = initial[self._static]
        return mine, theirs


def _first_coordinates(joints: Sequence[Joint]) -> list[int]:
    """The numbers of the first coordinates of joints."""
    found: list[int] = []
    at = 0
    for joint in joints:
        found.append(at)
        at += joint.dof_count
    return found


def _in_changed_frames(changes: Array, rows: Array) -> Array:
    """Rotation vectors, and translations if any, `(configurations, joints, 3 or 6)`, in changed joint frames."""
    along = rows[..., 3:] if rows.shape[-1] > 3 else np.zeros(3)
    moved = changes @ spatial.transform(spatial.exp(rows[..., :3]), along) @ spatial.inverse(changes)
    return np.concatenate([spatial.log(moved[..., :3, :3]), moved[..., : rows.shape[-1] - 3, 3]], axis=-1)


# --- the certificate -----------------------------------------------------------------------------------


def tolerances(scene: Scene, target: Format) -> defaultdict[str, float]:
    """The tolerance of each row: what readers of the format hold, and what the scene itself holds."""
    capabilities = target.capabilities()
    precision = capabilities.precision
    found = defaultdict(lambda: precision)
    found[COLORS] = capabilities.tolerance(Shape, "color")
    if scene.source_info.semantics == "dart":  # DART has meshes in single precision
        found[MESHES] = max(SINGLE_PRECISION, precision)
    return found


def compare(scene: Scene, written: Written, target: Format) -> list[Row]:
    """Compare a scene with its output."""
    if len(scene.worlds) != len(written.native.worlds):
        return [("worlds", np.inf)]
    pairs = zip(scene.worlds, written.native.worlds, strict=True)
    rows = worst_rows(row for mine, theirs in pairs for row in _WorldCertificate(mine, theirs, written, target).rows())
    return rows + _copy_rows(scene, written, target)


def _copy_rows(scene: Scene, written: Written, target: Format) -> list[Row]:
    """Compare a copy of the source with the source: a reader gets the same input, so that all forces are the same."""
    compare_copy = target.capabilities().compare_copy
    if written.copy is None or compare_copy is None:
        return []
    name = "other elements" if written.copy.is_edited else "elements"
    same = compare_copy(scene, written.copy, written.output) == 0
    return [(f"{name}, attributes and files of the source", difference_or_inf(same))]


def _has_all_states(world: World, written: Written) -> bool:
    """Whether a file beside the document has the initial state of all joints that move."""
    kept = {id(one.item) for one in written.output.kept if "position" in one.fields}
    moving = [joint for model in world.models if not model.static for joint in model.joints if not joint.loop]
    states = [id(joint) for joint in moving if any((*joint.positions, *joint.velocities))]
    return bool(states) and kept.issuperset(states)


def _are_reordered(one: World, other: World) -> bool:
    """Whether two worlds have joints with the same names in another order."""
    names = [[(model.name, joint.name) for model in world.models for joint in model.joints] for world in (one, other)]
    return names[0] != names[1] and sorted(names[0]) == sorted(names[1])


def _comparable_view(world: World, field: str, lost: Collection[str], *, by_name: bool) -> object:
    """The cameras, lights or keyframes of a world, independent of their order and of the precision of lights.

    `lost` are the fields of the world that are not written.
    """
    if field == "keyframes":
        return tuple(one.comparable(world.models, by_name=by_name) for one in world.keyframes)
    views: list[View] = list(getattr(world, field))
    for number, view in enumerate(views):
        if isinstance(view, SceneCamera) and lost_view_part(view, "orthographic") in lost:
            views[number] = as_perspective(view)
    return comparable_views(views)


_REFERRING = ("actuators", "tendons", "equalities", "sensors")
"""Fields of a world that refer to other items."""


class _WorldCertificate:
    """The rows about one world and the world that was read back."""

    def __init__(self, mine: World, theirs: World, written: Written, target: Format) -> None:
        self.world, self.other_world = mine, theirs
        self.mine, self.theirs = PlacedWorlds([mine]), PlacedWorlds([theirs])
        capabilities = target.capabilities()
        self.counterparts = {**written.counterparts, **capabilities.shapes_read_back(written.native)}
        self.elements = written.elements
        self.inexact = {id(loss.item) for loss in written.output.losses if loss.fields != (TEXTURE_FIELD,)}
        images = [loss for loss in written.output.losses if TEXTURE_FIELD in loss.fields and loss.is_dropped]
        self.lost_textures = {id(loss.item) for loss in images} if capabilities.has_textures else None
        self.dropped = [loss for loss in written.output.losses if loss.is_dropped]
        self.lost_fields: dict[int, frozenset[str]] = {}
        for loss in written.output.losses:
            known = self.lost_fields.get(id(loss.item), frozenset())
            self.lost_fields[id(loss.item)] = known | (set(loss.fields) or {""})
        self.at_joints = capabilities.body_frames_at_joints
        self.has_initial_state = capabilities.has_initial_state
        self.has_state_file = _has_all_states(mine, written)
        self.dof_kinds = capabilities.dof_fields
        self.has_only_motors = bool(capabilities.motor_joints)
        self.compare_forces, self.compiled = capabilities.compare_forces, written.compiled
        self.fields, self.rewritten = capabilities.fields, capabilities.rewritten_fields
        self.shape_kinds = capabilities.shapes | capabilities.rewritten_shapes.keys()
        self.collisions = CollisionCheck(
            mine, theirs, written.native, self.counterparts, target, self.inexact, is_copy=written.copy is not None
        )
        self.static = self.mine.static
        bodies = [body for body in self.mine.bodies if id(body) in self.counterparts]
        self.pairs: list[BodyPair] = [(body, self.counterparts[id(body)]) for body in bodies]  # type: ignore[misc]
        self.link_frames = self._link_frames()
        self.chains = self._chain_errors(capabilities.precision)
        self.comparison = SceneComparison(
            self.mine, self.theirs, self.pairs, frames=self.link_frames, chains=self.chains
        )

    @cached_property
    def known(self) -> World:
        """The world without references to removed items, which no document states."""
        if not any(getattr(self.world, field) for field in (*VIEW_FIELDS, *_REFERRING)):
            return self.world
        with no_edits():  # creating another world does not edit this one
            known = copy_world(self.world)
            known.drop_dangling_references()
        return known

    @cached_property
    def _written(self) -> World:
        """The known world without actuators and tendons whose loss is reported.

        In formats with motors only, it has been lowered to these before; their losses are those of other values.
        """
        if self.has_only_motors:
            return self.known
        losses = [one for one in self.dropped if one.item is self.world]
        lost = {part for loss in losses for part in loss.fields}
        actuators = [one for one in self.known.actuators if actuator_part(one.name) not in lost]
        tendons = [one for one in self.known.tendons if tendon_part(one.name) not in lost]
        if len(actuators) == len(self.known.actuators) and len(tendons) == len(self.known.tendons):
            return self.known
        with no_edits():
            written = copy_world(self.known)
            written.actuators[:], written.tendons[:] = actuators, tendons
        return written

    def _chain_errors(self, precision: float) -> ChainErrors:
        if precision <= DOUBLE_PRECISION:
            return ChainErrors({}, {})
        ids = [id(body) for body in self.mine.bodies]
        lengths, counts = self.mine.kinematics.chains()
        growth = np.sqrt(np.maximum(counts, 1.0))
        return ChainErrors(*(dict(zip(ids, rows.tolist(), strict=True)) for rows in (lengths, growth)))

    def _link_frames(self) -> dict[int, Array]:
        """The frames of links in the frames of their bodies, where they differ."""
        if not self.at_joints:
            return {}
        joints = [
            joint
            for joint in self.mine.tree_joints
            if not joint.pose.is_identity and id(joint.child) not in self.static
        ]
        return dict(zip((id(j.child) for j in joints), pose_matrices([j.pose for j in joints]), strict=True))

    @cached_property
    def _placed_differently(self) -> set[int]:
        """Bodies that float in the scene, and whose coordinates have another meaning in the output.

        There, the joint of a loop is their parent joint, so that their poses follow from the loop; or they have an
        angular motor in the scene, and coordinates relative to no other body there.  They can be compared only in the
        initial state, and by the frame of that joint.
        """
        found: set[int] = set()
        for joint in self.mine.tree_joints:
            other = self.counterparts.get(id(joint))
            floats = joint.kind in _FLOATING and joint.parent is None and id(joint.child) not in self.static
            is_motor = joint.kind == "amotor" and joint.parent is not None
            if id(joint.parent) in found or (
                isinstance(other, Joint)
                and ((floats and other.kind not in _FLOATING) or (is_motor and other.parent is None))
            ):
                found.add(id(joint.child))
        return found

    def rows(self) -> list[Row]:
        lost = [body for body in self.mine.bodies if id(body) not in self.counterparts]
        is_complete = not lost and len(self.pairs) == len(self.theirs.bodies)
        rows: list[Row] = [
            ("bodies", difference_or_inf(is_complete)),
            ("gravity and time step", self._compare_settings()),
        ]
        if not is_complete:
            return rows
        comparison, weighed = self.comparison, self._weighed_pairs()
        rows += [
            ("total mass", mass_difference((a for a, _ in weighed), (b for _, b in weighed))),
            ("masses, centres of mass and inertias", comparison.inertias(weighed)),
            ("poses at zero positions", comparison.poses(self.mine.zero_poses, self.theirs.zero_poses)),
            ("poses at random configurations", self._compare_random_poses()),
        ]
        if self.has_initial_state or self.has_state_file:
            rows.append(("poses in the initial state", comparison.initial_poses()))
            rows.append(("initial velocities", self._compare_velocities()))
        rows.append(("loops", self._compare_loops()))
        rows += [(name, self._compare_dofs(DOF_GROUPS[name])) for name in CONSTANT_DOF_GROUPS]
        if self.compare_forces is not None and self.compiled is not None:
            error, left_out = self.compare_forces(self.world, self.compiled, self.lost_fields)
            without = f", without {pluralize(left_out, 'joint')} that cannot be compared" if left_out else ""
            rows.append((f"generalised forces at random states{without}", error))
        rows.append(("mimic joints", self._compare_mimics()))
        has_skins = (Body, "soft") in self.fields or any(body.soft for body in self.theirs.bodies)
        if has_skins and any(body.soft for body in self.mine.bodies):
            rows.append(("soft skins", self._compare_skins()))
        views = [field for field in VIEW_FIELDS if (World, field) in self.fields and getattr(self.world, field)]
        if views:
            lost_parts = self.lost_fields.get(id(self.world), frozenset())
            is_reordered = _are_reordered(self.known, self.other_world)
            shown: list[list[object]] = [
                [_comparable_view(world, field, lost_parts, by_name=is_reordered) for field in views]
                for world in (self.known, self.other_world)
            ]
            rows.append(("cameras, lights and keyframes", relative_difference(*shown)))
        if self.world.actuators and (World, "actuators") in self.fields:
            rows.append(("actuators", self._compare_actuators()))
        if self.world.tendons and (World, "tendons") in self.fields:
            tendons = [
                comparable_tendons(known_tendons(world.tendons, world.models), world.models)
                for world in (self._written, self.other_world)
            ]
            rows.append(("tendons", relative_difference(*tendons)))
        if self.world.equalities and (World, "equalities") in self.fields:
            constraints = [
                comparable_equalities(known_equalities(world.equalities, world.models, world.tendons), world.models)
                for world in (self.known, self.other_world)
            ]
            rows.append(("equality constraints", relative_difference(*constraints)))
        if self.world.sensors and (World, "sensors") in self.fields:
            sides = [
                list(map(astuple, known_sensors(world.sensors, world.models, world.tendons, world.actuators)))
                for world in (self.known, self.other_world)
            ]
            rows.append(("sensors", relative_difference(*sides)))
        elif self.world.sensors and (World, "sensors") in self.rewritten:
            rows.append(("sensors", self._compare_placed_sensors()))
        if any((World, field) in self.rewritten for field in ("cameras", "lights")):
            unwritten = self.lost_fields.get(id(self.world), frozenset())
            rows += view_rows(self.world, self.other_world, unwritten, self.counterparts)
        rows.append(("collision filtering", difference_or_inf(not self.collisions.differing())))
        shapes = ShapeCheck(
            self.pairs,
            self.counterparts,
            self.inexact,
            self.elements,
            self.shape_kinds,
            self.fields,
            self.chains,
            self.lost_textures,
        )
        return rows + shapes.rows(self.mine.zero, self.theirs.zero)

    def _compare_actuators(self) -> float:
        """Compare actuators; in formats with motors only, their order is that of the elements of the document."""
        worlds = (self._written, self.other_world)
        is_reordered = _are_reordered(*worlds)
        sides = [comparable_actuators(one.actuators, one.models, by_name=is_reordered) for one in worlds]
        if self.has_only_motors:
            sides = [sorted(rows, key=lambda row: str(row[0])) for rows in sides]
        return relative_difference(*sides)

    def _compare_placed_sensors(self) -> float:
        """Compare sensors, which may have other names, by what they measure and where; lost ones are omitted."""
        lost = self.lost_fields.get(id(self.world), frozenset())
        left = placed_sensors(self.other_world.sensors, self.other_world.models)
        worst = 0.0
        for sensor, body, place in placed_sensors(self.world.sensors, self.world.models):
            other = self.counterparts.get(id(body))
            if sensor_part(sensor.name) in lost or other is None:
                continue
            found = [
                (relative_difference((*place, sensor.noise), (*there, one.noise)), number)
                for number, (one, on, there) in enumerate(left)
                if on is other and one.kind == sensor.kind
            ]
            error, number = min(found, default=(np.inf, -1))
            worst = max(worst, error)
            if number >= 0:
                left.pop(number)
        return worst

    # --- worlds and masses ----------------------------------------------------------------------------

    def _compare_settings(self) -> float:
        lost = self.lost_fields.get(id(self.world), frozenset())
        fields = [field for field in ("gravity", "time_step") if (World, field) in self.fields and field not in lost]
        return max(
            (relative_difference(getattr(self.world, f), getattr(self.other_world, f)) for f in fields),
            default=0.0,
        )

    def _weighed_pairs(self) -> list[tuple[Body, Body]]:
        """The pairs whose masses are comparable: not those that the writer had to change."""
        return [
            (a, b)
            for a, b in self.pairs
            if id(a) not in self.inexact
            and not (id(a) in self.static and (a.mass <= 0.0 or not self.has_initial_state))
        ]

    def _compare_skins(self) -> float:
        """Compare the points, masses and springs of soft skins that the writer did not have to drop."""
        worst = 0.0
        for body, other in self.pairs:
            if body.soft is not None and "soft" not in self.lost_fields.get(id(body), ()):
                error = np.inf if other.soft is None else max(e for *_, e in single_values(body, other, "soft"))
                worst = max(worst, error)
        return worst

    # --- poses ----------------------------------------------------------------------------------------

    def _compare_random_poses(self) -> float:
        coordinates = OutputCoordinates(
            self.mine.tree_joints, self.theirs.tree_joints, self.counterparts, self.static, self.link_frames
        )
        initial = self.mine.kinematics.initial, self.theirs.kinematics.initial
        return self.comparison.random_poses(lambda rows: coordinates.convert(rows, *initial), self._placed_differently)

    def _compare_loops(self) -> float:
        """Compare the anchors and axes of joints that close loops, in the world frame at zero positions."""
        worst = 0.0
        for joint in (joint for joint in self.mine.joints if joint.loop):
            other = self.counterparts.get(id(joint))
            if not isinstance(other, Joint) or other.kind != joint.kind or id(joint) in self.inexact:
                continue
            place, axes = _placement_in_world(self.mine, joint)
            there, theirs = _placement_in_world(self.theirs, other)
            if joint.swapped != other.swapped:
                theirs = theirs[::-1]
            lengths, growth = self.chains.of([joint.child], [joint.pose.position])
            apart = largest(np.abs(place - there) / np.maximum(lengths, np.abs(place).max()) / growth)
            anchor = 0.0 if joint.kind in ("weld", "prismatic") else apart
            # With parent and child exchanged, an axis points the other way.
            signs = (relative_difference(axes.tolist(), (sign * theirs).tolist()) for sign in (1.0, -1.0))
            worst = max(worst, anchor, min(signs))
        return worst

    def _compare_velocities(self) -> float:
        pairs = {id(body): (body, other) for body, other in self.pairs}
        models = [
            model
            for model in self.mine.models
            if not model.static and not any(id(joint) in self.inexact for joint in model.joints)
        ]
        return largest([self.comparison.velocities([pairs[id(body)] for body in model.bodies]) for model in models])

    # --- joints ---------------------------------------------------------------------------------------

    def _compare_dofs(self, fields: Sequence[str]) -> float:
        """Compare fields of degrees of freedom that the format supports and the writer did not have to change."""
        worst = 0.0
        stated = attrgetter("stiffness", *fields)
        for joint in self.mine.tree_joints:
            other = self.counterparts.get(id(joint))
            if not isinstance(other, Joint) or id(joint) in self.inexact or id(joint.child) in self.static:
                continue
            if joint._dofs is None and other._dofs is None:
                continue
            if id(joint) not in self.elements or other.kind != joint.kind or joint.collapses:
                continue
            rows, others = joint.dofs, other.dofs[::-1] if joint.swapped != other.swapped else other.dofs
            if list(map(stated, rows)) == list(map(stated, others)):  # as in most joints
                continue
            for field in fields:
                if joint.kind not in self.dof_kinds.get(field, ()):
                    continue
                if field == "position_limits" and not joint.limits_enforced:
                    continue
                values = ([effective_value(dof, field) for dof in side] for side in (rows, others))
                worst = max(worst, relative_difference(*values))
        return worst

    def _compare_mimics(self) -> float:
        if (Joint, "mimic") not in self.fields:
            return 0.0
        worst = 0.0
        for joint in self.mine.tree_joints:
            other = self.counterparts.get(id(joint))
            if joint.mimic is None or id(joint) in self.inexact or not isinstance(other, Joint):
                continue
            if id(joint.child) in self.static:
                continue
            mine, theirs = joint.mimic, other.mimic
            if theirs is None:
                worst = np.inf if self._has_leader(joint) else worst
            else:
                values = ((mimic.multiplier, mimic.offset) for mimic in (mine, theirs))
                worst = max(worst, relative_difference(*values))
        return worst

    def _has_leader(self, joint: Joint) -> bool:
        """Whether the joint to follow exists, with coordinates that can be followed."""
        home = next(model for model in self.mine.models if any(one is joint for one in model.joints))
        leader = mimicked_joint(joint, home)
        return leader is not None and can_mimic(joint.kind, leader.kind)


def _placement_in_world(side: PlacedWorlds, joint: Joint) -> tuple[Array, Array]:
    """The anchor and the axes of a joint in the world frame."""
    return anchor_and_axes(side.zero[id(joint.child)] @ joint.pose.matrix(), translation_axes(joint))
