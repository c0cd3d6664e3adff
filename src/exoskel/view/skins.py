"""The skins of soft bodies: surfaces that deform.

A frame is an array of poses with a row for each body, followed by a row for each point of a skin.  So whatever moves,
rounds or transmits poses does the same to skins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.scene.item import qualified_name
from exoskel.scene.shape import Color
from exoskel.scene.soft_skin import SoftSkin, has_surface, soft_skin
from exoskel.scene.world import World
from exoskel.source.surface import CREASE
from exoskel.spatial import Array, Indices
from exoskel.view import lighting
from exoskel.view.camera import corners_of

PoseRows = NDArray[np.floating[Any]]
"""Poses as x y z qw qx qy qz, in single precision unless they are far from the origin."""


class SkinSurface(Struct):
    """The surface of a skin: the row of a frame of each vertex, and triangles.

    A point at a sharp edge has several vertices, so that its sides are shaded differently.
    """

    name: str
    body: int
    """The number of its body."""
    rows: Indices
    triangles: Indices
    color: Color = lighting.SKIN

    def vertices(self, frame: PoseRows) -> PoseRows:
        """The vertices in the world, `(n, 3)`."""
        return frame[self.rows, :3]

    def normals(self, vertices: PoseRows) -> PoseRows:
        """The unit normals at the vertices: the means of those of the triangles, weighted by area."""
        corners = vertices[self.triangles]
        areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        out = np.zeros_like(vertices)
        np.add.at(out, self.triangles, areas[:, None])
        unit: PoseRows = spatial.unit(out)
        return unit

    def box(self, frame: PoseRows) -> Array:
        """The corners of its bounding box, `(1, 8, 3)`, in the world."""
        vertices = self.vertices(frame)
        return corners_of(vertices.min(axis=0), vertices.max(axis=0))[None]


class Skins:
    """All skins of a world, in state order; `surfaces` are those that can be drawn."""

    def __init__(self, world: World) -> None:
        bodies = [(model.name, body) for model in world.models for body in model.bodies]
        self._at_rest: list[tuple[str, int, SoftSkin]] = []
        self.surfaces: list[SkinSurface] = []
        row = len(bodies)
        for number, (model, body) in enumerate(bodies):
            if body.soft is not None and has_surface(body.soft):
                name, skin = qualified_name(model, body.name), soft_skin(body.soft)
                points, triangles = _split_at_edges(skin)
                self._at_rest.append((name, number, skin))
                self.surfaces.append(SkinSurface(f"skin_{len(self.surfaces)}", number, row + points, triangles))
                row += len(skin)

    def frames(self, poses: PoseRows, points: Mapping[str, Array] | None = None) -> PoseRows:
        """Add the rows of points to poses `(..., bodies, 7)`.

        `points`, `(..., points, 3)`, are given by the qualified name of the body.  Skins without points follow their
        bodies undeformed.
        """
        if not self._at_rest:
            return poses
        parts = [poses]
        for name, number, skin in self._at_rest:
            rows = np.zeros((*poses.shape[:-2], len(skin), 7), dtype=poses.dtype)
            rows[..., 3] = 1.0
            found = None if points is None else points.get(name)
            is_known = found is not None and found.shape[-2] == len(skin)
            rows[..., :3] = found if is_known else _follow(poses[..., number, :], skin.points)
            parts.append(rows)
        return np.concatenate(parts, axis=-2)


def _follow(pose: PoseRows, points: Array) -> Array:
    """Points of a body in the world."""
    rotations = spatial.quaternion_matrix(pose[..., 3:])
    moved: Array = np.einsum("...ij,pj->...pi", rotations, points) + pose[..., None, :3]
    return moved


def _split_at_edges(skin: SoftSkin) -> tuple[Indices, Indices]:
    """The point of each vertex, and the triangles of vertices."""
    corners = skin.points[skin.faces]
    flat = spatial.unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    smooth = skin.normals[skin.faces]
    is_sharp = np.einsum("fci,fi->fc", smooth, flat) < CREASE
    side = np.where(is_sharp[..., None], flat[:, None], 0.0).round(3) + 0.0
    keys = np.concatenate([skin.faces.reshape(-1, 1), side.reshape(-1, 3)], axis=1)
    found, numbers = np.unique(keys, axis=0, return_inverse=True)
    return found[:, 0].astype(np.intp), numbers.reshape(-1, 3).astype(np.intp)
