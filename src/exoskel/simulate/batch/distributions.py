"""How a number is spread over many worlds: at random within bounds, about a mean, or one value after the other.

What a world draws depends on the seed and on its own number alone, so it is the same however worlds are shared out.
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
    """Bounds for `uniform` and `loguniform`, mean and deviation for `normal`; for `values`, rows taken in turn."""

    kind: Kind
    first: Array
    second: Array

    def draw(self, even: Array, normal: Array, indices: Indices) -> Array:
        """A row for each world, from numbers in [0, 1) and standard normal ones, `(worlds, width)`."""
        if self.kind == "values":
            return self.first[indices % len(self.first)]
        if self.kind == "normal":
            return self.first + self.second * normal
        if self.kind == "uniform":
            return self.first + (self.second - self.first) * even
        return np.asarray(self.first * (self.second / self.first) ** even)


def law(key: str, stated: Any, width: int = 1) -> Distribution:
    """What is meant by `(low, high)`, `("normal", mean, deviation)`, `("loguniform", low, high)`, a list, or a number.

    `width` is how many numbers a world takes: three for a vector.
    """
    if isinstance(stated, Distribution):
        return stated
    if isinstance(stated, tuple) and stated and isinstance(stated[0], str):
        if stated[0] not in KINDS or len(stated) != 3:
            raise ExoskelError(f"{key!r} cannot vary as {stated!r}: (kind, a, b), with kind one of {', '.join(KINDS)}")
        return _checked(key, Distribution(stated[0], *(_row(key, one, width) for one in stated[1:])))  # type: ignore[arg-type]
    if isinstance(stated, tuple) and len(stated) == 2:
        if width > 1 and all(np.ndim(one) == 0 for one in stated):  # it would go askew, all components by themselves
            raise ExoskelError(f"the bounds of {key!r} are {width} numbers each; {key}.x, .y or .z varies one of them")
        return _checked(key, Distribution("uniform", *(_row(key, one, width) for one in stated)))
    rows = _numbers(key, stated)
    if rows.ndim == (0 if width == 1 else 1):  # one for all worlds
        rows = rows[None]
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != width or not len(rows):
        wanted = "numbers" if width == 1 else f"rows of {width} numbers"
        raise ExoskelError(f"{key!r} takes a list of {wanted}, not an array of shape {_numbers(key, stated).shape}")
    return Distribution("values", rows, rows)


def _numbers(key: str, stated: Any) -> Array:
    try:
        found = np.asarray(stated, dtype=np.float64)
    except (TypeError, ValueError):
        raise ExoskelError(f"{key!r} cannot vary as {stated!r}: bounds, a law, a list or a number is meant") from None
    if not np.isfinite(found).all():
        raise ExoskelError(f"{key!r} can only vary over finite numbers")
    return found


def _row(key: str, stated: Any, width: int) -> Array:
    found = _numbers(key, stated)
    if found.shape not in ((), (width,)):
        raise ExoskelError(f"{key!r} takes {width} numbers, not an array of shape {found.shape}")
    return np.broadcast_to(found, (width,)).copy()


def _checked(key: str, found: Distribution) -> Distribution:
    if found.kind == "normal":
        if (found.second < 0.0).any():
            raise ExoskelError(f"the deviation of {key!r} is negative")
        return found
    if (found.first > found.second).any():
        place = int(np.argmax(found.first > found.second))
        low, high = found.first[place], found.second[place]
        raise ExoskelError(f"the bounds of {key!r} are the wrong way round: {low:g} is more than {high:g}")
    if found.kind == "loguniform" and not (found.first > 0.0).all():
        raise ExoskelError(f"{key!r} can vary by its logarithm only above zero")
    return found


def draw(laws: Mapping[str, Distribution], widths: Mapping[str, int], seed: int, indices: Indices) -> dict[str, Array]:
    """The numbers of each world, `(worlds, width)` by key."""
    order = sorted(laws)
    total = sum(widths[key] for key in order)
    even, normal = np.empty((len(indices), total)), np.empty((len(indices), total))
    if any(one.kind != "values" for one in laws.values()):
        for row, index in enumerate(indices.tolist()):
            stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(index,))))
            stream.random(out=even[row])
            stream.standard_normal(out=normal[row])
    out: dict[str, Array] = {}
    at = 0
    for key in order:
        part = slice(at, at + widths[key])
        with np.errstate(over="ignore", invalid="ignore"):
            out[key] = laws[key].draw(even[:, part], normal[:, part], indices)
        if not np.isfinite(out[key]).all():
            raise ExoskelError(f"{key!r} varies over more than numbers can hold")
        at += widths[key]
    return {key: out[key] for key in laws}
