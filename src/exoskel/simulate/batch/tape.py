"""Where samples of many worlds are kept while they are made: in memory, or in files when there are too many."""

from __future__ import annotations

import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.simulate.batch.turning import MOST, Samples
from exoskel.spatial import Array

MEMORY = 2 << 30
"""Bytes of samples that are kept in memory, unless a caller says otherwise."""


class Scratch:
    """Arrays that may be larger than memory; what lies in files is gone when nobody holds the scratch any more."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], memory: int = MEMORY, folder: str | None = None) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._options = memory, folder
        total = sum(8 * prod(shape) for shape in shapes.values())
        size = f"{total / 2**30:.3g} GiB of samples"
        try:
            if total <= memory:
                self.arrays: dict[str, Array] = {name: np.empty(shape) for name, shape in shapes.items()}
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


class Tape(ABC):
    """Samples of some worlds, from the first to the last.

    A world that explodes keeps its last sound sample from there on; `sound` is how many each has.  `first` is the
    number of the first world, `here` says which worlds there are samples of, `done` how many samples there are.
    """

    buffer = 0
    """Bytes of MuJoCo's states that it takes at once, even if the worlds would give fewer."""

    def __init__(self, worlds: int, samples: int, first: int = 0) -> None:
        self.first = first
        self.sound: NDArray[np.intp] = np.full(worlds, samples, dtype=np.intp)
        self.here: NDArray[np.bool_] = np.ones(worlds, dtype=bool)
        self.done = 0

    @abstractmethod
    def take(self, samples: Samples, others: Mapping[str, Array]) -> None:
        """The next samples; `others` are what the worlds are like now, if it is to be kept as well."""

    def _judge(self, good: NDArray[np.bool_]) -> list[int]:
        """Count the samples that are sound, of `(worlds, samples)` new ones; returns the worlds that have none."""
        begin = self.done - good.shape[1]
        broken = np.flatnonzero(~good.all(axis=1) | (self.sound < begin))
        for world in broken.tolist():
            mine = good[world]
            last = min(int(self.sound[world]), begin + int(np.argmin(mine)) if not mine.all() else self.done)
            if last == 0:
                told = f"the initial state of world {self.first + world} cannot be run"
                raise ExoskelError(f"{told}: a number in it is beyond {MOST:g}")
            self.sound[world] = last
        return list(broken.tolist())


class Pages(Tape):
    """A tape of what the scene says, written into arrays `(worlds, samples, ...)` by name."""

    def __init__(self, arrays: Mapping[str, Array], first: int = 0) -> None:
        worlds, samples, *_ = next(iter(arrays.values())).shape
        super().__init__(worlds, samples, first)
        self.arrays = arrays

    def take(self, samples: Samples, others: Mapping[str, Array]) -> None:
        begin, self.done = self.done, self.done + samples.moved.shape[1]
        slots = {name: array[:, begin : self.done] for name, array in self.arrays.items()}
        sound = samples.into(slots)
        for name, now in others.items():
            slots[name][:, 0] = now
        if sound and samples.moved.all():
            return
        for world in self._judge(samples.good()):
            last = int(self.sound[world])
            for array in self.arrays.values():
                array[world, max(last, begin) : self.done] = array[world, last - 1]
