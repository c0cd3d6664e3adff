"""Terminal output (colours on a terminal, plain text in a pipe) and stop signals."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TextIO

import msgspec

from exoskel.diagnostics import Diagnostic, Message, Severity, pluralize, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

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
"""Replaces `-` on the command line; it is also the name of standard input in messages."""

_PIPE_WIDTH = 1000
"""Wide enough that output in a pipe is neither wrapped nor cut."""


_SGR = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
"""The words of styles, as parameters of the escape sequence that selects them."""


class StyledText:
    """A text whose parts have styles, such as `bold red`.  The parts contain no control characters but line ends."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self._parts = [(text, style)]

    def append(self, text: str, style: str = "") -> None:
        self._parts.append((text, style))

    @property
    def plain(self) -> str:
        """The text without styles."""
        return "".join(text for text, _ in self._parts)

    @property
    def colored(self) -> str:
        """The text with escape sequences for its styles; no sequence spans a line end."""
        return "".join(
            _styled_line(line, style) for text, style in self._parts for line in text.splitlines(keepends=True)
        )


def _styled_line(line: str, style: str) -> str:
    shown = line.rstrip("\n")
    if not style or not shown:
        return line
    codes = ";".join(_SGR[word] for word in style.split())
    return f"\x1b[{codes}m{shown}\x1b[0m{line[len(shown) :]}"


def print_text(text: StyledText | str, style: str = "", *, stderr: bool = False, end: str = "\n") -> None:
    """Print a text, with its styles where colours are shown."""
    stream = sys.stderr if stderr else sys.stdout
    styled = StyledText(text, style) if isinstance(text, str) else text
    stream.write((styled.colored if is_colored(stream) else styled.plain) + end)


def console(*, stderr: bool = False) -> Console:
    """A console for tables and trees, without automatic wrapping or highlighting.  Use `print_text` for lines."""
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # handled once, in main

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    colors: Any = _color_options(stream)
    return PlainConsole(file=stream, highlight=False, emoji=False, soft_wrap=True, width=width, **colors)


ColorMode = Literal["auto", "always", "never"]
COLOR_OPTION = "--color"
_color_mode: ColorMode = "auto"


def set_color_mode(mode: ColorMode) -> None:
    """Colour all output, none, or that on terminals, for the rest of the program."""
    global _color_mode  # noqa: PLW0603
    _color_mode = mode


def is_colored(stream: TextIO) -> bool:
    """Whether output to a stream has colours: by `--color`, NO_COLOR, FORCE_COLOR, or because it is a terminal."""
    if _color_mode != "auto":
        return _color_mode == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _color_options(stream: TextIO) -> dict[str, object]:
    """Options of a console: without colours, text is not bold either."""
    if not is_colored(stream):
        return {"color_system": None}
    return {"color_system": "auto" if stream.isatty() else "standard", "force_terminal": True}


class _Display:
    """Whether a spinner or bar is on the screen, or must not be: only one can be shown at a time."""

    is_taken = False


def hide_progress() -> None:
    """Show no spinners and bars in this process: another one shows the progress."""
    _Display.is_taken = True


@contextmanager
def _taken_display() -> Iterator[bool]:
    """Take the display for the block; yields whether it is free and standard error is a terminal."""
    is_free = sys.stderr is not None and sys.stderr.isatty() and not _Display.is_taken
    if is_free:
        _Display.is_taken = True
    try:
        yield is_free
    finally:
        if is_free:
            _Display.is_taken = False


NOTICEABLE = 1.0
"""Seconds after which work shows that it goes on."""


@contextmanager
def spinner(label: str, *, after: float = 0.0) -> Iterator[None]:
    """Show a spinner on a terminal while the block runs, once it has run for `after` seconds; none in a pipe."""
    with _taken_display() as is_free:
        if not is_free:
            yield
            return
        show = _DelayedSpinner(label)
        timer = threading.Timer(after, show.start)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            show.stop()


class _DelayedSpinner:
    """A spinner that another thread starts, unless the work has ended before."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._lock = threading.Lock()
        self._status: Status | None = None
        self._is_over = False

    def start(self) -> None:
        from rich.text import Text

        with self._lock:
            if not self._is_over:
                self._status = console(stderr=True).status(Text(self._label))
                self._status.start()

    def stop(self) -> None:
        with self._lock:
            self._is_over = True
            if self._status is not None:
                self._status.stop()


class ProgressBar(Protocol):
    """Takes the amount done, and another label while something else is done."""

    def __call__(self, done: float, label: str | None = None) -> None: ...


@contextmanager
def progress_bar(label: str, template: str, total: float, *, first: str = "") -> Iterator[ProgressBar | None]:
    """Show a progress bar on a terminal; yield None in a pipe.

    `template` formats the amount done.  `first` is the label until it is first stated.
    """
    with _taken_display() as is_free:
        if not is_free:
            yield None
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn(template), TimeElapsedColumn())
        with Progress(*columns, console=console(stderr=True), transient=True) as bar:
            task = bar.add_task(first or label, total=total)
            yield lambda done, other=None: bar.update(task, completed=done, description=other or label)


@contextmanager
def file_progress_bar(label: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on a terminal that advances by one for each file name it is given; print nothing in a pipe."""
    with _taken_display() as is_free:
        if not is_free:
            yield lambda _done: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        description = TextColumn("{task.description}", markup=False)
        columns = (description, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=total)
            yield lambda name: bar.update(task, advance=1, description=f"{label} {printable(name)}")


@contextmanager
def frame_progress_bar(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar on a terminal for numbered frames; yield None in a pipe.

    The function it yields takes the number of frames that are done, and of all.  Until then the bar moves: a scene is
    compiled and simulated before its first frame.
    """
    with _taken_display() as is_free:
        if not is_free:
            yield None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def print_message(message: str) -> None:
    """Print a message about the command on standard error, with the prefix `exoskel:`."""
    _write_error(f"exoskel: {_safe_lines(message)}\n")


def warn_about_errors(scene: Scene, done: str) -> None:
    """Warn on standard error that the parts of a file with errors are not `done`, such as "simulated"."""
    if errors := _count(scene, Severity.ERROR):
        shown = pluralize(errors, "error")
        print_message(f"{_file_name(scene)} has {shown}; the invalid parts are not {done} (see `exoskel check`)")


def note_warnings(scene: Scene) -> None:
    """Mention on standard error that a file has warnings: some of its parts may be ignored."""
    if warnings := _count(scene, Severity.WARNING):
        print_message(f"{_file_name(scene)} has {pluralize(warnings, 'warning')} (see `exoskel check`)")


def _count(scene: Scene, severity: Severity) -> int:
    return sum(diagnostic.severity is severity for diagnostic in scene.diagnostics)


def _file_name(scene: Scene) -> str:
    return scene.source.name if scene.source else "the scene"


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


def format_diagnostic(diagnostic: Diagnostic, original_reader: str) -> StyledText:
    """Format a diagnostic as compilers do: position, message, excerpt with carets, hint."""
    style = STYLES[diagnostic.severity]
    position = diagnostic.position
    where = printable(diagnostic.file) + (f":{position.line}:{position.column}" if position else "")
    text = StyledText()
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
