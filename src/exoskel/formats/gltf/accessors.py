"""The header, the buffers and the accessors of a glTF file, read and written."""

from __future__ import annotations

import struct
import sys
from base64 import b64encode
from pathlib import Path, PurePath
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.formats.gltf.codes import catalogue_error
from exoskel.source.glb import header_bytes
from exoskel.source.glb_accessors import AccessorArray, GlbAccessors, MalformedGltfError
from exoskel.source.limits import Limits
from exoskel.source.mesh_packages import glb_of, glb_with_one_buffer
from exoskel.source.output_context import OutputContext

_HEAD, _CHUNK = 12, 8


def is_finite_number(value: object) -> bool:
    """Whether a value of JSON is a number in the range of a float; whole numbers may be larger."""
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def is_text_output(output: OutputContext) -> bool:
    """Whether a text file is written, by its extension."""
    return (PurePath(output.file_name).suffix or output.extension).lower() == ".gltf"


class GltfFile(GlbAccessors, kw_only=True):
    """The header of a file and its only buffer."""

    stated: dict[str, Any]
    """The header as it is in the file, with all of its buffers."""

    @property
    def is_own(self) -> bool:
        """Whether Exoskel wrote the file."""
        asset = self.header.get("asset")
        return isinstance(asset, dict) and str(asset.get("generator", "")).startswith("exoskel ")


def open_file(data: bytes, folder: Path, limits: Limits, within: Path | None) -> GltfFile:
    """Open a binary or text file; buffers of a text file are read.  Raises MalformedGltfError or MeshError."""
    stated = None
    if data.startswith(b"glTF"):
        joined = glb_with_one_buffer(data, folder, limits, within)
        stated = None if joined is data else _json(header_bytes(data))
        data = joined
    else:
        stated = _json(data)
        data = glb_of(data, "gltf", folder, limits, within)
    if len(data) < _HEAD + _CHUNK:
        raise MalformedGltfError("it is too short")
    (size,) = struct.unpack_from("<I", data, _HEAD)
    header = _json(data[_HEAD + _CHUNK : _HEAD + _CHUNK + size])
    rest = data[_HEAD + _CHUNK + size :]
    binary = rest[_CHUNK : _CHUNK + int.from_bytes(rest[:4], "little")] if rest[4:8] == b"BIN\0" else b""
    if stated is not None:  # with the textures, which are not in the joined file
        header |= {name: stated[name] for name in ("materials", "textures", "images") if name in stated}
    return GltfFile(header, binary, stated=header if stated is None else stated)


def _json(data: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise MalformedGltfError("it is not JSON") from None
    if not isinstance(found, dict):
        raise MalformedGltfError("it is not a JSON object")
    return found


_MAGIC, _VERSION = 0x46546C67, 2
_JSON, _BIN = 0x4E4F534A, 0x004E4942
_MAX_SIZE = 2**32 - 1
_COMPONENTS = {"f4": 5126, "u4": 5125, "u2": 5123}
"""glTF's numbers for single precision and for unsigned integers of four and two bytes."""
_KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}
VERTICES, INDICES = 34962, 34963
"""Targets of buffer views; views of animations have none."""


class Buffer:
    """A buffer of arrays, aligned to four bytes."""

    def __init__(self) -> None:
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: AccessorArray, *, target: int = 0, bounds: bool = False, normalized: bool = False) -> int:
        """Add an accessor for an array whose rows are its elements; the type is preserved."""
        accessor = _accessor(self._view(values, target), values, len(values))
        if bounds:
            accessor["min"] = np.atleast_1d(values.min(axis=0)).tolist()
            accessor["max"] = np.atleast_1d(values.max(axis=0)).tolist()
        if normalized:
            accessor["normalized"] = True
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def add_many(self, values: AccessorArray) -> range:
        """Add an accessor for each subarray, all in one view."""
        view = self._view(values, 0)
        first = len(self.accessors)
        each = values[0].nbytes if len(values) else 0
        for number in range(len(values)):
            accessor = _accessor(view, values[number], values.shape[1])
            if number:
                accessor["byteOffset"] = number * each
            self.accessors.append(accessor)
        return range(first, len(self.accessors))

    def _view(self, values: AccessorArray, target: int) -> int:
        data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        number = self.add_bytes(data)
        if target:
            self.views[number]["target"] = target
        return number

    def add_bytes(self, data: bytes) -> int:
        """Add a view of bytes, such as an image."""
        self.views.append({"buffer": 0, "byteOffset": self._size, "byteLength": len(data)})
        self._parts += [data, bytes(-len(data) % 4)]
        self._size += len(data) + -len(data) % 4
        return len(self.views) - 1

    def file(self, document: dict[str, Any], *, is_text: bool = False) -> bytes:
        """The whole file: the document with the views and accessors of this buffer, and the buffer."""
        if self._size:
            buffer: dict[str, Any] = {"byteLength": self._size}
            if is_text:
                buffer["uri"] = "data:application/octet-stream;base64," + b64encode(b"".join(self._parts)).decode()
            document |= {
                "accessors": self.accessors,
                "bufferViews": self.views,
                "buffers": [buffer],
            }
        if is_text:
            return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
        text = msgspec.json.encode(document)
        text += b" " * (-len(text) % 4)
        size = 12 + 8 + len(text) + (8 + self._size if self._size else 0)
        if size > _MAX_SIZE:
            raise catalogue_error("GL101", size=size, most=_MAX_SIZE)
        parts = [struct.pack("<III", _MAGIC, _VERSION, size), struct.pack("<II", len(text), _JSON), text]
        if self._size:
            parts += [struct.pack("<II", self._size, _BIN), *self._parts]
        return b"".join(parts)


def _accessor(view: int, values: AccessorArray, count: int) -> dict[str, Any]:
    width = 1 if values.ndim == 1 else values.shape[-1]
    kind = _COMPONENTS[values.dtype.str[1:]]
    return {"bufferView": view, "componentType": kind, "count": count, "type": _KINDS[width]}


def single(values: AccessorArray, what: str) -> NDArray[np.float32]:
    """Convert numbers to single precision; raises GltfError if they are out of range."""
    with np.errstate(over="ignore"):
        out = spatial.round_array(values).astype(np.float32)
    if not np.isfinite(out).all():
        raise catalogue_error("GL102", what=what)
    return out
