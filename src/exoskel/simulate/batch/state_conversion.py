"""From samples of many worlds to where they are kept, on all threads, some worlds at a time."""

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
MOST = 1e10
"""A coordinate (rad, m) or speed beyond which a world has exploded: MuJoCo's own bound."""
_STATES = 1 << 18
"""Bytes of MuJoCo's states that a thread turns at once, for each of the threads: with fewer, threads wait for the
interpreter.  Four times that are the least."""
_COPIED = 1 << 22
"""Bytes of coordinates that a thread copies at once."""


class StateConverter:
    """Turns states into the scene's coordinates."""

    def __init__(self, coordinates: Coordinates, threads: int) -> None:
        self._coordinates = coordinates
        self._threads = threads

    def spread(self, worlds: int, block: int, job: Callable[[slice], bool]) -> bool:
        """Do a job for all worlds, so many at a time; returns whether it is true of all."""
        parts = [slice(first, first + max(1, block)) for first in range(0, worlds, max(1, block))]
        alone = len(parts) == 1 or self._threads == 1
        return all(list(map(job, parts) if alone else self._pool.map(job, parts)))

    def turn(self, qpos: Array, qvel: Array, slots: Slots) -> bool:
        """Write `positions` and `velocities`, where there are slots; returns whether all numbers are sound.

        The states are `(worlds, count, ...)`, of any precision.
        """

        def job(part: slice) -> bool:
            own, speeds = (np.ascontiguousarray(one[part], dtype=np.float64) for one in (qpos, qvel))
            return self._turn(own, speeds, {name: slot[part] for name, slot in slots.items()})

        return self.spread(len(qpos), _STATES * max(4, self._threads) // max(1, 8 * qpos[0].size), job)

    def _turn(self, qpos: Array, qvel: Array, slots: Slots) -> bool:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # in worlds that exploded
            if "positions" in slots:
                self._coordinates.positions(qpos, slots["positions"])
            if "velocities" in slots:
                self._coordinates.velocities(qpos, qvel, slots["velocities"])
        return is_sound(qpos) and is_sound(qvel)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads)


class Samples(ABC):
    """Two arrays `(worlds, samples, ...)`, and which worlds got there, `moved (worlds, samples)`."""

    def __init__(self, converter: StateConverter, first: Array, second: Array, moved: NDArray[np.bool_]) -> None:
        self._converter = converter
        self.pair = first, second
        self.moved = moved

    def good(self) -> NDArray[np.bool_]:
        """Which samples are sound, `(worlds, samples)`: the world got there, and no number is beyond all bounds."""
        good = self.moved.copy()
        for one in self.pair:
            good &= (np.abs(one) < MOST).all(axis=-1)
        return good

    @abstractmethod
    def into(self, slots: Slots) -> bool:
        """Write `positions` and `velocities` where there are slots; returns whether all numbers are sound."""


class MujocoStates(Samples):
    """qpos and qvel of MuJoCo."""

    def into(self, slots: Slots) -> bool:
        return self._converter.turn(*self.pair, slots)


class ConvertedStates(Samples):
    """The scene's positions and velocities."""

    def into(self, slots: Slots) -> bool:
        rows = {name: one for name, one in zip(("positions", "velocities"), self.pair, strict=True) if name in slots}

        def job(part: slice) -> bool:
            for name, one in rows.items():
                slots[name][part] = one[part]
            return all(is_sound(one[part]) for one in rows.values())

        return self._converter.spread(len(self.moved), _COPIED // max(1, 4 * self.pair[0][0].size), job)


def is_sound(rows: Array) -> bool:
    """Whether all numbers are."""
    flat = rows.reshape(-1)
    if np.einsum("i,i->", flat, flat) < MOST * MOST:  # as it is nearly always: one look suffices
        return True
    return bool((np.abs(rows) < MOST).all())
