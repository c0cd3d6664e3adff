"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from exoskel.diagnostics import ExoskelError


class WriteError(ExoskelError, OSError):
    """A file could not be written.  What stood there before still stands there."""


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` in the place of a file, or make it; a reader sees the old content or the new, never half.

    A link is followed to the file it names.  The permissions of a file that is there are kept, and one that
    must not be written is left alone.  Raises WriteError.
    """
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file to write to, which takes the place of `path` when all is written, as `write_atomically` has it."""
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        if mode is not None and not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is read-only")
        try:
            with open(beside, "xb") as file:
                if mode is not None:
                    os.chmod(beside, mode)
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
