"""Opening files: what a document names is opened here and nowhere else.

A file that a document names must be a regular file, and inside the confinement if there is one.  Both are checked on
the file that was opened, so that a link or a file that changes in the meantime has no effect.
"""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from errno import EISDIR, ELOOP, ENOTDIR
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from exoskel.source.contained_files import read_contained, split_path

_CHUNK = 2**20
_MOST_COMPARED = 2**30
"""How much of a file in another one is compared, in bytes."""
_SECONDS = 30.0
"""The longest wait for bytes, in s."""
_SLOWEST = 2**18
"""The slowest rate that is accepted on top of that, in bytes per second."""
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
"""Opening a pipe must not wait for a writer; regular files ignore O_NONBLOCK."""
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_OUTSIDE = "it is outside the folder of the document"


def read_referenced(path: str | os.PathLike[str], most: int, within: Path | None = None) -> bytes:
    """The content of a file that a document names, or its first `most` + 1 bytes: the caller can tell it is larger.

    It must be a regular file, or in an archive of USDZ or a glTF file.  With `within`, the file must be in that folder,
    with all links resolved.  Raises OSError.
    """
    whole = os.fspath(path)
    place, member = split_path(whole)
    with open_referenced(place, within) as file:
        if not member:
            return _read(file, most)
        folder = Path(place).parent
        return read_contained(file, whole, most, lambda name, size: _read_beside(folder / name, size, within or folder))


def _read_beside(path: Path, most: int, within: Path) -> bytes:
    """The content of a file, which is not in another one, or its first `most` + 1 bytes."""
    with open_referenced(path, within) as file:
        return _read(file, most)


@contextmanager
def open_referenced(path: str | os.PathLike[str], within: Path | None = None) -> Iterator[BinaryIO]:
    """Open a file as `read_referenced` does."""
    number = os.open(path, _READ) if within is None else _open_inside(within, path)
    with open(number, "rb") as file:
        mode = os.fstat(number).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(0, "it is a device, a pipe or a socket, not a file")
        yield file


def read_source(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a file that the user names, up to `most` + 1 bytes; it may be a pipe or a device.

    Raises OSError, also if a pipe stays silent.
    """
    number = os.open(path, _READ)
    try:
        status = os.fstat(number)
        mode, size = status.st_mode, status.st_size
        if stat.S_ISREG(mode) and 0 < size <= min(most, _CHUNK):
            data = os.read(number, size + 1)
            if len(data) == size:  # one more byte was asked for: the file has ended
                return data
            os.lseek(number, 0, os.SEEK_SET)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        with open(number, "rb", buffering=0, closefd=False) as file:
            return _read(file, most, waits=stat.S_ISFIFO(mode))
    finally:
        os.close(number)


def _read(file: BinaryIO, most: int, waits: bool = False) -> bytes:
    """Read up to `most` + 1 bytes.

    Devices and virtual files report a size of zero but may have any number of bytes, so memory is allocated as the
    bytes arrive.
    """
    size = os.fstat(file.fileno()).st_size
    start = monotonic()
    parts: list[bytes] = []
    received = 0
    while received <= most:
        if waits and not select.select([file], [], [], _SECONDS)[0]:
            raise TimeoutError(0, f"no data arrived within {_SECONDS:g} s")
        # Of a file with a known size, one more byte shows that it has ended, without memory for another chunk.
        wanted = size + 1 - received if received <= size and size else _CHUNK
        part: bytes | None = file.read(min(wanted, most + 1 - received))
        if part is None and not waits:  # a file of the system that has no data yet
            raise TimeoutError(0, "it has no data yet")
        if part == b"":
            break
        parts.append(part or b"")
        received += len(parts[-1])
        if monotonic() - start > _SECONDS + received / _SLOWEST:
            raise TimeoutError(0, f"it was read too slowly: {received} bytes in {monotonic() - start:.0f} s")
    return parts[0] if len(parts) == 1 else b"".join(parts)


# --- confinement --------------------------------------------------------------------------------------


def paths_inside(folder: Path, paths: Iterable[str]) -> set[str]:
    """The paths that are in the tree under `folder`, with all links resolved."""
    root = _resolved(folder)
    if root is None:
        return set()
    home = os.fspath(folder)
    return {path for path in paths if _is_below(home, path) or _is_resolved_inside(root, path)}


def _is_below(home: str, path: str) -> bool:
    """Whether a path continues that of a folder, without links: quick, for documents that name thousands of files."""
    if not path.startswith(home + os.sep) or "\0" in path:
        return False
    parts = path[len(home) + 1 :].split(os.sep)
    if not all(parts) or os.pardir in parts:
        return False
    for part in parts:
        home = f"{home}{os.sep}{part}"
        try:
            if stat.S_ISLNK(os.lstat(home).st_mode):
                return False
        except FileNotFoundError:
            return True
        except (OSError, ValueError):
            return False
    return True


def _is_resolved_inside(root: Path, path: str) -> bool:
    place = _resolved(path)
    return place is not None and place.is_relative_to(root)


def _resolved(path: str | Path) -> Path | None:
    """A path with all links resolved; None for circular links and invalid names."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _open_inside(folder: Path, path: str | os.PathLike[str]) -> int:
    """Open a file in the tree under `folder`; returns the number of the open file.

    Links are resolved first, and the result is opened folder by folder without following links: a link that is
    created in between is an error.
    """
    root, target = os.path.realpath(folder), os.path.realpath(path)
    try:
        parts = Path(target).relative_to(root).parts
    except ValueError:
        raise PermissionError(0, _OUTSIDE) from None
    if os.open not in os.supports_dir_fd:
        return _open_and_compare(root, target)
    try:
        current = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            flags = _READ | getattr(os, "O_NOFOLLOW", 0) if is_last else os.O_RDONLY | _FOLDER
            try:
                inner = os.open(part, flags, dir_fd=current)
            finally:
                os.close(current)
            current = inner
    except OSError as error:
        if error.errno in (ELOOP, ENOTDIR):  # what was a folder or a file a moment ago is now a link
            raise PermissionError(0, _OUTSIDE) from None
        raise
    return current


def _open_and_compare(root: str, target: str) -> int:
    """Open a file, and make sure afterwards that it is the one at this place inside the folder."""
    number = os.open(target, _READ)
    try:
        after = os.path.realpath(target)
        if not Path(after).is_relative_to(root) or not os.path.samestat(os.fstat(number), os.stat(after)):
            raise PermissionError(0, _OUTSIDE)
    except OSError:
        os.close(number)
        raise
    return number


# --- comparing ----------------------------------------------------------------------------------------


def has_content(path: Path, data: bytes) -> bool:
    """Whether a file exists and has exactly this content."""
    try:
        return read_referenced(path, len(data)) == data
    except OSError:
        return False


def is_same_content(one: str, other: str) -> bool:
    """Whether two files have the same content; False if one cannot be read."""
    from filecmp import cmp

    try:
        if split_path(one)[1] or split_path(other)[1]:
            return read_referenced(one, _MOST_COMPARED) == read_referenced(other, _MOST_COMPARED)
        return cmp(one, other, shallow=False)
    except OSError:
        return False


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, also where the file system does not distinguish upper and lower case."""
    first, second = one.resolve(), other.resolve()
    if first == second:
        return True
    try:
        return case_key(first) == case_key(second) and first.samefile(second)
    except OSError:
        return False


def case_key(path: Path) -> str:
    """What paths that differ only in upper and lower case have in common."""
    return path.as_posix().casefold()
