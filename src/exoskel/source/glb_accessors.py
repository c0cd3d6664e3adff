"""The accessors of a glTF file with one buffer: rows of numbers, also compressed ones and those stated one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from exoskel.source.meshopt import CompressedView, MeshoptError, decode_view

AccessorArray = NDArray[Any]
_TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_MOST_ZEROS = 2**28
"""Zeros need no content of the file: the limit is that of small files."""
_COMPRESSIONS = ("KHR_meshopt_compression", "EXT_meshopt_compression")
_MOST_DECODED, _MOST_RATIO = 2**28, 64
"""Compressed views may have this number of bytes, or this number for each byte of the buffer."""


class MalformedGltfError(Exception):
    """A glTF file is invalid; the message is the reason."""


class GlbAccessors(Struct):
    """The header of a file and its only buffer."""

    header: dict[str, Any]
    binary: bytes
    decoded: dict[int, AccessorArray] = field(default_factory=dict)
    """The rows of accessors without a view, whose triangles are compressed."""
    _views: dict[int, bytes] = field(default_factory=dict)
    """The content of compressed views that were decoded."""

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The objects of a list."""
        found = self.header.get(name)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise MalformedGltfError(f"'{name}' is not a list of objects")
        return found

    def row(self, name: str, number: Any) -> dict[str, Any]:
        """The object of a list with a number; empty if it does not exist."""
        found = self.rows(name)
        return found[number] if type(number) is int and 0 <= number < len(found) else {}

    def length(self, number: Any) -> int:
        """The number of rows of an accessor; -1 if it does not exist."""
        found = self.row("accessors", number)
        return _count(found, "count") if found else -1

    def has_content(self, number: Any) -> bool:
        """Whether the rows of an accessor are in a buffer or decoded; those of compressed triangles may be neither."""
        return number in self.decoded or not {"bufferView", "sparse"}.isdisjoint(self.row("accessors", number))

    def compression(self, number: Any) -> str:
        """The extension that compresses the rows of an accessor in a buffer; empty if they are not compressed."""
        view = self.row("bufferViews", self.row("accessors", number).get("bufferView"))
        return _compression(view) if view.get("buffer", 0) != 0 else ""

    def decoding_problem(self, number: Any) -> str:
        """Why the rows of an accessor cannot be decoded; empty if they can, or need not be."""
        try:
            if self.compression(number):
                self._decoded_view(self.row("accessors", number)["bufferView"])
        except (MeshoptError, MalformedGltfError) as problem:
            return str(problem)
        return ""

    def width(self, number: Any) -> int:
        """How many numbers a row of an accessor has; 0 if it is unknown."""
        return _WIDTHS.get(str(self.row("accessors", number).get("type")), 0)

    def component(self, number: Any) -> str:
        """The type of the numbers of an accessor; empty if it is unknown."""
        return _component(self.row("accessors", number)) or ""

    def view_content(self, number: Any) -> bytes:
        """The bytes of a view that is not compressed.  Raises MalformedGltfError."""
        view = self.row("bufferViews", number)
        start, size = _count(view, "byteOffset"), _count(view, "byteLength")
        if not view or view.get("buffer", 0) != 0 or start + size > len(self.binary):
            raise MalformedGltfError(f"view {number} exceeds its buffer")
        return self.binary[start : start + size]

    def array(self, number: Any, width: int) -> Any:
        """The rows of an accessor."""
        accessor = self.row("accessors", number)
        kind, count = _component(accessor), accessor.get("count")
        if not accessor:
            raise MalformedGltfError(f"accessor {number} is missing")
        if kind is None or type(count) is not int or count < 0 or _WIDTHS.get(str(accessor.get("type"))) != width:
            raise MalformedGltfError(f"accessor {number} has another type than expected")
        if number in self.decoded:
            found = self.decoded[number].astype(kind)
        else:
            found = self._view_rows(number, accessor, np.dtype(kind), (count, width))
        sparse = accessor.get("sparse")
        if sparse is not None:
            self._replace_rows(number, sparse, found)
        return _normalized(found) if accessor.get("normalized") is True else found

    def _view_rows(
        self, number: Any, owner: dict[str, Any], kind: np.dtype[Any], shape: tuple[int, int]
    ) -> AccessorArray:
        """Rows in a view of a buffer, for an accessor or a part of it.  Without a view, they are zeros."""
        count, width = shape
        size = kind.itemsize * width
        if "bufferView" not in owner:
            if count * size > _MOST_ZEROS:
                raise MalformedGltfError(f"accessor {number} has more than {_MOST_ZEROS // 2**20} MB of zeros")
            return np.zeros(shape, kind)
        view = self.row("bufferViews", owner["bufferView"])
        if not view:
            raise MalformedGltfError(f"accessor {number} is in a view that does not exist")
        content, start, stride = self.binary, _count(owner, "byteOffset"), _count(view, "byteStride") or size
        if view.get("buffer", 0) != 0:  # it has no content: its views are compressed
            try:
                content = self._decoded_view(owner["bufferView"])
            except MeshoptError as problem:
                raise MalformedGltfError(f"accessor {number} is in a view that cannot be decoded: {problem}") from None
        else:
            start += _count(view, "byteOffset")
        if stride < size or (count and start + stride * (count - 1) + size > len(content)):
            raise MalformedGltfError(f"accessor {number} exceeds its buffer")
        return np.ndarray(shape, kind, content, start, (stride, kind.itemsize)).copy()

    def _decoded_view(self, number: int) -> bytes:
        """The content of a compressed view.  Raises MeshoptError or MalformedGltfError."""
        if number not in self._views:
            view = self.row("bufferViews", number)
            name = _compression(view)
            if not name:
                raise MeshoptError("its buffer is missing")
            stated = view["extensions"][name]
            data = self._compressed_bytes(stated)
            count, stride = _count(stated, "count"), _count(stated, "byteStride")
            used = sum(map(len, self._views.values())) + count * stride
            if used > max(_MOST_DECODED, _MOST_RATIO * len(self.binary)):
                raise MeshoptError("it decodes to more than the limit")
            mode, change = str(stated.get("mode", "")), str(stated.get("filter", "NONE"))
            self._views[number] = decode_view(CompressedView(data, mode, change, count, stride))
        return self._views[number]

    def _compressed_bytes(self, stated: Any) -> bytes:
        """The compressed bytes that an extension of a view refers to."""
        if not isinstance(stated, dict) or stated.get("buffer") != 0:
            raise MeshoptError("its compressed buffer is missing")
        start, size = _count(stated, "byteOffset"), _count(stated, "byteLength")
        if start + size > len(self.binary):
            raise MeshoptError("its compressed data exceeds its buffer")
        return self.binary[start : start + size]

    def _replace_rows(self, number: Any, sparse: Any, rows: AccessorArray) -> None:
        """Replace the rows of an accessor that are stated one by one."""
        places, values = (sparse.get(name) for name in ("indices", "values")) if isinstance(sparse, dict) else (0, 0)
        if not isinstance(places, dict) or not isinstance(values, dict):
            raise MalformedGltfError(f"the sparse rows of accessor {number} are incomplete")
        count, kind = _count(sparse, "count"), _component(places) or ""
        if not kind.startswith("<u") or not {"bufferView"} <= places.keys() & values.keys():
            raise MalformedGltfError(f"the sparse rows of accessor {number} are incomplete")
        which = self._view_rows(number, places, np.dtype(kind), (count, 1)).ravel()
        if count and int(which.max()) >= len(rows):
            raise MalformedGltfError(f"the sparse rows of accessor {number} exceed its count")
        rows[which.astype(np.int64)] = self._view_rows(number, values, rows.dtype, (count, rows.shape[1]))


def _compression(view: dict[str, Any]) -> str:
    """The name of the extension that compresses a view; empty for uncompressed views."""
    extensions = view.get("extensions")
    return next((name for name in _COMPRESSIONS if isinstance(extensions, dict) and name in extensions), "")


def _normalized(integers: AccessorArray) -> AccessorArray:
    """Whole numbers as fractions of the largest one of their type, from -1 or 0 to 1."""
    return np.maximum(integers / np.iinfo(integers.dtype).max, -1.0) if integers.dtype.kind in "iu" else integers


def _component(owner: dict[str, Any]) -> str | None:
    """The type of the numbers of an accessor or a part of it; None if it is unknown."""
    found = owner.get("componentType")
    return _TYPES.get(found) if type(found) is int else None


def _count(owner: dict[str, Any], name: str) -> int:
    found = owner.get(name, 0)
    if type(found) is not int or found < 0:
        raise MalformedGltfError(f"'{name}' is not a whole number")
    return found
