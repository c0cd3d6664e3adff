"""`exoskel check`: list all problems in files and folders."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from exoskel.cli import terminal
from exoskel.cli.checked_file import CheckedFile, CheckRequest, Selection, check_file, check_files, process_count
from exoskel.cli.flags import ReadFlags, read_bytes, read_scene
from exoskel.cli.parameters import Argument, positive
from exoskel.cli.settings import OutputFormat, ProjectSettings, find_files, find_settings, parse_codes
from exoskel.cli.terminal import STDIN
from exoskel.diagnostics import Diagnostic, ExoskelError, Severity, SourceError, printable
from exoskel.formats import registry
from exoskel.source.atomic_write import WriteError
from exoskel.source.document import Document

_ERRORS = frozenset({Severity.ERROR})
_PROBLEMS = frozenset({Severity.ERROR, Severity.WARNING})
_Codes = tuple[str, ...]


class _Options(Struct, frozen=True, kw_only=True):
    """The options of one check, with the settings of the project applied."""

    request: CheckRequest
    output: OutputFormat
    exclude: tuple[str, ...]
    exclude_root: Path | None
    gitignore: bool
    all_notes: bool
    quiet: bool
    statistics: bool
    fix: bool
    diff: bool
    force: bool
    jobs: int | None

    @property
    def plain(self) -> bool:
        return self.output == "text"

    @property
    def bad(self) -> frozenset[Severity]:
        """The severities that make a check fail."""
        return _PROBLEMS if self.request.strict else _ERRORS


def check(
    files: Annotated[tuple[str, ...], Argument(help="Files and folders to check; `-` is standard input.")],
    /,
    *,
    strict: Annotated[bool, Argument(help="Treat warnings as errors.")] = False,
    select: Annotated[
        _Codes,
        Argument(help="Report only codes with this prefix, such as SK05 or MJ; repeat to add more."),
    ] = (),
    ignore: Annotated[_Codes, Argument(help="Do not report codes with this prefix; repeat to add more.")] = (),
    all_notes: Annotated[
        bool,
        Argument(
            names=("--all", "-a"),
            help="List every diagnostic; by default one note and at most 1000 errors or warnings per kind.",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        Argument(names=("--quiet", "-q"), help="Show errors and warnings only; nothing about files without them."),
    ] = False,
    statistics: Annotated[bool, Argument(help="Count the diagnostics by code instead of listing them.")] = False,
    exclude: Annotated[
        tuple[str, ...],
        Argument(help="In folders: skip files that match this .gitignore pattern; repeat to add more."),
    ] = (),
    no_gitignore: Annotated[bool, Argument(help="In folders: also check files that git ignores.")] = False,
    output_format: Annotated[OutputFormat | None, Argument(help="Format of the output; default: text.")] = None,
    json: Annotated[bool, Argument(help="The same as --output-format json.")] = False,
    sarif_output: Annotated[bool, Argument(names=("--sarif",), help="The same as --output-format sarif.")] = False,
    fix: Annotated[bool, Argument(help="Apply safe fixes: misspelt names, deprecated names, missing values.")] = False,
    diff: Annotated[bool, Argument(help="With --fix: write nothing; print the changes as a diff.")] = False,
    force: Annotated[
        bool, Argument(help="With --fix: overwrite files even if another program has changed them.")
    ] = False,
    watch: Annotated[bool, Argument(help="Check again whenever a file changes, until Ctrl-C.")] = False,
    jobs: Annotated[
        int | None,
        Argument(
            names=("--jobs", "-j"),
            help="Number of processes; default: 1, or all cores for many files.",
            validator=positive,
        ),
    ] = None,
    flags: ReadFlags | None = None,
) -> int:
    """List all problems in the files, with line, excerpt and hint.

    In folders, all files with the extension of a format are checked, except for those that git ignores. The comment
    `<!-- exoskel: ignore SK055 -->` in a file suppresses a code in the element that follows. Settings for a project are
    read from exoskel.toml or the table [tool.exoskel] of pyproject.toml.

    With --fix, safe fixes are applied first, as minimal edits of the text. Each fixed file is read again to
    verify the fixes. The problems that remain are listed.

    Exit code 0: no errors. 1: errors (with --strict: or warnings) that --fix leaves. 2: a file could not be opened.
    """
    settings = find_settings()
    options = _Options(
        request=CheckRequest(
            flags or ReadFlags(),
            strict or settings.check.strict,
            Selection(
                parse_codes(select, "--select") or settings.check.select,
                parse_codes(ignore, "--ignore") or settings.check.ignore,
            ),
        ),
        output=_output_format(output_format, settings, json=json, sarif=sarif_output),
        exclude=exclude or settings.check.exclude,
        exclude_root=None if exclude else settings.folder,
        gitignore=settings.check.respect_gitignore and not no_gitignore,
        all_notes=all_notes, quiet=quiet, statistics=statistics, fix=fix, diff=diff, force=force, jobs=jobs,
    )  # fmt: skip
    _check_options(files, options, watch=watch)
    return _watch(files, options) if watch else _run(files, options)


def _output_format(stated: OutputFormat | None, settings: ProjectSettings, *, json: bool, sarif: bool) -> OutputFormat:
    """The output format that one of the options states; otherwise that of the settings."""
    short: list[OutputFormat] = [*(["json"] if json else []), *(["sarif"] if sarif else [])]  # type: ignore[list-item]
    wanted = {*short, *([stated] if stated else [])}
    if len(wanted) > 1:
        raise ExoskelError("choose one output format: --output-format, --json or --sarif")
    return wanted.pop() if wanted else settings.check.output_format


def _check_options(files: Sequence[str], options: _Options, *, watch: bool) -> None:
    """Reject options that cannot be combined."""
    if options.diff and not (options.fix and options.plain):
        raise ExoskelError("--diff needs --fix and text output, not --json, --sarif or another --output-format")
    if options.fix and not options.diff and STDIN in files:
        raise ExoskelError("--fix cannot change standard input; use --fix --diff to see the changes")
    if options.statistics and (options.diff or options.output not in ("text", "json")):
        raise ExoskelError("--statistics are printed as text or JSON, and not with --diff")
    if watch and (STDIN in files or options.fix or not options.plain):
        raise ExoskelError("--watch needs files and text output, and cannot be combined with --fix")


def _run(arguments: Sequence[str], options: _Options) -> int:
    """Check everything once, print the results, and return the exit code."""
    files = _find_files(arguments, options)
    if not files:
        terminal.print_message(f"no scene files found in {', '.join(map(repr, arguments))}")
        return 2
    checked: list[CheckedFile] = []
    for one in _check_all(files, options):
        checked.append(one)
        if one.problem:
            terminal.print_message(one.problem)
        elif options.plain and not options.diff and not options.statistics:
            _show(one, options)
    _print_reports(checked, options)
    if any(one.problem for one in checked):
        return 2
    return int(any(found.severity in options.bad for one in checked for found in one.diagnostics))


def _find_files(arguments: Sequence[str], options: _Options) -> list[str]:
    """The files to check, in place of the folders that contain them."""
    return find_files(arguments, options.exclude, options.exclude_root, gitignore=options.gitignore)


_MANY_FILES = 20


def _check_all(files: Sequence[str], options: _Options) -> Iterator[CheckedFile]:
    """Check files.  Results of many files come when all are done: a progress bar is shown in the meantime."""
    if options.fix:
        yield from (_check_fixed(file, options) for file in files)
        return
    processes = process_count(files) if options.jobs is None else min(options.jobs, max(1, len(files)))
    results = check_files(files, options.request, processes)
    if len(files) < _MANY_FILES and processes == 1:
        yield from results
        return
    done: list[CheckedFile] = []
    with terminal.file_progress_bar("checking", len(files)) as advance:
        for one in results:
            done.append(one)
            advance(one.file)
    yield from done


def _check_fixed(file: str, options: _Options) -> CheckedFile:
    """Fix a file, or print the changes as a diff, and check the result."""
    try:
        data = _fix(file, options)
    except (SourceError, WriteError) as error:
        return CheckedFile(file, problem=str(error))
    return check_file(file, options.request, data if options.diff else None)


def _fix(file: str, options: _Options) -> bytes | None:
    """Fix a file, or print the changes as a diff; returns the fixed content, None if there is nothing to fix."""
    from exoskel.cli.file_changes import replace_file, show_diff
    from exoskel.formats.fixer import apply_fixes

    flags = options.request.flags
    scene = read_scene(file, flags)
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document):
        return None
    base = "." if file == STDIN else file
    selected = options.request.selection.has
    with terminal.spinner(f"fixing {printable(file)}", after=terminal.NOTICEABLE):
        result = apply_fixes(scene, lambda data: read_bytes(data, document.name, base, flags), selected)
    if options.diff:
        show_diff(file, document, result.data)
    elif result.done:
        replace_file(file, document, result.data, force=options.force)
        if options.plain:
            codes = sorted({diagnostic.code for diagnostic in result.done})
            summary = f"{printable(file)}: {len(result.done)} fixed ({', '.join(codes)})"
            terminal.print_text(summary, "green")
    return result.data


# --- output -----------------------------------------------------------------------------------------------


_MAX_PER_KIND = 1000
"""Errors or warnings of one kind that are listed; a file may have a million."""


def _print_reports(checked: list[CheckedFile], options: _Options) -> None:
    """Print what concerns all files: a total, statistics, or a report in another format."""
    found = [diagnostic for one in checked for diagnostic in one.diagnostics]
    if options.statistics:
        _show_statistics(found, options)
    elif options.output == "json":
        terminal.write_json([diagnostic.as_dict() for diagnostic in found])
    elif not options.plain:
        _print_for_programs(checked, found, options)
    if options.plain and not options.diff:
        _show_total(checked, found, options)


def _print_for_programs(checked: list[CheckedFile], found: list[Diagnostic], options: _Options) -> None:
    """Print a report in a format of other programs."""
    from exoskel.cli import check_reports

    if options.output == "sarif":
        terminal.write_json(check_reports.sarif(found, registry.catalogues()))
    elif options.output == "github":
        sys.stdout.write(check_reports.github(found))
    else:
        terminal.write_bytes(check_reports.junit(checked, options.bad))


def _show_total(checked: list[CheckedFile], found: list[Diagnostic], options: _Options) -> None:
    is_silent = options.quiet and all(one.is_clean for one in checked)
    if len(checked) > 1 and not is_silent:
        from exoskel.cli.check_reports import grand_total

        terminal.print_text(grand_total(checked, terminal.tally(found)), "bold")


def _show_statistics(found: list[Diagnostic], options: _Options) -> None:
    from exoskel.cli.check_reports import statistics

    rows = statistics(found)
    if options.output == "json":
        names = ("code", "count", "severity", "example")
        terminal.write_json([{name: getattr(row, name) for name in names} for row in rows])
        return
    if not rows:
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("count", "code", "severity", "example", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.columns[0].justify = "right"
    for row in rows:
        style = terminal.STYLES[row.severity]
        table.add_row(str(row.count), row.code, Text(row.severity, style), Text(printable(row.example)))
    terminal.console().print(table)


def _show(checked: CheckedFile, options: _Options) -> None:
    if options.quiet and checked.is_clean:
        return
    omitted: dict[str, int] = {}
    printed: Counter[str] = Counter()
    for diagnostic in checked.diagnostics:
        is_note = diagnostic.severity is Severity.INFO
        most = 1 if is_note else _MAX_PER_KIND
        if (is_note and options.quiet) or (printed[diagnostic.key] >= most and not options.all_notes):
            omitted[diagnostic.code] = omitted.get(diagnostic.code, 0) + 1
            continue
        printed[diagnostic.key] += 1
        terminal.print_text(terminal.format_diagnostic(diagnostic, registry.original_reader(diagnostic.code)), end="")
    if omitted and not options.quiet:
        more = ", ".join(f"{code} x {number}" for code, number in sorted(omitted.items()))
        terminal.print_text(f"(more of the same kind: {more}; use --all to list them)")
    summary = f"{printable(checked.file)}: {terminal.tally(checked.diagnostics)}{checked.contents}"
    terminal.print_text(summary, "bold")


# --- watching ---------------------------------------------------------------------------------------------


_POLL_SECONDS = 0.3


def _watch(arguments: Sequence[str], options: _Options) -> int:
    """Check again whenever a file changes, appears or vanishes; Ctrl-C ends it with the last exit code."""
    code = 0
    seen: object = None
    try:
        while True:
            now = _signature(arguments, options)
            if now != seen:
                seen = now
                if sys.stdout.isatty():
                    terminal.console().clear()
                code = _run(arguments, options)
                sys.stdout.flush()
                terminal.print_message("watching for changes; press Ctrl-C to stop")
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        return code


def _signature(arguments: Sequence[str], options: _Options) -> dict[str, tuple[int, int]]:
    """Times and sizes of all files."""
    found: dict[str, tuple[int, int]] = {}
    for file in _find_files(arguments, options):
        try:
            status = Path(file).stat()
            found[file] = status.st_mtime_ns, status.st_size
        except (OSError, ValueError):
            found[file] = (0, 0)
    return found
