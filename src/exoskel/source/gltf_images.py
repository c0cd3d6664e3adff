"""Images inside of glTF files: in the text, in the binary part, or in a buffer of another file.

Such an image has a name by its number, such as `images/0.png`.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any, BinaryIO
from urllib.parse import unquote, unquote_to_bytes

from msgspec import Struct

from exoskel.source.limits import DEFAULT_LIMITS

EXTENSIONS = (".glb", ".gltf")
_MAGIC = b"glTF"
_HEAD = 20
"""The bytes of a binary file before its header: its own, and those of the first chunk."""
_CHUNK = 8
_NAME = re.compile(r"images/(\d{1,9})\.\w+")
_EXTENSIONS_OF_KINDS = {"JPEG": "jpg"}
ReadBeside = Callable[[str, int], bytes]
"""Reads the first bytes of a file by its path from the folder of the document, up to one more than their number."""


def image_name(number: int, kind: str) -> str:
    """The name of an image inside of a file, by its place in the list and its kind, such as PNG."""
    return f"images/{number}.{_EXTENSIONS_OF_KINDS.get(kind, kind.lower())}"


class ImageView(Struct, frozen=True):
    """The bytes of a buffer that are an image."""

    buffer: int
    start: int
    length: int


def data_uri_content(uri: str) -> bytes:
    """The content of a data URI.  Raises ValueError if it is malformed."""
    head, _, text = uri.partition(",")
    return b64decode(unquote(text), validate=True) if head.endswith(";base64") else unquote_to_bytes(text)


def inside_image(image: object, header: dict[str, Any]) -> bytes | ImageView | None:
    """The content of an image of a file, or where it is; None if it is not inside the file.

    Raises ValueError if it is malformed.
    """
    if not isinstance(image, dict):
        return None
    uri, number, views = image.get("uri"), image.get("bufferView"), header.get("bufferViews")
    if isinstance(uri, str):
        return data_uri_content(uri) if uri.startswith("data:") else None
    if number is None:
        return None
    if type(number) is not int or not isinstance(views, list) or not 0 <= number < len(views):
        raise ValueError(f"view {number} does not exist")
    view = views[number] if isinstance(views[number], dict) else {}
    place = [view.get(name, 0) for name in ("buffer", "byteOffset", "byteLength")]
    if not all(type(one) is int and one >= 0 for one in place):
        raise ValueError(f"view {number} is malformed")
    return ImageView(*place)


def image_content(image: object, header: dict[str, Any], binary: bytes) -> bytes | None:
    """The content of an image of a file with one buffer; None if it is not inside.  Raises ValueError."""
    found = inside_image(image, header)
    if not isinstance(found, ImageView):
        return found
    content = binary[found.start : found.start + found.length]
    if found.buffer or len(content) < found.length:
        raise ValueError("it exceeds its buffer")
    return content


def read_member(file: BinaryIO, name: str, most: int, read_beside: ReadBeside) -> bytes:
    """The content of an image by its name in an open file, or its first `most` + 1 bytes.  Raises OSError."""
    try:
        return _ImageContainer(file, read_beside).content(name, most)
    except FileNotFoundError:
        raise
    except (ValueError, RecursionError, TypeError) as problem:
        raise OSError(0, f"the glTF file is damaged: {problem}") from None


class _ImageContainer:
    """An open file and its header; of its buffers, only the bytes of an image are read."""

    def __init__(self, file: BinaryIO, read_beside: ReadBeside) -> None:
        import json

        self._file, self._read_beside = file, read_beside
        start = file.read(_HEAD)
        self._binary = -1
        if start.startswith(_MAGIC):
            size = int.from_bytes(start[12:16], "little")
            self._binary = _HEAD + size + _CHUNK
            text = file.read(min(size, DEFAULT_LIMITS.bytes))
        else:
            text = start + file.read(DEFAULT_LIMITS.bytes)
        header = json.loads(text)
        self.header: dict[str, Any] = header if isinstance(header, dict) else {}

    def content(self, name: str, most: int) -> bytes:
        """The content of an image, or its first bytes."""
        found, images = _NAME.fullmatch(name), self.header.get("images")
        number = int(found[1]) if found else -1
        if not isinstance(images, list) or not 0 <= number < len(images):
            raise FileNotFoundError(0, "it is not in the glTF file")
        inside = inside_image(images[number], self.header)
        if inside is None:
            raise FileNotFoundError(0, "it is not in the glTF file")
        return self._bytes_of(inside, most) if isinstance(inside, ImageView) else inside[: most + 1]

    def _bytes_of(self, view: ImageView, most: int) -> bytes:
        buffers = self.header.get("buffers")
        buffer = buffers[view.buffer] if isinstance(buffers, list) and view.buffer < len(buffers) else None
        uri = buffer.get("uri") if isinstance(buffer, dict) else None
        length = min(view.length, most + 1)
        if view.start + length > DEFAULT_LIMITS.mesh_bytes:
            raise ValueError("its buffers exceed the limit of mesh_bytes")
        if isinstance(uri, str):
            is_inside = uri.startswith("data:")
            whole = data_uri_content(uri) if is_inside else self._read_beside(unquote(uri), view.start + length)
            found = whole[view.start : view.start + length]
        elif view.buffer or self._binary < 0:
            raise ValueError(f"buffer {view.buffer} does not exist")
        else:
            self._file.seek(self._binary + view.start)
            found = self._file.read(length)
        if len(found) < length:
            raise ValueError("an image exceeds its buffer")
        return found
