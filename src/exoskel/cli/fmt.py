"""`exoskel fmt`: canonical layout, and not a word of the meaning changed."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from cyclopts import Parameter
from msgspec import Struct

from exoskel.cli import terminal
from exoskel.cli.file_changes import show_diff, take_place
from exoskel.cli.read_flags import Flag, ReadFlags, read_bytes, standard_input
from exoskel.cli.stdin import STDIN
from exoskel.diagnostics import ExoskelError, Severity, SourceError, in_file_order, printable
from exoskel.formats import registry
from exoskel.formats.formatter import FormatterError, laid_out
from exoskel.formats.load import open_document
from exoskel.scene.world import Scene
from exoskel.source.atomic_write import WriteError
from exoskel.source.document import Document


class Formatted(Struct):
    """A file and its new content; None where it cannot be formatted, which has been told already."""

    document: Document
    data: bytes | None = None

    @property
    def changed(self) -> bool:
        return self.data is not None and self.data != self.document.data


def fmt(
    files: Annotated[
        tuple[str, ...], Parameter(help="Files to format; `-` formats standard input to output.", required=True)
    ],
    /,
    *,
    check: Annotated[Flag, Parameter(help="Write nothing; list the files that would change, and exit with 1.")] = False,
    diff: Annotated[Flag, Parameter(help="Write nothing; show what would change.")] = False,
    numbers: Annotated[
        Flag, Parameter(help="Spell numbers in the shortest form that reads back to the same value.")
    ] = False,
    json: Annotated[Flag, Parameter(help="Print what changed as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Bring files into canonical layout: two blanks a level, one element a line, the order of the reference.

    Comments, unknown elements, extensions, number spelling, encoding and line ends are kept. Each result is
    read again and compared with the file before it takes its place.

    Exit code 0: done. 1: a file is not well-formed (with --check: or would change). 2: one could not be opened.
    """
    reports_only = check or diff
    if json and (diff or (STDIN in files and not check)):
        raise ExoskelError("--json and the formatted text or its --diff cannot share the output; use --json --check")
    rows: list[dict[str, Any]] = []
    code = 0
    for file in files:
        try:
            formatted = _formatted(file, flags or ReadFlags(), numbers)
            if not reports_only:
                _write(file, formatted)
        except (SourceError, WriteError) as error:
            terminal.complain(str(error))
            code = 2
            continue
        rows.append({"file": file, "changed": None if formatted.data is None else formatted.changed})
        if formatted.data is None or (check and formatted.changed):
            code = max(code, 1)
        if not json:
            _show(file, formatted, check=check, diff=diff)
    if json:
        terminal.write_json(rows)
    return code


def _formatted(file: str, flags: ReadFlags, numbers: bool) -> Formatted:
    """Format one file in memory, and prove that it means the same."""
    if file == STDIN:
        document = open_document(standard_input(flags), name=STDIN, base=".")
    else:
        document = open_document(file, limits=flags.limits)
    language = registry.by_name(flags.format) if flags.format else registry.detect(document.data, document.name)
    base = "." if file == STDIN else file

    def read(data: bytes) -> Scene:
        return read_bytes(data, document.name, base, flags)

    result = Formatted(document)
    if not language.has_vocabulary:
        terminal.complain(f"{printable(file)} is left as it is: there is no canonical layout of {language.label}")
        return result
    try:
        result.data = laid_out(document, language, read, numbers=numbers, limits=flags.limits)
    except FormatterError as error:
        terminal.complain(f"{printable(file)} is left as it is: {error}")
        return result
    if result.data is None:
        _show_errors(read(document.data))
    return result


def _write(file: str, formatted: Formatted) -> None:
    if file == STDIN:
        sys.stdout.flush()
        sys.stdout.buffer.write(formatted.data or b"")
    elif formatted.changed and formatted.data is not None:
        take_place(file, formatted.document, formatted.data)


# --- what the user sees -----------------------------------------------------------------------------


def _show(file: str, formatted: Formatted, *, check: bool, diff: bool) -> None:
    if formatted.data is None:
        return
    if diff:
        show_diff(file, formatted.document, formatted.data)
    elif check:
        if formatted.changed:
            sys.stdout.write(printable(file) + "\n")
    elif file != STDIN:
        sys.stdout.write(f"{printable(file)}: {'formatted' if formatted.changed else 'unchanged'}\n")


def _show_errors(scene: Scene) -> None:
    """As `check` shows them, but beside the output, which may be a document."""
    console = terminal.console(stderr=True)
    for finding in in_file_order(scene.diagnostics):
        if finding.severity is Severity.ERROR:
            console.print(terminal.render(finding, registry.engine_of(finding.code)), end="")
