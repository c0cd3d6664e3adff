"""The child process that reads a complex mesh file, with limits on its time and memory.

A request is a line of JSON and the bytes of the file.  An answer is a line of JSON, and for triangles their arrays.
"""

from __future__ import annotations

import json
import os
import sys
from typing import IO, Any

import numpy as np

from exoskel.scene.shape import Bounds
from exoskel.source.child_process import limit_memory, limit_processor_time
from exoskel.source.mesh_parsing import ColoredTriangles, MeshError, MeshMemoryError, parse_extent, parse_triangles

EXTENT, TRIANGLES = "extent", "triangles"
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Threads reserve memory, which counts towards the limit."""
_MEGABYTE = 2**20
_MEMORY = 1200 * _MEGABYTE
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


# --- the parent's side --------------------------------------------------------------------------------


def request(task: str, data: bytes, kind: str) -> bytes:
    """The request to read a file."""
    return json.dumps({"task": task, "kind": kind, "size": len(data)}).encode() + b"\n" + data


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


def _receive(stream: IO[bytes]) -> dict[str, Any] | None:
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    answer: dict[str, Any] = json.loads(line)
    if "memory" in answer:
        raise TooMuchMemoryError(f"it needs more than {answer['memory'] // _MEGABYTE} MB of memory")
    if "failed" in answer:
        raise MeshError(answer["failed"])
    return answer


def _receive_array(stream: IO[bytes], rows: int | None, columns: int, kind: type[np.generic]) -> Any:
    """Read an array of `rows` rows.  Returns None if `rows` is None, and after the process has ended."""
    if rows is None:
        return None
    size = rows * columns * np.dtype(kind).itemsize
    content = stream.read(size)
    return np.frombuffer(bytearray(content), dtype=kind).reshape(rows, columns) if len(content) == size else None


# --- the worker ---------------------------------------------------------------------------------------


def _answer(task: str, data: bytes, kind: str, output: IO[bytes]) -> None:
    if task == EXTENT:
        _send(output, {"extent": parse_extent(data, kind)})
        return
    vertices, faces, colors = parse_triangles(data, kind)
    rows = {"vertices": len(vertices), "faces": len(faces), "colors": None if colors is None else len(colors)}
    _send(output, rows)
    for array in (vertices, faces, colors):
        if array is not None:
            output.write(np.ascontiguousarray(array).data)
    output.flush()


def _send(output: IO[bytes], content: dict[str, Any]) -> None:
    output.write(json.dumps(content).encode() + b"\n")
    output.flush()


def main() -> None:
    """Read one file."""
    output = os.fdopen(os.dup(1), "wb")  # libraries may print to standard output
    os.dup2(2, 1)
    wanted = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read(wanted["size"])
    limit_memory(memory_limit(len(data)))
    limit_processor_time(processor_seconds(len(data)))
    try:
        _answer(wanted["task"], data, wanted["kind"], output)
    except (MeshMemoryError, MemoryError):
        _send(output, {"memory": memory_limit(len(data))})
    except MeshError as error:
        _send(output, {"failed": str(error)})


if __name__ == "__main__":
    main()
