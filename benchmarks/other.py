"""Another program's reader behind a pipe: a path goes in, the seconds it took come out."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import Run


class Other:
    def __init__(self, python: str, script: str) -> None:
        self.command = [python, str(Path(__file__).with_name(script))]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, file: Path) -> float:
        """Seconds for one file; not a number if the other program cannot read it, or crashes over it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(f"{file}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.close()
            self.start()
        return float("nan") if answer in ("failed", "") else float(answer)

    def run(self, file: Path) -> Run:
        return lambda: self.seconds(file)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def other(python: str, script: str) -> Iterator[Other]:
    worker = Other(python, script)
    try:
        yield worker
    finally:
        worker.close()
