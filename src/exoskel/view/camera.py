"""Cameras that show a whole bounding box, upright and with nothing cut off.

Positions are in m in the world; the field of view is vertical, in rad.
"""

from __future__ import annotations

from math import radians

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.scene.pose import Vector, vector_from_array
from exoskel.spatial import Array

FIELD_OF_VIEW = radians(35.0)
FILL = 0.75
"""The fraction of the shorter side of the image that a scene fills."""
_SMALLEST = 1e-3
"""The smallest size of a scene, m; an empty scene or a point counts as this large."""

PRESETS: dict[str, Vector] = {
    "default": (1.0, 0.75, 0.5),
    "front": (1.0, 0.0, 0.0),
    "back": (-1.0, 0.0, 0.0),
    "left": (0.0, 1.0, 0.0),
    "right": (0.0, -1.0, 0.0),
    "top": (1e-3, 0.0, 1.0),
    "bottom": (1e-3, 0.0, -1.0),
}
"""Directions from the centre of the scene to the camera: forward, left, up."""
_SIDE_VIEW: Vector = (0.5, -1.0, 0.5)
"""The default direction for scenes that are long in the forward direction."""
_LONG = 1.8
"""The ratio of length to width above which a scene counts as long."""


class Camera(Struct, frozen=True):
    """A camera at `position` that looks at `target`; `near` and `far` are the clipping planes, m."""

    position: Vector
    target: Vector
    up: Vector
    field_of_view: float = FIELD_OF_VIEW
    near: float = 0.01
    far: float = 1000.0

    def axes(self) -> Array:
        """The right, up and backward directions of the image, as rows, in world axes."""
        back = spatial.unit(spatial.array(self.position) - spatial.array(self.target))
        right = spatial.unit(np.cross(self.up, back))
        return np.array([right, np.cross(back, right), back])

    def coordinates(self, points: Array) -> Array:
        """The coordinates of points relative to the camera: right, up and depth, m."""
        seen: Array = (points - spatial.array(self.position)) @ (self.axes() * [[1.0], [1.0], [-1.0]]).T
        return seen

    def project(self, points: Array, aspect: float) -> Array:
        """Project points to the image: x right and y up, both from -1 to 1; z is the depth, m."""
        right, up, depth = np.moveaxis(self.coordinates(points), -1, 0)
        half = np.tan(self.field_of_view / 2) * depth
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([right / (half * aspect), up / half, depth], axis=-1)


def frame_of(up: Vector) -> Array:
    """The forward, left and up directions of a world, as rows.  With z up: x, y, z; with y up: z, x, y."""
    index = int(np.argmax(np.abs(up)))
    forward = np.eye(3)[(index + 1) % 3]
    return np.array([forward, np.cross(up, forward), up])


def look_at(
    corners: Array,
    up: Vector,
    *,
    preset: str = "default",
    aspect: float = 1.0,
    fill: float = FILL,
    both_sides: bool = False,
) -> Camera:
    """A camera in the direction of a preset, so close that the points fill the fraction `fill` of the shorter side.

    `corners` are points `(n, 3)` that must all be in view; `aspect` is the image's width over its height.  With
    `both_sides`, the longer side may be filled as well.
    """
    points = corners if len(corners) else np.zeros((1, 3))
    size = size_of(points)
    frame = frame_of(up)
    deep, wide, _ = np.ptp(points @ frame.T, axis=0).tolist()
    chosen = _SIDE_VIEW if preset == "default" and deep > _LONG * wide else PRESETS[preset]
    direction = spatial.unit(np.array(chosen) @ frame)
    axes = Camera(vector_from_array(direction), (0.0, 0.0, 0.0), up).axes()
    seen = points @ axes.T
    slope = (
        fill * np.tan(FIELD_OF_VIEW / 2) * (np.array([aspect, 1.0]) if both_sides else min(1.0, aspect) * np.ones(2))
    )
    # A point is in view if |x - camera x| <= slope (camera z - z), and likewise for y; find the nearest such camera.
    depth = slope * seen[:, 2:]
    ahead, behind = (seen[:, :2] + depth).max(axis=0), (depth - seen[:, :2]).max(axis=0)
    middle = (ahead - behind) / 2
    height = max(float(((ahead + behind) / (2 * slope)).max()), float(seen[:, 2].max()) + size * 1e-3)
    target = np.array([*middle, (seen[:, 2].min() + seen[:, 2].max()) / 2]) @ axes
    position = np.array([*middle, height]) @ axes
    distance = float(np.linalg.norm(position - target))
    return Camera(
        vector_from_array(position), vector_from_array(target), up, near=distance * 1e-3, far=50 * (distance + size)
    )


def size_of(corners: Array) -> float:
    """The diagonal of the bounding box of points `(n, 3)`, m."""
    return max(float(np.linalg.norm(np.ptp(corners, axis=0))), _SMALLEST)


def corners_of(low: Array, high: Array) -> Array:
    """The corners of a box, `(8, 3)`."""
    choice = np.array([[(i >> k) & 1 for k in range(3)] for i in range(8)], dtype=bool)
    return np.where(choice, high, low)
