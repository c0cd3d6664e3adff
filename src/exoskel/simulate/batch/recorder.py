"""Recorders for samples of many worlds, and their conversion to the scene's coordinates.

Samples are kept in memory, in temporary files if there are too many, or as MuJoCo's states.  They are converted on all
threads, a block of worlds at a time.
"""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from decimal import Decimal
from functools import cache
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.simulate.batch import released_memory
from exoskel.source.atomic_write import TemporaryFolder
from exoskel.spatial import Array, Indices, Mask

if TYPE_CHECKING:
    from exoskel.formats.mjcf.model.compiled_conversion import CompiledConversion

Slots = Mapping[str, Array]
StateBlock = tuple[int, Array, Array]
"""The number of the first sample, qpos and qvel."""
MAX_COORDINATE = 1e10
"""A coordinate (rad, m) or speed beyond which a world has diverged: MuJoCo's own bound."""
_BLOCK_BYTES = 1 << 18
"""Bytes of MuJoCo's states that a thread converts at a time, per thread and at least four times: with fewer, threads
wait for the interpreter."""
_GROUP_BYTES = 1 << 21
"""Bytes of MuJoCo's positions that a thread copies and converts at a time."""
_RELEASE_BYTES = 1 << 23
"""Bytes of MuJoCo's positions that a thread converts and releases at a time."""
_UNRELEASED_BYTES = 1 << 25
"""The same if it does not release them: angles are kept for all of them."""
_MAX_RELEASING_THREADS = 4
"""The number of threads up to which states are released while others are converted.  It interrupts all threads: the
conversion becomes faster on two cores, and slower on 16."""
_JOINED_SAMPLES = 8
"""The number of samples up to which blocks of states are joined before they are converted."""
_COPY_BYTES = 1 << 22
"""Bytes of coordinates that a thread copies at a time."""


class StateConverter:
    """Converts MuJoCo's states to the scene's coordinates.

    It `checks` whether the states are in bounds, unless they were checked before.  `states` is how many it will convert
    in all.
    """

    def __init__(self, coordinates: Coordinates, threads: int, states: int = 1, checks: bool = True) -> None:
        self._coordinates = coordinates
        self._threads = threads
        self._checks = checks
        self._is_compiled = coordinates.is_compiled(states)
        self._can_replace = self._is_compiled and coordinates.can_replace_states
        self._jobs: list[Future[bool]] = []
        self._replaced: Mask = np.zeros(0, dtype=bool)
        """The worlds whose last block of states is converted."""

    def for_blocks(self, worlds: int, block: int, job: Callable[[slice], bool], uninterrupted: bool = False) -> bool:
        """Call a job for all worlds, a block at a time; returns whether it is true for all.

        If they must be `uninterrupted`, all are done by other threads, in which no KeyboardInterrupt is raised.
        """
        wait(self._jobs)  # after an interrupt, some are still running
        parts = _parts(0, worlds, block)
        if not uninterrupted and (len(parts) == 1 or self._threads == 1):
            return all(list(map(job, parts)))
        try:
            self._jobs = [_thread_pool(self._threads).submit(job, part) for part in parts]
            results = [one.result() for one in self._jobs]
            return all(results)
        finally:
            for one in self._jobs:
                one.cancel()

    def convert(self, qpos: Array, qvel: Array, slots: Slots) -> bool:
        """Write `positions` and `velocities` where there are slots; returns whether all numbers are in bounds.

        The states are `(worlds, count, ...)`, of any precision.
        """

        def job(part: slice) -> bool:
            own, speeds = (np.ascontiguousarray(one[part], dtype=np.float64) for one in (qpos, qvel))
            self._convert(own, speeds, {name: slot[part] for name, slot in slots.items()})
            return not self._checks or (is_in_bounds(own) and is_in_bounds(speeds))

        return self.for_blocks(len(qpos), self._block(len(qpos), 8 * qpos[0].size), job)

    def convert_and_release(self, blocks: Sequence[StateBlock], slots: Slots, finished: Mask) -> None:
        """Write all samples of all worlds that are not yet marked in `finished`; mark them.  Their states are lost.

        Slots may be in the memory of the states, as by `released_memory.reused`.
        """
        memory = [released_memory.whole(one) for _, *states in blocks for one in states]
        rest = [one for one in memory if not any(np.may_share_memory(one, slot) for slot in slots.values())]
        is_replaced = len(rest) < len(memory)
        size = sum(8 * qpos[0].size for _, qpos, _ in blocks)
        releases = self._threads <= _MAX_RELEASING_THREADS
        whole = _RELEASE_BYTES if releases else _UNRELEASED_BYTES
        if self._is_compiled and len(_grouped(blocks)) == len(blocks) and (self._can_replace or not is_replaced):
            step, convert = whole, self._separate_conversion(blocks, slots)
        else:
            step, convert = _GROUP_BYTES if is_replaced else whole, self._joined_conversion(blocks, slots, is_replaced)

        def job(part: slice) -> bool:
            for large in _parts(part.start, part.stop, whole // max(1, size)):
                for worlds in _parts(large.start, large.stop, step // max(1, size)):
                    if not finished[worlds].all():
                        convert(worlds)
                        finished[worlds] = True
                if releases:
                    _release(rest, finished, large)
            return True

        self.for_blocks(len(finished), self._block(len(finished), size), job, is_replaced)

    def _joined_conversion(
        self, blocks: Sequence[StateBlock], slots: Slots, is_replaced: bool
    ) -> Callable[[slice], None]:
        """A function that converts the states of some worlds, those of small blocks together."""
        groups = [blocks] if is_replaced else _grouped(blocks)

        def convert(worlds: slice) -> None:
            for group in groups:
                self._convert_group(group, slots, worlds, is_replaced)

        return convert

    def _separate_conversion(self, blocks: Sequence[StateBlock], slots: Slots) -> Callable[[slice], None]:
        """A compiled function that converts the states of some worlds.

        It begins with the last block, whose memory may be that of all coordinates.
        """
        if not len(self._replaced):
            self._replaced = np.zeros(len(blocks[0][1]), dtype=bool)
        last, *others = [
            self._compiled(qpos, qvel, {name: slot[:, first : first + qpos.shape[1]] for name, slot in slots.items()})
            for first, qpos, qvel in reversed(blocks)
        ]

        def convert(worlds: slice) -> None:
            if not self._replaced[worlds].all():
                last.convert(worlds)
                self._replaced[worlds] = True
            for other in others:
                other.convert(worlds)

        return convert

    def _compiled(self, qpos: Array, qvel: Array, slots: Slots) -> CompiledConversion:
        from exoskel.formats.mjcf.model.compiled_conversion import CompiledConversion  # needs numba

        return CompiledConversion(self._coordinates, qpos, qvel, slots.get("positions"), slots.get("velocities"))

    def _convert_group(self, blocks: Sequence[StateBlock], slots: Slots, worlds: slice, copies: bool) -> None:
        """Convert the states of some worlds in successive blocks; if that fails, the states are as before.

        It `copies` the states first, if coordinates are written over them.
        """
        qpos, qvel = _joined(blocks, worlds, copies)
        begin = blocks[0][0]
        samples = slice(begin, begin + qpos.shape[1])
        try:
            self._convert(qpos, qvel, {name: slot[worlds, samples] for name, slot in slots.items()})
        except BaseException:
            for first, *states in blocks:
                for one, copied in zip(states, (qpos, qvel), strict=True):
                    one[worlds] = copied[:, first - begin : first - begin + one.shape[1]]
            raise

    def _block(self, worlds: int, size: int) -> int:
        """How many worlds a thread converts at a time; `size` is that of the positions of a world, in bytes."""
        block = _BLOCK_BYTES // max(1, size)
        if self._is_compiled:  # threads do not wait for the interpreter
            return max(block, -(-worlds // self._threads))
        return block * max(4, self._threads)

    def _convert(self, qpos: Array, qvel: Array, slots: Slots) -> None:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # in worlds that diverged
            if self._is_compiled:
                self._compiled(qpos, qvel, slots).convert(slice(0, len(qpos)))
                return
            if "positions" in slots:
                self._coordinates.positions(qpos, slots["positions"])
            if "velocities" in slots:
                self._coordinates.velocities(qpos, qvel, slots["velocities"])


@cache
def _thread_pool(threads: int) -> ThreadPoolExecutor:
    """The threads that convert states, which all rollouts share: to start them takes as long as small conversions."""
    return ThreadPoolExecutor(threads, "exoskel-convert")


if hasattr(os, "register_at_fork"):  # threads do not survive it
    os.register_at_fork(after_in_child=_thread_pool.cache_clear)


def _parts(begin: int, end: int, size: int) -> list[slice]:
    return [slice(first, min(first + max(1, size), end)) for first in range(begin, end, max(1, size))]


def _grouped(blocks: Sequence[StateBlock]) -> list[Sequence[StateBlock]]:
    """The blocks, small ones that follow each other together."""
    out: list[list[StateBlock]] = []
    for block in blocks:
        if out and max(out[-1][-1][1].shape[1], block[1].shape[1]) <= _JOINED_SAMPLES:
            out[-1].append(block)
        else:
            out.append([block])
    return list(out)


def _joined(blocks: Sequence[StateBlock], worlds: slice, copies: bool) -> tuple[Array, Array]:
    """The states of some worlds in successive blocks, `(worlds, samples, ...)` of qpos and qvel."""
    first, second = [qpos[worlds] for _, qpos, _ in blocks], [qvel[worlds] for _, _, qvel in blocks]
    if len(blocks) == 1 and not copies:
        return np.ascontiguousarray(first[0]), np.ascontiguousarray(second[0])
    return np.concatenate(first, axis=1), np.concatenate(second, axis=1)


def _release(memory: Sequence[Array], finished: Mask, worlds: slice) -> None:
    """Release the states of some worlds, and those of finished ones before and after: pages have states of several."""
    others = np.flatnonzero(~finished)
    at = int(np.searchsorted(others, worlds.start))
    begin, end = (others[at - 1] + 1 if at else 0), (others[at] if at < len(others) else len(finished))
    for one in memory:
        released_memory.release(one[begin:end])


class Samples(ABC):
    """Two arrays `(worlds, samples, ...)`, and which worlds reached the samples, `moved (worlds, samples)`.

    If they are `owned`, nothing else uses their memory, so that a recorder may keep them.  `last` are the arrays at the
    last sample, `(worlds, ...)`; a contiguous copy of them is read faster.
    """

    def __init__(
        self,
        converter: StateConverter,
        first: Array,
        second: Array,
        moved: Mask,
        owned: bool = False,
        last: tuple[Array, Array] | None = None,
    ) -> None:
        self._converter = converter
        self.pair = first, second
        self.moved = moved
        self.owned = owned
        self.last = last or (first[:, -1], second[:, -1])

    def is_valid(self) -> Mask:
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
    flat = rows.reshape(-1) if rows.flags.c_contiguous else rows  # a copy would take longer than the sum
    if np.einsum("...i,...i->...", flat, flat).sum() < MAX_COORDINATE * MAX_COORDINATE:  # nearly always true
        return True
    return bool((np.abs(rows) < MAX_COORDINATE).all())


MEMORY = 2 << 30
"""Bytes of samples that are stored in memory by default."""


class ScratchArrays:
    """Arrays that may be larger than memory; their temporary files are removed with this object."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], memory: int = MEMORY, folder: str | None = None) -> None:
        self._options = memory, folder
        self.size = total = sum(8 * prod(shape) for shape in shapes.values())
        """Bytes."""
        size = f"{Decimal(total) / 2**30:.3g} GiB of samples"  # the number may be too large for a float
        try:
            if total <= memory:
                self.arrays: dict[str, Array] = {name: np.empty(shape) for name, shape in shapes.items()}
                return
            self._folder = TemporaryFolder(folder)
            directory = self._folder.path
            if (
                shutil.disk_usage(directory).free < total
            ):  # a sparse file would be created, and crash us when it is filled
                raise ExoskelError(
                    f"not enough disk space for {size} in {str(directory.parent)!r}; record less, or set folder="
                )
            self.arrays = {
                name: np.lib.format.open_memmap(directory / f"{name}.npy", mode="w+", dtype=np.float64, shape=shape)
                for name, shape in shapes.items()
            }
        except (OSError, MemoryError, OverflowError) as error:
            raise ExoskelError(f"not enough space for {size}: {error}") from None

    def only(self, worlds: NDArray[np.intp]) -> ScratchArrays:
        """A copy of some of the worlds, stored in the same way."""
        out = ScratchArrays(
            {name: (len(worlds), *array.shape[1:]) for name, array in self.arrays.items()}, *self._options
        )
        for name, array in self.arrays.items():
            for row, world in enumerate(worlds.tolist()):
                out.arrays[name][row] = array[world]
        return out


class Recorder(ABC):
    """Records samples of some worlds, from the first to the last.

    A world that diverges repeats its last valid sample; `valid_samples` is their number for each world.  `first` is the
    number of the first world, `present` marks the worlds that have samples, `done` is the number of samples.
    """

    buffer_bytes = 0
    """Bytes of MuJoCo's states that it takes at a time, even if the worlds provide fewer."""

    def __init__(self, worlds: int, samples: int, first: int = 0) -> None:
        self.first = first
        self.valid_samples: NDArray[np.intp] = np.full(worlds, samples, dtype=np.intp)
        self.present: Mask = np.ones(worlds, dtype=bool)
        self.done = 0

    @abstractmethod
    def record(self, samples: Samples, others: Mapping[str, Array]) -> None:
        """Record the next samples; `others` are further values of the current state.

        An interrupt may come at any point: `done` is set last, when everything else is recorded.
        """

    def _count_valid(self, valid: Mask) -> NDArray[np.intp]:
        """The number of valid samples of each world, after new samples with `valid (worlds, samples)`."""
        end = self.done + valid.shape[1]
        reached = np.where(valid.all(axis=1), end, self.done + np.argmin(valid, axis=1))
        valid_samples = np.where(reached < end, np.minimum(self.valid_samples, reached), self.valid_samples)
        if not valid_samples.all():
            world = self.first + int(np.argmin(valid_samples))
            raise ExoskelError(f"the initial state of world {world} is invalid: a number exceeds {MAX_COORDINATE:g}")
        return valid_samples


class ArrayRecorder(Recorder):
    """Records the scene's coordinates and other values into arrays `(worlds, samples, ...)` by name."""

    def __init__(self, arrays: Mapping[str, Array], first: int = 0) -> None:
        worlds, samples, *_ = next(iter(arrays.values())).shape
        super().__init__(worlds, samples, first)
        self.arrays = arrays

    def record(self, samples: Samples, others: Mapping[str, Array]) -> None:
        begin, end = self.done, self.done + samples.moved.shape[1]
        slots = {name: array[:, begin:end] for name, array in self.arrays.items()}
        is_in_bounds = samples.write_to(slots)
        for name, now in others.items():
            slots[name][:, 0] = now
        if not (is_in_bounds and samples.moved.all()):
            valid_samples = self._count_valid(samples.is_valid())
            repeat_last_valid(self.arrays, valid_samples, begin, end)
            self.valid_samples = valid_samples
        self.done = end


def repeat_last_valid(arrays: Mapping[str, Array], valid_samples: NDArray[np.intp], begin: int, end: int) -> None:
    """Repeat the last valid sample of worlds that diverged, from sample `begin` to `end`."""
    for world in np.flatnonzero(valid_samples < end).tolist():
        last = int(valid_samples[world])
        for array in arrays.values():
            array[world, max(last, begin) : end] = array[world, last - 1]


# --- MuJoCo's states, converted to the scene's coordinates on first access ----------------------------


class RawStates(Recorder):
    """Records MuJoCo's states: blocks `(worlds, samples, ...)` of qpos and qvel, without conversion.

    The conversion of a sample takes about as long as a step of a simple world; a rollout that is never read saves it.
    `velocities` tells whether qvel will be needed.
    """

    buffer_bytes = 1 << 29

    def __init__(self, worlds: int, samples: int, velocities: bool = True) -> None:
        super().__init__(worlds, samples)
        self.blocks: list[StateBlock] = []
        self._records_velocities = velocities

    def record(self, samples: Samples, others: Mapping[str, Array]) -> None:
        end = self.done + samples.moved.shape[1]
        first, second = (one if samples.owned else one.copy() for one in samples.pair)
        last = samples.last if samples.owned else (first[:, -1], second[:, -1])
        # MuJoCo checks a state before it steps from there, so that only the last ones are unchecked.
        if not (samples.moved.all() and all(map(is_in_bounds, last))):
            self.valid_samples = self._count_valid(samples.is_valid())
        self.blocks.append((self.done, first, second if self._records_velocities else second[..., :0].copy()))
        self.done = end


class LazySamples(Mapping[str, Array]):
    """The scene's `positions` and `velocities` from recorded states, by name; the first access converts them all.

    `arrays` receive them, `(worlds, samples, count)` by name; there may be fewer samples than they have space for.
    Where all fit into the memory of the last block of states, they replace these instead.
    """

    def __init__(
        self, states: RawStates, arrays: Mapping[str, Array], coordinates: Coordinates, threads: int = 0
    ) -> None:
        self._blocks = [block for block in states.blocks if block[0] < states.done]
        self._valid_samples = states.valid_samples
        self._done = states.done
        self._converter: StateConverter | None = None
        """That of a conversion that has begun."""
        self._finished: Mask = np.zeros(len(states.valid_samples), dtype=bool)
        """The worlds that are converted."""
        self._is_converted = False
        self._arrays = {name: self._slot(name, array[:, : states.done]) for name, array in arrays.items()}
        self._coordinates = coordinates
        self._threads = threads or os.cpu_count() or 1
        self._lock = Lock()

    def _slot(self, name: str, array: Array) -> Array:
        """Where coordinates are written."""
        _, qpos, qvel = self._blocks[-1]
        found = released_memory.reused(qpos if name == "positions" else qvel, array.shape)
        return array if found is None else found

    def __getitem__(self, name: str) -> Array:
        found = self._arrays[name]
        with self._lock:
            if not self._is_converted:
                self._convert()
        return found

    def select(self, name: str, worlds: Indices, samples: Indices, numbers: Indices | None = None) -> Array:
        """Some worlds, samples and coordinates, `(worlds, samples, count)`; only these are converted."""
        states = self._gather(worlds, samples)
        if states is None:
            found = self[name][worlds[:, None], samples]
            return found if numbers is None else found[..., numbers]
        qpos, qvel = states
        coordinates, columns = self._coordinates, numbers
        if numbers is not None:
            coordinates, columns = coordinates.limited_to(numbers)
        out = np.empty((*qpos.shape[:2], coordinates.count))
        converter = StateConverter(coordinates, self._threads, len(worlds) * len(samples), checks=False)
        converter.convert(qpos, qvel, {name: out})
        return out if columns is None else out[..., columns]

    def _gather(self, worlds: Indices, samples: Indices) -> tuple[Array, Array] | None:
        """The states of some samples; None after a conversion has begun, which releases them."""
        with self._lock:
            if self._is_converted or self._converter is not None:
                return None
            return _gather(self._blocks, worlds, np.minimum(samples, self._valid_samples[worlds, None] - 1))

    def __contains__(self, name: object) -> bool:
        return name in self._arrays  # without a conversion

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def _convert(self) -> None:
        """Convert what is not converted yet: everything, unless an earlier conversion was interrupted."""
        if self._converter is None:
            states = self._done * len(self._finished)
            self._converter = StateConverter(self._coordinates, self._threads, states, checks=False)
        if self._blocks:
            self._converter.convert_and_release(self._blocks, self._arrays, self._finished)
        self._blocks.clear()
        repeat_last_valid(self._arrays, self._valid_samples, 0, self._done)
        self._is_converted = True
        self._converter = None


def _gather(blocks: Sequence[StateBlock], worlds: Indices, wanted: Indices) -> tuple[Array, Array]:
    """Some samples `(worlds, samples)` of some worlds, `(worlds, samples, ...)` of qpos and qvel."""
    _, *first = blocks[0]
    qpos, qvel = (np.empty((*wanted.shape, one.shape[-1])) for one in first)
    for begin, *states in blocks:
        rows, columns = np.nonzero((wanted >= begin) & (wanted < begin + states[0].shape[1]))
        for out, own in zip((qpos, qvel), states, strict=True):
            out[rows, columns] = own[worlds[rows], wanted[rows, columns] - begin]
    return qpos, qvel
