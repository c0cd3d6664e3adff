"""Mass properties that MuJoCo accepts: what breaks its rules is repaired as little as possible, and told.

MuJoCo runs no body without mass, no moment that is not positive, and none whose two smaller principal moments add
up to less than the largest, which no solid has; DART takes all of these as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from exoskel.scene.body import Body
from exoskel.scene.summary import moments
from exoskel.spatial import Array

LEAST_MASS = 1e-12
"""What a body without mass gets, kg; its moment is kept."""
LEAST_MOMENT = 1e-12
"""What a principal moment that is not positive gets, kg·m²."""
_SLACK = 4e-10
"""How far beyond the rule a repaired moment is put, relatively, so that rounding does not undo it."""

Fault = Literal["massless", "moment", "triangle"]


class Repair(Struct, frozen=True):
    """What was done to a body: for a moment, the most that a principal one grew by, kg·m²."""

    body: Body
    fault: Fault
    change: float


class Inertials:
    """Masses (kg) and moments (kg·m², about the centre of mass, body axes) of many bodies, by id."""

    def __init__(self, bodies: Sequence[Body]) -> None:
        raw = moments(bodies)
        self.repairs: list[Repair] = []
        values, axes = np.linalg.eigh(_tensors(raw))
        whole = np.maximum(values, LEAST_MOMENT)
        short = whole[:, 2] - whole[:, 0] - whole[:, 1]
        broken = short > -_SLACK * whole[:, 2]
        grown = np.where(broken, 0.5 * (short + 2 * _SLACK * whole[:, 2]), 0.0)
        whole[:, :2] += grown[:, None]
        changed = (whole != values).any(axis=1)
        mended = raw.copy()
        mended[changed] = _six(axes[changed] * whole[changed, None, :] @ axes[changed].transpose(0, 2, 1))
        self._rows: dict[int, Array] = {id(body): row for body, row in zip(bodies, mended, strict=True)}
        self._tell(bodies, values, whole)

    def _tell(self, bodies: Sequence[Body], before: Array, after: Array) -> None:
        change = (after - before).max(axis=1, initial=0.0)
        worst = after[:, 2]
        for number in np.flatnonzero((before[:, 0] <= 0.0) | (change > 25 * _SLACK * worst)).tolist():
            fault: Fault = "moment" if before[number, 0] <= 0.0 else "triangle"
            self.repairs.append(Repair(bodies[number], fault, float(change[number])))
        self.repairs += [Repair(body, "massless", LEAST_MASS) for body in bodies if not body.mass > 0.0]

    def mass(self, body: Body) -> float:
        return body.mass if body.mass > 0.0 else LEAST_MASS

    def moment(self, body: Body) -> Array:
        """xx, yy, zz, xy, xz, yz."""
        return self._rows[id(body)]

    def least_moment(self, body: Body) -> float:
        """The smallest principal moment, kg·m²."""
        return float(np.linalg.eigvalsh(_tensors(self.moment(body)[None]))[0, 0])


def _tensors(rows: Array) -> Array:
    xx, yy, zz, xy, xz, yz = rows.T
    return np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=-1).reshape(-1, 3, 3)


def _six(tensors: Array) -> Array:
    pick = tensors.reshape(-1, 9)[:, [0, 4, 8, 1, 2, 5]]
    return np.asarray(pick, dtype=np.float64)
