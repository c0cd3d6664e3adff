"""Run all external readers on all documents: expected values are computed here, readers run in parallel."""

from __future__ import annotations

import os
import queue
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from exoskel.source.output_context import Target
from tests.external import limits
from tests.external.cases import Workspace, cases, digest
from tests.external.comparison import BOUNDS, Comparison, Errors, compare, worst
from tests.external.documents import FORMATS
from tests.external.expectation import Expectation, expect
from tests.external.limits import Limit
from tests.external.reader_process import READERS, ExternalReader, ReaderProcess, file_kind
from tests.external.target_files import ReportedLosses


class ComparisonJob(Struct, frozen=True):
    """A case in one format with its expected values."""

    case: str
    format: str
    sha256: str
    readers: tuple[str, ...]
    expectations: list[tuple[Expectation, frozenset[str]]]
    target: Target | Literal[""] = ""
    """The program that the files are written for; empty: any."""
    losses: list[ReportedLosses] = []
    """What the conversions report, for each file for a certain program."""

    @property
    def kind(self) -> str:
        """The kind of its files."""
        return file_kind(self.format, self.target)


class Outcome(Struct, frozen=True):
    """The result of a reader for a case in a format: the largest errors, limits reached, and faults."""

    errors: Errors
    limits: list[Limit]
    faults: list[str]


Outcomes = dict[tuple[str, str, str], Outcome]
"""By case, format and reader."""


def create_jobs(folder: Path, only: str, formats: Collection[str]) -> Iterator[ComparisonJob]:
    """The jobs of some formats, for any reader; their files are in `folder`."""
    yield from _jobs(folder, only, formats)


def create_target_jobs(folder: Path, only: str, targets: Mapping[str, Sequence[Target]]) -> Iterator[ComparisonJob]:
    """The jobs of files for certain programs, by format; their files are in `folder`."""
    workspace = Workspace(folder)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting = [
            pool.submit(_create_target_jobs, workspace, number, format, own)
            for number, case in enumerate(cases())
            if only in case.name and case.write_for is not None
            for format, own in targets.items()
        ]
        for future in waiting:
            yield from future.result()


def compare_all(
    python: str, only: str, tell: Callable[[str], None]
) -> tuple[list[ComparisonJob], Outcomes, dict[str, str]]:
    """The jobs, their outcomes, and the versions of the readers that could be run."""
    processes = start_processes(READERS, python, tell)
    outcomes: Outcomes = {}
    jobs: list[ComparisonJob] = []
    queues: dict[str, queue.Queue[ComparisonJob | None]] = {name: queue.Queue() for name in processes}
    workers = [
        threading.Thread(target=_work, args=(process, queues[name], outcomes)) for name, process in processes.items()
    ]
    for worker in workers:
        worker.start()
    with tempfile.TemporaryDirectory() as folder:
        for job in _jobs(Path(folder), only):
            jobs.append(job)
            for name in job.readers:
                if name in queues:
                    queues[name].put(job)
        for waiting in queues.values():
            waiting.put(None)
        for worker in workers:
            worker.join()
    return jobs, outcomes, {name: process.version for name, process in processes.items()}


def start_processes(
    readers: Iterable[ExternalReader], python: str, tell: Callable[[str], None]
) -> dict[str, ReaderProcess]:
    """The readers that can be run, by name."""
    made: dict[str, ReaderProcess] = {}
    for reader in readers:
        try:
            made[reader.name] = ReaderProcess(reader, python)
        except ChildProcessError as error:
            tell(f"{reader.title} cannot be run: {str(error).strip().splitlines()[-1:]}")
    return made


def _jobs(folder: Path, only: str, formats: Collection[str] = FORMATS) -> Iterator[ComparisonJob]:
    """All jobs in order, created by as many processes as there are cores."""
    workspace = Workspace(folder)
    workspace.link_meshes()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting: list[Future[ComparisonJob]] = [
            pool.submit(_create_job, workspace, number, format)
            for number, case in enumerate(cases())
            if only in case.name
            for format in case.formats
            if format in formats
        ]
        for future in waiting:
            yield future.result()


def _create_job(workspace: Workspace, number: int, format: str) -> ComparisonJob:
    case = list(cases())[number]
    written = case.write(format)
    expectations = [(expect(workspace.write(case, one), format, one.mechanism()), one.traits) for one in written]
    readers = case.readers or tuple(reader.name for reader in READERS if format in reader.formats)
    return ComparisonJob(case.name, format, digest(written), readers, expectations)


def _create_target_jobs(
    workspace: Workspace, number: int, format: str, targets: Sequence[Target]
) -> list[ComparisonJob]:
    """The jobs of a case for several programs; files that move the same are expected to have the same values."""
    case = list(cases())[number]
    assert case.write_for is not None
    jobs: list[ComparisonJob] = []
    known: list[tuple[object, Expectation]] = []
    for target in targets:
        found = case.write_for(format, target)
        expectations = []
        for one in found:
            file = workspace.write(case, one.written, file_kind(format, target))
            same = next((expected for key, expected in known if key == one.key), None)
            expected = (
                expect(file, format, one.written.mechanism()) if same is None else structs.replace(same, file=file)
            )
            known.append((one.key, expected))
            expectations.append((expected, one.written.traits))
        sha256 = digest([one.written for one in found])
        losses = [one.losses for one in found]
        jobs.append(ComparisonJob(case.name, format, sha256, (), expectations, target, losses))
    return jobs


# --- one reader ---------------------------------------------------------------------------------------


def _work(process: ReaderProcess, waiting: queue.Queue[ComparisonJob | None], outcomes: Outcomes) -> None:
    while (job := waiting.get()) is not None:
        outcomes[job.case, job.format, process.reader.name] = _outcome(process, job)
    process.close()


def _outcome(process: ReaderProcess, job: ComparisonJob) -> Outcome:
    found: list[Comparison] = []
    met: list[Limit] = []
    faults: list[str] = []
    for expected, traits in job.expectations:
        given, own_limits = _compare_one(process, expected, traits)
        met += own_limits
        if given is not None:
            found.append(given)
            messages = limits.unexpected_messages(process.reader.name, job.format, given.said) if not own_limits else []
            own = [given.failed] if given.failed else [*given.faults(BOUNDS[job.format]), *messages]
            faults += [f"{expected.file.name}: {fault}" for fault in own]
    return Outcome(worst(found) if found else {}, met, faults)


def _compare_one(
    process: ReaderProcess, expected: Expectation, traits: frozenset[str]
) -> tuple[Comparison | None, list[Limit]]:
    """The comparison without the quantities that limits skip, and the limits."""
    reader = process.reader.name
    met = limits.limits_of_traits(reader, expected.format, traits)
    if any(limit.is_whole for limit in met):
        return None, met
    given = compare(expected, process.ask(expected.request()))
    reported = limits.limit_of_message(reader, expected.format, given)
    if not met and reported is not None:
        met = [reported]
    if any(limit.is_whole for limit in met):
        return None, met
    skipped = {name for limit in met for name in limit.skips}
    errors = {name: error for name, error in given.errors.items() if name not in skipped}
    return Comparison(errors, given.failed, given.said), met
