"""Where a scene lies on the page: near the page's origin, and about as large as a room.

viser's shadows end at 20 m, its ground dissolves away from the origin, its controls are made for rooms, and browsers
draw in single precision, in which what is far away is torn.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.scene.pose import Vector
from exoskel.spatial import Array
from exoskel.view.camera import Camera, size_of, vector
from exoskel.view.draw_batches import Rows, grid_cell

_SMALL, _ROOM, _LARGE = 0.5, 4.0, 6.0
"""Scenes that are smaller or larger, m, are shown at the size of a room."""
_NEAR, _NEAR_IN_SIZES = 8.0, 6.0
"""How far from the page's origin the middle of a scene may be, in m on the page, and in its sizes."""
_ALIKE = 2.0
"""A layout stays while the one that would be chosen anew is not more than so many times larger or smaller."""


class ScenePlacement(Struct, frozen=True):
    """`scale` is the size of everything on the page over that in the world; `origin` is what lies at the page's."""

    scale: float = 1.0
    origin: Vector = (0.0, 0.0, 0.0)

    def on_page(self, points: Rows) -> Array:
        moved: Array = (np.asarray(points, dtype=np.float64) - self.origin) * self.scale
        return moved

    def in_world(self, points: Rows) -> Array:
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

    def suits(self, corners: Array) -> bool:
        """Whether what has such corners `(n, 3)` may stay as it is: those who look at it would be moved otherwise."""
        better = layout_of(corners)
        middle = self.on_page((corners.min(axis=0) + corners.max(axis=0)) / 2)
        return 1.0 / _ALIKE <= better.scale / self.scale <= _ALIKE and _is_near(middle, self.scale * size_of(corners))


def layout_of(corners: Array) -> ScenePlacement:
    """The layout for what has such corners `(n, 3)`, m."""
    size = size_of(corners)
    scale = 1.0 if _SMALL < size < _LARGE else _ROOM / size
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    if _is_near(scale * middle, scale * size):
        return ScenePlacement(scale)
    # At a crossing of the ground's lines, so that these lie at whole numbers of the world.
    section = 5.0 * grid_cell(size)
    return ScenePlacement(scale, vector(np.round(middle / section) * section))


def _is_near(middle: Array, size: float) -> bool:
    return float(np.linalg.norm(middle)) <= min(_NEAR, _NEAR_IN_SIZES * size)
