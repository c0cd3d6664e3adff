"""Validation of numbers that callers give."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.spatial import Array


def check_positive(what: str, value: float | None, *, or_zero: bool = False) -> None:
    """Raise if a number is given that is not finite and positive."""
    if value is None:
        return
    try:
        fits = bool(np.isfinite(value)) and (value > 0.0 or (or_zero and value == 0.0))
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ExoskelError(f"{what} must be finite and {'not negative' if or_zero else 'positive'}, not {value}")


def whole_number(what: str, value: Any, minimum: int) -> int:
    """A whole number of at least `minimum`, from any numeric type: `1e3` is valid."""
    try:
        fits = not isinstance(value, bool | str | bytes) and int(value) == value and value >= minimum
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise ExoskelError(f"{what} must be a whole number of at least {minimum}, not {value!r}")
    return int(value)


def numbers(what: str, values: Any) -> Array:
    """An array of finite numbers."""
    try:
        found = spatial.array(values)
    except (TypeError, ValueError):
        raise ExoskelError(f"{what} must be numbers, in rows of the same length") from None
    if not np.isfinite(found).all():
        raise ExoskelError(f"{what} must be finite")
    return found
