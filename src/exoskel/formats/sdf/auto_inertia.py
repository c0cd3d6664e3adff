"""Mass properties that are worked out from collisions, as `<inertial auto="true">` asks since 1.11."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel import spatial
from exoskel.scene.inertia import Inertia, solid_properties
from exoskel.scene.shape import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from exoskel.source.flat_tree import Node

WATER = 1000.0
"""The density of what states none, kg/m³."""
_EVEN = (Box, Sphere, Cylinder, Capsule, Ellipsoid)
"""Shapes about whose centres the moments are known."""

Lump = tuple[Shape, float]
"""A shape and its density in kg/m³."""


def density_of(collision: Node, inertial: Node) -> float:
    """What a collision states counts before what its link states for all."""
    stated: float = collision.fields.get("density", inertial.fields.get("density", WATER))
    return stated


def weighed(lumps: Sequence[Lump], mass: float | None) -> Inertia | None:
    """The mass properties of solids together, brought to `mass` if there is one; None if they cannot be worked out."""
    if not lumps or any(not isinstance(shape.geometry, _EVEN) or density <= 0.0 for shape, density in lumps):
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
