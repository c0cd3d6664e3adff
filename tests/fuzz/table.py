"""`python -m tests.fuzz.table`: the figures of all readers, as the table in docs/reliability.md."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.fuzz.figures import BUILD, QUIET
from tests.fuzz.targets import TARGETS

HEAD = "| reader | executions | made a scene | hours | lines of the reader | branches | without growth, last |"


def rows(folder: Path) -> list[str]:
    told = [HEAD, "| --- " * (HEAD.count("|") - 1) + "|"]
    for name in TARGETS:
        path = folder / f"{name}.json"
        if not path.exists():
            continue
        one = json.loads(path.read_text())
        lines = f"{one['lines']:.1f} %" if "lines" in one else "not counted"
        told.append(
            f"| {name} | {one['executions']:,} | {one['reached']:,} | {one['seconds'] / 3600:.1f} | {lines} | "
            f"{one['edges']:,} | {100 * one['quiet']:.0f} % |"
        )
    return told


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.table", description=f"The aim is {QUIET:.0%} quiet.")
    parser.add_argument("--folder", type=Path, default=BUILD)
    print("\n".join(rows(parser.parse_args().folder)))


if __name__ == "__main__":
    main()
