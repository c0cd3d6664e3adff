"""Terminal output (colours on a terminal, plain text in a pipe) and stop signals."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from exoskel.diagnostics import Diagnostic, Message, Severity, pluralize, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from exoskel.scene.world import Scene

_SIGNAL_EXIT_BASE = 128
"""Shells add this to the number of a signal to get the exit code."""


class StopSignal:
    """The signal that stopped the program; SIGINT unless another one arrived."""

    def __init__(self) -> None:
        self.signal = signal.SIGINT

    @property
    def code(self) -> int:
        """The exit code: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP."""
        return _SIGNAL_EXIT_BASE + self.signal


_STOP_SIGNALS = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


@contextmanager
def catch_stop_signals() -> Iterator[StopSignal]:
    """Raise KeyboardInterrupt on SIGTERM and SIGHUP inside the block; has no effect outside the main thread.

    Signals that are ignored stay ignored: `nohup` ignores SIGHUP.
    """
    stop = StopSignal()

    def interrupt(number: int, _: FrameType | None) -> None:
        stop.signal = signal.Signals(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {one: handler for one in _STOP_SIGNALS if (handler := signal.getsignal(one)) is not signal.SIG_IGN}
    for one in before:
        signal.signal(one, interrupt)
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


# --- the terminal --------------------------------------------------------------------------------------


STYLES: dict[Severity | None, str] = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.INFO: "bold cyan",
}
_SEVERITY_NAMES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

STDIN = "<stdin>"
"""Replaces `-` on the command line, because the parser reads a lone hyphen as an option."""

_PIPE_WIDTH = 1000
"""Wide enough that output in a pipe is neither wrapped nor cut."""


def console(*, stderr: bool = False) -> Console:
    """Return a console without automatic wrapping or highlighting."""
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # handled once, in main

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return PlainConsole(file=stream, highlight=False, emoji=False, soft_wrap=True, width=width)


@contextmanager
def spinner(label: str) -> Iterator[None]:
    """Show a spinner on a terminal while the block runs; print nothing in a pipe."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.text import Text

    with console(stderr=True).status(Text(label)):
        yield


@contextmanager
def progress_bar(label: str, template: str, total: float) -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar on a terminal; yield None in a pipe.

    The function it yields takes the amount done.  `template` formats that amount.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(label), BarColumn(), TextColumn(template), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def file_progress_bar(label: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on a terminal that advances by one for each file name it is given; print nothing in a pipe."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda name: bar.update(task, advance=1, description=f"{label} {printable(name)}")


def print_message(message: str) -> None:
    """Print a message about the command on standard error, with the prefix `exoskel:`."""
    _write_error(f"exoskel: {_safe_lines(message)}\n")


def warn_about_errors(scene: Scene, done: str) -> None:
    """Warn on standard error that the parts of a file with errors are not `done`, such as "simulated"."""
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in scene.diagnostics)
    if errors:
        name = scene.source.name if scene.source else "the scene"
        print_message(
            f"{name} has {pluralize(errors, 'error')}; the invalid parts are not {done} (see `exoskel check`)"
        )


def _safe_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def print_line(message: str) -> None:
    """Print a line about a file on standard error, without a prefix."""
    _write_error(f"{printable(message)}\n")


def _write_error(text: str) -> None:
    """Write to standard error; if that fails, the exit code has to be enough."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def prepare_streams() -> None:
    """Let the standard streams accept any text.

    A closed stream discards its input.  A stream that is not UTF-8 shows escapes for characters it
    cannot encode.
    """
    sys.stdout = sys.stdout or _null_stream()
    sys.stderr = sys.stderr or _null_stream()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _null_stream() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output unchanged: UTF-8 formats stay UTF-8 whatever the terminal's encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_json(value: Any) -> None:
    """Write indented JSON to standard output."""
    write_bytes(format_json(value))


def format_json(value: Any) -> bytes:
    """Indented JSON, with escapes for characters that could control a terminal and for invalid ones."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a file name that is not valid text
        data = msgspec.json.encode(_escape_surrogates(msgspec.to_builtins(value)))
    text = _safe_lines(msgspec.json.format(data, indent=2).decode())  # these escapes are valid in JSON
    return text.encode() + b"\n"


def _escape_surrogates(value: Any) -> Any:
    """The same value with escapes in place of bytes that are not valid characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _escape_surrogates(inner) for key, inner in value.items()}
    return [_escape_surrogates(inner) for inner in value] if isinstance(value, list | tuple) else value


def format_diagnostic(diagnostic: Diagnostic, original_reader: str) -> Text:
    """Format a diagnostic as compilers do: position, message, excerpt with carets, hint."""
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
    for label, content in _footers(diagnostic, original_reader):
        text.append(f"{'':>{margin}} = ", "blue")
        text.append(f"{label}: ", "bold")
        text.append(f"{content}\n")
    return text


def _footers(diagnostic: Diagnostic, original_reader: str) -> Iterable[tuple[str, str]]:
    path = printable(diagnostic.path)
    if path:
        yield "at", path
    if diagnostic.hint:
        yield "hint", diagnostic.hint
    if diagnostic.note:
        yield "note", diagnostic.note
    if diagnostic.reader_note:
        yield original_reader, diagnostic.reader_note


def severity_label(message: Message) -> str:
    """The severity of a message; `(only when strict)` marks those that a lenient check does not report."""
    if message.severity is None:
        return f"{message.strict} (only when strict)"
    return message.severity.value


def tally(diagnostics: Iterable[Diagnostic]) -> str:
    """`1 error, 2 warnings`, or `no problems`."""
    counts = dict.fromkeys(Severity, 0)
    for diagnostic in diagnostics:
        counts[diagnostic.severity] += 1
    parts = [pluralize(number, _SEVERITY_NAMES[severity]) for severity, number in counts.items() if number]
    return ", ".join(parts) or "no problems"
