"""Mesh files: their extents and triangles.

Files that expand to far more than they contain are read in a child process with limits on time and memory.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
from msgspec import structs

from exoskel.diagnostics import printable
from exoskel.scene.shape import Bounds, Geometry, Mesh, TriMesh, kind_of
from exoskel.source import file_lookup, mesh_worker
from exoskel.source.child_process import ChildFailedError, ChildProcess
from exoskel.source.file_access import read_referenced
from exoskel.source.file_lookup import Location, SearchPaths
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.mesh_expansion import check_expansion
from exoskel.source.mesh_parsing import (
    FORMATS,
    ColoredTriangles,
    MeshError,
    Triangles,
    parse_extent,
    parse_triangles,
)
from exoskel.spatial import Array

__all__ = ["MeshError", "Triangles"]


T = TypeVar("T")


class ComplexMeshError(MeshError):
    """A mesh takes too much time or memory to read."""


def mesh_extent(
    path: Path, limits: Limits = DEFAULT_LIMITS, within: Path | None = None, *, is_patient: bool = True
) -> Bounds:
    """The corners of the bounding box of all triangles, in metres.

    The transforms and the unit of the file are applied, but not its up axis: as in DART.  With `within`, the file must
    be in that folder.  If `is_patient` is not set, files that may take long are refused.
    """
    return _extent(*_read(path, limits, within), is_patient)


def _extent(data: bytes, kind: str, is_patient: bool = True) -> Bounds:
    if check_expansion(data, kind):
        return parse_extent(data, kind)
    if not is_patient:
        raise ComplexMeshError("it is complex, and reading other meshes of the document took too long")
    return _ask(mesh_worker.EXTENT, data, kind, mesh_worker.receive_extent)


def load_triangles(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[Array, Triangles]:
    """All triangles of a file: vertices in metres, transformed as in `mesh_extent`, and vertex numbers."""
    vertices, faces, _ = load_colored_triangles(path, limits)
    return vertices, faces


def load_colored_triangles(path: Path, limits: Limits = DEFAULT_LIMITS, within: Path | None = None) -> ColoredTriangles:
    """All triangles of a file with the colours of the vertices, `(n, 4)` from 0 to 1, if the file has any.

    Faces with their own colours get their own vertices.
    """
    data, kind = _read(path, limits, within)
    if check_expansion(data, kind):
        return parse_triangles(data, kind)
    return _ask(mesh_worker.TRIANGLES, data, kind, mesh_worker.receive_triangles)


def read_mesh_file(path: Path, limits: Limits = DEFAULT_LIMITS, within: Path | None = None) -> bytes:
    """The bytes of a file; raises MeshError if it is not a mesh with triangles."""
    data, kind = _read(path, limits, within)
    _extent(data, kind)
    return data


def _read(path: Path, limits: Limits, within: Path | None) -> tuple[bytes, str]:
    """The content of a file, and its extension without the dot."""
    try:
        data = read_referenced(path, limits.mesh_bytes, within)
    except (OSError, ValueError) as error:
        raise MeshError((isinstance(error, OSError) and error.strerror) or str(error)) from None
    if len(data) > limits.mesh_bytes:
        raise MeshError(f"it exceeds the limit of {limits.mesh_bytes} bytes")
    kind = path.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        if kind in _READ_BY_ASSIMP:
            raise MeshError(f"'{kind}' is not supported; Assimp converts it")
        raise MeshError(f"'{printable(kind)}' files are not supported")
    return data, kind


_READ_BY_ASSIMP = frozenset({"3ds", "ac", "x3d", "gltf", "3mf", "blend"})
"""Extensions of meshes that DART reads through Assimp, and Exoskel does not read."""


def _ask(task: str, data: bytes, kind: str, receive: Callable[[IO[bytes]], T | None]) -> T:
    """Let a child process read a file."""
    child = ChildProcess(mesh_worker.__name__, mesh_worker.ENVIRONMENT)
    try:
        return child.request(mesh_worker.request(task, data, kind), receive, mesh_worker.wall_seconds(len(data)))
    except mesh_worker.TooMuchMemoryError as error:
        raise ComplexMeshError(str(error)) from None
    except ChildFailedError as error:
        raise ComplexMeshError(f"it is too complex: {error}") from None
    finally:
        child.close()


class MeshFiles:
    """Triangles of meshes in files and in the scene; each file is read once."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, within: Path | None = None) -> None:
        self._limits = limits
        self._within = within
        self._read: dict[str, ColoredTriangles | MeshError] = {}

    def triangles(self, geometry: Geometry) -> tuple[Array, Triangles] | None:
        """Scaled vertices and counter-clockwise faces; None if it is not a mesh or cannot be read."""
        try:
            vertices, faces, _ = self.colored_triangles(geometry)
        except MeshError:
            return None
        return vertices, faces

    def colored_triangles(self, geometry: Geometry) -> ColoredTriangles:
        """Scaled vertices, counter-clockwise faces and colours.  Raises MeshError with the reason if there are none."""
        match geometry:
            case TriMesh(vertices=vertices, triangles=faces):
                return vertices, faces, None
            case Mesh(path=str(path), scale=scale):
                vertices, faces, colors = self._file(path)
                # Mirroring reverses the orientation of triangles.
                return vertices * np.array(scale), faces[:, ::-1] if np.prod(scale) < 0.0 else faces, colors
            case Mesh(uri=uri):
                raise MeshError(f"the file '{printable(uri)}' was not found")
            case _:
                raise MeshError(f"a {kind_of(geometry)} is not a mesh")

    def _file(self, path: str) -> ColoredTriangles:
        if path not in self._read:
            try:
                self._read[path] = load_colored_triangles(Path(path), self._limits, self._within)
            except MeshError as error:
                self._read[path] = error
        found = self._read[path]
        if isinstance(found, MeshError):
            raise found
        return found


SINGLE_PRECISION = 1e-6
"""Relative error of a number in single precision, with what it is computed from."""


def single_precision(bounds: Bounds) -> Bounds:
    """The corners as in DART's importer, which stores vertices in single precision."""
    (x0, y0, z0), (x1, y1, z1) = np.array(bounds, dtype=np.float32).tolist()
    return ((x0, y0, z0), (x1, y1, z1))


class MeshExtents:
    """The extents of the mesh files of a document; each file is read once."""

    def __init__(self, limits: Limits, within: Path | None = None) -> None:
        self._limits = limits
        self._within = within
        self._extents: dict[str, Bounds | str] = {}
        self._is_patient = True

    def find(self, path: str) -> Bounds | str:
        """The extent of a mesh file, or the reason why it cannot be read."""
        if path not in self._extents:
            try:
                self._extents[path] = mesh_extent(Path(path), self._limits, self._within, is_patient=self._is_patient)
            except MeshError as error:
                self._is_patient = self._is_patient and not isinstance(error, ComplexMeshError)
                self._extents[path] = str(error)
        return self._extents[path]


class MeshFinder:
    """Resolves references to mesh files as the reader of the document does, and reads each file once."""

    def __init__(self, location: Location, paths: SearchPaths, limits: Limits) -> None:
        self._location = location
        self._paths = paths
        self._extents = MeshExtents(limits, file_lookup.confinement(location, paths))

    def locate(self, mesh: Mesh) -> Mesh:
        """The mesh with the path and extent of its file, or with None for both if the file is not found."""
        path = file_lookup.find_file(mesh.uri, self._location, self._paths).path
        if path is None:
            return structs.replace(mesh, path=None, extent=None)
        extent = self._extents.find(str(path))
        return structs.replace(mesh, path=str(path), extent=None if isinstance(extent, str) else extent)
