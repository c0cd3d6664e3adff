"""Writing a file whole or not at all."""

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
    """A file could not be written.  What stood there before still stands there."""


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` in the place of a file, or make it; a reader sees the old content or the new, never half.

    A link is followed to the file it names.  The permissions and the owner of a file that is there are kept, and
    one that must not be written is left alone, as is a device, a pipe or a socket.  Raises WriteError.
    """
    with open_atomically(path) as file:
        file.write(data)


@contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """A new file to write to, which takes the place of `path` when all is written, as `write_atomically` has it."""
    try:
        target, before = _target(path)
        beside = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
        try:
            with open(beside, "xb") as file:
                if before is not None:
                    _resemble(beside, before)
                yield file
                file.flush()
                os.fsync(file.fileno())  # on the disk, and not only on its way there
            os.replace(beside, target)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise
    except OSError as error:
        if isinstance(error, ExoskelError):
            raise
        reason = error.strerror or str(error)
        raise WriteError(f"cannot write {str(path)!r}: {reason[:1].lower()}{reason[1:]}") from None


def _target(path: Path) -> tuple[Path, os.stat_result | None]:
    """The file that a path names, all links followed, and what is known of it if it is there.

    What is no file is never replaced: whoever may do anything would put a file in the place of `/dev/null`.
    """
    try:
        target = Path(os.path.realpath(path))
        found = target.stat()
    except FileNotFoundError:
        return target, None
    except ValueError as error:  # a name that no file can have
        raise OSError(0, str(error)) from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "it is a device, a pipe or a socket, not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(0, "the file is read-only")
    return target, found


def _resemble(path: Path, before: os.stat_result) -> None:
    """Give a new file the permissions of the old one, and its owner where the system lets us."""
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(path, before.st_uid, before.st_gid)
    os.chmod(path, stat.S_IMODE(before.st_mode))
