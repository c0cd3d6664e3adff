"""Many worlds on a GPU, with MuJoCo Warp.

States live on the device; they come here when somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco import warp_state
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.mujoco.warp import STATE, Capacities, Device, Flight, Keeper, probe
from exoskel.engines.mujoco.warp_state import WarpStateConverter, can_turn
from exoskel.simulate.batch.state_conversion import ConvertedStates, MujocoStates, Samples
from exoskel.simulate.batch.worlds import Chunk, Mask, Worlds
from exoskel.spatial import Array


class CapacityError(ExoskelError):
    """A world ran out of the room that was set aside for its contacts or constraints.  `world` is its number."""

    def __init__(self, message: str, world: int, time: float) -> None:
        super().__init__(message)
        self.world = world
        self.time = time


class _Leg(Struct, frozen=True):
    """Steps under way, and how many steps old the worlds are at the samples."""

    flight: Flight
    ages: list[float]


class WarpWorlds(Worlds):
    """Worlds whose states live on a device.  `device` is Warp's name for it; `room` what is set aside there.

    `data` are MuJoCo Warp's own arrays, `(worlds, ...)`: torch, JAX and others take them as they are, through DLPack.
    """

    buffer_bytes = 1 << 27
    max_thread_steps = 1 << 62  # steps are only launched here, and a graph is for a certain number of them
    min_chunks = 20  # while one is written down, the device is at the next
    chunk_may_start_at_zero = True

    def __init__(
        self,
        engine: MujocoWorld,
        count: int,
        *,
        device: str | None = None,
        room: Capacities | None = None,
        **options: Any,
    ) -> None:
        self._device: Device | None = None
        self._place = device
        self._room = room
        self._is_ahead = False
        self._is_touched = True
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
            fields, state = self._fields(), self._state()
            room = self._room or probe(self.model, fields, state, self._place)
            self._device = Device(self.model, self.count, fields=fields, name=self._place, room=room)
            self._device.begin(state)
        return self._device

    def _state(self) -> dict[str, Array]:
        return {name: self.batch.bind(name) for name in STATE}

    def _fields(self) -> dict[str, Array]:
        """The fields of the model in which worlds differ."""
        from mujoco.batch import MODEL_FIELDS

        found = {name: self.batch.expanded(name) for name in MODEL_FIELDS}
        return {name: array for name, array in found.items() if array is not None and array.dtype.kind == "f"}

    @property
    def data(self) -> Any:
        """MuJoCo Warp's data; `from_dlpack` of torch, JAX or NumPy takes `data.qpos` and the like without a copy.

        Ask for it anew after each step if you write to it.
        """
        self._push()
        self._is_ahead = True  # whoever holds it may write to it
        return self.device.data

    def reset(self, which: Mask | None = None, positions: Array | None = None, velocities: Array | None = None) -> None:
        super().reset(which, positions, velocities)
        self._age[slice(None) if which is None else which] = 0.0
        if self._device is not None:
            warm = self._device.data.qacc_warmstart
            if which is None:
                warm.zero_()
                return
            rows = warm.numpy()
            rows[which] = 0.0
            warm.assign(rows)

    def _mark_changed(self) -> None:
        self._is_touched = True

    def _pull(self) -> None:
        if self._is_ahead:
            self._is_ahead = False
            data = self.device.data
            qpos, qvel = data.qpos.numpy(), data.qvel.numpy()
            self._see(data.overflow.numpy()[None], [self._age.max()])
            self.alive &= np.isfinite(qpos).all(axis=-1) & np.isfinite(qvel).all(axis=-1)
            # Worlds that exploded stay where they were seen last, so that a policy never sees what is no number.
            self.qpos[self.alive], self.qvel[self.alive] = qpos[self.alive], qvel[self.alive]

    def _push(self) -> None:
        if self._is_touched:
            self._pull()
            self._is_touched = False
            self.device.write(self._state())

    def _advance(self, count: int) -> None:
        self._push()
        self.device.step(count)
        self._age += count
        self._is_ahead = True

    def can_roll_out(self, stride: int) -> bool:
        return True

    def roll_out(self, chunks: Iterable[Chunk]) -> Iterator[Samples]:
        """As in `Worlds`; while whoever asks is busy with the samples of a chunk, the device is at the next one."""
        before: _Leg | None = None
        for number, chunk in enumerate(chunks):
            leg = self._launch(chunk, number % 2)
            if before is not None:
                yield self._landed(before)
            before = leg
        if before is not None:
            yield self._landed(before)

    def _launch(self, chunk: Chunk, slot: int) -> _Leg:
        self._push()
        begin = self._age.max()
        forces = chunk.forces
        if forces is not None:
            forces = np.broadcast_to(forces, (self.count, *forces.shape[1:]))
        flight = self.device.launch(chunk.cuts, forces, self._keeper, slot)
        self._age += chunk.cuts[-1]
        self._is_ahead = True
        return _Leg(flight, [begin + cut for cut in chunk.cuts])

    def _landed(self, leg: _Leg) -> Samples:
        first, second, overflow = leg.flight.land()
        self._see(overflow, leg.ages)
        moved = np.broadcast_to(self.alive[:, None], (self.count, len(leg.ages)))
        make = ConvertedStates if isinstance(self._keeper, WarpStateConverter) else MujocoStates
        return make(self.converter, first, second, moved)

    @cached_property
    def _keeper(self) -> Keeper:
        coordinates, device = self.engine.coordinates, self.device
        with device.warp.ScopedDevice(device.device):
            if can_turn(coordinates):
                return WarpStateConverter(device.warp, coordinates)
            return warp_state.States(device.warp, device.data)

    def _see(self, overflow: Any, ages: list[float]) -> None:
        """Raise what ran over, at the first sample at which it shows; flags stay once they are set."""
        found = overflow & self.device.bits
        if not found.any():
            return
        sample = int(np.argmax(found.any(axis=1)))
        row = int(np.flatnonzero(found[sample])[0])
        world, time = int(self.indices[row]), float(ages[sample]) * self.engine.time_step
        kinds = self.device.mujoco_warp.OverflowType
        what = "constraint rows" if int(found[sample, row]) & int(kinds.NEFC | kinds.NJMAX_NNZ) else "contacts"
        raise CapacityError(
            f"world {world} ran out of room for {what} by {time:.4g} s: there are {self.device.data.njmax} rows for "
            f"each world and {self.device.data.naconmax} contacts for all; capacities=(contacts, rows) sets them",
            world,
            time,
        )
