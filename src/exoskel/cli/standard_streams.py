"""The standard streams of a command, which accept any text and survive a reader that ends early."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


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
    _discard(sys.stdout)


def flush_messages() -> None:
    """Write out standard error, or discard it if that fails: Python would change the exit code."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
