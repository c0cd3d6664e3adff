"""`python -m tests.fuzz READER --time SECONDS`: coverage-guided fuzzing with mutations that use the vocabulary.

The corpus is in build/fuzz/READER, findings are in build/fuzz/READER-found, and statistics in build/fuzz/READER.json;
the next run continues there.  With `--goal`, the run ends when that many executions have led to a scene and coverage
has not grown for the last fifth of all executions.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.figures import BUILD, Figures
from tests.fuzz.line_worker import Current
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import COUNTED

_STATUS = re.compile(r"#\d+\s+(\w+)\s+cov: (\d+)")
_OFTEN = 20.0
"""Seconds between two updates of the statistics file."""


class Run:
    """Fuzzes one reader for some time or until the goal is reached."""

    def __init__(self, name: str, folder: Path, goal: int, worker: str = "worker") -> None:
        self.name = name
        self.worker = worker
        self.goal = goal
        self.corpus, self.found = folder / name, folder / f"{name}-found"
        self.corpus.mkdir(parents=True, exist_ok=True)
        self.found.mkdir(exist_ok=True)
        for seed in TARGETS[name].seeds():
            path = self.corpus / hashlib.sha1(seed).hexdigest()
            if not path.exists():
                path.write_bytes(seed)
        self.figures = Figures(folder / f"{name}.json")
        self.earlier = self.figures.seconds
        self.begin = time.monotonic()
        self.log = (folder / f"{name}.log").open("a", encoding="utf-8")

    @property
    def is_enough(self) -> bool:
        return self.goal > 0 and self.figures.is_enough(self.goal)

    def fuzz(self, seconds: int, seed: int) -> None:
        """Run one process after another, since a finding may crash a process."""
        while (left := seconds - int(time.monotonic() - self.begin)) > 0 and not self.is_enough:
            arguments = [self.name, str(self.corpus), str(self.found), str(left), str(seed)]
            worker = subprocess.Popen(
                [sys.executable, "-m", f"tests.fuzz.{self.worker}", *arguments],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
            try:
                self._follow(worker)
            finally:
                worker.kill()
                if worker.wait() == -signal.SIGVTALRM:  # a library hung
                    data = Current.last_input(self.corpus)
                    (self.found / f"hung-{hashlib.sha1(data).hexdigest()}").write_bytes(data)
                self.write()
            seed += 1

    def _follow(self, worker: subprocess.Popen[str]) -> None:
        is_ready = False
        written = time.monotonic()
        assert worker.stderr is not None
        for line in worker.stderr:
            if line.startswith(COUNTED):
                if is_ready:  # before that, it reads the corpus
                    executions, reached = map(int, line.split()[1:])
                    self.figures.count(executions, reached)
            elif status := _STATUS.match(line):
                is_ready = is_ready or status[1] == "INITED"
                self.figures.covered(int(status[2]))
            else:
                self.log.write(line)
            if time.monotonic() - written > _OFTEN:
                written = time.monotonic()
                self.write()
                if self.is_enough:
                    return

    def write(self) -> None:
        self.figures.seconds = self.earlier + time.monotonic() - self.begin
        self.figures.write(sum(1 for _ in self.corpus.iterdir()), sum(1 for _ in self.found.iterdir()))
        self.log.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("reader", choices=[*TARGETS])
    parser.add_argument("--time", type=int, default=60, help="seconds, at most")
    parser.add_argument("--goal", type=int, default=0, help="stop after this many executions that led to a scene")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=BUILD, help="folder of corpus and statistics")
    parser.add_argument(
        "--lines", action="store_true", help="guided by lines, not by libFuzzer; fastest with Python 3.12 or later"
    )
    chosen = parser.parse_args()
    worker = "line_worker" if chosen.lines else "worker"
    Run(chosen.reader, chosen.folder, chosen.goal, worker).fuzz(chosen.time, chosen.seed or int(time.time()))


if __name__ == "__main__":
    main()
