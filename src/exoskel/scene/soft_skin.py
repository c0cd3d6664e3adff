"""The skin of a soft body: its points, the edges that connect them, and its triangles, as in DART 6."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from msgspec import Struct

from exoskel.scene.body import SoftBody
from exoskel.scene.shape import Box, Cylinder, Ellipsoid, Sphere
from exoskel.spatial import Array, Indices


class SoftSkin(Struct, frozen=True, eq=False):
    """A skin at rest: points in the frame of the body, m; pairs of points; and triangles, seen from outside.

    Every point has the same mass.  A point is bound to its place by the vertex stiffness, and to its neighbours along
    edges by the edge stiffness.
    """

    points: Array
    edges: Indices
    faces: Indices

    def __len__(self) -> int:
        return len(self.points)

    @property
    def normals(self) -> Array:
        """The outward unit normal at each point: the mean of those of its triangles, weighted by area."""
        corners = self.points[self.faces]
        areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        out = np.zeros_like(self.points)
        for corner in range(3):
            np.add.at(out, self.faces[:, corner], areas)
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        out /= np.where(lengths > 0.0, lengths, 1.0)
        return out


def has_surface(soft: SoftBody) -> bool:
    """Whether a soft body has a geometry, divided finely enough to be a surface."""
    cut = soft.tessellation
    match soft.geometry:
        case Box():
            return min(cut.fragments) >= 2
        case Sphere() | Ellipsoid():
            return cut.slices >= 3 and cut.stacks >= 2
        case Cylinder():
            return cut.slices >= 3 and cut.stacks >= 1 and cut.rings >= 1
        case None:
            return False


def soft_skin(soft: SoftBody) -> SoftSkin:
    """The skin of a soft body; without points if it has no surface."""
    cut = soft.tessellation
    match soft.geometry if has_surface(soft) else None:
        case Box(size):
            points, faces = _box(size, cut.fragments)
            return SoftSkin(soft.pose.apply(points), _pairs([]), faces)  # DART connects no points of a box
        case Sphere(radius):
            return _ellipsoid((2 * radius, 2 * radius, 2 * radius), cut.slices, cut.stacks)
        case Ellipsoid(size):
            return _ellipsoid(size, cut.slices, cut.stacks)
        case Cylinder():
            assert isinstance(soft.geometry, Cylinder)
            return _cylinder(soft.geometry, cut.slices, cut.stacks, cut.rings)
        case None:
            return SoftSkin(np.empty((0, 3)), _pairs([]), _triangles([]))


def _box(size: tuple[float, float, float], fragments: tuple[int, int, int]) -> tuple[Array, Indices]:
    """A grid on the surface, with a given number of points along each edge."""
    grid = np.array(list(product(*map(range, fragments))), dtype=np.intp).reshape(-1, 3)
    last = np.array(fragments) - 1
    on_surface = ((grid == 0) | (grid == last)).any(axis=1)
    numbers = np.full(fragments, -1, dtype=np.intp)
    numbers[tuple(grid[on_surface].T)] = np.arange(on_surface.sum())
    faces: list[tuple[int, int, int]] = []
    for axis, end in product(range(3), (0, -1)):
        side = np.take(numbers, end, axis=axis)
        # Along increasing numbers, the normal of a side is +x, -y or +z.
        is_outward = (end == -1) == (axis != 1)
        for i, j in product(range(side.shape[0] - 1), range(side.shape[1] - 1)):
            a, b, c, d = (int(side[i + u, j + v]) for u, v in ((0, 0), (1, 0), (1, 1), (0, 1)))
            faces += [(a, b, c), (a, c, d)] if is_outward else [(c, b, a), (d, c, a)]
    return (grid[on_surface] / last - 0.5) * np.array(size), _triangles(faces)


def _ellipsoid(size: tuple[float, float, float], slices: int, stacks: int) -> SoftSkin:
    """The poles, and rings between them, from top to bottom."""
    heights = np.arange(1, stacks) * np.pi / stacks
    radii, depths = np.sin(heights), np.cos(heights)
    rings = [_ring(radius, depth, slices) for radius, depth in zip(radii, depths, strict=True)]
    points = 0.5 * np.array(size) * np.vstack([[(0.0, 0.0, 1.0)], *rings, [(0.0, 0.0, -1.0)]])
    first = [1 + ring * slices for ring in range(stacks - 1)]
    bottom = len(points) - 1
    edges = _spokes(0, first[0], slices) + _spokes(bottom, first[-1], slices) if first else []
    for upper, lower in pairwise(first):
        edges += _meridians(upper, lower, slices) + _diagonals(upper, lower, slices)
    for ring in first:
        edges += _parallels(ring, slices)
    return SoftSkin(points, _pairs(edges), _closed_faces(first, slices, bottom))


def _cylinder(cylinder: Cylinder, slices: int, stacks: int, rings: int) -> SoftSkin:
    """The lid from its centre outwards, the drum from top to bottom, and the bottom from its edge inwards."""
    inner = [cylinder.radius * ring / rings for ring in range(1, rings)]
    half = 0.5 * cylinder.height
    levels = [(radius, half) for radius in inner]
    levels += [(cylinder.radius, half - cylinder.height * level / stacks) for level in range(stacks + 1)]
    levels += [(radius, -half) for radius in reversed(inner)]
    circles = [_ring(radius, height, slices) for radius, height in levels]
    points = np.vstack([[(0.0, 0.0, half)], *circles, [(0.0, 0.0, -half)]])
    first = [1 + level * slices for level in range(len(levels))]
    bottom, drum = len(points) - 1, first[rings - 1 : rings + stacks]
    # DART's own choice of edges.  The meridians of the lid begin one ring too late, so that the first ones of the drum
    # are there twice; its lowest ones are missing, and so is one spoke of the bottom.
    edges = _spokes(0, first[0], slices) + _spokes(bottom, first[-1] + 1, slices - 1)
    for part in (first[1 : rings + 1], drum[:stacks], first[rings + stacks - 1 :]):
        for upper, lower in pairwise(part):
            edges += _meridians(upper, lower, slices)
    for ring in drum[:stacks]:
        edges += _parallels(ring, slices)
    for upper, lower in pairwise(drum[: stacks - 1]):
        edges += _diagonals(upper, lower, slices)
    return SoftSkin(points, _pairs(edges), _closed_faces(first, slices, bottom))


def _ring(radius: float, height: float, slices: int) -> Array:
    angles = np.arange(slices) * 2.0 * np.pi / slices
    return np.stack([-radius * np.sin(angles), radius * np.cos(angles), np.full(slices, height)], axis=1)


# --- edges and faces; a ring is given by the number of its first point ---------------------------------

_Edges = list[tuple[int, int]]


def _spokes(centre: int, ring: int, count: int) -> _Edges:
    return [(centre, ring + j) for j in range(count)]


def _parallels(ring: int, slices: int) -> _Edges:
    return [(ring + j, ring + (j + 1) % slices) for j in range(slices)]


def _meridians(upper: int, lower: int, slices: int) -> _Edges:
    return [(upper + j, lower + j) for j in range(slices)]


def _diagonals(upper: int, lower: int, slices: int) -> _Edges:
    """Both diagonals of the cells between two rings."""
    out: _Edges = []
    for j in range(slices):
        after = (j + 1) % slices
        out += [(upper + j, lower + after), (upper + after, lower + j)]
    return out


def _closed_faces(rings: list[int], slices: int, bottom: int) -> Indices:
    """The triangles of a surface of rings from a top, point 0, to a bottom."""
    faces: list[tuple[int, int, int]] = []
    for j in range(slices if rings else 0):
        after = (j + 1) % slices
        faces += [(0, rings[0] + j, rings[0] + after), (bottom, rings[-1] + after, rings[-1] + j)]
        for upper, lower in pairwise(rings):
            faces += [(upper + j, lower + j, lower + after), (upper + j, lower + after, upper + after)]
    return _triangles(faces)


def _pairs(edges: _Edges) -> Indices:
    return np.array(edges, dtype=np.intp).reshape(-1, 2)


def _triangles(faces: list[tuple[int, int, int]]) -> Indices:
    return np.array(faces, dtype=np.intp).reshape(-1, 3)
