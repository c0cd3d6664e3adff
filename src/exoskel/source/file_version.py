"""Versions of a file, to detect that another program has changed it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from msgspec import Struct

from exoskel.source.file_access import has_content

_CLOCK_TICK = 2 * 10**9
"""The coarsest resolution of a file system's clock, in ns."""


class FileVersion(Struct, frozen=True):
    """The content of a file as it was read or written at some time, with the file's identity and time then."""

    data: bytes
    identity: tuple[int, ...] = ()
    time: int = 0
    """When the file was read or written, in ns."""

    def is_current(self, path: Path) -> bool:
        """Whether a file still has this content; a missing file has no content that could be lost.

        Content is compared only if the file could have changed: if its identity has, or if it was new when it was
        read, so that the clock of the file system might not have advanced since.
        """
        try:
            status = path.stat()
        except FileNotFoundError:
            return True
        is_same = self.identity == file_identity(status) and status.st_mtime_ns + _CLOCK_TICK < self.time
        return is_same or has_content(path, self.data)


def file_status(path: str | os.PathLike[str]) -> tuple[tuple[int, ...], int]:
    """The identity of a file, and the time now: for the version of content that is read afterwards."""
    try:
        return file_identity(os.stat(path)), time.time_ns()
    except (OSError, ValueError):
        return (), 0


def file_identity(status: os.stat_result) -> tuple[int, ...]:
    """What changes if a file is replaced or written."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
