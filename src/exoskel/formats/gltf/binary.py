"""The binary container: one buffer of numbers, its views and accessors, and the file around it."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from exoskel.formats.gltf.codes import catalogue_error

NumberArray = NDArray[Any]

_MAGIC, _VERSION = 0x46546C67, 2
_JSON, _BIN = 0x4E4F534A, 0x004E4942
_MAX_SIZE = 2**32 - 1
_COMPONENTS = {"f4": 5126, "u4": 5125, "u2": 5123}
"""glTF's numbers for single precision and for unsigned integers of four and two bytes."""
_KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
VERTICES, INDICES = 34962, 34963
"""Targets of buffer views; views of animations have none."""


class Buffer:
    """A buffer of arrays, aligned to four bytes."""

    def __init__(self) -> None:
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: NumberArray, *, target: int = 0, bounds: bool = False, normalized: bool = False) -> int:
        """Add an accessor for an array whose rows are its elements; the type is preserved."""
        accessor = _accessor(self._view(values, target), values, len(values))
        if bounds:
            accessor["min"] = np.atleast_1d(values.min(axis=0)).tolist()
            accessor["max"] = np.atleast_1d(values.max(axis=0)).tolist()
        if normalized:
            accessor["normalized"] = True
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def add_many(self, values: NumberArray) -> range:
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

    def _view(self, values: NumberArray, target: int) -> int:
        data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        view = {"buffer": 0, "byteOffset": self._size, "byteLength": len(data)}
        if target:
            view["target"] = target
        self.views.append(view)
        self._parts += [data, bytes(-len(data) % 4)]
        self._size += len(data) + -len(data) % 4
        return len(self.views) - 1

    def file(self, document: dict[str, Any]) -> bytes:
        """The whole file: the document with the views and accessors of this buffer, and the buffer."""
        if self._size:
            document |= {
                "accessors": self.accessors,
                "bufferViews": self.views,
                "buffers": [{"byteLength": self._size}],
            }
        text = msgspec.json.encode(document)
        text += b" " * (-len(text) % 4)
        size = 12 + 8 + len(text) + (8 + self._size if self._size else 0)
        if size > _MAX_SIZE:
            raise catalogue_error("GL101", size=size, most=_MAX_SIZE)
        parts = [struct.pack("<III", _MAGIC, _VERSION, size), struct.pack("<II", len(text), _JSON), text]
        if self._size:
            parts += [struct.pack("<II", self._size, _BIN), *self._parts]
        return b"".join(parts)


def _accessor(view: int, values: NumberArray, count: int) -> dict[str, Any]:
    width = 1 if values.ndim == 1 else values.shape[-1]
    kind = _COMPONENTS[values.dtype.str[1:]]
    return {"bufferView": view, "componentType": kind, "count": count, "type": _KINDS[width]}


def single(values: NumberArray, what: str) -> NDArray[np.float32]:
    """Convert numbers to single precision; raises GltfError if they are out of range."""
    with np.errstate(over="ignore"):
        out = values.astype(np.float32)
    if not np.isfinite(out).all():
        raise catalogue_error("GL102", what=what)
    return out
