"""Mesh files and their colours, read with trimesh, which is imported when the first mesh is read."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs
from numpy.typing import ArrayLike, NDArray

from exoskel import spatial
from exoskel.diagnostics import printable
from exoskel.scene.shape import DEFAULT_COLOR, Bounds, Geometry, Mesh, TriMesh, kind_of
from exoskel.source import file_lookup
from exoskel.source.file_lookup import Location, SearchPaths
from exoskel.source.limits import DEFAULT_LIMITS, Limits, read_at_most
from exoskel.spatial import Array

if TYPE_CHECKING:
    import trimesh


def srgb_to_linear(colors: ArrayLike) -> Array:
    """Convert sRGB colours to linear RGB; alpha is not changed."""
    given = spatial.array(colors)
    out = given.copy()
    srgb = given[..., :3]
    out[..., :3] = np.where(srgb <= 0.04045, srgb / 12.92, ((np.maximum(srgb, 0.0) + 0.055) / 1.055) ** 2.4)
    return out


def linear_to_srgb(colors: ArrayLike) -> Array:
    """Convert linear RGB colours to sRGB; alpha is not changed."""
    given = spatial.array(colors)
    out = given.copy()
    linear = given[..., :3]
    out[..., :3] = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * np.maximum(linear, 0.0) ** (1 / 2.4) - 0.055)
    return out


Triangles = NDArray[np.int64]


class MeshError(Exception):
    """A mesh cannot be used; the message gives the reason."""


def load_mesh(path: Path, limits: Limits = DEFAULT_LIMITS) -> trimesh.Scene:
    """Load all geometry of a mesh file.

    trimesh gets the bytes without a resolver, so that a mesh file cannot load any other file.
    """
    try:
        data = read_at_most(path, limits.mesh_bytes)
    except OSError as error:
        raise MeshError(error.strerror or str(error)) from None
    if len(data) > limits.mesh_bytes:
        raise MeshError(f"it exceeds the limit of {limits.mesh_bytes} bytes")
    kind = path.suffix.lower().lstrip(".")
    scene: trimesh.Scene = _parse(data, kind)
    return scene


_FORMATS = frozenset({"obj", "stl", "ply", "off", "dae", "glb"})
"""Formats of a single file.  Archives are not supported, because unpacking them is not safe."""


def _parse(data: bytes, kind: str) -> Any:
    import trimesh

    if kind not in _FORMATS:
        raise MeshError(f"'{printable(kind)}' files are not supported")
    logging.getLogger("trimesh").setLevel(logging.CRITICAL)
    with _trimesh_errors():
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False)
        for node in scene.graph.nodes_geometry:
            transform, name = scene.graph[node]
            _check(transform, scene.geometry[name])
        if not 0.0 < _metres(str(scene.units)) < inf:
            raise MeshError("its unit is invalid")
    return scene


@contextmanager
def _trimesh_errors() -> Iterator[None]:
    """Convert all exceptions of trimesh and its readers to MeshError, because bad files cause any of them."""
    try:
        with np.errstate(all="ignore"):
            yield
    except MeshError:
        raise
    except Exception as error:
        raise MeshError(f"{type(error).__name__}: {printable(str(error))[:120]}") from None


def _check(transform: Any, geometry: Any) -> None:
    """Raise MeshError for invalid triangles that trimesh accepts."""
    faces = np.asarray(getattr(geometry, "faces", ()))
    if not len(faces):
        return
    vertices = np.asarray(geometry.vertices, dtype=np.float64)
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise MeshError("a vertex does not have three coordinates")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise MeshError("a triangle refers to a missing vertex")
    if not np.isfinite(transform).all():
        raise MeshError("a transform is not finite")


def mesh_extent(path: Path, limits: Limits = DEFAULT_LIMITS) -> Bounds:
    """The corners of the bounding box of all triangles, in metres.

    The transforms and the unit of the file are applied, but not its up axis: as in DART.
    """
    scene = load_mesh(path, limits)
    with _trimesh_errors():
        boxes = [box for node in scene.graph.nodes_geometry if (box := _placed_box(scene, node)) is not None]
    if not boxes:
        raise MeshError("it has no triangles")
    scale = _metres(str(scene.units))
    low = np.min([box[0] for box in boxes], axis=0) * scale
    high = np.max([box[1] for box in boxes], axis=0) * scale
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise MeshError("it has vertices that are not finite")
    (x0, y0, z0), (x1, y1, z1) = low.tolist(), high.tolist()
    return ((x0, y0, z0), (x1, y1, z1))


def load_triangles(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[Array, Triangles]:
    """All triangles of a file: vertices in metres, transformed as in `mesh_extent`, and vertex numbers."""
    vertices, faces, _ = load_colored_triangles(path, limits)
    return vertices, faces


def load_colored_triangles(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[Array, Triangles, Array | None]:
    """All triangles of a file with the colours of the vertices, `(n, 4)` from 0 to 1, if the file has any.

    Faces with their own colours get their own vertices.
    """
    scene = load_mesh(path, limits)
    parts = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        if len(getattr(scene.geometry[name], "faces", ())):
            with _trimesh_errors():
                vertices, faces, colors = _part(scene.geometry[name])
                parts.append((vertices @ transform[:3, :3].T + transform[:3, 3], faces, colors))
    if not parts:
        raise MeshError("it has no triangles")
    firsts = np.cumsum([0, *(len(vertices) for vertices, _, _ in parts)])
    vertices = np.concatenate([vertices for vertices, _, _ in parts]) * _metres(str(scene.units))
    faces = np.concatenate([faces + first for (_, faces, _), first in zip(parts, firsts, strict=False)])
    if all(colors is None for _, _, colors in parts):
        return vertices, faces, None
    plain = np.array(DEFAULT_COLOR)
    colors = np.concatenate([np.tile(plain, (len(v), 1)) if own is None else own for v, _, own in parts])
    # glTF has linear colours, other files sRGB.
    return vertices, faces, linear_to_srgb(colors) if path.suffix.lower() == ".glb" else colors


def _part(geometry: Any) -> tuple[Array, Triangles, Array | None]:
    """Vertices, faces and colours of one geometry of a file."""
    vertices = np.asarray(geometry.vertices, dtype=np.float64)
    faces = np.asarray(geometry.faces, dtype=np.int64)
    visual = geometry.visual
    material = getattr(visual, "material", None)
    if material is not None:
        if getattr(material, "baseColorFactor", material) is None:
            return vertices, faces, None  # it states none, and trimesh would return its own grey
        return vertices, faces, np.tile(_color(material.main_color), (len(vertices), 1))
    if visual.kind == "vertex":
        return vertices, faces, _color(visual.vertex_colors)
    if visual.kind == "face":
        own = np.arange(faces.size, dtype=np.int64).reshape(-1, 3)
        return vertices[faces.ravel()], own, np.repeat(_color(visual.face_colors), 3, axis=0)
    return vertices, faces, None


def _color(bytes_: Any) -> Array:
    return np.asarray(bytes_, dtype=np.float64) / 255.0


class MeshFiles:
    """Triangles of meshes in files and in the scene; each file is read once."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._read: dict[str, tuple[Array, Triangles, Array | None] | MeshError] = {}

    def triangles(self, geometry: Geometry) -> tuple[Array, Triangles] | None:
        """Scaled vertices and counter-clockwise faces; None if it is not a mesh or cannot be read."""
        try:
            vertices, faces, _ = self.colored_triangles(geometry)
        except MeshError:
            return None
        return vertices, faces

    def colored_triangles(self, geometry: Geometry) -> tuple[Array, Triangles, Array | None]:
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

    def _file(self, path: str) -> tuple[Array, Triangles, Array | None]:
        if path not in self._read:
            try:
                self._read[path] = load_colored_triangles(Path(path), self._limits)
            except MeshError as error:
                self._read[path] = error
        found = self._read[path]
        if isinstance(found, MeshError):
            raise found
        return found


def _placed_box(scene: Any, node: str) -> tuple[Array, Array] | None:
    transform, name = scene.graph[node]
    faces = getattr(scene.geometry[name], "faces", ())
    if not len(faces):
        return None
    vertices = np.asarray(scene.geometry[name].vertices, dtype=np.float64)[np.unique(faces)]
    placed = vertices @ transform[:3, :3].T + transform[:3, 3]
    return placed.min(axis=0), placed.max(axis=0)


_UNIT = re.compile(r"([0-9.eE+-]+) \* meters")


def _metres(unit: str) -> float:
    """Metres per unit of a COLLADA file; 1 for other formats, which have no unit."""
    match = _UNIT.fullmatch(unit)
    return float(match[1]) if match else 1.0


def single_precision(bounds: Bounds) -> Bounds:
    """The corners as in DART's importer, which stores vertices in single precision."""
    (x0, y0, z0), (x1, y1, z1) = np.array(bounds, dtype=np.float32).tolist()
    return ((x0, y0, z0), (x1, y1, z1))


class MeshExtents:
    """The extents of the mesh files of a document; each file is read once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._extents: dict[str, Bounds | str] = {}

    def find(self, path: str) -> Bounds | str:
        """The extent of a mesh file, or the reason why it cannot be read."""
        if path not in self._extents:
            try:
                self._extents[path] = mesh_extent(Path(path), self._limits)
            except MeshError as error:
                self._extents[path] = str(error)
        return self._extents[path]


class MeshFinder:
    """Resolves references to mesh files as the reader of the document does, and reads each file once."""

    def __init__(self, location: Location, paths: SearchPaths, limits: Limits) -> None:
        self._location = location
        self._paths = paths
        self._limits = limits
        self._extents: dict[Path, Bounds | None] = {}

    def locate(self, mesh: Mesh) -> Mesh:
        """The mesh with the path and extent of its file, or with None for both if the file is not found."""
        path = file_lookup.find_file(mesh.uri, self._location, self._paths).path
        if path is None:
            return structs.replace(mesh, path=None, extent=None)
        if path not in self._extents:
            try:
                self._extents[path] = mesh_extent(path, self._limits)
            except MeshError:
                self._extents[path] = None
        return structs.replace(mesh, path=str(path), extent=self._extents[path])
