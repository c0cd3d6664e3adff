"""Engines in child processes: a request is a line of JSON, and so is its answer.

`EngineProcess` and `serve` are the two ends of this protocol.  A marker distinguishes answers from what the engine
itself prints on standard output.  As in Python, this JSON has infinity and NaN.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from math import nan
from typing import IO, Any

from exoskel.diagnostics import ExoskelError
from exoskel.source.child_process import ChildFailedError, ChildProcess, limit_memory

JsonObject = dict[str, Any]
_MARKER = b"@"

SECONDS_VARIABLE = "EXOSKEL_ENGINE_SECONDS"
"""The time limit of one answer of an engine, in s."""
BYTES_VARIABLE = "EXOSKEL_ENGINE_BYTES"
"""The memory limit of an engine."""
_SECONDS = 3600.0
_MIN_SECONDS, _MAX_SECONDS = 1.0, 1e9
"""Timers of Python are limited to 292 years."""
_BYTES = 32.0 * 2**30
_MIN_BYTES, _MAX_BYTES = 5e8, 2.0**60
"""Engines need more than 130 MB of address space to start; with less, their messages do not name the reason."""


class EngineProcess:
    """An engine in its own process; `engine` is its name in messages."""

    def __init__(self, engine: str, module: str) -> None:
        self.engine = engine
        for limit in (_seconds, _bytes):  # before anything runs
            limit()
        self._child = ChildProcess(module)

    def ask(self, request: JsonObject) -> JsonObject:
        """The answer to a request; a failure, including a crash, raises ExoskelError and ends the process."""
        try:
            content = json.dumps(request).encode() + b"\n"
            answer = self._child.request(content, _receive, _seconds())
        except ChildFailedError as error:
            answer = {"failed": str(error)}
        if "failed" in answer:
            self.close()
            raise ExoskelError(f"{self.engine} failed: {answer['failed']}")
        return answer

    def close(self) -> None:
        """End the process."""
        self._child.close()


def _receive(stream: IO[bytes]) -> JsonObject | None:
    """The next answer; None if the process ended."""
    for line in stream:
        if line.startswith(_MARKER):
            answer: JsonObject = json.loads(line[len(_MARKER) :])
            return answer
    return None


def _seconds() -> float:
    return _setting(SECONDS_VARIABLE, _SECONDS, _MIN_SECONDS, _MAX_SECONDS)


def _bytes() -> int:
    return int(_setting(BYTES_VARIABLE, _BYTES, _MIN_BYTES, _MAX_BYTES))


def _setting(variable: str, default: float, least: float, most: float) -> float:
    """A limit from the environment, or the default; raises ExoskelError unless it is from `least` to `most`."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not least <= value <= most:
        raise ExoskelError(f"invalid {variable} {text!r}: expected a number from {least:g} to {most:g}")
    return value


def serve(answer: Callable[[JsonObject], JsonObject]) -> None:
    """Answer requests until there are no more: the side of the child process.

    It ignores Ctrl-C, which reaches it too: the parent process decides when to stop.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory(_bytes())
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:  # whatever the engine's bindings raise is the answer
            reply = {"failed": f"{type(error).__name__}: {error}"}
        sys.stdout.write(f"\n{_MARKER.decode()}{json.dumps(reply)}\n")
        sys.stdout.flush()
