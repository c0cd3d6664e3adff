"""Rotations on arrays of components: faster than small matrix products for thousands of worlds.

A vector is three arrays, a quaternion four (w x y z), of any shapes that broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel.spatial import Array

Components = tuple[Array, ...]
Indices = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
Columns = list[slice | Indices]
_SMALL = 1e-12


def columns(indices: Indices) -> Columns:
    """The columns of `(n, k)` indices, as slices where they are evenly spaced: those need no copies."""
    return [as_slice(column) for column in indices.T]


def as_slice(indices: Indices) -> slice | Indices:
    """The same indices as a slice if they are evenly spaced."""
    if not len(indices):
        return slice(0, 0)
    gap = int(indices[1] - indices[0]) if len(indices) > 1 else 1
    if gap < 1 or (np.diff(indices) != gap).any():
        return indices
    return slice(int(indices[0]), int(indices[-1]) + 1, gap)


def get_components(values: Array, chosen: Columns) -> Components:
    return tuple(values[..., column] for column in chosen)


def set_components(values: Array, chosen: Columns, components: Sequence[Array]) -> None:
    for column, component in zip(chosen, components, strict=True):
        values[..., column] = component


def multiply(matrices: Array, vector: Components) -> Components:
    """`(n, 3, 3)` matrices times vectors."""
    x, y, z = vector
    return tuple(matrices[:, i, 0] * x + matrices[:, i, 1] * y + matrices[:, i, 2] * z for i in range(3))


def cross(a: Components, b: Components) -> Components:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def subtract(a: Components, b: Components) -> Components:
    return tuple(one - other for one, other in zip(a, b, strict=True))


def add(a: Components, b: Components) -> Components:
    return tuple(one + other for one, other in zip(a, b, strict=True))


def rotate(quaternion: Components, vector: Components) -> Components:
    """Vectors rotated by quaternions, which need not be unit."""
    w, x, y, z = quaternion
    scale = 2.0 / (w * w + x * x + y * y + z * z)
    once = cross((x, y, z), vector)
    twice = cross((x, y, z), once)
    return tuple(own + scale * (w * first + second) for own, first, second in zip(vector, once, twice, strict=True))


def relative_rotation(quaternion: Components, other: Components) -> Components:
    """The rotation from the first to the second: the conjugate of the first times the second."""
    w, x, y, z = quaternion
    a, b, c, d = other
    return (
        w * a + x * b + y * c + z * d,
        w * b - x * a - y * d + z * c,
        w * c + x * d - y * a - z * b,
        w * d - x * c + y * b - z * a,
    )


def log(quaternion: Components) -> Components:
    """Rotation vectors of at most pi, from quaternions that are unit up to rounding."""
    w, x, y, z = quaternion
    sine = np.sqrt(x * x + y * y + z * z)
    angle = 2.0 * np.arctan2(sine, np.abs(w))
    near = sine < _SMALL
    scale = np.where(near, 2.0, angle / np.where(near, 1.0, sine))
    scale = np.where(w < 0.0, -scale, scale)
    return scale * x, scale * y, scale * z
