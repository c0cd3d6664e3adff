"""Convexity of triangle meshes."""

from __future__ import annotations

import numpy as np

from exoskel.source.mesh_parsing import Triangles
from exoskel.spatial import Array

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
