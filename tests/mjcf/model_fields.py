"""Comparison of all fields of two models compiled by MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np

_PARTS = ("opt", "stat", "vis", "global_", "quality", "headlight", "map", "scale", "rgba")
_OF_FILES = ("paths", "npaths", "nbuffer")
"""The paths of files that a model was compiled from, and the number of bytes with these."""


def model_fields(model: mujoco.MjModel) -> dict[str, object]:
    """All fields of a compiled model, with those of its options, statistics and visual settings."""
    found: dict[str, object] = {}

    def collect(owner: object, prefix: str) -> None:
        for name in dir(owner):
            if name.startswith("_") or name in _OF_FILES or name.endswith("pathadr"):
                continue
            value = getattr(owner, name)
            if name in _PARTS and not isinstance(value, np.ndarray):
                collect(value, f"{prefix}{name}.")
            elif isinstance(value, np.ndarray | bytes | str | int | float):
                found[prefix + name] = value

    collect(model, "")
    return found


def differing_fields(one: mujoco.MjModel, other: mujoco.MjModel) -> list[str]:
    """The fields that differ between two compiled models, to the bit."""
    mine, theirs = model_fields(one), model_fields(other)
    assert len(mine) > 500
    assert mine.keys() == theirs.keys()
    return [name for name, value in mine.items() if not np.array_equal(np.asarray(value), np.asarray(theirs[name]))]
