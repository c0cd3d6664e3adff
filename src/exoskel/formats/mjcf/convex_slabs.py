"""Meshes that are not convex, for an engine that knows only convex ones: each triangle as a slab of its own."""

from __future__ import annotations

import numpy as np

from exoskel.source.meshes import Triangles
from exoskel.spatial import Array

MOST_SLABS = 4000
"""Triangles up to which a mesh is taken apart; larger ones collide as their hulls."""
_THICKNESS = 0.5
"""Of a slab, as a share of its triangle's shortest edge."""
_SHEET = 1e-3
"""The thickness of a flat mesh, as a share of its size."""
_FLAT = 1e-9
"""How far a point may stand out of a face of a convex mesh, relative to its size."""


def is_convex(vertices: Array, triangles: Triangles) -> bool:
    """Whether no point stands out in front of any face; faces are wound so that their fronts look outwards."""
    corners, normals = _faces(vertices, triangles)
    if not len(corners):
        return True
    size = float(np.ptp(vertices, axis=0).max())
    ahead = np.einsum("fk,fk->f", normals, corners[:, 0])
    return bool((vertices @ normals.T - ahead).max() <= _FLAT * size)


def is_flat(vertices: Array) -> bool:
    """Whether all points lie in a plane: MuJoCo has no such meshes."""
    spread = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False)
    return bool(len(spread) < 3 or spread[2] <= _FLAT * spread[0])


def thickened(vertices: Array) -> Array:
    """The points, and if they are flat the same a little behind them, so that they have a hull."""
    if not is_flat(vertices):
        return vertices
    *_, axes = np.linalg.svd(vertices - vertices.mean(axis=0), full_matrices=False)
    return np.vstack([vertices, vertices - _SHEET * np.ptp(vertices, axis=0).max() * axes[2]])


def slabs(vertices: Array, triangles: Triangles) -> Array:
    """The corners of a slab behind each triangle, `(n, 6, 3)`; triangles without area have none."""
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
    real = area > 1e-9 * longest**2
    return corners[real], across[real] / area[real, None]
