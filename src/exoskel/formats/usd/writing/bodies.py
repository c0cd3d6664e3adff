"""Write bodies: initial poses, velocities and mass properties."""

from __future__ import annotations

from math import degrees, isfinite
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.formats.usd.codes import record_loss
from exoskel.formats.usd.tree import Prim, Properties
from exoskel.scene.body import Body
from exoskel.scene.initial_velocities import Twist, initial_twists, stated_twists
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.summary import moments
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array

XFORM_OPS = ["xformOp:translate", "xformOp:orient"]
_MARKER_RADIUS = 0.005
"""The radius of the sphere that shows a marker, m."""


class BodyWriter:
    """The bodies of one world; their values are computed all at once."""

    def __init__(self, world: World, kinematics: Kinematics, output: OutputContext) -> None:
        self.output = output
        bodies = list(world.bodies())
        self.number = {id(body): i for i, body in enumerate(bodies)}
        poses = kinematics.poses()
        self.positions: list[list[float]] = poses[:, :3, 3].tolist()
        self.quaternions: list[list[float]] = spatial.quaternion(poses[:, :3, :3]).tolist() if bodies else []
        self.rows = moments(bodies)
        principal, axes = principal_axes(self.rows)
        self.principal: list[list[float]] = principal.tolist()
        self.axes: list[list[float]] = axes.tolist()
        self.motions = _motions(world, kinematics, poses)

    def prim(self, body: Body, name: str, *, static: bool) -> Prim:
        """The prim of a body, without shapes and markers."""
        i = self.number[id(body)]
        made = Prim("Xform", name, item=body, metadata={"kind": "subcomponent"})
        made.properties["double3 xformOp:translate"] = tuple(self.positions[i])
        made.properties["quatd xformOp:orient"] = tuple(self.quaternions[i])
        made.properties["uniform token[] xformOpOrder"] = XFORM_OPS
        if not static:
            made.apis.append("PhysicsRigidBodyAPI")
            self._add_motion(made, body)
        self._add_mass(made, body, i, static=static)
        self._record_losses(body)
        return made

    def _add_motion(self, made: Prim, body: Body) -> None:
        if id(body) in self.motions:
            speed, spin = self.motions[id(body)]
            made.properties["vector3f physics:velocity"] = speed
            made.properties["vector3f physics:angularVelocity"] = spin
        if body.state is not None and not body.state.enabled:
            made.properties["uniform bool physics:startsAsleep"] = True
        if not body.gravity:
            made.apis.append("PhysxRigidBodyAPI")
            made.properties["bool physxRigidBody:disableGravity"] = True
            made.properties["float mjc:body:gravcomp"] = 1.0

    def _add_mass(self, made: Prim, body: Body, i: int, *, static: bool) -> None:
        if static and not (isfinite(body.mass) and body.mass > 0.0):
            return  # a fixed body needs no mass
        if body.mass == 0.0:
            record_loss(self.output, body, "US211", "inertia")
        made.apis += ["PhysicsMassAPI", "NewtonMassAPI"]
        made.properties |= {"float physics:mass": body.mass, "point3f physics:centerOfMass": body.com}
        if min(self.principal[i]) > 0.0:
            made.properties["float3 physics:diagonalInertia"] = tuple(self.principal[i])
            made.properties["quatf physics:principalAxes"] = tuple(self.axes[i])
        elif body.mass and not static:
            record_loss(self.output, body, "US211.moment", "inertia")
        made.properties["double[] newton:inertia"] = self.rows[i].tolist()

    def _record_losses(self, body: Body) -> None:
        if body.soft is not None:
            record_loss(self.output, body, "US301", "soft")
        if body.state is not None and any((*body.state.force, *body.state.torque)):
            record_loss(self.output, body, "US307", "state")
        if body.state is not None and body.state.finite_rotation.mode:
            record_loss(self.output, body, "US307.rotation", "state")


def marker_properties(offset: Any) -> Properties:
    """A point, as a small sphere with purpose guide."""
    return {
        "double radius": _MARKER_RADIUS,
        "uniform token purpose": "guide",
        "double3 xformOp:translate": tuple(offset),
        "uniform token[] xformOpOrder": ["xformOp:translate"],
    }


def principal_axes(rows: Array) -> tuple[Array, Array]:
    """Principal moments and their axes as quaternions, of rows of ixx iyy izz ixy ixz iyz.

    A diagonal tensor is not changed.
    """
    tensors = spatial.moment_matrix(rows.reshape(-1, 6))
    values = np.stack([tensors[:, 0, 0], tensors[:, 1, 1], tensors[:, 2, 2]], axis=1)
    axes = np.tile([1.0, 0.0, 0.0, 0.0], (len(rows), 1))
    rotated = np.flatnonzero(rows[:, 3:].any(axis=1) & np.isfinite(rows).all(axis=1))
    if rotated.size:
        found, vectors = np.linalg.eigh(tensors[rotated])
        vectors[:, :, 2] *= np.sign(np.linalg.det(vectors))[:, None]
        values[rotated] = found
        axes[rotated] = spatial.quaternion(vectors)
    return values, axes


def _motions(world: World, kinematics: Kinematics, poses: Array) -> dict[int, Twist]:
    """Velocity of the centre of mass (m/s) and angular velocity (degrees/s) in the body frame, for moving bodies."""
    own = stated_twists(world.bodies())
    if not own and not any(joint._dofs and any(joint.velocities) for joint in world.joints()):
        return {}
    models = [model for model in world.models if not model.static]
    number = {id(body): (i, body) for i, body in enumerate(world.bodies())}
    made: dict[int, Twist] = {}
    for key, (speed, spin) in initial_twists(world.models, kinematics, own).items():
        i, body = number[key]
        rotation = poses[i][:3, :3]
        at_centre = spatial.array(speed) + np.cross(spin, rotation @ body.com)
        a, b, c = (rotation.T @ at_centre).tolist()
        x, y, z = (rotation.T @ spatial.array(spin)).tolist()
        made[key] = (a, b, c), (degrees(x), degrees(y), degrees(z))
    moving = {id(body) for model in models for body in model.bodies}
    return {key: twist for key, twist in made.items() if key in moving}
