"""Samples of many worlds as MuJoCo's states, converted to the scene's coordinates on first access.

The conversion of a sample takes about as long as a step of a simple world; a rollout that is never read saves it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.simulate.batch.recorder import Recorder, repeat_last_valid
from exoskel.simulate.batch.state_conversion import Samples, StateConverter, is_in_bounds
from exoskel.spatial import Array

_BYTES_AT_ONCE = 1 << 22
"""Bytes of states that are converted together: single samples are small."""
_MAX_BLOCKS = 10000
"""The maximum number of blocks that are converted together."""
StateBlock = tuple[int, Array, Array]
"""The number of the first sample, qpos and qvel."""


class RawStates(Recorder):
    """Records MuJoCo's states: blocks `(worlds, samples, ...)` of qpos and qvel, without conversion.

    `velocities` tells whether qvel will be needed.
    """

    buffer_bytes = 1 << 26

    def __init__(self, worlds: int, samples: int, velocities: bool = True) -> None:
        super().__init__(worlds, samples)
        self.blocks: list[StateBlock] = []
        self._records_velocities = velocities

    def record(self, samples: Samples, others: Mapping[str, Array]) -> None:
        end = self.done + samples.moved.shape[1]
        first, second = (one if one.flags.owndata else one.copy() for one in samples.pair)
        # MuJoCo checks a state before it steps from there, so that only the last ones are unchecked.
        if not (samples.moved.all() and is_in_bounds(first[:, -1]) and is_in_bounds(second[:, -1])):
            self.valid_samples = self._count_valid(samples.is_valid())
        self.blocks.append((self.done, first, second if self._records_velocities else second[..., :0].copy()))
        self.done = end


class LazySamples(Mapping[str, Array]):
    """The scene's `positions` and `velocities` from recorded states, by name; the first access converts them all.

    `arrays` receive them, `(worlds, samples, count)` by name; there may be fewer samples than they have space for.
    """

    def __init__(
        self, states: RawStates, arrays: Mapping[str, Array], coordinates: Coordinates, threads: int = 0
    ) -> None:
        self._blocks = [block for block in states.blocks if block[0] < states.done]
        self._valid_samples = states.valid_samples
        self._done = states.done
        self._is_converted = False
        self._arrays = {name: array[:, : states.done] for name, array in arrays.items()}
        self._coordinates = coordinates
        self._threads = threads or os.cpu_count() or 1
        self._lock = Lock()

    def __getitem__(self, name: str) -> Array:
        found = self._arrays[name]
        with self._lock:
            if not self._is_converted:
                self._convert()
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def _convert(self) -> None:
        """Convert what is not converted yet: everything, unless an earlier conversion was interrupted."""
        converter = StateConverter(self._coordinates, self._threads)
        while self._blocks:
            count = self._count_last_blocks()
            begin, qpos, qvel = _concatenated(self._blocks[-count:])
            part = slice(begin, begin + qpos.shape[1])
            converter.convert(qpos, qvel, {name: array[:, part] for name, array in self._arrays.items()})
            del self._blocks[-count:]  # the memory of converted blocks is freed at once
        repeat_last_valid(self._arrays, self._valid_samples, 0, self._done)
        self._is_converted = True

    def _count_last_blocks(self) -> int:
        """The number of blocks at the end that are converted together."""
        sizes = np.cumsum([qpos.nbytes for _, qpos, _ in reversed(self._blocks[-_MAX_BLOCKS:])])
        return max(1, int(np.searchsorted(sizes, _BYTES_AT_ONCE, side="right")))


def _concatenated(blocks: Sequence[StateBlock]) -> StateBlock:
    if len(blocks) == 1:
        return blocks[0]
    begins, firsts, seconds = zip(*blocks, strict=True)
    return begins[0], np.concatenate(firsts, axis=1), np.concatenate(seconds, axis=1)
