"""A rasterizer in NumPy: finds the nearest triangle of each pixel with a depth buffer.

Triangles are covered by square tiles of a few sizes, and all tiles of one size are processed at once.  Pixels are
numbered row by row from the top left; x goes right and y down, both in pixels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
_TILES = (4, 8, 16, 32)
"""Edges of tiles, in pixels."""
_MAX_TILE_PIXELS = 2_000_000
"""Tile pixels processed at once, to bound the memory."""
_MOST_PIXELS, _MOST_LAYERS, _PIXELS_PER_TRIANGLE = 150_000_000, 30, 64
"""Tile pixels of an image, to bound the time: of an image of any size, of each of its pixels, and of each triangle."""


class TooManyPixelsError(ExoskelError):
    """Large triangles of a scene overlap so often that rendering them would take very long."""


class Buffers(Struct):
    """For each pixel: the nearest triangle (-1: none), barycentric weights of two corners, and nearness.

    Larger nearness is nearer: 1 over the depth for a camera, minus the depth for a directional light.
    """

    triangle: NDArray[np.int32]
    weights: Floats
    nearness: Floats


class ClippedTriangles(Struct):
    """Triangles after clipping.  New vertices follow the old ones; each divides the edge between two of them."""

    triangles: Integers
    starts: Integers
    ends: Integers
    fractions: Floats

    def extend(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add the values of the new vertices, interpolated between the ends of their edges."""
        if not len(self.starts):
            return values
        share = self.fractions.reshape(-1, *[1] * (values.ndim - 1)).astype(values.dtype)
        return np.concatenate([values, values[self.starts] * (1 - share) + values[self.ends] * share])


def clip(triangles: NDArray[Any], inside: NDArray[Any]) -> ClippedTriangles:
    """Cut off the parts of triangles where `inside`, a linear function with one value per vertex, is negative.

    This is one step of the algorithm of Sutherland and Hodgman, for all triangles at once.
    """
    is_outside = ~(inside >= 0.0)  # also if it is not a number
    nothing = np.empty(0, dtype=np.int64)
    if not is_outside.any():
        return ClippedTriangles(triangles, nothing, nothing, np.empty(0, dtype=np.float32))
    outside = is_outside[triangles]
    count = outside.sum(axis=1)
    crossing = np.flatnonzero((count == 1) | (count == 2))
    # Rotate each triangle so that the corner that is alone on its side of the plane comes first.
    alone = np.where(count[crossing] == 1, outside[crossing].argmax(axis=1), outside[crossing].argmin(axis=1))
    first, second, third = (triangles[crossing, (alone + i) % 3] for i in range(3))
    starts, ends = np.concatenate([first, first]), np.concatenate([second, third])
    with np.errstate(invalid="ignore", over="ignore"):
        fractions = (inside[starts] / (inside[starts] - inside[ends])).astype(np.float32)
    on_second = len(inside) + np.arange(len(crossing))
    on_third = on_second + len(crossing)
    tip = count[crossing] == 2
    parts = [
        triangles[count == 0],
        np.stack([first, on_second, on_third], axis=1)[tip],
        np.stack([on_second, second, third], axis=1)[~tip],
        np.stack([on_second, third, on_third], axis=1)[~tip],
    ]
    return ClippedTriangles(np.concatenate(parts), starts, ends, fractions)


def rasterize(points: Floats, triangles: NDArray[Any], width: int, height: int, *, farthest: float = 0.0) -> Buffers:
    """Rasterize triangles whose `points` `(n, 3)` are x and y in pixels and nearness, which must be linear on screen.

    Pixels that are not nearer than `farthest` are not drawn.  Raises TooManyPixelsError.
    """
    count = width * height
    most = max(_MOST_PIXELS, _MOST_LAYERS * count) + _PIXELS_PER_TRIANGLE * len(triangles)
    out = Buffers(
        np.full(count, -1, dtype=np.int32),
        np.zeros((count, 2), dtype=np.float32),
        np.full(count, farthest, dtype=np.float32),
    )
    corners = points[triangles]
    for tile, which, left, top in _tiles(corners, width, height, most):
        _rasterize_tiles(out, corners, tile, which, left, top, width, height)
    return out


def _tiles(corners: Floats, width: int, height: int, most: int) -> Iterator[tuple[int, Integers, Integers, Integers]]:
    """Tiles that cover all triangles: the tile size, and for each tile its triangle and its left and top pixel.

    Raises TooManyPixelsError if they have more than `most` pixels.
    """
    low = np.clip(np.floor(np.nan_to_num(corners[:, :, :2].min(axis=1), nan=-1.0)), -1, [width, height]).astype(
        np.int64
    )
    high = np.clip(np.ceil(np.nan_to_num(corners[:, :, :2].max(axis=1), nan=-1.0)), -1, [width, height]).astype(
        np.int64
    )
    low = np.maximum(low, 0)
    size = high - low
    seen = np.flatnonzero((size > 0).all(axis=1) & np.isfinite(corners).all(axis=(1, 2)))
    largest = size[seen].max(axis=1)
    before = pixels = 0
    for tile in _TILES:
        limit = tile if tile != _TILES[-1] else max(width, height)
        own = seen[(largest > before) & (largest <= limit)]
        before = tile
        if not len(own):
            continue
        across = -(-size[own] // tile)
        repeats = across[:, 0] * across[:, 1]
        pixels += tile**2 * int(repeats.sum())
        if pixels > most:
            raise TooManyPixelsError(
                f"large triangles overlap too often: they cover more than {most} pixels, the limit"
            )
        which = np.repeat(own, repeats)
        place = np.arange(len(which)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        columns = np.repeat(across[:, 0], repeats)
        left = low[which, 0] + place % columns * tile
        top = low[which, 1] + place // columns * tile
        step = max(1, _MAX_TILE_PIXELS // tile**2)
        for start in range(0, len(which), step):
            part = slice(start, start + step)
            yield tile, which[part], left[part], top[part]


def _rasterize_tiles(
    out: Buffers, corners: Floats, tile: int, which: Integers, left: Integers, top: Integers, width: int, height: int
) -> None:
    a, b, c = (corners[which, i] for i in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    proper = np.abs(area) > 1e-9
    inverse = (1.0 / np.where(proper, area, 1.0)).astype(np.float32)
    steps = np.arange(tile, dtype=np.float32)
    x = left[:, None].astype(np.float32) + 0.5 + steps
    y = top[:, None].astype(np.float32) + 0.5 + steps
    # The weight of a corner falls linearly to the opposite edge: a term in x plus a term in y.
    one = _edge_weights(b, c, x, y, inverse)
    two = _edge_weights(c, a, x, y, inverse)
    third = 1.0 - one - two
    inside = (one >= 0.0) & (two >= 0.0) & (third >= 0.0) & proper[:, None, None]
    inside &= (
        ((left[:, None] + np.arange(tile) < width)[:, None, :])
        & ((top[:, None] + np.arange(tile) < height)[:, :, None])
    )
    piece, row, column = np.nonzero(inside)
    if not len(piece):
        return
    first, second = one[piece, row, column], two[piece, row, column]
    nearness = first * a[piece, 2] + second * b[piece, 2] + (1.0 - first - second) * c[piece, 2]
    pixel = (top[piece] + row) * width + left[piece] + column
    np.maximum.at(out.nearness, pixel, nearness)
    won = nearness == out.nearness[pixel]
    at = pixel[won]
    out.triangle[at] = which[piece[won]]
    out.weights[at, 0], out.weights[at, 1] = first[won], second[won]


def _edge_weights(start: Floats, end: Floats, x: Floats, y: Floats, inverse: Floats) -> Floats:
    """The weight of the corner opposite an edge, at all pixels of each tile."""
    dx, dy = (end[:, 0] - start[:, 0]) * inverse, (end[:, 1] - start[:, 1]) * inverse
    along_y = dx[:, None] * (y - start[:, 1, None])
    along_x = dy[:, None] * (x - start[:, 0, None])
    return along_y[:, :, None] - along_x[:, None, :]
