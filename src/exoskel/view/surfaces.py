"""Surfaces that are drawn in a special way: skins of soft bodies, which deform, and meshes with colours and images.

A frame is an array of poses with a row for each body, followed by a row for each point of a skin.  So whatever moves,
rounds or transmits poses does the same to skins.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.diagnostics import printable
from exoskel.scene.item import qualified_name
from exoskel.scene.shape import Color, Geometry, Material, Texture
from exoskel.scene.soft_skin import SoftSkin, has_surface, soft_skin
from exoskel.scene.world import World
from exoskel.source.mesh_textures import decode_image
from exoskel.source.surface import CREASE, Surface
from exoskel.source.texture_coordinates import with_texture_coordinates
from exoskel.source.textures import ImageError, png_of, read_image
from exoskel.spatial import Array, Indices
from exoskel.view import lighting
from exoskel.view.camera import corners_of
from exoskel.view.lighting import srgb_to_linear

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


_MAX_COLORS = 12
"""Triangles of more colours than this share an image of their colours."""
_MAX_PALETTE = 1024
"""The longest side of such an image, in pixels."""


class SurfacePart(Struct, frozen=True, eq=False):
    """Triangles of one colour, or with one image; `color` is then the mean of the image."""

    surface: Surface
    color: Color
    image: NDArray[np.uint8] | None = None


def surface_parts(surface: Surface) -> list[SurfacePart]:
    """Split a surface by the images and the colours of its triangles."""
    colors = np.ones((len(surface.vertices), 4)) if surface.colors is None else surface.colors
    faces = colors[surface.triangles].mean(axis=1).round(3)
    numbers = surface.face_images if surface.face_images is not None else np.full(len(faces), -1)
    parts: list[SurfacePart] = []
    for number in np.unique(numbers).tolist():
        chosen = numbers == number
        if number < 0:
            parts += _colored_parts(surface, faces, chosen)
            continue
        for factor in np.unique(faces[chosen], axis=0):
            own = chosen & (faces == factor).all(axis=1)
            image = np.round(surface.images[number] * np.clip(factor[:3], 0.0, 1.0)).astype(np.uint8)
            mean = image.reshape(-1, 3).mean(axis=0) / 255.0
            parts.append(SurfacePart(_part(surface, own), _color([*mean, factor[3]]), image))
    return parts


def _colored_parts(surface: Surface, faces: Array, chosen: NDArray[np.bool_]) -> list[SurfacePart]:
    """The parts without an image; `faces` are the colours of all triangles."""
    colors, number = np.unique(faces[chosen], axis=0, return_inverse=True)
    number = number.ravel()
    if len(colors) > _MAX_COLORS:
        return [_palette_part(surface, faces, chosen)]
    which = np.full(len(faces), -1)
    which[chosen] = number
    return [SurfacePart(_part(surface, which == i), _color(color)) for i, color in enumerate(colors)]


def _palette_part(surface: Surface, faces: Array, chosen: NDArray[np.bool_]) -> SurfacePart:
    """Triangles with an image that has a pixel for each of their colours."""
    colors, number = np.unique(np.round(255.0 * np.clip(faces[chosen, :3], 0.0, 1.0)), axis=0, return_inverse=True)
    if len(colors) > _MAX_PALETTE**2:
        return SurfacePart(_part(surface, chosen), _color(faces[chosen].mean(axis=0)))
    side = ceil(sqrt(len(colors)))
    image = np.zeros((side * side, 3), dtype=np.uint8)
    image[: len(colors)] = colors
    corners = surface.triangles[chosen].ravel()
    pixel = np.repeat(number.ravel(), 3)
    uv = np.stack([(pixel % side + 0.5) / side, 1.0 - (pixel // side + 0.5) / side], axis=1)
    triangles = np.arange(len(corners), dtype=np.int64).reshape(-1, 3)
    flat = Surface(surface.vertices[corners], surface.normals[corners], triangles, uv=uv)
    return SurfacePart(flat, _color(faces[chosen].mean(axis=0)), image.reshape(side, side, 3))


def _part(surface: Surface, chosen: NDArray[np.bool_]) -> Surface:
    used, triangles = np.unique(surface.triangles[chosen], return_inverse=True)
    uv = None if surface.uv is None else surface.uv[used]
    return Surface(surface.vertices[used], surface.normals[used], triangles.reshape(-1, 3), uv=uv)


def _color(values: Array | list[float]) -> Color:
    r, g, b, a = np.asarray(values, dtype=np.float64).tolist()
    return (r, g, b, a)


class ShapeTextures:
    """Surfaces with the textures of shapes.  Each image is read once; `missing` has the reasons why some cannot be."""

    def __init__(self) -> None:
        self.missing: dict[str, str] = {}
        self._images: dict[str, NDArray[np.uint8] | None] = {}
        self._parts: dict[tuple[int, Texture, Color | None], tuple[Surface, SurfacePart]] = {}

    def part(self, surface: Surface, geometry: Geometry, texture: Texture, color: Color | None) -> SurfacePart | None:
        """The surface of a geometry with an image, which is multiplied by a colour; None if it cannot be read."""
        key = (id(surface), texture, color)
        if key in self._parts:
            return self._parts[key][1]
        image = self._image(texture)
        if image is None:
            return None
        factor = np.ones(4) if color is None else np.clip(color, 0.0, 1.0)
        tinted = np.round(image * factor[:3]).astype(np.uint8)
        mean = tinted.reshape(-1, 3).mean(axis=0) / 255.0
        placed = with_texture_coordinates(surface, geometry)
        assert placed.uv is not None
        repeated = structs.replace(placed, uv=placed.uv * np.array(texture.repeat))
        made = SurfacePart(repeated, _color([*mean, factor[3]]), tinted)
        self._parts[key] = surface, made
        return made

    def _image(self, texture: Texture) -> NDArray[np.uint8] | None:
        place = texture.path or texture.uri
        if place not in self._images:
            try:
                if texture.path is None:
                    raise ImageError("it was not found")
                data = read_image(Path(texture.path))
                found = decode_image(data)
                self._images[place] = decode_image(png_of(data)) if found is None else found
            except ImageError as error:
                self._images[place] = None
                self.missing[place] = f"the texture '{printable(texture.uri)}' cannot be shown: {error}"
        return self._images[place]


def glb_with_material(
    surface: Surface, color: Color, image: NDArray[np.uint8] | None = None, material: Material | None = None
) -> bytes:
    """A GLB file of a surface with a colour or an image, and a material, for a browser.

    Of a colour with an image, only the opacity is used.
    """
    from PIL import Image
    from trimesh import Trimesh
    from trimesh.visual import TextureVisuals
    from trimesh.visual.material import PBRMaterial

    red, green, blue = (1.0, 1.0, 1.0) if image is not None else srgb_to_linear(np.array(color[:3])).tolist()
    stated = material or Material()
    look = PBRMaterial(  # type: ignore[no-untyped-call]
        baseColorTexture=None if image is None else Image.fromarray(image),
        baseColorFactor=[red, green, blue, color[3]],
        metallicFactor=stated.metalness or 0.0,
        roughnessFactor=1.0 if stated.roughness is None else stated.roughness,
        doubleSided=True,
        alphaMode="BLEND" if color[3] < 1.0 else "OPAQUE",
    )
    visual = TextureVisuals(uv=None if image is None else surface.uv, material=look)  # type: ignore[no-untyped-call]
    mesh = Trimesh(
        surface.vertices,
        surface.triangles,
        vertex_normals=surface.normals,
        visual=visual,
        process=False,
    )
    data = mesh.export(file_type="glb", include_normals=True)
    assert isinstance(data, bytes)
    return data
