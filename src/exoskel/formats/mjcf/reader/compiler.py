"""MuJoCo's compiler, in this process or, for large documents, in a child process with limits on time and memory.

Its time grows with the square of the number of bodies, and a few bytes can ask for any number of them.  A request is
the document; an answer is the compiled model, and what else a reader needs to know about its elements.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
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


class PartText(Struct):
    """A part of a document: start and end tags by line, and the lines of the whole document that these are.

    `bodies` are the numbers of its bodies in the whole document.  `inertials` are the lines of bodies whose inertia is
    that of a body of the whole document, by its number there.  A complete part has joints and shapes.
    """

    lines: list[tuple[str, str]]
    places: list[int]
    bodies: list[int]
    inertials: dict[int, int]
    is_complete: bool = False

    @property
    def size(self) -> int:
        return sum(len(start) + len(ends) for start, ends in self.lines)

    def text(self, inertia: dict[int, list[float]]) -> str:
        """The text, with the inertia of bodies by their numbers in the whole document."""
        starts = [start for start, _ in self.lines]
        for line, body in self.inertials.items():
            starts[line] += _inertial(inertia[body])
        return "\n".join(start + ends for start, (_, ends) in zip(starts, self.lines, strict=True))


def _inertial(values: list[float]) -> str:
    mass, x, y, z, qw, qx, qy, qz, xx, yy, zz = map(repr, values)
    return f'<inertial mass="{mass}" pos="{x} {y} {z}" quat="{qw} {qx} {qy} {qz}" diaginertia="{xx} {yy} {zz}"/>'


def _inertia(model: Any) -> list[list[float]]:
    """Mass, centre of mass, orientation and moments of all bodies but the world."""
    columns = (model.body_mass[:, None], model.body_ipos, model.body_iquat, model.body_inertia)
    rows: list[list[float]] = np.concatenate(columns, axis=1)[1:].tolist()
    return rows


class _CompileRequest(Struct):
    """A document, or its parts: without joints, of which the first has all assets, and with them."""

    text: str
    assets: dict[str, bytes]
    seconds: float
    jointless: list[PartText] = []
    parts: list[PartText] = []


class _CompileAnswer(Struct):
    outputs: list[CompilerOutput] = []
    models: list[bytes] = []
    problem: str = ""
    lacks_memory: bool = False


def compile_document(text: str, assets: dict[str, bytes], work: Workload, seconds: float) -> CompilerOutput:
    """Compile a document in `seconds` of processor time, or more if it has more than a megabyte.

    A document that needs more according to the estimate is refused at once.  Raises CompilerError, CompilerTimeError or
    CompilerMemoryError.
    """
    allowed = allowed_seconds(len(text), seconds)
    if work.seconds > allowed:
        raise CompilerTimeError(f"{allowed:g} s")
    if not is_large(work):
        try:
            return _compile(text, assets)
        except CompilerError as problem:
            if _ALLOCATION_ERRNO not in str(problem):
                raise
    return _compile_in_child(_CompileRequest(text, assets, allowed))[0]


def compile_parts(
    jointless: list[PartText],
    parts: list[PartText],
    assets: dict[str, bytes],
    needed: float,
    seconds: float,
    *,
    is_own: bool = False,
) -> tuple[list[CompilerOutput], list[CompilerOutput]]:
    """Compile a document in parts, in a child process or, for a document of this process, here.

    `jointless` is the document without joints, `needed` the least processor time in s.  Raises the same errors as
    `compile_document`.
    """
    texts = [*jointless, *parts]
    allowed = allowed_seconds(sum(part.size for part in texts), seconds)
    if needed > allowed:
        raise CompilerTimeError(f"{allowed:g} s")
    request = _CompileRequest("", assets, allowed, jointless, parts)
    outputs = _compile_here(request) if is_own else _compile_in_child(request)
    for part, output in zip(texts, outputs, strict=True):
        for row in (row for rows in output.parts.values() for row in rows):
            row.line = part.places[row.line - 1] if row.line else 0
    return outputs[: len(jointless)], outputs[len(jointless) :]


def is_large(work: Workload) -> bool:
    """Whether a document is compiled in a child process."""
    return work.elements > MAX_COST_IN_PROCESS or work.seconds > _MAX_SECONDS_IN_PROCESS


def allowed_seconds(size: int, seconds: float) -> float:
    """The processor time for a document of some bytes: more for one of more than a megabyte."""
    return min(max(seconds * max(1.0, size / _MEGABYTE) ** 2, 1.0), _MAX_SECONDS)


def _compile_here(request: _CompileRequest) -> list[CompilerOutput]:
    """Compile parts in this process, which takes a twelfth less time for a whole conversion than a child process.

    The limit on time is checked after each part.  Memory is not limited.
    """
    end = time.process_time() + request.seconds

    def work() -> list[CompilerOutput]:
        outputs: list[CompilerOutput] = []
        for output in _outputs(request):
            outputs.append(output)
            if time.process_time() > end:
                raise CompilerTimeError(f"{request.seconds:g} s")
        return outputs

    return mujoco_import.run_in_thread(work)


def parse_document(text: str) -> str:
    """What MuJoCo says about a document that it does not parse; empty if it does.  Nothing is compiled."""
    mujoco = mujoco_import.load()
    try:
        mujoco_import.run_in_thread(lambda: mujoco.MjSpec.from_string(text))
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as problem:
        return str(problem)
    return ""


def _compile(text: str, assets: dict[str, bytes], *, arena: int = 0) -> CompilerOutput:
    """Compile in this process.

    With `arena`, only so many bytes are reserved for a simulation, which is not needed, and the calling thread, which
    ends soon, compiles.
    """
    mujoco = mujoco_import.load()
    mujoco.set_mju_user_warning(_ignore)  # the default writes a file to the working directory

    def work() -> tuple[Any, Any]:
        # Meshes of deformable bodies are read with the document, not when it is compiled.
        read = {"include": assets} if assets and "<flexcomp " in text else {}
        spec = mujoco.MjSpec.from_string(text, assets=assets, **read)
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
        "cameras": (one for body in bodies for one in body.cameras),
        "lights": (one for body in bodies for one in body.lights),
        "keys": spec.keys,
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


def _memory(request: _CompileRequest) -> int:
    """The memory limit in bytes."""
    size = sum(part.size for part in (*request.jointless, *request.parts))
    return _MEMORY + _MEMORY_PER_BYTE * (len(request.text) + size + sum(map(len, request.assets.values())))


def _compile_in_child(request: _CompileRequest) -> list[CompilerOutput]:
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
    if not answer.outputs:
        raise CompilerError(answer.problem)
    mujoco = mujoco_import.load()
    for output, content in zip(answer.outputs, answer.models, strict=True):
        output.model = mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": content})
    return answer.outputs


def _receive(stream: IO[bytes]) -> _CompileAnswer | None:
    """The answer; None if the process ended."""
    content = stream.read()
    return msgspec.msgpack.decode(content, type=_CompileAnswer) if content else None


def _answer(request: _CompileRequest) -> _CompileAnswer:
    try:
        outputs = list(_outputs(request))
    except CompilerError as problem:
        return _CompileAnswer(problem=str(problem), lacks_memory=any(one in str(problem) for one in _OUT_OF_MEMORY))
    models = [_as_bytes(output.model) for output in outputs]
    for output in outputs:
        output.model = None
    return _CompileAnswer(outputs, models)


def _outputs(request: _CompileRequest) -> Iterator[CompilerOutput]:
    if not request.jointless:
        yield _compile(request.text, request.assets, arena=_ARENA)
    assets, inertia = request.assets, dict[int, list[float]]()
    for part in request.jointless:
        output = _compile(part.text({}), assets, arena=_ARENA)
        inertia.update(zip(part.bodies, _inertia(output.model), strict=True))
        assets = {}
        yield output
    for part in request.parts:
        yield _compile(part.text(inertia), {}, arena=_ARENA)


def _as_bytes(model: Any) -> bytes:
    mujoco = mujoco_import.load()
    content = np.empty(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, content)
    return content.tobytes()


def main() -> None:
    """Compile one document."""
    output = os.fdopen(os.dup(1), "wb")  # MuJoCo may print to standard output
    os.dup2(2, 1)
    size = int.from_bytes(sys.stdin.buffer.read(_LENGTH), "big")
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(size), type=_CompileRequest)
    limit_memory(_memory(request))
    limit_processor_time(ceil(_SLACK * request.seconds))
    try:
        answer = _answer(request)
    except MemoryError:
        answer = _CompileAnswer(lacks_memory=True)
    with output:
        output.write(msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main()
