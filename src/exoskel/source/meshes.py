"""Mesh files: their extents and triangles.

Files that expand to far more than they contain are read in a child process with limits on time and memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from math import inf
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from lxml import etree
from msgspec import Struct, structs
from numpy.typing import NDArray

from exoskel.diagnostics import printable
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.pose import Vector
from exoskel.scene.shape import Bounds, Geometry, Mesh, TriMesh, kind_of
from exoskel.source import file_lookup, mesh_parsing
from exoskel.source.child_process import ChildFailedError, ChildProcess
from exoskel.source.document import Document
from exoskel.source.file_access import read_referenced
from exoskel.source.file_lookup import Location, SearchPaths, working_folder_exists
from exoskel.source.glb_instances import EXTENSION as INSTANCES
from exoskel.source.glb_instances import has_instances
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.markup import format_number
from exoskel.source.mesh_packages import GLB, PACKAGES, glb_of, glb_without_textures
from exoskel.source.mesh_parsing import (
    FORMATS,
    ColoredTriangles,
    MeshError,
    TexturedTriangles,
    Triangles,
    most_triangles,
    parse_extent,
    parse_triangles,
)
from exoskel.source.textures import TextureFinder
from exoskel.source.well_formedness import MalformedError
from exoskel.spatial import Array

__all__ = ["GLB", "PACKAGES", "MeshError", "Triangles"]

T = TypeVar("T")
Images = tuple[NDArray[np.uint8], ...]
"""Images of meshes, `(height, width, 3)` each, from the top."""


class ComplexMeshError(MeshError):
    """A mesh takes too much time or memory to read."""


def mesh_extent(
    path: Path, limits: Limits = DEFAULT_LIMITS, within: Path | None = None, *, is_patient: bool = True
) -> Bounds:
    """The corners of the bounding box of all triangles, in metres.

    The transforms and the unit of the file are applied, but not its up axis: as in DART.  With `within`, the file must
    be in that folder.  If `is_patient` is not set, files that may take long are refused.
    """
    return _extent(*read_mesh_data(path, limits, within), is_patient)


def _extent(data: bytes, kind: str, is_patient: bool = True) -> Bounds:
    data = glb_without_textures(data) if kind == GLB else data
    if check_expansion(data, kind):
        return parse_extent(data, kind)
    if not is_patient:
        raise ComplexMeshError("it is complex, and reading other meshes of the document took too long")
    return ask_child(mesh_parsing.EXTENT, data, kind, mesh_parsing.receive_extent)


def load_triangles(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[Array, Triangles]:
    """All triangles of a file: vertices in metres, transformed as in `mesh_extent`, and vertex numbers."""
    vertices, faces, _ = load_colored_triangles(path, limits)
    return vertices, faces


def load_colored_triangles(path: Path, limits: Limits = DEFAULT_LIMITS, within: Path | None = None) -> ColoredTriangles:
    """All triangles of a file with the colours of the vertices, `(n, 4)` from 0 to 1, if the file has any.

    Faces with their own colours get their own vertices.
    """
    data, kind = read_mesh_data(path, limits, within)
    data = glb_without_textures(data) if kind == GLB else data
    if check_expansion(data, kind):
        return parse_triangles(data, kind)
    return ask_child(mesh_parsing.TRIANGLES, data, kind, mesh_parsing.receive_triangles)


def read_mesh_file(path: Path, limits: Limits = DEFAULT_LIMITS, within: Path | None = None) -> bytes:
    """The bytes of a file, of a GLB file for packages; raises MeshError if it is not a mesh with triangles."""
    data, kind = read_mesh_data(path, limits, within)
    _extent(data, kind)
    return data


def read_mesh_data(path: Path, limits: Limits, within: Path | None) -> tuple[bytes, str]:
    """The content of a file, and the extension of its format without the dot; a package becomes GLB."""
    try:
        data = read_referenced(path, limits.mesh_bytes, within)
    except (OSError, ValueError) as error:
        raise MeshError((isinstance(error, OSError) and error.strerror) or str(error)) from None
    if len(data) > limits.mesh_bytes:
        raise MeshError(f"it exceeds the limit of {limits.mesh_bytes} bytes")
    kind = path.suffix.lower().lstrip(".")
    if kind in PACKAGES:
        return glb_of(data, kind, path.parent, limits, within), GLB
    if kind not in FORMATS:
        if kind in _CONVERTERS:
            raise MeshError(f"'{kind}' is not read; {_CONVERTERS[kind]} converts it")
        raise MeshError(f"'{printable(kind)}' files are not supported")
    return data, kind


_CONVERTERS = {
    **dict.fromkeys(("3ds", "ac", "ase", "b3d", "lwo", "ms3d", "x"), "Assimp"),
    **dict.fromkeys(("blend", "dxf", "fbx", "wrl", "x3d"), "Blender"),
}
"""Extensions of meshes that DART reads through Assimp, and Exoskel does not read, with programs that convert them."""


def ask_child(task: str, data: bytes, kind: str, receive: Callable[[IO[bytes]], T | None], materials: bytes = b"") -> T:
    """Let a child process read a file.  One that was too complex is not tried again."""
    import hashlib

    digest = hashlib.blake2b(data).digest()
    if digest in _TOO_COMPLEX:
        raise ComplexMeshError(_TOO_COMPLEX[digest])
    child = ChildProcess(mesh_parsing.__name__, mesh_parsing.ENVIRONMENT)
    try:
        request = mesh_parsing.request(task, data, kind, materials)
        return child.request(request, receive, mesh_parsing.wall_seconds(len(data)))
    except (mesh_parsing.TooMuchMemoryError, ChildFailedError) as error:
        reason = str(error) if not isinstance(error, ChildFailedError) else f"it is too complex: {error}"
        if len(_TOO_COMPLEX) < _MOST_REMEMBERED:
            _TOO_COMPLEX[digest] = reason
        raise ComplexMeshError(reason) from None
    finally:
        child.close()


_TOO_COMPLEX: dict[bytes, str] = {}
"""Why files were too complex, by the digest of their content: for their extents, and again for their triangles."""
_MOST_REMEMBERED = 1000


def obj_bytes(points: Array, triangles: Triangles, uvs: Array | None = None) -> bytes:
    """An OBJ file with all digits; more than three columns are colours of the vertices.

    `uvs` are the places of all corners of the triangles on an image.
    """
    lines = [f"v {' '.join(map(format_number, point))}\n" for point in points.tolist()]
    if uvs is None:
        lines += [f"f {a} {b} {c}\n" for a, b, c in (triangles + 1).tolist()]
        return "".join(lines).encode()
    places, numbers = np.unique(uvs, axis=0, return_inverse=True)
    lines += [f"vt {format_number(u)} {format_number(v)}\n" for u, v in places.tolist()]
    rows = np.stack([triangles.ravel(), numbers.ravel()], axis=1).reshape(-1, 6) + 1
    lines += [f"f {a}/{i} {b}/{j} {c}/{k}\n" for a, i, b, j, c, k in rows.tolist()]
    return "".join(lines).encode()


class TriangleBudget:
    """How many triangles may be written to one document: a file of a few bytes may be used again and again."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._written = 0

    def spend(self, path: str, count: int) -> None:
        """Count the triangles of a file that is written.  Raises MeshError if there are too many in total."""
        if path not in self._sizes:
            with suppress(OSError):
                self._sizes[path] = os.path.getsize(path)
        size = sum(self._sizes.values())
        if self._written + count > most_triangles(size):
            total = self._written + count
            raise MeshError(f"{total} triangles in total; the limit is {most_triangles(size)}")
        self._written += count


class MeshFiles:
    """Triangles of meshes in files and in the scene; each file is read once."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, within: Path | None = None) -> None:
        self._limits = limits
        self._within = within
        self._read: dict[str, ColoredTriangles | MeshError] = {}
        self._scaled: dict[str, tuple[Vector, ColoredTriangles]] = {}
        """Each file at the scale that was asked for last."""

    def triangles(self, geometry: Geometry) -> tuple[Array, Triangles] | None:
        """Scaled vertices and counter-clockwise faces; None if it is not a mesh or cannot be read."""
        try:
            vertices, faces, _ = self.colored_triangles(geometry)
        except MeshError:
            return None
        return vertices, faces

    def colored_triangles(self, geometry: Geometry) -> ColoredTriangles:
        """Scaled vertices, counter-clockwise faces and colours.  Raises MeshError if it cannot be read."""
        match geometry:
            case TriMesh(vertices=vertices, triangles=faces):
                return vertices, faces, None
            case Mesh(path=str(path), scale=scale):
                return self._scaled_file(path, scale)
            case Mesh(uri=uri):
                raise MeshError(f"the file '{printable(uri)}' was not found")
            case _:
                raise MeshError(f"a {kind_of(geometry)} is not a mesh")

    def textured_triangles(self, geometry: Geometry) -> tuple[TexturedTriangles, Images]:
        """The same with the images of the triangles; here without images.  Raises MeshError if it cannot be read."""
        vertices, faces, colors = self.colored_triangles(geometry)
        if isinstance(geometry, TriMesh) and geometry.uvs is not None:
            own = np.arange(faces.size, dtype=np.int64).reshape(-1, 3)
            none = np.full(len(faces), -1, dtype=np.int64)
            return TexturedTriangles(vertices[faces.ravel()], own, colors, geometry.uvs, none), ()
        nowhere, none = np.zeros((len(vertices), 2)), np.full(len(faces), -1, dtype=np.int64)
        return TexturedTriangles(vertices, faces, colors, nowhere, none), ()

    def _scaled_file(self, path: str, scale: Vector) -> ColoredTriangles:
        if path not in self._scaled or self._scaled[path][0] != scale:
            vertices, faces, colors = self._file(path)
            # Mirroring reverses the orientation of triangles.
            oriented = faces[:, ::-1] if np.prod(scale) < 0.0 else faces
            self._scaled[path] = scale, (vertices * np.array(scale), oriented, colors)
        return self._scaled[path][1]

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
        self.textures = TextureFinder(location, paths)

    def locate(self, mesh: Mesh) -> Mesh:
        """The mesh with the path and extent of its file, or with None for both if the file is not found."""
        path = file_lookup.find_file(mesh.uri, self._location, self._paths).path
        if path is None:
            return structs.replace(mesh, path=None, extent=None)
        extent = self._extents.find(str(path))
        return structs.replace(mesh, path=str(path), extent=None if isinstance(extent, str) else extent)


def locate_from_working_folder(mesh: Mesh) -> Mesh:
    """A mesh that a program builds, with the path and extent of its file if there is one."""
    location = Location(os.path.abspath("scene"), is_base=True) if working_folder_exists() else Location()
    with no_edits():
        return MeshFinder(location, SearchPaths(), DEFAULT_LIMITS).locate(mesh)


# --- how much a file expands to -----------------------------------------------------------------------


_MEGABYTE = 2**20


class Expansion(Struct, frozen=True):
    """What a reader makes of a file.

    `parts` are separate geometries, `size` is in bytes of the file, and `items` are the elements of its structure that
    take time on their own.
    """

    parts: float = 1.0
    size: float = 0.0
    items: float = 0.0


_SIMPLE = Expansion(256.0, _MEGABYTE, 20_000.0)
"""The limits for reading in this process; in addition, `size` may be four times that of the file."""
_LARGEST = Expansion(10_000.0, 256.0 * _MEGABYTE)
"""The limits for reading at all; there may also be a part per 1,000 bytes, and `size` may be 64 times the file's."""


def check_expansion(data: bytes, kind: str) -> bool:
    """Whether a file is simple: reading it needs no limits.  Raises MeshError if it expands to more than is read.

    A few bytes can stand for much: geometry that is instanced again and again, overlapping views of a buffer, or
    thousands of materials.  Ordinary files contain about what they expand to.
    """
    found = _ESTIMATES[kind](data)
    most_parts = _LARGEST.parts + len(data) / 1000.0
    if found.parts > most_parts:
        raise MeshError(f"it expands to {_count(found.parts)} parts; the limit is {_count(most_parts)}")
    most_size = _LARGEST.size + 64.0 * len(data)
    if found.size > most_size:
        raise MeshError(f"it expands to {_count(found.size)} bytes; the limit is {_count(most_size)}")
    return (
        found.parts <= _SIMPLE.parts and found.size <= _SIMPLE.size + 4.0 * len(data) and found.items <= _SIMPLE.items
    )


def _count(number: float) -> str:
    return f"{number:.0f}" if number < 1e15 else f"{number:.1e}"


# --- OBJ, STL, PLY, OFF -------------------------------------------------------------------------------


_MATERIAL = re.compile(rb"usemtl[ \t]+([^\r\n]*)")


def _estimate_obj(data: bytes) -> Expansion:
    """A part for each material; every part takes time for all vertices."""
    if _has_few(data, b"u") and _has_few(data, b"o") and _has_few(data, b"g"):  # most files; found faster than words
        return Expansion()
    uses = data.count(b"usemtl")
    items = float(uses + data.count(b"\no ") + data.count(b"\ng "))
    if uses <= _SIMPLE.parts:
        return Expansion(items=items)
    parts = len(set(_MATERIAL.findall(data)))
    return Expansion(parts, 0.0, items)


_FEW = 80
"""Of a letter.  Three letters together are fewer than the parts of a simple file."""


def _has_few(data: bytes, letter: bytes) -> bool:
    at = -1
    for _ in range(_FEW):
        at = data.find(letter, at + 1)
        if at < 0:
            return True
    return False


_STL_HEAD, _STL_FACE = 84, 50


def _estimate_stl(data: bytes) -> Expansion:
    """A part for each solid of a text file."""
    faces = int.from_bytes(data[80:84], "little")
    if len(data) == _STL_HEAD + _STL_FACE * faces:
        return Expansion()
    return Expansion(parts=float(data.lower().count(b"endsolid")))


_MAX_PROPERTIES = 60


def _estimate_ply(data: bytes) -> Expansion:
    """The reader takes time for each property of each row, and much of it for edges."""
    header = data[: max(data.find(b"end_header"), 0)]
    is_odd = header.count(b"\n") > _MAX_PROPERTIES or b"edge" in header
    return Expansion(items=inf if is_odd else 0.0)


def _estimate_off(data: bytes) -> Expansion:
    return Expansion()


# --- glTF ---------------------------------------------------------------------------------------------


_COMPONENT_SIZES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_JSON_CHUNK = 20


def _estimate_glb(data: bytes) -> Expansion:
    """Views of buffers, accessors, primitives that use them, and nodes that use meshes."""
    import json

    text = data[_JSON_CHUNK : _JSON_CHUNK + int.from_bytes(data[12:16], "little")]
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        return Expansion()  # trimesh gives the reason
    views = sum(_whole(view, "byteLength") for view in _rows(header, "bufferViews"))
    sizes = [_accessor_size(one) for one in _rows(header, "accessors")]
    meshes = [[_primitive_size(p, sizes) for p in _rows(mesh, "primitives")] for mesh in _rows(header, "meshes")]
    parts, size = float(sum(map(len, meshes))), sum(map(sum, meshes))
    for node in _rows(header, "nodes"):
        number = node.get("mesh")
        if type(number) is int and 0 <= number < len(meshes):
            copies = _instances(node, header)
            parts, size = parts + copies * len(meshes[number]), size + copies * sum(meshes[number])
    is_compressed = b"_compression" in text
    items = inf if is_compressed else text.count(b"{") + _edges(header)
    return Expansion(parts, views + sum(sizes) + size, items)


def _instances(node: dict[str, Any], header: Any) -> float:
    """How often the mesh of a node is drawn."""
    if not has_instances(node):
        return 1.0
    stated = node["extensions"][INSTANCES]
    named = stated.get("attributes") if isinstance(stated, dict) else None
    accessors = _rows(header, "accessors")
    numbers = list(named.values()) if isinstance(named, dict) else []
    used = [accessors[one] for one in numbers if type(one) is int and 0 <= one < len(accessors)]
    return max((_whole(one, "count") for one in used), default=1.0)


def _edges(header: Any) -> int:
    """How often nodes are named by other nodes and by scenes: a few nodes can name each other very often."""
    named = [one.get(of) for name, of in (("nodes", "children"), ("scenes", "nodes")) for one in _rows(header, name)]
    return sum(len(one) for one in named if isinstance(one, list))


def _rows(owner: Any, name: str) -> list[dict[str, Any]]:
    found = owner.get(name) if isinstance(owner, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _whole(owner: dict[str, Any], name: str) -> float:
    """A count; 0 if it is absent."""
    value = owner.get(name, 0)
    if not isinstance(value, int) or value < 0:
        raise MeshError(f"its {name} is not a whole number")
    return float(min(value, 10**18))


def _accessor_size(accessor: dict[str, Any]) -> float:
    kind, component = accessor.get("type"), accessor.get("componentType")
    columns = _COMPONENTS.get(kind, 16) if isinstance(kind, str) else 16
    return _whole(accessor, "count") * columns * (_COMPONENT_SIZES.get(component, 8) if type(component) is int else 8)


def _primitive_size(primitive: dict[str, Any], sizes: list[float]) -> float:
    attributes = primitive.get("attributes")
    used = [*(attributes.values() if isinstance(attributes, dict) else ()), primitive.get("indices")]
    return sum(sizes[number] for number in used if type(number) is int and -len(sizes) <= number < len(sizes))


# --- COLLADA ------------------------------------------------------------------------------------------


_INSTANCE_ITEMS = 100
"""The reader looks for an instanced node again and again until it has been read."""


def _estimate_dae(data: bytes) -> Expansion:
    """The instances of each geometry, through all nodes that instance each other."""
    import zipfile

    if zipfile.is_zipfile(BytesIO(data)):
        raise MeshError("archives are not supported")
    try:
        root = Document(data).parse()
    except MalformedError as problem:
        raise MeshError(f"it is malformed: {problem.located_reason}") from None
    elements = [(_local(one.tag), one) for one in root.iter(etree.Element)]
    sizes = {one.get("id", ""): _geometry_size(one) for tag, one in elements if tag == "geometry"}
    parts, size = _Instances([one for tag, one in elements if tag == "node"], sizes).total()
    polygons = sum(_polygon_corners(one) for tag, one in elements if tag == "vcount")
    items = len(elements) + _INSTANCE_ITEMS * sum(tag == "instance_node" for tag, _ in elements)
    return Expansion(parts, size + (polygons if polygons > len(data) else 0.0), float(items))


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _geometry_size(geometry: Any) -> tuple[float, float]:
    """The number of primitives, and the bytes of their indices."""
    indices = [len(one.text or "") for one in geometry.iter(etree.Element) if _local(one.tag) in ("p", "v", "h")]
    return float(max(1, len(indices))), float(sum(indices))


_DIGITS = re.compile(r"[0-9]+")


def _polygon_corners(element: Any) -> float:
    """The sum of all numbers in a text, whatever else it contains."""
    text = element.text or ""
    try:
        return float(np.nansum(np.abs(np.fromstring(text, sep=" ", dtype=np.float64))))
    except ValueError:  # not only numbers
        return sum(map(float, _DIGITS.findall(text)))


class _Instances:
    """Counts the instances of geometry below nodes; a node that is instanced often is counted once."""

    def __init__(self, nodes: list[Any], sizes: dict[str, tuple[float, float]]) -> None:
        self._nodes = nodes
        self._by_id = {one.get("id", ""): one for one in nodes}
        self._sizes = sizes
        self._totals: dict[Any, tuple[float, float]] = {}

    def total(self) -> tuple[float, float]:
        """The numbers of parts and of bytes in all scenes."""
        for node in self._nodes:
            self._count(node)
        tops = [one for one in self._nodes if _local(one.getparent().tag) == "visual_scene"]
        return sum(self._totals[one][0] for one in tops), sum(self._totals[one][1] for one in tops)

    def _count(self, node: Any) -> None:
        """Count a node after all nodes that it contains, without recursion."""
        waiting = [node]
        entered: set[Any] = set()
        while waiting:
            current = waiting[-1]
            if current in self._totals:
                waiting.pop()
            elif current in entered:
                self._totals[current] = self._sum(current)
                waiting.pop()
            else:
                entered.add(current)
                inner = [one for one in self._inner(current) if one not in self._totals]
                if any(one in entered for one in inner):
                    raise MeshError("its nodes contain themselves")
                waiting += inner

    def _inner(self, node: Any) -> Iterator[Any]:
        for child in node.iterchildren(etree.Element):
            tag = _local(child.tag)
            if tag == "node":
                yield child
            elif tag == "instance_node" and (target := self._by_id.get(_target(child))) is not None:
                yield target

    def _sum(self, node: Any) -> tuple[float, float]:
        found = [self._totals[one] for one in self._inner(node)]
        for child in node.iterchildren(etree.Element):
            tag = _local(child.tag)
            if tag in ("instance_geometry", "instance_controller"):
                found.append(self._sizes.get(_target(child), (1.0, 0.0)))
            elif tag == "instance_node":  # it takes time without geometry too
                found.append((1.0, 0.0))
        return sum(one[0] for one in found), sum(one[1] for one in found)


def _target(instance: Any) -> str:
    found: str = instance.get("url", "").removeprefix("#")
    return found


_ESTIMATES: dict[str, Callable[[bytes], Expansion]] = {
    "obj": _estimate_obj,
    "stl": _estimate_stl,
    "ply": _estimate_ply,
    "off": _estimate_off,
    "glb": _estimate_glb,
    "dae": _estimate_dae,
}
