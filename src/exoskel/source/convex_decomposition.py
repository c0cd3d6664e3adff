"""Convex decomposition of meshes by CoACD, in a child process: it can take minutes, and crash.

Results are kept in the cache folder of the user, by the content of the mesh.  A message between the processes, and a
file of the cache, is a line of JSON with the numbers of vertices and triangles of each part, and then their arrays.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from copy import copy
from importlib import util
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.item import unique_name
from exoskel.scene.merge import copy_world
from exoskel.scene.shape import Mesh, Shape, TriMesh
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World
from exoskel.source.atomic_write import TemporaryFolder, WriteError, write_atomically
from exoskel.source.child_process import ChildFailedError, ChildProcess
from exoskel.source.file_access import read_referenced
from exoskel.source.meshes import MeshError, MeshFiles, Triangles, obj_bytes
from exoskel.source.surface import MAX_SLABS, has_hollows
from exoskel.spatial import Array

DECOMPOSITION_PASS = "shapes.convex_parts"
THRESHOLD = 0.05
"""CoACD's bound on the concavity of a part, relative to the size of the mesh."""
_SECONDS = 1800.0
_MOST_CACHED = 2**28
_MOST_ROWS = 50_000_000
ConvexMeshes = list[tuple[Array, Triangles]]
"""Vertices and triangles of convex meshes."""


# --- the pass ------------------------------------------------------------------------------------------


class DecomposedWorld(Struct, frozen=True):
    """A copy of a world in which convex parts replace the concave meshes that collide.

    `parts` are the shapes that replace each mesh, with the triangles of the mesh itself.  Bodies without visual shapes
    show the shapes that they had.  Mass properties stay as they were.
    """

    world: World
    parts: list[tuple[list[Shape], tuple[Array, Triangles]]]


def decompose_meshes(world: World, meshes: MeshFiles, files: PartFiles | None = None) -> DecomposedWorld:
    """Decompose the meshes of moving bodies, and static ones that are too large to be divided into triangles.

    With `files`, each part is a mesh file.  Raises ExoskelError if CoACD is missing or fails.
    """
    found = DecomposedWorld(copy_world(world), [])
    for model in found.world.models:
        for body in model.bodies:
            _decompose_body(body, model.static, meshes, files, found)
    return found


def decomposed(scene: Scene) -> Scene:
    """The scene with convex parts instead of concave meshes, for an engine that collides convex hulls."""
    meshes = MeshFiles()
    with no_edits():
        worlds = [decompose_meshes(world, meshes).world for world in scene.worlds]
    return structs.replace(scene, worlds=worlds)


def _decompose_body(
    body: Body, static: bool, meshes: MeshFiles, files: PartFiles | None, found: DecomposedWorld
) -> None:
    before, count = list(body.collisions), len(found.parts)
    made: list[Shape] = []
    for shape in before:
        triangles = meshes.triangles(shape.geometry) if shape.collidable else None
        is_small = triangles is not None and static and len(triangles[1]) <= MAX_SLABS
        if triangles is None or is_small or not has_hollows(*triangles):
            made.append(shape)
            continue
        try:
            parts = _shapes(shape, decompose(*triangles), files)
        except MeshError as error:
            raise ExoskelError(f"a mesh of body {body.name!r} cannot be decomposed: {error}") from None
        found.parts.append((parts, triangles))
        made += parts
    if len(found.parts) == count:
        return
    if body.inertia.derived:
        mass_moment = tuple(moments([body])[0].tolist())
        body.inertia = structs.replace(body.inertia, com=body.com, moment=mass_moment)
    if not body.visuals:
        body.visuals = [structs.replace(copy(shape), node=-1, document=-1) for shape in before]
    body.collisions = made


def _shapes(shape: Shape, parts: ConvexMeshes, files: PartFiles | None) -> list[Shape]:
    """One shape for each part; the first one has the name and the element of the shape itself."""
    stem = Path(shape.geometry.uri).stem if isinstance(shape.geometry, Mesh) else shape.name or "mesh"
    made: list[Shape] = []
    for number, (vertices, triangles) in enumerate(parts):
        part = copy(shape)
        part.geometry = TriMesh(vertices, triangles) if files is None else files.add(stem, vertices, triangles)
        if number:
            part.node = part.document = -1
            part.name = f"{shape.name}_{number + 1}" if shape.name else ""
        made.append(part)
    return made


class PartFiles:
    """Writes parts as OBJ files to a temporary folder, for formats that refer to mesh files."""

    def __init__(self) -> None:
        self._folder = TemporaryFolder()
        self._names: set[str] = set()
        self.paths: set[str] = set()

    def add(self, stem: str, vertices: Array, triangles: Triangles) -> Mesh:
        """The mesh of a new file."""
        name = unique_name(f"{stem}_part", self._names)
        self._names.add(name)
        path = self._folder.path / f"{name}.obj"
        path.write_bytes(obj_bytes(vertices, triangles))
        self.paths.add(str(path.resolve()))
        return Mesh(f"{name}.obj", path=str(path.resolve()), extent=TriMesh(vertices, triangles).bounds())


# --- decomposition -------------------------------------------------------------------------------------


def decompose(vertices: Array, triangles: Triangles) -> ConvexMeshes:
    """The convex parts of a mesh, from the cache if it was decomposed before.

    Raises MeshError if CoACD fails, and ExoskelError if it is not installed.
    """
    if util.find_spec("coacd") is None:
        raise ExoskelError(
            "convex decomposition needs CoACD: pip install 'exoskel[decompose]' (wheels exist for Linux, Windows on "
            "x86-64, and macOS)"
        )
    request = _encode([(vertices, triangles)])
    path = _cache_file(request)
    found = _cached(path)
    if found is None:
        found = _ask(request)
        with suppress(WriteError, OSError):  # a cache is not needed
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, _encode(found))
    return found


def _ask(request: bytes) -> ConvexMeshes:
    child = ChildProcess(__name__)
    try:
        return child.request(request, _decode, _SECONDS)
    except ChildFailedError as error:
        raise MeshError(f"CoACD failed: {error}") from None
    finally:
        child.close()


def _cache_file(request: bytes) -> Path:
    import hashlib  # it loads OpenSSL
    from importlib import metadata  # it loads modules for e-mail

    given = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA", "") if os.name == "nt" else "")
    try:
        version = metadata.version("coacd")
    except metadata.PackageNotFoundError:
        version = ""
    key = hashlib.sha256(f"{version} {THRESHOLD}\n".encode() + request).hexdigest()
    return Path(given or os.path.expanduser("~/.cache")) / "exoskel" / "convex_parts" / key


def _cached(path: Path) -> ConvexMeshes | None:
    """The parts in a file of the cache; None if it is missing or damaged."""
    try:
        return _decode(BytesIO(read_referenced(path, _MOST_CACHED)))
    except (OSError, ValueError, KeyError, TypeError, MeshError):
        return None


def _encode(parts: ConvexMeshes) -> bytes:
    head = json.dumps({"parts": [[len(vertices), len(triangles)] for vertices, triangles in parts]}).encode()
    arrays = [
        np.ascontiguousarray(array, dtype=kind).tobytes()
        for part in parts
        for array, kind in zip(part, ("<f8", "<i8"), strict=True)
    ]
    return b"\n".join([head, b"".join(arrays)])


def _decode(stream: IO[bytes]) -> ConvexMeshes | None:
    """The parts in a message; None if it is incomplete.  Raises MeshError with the reason if it has no parts."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    head: dict[str, Any] = json.loads(line)
    if "failed" in head:
        raise MeshError(f"CoACD failed: {head['failed']}")
    found: ConvexMeshes = []
    for rows, faces in head["parts"]:
        vertices, triangles = _receive(stream, rows, "<f8"), _receive(stream, faces, "<i8")
        if vertices is None or triangles is None:
            return None
        if not len(triangles) or not np.isfinite(vertices).all() or triangles.min() < 0 or triangles.max() >= rows:
            raise MeshError("CoACD failed: a part is not a mesh")
        found.append((vertices, triangles))
    if not found:
        raise MeshError("CoACD found no part with a volume")
    return found


def _receive(stream: IO[bytes], rows: int, kind: str) -> NDArray[Any] | None:
    size = rows * 3 * 8
    content = stream.read(size) if 0 <= rows < _MOST_ROWS else b""
    return np.frombuffer(bytearray(content), dtype=kind).reshape(rows, 3) if len(content) == size else None


def main() -> None:
    """Decompose one mesh."""
    output = os.fdopen(os.dup(1), "wb")  # libraries may print to standard output
    os.dup2(2, 1)
    try:
        import coacd

        given = _decode(sys.stdin.buffer)
        assert given is not None
        coacd.set_log_level("error")
        found = coacd.run_coacd(coacd.Mesh(*given[0]), threshold=THRESHOLD, seed=0)
        answer = _encode([(np.asarray(vertices), np.asarray(triangles)) for vertices, triangles in found])
    except Exception as error:
        answer = json.dumps({"failed": str(error) or type(error).__name__}).encode() + b"\n"
    output.write(answer)
    output.flush()


if __name__ == "__main__":
    main()
