"""Read bodies: mass properties, poses and velocities, computed for all bodies at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.formats.usd.collision_filter import FILTERED_PAIRS
from exoskel.formats.usd.reading.prim_values import Values, name_of, targets, values
from exoskel.scene.body import Body
from exoskel.scene.inertia import UNIT_MOMENT, Inertia
from exoskel.scene.pose import Vector
from exoskel.spatial import Array

_ATTRIBUTES = (
    "xformOp:translate",
    "xformOp:orient",
    "physics:velocity",
    "physics:angularVelocity",
    "physics:mass",
    "physics:centerOfMass",
    "physics:diagonalInertia",
    "physics:principalAxes",
    "newton:inertia",
    "physxRigidBody:disableGravity",
)
_ZERO, _ONE = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


class BodyReader:
    """The bodies of one world, numbered as they were read."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self.number: dict[str, int] = {}
        """By the path of the prim."""
        self.filtered: dict[int, list[str]] = {}
        """The paths of the bodies that a body does not collide with, by number."""
        self._found: list[Values] = []
        self.places = self.speeds = self.spins = np.empty(0)
        """World transforms, velocities of the origins and angular velocities, valid after `finish`."""

    def read(self, prim: Any) -> Body:
        found = values(prim, _ATTRIBUTES)
        body = Body(name=name_of(prim), gravity=not found.get("physxRigidBody:disableGravity", False))
        self.number[str(prim.path)] = len(self.bodies)
        others = targets(prim, FILTERED_PAIRS)
        if others:
            self.filtered[len(self.bodies)] = others
        self.bodies.append(body)
        self._found.append(found)
        return body

    def finish(self) -> None:
        if not self.bodies:
            return
        self.places = spatial.transform(
            spatial.quaternion_matrix(self._rows("xformOp:orient", _ONE)), self._rows("xformOp:translate", _ZERO)
        )
        rotations = self.places[:, :3, :3]
        centres = self._rows("physics:centerOfMass", _ZERO)
        spins = np.radians(self._rows("physics:angularVelocity", _ZERO))
        speeds = self._rows("physics:velocity", _ZERO) - np.cross(spins, centres)
        self.speeds, self.spins = (np.einsum("bij,bj->bi", rotations, rows) for rows in (speeds, spins))
        moments = self._moments().tolist()
        for body, found, centre, (xx, yy, zz, xy, xz, yz) in zip(
            self.bodies, self._found, centres.tolist(), moments, strict=True
        ):
            mass = float(found.get("physics:mass", 0.0))
            body.inertia = Inertia(mass=mass, com=_vector(centre), moment=(xx, yy, zz, xy, xz, yz))

    def _rows(self, name: str, otherwise: tuple[float, ...]) -> Array:
        return np.array([found.get(name, otherwise) for found in self._found], dtype=np.float64)

    def _moments(self) -> Array:
        """The moments of UsdPhysics, or Newton's tensor if UsdPhysics cannot express them."""
        axes = spatial.quaternion_matrix(self._rows("physics:principalAxes", _ONE))
        principal = self._rows("physics:diagonalInertia", _ZERO)
        rows = spatial.moment_entries((axes * principal[:, None, :]) @ axes.transpose(0, 2, 1))
        for i, found in enumerate(self._found):
            if "physics:diagonalInertia" not in found:
                rows[i] = found.get("newton:inertia", UNIT_MOMENT)
        return rows


def _vector(row: list[float]) -> Vector:
    x, y, z = row
    return (x, y, z)
