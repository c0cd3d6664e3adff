"""Noticing that files were saved."""

from __future__ import annotations

import os
from collections.abc import Iterable

from exoskel.scene.shape import Mesh
from exoskel.scene.world import Scene

EVERY = 0.1
"""Seconds between two looks: asking is cheaper than any service that tells, and works on every file system."""
Stamp = tuple[int, int, int]


class Watch:
    """Some files, and what they were like when last looked at."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._stamps = {path: _stamp(path) for path in paths}

    def changed(self) -> bool:
        """Whether a file is another one since the last call.  One that is gone for a moment is being saved."""
        found = False
        for path, before in self._stamps.items():
            now = _stamp(path)
            if now is not None and now != before:
                self._stamps[path] = now
                found = True
        return found

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
    """The files that a scene shows something of: those it was read from, and its meshes."""
    paths: dict[str, None] = {}
    for document in scene.documents:
        path = getattr(getattr(document, "location", None), "path", "")
        if path:
            paths[path] = None
    for world in scene.worlds:
        for body in world.bodies():
            for shape in body.shapes:
                if isinstance(shape.geometry, Mesh) and shape.geometry.path:
                    paths[shape.geometry.path] = None
    return list(paths)
