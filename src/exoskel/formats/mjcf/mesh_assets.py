"""Meshes as a file has them: by reference where MuJoCo can read their files, else with all their triangles."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from exoskel.formats.mjcf.convex_slabs import is_flat
from exoskel.formats.mjcf.geoms import GeomWriter
from exoskel.formats.mjcf.tree import Element
from exoskel.scene.item import unique_name
from exoskel.scene.pose import Vector
from exoskel.scene.shape import Color, Mesh, Shape
from exoskel.source.meshes import MeshError, Triangles
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array

LEAST_VERTICES = 4
"""MuJoCo refuses meshes of fewer points."""
_STL_HEAD, _STL_FACE, _MOST_STL_FACES = 84, 50, 200_000
"""Bytes before the triangles of a binary STL file and for each of them, and how many MuJoCo reads."""


class MeshAssetWriter(GeomWriter):
    """A writer of geoms that keeps the triangles of meshes, and what a mesh is next to the slabs that it collides as.

    The masses of geoms are zero, so that meshes count as shells: MuJoCo works out a moment for each of them, and
    refuses solids that are open or flat.
    """

    def __init__(
        self, shapes: Sequence[Shape], contact: tuple[float, float], friction: float | None, output: OutputContext
    ) -> None:
        super().__init__(shapes, contact, friction)
        self.output = output
        self._names: set[str] = set()
        self._files: dict[tuple[str, Vector], str] = {}

    def add(self, body: Element, shape: Shape, name: str, contype: int, conaffinity: int, fixed: bool) -> None:
        before = len(body.children)
        super().add(body, shape, name, contype, conaffinity, fixed)
        if len(body.children) - before > 1:  # slabs: the mesh itself is there to be seen
            super().add(body, shape, name, 0, 0, fixed)
        painted = self._paint(shape)
        if painted is not None:
            for geom in body.children[before:]:
                geom.attributes["rgba"] = painted

    def _paint(self, shape: Shape) -> Color | None:
        """The colour that most of a mesh has by its file, where the scene says none: MuJoCo reads none of it."""
        if shape.color is not None or not isinstance(shape.geometry, Mesh) or shape.geometry.path is None:
            return None
        try:
            _, _, colors = self._meshes.colored_triangles(shape.geometry)
        except MeshError:
            return None
        if colors is None:
            return None
        different, counts = np.unique(colors, axis=0, return_counts=True)
        r, g, b, a = different[counts.argmax()].tolist()
        return (r, g, b, a)

    def _rank(self, shapes: Sequence[Shape]) -> dict[float | None, int]:
        """A file says what shapes are like, and leaves to its reader how two of them grip."""
        return {}

    def asset(self, name: str, vertices: Array) -> str:
        self._names.add(name)
        return super().asset(name, vertices)

    def _mesh(self, shape: Shape, name: str) -> Element | None:
        found = self.triangles(shape)
        if found is None:
            return super()._mesh(shape, name)
        if len(found[0]) >= LEAST_VERTICES and is_flat(found[0]):
            return super()._mesh(shape, name)
        if len(found[0]) < LEAST_VERTICES or not len(found[1]):
            return None
        reference = self._reference(shape.geometry) if isinstance(shape.geometry, Mesh) else None
        called = self._file_asset(shape.geometry, reference) if reference else self._inlined(name, *found)
        return Element("geom", {"type": "mesh", "mesh": called})

    def _inlined(self, name: str, vertices: Array, triangles: Triangles) -> str:
        self._names.add(name)
        self.assets.append(
            Element(
                "mesh",
                {
                    "name": name,
                    "inertia": "shell",
                    "vertex": vertices.ravel().tolist(),
                    "face": triangles.ravel().tolist(),
                },
            )
        )
        return name

    def _file_asset(self, mesh: object, reference: str) -> str:
        assert isinstance(mesh, Mesh)
        key = (reference, mesh.scale)
        if key not in self._files:
            name = unique_name(Path(reference).stem, self._names)
            self._names.add(name)
            given: dict[str, object] = {"name": name, "inertia": "shell", "file": reference}
            if mesh.scale != (1.0, 1.0, 1.0):
                given["scale"] = mesh.scale
            self.assets.append(Element("mesh", given))  # type: ignore[arg-type]
            self._files[key] = name
        return self._files[key]

    def _reference(self, mesh: Mesh) -> str | None:
        """How the file is reached from the document's folder; None where MuJoCo would not read it."""
        if mesh.path is None:
            return None
        if self.output.meshes == "copy":
            return self.output.reference(mesh, is_readable=_is_readable(Path(mesh.path)))
        if self.output.folder is None or not _is_readable(Path(mesh.path)):
            return None
        target = Path(mesh.path).resolve()
        if self.output.meshes == "absolute":
            return target.as_posix()
        try:
            return Path(os.path.relpath(target, self.output.folder.resolve())).as_posix()
        except ValueError:  # another drive
            return target.as_posix()


def _is_readable(path: Path) -> bool:
    """Whether MuJoCo reads the file as we do: OBJ, and STL in its binary form."""
    ending = path.suffix.lower()
    if ending != ".stl":
        return ending == ".obj"
    try:
        with path.open("rb") as file:
            head = file.read(_STL_HEAD)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return False
    count = int(np.frombuffer(head[-4:], dtype="<u4")[0]) if len(head) == _STL_HEAD else 0
    return 0 < count <= _MOST_STL_FACES and size == _STL_HEAD + _STL_FACE * count
