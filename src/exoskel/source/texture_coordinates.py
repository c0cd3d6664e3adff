"""Places on an image for surfaces that have none: how a texture lies on a box, a sphere or a mesh without coordinates.

An image lies on each side of a box, once around a sphere, a cylinder, a capsule or a cone, and on each of their flat
ends.  On other surfaces it is projected along the axis that is closest to the normal of a triangle.
"""

from __future__ import annotations

import numpy as np
from msgspec import structs

from exoskel.scene.shape import Capsule, Cone, Cylinder, Ellipsoid, Geometry, Sphere
from exoskel.source.surface import Surface, distinct_rows
from exoskel.spatial import Array

_ROUND = (Sphere, Ellipsoid, Cylinder, Capsule, Cone)
_FLAT = 1.0 - 1e-9
"""The least component along z of the normals of flat ends."""
_RIGHT_AND_UP = ((1, 2), (0, 2), (0, 1))
"""The axes of u and v on the sides of x, y and z."""


def with_texture_coordinates(surface: Surface, geometry: Geometry) -> Surface:
    """The surface of a geometry with places on an image; those of a mesh file are preserved."""
    if surface.uv is not None:
        return structs.replace(surface, face_images=None, images=(), colors=None)
    corners = surface.vertices[surface.triangles]
    normals = surface.normals[surface.triangles]
    low, high = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
    shares = (corners - low) / np.where(high > low, high - low, 1.0)
    uv = _projected(corners, shares)
    if isinstance(geometry, _ROUND):
        is_flat = np.asarray((np.abs(normals[:, :, 2]) > _FLAT).all(axis=1))
        has_ends = isinstance(geometry, Cylinder | Cone)
        uv = np.where(is_flat[:, None, None] & has_ends, uv, _around_z(corners, geometry, shares))
    points, normal, places = corners.reshape(-1, 3), normals.reshape(-1, 3), uv.reshape(-1, 2)
    first, number = distinct_rows(np.hstack([points, normal, places]))
    return Surface(points[first], normal[first], number.reshape(-1, 3), uv=places[first])


def _projected(corners: Array, shares: Array) -> Array:
    """Project triangles along the axes that are closest to their normals."""
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    axis = np.abs(across).argmax(axis=1)
    is_back = np.take_along_axis(across, axis[:, None], axis=1)[:, 0] < 0.0
    uv = np.empty((*corners.shape[:2], 2))
    for number, (right, up) in enumerate(_RIGHT_AND_UP):
        own = axis == number
        uv[own] = shares[own][:, :, (right, up)]
    is_mirrored = is_back != (axis == 1)  # seen from outside with v up, x grows to the left on the side +y
    uv[is_mirrored, :, 0] = 1.0 - uv[is_mirrored, :, 0]
    return uv


def _around_z(corners: Array, geometry: Geometry, shares: Array) -> Array:
    """Wrap the image around z once, from -x counter-clockwise; from the lowest to the highest point."""
    u = np.arctan2(corners[:, :, 1], corners[:, :, 0]) / (2.0 * np.pi) + 0.5
    is_pole = np.hypot(corners[:, :, 0], corners[:, :, 1]) <= 1e-9 * max(float(np.abs(corners).max()), 1e-300)
    farthest = np.where(is_pole, 0.0, u).max(axis=1, keepdims=True)
    u = np.where(farthest - u > 0.5, u + 1.0, u)  # behind the seam, where the image starts again
    beside = np.where(is_pole, 0.0, u).sum(axis=1) / np.maximum((~is_pole).sum(axis=1), 1)
    u = np.where(is_pole, beside[:, None], u)
    v = shares[:, :, 2]
    if isinstance(geometry, Sphere | Ellipsoid):  # equal angles, as on a globe
        v = 0.5 + np.arcsin(np.clip(2.0 * v - 1.0, -1.0, 1.0)) / np.pi
    return np.stack([u, v], axis=2)
