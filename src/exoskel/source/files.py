"""Reading files that may be larger than they say, or without end."""

from __future__ import annotations

import os
from pathlib import Path

_CHUNK = 2**20


def read_at_most(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a file; of one with more than `most` bytes the first `most` + 1, which is enough to know.

    Devices and the files that systems make up say that they have no bytes, and may have any number of them; so
    memory is taken as the bytes come.  Raises OSError.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        parts = [file.read(min(size, most) + 1)]
        left = most + 1 - len(parts[0])
        while left > 0 and (part := file.read(min(_CHUNK, left))):
            parts.append(part)
            left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def has_content(path: Path, data: bytes) -> bool:
    """Whether a file is there that has these very bytes."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False
