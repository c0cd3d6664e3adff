"""Validation of numbers that callers give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.spatial import Array

MAX_STEPS = 10**12
"""The largest number of steps of a run: weeks of computing."""

MAX_THREADS = 4096

MAX_CHUNK = 10_000
"""The largest number of steps at once, between two reports of progress."""


def check_positive(what: str, value: float | None, *, or_zero: bool = False) -> None:
    """Raise if a number is given that is not finite and positive."""
    if value is None:
        return
    try:
        fits = bool(np.isfinite(value)) and (value > 0.0 or (or_zero and value == 0.0))
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise ExoskelError(f"{what} must be finite and {'not negative' if or_zero else 'positive'}, not {value}")


def step_count(duration: float, time_step: float) -> int:
    """The number of time steps in a duration; raises ExoskelError if there are too many for any run."""
    steps = duration / time_step
    if not steps <= MAX_STEPS:
        raise ExoskelError(
            f"{duration:g} s are too long for a time step of {time_step:g} s: a run has at most {MAX_STEPS:,} steps"
        )
    return round(steps)


def step_chunks(steps: int) -> Iterator[int]:
    """Numbers of steps that add up to `steps`: engines take only so many at once, and cannot be interrupted."""
    while steps > MAX_CHUNK:
        yield MAX_CHUNK
        steps -= MAX_CHUNK
    yield steps


def sample_stride(interval: float, time_step: float) -> int:
    """The number of time steps between samples."""
    return max(1, round(min(interval / time_step, MAX_STEPS)))


def whole_number(what: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """A whole number of at least `minimum`, from any numeric type: `1e3` is valid."""
    try:
        fits = not isinstance(value, bool | str | bytes) and int(value) == value and value >= minimum
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise ExoskelError(f"{what} must be a whole number of at least {minimum}, not {value!r}")
    if maximum is not None and value > maximum:
        raise ExoskelError(f"{what} must be at most {maximum:,}, not {value}")
    return int(value)


def numbers(what: str, values: Any) -> Array:
    """An array of finite numbers."""
    try:
        found = spatial.array(values)
    except (TypeError, ValueError, OverflowError):
        raise ExoskelError(f"{what} must be numbers, in rows of the same length") from None
    if not np.isfinite(found).all():
        raise ExoskelError(f"{what} must be finite")
    return found


def vector3(what: str, values: Any) -> Array:
    """Three finite numbers."""
    try:
        found = spatial.array(values)
    except (TypeError, ValueError, OverflowError):
        raise ExoskelError(f"{what} is {values!r}, but must be 3 numbers") from None
    if found.shape != (3,):
        raise ExoskelError(f"{what} has the shape {found.shape}, but must have 3 numbers")
    if not np.isfinite(found).all():
        raise ExoskelError(f"{what} is {found.tolist()}, but must be finite")
    return found
