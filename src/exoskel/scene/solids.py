"""Volume, centre and moment of solids of uniform density, from which bodies built in Python get their mass properties.

Meshes in files and multi-spheres count as their bounding boxes, triangle meshes that are not closed too.  Planes and
rays have no volume.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, pi

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.scene.pose import ZERO, Vector, pose_matrices
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
    Shape,
    Sphere,
    TriMesh,
)
from exoskel.spatial import Array


class UniformSolid(Struct, frozen=True, gc=False):
    """Volume in m³, centre in the frame of the geometry, and the diagonal of the moment per kg about the centre."""

    volume: float
    centre: Vector = ZERO
    moment: Vector = ZERO


_EMPTY = UniformSolid(0.0)


def box_moment(x: float, y: float, z: float) -> Vector:
    """The diagonal of the moment of a box of 1 kg about its centre."""
    return ((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12)


def capsule_solid(radius: float, height: float) -> UniformSolid:
    """A cylinder with half spheres at its ends."""
    r, h = radius, height
    tube, caps = pi * r * r * h, 4 / 3 * pi * r * r * r
    mt = h / (h + 4 / 3 * r)
    mc = 1.0 - mt
    side = mt * (h * h / 12 + r * r / 4) + mc * (h * h / 4 + 3 * h * r / 8 + 0.4 * r * r)
    return UniformSolid(tube + caps, ZERO, (side, side, mt * r * r / 2 + 0.4 * mc * r * r))


def solid(geometry: Geometry) -> UniformSolid:
    """The solid of a geometry; that of a triangle mesh has no products of inertia, see `mesh_tensor`."""
    match geometry:
        case Box(size=(x, y, z)):
            return UniformSolid(x * y * z, ZERO, box_moment(x, y, z))
        case Sphere(radius=r):
            return UniformSolid(4 / 3 * pi * r * r * r, ZERO, (0.4 * r * r,) * 3)
        case Ellipsoid(size=(x, y, z)):
            a, b, c = x * x, y * y, z * z
            return UniformSolid(pi * x * y * z / 6, ZERO, ((b + c) / 20, (a + c) / 20, (a + b) / 20))
        case Cylinder(radius=r, height=h):
            side = (3 * r * r + h * h) / 12
            return UniformSolid(pi * r * r * h, ZERO, (side, side, r * r / 2))
        case Capsule(radius=r, height=h):
            return capsule_solid(r, h)
        case Cone(radius=r, height=h, centred=centred):
            side = 3 / 80 * (4 * r * r + h * h)
            return UniformSolid(pi * r * r * h / 3, (0.0, 0.0, -h / 4 if centred else h / 4), (side, side, 0.3 * r * r))
        case Pyramid(width=w, depth=d, height=h):
            moment = (d * d / 20 + 3 / 80 * h * h, w * w / 20 + 3 / 80 * h * h, (w * w + d * d) / 20)
            return UniformSolid(w * d * h / 3, (0.0, 0.0, -h / 4), moment)
        case TriMesh():
            found = _mesh_integrals(geometry)
            return _bounding_box(geometry) if found is None else found[0]
        case Mesh() | MultiSphere():
            return _bounding_box(geometry)
        case Plane() | Ray():
            return _EMPTY


def _bounding_box(geometry: Mesh | MultiSphere | TriMesh) -> UniformSolid:
    bounds = geometry.bounds()
    if bounds is None:
        return _EMPTY
    (x0, y0, z0), (x1, y1, z1) = bounds
    x, y, z = x1 - x0, y1 - y0, z1 - z0
    return UniformSolid(x * y * z, ((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2), box_moment(x, y, z))


def _mesh_integrals(mesh: TriMesh) -> tuple[UniformSolid, Array] | None:
    """The solid in a closed mesh and its tensor per kg: sums over the tetrahedra between triangles and the origin."""
    edges = np.sort(mesh.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    if not len(counts) or (counts % 2).any():
        return None
    corners = mesh.vertices[mesh.triangles]
    volumes = np.linalg.det(corners) / 6.0
    volume = float(volumes.sum())
    if not (isfinite(volume) and abs(volume) > 0.0):
        return None
    sums = corners.sum(axis=1)
    x, y, z = (volumes @ sums / (4.0 * volume)).tolist()
    second = np.einsum("t,tai,taj->ij", volumes, corners, corners) + np.einsum("t,ti,tj->ij", volumes, sums, sums)
    centre = np.array([x, y, z])
    covariance = second / (20.0 * volume) - np.outer(centre, centre)
    tensor = np.trace(covariance) * np.eye(3) - covariance
    xx, yy, zz = np.diag(tensor).tolist()
    return UniformSolid(abs(volume), (x, y, z), (xx, yy, zz)), tensor


def volume_of(shapes: Sequence[Shape]) -> float:
    """The volume of some shapes in m³; overlaps count twice."""
    return sum(solid(shape.geometry).volume for shape in shapes)


def centre_of(shapes: Sequence[Shape]) -> Vector:
    """The centre of mass of shapes of equal density in the frame of their body; the origin if they have no volume."""
    total = a = b = c = 0.0
    for shape in shapes:
        one = solid(shape.geometry)
        if not (one.volume > 0.0 and isfinite(one.volume)):
            continue
        x, y, z = shape.pose.position if one.centre == ZERO else _placed(shape, one)
        total += one.volume
        a, b, c = a + one.volume * x, b + one.volume * y, c + one.volume * z
    return (a / total, b / total, c / total) if total > 0.0 else ZERO


def _placed(shape: Shape, one: UniformSolid) -> Vector:
    x, y, z = (shape.pose.matrix() @ (*one.centre, 1.0))[:3].tolist()
    return (x, y, z)


def solid_tensors(masses: Array, bodies: Sequence[Sequence[Shape]], about: Array) -> Array:
    """The moments of bodies, `(n, 3, 3)`, about points `about` in their frames; NaN for bodies without volume."""
    rows = [
        (number, shape, one)
        for number, shapes in enumerate(bodies)
        for shape in shapes
        if (one := solid(shape.geometry)).volume > 0.0
    ]
    tensors = np.full((len(bodies), 3, 3), np.nan)
    if not rows:
        return tensors
    owner = np.array([number for number, _, _ in rows])
    volume = np.array([one.volume for _, _, one in rows])
    share = volume * (masses / np.bincount(owner, volume, len(bodies)))[owner]
    own = np.array([one.moment for _, _, one in rows])[:, :, None] * np.eye(3)
    for index, (_, shape, _) in enumerate(rows):
        if type(shape.geometry) is TriMesh and (found := _mesh_integrals(shape.geometry)) is not None:
            own[index] = found[1]
    poses = pose_matrices([shape.pose for _, shape, _ in rows])
    centres = (poses @ np.array([(*one.centre, 1.0) for _, _, one in rows])[:, :, None])[:, :3, 0]
    moved = spatial.rotate_moment(poses[:, :3, :3], own) + spatial.point_moment(centres - about[owner])
    tensors[np.unique(owner)] = 0.0
    np.add.at(tensors, owner, share[:, None, None] * moved)
    return tensors
