"""Where samples of many worlds are kept while they are made: in memory, or in files when there are too many."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.simulate.batch.state_conversion import MOST, Samples
from exoskel.spatial import Array

MEMORY = 2 << 30
"""Bytes of samples that are kept in memory, unless a caller says otherwise."""


class ScratchArrays:
    """Arrays that may be larger than memory; what lies in files is gone when nobody holds the scratch any more."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], memory: int = MEMORY, folder: str | None = None) -> None:
        self.on_disk = False
        self._options = memory, folder
        self.size = total = sum(8 * prod(shape) for shape in shapes.values())
        """Bytes."""
        size = f"{total / 2**30:.3g} GiB of samples"
        try:
            if total <= memory:
                self.arrays: dict[str, Array] = {name: np.empty(shape) for name, shape in shapes.items()}
                return
            place = Path(tempfile.mkdtemp(prefix="exoskel-", dir=folder))
            weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
            self.on_disk = True
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

    def only(self, worlds: NDArray[np.intp]) -> ScratchArrays:
        """Some of the worlds, kept likewise."""
        out = ScratchArrays(
            {name: (len(worlds), *array.shape[1:]) for name, array in self.arrays.items()}, *self._options
        )
        for name, array in self.arrays.items():
            for row, world in enumerate(worlds.tolist()):
                out.arrays[name][row] = array[world]
        return out


class Recorder(ABC):
    """Samples of some worlds, from the first to the last.

    A world that explodes keeps its last sound sample from there on; `sound` is how many each has.  `first` is the
    number of the first world, `here` says which worlds there are samples of, `done` how many samples there are.
    """

    buffer_bytes = 0
    """Bytes of MuJoCo's states that it takes at once, even if the worlds would give fewer."""

    def __init__(self, worlds: int, samples: int, first: int = 0) -> None:
        self.first = first
        self.sound: NDArray[np.intp] = np.full(worlds, samples, dtype=np.intp)
        self.here: NDArray[np.bool_] = np.ones(worlds, dtype=bool)
        self.done = 0

    @abstractmethod
    def take(self, samples: Samples, others: Mapping[str, Array]) -> None:
        """The next samples; `others` are what the worlds are like now, if it is to be kept as well.

        An interruption may come at any place: `done` is what counts, and is set when all the rest is there.
        """

    def _judged(self, good: NDArray[np.bool_]) -> NDArray[np.intp]:
        """How many samples of each world are sound, with `(worlds, samples)` that come after those that are done."""
        end = self.done + good.shape[1]
        fresh = np.where(good.all(axis=1), end, self.done + np.argmin(good, axis=1))
        sound = np.where(fresh < end, np.minimum(self.sound, fresh), self.sound)
        if not sound.all():
            told = f"the initial state of world {self.first + int(np.argmin(sound))} cannot be run"
            raise ExoskelError(f"{told}: a number in it is beyond {MOST:g}")
        return sound


class ArrayRecorder(Recorder):
    """A tape of what the scene says, written into arrays `(worlds, samples, ...)` by name."""

    def __init__(self, arrays: Mapping[str, Array], first: int = 0) -> None:
        worlds, samples, *_ = next(iter(arrays.values())).shape
        super().__init__(worlds, samples, first)
        self.arrays = arrays

    def take(self, samples: Samples, others: Mapping[str, Array]) -> None:
        begin, end = self.done, self.done + samples.moved.shape[1]
        slots = {name: array[:, begin:end] for name, array in self.arrays.items()}
        is_sound = samples.into(slots)
        for name, now in others.items():
            slots[name][:, 0] = now
        if not (is_sound and samples.moved.all()):
            sound = self._judged(samples.good())
            freeze(self.arrays, sound, begin, end)
            self.sound = sound
        self.done = end


def freeze(arrays: Mapping[str, Array], sound: NDArray[np.intp], begin: int, end: int) -> None:
    """Have worlds that exploded keep their last sound sample, among some samples."""
    for world in np.flatnonzero(sound < end).tolist():
        last = int(sound[world])
        for array in arrays.values():
            array[world, max(last, begin) : end] = array[world, last - 1]
