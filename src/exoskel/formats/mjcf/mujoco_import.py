"""Imports MuJoCo on first use."""

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

    MuJoCo also imports its renderer, and fails if MUJOCO_GL names a graphics library that is not available.  Nothing
    here needs it, so MuJoCo is then imported without a renderer.
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
    """Call a function of MuJoCo that may fail, in its own thread.

    When its C++ code runs out of memory, MuJoCo 4.0 leaves a message handler in the thread, and the next warning there
    causes an infinite recursion.  The handler ends with the thread.
    """
    out: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            out.append(work())
        except BaseException as error:  # raised again in the calling thread
            failed.append(error)

    thread = Thread(target=run, daemon=True)  # an interrupt does not wait for it
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return out[0]
