"""`python -m tests.fuzz.table`: prints the statistics of all readers as the table in docs/reliability.md."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.fuzz.figures import BUILD, QUIET
from tests.fuzz.targets import TARGETS

HEAD = "| reader | executions | built a scene | hours | lines reached | branches | share of executions since the last new line |"


def rows(folder: Path) -> list[str]:
    lines_out = [HEAD, "| --- " * (HEAD.count("|") - 1) + "|"]
    for name in TARGETS:
        path = folder / f"{name}.json"
        if not path.exists():
            continue
        figures = json.loads(path.read_text())
        lines = f"{figures['lines']:.1f} %" if "lines" in figures else "not counted"
        lines_out.append(
            f"| {name} | {figures['executions']:,} | {figures['reached']:,} | {figures['seconds'] / 3600:.1f} | {lines} | "
            f"{figures['edges']:,} | {100 * figures['quiet']:.0f} % |"
        )
    return lines_out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.table", description=f"The aim is {QUIET:.0%} quiet.")
    parser.add_argument("--folder", type=Path, default=BUILD)
    print("\n".join(rows(parser.parse_args().folder)))


if __name__ == "__main__":
    main()
