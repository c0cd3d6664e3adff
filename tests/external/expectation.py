"""The values that every reader should find in a document that we have written.

All values are computed from the scene that was written, not from reading the document.  The mass matrix is computed
by differentiating the scene's kinematics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial

Array = np.ndarray
ROUNDS = 3
"""Random configurations of each document."""
REACH = 1.0
"""Positions are within this range, rad or m, which keeps Euler angles away from gimbal lock."""
_STEP = 1e-3
"""The step of fourth-order differences: truncation and rounding errors are both about 1e-13."""


class Inertial(Struct, frozen=True):
    """Mass (kg), centre of mass and moments about it (kg·m²) in the frame of the body."""

    mass: float
    com: Array
    moment: Array


class Dof(Struct, frozen=True):
    """Limits of a hinge or slider (rad or m; None: not compared) and its damping (N·m·s/rad or N·s/m).

    `dynamics` are its stiffness, dry friction and armature, if these are compared, by the names of the fields.
    """

    limits: tuple[float, float] | None
    damping: float
    dynamics: dict[str, float] = {}


class Values(Struct, frozen=True):
    """Joint positions and poses of floating bodies, in the form of `readers.protocol`."""

    joints: dict[str, list[float]]
    floating: dict[str, list[float]]


class InitialState(Struct, frozen=True):
    """Initial poses of bodies, velocities of their centres of mass and angular velocities, in world coordinates."""

    poses: dict[str, Array]
    motions: dict[str, Array]


class Mechanism(Struct, frozen=True):
    """The bodies of a document by name, and how they move with the scene's own coordinates.

    A body whose mass properties are not compared has None.  `moving` are the coordinates of models that are not static;
    if None, mass matrices are not compared.
    """

    bodies: dict[str, Inertial | None]
    draw: Callable[[np.random.Generator], Array]
    moving: list[int] | None
    at: Callable[[Array], tuple[Array, Values]]
    """The poses of all bodies and the document's values, at coordinates of the scene."""
    dofs: dict[str, Dof] = {}
    scenery: frozenset[str] = frozenset()
    """Bodies that never move, which a reader may omit."""
    start: InitialState | None = None
    """The initial state, if the format stores it apart from the coordinates."""


class Configuration(Struct, frozen=True):
    values: Values
    poses: dict[str, Array]


class MassMatrix(Struct, frozen=True):
    """Of the scene, `(n, n)`, and the document's velocities (`names`) for each of the scene's, `(m, n)`."""

    names: list[tuple[str, int]]
    velocities: Array
    matrix: Array


class Expectation(Struct, frozen=True):
    """All expected values of one file."""

    file: Path
    format: str
    bodies: dict[str, Inertial | None]
    configurations: list[Configuration]
    mass_matrix: MassMatrix | None
    dofs: dict[str, Dof]
    scenery: frozenset[str] = frozenset()
    start: InitialState | None = None

    def request(self) -> dict[str, Any]:
        values = [{"joints": c.values.joints, "floating": c.values.floating} for c in self.configurations]
        return {"file": str(self.file), "format": self.format, "configurations": values}


def expect(file: Path, format: str, mechanism: Mechanism, seed: int = 0) -> Expectation:
    rng = np.random.default_rng(seed)
    drawn = [mechanism.draw(rng) for _ in range(ROUNDS)]
    found = [mechanism.at(q) for q in drawn]
    configurations = [Configuration(v, dict(zip(mechanism.bodies, poses, strict=True))) for poses, v in found]
    matrix = None if mechanism.moving is None else _mass_matrix(mechanism, mechanism.moving, drawn[0])
    rest = mechanism.dofs, mechanism.scenery, mechanism.start
    return Expectation(file, format, mechanism.bodies, configurations, matrix, *rest)


# --- the mass matrix ----------------------------------------------------------------------------------


def _mass_matrix(mechanism: Mechanism, moving: Sequence[int], q: Array) -> MassMatrix:
    poses, there = mechanism.at(q)
    names = [
        *((name, k) for name, value in there.joints.items() for k in range(_width(value))),
        *((name, k) for name in there.floating for k in range(6)),
    ]

    def flat(at: Array) -> Array:
        poses, values = mechanism.at(at)
        return np.concatenate([poses[:, :3].ravel(), _numbers(values, there)])

    rates = _differences(flat, q, moving)
    moved = rates[:, : 12 * len(poses)].reshape(-1, len(poses), 3, 4)
    velocities = np.array([_velocities(there, rate[12 * len(poses) :]) for rate in rates])
    velocities = velocities.reshape(len(rates), len(names)).T
    return MassMatrix(names, velocities, _kinetic(list(mechanism.bodies.values()), poses, moved))


def _width(value: Sequence[float]) -> int:
    return 3 if len(value) == 4 else len(value)


def _differences(function: Callable[[Array], Array], q: Array, coordinates: Sequence[int]) -> Array:
    """The derivative by each of some coordinates, `(n, ...)`."""
    rows = []
    for index in coordinates:
        step = np.zeros(len(q))
        step[index] = _STEP
        near = function(q + step) - function(q - step)
        far = function(q + 2 * step) - function(q - 2 * step)
        rows.append((8.0 * near - far) / (12.0 * _STEP))
    return np.array(rows) if rows else np.zeros((0, *function(q).shape))


def _numbers(values: Values, there: Values) -> Array:
    """All numbers in one row, with quaternions on the same side as those of `there`."""
    parts = [np.zeros(0)]
    for mine, theirs in ((values.joints, there.joints), (values.floating, there.floating)):
        for name, near in theirs.items():
            row = np.array(mine[name])
            if len(row) in (4, 7) and row[-4:] @ np.array(near)[-4:] < 0.0:
                row[-4:] *= -1.0
            parts.append(row)
    return np.concatenate(parts)


def _velocities(there: Values, rate: Array) -> Array:
    parts, at = [np.zeros(0)], 0
    for value in [*there.joints.values(), *there.floating.values()]:
        own = rate[at : at + len(value)]
        at += len(value)
        if len(value) not in (4, 7):
            parts.append(own)
            continue
        w, *axis = value[-4:]
        # Twice the vector part of the conjugate times the derivative.
        spin = 2.0 * (w * own[-3:] - own[-4] * np.array(axis) - np.cross(axis, own[-3:]))
        parts += [own[:-4], spin]
    return np.concatenate(parts)


def _kinetic(bodies: Sequence[Inertial | None], poses: Array, rates: Array) -> Array:
    """The mass matrix, summed over the bodies, for the scene's velocities."""
    total = np.zeros((len(rates), len(rates)))
    for number, body in enumerate(bodies):
        if body is None or not len(rates):
            continue
        turn, own = poses[number, :3, :3], rates[:, number]
        rate = own[:, :3, :3] @ turn.T
        spin = np.stack([rate[:, 2, 1], rate[:, 0, 2], rate[:, 1, 0]], axis=1)
        speed = own[:, :3, 3] + own[:, :3, :3] @ body.com
        total += body.mass * speed @ speed.T + spin @ spatial.rotate_moment(turn, body.moment) @ spin.T
    return total
