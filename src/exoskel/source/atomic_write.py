"""Atomic writes: a file is written completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR
from pathlib import Path
from typing import BinaryIO

from exoskel.diagnostics import ExoskelError


class WriteError(ExoskelError, OSError):
    """A file could not be written.  Its previous content is unchanged."""


def write_atomically(path: Path, data: bytes) -> None:
    """Replace or create a file; readers see the old content or the new one, never a part of it.

    Links are followed.  An existing file keeps its permissions and owner.  Read-only files, devices, pipes and
    sockets are not written.  Raises WriteError.
    """
    with open_atomically(path) as file:
        file.write(data)


@contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when the block ends, as `write_atomically` does."""
    try:
        target, before = _target(path)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
        try:
            with open(temporary, "xb") as file:
                if before is not None:
                    _copy_permissions(temporary, before)
                yield file
                file.flush()
                os.fsync(file.fileno())  # make sure that the data is on the disk
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        if isinstance(error, ExoskelError):
            raise
        reason = error.strerror or str(error)
        raise WriteError(f"cannot write {str(path)!r}: {reason[:1].lower()}{reason[1:]}") from None


def _target(path: Path) -> tuple[Path, os.stat_result | None]:
    """The file that a path leads to with all links resolved, and its status if it exists.

    Only regular files are replaced: otherwise root could replace `/dev/null` by a file.
    """
    try:
        target = Path(os.path.realpath(path))
        found = target.stat()
    except FileNotFoundError:
        return target, None
    except ValueError as error:  # an invalid name
        raise OSError(0, str(error)) from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "it is a device, a pipe or a socket, not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(0, "the file is read-only")
    return target, found


def _copy_permissions(path: Path, before: os.stat_result) -> None:
    """Give a new file the permissions of the old one, and its owner if the system allows it."""
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(path, before.st_uid, before.st_gid)
    os.chmod(path, stat.S_IMODE(before.st_mode))
