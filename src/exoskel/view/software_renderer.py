"""The software renderer: sun, sky and fill light, soft shadows, and a ground with a grid.

It computes in linear light and converts to sRGB at the end.  The backdrop, sky and ground, is computed once per camera;
each frame only adds the shadows on the ground.  Shadows of the sun are read from a depth map seen from the sun.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.spatial import Array
from exoskel.view.camera import Camera, frame_of
from exoskel.view.lighting import LIGHT, Lighting, light_directions, linear_to_srgb, srgb_to_linear
from exoskel.view.rasterizer import Buffers, ClippedTriangles, Floats, TooManyPixelsError, clip, rasterize
from exoskel.view.render_scene import VISUAL, InstanceBatch, RenderScene, grid_cell
from exoskel.view.surfaces import PoseRows, SkinSurface

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


Image = NDArray[np.uint8]
_SUN, _FILL, _SKY, _BOUNCE = 0.78, 0.12, 0.38, 0.20
"""Intensities: the sun, the fill light against it, the sky, and light reflected by the ground."""
_SHINE, _SHARPNESS = 0.10, 40.0
_MARGIN = 2.0
"""Triangles are cut off at this many times the size of the image: single precision distorts larger ones."""


class TriangleSoup(Struct):
    """All triangles of a picture in the world: vertices, normals, and colours (linear light and alpha).

    `uv` are places on an image, and `images` the numbers of the images of the vertices, -1 for none; vertices of one
    triangle have the same.
    """

    vertices: Floats
    normals: Floats
    triangles: NDArray[np.int64]
    colors: Floats
    uv: Floats
    images: NDArray[np.int64]

    def extended(self, clipped: ClippedTriangles) -> TriangleSoup:
        """The clipped triangles."""
        if clipped.triangles is self.triangles:
            return self
        vertices, normals, colors, uv = (
            clipped.extend(values) for values in (self.vertices, self.normals, self.colors, self.uv)
        )
        images = np.concatenate([self.images, self.images[clipped.starts]])
        return TriangleSoup(vertices, normals, clipped.triangles, colors, uv, images)


class VisibleTriangles(Struct):
    """The triangles in front of the camera, the nearest one of each pixel, and the nearness of each vertex."""

    soup: TriangleSoup
    pixels: Buffers
    nearness: Floats


class SoftwareRenderer:
    """Renders one scene from one camera, frame by frame, with `supersampling` squared samples per pixel."""

    def __init__(
        self,
        render_scene: RenderScene,
        camera: Camera,
        width: int,
        height: int,
        *,
        lighting: Lighting = LIGHT,
        supersampling: int = 2,
    ) -> None:
        self.render_scene, self.camera = render_scene, camera
        self.width, self.height, self.supersampling = width * supersampling, height * supersampling, supersampling
        frame = frame_of(render_scene.up)
        self._up = frame[2].astype(np.float32)
        self._sun, self._fill = (
            spatial.unit(np.array(at) @ frame).astype(np.float32) for at in light_directions(camera, frame)
        )
        self._rays = self._pixel_rays()
        self._map = ShadowProjection(render_scene, self._sun.astype(np.float64), frame)
        self._backdrop = Backdrop(render_scene, camera, self._rays, frame, self._map, lighting, self.height)
        visual = [batch for batch in render_scene.batches if batch.role == VISUAL]
        casting = [batch for batch in visual if batch.casts_shadow]
        self._solid = casting + [batch for batch in visual if batch.is_ground and not batch.is_transparent]
        self._clear = [batch for batch in visual if batch.is_transparent]
        self._casting = sum(batch.triangle_count for batch in casting)
        self._skins = render_scene.skins.surfaces
        images = [batch.image for batch in visual if batch.image is not None]
        self._image_numbers = {id(image): number for number, image in enumerate(images)}
        self._images = [srgb_to_linear(image / 255.0).astype(np.float32) for image in images]

    def draw(self, poses: PoseRows) -> Image:
        """Render an image, `(height, width, 3)`, of a frame."""
        solid = _collect_triangles(self._solid, poses, images=self._image_numbers)
        eye = spatial.array(self.camera.position)
        clear = _collect_triangles(self._clear, poses, self._skins, eye=eye, images=self._image_numbers)
        shadows = self._map.render(solid.vertices, solid.triangles[: self._casting])
        light = self._backdrop.render(shadows)
        front = self._project(solid)
        seen = front.pixels
        seen.triangle[seen.nearness <= self._backdrop.nearness] = -1  # below the ground
        self._shade_pixels(light, front, shadows)
        if len(clear.triangles):
            over = self._project(clear)
            hidden = over.pixels.nearness <= np.maximum(seen.nearness, self._backdrop.nearness)
            over.pixels.triangle[hidden] = -1
            self._shade_pixels(light, over, shadows)
        return _to_image(light.reshape(self.height, self.width, 3), self.supersampling)

    def _project(self, soup: TriangleSoup) -> VisibleTriangles:
        half = np.tan(self.camera.field_of_view / 2)
        wide = half * self.width / self.height
        soup, at = self._clip(soup, self.camera.coordinates(soup.vertices.astype(np.float64)), wide, half)
        points = np.empty((len(at), 3), dtype=np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):  # no triangle uses the vertices behind the camera
            points[:, 0] = (at[:, 0] / (wide * at[:, 2]) + 1.0) * (self.width / 2)
            points[:, 1] = (1.0 - at[:, 1] / (half * at[:, 2])) * (self.height / 2)
            points[:, 2] = 1.0 / at[:, 2]
        return VisibleTriangles(soup, rasterize(points, soup.triangles, self.width, self.height), points[:, 2])

    def _clip(self, soup: TriangleSoup, at: Array, wide: float, half: float) -> tuple[TriangleSoup, Array]:
        """Clip triangles at the near plane and far outside the image; `at` are coordinates relative to the camera.

        `wide` and `half` are half the width and half the height of the image at a depth of one m.
        """
        planes = ((0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))
        for right, up in planes:
            if right or up:
                inside = _MARGIN * (wide if right else half) * at[:, 2] - right * at[:, 0] - up * at[:, 1]
            else:
                inside = at[:, 2] - self.camera.near
            clipped = clip(soup.triangles, inside)
            soup, at = soup.extended(clipped), clipped.extend(at)
        return soup, at

    def _pixel_rays(self) -> Floats:
        """The ray of each pixel, scaled to one m of depth."""
        half = np.tan(self.camera.field_of_view / 2)
        x = (2 * (np.arange(self.width) + 0.5) / self.width - 1.0) * half * (self.width / self.height)
        y = (1.0 - 2 * (np.arange(self.height) + 0.5) / self.height) * half
        right, up, back = self.camera.axes()
        rays = x[None, :, None] * right + y[:, None, None] * up - back
        flat: Floats = rays.reshape(-1, 3).astype(np.float32)
        return flat

    def _shade_pixels(self, light: Floats, visible: VisibleTriangles, shadows: ShadowMap) -> None:
        seen, soup = visible.pixels, visible.soup
        at = np.flatnonzero(seen.triangle >= 0)
        if not len(at):
            return
        corners = soup.triangles[seen.triangle[at]]
        depth = 1.0 / seen.nearness[at]
        places = self._rays[at] * depth[:, None] + np.array(self.camera.position, dtype=np.float32)
        # Linear on the screen are the weights over the depth.
        weights = seen.weights[at] * visible.nearness[corners[:, :2]] * depth[:, None]
        normals = self._normals(soup, corners, weights)
        toward = -_unit(self._rays[at])
        normals = np.where(np.sum(normals * toward, axis=1, keepdims=True) < 0.0, -normals, normals)
        colors = self._colors(soup, corners, weights)
        lit = shadows.light_fraction(self._map.project(places + normals * np.float32(2e-3 * self.render_scene.size)))
        shaded = self._shade(normals, toward, colors[:, :3], lit)
        share = colors[:, 3:]
        light[at] = light[at] * (1.0 - share) + shaded * share

    def _colors(self, soup: TriangleSoup, corners: NDArray[Any], weights: Floats) -> Floats:
        """The colours of pixels in linear light, with alpha."""
        colors: Floats = soup.colors[corners[:, 0]]
        numbers = soup.images[corners[:, 0]]
        for number in np.unique(numbers[numbers >= 0]).tolist():
            own = numbers == number
            first, second = weights[own, :1], weights[own, 1:]
            a, b, c = (soup.uv[corners[own, i]] for i in range(3))
            colors[own, :3] = _sample(self._images[number], a * first + b * second + c * (1.0 - first - second))
        return colors

    def _normals(self, soup: TriangleSoup, corners: NDArray[Any], weights: Floats) -> Floats:
        first, second = weights[:, :1], weights[:, 1:]
        mixed = (
            soup.normals[corners[:, 0]] * first
            + soup.normals[corners[:, 1]] * second
            + soup.normals[corners[:, 2]] * (1.0 - first - second)
        )
        return _unit(mixed)

    def _shade(self, normals: Floats, toward: Floats, colors: Floats, lit: Floats) -> Floats:
        facing = np.clip(normals @ self._sun, 0.0, 1.0) * lit
        high = 0.5 + 0.5 * (normals @ self._up)
        against = np.clip(normals @ self._fill, 0.0, 1.0)
        strength = _SUN * facing + _FILL * against + _SKY * high + _BOUNCE * (1.0 - high)
        between = _unit(toward + self._sun)
        gleam = _SHINE * np.clip(np.sum(normals * between, axis=1), 0.0, 1.0) ** _SHARPNESS * lit
        light: Floats = colors * strength[:, None] + gleam[:, None]
        return light


def _sample(image: Floats, uv: Floats) -> Floats:
    """The colours of an image, interpolated, at places from 0 at the left and bottom to 1; it repeats beyond."""
    height, width = image.shape[:2]
    x = uv[:, 0] % 1.0 * width - 0.5
    y = (1.0 - uv[:, 1]) % 1.0 * height - 0.5
    left, top = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    across, down = (x - left)[:, None], (y - top)[:, None]
    right, below = (left + 1) % width, (top + 1) % height
    left, top = left % width, top % height
    upper = image[top, left] * (1.0 - across) + image[top, right] * across
    lower = image[below, left] * (1.0 - across) + image[below, right] * across
    mixed: Floats = (upper * (1.0 - down) + lower * down).astype(np.float32)
    return mixed


def _unit(vectors: Floats) -> Floats:
    length = np.sqrt(np.einsum("ni,ni->n", vectors, vectors))
    out: Floats = vectors / np.maximum(length, np.float32(1e-20))[:, None]
    return out


class TooManyTrianglesError(ExoskelError):
    """A scene has so many triangles that an image of them would need too much memory."""


_MOST_TRIANGLES = 8_000_000
_VERTICES_AT_ONCE = 500_000
"""Vertices that are placed at once, to bound the memory."""


def _collect_triangles(
    batches: list[InstanceBatch],
    poses: PoseRows,
    skins: Sequence[SkinSurface] = (),
    *,
    images: Mapping[int, int],
    eye: Array | None = None,
) -> TriangleSoup:
    """All triangles in the world, except for planes seen from `eye` against their normals: walls hide nothing.

    `images` are the numbers of images, by their ids.
    Raises TooManyTrianglesError before it allocates memory for them.
    """
    total = sum(len(batch.bodies) * len(batch.surface.triangles) for batch in batches)
    if total > _MOST_TRIANGLES:
        raise TooManyTrianglesError(f"the scene has {total} triangles; an image can have at most {_MOST_TRIANGLES}")
    vertices: list[Any] = [np.empty((0, 3), dtype=np.float32)]
    normals: list[Any] = [np.empty((0, 3), dtype=np.float32)]
    triangles: list[Any] = [np.empty((0, 3), dtype=np.int64)]
    colors: list[Any] = [np.empty((0, 4), dtype=np.float32)]
    uv: list[Any] = [np.empty((0, 2), dtype=np.float32)]
    numbers: list[Any] = [np.empty(0, dtype=np.int64)]
    first = 0
    for batch in batches:
        if batch.is_plane and eye is not None:
            batch = batch.take(_faces(batch, poses, eye))  # noqa: PLW2901
        for places, directions in _placed(batch, poses):
            vertices.append(places)
            normals.append(directions)
        copies, count = len(batch.bodies), len(batch.surface.vertices)
        triangles.append(
            (batch.surface.triangles[None] + first + count * np.arange(copies)[:, None, None]).reshape(-1, 3)
        )
        colors.append(np.repeat(_paint(batch.colors), count, axis=0))
        own = np.zeros((count, 2)) if batch.surface.uv is None else batch.surface.uv
        uv.append(np.tile(own.astype(np.float32), (copies, 1)))
        numbers.append(np.full(copies * count, images.get(id(batch.image), -1), dtype=np.int64))
        first += copies * count
    for skin in skins:
        vertices.append(skin.vertices(poses).astype(np.float32))
        normals.append(skin.normals(skin.vertices(poses)).astype(np.float32))
        triangles.append(skin.triangles + first)
        colors.append(np.repeat(_paint(np.array([skin.color])), len(skin.rows), axis=0))
        uv.append(np.zeros((len(skin.rows), 2), dtype=np.float32))
        numbers.append(np.full(len(skin.rows), -1, dtype=np.int64))
        first += len(skin.rows)
    return TriangleSoup(*(np.concatenate(parts) for parts in (vertices, normals, triangles, colors, uv, numbers)))


def _faces(batch: InstanceBatch, poses: PoseRows, eye: Array) -> NDArray[np.bool_]:
    """Which planes face a point."""
    positions, quaternions = batch.instance_poses(poses)
    rotations = spatial.quaternion_matrix(quaternions)
    away = eye - positions - rotations @ batch.surface.vertices[0]
    is_facing: NDArray[np.bool_] = np.sum(away * (rotations @ batch.surface.normals[0]), axis=1) > 0.0
    return is_facing


def _paint(colors: Array) -> Floats:
    """Colours in linear light, with alpha."""
    return np.concatenate([srgb_to_linear(colors[:, :3]), colors[:, 3:]], axis=1).astype(np.float32)


def _placed(batch: InstanceBatch, poses: PoseRows) -> Iterator[tuple[Floats, Floats]]:
    """The vertices and normals of all instances in the world, some instances at a time."""
    positions, quaternions = batch.instance_poses(poses)
    rotations = spatial.quaternion_matrix(quaternions)
    step = max(1, _VERTICES_AT_ONCE // max(1, len(batch.surface.vertices)))
    for start in range(0, len(rotations), step):
        part = slice(start, start + step)
        scales, rotation = batch.scales[part, None], rotations[part]
        own = np.einsum("nij,nvj->nvi", rotation, batch.surface.vertices[None] * scales) + positions[part, None]
        # Normals scale with the inverse of the factors; a factor of 0 is treated as a tiny one.
        lean = batch.surface.normals[None] / np.where(np.abs(scales) < 1e-9, 1e-9, scales)
        directions = spatial.unit(np.einsum("nij,nvj->nvi", rotation, lean))
        yield own.reshape(-1, 3).astype(np.float32), directions.reshape(-1, 3).astype(np.float32)


def _to_image(light: Floats, factor: int) -> Image:
    """Average the supersampled pixels and convert linear light to sRGB bytes."""
    bounded = np.clip(light, 0.0, 1.0)
    parts = [bounded[row::factor, column::factor] for row in range(factor) for column in range(factor)]
    mean: Floats = sum(parts[1:], parts[0]) / np.float32(len(parts))
    return np.round(255 * linear_to_srgb(mean)).astype(np.uint8)
