"""What the sun reaches: a depth map seen from it, looked up softly."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.spatial import Array
from exoskel.view.draw_batches import DrawBatches
from exoskel.view.rasterizer import Floats, rasterize

SIZE = 1024
"""The map's edge, in cells."""
_REACH = 1.6
"""How far around the scene shadows are kept track of, in its sizes."""
_TAPS = ((-1.1, -0.4), (0.4, -1.1), (1.1, 0.4), (-0.4, 1.1), (0.0, 0.0))
"""Where the map is asked around a point, in cells: the mean of the answers has a soft edge."""


class Sun:
    """The way from the world to the map, for one stage; `toward` the sun is unit, `frame` the world's."""

    def __init__(self, stage: DrawBatches, toward: Array, frame: Array) -> None:
        helper = frame[0] if abs(float(toward @ frame[0])) < 0.9 else frame[1]
        right = spatial.unit(np.cross(helper, toward))
        self._axes = np.array([right, np.cross(toward, right), toward]).astype(np.float32)
        self._middle = ((stage.low + stage.high) / 2).astype(np.float32)
        self._scale = np.float32(SIZE / (_REACH * stage.size))
        self.slack = float(2.5 / self._scale)
        """How far below an occluder shadow begins, m: a surface must not shade itself."""

    def seen(self, points: Floats) -> Floats:
        """Column and row in the map, and height towards the sun, m."""
        # Column by column: products with a matrix as small as this take several times as long.
        x, y, z = (points[:, i] - self._middle[i] for i in range(3))
        out = np.empty((3, len(points)), dtype=np.float32)
        for row, (a, b, c) in zip(out, self._axes, strict=True):
            row[:] = a * x + b * y + c * z
        out[:2] *= self._scale
        out[:2] += np.float32(SIZE / 2)
        return out.T

    def map(self, points: Floats, triangles: NDArray[np.int64]) -> Shadows:
        """The shadows that triangles cast."""
        drawn = rasterize(self.seen(points), triangles, SIZE, SIZE, farthest=-np.inf)
        return Shadows(drawn.nearness.reshape(SIZE, SIZE), self.slack)


class Shadows(Struct):
    """For each cell of the map, how high the highest thing there is."""

    highest: Floats
    slack: float

    def near(self) -> NDArray[np.bool_]:
        """The cells within reach of a shadow's edge or inside it; everywhere else the sun shines."""
        there = np.isfinite(self.highest)
        for _ in range(2):
            grown = there.copy()
            grown[1:] |= there[:-1]
            grown[:-1] |= there[1:]
            grown[:, 1:] |= there[:, :-1]
            grown[:, :-1] |= there[:, 1:]
            there = grown
        return there

    def lit(self, seen: Floats) -> Floats:
        """How much of the sun reaches points, given as the sun sees them, from 0 to 1."""
        total = np.zeros(len(seen), dtype=np.float32)
        x, y, height = seen[:, 0], seen[:, 1], seen[:, 2] + self.slack
        for dx, dy in _TAPS:
            column = np.clip((x + dx).astype(np.int32), 0, SIZE - 1)
            row = np.clip((y + dy).astype(np.int32), 0, SIZE - 1)
            total += self.highest[row, column] <= height
        return total / np.float32(len(_TAPS))
