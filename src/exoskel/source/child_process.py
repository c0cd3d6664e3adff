"""Child processes: libraries can crash, hang or use all memory, and then only their child process does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Timer
from typing import IO, TypeVar

from exoskel.diagnostics import ExoskelError

T = TypeVar("T")


class ChildFailedError(ExoskelError):
    """A child process crashed, or did not answer in time."""


class ChildLateError(ChildFailedError):
    """A child process did not answer in time, or used up its processor time."""


def worker_command(module: str) -> list[str]:
    """The command that runs a worker module.

    The working directory is not searched: a file there could have the name of one of our modules.
    """
    return [sys.executable, "-P", "-m", module]


class ChildProcess:
    """A worker module in its own process, connected by its standard input and output."""

    def __init__(self, module: str, environment: Mapping[str, str] | None = None) -> None:
        import subprocess

        self._is_late = False
        self._process = subprocess.Popen(
            worker_command(module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=None if environment is None else {**os.environ, **environment},
            # If this process ends while the child is stopped, the system continues and ends a group of its own.
            process_group=0 if os.name == "posix" else None,
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
            raise self._failure(seconds)
        return answer

    def _failure(self, seconds: float) -> ChildFailedError:
        code = self._process.wait()
        if self._is_late:
            return ChildLateError(f"no answer within {seconds:g} s")
        if code == -getattr(signal, "SIGXCPU", 0):
            return ChildLateError("its processor time is used up")
        return ChildFailedError(f"it crashed (exit code {code})")

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


# --- in the child -------------------------------------------------------------------------------------


def limit_memory(most: int) -> None:
    """Limit the memory of this process in bytes: its address space, where the system can limit that."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    _limit(resource.RLIMIT_AS, most)


def limit_processor_time(seconds: int) -> None:
    """Let the system end this process after some seconds of processor time, however busy the machine is."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    _limit(resource.RLIMIT_CPU, seconds)


def _limit(kind: int, wanted: int) -> None:
    import resource

    _, hard = resource.getrlimit(kind)
    with suppress(ValueError, OSError):  # the system does not support this limit
        resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
