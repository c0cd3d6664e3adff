"""Placement of a scene on the page: near the page's origin, and a few metres in size.

viser's shadows end at 20 m, its ground fades out away from the origin, and its controls suit scenes of a few metres.
Browsers draw in single precision, which distorts geometry far from the origin.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.scene.pose import Vector
from exoskel.spatial import Array
from exoskel.view.camera import Camera, size_of, vector
from exoskel.view.render_scene import grid_cell
from exoskel.view.skins import PoseRows

_MIN_SIZE, _NORMAL_SIZE, _MAX_SIZE = 0.5, 4.0, 6.0
"""A scene smaller than the first or larger than the last, m, is scaled to the middle one."""
_MAX_OFFSET, _MAX_OFFSET_IN_SIZES = 8.0, 6.0
"""How far the centre of a scene may be from the page's origin, in m on the page, and in sizes of the scene."""
_SCALE_TOLERANCE = 2.0
"""A placement is kept while the best scale differs from it by at most this factor."""


class ScenePlacement(Struct, frozen=True):
    """`scale` is the size on the page over the size in the world; `origin` is the world point at the page's origin."""

    scale: float = 1.0
    origin: Vector = (0.0, 0.0, 0.0)

    def on_page(self, points: PoseRows) -> Array:
        moved: Array = (np.asarray(points, dtype=np.float64) - self.origin) * self.scale
        return moved

    def in_world(self, points: PoseRows) -> Array:
        moved: Array = np.asarray(points, dtype=np.float64) / self.scale + self.origin
        return moved

    def camera_on_page(self, camera: Camera) -> Camera:
        position, target = (self.on_page(spatial.array(point)) for point in (camera.position, camera.target))
        return structs.replace(
            camera,
            position=vector(position),
            target=vector(target),
            near=self.scale * camera.near,
            far=self.scale * camera.far,
        )

    def fits(self, corners: Array) -> bool:
        """Whether a scene with these corners `(n, 3)` can keep this placement: a new one moves every camera."""
        better = placement_for(corners)
        middle = self.on_page((corners.min(axis=0) + corners.max(axis=0)) / 2)
        is_similar = 1.0 / _SCALE_TOLERANCE <= better.scale / self.scale <= _SCALE_TOLERANCE
        return is_similar and _is_near(middle, self.scale * size_of(corners))


def placement_for(corners: Array) -> ScenePlacement:
    """The placement for a scene with these corners `(n, 3)`, m."""
    size = size_of(corners)
    scale = 1.0 if _MIN_SIZE < size < _MAX_SIZE else _NORMAL_SIZE / size
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    if _is_near(scale * middle, scale * size):
        return ScenePlacement(scale)
    # A crossing of grid lines, so that the lines stay at round coordinates of the world.
    section = 5.0 * grid_cell(size)
    return ScenePlacement(scale, vector(np.round(middle / section) * section))


def _is_near(middle: Array, size: float) -> bool:
    return float(np.linalg.norm(middle)) <= min(_MAX_OFFSET, _MAX_OFFSET_IN_SIZES * size)
