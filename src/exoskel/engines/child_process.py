"""Child processes: engines and graphics drivers can crash or hang, and then only their child process does.

`ChildProcess` starts a worker module and enforces a time limit on its answers.  `EngineProcess` and `serve` are the
two ends of the protocol of engines: a request is a line of JSON, and so is its answer.  A marker distinguishes answers
from what the engine itself prints on standard output.  As in Python, this JSON has infinity and NaN.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Timer
from typing import IO, Any, TypeVar

from exoskel.diagnostics import ExoskelError

T = TypeVar("T")
Message = dict[str, Any]
_MARKER = b"@"

SECONDS_VARIABLE = "EXOSKEL_ENGINE_SECONDS"
"""The time limit of one answer of an engine, in s."""
BYTES_VARIABLE = "EXOSKEL_ENGINE_BYTES"
"""The memory limit of an engine."""
_SECONDS = 3600.0
_BYTES = 32.0 * 2**30


class ChildFailedError(ExoskelError):
    """A child process crashed, or did not answer in time."""


def worker_command(module: str) -> list[str]:
    """The command that runs a worker module.

    The working directory is not searched: a file there could have the name of one of our modules.
    """
    return [sys.executable, "-P", "-m", module]


class ChildProcess:
    """A worker module in its own process, connected by its standard input and output."""

    def __init__(self, module: str, environment: Mapping[str, str] | None = None) -> None:
        self._is_late = False
        self._process = subprocess.Popen(
            worker_command(module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=None if environment is None else {**os.environ, **environment},
        )

    def request(self, content: bytes, receive: Callable[[IO[bytes]], T | None], seconds: float) -> T:
        """Send a request, and return what `receive` reads; raises ChildFailedError after a crash or `seconds`."""
        timer = Timer(seconds, self._kill_late)
        timer.daemon = True
        timer.start()
        try:
            answer = self._exchange(content, receive)
        finally:
            timer.cancel()
        if answer is None:
            code = self._process.wait()
            raise ChildFailedError(
                f"no answer within {seconds:g} s" if self._is_late else f"it crashed (exit code {code})"
            )
        return answer

    def _exchange(self, content: bytes, receive: Callable[[IO[bytes]], T | None]) -> T | None:
        assert self._process.stdin is not None and self._process.stdout is not None
        if self._process.stdin.closed:
            return None
        with suppress(BrokenPipeError):  # it may have sent the reason before it ended
            self._process.stdin.write(content)
            self._process.stdin.flush()
        return receive(self._process.stdout)

    def _kill_late(self) -> None:
        self._is_late = True
        self._process.kill()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


class EngineProcess:
    """An engine in its own process; `engine` is its name in messages."""

    def __init__(self, engine: str, module: str) -> None:
        self.engine = engine
        self._child = ChildProcess(module)

    def ask(self, request: Message) -> Message:
        """The answer to a request; a failure, including a crash, raises ExoskelError and ends the process."""
        try:
            content = json.dumps(request).encode() + b"\n"
            answer = self._child.request(content, _receive, _setting(SECONDS_VARIABLE, _SECONDS))
        except ChildFailedError as error:
            answer = {"failed": str(error)}
        if "failed" in answer:
            self.close()
            raise ExoskelError(f"{self.engine} failed: {answer['failed']}")
        return answer

    def close(self) -> None:
        """End the process."""
        self._child.close()


def _receive(stream: IO[bytes]) -> Message | None:
    """The next answer; None if the process ended."""
    for line in stream:
        if line.startswith(_MARKER):
            answer: Message = json.loads(line[len(_MARKER) :])
            return answer
    return None


def _setting(variable: str, default: float) -> float:
    """A limit from the environment, if it is a number."""
    try:
        return float(os.environ[variable])
    except (KeyError, ValueError):
        return default


def _limit_memory() -> None:
    """Limit the memory of this process, so that an engine that allocates without end fails alone."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    wanted = int(_setting(BYTES_VARIABLE, _BYTES))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


def serve(answer: Callable[[Message], Message]) -> None:
    """Answer requests until there are no more: the side of the child process.

    It ignores Ctrl-C, which reaches it too: the parent process decides when to stop.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory()
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:  # whatever the engine's bindings raise is the answer
            reply = {"failed": f"{type(error).__name__}: {error}"}
        sys.stdout.write(f"\n{_MARKER.decode()}{json.dumps(reply)}\n")
        sys.stdout.flush()
