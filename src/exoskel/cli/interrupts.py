"""Being told to stop: Ctrl-C, and what a system sends to those it wants gone, are the same to a run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_OF_SIGNALS = 128
"""What shells add to the number of a signal to get an exit code."""


class StopRequest:
    """Which signal came, if one did."""

    def __init__(self) -> None:
        self.signal = signal.SIGINT

    @property
    def code(self) -> int:
        """The exit code of a program that was stopped so: 130 for Ctrl-C, 143 for SIGTERM."""
        return _OF_SIGNALS + self.signal


@contextmanager
def stopping() -> Iterator[StopRequest]:
    """Take SIGTERM as an interruption while this lasts; only the main thread can."""
    stop = StopRequest()

    def interrupt(number: int, _: FrameType | None) -> None:
        stop.signal = signal.Signals(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)
