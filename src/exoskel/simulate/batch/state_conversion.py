"""Converts samples of many worlds to the scene's coordinates, on all threads, a block of worlds at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.spatial import Array

Slots = Mapping[str, Array]
MAX_COORDINATE = 1e10
"""A coordinate (rad, m) or speed beyond which a world has diverged: MuJoCo's own bound."""
_BLOCK_BYTES = 1 << 18
"""Bytes of MuJoCo's states that a thread converts at a time, per thread and at least four times: with fewer, threads
wait for the interpreter."""
_COPY_BYTES = 1 << 22
"""Bytes of coordinates that a thread copies at a time."""


class StateConverter:
    """Converts MuJoCo's states to the scene's coordinates."""

    def __init__(self, coordinates: Coordinates, threads: int) -> None:
        self._coordinates = coordinates
        self._threads = threads

    def for_blocks(self, worlds: int, block: int, job: Callable[[slice], bool]) -> bool:
        """Call a job for all worlds, a block at a time; returns whether it is true for all."""
        parts = [slice(first, first + max(1, block)) for first in range(0, worlds, max(1, block))]
        is_serial = len(parts) == 1 or self._threads == 1
        return all(list(map(job, parts) if is_serial else self._pool.map(job, parts)))

    def convert(self, qpos: Array, qvel: Array, slots: Slots) -> bool:
        """Write `positions` and `velocities` where there are slots; returns whether all numbers are in bounds.

        The states are `(worlds, count, ...)`, of any precision.
        """

        def job(part: slice) -> bool:
            own, speeds = (np.ascontiguousarray(one[part], dtype=np.float64) for one in (qpos, qvel))
            return self._convert(own, speeds, {name: slot[part] for name, slot in slots.items()})

        return self.for_blocks(len(qpos), _BLOCK_BYTES * max(4, self._threads) // max(1, 8 * qpos[0].size), job)

    def _convert(self, qpos: Array, qvel: Array, slots: Slots) -> bool:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # in worlds that diverged
            if "positions" in slots:
                self._coordinates.positions(qpos, slots["positions"])
            if "velocities" in slots:
                self._coordinates.velocities(qpos, qvel, slots["velocities"])
        return is_in_bounds(qpos) and is_in_bounds(qvel)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads)


class Samples(ABC):
    """Two arrays `(worlds, samples, ...)`, and which worlds reached the samples, `moved (worlds, samples)`."""

    def __init__(self, converter: StateConverter, first: Array, second: Array, moved: NDArray[np.bool_]) -> None:
        self._converter = converter
        self.pair = first, second
        self.moved = moved

    def is_valid(self) -> NDArray[np.bool_]:
        """Which samples are valid, `(worlds, samples)`: the world reached them, and all numbers are in bounds."""
        valid = self.moved.copy()
        for one in self.pair:
            valid &= (np.abs(one) < MAX_COORDINATE).all(axis=-1)
        return valid

    @abstractmethod
    def write_to(self, slots: Slots) -> bool:
        """Write `positions` and `velocities` where there are slots; returns whether all numbers are in bounds."""


class MujocoStates(Samples):
    """MuJoCo's qpos and qvel."""

    def write_to(self, slots: Slots) -> bool:
        return self._converter.convert(*self.pair, slots)


class ConvertedStates(Samples):
    """The scene's positions and velocities."""

    def write_to(self, slots: Slots) -> bool:
        rows = {name: one for name, one in zip(("positions", "velocities"), self.pair, strict=True) if name in slots}

        def job(part: slice) -> bool:
            for name, one in rows.items():
                slots[name][part] = one[part]
            return all(is_in_bounds(one[part]) for one in rows.values())

        return self._converter.for_blocks(len(self.moved), _COPY_BYTES // max(1, 4 * self.pair[0][0].size), job)


def is_in_bounds(rows: Array) -> bool:
    """Whether all numbers are finite and below the bound."""
    flat = rows.reshape(-1)
    if np.einsum("i,i->", flat, flat) < MAX_COORDINATE * MAX_COORDINATE:  # nearly always true, and one pass decides it
        return True
    return bool((np.abs(rows) < MAX_COORDINATE).all())
