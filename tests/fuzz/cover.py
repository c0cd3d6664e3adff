"""`python -m tests.fuzz.cover READER`: which lines of a reader its kept corpus runs through."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import coverage

from tests.fuzz.targets import TARGETS, WRITING

BUILD = Path("build") / "fuzz"


def main() -> None:
    name = sys.argv[1]
    target = TARGETS[name]
    measured = coverage.Coverage(source=list(target.modules), data_file=None, omit=_left_out(name))
    measured.exclude(r"def (schema_type|example)\(")  # for the schema and the documentation
    measured.start()
    kept = sorted((BUILD / name).iterdir()) if (BUILD / name).is_dir() else []
    inputs = [path.read_bytes() for path in kept] or list(target.seeds())
    for data in inputs:
        target.run(data)
    measured.stop()
    total = measured.report(show_missing=True, skip_covered=True)
    path = BUILD / f"{name}.json"
    if path.exists():
        figures = json.loads(path.read_text())
        path.write_text(json.dumps({**figures, "lines": round(total, 1)}, indent=1) + "\n")


def _left_out(name: str) -> list[str]:
    return [f"*/{part}{tail}" for part in WRITING for tail in (".py", "/*")]


if __name__ == "__main__":
    main()
