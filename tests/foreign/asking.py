"""Judges, each in a process of its own, in an environment of their own."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

FOLDER = Path(__file__).with_name("judges")
PATIENCE = 30.0
"""Seconds for one file."""
STARTING = 120.0
"""Seconds until a judge can be asked."""


class Judge(Struct, frozen=True):
    """Somebody else's reader: what it is called, the package it comes in, and the formats it is asked about."""

    name: str
    title: str
    package: str
    formats: tuple[str, ...]
    tells: tuple[str, ...] = ("mass", "com", "inertia", "pose", "mass_matrix", "dofs")
    """The quantities it is asked for."""


JUDGES = (
    Judge("mujoco", "MuJoCo", "mujoco", ("mjcf", "urdf")),
    Judge("pinocchio", "Pinocchio", "pin", ("mjcf", "urdf")),
    Judge("drake", "Drake", "drake", ("mjcf", "urdf", "sdf")),
    Judge("dart", "DART", "dartpy", ("urdf", "sdf")),
    Judge("usd", "usd-core", "usd-core", ("usd",), ("mass", "com", "inertia", "start")),
    Judge("newton", "Newton", "newton", ("usd",), ("mass", "com", "inertia", "pose", "dofs", "start")),
)


class Bench:
    """One judge at work; it starts anew after a crash."""

    def __init__(self, judge: Judge, python: str) -> None:
        self.judge = judge
        self.python = python
        self.version = ""
        self._start()

    def _start(self) -> None:
        command = [self.python, str(FOLDER / f"{self.judge.name}_judge.py")]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.PIPE, text=True)
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, args=(self._process, self._answers), daemon=True).start()
        hello = self._answers.get(timeout=STARTING)
        if not hello:
            assert self._process.stderr is not None
            raise ChildProcessError(self._process.stderr.read()[-2000:])
        self.version = json.loads(hello)["version"]

    @staticmethod
    def _listen(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(line)
        answers.put("")

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer; crashes and hangs are answers too."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        try:
            line = self._answers.get(timeout=PATIENCE)
        except queue.Empty:
            line, why = "", "hangs"
        else:
            why = "" if line else f"crashes ({self._process.wait()})"
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.close()
        self._start()
        return {"failed": why}

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
