"""Geometries as triangles with normals, for formats and renderers that only support triangles; convexity.

Round surfaces are approximated by facets with vertices on the surface, so that their volume is slightly too small:
by 0.7 % for cylinders and cones, 1.6 % for spheres and capsules, 0.5 % for most hulls of spheres (6 % at worst).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.scene.array_cache import kept_for_content
from exoskel.scene.pose import Vector
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    MultiSphere,
    Plane,
    Pyramid,
    Ray,
    Sphere,
    TriMesh,
)
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.mesh_parsing import TexturedTriangles
from exoskel.source.meshes import Images, MeshError, MeshFiles, Triangles
from exoskel.spatial import Array

SEGMENTS = 32
"""The number of segments of a circle."""
_HULL_SEGMENTS = 64
"""The number of segments for the hull of spheres, whose flat parts lie between the sampled directions."""
PLANE_HALF_SIZE = 10.0
"""Half the edge length, in m, of the square that represents a plane."""
CREASE = np.cos(np.radians(40.0))
"""The cosine of the largest angle between a smooth normal and that of its face; above it, the face stays flat there.
For a cube the angle is 55°."""
_EQUAL_ANGLES = 1e-9
"""Cosines that differ less are the same: meshes with regular angles must not depend on rounding errors."""

_ANY = (0.0, 0.0, 1.0)


class Surface(Struct, frozen=True, eq=False):
    """Triangles that run counter-clockwise seen from outside.

    `vertices` in m and unit `normals` are `(n, 3)`; a point on a sharp edge is repeated for each
    normal.  `colors` are `(n, 4)` from 0 to 1, as a mesh file states them.  `images` lie on the triangles:
    `face_images` are their numbers, -1 for none, and `uv` `(n, 2)` the places on them, from 0 at the left and bottom
    to 1.
    """

    vertices: Array
    normals: Array
    triangles: Triangles
    colors: Array | None = None
    uv: Array | None = None
    face_images: Triangles | None = None
    images: Images = ()

    def merge_vertices(self) -> tuple[Array, Triangles]:
        """Merge equal vertices, ignoring normals; the result is closed if the surface is."""
        vertices, faces, _ = self._merged()
        return vertices, faces

    def merge_corners(self) -> tuple[Array, Triangles, Array | None]:
        """The same, with the places of all corners of the triangles on an image, if there are any."""
        vertices, faces, proper = self._merged()
        return vertices, faces, None if self.uv is None else self.uv[self.triangles[proper].ravel()]

    def _merged(self) -> tuple[Array, Triangles, NDArray[np.bool_]]:
        first, number = distinct_rows(self.vertices)
        faces = number[self.triangles]
        proper = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
        return self.vertices[first], faces[proper], proper


class Surfaces:
    """The surfaces of geometries, computed once for equal ones.

    `missing` has the reasons why geometries have no surface.  Planes are squares of half size `reach`, in m.  Circles
    have this many `segments`, a multiple of 4.
    """

    def __init__(
        self,
        reach: float = PLANE_HALF_SIZE,
        files: MeshFiles | None = None,
        limits: Limits = DEFAULT_LIMITS,
        segments: int = SEGMENTS,
    ) -> None:
        self._segments = segments
        self.missing: dict[Geometry, str] = {}
        self._reach = reach
        self._files = files or MeshFiles(limits)
        self._surfaces: dict[Geometry, Surface] = {}
        self._known: dict[int, tuple[Geometry, Surface | None]] = {}
        """By the ids of geometries: to find a large mesh by its value takes milliseconds."""

    def of(self, geometry: Geometry) -> Surface | None:
        """The surface of a geometry, or None, with the reason in `missing`."""
        known = self._known.get(id(geometry))
        if known is None:
            known = self._known[id(geometry)] = geometry, self._find(geometry)
        return known[1]

    def _find(self, geometry: Geometry) -> Surface | None:
        if geometry not in self._surfaces and geometry not in self.missing:
            try:
                self._surfaces[geometry] = self._build(geometry)
            except MeshError as error:
                self.missing[geometry] = str(error)
        return self._surfaces.get(geometry)

    def _build(self, geometry: Geometry) -> Surface:
        segments = self._segments
        match geometry:
            case Box(size=size):
                return _polyhedron(_CUBE * np.array(size), _CUBE_FACES)
            case Sphere(radius=radius):
                return _ellipsoid((2 * radius, 2 * radius, 2 * radius), segments)
            case Ellipsoid(size=size):
                return _ellipsoid(size, segments)
            case Cylinder(radius=radius, height=height):
                strips = _disc(radius, -height / 2), _wall(radius, height), _lid(radius, height / 2)
                return _revolve(*strips, segments=segments)
            case Capsule(radius=radius, height=height):
                return _revolve(_arc(radius, height, segments), segments=segments)
            case Cone(radius=radius, height=height, centred=centred):
                base = -height / 2 if centred else 0.0
                return _revolve(_disc(radius, base), _slope(radius, height, base), segments=segments)
            case Pyramid(width=width, depth=depth, height=height):
                return _polyhedron(_PYRAMID * np.array([width, depth, height]), _PYRAMID_FACES)
            case Plane(normal=normal, offset=offset):
                return _square(normal, offset, self._reach)
            case MultiSphere():
                return _hull(geometry)
            case Ray():
                raise MeshError("a ray has no surface")
            case _:
                made = _smooth(*self._files.textured_triangles(geometry))
                has_places = isinstance(geometry, TriMesh) and geometry.uvs is not None
                if has_places and made.uv is None:  # all of them are zero
                    return structs.replace(made, uv=np.zeros((len(made.vertices), 2)))
                return made


def unit_geometry(geometry: Geometry) -> tuple[Geometry, Vector]:
    """The geometry of unit size of this kind, and the scale factors along x, y and z from it to this one.

    Boxes, ellipsoids, cylinders, cones, pyramids and scaled meshes of all sizes share one geometry of each kind.
    """
    match geometry:
        case Box(size=size):
            return Box((1.0, 1.0, 1.0)), size
        case Sphere(radius=r):
            return Sphere(0.5), (2 * r, 2 * r, 2 * r)
        case Ellipsoid(size=size):
            return Sphere(0.5), size
        case Cylinder(radius=r, height=h):
            return Cylinder(0.5, 1.0), (2 * r, 2 * r, h)
        case Capsule(radius=r, height=h) if r > 0.0:
            return Capsule(1.0, h / r), (r, r, r)
        case Cone(radius=r, height=h, centred=centred):
            return Cone(0.5, 1.0, centred), (2 * r, 2 * r, h)
        case Pyramid(width=w, depth=d, height=h):
            return Pyramid(1.0, 1.0, 1.0), (w, d, h)
        case Mesh(uri=uri, path=path, extent=extent, scale=scale):
            return Mesh(uri, (1.0, 1.0, 1.0), path, extent), scale
        case _:
            return geometry, (1.0, 1.0, 1.0)


_CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_CUBE_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
_PYRAMID = np.array([[-0.5, -0.5, -0.5], [0.5, -0.5, -0.5], [0.5, 0.5, -0.5], [-0.5, 0.5, -0.5], [0.0, 0.0, 0.5]])
_PYRAMID_FACES = ((3, 2, 1, 0), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))


def _polyhedron(corners: Array, faces: Sequence[Sequence[int]]) -> Surface:
    """A surface of flat faces, each with its own vertices."""
    vertices, normals = [], []
    triangles: list[list[int]] = []
    count = 0
    for face in faces:
        own = corners[list(face)]
        normal = spatial.unit(np.cross(own[1] - own[0], own[2] - own[0]))
        vertices.append(own)
        normals.append(np.tile(normal, (len(face), 1)))
        triangles.extend([count, count + i, count + i + 1] for i in range(1, len(face) - 1))
        count += len(face)
    return Surface(np.vstack(vertices), np.vstack(normals), np.array(triangles, dtype=np.int64))


def _ellipsoid(size: Vector, segments: int) -> Surface:
    ball = _revolve(_arc(1.0, 0.0, segments), segments=segments)
    half = np.array(size) / 2.0
    # Normals scale with the inverse; multiplied by the product they need no division, also for flat ellipsoids.
    return Surface(ball.vertices * half, spatial.unit(ball.normals * half[[1, 2, 0]] * half[[2, 0, 1]]), ball.triangles)


def _disc(radius: float, z: float) -> Array:
    return np.array([[0.0, z, 0.0, -1.0], [radius, z, 0.0, -1.0]])


def _lid(radius: float, z: float) -> Array:
    return np.array([[radius, z, 0.0, 1.0], [0.0, z, 0.0, 1.0]])


def _wall(radius: float, height: float) -> Array:
    return np.array([[radius, -height / 2, 1.0, 0.0], [radius, height / 2, 1.0, 0.0]])


def _slope(radius: float, height: float, base: float) -> Array:
    out, up = spatial.unit([height, radius]).tolist()
    return np.array([[radius, base, out, up], [0.0, base + height, out, up]])


def _arc(radius: float, height: float, segments: int) -> Array:
    """The profile of a half circle, whose two quarters are `height` apart."""
    angles = np.linspace(0.0, np.pi / 2, segments // 4 + 1)
    out, up = np.cos(angles), np.sin(angles)
    out[-1] = 0.0
    upper = np.stack([radius * out, radius * up + height / 2, out, up], axis=1)
    lower = upper[::-1] * (1.0, -1.0, 1.0, -1.0)
    return np.vstack([lower, upper if height else upper[1:]])


def _revolve(*strips: Array, segments: int) -> Surface:
    """Revolve profiles about z: rows of radius, z, and the normal's components along these, from bottom to top."""
    angles = np.arange(segments) * (2 * np.pi / segments)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    here = np.arange(segments)
    ahead = (here + 1) % segments
    vertices: list[Array] = []
    normals: list[Array] = []
    triangles: list[Triangles] = []
    count = 0
    for strip in strips:
        below: Triangles | None = None
        for row, (radius, z, out, up) in enumerate(strip.tolist()):
            copies = 1 if radius == 0.0 and out == 0.0 else segments
            above = count + here % copies
            vertices.append(np.column_stack([radius * ring, np.full(segments, z)])[:copies])
            normals.append(np.column_stack([out * ring, np.full(segments, up)])[:copies])
            count += copies
            if below is not None and strip[row - 1, 0] != 0.0:
                triangles.append(np.stack([below, below[ahead], above[ahead]], axis=1))
            if below is not None and radius != 0.0:
                triangles.append(np.stack([below, above[ahead], above], axis=1))
            below = above
    return Surface(np.vstack(vertices), np.vstack(normals), np.vstack(triangles))


def _square(normal: Vector, offset: float, reach: float) -> Surface:
    frame = spatial.rotation_from_z(normal)
    corners = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    vertices = reach * corners @ frame.T + offset * np.array(normal)
    return Surface(vertices, np.tile(normal, (4, 1)).astype(np.float64), np.array([[0, 1, 2], [0, 2, 3]]))


def _hull(geometry: MultiSphere) -> Surface:
    """The hull of spheres: the furthest point in each direction of a fine sphere."""
    if not geometry.spheres:
        raise MeshError("it has no spheres")
    ball = _revolve(_arc(1.0, 0.0, _HULL_SEGMENTS), segments=_HULL_SEGMENTS)
    centres = np.array([sphere.position for sphere in geometry.spheres])
    radii = np.array([sphere.radius for sphere in geometry.spheres])
    furthest = np.argmax(ball.normals @ centres.T + radii, axis=1)
    return Surface(
        centres[furthest] + radii[furthest, None] * ball.vertices,
        ball.normals,
        ball.triangles,
    )


def _smooth(mesh: TexturedTriangles, images: Images) -> Surface:
    """Compute normals for a mesh: faces around a vertex share one unless they meet at a sharp edge."""
    vertices, faces, colors = mesh.vertices, mesh.triangles, mesh.colors
    if not len(faces):
        raise MeshError("it has no triangles")
    uv = mesh.uv if images or mesh.uv.any() else None
    keys = np.hstack([part for part in (vertices, colors, uv) if part is not None])
    _, number = distinct_rows(vertices)
    corners = vertices[faces]
    edges = np.roll(corners, -1, axis=1) - corners
    flat = spatial.unit(np.cross(edges[:, 0], edges[:, 1]))
    ahead = spatial.unit(edges)
    inner = np.arccos(np.clip(-np.einsum("fck,fck->fc", ahead, np.roll(ahead, 1, axis=1)), -1.0, 1.0))
    around = np.zeros((int(number.max()) + 1, 3))
    np.add.at(around, number[faces], inner[:, :, None] * flat[:, None, :])
    smooth = spatial.unit(around)[number[faces]]
    bends_little = np.sum(smooth * flat[:, None, :], axis=2) >= CREASE - _EQUAL_ANGLES
    normals = np.where(bends_little[:, :, None], smooth, flat[:, None, :]).reshape(-1, 3)
    normals[~normals.any(axis=1)] = _ANY  # triangles without area
    first, corner = distinct_rows(np.hstack([keys[faces.ravel()], normals]))
    point = faces.ravel()[first]
    return Surface(
        vertices[point],
        normals[first],
        corner.reshape(-1, 3),
        None if colors is None else colors[point],
        None if uv is None else uv[point],
        mesh.images if images else None,
        images,
    )


def distinct_rows(rows: Array) -> tuple[Triangles, Triangles]:
    """The index of the first of each set of equal rows, in order, and for every row the number of its set."""
    plain = np.ascontiguousarray(rows + 0.0)  # no negative zeros, which have other bytes
    keys = plain.view(f"V{plain.shape[1] * 8}").ravel()
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[number.ravel()]


MAX_SLABS = 4000
"""The maximum number of triangles of a mesh that MuJoCo gets as slabs; larger meshes collide as their convex hulls."""
EXACTLY, NEARLY = 1e-9, 1e-5
"""How far a point may lie outside a face of a convex mesh, relative to its size.  Files in single precision, and shapes
whose hull is the same for all purposes, are only nearly convex."""
_MOST_PRODUCTS = 2_000_000_000
"""Points times faces that are compared; meshes with more of them count as concave."""
_AT_ONCE = 2_000_000


def is_convex(vertices: Array, triangles: Triangles, tolerance: float = EXACTLY) -> bool:
    """Whether no point lies outside any face; the faces are wound counter-clockwise seen from outside."""
    corners, normals = faces_with_area(vertices, triangles)
    if not len(corners):
        return True
    points = np.unique(vertices, axis=0)
    if len(points) * len(corners) > _MOST_PRODUCTS:
        return False
    farthest = tolerance * float(np.ptp(vertices, axis=0).max())
    offsets = np.einsum("fk,fk->f", normals, corners[:, 0])
    count = -(-len(corners) * len(points) // _AT_ONCE)
    for first in range(count):  # every part has faces from all over the mesh: a hollow is found early
        own = slice(first, None, count)
        if (points @ normals[own].T - offsets[own]).max(initial=-np.inf) > farthest:
            return False
    return True


@kept_for_content
def has_hollows(vertices: Array, triangles: Triangles) -> bool:
    """Whether a mesh differs from its convex hull, however its faces are wound."""
    return not (is_convex(vertices, triangles, NEARLY) or is_convex(vertices, triangles[:, ::-1], NEARLY))


def faces_with_area(vertices: Array, triangles: Triangles) -> tuple[Array, Array]:
    """Corners and unit normals of the triangles that have an area."""
    corners = vertices[triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1)
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1, initial=0.0)
    valid = area > 1e-9 * longest**2
    return corners[valid], across[valid] / area[valid, None]
