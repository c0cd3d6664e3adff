"""Samples of many worlds as MuJoCo records them, which become the scene's coordinates when somebody asks for them.

Turning costs as much as a step of simple worlds does, and who wants the end of a motion needs none of the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

import numpy as np

from exoskel.engines.coordinates import Coordinates
from exoskel.simulate.batch.tape import Tape
from exoskel.simulate.batch.turning import Samples, Turner, is_sound
from exoskel.spatial import Array

_AT_ONCE = 1 << 22
"""Bytes of states that are turned together: single samples are few bytes each."""
Piece = tuple[Array, Array]


class Reel(Tape):
    """A tape of MuJoCo's states: pieces `(worlds, samples, ...)` of qpos and qvel, just as they were recorded.

    `speeds` says whether qvel is of any use later.
    """

    buffer = 1 << 26

    def __init__(self, worlds: int, samples: int, speeds: bool = True) -> None:
        super().__init__(worlds, samples)
        self.pieces: list[Piece] = []
        self._speeds = speeds

    def take(self, samples: Samples, others: Mapping[str, Array]) -> None:
        self.done += samples.moved.shape[1]
        first, second = (one if one.flags.owndata else one.copy() for one in samples.pair)
        # MuJoCo looks at a state before it goes on from there, so only the last ones have not been looked at.
        if not (samples.moved.all() and is_sound(first[:, -1]) and is_sound(second[:, -1])):
            self._judge(samples.good())
        self.pieces.append((first, second if self._speeds else second[..., :0].copy()))


class Unturned(Mapping[str, Array]):
    """What a reel holds, by name: the scene's `positions` and `velocities`.  Asking for one of them turns them all.

    `room` is where they will be, `(worlds, samples, count)` by name; there may be fewer samples than there is room for.
    """

    def __init__(self, reel: Reel, room: Mapping[str, Array], coordinates: Coordinates, threads: int = 0) -> None:
        self._pieces = reel.pieces
        self._sound = reel.sound
        self._turned = {name: array[:, : reel.done] for name, array in room.items()}
        self._coordinates = coordinates
        self._threads = threads or os.cpu_count() or 1
        self._turning = Lock()

    def __getitem__(self, name: str) -> Array:
        turned = self._turned[name]
        with self._turning:
            if self._pieces:
                self._turn()
        return turned

    def __iter__(self) -> Iterator[str]:
        return iter(self._turned)

    def __len__(self) -> int:
        return len(self._turned)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def _turn(self) -> None:
        turner = Turner(self._coordinates, self._threads)
        samples = end = next(iter(self._turned.values())).shape[1]
        while self._pieces:  # from the last to the first: what has been turned is forgotten at once
            qpos, qvel = self._last_pieces()
            begin = end - qpos.shape[1]
            turner.turn(qpos, qvel, {name: array[:, begin:end] for name, array in self._turned.items()})
            end = begin
        for world in np.flatnonzero(self._sound < samples).tolist():
            last = int(self._sound[world])
            for array in self._turned.values():
                array[world, last:] = array[world, last - 1]

    def _last_pieces(self) -> Piece:
        taken: list[Piece] = []
        size = 0
        while self._pieces and (not taken or size + self._pieces[-1][0].nbytes <= _AT_ONCE):
            taken.append(self._pieces.pop())
            size += taken[-1][0].nbytes
        if len(taken) == 1:
            return taken[0]
        first, second = (np.concatenate(ones[::-1], axis=1) for ones in zip(*taken, strict=True))
        return first, second
