"""Imports MuJoCo on first use."""

from __future__ import annotations

import _thread
import importlib
import mmap
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from exoskel.diagnostics import ExoskelError

_VARIABLE = "MUJOCO_GL"
_SMALL_MEMORY = 1 << 28
"""Bytes that are enough to compile a small world."""
_PRIVATE: dict[str, int] = {} if sys.platform == "win32" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
"""Reserving memory that is not shared takes less time."""
T = TypeVar("T")


def load() -> Any:
    """The module.

    MuJoCo also imports its renderer, and fails if MUJOCO_GL names a graphics library that is not available.  Nothing
    here needs it, so MuJoCo is then imported without a renderer.
    """
    try:
        return __import__("mujoco")  # `import_module` takes longer if it is imported already
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


def run_with_memory(work: Callable[[], T]) -> T:
    """Call a function of MuJoCo that needs little memory, without a thread if so much is available.

    A thread takes 0.3 ms of processor time, most of it because it has memory of its own.
    """
    try:
        mmap.mmap(-1, _SMALL_MEMORY, **_PRIVATE).close()  # reserved, but never written to
    except (OSError, MemoryError, ValueError):
        return run_in_thread(work)
    return work()
