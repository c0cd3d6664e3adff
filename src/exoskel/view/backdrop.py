"""The backdrop of a software-rendered image: the sky, and the ground with its grid and shadows.

The backdrop is computed once per camera; each frame only adds the shadows on the ground.  Shadows of the sun are read
from a depth map seen from the sun, with soft edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.spatial import Array
from exoskel.view.camera import Camera
from exoskel.view.lighting import Lighting, srgb_to_linear
from exoskel.view.rasterizer import Floats, TooManyPixelsError, rasterize
from exoskel.view.render_scene import RenderScene, grid_cell

# --- shadows ------------------------------------------------------------------------------------------


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
        """Render the shadow map of triangles; it has no shadows if they overlap too often."""
        try:
            highest = rasterize(self.project(points), triangles, SIZE, SIZE, farthest=-np.inf).nearness
        except TooManyPixelsError:
            highest = np.full(SIZE * SIZE, -np.inf, dtype=np.float32)
        return ShadowMap(highest.reshape(SIZE, SIZE), self.bias)


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
        """The fraction of sunlight, from 0 to 1, at projected points; points outside the map are lit."""
        total = np.zeros(len(project), dtype=np.float32)
        x, y, height = project[:, 0], project[:, 1], project[:, 2] + self.bias
        for dx, dy in _TAPS:
            column, row = np.floor(x + dx), np.floor(y + dy)
            is_outside = ~((column >= 0) & (column < SIZE) & (row >= 0) & (row < SIZE))
            column[is_outside], row[is_outside] = 0, 0
            total += is_outside | (self.highest[row.astype(np.int32), column.astype(np.int32)] <= height)
        return total / np.float32(len(_TAPS))


# --- sky and ground -----------------------------------------------------------------------------------


GROUND_OFFSET = 1e-3
"""How much lower the ground is drawn, in sizes of the scene, so that flat objects on it stay in front."""
_CHUNK = 65_536
"""Pixels processed at once: few enough to stay in the processor's cache."""
_SHADOW_BRIGHTNESS = 0.42
"""The brightness of the ground in shadow."""


class Backdrop:
    """Sky and ground along `rays` `(pixels, 3)`, each scaled to one m of depth.

    `nearness` is 1 over the depth of the ground, 0 where there is no ground.
    """

    def __init__(
        self,
        render_scene: RenderScene,
        camera: Camera,
        rays: Floats,
        frame: Array,
        sun: ShadowProjection,
        lighting: Lighting,
        rows: int,
    ) -> None:
        self._scene, self._camera, self._lighting = render_scene, camera, lighting
        self._frame = frame.astype(np.float32)
        self._pixel = np.float32(2 * np.tan(camera.field_of_view / 2) / rows)
        self._above = np.float32(
            np.array(camera.position) @ frame[2] - render_scene.ground + GROUND_OFFSET * render_scene.size
        )
        self._bright = np.empty((len(rays), 3), dtype=np.float32)
        self.nearness = np.zeros(len(rays), dtype=np.float32)
        found = [self._fill_pixels(rays, slice(start, start + _CHUNK), sun) for start in range(0, len(rays), _CHUNK)]
        self._on_ground, self._dark, self._seen = (np.concatenate(parts) for parts in zip(*found, strict=True))
        self._cells = self._seen[:, 1].astype(np.int32) * SIZE + self._seen[:, 0].astype(np.int32)

    def _sky(self, slope: Floats) -> Floats:
        rise = np.clip(slope / np.float32(0.35), 0.0, 1.0)[:, None] ** np.float32(0.6)
        horizon = srgb_to_linear(self._lighting.horizon)
        light: Floats = (horizon + (srgb_to_linear(self._lighting.sky) - horizon) * rise).astype(np.float32)
        return light

    def _fill_pixels(
        self, rays: Floats, piece: slice, sun: ShadowProjection
    ) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Fill a chunk of pixels.

        Returns the pixels that a shadow can reach, their colours in shadow, and their shadow-map coordinates.
        """
        own = rays[piece]
        climb = _dot(own, self._frame[2])
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
        seen = sun.project(places)
        # There are no shadows outside the map.
        x, y = seen[:, 0], seen[:, 1]
        reached = np.flatnonzero((x >= 0.0) & (x < SIZE) & (y >= 0.0) & (y < SIZE))
        return pixels[reached], dark[reached], seen[reached]

    def _colors(self, places: Floats, depth: Floats, pitch: Floats, beyond: Floats) -> tuple[Floats, Floats]:
        """The colours of the ground in sun and in shadow; far away they fade into the `beyond` colours."""
        size = np.float32(self._scene.size)
        flat = [_dot(places, axis) for axis in self._frame[:2]]
        east, north = ((self._scene.low + self._scene.high) / 2).astype(np.float32) @ self._frame[:2].T
        cell = np.float32(grid_cell(self._scene.size))
        across = depth * self._pixel
        steep = np.abs(pitch)
        lines = np.maximum(
            0.45 * _grid_coverage(flat, cell, across, steep), _grid_coverage(flat, 5 * cell, across, steep)
        )[:, None]
        away = np.clip(np.hypot(flat[0] - east, flat[1] - north) / (np.float32(4.5) * size), 0.0, 1.0)
        fade = (away * np.sqrt(away))[:, None]
        ground, line = srgb_to_linear(self._lighting.ground), srgb_to_linear(self._lighting.line)
        sunny = ground * (1.0 - lines) + line * lines
        shady = ground * (_SHADOW_BRIGHTNESS * (1.0 - lines)) + line * (0.6 * lines)
        one, two = ((color * (1.0 - fade) + beyond * fade).astype(np.float32) for color in (sunny, shady))
        return one, two

    def render(self, shadows: ShadowMap) -> Floats:
        """The linear light of each pixel, `(pixels, 3)`."""
        light = self._bright.copy()
        if len(self._on_ground):
            touched = np.flatnonzero(shadows.affected_cells().ravel()[self._cells])
            at = self._on_ground[touched]
            lit = shadows.light_fraction(self._seen[touched])[:, None]
            light[at] = light[at] * lit + self._dark[touched] * (1.0 - lit)
        return light


def _dot(points: Floats, axis: Floats) -> Floats:
    """Dot products with an axis; by columns, which is faster than a matrix product of this size."""
    out: Floats = points[:, 0] * axis[0] + points[:, 1] * axis[1] + points[:, 2] * axis[2]
    return out


def _grid_coverage(flat: Sequence[Floats], cell: np.float32, across: Floats, steep: Floats) -> Floats:
    """The coverage of each pixel by grid lines `cell` m apart; lines too fine for the pixels fade out."""
    slanted = across / np.maximum(steep, np.float32(0.05))
    blur = np.clip(cell / slanted / 4 - np.float32(0.5), 0.0, 1.0)
    away = np.minimum(*(np.abs(cells - np.rint(cells)) for cells in (flat[0] / cell, flat[1] / cell))) * cell
    drawn: Floats = np.clip(1 - away / np.maximum(np.float32(1.4) * slanted, np.float32(1e-9)), 0.0, 1.0) * blur
    return drawn
