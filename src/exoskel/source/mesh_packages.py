"""Meshes of several files: text glTF with its buffers, and 3MF archives, as one binary glTF file (GLB).

What is read then has the limits of GLB.  Buffers are files that the document names: they are opened and confined like
any other.
"""

from __future__ import annotations

import binascii
import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from exoskel.source.document import Document
from exoskel.source.file_access import read_referenced
from exoskel.source.glb import glb_parts, header_bytes, join_glb
from exoskel.source.limits import Limits
from exoskel.source.mesh_parsing import MeshError
from exoskel.source.well_formedness import MalformedError
from exoskel.spatial import Array

GLB = "glb"
_COMPRESSION = "_meshopt_compression"


def glb_of(data: bytes, kind: str, folder: Path, limits: Limits, within: Path | None) -> bytes:
    """The GLB file with the same triangles as a file of one of the `PACKAGES`, which is in `folder`."""
    return PACKAGES[kind](data, folder, limits, within)


# --- text glTF ----------------------------------------------------------------------------------------


_MAX_BUFFERS = 1000


def _gltf_as_glb(data: bytes, folder: Path, limits: Limits, within: Path | None) -> bytes:
    """Join all buffers; textures have no effect on triangles and are not read."""
    header = _gltf_header(data)
    _drop_textures(header)
    return _joined_gltf(header, folder, limits, within)


def gltf_with_images(
    path: Path, limits: Limits, read_image: Callable[[str], bytes | None], within: Path | None = None
) -> bytes:
    """The GLB file of a text glTF file with its images; `read_image` reads those in other files."""
    try:
        data = read_referenced(path, limits.mesh_bytes, within)
    except (OSError, ValueError) as error:
        raise MeshError((isinstance(error, OSError) and error.strerror) or str(error)) from None
    header = _gltf_header(data)
    for image in _rows(header, "images"):
        uri = image.get("uri")
        if isinstance(uri, str) and not uri.startswith("data:"):
            content = read_image(uri)
            image["uri"] = "data:," if content is None else "data:image;base64," + b64encode(content).decode()
    return _joined_gltf(header, path.parent, limits, within)


def _gltf_header(data: bytes) -> dict[str, Any]:
    import json

    try:
        header = json.loads(data)
    except (ValueError, RecursionError):
        raise MeshError("it is malformed: it is not JSON") from None
    if not isinstance(header, dict):
        raise MeshError("it is malformed: it is not a JSON object")
    return header


def _joined_gltf(header: dict[str, Any], folder: Path, limits: Limits, within: Path | None) -> bytes:
    joined = _join_buffers(header, folder, limits, within)
    header["buffers"] = [{"byteLength": len(joined)}]
    return join_glb(header, joined)


def _drop_textures(header: dict[str, Any]) -> None:
    """Remove all images, which a reader would decode, and what refers to them."""
    for name in ("images", "textures", "samplers"):
        header.pop(name, None)
    waiting: list[Any] = _rows(header, "materials")
    while waiting:
        owner = waiting.pop()
        for name in [name for name in owner if name.endswith("Texture")]:
            del owner[name]
        waiting += [one for one in owner.values() if isinstance(one, dict)]


def glb_without_textures(data: bytes) -> bytes:
    """A GLB file without its images, which have no effect on triangles; with some extensions trimesh decodes them."""
    if b'"images"' not in header_bytes(data):
        return data
    header, binary = glb_parts(data)
    if header is None:
        return data  # trimesh gives the reason
    _drop_textures(header)
    return join_glb(header, binary)


def _rows(owner: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = owner.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def glb_with_one_buffer(data: bytes, folder: Path, limits: Limits, within: Path | None) -> bytes:
    """A GLB file whose other buffers are in its binary part; in the file, they are in the text or in other files."""
    if b'"uri"' not in header_bytes(data):
        return data
    header, binary = glb_parts(data)
    if header is None or not any("uri" in one for one in _rows(header, "buffers")):
        return data
    joined = _join_buffers(header, folder, limits, within, binary)
    header["buffers"] = [{"byteLength": len(joined)}]
    return join_glb(header, joined)


def _join_buffers(
    header: dict[str, Any], folder: Path, limits: Limits, within: Path | None, binary: bytes | None = None
) -> bytes:
    """The bytes of all buffers; views refer to the joined buffer afterwards.

    `binary` is the content of the first buffer, if it has no URI.
    """
    buffers, empty = _rows(header, "buffers"), _fallback_buffers(header)
    if len(buffers) > _MAX_BUFFERS:
        raise MeshError(f"it has {len(buffers)} buffers; the limit is {_MAX_BUFFERS}")
    known: dict[str, int] = {}
    starts: list[int | None] = []
    joined = bytearray()
    for place, buffer in enumerate(buffers):
        uri = buffer.get("uri")
        if uri is None and not starts and binary is not None:
            starts.append(0)
            joined += binary + b"\0" * (-len(binary) % 4)
            continue
        if uri is None and place in empty:
            starts.append(None)
            continue
        if not isinstance(uri, str):
            raise MeshError("it is malformed: a buffer has no uri")
        path = uri if uri.startswith("data:") else os.path.normpath(folder / unquote(uri))
        if path not in known:  # a file that is named again has no bytes of its own
            known[path] = len(joined)
            joined += buffer_content(uri, folder, limits.mesh_bytes - len(joined), within)
            joined += b"\0" * (-len(joined) % 4)
        starts.append(known[path])
    for view in [*_rows(header, "bufferViews"), *(stated for _, stated in _compressed_views(header))]:
        number, offset = view.get("buffer"), view.get("byteOffset", 0)
        if type(number) is not int or not 0 <= number < len(starts) or type(offset) is not int or offset < 0:
            raise MeshError("it is malformed: a view refers to a missing buffer")
        start = starts[number]
        is_empty = start is None  # and there is no second buffer
        view.update({"buffer": 1} if is_empty else {"buffer": 0, "byteOffset": (start or 0) + offset})
    return bytes(joined)


def _compressed_views(header: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The compressed views, and what their extensions state about the compressed bytes."""
    for view in _rows(header, "bufferViews"):
        extensions = view.get("extensions")
        for name, stated in extensions.items() if isinstance(extensions, dict) else ():
            if name.endswith(_COMPRESSION) and isinstance(stated, dict):
                yield view, stated


def _fallback_buffers(header: dict[str, Any]) -> set[int]:
    """The numbers of buffers that stand for what compressed views contain: those only need not have a file."""
    found = {view["buffer"] for view, _ in _compressed_views(header) if type(view.get("buffer")) is int}
    for number, buffer in enumerate(_rows(header, "buffers")):
        extensions = buffer.get("extensions")
        if isinstance(extensions, dict) and any(name.endswith(_COMPRESSION) for name in extensions):
            found.add(number)
    return found - {stated.get("buffer") for _, stated in _compressed_views(header)}


def buffer_content(uri: str, folder: Path, most: int, within: Path | None) -> bytes:
    """The content of a buffer that a text file in a folder refers to.  Raises MeshError."""
    if uri.startswith("data:"):
        data = _data_of(uri)
    elif "://" in uri or uri.startswith("file:"):
        raise MeshError("a buffer is not a file beside it")
    else:
        try:
            data = read_referenced(folder / unquote(uri), max(most, 0), within or folder)
        except FileNotFoundError:
            raise MeshError("a buffer is missing") from None
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or str(error)
            raise MeshError(f"a buffer: {reason.removeprefix('it is ')}") from None
    if len(data) > most:
        raise MeshError("its buffers exceed the limit of mesh_bytes")
    return data


def _data_of(uri: str) -> bytes:
    import base64

    head, _, text = uri.partition(",")
    if not head.endswith(";base64"):
        raise MeshError("it is malformed: a data URI is not in base64")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MeshError("it is malformed: a data URI is not in base64") from None


# --- 3MF ----------------------------------------------------------------------------------------------


_MAX_UNPACKED, _MAX_RATIO = 12 * 2**20, 10
"""The model of an archive may have this number of bytes, and in addition this number for each byte of the archive."""
_METRES = {"micron": 1e-6, "millimeter": 1e-3, "centimeter": 1e-2, "inch": 0.0254, "foot": 0.3048, "meter": 1.0}
_MAX_NODES, _MAX_NESTING = 100_000, 50
_FLOAT, _UNSIGNED = 5126, 5125


def _3mf_as_glb(data: bytes, folder: Path, limits: Limits, within: Path | None) -> bytes:
    try:
        root = Document(_unpacked_model(data, limits)).parse()
    except MalformedError as problem:
        raise MeshError(f"it is malformed: {problem.located_reason}") from None
    return _Package3mf(root).glb()


def _unpacked_model(data: bytes, limits: Limits) -> bytes:
    """The bytes of the model in an archive; not more are unpacked than the limit."""
    import zipfile

    most = min(limits.mesh_bytes, _MAX_UNPACKED + _MAX_RATIO * len(data))
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            found = [one for one in archive.infolist() if one.filename.lower().endswith(".model")]
            found.sort(key=lambda one: one.filename.lower().lstrip("/") != "3d/3dmodel.model")
            if not found:
                raise MeshError("it has no model")
            if found[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or found[0].flag_bits & 1:
                raise MeshError("it is compressed or encrypted in a way that is not supported")
            with archive.open(found[0]) as model:
                unpacked = model.read(most + 1)
    except MeshError:
        raise
    except Exception:  # zipfile raises many kinds
        raise MeshError("it is malformed: it is not a zip archive") from None
    if len(unpacked) > most:
        raise MeshError(f"its model has more than {most} bytes")
    return unpacked


class _Package3mf:
    """The objects of a 3MF model, which are placed by its build items and by components of each other."""

    def __init__(self, root: Any) -> None:
        self._objects = {one.get("id", ""): one for one in root.iter("{*}object")}
        self._items = list(root.iter("{*}item"))
        unit = root.get("unit", "millimeter")
        if unit not in _METRES:
            raise MeshError("its unit is invalid")
        self._scale = _METRES[unit]
        self._binary = bytearray()
        self._views: list[dict[str, Any]] = []
        self._accessors: list[dict[str, Any]] = []
        self._meshes: list[dict[str, Any]] = []
        self._numbers: dict[str, int | None] = {}
        self._components: dict[str, list[Any]] = {}
        self._nodes: list[dict[str, Any]] = []

    def glb(self) -> bytes:
        top = {"scale": [self._scale] * 3, "children": [self._place(item, 0) for item in self._items]}
        if not top["children"]:
            raise MeshError("it has no triangles")
        self._nodes.append(top)
        header = {
            "asset": {"version": "2.0"},
            "buffers": [{"byteLength": len(self._binary)}],
            "bufferViews": self._views,
            "accessors": self._accessors,
            "meshes": self._meshes,
            "nodes": self._nodes,
            "scenes": [{"nodes": [len(self._nodes) - 1]}],
            "scene": 0,
        }
        return join_glb(header, bytes(self._binary))

    def _place(self, use: Any, depth: int) -> int:
        """The number of a new node for an object where a build item or a component puts it."""
        if depth > _MAX_NESTING:
            raise MeshError(f"its components contain themselves, or are nested deeper than {_MAX_NESTING} levels")
        if len(self._nodes) >= _MAX_NODES:
            raise MeshError(f"it expands to more than {_MAX_NODES} parts")
        name = use.get("objectid", "")
        if name not in self._objects:
            raise MeshError("a part refers to a missing object")
        node: dict[str, Any] = {}
        number = len(self._nodes)
        self._nodes.append(node)
        if use.get("transform"):
            node["matrix"] = _matrix(use.get("transform"))
        mesh = self._mesh(name)
        if mesh is not None:
            node["mesh"] = mesh
        if name not in self._components:  # an object may be large, and placed often
            self._components[name] = self._objects[name].findall("{*}components/{*}component")
        children = [self._place(one, depth + 1) for one in self._components[name]]
        if children:
            node["children"] = children
        return number

    def _mesh(self, name: str) -> int | None:
        """The number of the mesh of an object; None if it has no triangles."""
        if name not in self._numbers:
            self._numbers[name] = self._add_mesh(self._objects[name])
        return self._numbers[name]

    def _add_mesh(self, owner: Any) -> int | None:
        points = _table(owner.iterfind("{*}mesh/{*}vertices/{*}vertex"), ("x", "y", "z"))
        corners = _table(owner.iterfind("{*}mesh/{*}triangles/{*}triangle"), ("v1", "v2", "v3"))
        if not len(corners):
            return None
        if not np.isfinite(points).all():
            raise MeshError("it has vertices that are not finite")
        if corners.min() < 0 or corners.max() >= len(points) or not (corners == np.floor(corners)).all():
            raise MeshError("a triangle refers to a missing vertex")
        position = self._add(points.astype("<f4"), _FLOAT, "VEC3")
        indices = self._add(corners.astype("<u4").reshape(-1), _UNSIGNED, "SCALAR")
        self._meshes.append({"primitives": [{"attributes": {"POSITION": position}, "indices": indices}]})
        return len(self._meshes) - 1

    def _add(self, values: Any, component: int, kind: str) -> int:
        content = values.tobytes()
        self._views.append({"buffer": 0, "byteOffset": len(self._binary), "byteLength": len(content)})
        self._binary += content
        made = {"bufferView": len(self._views) - 1, "componentType": component, "count": len(values), "type": kind}
        self._accessors.append(made)
        return len(self._accessors) - 1


def _table(elements: Any, names: tuple[str, str, str]) -> Array:
    """The numbers in three attributes of each element."""
    try:
        numbers = np.fromiter((float(one.get(name, "")) for one in elements for name in names), dtype=np.float64)
    except ValueError:
        raise MeshError("it is malformed: a coordinate is not a number") from None
    return numbers.reshape(-1, 3)


def _matrix(text: str) -> list[float]:
    """The matrix of glTF, column by column, which has the order of the numbers in 3MF, row by row."""
    try:
        numbers = [float(one) for one in text.split()]
    except ValueError:
        numbers = []
    if len(numbers) != 12 or not all(map(isfinite, numbers)):
        raise MeshError("a transform is invalid")
    rows = [numbers[3 * i : 3 * i + 3] for i in range(4)]
    return [*rows[0], 0.0, *rows[1], 0.0, *rows[2], 0.0, *rows[3], 1.0]


PACKAGES: dict[str, Callable[[bytes, Path, Limits, Path | None], bytes]] = {"gltf": _gltf_as_glb, "3mf": _3mf_as_glb}
"""How the formats of several files become GLB, by extension."""
