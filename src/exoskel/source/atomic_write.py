"""Atomic writes: a file is written completely or not at all, and not over the changes of others.

Temporary files and folders do not stay behind, even if their process is killed.  A process holds a lock on each of
them.  The system releases the lock when the process ends, however it ends, and the next process removes what is no
longer locked.  Systems without these locks remove nothing.
"""

from __future__ import annotations

import os
import re
import stat
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from errno import EISDIR, ENOENT
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO

from exoskel.diagnostics import ExoskelError
from exoskel.source.file_access import has_content
from exoskel.source.file_lookup import NO_WORKING_FOLDER, lower_first, working_folder_exists

_PREFIX, _SUFFIX = ".exoskel-", ".tmp"
_NAME = re.compile(r"(\..*)?\.exoskel-[a-z0-9_]{8}\.tmp", re.DOTALL)
_SHOWN = 40
"""Characters of a name that its temporary file repeats: names have at most 255 bytes."""
_SECONDS = 2.0
"""The least age of what is removed: a process needs a moment to lock what it has created."""


def lock(descriptor: int) -> bool:
    """Lock an open file or folder until all its descriptors are closed; returns False if others hold the lock."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def temporary_name(name: str) -> str:
    """A new name for a temporary file that will replace another one."""
    import secrets

    return f".{name[:_SHOWN]}{_PREFIX}{secrets.token_hex(4)}{_SUFFIX}"


class TemporaryFolder:
    """A folder that is removed when this object is no longer used, or when its `with` block ends."""

    def __init__(self, parent: str | None = None) -> None:
        import tempfile

        remove_abandoned(Path(parent or tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(_SUFFIX, _PREFIX, parent))
        self.close = weakref.finalize(self, _remove_folder, self.path, _open_locked(self.path))

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


def _open_locked(folder: Path) -> int:
    """The descriptor of a folder that is locked; -1 on systems that do not open folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return -1
    lock(descriptor)
    return descriptor


def _remove_folder(path: Path, descriptor: int) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)
    if descriptor >= 0:
        os.close(descriptor)


@cache
def remove_abandoned(folder: Path) -> None:
    """Remove temporary files and folders that killed processes of this user left in a folder; once per process."""
    try:
        found = [entry.path for entry in os.scandir(folder) if _PREFIX in entry.name and _NAME.fullmatch(entry.name)]
    except OSError:
        return
    for path in found:
        with suppress(OSError):
            _remove_if_abandoned(path)


def remove_abandoned_folders() -> None:
    """Remove temporary folders that killed processes of this user left in the system's folder for them."""
    remove_abandoned(Path(_temporary_root()))


def _temporary_root() -> str:
    """The system's folder for temporary files, without a trial file in it, which `tempfile` writes to find it."""
    named = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    root = next(filter(None, named), "/tmp")
    if os.path.isdir(root):
        return root
    import tempfile

    return tempfile.gettempdir()


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else -1


def _remove_if_abandoned(path: str) -> None:
    """Remove a file or folder that is not locked; raises OSError."""
    import shutil

    status = os.lstat(path)
    is_folder, is_file = stat.S_ISDIR(status.st_mode), stat.S_ISREG(status.st_mode)
    if status.st_uid != _user() or not (is_folder or is_file) or time.time() - status.st_mtime < _SECONDS:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        if not lock(descriptor):
            return
        if is_folder:
            shutil.rmtree(path)
        else:
            os.unlink(path)
    finally:
        os.close(descriptor)


_PRIVATE, _PUBLIC = 0o600, 0o666
_GROUP, _OTHERS = 0o070, 0o007
_ATTEMPTS, _PAUSE = 400, 0.005
"""How often a lock is tried, and the seconds between two attempts."""


class WriteError(ExoskelError, OSError):
    """A file could not be written.  Its previous content is unchanged."""


class FileChangedError(WriteError):
    """Another program has changed the file since it was read.  It is left as it is."""


def write_atomically(path: Path, data: bytes, expected: bytes | None = None, *, sources: Iterable[Path] = ()) -> int:
    """Replace or create a file; readers see the old content or the new one, never a part of it.

    Links are followed.  An existing file keeps its permissions and owner.  Its other names (hard links) keep the old
    content; their number is returned.  A new file cannot be read by users who cannot read all of its `sources`.
    Read-only files, devices, pipes and sockets are not written.  Raises WriteError, and FileChangedError if the file
    exists and its content is not `expected`.
    """
    other_names = _other_names(path)
    with open_atomically(path, expected, sources=sources) as file:
        file.write(data)
    return other_names


_SOURCES: ContextVar[tuple[Path, ...]] = ContextVar("sources", default=())


@contextmanager
def new_files_made_from(sources: Iterable[Path]) -> Iterator[None]:
    """Keep new files in the block from users who cannot read all of the sources, or those added meanwhile."""
    token = _SOURCES.set((*_SOURCES.get(), *sources))
    try:
        yield
    finally:
        _SOURCES.reset(token)


def add_sources(sources: Iterable[Path]) -> None:
    """Add sources of new files, to the end of the block of `new_files_made_from`."""
    _SOURCES.set((*_SOURCES.get(), *sources))


@contextmanager
def open_atomically(path: Path, expected: bytes | None = None, *, sources: Iterable[Path] = ()) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when the block ends, as `write_atomically` does."""
    try:
        target, before = _target(path)
        remove_abandoned(target.parent)
        temporary = target.with_name(temporary_name(target.name))
        try:
            mode = _PRIVATE if before is not None else _mode_of_copy(target.parent, (*sources, *_SOURCES.get()))
            with open(temporary, "xb", opener=partial(os.open, mode=mode)) as file, _held_lock(file):
                if before is not None:
                    _copy_permissions(temporary, before)
                yield file
                file.flush()
                os.fsync(file.fileno())  # make sure that the data is on the disk
                file.close()
                with _locked(target) if expected is not None else nullcontext():
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


def _mode_of_copy(folder: Path, sources: Iterable[Path]) -> int:
    """The permissions of a new file, before those that the system removes from all new files (umask).

    Its owner may read and write it.  Others may do what they may do with all sources that exist.
    """
    mode = _PUBLIC
    for source in sources:
        with suppress(OSError, ValueError):
            found = os.stat(source)
            mode &= _PRIVATE | _in_group(stat.S_IMODE(found.st_mode), found.st_gid == _group_of_new_files(folder))
    return mode


def _group_of_new_files(folder: Path) -> int:
    """The group of files that are created in a folder."""
    found = os.stat(folder)
    is_inherited = bool(found.st_mode & stat.S_ISGID) or not hasattr(os, "getegid")
    return found.st_gid if is_inherited else os.getegid()


def _in_group(mode: int, is_same: bool) -> int:
    """Permissions of a file in its group, or in another one: there, those for a group are those for all others.

    They were not meant for that group.
    """
    return mode if is_same else mode & ~_GROUP | (mode & _OTHERS) << 3


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Lock a file while it is compared and replaced: of several processes that read it, only one replaces it."""
    try:
        descriptor = os.open(target, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:  # it does not exist any more
        yield
        return
    try:
        _wait_for_lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int) -> None:
    """Wait until no other process holds the lock of a file, but not forever: other programs may lock it as well."""
    try:
        import fcntl
    except ImportError:
        return
    for _ in range(_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        except OSError:  # the file system has no locks
            return
        else:
            return


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
    """Give a new file the permissions of the old one, and its owner and group if the system allows it."""
    mode = stat.S_IMODE(before.st_mode)
    if hasattr(os, "chown"):
        for owner in (before.st_uid, -1):
            with suppress(PermissionError):
                os.chown(path, owner, before.st_gid)
                break
        mode = _in_group(mode, os.stat(path).st_gid == before.st_gid)
    os.chmod(path, mode)
