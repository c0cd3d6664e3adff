"""Programs on a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

COLORS = ("NO_COLOR", "FORCE_COLOR")


def plain_environment(**variables: str) -> dict[str, str]:
    """The environment, where colours depend on the given variables alone."""
    return {**{name: value for name, value in os.environ.items() if name not in COLORS}, **variables}


class Terminal:
    """A program whose standard error is a terminal; unless `errors_only`, so are its other streams."""

    def __init__(
        self, command: Sequence[str | Path], *, folder: Path | None = None, errors_only: bool = False, **variables: str
    ) -> None:
        self._parent, child = pty.openpty()
        other = subprocess.DEVNULL if errors_only else child
        self.process = subprocess.Popen(
            list(map(str, command)), cwd=folder, stdin=other, stdout=other, stderr=child, start_new_session=True,
            env=plain_environment(**{"TERM": "xterm", **variables}),
        )  # fmt: skip
        os.close(child)
        self._seen = b""

    def type(self, text: str) -> None:
        os.write(self._parent, text.encode())

    def read_until(self, wanted: str) -> None:
        """Wait for a text on the terminal."""
        while wanted.encode() not in self._seen:
            self._seen += os.read(self._parent, 65536)

    def finish(self) -> str:
        """Wait for the end of the program; returns all that it wrote."""
        with suppress(OSError):  # the other end is closed
            while piece := os.read(self._parent, 65536):
                self._seen += piece
        self.process.wait()
        os.close(self._parent)
        return self._seen.decode()


def run_on_terminal(
    command: Sequence[str | Path], *, folder: Path | None = None, errors_only: bool = False, **variables: str
) -> str:
    """What a program writes to its terminal."""
    return Terminal(command, folder=folder, errors_only=errors_only, **variables).finish()
