"""Binary glTF files whose triangles trimesh reads right.

trimesh does not divide normalized integers, and ignores fans, rows that are stated one by one, and compression.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from exoskel.source.glb import glb_parts, header_bytes, join_glb
from exoskel.source.glb_accessors import AccessorArray, GlbAccessors, MalformedGltfError

_SIGNS = (b'"normalized"', b'"sparse"', b'"mode"', b"compression")
"""What the header of a file contains that may have to be changed."""
_PLACES = {"POSITION": 3, "TEXCOORD_0": 2}
_DRACO = "KHR_draco_mesh_compression"
_LIST, _FAN = 4, 6
_KINDS: dict[int, tuple[int, str]] = {1: (5125, "SCALAR"), 2: (5126, "VEC2"), 3: (5126, "VEC3")}
_LEAST_LIMIT, _MOST_COPIES = 2**20, 16
"""How large a file may become: floats are four times as large as bytes, and accessors may overlap."""


class CompressedMeshError(Exception):
    """The triangles of a file are compressed; the message is the reason."""


def plain_glb(data: bytes) -> bytes:
    """A GLB file with the same triangles, without what trimesh does not read.  Raises CompressedMeshError."""
    text = header_bytes(data)
    if not any(sign in text for sign in _SIGNS):
        return data
    header, binary = glb_parts(data)
    if header is None:
        return data  # trimesh gives the reason
    try:
        return _PlainFile(header, binary, max(_LEAST_LIMIT, _MOST_COPIES * len(data))).changed() or data
    except (MalformedGltfError, KeyError, IndexError, TypeError, AttributeError):
        return data  # the same


class _PlainFile:
    def __init__(self, header: dict[str, Any], binary: bytes, most: int) -> None:
        self.file = GlbAccessors(header, binary)
        self._added = bytearray(binary + bytes(-len(binary) % 4))
        self._most = most + len(binary)
        self._done: dict[int, int] = {}
        """The new numbers of accessors."""

    def changed(self) -> bytes | None:
        """The file; None if nothing has to be changed."""
        primitives = list(self._primitives())
        for primitive in primitives:
            self._check_compression(primitive)
        start = len(self._added)
        for primitive in primitives:
            for name, width in _PLACES.items():
                self._replace(primitive["attributes"], name, width)
            self._replace(primitive, "indices", 1)
            if primitive.get("mode") == _FAN:
                self._replace_fan(primitive)
        if len(self._added) == start:
            return None
        header = self.file.header
        header["buffers"][0]["byteLength"] = len(self._added)
        return join_glb(header, bytes(self._added))

    def _primitives(self) -> Iterator[dict[str, Any]]:
        for mesh in self.file.rows("meshes"):
            yield from (one for one in mesh["primitives"] if "POSITION" in one["attributes"])

    def _check_compression(self, primitive: dict[str, Any]) -> None:
        places = (primitive["attributes"]["POSITION"], primitive.get("indices"))
        name = next((found for one in places if (found := self.file.compression(one))), "")
        if _DRACO in primitive.get("extensions", {}) and not self.file.has_content(places[0]):
            name = _DRACO
        if name:
            raise CompressedMeshError(f"its triangles are compressed with {name}; export it without compression")

    def _replace(self, owner: dict[str, Any], name: str, width: int) -> None:
        """Let an accessor with whole numbers as fractions, or with rows stated one by one, be a plain one."""
        number = owner.get(name)
        accessor = self.file.row("accessors", number)
        if type(number) is not int or not ("sparse" in accessor or accessor.get("normalized") is True):
            return
        if number not in self._done:
            self._check_size(4 * width * self.file.length(number))
            self._done[number] = self._add(self.file.array(number, width))
        owner[name] = self._done[number]

    def _replace_fan(self, primitive: dict[str, Any]) -> None:
        number = primitive.get("indices")
        count = self.file.length(primitive["attributes"]["POSITION"] if number is None else number)
        self._check_size(12 * count)
        around = np.arange(count) if number is None else self.file.array(number, 1).ravel()
        first = np.full(max(count - 2, 0), around[0] if count else 0)
        triangles = np.stack([around[1:-1], around[2:], first], axis=1)
        primitive |= {"mode": _LIST, "indices": self._add(triangles.reshape(-1, 1))}

    def _check_size(self, size: int) -> None:
        if len(self._added) + size > self._most:
            raise ValueError("its accessors have many more rows than the file has bytes")

    def _add(self, rows: AccessorArray) -> int:
        """Add an accessor; returns its number."""
        component, kind = _KINDS[rows.shape[1]]
        content = rows.astype("<f4" if component == _KINDS[2][0] else "<u4").tobytes()
        header = self.file.header
        views = header.setdefault("bufferViews", [])
        views.append({"buffer": 0, "byteOffset": len(self._added), "byteLength": len(content)})
        self._added += content
        made = {"bufferView": len(views) - 1, "componentType": component, "type": kind, "count": len(rows)}
        header["accessors"].append(made)
        return len(header["accessors"]) - 1
