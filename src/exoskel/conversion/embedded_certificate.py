"""The certificate of formats that hold embedded data: SKEL and XODE.

The written bytes are read back and compared with the scene twice: with all embedded data, as our own reader sees them,
and without, as any other reader of the format does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np

from exoskel.conversion.comparison import (
    DOF_GROUPS,
    TOLERANCE,
    PlacedWorlds,
    Row,
    SceneComparison,
    anchor_and_axes,
    difference_or_inf,
    dof_difference,
    dof_names,
    field_difference,
    half_space,
    largest,
    mass_difference,
    shape_difference,
    worst_rows,
)
from exoskel.formats.embedded_writer import EmbeddedField
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.actuator import driven_dofs
from exoskel.scene.body import Body
from exoskel.scene.fields import (
    VIEW_FIELDS,
    comparable_dofs,
    comparable_value,
    iter_items,
    relative_difference,
)
from exoskel.scene.item import Item
from exoskel.scene.joint import UNLIMITED, Dof, Joint
from exoskel.scene.moment_checks import are_positive_about_origin
from exoskel.scene.pose import Vector
from exoskel.scene.shape import Plane, Shape
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World


def compare(scene: Scene, written: Written, target: Format) -> list[Row]:
    """Compare a scene with its output.

    An output for PyODE has no embedded data.  There, only what a reader of the format sees is compared, without the
    masses that were approximated.
    """
    kinds = target.capabilities().native_joints
    approximated = frozenset(id(loss.item) for loss in written.output.losses)
    stores_limits = target.dart_ignores_limits
    if written.output.target != "portable":
        return _NativeCertificate(
            scene, written.reread_native, kinds, _output_nodes(scene, written), approximated, stores_limits
        ).rows()
    needless = needless_fields(scene, written.embedded, target)
    return [
        *_compare_scenes(scene, written.reread),
        *_NativeCertificate(written.reread, written.reread_native, kinds, {}, approximated, stores_limits).rows(),
        (_LABEL + "fields supported by the format", difference_or_inf(not needless)),
    ]


def _output_nodes(scene: Scene, written: Written) -> dict[int, int]:
    """The numbers of the output's elements, by the ids of the items they were written from."""
    made = written.counterparts
    return {id(item): made[id(item)].node for item, _, _ in iter_items(scene) if id(item) in made}


# --- with embedded data -------------------------------------------------------------------------------


def _compare_scenes(scene: Scene, full: Scene) -> list[Row]:
    if len(scene.worlds) != len(full.worlds):
        return [("worlds", np.inf)]
    pairs = zip(scene.worlds, full.worlds, strict=True)
    return worst_rows(row for mine, theirs in pairs for row in _compare_worlds(mine, theirs))


def _compare_worlds(mine: World, theirs: World) -> list[Row]:
    first, second = PlacedWorlds([mine]), PlacedWorlds([theirs])
    bodies, others = first.bodies, second.bodies
    joints, other_joints = ([*tree, *loops] for tree, loops in map(_joints, (mine, theirs)))
    rows: list[Row] = [
        ("world settings", relative_difference(_settings(mine), _settings(theirs))),
        ("bodies and joints", difference_or_inf(_structure(mine) == _structure(theirs))),
    ]
    if rows[-1][1] or len(bodies) != len(others) or len(joints) != len(other_joints):
        return rows
    body_pairs = list(zip(bodies, others, strict=True))
    joint_pairs = list(zip(joints, other_joints, strict=True))
    comparison = SceneComparison(first, second, body_pairs)
    return [
        *rows,
        ("total mass", mass_difference(bodies, others)),
        ("masses, centres of mass and inertias", comparison.inertias(body_pairs)),
        ("degrees of freedom", difference_or_inf(dof_names(mine) == dof_names(theirs))),
        ("poses in the initial state", comparison.initial_poses()),
        ("poses at random configurations", comparison.random_poses()),
        ("loops", largest([_joint_difference(a, b) for a, b in joint_pairs if a.loop])),
        *(
            (name, largest([_dof_difference(a, b, fields) for a, b in joint_pairs]))
            for name, fields in DOF_GROUPS.items()
        ),
        ("actuators", largest([field_difference(a, b, _ACTUATION) for a, b in joint_pairs])),
        ("shapes", largest([shape_difference(a, b) for a, b in body_pairs])),
        ("other body data", largest([field_difference(a, b, _BODY_DATA) for a, b in body_pairs])),
    ]


_BODY_DATA = ("gravity", "soft", "state")
_ACTUATION = ("actuator", "limits_enforced", "drives", "mimic", "solver")


def _settings(world: World) -> tuple[Any, ...]:
    return (
        world.gravity,
        world.time_step,
        world.erp,
        world.cfm,
        tuple(world.collision_exempt_groups),
        world.self_collision and world.self_collision_matters,
        *(comparable_value(world, field) for field in VIEW_FIELDS),
        tuple(world.actuators),
        comparable_value(world, "tendons"),
        tuple(world.sensors),
        comparable_value(world, "equalities"),
    )


def _structure(world: World) -> list[Any]:
    """The names of models, bodies and joints, and what each joint connects."""
    return [
        [(m.name, m.static, [b.name for b in m.bodies], len(m.joints)) for m in world.models],
        [[(j.name, j.kind, *_ends(j)) for j in joints] for joints in _joints(world)],
    ]


def _joints(world: World) -> tuple[list[Joint], list[Joint]]:
    """The joints of the tree, in the order of their coordinates, and loops, whose order does not matter."""
    joints = list(world.joints())
    return [joint for joint in joints if not joint.loop], [joint for joint in joints if joint.loop]


def _ends(joint: Joint) -> tuple[str, str | None]:
    return joint.child.name, None if joint.parent is None else joint.parent.name


def _dof_difference(one: Joint, other: Joint, fields: tuple[str, ...]) -> float:
    if one._dofs is None and other._dofs is None:
        return 0.0
    difference = dof_difference(one.dofs, other.dofs, fields)
    return difference if difference and (comparable_dofs(one) or comparable_dofs(other)) else 0.0


def _joint_difference(one: Joint, other: Joint) -> float:
    return max(field_difference(one, other, ("kind", "child", "parent", "swapped")), _placement_difference(one, other))


def _placement_difference(one: Joint, other: Joint) -> float:
    """How far the anchors and axes of two joints are apart, in the frames of their children."""
    if _stated_placement(one) == _stated_placement(other):
        return 0.0
    mine, theirs = _placement_in_child(one), _placement_in_child(other)
    if mine[1].shape != theirs[1].shape:
        return np.inf
    scale = max(1.0, largest(np.abs(mine[0])), largest(np.abs(theirs[0])))
    anchor = 0.0 if one.kind in ("weld", "prismatic") else largest(np.abs(mine[0] - theirs[0])) / scale
    return max(anchor, largest(np.abs(mine[1] - theirs[1]).ravel()))


_stated_placement = attrgetter("kind", "pose", "axes", "order")


def _placement_in_child(joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    own = [np.eye(3)["xyz".index(letter)] for letter in joint.order] if joint.kind == "euler" else joint.axes
    return anchor_and_axes(joint.pose.matrix(), own)


# --- without embedded data ----------------------------------------------------------------------------

_LABEL = "without embedded data: "


class _NativeCertificate:
    """The rows about a scene and what a reader sees of it that knows only the format.

    Items are matched by their elements: `nodes` are the elements of the output by the ids of items.  It is empty where
    `wanted` was read from the output itself.
    """

    def __init__(
        self,
        wanted: Scene,
        native: Scene,
        kinds: frozenset[str],
        nodes: dict[int, int],
        approximated: frozenset[int],
        stores_limits: bool,
    ) -> None:
        at_bodies = any(body.state is not None for world in native.worlds for body in world.bodies())
        self.wanted = PlacedWorlds(wanted.worlds, at_bodies=at_bodies)
        self.native = PlacedWorlds(native.worlds, at_bodies=at_bodies)
        self.kinds = kinds
        self.nodes = nodes
        self.approximated = approximated
        self.stores_limits = stores_limits
        """Whether the format also has limits that are not enforced."""

    def _node(self, item: Body | Joint | Shape | None) -> int:
        return -1 if item is None else self.nodes.get(id(item), -1) if self.nodes else item.node

    def rows(self) -> list[Row]:
        native = {body.node: body for body in self.native.bodies}
        pairs = [(body, native[node]) for body in self.wanted.bodies if (node := self._node(body)) in native]
        comparison = SceneComparison(self.wanted, self.native, pairs)
        rows: list[Row] = []
        if pairs:
            rows.append((_LABEL + "poses in the initial state", comparison.initial_poses()))
        # Some formats cannot express a mass that is not positive, or a moment of inertia that no real body has.
        heavy = [(a, b) for a, b in pairs if a.mass > 0.0 and id(a) not in self.approximated]
        heavy = list(compress(heavy, _have_valid_moments([a for a, _ in heavy])))
        if heavy:
            rows.append((_LABEL + "masses, centres of mass and inertias", comparison.inertias(heavy)))
            moving = self._bodies_with_native_joints()
            moved = [(a, b) for a, b in pairs if id(a) in moving]
            rows.append((_LABEL + "velocities", comparison.velocities(moved)))
        rows += self._compare_joints()
        rows.append((_LABEL + "shapes", self._compare_shapes()))
        return rows

    def _bodies_with_native_joints(self) -> set[int]:
        """The bodies of models that move, and whose joints the format has all."""
        native = self.kinds | {"free"}
        models = [m for m in self.wanted.models if not m.static and all(joint.kind in native for joint in m.joints)]
        return {id(body) for model in models for body in model.bodies}

    def _compare_joints(self) -> list[Row]:
        """Joints that the format supports exist, between the same bodies, about the same axes."""
        native = {joint.node: joint for joint in self.native.joints if not joint.implicit}
        placement, limits = 0.0, 0.0
        for model in self.wanted.models:
            for joint in model.joints:
                if joint.kind in self.kinds and not model.static and not self._has_no_element(joint):
                    other = native.get(self._node(joint))
                    placement = max(placement, np.inf if other is None else self._joint_difference(joint, other))
                    limits = max(limits, 0.0 if other is None else self._limit_difference(joint, other))
        return [(_LABEL + "joints", placement), (_LABEL + "limits", limits)]

    def _limit_difference(self, joint: Joint, other: Joint) -> float:
        """Compare limits of joints with one axis, relative to the initial position as ODE counts its stops.

        Several axes may be in another order there.
        """
        if len(joint.motion) != 1 or joint.kind != other.kind or joint.drives:
            return 0.0
        start = joint.dofs[0].position
        limits = joint.dofs[0].position_limits if joint.limits_enforced or self.stores_limits else UNLIMITED
        wanted = [bound - start for bound in limits]
        found = [bound - other.dofs[0].position for bound in other.dofs[0].position_limits]
        # ODE ignores stops beyond half a turn, and they are read as unlimited.
        beyond = joint.kind == "revolute" and any(np.isfinite(v) and abs(v) >= np.pi for v in wanted)
        # The same goes for stops at the wrong infinity.
        off = found == [-np.inf, np.inf] and (wanted[0] == np.inf or wanted[1] == -np.inf)
        return 0.0 if beyond or off else relative_difference(wanted, found)

    def _compare_shapes(self) -> float:
        native = {shape.node: shape for body in self.native.bodies for shape in body.shapes}
        worst = 0.0
        for shape in (shape for body in self.wanted.bodies for shape in body.shapes):
            other = native.get(self._node(shape))
            if other is None:
                continue
            if shape.kind == other.kind and shape.kind not in _PLACED_OTHERWISE:
                worst = max(worst, field_difference(shape, other, ("geometry", "pose")))
            elif shape.kind == "mesh" and other.kind == "trimesh":
                worst = max(worst, relative_difference(shape.geometry.bounds(), other.geometry.bounds()))
        return max(worst, self._compare_planes())

    def _compare_planes(self) -> float:
        """Compare planes in the root frame, where planes of moving bodies stay at their initial pose."""
        wanted = _planes_in_root(self.wanted, lambda body: body.collisions)
        planes = _planes_in_root(self.native, lambda body: body.shapes)
        return largest([min((relative_difference(one, plane) for plane in planes), default=np.inf) for one in wanted])

    def _has_no_element(self, joint: Joint) -> bool:
        return (joint.implicit and joint.kind == "free") or (joint.loop and self._node(joint) < 0)

    def _joint_difference(self, joint: Joint, other: Joint) -> float:
        ends = {self._node(joint.child), self._node(joint.parent)}
        if joint.kind != other.kind or ends != {_own_node(other.child), _own_node(other.parent)}:
            return np.inf
        if self._node(joint.child) != _own_node(other.child):
            return self._exchanged_difference(joint, other)
        if _stated_placement(joint) == _stated_placement(other) and joint.swapped == other.swapped:
            return 0.0
        mine, theirs = joint.axes, other.axes
        if joint.swapped != other.swapped:
            theirs = theirs[::-1]
        if len(mine) == len(theirs) == 2 and any(joint.positions):
            # Away from zero positions, only one of the axes is still at the same place in the child.
            side = 0 if joint.swapped else 1
            mine, theirs = mine[side : side + 1], theirs[side : side + 1]
        return _placement_difference(_with_axes(joint, mine), _with_axes(other, theirs))

    def _exchanged_difference(self, joint: Joint, other: Joint) -> float:
        """Compare a joint with the same joint whose parent and child are exchanged, in the initial state.

        Axes of joints with several of them move with different bodies and are not compared.
        """
        sides = ((self.wanted, joint), (self.native, other))
        mine, theirs = (
            anchor_and_axes(side.initial_pose(one.child) @ one.pose.matrix(), one.axes) for side, one in sides
        )
        if len(joint.axes) != len(other.axes):
            return np.inf
        anchor = relative_difference(mine[0], theirs[0]) if joint.kind in _ANCHORED else 0.0
        if len(joint.axes) != 1:
            return anchor
        return max(anchor, min(relative_difference(mine[1], sign * theirs[1]) for sign in (1.0, -1.0)))


_ANCHORED = ("revolute", "ball", "universal")
"""Joints that keep a point of both bodies together."""


def _planes_in_root(side: PlacedWorlds, shapes: Callable[[Body], Sequence[Shape]]) -> list[list[float]]:
    """The normals and offsets of planes in the root frame, in the initial state."""
    return [
        half_space(shape, pose @ shape.pose.matrix())
        for body, pose in zip(side.bodies, side.kinematics.poses(), strict=True)
        for shape in shapes(body)
        if isinstance(shape.geometry, Plane)
    ]


_PLACED_OTHERWISE = ("plane", "mesh", "trimesh")
"""Shapes whose pose or kind may be written differently: planes are in the root frame."""


def _have_valid_moments(bodies: Sequence[Body]) -> list[bool]:
    """Whether the moment of inertia of each body is positive definite, wherever a format states it."""
    masses, centres = np.array([body.mass for body in bodies]), np.array([body.com for body in bodies]).reshape(-1, 3)
    return are_positive_about_origin(moments(bodies), masses, centres)


def _with_axes(joint: Joint, axes: tuple[Vector, ...]) -> Joint:
    return Joint(name=joint.name, kind=joint.kind, child=joint.child, pose=joint.pose, axes=axes, order=joint.order)


def _own_node(body: Body | None) -> int:
    return -1 if body is None else body.node


# --- fields that are embedded although the format supports them ---------------------------------------


def _is_beyond_formats(dof: Dof) -> bool:
    """Whether a coordinate has what no format with embedded data has: armature, or forces that add energy."""
    return bool(dof.armature) or min(dof.damping, dof.friction, dof.stiffness) < 0.0


def needless_fields(scene: Scene, embedded: Sequence[EmbeddedField], target: Format) -> list[str]:
    """Fields that were embedded although the format supports them: other readers do not find them, or find others."""
    return _EmbeddedFields(scene, target).needless(embedded)


_CHILD_FIELDS = ("child", "parent", "pose", "axes")
"""What depends on which body of a joint is the child."""


class _EmbeddedFields:
    def __init__(self, scene: Scene, target: Format) -> None:
        capabilities = target.capabilities()
        self.fields = capabilities.fields
        self.shapes = capabilities.shapes
        self.kinds = capabilities.native_joints
        self.orders = capabilities.euler_orders
        self.renamed: set[int] = set()
        self.exchanged: set[int] = set()
        """Joints whose parent and child are exchanged in the tree that other readers find."""
        self.has_loops = capabilities.loops
        models = [model for world in scene.worlds for model in world.models]
        self.static = {id(item) for m in models if m.static for item in (*m.bodies, *m.joints)}
        self.driven = {id(joint) for w in scene.worlds for _, joint, _ in driven_dofs(w.actuators, w.models)}
        """Joints with actuators, which are lowered for other readers."""
        self.solid = {id(shape) for m in models for body in m.bodies for shape in body.collisions}
        self.written = set(self.solid)
        if capabilities.visual_shapes:
            self.written |= {id(shape) for m in models for body in m.bodies for shape in body.visuals}

    def needless(self, embedded: Sequence[EmbeddedField]) -> list[str]:
        self.renamed = {id(one.item) for one in embedded if one.field == "name"}
        ends = {(id(one.item), one.field) for one in embedded if one.field in ("child", "parent")}
        self.exchanged = {item for item, field in ends if field == "child" and (item, "parent") in ends}
        # Other readers find what is within the tolerance, such as poses whose rotation has been rounded twice.
        different = [one for one in embedded if one.error > TOLERANCE]
        return [f"{one.item!r}.{one.field}" for one in different if self._is_supported(one.item, one.field)]

    def _is_supported(self, item: Item, field: str) -> bool:
        if isinstance(item, Shape) and not field:
            return id(item) in self.written and item.kind in self.shapes
        if isinstance(item, Joint) and not field:
            return item.kind in self.kinds and (self.has_loops or not item.loop)
        if (type(item), field) not in self.fields:
            return False
        if isinstance(item, Joint):
            return self._is_supported_joint(item, field)
        if isinstance(item, Body):
            return self._is_supported_body(item, field)
        if isinstance(item, Shape):
            return item.kind in self.shapes
        return True

    def _is_supported_joint(self, joint: Joint, field: str) -> bool:
        if field in ("child", "parent") and id(getattr(joint, field)) in self.renamed:
            return False  # the body has another name
        if joint.loop and field in ("child", "parent"):
            return False  # parent and child of a loop joint may be exchanged
        if self.has_loops and id(joint) in self.exchanged and field in _CHILD_FIELDS:
            return False  # closed chains contain several trees
        if field in ("order", "pose") and joint.kind == "euler" and joint.order not in self.orders:
            return False  # the same joint in another frame
        if field == "dofs" and id(joint) in self.driven:
            return False
        if field == "dofs" and any(_is_beyond_formats(dof) for dof in joint._dofs or ()):
            return False
        return joint.kind in self.kinds and not joint.swapped and not self._is_fixed(joint)

    def _is_supported_body(self, body: Body, field: str) -> bool:
        if field == "state":
            return body.state is not None
        return not (field == "inertia" and (body.mass <= 0.0 or self._is_fixed(body)))

    def _is_fixed(self, item: Item) -> bool:
        """Whether an item belongs to a static model, which the format may fix in another way."""
        return (id(item) in self.static and self.has_loops) or (isinstance(item, Body) and id(item) in self.static)
