"""Where samples of many worlds are kept while they are made: in memory, or in files when there are too many."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.spatial import Array

MEMORY = 2 << 30
"""Bytes of samples that are kept in memory, unless a caller says otherwise."""
_MOST = 1e10
"""A coordinate (rad, m) or speed beyond which a world has exploded."""
_JUDGED = ("positions", "velocities")


class Scratch:
    """Arrays that may be larger than memory; what lies in files is gone when nobody holds the scratch any more."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], memory: int = MEMORY, folder: str | None = None) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._options = memory, folder
        total = sum(8 * prod(shape) for shape in shapes.values())
        size = f"{total / 2**30:.3g} GiB of samples"
        try:
            if total <= memory:
                self.arrays: dict[str, Array] = {name: np.zeros(shape) for name, shape in shapes.items()}
                return
            self._folder = tempfile.TemporaryDirectory(prefix="exoskel-", dir=folder, ignore_cleanup_errors=True)
            place = Path(self._folder.name)
            if shutil.disk_usage(place).free < total:  # a file with holes would be made, and kill us when it is filled
                raise ExoskelError(
                    f"there is no room for {size} in {str(place.parent)!r}; fewer of them, or folder=, help"
                )
            self.arrays = {
                name: np.lib.format.open_memmap(place / f"{name}.npy", mode="w+", dtype=np.float64, shape=shape)
                for name, shape in shapes.items()
            }
        except (OSError, MemoryError, OverflowError) as error:
            raise ExoskelError(f"there is no room for {size}: {error}") from None

    @property
    def on_disk(self) -> bool:
        return self._folder is not None

    def only(self, worlds: NDArray[np.intp]) -> Scratch:
        """Some of the worlds, kept likewise."""
        out = Scratch({name: (len(worlds), *array.shape[1:]) for name, array in self.arrays.items()}, *self._options)
        for name, array in self.arrays.items():
            for row, world in enumerate(worlds.tolist()):
                out.arrays[name][row] = array[world]
        return out


class Tape:
    """Samples of some worlds, `(worlds, samples, ...)` by name, written from the first sample to the last.

    A world that explodes keeps its last sound sample from there on; `sound` is how many each has.  `first` is the
    number of the first world, `here` says which have been written.
    """

    def __init__(self, arrays: Mapping[str, Array], first: int = 0) -> None:
        self.arrays = arrays
        self.first = first
        shape = next(iter(arrays.values())).shape
        self.sound: NDArray[np.intp] = np.full(shape[0], shape[1], dtype=np.intp)
        self.here: NDArray[np.bool_] = np.ones(shape[0], dtype=bool)
        self.done = 0

    def write(self, rows: Mapping[str, Array], moved: NDArray[np.bool_]) -> None:
        """The next samples, `(worlds, count, ...)`; `moved (worlds, count)` says which worlds got there."""
        for name, slot in self.slots(moved.shape[1]).items():
            slot[...] = rows[name]
        self.close(moved, all(is_sound(rows[name]) for name in _JUDGED if name in rows))

    def slots(self, count: int) -> dict[str, Array]:
        """Where the next samples belong, `(worlds, count, ...)` by name; `close` says that they are there."""
        return {name: array[:, self.done : self.done + count] for name, array in self.arrays.items()}

    def close(self, moved: NDArray[np.bool_], sound: bool) -> None:
        """Go on to the next samples; `sound` says that all numbers among these are."""
        begin, count = self.done, moved.shape[1]
        slots = self.slots(count)
        self.done = begin + count
        if sound and moved.all():
            return
        good = moved.copy()
        for name in _JUDGED:
            if name in slots:
                good &= (np.abs(slots[name]) < _MOST).all(axis=-1)
        broken = np.flatnonzero(~good.all(axis=1) | (self.sound < begin))
        for world in broken.tolist():
            self._freeze(world, begin, good[world])

    def _freeze(self, world: int, begin: int, good: NDArray[np.bool_]) -> None:
        last = min(int(self.sound[world]), begin + int(np.argmin(good)) if not good.all() else len(good) + begin)
        if last == 0:
            number = self.first + world
            raise ExoskelError(f"the initial state of world {number} cannot be run: a number in it is beyond {_MOST:g}")
        self.sound[world] = last
        for array in self.arrays.values():
            array[world, max(last, begin) : self.done] = array[world, last - 1]


def is_sound(rows: Array) -> bool:
    """Whether all numbers are: the two extremes tell, and what is no number is neither."""
    return not rows.size or bool(rows.max() < _MOST and rows.min() > -_MOST)
