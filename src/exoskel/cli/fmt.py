"""`exoskel fmt`: canonical layout, and not a word of the meaning changed."""

from __future__ import annotations

import difflib
import io
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from msgspec import Struct

from exoskel.cli import output
from exoskel.cli.reading import Flag, ReadFlags, read_bytes, standard_input
from exoskel.cli.stdin import STDIN
from exoskel.diagnostics import ExoskelError, Severity, SourceError, in_file_order, printable
from exoskel.formats import registry
from exoskel.formats.load import open_document
from exoskel.scene.summary import summarize
from exoskel.scene.world import Scene
from exoskel.source.document import Document, literal_tag
from exoskel.source.encoding import Irreversible
from exoskel.source.layout import tidy
from exoskel.source.malformed import Malformed
from exoskel.source.pausing import garbage_collection_paused
from exoskel.source.sameness import same_markup
from exoskel.source.writing import WriteError, write_atomically


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
            output.complain(str(error))
            code = 2
            continue
        rows.append({"file": file, "changed": None if formatted.data is None else formatted.changed})
        if formatted.data is None or (check and formatted.changed):
            code = max(code, 1)
        if not json:
            _show(file, formatted, check=check, diff=diff)
    if json:
        output.write_json(rows)
    return code


def _formatted(file: str, flags: ReadFlags, numbers: bool) -> Formatted:
    """Format one file in memory, and prove that it means the same."""
    if file == STDIN:
        document = open_document(standard_input(flags), name=STDIN, base=".")
    else:
        document = open_document(file, limits=flags.limits)
    language = registry.by_name(flags.format) if flags.format else registry.detect(document.data, document.name)
    result = Formatted(document)
    if not language.has_vocabulary:
        output.complain(f"{printable(file)} is left as it is: there is no canonical layout of {language.name.upper()}")
        return result
    vocabulary = language.vocabulary()
    try:
        if literal_tag(document.parse(flags.limits)) == vocabulary.root.name:
            with garbage_collection_paused():
                result.data = tidy(document, vocabulary, numbers=numbers)
    except Malformed:
        pass
    except Irreversible as error:
        output.complain(f"{printable(file)} is left as it is: {error}")
        return result
    if result.data is None:
        _show_errors(read_bytes(document.data, document.name, _base(file), flags))
        return result
    reason = _objection(document, result.data, _base(file), flags) if result.changed else ""
    if reason:
        output.complain(f"{printable(file)} is left as it is: formatted, {reason}")
        result.data = None
    return result


def _base(file: str) -> str:
    return "." if file == STDIN else file


def _objection(document: Document, data: bytes, base: str, flags: ReadFlags) -> str:
    """Why new content must not take the place of a document: it does not say or mean the same."""
    if len(data) > flags.max_bytes:
        return f"it would have {len(data)} bytes, and the limit is {flags.max_bytes}"
    with garbage_collection_paused():
        if not same_markup(document, Document(data), flags.limits):
            return "it would not say the same, a defect of exoskel; please report it"
        before, after = (_meaning(read_bytes(d, document.name, base, flags)) for d in (document.data, data))
        return "" if before == after else "it would not mean the same, a defect of exoskel; please report it"


def _meaning(scene: Scene) -> tuple[dict[str, Any], Counter[str]]:
    """The scene's summary without its lines, which move, and what there is to say about it."""
    summary = summarize(scene)
    for world in summary["worlds"]:
        for model in world["models"]:
            for part in (*model["bodies"], *model["joints"]):
                del part["line"]
    return summary, Counter(diagnostic.key for diagnostic in scene.diagnostics)


def _write(file: str, formatted: Formatted) -> None:
    if file == STDIN:
        sys.stdout.flush()
        sys.stdout.buffer.write(formatted.data or b"")
    elif formatted.changed and formatted.data is not None:
        if formatted.document.location.uri:
            raise WriteError(f"cannot write {file!r}: samples are not changed; `exoskel samples --copy` makes copies")
        write_atomically(Path(formatted.document.location.path), formatted.data)


# --- what the user sees -----------------------------------------------------------------------------


def _show(file: str, formatted: Formatted, *, check: bool, diff: bool) -> None:
    if formatted.data is None:
        return
    if diff:
        _show_diff(file, formatted.document, formatted.data)
    elif check:
        if formatted.changed:
            sys.stdout.write(printable(file) + "\n")
    elif file != STDIN:
        sys.stdout.write(f"{printable(file)}: {'formatted' if formatted.changed else 'unchanged'}\n")


def _show_errors(scene: Scene) -> None:
    """As `check` shows them, but beside the output, which may be a document."""
    console = output.console(stderr=True)
    for finding in in_file_order(scene.diagnostics):
        if finding.severity is Severity.ERROR:
            console.print(output.render(finding, registry.engine_of(finding.code)), end="")


_STYLES = {"---": "bold", "+++": "bold", "@": "cyan", "-": "red", "+": "green"}


def _show_diff(file: str, document: Document, data: bytes) -> None:
    lines = _diff(file, _lines(document.data, document), _lines(data, document))
    if not sys.stdout.isatty():
        sys.stdout.writelines(lines)
        return
    from rich.text import Text

    console = output.console()
    for line in lines:
        style = next((style for start, style in _STYLES.items() if line.startswith(start)), "")
        shown = "\t".join(map(printable, line.rstrip("\r\n").split("\t")))
        console.print(Text(shown, style))


def _lines(data: bytes, document: Document) -> list[str]:
    encoding = document.encoding
    text = data[encoding.mark :].decode(encoding.codec, "replace")
    return list(io.StringIO(text, newline=""))


def _diff(file: str, before: list[str], after: list[str]) -> Iterator[str]:
    """A unified diff that `patch` takes."""
    name = printable(file)
    for line in difflib.unified_diff(before, after, name, name):
        yield line if line.endswith(("\n", "\r")) else line + "\n\\ No newline at end of file\n"
