"""Stop signals: SIGTERM interrupts a simulation as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNAL_EXIT_BASE = 128
"""Shells add this to the number of a signal to get the exit code."""


class StopSignal:
    """The signal that stopped the program; SIGINT unless another one arrived."""

    def __init__(self) -> None:
        self.signal = signal.SIGINT

    @property
    def code(self) -> int:
        """The exit code: 130 for Ctrl-C, 143 for SIGTERM."""
        return _SIGNAL_EXIT_BASE + self.signal


@contextmanager
def catch_sigterm() -> Iterator[StopSignal]:
    """Raise KeyboardInterrupt on SIGTERM inside the block; has no effect outside the main thread."""
    stop = StopSignal()

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
