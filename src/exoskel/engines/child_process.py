"""An engine in a process of its own: engines crash on what they do not like, and then only the child does.

Both ends of the wire are here.  A request is a line of JSON, and so is its answer; the engine's own talk on standard
output is told apart from answers by a mark.  JSON here knows infinity and NaN, as Python's does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Timer
from typing import Any

from exoskel.diagnostics import ExoskelError

Message = dict[str, Any]
_MARK = "@"

SECONDS_VARIABLE = "EXOSKEL_ENGINE_SECONDS"
"""How long one answer of an engine may take, in s."""
BYTES_VARIABLE = "EXOSKEL_ENGINE_BYTES"
"""How much memory an engine may have."""
_SECONDS = 3600.0
_BYTES = 32.0 * 2**30


class Child:
    """Asks a worker module; `engine` is what messages call it."""

    def __init__(self, engine: str, module: str) -> None:
        self.engine = engine
        self._late = False
        self._process = subprocess.Popen(
            # Not from the working directory: a file there could go by the name of one of our modules.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def ask(self, request: Message) -> Message:
        """The answer; what fails there, a crash included, is an error here and the end of the child."""
        patience = _setting(SECONDS_VARIABLE, _SECONDS)
        watch = Timer(patience, self._give_up)
        watch.daemon = True
        watch.start()
        try:
            answer = self._answer(request)
        finally:
            watch.cancel()
        if answer is None:
            code = self._process.wait()
            answer = {"failed": f"no answer within {patience:g} s" if self._late else f"it crashed (exit code {code})"}
        if "failed" in answer:
            self.close()
            raise ExoskelError(f"{self.engine} failed: {answer['failed']}")
        return answer

    def _give_up(self) -> None:
        self._late = True
        self._process.kill()

    def _answer(self, request: Message) -> Message | None:
        """The answer, or None if the child is gone."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return None
        for line in self._process.stdout:
            if line.startswith(_MARK):
                answer: Message = json.loads(line[len(_MARK) :])
                return answer
        return None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def _setting(variable: str, default: float) -> float:
    """A limit from the environment, if a number stands there."""
    try:
        return float(os.environ[variable])
    except (KeyError, ValueError):
        return default


def _limit_memory() -> None:
    """So that an engine that asks for more and more memory dies before everything else does."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    most = int(_setting(BYTES_VARIABLE, _BYTES))
    _, hardest = resource.getrlimit(resource.RLIMIT_AS)
    allowed = most if hardest == resource.RLIM_INFINITY else min(most, hardest)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hardest))


def serve(answer: Callable[[Message], Message]) -> None:
    """The child's side: answer requests until there are no more.

    Ctrl-C reaches it too, but to stop is up to the one who asks.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory()
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:  # whatever the engine's bindings raise is the answer
            reply = {"failed": f"{type(error).__name__}: {error}"}
        sys.stdout.write(f"\n{_MARK}{json.dumps(reply)}\n")
        sys.stdout.flush()
