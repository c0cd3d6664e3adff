"""What stands still around a scene in a picture: the sky, and the ground with its grid.

All of it is worked out once for a camera; a picture then only asks where shadows fall on the ground.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exoskel.spatial import Array
from exoskel.view.camera import Camera
from exoskel.view.draw_batches import DrawBatches, grid_cell
from exoskel.view.lighting import Lighting, linear
from exoskel.view.rasterizer import Floats
from exoskel.view.shadow_map import SIZE, Shadows, Sun

BELOW = 1e-3
"""How much lower the ground is drawn, in sizes of the scene, so that what lies flat on it is in front of it."""
_PIECE = 65_536
"""How many pixels are worked on at once: few enough to stay in a processor's cache."""
_SHADE = 0.42
"""How bright the ground is where no sun falls."""


class Backdrop:
    """Sky and ground seen along `rays` `(pixels, 3)`, each of which goes so far for one m of depth.

    `nearness` is 1 over the depth of the ground, 0 where there is none.
    """

    def __init__(
        self, stage: DrawBatches, camera: Camera, rays: Floats, frame: Array, sun: Sun, look: Lighting, rows: int
    ) -> None:
        self._stage, self._camera, self._look = stage, camera, look
        self._frame = frame.astype(np.float32)
        self._pixel = np.float32(2 * np.tan(camera.field_of_view / 2) / rows)
        self._above = np.float32(np.array(camera.position) @ frame[2] - stage.ground + BELOW * stage.size)
        self._bright = np.empty((len(rays), 3), dtype=np.float32)
        self.nearness = np.zeros(len(rays), dtype=np.float32)
        found = [self._lay(rays, slice(start, start + _PIECE), sun) for start in range(0, len(rays), _PIECE)]
        self._on_ground, self._dark, self._seen = (np.concatenate(parts) for parts in zip(*found, strict=True))
        self._cells = self._seen[:, 1].astype(np.int32) * SIZE + self._seen[:, 0].astype(np.int32)

    def _sky(self, slope: Floats) -> Floats:
        rise = np.clip(slope / np.float32(0.35), 0.0, 1.0)[:, None] ** np.float32(0.6)
        horizon = linear(self._look.horizon)
        light: Floats = (horizon + (linear(self._look.sky) - horizon) * rise).astype(np.float32)
        return light

    def _lay(self, rays: Floats, piece: slice, sun: Sun) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Fill some pixels; returns those that a shadow can fall on, their colours in it, and how the sun sees them."""
        own = rays[piece]
        climb = _along(own, self._frame[2])
        slope = climb / np.sqrt(np.einsum("ni,ni->n", own, own))
        self._bright[piece] = self._sky(slope)
        if self._above <= 0.0:
            at = np.empty(0, dtype=np.int64)
        else:
            at = np.flatnonzero(climb < -self._above / np.float32(self._camera.far))
        depth = self._above / -climb[at]
        places = own[at] * depth[:, None] + np.array(self._camera.position, dtype=np.float32)
        pixels = at + piece.start
        self.nearness[pixels] = 1.0 / depth
        self._bright[pixels], dark = self._colors(places, depth, slope[at], self._bright[pixels])
        seen = sun.seen(places)
        # Beyond the map there is no shadow.
        x, y = seen[:, 0], seen[:, 1]
        reached = np.flatnonzero((x >= 0.0) & (x < SIZE) & (y >= 0.0) & (y < SIZE))
        return pixels[reached], dark[reached], seen[reached]

    def _colors(self, places: Floats, depth: Floats, pitch: Floats, beyond: Floats) -> tuple[Floats, Floats]:
        """The ground in the sun and in the shade; far away it dissolves in what lies beyond."""
        size = np.float32(self._stage.size)
        flat = [_along(places, axis) for axis in self._frame[:2]]
        east, north = ((self._stage.low + self._stage.high) / 2).astype(np.float32) @ self._frame[:2].T
        cell = np.float32(grid_cell(self._stage.size))
        across = depth * self._pixel
        steep = np.abs(pitch)
        lines = np.maximum(0.45 * _grid(flat, cell, across, steep), _grid(flat, 5 * cell, across, steep))[:, None]
        away = np.clip(np.hypot(flat[0] - east, flat[1] - north) / (np.float32(4.5) * size), 0.0, 1.0)
        fade = (away * np.sqrt(away))[:, None]
        ground, line = linear(self._look.ground), linear(self._look.line)
        sunny = ground * (1.0 - lines) + line * lines
        shady = ground * (_SHADE * (1.0 - lines)) + line * (0.6 * lines)
        one, two = ((color * (1.0 - fade) + beyond * fade).astype(np.float32) for color in (sunny, shady))
        return one, two

    def drawn(self, shadows: Shadows) -> Floats:
        """The light of each pixel, `(pixels, 3)`."""
        light = self._bright.copy()
        if len(self._on_ground):
            touched = np.flatnonzero(shadows.near().ravel()[self._cells])
            at = self._on_ground[touched]
            lit = shadows.lit(self._seen[touched])[:, None]
            light[at] = light[at] * lit + self._dark[touched] * (1.0 - lit)
        return light


def _along(points: Floats, axis: Floats) -> Floats:
    """How far points are along an axis; by columns, which is faster than a product with something this small."""
    out: Floats = points[:, 0] * axis[0] + points[:, 1] * axis[1] + points[:, 2] * axis[2]
    return out


def _grid(flat: Sequence[Floats], cell: np.float32, across: Floats, steep: Floats) -> Floats:
    """How much of each pixel lines `cell` m apart cover; they blur out where they would flicker."""
    slanted = across / np.maximum(steep, np.float32(0.05))
    blur = np.clip(cell / slanted / 4 - np.float32(0.5), 0.0, 1.0)
    away = np.minimum(*(np.abs(turns - np.rint(turns)) for turns in (flat[0] / cell, flat[1] / cell))) * cell
    drawn: Floats = np.clip(1 - away / np.maximum(np.float32(1.4) * slanted, np.float32(1e-9)), 0.0, 1.0) * blur
    return drawn
