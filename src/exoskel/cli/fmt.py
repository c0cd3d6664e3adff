"""`exoskel fmt`: format files in the canonical layout without changing their meaning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct

from exoskel.cli import terminal
from exoskel.cli.file_changes import replace_file, show_diff
from exoskel.cli.flags import ReadFlags, read_bytes, read_stdin
from exoskel.cli.parameters import Argument
from exoskel.cli.settings import find_files, find_settings
from exoskel.cli.terminal import STDIN
from exoskel.diagnostics import ExoskelError, Severity, SourceError, printable, sort_by_position
from exoskel.formats import registry
from exoskel.formats.formatter import FormatterError, format_file
from exoskel.formats.load import open_document
from exoskel.scene.world import Scene
from exoskel.source.atomic_write import WriteError
from exoskel.source.document import Document


class FormattedFile(Struct):
    """A file and its new content; None if it cannot be formatted, which has been reported already."""

    document: Document
    data: bytes | None = None

    @property
    def changed(self) -> bool:
        return self.data is not None and self.data != self.document.data


def fmt(
    files: Annotated[
        tuple[str, ...],
        Argument(help="Files and folders to format; `-` formats standard input to standard output."),
    ],
    /,
    *,
    check: Annotated[bool, Argument(help="Write nothing; list the files that would change and exit with 1.")] = False,
    diff: Annotated[bool, Argument(help="Write nothing; print the changes as a diff.")] = False,
    numbers: Annotated[bool, Argument(help="Shorten numbers to the shortest form with the same value.")] = False,
    json: Annotated[bool, Argument(help="Print the list of files as JSON.")] = False,
    force: Annotated[bool, Argument(help="Overwrite files even if another program has changed them.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Format files: two spaces per level, one element per line, elements in the order of the reference.

    Comments, unknown elements, extensions, number spelling, encoding and line ends are preserved. Each result is
    read again and compared with the original before the file is replaced.

    In folders, all SKEL, XODE, URDF and SDF files are formatted, except for those that git ignores or that the settings
    of the project exclude.

    Exit code 0: done. 1: a file is not well-formed (with --check: or would change). 2: one could not be opened.
    """
    reports_only = check or diff
    if json and (diff or (STDIN in files and not check)):
        raise ExoskelError("--json cannot be combined with --diff or formatted output; use --json --check")
    found = _find_files(files)
    if not found:
        terminal.print_message(f"no files with a canonical layout found in {', '.join(map(repr, files))}")
        return 2
    rows: list[dict[str, Any]] = []
    code = 0
    for file in found:
        try:
            formatted = _formatted(file, flags or ReadFlags(), numbers)
            if not reports_only:
                _write(file, formatted, force=force)
        except (SourceError, WriteError) as error:
            terminal.print_message(str(error))
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


def _find_files(arguments: tuple[str, ...]) -> list[str]:
    """The files to format: in folders, those of formats with a canonical layout that the settings do not exclude."""
    folders = [one for one in arguments if one != STDIN and Path(one).is_dir()]
    if not folders:
        return list(arguments)
    settings = find_settings()
    found = find_files(arguments, settings.check.exclude, settings.folder, gitignore=settings.check.respect_gitignore)
    return [one for one in found if one in arguments or registry.by_extension(one) in registry.WITH_VOCABULARY]


def _formatted(file: str, flags: ReadFlags, numbers: bool) -> FormattedFile:
    """Format one file in memory and verify that its meaning is unchanged."""
    if file == STDIN:
        document = open_document(read_stdin(flags), name=STDIN, base=".")
    else:
        document = open_document(file, limits=flags.limits)
    language = registry.by_name(flags.format) if flags.format else registry.detect(document.data, document.name)
    base = "." if file == STDIN else file

    def read(data: bytes) -> Scene:
        return read_bytes(data, document.name, base, flags)

    result = FormattedFile(document)
    if not language.has_vocabulary:
        terminal.print_message(f"{printable(file)} is left unchanged: {language.label} has no canonical layout")
        return result
    try:
        with terminal.spinner(f"formatting {printable(file)}", after=terminal.NOTICEABLE):
            result.data = format_file(document, language, read, numbers=numbers, limits=flags.limits)
    except FormatterError as error:
        terminal.print_message(f"{printable(file)} is left unchanged: {error}")
        return result
    if result.data is None:
        _show_errors(read(document.data))
    return result


def _write(file: str, formatted: FormattedFile, *, force: bool) -> None:
    if file == STDIN:
        sys.stdout.flush()
        sys.stdout.buffer.write(formatted.data or b"")
    elif formatted.changed and formatted.data is not None:
        replace_file(file, formatted.document, formatted.data, force=force)


# --- output -----------------------------------------------------------------------------------------


def _show(file: str, formatted: FormattedFile, *, check: bool, diff: bool) -> None:
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
    """Print errors as `check` does, but on standard error: standard output may be a document."""
    for diagnostic in sort_by_position(scene.diagnostics):
        if diagnostic.severity is Severity.ERROR:
            shown = terminal.format_diagnostic(diagnostic, registry.original_reader(diagnostic.code))
            terminal.print_text(shown, stderr=True, end="")
