"""Checks that look at many objects at once, after the document has been read."""

from __future__ import annotations

import numpy as np

from exoskel import spatial
from exoskel.formats.skel.context import Context
from exoskel.formats.skel.shapes import CollisionGeometry
from exoskel.scene.body import Body
from exoskel.scene.inertia import DerivedMoments, derive_moments
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import NO_ROTATION
from exoskel.scene.shape import Plane, Pyramid
from exoskel.scene.world import Model
from exoskel.spatial import Array

_CENTRE_TOLERANCE = 1e-6
_RULE_TOLERANCE = 0.01


def check_derived_moments(context: Context, bodies: list[Body]) -> None:
    """What there is to say about moments that come from shapes."""
    delicate = [body for body in bodies if context.extreme or not _plainly_centred(body)]
    if not delicate:
        return
    lumps = [(body.inertia, body.shapes) for body in delicate]
    new, old = derive_moments(lumps, "all_shapes"), derive_moments(lumps, "first_shape")
    for i in np.flatnonzero(new.overflown).tolist():
        context.report("SK055.overflow", delicate[i].node, "inertia")
    distances, differences = _disagreement(delicate, new, old)
    for i in np.flatnonzero(distances > _CENTRE_TOLERANCE).tolist():
        context.report("SK054.centre", delicate[i].node, "inertia", distance=float(distances[i]))
    for i in np.flatnonzero(differences > _RULE_TOLERANCE).tolist():
        context.report("SK054.rule", delicate[i].node, "inertia", percent=f"{100 * differences[i]:.0f}")
    for body, (_, shapes) in zip(delicate, lumps, strict=True):
        if not shapes:
            context.report("SK055.no_shape", body.node, "inertia")
        for shape in shapes:
            if type(shape.geometry) is Plane:
                context.report("SK055.plane", shape.node)
            elif type(shape.geometry) is Pyramid:
                context.report("SK055.pyramid", shape.node)


def _disagreement(bodies: list[Body], new: DerivedMoments, old: DerivedMoments) -> tuple[Array, Array]:
    """How far the centre of shapes lies from the stated one, and how much the two rules differ in proportion."""
    stated = np.array([body.inertia.com for body in bodies])
    scale = np.abs(new.moments).max(axis=1)
    with np.errstate(all="ignore"):  # of what overflows, nothing more is said
        distances = np.sqrt(((new.centres - stated) ** 2).sum(axis=1))
        differences = np.abs(new.moments - old.moments).max(axis=1) / np.where(scale == 0.0, 1.0, scale)
    known = ~(new.overflown | old.overflown)
    return np.where(known, distances, 0.0), np.where(known, differences, 0.0)


def _plainly_centred(body: Body) -> bool:
    """Whether all shapes are the same one, unturned and on the centre of mass, as in most files.

    Both of DART's rules then give the same moment, about that very centre.
    """
    shapes = body.visuals + body.collisions
    if not shapes:
        return False
    geometry, pose = shapes[0].geometry, shapes[0].pose
    return (
        pose.position == body.inertia.com
        and pose.rotation == NO_ROTATION
        and type(geometry) not in (Plane, Pyramid)
        and all(shape.geometry == geometry and shape.pose == pose for shape in shapes)
    )


_REPLACED_BY_5_CM = "replaces it with a sphere of radius 0.05 m"
_REPLACED_BY_1_CM = "replaces it with a sphere of radius 0.01 m"

_DETECTORS: dict[str, dict[str, str]] = {
    "fcl": {"capsule": _REPLACED_BY_5_CM, "multi_sphere": _REPLACED_BY_5_CM},
    "fcl_mesh": {"capsule": _REPLACED_BY_5_CM, "multi_sphere": _REPLACED_BY_5_CM},
    "dart": {"multi_sphere": "ignores it: it collides with nothing"},
    "bullet": {
        "ellipsoid": "approximates it, a few millimetres too large",
        "pyramid": "replaces it with a sphere of radius 0.1 m",
    },
    "ode": {
        "ellipsoid": _REPLACED_BY_1_CM,
        "cone": _REPLACED_BY_1_CM,
        "pyramid": _REPLACED_BY_1_CM,
        "multi_sphere": _REPLACED_BY_1_CM,
    },
}
"""What DART 6.20 does with the collision geometries that a detector does not know."""


def check_detector(context: Context, detector: str, shapes: list[CollisionGeometry]) -> None:
    """Whether the document's collision detector knows its collision geometries."""
    used = detector if detector in _DETECTORS else "fcl"
    for kind, node in shapes:
        consequence = _DETECTORS[used].get(kind)
        if consequence is None:
            continue
        able = [name for name, lacks in _DETECTORS.items() if kind not in lacks]
        advice = f"use one of: {', '.join(able)}"
        context.report("SK033", node, detector=used, geometry=kind, advice=advice, consequence=consequence)


def check_free_velocities(context: Context, model: Model) -> None:
    """Free joints whose initial velocity depends on the version of DART, and the older reading of it."""
    moving = [joint for joint in model.joints if joint.kind == "free" and any(joint.velocities)]
    if not moving:
        return
    kinematics = Kinematics([model])
    relative = kinematics.relative(kinematics.initial)
    tree = [joint for joint in model.joints if not joint.loop]
    for i, joint in enumerate(tree):
        if not any(joint is other for other in moving):
            continue
        rotation = relative[i, :3, :3]
        if np.abs(rotation - np.eye(3)).max() > 1e-12:
            context.report("SK091", joint.node, "init_vel")
            if context.options.free_velocity_axes == "child":
                _turn_velocity(joint, rotation, kinematics.from_child[i])


def _turn_velocity(joint: Joint, rotation: np.ndarray, frame: np.ndarray) -> None:
    """From child axes to parent axes: v' = Ad(C)^-1 diag(R, R) Ad(C) v."""
    adjoint = _adjoint(frame)
    turn = np.kron(np.eye(2), rotation)
    velocity = np.linalg.solve(adjoint, turn @ adjoint @ np.array(joint.velocities))
    joint.velocities = tuple(velocity.tolist())


def _adjoint(frame: np.ndarray) -> np.ndarray:
    """Ad(C): twists, angular part first, from joint axes to body axes."""
    rotation, position = frame[:3, :3], frame[:3, 3]
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = rotation
    out[3:, :3] = spatial.cross_matrix(position) @ rotation
    return out
