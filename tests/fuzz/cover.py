"""`python -m tests.fuzz.cover READER`: which lines of a reader its kept corpus runs through.

With `--keep`, the few inputs that all of these lines need become seeds, in tests/fuzz/kept.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import coverage

from tests.fuzz import seeds
from tests.fuzz.figures import BUILD
from tests.fuzz.targets import TARGETS, WRITING, Target

Line = tuple[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.cover")
    parser.add_argument("reader", choices=[*TARGETS])
    parser.add_argument("--folder", type=Path, default=BUILD)
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    target = TARGETS[chosen.reader]
    measured = _measure(target)
    measured.start()  # before anything of the reader is imported
    inputs = [*target.seeds(), *(path.read_bytes() for path in sorted((chosen.folder / target.name).glob("*")))]
    for data in inputs:
        target.run(data)
    measured.stop()
    total = measured.report(show_missing=True, skip_covered=True)
    if chosen.keep:
        seeds.keep(target.name, _fewest(target, inputs))
    path = chosen.folder / f"{target.name}.json"
    if path.exists():
        figures = json.loads(path.read_text())
        path.write_text(json.dumps({**figures, "lines": round(total, 1)}, indent=1) + "\n")


def _measure(target: Target) -> coverage.Coverage:
    omitted = [f"*/{part}{tail}" for part in WRITING for tail in (".py", "/*")]
    measured = coverage.Coverage(source=list(target.modules), data_file=None, omit=omitted)
    for pattern in (*target.not_reading, "if TYPE_CHECKING", "raise NotImplementedError"):
        measured.exclude(pattern)
    return measured


def _fewest(target: Target, inputs: list[bytes]) -> list[bytes]:
    """Inputs, the small ones first, each of which adds a line; those that a later one makes needless are left out."""
    measured = _measure(target)
    missing: set[Line] = set()
    chosen: list[tuple[bytes, set[Line]]] = []
    for data in sorted(inputs, key=len):
        measured.erase()
        measured.start()
        target.run(data)
        measured.stop()
        told = measured.get_data()
        lines = {(file, line) for file in told.measured_files() for line in told.lines(file) or ()}
        if lines - missing:
            missing |= lines
            chosen.append((data, lines))
    for one in sorted(chosen, key=lambda pair: -len(pair[0])):
        others = set().union(*(lines for data, lines in chosen if data != one[0]))
        if one[1] <= others:
            chosen.remove(one)
    return [data for data, _ in chosen]


if __name__ == "__main__":
    main()
