"""The statistics of fuzzing; each run adds to those of earlier runs."""

from __future__ import annotations

import json
from pathlib import Path

BUILD = Path("build") / "fuzz"
QUIET = 0.2
"""The share of the latest executions in which coverage must not have grown."""


class Figures:
    """The number of executions, of resulting scenes, of edges covered in the reader, and when these last grew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        known = json.loads(path.read_text()) if path.exists() else {}
        self.executions: int = known.get("executions", 0)
        self.reached: int = known.get("reached", 0)
        self.seconds: float = known.get("seconds", 0.0)
        self.edges: int = known.get("edges", 0)
        self.grown_at: int = known.get("grown_at", 0)
        self.others = {key: value for key, value in known.items() if key == "lines"}

    def count(self, executions: int, reached: int) -> None:
        self.executions += executions
        self.reached += reached

    def covered(self, edges: int) -> None:
        if edges > self.edges:
            self.edges, self.grown_at = edges, self.executions

    @property
    def quiet(self) -> float:
        """The share of all executions since coverage last grew."""
        return 1.0 - self.grown_at / self.executions if self.executions else 0.0

    def is_enough(self, goal: int) -> bool:
        return self.reached >= goal and self.executions - self.grown_at >= QUIET * self.executions

    def write(self, corpus: int, found: int) -> None:
        statistics = {
            "executions": self.executions,
            "reached": self.reached,
            "seconds": round(self.seconds, 1),
            "edges": self.edges,
            "grown_at": self.grown_at,
            "quiet": round(self.quiet, 3),
            "corpus": corpus,
            "found": found,
            **self.others,
        }
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(statistics, indent=1) + "\n")
        temporary.replace(self.path)
