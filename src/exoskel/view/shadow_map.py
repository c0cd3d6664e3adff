"""Shadows of the sun: a depth map seen from the sun, sampled with soft edges."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.spatial import Array
from exoskel.view.rasterizer import Floats, rasterize
from exoskel.view.render_scene import RenderScene

SIZE = 1024
"""The side of the map, in cells."""
_REACH = 1.6
"""The width of the map, in sizes of the scene."""
_TAPS = ((-1.1, -0.4), (0.4, -1.1), (1.1, 0.4), (-0.4, 1.1), (0.0, 0.0))
"""Sample offsets around a point, in cells; their mean gives soft edges."""


class ShadowProjection:
    """Projection from the world to the map for one scene; `toward` is the unit direction to the sun."""

    def __init__(self, render_scene: RenderScene, toward: Array, frame: Array) -> None:
        helper = frame[0] if abs(float(toward @ frame[0])) < 0.9 else frame[1]
        right = spatial.unit(np.cross(helper, toward))
        self._axes = np.array([right, np.cross(toward, right), toward]).astype(np.float32)
        self._middle = ((render_scene.low + render_scene.high) / 2).astype(np.float32)
        self._scale = np.float32(SIZE / (_REACH * render_scene.size))
        self.bias = float(2.5 / self._scale)
        """The shadow bias, m, so that a surface does not shadow itself."""

    def project(self, points: Floats) -> Floats:
        """Project points to column and row in the map and height towards the sun, m."""
        # Column by column: a matrix product of this size takes several times as long.
        x, y, z = (points[:, i] - self._middle[i] for i in range(3))
        out = np.empty((3, len(points)), dtype=np.float32)
        for row, (a, b, c) in zip(out, self._axes, strict=True):
            row[:] = a * x + b * y + c * z
        out[:2] *= self._scale
        out[:2] += np.float32(SIZE / 2)
        return out.T

    def render(self, points: Floats, triangles: NDArray[np.int64]) -> ShadowMap:
        """Render the shadow map of triangles."""
        drawn = rasterize(self.project(points), triangles, SIZE, SIZE, farthest=-np.inf)
        return ShadowMap(drawn.nearness.reshape(SIZE, SIZE), self.bias)


class ShadowMap(Struct):
    """For each cell of the map, the height of the highest point towards the sun."""

    highest: Floats
    bias: float

    def affected_cells(self) -> NDArray[np.bool_]:
        """The cells inside or next to a shadow; all others are fully lit."""
        there = np.isfinite(self.highest)
        for _ in range(2):
            grown = there.copy()
            grown[1:] |= there[:-1]
            grown[:-1] |= there[1:]
            grown[:, 1:] |= there[:, :-1]
            grown[:, :-1] |= there[:, 1:]
            there = grown
        return there

    def light_fraction(self, project: Floats) -> Floats:
        """The fraction of sunlight, from 0 to 1, at projected points."""
        total = np.zeros(len(project), dtype=np.float32)
        x, y, height = project[:, 0], project[:, 1], project[:, 2] + self.bias
        for dx, dy in _TAPS:
            column = np.clip((x + dx).astype(np.int32), 0, SIZE - 1)
            row = np.clip((y + dy).astype(np.int32), 0, SIZE - 1)
            total += self.highest[row, column] <= height
        return total / np.float32(len(_TAPS))
