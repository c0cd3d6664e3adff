"""An engine in a process of its own: engines crash on what they do not like, and then only the child does.

Both ends of the wire are here.  A request is a line of JSON, and so is its answer; the engine's own talk on standard
output is told apart from answers by a mark.  JSON here knows infinity and NaN, as Python's does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from exoskel.diagnostics import ExoskelError

Message = dict[str, Any]
_MARK = "@"


class Child:
    """Asks a worker module; `engine` is what messages call it."""

    def __init__(self, engine: str, module: str) -> None:
        self.engine = engine
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
        answer = self._answer(request)
        if answer is None:
            answer = {"failed": f"it crashed (exit code {self._process.wait()})"}
        if "failed" in answer:
            self.close()
            raise ExoskelError(f"{self.engine} failed: {answer['failed']}")
        return answer

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


def serve(answer: Callable[[Message], Message]) -> None:
    """The child's side: answer requests until there are no more."""
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:  # whatever the engine's bindings raise is the answer
            reply = {"failed": f"{type(error).__name__}: {error}"}
        sys.stdout.write(f"\n{_MARK}{json.dumps(reply)}\n")
        sys.stdout.flush()
