"""Atomic writes: a file is written completely or not at all, and not over the changes of others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR, ENOENT
from pathlib import Path
from typing import BinaryIO

from exoskel.diagnostics import ExoskelError
from exoskel.source.file_access import has_content
from exoskel.source.file_lookup import NO_WORKING_FOLDER, lower_first, working_folder_exists
from exoskel.source.temporary_files import lock, remove_abandoned, temporary_name

_PRIVATE = 0o600
_GROUP, _OTHERS = 0o070, 0o007


class WriteError(ExoskelError, OSError):
    """A file could not be written.  Its previous content is unchanged."""


class FileChangedError(WriteError):
    """Another program has changed the file since it was read.  It is left as it is."""


def write_atomically(path: Path, data: bytes, expected: bytes | None = None) -> int:
    """Replace or create a file; readers see the old content or the new one, never a part of it.

    Links are followed.  An existing file keeps its permissions and owner.  Its other names (hard links) keep the old
    content; their number is returned.  Read-only files, devices, pipes and sockets are not written.  Raises WriteError,
    and FileChangedError if the file exists and its content is not `expected`.
    """
    other_names = _other_names(path)
    with open_atomically(path, expected) as file:
        file.write(data)
    return other_names


@contextmanager
def open_atomically(path: Path, expected: bytes | None = None) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when the block ends, as `write_atomically` does."""
    try:
        target, before = _target(path)
        remove_abandoned(target.parent)
        temporary = target.with_name(temporary_name(target.name))
        try:
            with open(temporary, "xb", opener=_open_private if before else None) as file, _held_lock(file):
                if before is not None:
                    _copy_permissions(temporary, before)
                yield file
                file.flush()
                os.fsync(file.fileno())  # make sure that the data is on the disk
                file.close()
                if expected is not None and target.exists() and not has_content(target, expected):
                    raise FileChangedError(
                        f"cannot write {str(path)!r}: another program has changed the file since it was read; "
                        "load it again, or pass force=True to overwrite it"
                    )
                os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        if isinstance(error, ExoskelError):
            raise
        raise WriteError(f"cannot write {str(path)!r}: {_reason(path, error)}") from None


def make_folder(path: Path) -> None:
    """Create a folder and those above it, unless it exists.  Raises WriteError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise WriteError(f"cannot create the folder {str(path)!r}: {_reason(path / 'file', error)}") from None


def check_writable(path: Path) -> None:
    """Raise WriteError if a path cannot be that of a file: a check before a long run."""
    if path.is_dir():
        raise WriteError(f"cannot write {str(path)!r}: it is a folder")
    if not path.parent.is_dir():
        error = FileNotFoundError(ENOENT, os.strerror(ENOENT))
        raise WriteError(f"cannot write {str(path)!r}: {_reason(path, error)}")


def _reason(path: Path, error: OSError | ValueError) -> str:
    """Why a file cannot be written; a problem with its folders is stated in our own words."""
    if isinstance(error, FileNotFoundError | NotADirectoryError | FileExistsError):
        obstacle = next((one for one in path.parents if one.exists() and not one.is_dir()), None)
        if obstacle is not None:
            return f"{str(obstacle)!r} is not a folder"
        if not path.is_absolute() and not working_folder_exists():
            return NO_WORKING_FOLDER
        if isinstance(error, FileNotFoundError):
            return "new files are not allowed there" if path.parent.is_dir() else "the folder does not exist"
    return lower_first(getattr(error, "strerror", None) or str(error))


def _open_private(name: str, flags: int) -> int:
    """Create a file that others cannot read; it replaces one that they may not be allowed to read."""
    return os.open(name, flags, _PRIVATE)


@contextmanager
def _held_lock(file: BinaryIO) -> Iterator[None]:
    """Hold a lock on a file that is open, even after it is closed inside the block."""
    descriptor = os.dup(file.fileno())
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _other_names(path: Path) -> int:
    """The number of other names (hard links) of a file."""
    try:
        return max(0, os.stat(path).st_nlink - 1)
    except (OSError, ValueError):
        return 0


def _target(path: Path) -> tuple[Path, os.stat_result | None]:
    """The file that a path leads to with all links resolved, and its status if it exists.

    Only regular files are replaced: otherwise root could replace `/dev/null` by a file.
    """
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # an invalid name
        raise OSError(0, str(error)) from None
    try:
        found = target.stat()
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "it is a device, a pipe or a socket, not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(0, "the file is read-only")
    return target, found


def _copy_permissions(path: Path, before: os.stat_result) -> None:
    """Give a new file the permissions of the old one, and its owner and group if the system allows it.

    In another group, the permissions for a group are those for all others: they were not meant for it.
    """
    mode = stat.S_IMODE(before.st_mode)
    if hasattr(os, "chown"):
        for owner in (before.st_uid, -1):
            with suppress(PermissionError):
                os.chown(path, owner, before.st_gid)
                break
        if os.stat(path).st_gid != before.st_gid:
            mode = mode & ~_GROUP | (mode & _OTHERS) << 3
    os.chmod(path, mode)
