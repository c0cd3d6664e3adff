"""Changed files: print a diff, or replace the file."""

from __future__ import annotations

import difflib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from exoskel.cli import terminal
from exoskel.diagnostics import printable
from exoskel.source.atomic_write import FileChangedError, WriteError, write_atomically
from exoskel.source.document import Document


def replace_file(file: str, document: Document, data: bytes, *, force: bool) -> None:
    """Replace the content of a document's file; `force` overwrites the changes of another program."""
    if document.location.uri:
        raise WriteError(f"cannot write {file!r}: samples are read-only; copy them with `exoskel samples --copy DIR`")
    try:
        other_names = write_atomically(Path(document.location.path), data, None if force else document.stored)
    except FileChangedError:
        raise FileChangedError(
            f"cannot write {file!r}: another program has changed the file since it was read; "
            "run the command again, or use --force to overwrite it"
        ) from None
    if other_names:
        terminal.print_line(f"{file}: other names (hard links: {other_names}) keep the old content")


_STYLES = {"---": "bold", "+++": "bold", "@": "cyan", "-": "red", "+": "green"}


def show_diff(file: str, document: Document, data: bytes) -> None:
    """Print the changes to a file as a unified diff, coloured on a terminal."""
    lines = _diff(file, _lines(document.data, document), _lines(data, document))
    if not sys.stdout.isatty():
        sys.stdout.writelines(lines)
        return
    from rich.text import Text

    console = terminal.console()
    for line in lines:
        style = next((style for start, style in _STYLES.items() if line.startswith(start)), "")
        text = "\t".join(map(printable, line.rstrip("\r\n").split("\t")))
        console.print(Text(text, style))


def _lines(data: bytes, document: Document) -> list[str]:
    encoding = document.encoding
    text = data[encoding.mark :].decode(encoding.codec, "replace")
    return list(io.StringIO(text, newline=""))


def _diff(file: str, before: list[str], after: list[str]) -> Iterator[str]:
    """A unified diff in the form that `patch` accepts."""
    name = printable(file)
    for line in difflib.unified_diff(before, after, name, name):
        yield line if line.endswith(("\n", "\r")) else line + "\n\\ No newline at end of file\n"
