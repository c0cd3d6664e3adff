"""Checks of a whole document, after it has been read."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt

import numpy as np

from exoskel import spatial
from exoskel.formats.skel.context import SkelContext
from exoskel.formats.skel.shapes import CollisionGeometry
from exoskel.scene.body import Body
from exoskel.scene.inertia import (
    UNIT_MOMENT,
    DerivedMoments,
    MassAndShapes,
    all_shapes_moment,
    derive_moments,
    first_shape_moment,
    is_unloaded,
)
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.model import Model
from exoskel.scene.pose import NO_ROTATION, ZERO
from exoskel.scene.shape import Plane, Pyramid
from exoskel.spatial import Array

_FEW = 16
"""Up to this number of bodies, NumPy takes longer than Python."""
MomentProperties = tuple[list[bool], list[float], list[float]]
"""Whether moments overflow, the distances of the shapes' centres from the stated ones, and the relative differences of
the two rules."""
_CENTRE_TOLERANCE = 1e-6
_RULE_TOLERANCE = 0.01


def check_derived_moments(context: SkelContext, bodies: list[Body]) -> None:
    """Report problems of moments that are derived from shapes."""
    checked = [body for body in bodies if context.extreme or not _has_one_centred_shape(body)]
    if not checked:
        return
    masses = [(body.inertia, body.shapes) for body in checked]
    found = _few_moments(masses) if len(masses) <= _FEW else None
    overflown, distances, differences = _many_moments(masses) if found is None else found
    for body, is_overflown in zip(checked, overflown, strict=True):
        if is_overflown:
            context.report("SK055.overflow", body.node, "inertia")
    for body, distance in zip(checked, distances, strict=True):
        if distance > _CENTRE_TOLERANCE:
            context.report("SK054.centre", body.node, "inertia", distance=distance)
    for body, difference in zip(checked, differences, strict=True):
        if difference > _RULE_TOLERANCE:
            context.report("SK054.rule", body.node, "inertia", percent=f"{100 * difference:.0f}")
    for body, (_, shapes) in zip(checked, masses, strict=True):
        if not shapes:
            context.report("SK055.no_shape", body.node, "inertia")
        for shape in shapes:
            if type(shape.geometry) is Plane:
                context.report("SK055.plane", shape.node)
            elif type(shape.geometry) is Pyramid:
                context.report("SK055.pyramid", shape.node)


def _few_moments(bodies: Sequence[MassAndShapes]) -> MomentProperties | None:
    """What is checked, of a few bodies; None if they have unusual shapes."""
    found: MomentProperties = ([], [], [])
    for body in bodies:
        derived = all_shapes_moment(body)
        if derived is None:
            return None
        moment, centre, is_overflown = derived
        shapes = [shape for shape in body[1] if not is_unloaded(shape.geometry)]
        old = first_shape_moment((body[0], shapes)) if shapes else UNIT_MOMENT
        is_known = not is_overflown and all(map(isfinite, old))
        scale = max(map(abs, moment)) or 1.0
        difference = max([abs(a - b) for a, b in zip(moment, old, strict=True)]) / scale
        stated = body[0].com or ZERO
        distance = sqrt(sum([(a - b) * (a - b) for a, b in zip(centre, stated, strict=True)]))
        found[0].append(is_overflown)
        found[1].append(distance if is_known else 0.0)
        found[2].append(difference if is_known else 0.0)
    return found


def _many_moments(bodies: Sequence[MassAndShapes]) -> MomentProperties:
    """What is checked, of many bodies at once."""
    new, old = derive_moments(bodies, "all_shapes"), derive_moments(bodies, "first_shape")
    distances, differences = _moment_differences(bodies, new, old)
    return new.overflown.tolist(), distances.tolist(), differences.tolist()


def _moment_differences(
    bodies: Sequence[MassAndShapes], new: DerivedMoments, old: DerivedMoments
) -> tuple[Array, Array]:
    """The distances of the shapes' centres from the stated ones, and the relative differences of the two rules."""
    stated = np.array([inertia.com for inertia, _ in bodies])
    scale = np.abs(new.moments).max(axis=1)
    with np.errstate(all="ignore"):  # moments that overflow are excluded below
        distances = np.sqrt(((new.centres - stated) ** 2).sum(axis=1))
        differences = np.abs(new.moments - old.moments).max(axis=1) / np.where(scale == 0.0, 1.0, scale)
    known = ~(new.overflown | old.overflown)
    return np.where(known, distances, 0.0), np.where(known, differences, 0.0)


def _has_one_centred_shape(body: Body) -> bool:
    """Whether all shapes are equal, unrotated and at the centre of mass, as in most files.

    Both rules of DART then give the same moment about that centre.
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


_BECOMES_5_CM_SPHERE = "replaces it with a sphere of radius 0.05 m"
_BECOMES_1_CM_SPHERE = "replaces it with a sphere of radius 0.01 m"

_DETECTORS: dict[str, dict[str, str]] = {
    "fcl": {"capsule": _BECOMES_5_CM_SPHERE, "multi_sphere": _BECOMES_5_CM_SPHERE},
    "fcl_mesh": {"capsule": _BECOMES_5_CM_SPHERE, "multi_sphere": _BECOMES_5_CM_SPHERE},
    "dart": {"multi_sphere": "ignores it: it collides with nothing"},
    "bullet": {
        "ellipsoid": "approximates it, a few millimetres too large",
        "pyramid": "replaces it with a sphere of radius 0.1 m",
    },
    "ode": {
        "ellipsoid": _BECOMES_1_CM_SPHERE,
        "cone": _BECOMES_1_CM_SPHERE,
        "pyramid": _BECOMES_1_CM_SPHERE,
        "multi_sphere": _BECOMES_1_CM_SPHERE,
    },
}
"""What DART 6.20 does with collision geometries that a detector does not support."""


def check_detector(context: SkelContext, detector: str, shapes: list[CollisionGeometry]) -> None:
    """Report collision geometries that the document's collision detector does not support."""
    used = detector if detector in _DETECTORS else "fcl"
    for kind, node in shapes:
        consequence = _DETECTORS[used].get(kind)
        if consequence is None:
            continue
        supporting = [name for name, unsupported in _DETECTORS.items() if kind not in unsupported]
        advice = f"use one of: {', '.join(supporting)}"
        context.report("SK033", node, detector=used, geometry=kind, advice=advice, consequence=consequence)


def check_free_velocities(context: SkelContext, model: Model) -> None:
    """Report free joints whose initial velocity depends on the version of DART; convert it if requested."""
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
                _rotate_velocity(joint, rotation, kinematics.from_child[i])


def _rotate_velocity(joint: Joint, rotation: np.ndarray, frame: np.ndarray) -> None:
    """Convert a velocity from child axes to parent axes: v' = Ad(C)^-1 diag(R, R) Ad(C) v."""
    adjoint = _adjoint(frame)
    rotations = np.kron(np.eye(2), rotation)
    velocity = np.linalg.solve(adjoint, rotations @ adjoint @ np.array(joint.velocities))
    joint.velocities = tuple(velocity.tolist())


def _adjoint(frame: np.ndarray) -> np.ndarray:
    """Ad(C): maps twists, angular part first, from joint axes to body axes."""
    rotation, position = frame[:3, :3], frame[:3, 3]
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = rotation
    out[3:, :3] = spatial.cross_matrix(position) @ rotation
    return out
