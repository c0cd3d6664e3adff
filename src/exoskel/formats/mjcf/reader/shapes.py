"""Read geoms as shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import repeats
from exoskel.formats.mjcf.materials import PLAIN_MATERIAL
from exoskel.formats.mjcf.names import plain_name
from exoskel.formats.mjcf.reader.compiled import Compiled, transforms
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.formats.mjcf.reader.preprocessor import NO_COLOUR
from exoskel.formats.mjcf.texture_coordinates import read_coordinates
from exoskel.scene.pose import Pose, poses_from_matrices
from exoskel.scene.shape import (
    Bounds,
    Box,
    Capsule,
    Color,
    Cylinder,
    Ellipsoid,
    Geometry,
    Material,
    Mesh,
    Plane,
    Shape,
    Sphere,
    Texture,
    TriMesh,
)
from exoskel.source import meshes
from exoskel.source.limits import Limits
from exoskel.source.meshes import MeshError
from exoskel.spatial import Array

_TYPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
_GREY = (0.5, 0.5, 0.5, 1.0)
"""MuJoCo's default colour: a geom with this colour gets the colour of its material."""
_SLIDING = 3
"""The condim of contacts with sliding friction only, MuJoCo's default."""
_COMMON_EXTENSIONS = (".obj", ".stl")
"""Mesh files that readers other than MuJoCo support too."""

_PRIMITIVES: dict[str, Callable[[float, float, float], Geometry]] = {
    "plane": lambda x, y, z: Plane((0.0, 0.0, 1.0)),
    "sphere": lambda x, y, z: Sphere(x),
    "capsule": lambda x, y, z: Capsule(x, 2 * y),
    "ellipsoid": lambda x, y, z: Ellipsoid((2 * x, 2 * y, 2 * z)),
    "cylinder": lambda x, y, z: Cylinder(x, 2 * y),
    "box": lambda x, y, z: Box((2 * x, 2 * y, 2 * z)),
}
"""MuJoCo uses half sizes."""


class MjcfShapeReader:
    """Creates shapes from geoms, by number."""

    def __init__(self, compiled: Compiled, report: Callable[..., None], limits: Limits) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.report = report
        self.limits = limits
        self._places = transforms(self.model.geom_pos, self.model.geom_quat)
        self._poses = _shape_poses(self._places)
        self._has_no_color: list[bool] = (self.model.geom_rgba == NO_COLOUR).all(axis=1).tolist()
        self._materials: list[int] = self.model.geom_matid.tolist()
        self._geometries: dict[tuple[str, int], Geometry | None] = {}
        self._extents: dict[str, Bounds | None] = {}

    def shape(self, number: int) -> Shape | None:
        kind = _TYPES[int(self.model.geom_type[number])]
        node = self.compiled.geoms.node(number)
        geometry = self._geometry(kind, number, node)
        if geometry is None:
            return None
        pose = self._poses[number]
        if kind == "mesh":
            mesh = int(self.model.geom_dataid[number])
            frame = transforms(self.model.mesh_pos[mesh], self.model.mesh_quat[mesh])
            pose = _shape_poses((self._places[number] @ spatial.inverse(frame))[None])[0]
        return Shape(
            geometry=geometry,
            pose=pose,
            color=self._color(number),
            material=self._material(number),
            name=plain_name(self.compiled.geoms.name(number)),
            friction=self.friction(number),
            document=0,
            node=node,
        )

    def _geometry(self, kind: str, number: int, node: int) -> Geometry | None:
        if kind in _PRIMITIVES:
            x, y, z = self.model.geom_size[number].tolist()
            return _PRIMITIVES[kind](x, y, z)
        key = (kind, int(self.model.geom_dataid[number]))
        if kind == "hfield":
            self.report("MJ307.hfield", node)
        elif kind != "mesh":
            self.report("MJ307", node, kind=kind)
            return None
        if key not in self._geometries:
            self._geometries[key] = self._height_field(key[1]) if kind == "hfield" else self._mesh(key[1])
        return self._geometries[key]

    def friction(self, number: int) -> float | None:
        """The sliding friction; None for MuJoCo's default of 1 and for geoms that do not collide."""
        if not (self.model.geom_contype[number] or self.model.geom_conaffinity[number]):
            return None
        found = float(self.model.geom_friction[number, 0])
        return None if found == 1.0 else found

    def report_friction(self) -> None:
        """Report geoms whose condim is not sliding friction."""
        model = self.model
        colliding = np.logical_or(model.geom_contype, model.geom_conaffinity)
        odd = np.flatnonzero(np.logical_and(colliding, model.geom_condim != _SLIDING)).tolist()
        if odd:
            node = self.compiled.geoms.node(odd[0])
            condim = int(model.geom_condim[odd[0]])
            self.report("MJ309", node, attribute="condim", condim=condim, repeats=repeats(len(odd)))

    def _color(self, number: int) -> Color | None:
        material = self._materials[number]
        if self._has_no_color[number] and (material < 0 or self._is_generated(material)):
            return None
        own = self.model.geom_rgba[number]
        if material >= 0 and tuple(own) in (NO_COLOUR, _GREY):
            own = self.model.mat_rgba[material]
        r, g, b, a = (float(str(value)) for value in own)  # the shortest digits of single precision
        return (r, g, b, a)

    def _is_generated(self, material: int) -> bool:
        """Whether a material was written for a shape without a colour."""
        return bool(self.model.mat(material).name.startswith(PLAIN_MATERIAL))

    def _material(self, number: int) -> Material | None:
        """The material of a geom besides its colour."""
        material = int(self.model.geom_matid[number])
        if material < 0 or not hasattr(self.model, "mat"):
            return None
        name: str = self.model.mat(material).name
        if name not in self.compiled.materials:
            rough, metal = self._reflection(material)
            image = self._image(material, name)
            found = Material(rough, metal, image) if (rough, metal, image) != (None, None, None) else None
            self.compiled.materials[name] = found
        return self.compiled.materials[name]

    def _reflection(self, material: int) -> tuple[float | None, float | None]:
        """The roughness and metalness of a material; -1 means that it states none."""
        if not hasattr(self.model, "mat_roughness"):  # before MuJoCo 3.2
            return None, None
        rows = (self.model.mat_roughness[material], self.model.mat_metallic[material])
        rough, metal = (value if 0.0 <= (value := float(str(row))) <= 1.0 else None for row in rows)
        return rough, metal

    def _image(self, material: int, name: str) -> Texture | None:
        """The texture of a material; one that repeats by length counts as not repeated."""
        found = self.compiled.prepared.images.get(name)
        if found is None:
            return None
        x, y = (float(str(value)) for value in self.model.mat_texrepeat[material])
        is_counted = not self.model.mat_texuniform[material] and x > 0.0 and y > 0.0
        return Texture(found.uri, (x, y) if is_counted else (1.0, 1.0), found.path)

    # --- meshes ---------------------------------------------------------------------------------------

    def _mesh(self, number: int) -> Geometry:
        name = self.compiled.meshes.name(number)
        file = self.compiled.prepared.meshes.get(name)
        if file is not None and (file.path is None or self._is_usable_elsewhere(number, file.path)):
            x, y, z = self.model.mesh_scale[number].tolist()
            return Mesh(file.reference, (x, y, z), file.path, self._extent(file.path))
        fragment = self.compiled.prepared.inlined.get(name)
        plain = not self._has_frame(number) and bool((self.model.mesh_scale[number] == 1.0).all())
        exact = _inline_mesh(fragment) if fragment is not None and plain else None
        return exact or self._compiled_mesh(number)

    def _is_usable_elsewhere(self, number: int, path: str) -> bool:
        """Whether the mesh is the file as it is, and other readers support the file."""
        is_common = Path(path).suffix.lower() in _COMMON_EXTENSIONS
        return is_common and not self._has_frame(number) and self._extent(path) is not None

    def _has_frame(self, number: int) -> bool:
        return self.compiled.meshes.name(number) in self.compiled.framed_meshes

    def _extent(self, path: str | None) -> Bounds | None:
        if path is None:
            return None
        if path not in self._extents:
            try:
                self._extents[path] = meshes.mesh_extent(Path(path), self.limits, self.compiled.prepared.confined_to)
            except MeshError:
                self._extents[path] = None
        return self._extents[path]

    def _compiled_mesh(self, number: int) -> TriMesh:
        """The compiled mesh in single precision, in the frame of the document."""
        model = self.model
        first, count = int(model.mesh_vertadr[number]), int(model.mesh_vertnum[number])
        face, faces = int(model.mesh_faceadr[number]), int(model.mesh_facenum[number])
        frame = transforms(model.mesh_pos[number], model.mesh_quat[number])
        vertices = np.asarray(model.mesh_vert[first : first + count], dtype=np.float64)
        placed = vertices @ frame[:3, :3].T + frame[:3, 3]
        own = slice(face, face + faces)
        return TriMesh(
            placed, np.asarray(model.mesh_face[own], dtype=np.int64), uvs=self._texture_coordinates(number, own)
        )

    def _texture_coordinates(self, number: int, faces: slice) -> Array | None:
        """The places of the corners of a compiled mesh on an image, which MuJoCo counts from the top."""
        first, count = int(self.model.mesh_texcoordadr[number]), int(self.model.mesh_texcoordnum[number])
        if first < 0 or not count:
            return None
        rows = np.asarray(self.model.mesh_facetexcoord[faces], dtype=np.int64).ravel()
        places = np.asarray(self.model.mesh_texcoord[first : first + count], dtype=np.float64)[rows]
        places[:, 1] = 1.0 - places[:, 1]
        return places if np.isfinite(places).all() else None

    def _height_field(self, number: int) -> TriMesh:
        """The surface of a height field."""
        model = self.model
        rows, columns = int(model.hfield_nrow[number]), int(model.hfield_ncol[number])
        first = int(model.hfield_adr[number])
        x, y, top, _ = model.hfield_size[number].tolist()
        data = model.hfield_data[first : first + rows * columns]
        if data.min() == data.max():  # flat, whatever its resolution
            data, rows, columns = data[:4], 2, 2
        vertices = np.empty((rows, columns, 3))
        vertices[..., 0] = np.linspace(-x, x, columns)
        vertices[..., 1] = np.linspace(-y, y, rows)[:, None]
        vertices[..., 2] = np.asarray(data, dtype=np.float64).reshape(rows, columns) * top
        corner = np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)
        faces = np.empty((2, rows - 1, columns - 1, 3), dtype=np.int64)
        for half, offsets in enumerate(((0, 1, columns + 1), (0, columns + 1, columns))):
            for place, offset in enumerate(offsets):
                faces[half, ..., place] = corner + offset
        return TriMesh(vertices.reshape(-1, 3), faces.reshape(-1, 3))


def _inline_mesh(fragment: Fragment) -> TriMesh | None:
    """An inline mesh in full precision: MuJoCo stores it in single precision."""
    given = fragment.attributes
    if "face" not in given or "builtin" in given:
        return None
    vertices = np.array(given["vertex"].split(), dtype=np.float64).reshape(-1, 3)
    triangles = np.array(given["face"].split(), dtype=np.int64).reshape(-1, 3)
    uvs = read_coordinates(given["texcoord"], triangles, len(vertices)) if "texcoord" in given else None
    return TriMesh(vertices, triangles, uvs=uvs)


def _shape_poses(places: Array) -> list[Pose]:
    """The poses of transforms, with no rotation where it differs from the identity by rounding only."""
    snapped = places.copy()
    snapped[np.abs(places[:, :3, :3] - np.eye(3)).max(axis=(1, 2)) < 1e-15, :3, :3] = np.eye(3)
    return poses_from_matrices(snapped)
