"""A child process that runs usd-core with limits on time and memory: usd-core can crash on invalid files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from math import ceil
from typing import IO, Generic, TypeVar

import msgspec
from msgspec import Struct

from exoskel.source.child_process import (
    ChildFailedError,
    ChildLateError,
    ChildProcess,
    limit_memory,
    limit_processor_time,
)

_LENGTH = 8
_ENVIRONMENT = {"PXR_WORK_THREAD_LIMIT": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Each thread reserves memory that the limit counts: with many processors, the limit would be reached at once."""
_MEMORY, _MEMORY_PER_BYTE = 1500 * 2**20, 200
_START_SECONDS, _SECONDS, _SECONDS_PER_MEGABYTE = 30.0, 7.0, 2.0
_MEGABYTE = 1_000_000


class StageError(Exception):
    """usd-core cannot open a file; the message is the reason."""


class StageLimitError(Exception):
    """usd-core needs more time or memory than the limit, which is the message."""


class UsdAnswer(Struct, kw_only=True):
    """What a request results in: `problem` is the reason why it has failed."""

    problem: str = ""
    lacks_memory: bool = False


Asked = TypeVar("Asked", bound=Struct)
Answered = TypeVar("Answered", bound=UsdAnswer)


class UsdProcess(Generic[Answered]):
    """Runs a module that calls `answer_requests`."""

    def __init__(self, module: str, kind: type[Answered]) -> None:
        self._child = ChildProcess(module, _ENVIRONMENT)
        self._kind = kind

    def ask(self, request: Struct, size: int) -> Answered:
        """The answer to a request, if the files have `size` bytes.  Raises StageError or StageLimitError."""
        seconds = _seconds(size)
        try:
            answer = self._child.request(_message(request), self._receive, _START_SECONDS + 4.0 * seconds)
        except ChildLateError:
            raise StageLimitError(f"{seconds:g} s") from None
        except ChildFailedError as error:
            raise StageError(str(error)) from None
        if answer.lacks_memory:
            raise StageLimitError(f"{_memory(size) // 2**20} MB of memory")
        if answer.problem:
            raise StageError(answer.problem)
        return answer

    def _receive(self, stream: IO[bytes]) -> Answered | None:
        data = _received(stream)
        return None if data is None else msgspec.msgpack.decode(data, type=self._kind)

    def close(self) -> None:
        """End the process."""
        self._child.close()


def _memory(size: int) -> int:
    """The limit of memory in bytes, for files of a size."""
    return _MEMORY + _MEMORY_PER_BYTE * size


def _seconds(size: int) -> float:
    """The limit of processor time, for files of a size."""
    return _SECONDS + _SECONDS_PER_MEGABYTE * size / _MEGABYTE


def _message(content: Struct) -> bytes:
    data = msgspec.msgpack.encode(content)
    return len(data).to_bytes(_LENGTH, "big") + data


def _received(stream: IO[bytes]) -> bytes | None:
    """The next message; None if the other process ended."""
    head = stream.read(_LENGTH)
    size = int.from_bytes(head, "big")
    data = stream.read(size) if len(head) == _LENGTH else b""
    return data if data and len(data) == size else None


# --- in the child -------------------------------------------------------------------------------------


def answer_requests(
    kind: type[Asked],
    answer: Callable[[Asked], Answered],
    failed: Callable[..., Answered],
    size: Callable[[Asked], int],
    times: float = 1.0,
) -> None:
    """Answer requests of a kind until the other process ends.

    `failed` makes the answer of a request that fails.  `size` is that of all files so far, and `times` multiplies the
    limit of processor time.
    """
    from pxr import Tf

    output = os.fdopen(os.dup(1), "wb")  # usd-core prints warnings
    os.dup2(2, 1)
    with output:
        while (data := _received(sys.stdin.buffer)) is not None:
            request = msgspec.msgpack.decode(data, type=kind)
            bytes_read = size(request)
            limit_memory(_memory(bytes_read))
            limit_processor_time(ceil(times * _seconds(bytes_read)))
            try:
                found = answer(request)
            except MemoryError:
                found = failed(lacks_memory=True)
            except (Tf.ErrorException, UnicodeDecodeError) as problem:
                found = failed(problem=error_reason(problem))
            output.write(_message(found))
            output.flush()


def error_reason(problem: Exception) -> str:
    """What an exception of usd-core says: the text of its last error, with line and column."""
    try:
        stated = str(problem)
    except UnicodeDecodeError:  # it quotes the file
        return "it is not encoded in UTF-8"
    lines = [line for line in stated.splitlines() if line.strip("\t '")] or [type(problem).__name__]
    before, _, after = lines[-1].partition(" : '")
    text = (after or before).strip("\t '")
    text = re.sub(r"parse error matching \S.* at '", "syntax error at '", text)
    return re.sub(r"^(?:[A-Za-z]:)?[^:]*:(\d+):(\d+): ", r"line \1, column \2: ", text)
