"""Bodies for ODE: rigid and moving, with the origin at the centre of mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import Body, BodyState
from exoskel.scene.inertia import check_moment
from exoskel.scene.initial_velocities import initial_twists
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.model import Model
from exoskel.scene.pose import ZERO
from exoskel.scene.summary import moments
from exoskel.scene.world import World
from exoskel.spatial import Array

STATIC = -1
"""The number of all bodies that never move: ODE has no body for them."""


class OdeBodies:
    """All bodies of a world, which of them move, and their poses.

    `number` is a body's number among the moving ones, by id; `STATIC` for those of static models and those that are
    welded to the world, which need no mass.  `index` is its number among all.  `zero` and `start` are the world poses
    of all bodies, at zero and at initial positions.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.all = list(world.bodies())
        self.index = {id(body): i for i, body in enumerate(self.all)}
        kinematics = Kinematics(world.models)
        self.zero, self.start = kinematics.zero_poses, kinematics.poses()
        _require_finite(self.all, self.start)
        static = {body for model in world.models for body in _static_bodies(model)}
        self.moving = [body for body in self.all if id(body) not in static]
        self.number = dict.fromkeys(static, STATIC) | {id(body): i for i, body in enumerate(self.moving)}
        self.rows = np.array([self.index[id(body)] for body in self.moving], dtype=np.intp)
        self.coms = np.array([body.com for body in self.moving]).reshape(-1, 3)
        self.masses = np.array([body.mass for body in self.moving])
        self.moments = moments(self.moving)
        self.twists = self._twists(kinematics)

    def _twists(self, kinematics: Kinematics) -> Array:
        """Initial angular velocities, and velocities of the centres of mass, of the bodies that move."""
        found = initial_twists(self.world.models, kinematics)
        pairs = [found.get(id(body), (ZERO, ZERO)) for body in self.moving]
        spin = np.array([spin for _, spin in pairs]).reshape(-1, 3)
        speed = np.array([speed for speed, _ in pairs]).reshape(-1, 3)
        arm = (self.start[self.rows, :3, :3] @ self.coms[..., None])[..., 0]
        return np.hstack([spin, speed + np.cross(spin, arm)])

    def records(self) -> list[dict[str, Any]]:
        """The records that the worker builds the bodies from; poses are those of the centres of mass, in body axes."""
        centres = spatial.transform(np.eye(3), self.coms)
        zero, start = (spatial.pose7(poses[self.rows] @ centres) for poses in (self.zero, self.start))
        return [self._record(i, body, zero[i], start[i]) for i, body in enumerate(self.moving)]

    def _record(self, number: int, body: Body, zero: Array, start: Array) -> dict[str, Any]:
        moment = self.moments[number].tolist()
        _require_mass(body, moment)
        state = body.state or BodyState()
        return {
            "mass": body.mass,
            "moment": moment,
            "zero": zero.tolist(),
            "start": start.tolist(),
            "twist": self.twists[number].tolist(),
            "gravity": body.gravity,
            "enabled": state.enabled,
            "force": state.force,
            "torque": state.torque,
            "finite": [state.finite_rotation.mode, *state.finite_rotation.axis],
        }

    # --- from ODE back to the scene -------------------------------------------------------------------

    def poses(self, centres: Array) -> Array:
        """World poses of all bodies, from those of the centres of mass of the moving ones, x y z qw qx qy qz."""
        out = self.start.copy()
        if len(self.moving):
            moved = spatial.transform(spatial.quaternion_matrix(centres[:, 3:]), centres[:, :3])
            out[self.rows] = moved @ spatial.transform(np.eye(3), -self.coms)
        return out

    def origin_twists(self, poses: Array, moving: Array) -> Array:
        """Angular velocities, and velocities of the origins, of all bodies."""
        out = np.zeros((len(self.all), 6))
        arm = (poses[self.rows, :3, :3] @ self.coms[..., None])[..., 0]
        out[self.rows] = moving
        out[self.rows, 3:] -= np.cross(moving[:, :3], arm)
        return out

    def energy(self, poses: Array, moving: Array) -> tuple[float, float]:
        """Kinetic energy, and potential energy in the world's gravity, in J."""
        rotation = poses[self.rows, :3, :3]
        spin = (np.swapaxes(rotation, 1, 2) @ moving[:, :3, None])[..., 0]
        rotational = np.einsum("ni,nij,nj->", spin, spatial.moment_matrix(self.moments), spin)
        kinetic = 0.5 * (rotational + float(self.masses @ np.sum(moving[:, 3:] ** 2, axis=1)))
        centres = poses[self.rows, :3, 3] + (rotation @ self.coms[..., None])[..., 0]
        weights = self.masses * np.array([body.gravity for body in self.moving], dtype=float)
        return float(kinetic), -float(weights @ (centres @ np.array(self.world.gravity)))


def _static_bodies(model: Model) -> set[int]:
    """The ids of the bodies that never move."""
    if model.static:
        return {id(body) for body in model.bodies}
    static: set[int] = set()
    for joint in model.joints:  # parents precede children
        if joint.kind == "weld" and not joint.loop and (joint.parent is None or id(joint.parent) in static):
            static.add(id(joint.child))
    return static


def _require_mass(body: Body, moment: list[float]) -> None:
    """Raise for masses and inertia tensors that ODE cannot invert: it crashes on them."""
    if not (np.isfinite(body.mass) and body.mass > 0.0):
        raise ExoskelError(f"ODE cannot move body {body.name!r}: its mass is {body.mass:g} kg")
    xx, yy, zz, xy, xz, yz = moment
    found = check_moment((xx, yy, zz, xy, xz, yz))
    if not found.definite or found.singular:
        raise ExoskelError(
            f"ODE cannot move body {body.name!r}: its moment of inertia is not positive definite "
            f"(eigenvalues {', '.join(f'{value:g}' for value in found.eigenvalues)})"
        )


def _require_finite(bodies: list[Body], poses: Array) -> None:
    lost = np.flatnonzero(~np.isfinite(poses).all(axis=(1, 2)))
    if lost.size:
        raise ExoskelError(f"ODE cannot place body {bodies[int(lost[0])].name!r}: its position is not finite")
