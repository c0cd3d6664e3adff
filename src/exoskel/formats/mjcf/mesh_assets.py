"""Writes meshes as assets of an MJCF file: their triangles, or references to their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.geoms import MIN_VERTICES, PRIMITIVES, GeomWriter, is_flat, thick_sheet
from exoskel.formats.mjcf.materials import MjcfMaterialWriter
from exoskel.formats.mjcf.texture_coordinates import inline_mesh
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.item import unique_name
from exoskel.scene.pose import Vector
from exoskel.scene.shape import Color, Ellipsoid, Geometry, Mesh, Shape, TriMesh, kind_of, texture_of
from exoskel.source.file_access import open_referenced
from exoskel.source.mesh_textures import load_file_colors, load_texture_coordinates
from exoskel.source.meshes import MeshError, Triangles
from exoskel.source.output_context import OutputContext, Target
from exoskel.source.surface import Surfaces, has_hollows
from exoskel.spatial import Array

_MIN_VOLUME = 1e-12
"""The volume in m³ from which meshes are written as solids; MuJoCo rejects less than 1e-14."""
_STL_HEAD, _STL_FACE, _MAX_STL_FACES = 84, 50, 200_000
"""Bytes before the triangles of a binary STL file, bytes per triangle, and the maximum that MuJoCo reads."""
_READ_FROM_FILES: frozenset[Target] = frozenset({"dart", "isaac"})
"""Programs that refuse meshes inside the document."""


class MeshAssetWriter(GeomWriter):
    """A geom writer that preserves the triangles of meshes, and the whole mesh beside the slabs that collide.

    The masses of meshes are zero, but MuJoCo computes a moment for each one.  It rejects solids that are flat or tiny;
    these are shells, which readers before MuJoCo 3.3 do not know.
    """

    def __init__(
        self, shapes: Sequence[Shape], contact: tuple[float, float], friction: float | None, output: OutputContext
    ) -> None:
        super().__init__(shapes, contact, friction)
        self.output, self.keeps_plane_axes = output, output.source_format == "mjcf"
        self._names: set[str] = set()
        self._files: dict[tuple[str, Vector], str] = {}
        self._flat: dict[tuple[str, Vector], bool] = {}
        """Whether a mesh file is flat at a scale: many shapes may share a large one."""
        self._hollow: dict[Mesh, bool] = {}
        self._collides = False
        """Whether the shape that is added now collides: MuJoCo needs the hull of its mesh."""
        self._colors: dict[str, Color | None] = {}
        self._surfaces = Surfaces()
        if output.target == "isaac":
            self.primitives = {kind: given for kind, given in PRIMITIVES.items() if kind is not Ellipsoid}
        self.materials = MjcfMaterialWriter(self.assets, output)

    def add(self, body: MjcfElement, shape: Shape, name: str, bits: tuple[int, int], fixed: bool) -> None:
        before = len(body.children)
        self._collides = any(bits)
        super().add(body, shape, name, bits, fixed)
        if len(body.children) - before > 1:  # slabs: the mesh itself is visual
            self._collides = False
            super().add(body, shape, name, (0, 0), fixed)
        elif any(bits):
            self._record_hull(shape)
        color = self._file_color(shape)
        if color is not None:
            for geom in body.children[before:]:
                geom.attributes["rgba"] = color
        if self.output.source_format != "mjcf":  # whose materials are written as they are
            for geom in body.children[before:]:
                self.materials.paint(shape, geom)

    def _record_hull(self, shape: Shape) -> None:
        """Record the loss of the hollows of a mesh that collides; DART collides its triangles."""
        if self.output.target != "dart" and self._has_hollows(shape):
            message = CATALOGUE["MJ501.isaac" if self.output.target == "isaac" else "MJ501"]
            self.output.add_loss(shape, message, "geometry", changes_effect=True)

    def _has_hollows(self, shape: Shape) -> bool:
        """Whether a mesh has hollows; that of a file is examined once."""
        found = self.triangles(shape)
        if found is None:
            return False
        geometry = shape.geometry
        if not isinstance(geometry, Mesh) or geometry.path is None:
            return has_hollows(*found)
        if geometry not in self._hollow:
            self._hollow[geometry] = has_hollows(*found)
        return self._hollow[geometry]

    def _file_color(self, shape: Shape) -> Color | None:
        """The most frequent colour in a mesh file, if the scene states none: MuJoCo does not read it."""
        if shape.color is not None or not isinstance(shape.geometry, Mesh) or shape.geometry.path is None:
            return None
        path = shape.geometry.path
        if path not in self._colors:
            self._colors[path] = self._most_frequent_color(shape.geometry)
        return self._colors[path]

    def _most_frequent_color(self, mesh: Mesh) -> Color | None:
        try:
            colors = load_file_colors(Path(mesh.path or ""), within=self.output.confined_to)
        except MeshError:
            return None
        if colors is None:
            return None
        different, counts = np.unique(colors, axis=0, return_counts=True)
        r, g, b, a = different[counts.argmax()].tolist()
        return (r, g, b, a)

    def _rank(self, shapes: Sequence[Shape]) -> dict[float | None, int]:
        """No priorities: a file states the friction of shapes, and its reader combines them."""
        return {}

    def asset(self, name: str, vertices: Array) -> str:
        self._names.add(name)
        return super().asset(name, vertices)

    @property
    def _writes_files(self) -> bool:
        """Whether all meshes must be in files beside the document."""
        return self.output.target in _READ_FROM_FILES

    def _slab_assets(self, shape: Shape, name: str) -> list[str]:
        """None in files: there may be thousands of slabs."""
        return [] if self._writes_files else super()._slab_assets(shape, name)

    def _hull_asset(self, shape: Shape, name: str) -> list[str]:
        if not self._writes_files:
            return super()._hull_asset(shape, name)
        found = self.triangles(shape)
        if found is not None:
            return [self._new_file(kind_of(shape.geometry), *thick_sheet(*found))] if len(found[0]) else []
        surface = self._surfaces.of(shape.geometry)
        return [] if surface is None else [self._new_file(kind_of(shape.geometry), *surface.merge_vertices())]

    def _mesh(self, shape: Shape, name: str) -> list[str]:
        found = self.triangles(shape)
        if found is None:
            self._note_unreadable(shape)
            return super()._mesh(shape, name)
        if self._collides and len(found[0]) >= MIN_VERTICES and self._is_flat(shape.geometry, found[0]):
            self.output.add_loss(shape, CATALOGUE["MJ501.flat"], "geometry", changes_effect=True)
            return super()._mesh(shape, name)
        if len(found[0]) < MIN_VERTICES or not len(found[1]):
            self.output.add_loss(shape, CATALOGUE["MJ606.small"], is_dropped=True, changes_effect=True)
            return []
        reference = self._reference(shape.geometry) if isinstance(shape.geometry, Mesh) else None
        if reference:
            return [self._file_asset(shape.geometry, reference, *found)]
        has_image = isinstance(shape.geometry, Mesh) and texture_of(shape) is not None
        return self._once(self._inlined_with_coordinates if has_image else self._inlined, shape, name)

    def _note_unreadable(self, shape: Shape) -> None:
        """Record the loss of a mesh whose file exists; others are in `losses`."""
        geometry = shape.geometry
        if isinstance(geometry, Mesh) and geometry.path is not None:
            try:
                self._meshes.colored_triangles(geometry)
            except MeshError:
                self.output.add_loss(shape, CATALOGUE["MJ606.unreadable"], is_dropped=True, changes_effect=True)

    def _is_flat(self, geometry: Geometry, vertices: Array) -> bool:
        if not isinstance(geometry, Mesh) or geometry.path is None:
            return is_flat(vertices)
        key = (geometry.path, geometry.scale)
        if key not in self._flat:
            self._flat[key] = is_flat(vertices)
        return self._flat[key]

    def _inlined(self, shape: Shape, name: str) -> list[str]:
        found = self.triangles(shape)
        assert found is not None
        uvs = shape.geometry.uvs if isinstance(shape.geometry, TriMesh) else None
        return self._inline(name, *found, uvs)

    def _inlined_with_coordinates(self, shape: Shape, name: str) -> list[str]:
        """The mesh of a file with its texture coordinates, if it has any: MuJoCo lays images by them."""
        mesh = shape.geometry
        assert isinstance(mesh, Mesh) and mesh.path is not None
        try:
            found = load_texture_coordinates(Path(mesh.path), within=self.output.confined_to)
        except MeshError:
            found = None
        if found is None:
            return self._inlined(shape, name)
        faces = found.triangles[:, ::-1] if np.prod(mesh.scale) < 0.0 else found.triangles
        return self._inline(name, found.vertices * np.array(mesh.scale), faces, found.uv[faces.ravel()])

    def _inline(self, name: str, vertices: Array, triangles: Triangles, uvs: Array | None) -> list[str]:
        if self._writes_files:
            return [self._new_file("mesh", vertices, triangles, uvs)]
        self._names.add(name)
        given = {"name": name, **_inertia_rule(vertices, triangles), **inline_mesh(vertices, triangles, uvs)}
        self.assets.append(MjcfElement("mesh", given))
        return [name]

    def _new_file(self, stem: str, vertices: Array, triangles: Triangles, uvs: Array | None = None) -> str:
        """The asset of a file beside the document; shapes with the same triangles share it."""
        mesh = self.output.generate_mesh(stem, vertices, triangles, is_named_by_content=True, uvs=uvs)
        return self._file_asset(mesh, self.output.reference(mesh), vertices, triangles)

    def _file_asset(self, mesh: object, reference: str, vertices: Array, triangles: Triangles) -> str:
        assert isinstance(mesh, Mesh)
        key = (reference, mesh.scale)
        if key not in self._files:
            name = unique_name(Path(reference).stem, self._names)
            self._names.add(name)
            given: dict[str, Value] = {"name": name, **_inertia_rule(vertices, triangles), "file": reference}
            if mesh.scale != (1.0, 1.0, 1.0):
                given["scale"] = mesh.scale
            self.assets.append(MjcfElement("mesh", given))
            self._files[key] = name
        return self._files[key]

    def _reference(self, mesh: Mesh) -> str | None:
        """The reference to the mesh file from the document's folder; None if MuJoCo would not read it."""
        if mesh.path is None:
            return None
        if self.output.meshes == "copy" or (self.output.folder is not None and self.output.is_copied(mesh.path)):
            return self.output.reference(mesh, is_readable=_is_readable(Path(mesh.path)))
        if self.output.folder is None or not _is_readable(Path(mesh.path)):
            return None
        target = Path(mesh.path).resolve()
        if self.output.meshes == "absolute" and self.output.target != "dart":  # DART reads no absolute paths
            return target.as_posix()
        try:
            found = Path(os.path.relpath(target, self.output.folder.resolve())).as_posix()
        except ValueError:  # another drive
            return target.as_posix()
        return self.output.openable_reference(mesh, found)


def _inertia_rule(vertices: Array, triangles: Triangles) -> dict[str, Value]:
    """The attribute that makes a mesh a shell, if MuJoCo would reject it as a solid.

    MuJoCo's volume of a solid is that of the pyramids from the centre of its faces to each face.
    """
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    if not areas.any():
        return {"inertia": "shell"}
    middle = np.average(corners.mean(axis=1), axis=0, weights=areas)
    volume = np.abs(((corners[:, 0] - middle) * normals).sum(axis=1)).sum() / 6.0
    return {} if volume > _MIN_VOLUME and areas.min() > 0.0 else {"inertia": "shell"}


def _is_readable(path: Path) -> bool:
    """Whether MuJoCo reads the file as we do: OBJ, and binary STL."""
    extension = path.suffix.lower()
    if extension != ".stl":
        return extension == ".obj"
    try:
        with open_referenced(path) as file:
            head = file.read(_STL_HEAD)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return False
    count = int(np.frombuffer(head[-4:], dtype="<u4")[0]) if len(head) == _STL_HEAD else 0
    return 0 < count <= _MAX_STL_FACES and size == _STL_HEAD + _STL_FACE * count
