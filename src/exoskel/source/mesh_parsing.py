"""Parse the bytes of mesh files and their colours with trimesh, which is imported when the first mesh is parsed.

Complex files are parsed in a child process, with limits on its time and memory.  A request is a line of JSON and the
bytes of the file.  An answer is a line of JSON, and for triangles their arrays.
"""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from typing import IO, Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import ArrayLike, NDArray

from exoskel import spatial
from exoskel.diagnostics import printable
from exoskel.scene.shape import DEFAULT_COLOR, Bounds
from exoskel.source.child_process import limit_memory, limit_processor_time
from exoskel.source.plain_glb import CompressedMeshError, plain_glb
from exoskel.source.plain_obj import plain_obj_extent
from exoskel.spatial import Array


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
ColoredTriangles = tuple[Array, Triangles, "Array | None"]
"""Vertices in metres, vertex numbers, and the colours of the vertices, `(n, 4)` from 0 to 1, if there are any."""


class TexturedTriangles(Struct, frozen=True):
    """Triangles with colours and images: the fields of `ColoredTriangles`, and where the images lie on the triangles.

    `uv` are `(n, 2)` from 0 at the left and bottom of an image to 1; images repeat beyond.  `images` are the numbers of
    the images of the triangles, -1 for none.  `names` are the names of the images in the file.
    """

    vertices: Array
    triangles: Triangles
    colors: Array | None
    uv: Array
    images: Triangles
    names: tuple[str, ...] = ()


class MeshError(Exception):
    """A mesh cannot be used; the message gives the reason."""


class MeshMemoryError(MeshError):
    """A mesh needs more memory than there is."""


def most_triangles(size: int) -> int:
    """How many triangles, or vertices, are used of mesh files of some bytes in total.

    Files of ordinary meshes have far fewer: at least eight bytes for each triangle.
    """
    return int(150_000 * max(1.0, size / 2**20) ** 2)


FORMATS = frozenset({"obj", "stl", "ply", "off", "dae", "glb"})
"""Formats of a single file; `mesh_packages` has the others."""


def _parse(data: bytes, kind: str, files: ImageNumbers | None = None) -> Any:
    """All geometry of a file.  trimesh gets no resolver of files, so that a mesh file cannot load any other file."""
    import logging

    import trimesh

    logging.getLogger("trimesh").setLevel(logging.CRITICAL)
    with _trimesh_errors():
        data = plain_glb(data) if kind == "glb" else data
        given: Any = files
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False, resolver=given)
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
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Pillow, about large images
            yield
    except MeshError:
        raise
    except CompressedMeshError as error:
        raise MeshError(str(error)) from None
    except MemoryError:
        raise MeshMemoryError("it needs more memory than there is") from None
    except Exception as error:
        reason = _reason(error)
        raise MeshError(f"it is malformed: {printable(reason)[:120]}" if reason else "it is malformed") from None


def _reason(error: Exception) -> str:
    """What an exception says about the file.  An IndexError, for example, says nothing about it."""
    for cause in (error, error.__context__):
        if isinstance(cause, SyntaxError):  # lxml's, also under pycollada's own; it gives the line
            return cause.msg
    return str(error) if isinstance(error, ValueError) else ""


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


def parse_extent(data: bytes, kind: str) -> Bounds:
    """The corners of the bounding box of all triangles, as in `meshes.mesh_extent`."""
    plain = plain_obj_extent(data) if kind == "obj" else None
    if plain is not None:
        return plain
    scene = _parse(data, kind)
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


def parse_triangles(data: bytes, kind: str) -> ColoredTriangles:
    """All triangles, as in `meshes.load_colored_triangles`."""
    parsed = _triangles(_parse(data, kind), kind, len(data))
    return parsed.vertices, parsed.triangles, parsed.colors


def parse_textured(data: bytes, kind: str, materials: bytes = b"") -> TexturedTriangles:
    """All triangles, with the images that lie on them; `materials` is the MTL file of an OBJ file.

    Images of a GLB file must be those of `numbered_image`; their names are their numbers.
    """
    files = ImageNumbers(materials)
    found = _triangles(_parse(data, kind, files), kind, len(data))
    if kind == "glb":
        count = int(found.images.max(initial=-1)) + 1
        return structs.replace(found, names=tuple(str(number) for number in range(count)))
    return structs.replace(found, names=tuple(files.names))


def _triangles(scene: Any, kind: str, size: int) -> TexturedTriangles:
    """The triangles of all geometry, transformed, in metres."""
    _check_counts(scene, size)
    parts = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        if len(getattr(scene.geometry[name], "faces", ())):
            with _trimesh_errors():
                vertices, faces, colors, uv, image = _part(scene.geometry[name])
                placed = vertices @ transform[:3, :3].T + transform[:3, 3]
                parts.append((placed, faces, colors, uv, np.full(len(faces), image, dtype=np.int64)))
    if not parts:
        raise MeshError("it has no triangles")
    counts = [len(one[0]) for one in parts]
    vertices = np.concatenate([one[0] for one in parts]) * _metres(str(scene.units))
    faces = np.concatenate([one[1] + first for one, first in zip(parts, np.cumsum([0, *counts]), strict=False)])
    _replace_unused(vertices, faces)
    uv, images = (np.concatenate([one[i] for one in parts]) for i in (3, 4))
    if all(one[2] is None for one in parts):
        return TexturedTriangles(vertices, faces, None, uv, images)
    plain = np.array(DEFAULT_COLOR)
    colors = np.concatenate(
        [np.tile(plain, (count, 1)) if one[2] is None else one[2] for one, count in zip(parts, counts, strict=True)]
    )
    # glTF has linear colours, other files sRGB.
    colors = linear_to_srgb(colors) if kind == "glb" else colors
    return TexturedTriangles(vertices, faces, colors, uv, images)


def _check_counts(scene: Any, size: int) -> None:
    """Raise MeshError if a file has more triangles or vertices than are used; instances count again."""
    used = [scene.geometry[scene.graph[node][1]] for node in scene.graph.nodes_geometry]
    for name, of in (("triangles", "faces"), ("vertices", "vertices")):
        count = sum(len(getattr(geometry, of)) for geometry in used if len(getattr(geometry, "faces", ())))
        if count > most_triangles(size):
            raise MeshError(f"it has {count} {name}; the limit is {most_triangles(size)}")


def _replace_unused(vertices: Array, faces: Triangles) -> None:
    """Make all vertices finite; raises MeshError if a triangle has one that is not."""
    finite = np.asarray(np.isfinite(vertices).all(axis=1))
    if finite.all():
        return
    if not finite[faces].all():
        raise MeshError("it has vertices that are not finite")
    vertices[~finite] = vertices[faces[0, 0]]


def _part(geometry: Any) -> tuple[Array, Triangles, Array | None, Array, int]:
    """Vertices, faces, colours, places on the image, and the number of the image of one geometry of a file."""
    vertices = np.asarray(geometry.vertices, dtype=np.float64)
    faces = np.asarray(geometry.faces, dtype=np.int64)
    visual = geometry.visual
    material = getattr(visual, "material", None)
    nowhere = np.zeros((len(vertices), 2))
    if material is not None:
        uv, image = _image(visual, material, len(vertices))
        color = _material_color(material, image >= 0)
        colors = None if color is None else np.tile(color, (len(vertices), 1))
        return vertices, faces, colors, nowhere if uv is None else uv, image
    if visual.kind == "vertex":
        return vertices, faces, _color(visual.vertex_colors), nowhere, -1
    if visual.kind == "face":
        own = np.arange(faces.size, dtype=np.int64).reshape(-1, 3)
        colors = np.repeat(_color(visual.face_colors), 3, axis=0)
        return vertices[faces.ravel()], own, colors, np.zeros((faces.size, 2)), -1
    return vertices, faces, None, nowhere, -1


def _image(visual: Any, material: Any, count: int) -> tuple[Array | None, int]:
    """The places of vertices on an image, if they are stated, and the number of a material's image; -1 without one."""
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    uv = np.asarray(visual.uv, dtype=np.float64) if getattr(visual, "uv", None) is not None else None
    if uv is None or uv.ndim != 2 or len(uv) != count or uv.shape[1] < 2:
        return None, -1
    has_image = image is not None and image.size == (1, 1)  # trimesh has an image of its own for missing materials
    return np.nan_to_num(uv[:, :2], posinf=0.0, neginf=0.0), image_number(image) if has_image else -1


def _material_color(material: Any, has_image: bool) -> Array | None:
    """The colour of a material, by which its image is multiplied; None if it states none."""
    is_stated = "kd" in material.kwargs if hasattr(material, "diffuse") else material.baseColorFactor is not None
    if not is_stated:  # trimesh would return its own grey
        return np.ones(4) if has_image else None
    color = _color(material.main_color)
    if has_image and not color[:3].any():  # exporters write black beside an image that is not meant to be black
        color[:3] = 1.0
    stated = getattr(material, "kwargs", None) or {}
    for name in ("d", "tr"):  # opacity and transparency of MTL
        with suppress(ValueError, TypeError, IndexError):
            value = float(stated[name][0]) if name in stated else 1.0 if name == "d" else 0.0
            share = min(max(value if name == "d" else 1.0 - value, 0.0), 1.0)
            color[3] *= share
    return color


def _color(bytes_: Any) -> Array:
    return np.asarray(bytes_, dtype=np.float64) / 255.0


# --- images -----------------------------------------------------------------------------------------------


class ImageNumbers:
    """The files that trimesh asks for: the materials of an OBJ file, and for each image a pixel with its number.

    So images are not decoded here; `names` are their names in the file.
    """

    file_name = None

    def __init__(self, materials: bytes) -> None:
        self._materials = materials
        self.names: list[str] = []

    def __getitem__(self, name: str) -> bytes:
        """The material library; OBJ files ask for it in this way."""
        return self._materials

    def get(self, name: str) -> bytes:
        """A pixel with the number of an image."""
        if name not in self.names:
            if len(self.names) >= _MOST_IMAGES:
                raise MeshError(f"it has more than {_MOST_IMAGES} images")
            self.names.append(name)
        return numbered_image(self.names.index(name))


_MOST_IMAGES = 1000


def numbered_image(number: int) -> bytes:
    """A PNG file of one pixel that stands for the image with this number."""
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (1, 1), (number >> 16, number >> 8 & 255, number & 255)).save(file, "PNG")
    return file.getvalue()


def image_number(image: Any) -> int:
    """The number of the image that a pixel stands for."""
    red, green, blue = image.convert("RGB").getpixel((0, 0))
    return int(red) << 16 | int(green) << 8 | int(blue)


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


# --- limits of the child process ----------------------------------------------------------------------


EXTENT, TRIANGLES, TEXTURED = "extent", "triangles", "textured"
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Threads reserve memory, which counts towards the limit."""
_MEGABYTE = 2**20
_MEMORY = 950 * _MEGABYTE
_MEMORY_PER_BYTE = 40
_SECONDS, _SECONDS_PER_MEGABYTE = 6.0, 3.0
_START_SECONDS = 20.0
"""The time to start on a busy machine."""


class TooMuchMemoryError(Exception):
    """A file needs more memory than the limit."""


def memory_limit(size: int) -> int:
    """The memory in bytes for a file of this size."""
    return _MEMORY + _MEMORY_PER_BYTE * size


def processor_seconds(size: int) -> int:
    """The processor time in s for a file of this size."""
    return int(_SECONDS + _SECONDS_PER_MEGABYTE * size / _MEGABYTE)


def wall_seconds(size: int) -> float:
    """The longest wait for an answer in s, on a busy machine too."""
    return _START_SECONDS + 4.0 * processor_seconds(size)


# --- requests and answers --------------------------------------------------------------------------------


def request(task: str, data: bytes, kind: str, materials: bytes = b"") -> bytes:
    """The request to read a file."""
    import json

    head = {"task": task, "kind": kind, "size": len(data), "materials": len(materials)}
    return json.dumps(head).encode() + b"\n" + data + materials


def receive_extent(stream: IO[bytes]) -> Bounds | None:
    """The extent in an answer; None if the process has ended."""
    answer = _receive(stream)
    if answer is None:
        return None
    (x0, y0, z0), (x1, y1, z1) = answer["extent"]
    return ((x0, y0, z0), (x1, y1, z1))


def receive_triangles(stream: IO[bytes]) -> ColoredTriangles | None:
    """The triangles in an answer; None if the process has ended."""
    answer = _receive(stream)
    if answer is None:
        return None
    vertices = _receive_array(stream, answer["vertices"], 3, np.float64)
    faces = _receive_array(stream, answer["faces"], 3, np.int64)
    colors = _receive_array(stream, answer["colors"], 4, np.float64)
    if vertices is None or faces is None:
        return None
    return vertices, faces, colors


def receive_textured(stream: IO[bytes]) -> TexturedTriangles | None:
    """The triangles with images in an answer; None if the process has ended."""
    answer = _receive(stream)
    if answer is None:
        return None
    vertices = _receive_array(stream, answer["vertices"], 3, np.float64)
    faces = _receive_array(stream, answer["faces"], 3, np.int64)
    colors = _receive_array(stream, answer["colors"], 4, np.float64)
    uv = _receive_array(stream, answer["vertices"], 2, np.float64)
    images = _receive_array(stream, answer["faces"], 1, np.int64)
    if vertices is None or faces is None or uv is None or images is None:
        return None
    return TexturedTriangles(vertices, faces, colors, uv, images.ravel(), tuple(map(str, answer["names"])))


def _receive(stream: IO[bytes]) -> dict[str, Any] | None:
    import json

    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    answer: dict[str, Any] = json.loads(line)
    if "memory" in answer:
        raise TooMuchMemoryError(f"it needs more than {answer['memory'] // _MEGABYTE} MB of memory")
    if "failed" in answer:
        raise MeshError(answer["failed"])
    return answer


def _receive_array(stream: IO[bytes], rows: int | None, columns: int, kind: type[np.generic]) -> NDArray[Any] | None:
    """Read an array of `rows` rows.  Returns None if `rows` is None, and after the process has ended."""
    if rows is None:
        return None
    size = rows * columns * np.dtype(kind).itemsize
    content = stream.read(size)
    return np.frombuffer(bytearray(content), dtype=kind).reshape(rows, columns) if len(content) == size else None


# --- the child process ---------------------------------------------------------------------------------------


def _answer(task: str, data: bytes, kind: str, materials: bytes, output: IO[bytes]) -> None:
    if task == EXTENT:
        _send(output, {"extent": parse_extent(data, kind)})
        return
    if task == TEXTURED:
        found = parse_textured(data, kind, materials)
    else:
        found = _triangles(_parse(data, kind), kind, len(data))
    vertices, faces, colors = found.vertices, found.triangles, found.colors
    rows = {"vertices": len(vertices), "faces": len(faces), "colors": None if colors is None else len(colors)}
    _send(output, rows | {"names": found.names})
    for array in (vertices, faces, colors, *((found.uv, found.images) if task == TEXTURED else ())):
        if array is not None:
            output.write(np.ascontiguousarray(array).data)
    output.flush()


def _send(output: IO[bytes], content: dict[str, Any]) -> None:
    import json

    output.write(json.dumps(content).encode() + b"\n")
    output.flush()


def main() -> None:
    """Read one file."""
    import json

    output = os.fdopen(os.dup(1), "wb")  # libraries may print to standard output
    os.dup2(2, 1)
    wanted = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read(wanted["size"])
    materials = sys.stdin.buffer.read(wanted["materials"])
    limit_memory(memory_limit(len(data)))
    limit_processor_time(processor_seconds(len(data)))
    try:
        _answer(wanted["task"], data, wanted["kind"], materials, output)
    except (MeshMemoryError, MemoryError):
        _send(output, {"memory": memory_limit(len(data))})
    except MeshError as error:
        _send(output, {"failed": str(error)})


if __name__ == "__main__":
    main()
