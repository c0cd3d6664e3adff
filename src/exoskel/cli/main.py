"""The `exoskel` command.  It answers `--help` and `--version` itself, because the parser is slow to load."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import warnings
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from exoskel.cli.commands import VERSION, overview, text_width
from exoskel.cli.standard_streams import INTERRUPTED, discard_output, flush_messages, prepare_streams

_RETRY = 0.05
"""Seconds until a deferred interrupt is tried again."""


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
    flush_messages()
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
