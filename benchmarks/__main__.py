"""`make bench`: all benchmarks, one table."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import environments, interchange, many_worlds, read_skel, read_xode, simulate, startup, view, write
from benchmarks.table import Table

PARTS = {
    "skel": read_skel,
    "xode": read_xode,
    "write": write,
    "interchange": interchange,
    "simulate": simulate,
    "many": many_worlds,
    "environments": environments,
    "view": view,
    "startup": startup,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, for a first look")
    parser.add_argument("only", nargs="*", choices=[*PARTS, []], help="only these parts")
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"))
    arguments = parser.parse_args()
    table = Table()
    for name, part in PARTS.items():
        if not arguments.only or name in arguments.only:
            part.measure(table, arguments.quick)
    table.show()
    table.save(arguments.out)


if __name__ == "__main__":
    main()
