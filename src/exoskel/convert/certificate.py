"""The proof of a conversion: the written bytes, read back, held against the scene they were made from.

Everything is compared twice: as our own reader sees the output, everything carried included; and as a reader sees
it that knows the format and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.convert.report import Certificate, Check
from exoskel.scene.body import Body
from exoskel.scene.fields import (
    comparable_dofs,
    comparable_value,
    inertia_differences,
    relative_difference,
    transform_differences,
)
from exoskel.scene.initial_velocities import initial_twists, stated_twists
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import Vector
from exoskel.scene.shape import Plane, Shape
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World

TOLERANCE = 1e-9
_CONFIGURATIONS = 5
_ANGLES, _LENGTHS = 1.0, 0.5
"""How far random configurations reach: rad and m."""
ALL = slice(None)

FolderRow = tuple[str, float]


def certify(
    scene: Scene,
    full: Scene,
    native: Scene,
    native_joints: frozenset[str],
    nodes: dict[int, int] | None = None,
    approximated: frozenset[int] = frozenset(),
    unsaid: int = 0,
) -> Certificate:
    """Hold a scene against its output as read in `full`, and as read without our extension in `native`.

    An output that carries nothing of ours cannot give back everything: then `nodes` says which element of the
    output each item of the scene became, and only what a reader of the format sees is compared, without the masses
    that were `approximated` (by the ids of their bodies).
    """
    rows: list[FolderRow] = []
    if nodes is None:
        rows += _whole(scene, full)
        rows += _Native(full, native, native_joints, {}, approximated).rows()
        rows.append((_LABEL + "all that the format has words for", np.inf if unsaid else 0.0))
    else:
        rows += _Native(scene, native, native_joints, nodes, approximated).rows()
    return Certificate.of([check(name, error) for name, error in rows])


def check(name: str, error: float, tolerance: float = TOLERANCE) -> Check:
    finite = bool(np.isfinite(error))
    return Check(name, float(error) if finite else None, tolerance, finite and error <= tolerance)


# --- everything ---------------------------------------------------------------------------------------


def _whole(scene: Scene, full: Scene) -> list[FolderRow]:
    pairs = list(zip(scene.worlds, full.worlds, strict=False))
    if len(scene.worlds) != len(full.worlds):
        return [("worlds", np.inf)]
    rows: dict[str, float] = {}
    for mine, theirs in pairs:
        for name, error in _world(mine, theirs):
            rows[name] = max(rows.get(name, 0.0), error)
    return list(rows.items())


def _world(mine: World, theirs: World) -> list[FolderRow]:
    bodies, others = list(mine.bodies()), list(theirs.bodies())
    joints, other_joints = ([*tree, *loops] for tree, loops in map(_joints, (mine, theirs)))
    rows: list[FolderRow] = [
        ("world settings", relative_difference(_settings(mine), _settings(theirs))),
        ("bodies and joints", _same_names(mine, theirs)),
    ]
    if rows[-1][1] or len(bodies) != len(others) or len(joints) != len(other_joints):
        return rows
    rows += _masses(bodies, others)
    first, second = Kinematics(mine.models), Kinematics(theirs.models)
    rows += [
        ("degrees of freedom", 0.0 if _dof_names(mine) == _dof_names(theirs) else np.inf),
        ("poses at the start", _most(transform_differences(first.poses(), second.poses()))),
        ("poses at random configurations", random_poses(first, second, mine)),
        ("loops", _most([_joint_gap(a, b) for a, b in zip(joints, other_joints, strict=True) if a.loop])),
    ]
    for name, fields in GROUPS.items():
        rows.append((name, _most([_dof_gap(a, b, fields) for a, b in zip(joints, other_joints, strict=True)])))
    rows.append(("actuators", _most([_fields(a, b, _ACTUATION) for a, b in zip(joints, other_joints, strict=True)])))
    rows.append(("shapes", _most([shape_gap(a, b) for a, b in zip(bodies, others, strict=True)])))
    rows.append(("other body data", _most([_fields(a, b, _BODY_DATA) for a, b in zip(bodies, others, strict=True)])))
    return rows


_BODY_DATA = ("gravity", "soft", "state")
_ACTUATION = ("actuator", "limits_enforced", "drives", "mimic")
GROUPS: dict[str, tuple[str, ...]] = {
    "initial velocities": ("velocity", "acceleration", "force"),
    "limits": ("position_limits", "velocity_limits", "acceleration_limits", "force_limits"),
    "springs, damping and friction": ("damping", "friction", "stiffness", "rest"),
}


def _settings(world: World) -> tuple[Any, ...]:
    return (
        world.gravity,
        world.time_step,
        world.erp,
        world.cfm,
        tuple(world.collision_exempt_groups),
        world.self_collision and world.self_collision_matters,
    )


def _same_names(mine: World, theirs: World) -> float:
    def listed(world: World) -> list[Any]:
        return [
            [(m.name, m.static, [b.name for b in m.bodies], len(m.joints)) for m in world.models],
            [[(j.name, j.kind, *_ends(j)) for j in joints] for joints in _joints(world)],
        ]

    return 0.0 if listed(mine) == listed(theirs) else np.inf


def _joints(world: World) -> tuple[list[Joint], list[Joint]]:
    """Those that make coordinates, in the order of these, and loops, whose order among the others says nothing."""
    joints = list(world.joints())
    return [joint for joint in joints if not joint.loop], [joint for joint in joints if joint.loop]


def _ends(joint: Joint) -> tuple[str, str | None]:
    return joint.child.name, None if joint.parent is None else joint.parent.name


def _masses(bodies: Sequence[Body], others: Sequence[Body]) -> list[FolderRow]:
    total = [sum(body.mass for body in side) for side in (bodies, others)]
    return [
        ("total mass", abs(total[0] - total[1]) / max(abs(total[0]), 1e-300) if total[0] != total[1] else 0.0),
        ("masses, centres of mass and inertias", _most(inertia_differences(bodies, others)) if bodies else 0.0),
    ]


def _dof_names(world: World) -> list[str]:
    return [name for model in world.models for name in model.dof_names]


def random_poses(
    first: Kinematics,
    second: Kinematics,
    world: World,
    bodies: list[int] | slice = ALL,
    coordinates: list[int] | slice = ALL,
) -> float:
    """How far bodies are apart at some configurations of `world`, whose kinematics are the first.

    The second may have more bodies, and other coordinates: `bodies` picks those of the first out of them, and
    `coordinates` are the numbers that its own have in the first.
    """
    if first.dof_count != second.dof_count:
        return np.inf
    rng = np.random.default_rng(0)
    letters = "".join(joint.motion for joint in world.joints() if not joint.loop)
    reach = np.array([_ANGLES if letter == "r" else _LENGTHS for letter in letters])
    worst = 0.0
    for _ in range(_CONFIGURATIONS if first.dof_count else 0):
        positions = rng.uniform(-1.0, 1.0, first.dof_count) * reach
        worst = max(
            worst, _most(transform_differences(first.poses(positions), second.poses(positions[coordinates])[bodies]))
        )
    return worst


def _dof_gap(one: Joint, other: Joint, fields: tuple[str, ...]) -> float:
    if one._dofs is None and other._dofs is None:
        return 0.0
    pick = _getter(fields)
    mine, theirs = [pick(dof) for dof in one.dofs], [pick(dof) for dof in other.dofs]
    return (
        0.0
        if mine == theirs or not (comparable_dofs(one) or comparable_dofs(other))
        else relative_difference(mine, theirs)
    )


def _joint_gap(one: Joint, other: Joint) -> float:
    return max(_fields(one, other, ("kind", "child", "parent", "swapped")), _hold_gap(one, other))


def _hold_gap(one: Joint, other: Joint) -> float:
    """How far the anchors and axes of two joints are apart, in the frames of their children."""
    if _stated_hold(one) == _stated_hold(other):
        return 0.0
    mine, theirs = _held(one), _held(other)
    if mine[1].shape != theirs[1].shape:
        return np.inf
    scale = max(1.0, _most(np.abs(mine[0])), _most(np.abs(theirs[0])))
    anchor = 0.0 if one.kind in ("weld", "prismatic") else _most(np.abs(mine[0] - theirs[0])) / scale
    return max(anchor, _most(np.abs(mine[1] - theirs[1]).ravel()))


_stated_hold = attrgetter("kind", "pose", "axes", "order")


def _held(joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    frame = joint.pose.matrix()
    own = [np.eye(3)["xyz".index(letter)] for letter in joint.order] if joint.kind == "euler" else joint.axes
    axes = [frame[:3, :3] @ spatial.unit(axis) for axis in own]
    return frame[:3, 3], np.array(axes).reshape(-1, 3)


@lru_cache
def _getter(fields: tuple[str, ...]) -> Callable[[Any], Any]:
    return attrgetter(*fields)


def _fields(one: Any, other: Any, fields: tuple[str, ...]) -> float:
    if _getter(fields)(one) == _getter(fields)(other):  # most are, and need no closer look
        return 0.0
    return max(relative_difference(comparable_value(one, field), comparable_value(other, field)) for field in fields)


def shape_gap(one: Body, other: Body) -> float:
    mine, theirs = [*one.visuals, *one.collisions], [*other.visuals, *other.collisions]
    if len(one.visuals) != len(other.visuals) or len(mine) != len(theirs):
        return np.inf
    fields = ("geometry", "pose", "color", "collidable", "friction", "restitution")
    return _most([_fields(a, b, fields) for a, b in zip(mine, theirs, strict=True)])


def _most(errors: Any) -> float:
    return float(np.max(errors)) if len(errors) else 0.0


# --- without the extension ----------------------------------------------------------------------------


class _Native:
    """What a reader that knows only the format sees: items are matched by the elements they are."""

    def __init__(
        self, told: Scene, native: Scene, kinds: frozenset[str], nodes: dict[int, int], approximated: frozenset[int]
    ) -> None:
        self.told = told
        self.native = native
        self.kinds = kinds
        self.nodes = nodes
        self.approximated = approximated

    def _node(self, item: Body | Joint | Shape | None) -> int:
        return -1 if item is None else self.nodes.get(id(item), -1) if self.nodes else item.node

    def rows(self) -> list[FolderRow]:
        seen = {body.node: (body, pose) for body, pose in self._placed_seen}
        nodes = [self._node(body) for body, _ in self._placed_told]
        pairs = [
            (body, pose, *seen[node])
            for (body, pose), node in zip(self._placed_told, nodes, strict=True)
            if node in seen
        ]
        rows: list[FolderRow] = []
        if pairs:
            mine, theirs = np.array([p[1] for p in pairs]), np.array([p[3] for p in pairs])
            rows.append((_LABEL + "poses at the start", _most(transform_differences(mine, theirs))))
        # A mass that is not positive, or a moment of no real thing, is what some formats cannot say.
        heavy = [(a, b) for a, _, b, _ in pairs if a.mass > 0.0 and id(a) not in self.approximated]
        heavy = list(compress(heavy, _sound([a for a, _ in heavy])))
        if heavy:
            errors = inertia_differences([a for a, _ in heavy], [b for _, b in heavy])
            rows.append((_LABEL + "masses, centres of mass and inertias", _most(errors)))
            rows.append((_LABEL + "velocities", self._velocities(seen)))
        rows += self._joints()
        rows.append((_LABEL + "shapes", self._shapes()))
        return rows

    @cached_property
    def _placed_told(self) -> list[_Placed]:
        return [placed for world in self.told.worlds for placed in _placed(world)]

    @cached_property
    def _placed_seen(self) -> list[_Placed]:
        return [placed for world in self.native.worlds for placed in _placed(world)]

    def _velocities(self, seen: dict[int, tuple[Body, np.ndarray]]) -> float:
        """Velocities of bodies, from joints, or their own where the format has bodies say them."""
        has_own = any(body.state is not None for world in self.native.worlds for body in world.bodies())
        mine, theirs = (_twists(scene, has_own) for scene in (self.told, self.native))
        worst = 0.0
        if not mine and not theirs:
            return worst
        for world in self.told.worlds:
            for model in world.models:
                plain = all(j.kind in self.kinds or j.kind == "free" for j in model.joints) and not model.static
                for body in model.bodies if plain else ():
                    other = seen.get(self._node(body))
                    if other is not None:
                        worst = max(
                            worst, relative_difference(mine.get(id(body), _REST), theirs.get(id(other[0]), _REST))
                        )
        return worst

    def _joints(self) -> list[FolderRow]:
        """Joints that the format has a word for are there, between the same bodies, about the same axes."""
        seen = {joint.node: joint for world in self.native.worlds for joint in world.joints() if not joint.implicit}
        holds, limits = 0.0, 0.0
        for world in self.told.worlds:
            for model in world.models:
                for joint in model.joints:
                    if joint.kind in self.kinds and not model.static and not self._has_no_element(joint):
                        other = seen.get(self._node(joint))
                        holds = max(holds, np.inf if other is None else self._gap(joint, other))
                        limits = max(limits, 0.0 if other is None else self._limits(joint, other))
        return [(_LABEL + "joints", holds), (_LABEL + "limits", limits)]

    def _limits(self, joint: Joint, other: Joint) -> float:
        """Limits of single axes; those of several can change places, and a stop is counted from the start."""
        if len(joint.motion) != 1 or joint.kind != other.kind or joint.drives:
            return 0.0
        start = joint.dofs[0].position
        wanted = [bound - start for bound in joint.dofs[0].position_limits]
        found = [bound - other.dofs[0].position for bound in other.dofs[0].position_limits]
        # ODE's stops beyond half a turn have no effect, and are read as none.
        beyond = joint.kind == "revolute" and any(np.isfinite(v) and abs(v) >= np.pi for v in wanted)
        # Neither have two that leave nothing between them.
        off = found == [-np.inf, np.inf] and (wanted[0] == np.inf or wanted[1] == -np.inf)
        return 0.0 if beyond or off else relative_difference(wanted, found)

    def _shapes(self) -> float:
        seen = {s.node: s for world in self.native.worlds for body in world.bodies() for s in body.shapes}
        worst = 0.0
        for world in self.told.worlds:
            for body in world.bodies():
                for shape in body.shapes:
                    other = seen.get(self._node(shape))
                    if other is None:
                        continue
                    if shape.kind == other.kind and shape.kind not in _PLACED_ELSEWHERE:
                        worst = max(worst, _fields(shape, other, ("geometry", "pose")))
                    elif shape.kind == "mesh" and other.kind == "trimesh":
                        worst = max(worst, relative_difference(shape.geometry.bounds(), other.geometry.bounds()))
        return max(worst, self._planes())

    def _planes(self) -> float:
        """Planes of moving bodies stand in the root frame, where the bodies are at the start."""
        found = [_standing(pose, shape) for body, pose in self._placed_seen for shape in body.shapes]
        planes = [plane for plane in found if plane is not None]
        worst = 0.0
        for body, pose in self._placed_told:
            for shape in body.collisions:
                wanted = _standing(pose, shape)
                if wanted is not None:
                    worst = max(worst, min((relative_difference(wanted, plane) for plane in planes), default=np.inf))
        return worst

    def _has_no_element(self, joint: Joint) -> bool:
        return (joint.implicit and joint.kind == "free") or (joint.loop and self._node(joint) < 0)

    def _gap(self, joint: Joint, other: Joint) -> float:
        ends = {self._node(joint.child), self._node(joint.parent)}
        if joint.kind != other.kind or ends != {_own_node(other.child), _own_node(other.parent)}:
            return np.inf
        if self._node(joint.child) != _own_node(other.child):
            return 0.0  # the same hold, seen from the other side
        if _stated_hold(joint) == _stated_hold(other) and joint.swapped == other.swapped:
            return 0.0
        mine, theirs = joint.axes, other.axes
        if joint.swapped != other.swapped:
            theirs = theirs[::-1]
        if len(mine) == len(theirs) == 2 and any(joint.positions):
            # Away from zero positions only one of the axes is still where it was in the child.
            side = 0 if joint.swapped else 1
            mine, theirs = mine[side : side + 1], theirs[side : side + 1]
        return _hold_gap(_with_axes(joint, mine), _with_axes(other, theirs))


_LABEL = "without exoskel's data: "
_REST = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def _twists(scene: Scene, has_own: bool) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for world in scene.worlds:
        own = stated_twists(world.bodies()) if has_own else None
        found |= initial_twists(world.models, Kinematics(world.models), own)
    return found


def _standing(pose: np.ndarray, shape: Shape) -> tuple[float, ...] | None:
    """A plane in the root frame, as normal and offset."""
    if not isinstance(shape.geometry, Plane):
        return None
    place = pose @ shape.pose.matrix()
    normal = place[:3, :3] @ np.array(shape.geometry.normal)
    return (*normal.tolist(), shape.geometry.offset + float(normal @ place[:3, 3]))


_PLACED_ELSEWHERE = ("plane", "mesh", "trimesh")
"""Shapes whose place or kind is not told in the same words: planes stand in the root frame."""


def _sound(bodies: Sequence[Body]) -> list[bool]:
    """Whether the moment of each body is one that matter has."""
    tensors = spatial.moment_matrix(moments(bodies))
    found: list[bool] = [False] * len(bodies)
    finite = np.flatnonzero(np.isfinite(tensors).all(axis=(1, 2)))
    lowest = np.linalg.eigvalsh(tensors[finite])[:, 0]
    for place, is_positive in zip(finite.tolist(), (lowest > 0.0).tolist(), strict=True):
        found[place] = is_positive
    return found


_Placed = tuple[Body, np.ndarray]


def _placed(world: World) -> list[_Placed]:
    return list(zip(world.bodies(), Kinematics(world.models).poses(), strict=True))


def _with_axes(joint: Joint, axes: tuple[Vector, ...]) -> Joint:
    return Joint(name=joint.name, kind=joint.kind, child=joint.child, pose=joint.pose, axes=axes, order=joint.order)


def _own_node(body: Body | None) -> int:
    return -1 if body is None else body.node
