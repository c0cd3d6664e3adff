"""MuJoCo itself, imported by whoever needs it first."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from threading import Thread
from typing import Any, TypeVar

_VARIABLE = "MUJOCO_GL"
T = TypeVar("T")


def load() -> Any:
    """The module.

    MuJoCo imports its renderer with itself, and fails altogether where MUJOCO_GL names a system of drawing that is
    not there.  Nothing here needs one, so it is then imported without.
    """
    try:
        return importlib.import_module("mujoco")
    except Exception:  # what a missing library raises depends on the library
        named = os.environ.get(_VARIABLE)
        if named is None:
            raise
    os.environ[_VARIABLE] = "disable"
    try:
        return importlib.import_module("mujoco")
    finally:
        os.environ[_VARIABLE] = named


def run_in_thread(work: Callable[[], T]) -> T:
    """Do something that MuJoCo may break off in the middle, in a thread of its own.

    Where its C++ runs out of memory, MuJoCo 4.0 leaves a handler of messages behind in the thread, and the next warning
    there, of whatever world, is handed from that handler to itself for ever.  It ends with the thread.
    """
    out: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            out.append(work())
        except BaseException as error:  # it is raised again, where somebody waits for it
            failed.append(error)

    thread = Thread(target=run, daemon=True)  # whoever interrupts does not wait for it
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return out[0]
