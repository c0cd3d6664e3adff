"""Changed files: print a diff, replace the file, or write another one."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from exoskel.cli import terminal
from exoskel.cli.terminal import STDIN
from exoskel.diagnostics import ExoskelError, printable
from exoskel.formats import registry
from exoskel.scene.world import Scene
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


class EditedOutput(Struct, frozen=True, kw_only=True):
    """Where an edited file goes: a diff, another file, standard output, or the file itself."""

    file: str
    out: str | None
    diff: bool
    force: bool
    json: bool

    def __post_init__(self) -> None:
        if self.diff and (self.json or self.out is not None):
            raise ExoskelError("--diff writes nothing; it cannot be combined with --json or --out")
        if self.json and self.is_stream:
            raise ExoskelError("--json cannot be combined with a document on standard output; use --out FILE")

    @property
    def is_stream(self) -> bool:
        """Whether the edited document is written to standard output."""
        return self.out == STDIN or (self.file == STDIN and self.out is None and not self.diff)

    def is_like(self, source: Document) -> bool:
        """Whether the output may have the text of the source: its references to files lead to the same ones."""
        if self.out is None or self.is_stream:
            return True
        here, there = Path(source.location.path).absolute(), Path(self.out).absolute()
        return (here.parent, here.suffix) == (there.parent, there.suffix)

    def print(self, line: str) -> None:
        """Print a line about the edits; standard output may be the document."""
        if self.is_stream:
            terminal.print_line(line)
        else:
            sys.stdout.write(f"{line}\n")


def save_edits(scene: Scene, output: EditedOutput) -> None:
    """Write an edited scene as a minimal change of its source."""
    from exoskel.conversion.saving import save
    from exoskel.formats.save import saved_bytes

    source = scene.documents[0] if scene.documents else None
    format = registry.by_name(scene.source_info.format or registry.DEFAULT.name)
    if not isinstance(source, Document):
        raise WriteError(f"cannot edit {output.file!r}: it has no text")
    if output.out is not None and output.out != STDIN:
        with terminal.spinner(f"writing {printable(output.out)}", after=terminal.NOTICEABLE):
            known = len(scene.diagnostics)
            save(scene, output.out, force=output.force)
        for diagnostic in scene.diagnostics[known:]:
            terminal.print_line(str(diagnostic))
        return
    if format.embedding is None:
        raise WriteError(
            f"cannot edit {output.file!r}: {format.label} files are not edited in place; "
            "use --out FILE to write a new one"
        )
    with terminal.spinner(f"editing {printable(output.file)}", after=terminal.NOTICEABLE):
        data = saved_bytes(scene)
    save_data(source, data, output)


def save_data(source: Document, data: bytes, output: EditedOutput) -> None:
    """Write the new content of a document in place, to another file, as a diff, or to standard output."""
    if output.diff:
        show_diff(output.file, source, data)
    elif output.is_stream:
        terminal.write_bytes(data)
    elif output.out is not None:
        write_atomically(Path(output.out), data, sources=[Path(source.location.path)])
    elif data != source.data:
        replace_file(output.file, source, data, force=output.force)


_STYLES = {"---": "bold", "+++": "bold", "@": "cyan", "-": "red", "+": "green"}


def show_diff(file: str, document: Document, data: bytes) -> None:
    """Print the changes to a file as a unified diff, coloured on a terminal."""
    lines = _diff(file, _lines(document.data, document), _lines(data, document))
    if not terminal.is_colored(sys.stdout):
        sys.stdout.writelines(lines)
        return
    for line in lines:
        style = next((style for start, style in _STYLES.items() if line.startswith(start)), "")
        text = "\t".join(map(printable, line.rstrip("\r\n").split("\t")))
        terminal.print_text(text, style)


def _lines(data: bytes, document: Document) -> list[str]:
    encoding = document.encoding
    text = data[encoding.mark :].decode(encoding.codec, "replace")
    return list(io.StringIO(text, newline=""))


def _diff(file: str, before: list[str], after: list[str]) -> Iterator[str]:
    """A unified diff in the form that `patch` accepts."""
    import difflib

    name = printable(file)
    for line in difflib.unified_diff(before, after, name, name):
        yield line if line.endswith(("\n", "\r")) else line + "\n\\ No newline at end of file\n"
