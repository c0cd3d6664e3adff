"""Scene files in folders: found by their extensions, without files that git ignores or that the user excludes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from exoskel.diagnostics import SourceError
from exoskel.formats import registry
from exoskel.source import root_check
from exoskel.source.file_lookup import NO_WORKING_FOLDER, working_folder_exists

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_HEAD_BYTES = 65536
_IGNORE_FILE = ".gitignore"


class Excluded:
    """The files to skip: those that match patterns in the form of `.gitignore`, relative to `root`.

    With `gitignore`, `.gitignore` files count too, in the folder that is searched, below and above it up to the
    root of the repository.  Hidden folders are skipped as well.
    """

    def __init__(self, patterns: Sequence[str] = (), root: Path | None = None, *, gitignore: bool = True) -> None:
        self.patterns = tuple(patterns)
        own = Path.cwd() if working_folder_exists() else Path(os.sep)
        self.root = Path(os.path.abspath(root or own))
        self.gitignore = gitignore
        self._specs: dict[Path, GitIgnoreSpec | None] = {}

    @cached_property
    def _excluded(self) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec

        return GitIgnoreSpec.from_lines(self.patterns)

    def __contains__(self, path: Path) -> bool:
        return self.matches(path)

    def matches(self, path: Path, *, is_folder: bool = False) -> bool:
        """Whether a file or folder is skipped; the content of a skipped folder is not checked."""
        absolute = Path(os.path.abspath(path))
        if self.patterns and self._excluded.match_file(_relative(absolute, self.root, is_folder)):
            return True
        if not self.gitignore:
            return False
        return (is_folder and path.name.startswith(".")) or self._is_ignored(absolute, is_folder)

    def _is_ignored(self, path: Path, is_folder: bool) -> bool:
        """Whether git ignores a path: the nearest `.gitignore` file with a pattern for it decides."""
        for folder in path.parents:
            spec = self._spec(folder)
            found = spec.check_file(_relative(path, folder, is_folder)).include if spec is not None else None
            if found is not None:
                return found
            if (folder / ".git").exists():
                return False
        return False

    def _spec(self, folder: Path) -> GitIgnoreSpec | None:
        if folder not in self._specs:
            from pathspec import GitIgnoreSpec

            try:
                lines = (folder / _IGNORE_FILE).read_text("utf-8", "replace").splitlines()
            except OSError:
                lines = []
            self._specs[folder] = GitIgnoreSpec.from_lines(lines) if lines else None
        return self._specs[folder]


def _relative(path: Path, folder: Path, is_folder: bool) -> str:
    """The path from a folder in the form that patterns match; a slash at its end marks a folder."""
    return Path(os.path.relpath(path, folder)).as_posix() + ("/" if is_folder else "")


def scene_files(folder: Path, excluded: Excluded | None = None) -> list[Path]:
    """All scene files below a folder, sorted by name.  Raises SourceError if the folder does not exist."""
    if not folder.is_absolute() and not working_folder_exists():
        raise SourceError(f"cannot read {str(folder)!r}: {NO_WORKING_FOLDER}")
    extensions = {extension for one in registry.READABLE if not one.is_mesh for extension in one.extensions}
    found = [path for path in _walk(folder, excluded) if path.suffix.lower() in extensions and path.is_file()]
    return sorted(path for path in found if (excluded is None or path not in excluded) and _is_scene(path))


def _walk(folder: Path, excluded: Excluded | None) -> Iterator[Path]:
    """All files below a folder.  Unlike `rglob`, this skips folders that vanish."""
    for parent, folders, names in os.walk(folder):
        if excluded is not None:
            folders[:] = [name for name in folders if not excluded.matches(Path(parent, name), is_folder=True)]
        yield from (Path(parent, name) for name in names)


def _is_scene(path: Path) -> bool:
    """Whether a file is a scene; checks the root element if other files have the same extension."""
    if path.suffix.lower() not in registry.SHARED_EXTENSIONS:
        return True
    try:
        with path.open("rb") as file:
            root = root_check.root_tag(file.read(_HEAD_BYTES)).rpartition(":")[2]
    except OSError:
        return False
    return any(root in one.roots for one in registry.READABLE)
