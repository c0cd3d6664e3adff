"""Overlays: joint axes, centres of mass, inertia ellipsoids and contact forces as drawable geometry.

Except for contacts, they are built once in body frames and then follow the poses `(bodies, 7)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import plane_frames
from exoskel.scene.pose import pose_matrices
from exoskel.scene.shape import Sphere
from exoskel.scene.summary import moments
from exoskel.scene.world import World
from exoskel.source.surface import Surfaces
from exoskel.spatial import Array
from exoskel.view import lighting
from exoskel.view.render_scene import InstanceBatch, PoseRows, compose_poses

MASS, CENTRE = "mass", "centre"
_CENTRE_SIZE = 0.012
"""The diameter of the spheres at centres of mass, as a fraction of the scene's size."""


class Arrows(Struct):
    """Arrows fixed to bodies: the body of each arrow, and its two ends in that body's frame, `(n, 3)` each."""

    bodies: NDArray[np.intp]
    tails: Array
    heads: Array

    def world_points(self, poses: PoseRows) -> PoseRows:
        """Both ends of each arrow in the world, `(n, 2, 3)`."""
        outer = poses[self.bodies]
        return np.stack([_transform_points(outer, self.tails), _transform_points(outer, self.heads)], axis=1)


def _transform_points(outer: PoseRows, points: Array) -> PoseRows:
    inner = np.zeros((len(points), 7), dtype=outer.dtype)
    inner[:, :3], inner[:, 3] = points, 1.0
    return compose_poses(outer, inner)[0]


def joint_axes(world: World, length: float) -> Arrows:
    """The axes of all joints, as arrows of `length` m centred at the joints."""
    number = {id(body): i for i, body in enumerate(world.bodies())}
    joints = [joint for joint in world.joints() if not joint.loop]
    frames = pose_matrices([joint.pose for joint in joints])
    bodies: list[int] = []
    tails: list[Array] = []
    heads: list[Array] = []
    for joint, frame in zip(joints, frames, strict=True):
        for axis in spatial.unit(np.array(_joint_directions(joint)).reshape(-1, 3)):
            half = frame[:3, :3] @ axis * (length / 2)
            bodies.append(number[id(joint.child)])
            tails.append(frame[:3, 3] - half)
            heads.append(frame[:3, 3] + half)
    ends = np.array([tails, heads]).reshape(2, -1, 3)
    return Arrows(np.array(bodies, dtype=np.intp), ends[0], ends[1])


def _joint_directions(joint: Joint) -> Sequence[Sequence[float]]:
    if joint.kind == "euler":
        return [np.eye(3)["xyz".index(name)].tolist() for name in joint.order]
    if joint.kind in ("planar", "translational2d"):
        return [direction[0].tolist() for direction in plane_frames([joint])[:2]]
    return joint.axes


def inertia_batches(bodies: Sequence[Body], numbers: Iterable[int], size: float) -> list[InstanceBatch]:
    """The inertia of bodies, given by number: equivalent ellipsoids of uniform density, and centres of mass.

    `size` is the size of the scene in m.
    """
    heavy = [i for i in numbers if bodies[i].mass > 0.0 and np.isfinite(bodies[i].mass)]
    if not heavy:
        return []
    chosen = [bodies[i] for i in heavy]
    mass = np.array([body.mass for body in chosen])
    tensors = np.nan_to_num(spatial.moment_matrix(moments(chosen)))
    values, vectors = np.linalg.eigh(tensors)
    vectors[np.linalg.det(vectors) < 0.0, :, 0] *= -1.0
    # The moments of a solid ellipsoid are m (b² + c²) / 5 and so on; solve for the squares of the half axes.
    squares = 2.5 * (values.sum(axis=1, keepdims=True) - 2.0 * values) / mass[:, None]
    scales = 2.0 * np.sqrt(np.clip(squares, 0.0, None))
    local = spatial.pose7(spatial.transform(vectors, np.array([body.com for body in chosen])))
    ball = Surfaces().of(Sphere(0.5))
    assert ball is not None
    which, count = np.array(heavy, dtype=np.intp), len(heavy)
    dots = np.full((count, 3), _CENTRE_SIZE * size)
    clear, solid = (np.tile(color, (count, 1)) for color in (lighting.MASS, (*lighting.MASS[:3], 1.0)))
    return [
        InstanceBatch("inertia", MASS, ball, which, local.astype(np.float32), scales, clear),
        InstanceBatch("centres", CENTRE, ball, which, local.astype(np.float32), dots, solid),
    ]


def contact_arrows(contacts: Sequence[Any], length: float) -> Array:
    """Contact forces as arrows from the points of contact, `(n, 2, 3)`; the strongest is `length` m long.

    If the engine reports no forces, or all are zero, contact normals are drawn at a third of the length.
    """
    points = np.array([contact.position for contact in contacts]).reshape(-1, 3)
    forces = np.array([getattr(contact, "force", np.zeros(3)) for contact in contacts]).reshape(-1, 3)
    strongest = float(np.linalg.norm(forces, axis=1).max(initial=0.0))
    if strongest > 0.0:
        return np.stack([points, points + forces * (length / strongest)], axis=1)
    normals = np.array([contact.normal for contact in contacts]).reshape(-1, 3)
    return np.stack([points, points + normals * (length / 3)], axis=1)
