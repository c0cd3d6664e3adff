"""Live reload: detects that files were saved, and decides whether the new scene replaces the one on the page."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from exoskel.diagnostics import Diagnostic, ExoskelError, Severity, printable
from exoskel.scene.shape import Mesh
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document

INTERVAL = 0.1
"""Seconds between two checks: polling is cheap and works on every file system."""
_GRACE_CHECKS = 10
"""A file may be missing for this many checks while an editor saves it."""
Stamp = tuple[int, int, int]


class BrokenFileError(ExoskelError):
    """A file whose scene cannot replace the one on the page; `diagnostics` has the reasons."""

    def __init__(self, message: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(message)
        self.diagnostics: list[Diagnostic] = diagnostics


# --- watching files -----------------------------------------------------------------------------------


class FileWatch:
    """A set of files with their modification time, size and inode at the last check."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._stamps = {path: _stamp(path) for path in paths}
        self._missing_checks: dict[str, int] = {}

    def changed(self) -> bool:
        """Whether a file has changed since the last call; a file that is briefly missing is being saved."""
        has_changed = False
        for path, before in self._stamps.items():
            now = _stamp(path)
            if now is not None and (now != before or self._is_deleted(path)):
                self._stamps[path] = now
                has_changed = True
        return has_changed

    def deleted(self) -> list[str]:
        """The files that existed and have been missing for longer than a save takes."""
        missing = [path for path, before in self._stamps.items() if before is not None and _stamp(path) is None]
        self._missing_checks = {path: self._missing_checks.get(path, 0) + 1 for path in missing}
        return [path for path in missing if self._is_deleted(path)]

    def _is_deleted(self, path: str) -> bool:
        return self._missing_checks.get(path, 0) > _GRACE_CHECKS

    def watch(self, paths: Iterable[str]) -> None:
        """Replace the set of files; files that stay keep their stamps."""
        self._stamps = {path: self._stamps.get(path) or _stamp(path) for path in paths}


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):  # a pipe in place of the file: reading it could wait forever
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def scene_title(scene: Scene, world: World) -> str:
    """The name of the file of a scene, or the name of its world if it was not read from a file."""
    documents = (one for one in scene.documents if isinstance(one, Document))
    paths = (one.location.path for one in documents)
    return printable(next((os.path.basename(path) for path in paths if path), world.name)) or "exoskel"


def watched_files(scene: Scene) -> list[str]:
    """The files that a scene depends on: its documents and its meshes, including missing meshes."""
    paths: dict[str, None] = {}
    folders: list[str] = []
    for document in scene.documents:
        if isinstance(document, Document) and document.location.path:
            folders.append(os.path.dirname(document.location.path))
            paths |= dict.fromkeys([document.location.path, *document.included])
    for world in scene.worlds:
        for body in world.bodies():
            for shape in body.shapes:
                if isinstance(shape.geometry, Mesh):
                    paths |= dict.fromkeys(_mesh_paths(shape.geometry, folders))
    return list(paths)


def _mesh_paths(mesh: Mesh, folders: list[str]) -> list[str]:
    """The path of a mesh, or the paths where a missing one is expected."""
    if mesh.path:
        return [mesh.path]
    return [] if ":" in mesh.uri else [os.path.join(folder, mesh.uri) for folder in folders]


# --- accepting a reloaded scene -----------------------------------------------------------------------


def scene_errors(scene: Scene) -> list[Diagnostic]:
    return [one for one in scene.diagnostics if one.severity is Severity.ERROR]


def is_regression(scene: Scene, world: World, old_scene: Scene, old_world: World) -> bool:
    """Whether an edit broke the file.

    It did if the old scene had no errors, or if a new error leaves fewer bodies or shapes than before.
    """
    errors, old_errors = scene_errors(scene), scene_errors(old_scene)
    if not errors or not old_errors:
        return bool(errors)
    known = {(one.code, one.message) for one in old_errors}
    has_new_error = any((one.code, one.message) not in known for one in errors)
    return has_new_error and not _has_as_much_content(world, old_world)


def _has_as_much_content(world: World, old_world: World) -> bool:
    return all(new >= old for new, old in zip(_content_counts(world), _content_counts(old_world), strict=True))


def _content_counts(world: World) -> tuple[int, int]:
    """The number of bodies and the number of shapes."""
    bodies = list(world.bodies())
    return len(bodies), sum(len(list(body.shapes)) for body in bodies)
