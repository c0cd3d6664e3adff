"""Triangles in files, read through trimesh, which is imported only when a mesh is met."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exoskel.diagnostics import printable
from exoskel.scene.shape import Bounds
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.spatial import Array

if TYPE_CHECKING:
    import trimesh


class MeshError(Exception):
    """A mesh file that cannot be used, with the reason."""


def load(path: Path, limits: Limits = DEFAULT_LIMITS) -> trimesh.Scene:
    """All geometry of a mesh file.

    The file is read here and handed over as bytes without a resolver, so that it cannot pull in any
    other file.
    """
    try:
        size = path.stat().st_size
        if size > limits.mesh_bytes:
            raise MeshError(f"it has {size} bytes; the limit is {limits.mesh_bytes}")
        data = path.read_bytes()
    except OSError as error:
        raise MeshError(error.strerror or str(error)) from None
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
    try:
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False)
    except Exception as error:  # trimesh and its readers raise whatever they meet in a bad file
        raise MeshError(f"{type(error).__name__}: {printable(str(error))[:120]}") from None
    return scene


def extent(path: Path, limits: Limits = DEFAULT_LIMITS) -> Bounds:
    """The corners of the box around all triangles, in metres.

    The nodes of the file place and scale them and its unit counts, but not its up axis: as in DART.
    """
    scene = load(path, limits)
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


def triangles(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[Array, NDArray[np.int64]]:
    """All triangles of a file: vertices in metres, placed as `extent` has them, and vertex numbers."""
    scene = load(path, limits)
    vertices: list[Array] = []
    faces: list[NDArray[np.int64]] = []
    count = 0
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        own = getattr(scene.geometry[name], "faces", ())
        if len(own):
            placed = np.asarray(scene.geometry[name].vertices, dtype=np.float64)
            vertices.append(placed @ transform[:3, :3].T + transform[:3, 3])
            faces.append(np.asarray(own, dtype=np.int64) + count)
            count += len(placed)
    if not faces:
        raise MeshError("it holds no triangles")
    return np.concatenate(vertices) * _metres(str(scene.units)), np.concatenate(faces)


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
