"""Compare everything we write with external readers and record the results.

Run `python -m tests.external --python PYTHON` (`make test-external`), where PYTHON has the readers installed.
Nothing is recorded unless all readers run and agree.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time

from tests.external import record
from tests.external.cases import CORPUS, ROOTS
from tests.external.comparison import Comparison, worst
from tests.external.limits import LIMITS
from tests.external.reader_process import READERS
from tests.external.runner import Outcomes, compare_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.external", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="a Python with the external readers installed")
    parser.add_argument("--only", default="", help="compare only scenes whose names contain this text")
    parser.add_argument("--accept", action="store_true", help="accept limits for scenes that did not reach them before")
    options = parser.parse_args()
    started = time.monotonic()
    before = record.load()
    jobs, outcomes, versions = compare_all(options.python, options.only, print)
    _summary(outcomes, versions)
    faults = [f"{' '.join(key)}: {fault}" for key, outcome in outcomes.items() for fault in outcome.faults]
    if not options.accept:
        faults += record.new_limits(outcomes, before)
    if not options.only and ROOTS[CORPUS].exists() and len(versions) == len(READERS):
        faults += _unused_limits(outcomes)
    print(f"{len(jobs)} documents or sets of them in {time.monotonic() - started:.0f} s")
    if faults:
        print(f"\n{len(faults)} faults:", *sorted(faults), sep="\n")
        return 1
    if options.only and before.get("readers", versions) != versions:
        print("Not recorded: the other scenes were compared with other versions.")
        return 0
    missing = [reader.title for reader in READERS if reader.name not in versions]
    if missing:
        print(f"Not recorded: {', '.join(missing)} could not be run.")
        return 0
    date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    record.save(record.updated(jobs, outcomes, versions, date, before))
    print(f"Recorded in {record.FILE.name}.")
    return 0


def _unused_limits(outcomes: Outcomes) -> list[str]:
    used = [limit for outcome in outcomes.values() for limit in outcome.limits]
    return [
        f"no file needs this limit: {limit.reader} {limit.format}: {limit.why}" for limit in LIMITS if limit not in used
    ]


def _summary(outcomes: Outcomes, versions: dict[str, str]) -> None:
    for reader in READERS:
        for format in reader.formats if reader.name in versions else ():
            own = [o for (_, f, r), o in outcomes.items() if (f, r) == (format, reader.name)]
            largest = worst([Comparison(o.errors) for o in own if o.errors])
            shown = ", ".join(f"{name} {error:.0e}" for name, error in largest.items())
            limited = sum(1 for o in own if o.limits)
            print(
                f"{reader.title} {versions[reader.name]}, {format}: {len(own)} scenes, {limited} beyond its limits; {shown}"
            )


if __name__ == "__main__":
    sys.exit(main())
