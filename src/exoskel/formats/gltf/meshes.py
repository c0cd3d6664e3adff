"""Read the meshes of a glTF file: triangles, also of strips and fans, with their materials and texture coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import numpy as np
from msgspec import Struct

from exoskel.formats.gltf.accessors import GltfFile, is_finite_number
from exoskel.formats.gltf.foreign_data import ForeignData, MeshOrigin
from exoskel.formats.gltf.texture_coordinates import read_coordinates, set_name
from exoskel.formats.gltf.textures import color_image, name_inside
from exoskel.scene.shape import Color, Material, Texture, TriMesh
from exoskel.source import glb_draco
from exoskel.source.glb_accessors import MalformedGltfError
from exoskel.source.mesh_parsing import Triangles, linear_to_srgb
from exoskel.source.textures import ImageError, TextureFinder
from exoskel.spatial import Array

_LEAST_LIMIT, _MOST_COPIES = 2**28, 64
"""Meshes may need 256 MiB, and 64 times the size of the file."""
_TRIANGLES, _STRIP, _FAN = 4, 5, 6
_KINDS = {0: "points", 1: "lines", 2: "lines", 3: "lines"}
"""What other modes of primitives draw."""
_MORPH_TARGETS = "morph targets"
ReportGltf = Callable[..., None]
ObjectNumbers = dict[tuple[str, int], int]
"""The numbers of the objects of the document, by list and place."""


class MeshPart(Struct, frozen=True, eq=False):
    """The triangles of one primitive with its material."""

    geometry: TriMesh
    color: Color | None
    material: Material | None


class GltfMeshReader:
    """The meshes of one file."""

    def __init__(
        self, file: GltfFile, numbers: ObjectNumbers, report: ReportGltf, files: TextureFinder, preserved: ForeignData
    ) -> None:
        self.file = file
        self.is_own = file.is_own
        self.numbers = numbers
        self.report = report
        self.preserved = preserved
        self.images: set[int] = set()
        """The images that are the textures of shapes."""
        self.problems: dict[int, str] = {}
        """Why images of base colours cannot be read."""
        self._files = files
        self._undecoded = glb_draco.decode_primitives(file)
        """Why primitives that are compressed with Draco cannot be decoded."""
        self._reasons: dict[str, str] = {}
        """Why triangles that are not read cannot be decoded, by what they are."""
        self._found: dict[tuple[int, bytes], list[MeshPart]] = {}
        self._known: set[int] = set()
        """The meshes whose unread parts were reported."""
        self._invalid: set[tuple[int, int]] = set()
        """The meshes and numbers of primitives that were reported as invalid."""
        self._size = 0
        """The bytes of all meshes, each once for every scale that it is used with."""
        self._most = max(_LEAST_LIMIT, _MOST_COPIES * len(file.binary))

    def parts(self, mesh: int, stretch: Array) -> list[MeshPart]:
        """The primitives of a mesh after a linear map."""
        key = (mesh, stretch.tobytes())
        if key not in self._found:
            made: list[MeshPart] = []
            unread: list[str] = []
            for number, primitive in enumerate(rows_in(self.file.rows("meshes")[mesh], "primitives")):
                own = list(self._unread(primitive, self._undecoded.get((mesh, number), "")))
                unread += own
                if not {*own} <= {_MORPH_TARGETS}:
                    continue
                problem = self._indices_problem(primitive)
                if problem:
                    self._report_invalid(mesh, number, problem)
                    continue
                part = self._part(mesh, primitive, stretch)
                made.append(part)
                material = primitive.get("material")
                material = material if type(material) is int else None
                self.preserved.note_mesh(part.geometry, MeshOrigin(mesh, number, material, part.color, part.material))
            self._found[key] = made
            self._report_unread(mesh, list(dict.fromkeys(unread)), is_lost=not made)
        return self._found[key]

    def _report_unread(self, mesh: int, unread: list[str], *, is_lost: bool) -> None:
        if mesh not in self._known:
            self._known.add(mesh)
            for what in unread:
                reason = self._reasons.get(what, "")
                key = "GL106.mesh" if is_lost else "GL106"
                key = "GL106.draco" if reason == glb_draco.MISSING else "GL106.compressed" if reason else key
                self.report(key, self.numbers["meshes", mesh], mesh=mesh, what=what, reason=reason)

    def _report_invalid(self, mesh: int, number: int, problem: str) -> None:
        """Report an invalid primitive, once for all scales of its mesh."""
        if (mesh, number) not in self._invalid:
            self._invalid.add((mesh, number))
            node = self.numbers["meshes", mesh]
            self.report("GL110.primitive", node, number=number, mesh=mesh, reason=[problem])

    def _indices_problem(self, primitive: dict[str, Any]) -> str:
        """What is wrong with the corners of the triangles of a primitive; empty if nothing is."""
        points = self.file.length(_attributes(primitive).get("POSITION"))
        count = self.file.length(primitive["indices"]) if "indices" in primitive else points
        if 24 * max(points, count) > self._most:
            return ""  # reading it is refused
        if _mode(primitive) == _TRIANGLES and count % 3:
            return f"it has {count} {'indices' if 'indices' in primitive else 'vertices'}, not a multiple of 3"
        if "indices" not in primitive:
            return ""
        self._count_size(count // 3)
        indices = self.file.array(primitive["indices"], 1).ravel()
        highest = int(indices.max(initial=0))
        return f"an index is {highest}, but it has {points} vertices" if highest >= points else ""

    def _unread(self, primitive: dict[str, Any], problem: str) -> Iterator[str]:
        """What is not read of a primitive: all of it, unless it is only morph targets.

        `problem` is why it cannot be decoded, if it is compressed with Draco.
        """
        mode, points = _mode(primitive), _attributes(primitive).get("POSITION")
        if mode not in _TRIANGLES_OF:
            yield _KINDS.get(mode, "primitives of an unknown mode")
        elif points is None:
            yield "primitives without positions"
        elif problem:
            yield self._compressed(glb_draco.EXTENSION, problem)
        else:
            accessors = [points, *([primitive["indices"]] if "indices" in primitive else [])]
            compressed = [(one, reason) for one in accessors if (reason := self.file.decoding_problem(one))]
            if compressed:
                number, reason = compressed[0]
                yield self._compressed(self.file.compression(number), reason)
            elif 0 <= self.file.length(accessors[-1]) < _LEAST:
                yield "primitives without triangles"
        if "targets" in primitive:
            yield _MORPH_TARGETS

    def _compressed(self, name: str, reason: str) -> str:
        """Triangles that cannot be decoded, as what is not read."""
        what = f"triangles compressed with {name}"
        self._reasons[what] = reason
        return what

    def _part(self, mesh: int, primitive: dict[str, Any], stretch: Array) -> MeshPart:
        points = self.file.array(_attributes(primitive).get("POSITION"), 3)
        self._count_size(len(points))
        triangles = self._triangles(mesh, primitive, len(points))
        if np.linalg.det(stretch) < 0.0:
            triangles = np.ascontiguousarray(triangles[:, ::-1])
        sizes = np.diag(stretch)
        is_plain = np.array_equal(stretch, np.diag(sizes))
        vertices = points.astype(np.float64) * sizes if is_plain else points.astype(np.float64) @ stretch.T
        if not np.isfinite(vertices).all():
            raise MalformedGltfError(f"mesh {mesh} has vertices that are not finite")
        uvs = self._texture_coordinates(mesh, primitive, triangles, len(points))
        geometry = TriMesh(np.ascontiguousarray(vertices), triangles, uvs=uvs)
        return MeshPart(geometry, self._color(primitive), self._material(primitive))

    def _triangles(self, mesh: int, primitive: dict[str, Any], points: int) -> Triangles:
        mode = _mode(primitive)
        if "indices" in primitive:
            indices = self.file.array(primitive["indices"], 1).ravel()
            self._count_size(len(indices) // (3 if mode == _TRIANGLES else 1))
            indices = indices.astype(np.int64)
        else:
            self._count_size(0 if mode == _TRIANGLES else points)
            indices = np.arange(points, dtype=np.int64)
        if (mode == _TRIANGLES and len(indices) % 3) or not 0 <= indices.min() <= indices.max() < points:
            raise MalformedGltfError(f"the indices of mesh {mesh} do not fit its vertices")
        return _TRIANGLES_OF[mode](indices)

    def _texture_coordinates(
        self, mesh: int, primitive: dict[str, Any], triangles: Triangles, count: int
    ) -> Array | None:
        stated = self._surface(primitive).get("baseColorTexture")
        if set_name(stated) not in _attributes(primitive):
            return None
        self._count_size(count)
        self._count_size(len(triangles) * 2)
        found = read_coordinates(self.file, primitive, stated, triangles, count)
        if found is None:
            self.report("GL105.places", self.numbers["meshes", mesh], mesh=mesh)
        return found

    def _surface(self, primitive: dict[str, Any]) -> dict[str, Any]:
        """What the material of a primitive states about its surface."""
        number, materials = primitive.get("material"), self.file.rows("materials")
        if type(number) is not int or not 0 <= number < len(materials):
            return {}
        found = materials[number].get("pbrMetallicRoughness")
        return found if isinstance(found, dict) else {}

    def _count_size(self, rows: int) -> None:
        """Count rows of three numbers before they are created.  Raises MalformedGltfError."""
        self._size += 24 * rows
        if self._size > self._most:
            raise MalformedGltfError(f"its meshes and their scaled copies need more than {self._most // 2**20} MB")

    def _material(self, primitive: dict[str, Any]) -> Material | None:
        """The roughness and metalness that a file states; in our own files, only those of the scene."""
        number, materials = primitive.get("material"), self.file.rows("materials")
        if not isinstance(number, int) or not 0 <= number < len(materials):
            return None
        surface = self._surface(primitive)
        values: list[Any] = [surface.get(name) for name in ("roughnessFactor", "metallicFactor")]
        if self.is_own:
            stated = [*str(materials[number].get("name", "")).split()[4:], "-", "-"]
            values = [None if text == "-" else value for text, value in zip(stated, values, strict=False)]
        rough, metal = (float(value) if are_numbers([value], 1) and 0.0 <= value <= 1.0 else None for value in values)
        made = Material(rough, metal, self._texture(surface))
        return made if made != Material() else None

    def _texture(self, surface: dict[str, Any]) -> Texture | None:
        found = color_image(self.file, surface)
        if found is None:
            return None
        if found.uri:
            self.images.add(found.number)
            return self._files.locate(Texture(unquote(found.uri), found.repeat))
        try:
            name = name_inside(self.file, found.number)
        except ImageError as problem:
            self.problems[found.number] = str(problem)
            return None
        texture = self._files.locate_inside(Texture(name, found.repeat), name)
        if texture.path is None:
            self.problems[found.number] = "it is inside a document that is not a file"
            return None
        self.images.add(found.number)
        return texture

    def _color(self, primitive: dict[str, Any]) -> Color | None:
        number = primitive.get("material")
        materials = self.file.rows("materials")
        if not isinstance(number, int) or not 0 <= number < len(materials):
            return None
        surface = self._surface(primitive)
        factor = surface.get("baseColorFactor", [1.0, 1.0, 1.0, 1.0])
        if not are_numbers(factor, 4):
            raise MalformedGltfError(f"the colour of material {number} is not four numbers")
        r, g, b, a = np.round(linear_to_srgb(np.clip(factor, 0.0, 1.0)), 7).tolist()
        return (r, g, b, a)


_LEAST = 3
"""The least number of vertices of a primitive with triangles."""


def _of_list(indices: Triangles) -> Triangles:
    return indices.reshape(-1, 3)


def _of_strip(indices: Triangles) -> Triangles:
    """Each vertex makes a triangle with the two before it; every second one runs the other way round."""
    found = np.stack([indices[:-2], indices[1:-1], indices[2:]], axis=1)
    found[1::2, [1, 2]] = found[1::2, [2, 1]]
    return _with_area(found)


def _of_fan(indices: Triangles) -> Triangles:
    """Each vertex makes a triangle with the one before it and the first one."""
    return _with_area(np.stack([indices[1:-1], indices[2:], np.full(len(indices) - 2, indices[0])], axis=1))


def _with_area(triangles: Triangles) -> Triangles:
    """The triangles whose corners are three vertices: strips repeat vertices to connect their parts."""
    a, b, c = triangles.T
    found: Triangles = np.ascontiguousarray(triangles[(a != b) & (b != c) & (c != a)])
    return found


_TRIANGLES_OF: dict[int, Callable[[Triangles], Triangles]] = {_TRIANGLES: _of_list, _STRIP: _of_strip, _FAN: _of_fan}
"""The triangles of the vertices of a primitive, by its mode."""


def _mode(primitive: dict[str, Any]) -> int:
    """What a primitive draws; -1 if it is invalid."""
    found = primitive.get("mode", _TRIANGLES)
    return found if type(found) is int else -1


def _attributes(primitive: dict[str, Any]) -> dict[str, Any]:
    found = primitive.get("attributes")
    return found if isinstance(found, dict) else {}


def rows_in(owner: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list in an object."""
    found = owner.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def are_numbers(values: Any, count: int) -> bool:
    """Whether a value is a list of so many numbers."""
    return isinstance(values, list) and len(values) == count and all(map(is_finite_number, values))
