"""Checks of files, one after the other or in several processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct, structs

from exoskel.cli.flags import ReadFlags, read_bytes, read_scene
from exoskel.cli.terminal import STDIN, hide_progress
from exoskel.diagnostics import (
    Diagnostic,
    ExoskelError,
    LoadError,
    Locator,
    Place,
    Position,
    Severity,
    SourceError,
    pluralize,
    sort_by_position,
)
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.positions import Span


class Selection(Struct, frozen=True):
    """The diagnostics to report: those whose codes begin with one of `select` and with none of `ignore`."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def has(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is reported."""
        code = diagnostic.code
        return (not self.select or code.startswith(self.select)) and not code.startswith(self.ignore)


class CheckRequest(Struct, frozen=True):
    """How files are checked."""

    flags: ReadFlags = ReadFlags()
    strict: bool = False
    selection: Selection = Selection()


class CheckedFile(Struct, frozen=True):
    """The diagnostics of a file, a short summary of its contents, and the reason if it could not be opened."""

    file: str
    diagnostics: list[Diagnostic] = []
    contents: str = ""
    problem: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether it has neither errors nor warnings."""
        return not self.problem and all(one.severity is Severity.INFO for one in self.diagnostics)


def check_file(file: str, request: CheckRequest, data: bytes | None = None) -> CheckedFile:
    """Check a file, or `data` in its place."""
    flags, strict = request.flags, request.strict
    try:
        if data is None:
            scene = read_scene(file, flags, strict=strict)
        else:
            scene = read_bytes(data, file, "." if file == STDIN else file, flags, strict=strict)
    except LoadError as error:
        return CheckedFile(file, _reported(error.diagnostics, request))
    except SourceError as error:
        return CheckedFile(file, problem=str(error))
    return CheckedFile(file, _reported(scene.diagnostics, request), _contents(scene))


def _reported(diagnostics: list[Diagnostic], request: CheckRequest) -> list[Diagnostic]:
    chosen = [one for one in diagnostics if request.selection.has(one)]
    if not chosen:
        return []
    from exoskel.formats.fixer import unsuppressed

    return sort_by_position(unsuppressed(chosen))


def _contents(scene: Scene) -> str:
    if not scene.worlds:
        return " (no world could be loaded)"
    models = sum(len(world.models) for world in scene.worlds)
    dofs = sum(world.dof_count for world in scene.worlds)
    freedom = pluralize(dofs, "degree of freedom", "degrees of freedom")
    return f" ({pluralize(models, 'model')}, {freedom})"


# --- many files -------------------------------------------------------------------------------------------


_STARTUP_BYTES = 10_000_000
"""Starting processes takes about as long as reading a file of this size."""
_FILE_BYTES = 20_000
"""Opening a file takes about as long as reading this many bytes."""
_CHUNK = 8


def process_count(files: Sequence[str]) -> int:
    """The number of processes that check files fastest: one, unless there is much to read."""
    work = sum(_FILE_BYTES + _size(file) for file in files)
    return min(os.cpu_count() or 1, len(files)) if work > _STARTUP_BYTES else 1


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except (OSError, ValueError):
        return 0


def check_files(files: Sequence[str], request: CheckRequest, processes: int) -> Iterator[CheckedFile]:
    """Check files in some processes; the results are in the order of the files."""
    if processes <= 1:
        yield from (check_file(file, request) for file in files)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_prepare_worker)
    chunk = max(1, min(_CHUNK, len(files) // (4 * processes)))
    try:
        yield from pool.map(partial(_check_to_send, request=request), files, chunksize=chunk)
    except BrokenProcessPool:
        raise ExoskelError("a process that checks files has crashed; use --jobs 1 to find the file") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare_worker() -> None:
    """Leave Ctrl-C and the display of progress to the process that started this one."""
    hide_progress()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _check_to_send(file: str, request: CheckRequest) -> CheckedFile:
    """Check a file; the result can be sent to another process."""
    checked = check_file(file, request)
    return structs.replace(checked, diagnostics=[_record(one) for one in checked.diagnostics])


class Replacement(Struct, frozen=True):
    """A change of a text: the position of its first character, that after its last one, and the new text."""

    start: Position
    end: Position
    text: str


class ProposedFix(Struct, frozen=True):
    """What a fix is called, and the changes that it makes; none if it cannot be applied."""

    title: str = ""
    replacements: tuple[Replacement, ...] = ()


def proposed_fix(diagnostic: Diagnostic) -> ProposedFix:
    """The fix of a problem."""
    document = diagnostic.source
    if isinstance(document, RecordedSource):
        return document.fix
    if diagnostic.fix is None or not isinstance(document, Document):
        return ProposedFix()
    from exoskel.formats.fixer import Fixes

    scan = document.scan
    made = [
        Replacement(
            start=scan.position(Span(start, start + 1)),
            end=scan.position(Span(end, end + 1)),
            text=text.decode(scan.codec, "replace"),
        )
        for start, end, text in Fixes(document).add(diagnostic)
    ]
    return ProposedFix(diagnostic.fix.title, tuple(made))


class RecordedSource(Struct, frozen=True):
    """The locator of one diagnostic, without the document: its position, path and line, and its fix."""

    name: str
    recorded_path: str
    text: str
    fix: ProposedFix

    def position(self, place: Place) -> Position | None:
        return place.position

    def lines(self, nodes: Sequence[int]) -> list[int]:
        return [0] * len(nodes)

    def path(self, place: Place) -> str:
        return self.recorded_path

    def line_text(self, line: int) -> str:
        return self.text

    def origin(self, place: Place) -> tuple[Locator, Place]:
        return self, place


def _record(diagnostic: Diagnostic) -> Diagnostic:
    """The same diagnostic, independent of its document."""
    position = diagnostic.position
    text = diagnostic.origin[0].line_text(position.line) if position else ""
    source = RecordedSource(diagnostic.file, diagnostic.path, text, proposed_fix(diagnostic))
    return structs.replace(diagnostic, source=source, place=Place(position=position), fix=None)
