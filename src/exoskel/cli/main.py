"""The `exoskel` command.  It answers `--help` and `--version` itself, because the parser is slow to load."""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
import warnings
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TextIO

from exoskel.cli.commands import VERSION, overview, text_width

if TYPE_CHECKING:
    from typing_extensions import Buffer


_RETRY = 0.05
"""Seconds until a deferred interrupt is tried again."""
INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    prepare_streams()
    text = _brief_answer(given)
    if text is not None and _print(text):
        return 0
    from exoskel.cli.command_runner import run_command

    return run_command(given)


def _brief_answer(arguments: list[str]) -> str | None:
    """The text that needs no parser: the overview of the commands, or the version."""
    if arguments in ([], ["--help"], ["-h"]):
        return overview(text_width())
    return VERSION if arguments in (["--version"], ["-V"]) else None


def _print(text: str) -> bool:
    """Print a text; returns False if standard output does not take it."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        discard_output()
    except OSError:
        return False
    return True


def run() -> None:
    """Entry point of the installed command."""
    gc.disable()  # a tenth of a short command would be garbage collection; it starts when the command is loaded
    try:
        defer_interrupts_while_loading()
        if not sys.warnoptions:  # NumPy warns about overflow, with lines of our source; results say what is not finite
            warnings.simplefilter("ignore", RuntimeWarning)
        code = main()
    except KeyboardInterrupt:  # while modules are loaded
        sys.stderr.write("exoskel: interrupted\n")
        code = INTERRUPTED
    if code == INTERRUPTED:
        _end_without_finalization(code)
    sys.exit(code)


def _end_without_finalization(code: int) -> NoReturn:
    """End the process; the interpreter may crash if it ends regularly after an interrupt between imports."""
    atexit._run_exitfuncs()  # temporary files are removed
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def defer_interrupts_while_loading() -> None:
    """Let Ctrl-C wait until modules are loaded: some libraries ignore every exception while they import others."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGINT, _interrupt_when_loaded)
        signal.signal(signal.SIGALRM, _interrupt_when_loaded)


def _interrupt_when_loaded(_: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            signal.setitimer(signal.ITIMER_REAL, _RETRY)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def prepare_streams() -> None:
    """Let the standard streams accept any text.

    A closed stream discards its input, and so does a pipe whose reader has ended: a command ends with the exit code of
    what it found.  A stream that is not UTF-8 shows escapes for characters it cannot encode.
    """
    sys.stdout = sys.stdout or _null_stream()
    sys.stderr = sys.stderr or _null_stream()
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _without_pipe_errors(sys.stdout)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


class _PipeOutput(io.FileIO):
    """Standard output that discards what it is given once the reader of its pipe has ended."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return memoryview(data).nbytes


def _without_pipe_errors(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """The same stream, for a reader that may end before everything is written."""
    stream.flush()
    raw = _PipeOutput(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=stream.line_buffering
    )


def _null_stream() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def discard_output() -> None:
    """Discard what is still to be written to standard output: Python would report an error at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
