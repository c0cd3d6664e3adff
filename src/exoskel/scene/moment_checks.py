"""Whether a moment of inertia is physical."""

from __future__ import annotations

from functools import lru_cache
from math import inf, isfinite

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.scene.inertia import Moment
from exoskel.scene.pose import Vector
from exoskel.spatial import Array


class MomentCheck(Struct):
    """Properties that a moment of inertia must have, and its principal moments.

    `definite`: no principal moment is negative.  `singular`: one is zero.  `triangle`: none exceeds the sum of the
    other two.
    """

    definite: bool
    singular: bool
    triangle: bool
    eigenvalues: Vector


def is_clearly_valid(moment: Moment) -> bool:
    """Whether a moment is valid by a wide margin, so that its eigenvalues need not be computed.

    By Gershgorin's theorem, each eigenvalue is no further from a diagonal entry than the sum of the others of its row.
    """
    xx, yy, zz, xy, xz, yz = moment
    a, b, c = abs(xy) + abs(xz), abs(xy) + abs(yz), abs(xz) + abs(yz)
    total, low, high = xx + yy + zz, min(xx - a, yy - b, zz - c), max(xx + a, yy + b, zz + c)
    return total + a + b + c < inf and low > _MARGIN * high and 2.0 * high < (1.0 - _MARGIN) * total


_MARGIN = 1e-6


def is_positive_about_origin(moment: Moment, mass: float, centre: Vector) -> bool:
    """Whether a moment is still positive after it was stated about the origin of a body.

    There it is the difference of large numbers if the centre of mass is distant.
    """
    x, y, z = centre
    rounding = _ROUNDING * mass * (x * x + y * y + z * z)
    if is_clearly_valid(moment) and _MARGIN * max(moment[:3]) > rounding:
        return True
    return are_positive_about_origin(np.array([moment]), np.array([mass]), np.array([centre]))[0]


def are_positive_about_origin(rows: Array, masses: Array, centres: Array) -> list[bool]:
    """The same for many moments."""
    rounding = _ROUNDING * masses * np.sum(centres * centres, axis=1)
    tensors = spatial.moment_matrix(rows)
    found: list[bool] = [False] * len(rows)
    finite = np.flatnonzero(np.isfinite(tensors).all(axis=(1, 2)))
    lowest = np.linalg.eigvalsh(tensors[finite])[:, 0]
    for place, is_positive in zip(finite.tolist(), (lowest > rounding[finite]).tolist(), strict=True):
        found[place] = is_positive
    return found


_ROUNDING = 1e-14
"""The rounding error of a principal moment of zero, relative to the largest."""


@lru_cache(maxsize=1024)  # bodies often share a moment
def check_moment(moment: Moment) -> MomentCheck:
    """Check whether a moment is physical: no principal moment is negative or exceeds the sum of the others."""
    if not all(map(isfinite, moment)):
        return MomentCheck(False, False, False, (0.0, 0.0, 0.0))
    is_diagonal = not any(moment[3:])  # most are, and NumPy takes long for a single matrix
    found = sorted(moment[:3]) if is_diagonal else np.linalg.eigvalsh(spatial.moment_matrix(moment)).tolist()
    scale = max(map(abs, found))
    # Smaller digits depend on the LAPACK library.
    low, middle, high = (0.0 if abs(value) <= _ROUNDING * scale else value for value in found)
    return MomentCheck(
        definite=low >= -1e-9 * scale,
        singular=abs(low) <= 1e-9 * scale,
        triangle=high <= (low + middle) * (1 + 1e-9),
        eigenvalues=(low, middle, high),
    )
