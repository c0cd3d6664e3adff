"""Textures of shapes in glTF: images in the buffer of a binary file, and references to images of other files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from exoskel.formats.gltf.accessors import Buffer, GltfFile, is_finite_number
from exoskel.scene.shape import Texture
from exoskel.source.gltf_images import image_content, image_name
from exoskel.source.output_context import OutputContext
from exoskel.source.textures import PNG, ImageError, image_kind, kind_of_content, png_of, read_image

TRANSFORM = "KHR_texture_transform"
"""The extension that repeats a texture."""
_MIME_TYPES = {PNG: "image/png", "JPEG": "image/jpeg"}
"""The kinds of images that glTF supports; others are written as PNG."""


class GltfTextureWriter:
    """Adds images to a buffer, each once."""

    def __init__(self, buffer: Buffer, output: OutputContext) -> None:
        self.images: list[dict[str, Any]] = []
        self.textures: list[dict[str, Any]] = []
        self.is_repeated = False
        self._buffer, self._output = buffer, output
        self._numbers: dict[str, int] = {}

    def check(self, texture: Texture) -> None:
        """Add the image of a texture.  Raises ImageError if it cannot be read."""
        self._number(texture)

    def reference(self, texture: Texture) -> dict[str, Any]:
        """What a material states about a texture.  Raises ImageError if its image cannot be read."""
        made: dict[str, Any] = {"index": self._number(texture)}
        if texture.repeat != (1.0, 1.0):
            self.is_repeated = True
            across, up = texture.repeat
            # The image starts at the bottom left, as everywhere in a scene; in glTF, places are counted from the top.
            made["extensions"] = {TRANSFORM: {"scale": [across, up], "offset": [0.0, 1.0 - up]}}
        return made

    def _number(self, texture: Texture) -> int:
        if texture.path is None:
            raise ImageError("it was not found")
        if texture.path not in self._numbers:
            within = self._output.confined_to
            kind, data = image_kind(texture.path, within), read_image(Path(texture.path), within)
            if kind not in _MIME_TYPES:
                kind, data = PNG, png_of(data)
            view = self._buffer.add_bytes(data)
            self.images.append({"name": texture.uri, "bufferView": view, "mimeType": _MIME_TYPES[kind]})
            self._output.locate(image_name(len(self.images) - 1, kind), Path(texture.path))
            self.textures.append({"source": len(self.images) - 1})
            self._numbers[texture.path] = len(self.textures) - 1
        return self._numbers[texture.path]


class ColorImage(Struct, frozen=True):
    """The image of a base colour: its number, how often it is repeated, and its reference if it is a file."""

    number: int
    repeat: tuple[float, float]
    uri: str = ""


def color_image(file: GltfFile, surface: dict[str, Any]) -> ColorImage | None:
    """The image of a base colour; None if the colour has no image."""
    stated = surface.get("baseColorTexture")
    texture = _row(file, "textures", stated.get("index")) if isinstance(stated, dict) else None
    number = texture.get("source") if texture is not None else None
    image = _row(file, "images", number)
    if image is None or type(number) is not int:
        return None
    uri = image.get("uri")
    return ColorImage(
        number, texture_repeat(stated), uri if isinstance(uri, str) and not uri.startswith("data:") else ""
    )


def name_inside(file: GltfFile, number: int) -> str:
    """The name of an image inside of a file, by its content.  Raises ImageError if it is not an image."""
    try:
        content = image_content(file.rows("images")[number], file.header, file.binary)
    except ValueError as problem:
        raise ImageError(str(problem)) from None
    kind = kind_of_content(content or b"", "")
    if not kind:
        raise ImageError("it is not an image" if content else "it is empty")
    return image_name(number, kind)


def texture_numbers(material: object) -> set[int]:
    """The numbers of all textures that a material refers to, in itself and in its extensions."""
    found: set[int] = set()
    waiting: list[tuple[str, object]] = [("", material)]
    while waiting:
        name, one = waiting.pop()
        if isinstance(one, dict):
            index = one.get("index")
            if name.endswith("Texture") and type(index) is int:
                found.add(index)
            waiting += one.items()
    return found


def texture_repeat(stated: object) -> tuple[float, float]:
    """How often a reference to a texture repeats the image along its width and height."""
    extensions = stated.get("extensions") if isinstance(stated, dict) else None
    moved = extensions.get(TRANSFORM) if isinstance(extensions, dict) else None
    scale = moved.get("scale") if isinstance(moved, dict) else None
    if not isinstance(scale, list) or len(scale) != 2:
        return (1.0, 1.0)
    if not all(is_finite_number(one) and one > 0.0 for one in scale):
        return (1.0, 1.0)
    return (float(scale[0]), float(scale[1]))


def _row(file: GltfFile, name: str, number: Any) -> dict[str, Any] | None:
    rows = file.rows(name)
    return rows[number] if type(number) is int and 0 <= number < len(rows) else None
