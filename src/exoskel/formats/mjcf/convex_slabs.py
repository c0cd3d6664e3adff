"""Meshes that are not convex, for an engine that supports only convex ones: each triangle becomes a slab."""

from __future__ import annotations

import numpy as np

from exoskel.source.meshes import Triangles
from exoskel.spatial import Array

MAX_SLABS = 4000
"""The maximum number of triangles of a mesh that is divided; larger meshes collide as their convex hulls."""
_THICKNESS = 0.5
"""The thickness of a slab, relative to the shortest edge of its triangle."""
_SHEET = 1e-3
"""The thickness of a flat mesh, relative to its size."""
_FLAT = 1e-9
"""How far a point may lie outside a face of a convex mesh, relative to its size."""


def is_convex(vertices: Array, triangles: Triangles) -> bool:
    """Whether no point lies outside any face; the faces are wound counter-clockwise seen from outside."""
    corners, normals = _faces(vertices, triangles)
    if not len(corners):
        return True
    size = float(np.ptp(vertices, axis=0).max())
    offsets = np.einsum("fk,fk->f", normals, corners[:, 0])
    return bool((vertices @ normals.T - offsets).max() <= _FLAT * size)


def is_flat(vertices: Array) -> bool:
    """Whether all points lie in a plane: MuJoCo does not accept such meshes."""
    extents = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False)
    return bool(len(extents) < 3 or extents[2] <= _FLAT * extents[0])


def thicken(vertices: Array) -> Array:
    """The points; if they are flat, with copies a little behind them, so that they have a hull."""
    if not is_flat(vertices):
        return vertices
    *_, axes = np.linalg.svd(vertices - vertices.mean(axis=0), full_matrices=False)
    return np.vstack([vertices, vertices - _SHEET * np.ptp(vertices, axis=0).max() * axes[2]])


def slabs(vertices: Array, triangles: Triangles) -> Array:
    """The corners of a slab behind each triangle, `(n, 6, 3)`, except for triangles without area."""
    corners, normals = _faces(vertices, triangles)
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    depth = _THICKNESS * edges.min(axis=1)
    behind = corners - (depth[:, None] * normals)[:, None, :]
    return np.concatenate([corners, behind], axis=1)


def _faces(vertices: Array, triangles: Triangles) -> tuple[Array, Array]:
    """Corners and unit normals of the triangles that have an area."""
    corners = vertices[triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1)
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1, initial=0.0)
    valid = area > 1e-9 * longest**2
    return corners[valid], across[valid] / area[valid, None]
