"""Read links and their mass properties, also those computed from collisions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel import spatial
from exoskel.formats.sdf.context import Source, StatedPose, invalid_fields, stated_fields
from exoskel.formats.sdf.shapes import read_shape
from exoskel.formats.sdf.vocabulary import MOMENT
from exoskel.scene.body import Body
from exoskel.scene.inertia import UNIT_MOMENT, Inertia, Moment, check_moment, solid_properties
from exoskel.scene.pose import Pose
from exoskel.scene.shape import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from exoskel.source.flat_tree import Node

DEFAULT_DENSITY = 1000.0
"""The density of a collision shape without one, kg/m³."""
_SUPPORTED = (Box, Sphere, Cylinder, Capsule, Ellipsoid)
"""Geometries whose moments about the centre are known."""

Solid = tuple[Shape, float]
"""A shape and its density in kg/m³."""


def density_of(collision: Node, inertial: Node) -> float:
    """The density of a collision shape: its own, or the default of its link."""
    stated: float = collision.fields.get("density", inertial.fields.get("density", DEFAULT_DENSITY))
    return stated


def derive_inertia(lumps: Sequence[Solid], mass: float | None) -> Inertia | None:
    """The total mass properties of solids, scaled to `mass` if given; None if they cannot be computed."""
    if not lumps or any(not isinstance(shape.geometry, _SUPPORTED) or density <= 0.0 for shape, density in lumps):
        return None
    solids = [solid_properties(shape.geometry) for shape, _ in lumps]
    masses = np.array([volume * density for (volume, _, _), (_, density) in zip(solids, lumps, strict=True)])
    total = float(masses.sum())
    poses = np.array([shape.pose.matrix() for shape, _ in lumps])
    centre = masses @ poses[:, :3, 3] / total
    tensor = np.zeros((3, 3))
    for weight, (_, diagonal, _), pose in zip(masses, solids, poses, strict=True):
        tensor += weight * spatial.rotate_moment(pose[:3, :3], np.diag(diagonal))
        tensor += weight * spatial.point_moment(pose[:3, 3] - centre)
    scale = 1.0 if mass is None or mass <= 0.0 else mass / total
    xx, yy, zz, xy, xz, yz = (spatial.moment_entries(tensor) * scale).tolist()
    x, y, z = centre.tolist()
    return Inertia(mass=total * scale, com=(x, y, z), moment=(xx, yy, zz, xy, xz, yz))


# --- links ---------------------------------------------------------------------------------------------


DisplacedShape = tuple[Shape, StatedPose, Node]
"""A shape whose pose is relative to another frame than its link."""


def read_link(source: Source, node: Node, name: str, *, static: bool) -> tuple[Body, list[DisplacedShape]]:
    """Read a body without its pose, and the shapes whose poses are relative to other frames."""
    body = Body(
        name=name,
        inertia=_inertia(source, node, name, static=static),
        gravity=node.fields.get("gravity", True),
        document=source.number,
        node=node.number,
        given=stated_fields(node),
        repaired=invalid_fields(node, node.fields.get("inertial")),
    )
    _report_unsupported_motion(source, node)
    solids: list[Solid] = []
    inertial: Node | None = node.fields.get("inertial")
    is_auto = inertial is not None and inertial.fields.get("@auto", False)
    displaced: list[DisplacedShape] = []
    for element, shapes in (("visual", body.visuals), ("collision", body.collisions)):
        for one in node.nodes(element):
            made = read_shape(source, one, element)
            if made is not None:
                shapes.append(made[0])
                if made[1].relative_to:
                    displaced.append((made[0], made[1], one))
                if is_auto and inertial is not None and element == "collision":
                    solids.append((made[0], density_of(one, inertial)))
    if is_auto and inertial is not None:
        # The poses of displaced shapes are not known yet.
        found = derive_inertia(solids, inertial.fields.get("mass")) if not displaced else None
        if found is None:
            source.report("SD070.auto", inertial.number, attribute="auto", name=name)
        body.inertia = found or body.inertia
    return body, displaced


def _report_unsupported_motion(source: Source, node: Node) -> None:
    """Report settings of a link's motion that a scene does not support."""
    decay: Node | None = node.fields.get("velocity_decay")
    lost = [name for name in ("kinematic", "enable_wind") if node.fields.get(name)]
    if decay is not None and any(decay.fields.values()):
        lost.append("velocity_decay")
    for name in lost:
        source.report("SD012.physics", node.number, name, element=name)


def _inertia(source: Source, link: Node, name: str, *, static: bool) -> Inertia:
    node: Node | None = link.fields.get("inertial")
    if node is None:
        if not static:
            source.report("SD070.default", link.number, name=name)
        return Inertia()
    mass: float = node.fields.get("mass", 1.0)
    if mass <= 0.0:
        source.report("SD070.mass", node.number, "mass", found=mass)
        mass = 1.0
    pose = source.pose(node).pose
    return Inertia(mass=mass, com=pose.position, moment=_moment(source, node, pose, name))


def _moment(source: Source, node: Node, pose: Pose, name: str) -> Moment:
    """The moments about the centre of mass, rotated from the frame of the inertial to that of the link."""
    stated: Node | None = node.fields.get("inertia")
    if stated is None:
        return UNIT_MOMENT
    xx, yy, zz, xy, xz, yz = (stated.fields.get(e, UNIT_MOMENT[i]) for i, e in enumerate(MOMENT))
    moment: Moment = (xx, yy, zz, xy, xz, yz)
    check = check_moment(moment)
    if not (check.definite and check.triangle):
        source.report("SD070.moment", stated.number, name=name)
    if pose.is_identity or Pose((0.0, 0.0, 0.0), pose.rotation).is_identity:
        return moment
    rotated = spatial.rotate_moment(pose.rotation.matrix(), spatial.moment_matrix(moment))
    xx, yy, zz, xy, xz, yz = spatial.moment_entries(rotated).tolist()
    return (xx, yy, zz, xy, xz, yz)
