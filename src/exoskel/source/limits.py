"""Limits on the size of the input, and reading files up to a limit."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from exoskel.diagnostics import ExoskelError

_CHUNK = 2**20


def read_at_most(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a file, or its first `most` + 1 bytes, so that the caller can tell that it is larger.

    Devices and virtual files report a size of zero but may have any number of bytes, so memory is allocated as the
    bytes arrive.  Raises OSError.
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
    """Whether a file exists and has exactly this content."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


# --- limits --------------------------------------------------------------------------------------------


MAX_DEPTH = 500
"""The largest limit on the depth: as deep as MuJoCo reads."""


class LimitError(ExoskelError, ValueError):
    """A limit cannot be applied."""


class Limits(Struct, frozen=True, kw_only=True):
    """Limits on the input.  Exceeding one is an error diagnostic that names it."""

    bytes: int = 512 * 2**20
    depth: int = 200
    elements: int = 10_000_000
    attributes: int = 1_000
    """Per element, because the time of the parser grows with the square of their number."""
    mesh_bytes: int = 512 * 2**20
    seconds: float = 7.0
    """The processor time of MuJoCo's compiler for a document of up to 1 MB; for larger ones it grows quadratically."""

    def check(self) -> None:
        """Raise LimitError for a limit that cannot be applied."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not value > 0:
                raise LimitError(f"the limit {name} is {value}, but must be positive")
        if self.depth > MAX_DEPTH:
            raise LimitError(f"the limit depth is {self.depth}, but can be at most {MAX_DEPTH}")


DEFAULT_LIMITS = Limits()
