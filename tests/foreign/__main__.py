"""Have everything judged, and record it: `python -m tests.foreign --python PYTHON` (`make test-foreign`).

PYTHON is one that has the judges installed.  Nothing is recorded unless all agree and all judges could be asked.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time

from tests.foreign import record
from tests.foreign.asking import JUDGES
from tests.foreign.cases import CORPUS, ROOTS
from tests.foreign.judging import Outcomes, judge_all
from tests.foreign.limits import LIMITS
from tests.foreign.verdicts import Verdict, worst


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.foreign", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="a Python that has the judges")
    parser.add_argument("--only", default="", help="judge only scenes with this in their names")
    parser.add_argument(
        "--accept", action="store_true", help="let limits hold for scenes that did not meet them before"
    )
    options = parser.parse_args()
    begun = time.monotonic()
    before = record.load()
    briefs, outcomes, versions = judge_all(options.python, options.only, print)
    _summary(outcomes, versions)
    faults = [f"{' '.join(key)}: {fault}" for key, outcome in outcomes.items() for fault in outcome.faults]
    if not options.accept:
        faults += record.lost(outcomes, before)
    if not options.only and ROOTS[CORPUS].exists() and len(versions) == len(JUDGES):
        faults += _needless(outcomes)
    print(f"{len(briefs)} documents or sets of them in {time.monotonic() - begun:.0f} s")
    if faults:
        print(f"\n{len(faults)} faults:", *sorted(faults), sep="\n")
        return 1
    if options.only and before.get("judges", versions) != versions:
        print("Not recorded: the rest was judged by other versions.")
        return 0
    missing = [judge.title for judge in JUDGES if judge.name not in versions]
    if missing:
        print(f"Not recorded: {', '.join(missing)} could not be asked.")
        return 0
    date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    record.save(record.made(briefs, outcomes, versions, date, before))
    print(f"Recorded in {record.FILE.name}.")
    return 0


def _needless(outcomes: Outcomes) -> list[str]:
    used = [limit for outcome in outcomes.values() for limit in outcome.limits]
    return [
        f"no file needs this limit any more: {limit.judge} {limit.format}: {limit.why}"
        for limit in LIMITS
        if limit not in used
    ]


def _summary(outcomes: Outcomes, versions: dict[str, str]) -> None:
    for judge in JUDGES:
        for format in judge.formats if judge.name in versions else ():
            own = [o for (_, f, j), o in outcomes.items() if (f, j) == (format, judge.name)]
            largest = worst([Verdict(o.errors) for o in own if o.errors])
            told = ", ".join(f"{name} {error:.0e}" for name, error in largest.items())
            spared = sum(1 for o in own if o.limits)
            print(
                f"{judge.title} {versions[judge.name]}, {format}: {len(own)} scenes, {spared} beyond its limits; {told}"
            )


if __name__ == "__main__":
    sys.exit(main())
