"""The parts of a mesh that are drawn differently: one colour, or an image, for each part."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel.scene.shape import Color
from exoskel.source.surface import Surface
from exoskel.spatial import Array

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


def textured_glb(surface: Surface, image: NDArray[np.uint8], alpha: float) -> bytes:
    """A GLB file of a surface with an image and an opacity, for a browser."""
    from PIL import Image
    from trimesh import Trimesh
    from trimesh.visual import TextureVisuals
    from trimesh.visual.material import PBRMaterial

    assert surface.uv is not None
    material = PBRMaterial(  # type: ignore[no-untyped-call]
        baseColorTexture=Image.fromarray(image),
        baseColorFactor=[1.0, 1.0, 1.0, alpha],
        metallicFactor=0.0,
        roughnessFactor=1.0,
        doubleSided=True,
        alphaMode="BLEND" if alpha < 1.0 else "OPAQUE",
    )
    visual = TextureVisuals(uv=surface.uv, material=material)  # type: ignore[no-untyped-call]
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
