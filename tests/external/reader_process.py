"""External readers, each in its own process and in a separate Python environment."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from exoskel.source.output_context import Target

FOLDER = Path(__file__).with_name("readers")
TIMEOUT = 300.0
"""Seconds of processor time for one file, and the fewest seconds."""
LONGEST = 1800.0
"""Seconds for one file, also on a busy machine."""
STARTUP_TIMEOUT = 120.0
"""Seconds until a reader is ready."""


class ExternalReader(Struct, frozen=True):
    """A reader of another project: its name, title, package and the formats that it reads."""

    name: str
    title: str
    package: str
    formats: tuple[str, ...]
    quantities: tuple[str, ...] = ("mass", "com", "inertia", "pose", "mass_matrix", "dofs")
    """The quantities that it reports."""
    script: str = ""
    """The name of its script, if it differs from its own."""
    bound: float = 0.0
    """The largest difference that its own precision allows, if it is not that of the format."""
    target: Target | Literal[""] = ""
    """The program that conversions write for (`--for`), if files for it are read as well."""
    target_formats: tuple[str, ...] = ()
    """The formats of these files."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of files that it reads: formats, and formats for one program."""
        return (*self.formats, *(file_kind(format, self.target) for format in self.target_formats))


def file_kind(format: str, target: str) -> str:
    """How the record names files in a format: for any reader, or for one program."""
    return f"{format} for {target}" if target else format


READERS = (
    ExternalReader("mujoco", "MuJoCo", "mujoco", ("mjcf", "urdf")),
    ExternalReader("pinocchio", "Pinocchio", "pin", ("mjcf", "urdf")),
    ExternalReader("drake", "Drake", "drake", ("mjcf", "urdf", "sdf")),
    ExternalReader("dart", "DART", "dartpy", ("urdf", "sdf")),
    ExternalReader("usd", "usd-core", "usd-core", ("usd",), ("mass", "com", "inertia", "start")),
    ExternalReader("newton", "Newton", "newton", ("usd",), ("mass", "com", "inertia", "pose", "dofs", "start")),
)


class ReaderGroup(Struct, frozen=True):
    """Readers that share an environment, made from `requirements/NAME.txt`."""

    name: str
    readers: tuple[ExternalReader, ...]


_KINEMATICS = ("mass", "com", "inertia", "pose")
_MJCF = ("mjcf",)
OTHER_GROUPS = (
    ReaderGroup(
        "mujoco4",
        (ExternalReader("mujoco4", "MuJoCo", "mujoco", (), script="mujoco", target="mujoco4", target_formats=_MJCF),),
    ),
    ReaderGroup(
        "mujoco3",
        (
            ExternalReader(
                *("mujoco3", "MuJoCo 3.3", "mujoco", ("mjcf", "urdf")),
                script="mujoco",
                bound=1e-6,
                target="mujoco3",
                target_formats=_MJCF,
            ),
        ),
    ),
    ReaderGroup(
        "mjcf",
        (
            ExternalReader("dm_control", "dm_control", "dm_control", _MJCF, target="dm_control", target_formats=_MJCF),
            ExternalReader(
                *("newton_mjcf", "Newton", "newton", _MJCF, (*_KINEMATICS, "dofs")),
                bound=1e-5,
                target="newton",
                target_formats=_MJCF,
            ),
        ),
    ),
    ReaderGroup(
        "urdf",
        (
            ExternalReader("yourdfpy", "yourdfpy", "yourdfpy", ("urdf",), _KINEMATICS),
            ExternalReader("urchin", "urchin", "urchin", ("urdf",), _KINEMATICS),
        ),
    ),
    ReaderGroup(
        "pinocchio",
        (
            ExternalReader(
                "pinocchio_files", "Pinocchio, unchanged files", "pin", ("mjcf",), (*_KINEMATICS, "mass_matrix")
            ),
        ),
    ),
    ReaderGroup(
        "dart",
        (
            ExternalReader(
                *("dart_files", "DART, unchanged files", "dartpy", ("sdf", "mjcf")),
                target="dart",
                target_formats=("mjcf", "sdf"),
            ),
        ),
    ),
    ReaderGroup(
        "isaac",
        (
            ExternalReader(
                *("usd_converter", "mujoco-usd-converter", "mujoco-usd-converter", (), (*_KINEMATICS, "dofs")),
                bound=1e-5,
                target="isaac",
                target_formats=_MJCF,
            ),
        ),
    ),
)
"""Readers that cannot share an environment with `READERS`, or that read the files without changes: see `other_readers`."""


def _processor_time(process: int) -> float:
    """The processor time of a process in seconds, or a clock if the system does not report it."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class ReaderProcess:
    """A running external reader; it restarts after a crash."""

    def __init__(self, reader: ExternalReader, python: str) -> None:
        self.reader = reader
        self.python = python
        self.version = ""
        self._start()

    def _start(self) -> None:
        command = [self.python, str(FOLDER / f"{self.reader.script or self.reader.name}_reader.py")]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.PIPE, text=True)
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, args=(self._process, self._answers), daemon=True).start()
        hello = self._answers.get(timeout=STARTUP_TIMEOUT)
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
        """Return the answer; a crash or timeout is an answer too."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        line = self._wait()
        why = "hangs" if line is None else "" if line else f"crashes ({self._process.wait()})"
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.close()
        self._start()
        return {"failed": why}

    def _wait(self) -> str | None:
        """The answer, or None if the reader hangs: other programs on a busy machine do not count."""
        started, used = time.monotonic(), _processor_time(self._process.pid)
        while True:
            with suppress(queue.Empty):
                return self._answers.get(timeout=TIMEOUT)
            is_late = time.monotonic() - started > LONGEST
            if is_late or _processor_time(self._process.pid) - used >= TIMEOUT:
                return None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
