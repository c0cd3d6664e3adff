"""The wire between a program and the process that draws for it: a letter, a length, and so many bytes."""

from __future__ import annotations

import struct
from typing import IO

PICTURE, FAILED = b"P", b"F"
_HEADER = struct.Struct("<cQ")


def send(stream: IO[bytes], kind: bytes, content: bytes) -> None:
    stream.write(_HEADER.pack(kind, len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[bytes, bytes] | None:
    """What was sent; None if the other end is gone."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    kind, length = _HEADER.unpack(header)
    content = stream.read(length)
    return (kind, content) if len(content) == length else None
