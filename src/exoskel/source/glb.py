"""Binary glTF files (GLB): their header, which is JSON, and their binary part."""

from __future__ import annotations

from typing import Any

_HEADER_START = 20
"""Where the JSON of a GLB file starts: after the length and kind of its chunk."""


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
