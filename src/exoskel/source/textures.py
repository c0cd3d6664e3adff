"""Image files of textures: their kinds, without decoding them, and conversion to PNG.

A file is known by its first bytes.  Pillow decodes it only for a conversion, and up to a size.
"""

from __future__ import annotations

import os
import warnings
from io import BytesIO
from pathlib import Path

from msgspec import structs

from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.shape import Texture
from exoskel.source.contained_files import path_inside, split_path
from exoskel.source.file_access import is_same_content, read_referenced
from exoskel.source.file_lookup import Location, SearchPaths, find_file, working_folder_exists

PNG = "PNG"
MOST_BYTES = 64 * 2**20
"""Larger images are neither copied nor converted."""
MOST_PIXELS = 64 * 2**20
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"\xff\xd8\xff", "JPEG"),
    (b"BM", "BMP"),
    (b"GIF8", "GIF"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"DDS ", "DDS"),
    (b"\xabKTX ", "KTX"),
    (b"#?RADIANCE", "HDR"),
    (b"#?RGBE", "HDR"),
    (b"v/1\x01", "EXR"),
)
_DECODED = (PNG, "JPEG", "BMP", "TGA", "GIF", "TIFF", "WEBP")
_TGA_KINDS = (1, 2, 3, 9, 10, 11)
_HEADER = 18


class ImageError(Exception):
    """An image cannot be read; the message gives the reason."""


def image_kind(path: str | os.PathLike[str], within: Path | None = None) -> str:
    """The kind of an image file, such as PNG, by its first bytes.  Raises ImageError."""
    try:
        data = read_referenced(path, _HEADER, within)
    except OSError as error:
        raise ImageError(error.strerror or str(error)) from None
    found = kind_of_content(data, os.fspath(path))
    if not found:
        raise ImageError("it is empty" if not data else "it is not an image")
    return found


def kind_of_content(data: bytes, name: str) -> str:
    """The kind of an image by its first bytes, or by its name if these are not enough; empty if it is not an image."""
    found = next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), "")
    if not found and data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        found = "WEBP"
    is_tga = name.lower().endswith((".tga", ".tga]"))  # these files have no signature
    if not found and is_tga and len(data) >= _HEADER and data[2] in _TGA_KINDS:
        found = "TGA"
    return found


def image_problem(path: Path, within: Path | None = None) -> str:
    """Why a file is not an image; empty if it is."""
    try:
        image_kind(path, within)
    except ImageError as error:
        return str(error)
    return ""


def read_image(path: Path, within: Path | None = None) -> bytes:
    """The content of an image file.  Raises ImageError."""
    try:
        data = read_referenced(path, MOST_BYTES, within)
    except OSError as error:
        raise ImageError(error.strerror or str(error)) from None
    if len(data) > MOST_BYTES:
        raise ImageError(f"it is larger than {MOST_BYTES // 2**20} MB")
    return data


def png_of(data: bytes) -> bytes:
    """An image as PNG, with all its pixels.  Raises ImageError."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(BytesIO(data), formats=_DECODED) as image:
                if image.width * image.height > MOST_PIXELS:
                    raise ImageError(f"it has {image.width} x {image.height} pixels")
                plain = image.convert("RGBA" if image.has_transparency_data else "RGB")
    except ImageError:
        raise
    except Exception as error:  # Pillow raises many kinds
        raise ImageError(f"it cannot be decoded: {error}") from None
    result = BytesIO()
    plain.save(result, "PNG")
    return result.getvalue()


def same_image(one: Texture, other: Texture) -> bool:
    """Whether two textures have the same file, a copy of it, or one with the same pixels."""
    if one.path is None or other.path is None:
        return one.path == other.path and one.uri.strip() == other.uri.strip()
    if os.path.realpath(one.path) == os.path.realpath(other.path):
        return os.path.isfile(split_path(one.path)[0])
    try:
        if is_same_content(one.path, other.path):
            return True
        return png_of(read_image(Path(one.path))) == png_of(read_image(Path(other.path)))
    except ImageError:
        return False


def png_size(data: bytes) -> tuple[int, int]:
    """The width and height of a PNG image, whose pixels are not decoded.  Raises ImageError if it is damaged."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(BytesIO(data), formats=(PNG,)) as image:
                width, height = image.size
                image.verify()
    except Exception as error:  # Pillow raises many kinds
        raise ImageError(f"it cannot be decoded: {error}") from None
    if width * height > MOST_PIXELS:
        raise ImageError(f"it has {width} x {height} pixels")
    return width, height


class TextureFinder:
    """Resolves references to images as the reader of the document does."""

    def __init__(self, location: Location, paths: SearchPaths) -> None:
        self._location = location
        self._paths = paths
        self._found: dict[str, str | None] = {}

    def locate(self, texture: Texture) -> Texture:
        """The texture with the path of its file, or with None if the file is not found."""
        if texture.uri not in self._found:
            path = find_file(texture.uri, self._location, self._paths).path
            self._found[texture.uri] = None if path is None else str(path)
        return structs.replace(texture, path=self._found[texture.uri])

    def locate_inside(self, texture: Texture, name: str | None) -> Texture:
        """The texture with the path of its image, which has a name in the document; None if the document is no file."""
        resolve, location = self._paths.resolver, self._location
        supplied = resolve(texture.uri) if resolve is not None else None
        inside = name is not None and bool(location.path) and not location.is_base
        path = path_inside(location.path, name) if inside and name is not None else None
        return structs.replace(texture, path=str(supplied) if supplied is not None else path)


def locate_from_working_folder(texture: Texture) -> Texture:
    """A texture that a program builds, with the path of its file if there is one."""
    location = Location(os.path.abspath("scene"), is_base=True) if working_folder_exists() else Location()
    with no_edits():
        return TextureFinder(location, SearchPaths()).locate(texture)
