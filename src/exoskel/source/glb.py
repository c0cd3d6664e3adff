"""Binary glTF files (GLB): their header, which is JSON, and their binary part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_HEADER_START = 20
"""Where the JSON of a GLB file starts: after the length and kind of its chunk."""
_INTEGERS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2"}
_FLOAT = 5126
_WIDTHS = {"VEC2": 2, "VEC3": 3}
_MOST_COPIES = 16
"""How many times larger a file may become: floats are four times as large as bytes, and accessors may overlap."""
_PLACES = ("POSITION", "TEXCOORD_0")


def header_bytes(data: bytes) -> bytes:
    """The JSON of a GLB file."""
    return data[_HEADER_START : _HEADER_START + int.from_bytes(data[12:16], "little")]


def glb_parts(data: bytes) -> tuple[dict[str, Any] | None, bytes]:
    """The header of a GLB file, or None if it is malformed, and its binary part."""
    import json

    text = header_bytes(data)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        return None, b""
    return (header if isinstance(header, dict) else None), data[_HEADER_START + len(text) + 8 :]


def join_glb(header: dict[str, Any], binary: bytes) -> bytes:
    """A GLB file of its two parts."""
    import json

    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    chunks = _chunk(b"JSON", text) + _chunk(b"BIN\0", binary)
    return b"glTF" + (2).to_bytes(4, "little") + (12 + len(chunks)).to_bytes(4, "little") + chunks


def _chunk(name: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + name + content


JSON, BINARY = b"JSON", b"BIN\0"
"""The kinds of chunks of a GLB file; it may have others."""
GlbChunk = tuple[bytes, bytes]
"""The kind of a chunk, and its content."""


def glb_chunks(data: bytes) -> list[GlbChunk]:
    """All chunks of a GLB file.  Raises ValueError if there is no JSON."""
    found: list[GlbChunk] = []
    start = 12
    while start + 8 <= len(data):
        end = start + 8 + int.from_bytes(data[start : start + 4], "little")
        found.append((data[start + 4 : start + 8], data[start + 8 : end]))
        start = end
    if not found or found[0][0] != JSON:
        raise ValueError("the first chunk is not JSON")
    return found


def glb_of_chunks(chunks: list[GlbChunk]) -> bytes:
    """A GLB file of these chunks, of which the first is JSON."""
    padded = [(kind, content + (b" " if kind == JSON else b"\0") * (-len(content) % 4)) for kind, content in chunks]
    body = b"".join(_chunk(kind, content) for kind, content in padded)
    return b"glTF" + (2).to_bytes(4, "little") + (12 + len(body)).to_bytes(4, "little") + body


# --- quantized vertices ---------------------------------------------------------------------------------


def divide_normalized(integers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as fractions of the largest one of their type, from -1 or 0 to 1."""
    return np.maximum(integers / np.iinfo(integers.dtype).max, -1.0)


def glb_without_quantization(data: bytes) -> bytes:
    """A GLB file whose vertices and their places on images are floats: trimesh does not divide normalized integers."""
    if b'"normalized"' not in header_bytes(data):
        return data
    header, binary = glb_parts(data)
    if header is None:
        return data  # trimesh gives the reason
    try:
        changed = [number for number in _vertex_accessors(header) if _is_quantized(header["accessors"][number])]
        size = sum(4 * _WIDTHS[one["type"]] * one["count"] for one in map(header["accessors"].__getitem__, changed))
        if size > _MOST_COPIES * len(data):
            return data
        for number in changed:
            binary = _replace_accessor(header, number, binary)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError):
        return data  # the same
    return join_glb(header, binary) if changed else data


def _vertex_accessors(header: dict[str, Any]) -> list[int]:
    primitives = [one for mesh in header.get("meshes", []) for one in mesh.get("primitives", [])]
    places = [primitive.get("attributes", {}).get(name) for primitive in primitives for name in _PLACES]
    return [number for number in dict.fromkeys(places) if type(number) is int and number >= 0]


def _is_quantized(accessor: dict[str, Any]) -> bool:
    return (
        accessor.get("normalized") is True and accessor.get("componentType") in _INTEGERS and "sparse" not in accessor
    )


def _replace_accessor(header: dict[str, Any], number: int, binary: bytes) -> bytes:
    """Let an accessor refer to floats at the end of the binary part, which is returned with them."""
    accessor = header["accessors"][number]
    view, kind = header["bufferViews"][accessor["bufferView"]], np.dtype(_INTEGERS[accessor["componentType"]])
    shape, stride = (accessor["count"], _WIDTHS[accessor["type"]]), view.get("byteStride") or 0
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    strides = (stride or kind.itemsize * shape[1], kind.itemsize)
    found = divide_normalized(np.ndarray(shape, kind, binary, start, strides)).astype("<f4").tobytes()
    binary += b"\0" * (-len(binary) % 4)
    header["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(found)})
    accessor |= {"bufferView": len(header["bufferViews"]) - 1, "componentType": _FLOAT, "byteOffset": 0}
    del accessor["normalized"]
    for name in ("min", "max"):
        accessor.pop(name, None)
    header["buffers"][0]["byteLength"] = len(binary) + len(found)
    return binary + found
