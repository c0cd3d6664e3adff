"""Shapes as MuJoCo's geoms; shapes without a primitive become convex meshes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.array_cache import kept_for_content
from exoskel.scene.pose import IDENTITY, Vector, pose_matrices
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Mesh,
    MultiSphere,
    Plane,
    Pyramid,
    Ray,
    Shape,
    Sphere,
    TriMesh,
    simplest_geometry,
)
from exoskel.source import surface
from exoskel.source.meshes import MeshFiles, Triangles
from exoskel.source.surface import faces_with_area, is_convex
from exoskel.spatial import Array

_AssetMaker = Callable[[Shape, str], list[str]]
"""Adds the assets of a shape, and returns their names."""
_THICKNESS = 0.5
"""The thickness of a slab, relative to the shortest edge of its triangle."""
_SHEET = 1e-3
"""The thickness of a flat mesh, relative to its size."""
_FLAT = 1e-9
"""The thickness from which a mesh is flat, relative to its size."""


@kept_for_content
def is_flat(vertices: Array) -> bool:
    """Whether all points lie in a plane: MuJoCo does not accept such meshes."""
    extents = np.linalg.svd(_centred(vertices), compute_uv=False)
    return bool(len(extents) < 3 or extents[2] <= _FLAT * extents[0])


def _centred(vertices: Array) -> Array:
    """The points around their mean, scaled to a size of 1: sums of large numbers overflow."""
    scaled = vertices / (float(np.abs(vertices).max()) or 1.0)
    centred: Array = scaled - scaled.mean(axis=0)
    return centred


def thicken(vertices: Array) -> Array:
    """The points; if they are flat, with copies a little behind them, so that they have a hull."""
    if not is_flat(vertices):
        return vertices
    *_, axes = np.linalg.svd(_centred(vertices), full_matrices=False)
    return np.vstack([vertices, vertices - _SHEET * np.ptp(vertices, axis=0).max() * axes[2]])


def thick_sheet(vertices: Array, triangles: Triangles) -> tuple[Array, Triangles]:
    """The points and faces of a mesh; those of a flat one also a little behind it: see `thicken`."""
    points = thicken(vertices)
    if len(points) == len(vertices):
        return vertices, triangles
    return points, np.vstack([triangles, triangles[:, ::-1] + len(vertices)])


def slabs(vertices: Array, triangles: Triangles) -> Array:
    """The corners of a slab behind each triangle, `(n, 6, 3)`, except for triangles without area."""
    corners, normals = faces_with_area(vertices, triangles)
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    depth = _THICKNESS * edges.min(axis=1)
    behind = corners - (depth[:, None] * normals)[:, None, :]
    return np.concatenate([corners, behind], axis=1)


# --- geoms ---------------------------------------------------------------------------------------------


TORSION, ROLLING = 0.005, 0.0001
"""Torsional and rolling friction, m: MuJoCo's defaults, which three-dimensional contacts do not use."""
_Primitive = tuple[str, Callable[[Any], tuple[float, ...]]]
"""MuJoCo's type of a geometry, and its size."""
_ShapePose = tuple[Array, list[float], list[float]]
"""The pose of a shape in its body, and its position and quaternion."""
_IDENTITY: _ShapePose = (np.eye(4), [], [])
"""The pose of a shape without an offset from its body."""
DEFAULT_BITS = (1, 1)
"""MuJoCo's default of `contype` and `conaffinity`."""
MIN_VERTICES = 4
"""MuJoCo rejects meshes with fewer points."""
_SIDES = 32
"""The number of sides of a round surface."""


@kept_for_content
def vertex_values(vertices: Array) -> tuple[float, ...]:
    """The coordinates of all vertices without rounding errors, for the attribute `vertex`."""
    return tuple(spatial.without_noise(vertices, np.abs(vertices).max(initial=0.0)).ravel().tolist())


@kept_for_content
def hull_values(vertices: Array) -> tuple[float, ...]:
    """The coordinates of points whose convex hull has a volume, for the attribute `vertex`: see `thicken`."""
    return vertex_values(thicken(vertices))


class GeomWriter:
    """Adds geoms to bodies, and collects the mesh assets they need.

    `shapes` are all that will be added; `contact` is the time constant (s) and damping ratio of contacts,
    `friction` their coefficient, which overrides that of the shapes.
    """

    primitives: Mapping[type, _Primitive]
    """The geometries that are written as they are, with MuJoCo's types and sizes."""
    keeps_plane_axes = False
    """Whether planes keep their x axis, because they were read from MJCF."""

    def __init__(self, shapes: Sequence[Shape], contact: tuple[float, float], friction: float | None = None) -> None:
        placed = [shape for shape in shapes if shape.pose is not IDENTITY]
        self._poses = _shape_poses([shape for shape in placed if not shape.pose.is_identity]) if placed else {}
        self.common: dict[str, Value] = {
            "mass": 0.0,
            "solref": contact,
            "friction": (1.0 if friction is None else friction, TORSION, ROLLING),
        }
        """The defaults of all geoms: masses are stated with the bodies."""
        self.friction = friction
        self.primitives = PRIMITIVES
        self._ranks = self._rank(shapes) if friction is None else {}
        self.assets: list[MjcfElement] = []
        self._meshes = MeshFiles()
        self._shared_assets: dict[tuple[_AssetMaker, Mesh], list[str]] = {}
        """The assets of mesh files that became slabs or hulls: many shapes may share a large one."""

    def add(self, body: MjcfElement, shape: Shape, name: str, bits: tuple[int, int], fixed: bool) -> None:
        """Add the geoms of a shape to a body."""
        for given in self.geoms(shape, name, bits, fixed):
            body.children.append(MjcfElement("geom", given, item=shape))

    @property
    def has_ranks(self) -> bool:
        """Whether geoms have priorities, because some shapes state their friction."""
        return bool(self._ranks)

    def geoms(self, shape: Shape, name: str, bits: tuple[int, int], fixed: bool) -> list[dict[str, Value]]:
        """The geoms of a shape: one, none if it is not solid, many for a static (`fixed`) mesh with hollows."""
        pose, position, quaternion = self._poses.get(id(shape), _IDENTITY)
        geometry = simplest_geometry(shape.geometry)
        primitive = self.primitives.get(type(geometry))
        if primitive is not None:
            kind, size = primitive
            found: list[dict[str, Value]] = [{"name": name, "type": kind, "size": size(geometry)}]
        else:
            found = self._other_geoms(shape, name, pose, has_slabs=fixed and bool(bits[0]))
        for given in found:
            if position:
                given.setdefault("pos", position)
                given.setdefault("quat", quaternion)
            if bits != DEFAULT_BITS:
                given["contype"], given["conaffinity"] = bits
            if shape.friction is not None and self.friction is None:
                given["friction"] = (shape.friction, TORSION, ROLLING)
            if self._ranks and (rank := self._ranks.get(shape.friction)):
                given["priority"] = rank
            if shape.color is not None:
                given["rgba"] = shape.color
        return found

    def _rank(self, shapes: Sequence[Shape]) -> dict[float | None, int]:
        """Priorities of shapes by their friction: the lower coefficient of two applies, as in DART and ODE.

        MuJoCo would use the higher one.
        """
        stated = {shape.friction for shape in shapes if shape.friction is not None}
        if not stated:
            return {}
        order = sorted(stated | {1.0}, reverse=True)
        return {value: rank for rank, value in enumerate(order)} | {None: order.index(1.0)}

    def _other_geoms(self, shape: Shape, name: str, pose: Array, *, has_slabs: bool) -> list[dict[str, Value]]:
        """The attributes of the geoms of a plane or mesh.

        With `has_slabs`, a mesh that is not convex becomes slabs of its triangles: MuJoCo would fill its hollows.
        """
        parts = self._once(self._slab_assets, shape, name) if has_slabs else []
        if parts:
            return [{"name": f"{name}/{number}", "type": "mesh", "mesh": part} for number, part in enumerate(parts)]
        match shape.geometry:
            case Plane():
                return [{"name": name, **_plane(shape.geometry, pose, keeps_axes=self.keeps_plane_axes)}]
            case Ray():
                return []
            case _:
                return [{"name": name, "type": "mesh", "mesh": one} for one in self._mesh(shape, name)[:1]]

    def _slab_assets(self, shape: Shape, name: str) -> list[str]:
        found = self.triangles(shape)
        if found is None or len(found[1]) > surface.MAX_SLABS or is_convex(*found):
            return []
        return [self.asset(f"{name}/{number}", corners) for number, corners in enumerate(slabs(*found))]

    def _once(self, make: _AssetMaker, shape: Shape, name: str) -> list[str]:
        """The assets of a shape; those of a mesh file are made once for all shapes."""
        mesh = shape.geometry
        if not isinstance(mesh, Mesh) or mesh.path is None:
            return make(shape, name)
        key = (make, mesh)
        if key not in self._shared_assets:
            self._shared_assets[key] = make(shape, name)
        return self._shared_assets[key]

    def asset(self, name: str, vertices: Array) -> str:
        """Add the convex hull of points as a mesh asset; returns its name."""
        self.assets.append(MjcfElement("mesh", {"name": name, "vertex": vertex_values(vertices)}))
        return name

    def hull(self, name: str, mesh: TriMesh) -> str | None:
        """Add the convex hull of a mesh as an asset; returns its name, None if the mesh has too few points."""
        if len(mesh.vertices) < MIN_VERTICES:
            return None
        self.assets.append(MjcfElement("mesh", {"name": name, "vertex": hull_values(mesh.vertices)}))
        return name

    def triangles(self, shape: Shape) -> tuple[Array, Triangles] | None:
        """The points and faces of a mesh; None if it cannot be loaded."""
        return self._meshes.triangles(shape.geometry)

    def _mesh(self, shape: Shape, name: str) -> list[str]:
        """The asset of a shape without a primitive; empty if it has none."""
        return self._once(self._hull_asset, shape, name)

    def _hull_asset(self, shape: Shape, name: str) -> list[str]:
        vertices = self._vertices(shape)
        return [] if vertices is None or len(vertices) < MIN_VERTICES else [self.asset(name, thicken(vertices))]

    def _vertices(self, shape: Shape) -> Array | None:
        match shape.geometry:
            case Cone(radius=radius, height=height, centred=centred):
                base = -height / 2 if centred else 0.0
                return np.vstack([_circle(radius, base), [[0.0, 0.0, base + height]]])
            case Pyramid(width=w, depth=d, height=h):
                corners = [[x * w / 2, y * d / 2, -h / 2] for x in (-1, 1) for y in (-1, 1)]
                return np.array([*corners, [0.0, 0.0, h / 2]])
            case MultiSphere(spheres=spheres):
                points = _directions()
                return np.vstack([ball.radius * points + ball.position for ball in spheres]) if spheres else None
            case _:
                found = self.triangles(shape)
                return None if found is None else found[0]


def _shape_poses(shapes: Sequence[Shape]) -> dict[int, _ShapePose]:
    if not shapes:
        return {}
    poses = pose_matrices([shape.pose for shape in shapes])
    positions, quaternions = poses[:, :3, 3].tolist(), spatial.quaternion(poses[:, :3, :3]).tolist()
    return dict(zip(map(id, shapes), zip(poses, positions, quaternions, strict=True), strict=True))


def _half_extents(geometry: Any) -> tuple[float, ...]:
    x, y, z = geometry.size
    return (x / 2, y / 2, z / 2)


def _radius(geometry: Any) -> tuple[float, ...]:
    return (geometry.radius,)


def _radius_and_half_height(geometry: Any) -> tuple[float, ...]:
    return (geometry.radius, geometry.height / 2)


PRIMITIVES: dict[type, _Primitive] = {
    Box: ("box", _half_extents),
    Ellipsoid: ("ellipsoid", _half_extents),
    Sphere: ("sphere", _radius),
    Cylinder: ("cylinder", _radius_and_half_height),
    Capsule: ("capsule", _radius_and_half_height),
}
"""MuJoCo's type of geometries that it has, and their size."""


def _plane(plane: Plane, pose: Array, *, keeps_axes: bool) -> dict[str, Value]:
    """A plane: MuJoCo's has its normal along z, and contains the origin of its frame.

    With `keeps_axes`, one whose normal is the z axis has the x axis of its pose, which matters only for its appearance.
    """
    is_kept = keeps_axes and plane.normal == (0.0, 0.0, 1.0)
    position, quaternion = _plane_frame(plane.normal, plane.offset, is_kept, pose.tobytes())
    return {"type": "plane", "size": (0.0, 0.0, 1.0), "pos": list(position), "quat": list(quaternion)}


@lru_cache(maxsize=256)
def _plane_frame(
    normal: Vector, offset: float, is_kept: bool, pose: bytes
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Position and quaternion of a plane.  Most worlds have the same ground."""
    direction = np.array(normal)
    rotation = np.eye(3) if is_kept else spatial.rotation_from_z(direction)
    frame = np.frombuffer(pose).reshape(4, 4) @ spatial.transform(rotation, direction * offset)
    position, quaternion = spatial.without_noise(frame[:3, 3]), spatial.quaternion(frame[:3, :3])
    return tuple(position.tolist()), tuple(quaternion.tolist())


def _circle(radius: float, z: float) -> Array:
    angles = np.linspace(0.0, 2 * np.pi, _SIDES, endpoint=False)
    return np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(_SIDES, z)], axis=1)


def _directions() -> Array:
    """Points evenly distributed over the unit sphere."""
    count = 4 * _SIDES
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.arange(count) * np.pi * (3.0 - np.sqrt(5.0))
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=1)
