"""MuJoCo itself, imported by whoever needs it first."""

from __future__ import annotations

import importlib
import os
from typing import Any

_VARIABLE = "MUJOCO_GL"


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
