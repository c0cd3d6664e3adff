"""Triangles in files, read through trimesh, which is imported only when a mesh is met."""

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
from numpy.typing import NDArray

from exoskel.diagnostics import printable
from exoskel.scene.shape import DEFAULT_COLOR, Bounds, Geometry, Mesh, TriMesh, kind_of
from exoskel.source.colors import linear_to_srgb
from exoskel.source.files import read_at_most
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.spatial import Array

if TYPE_CHECKING:
    import trimesh


Triangles = NDArray[np.int64]


class MeshError(Exception):
    """A mesh file that cannot be used, with the reason."""


def load_mesh(path: Path, limits: Limits = DEFAULT_LIMITS) -> trimesh.Scene:
    """All geometry of a mesh file.

    The file is read here and handed over as bytes without a resolver, so that it cannot pull in any
    other file.
    """
    try:
        data = read_at_most(path, limits.mesh_bytes)
    except OSError as error:
        raise MeshError(error.strerror or str(error)) from None
    if len(data) > limits.mesh_bytes:
        raise MeshError(f"it has more than {limits.mesh_bytes} bytes, the limit")
    kind = path.suffix.lower().lstrip(".")
    scene: trimesh.Scene = _parse(data, kind)
    return scene


_FORMATS = frozenset({"obj", "stl", "ply", "off", "dae", "glb"})
"""Formats of a single file.  Archives are left alone: unpacking them is another trust altogether."""


def _parse(data: bytes, kind: str) -> Any:
    import trimesh

    if kind not in _FORMATS:
        raise MeshError(f"no reader for '{printable(kind)}' files is installed")
    logging.getLogger("trimesh").setLevel(logging.CRITICAL)
    with _doubted():
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False)
        for node in scene.graph.nodes_geometry:
            transform, name = scene.graph[node]
            _check(transform, scene.geometry[name])
        if not 0.0 < _metres(str(scene.units)) < inf:
            raise MeshError("its unit is none")
    return scene


@contextmanager
def _doubted() -> Iterator[None]:
    """What trimesh and its readers raise, which is whatever they meet in a bad file, as one error."""
    try:
        with np.errstate(all="ignore"):
            yield
    except MeshError:
        raise
    except Exception as error:
        raise MeshError(f"{type(error).__name__}: {printable(str(error))[:120]}") from None


def _check(transform: Any, geometry: Any) -> None:
    """Raise MeshError for triangles that trimesh takes and nobody can draw."""
    faces = np.asarray(getattr(geometry, "faces", ()))
    if not len(faces):
        return
    vertices = np.asarray(geometry.vertices, dtype=np.float64)
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise MeshError("a vertex is no point in space")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise MeshError("a triangle names a missing corner")
    if not np.isfinite(transform).all():
        raise MeshError("a transform is not finite")


def mesh_extent(path: Path, limits: Limits = DEFAULT_LIMITS) -> Bounds:
    """The corners of the box around all triangles, in metres.

    The nodes of the file place and scale them and its unit counts, but not its up axis: as in DART.
    """
    scene = load_mesh(path, limits)
    with _doubted():
        boxes = [box for node in scene.graph.nodes_geometry if (box := _placed_box(scene, node)) is not None]
    if not boxes:
        raise MeshError("it holds no triangles")
    scale = _metres(str(scene.units))
    low = np.min([box[0] for box in boxes], axis=0) * scale
    high = np.max([box[1] for box in boxes], axis=0) * scale
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise MeshError("it holds vertices that are not finite")
    (x0, y0, z0), (x1, y1, z1) = low.tolist(), high.tolist()
    return ((x0, y0, z0), (x1, y1, z1))


def load_triangles(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[Array, Triangles]:
    """All triangles of a file: vertices in metres, placed as `mesh_extent` has them, and vertex numbers."""
    vertices, faces, _ = load_colored_triangles(path, limits)
    return vertices, faces


def load_colored_triangles(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[Array, Triangles, Array | None]:
    """As `load_triangles`, with the colours of the vertices, `(n, 4)` from 0 to 1, if the file has any.

    Faces that have colours of their own come with vertices of their own.
    """
    scene = load_mesh(path, limits)
    parts = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        if len(getattr(scene.geometry[name], "faces", ())):
            with _doubted():
                vertices, faces, colors = _part(scene.geometry[name])
                parts.append((vertices @ transform[:3, :3].T + transform[:3, 3], faces, colors))
    if not parts:
        raise MeshError("it holds no triangles")
    firsts = np.cumsum([0, *(len(vertices) for vertices, _, _ in parts)])
    vertices = np.concatenate([vertices for vertices, _, _ in parts]) * _metres(str(scene.units))
    faces = np.concatenate([faces + first for (_, faces, _), first in zip(parts, firsts, strict=False)])
    if all(colors is None for _, _, colors in parts):
        return vertices, faces, None
    plain = np.array(DEFAULT_COLOR)
    colors = np.concatenate([np.tile(plain, (len(v), 1)) if own is None else own for v, _, own in parts])
    # glTF states colours as light, other files as screens show them.
    return vertices, faces, linear_to_srgb(colors) if path.suffix.lower() == ".glb" else colors


def _part(geometry: Any) -> tuple[Array, Triangles, Array | None]:
    """Vertices, faces and colours of one geometry of a file."""
    vertices = np.asarray(geometry.vertices, dtype=np.float64)
    faces = np.asarray(geometry.faces, dtype=np.int64)
    visual = geometry.visual
    material = getattr(visual, "material", None)
    if material is not None:
        if getattr(material, "baseColorFactor", material) is None:
            return vertices, faces, None  # it states none, and trimesh has a grey of its own for that
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
    """Meshes in files and in the scene, with their files read once each."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._read: dict[str, tuple[Array, Triangles, Array | None] | MeshError] = {}

    def triangles(self, geometry: Geometry) -> tuple[Array, Triangles] | None:
        """Scaled vertices and faces, which run counter-clockwise; None for what is no mesh or cannot be read."""
        try:
            vertices, faces, _ = self.painted(geometry)
        except MeshError:
            return None
        return vertices, faces

    def painted(self, geometry: Geometry) -> tuple[Array, Triangles, Array | None]:
        """As `load_triangles`, with colours; raises `MeshError` with the reason where there is none."""
        match geometry:
            case TriMesh(vertices=vertices, triangles=faces):
                return vertices, faces, None
            case Mesh(path=str(path), scale=scale):
                vertices, faces, colors = self._file(path)
                # A mirrored triangle runs the other way round.
                return vertices * np.array(scale), faces[:, ::-1] if np.prod(scale) < 0.0 else faces, colors
            case Mesh(uri=uri):
                raise MeshError(f"the file '{printable(uri)}' was not found")
            case _:
                raise MeshError(f"a {kind_of(geometry)} is no mesh")

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
    """Metres per unit, as a COLLADA file states it; other formats state none."""
    match = _UNIT.fullmatch(unit)
    return float(match[1]) if match else 1.0


def single_precision(bounds: Bounds) -> Bounds:
    """The same corners as DART's importer has them, which keeps vertices in single precision."""
    (x0, y0, z0), (x1, y1, z1) = np.array(bounds, dtype=np.float32).tolist()
    return ((x0, y0, z0), (x1, y1, z1))
