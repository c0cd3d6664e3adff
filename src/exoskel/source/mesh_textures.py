"""Meshes with the images (textures) and materials that their files name, for pictures.

The geometry is parsed without decoding images: a pixel with a number stands for each of them.  Then Pillow decodes the
images that are used, in a few formats and up to a size; matplotlib requires Pillow.  A file that a mesh names must lie
beside it.
"""

from __future__ import annotations

import os
import re
import warnings
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from exoskel.scene.shape import Geometry, Mesh
from exoskel.source import mesh_parsing
from exoskel.source.file_access import read_referenced
from exoskel.source.glb import glb_parts, join_glb
from exoskel.source.gltf_images import image_content
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.mesh_packages import GLB, glb_without_textures, gltf_with_images
from exoskel.source.mesh_parsing import MeshError, TexturedTriangles, parse_textured
from exoskel.source.meshes import (
    Images,
    MeshFiles,
    ask_child,
    check_expansion,
    load_colored_triangles,
    obj_bytes,
    read_mesh_data,
)
from exoskel.spatial import Array

LARGEST_SIDE = 1024
"""Images are reduced to this number of pixels on their longer side."""
_FORMATS = ("PNG", "JPEG", "BMP", "TGA")
_MOST_PIXELS = 64 * 2**20
_MOST_BYTES = 64 * 2**20
_MOST_MATERIAL_BYTES = 2**20
_MATERIAL_FILE = re.compile(rb"^[ \t]*mtllib[ \t]+([^\r\n]+)", re.MULTILINE)
_WITH_COORDINATES = ("obj", "dae", "glb", "gltf", "ply")
"""Extensions of files that may have texture coordinates."""
_NEIGHBOURS = ("materials", "textures", "Textures", "images")
"""Folders beside the folder of a mesh that may have its images."""


def load_textured_triangles(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[TexturedTriangles, Images]:
    """All triangles of a file with the images on them.

    Triangles whose image cannot be read have none.  Raises MeshError if the triangles cannot be read.
    """
    found, contents = _parse(path, limits)
    return _with_images(found, path.parent, contents)


def load_texture_coordinates(
    path: Path, limits: Limits = DEFAULT_LIMITS, within: Path | None = None
) -> TexturedTriangles | None:
    """All triangles of a file that has texture coordinates; None for other files.

    Raises MeshError if the triangles cannot be read.
    """
    if path.suffix.lower().lstrip(".") not in _WITH_COORDINATES:
        return None
    found, _ = _parse(path, limits, within)
    return found if found.uv.any() else None


def file_as_obj(path: Path, within: Path | None = None) -> bytes:
    """The triangles of a mesh file as OBJ, with their texture coordinates; colours follow the vertices."""
    placed = load_texture_coordinates(path, within=within)
    if placed is None:
        vertices, triangles, colors = load_colored_triangles(path, within=within)
        uvs = None
    else:
        vertices, triangles, colors = placed.vertices, placed.triangles, placed.colors
        uvs = placed.uv[triangles.ravel()]
    return obj_bytes(vertices if colors is None else np.hstack([vertices, colors[:, :3]]), triangles, uvs)


def load_file_colors(path: Path, limits: Limits = DEFAULT_LIMITS, within: Path | None = None) -> Array | None:
    """The colours of the vertices of a file, `(n, 4)`, also those of the materials of an OBJ file; None without any.

    Raises MeshError if the triangles cannot be read.
    """
    colors = load_colored_triangles(path, limits, within)[2]
    if colors is not None or path.suffix.lower() != ".obj":
        return colors
    return _parse(path, limits, within)[0].colors if _materials(*_content(path, limits, within)) else None


def _content(path: Path, limits: Limits, within: Path | None) -> tuple[bytes, Path]:
    return read_mesh_data(path, limits, within)[0], path.parent


def gltf_as_glb(path: Path, limits: Limits = DEFAULT_LIMITS, within: Path | None = None) -> bytes:
    """A text glTF file as one file, with the images that can be read."""
    return gltf_with_images(path, limits, lambda name: read_beside(path.parent, name), within)


def _parse(path: Path, limits: Limits, within: Path | None = None) -> tuple[TexturedTriangles, list[bytes | None]]:
    """All triangles of a file with the numbers of their images, and the images in a GLB file."""
    data, kind, contents = _prepare(path, limits, within)
    materials = _materials(data, path.parent) if kind == "obj" else b""
    if check_expansion(data, kind):
        return parse_textured(data, kind, materials), contents
    return ask_child(mesh_parsing.TEXTURED, data, kind, mesh_parsing.receive_textured, materials), contents


def _prepare(path: Path, limits: Limits, within: Path | None) -> tuple[bytes, str, list[bytes | None]]:
    """The bytes of a file, its kind, and the images in a GLB file; their place is taken by their numbers."""
    if path.suffix.lower() == ".gltf":
        data, kind = gltf_as_glb(path, limits, within), GLB
    else:
        data, kind = read_mesh_data(path, limits, within)
    if kind != GLB:
        return data, kind, []
    header, binary = glb_parts(data)
    if header is None or not isinstance(header.get("images"), list):
        return glb_without_textures(data), kind, []
    contents = [_embedded_image(one, header, binary) for one in header["images"]]
    header["images"] = [{"uri": _data_uri(mesh_parsing.numbered_image(i))} for i in range(len(contents))]
    return join_glb(header, binary), kind, contents


def _data_uri(content: bytes) -> str:
    return "data:image/png;base64," + b64encode(content).decode()


def _embedded_image(image: Any, header: dict[str, Any], binary: bytes) -> bytes | None:
    """The content of an image of a GLB file; None if it is malformed or in another file."""
    try:
        return image_content(image, header, binary)
    except ValueError:
        return None


def _materials(data: bytes, folder: Path) -> bytes:
    """The material files that an OBJ file names, joined."""
    parts = [
        read_beside(folder, named.decode("utf-8", "replace").strip(), _MOST_MATERIAL_BYTES)
        for named in _MATERIAL_FILE.findall(data)[:8]
    ]
    return b"\n".join(part for part in parts if part is not None)


# --- images --------------------------------------------------------------------------------------------


def _with_images(
    found: TexturedTriangles, folder: Path, contents: list[bytes | None]
) -> tuple[TexturedTriangles, Images]:
    """Decode the images that triangles use; `contents` are those in the file itself."""
    numbers = np.full(len(found.names) + 1, -1, dtype=np.int64)  # the last one is for triangles without an image
    images: list[NDArray[np.uint8]] = []
    for number in np.unique(found.images[found.images >= 0]).tolist():
        if number >= len(found.names):
            continue
        data = contents[number] if number < len(contents) else read_image_beside(folder, found.names[number])[0]
        image = decode_image(data) if data is not None else None
        if image is not None:
            numbers[number] = len(images)
            images.append(image)
    known = np.where(found.images < len(found.names), found.images, -1)
    return structs.replace(found, images=numbers[known]), tuple(images)


def read_image_beside(folder: Path, name: str) -> tuple[bytes | None, str]:
    """The content of an image that a file names, and its name: options of MTL may precede it."""
    content = read_beside(folder, name)
    words = name.split()
    return (content, name) if content is not None or len(words) < 2 else (read_beside(folder, words[-1]), words[-1])


def read_beside(folder: Path, name: str, most: int = _MOST_BYTES) -> bytes | None:
    """The content of a file in a folder or in a folder for textures beside it; None if it cannot be read."""
    name = unquote(name).replace("\\", "/").removeprefix("file://")
    if not name or "://" in name or "\0" in name:
        return None
    place = Path(os.path.normpath(folder / name))
    root = next((one for one in (folder, *(folder.parent / n for n in _NEIGHBOURS)) if place.is_relative_to(one)), None)
    if root is None:
        return None
    try:
        content = read_referenced(place, most, root)
    except (OSError, ValueError):
        return None
    return content if len(content) <= most else None


def decode_image(data: bytes) -> NDArray[np.uint8] | None:
    """The pixels of an image file, `(height, width, 3)`, reduced to `LARGEST_SIDE`; None if it cannot be decoded."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(BytesIO(data), formats=_FORMATS) as image:
                if image.width * image.height > _MOST_PIXELS:
                    return None
                image.draft("RGB", (LARGEST_SIDE, LARGEST_SIDE))
                plain = image.convert("RGB")
    except Exception:  # Pillow raises many kinds
        return None
    plain.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    return np.array(plain, dtype=np.uint8)


_TEXTURE_MARKS = {
    "dae": re.compile(rb"<(?:\w+:)?texture\s"),
    "glb": re.compile(rb'"textures"\s*:\s*\[\s*\{'),
    "gltf": re.compile(rb'"textures"\s*:\s*\[\s*\{'),
    "ply": re.compile(rb"comment\s+TextureFile", re.IGNORECASE),
    "mtl": re.compile(rb"^\s*map_k[ads]\s", re.IGNORECASE | re.MULTILINE),
}
"""What a file with textures contains, by its extension."""


def has_textures(path: Path, limits: Limits = DEFAULT_LIMITS, within: Path | None = None) -> bool:
    """Whether a mesh file uses images; False if it cannot be read."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("obj", *_TEXTURE_MARKS):
        return False
    try:
        data = read_referenced(path, limits.mesh_bytes, within)
        if kind != "obj":
            return _TEXTURE_MARKS[kind].search(data) is not None
        named = _MATERIAL_FILE.search(data)
        if named is None:
            return False
        library = path.parent / named[1].decode("utf-8", "replace").strip()
        material = read_referenced(library, _MOST_MATERIAL_BYTES, within or path.parent)
    except (OSError, ValueError):
        return False
    return _TEXTURE_MARKS["mtl"].search(material) is not None


class TexturedMeshFiles(MeshFiles):
    """Mesh files with their images; each file is read once."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._textured: dict[str, tuple[TexturedTriangles, Images] | MeshError] = {}

    def textured_triangles(self, geometry: Geometry) -> tuple[TexturedTriangles, Images]:
        """Scaled vertices, counter-clockwise faces, colours and images.  Raises MeshError if it cannot be read."""
        if not isinstance(geometry, Mesh) or geometry.path is None:
            return super().textured_triangles(geometry)
        path = geometry.path
        if path not in self._textured:
            try:
                self._textured[path] = load_textured_triangles(Path(path), self._limits)
            except MeshError as error:
                self._textured[path] = error
        found = self._textured[path]
        if isinstance(found, MeshError):
            raise found
        triangles, images = found
        # Mirroring reverses the orientation of triangles.
        faces = triangles.triangles[:, ::-1] if np.prod(geometry.scale) < 0.0 else triangles.triangles
        scaled = triangles.vertices * np.array(geometry.scale)
        return structs.replace(triangles, vertices=scaled, triangles=faces), images
