"""`python -m tests.fuzz.cover READER`: measures which lines of a reader its corpus covers.

With `--keep`, a minimal set of inputs that covers these lines is saved as seeds, in tests/fuzz/saved_seeds.
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
    if not target.modules:
        return
    measured = _measure(target)
    measured.start()  # before anything of the reader is imported
    inputs = [*target.seeds(), *(path.read_bytes() for path in sorted((chosen.folder / target.name).glob("*")))]
    for data in inputs:
        target.run(data)
    measured.stop()
    total = measured.report(show_missing=True, skip_covered=True)
    if chosen.keep:
        seeds.save_seeds(target.name, _minimal_inputs(target, inputs))
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


def _minimal_inputs(target: Target, inputs: list[bytes]) -> list[bytes]:
    """A small set of inputs that covers the same lines: small inputs first, without redundant ones."""
    measured = _measure(target)
    covered: set[Line] = set()
    chosen: list[tuple[bytes, set[Line]]] = []
    for data in sorted(inputs, key=len):
        measured.erase()
        measured.start()
        target.run(data)
        measured.stop()
        data_file = measured.get_data()
        lines = {(file, line) for file in data_file.measured_files() for line in data_file.lines(file) or ()}
        if lines - covered:
            covered |= lines
            chosen.append((data, lines))
    for candidate in sorted(chosen, key=lambda pair: -len(pair[0])):
        others = set().union(*(lines for data, lines in chosen if data != candidate[0]))
        if candidate[1] <= others:
            chosen.remove(candidate)
    return [data for data, _ in chosen]


if __name__ == "__main__":
    main()
