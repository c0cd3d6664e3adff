"""Samples of many worlds as MuJoCo records them, which become the scene's coordinates when somebody asks for them.

Turning a sample costs about as much as a step of simple worlds does: a rollout at which nobody looks does without.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.simulate.batch.recorder import Recorder, freeze
from exoskel.simulate.batch.state_conversion import Samples, StateConverter, is_sound
from exoskel.spatial import Array

_AT_ONCE = 1 << 22
"""Bytes of states that are turned together: single samples are few bytes each."""
_MANY = 10000
"""So many pieces are turned together at most."""
Piece = tuple[int, Array, Array]
"""The number of its first sample, qpos and qvel."""


class RawStates(Recorder):
    """A tape of MuJoCo's states: pieces `(worlds, samples, ...)` of qpos and qvel, just as they were recorded.

    `speeds` says whether qvel is of any use later.
    """

    buffer_bytes = 1 << 26

    def __init__(self, worlds: int, samples: int, speeds: bool = True) -> None:
        super().__init__(worlds, samples)
        self.pieces: list[Piece] = []
        self._speeds = speeds

    def take(self, samples: Samples, others: Mapping[str, Array]) -> None:
        end = self.done + samples.moved.shape[1]
        first, second = (one if one.flags.owndata else one.copy() for one in samples.pair)
        # MuJoCo looks at a state before it goes on from there, so only the last ones have not been looked at.
        if not (samples.moved.all() and is_sound(first[:, -1]) and is_sound(second[:, -1])):
            self.sound = self._judged(samples.good())
        self.pieces.append((self.done, first, second if self._speeds else second[..., :0].copy()))
        self.done = end


class LazySamples(Mapping[str, Array]):
    """What a reel holds, by name: the scene's `positions` and `velocities`.  Asking for one of them turns them all.

    `room` is where they will be, `(worlds, samples, count)` by name; there may be fewer samples than there is room for.
    """

    def __init__(self, reel: RawStates, room: Mapping[str, Array], coordinates: Coordinates, threads: int = 0) -> None:
        self._pieces = [piece for piece in reel.pieces if piece[0] < reel.done]
        self._sound = reel.sound
        self._done = reel.done
        self._is_turned = False
        self._turned = {name: array[:, : reel.done] for name, array in room.items()}
        self._coordinates = coordinates
        self._threads = threads or os.cpu_count() or 1
        self._turning = Lock()

    def __getitem__(self, name: str) -> Array:
        turned = self._turned[name]
        with self._turning:
            if not self._is_turned:
                self._turn()
        return turned

    def __iter__(self) -> Iterator[str]:
        return iter(self._turned)

    def __len__(self) -> int:
        return len(self._turned)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def _turn(self) -> None:
        """Turn what has not been turned yet: all, unless somebody was interrupted while at it."""
        converter = StateConverter(self._coordinates, self._threads)
        while self._pieces:
            count = self._last_pieces()
            begin, qpos, qvel = _joined(self._pieces[-count:])
            part = slice(begin, begin + qpos.shape[1])
            converter.turn(qpos, qvel, {name: array[:, part] for name, array in self._turned.items()})
            del self._pieces[-count:]  # what has been turned is forgotten at once
        freeze(self._turned, self._sound, 0, self._done)
        self._is_turned = True

    def _last_pieces(self) -> int:
        """How many of the last pieces are turned together."""
        sizes = np.cumsum([qpos.nbytes for _, qpos, _ in reversed(self._pieces[-_MANY:])])
        return max(1, int(np.searchsorted(sizes, _AT_ONCE, side="right")))


def _joined(pieces: Sequence[Piece]) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    begins, firsts, seconds = zip(*pieces, strict=True)
    return begins[0], np.concatenate(firsts, axis=1), np.concatenate(seconds, axis=1)
