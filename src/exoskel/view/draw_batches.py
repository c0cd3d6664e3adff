"""What there is to see of a world: shapes of one kind together, as copies of one surface.

Nothing here knows how it is drawn.  Thousands of boxes are one batch, and moving them is one piece of array work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.scene.body import Body
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.up_axis import nearest_up_axis
from exoskel.scene.pose import Pose, pose_matrices
from exoskel.scene.shape import Box, Color, Cylinder, Geometry, Mesh, Plane, Ray, Shape, kind_of
from exoskel.scene.world import Model, World
from exoskel.source.gc_pause import garbage_collection_paused
from exoskel.source.surface import Surface, Surfaces, unit_geometry
from exoskel.spatial import Array
from exoskel.view import palette
from exoskel.view.camera import corners_of, size_of

VISUAL, COLLISION = "visual", "collision"
_MOST_COLORS = 12
"""How many colours of a mesh file are drawn; one with more gets their mean."""
_WIDE = 4.0
"""A thing that stands still and is so many times wider than what moves is ground, not subject."""
_UNIT = (1.0, 1.0, 1.0)
_EMPTY = 0.5
"""Half the edge of what a camera shows of a world with nothing in it, m."""
_STAND_IN_SHARE, _STAND_IN = 0.08, 0.1
"""The edge of a cube for a mesh of unknown size, as a share of the scene's, and in m where there is nothing else."""
_FURTHEST = 1e30
_FAR = 1e3
"""Bodies whose distance to the origin is so many times that between them need more than single precision."""
Rows = NDArray[np.floating[Any]]
"""Poses as x y z qw qx qy qz: in single precision, which is what pictures need, unless they are far away."""


class Batch(Struct):
    """Copies of one surface: which body (by number) each belongs to, where it sits there, its size and colour.

    `local` are rows of x y z qw qx qy qz in the body's frame, `scales` factors along the surface's own axes.
    """

    name: str
    role: str
    surface: Surface
    bodies: NDArray[np.intp]
    local: Rows
    scales: Array
    colors: Array

    @property
    def is_clear(self) -> bool:
        """Whether one sees through it."""
        return bool((self.colors[:, 3] < 1.0).any())

    def placed(self, poses: Rows) -> tuple[Rows, Rows]:
        """Positions and quaternions in the world, given the poses `(bodies, 7)` of all bodies."""
        return compose(poses[self.bodies], self.local)

    def boxes(self, poses: Rows) -> Array:
        """The corners of the boxes around all copies, `(n, 8, 3)`, in the world."""
        corners = corners_of(self.surface.vertices.min(axis=0), self.surface.vertices.max(axis=0))
        positions, quaternions = self.placed(poses)
        own = corners[None] * self.scales[:, None]
        turned: Array = np.einsum("nij,ncj->nci", spatial.quaternion_matrix(quaternions), own)
        return turned + positions[:, None]


class BatchGap(Struct, frozen=True):
    """A mesh that cannot be shown, and why; `shape` is what a placeholder stands for."""

    body: Body
    shape: Shape
    reason: str


class DrawBatches:
    """Everything to be seen of a world.

    `batches` cover all shapes; `gaps` tell of missing meshes; `up` is against gravity; `ground` is the height that
    the ground is drawn at, m; `low` and `high` are the corners of the box around what a camera should show.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.up = nearest_up_axis(world.gravity)
        self.bodies = list(world.bodies())
        self.names = [(model.name, body.name) for model in world.models for body in model.bodies]
        self.initial = _bounded(spatial.pose7(np.nan_to_num(Kinematics(world.models).poses())))
        self.is_static = np.array([_holds_still(model) for model in world.models for _ in model.bodies], dtype=bool)
        self.gaps: list[BatchGap] = []
        self.floors: list[float] = []
        self._surfaces = Surfaces()
        self._copies: dict[tuple[str, int, int, bool], _Copies] = {}
        with garbage_collection_paused():
            self._fill()
        self.batches = [copies.batch() for copies in self._copies.values()]
        self._size_stand_ins()
        self.is_empty = False
        self.low, self.high = self._bounds()
        self.ground = max(self.floors, default=self._lowest())

    @property
    def size(self) -> float:
        """The diagonal of what a camera should show, m."""
        return size_of(self.corners())

    # --- gathering ------------------------------------------------------------------------------------

    def _fill(self) -> None:
        number = 0
        for place, model in enumerate(self.world.models):
            default = palette.STATIC if _holds_still(model) else palette.MODELS[place % len(palette.MODELS)]
            for body in model.bodies:
                for shape in body.visuals or body.collisions:
                    self._add(VISUAL, number, body, shape, shape.color or default)
                for shape in body.collisions:
                    self._add(COLLISION, number, body, shape, palette.COLLISION)
                if body.soft is not None and body.soft.geometry is not None:
                    skin = Shape(geometry=body.soft.geometry, pose=body.soft.pose)
                    self._add(VISUAL, number, body, skin, palette.SKIN)
                number += 1

    def _add(self, role: str, number: int, body: Body, shape: Shape, color: Color) -> None:
        geometry, pose = shape.geometry, shape.pose
        if isinstance(geometry, Plane):
            if self._is_floor(number, shape):
                return
            color = (*color[:3], palette.PLANE_SHARE)
        if isinstance(geometry, Ray):
            pose = _ahead(pose, geometry.length / 2)
            geometry = _as_rod(geometry)
        scale: Sequence[float]
        stands_in = False
        plain, scale = unit_geometry(geometry)
        if min(scale) < 0.0:  # a mirrored copy would be inside out
            plain, scale = geometry, _UNIT
        surface = self._surfaces.of(plain)
        if surface is None:
            self.gaps.append(BatchGap(body, shape, self._surfaces.missing.get(plain, "")))
            plain, scale, pose = _placeholder(geometry, pose)
            stands_in = scale == _UNIT
            surface, color = self._surfaces.of(plain), palette.PLACEHOLDER
        assert surface is not None
        own_colors = surface.colors is not None and shape.color is None and role == VISUAL
        for part, (piece, paint) in enumerate(_painted(surface) if own_colors else [(surface, color)]):
            key = (role, id(surface), part, paint[3] < 1.0)  # what one sees through is drawn apart
            if key not in self._copies:
                self._copies[key] = _Copies(f"{kind_of(plain)}_{len(self._copies)}", role, piece)
            self._copies[key].add(number, pose, scale, paint, stands_in)

    def _is_floor(self, number: int, shape: Shape) -> bool:
        """Whether a plane is level; then the ground is drawn in its place."""
        assert isinstance(shape.geometry, Plane)
        pose = self.initial[number]
        turn = spatial.quaternion_matrix(pose[3:])
        placed = pose_matrices([shape.pose])[0]
        normal = turn @ placed[:3, :3] @ np.array(shape.geometry.normal)
        if normal @ np.array(self.up) < 1.0 - 1e-6:
            return False
        point = placed[:3, :3] @ np.array(shape.geometry.normal) * shape.geometry.offset + placed[:3, 3]
        self.floors.append(float((turn @ point + pose[:3]) @ np.array(self.up)))
        return True

    def _size_stand_ins(self) -> None:
        """Make cubes for meshes of unknown size neither specks nor walls beside the rest."""
        chosen = [copies.stand_ins for copies in self._copies.values()]
        if not any(chosen):
            return
        known = [self.initial[:, :3]]
        for batch, stand_ins in zip(self.batches, chosen, strict=True):
            if not _is_endless(batch):
                known.append(np.delete(batch.boxes(self.initial), stand_ins, axis=0).reshape(-1, 3))
        points = np.concatenate(known)
        extent = float(np.linalg.norm(np.ptp(points[np.isfinite(points).all(axis=1)], axis=0)))
        for batch, stand_ins in zip(self.batches, chosen, strict=True):
            batch.scales[stand_ins] = _STAND_IN_SHARE * extent if extent > 0.0 else _STAND_IN

    # --- bounds ---------------------------------------------------------------------------------------

    def _bounds(self) -> tuple[Array, Array]:
        """The box around what moves, and around what stands still unless it is ground that dwarfs the rest."""
        moving, still = self._boxes(static=False), self._boxes(static=True)
        if not len(moving):
            moving, still = still, moving
        if not len(moving):
            self.is_empty = True
            return np.full(3, -_EMPTY), np.full(3, _EMPTY)
        low, high = moving.min(axis=(0, 1)), moving.max(axis=(0, 1))
        room = _WIDE * max(float(np.linalg.norm(high - low)), 1e-6)
        subject = np.ptp(still, axis=1).max(axis=1, initial=0.0) <= room if len(still) else np.empty(0, dtype=bool)
        everything = np.concatenate([moving, still[subject]]) if subject.any() else moving
        return everything.min(axis=(0, 1)), everything.max(axis=(0, 1))

    def _boxes(self, *, static: bool) -> Array:
        parts = [
            batch.boxes(self.initial)[self.is_static[batch.bodies] == static]
            for batch in self.batches
            if batch.role == VISUAL and not _is_endless(batch)
        ]
        found = np.concatenate(parts) if parts else np.empty((0, 8, 3))
        return found[np.isfinite(found).all(axis=(1, 2))]

    def _lowest(self) -> float:
        """The height of the lowest point of all."""
        every = np.concatenate([self._boxes(static=False), self._boxes(static=True)])
        return float((every @ np.array(self.up)).min()) if len(every) else 0.0

    def moved(self, origin: Array) -> DrawBatches:
        """The same with another place as the origin; shapes and bodies are shared."""
        other = copy(self)
        other.initial = self.initial.copy()
        other.initial[:, :3] -= origin
        other.low, other.high = self.low - origin, self.high - origin
        other.ground = self.ground - float(origin @ np.array(self.up))
        return other

    def corners(self) -> Array:
        return corners_of(self.low, self.high)

    def of_role(self, role: str) -> Iterator[Batch]:
        return (batch for batch in self.batches if batch.role == role)


class _Copies:
    """A batch in the making."""

    def __init__(self, name: str, role: str, surface: Surface) -> None:
        self.name, self.role, self.surface = name, role, surface
        self.bodies: list[int] = []
        self.poses: list[Pose] = []
        self.scales: list[Sequence[float]] = []
        self.colors: list[Color] = []
        self.stand_ins: list[int] = []
        """Those that stand for something of unknown size."""

    def add(self, body: int, pose: Pose, scale: Sequence[float], color: Color, stands_in: bool) -> None:
        self.stand_ins += [len(self.bodies)] if stands_in else []
        self.bodies.append(body)
        self.poses.append(pose)
        self.scales.append(scale)
        self.colors.append(color)

    def batch(self) -> Batch:
        return Batch(
            self.name,
            self.role,
            self.surface,
            np.array(self.bodies, dtype=np.intp),
            spatial.pose7(pose_matrices(self.poses)).astype(np.float32),
            np.array(self.scales, dtype=np.float64),
            np.array(self.colors, dtype=np.float64),
        )


def compose(outer: Rows, inner: Rows) -> tuple[Rows, Rows]:
    """Poses in poses, both rows of x y z qw qx qy qz: positions and quaternions.

    Written out by columns: this is done for every picture, and takes a tenth of the time of the general functions.
    """
    (px, py, pz, w, x, y, z), (qx, qy, qz, iw, ix, iy, iz) = outer.T, inner.T
    tx, ty, tz = 2 * (y * qz - z * qy), 2 * (z * qx - x * qz), 2 * (x * qy - y * qx)
    positions = np.empty((len(outer), 3), dtype=outer.dtype)
    positions[:, 0] = px + qx + w * tx + (y * tz - z * ty)
    positions[:, 1] = py + qy + w * ty + (z * tx - x * tz)
    positions[:, 2] = pz + qz + w * tz + (x * ty - y * tx)
    quaternions = np.empty((len(outer), 4), dtype=outer.dtype)
    quaternions[:, 0] = w * iw - x * ix - y * iy - z * iz
    quaternions[:, 1] = w * ix + x * iw + y * iz - z * iy
    quaternions[:, 2] = w * iy - x * iz + y * iw + z * ix
    quaternions[:, 3] = w * iz + x * iy - y * ix + z * iw
    return positions, quaternions


def compact(poses: Rows) -> Rows:
    """Poses `(..., bodies, 7)` in single precision, unless that would tear apart what is far away."""
    poses = _bounded(poses)
    places = poses[..., :3].reshape(-1, 3)
    if len(places) and np.abs(places).max() > _FAR * np.ptp(places, axis=0).max():
        return poses.astype(np.float64)
    return poses.astype(np.float32)


def _bounded(poses: Array | Rows) -> Any:
    """Poses whose squares are numbers still: what is further away is nowhere to be seen anyhow."""
    return np.clip(poses, -_FURTHEST, _FURTHEST)


def grid_cell(size: float) -> float:
    """How far apart the finer lines on the ground are in a scene of such a size, m."""
    return float(10.0 ** np.floor(np.log10(size / 3)))


def _holds_still(model: Model) -> bool:
    return model.static or all(joint.kind == "weld" and joint.parent is None for joint in model.joints)


def _is_endless(batch: Batch) -> bool:
    return batch.name.startswith("plane")


def _as_rod(ray: Ray) -> Geometry:
    return Cylinder(ray.length / 100, ray.length)


def _ahead(pose: Pose, distance: float) -> Pose:
    placed = pose_matrices([pose])[0]
    placed[:3, 3] += distance * placed[:3, 2]
    return Pose.from_matrix(placed)


def _placeholder(geometry: Geometry, pose: Pose) -> tuple[Geometry, Sequence[float], Pose]:
    """A box of the size that is known of a mesh, else a cube whose size is found when the rest is known."""
    bounds = geometry.bounds() if isinstance(geometry, Mesh) else None
    if bounds is None:
        return Box(_UNIT), _UNIT, pose
    low, high = np.array(bounds)
    placed = pose_matrices([pose])[0] @ spatial.transform(np.eye(3), (low + high) / 2)
    return Box(_UNIT), (high - low).tolist(), Pose.from_matrix(placed)


def _painted(surface: Surface) -> list[tuple[Surface, Color]]:
    """The parts of a surface by colour."""
    assert surface.colors is not None
    faces = surface.colors[surface.triangles].mean(axis=1)
    colors, number = np.unique(faces.round(3), axis=0, return_inverse=True)
    number = number.ravel()
    if len(colors) > _MOST_COLORS:
        return [(surface, _color(surface.colors.mean(axis=0)))]
    return [(_part(surface, number == i), _color(color)) for i, color in enumerate(colors)]


def _part(surface: Surface, chosen: NDArray[np.bool_]) -> Surface:
    kept, triangles = np.unique(surface.triangles[chosen], return_inverse=True)
    return Surface(surface.vertices[kept], surface.normals[kept], triangles.reshape(-1, 3))


def _color(values: Array) -> Color:
    r, g, b, a = values.tolist()
    return (r, g, b, a)
