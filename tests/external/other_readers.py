"""Let further readers read the files that are compared with `READERS`, and record what they report.

`python -m tests.external.other_readers --python GROUP=PYTHON ...` (`make test-external`) runs the groups of readers
whose environments are given.  A file that a reader refuses, or reads differently, is recorded as that: there are no
limits.  Files that conversions write for one program (`--for`) are read by that program as well: a difference that the
conversion has not reported is a fault, and nothing is recorded.  Each reader has its version in the record.  Readers that are not run, or are older than those recorded, keep
what was recorded.
"""

from __future__ import annotations

import argparse
import json
import queue
import re
import sys
import tempfile
import threading
from itertools import chain
from pathlib import Path
from typing import Any

from exoskel.source.output_context import Target
from tests.external import record
from tests.external.comparison import BOUNDS, QUANTITIES, Comparison, Errors, compare, worst
from tests.external.reader_process import OTHER_GROUPS, ReaderProcess, file_kind
from tests.external.runner import ComparisonJob, create_jobs, create_target_jobs, start_processes
from tests.external.target_files import ReportedLosses
from tests.support.places import GOLDEN

FILE = GOLDEN / "other_readers.json"
READERS = {reader.name: reader for group in OTHER_GROUPS for reader in group.readers}
_LONGEST = 160
"""Characters of a message that are recorded."""


def load() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found or {"readers": {}, "scenes": {}}


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.external.other_readers", description=__doc__)
    parser.add_argument("--python", action="append", default=[], metavar="GROUP=PYTHON", help="an environment")
    parser.add_argument("--only", default="", help="read only scenes whose names contain this text")
    parser.add_argument("--kind", action="append", default=[], help="read only files of this kind: 'mjcf for dart'")
    options = parser.parse_args()
    processes: dict[str, ReaderProcess] = {}
    for given in options.python:
        name, _, python = given.partition("=")
        group = next(group for group in OTHER_GROUPS if group.name == name)
        processes |= start_processes(group.readers, python, print)
    verdicts = _judge(processes, options.only, set(options.kind))
    for name, process in processes.items():
        for kind in process.reader.kinds:
            own = [row[name] for (_, one, _), row in verdicts.items() if one == kind]
            if not own:
                continue
            read = sum(isinstance(one, list) for one in own)
            print(f"{process.reader.title} {process.version}, {kind}: {read} of {len(own)} scenes read alike")
    faults = [
        f"{case} {kind} {name}: {found}"
        for (case, kind, _), row in verdicts.items()
        for name, found in row.items()
        if " for " in kind and isinstance(found, str) and found.startswith(DIFFERENT)
    ]
    if faults:
        print(f"\n{len(faults)} differences that conversions do not report; nothing is recorded:", *faults, sep="\n")
        return 1
    save(updated(load(), verdicts, {name: process.version for name, process in processes.items()}))
    return 0


Verdict = record.Row | str
"""What a reader says: the largest errors, or the reason why a file is not read alike."""
Verdicts = dict[tuple[str, str, str], dict[str, Any]]
"""The verdicts of readers, by scene, format and digest."""


def _judge(processes: dict[str, ReaderProcess], only: str, kinds: set[str]) -> Verdicts:
    """The verdicts on all files of some kinds; without any, of all kinds."""
    verdicts: Verdicts = {}
    known = {kind for process in processes.values() for kind in process.reader.kinds}
    kinds = kinds & known if kinds else known
    formats = {format for process in processes.values() for format in process.reader.formats} & kinds
    targets: dict[str, list[Target]] = {}
    for reader in (process.reader for process in processes.values()):
        for format in reader.target_formats:
            if reader.target and file_kind(format, reader.target) in kinds:
                targets.setdefault(format, []).append(reader.target)
    queues: dict[str, queue.Queue[ComparisonJob | None]] = {name: queue.Queue() for name in processes}
    with tempfile.TemporaryDirectory() as folder:

        def work(process: ReaderProcess) -> None:
            name = process.reader.name
            while (job := queues[name].get()) is not None:
                verdicts[job.case, job.kind, job.sha256][name] = verdict(process, job)
            process.close()

        workers = [threading.Thread(target=work, args=(process,)) for process in processes.values()]
        for worker in workers:
            worker.start()
        jobs = chain(create_jobs(Path(folder), only, formats), create_target_jobs(Path(folder), only, targets))
        for job in jobs:
            if job.case.startswith("documents/"):  # not written by us
                continue
            verdicts[job.case, job.kind, job.sha256] = {}
            for name, process in processes.items():
                if job.kind in process.reader.kinds:
                    queues[name].put(job)
        for waiting in queues.values():
            waiting.put(None)
        for worker in workers:
            worker.join()
    return verdicts


def verdict(process: ReaderProcess, job: ComparisonJob) -> Verdict:
    """The largest errors of all documents of a case, or why one of them is not read alike.

    What a conversion has reported before comes last.
    """
    found, said = [], []
    for number, (expected, _) in enumerate(job.expectations):
        given = compare(expected, process.ask(expected.request()))
        losses = job.losses[number] if job.losses else None
        bound = process.reader.bound
        bounds = dict.fromkeys(QUANTITIES, bound) if bound else BOUNDS[job.format]
        reason = _reason(given, bounds, losses)
        if reason:
            said.append(" ".join(reason.replace(str(expected.file.parent), "").split())[:_LONGEST])
        found.append(given)
    if said:
        return max(said, key=lambda one: [one.startswith(start) for start in (DIFFERENT, REFUSED)])
    errors = worst(found)
    return [record.round_up(errors[name]) if name in errors else None for name in QUANTITIES]


DIFFERENT, REFUSED = "different: ", "refused: "
DIFFERENT_REPORTED, REFUSED_REPORTED = "different, reported: ", "refused, reported: "
"""How verdicts begin: those on files that the conversion has said to be read like that are different."""


def _reason(given: Comparison, bounds: Errors, losses: ReportedLosses | None) -> str:
    """Why a file is not read alike; empty if it is."""
    if given.failed:
        return f"{REFUSED_REPORTED if losses and losses.refusal else REFUSED}{given.failed}"
    if losses is None:
        faults = given.faults(bounds)
        return DIFFERENT + " ".join(faults) if faults else ""
    reported, other = set(), {}
    for quantity, items in given.items.items():
        for name, error in items.items():
            if error <= bounds[quantity]:
                continue
            if losses.explain(quantity, name):
                reported.add(quantity)
            elif not error <= other.get(quantity, ("", 0.0))[1]:
                other[quantity] = (name, error)
    if other:
        return DIFFERENT + " ".join(f"{one} of {name!r} off by {error:.1e}" for one, (name, error) in other.items())
    return DIFFERENT_REPORTED + " ".join(one for one in QUANTITIES if one in reported) if reported else ""


def updated(before: dict[str, Any], verdicts: Verdicts, versions: dict[str, str]) -> dict[str, Any]:
    """The record with the verdicts of all readers that are not older than the recorded ones."""
    recorded: dict[str, str] = before["readers"]
    newer = {n: found for n, found in versions.items() if not record.is_older(found, recorded.get(n, ""))}
    for name in versions.keys() - newer:
        print(f"Not recorded: {READERS[name].title} {versions[name]} is older than {recorded[name]}.")
    scenes: dict[str, Any] = {name: dict(formats) for name, formats in before["scenes"].items()}
    for (case, format, sha256), row in verdicts.items():
        was = scenes.setdefault(case, {}).get(format, {})
        before_now = was.get("readers", {})
        kept = before_now if was.get("sha256") == sha256 else {}
        own = {name: _steady(verdict, before_now.get(name)) for name, verdict in row.items() if name in newer}
        scenes[case][format] = {"sha256": sha256, "readers": dict(sorted({**kept, **own}.items()))}
    return {"readers": dict(sorted({**recorded, **newer}.items())), "scenes": dict(sorted(scenes.items()))}


def _steady(found: Verdict, recorded: Verdict | None) -> Verdict:
    """A verdict as it is recorded: one that differs only as processors do stays as it was."""
    if isinstance(found, str):
        is_same = isinstance(recorded, str) and _DIGITS.sub("", found) == _DIGITS.sub("", recorded)
        return recorded if is_same and recorded is not None else found
    return record.steady(found, recorded if isinstance(recorded, list) else None)


_DIGITS = re.compile(r"off by [\d.e+-]+")


def save(found: dict[str, Any], file: Path = FILE) -> None:
    """Write one line for each scene and format."""
    scenes = []
    for name, formats in found["scenes"].items():
        rows = [f"  {json.dumps(format)}: {json.dumps(row)}" for format, row in formats.items()]
        scenes.append(f"{json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n}")
    head = f'"readers": {json.dumps(found["readers"])},\n'
    file.write_text("{\n" + head + '"scenes": {\n' + ",\n".join(scenes) + "\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
