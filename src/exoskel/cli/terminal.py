"""Writing to the terminal: colours where there is one, plain text in a pipe."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from exoskel.diagnostics import Diagnostic, Message, Severity, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from exoskel.scene.world import Scene

STYLES: dict[Severity | None, str] = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.INFO: "bold cyan",
}
_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

_PIPE_WIDTH = 1000
"""In a pipe nothing is wrapped or cut."""


def console(*, stderr: bool = False) -> Console:
    """A console that wraps nothing and highlights nothing of its own accord."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the command deals with it, in one place

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Plain(file=stream, highlight=False, emoji=False, soft_wrap=True, width=width)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Tell on a terminal that something is going on, for as long as it takes; silent in a pipe."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(what):
        yield


@contextmanager
def progress(what: str, reached: str, total: float) -> Iterator[Callable[[float], None] | None]:
    """A bar on a terminal, to be told how far things are; nothing in a pipe.  `reached` words that."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), TextColumn(reached), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal, moved on by each call with what was done; silent in a pipe."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, advance=1, description=f"{what} {printable(done)}")


def complain(message: str) -> None:
    """A message about the command itself, on standard error; it may name files and arguments."""
    sys.stderr.write(f"exoskel: {_safe_lines(message)}\n")


def complain_of_errors(scene: Scene, done: str) -> None:
    """Mention that a file has errors, beside the output: what they are about is not `done`."""
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in scene.diagnostics)
    if errors:
        name = scene.source.name if scene.source else "the scene"
        what = "what it is about" if errors == 1 else "what they are about"
        complain(f"{name} has {counted(errors, 'error')}, and {what} is not {done}; see `exoskel check`")


def _safe_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def remark(message: str) -> None:
    """A line about a file, on standard error."""
    sys.stderr.write(f"{printable(message)}\n")


def prepare() -> None:
    """Make the standard streams fit for any text.

    A stream that was closed takes whatever comes.  One that is not in UTF-8 gets escapes for what it
    cannot show.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def write_bytes(data: bytes) -> None:
    """Bytes on standard output, as they are: formats that are UTF-8 stay so, whatever the terminal is in."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_json(value: Any) -> None:
    """Indented JSON on standard output."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a file name that is no text
        data = msgspec.json.encode(_as_text(msgspec.to_builtins(value)))
    shown = _safe_lines(msgspec.json.format(data, indent=2).decode())  # the escapes are those of JSON
    write_bytes(shown.encode() + b"\n")


def _as_text(value: Any) -> Any:
    """The same value with escapes in place of what is no character."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _as_text(inner) for key, inner in value.items()}
    return [_as_text(inner) for inner in value] if isinstance(value, list | tuple) else value


def render(diagnostic: Diagnostic, engine_name: str) -> Text:
    """One diagnostic as compilers show them: place, message, excerpt with carets, and what may help."""
    from rich.text import Text

    style = STYLES[diagnostic.severity]
    position = diagnostic.position
    where = printable(diagnostic.file) + (f":{position.line}:{position.column}" if position else "")
    text = Text()
    text.append(f"{where}: ", "bold")
    text.append(f"{diagnostic.severity}[{diagnostic.code}]", style)
    text.append(f": {diagnostic.message}\n")
    margin = 4
    if position is not None:
        number = str(position.line)
        margin = max(margin, len(number))
        line, carets = diagnostic.excerpt.split("\n")
        text.append(f"{number:>{margin}} | ", "blue")
        text.append(f"{line}\n")
        text.append(f"{'':>{margin}} | ", "blue")
        text.append(f"{carets}\n", style)
    for label, content in _footers(diagnostic, engine_name):
        text.append(f"{'':>{margin}} = ", "blue")
        text.append(f"{label}: ", "bold")
        text.append(f"{content}\n")
    return text


def _footers(diagnostic: Diagnostic, engine_name: str) -> Iterable[tuple[str, str]]:
    path = printable(diagnostic.path)
    if path:
        yield "at", path
    if diagnostic.hint:
        yield "hint", diagnostic.hint
    if diagnostic.engine:
        yield engine_name, diagnostic.engine


def severity_word(message: Message) -> str:
    """The severity of a lenient reading, and of a strict one where that is not simply harder."""
    if message.severity is None:
        return f"{message.strict} (only when strict)"
    return message.severity.value


def counted(number: int, singular: str, plural: str = "") -> str:
    """`1 body`, `2 bodies`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def tally(diagnostics: Iterable[Diagnostic]) -> str:
    """`1 error, 2 warnings`, or `no problems`."""
    counts = dict.fromkeys(Severity, 0)
    for diagnostic in diagnostics:
        counts[diagnostic.severity] += 1
    parts = [counted(number, _WORDS[severity]) for severity, number in counts.items() if number]
    return ", ".join(parts) or "no problems"
