"""Compute mass properties from collision shapes, as requested by `<inertial auto="true">` since 1.11."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel import spatial
from exoskel.scene.inertia import Inertia, solid_properties
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
