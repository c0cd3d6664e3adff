"""Rotations taken apart into arrays of their components: what thousands of worlds need, and BLAS has no words for.

A vector is three arrays, a quaternion four (w x y z), of any shapes that spread over each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel.spatial import Array

Parts = tuple[Array, ...]
Columns = list[slice | np.ndarray[tuple[int, ...], np.dtype[np.intp]]]
_SMALL = 1e-12


def columns(indices: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Columns:
    """The columns of `(n, k)` places, as slices where they lie evenly: those are read and written without copies."""
    return [evenly(column) for column in indices.T]


def evenly(
    places: np.ndarray[tuple[int, ...], np.dtype[np.intp]],
) -> slice | np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """The same places as a slice, if they are one."""
    if not len(places):
        return slice(0, 0)
    gap = int(places[1] - places[0]) if len(places) > 1 else 1
    if gap < 1 or (np.diff(places) != gap).any():
        return places
    return slice(int(places[0]), int(places[-1]) + 1, gap)


def taken(values: Array, chosen: Columns) -> Parts:
    return tuple(values[..., column] for column in chosen)


def put(values: Array, chosen: Columns, parts: Sequence[Array]) -> None:
    for column, part in zip(chosen, parts, strict=True):
        values[..., column] = part


def times(matrices: Array, vector: Parts) -> Parts:
    """`(n, 3, 3)` matrices times vectors."""
    x, y, z = vector
    return tuple(matrices[:, i, 0] * x + matrices[:, i, 1] * y + matrices[:, i, 2] * z for i in range(3))


def cross(a: Parts, b: Parts) -> Parts:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def minus(a: Parts, b: Parts) -> Parts:
    return tuple(one - other for one, other in zip(a, b, strict=True))


def plus(a: Parts, b: Parts) -> Parts:
    return tuple(one + other for one, other in zip(a, b, strict=True))


def turned(quaternion: Parts, vector: Parts) -> Parts:
    """Vectors turned by quaternions, which need not be unit."""
    w, x, y, z = quaternion
    scale = 2.0 / (w * w + x * x + y * y + z * z)
    once = cross((x, y, z), vector)
    twice = cross((x, y, z), once)
    return tuple(own + scale * (w * first + second) for own, first, second in zip(vector, once, twice, strict=True))


def behind(quaternion: Parts, other: Parts) -> Parts:
    """The rotation that leads from the first to the second: conjugate times quaternion."""
    w, x, y, z = quaternion
    a, b, c, d = other
    return (
        w * a + x * b + y * c + z * d,
        w * b - x * a - y * d + z * c,
        w * c + x * d - y * a - z * b,
        w * d - x * c + y * b - z * a,
    )


def log(quaternion: Parts) -> Parts:
    """Rotation vectors, of an angle of at most pi; the quaternions are unit to rounding."""
    w, x, y, z = quaternion
    sine = np.sqrt(x * x + y * y + z * z)
    angle = 2.0 * np.arctan2(sine, np.abs(w))
    near = sine < _SMALL
    scale = np.where(near, 2.0, angle / np.where(near, 1.0, sine))
    scale = np.where(w < 0.0, -scale, scale)
    return scale * x, scale * y, scale * z
