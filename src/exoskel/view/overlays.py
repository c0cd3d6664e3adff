"""What is drawn over a scene: joint axes, inertia, contact forces, tendons and constraints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import floor, log10

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.diagnostics import pluralize
from exoskel.engines.interface import Contact
from exoskel.scene.body import Body
from exoskel.scene.equality import Equality, known_equalities
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import plane_frames
from exoskel.scene.pose import IDENTITY, ZERO, Vector, pose_matrices, vector_from_array
from exoskel.scene.shape import Sphere
from exoskel.scene.summary import moments
from exoskel.scene.tendon import TendonParts, known_tendons
from exoskel.scene.world import World
from exoskel.source.surface import Surfaces
from exoskel.spatial import Array
from exoskel.view import lighting
from exoskel.view.render_scene import InstanceBatch, compose_poses
from exoskel.view.surfaces import PoseRows

MASS, CENTRE = "mass", "centre"
MAX_LABELS = 60
_CENTRE_SIZE = 0.012
"""The diameter of the spheres at centres of mass, as a fraction of the scene's size."""


class Arrows(Struct):
    """Arrows fixed to bodies: the body of each arrow, and its two ends in that body's frame, `(n, 3)` each."""

    bodies: NDArray[np.intp]
    tails: Array
    heads: Array

    def world_points(self, poses: PoseRows) -> PoseRows:
        """Both ends of each arrow in the world, `(n, 2, 3)`."""
        outer = poses[self.bodies]
        return np.stack([_transform_points(outer, self.tails), _transform_points(outer, self.heads)], axis=1)


def _transform_points(outer: PoseRows, points: Array) -> PoseRows:
    inner = np.zeros((len(points), 7), dtype=outer.dtype)
    inner[:, :3], inner[:, 3] = points, 1.0
    return compose_poses(outer, inner)[0]


def joint_axes(world: World, lengths: float | Array) -> Arrows:
    """The axes of all joints, as arrows centred at the joints; `lengths` in m, for all or for each child body."""
    number = {id(body): i for i, body in enumerate(world.bodies())}
    length = np.broadcast_to(np.asarray(lengths, dtype=np.float64), len(number))
    joints = [joint for joint in world.joints() if not joint.loop]
    frames = pose_matrices([joint.pose for joint in joints])
    bodies: list[int] = []
    tails: list[Array] = []
    heads: list[Array] = []
    for joint, frame in zip(joints, frames, strict=True):
        for axis in spatial.unit(np.array(_joint_directions(joint)).reshape(-1, 3)):
            half = frame[:3, :3] @ axis * (length[number[id(joint.child)]] / 2)
            bodies.append(number[id(joint.child)])
            tails.append(frame[:3, 3] - half)
            heads.append(frame[:3, 3] + half)
    ends = np.array([tails, heads]).reshape(2, -1, 3)
    return Arrows(np.array(bodies, dtype=np.intp), ends[0], ends[1])


def _joint_directions(joint: Joint) -> Sequence[Sequence[float]]:
    if joint.kind == "euler":
        return [np.eye(3)["xyz".index(name)].tolist() for name in joint.order]
    if joint.kind in ("planar", "translational2d"):
        return [direction[0].tolist() for direction in plane_frames([joint])[:2]]
    return joint.axes


class BodyLines(Struct):
    """Straight lines between bodies: the bodies of both ends `(n, 2)`, -1 for the world, and the points there."""

    bodies: NDArray[np.intp]
    points: Array

    def world_points(self, poses: PoseRows) -> PoseRows:
        """Both ends of each line in the world, `(n, 2, 3)`."""
        numbers = self.bodies.ravel()
        rows = poses[numbers]
        rows[numbers < 0] = _WORLD_POSE
        return _transform_points(rows, self.points.reshape(-1, 3)).reshape(-1, 2, 3)


_WORLD_POSE = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
_End = tuple[int, Vector]
"""The number of a body, -1 for the world, and a point in its frame."""


def _body_lines(ends: Sequence[tuple[_End, _End]]) -> BodyLines:
    bodies = [(one[0], other[0]) for one, other in ends]
    points = [(one[1], other[1]) for one, other in ends]
    return BodyLines(np.array(bodies, dtype=np.intp).reshape(-1, 2), np.array(points).reshape(-1, 2, 3))


def tendon_lines(world: World) -> BodyLines:
    """The lines of all spatial tendons; shapes that they wrap around do not bend them, and pulleys interrupt them."""
    number = {id(body): i for i, body in enumerate(world.bodies())}
    sites = TendonParts(world.models if world.tendons else ()).sites
    lines: list[tuple[_End, _End]] = []
    for tendon in known_tendons(world.tendons, world.models):
        before: _End | None = None
        for point in tendon.path:
            if point.divisor:
                before = None
            elif point.site:
                _, body, marker = sites[point.site]
                here = (number[id(body)], marker.offset)
                if before is not None:
                    lines.append((before, here))
                before = here
    return _body_lines(lines)


def constraint_lines(world: World) -> BodyLines:
    """The lines of loops, and of equality constraints between bodies, sites or joints.

    A line leads from the origin of a body to its connected point, to that of the other body, and to its origin.  The
    connected points of a constraint that holds are at the same place.  Constraints that are not active have no lines.
    """
    found = known_equalities([one for one in world.equalities if one.active], world.models, world.tendons)
    loops = [joint for joint in world.joints() if joint.loop]
    if not found and not loops:
        return _body_lines([])
    parts = _ConnectedParts(world)
    lines: list[tuple[_End, _End]] = []
    for ends in (*map(parts.loop_ends, loops), *map(parts.ends, found)):
        if ends is not None:
            path = [(ends[0][0], ZERO), *ends, (ends[1][0], ZERO)]
            lines += [(a, b) for a, b in pairwise(path) if a != b and (a[0] >= 0 or b[0] >= 0)]
    return _body_lines(lines)


class _ConnectedParts:
    """The points that loops and equality constraints connect."""

    def __init__(self, world: World) -> None:
        parts = TendonParts(world.models)
        self._sites, self._joints = parts.sites, parts.joints
        self._number = {id(body): i for i, body in enumerate(world.bodies())}
        rows = [(model, body) for model in world.models for body in model.bodies]
        self._bodies = {qualified_name(model.name, body.name): body for model, body in rows}
        self._zero = {id(body): model.pose @ body.pose for model, body in rows}
        """The poses of bodies at zero joint positions."""

    def loop_ends(self, joint: Joint) -> tuple[_End, _End]:
        """The points of the child and of the parent that a loop keeps together."""
        point = joint.pose.position
        return self._end(joint.child, point), self._end(joint.parent, self._moved(point, joint.child, joint.parent))

    def ends(self, equality: Equality) -> tuple[_End, _End] | None:
        """The points of both sides of a constraint; None if it has no places."""
        match equality.target_kind:
            case "site":
                return self._site_end(equality.target), self._site_end(equality.other)
            case "joint" if equality.other:
                return self._joint_end(equality.target), self._joint_end(equality.other)
            case "body":
                target, other = (self._bodies.get(path) for path in (equality.target, equality.other))
                point, other_point = self._connected_points(equality, target, other)
                return self._end(target, point), self._end(other, other_point)
        return None

    def _site_end(self, path: str) -> _End:
        _, body, marker = self._sites[path]
        return self._end(body, marker.offset)

    def _joint_end(self, path: str) -> _End:
        joint = self._joints[path]
        return self._end(joint.child, joint.pose.position)

    def _end(self, body: Body | None, point: Vector) -> _End:
        return (-1 if body is None else self._number[id(body)]), point

    def _moved(self, point: Vector, from_body: Body | None, to_body: Body | None) -> Vector:
        """A point of a body in the frame of another one, at zero joint positions."""
        place, other = (IDENTITY if body is None else self._zero[id(body)] for body in (from_body, to_body))
        return vector_from_array((other.inverse() @ place).apply(point))

    def _connected_points(self, equality: Equality, target: Body | None, other: Body | None) -> tuple[Vector, Vector]:
        """The points of a constraint between bodies, in the frames of the target and of the other."""
        if equality.kind == "connect":
            return equality.anchor, self._moved(equality.anchor, target, other)
        if equality.pose is not None:
            return equality.pose.position, equality.anchor
        return self._moved(equality.anchor, other, target), equality.anchor


def inertia_batches(bodies: Sequence[Body], numbers: Iterable[int], size: float) -> list[InstanceBatch]:
    """The inertia of bodies, given by number: equivalent ellipsoids of uniform density, and centres of mass.

    `size` is the size of the scene in m.
    """
    heavy = [i for i in numbers if bodies[i].mass > 0.0 and np.isfinite(bodies[i].mass)]
    if not heavy:
        return []
    chosen = [bodies[i] for i in heavy]
    mass = np.array([body.mass for body in chosen])
    tensors = np.nan_to_num(spatial.moment_matrix(moments(chosen)))
    values, vectors = np.linalg.eigh(tensors)
    vectors[np.linalg.det(vectors) < 0.0, :, 0] *= -1.0
    # The moments of a solid ellipsoid are m (b² + c²) / 5 and so on; solve for the squares of the half axes.
    squares = 2.5 * (values.sum(axis=1, keepdims=True) - 2.0 * values) / mass[:, None]
    scales = 2.0 * np.sqrt(np.clip(squares, 0.0, None))
    local = spatial.pose7(spatial.transform(vectors, np.array([body.com for body in chosen])))
    ball = Surfaces().of(Sphere(0.5))
    assert ball is not None
    which, count = np.array(heavy, dtype=np.intp), len(heavy)
    dots = np.full((count, 3), _CENTRE_SIZE * size)
    clear, solid = (np.tile(color, (count, 1)) for color in (lighting.MASS, (*lighting.MASS[:3], 1.0)))
    return [
        InstanceBatch("inertia", MASS, ball, which, local.astype(np.float32), scales, clear),
        InstanceBatch("centres", CENTRE, ball, which, local.astype(np.float32), dots, solid),
    ]


class ForceScale:
    """The scale of contact forces: a force of `force` N is an arrow of `length` m.

    It grows to a round number if a force is stronger than all before, and stays otherwise, so that arrows of different
    times can be compared.  `strengths` are the forces of the contacts that were drawn last, N.
    """

    def __init__(self, length: float) -> None:
        self.length, self.force = length, 0.0
        self.strengths: Array = np.zeros(0)

    def arrows(self, contacts: Sequence[Contact]) -> Array:
        """Contact forces as arrows from the points of contact, `(n, 2, 3)`.

        If the engine reports no forces, or all are zero, contact normals are drawn at a third of the length.
        """
        points = np.array([contact.position for contact in contacts]).reshape(-1, 3)
        forces = np.array([contact.force for contact in contacts]).reshape(-1, 3)
        self.strengths = np.linalg.norm(forces, axis=1)
        strongest = float(self.strengths.max(initial=0.0))
        if not np.isfinite(strongest):
            strongest, forces, self.strengths = 0.0, np.zeros_like(forces), np.zeros(len(forces))
        if strongest > self.force:
            self.force = _round_up(strongest)
        if strongest > 0.0:
            return np.stack([points, points + forces * (self.length / self.force)], axis=1)
        normals = np.array([contact.normal for contact in contacts]).reshape(-1, 3)
        return np.stack([points, points + normals * (self.length / 3)], axis=1)

    @property
    def legend(self) -> str:
        """One line about the contacts that were drawn last and the scale of their arrows."""
        count = pluralize(len(self.strengths), "contact")
        if not self.force:
            return count
        return (
            f"{count}, strongest force {force_text(float(self.strengths.max(initial=0.0)))}; "
            f"an arrow of {self.length:.2g} m is {force_text(self.force)}"
        )


def force_text(force: float) -> str:
    """A force with three digits, in N or kN."""
    return f"{force / 1000.0:.3g} kN" if force >= 999.5 else f"{force:.3g} N"


def _round_up(value: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** floor(log10(value))
    return next((factor * power for factor in (1.0, 2.0, 5.0) if factor * power >= value), 10.0 * power)


def spread_points(points: PoseRows, distance: float, most: int = MAX_LABELS) -> list[int]:
    """The numbers of at most `most` points that are at least `distance` m apart, earlier ones first."""
    chosen: list[int] = []
    for number, point in enumerate(points):
        if len(chosen) == most:
            break
        if not chosen or np.linalg.norm(points[chosen] - point, axis=1).min() >= distance:
            chosen.append(number)
    return chosen
