"""Distributions of values over many worlds: random within bounds, random about a mean, or a list of values.

The values of a world depend only on the seed and on its number, not on how worlds are divided among workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.spatial import Array

Kind = Literal["uniform", "loguniform", "normal", "values"]
KINDS = ("uniform", "loguniform", "normal")
Indices = NDArray[np.intp]


class Distribution(Struct, frozen=True):
    """Bounds for `uniform` and `loguniform`, mean and deviation for `normal`; rows, used cyclically, for `values`."""

    kind: Kind
    first: Array
    second: Array

    def draw(self, uniform: Array, normal: Array, indices: Indices) -> Array:
        """A row for each world, from uniform numbers in [0, 1) and standard normal ones, `(worlds, width)`."""
        if self.kind == "values":
            return self.first[indices % len(self.first)]
        if self.kind == "normal":
            return self.first + self.second * normal
        if self.kind == "uniform":
            return self.first + (self.second - self.first) * uniform
        return np.asarray(self.first * (self.second / self.first) ** uniform)


def parse_distribution(key: str, stated: Any, width: int = 1) -> Distribution:
    """Parse `(low, high)`, `("normal", mean, deviation)`, `("loguniform", low, high)`, a list, or a number.

    `width` is the count of numbers per world: three for a vector.
    """
    if isinstance(stated, Distribution):
        return stated
    if isinstance(stated, tuple) and stated and isinstance(stated[0], str):
        if stated[0] not in KINDS or len(stated) != 3:
            raise ExoskelError(
                f"invalid distribution {stated!r} for {key!r}: use (kind, a, b), with kind one of {', '.join(KINDS)}"
            )
        return _checked(key, Distribution(stated[0], *(_row(key, one, width) for one in stated[1:])))  # type: ignore[arg-type]
    if isinstance(stated, tuple) and len(stated) == 2:
        if width > 1 and all(np.ndim(one) == 0 for one in stated):  # the components would vary independently
            raise ExoskelError(
                f"each bound of {key!r} needs {width} numbers; use {key}.x, .y or .z to vary one component"
            )
        return _checked(key, Distribution("uniform", *(_row(key, one, width) for one in stated)))
    rows = _numbers(key, stated)
    if rows.ndim == (0 if width == 1 else 1):  # one value for all worlds
        rows = rows[None]
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != width or not len(rows):
        wanted = "numbers" if width == 1 else f"rows of {width} numbers"
        raise ExoskelError(f"{key!r} needs a list of {wanted}, not an array of shape {_numbers(key, stated).shape}")
    return Distribution("values", rows, rows)


def _numbers(key: str, stated: Any) -> Array:
    try:
        found = np.asarray(stated, dtype=np.float64)
    except (TypeError, ValueError):
        raise ExoskelError(
            f"invalid values {stated!r} for {key!r}: use bounds, a distribution, a list or a number"
        ) from None
    if not np.isfinite(found).all():
        raise ExoskelError(f"the values of {key!r} must be finite")
    return found


def _row(key: str, stated: Any, width: int) -> Array:
    found = _numbers(key, stated)
    if found.shape not in ((), (width,)):
        raise ExoskelError(f"{key!r} needs {width} numbers, not an array of shape {found.shape}")
    return np.broadcast_to(found, (width,)).copy()


def _checked(key: str, found: Distribution) -> Distribution:
    if found.kind == "normal":
        if (found.second < 0.0).any():
            raise ExoskelError(f"the deviation of {key!r} is negative")
        return found
    if (found.first > found.second).any():
        index = int(np.argmax(found.first > found.second))
        low, high = found.first[index], found.second[index]
        raise ExoskelError(f"the bounds of {key!r} are reversed: {low:g} is greater than {high:g}")
    if found.kind == "loguniform" and not (found.first > 0.0).all():
        raise ExoskelError(f"the bounds of {key!r} must be positive for a loguniform distribution")
    return found


def draw(
    distributions: Mapping[str, Distribution], widths: Mapping[str, int], seed: int, indices: Indices
) -> dict[str, Array]:
    """The values of each world, `(worlds, width)` by key."""
    order = sorted(distributions)
    total = sum(widths[key] for key in order)
    uniform, normal = np.empty((len(indices), total)), np.empty((len(indices), total))
    if any(one.kind != "values" for one in distributions.values()):
        for row, index in enumerate(indices.tolist()):
            stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(index,))))
            stream.random(out=uniform[row])
            stream.standard_normal(out=normal[row])
    out: dict[str, Array] = {}
    at = 0
    for key in order:
        part = slice(at, at + widths[key])
        with np.errstate(over="ignore", invalid="ignore"):
            out[key] = distributions[key].draw(uniform[:, part], normal[:, part], indices)
        if not np.isfinite(out[key]).all():
            raise ExoskelError(f"the values of {key!r} exceed the range of floating-point numbers")
        at += widths[key]
    return {key: out[key] for key in distributions}
