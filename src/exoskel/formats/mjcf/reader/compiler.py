"""MuJoCo's compiler, in this process or, for large documents, in a child process with limits on time and memory.

Its time grows with the square of the number of bodies, and a few bytes can ask for any number of them.  A request is
the document; an answer is the compiled model, and what else a reader needs to know about its elements.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterable
from math import ceil
from typing import IO, Any

import msgspec
import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf import mujoco_import
from exoskel.source.child_process import (
    ChildFailedError,
    ChildLateError,
    ChildProcess,
    limit_memory,
    limit_processor_time,
)

MAX_COST_IN_PROCESS = 4000.0
"""The number of elements, after expansion, from which on a child process compiles: about half a second of work."""
_MEGABYTE = 1_000_000
_MAX_SECONDS_IN_PROCESS = 1.0
_SLACK = 1.25
"""How much longer than allowed a document may take whose estimated time is within the limit."""
_MEMORY, _MEMORY_PER_BYTE = 1200 * 2**20, 100
_ARENA = 64 * 2**20
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Threads reserve memory, which counts towards the limit."""
_MAX_SECONDS = 10_000_000.0
_START_SECONDS = 20.0
"""The time to start on a busy machine."""
_ALLOCATION_ERRNO = "unknown error in attribute"
"""What MuJoCo says when an allocation succeeds at the second attempt and leaves errno set while it reads numbers.

Threads allocate from heaps that reserve 128 MB of address space; where that is limited, the C library then falls back
to smaller mappings.  The main thread does not need to.
"""
_OUT_OF_MEMORY = ("allocate memory", "bad_alloc", _ALLOCATION_ERRNO)
"""What MuJoCo's messages contain then, in the main thread of a child process."""
_LENGTH = 8
_LINE = re.compile(r"line (\d+)")


class CompilerError(Exception):
    """MuJoCo rejects the document; the message is its own."""


class CompilerTimeError(Exception):
    """MuJoCo needs too much time; the message is the limit."""


class CompilerMemoryError(Exception):
    """MuJoCo needs too much memory; the message is the limit."""


class PartRow(Struct, array_like=True, gc=False):
    """Number, name and line of an element; line 0: MuJoCo does not know it."""

    number: int
    name: str
    line: int


class CompilerOutput(Struct):
    """The elements of a compiled document by kind, and more that a model does not contain.

    `framed_meshes` are meshes whose asset changes their frame, `full_inertias` the six stated moments by body.
    """

    parts: dict[str, list[PartRow]]
    framed_meshes: set[str]
    full_inertias: dict[int, list[float]]
    warnings: list[str]
    model: Any = None


class Workload(Struct, frozen=True):
    """What MuJoCo has to compile, after expansion.

    `elements` includes the points of generated meshes.  `entries` are those of the sparse mass matrix.
    """

    elements: float
    bodies: float = 0.0
    dofs: float = 0.0
    entries: float = 0.0

    @property
    def seconds(self) -> float:
        """The least processor time that MuJoCo needs for the inverse masses of all bodies and coordinates.

        For each body it multiplies six rows as long as the number of coordinates, and solves with the mass matrix; for
        each coordinate it solves once more.
        """
        return 3e-8 * self.bodies * self.dofs + 1.8e-9 * (6.0 * self.bodies + self.dofs) * self.entries


class _Request(Struct):
    text: str
    assets: dict[str, bytes]
    seconds: float


class _Answer(Struct):
    output: CompilerOutput | None = None
    model: bytes = b""
    problem: str = ""
    lacks_memory: bool = False


def compile_document(text: str, assets: dict[str, bytes], work: Workload, seconds: float) -> CompilerOutput:
    """Compile a document in `seconds` of processor time, or more if it has more than a megabyte.

    A document that needs more according to the estimate is refused at once.  Raises CompilerError, CompilerTimeError or
    CompilerMemoryError.
    """
    allowed = allowed_seconds(text, seconds)
    if work.seconds > allowed:
        raise CompilerTimeError(f"{allowed:g} s")
    if work.elements <= MAX_COST_IN_PROCESS and work.seconds <= _MAX_SECONDS_IN_PROCESS:
        try:
            return _compile(text, assets)
        except CompilerError as problem:
            if _ALLOCATION_ERRNO not in str(problem):
                raise
    return _compile_in_child(_Request(text, assets, allowed))


def allowed_seconds(text: str, seconds: float) -> float:
    """The processor time for a document: more for one of more than a megabyte."""
    return min(max(seconds * max(1.0, len(text) / _MEGABYTE) ** 2, 1.0), _MAX_SECONDS)


def _compile(text: str, assets: dict[str, bytes], *, arena: int = 0) -> CompilerOutput:
    """Compile in this process.

    With `arena`, this is a child process: it reserves only so many bytes for a simulation, which is not needed, and
    compiles in its main thread, because it ends anyway.
    """
    mujoco = mujoco_import.load()
    mujoco.set_mju_user_warning(_ignore)  # the default writes a file to the working directory

    def work() -> tuple[Any, Any]:
        spec = mujoco.MjSpec.from_string(text, assets=assets)
        # A scene does not support muscles; computing their length range would take a simulation.
        spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE
        if not arena:
            return spec, spec.compile()
        spec.memory = arena
        flags = spec.option.disableflags
        spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        model = spec.compile()
        model.opt.disableflags = flags
        return spec, model

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spec, model = work() if arena else mujoco_import.run_in_thread(work)
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as problem:
        raise CompilerError(str(problem)) from None
    return _describe(spec, model, [str(one.message).partition("\n")[0] for one in caught])


def _describe(spec: Any, model: Any, warned: list[str]) -> CompilerOutput:
    bodies = _bodies(spec)
    kinds: dict[str, Iterable[Any]] = {
        "bodies": bodies,
        "joints": (one for body in bodies for one in body.joints),
        "geoms": (one for body in bodies for one in body.geoms),
        "sites": (one for body in bodies for one in body.sites),
        "tendons": spec.tendons,
        "actuators": spec.actuators,
        "equalities": spec.equalities,
        "excludes": spec.excludes,
        "meshes": spec.meshes,
    }
    return CompilerOutput(
        {kind: [_row(one) for one in found] for kind, found in kinds.items()},
        {str(mesh.name) for mesh in spec.meshes if _has_frame(mesh)},
        {int(body.id): body.fullinertia.tolist() for body in bodies if body.explicitinertial},
        warned,
        model,
    )


def _row(one: Any) -> PartRow:
    found = _LINE.search(str(one.info))
    return PartRow(int(one.id), str(one.name), int(found[1]) if found else 0)


def _bodies(spec: Any) -> list[Any]:
    """All bodies, found by traversing the tree: MuJoCo's own list takes quadratic time."""
    found = [spec.worldbody]
    for body in found:
        found += body.bodies
    return found


def _has_frame(mesh: Any) -> bool:
    return any(mesh.refpos) or abs(mesh.refquat[0]) != 1.0


def _ignore(_message: str) -> None:
    """The reader itself reports what warnings of the compiler are about."""


# --- in a child process -------------------------------------------------------------------------------


def _memory(request: _Request) -> int:
    """The memory limit in bytes."""
    return _MEMORY + _MEMORY_PER_BYTE * (len(request.text) + sum(map(len, request.assets.values())))


def _compile_in_child(request: _Request) -> CompilerOutput:
    content = msgspec.msgpack.encode(request)
    child = ChildProcess(__name__, _ENVIRONMENT)
    try:
        content = len(content).to_bytes(_LENGTH, "big") + content
        answer = child.request(content, _receive, _START_SECONDS + 4.0 * request.seconds)
    except ChildLateError:
        raise CompilerTimeError(f"{request.seconds:g} s") from None
    except ChildFailedError as error:
        raise CompilerError(str(error)) from None
    finally:
        child.close()
    if answer.lacks_memory:
        raise CompilerMemoryError(f"{_memory(request) // 2**20} MB")
    if answer.output is None:
        raise CompilerError(answer.problem)
    mujoco = mujoco_import.load()
    answer.output.model = mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": answer.model})
    return answer.output


def _receive(stream: IO[bytes]) -> _Answer | None:
    """The answer; None if the process ended."""
    content = stream.read()
    return msgspec.msgpack.decode(content, type=_Answer) if content else None


def _answer(request: _Request) -> _Answer:
    try:
        output = _compile(request.text, request.assets, arena=_ARENA)
    except CompilerError as problem:
        return _Answer(problem=str(problem), lacks_memory=any(one in str(problem) for one in _OUT_OF_MEMORY))
    model, output.model = output.model, None
    mujoco = mujoco_import.load()
    content = np.empty(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, content)
    return _Answer(output, content.tobytes())


def main() -> None:
    """Compile one document."""
    output = os.fdopen(os.dup(1), "wb")  # MuJoCo may print to standard output
    os.dup2(2, 1)
    size = int.from_bytes(sys.stdin.buffer.read(_LENGTH), "big")
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(size), type=_Request)
    limit_memory(_memory(request))
    limit_processor_time(ceil(_SLACK * request.seconds))
    try:
        answer = _answer(request)
    except MemoryError:
        answer = _Answer(lacks_memory=True)
    with output:
        output.write(msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main()
