"""Polygons that are extruded together: those inside of others are holes, and what is in holes is solid again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel.scene.shape import TriMesh
from exoskel.source.mesh_parsing import Triangles
from exoskel.spatial import Array

MOST_CORNERS = 500
"""Of all polygons of a shape."""
_TOUCHING = 1e-12
"""How far a corner that is on a line may be from it, per length of the line."""


def extrude(stated: Sequence[Sequence[tuple[float, ...]]], height: float) -> TriMesh | None:
    """The prism of some polygons from z = 0; None if they are not simple, cross each other or have too many corners."""
    polygons = [_without_repeated(corners) for corners in stated]
    counts = [len(one) for one in polygons]
    if not polygons or min(counts) < 3 or sum(counts) > MOST_CORNERS or _cross(polygons):
        return None
    depths = [sum(_contains(other, one[0]) for other in polygons if other is not one) for one in polygons]
    turned = [
        one if (_area(one) > 0.0) == (depth % 2 == 0) else one[::-1]
        for one, depth in zip(polygons, depths, strict=True)
    ]
    corners, starts = np.vstack(turned), np.cumsum([0, *counts])
    rings = [list(range(start, start + count)) for start, count in zip(starts.tolist(), counts, strict=False)]
    found: list[Triangles] = []
    for number, depth in enumerate(depths):
        if depth % 2 == 0:
            holes = [
                rings[one]
                for one, own in enumerate(depths)
                if own == depth + 1 and _contains(turned[number], turned[one][0])
            ]
            ring = _with_holes(corners, rings[number], holes)
            triangles = None if ring is None else _triangulate(corners[ring], has_bridges=bool(holes))
            if ring is None or triangles is None:
                return None
            found.append(np.array(ring)[triangles])
    if not found:  # each of several equal polygons is in another one
        return None
    count = len(corners)
    vertices = np.vstack([np.hstack([corners, np.full((count, 1), z)]) for z in (0.0, height)])
    one, other = np.concatenate(rings), np.concatenate([np.roll(ring, -1) for ring in rings])
    sides = [np.stack(side, axis=1) for side in ((one, other, other + count), (one, other + count, one + count))]
    caps = np.concatenate(found)
    return TriMesh(vertices, np.concatenate([caps[:, ::-1], caps + count, *sides]))


def _without_repeated(corners: Sequence[tuple[float, ...]]) -> Array:
    found = [one for one, after in zip(corners, [*corners[1:], *corners[:1]], strict=True) if one != after]
    return np.array(found).reshape(-1, 2)


def _area(corners: Array) -> float:
    """The area of a polygon; negative if it runs clockwise."""
    x, y = corners.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _contains(polygon: Array, point: Array) -> bool:
    """Whether a point is inside of a polygon: a ray from it crosses the edges an odd number of times."""
    (x, y), after = polygon.T, np.roll(polygon, -1, axis=0)
    is_across = (y > point[1]) != (after[:, 1] > point[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        at = x + (point[1] - y) * (after[:, 0] - x) / (after[:, 1] - y)
    return bool(np.count_nonzero(is_across & (at > point[0])) % 2)


def _sides(one: Array, other: Array, points: Array) -> Array:
    """On which side of the line from one point to another points are, for arrays of them."""
    edge, to = other - one, points - one
    found: Array = edge[..., 0] * to[..., 1] - edge[..., 1] * to[..., 0]
    return found


def _is_crossed(start: Array, end: Array, edges: tuple[Array, Array]) -> bool:
    """Whether a segment crosses some of the edges; touching their ends is no crossing."""
    ones, others = edges
    along = _sides(start, end, ones) * _sides(start, end, others) < 0.0
    across = _sides(ones, others, start) * _sides(ones, others, end) < 0.0
    return bool((along & across).any())


def _edges(polygons: Sequence[Array]) -> tuple[Array, Array]:
    return np.vstack(polygons), np.vstack([np.roll(one, -1, axis=0) for one in polygons])


def _cross(polygons: Sequence[Array]) -> bool:
    """Whether edges of different polygons cross each other."""
    for number, one in enumerate(polygons[:-1]):
        edges = _edges(polygons[number + 1 :])
        if any(_is_crossed(start, end, edges) for start, end in zip(*_edges([one]), strict=True)):
            return True
    return False


def _with_holes(corners: Array, ring: list[int], holes: Sequence[list[int]]) -> list[int] | None:
    """A ring that goes around the holes too, along a bridge to each; None if there is no bridge to one."""
    waiting = sorted(holes, key=lambda hole: -float(corners[hole, 0].max()))
    while waiting:
        hole = waiting.pop(0)
        edges = _edges([corners[one] for one in (ring, hole, *waiting)])
        first = max(range(len(hole)), key=lambda at: float(corners[hole[at], 0]))
        point = corners[hole[first]]
        near = np.argsort(np.hypot(*(corners[ring] - point).T), kind="stable").tolist()
        at = next((one for one in near if _is_bridge(corners, ring, one, point, edges)), None)
        if at is None:
            return None
        ring = [*ring[: at + 1], *hole[first:], *hole[: first + 1], *ring[at:]]
    return ring


def _is_bridge(corners: Array, ring: list[int], at: int, point: Array, edges: tuple[Array, Array]) -> bool:
    """Whether a straight line from a corner of a ring to a point is inside of it, and touches no other corner."""
    start = corners[ring[at]]
    if not _opens_to(corners, ring, at, point) or _is_crossed(start, point, edges):
        return False
    along, length = (edges[0] - start) @ (point - start), float((point - start) @ (point - start))
    is_on_line = np.abs(_sides(start, point, edges[0])) <= _TOUCHING * length
    return not bool((is_on_line & (along > 0.0) & (along < length) & (edges[0] != point).any(axis=1)).any())


def _opens_to(corners: Array, ring: list[int], at: int, point: Array) -> bool:
    """Whether a point is in the angle inside of a counter-clockwise ring at one of its corners."""
    before, own, after = (corners[ring[one % len(ring)]] for one in (at - 1, at, at + 1))
    is_left_of_both = bool(_sides(before, own, point) > 0.0), bool(_sides(own, after, point) > 0.0)
    return all(is_left_of_both) if _sides(before, own, after) >= 0.0 else any(is_left_of_both)


def _triangulate(corners: Array, *, has_bridges: bool) -> Triangles | None:
    """Triangles of a counter-clockwise polygon, by clipping ears; None if it has no area or crosses itself.

    One that `has_bridges` has the same corners several times: ears that other corners touch are avoided.
    """
    left = list(range(len(corners)))
    found: list[tuple[int, int, int]] = []
    while len(left) > 3:
        ears = [(left[at - 1], left[at], left[(at + 1) % len(left)]) for at in range(len(left))]
        ear = next((one for one in ears if _is_clear_ear(corners, one, left)), None) if has_bridges else None
        ear = ear or next((one for one in ears if _is_ear(corners, one, left)), None)
        if ear is None:
            return None
        found.append(ear)
        left.remove(ear[1])
    found.append((left[0], left[1], left[2]))
    return np.array(found, dtype=np.int64) if _area(corners) > 0.0 else None


def _is_ear(corners: Array, ear: tuple[int, int, int], left: list[int]) -> bool:
    """Whether a triangle of a polygon is counter-clockwise, and contains no other corner."""
    triangle = corners[list(ear)]
    return _area(triangle) >= 0.0 and not bool((_distances(triangle, corners[left]) > 0.0).all(axis=1).any())


def _is_clear_ear(corners: Array, ear: tuple[int, int, int], left: list[int]) -> bool:
    """Whether a triangle has an area, and no corner of the polygon is in it or on its edges, but for its own."""
    triangle, points = corners[list(ear)], corners[left]
    if _area(triangle) <= 0.0:
        return False
    is_own = np.any(np.all(points[:, None, :] == triangle[None], axis=2), axis=1)
    is_inside = np.all(_distances(triangle, points) >= 0.0, axis=1)
    return not bool(np.any(is_inside & ~is_own))


def _distances(triangle: Array, points: Array) -> Array:
    """On which side of each edge of a triangle points are: `(points, 3)`."""
    return _sides(triangle[None], np.roll(triangle, -1, axis=0)[None], points[:, None, :])
