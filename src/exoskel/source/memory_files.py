"""Files that a program passes as bytes, such as the assets of a `mujoco.MjSpec`.

Their content is in a temporary folder until the process ends, so that they are read like other files.  Documents that
refer to them get copies, because other programs could not find them.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from exoskel.source.atomic_write import TemporaryFolder
from exoskel.source.file_lookup import Resolver

_UNUSUAL = re.compile(r"[^\w. +-]")
_LONGEST_NAME = 100


class MemoryFiles:
    """A resolver of references to files by their names, as MuJoCo finds its assets.

    A reference leads to the file with its path, or else with its last part, in upper or lower case.  `resolver` is
    asked before.
    """

    def __init__(self, files: Mapping[str, bytes | str], resolver: Resolver | None = None) -> None:
        self._resolver = resolver
        self._paths: dict[str, Path] = {}
        self._last_parts: dict[str, Path] = {}
        for name, content in files.items():
            path = _stored(name, content.encode() if isinstance(content, str) else bytes(content))
            self._paths[_normalized(name)] = path
            self._last_parts.setdefault(posixpath.basename(_normalized(name)), path)

    def __call__(self, reference: str) -> str | os.PathLike[str] | None:
        given = self._resolver(reference) if self._resolver is not None else None
        if given is not None:
            return given
        name = _normalized(reference)
        return self._paths.get(name) or self._last_parts.get(posixpath.basename(name))


def is_in_memory(path: str | os.PathLike[str]) -> bool:
    """Whether the file at a path was passed as bytes."""
    return _folder.cache_info().currsize > 0 and Path(path).is_relative_to(_folder().path)


def _normalized(name: str) -> str:
    return posixpath.normpath(name.strip().replace("\\", "/")).lower()


@cache
def _folder() -> TemporaryFolder:
    return TemporaryFolder()


def _stored(name: str, content: bytes) -> Path:
    """A file with this content, which is stored once, in a folder of its own so that it keeps its name."""
    import hashlib  # it is slow to load

    folder = _folder().path.resolve() / hashlib.blake2b(content, digest_size=16).hexdigest()
    stem, extension = os.path.splitext(_UNUSUAL.sub("_", posixpath.basename(name.replace("\\", "/"))))
    path = folder / f"{stem[:_LONGEST_NAME].strip('. ') or 'file'}{extension[:_LONGEST_NAME]}"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        path.write_bytes(content)
    return path
