"""MuJoCo Warp: MuJoCo on a GPU, in single precision, one world or thousands.

Where there is no GPU, Warp's CPU device serves.
"""

from __future__ import annotations

import copy
import dataclasses
import warnings
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.mujoco.warp_state import States, WarpStateConverter
from exoskel.scene.world import World
from exoskel.spatial import Array

Keeper = States | WarpStateConverter
"""What samples are made of."""
STATE = ("qpos", "qvel", "qfrc_applied", "xfrc_applied")
"""What a step begins with: state, and forces from outside."""
_MARGIN = 1.5
"""How much more room than a probe took there is for contacts and constraint rows."""
_PROBES = {True: (256, 400), False: (8, 60)}
"""Worlds and steps of a probe: on a GPU, and on Warp's CPU device."""
_MOST_DOUBLINGS = 6
_MOST_ARMATURE = 1e9
"""Inertia that no force in a scene moves, kg or kg·m²: with the 1e13 of double precision, digits of others are lost."""


class Capacities(Struct, frozen=True):
    """Room on the device: contacts for each world on average, constraint rows for each world at most."""

    contacts: int
    rows: int


def load() -> tuple[Any, Any]:
    """Warp and MuJoCo Warp, made quiet."""
    try:
        import warp

        warp.config.log_level = warp.LOG_ERROR
        import mujoco_warp
    except ImportError:
        raise ExoskelError("this needs MuJoCo Warp: pip install 'exoskel[gpu]'") from None
    return warp, mujoco_warp


def _device(warp: Any, name: str | None) -> Any:
    try:
        return warp.get_device(name)
    except (ValueError, RuntimeError):
        known = ", ".join(str(one) for one in warp.get_devices())
        raise ExoskelError(f"there is no device {name!r}; there are {known}") from None


def _plain(model: Any) -> Any:
    """The model as single precision holds it, and without a flag that Warp does not know: it never starts anew."""
    import mujoco

    out = copy.copy(model)
    out.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    np.minimum(out.dof_armature, _MOST_ARMATURE, out=out.dof_armature)
    return out


def _put(mujoco_warp: Any, model: Any, sizes: dict[str, int] | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return mujoco_warp.put_model(model, sizes)
        except (NotImplementedError, ValueError) as error:
            raise ExoskelError(f"MuJoCo Warp cannot run the world: {error}") from None


class Device:
    """Worlds of one model on a device: `model` and `data` are MuJoCo Warp's own.

    `fields` are those of the model in which worlds differ, `(worlds, ...)` by MuJoCo's names.
    """

    def __init__(
        self,
        model: Any,
        count: int,
        *,
        fields: dict[str, Array] | None = None,
        name: str | None = None,
        room: Capacities | None = None,
    ) -> None:
        self.warp, self.mujoco_warp = load()
        self.count = count
        self.device = _device(self.warp, name)
        with self.warp.ScopedDevice(self.device):
            own = _plain(model)
            self.model: Any = self._model(own, fields or {})
            options = {} if room is None else {"nconmax": room.contacts, "njmax": room.rows}
            self.data: Any = self.mujoco_warp.make_data(own, nworld=count, **options)
        self.bits = self._capacity_bits()
        self._graph: Any = None
        self._beside: Any = self.warp.Stream(self.device) if self.device.is_cuda else None
        self._slots: dict[tuple[int, int], tuple[list[Any], list[Any]]] = {}

    def _model(self, own: Any, fields: dict[str, Array]) -> Any:
        """The model, with the fields in which worlds differ for each of them."""
        known = {f.name for f in dataclasses.fields(self.mujoco_warp.Model) if _is_batched(f.type)}
        values = {name: array[: self.count] for name, array in fields.items() if name in known and array.size}
        if "dof_armature" in values:
            values["dof_armature"] = np.minimum(values["dof_armature"], _MOST_ARMATURE)
        for name, array in values.items():  # what any world has, Warp has to make room for
            getattr(own, name)[...] = array.max(axis=0) if name == "dof_frictionloss" else array[0]
        out = _put(self.mujoco_warp, own, dict.fromkeys(values, self.count))
        for name, array in values.items():
            getattr(out, name).assign(np.ascontiguousarray(array, dtype=np.float32))
        if "opt.gravity" in fields:
            rows = np.ascontiguousarray(fields["opt.gravity"][: self.count], dtype=np.float32)
            out.opt.gravity = self.warp.array(rows, dtype=self.warp.vec3)
        out.opt.warn_overflow = 0  # it is raised instead of printed
        from exoskel.engines.mujoco.warp_kernels import bound_rows

        flag = int(self.mujoco_warp.OverflowType.NEFC)
        out.callback.control = lambda _, data: bound_rows(data, flag)  # after rows are made, before they are used
        return out

    def _capacity_bits(self) -> int:
        kinds = self.mujoco_warp.OverflowType
        return int(kinds.NEFC | kinds.NJMAX_NNZ | kinds.BROADPHASE | kinds.NARROWPHASE | kinds.CCD | kinds.NVMAX)

    def write(self, state: dict[str, Array]) -> None:
        """Take over the state of worlds and the forces on them, `(worlds, ...)` by the names of `STATE`."""
        for name in STATE:
            target, rows = getattr(self.data, name), state[name][: self.count]
            if rows.any():
                with np.errstate(over="ignore"):  # what is too much for single precision shows as a world that exploded
                    target.assign(np.ascontiguousarray(rows, dtype=np.float32))
            else:
                target.zero_()

    def begin(self, state: dict[str, Array]) -> None:
        """Record a step once, where a device can replay it, and go to the start."""
        if self.device.is_cuda:
            with self.warp.ScopedDevice(self.device):
                self.write(state)
                self.mujoco_warp.step(self.model, self.data)  # everything is compiled before
                with self.warp.ScopedCapture() as capture:
                    self.mujoco_warp.step(self.model, self.data)
                self._graph = capture.graph
        self.data.qacc_warmstart.zero_()
        self.data.time.zero_()
        self.data.overflow.zero_()
        self.write(state)

    def step(self, count: int) -> None:
        with self.warp.ScopedDevice(self.device):
            for _ in range(count):
                if self._graph is not None:
                    self.warp.capture_launch(self._graph)
                else:
                    self.mujoco_warp.step(self.model, self.data)

    def launch(self, cuts: list[int], forces: Array | None, keeper: Keeper, slot: int) -> Flight:
        """Begin so many steps, and have samples of the state brought here after those in `cuts`.

        A GPU is not waited for: `Flight.land` does that.  There is memory for two flights, in slots 0 and 1.
        """
        warp, data = self.warp, self.data
        with warp.ScopedDevice(self.device):
            there, here = self._kept(len(cuts), keeper, slot)
            told = None
            if forces is not None:
                told = warp.array(np.ascontiguousarray(np.swapaxes(forces, 0, 1), dtype=np.float32))
            at = 0
            for number, cut in enumerate(cuts):
                if told is None:
                    self.step(cut - at)
                else:
                    for step in range(at, cut):
                        warp.copy(data.qfrc_applied, told[step])
                        self.step(1)
                at = cut
                keeper.record(data, there[:2], number)
                warp.copy(there[2][number], data.overflow)
            event = self._brought(there, here)
        return Flight(warp, event, [one.numpy() for one in here], told)

    def _kept(self, samples: int, keeper: Keeper, slot: int) -> tuple[list[Any], list[Any]]:
        """Arrays there that samples are written to, and those here that they are brought to in one go.

        These are on pages that stay in place, so that nobody waits; on Warp's CPU device, both are the same.
        """
        found = self._slots.get((slot, samples))
        if found is None:
            shapes = [(self.count, samples, width) for width in keeper.widths]
            there = [self.warp.empty(shape, dtype=float) for shape in shapes]
            there.append(self.warp.empty((samples, self.count), dtype=int))
            keeper.prepare(there[:2])
            here = there
            if self.device.is_cuda:
                here = [self.warp.empty(one.shape, dtype=one.dtype, device="cpu", pinned=True) for one in there]
            found = self._slots[slot, samples] = there, here
        return found

    def _brought(self, there: list[Any], here: list[Any]) -> Any:
        """Bring samples here beside the next steps; returns what says that they are."""
        if self._beside is None:
            return None
        self._beside.wait_event(self.warp.record_event())
        for target, source in zip(here, there, strict=True):
            self.warp.copy(target, source, stream=self._beside)
        return self._beside.record_event()


class Flight:
    """Steps under way on a device, and the samples they will have left here."""

    def __init__(self, warp: Any, event: Any, samples: list[Array], told: Any) -> None:
        self._warp = warp
        self._event = event
        self._samples = samples
        self._told = told  # the device reads it until then

    def land(self) -> tuple[Array, Array, Array]:
        """The two arrays of the keeper, `(worlds, samples, ...)`, and what had overflowed, `(samples, worlds)`."""
        if self._event is not None:
            self._warp.synchronize_event(self._event)
        first, second, overflow = self._samples
        return first, second, overflow


def probe(model: Any, fields: dict[str, Array], state: dict[str, Array], device: str | None) -> Capacities:
    """How much room the worlds take, found by running some of them for a while, with a margin."""
    warp, _ = load()
    count, steps = _PROBES[bool(_device(warp, device).is_cuda)]
    count = min(count, len(state["qpos"]))
    room: Capacities | None = None
    for _ in range(_MOST_DOUBLINGS):
        one = Device(model, count, fields=fields, name=device, room=room)
        one.write(state)
        contacts = rows = 0
        for _ in range(steps):
            one.step(1)
            most = max(int(one.data.nacon.numpy()[0]), int(one.data.ncollision.numpy()[0]))
            contacts, rows = max(contacts, most), max(rows, int(one.data.nefc.numpy().max()))
        if not (one.data.overflow.numpy() & one.bits).any():
            return Capacities(_rounded(_MARGIN * contacts / count, 8), _rounded(_MARGIN * rows, 16))
        room = Capacities(4 * max(16, one.data.naconmax // count), 4 * max(16, one.data.njmax))
    raise ExoskelError("the scene has more contacts than a GPU has room for")


def _rounded(number: float, unit: int) -> int:
    """Up to a whole number of units, at least one: Warp compiles anew for every size."""
    return unit * max(1, int(-(-number // unit)))


class WarpWorld(MujocoWorld):
    """A world that MuJoCo Warp steps; all else is worked out here, from the state it is in."""

    name = "warp"

    def __init__(
        self,
        world: World,
        *,
        limits: bool | None = None,
        step: float | None = None,
        friction: float | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(world, limits=limits, step=step, friction=friction)
        self._mujoco: Any = _Elsewhere(self, device)


class _Elsewhere:
    """MuJoCo, but for stepping."""

    def __init__(self, world: WarpWorld, device: str | None) -> None:
        self._own = world._mujoco
        room = probe(world.model, {}, _rows(world.data), device)
        self._device = Device(world.model, 1, name=device, room=room)
        self._device.begin(_rows(world.data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def mj_step(self, model: Any, data: Any, nstep: int = 1) -> None:
        device = self._device
        device.write(_rows(data))
        device.step(nstep)
        data.qpos[:], data.qvel[:] = device.data.qpos.numpy()[0], device.data.qvel.numpy()[0]
        data.time += nstep * model.opt.timestep
        if (device.data.overflow.numpy() & device.bits).any():
            raise ExoskelError("MuJoCo Warp has no room left for contacts")
        if not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
            raise ExoskelError("the motion exploded in MuJoCo Warp")


def _rows(data: Any) -> dict[str, Array]:
    return {name: np.asarray(getattr(data, name))[None] for name in STATE}


def _is_batched(kind: Any) -> bool:
    shape = getattr(kind, "shape", None) or ("",)
    return bool(shape[0] == "*")
