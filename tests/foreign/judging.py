"""Everything is put before everybody who can judge it: claims are made here, judges work beside."""

from __future__ import annotations

import os
import queue
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from msgspec import Struct

from tests.foreign import limits
from tests.foreign.asking import JUDGES, Bench
from tests.foreign.cases import Desk, cases, digest
from tests.foreign.claims import Claim, claim
from tests.foreign.limits import Limit
from tests.foreign.verdicts import BOUNDS, Errors, Verdict, verdict, worst


class Brief(Struct, frozen=True):
    """A case in one format, ready to be judged."""

    case: str
    format: str
    sha256: str
    judges: tuple[str, ...]
    claims: list[tuple[Claim, frozenset[str]]]


class Outcome(Struct, frozen=True):
    """What a judge makes of a case in a format: the largest errors that count, limits it met, and faults."""

    errors: Errors
    limits: list[Limit]
    faults: list[str]


Outcomes = dict[tuple[str, str, str], Outcome]
"""By case, format and judge."""


def judge_all(python: str, only: str, tell: Callable[[str], None]) -> tuple[list[Brief], Outcomes, dict[str, str]]:
    """Briefs, outcomes, and the versions of the judges that could be asked."""
    benches = _benches(python, tell)
    outcomes: Outcomes = {}
    briefs: list[Brief] = []
    queues: dict[str, queue.Queue[Brief | None]] = {name: queue.Queue() for name in benches}
    workers = [threading.Thread(target=_work, args=(bench, queues[name], outcomes)) for name, bench in benches.items()]
    for worker in workers:
        worker.start()
    with tempfile.TemporaryDirectory() as folder:
        for brief in _briefs(Path(folder), only):
            briefs.append(brief)
            for name in brief.judges:
                if name in queues:
                    queues[name].put(brief)
        for waiting in queues.values():
            waiting.put(None)
        for worker in workers:
            worker.join()
    return briefs, outcomes, {name: bench.version for name, bench in benches.items()}


def _benches(python: str, tell: Callable[[str], None]) -> dict[str, Bench]:
    made: dict[str, Bench] = {}
    for judge in JUDGES:
        try:
            made[judge.name] = Bench(judge, python)
        except ChildProcessError as error:
            tell(f"{judge.title} cannot be asked: {str(error).strip().splitlines()[-1:]}")
    return made


def _briefs(folder: Path, only: str) -> Iterator[Brief]:
    """All of them in order, made by as many processes as there are cores."""
    desk = Desk(folder)
    desk.lay()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting: list[Future[Brief]] = [
            pool.submit(_brief, desk, number, format)
            for number, case in enumerate(cases())
            if only in case.name
            for format in case.formats
        ]
        for future in waiting:
            yield future.result()


def _brief(desk: Desk, number: int, format: str) -> Brief:
    case = list(cases())[number]
    written = case.write(format)
    claims = [(claim(desk.put(case, one), format, one.mechanism()), one.traits) for one in written]
    judges = case.judges or tuple(judge.name for judge in JUDGES if format in judge.formats)
    return Brief(case.name, format, digest(written), judges, claims)


# --- one judge ----------------------------------------------------------------------------------------


def _work(bench: Bench, waiting: queue.Queue[Brief | None], outcomes: Outcomes) -> None:
    while (brief := waiting.get()) is not None:
        outcomes[brief.case, brief.format, bench.judge.name] = _outcome(bench, brief)
    bench.close()


def _outcome(bench: Bench, brief: Brief) -> Outcome:
    found: list[Verdict] = []
    met: list[Limit] = []
    faults: list[str] = []
    for claimed, traits in brief.claims:
        given, limit = _judged(bench, claimed, traits)
        if limit is not None:
            met.append(limit)
        if given is not None:
            found.append(given)
            remarks = limits.unexpected(bench.judge.name, brief.format, given.said) if limit is None else []
            own = [given.failed] if given.failed else [*given.faults(BOUNDS[brief.format]), *remarks]
            faults += [f"{claimed.file.name}: {fault}" for fault in own]
    return Outcome(worst(found) if found else {}, met, faults)


def _judged(bench: Bench, claimed: Claim, traits: frozenset[str]) -> tuple[Verdict | None, Limit | None]:
    """The verdict without what a limit spares, and the limit."""
    judge = bench.judge.name
    limit = limits.foreseen(judge, claimed.format, traits)
    if limit is not None and limit.is_whole:
        return None, limit
    given = verdict(claimed, bench.ask(claimed.request()))
    limit = limit or limits.met(judge, claimed.format, given)
    if limit is None:
        return given, None
    if limit.is_whole:
        return None, limit
    errors = {name: error for name, error in given.errors.items() if name not in limit.spares}
    return Verdict(errors, given.failed, given.said), limit
