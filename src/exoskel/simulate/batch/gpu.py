"""Rollouts on a GPU, with MuJoCo Warp.

The states are on the device, and are copied to the host on access.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco import warp
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.mujoco.warp import (
    STATE,
    Capacities,
    Device,
    DeviceRecorder,
    PendingSteps,
    WarpStateConverter,
    can_convert,
    measure_capacities,
)
from exoskel.engines.mujoco.warp_compilation import CompileProgress
from exoskel.formats.mjcf import mujoco_import
from exoskel.simulate.batch.recorder import ConvertedStates, MujocoStates, Samples
from exoskel.simulate.batch.worlds import Chunk, Worlds
from exoskel.spatial import Array, Mask


class CapacityError(ExoskelError):
    """A world exceeded the capacity for its contacts or constraints.  `world` is its number, `time` in s."""

    def __init__(self, message: str, world: int, time: float) -> None:
        super().__init__(message)
        self.world = world
        self.time = time


class _PendingChunk(Struct, frozen=True):
    """Steps that are running on the device, and the number of steps at each sample."""

    steps: PendingSteps
    ages: list[float]


class WarpWorlds(Worlds):
    """Worlds whose states are on a device.  `device` is Warp's name for it; `capacities` are what it allocates;
    `progress` is called while kernels are compiled.

    `data` are MuJoCo Warp's own arrays, `(worlds, ...)`, which torch, JAX and others can use through DLPack.
    """

    buffer_bytes = 1 << 27
    max_thread_steps = 1 << 62  # steps are only launched here, and a graph has a fixed number of them
    min_chunks = 20  # while one is recorded, the device computes the next
    chunk_may_start_at_zero = True
    takes_impulse_steps = False

    def __init__(
        self,
        engine: MujocoWorld,
        count: int,
        *,
        device: str | None = None,
        capacities: Capacities | None = None,
        progress: CompileProgress | None = None,
        **options: Any,
    ) -> None:
        self._device: Device | None = None
        self._wanted_device = device
        self._capacities = capacities
        self._progress = progress
        self._is_ahead = False
        self._is_changed = True
        self._age = np.zeros(count)
        super().__init__(engine, count, **options)

    @property
    def time(self) -> Array:
        return self._age * self.engine.time_step

    def _arrived(self) -> Mask:
        return self.alive

    @property
    def device_name(self) -> str:
        return str(self.device.device)

    @property
    def device(self) -> Device:
        if self._device is None:
            fields, state, name, progress = self._fields(), self._state(), self._wanted_device, self._progress
            capacities = self._capacities or measure_capacities(self.model, fields, state, name, progress)
            self._device = Device(
                self.model, self.count, fields=fields, name=name, capacities=capacities, progress=progress
            )
            self._device.set_initial_state(state)
        return self._device

    def _state(self) -> dict[str, Array]:
        return {name: self.batch.bind(name) for name in STATE}

    def _fields(self) -> dict[str, Array]:
        """The fields of the model in which worlds differ."""
        found = {name: self.batch.expanded(name) for name in mujoco_import.load_batch().MODEL_FIELDS}
        return {name: array for name, array in found.items() if array is not None and array.dtype.kind == "f"}

    @property
    def data(self) -> Any:
        """MuJoCo Warp's data; `from_dlpack` of torch, JAX or NumPy reads `data.qpos` and others without a copy.

        Get it again after each step if you write to it.
        """
        self._push()
        self._is_ahead = True  # the caller may write to it
        return self.device.data

    def reset(self, which: Mask | None = None, positions: Array | None = None, velocities: Array | None = None) -> None:
        super().reset(which, positions, velocities)
        self._age[slice(None) if which is None else which] = 0.0
        if self._device is not None:
            warm_start = self._device.data.qacc_warmstart
            if which is None:
                warm_start.zero_()
                return
            rows = warm_start.numpy()
            rows[which] = 0.0
            warm_start.assign(rows)

    def _mark_changed(self) -> None:
        self._is_changed = True

    def _pull(self) -> None:
        if self._is_ahead:
            self._is_ahead = False
            data = self.device.data
            qpos, qvel = data.qpos.numpy(), data.qvel.numpy()
            self._check_overflow(data.overflow.numpy()[None], [self._age.max()])
            self.alive &= np.isfinite(qpos).all(axis=-1) & np.isfinite(qvel).all(axis=-1)
            # Worlds that diverged keep their last state, so that a policy never gets numbers that are not finite.
            self.qpos[self.alive], self.qvel[self.alive] = qpos[self.alive], qvel[self.alive]
            if self.own_activations.shape[1]:
                self.own_activations[self.alive] = data.act.numpy()[self.alive]

    def _push(self) -> None:
        if self._is_changed:
            self._pull()
            self._is_changed = False
            self.device.write(self._state())

    def _advance(self, count: int) -> None:
        self._push()
        self.device.step(count)
        self._age += count
        self._is_ahead = True

    def can_roll_out(self, stride: int) -> bool:
        return True

    def roll_out(self, chunks: Iterable[Chunk]) -> Iterator[Samples]:
        """As in `Worlds`; while the caller processes the samples of a chunk, the device computes the next one."""
        before: _PendingChunk | None = None
        for number, chunk in enumerate(chunks):
            pending = self._launch(chunk, number % 2)
            if before is not None:
                yield self._finish(before)
            before = pending
        if before is not None:
            yield self._finish(before)

    def _launch(self, chunk: Chunk, slot: int) -> _PendingChunk:
        self._push()
        begin = self._age.max()
        forces = chunk.forces
        if forces is not None:
            forces = np.broadcast_to(forces, (self.count, *forces.shape[1:]))
        steps = self.device.launch(chunk.cuts, forces, self._recorder, slot)
        self._age += chunk.cuts[-1]
        self._is_ahead = True
        return _PendingChunk(steps, [begin + cut for cut in chunk.cuts])

    def _finish(self, pending: _PendingChunk) -> Samples:
        first, second, overflow = pending.steps.wait()
        self._check_overflow(overflow, pending.ages)
        moved = np.broadcast_to(self.alive[:, None], (self.count, len(pending.ages)))
        kind = ConvertedStates if isinstance(self._recorder, WarpStateConverter) else MujocoStates
        return kind(self.converter, first, second, moved)

    @cached_property
    def _recorder(self) -> DeviceRecorder:
        coordinates, device = self.engine.coordinates, self.device
        with device.warp.ScopedDevice(device.device):
            if can_convert(coordinates):
                return WarpStateConverter(device.warp, coordinates)
            return warp.MujocoStateRecorder(device.warp, device.data)

    def _check_overflow(self, overflow: Any, ages: list[float]) -> None:
        """Raise CapacityError for the first sample with an overflow; the device never clears the flags."""
        found = overflow & self.device.bits
        if not found.any():
            return
        sample = int(np.argmax(found.any(axis=1)))
        row = int(np.flatnonzero(found[sample])[0])
        world, time = int(self.indices[row]), float(ages[sample]) * self.engine.time_step
        kinds = self.device.mujoco_warp.OverflowType
        what = "constraint rows" if int(found[sample, row]) & int(kinds.NEFC | kinds.NJMAX_NNZ) else "contacts"
        raise CapacityError(
            f"world {world} exceeded the capacity for {what} before {time:.4g} s: {self.device.data.njmax} rows per "
            f"world and {self.device.data.naconmax} contacts in total; set capacities=(contacts, rows)",
            world,
            time,
        )
