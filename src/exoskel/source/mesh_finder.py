"""Mesh files behind the references that a document carries along."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from exoskel.scene.shape import Bounds, Mesh
from exoskel.source import file_lookup, meshes
from exoskel.source.limits import Limits
from exoskel.source.location import Location, SearchPaths
from exoskel.source.meshes import MeshError


class MeshFinder:
    """Looks for files as the reader of the document does, and reads each once."""

    def __init__(self, location: Location, paths: SearchPaths, limits: Limits) -> None:
        self._location = location
        self._paths = paths
        self._limits = limits
        self._extents: dict[Path, Bounds | None] = {}

    def found(self, mesh: Mesh) -> Mesh:
        """The mesh with where its file is and how large, whatever it says of these itself."""
        path = file_lookup.find_file(mesh.uri, self._location, self._paths).path
        if path is None:
            return structs.replace(mesh, path=None, extent=None)
        if path not in self._extents:
            try:
                self._extents[path] = meshes.mesh_extent(path, self._limits)
            except MeshError:
                self._extents[path] = None
        return structs.replace(mesh, path=str(path), extent=self._extents[path])
