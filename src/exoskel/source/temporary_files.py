"""Temporary files and folders that do not stay behind, even if their process is killed.

A process holds a lock on each of its temporary files and folders.  The system releases the lock when the process ends,
however it ends, and the next process removes what is no longer locked.  Systems without these locks remove nothing.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path

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
    return f".{name[:_SHOWN]}{_PREFIX}{secrets.token_hex(4)}{_SUFFIX}"


class TemporaryFolder:
    """A folder that is removed when this object is no longer used, or when its `with` block ends."""

    def __init__(self, parent: str | None = None) -> None:
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
    remove_abandoned(Path(tempfile.gettempdir()))


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else -1


def _remove_if_abandoned(path: str) -> None:
    """Remove a file or folder that is not locked; raises OSError."""
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
