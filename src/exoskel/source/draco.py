"""Decode triangles that are compressed with Draco, by DracoPy in a child process with limits on time and memory."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from math import ceil
from typing import IO, Any

import msgspec
import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from exoskel.source.child_process import ChildFailedError, ChildProcess, limit_memory, limit_processor_time

INSTALL = "pip install 'exoskel[draco]'"
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Threads reserve memory, which counts towards the limit."""
_MEMORY, _MEMORY_PER_BYTE = 950 * 2**20, 400
_SECONDS, _SECONDS_PER_MEGABYTE = 6.0, 6.0
_START_SECONDS = 20.0
_LENGTH = 8


class DracoError(Exception):
    """Triangles cannot be decoded; the message is the reason."""


class _DracoArray(Struct, frozen=True):
    """An array with rows: its type, the numbers in a row, and its bytes."""

    kind: str
    width: int
    content: bytes


class _DracoAnswer(Struct):
    """For each block of data its triangles and attributes, or the problem with it."""

    triangles: list[_DracoArray] = field(default_factory=list)
    attributes: list[dict[int, _DracoArray]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class DracoMesh(Struct, frozen=True, eq=False):
    """The vertex numbers of triangles, one per row, and the rows of attributes, by their numbers in the data."""

    indices: NDArray[Any]
    attributes: dict[int, NDArray[Any]]


def is_available() -> bool:
    """Whether DracoPy is installed."""
    return find_spec("DracoPy") is not None


def decode_blocks(blocks: list[bytes]) -> list[DracoMesh | DracoError]:
    """The triangles of each block of data, or the problem with it."""
    size = sum(map(len, blocks))
    child = ChildProcess(__name__, _ENVIRONMENT)
    try:
        answer = child.request(_message(blocks), _receive, _START_SECONDS + 4.0 * _seconds(size))
    except ChildFailedError as error:
        return [DracoError(f"DracoPy failed: {error}")] * len(blocks)
    finally:
        child.close()
    found: list[DracoMesh | DracoError] = []
    for triangles, attributes, problem in zip(answer.triangles, answer.attributes, answer.problems, strict=True):
        rows = {number: _array(one) for number, one in attributes.items()}
        found.append(DracoError(problem) if problem else DracoMesh(_array(triangles).reshape(-1, 1), rows))
    return found


def _seconds(size: int) -> int:
    return ceil(_SECONDS + _SECONDS_PER_MEGABYTE * size / 2**20)


def _array(rows: _DracoArray) -> NDArray[Any]:
    return np.frombuffer(rows.content, rows.kind).reshape(-1, rows.width)


def _message(content: object) -> bytes:
    data = msgspec.msgpack.encode(content)
    return len(data).to_bytes(_LENGTH, "big") + data


def _read(stream: IO[bytes]) -> bytes | None:
    head = stream.read(_LENGTH)
    size = int.from_bytes(head, "big")
    data = stream.read(size) if len(head) == _LENGTH else b""
    return data if len(data) == size and data else None


def _receive(stream: IO[bytes]) -> _DracoAnswer | None:
    data = _read(stream)
    return None if data is None else msgspec.msgpack.decode(data, type=_DracoAnswer)


# --- in the child -------------------------------------------------------------------------------------


def _decode(block: bytes) -> tuple[_DracoArray, dict[int, _DracoArray]]:
    """The triangles and attributes of one block of data."""
    import DracoPy

    mesh = DracoPy.decode(block)
    faces = getattr(mesh, "faces", None)
    if faces is None:
        raise DracoError("it has points and no triangles")
    attributes = {int(one["unique_id"]): _rows(np.asarray(one["data"])) for one in mesh.attributes}
    return _rows(np.asarray(faces).astype("<u4").reshape(-1, 3)), attributes


def _rows(array: NDArray[Any]) -> _DracoArray:
    wide = np.ascontiguousarray(array.reshape(len(array), -1))
    return _DracoArray(wide.dtype.newbyteorder("<").str, wide.shape[1], wide.tobytes())


def _answer(blocks: list[bytes]) -> _DracoAnswer:
    found = _DracoAnswer()
    for block in blocks:
        triangles, attributes, problem = _DracoArray("<u4", 3, b""), dict[int, _DracoArray](), ""
        try:
            triangles, attributes = _decode(block)
        except MemoryError:
            problem = "its data needs too much memory"
        except Exception as error:
            problem = f"its data is invalid: {error}" if str(error) else "its data is invalid"
        found.triangles.append(triangles)
        found.attributes.append(attributes)
        found.problems.append(problem)
    return found


def main() -> None:
    """Decode the blocks of data of one request."""
    output = os.fdopen(os.dup(1), "wb")  # libraries may print to standard output
    os.dup2(2, 1)
    data = _read(sys.stdin.buffer)
    blocks = msgspec.msgpack.decode(data or b"", type=list[bytes])
    size = sum(map(len, blocks))
    limit_memory(_MEMORY + _MEMORY_PER_BYTE * size)
    limit_processor_time(_seconds(size))
    output.write(_message(_answer(blocks)))
    output.flush()


if __name__ == "__main__":
    main()
