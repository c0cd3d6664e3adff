"""Imports MuJoCo on first use."""

from __future__ import annotations

import _thread
import importlib
import os
from collections.abc import Callable
from typing import Any, TypeVar

from exoskel.diagnostics import ExoskelError

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


def load_batch() -> Any:
    """The module `mujoco.batch`, which steps many worlds; MuJoCo has it since version 4.0."""
    try:
        return importlib.import_module("mujoco.batch")
    except ImportError:
        installed = load().__version__
        raise ExoskelError(
            f"stepping many worlds at once needs MuJoCo 4.0 or newer, and {installed} is installed: "
            "pip install 'mujoco>=4'"
        ) from None


def stop_error(error: Exception) -> ExoskelError:
    """What MuJoCo says when it cannot continue: that it lacks memory for contacts, for example."""
    return ExoskelError(f"MuJoCo stopped: {str(error).partition(chr(10))[0]}")


def run_in_thread(work: Callable[[], T]) -> T:
    """Call a function of MuJoCo that may fail, in its own thread.

    When its C++ code runs out of memory, MuJoCo 4.0 leaves a message handler in the thread, and the next warning there
    causes an infinite recursion.  The handler ends with the thread.
    """
    out: list[T] = []
    failed: list[BaseException] = []
    running = _thread.allocate_lock()

    def run() -> None:
        try:
            out.append(work())
        except BaseException as error:  # raised again in the calling thread
            failed.append(error)
        finally:
            running.release()

    running.acquire()
    _thread.start_new_thread(run, ())  # half the time of `Thread`; an interrupt does not wait for it
    running.acquire()
    if failed:
        raise failed[0]
    return out[0]
