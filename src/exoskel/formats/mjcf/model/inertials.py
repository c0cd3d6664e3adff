"""Mass properties that MuJoCo accepts: invalid ones are repaired as little as possible, and reported.

MuJoCo requires a positive mass, positive principal moments, and that the two smaller ones add up to at least the
largest (the triangle inequality, true of every solid).  DART accepts any values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from operator import is_
from typing import Literal

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.scene.body import Body
from exoskel.scene.inertia import MIN_MASS, MIN_MOMENT, Moment
from exoskel.scene.summary import mass_properties
from exoskel.spatial import Array

_MIN_ACCEPTED_MASS = 1e-15
"""MuJoCo rejects moving bodies with a smaller mass, kg (`mjMINVAL`)."""
_SLACK = 4e-10
"""Relative margin of repaired moments, so that rounding does not undo the repair."""

Fault = Literal["massless", "moment", "triangle"]
MassProperties = tuple[float, Array, Array]
"""Mass, centre of mass and moment."""


class Repair(Struct, frozen=True):
    """A repair of a body: `change` is the largest increase of a principal moment (kg·m²), or the new mass (kg)."""

    body: Body
    fault: Fault
    change: float


class Inertials:
    """Masses (kg) and moments (kg·m², about the centre of mass, body axes) of many bodies, by id."""

    def __init__(self, bodies: Sequence[Body]) -> None:
        found, centres = mass_properties(bodies)
        self.repairs: list[Repair] = []
        moments = _rows(found, 6)
        if not _are_valid({id(row): row for row in found}.values()):
            moments = list(self._repaired(bodies, np.array(moments).reshape(-1, 6)))
        masses = [body.inertia.mass for body in bodies]
        if not all(mass >= _MIN_ACCEPTED_MASS for mass in masses):
            light = (body for body in bodies if not body.inertia.mass >= _MIN_ACCEPTED_MASS)
            self.repairs += [Repair(body, "massless", MIN_MASS) for body in light]
            masses = [mass if mass >= _MIN_ACCEPTED_MASS else MIN_MASS for mass in masses]
        self._bodies, self._columns = bodies, (masses, _rows(centres, 3), moments)

    @cached_property
    def _by_id(self) -> dict[int, MassProperties]:
        return dict(zip(map(id, self._bodies), zip(*self._columns, strict=True), strict=True))

    def in_order(self, bodies: Sequence[Body]) -> Iterator[MassProperties]:
        """Those of all bodies in another order, as from `of`."""
        if len(bodies) == len(self._bodies) and all(map(is_, bodies, self._bodies)):  # as in most worlds
            return zip(*self._columns, strict=True)
        return map(self.of, bodies)

    def _repaired(self, bodies: Sequence[Body], raw: Array) -> Array:
        values, axes = np.linalg.eigh(_tensors(raw))
        repaired = np.maximum(values, MIN_MOMENT)
        shortfall = repaired[:, 2] - repaired[:, 0] - repaired[:, 1]
        broken = shortfall > -_SLACK * repaired[:, 2]
        increase = 0.5 * (shortfall + 2 * _SLACK * repaired[:, 2])
        middle = np.minimum(repaired[:, 1] + increase, repaired[:, 2])  # it stays below the largest, as in thin rods
        smallest = repaired[:, 2] - middle + 2 * _SLACK * repaired[:, 2]
        repaired[:, :2] = np.where(broken[:, None], np.stack([smallest, middle], axis=1), repaired[:, :2])
        changed = (repaired != values).any(axis=1)
        rows = raw
        if changed.any():
            rows = raw.copy()
            rows[changed] = _components(axes[changed] * repaired[changed, None, :] @ axes[changed].transpose(0, 2, 1))
        self._find_repairs(bodies, values, repaired)
        return rows

    def _find_repairs(self, bodies: Sequence[Body], before: Array, after: Array) -> None:
        change = (after - before).max(axis=1, initial=0.0)
        largest = after[:, 2]
        for number in np.flatnonzero((before[:, 0] <= 0.0) | (change > 25 * _SLACK * largest)).tolist():
            fault: Fault = "moment" if before[number, 0] <= 0.0 else "triangle"
            self.repairs.append(Repair(bodies[number], fault, float(change[number])))

    def of(self, body: Body) -> MassProperties:
        """Mass, centre of mass in the body frame (m), and moment: xx, yy, zz, xy, xz, yz."""
        return self._by_id[id(body)]

    def mass(self, body: Body) -> float:
        return self._by_id[id(body)][0]

    def min_moment(self, body: Body) -> float:
        """The smallest principal moment, kg·m²."""
        return float(np.linalg.eigvalsh(_tensors(self.of(body)[2][None]))[0, 0])


def _rows(values: Sequence[tuple[float, ...]], width: int) -> list[Array]:
    """Tuples as arrays.  Many bodies are alike: the same tuple becomes the same array."""
    distinct = {id(row): row for row in values}
    made = dict(zip(distinct, spatial.rows(list(distinct.values()), width), strict=True))
    return [made[id(row)] for row in values]


def _are_valid(moments: Iterable[Moment]) -> bool:
    """Whether moments without products of inertia need no repair: those of most bodies."""
    for xx, yy, zz, xy, xz, yz in moments:
        if xy or xz or yz:
            return False
        smallest, middle, largest = sorted((xx, yy, zz))
        if not (largest - smallest - middle <= -_SLACK * largest and smallest >= MIN_MOMENT):
            return False
    return True


def _tensors(rows: Array) -> Array:
    return rows[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)


def _components(tensors: Array) -> Array:
    pick = tensors.reshape(-1, 9)[:, [0, 4, 8, 1, 2, 5]]
    return np.asarray(pick, dtype=np.float64)
