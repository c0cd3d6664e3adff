"""Noticing that files were saved."""

from __future__ import annotations

import os
from collections.abc import Iterable

from exoskel.scene.shape import Mesh
from exoskel.scene.world import Scene

EVERY = 0.1
"""Seconds between two looks: asking is cheaper than any service that tells, and works on every file system."""
_MOMENT = 10
"""So many looks a file may be away while it is saved."""
Stamp = tuple[int, int, int]


class FileWatch:
    """Some files, and what they were like when last looked at."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._stamps = {path: _stamp(path) for path in paths}
        self._missed: dict[str, int] = {}

    def changed(self) -> bool:
        """Whether a file is another one since the last call.  One that is gone for a moment is being saved."""
        found = False
        for path, before in self._stamps.items():
            now = _stamp(path)
            if now is not None and (now != before or self._is_gone(path)):
                self._stamps[path] = now
                found = True
        return found

    def gone(self) -> list[str]:
        """The files that were there before, and are not for more than a moment."""
        lost = [path for path, before in self._stamps.items() if before is not None and _stamp(path) is None]
        self._missed = {path: self._missed.get(path, 0) + 1 for path in lost}
        return [path for path in lost if self._is_gone(path)]

    def _is_gone(self, path: str) -> bool:
        return self._missed.get(path, 0) > _MOMENT

    def follow(self, paths: Iterable[str]) -> None:
        """Watch these from now on; what is known about those that stay is kept."""
        self._stamps = {path: self._stamps.get(path) or _stamp(path) for path in paths}


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def files_of(scene: Scene) -> list[str]:
    """The files that a scene shows something of: those it was read from, and its meshes, even if they are missing."""
    paths: dict[str, None] = {}
    homes: list[str] = []
    for document in scene.documents:
        path = getattr(getattr(document, "location", None), "path", "")
        if path:
            homes.append(os.path.dirname(path))
            paths |= dict.fromkeys([path, *getattr(document, "included", ())])
    for world in scene.worlds:
        for body in world.bodies():
            for shape in body.shapes:
                if isinstance(shape.geometry, Mesh):
                    paths |= dict.fromkeys(_places(shape.geometry, homes))
    return list(paths)


def _places(mesh: Mesh, homes: list[str]) -> list[str]:
    """Where a mesh is, or would be if it were there: beside what refers to it."""
    if mesh.path:
        return [mesh.path]
    return [] if ":" in mesh.uri else [os.path.join(home, mesh.uri) for home in homes]
