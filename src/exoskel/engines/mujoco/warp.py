"""MuJoCo Warp: MuJoCo on a GPU, in single precision, for one world or thousands.

Without a GPU, Warp's CPU device runs it.
"""

from __future__ import annotations

import copy
import dataclasses
import warnings
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct, structs

from exoskel.diagnostics import ExoskelError
from exoskel.engines.interface import Engine
from exoskel.engines.mujoco.mujoco_world import MUJOCO, MujocoWorld
from exoskel.engines.mujoco.warp_compilation import CompileProgress, compile_kernels
from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoints
from exoskel.scene.world import World
from exoskel.spatial import Array

STATE = ("qpos", "qvel", "qfrc_applied", "xfrc_applied", "ctrl", "act")
"""The inputs of a step: the state, external forces, controls and activations."""
_MARGIN = 1.5
"""The factor of the capacities over those that a short run needed."""
_MEASURED = {True: (256, 400), False: (8, 60)}
"""Worlds and steps of the run that measures capacities: on a GPU, and on Warp's CPU device."""
_MAX_ATTEMPTS = 6
_MAX_ARMATURE = 1e9
"""Armature of prescribed joints, kg or kg·m²: with the 1e13 of double precision, others would lose digits."""


class Capacities(Struct, frozen=True):
    """Capacities of the device: contacts per world on average, constraint rows per world at most."""

    contacts: int
    rows: int


def load() -> tuple[Any, Any]:
    """Warp and MuJoCo Warp, without their log output."""
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
        raise ExoskelError(f"unknown device {name!r}; choose one of {known}") from None


def _single_precision(model: Any) -> Any:
    """A copy of the model for single precision, with Warp's own choice of dense or sparse rows, and without flags that
    Warp does not know: it never resets by itself, and has no islands."""
    import mujoco

    out = copy.copy(model)
    out.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET | mujoco.mjtDisableBit.mjDSBL_ISLAND)
    out.opt.jacobian = mujoco.mjtJacobian.mjJAC_AUTO
    np.minimum(out.dof_armature, _MAX_ARMATURE, out=out.dof_armature)
    return out


def _put_model(mujoco_warp: Any, model: Any, sizes: dict[str, int] | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return mujoco_warp.put_model(model, sizes)
        except (NotImplementedError, ValueError) as error:
            raise ExoskelError(f"MuJoCo Warp cannot run the world: {error}") from None


def _possible_constraints(model: Any, warp_model: Any) -> tuple[bool, bool]:
    """Whether a model can have contacts, and constraint rows at all."""
    import mujoco

    off, bits = model.opt.disableflags, mujoco.mjtDisableBit
    if off & bits.mjDSBL_CONSTRAINT:
        return False, False
    contacts = not off & bits.mjDSBL_CONTACT and len(warp_model.nxn_geom_pair_filtered) > 0
    limits = not off & bits.mjDSBL_LIMIT and bool(model.jnt_limited.any() or model.tendon_limited.any())
    friction = bool((model.dof_frictionloss > 0.0).any() or (model.tendon_frictionloss > 0.0).any())
    friction = friction and not off & bits.mjDSBL_FRICTIONLOSS
    equalities = model.neq > 0 and not off & bits.mjDSBL_EQUALITY
    return bool(contacts), bool(contacts or limits or friction or equalities)


def _least_capacity(mujoco_warp: Any) -> int:
    """The smallest capacity: MuJoCo Warp 3, which Newton needs, divides by it."""
    return 0 if int(mujoco_warp.__version__.partition(".")[0]) >= 4 else 1


class Device:
    """Worlds of one model on a device: `model` and `data` are MuJoCo Warp's own.

    `fields` are the model fields in which worlds differ, `(worlds, ...)` by MuJoCo's names.
    """

    def __init__(
        self,
        model: Any,
        count: int,
        *,
        fields: dict[str, Array] | None = None,
        name: str | None = None,
        capacities: Capacities | None = None,
        progress: CompileProgress | None = None,
    ) -> None:
        self.warp, self.mujoco_warp = load()
        self.count = count
        self.device = _device(self.warp, name)
        with self.warp.ScopedDevice(self.device):
            own = _single_precision(model)
            self.model: Any = self._model(own, fields or {})
            has_contacts, self.has_rows = _possible_constraints(own, self.model)
            least = _least_capacity(self.mujoco_warp)
            if not self.has_rows:
                capacities = Capacities(least, least)
            options = {} if capacities is None else {"nconmax": capacities.contacts, "njmax": capacities.rows}
            if not has_contacts:
                options["nconmax"] = least
            self.data: Any = self.mujoco_warp.make_data(own, nworld=count, **options)
            self._set_options()
            step = partial(self.mujoco_warp.step, self.model, self.data)
            compile_kernels(self.warp, self.device, step, progress)
        self.bits = self._capacity_bits()
        self._graph: Any = None
        self._copy_stream: Any = self.warp.Stream(self.device) if self.device.is_cuda else None
        self._slots: dict[tuple[int, int], tuple[list[Any], list[Any]]] = {}

    def _model(self, own: Any, fields: dict[str, Array]) -> Any:
        """The model, with separate values for each world in the fields that differ."""
        known = {f.name for f in dataclasses.fields(self.mujoco_warp.Model) if _is_batched(f.type)}
        values = {name: array[: self.count] for name, array in fields.items() if name in known and array.size}
        if "dof_armature" in values:
            values["dof_armature"] = np.minimum(values["dof_armature"], _MAX_ARMATURE)
        for name, array in values.items():  # Warp allocates for what any world has
            getattr(own, name)[...] = array.max(axis=0) if name.endswith("frictionloss") else array[0]
        out = _put_model(self.mujoco_warp, own, dict.fromkeys(values, self.count))
        for name, array in values.items():
            getattr(out, name).assign(np.ascontiguousarray(array, dtype=np.float32))
        if "opt.gravity" in fields:
            rows = np.ascontiguousarray(fields["opt.gravity"][: self.count], dtype=np.float32)
            out.opt.gravity = self.warp.array(rows, dtype=self.warp.vec3)
        return out

    def _set_options(self) -> None:
        """Set Warp's own options; without constraint rows, Warp skips its solver."""
        self.model.opt.warn_overflow = 0  # we raise an exception instead
        if not self.has_rows:
            return
        from exoskel.engines.mujoco.warp_kernels import bound_rows

        flag = int(self.mujoco_warp.OverflowType.NEFC)
        # After the rows are built, before they are used.
        self.model.callback.control = lambda _, data: bound_rows(data, flag)

    def _capacity_bits(self) -> int:
        kinds = self.mujoco_warp.OverflowType
        return int(kinds.NEFC | kinds.NJMAX_NNZ | kinds.BROADPHASE | kinds.NARROWPHASE | kinds.CCD | kinds.NVMAX)

    def write(self, state: dict[str, Array]) -> None:
        """Take over the state of worlds and the forces on them, `(worlds, ...)` by the names of `STATE`."""
        for name in STATE:
            target, rows = getattr(self.data, name), state[name][: self.count]
            if rows.any():
                with np.errstate(over="ignore"):  # overflow in single precision shows as a diverged world
                    target.assign(np.ascontiguousarray(rows, dtype=np.float32))
            else:
                target.zero_()

    def set_initial_state(self, state: dict[str, Array]) -> None:
        """Set the initial state; on a GPU, first capture a step as a graph that can be replayed."""
        if self.device.is_cuda:
            with self.warp.ScopedDevice(self.device):
                self.write(state)
                self.mujoco_warp.step(self.model, self.data)  # compiles everything before the capture
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

    def launch(self, cuts: list[int], forces: Array | None, recorder: DeviceRecorder, slot: int) -> PendingSteps:
        """Launch steps up to the last cut, and copy samples of the state to the host after those in `cuts`.

        It returns at once; `PendingSteps.wait` waits for a GPU.  There is memory for two launches, slots 0 and 1.
        """
        warp, data = self.warp, self.data
        with warp.ScopedDevice(self.device):
            on_device, on_host = self._sample_arrays(len(cuts), recorder, slot)
            force_rows = None
            if forces is not None:
                force_rows = warp.array(np.ascontiguousarray(np.swapaxes(forces, 0, 1), dtype=np.float32))
            at = 0
            for number, cut in enumerate(cuts):
                if force_rows is None:
                    self.step(cut - at)
                else:
                    for step in range(at, cut):
                        warp.copy(data.qfrc_applied, force_rows[step])
                        self.step(1)
                at = cut
                recorder.record(data, on_device[:2], number)
                warp.copy(on_device[2][number], data.overflow)
            event = self._start_copy(on_device, on_host)
        return PendingSteps(warp, event, [one.numpy() for one in on_host], force_rows)

    def _sample_arrays(self, samples: int, recorder: DeviceRecorder, slot: int) -> tuple[list[Any], list[Any]]:
        """Arrays on the device for samples, and arrays on the host that they are copied to.

        Those on the host are in pinned memory, for asynchronous copies; on Warp's CPU device, both are the same.
        """
        found = self._slots.get((slot, samples))
        if found is None:
            shapes = [(self.count, samples, width) for width in recorder.widths]
            on_device = [self.warp.empty(shape, dtype=float) for shape in shapes]
            on_device.append(self.warp.empty((samples, self.count), dtype=int))
            recorder.prepare(on_device[:2])
            on_host = on_device
            if self.device.is_cuda:
                on_host = [self.warp.empty(one.shape, dtype=one.dtype, device="cpu", pinned=True) for one in on_device]
            found = self._slots[slot, samples] = on_device, on_host
        return found

    def _start_copy(self, on_device: list[Any], on_host: list[Any]) -> Any:
        """Copy samples to the host while the next steps run; returns the event of its end."""
        if self._copy_stream is None:
            return None
        self._copy_stream.wait_event(self.warp.record_event())
        for target, source in zip(on_host, on_device, strict=True):
            self.warp.copy(target, source, stream=self._copy_stream)
        return self._copy_stream.record_event()


class PendingSteps:
    """Steps that run on a device, and their samples on the host."""

    def __init__(self, warp: Any, event: Any, samples: list[Array], forces: Any) -> None:
        self._warp = warp
        self._event = event
        self._samples = samples
        self._forces = forces  # the device reads it until then

    def wait(self) -> tuple[Array, Array, Array]:
        """Wait for the samples: the two arrays of the recorder, `(worlds, samples, ...)`, and overflow flags,
        `(samples, worlds)`."""
        if self._event is not None:
            self._warp.synchronize_event(self._event)
        first, second, overflow = self._samples
        return first, second, overflow


def measure_capacities(
    model: Any,
    fields: dict[str, Array],
    state: dict[str, Array],
    device: str | None,
    progress: CompileProgress | None = None,
) -> Capacities:
    """The capacities that the worlds need: run some of them for a while, and add a margin."""
    warp, _ = load()
    count, steps = _MEASURED[bool(_device(warp, device).is_cuda)]
    count = min(count, len(state["qpos"]))
    capacities: Capacities | None = None
    for _ in range(_MAX_ATTEMPTS):
        one = Device(model, count, fields=fields, name=device, capacities=capacities, progress=progress)
        if not one.has_rows:
            return Capacities(0, 0)
        one.write(state)
        contacts = rows = 0
        for _ in range(steps):
            one.step(1)
            used = max(int(one.data.nacon.numpy()[0]), int(one.data.ncollision.numpy()[0]))
            contacts, rows = max(contacts, used), max(rows, int(one.data.nefc.numpy().max()))
        if not (one.data.overflow.numpy() & one.bits).any():
            return Capacities(_round_up(_MARGIN * contacts / count, 8), _round_up(_MARGIN * rows, 16))
        capacities = Capacities(4 * max(16, one.data.naconmax // count), 4 * max(16, one.data.njmax))
    raise ExoskelError("the scene has too many contacts for the memory of the GPU")


def _round_up(number: float, unit: int) -> int:
    """Round up to a multiple of the unit, at least one: Warp compiles again for every size."""
    return unit * max(1, int(-(-number // unit)))


class WarpWorld(MujocoWorld):
    """A world that MuJoCo Warp steps; everything else is computed on the CPU from its state."""

    def __init__(
        self,
        world: World,
        *,
        limits: bool | None = None,
        step: float | None = None,
        friction: float | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(world, limits=limits, step=step, friction=friction, skins=False)
        capacities = measure_capacities(self.model, {}, _rows(self.data), device)
        self._device = Device(self.model, 1, name=device, capacities=capacities)
        self._device.set_initial_state(_rows(self.data))

    def use_impulse_steps(self, world: World) -> None:
        """Warp makes its own steps; preflight reports where they differ from DART's."""

    def step(self, count: int = 1) -> None:
        self._step(count)

    def _simulate(self, count: int) -> None:
        device, data = self._device, self.data
        device.write(_rows(data))
        device.step(count)
        for name in ("qpos", "qvel", "act"):
            getattr(data, name)[:] = getattr(device.data, name).numpy()[0]
        data.time += count * self.model.opt.timestep
        if (device.data.overflow.numpy() & device.bits).any():
            raise ExoskelError("MuJoCo Warp ran out of memory for contacts")
        if not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
            raise ExoskelError("the motion diverged in MuJoCo Warp")


def _rows(data: Any) -> dict[str, Array]:
    return {name: np.asarray(getattr(data, name))[None] for name in STATE}


def _is_batched(kind: Any) -> bool:
    shape = getattr(kind, "shape", None) or ("",)
    return bool(shape[0] == "*")


WARP = Engine(
    "warp",
    "MuJoCo Warp",
    package="mujoco-warp",
    install="pip install 'exoskel[gpu]'",
    limitations="what mujoco does not support; soft skins; single precision; see `exoskel rollout --backend gpu` for "
    "many worlds",
    # The same model, stepped on a GPU.
    capabilities=structs.replace(MUJOCO.capabilities, impulse_steps=False, soft_bodies=False),
    start=WarpWorld,
)


class MujocoStateRecorder:
    """Records MuJoCo's states without conversion."""

    def __init__(self, warp: Any, data: Any) -> None:
        self._warp = warp
        self.widths: tuple[int, int] = int(data.qpos.shape[1]), int(data.qvel.shape[1])

    def prepare(self, arrays: list[Any]) -> None:
        """Do nothing: no value is the same in all samples."""

    def record(self, data: Any, arrays: list[Any], number: int) -> None:
        """Write the sample of that number into arrays `(worlds, samples, width)`."""
        for target, source in zip(arrays, (data.qpos, data.qvel), strict=True):
            self._warp.copy(target[:, number], source)


class WarpStateConverter:
    """Records the scene's positions and velocities, of worlds without `inner` joints: see `can_convert`."""

    def __init__(self, warp: Any, coordinates: Coordinates) -> None:
        self._warp = warp
        self._single = [_ints(warp, one) for one in (coordinates.scene, coordinates.qpos, coordinates.qvel)]
        self._balls = [_constants(warp, group) for group in coordinates.rotational if group.kind == "ball"]
        self._free = [_constants(warp, group) for group in coordinates.rotational if group.kind == "free"]
        self._static = coordinates.static
        self.widths: tuple[int, int] = (coordinates.count, coordinates.count)

    def prepare(self, arrays: list[Any]) -> None:
        """Write the values that are the same in all samples."""
        for number, one in enumerate(arrays):
            one.zero_()
            for index, *values in self._static:
                one[:, :, index].fill_(values[number])

    def record(self, data: Any, arrays: list[Any], number: int) -> None:
        """Write the sample of that number into arrays `(worlds, samples, width)`."""
        from exoskel.engines.mujoco import warp_kernels as kernels

        arguments = [data.qpos, data.qvel, *arrays, number]
        if len(self._single[0]):
            self._launch(kernels.convert_single, data, self._single, arguments)
        for group in self._balls:
            self._launch(kernels.convert_balls, data, group[:4], arguments)
        for group in self._free:
            self._launch(kernels.convert_free, data, group, arguments)

    def _launch(self, kernel: Any, data: Any, group: list[Any], arguments: list[Any]) -> None:
        self._warp.launch(kernel, dim=(data.nworld, len(group[0])), inputs=[*group, *arguments])


def can_convert(coordinates: Coordinates) -> bool:
    """Whether the device can convert all joints of a world."""
    return all(group.kind in ("ball", "free") for group in coordinates.rotational)


def _constants(warp: Any, group: RotationalJoints) -> list[Any]:
    """Addresses and frames of joints: the first coordinates of the scene and of MuJoCo, joint frame, zero pose."""
    firsts = [_ints(warp, one[:, 0]) for one in (group.scene, group.qpos, group.qvel)]
    rotations = [_floats(warp, one, warp.mat33) for one in (group.rotation, group.zero[:, :3, :3])]
    positions = [_floats(warp, one, warp.vec3) for one in (group.frame[:, :3, 3], group.zero[:, :3, 3])]
    return [*firsts, *rotations, *positions]


def _ints(warp: Any, values: Any) -> Any:
    return warp.array(np.ascontiguousarray(values, dtype=np.int32), dtype=int)


def _floats(warp: Any, values: Array, kind: Any) -> Any:
    return warp.array(np.ascontiguousarray(values, dtype=np.float32), dtype=kind)


DeviceRecorder = MujocoStateRecorder | WarpStateConverter
"""Records samples on the device."""
