"""Many copies of one world, each in its own state, stepped together on the threads of this machine."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.commanded_worlds import CommandedWorlds, mechanical_energy
from exoskel.engines.mujoco.impulse_step import ImpulseStep
from exoskel.engines.mujoco.limit_guard import LimitGuard
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.mujoco.servo_forces import JointValues
from exoskel.engines.mujoco.step_model import StepModel
from exoskel.engines.mujoco.truncated_rotations import TruncatedRotations
from exoskel.formats.mjcf import mujoco_import
from exoskel.simulate.batch import released_memory
from exoskel.simulate.batch.recorder import MujocoStates, Samples, StateConverter
from exoskel.simulate.options import numbers
from exoskel.spatial import Array, Mask


class Chunk(Struct, frozen=True):
    """Some steps with unchanged commands.

    `cuts` are the steps after which samples are taken, the last one the end.  `forces` are MuJoCo's generalised
    forces for each step, `(worlds or 1, steps, nv)`, if they change.
    """

    cuts: list[int]
    forces: Array | None = None


class Worlds(CommandedWorlds):
    """Like `Simulation`, for many worlds: `positions`, `velocities`, `forces`, `commands` are `(worlds, dofs)`.

    `indices` are the numbers of the worlds in the whole rollout, of which this may be a part; `parameters` are the
    values that `vary` gave each of them.  Call `reset` before the first step.  A world whose motion diverges stops:
    `alive` tells which are still running.  `controls` are those of the actuators, `(worlds, actuators)`.
    """

    buffer_bytes = 1 << 24
    """Bytes of MuJoCo's states that are recorded before they are converted to the scene's coordinates."""
    min_chunks = 1
    """A motion is divided into at least this number of chunks, if it has that many samples."""
    max_thread_steps = 1 << 15
    """Steps of a thread after which progress is reported and interrupts are handled."""
    chunk_may_start_at_zero = False
    """Whether the first sample of a chunk may be the state it begins with."""
    takes_impulse_steps = True
    """Whether the worlds are stepped as in DART where MuJoCo's own steps differ."""

    def __init__(self, engine: MujocoWorld, count: int, *, first: int = 0, threads: int = 0, energy: bool = False):
        self._mujoco = mujoco = mujoco_import.load()
        batch = mujoco_import.load_batch()
        self.impulse_step = engine.impulse_step if self.takes_impulse_steps else None
        super().__init__(engine.compiled, (count,), self.impulse_step is not None)
        self._records_energy = energy
        self.engine = engine
        self._guard = engine.limit_guard if self.takes_impulse_steps else None
        self._rotations = engine.rotations if self.takes_impulse_steps else None
        self._computes_springs = self.impulse_step is not None and self._guard is None
        """Whether springs are not among MuJoCo's forces."""
        self.model: Any = copy.copy(engine.model) if energy else engine.model
        if energy:
            self.model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
            if self._computes_springs:
                self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SPRING)
        self.batch: Any = batch.Batch(self.model, count, threads)
        self.count = count
        self.samples = 1
        """The number of samples that will be taken."""
        self.indices = np.arange(first, first + count)
        self.parameters: dict[str, Array] = {}
        self.joint_friction: Array = engine.compiled.stated_friction
        """The scene's joint friction, `(nv)` or `(worlds, nv)`."""
        self.alive: Mask = np.ones(count, dtype=bool)
        self.qpos, self.qvel = self.batch.bind("qpos"), self.batch.bind("qvel")
        self._clock = self.batch.bind("time")
        self._applied, self._wrenches = self.batch.bind("qfrc_applied"), self.batch.bind("xfrc_applied")
        self.own_controls: Array = self.batch.bind("ctrl")
        self.own_activations: Array = self.batch.bind("act")
        self._due = np.zeros(count)
        self._is_new = True
        self._first_step_differs = bool(len(engine.compiled.first_wrenches)) or engine.actuation.first_step_differs

    # --- state ----------------------------------------------------------------------------------------

    def reset(self, which: Mask | None = None, positions: Array | None = None, velocities: Array | None = None) -> None:
        """Set worlds (default all) to their initial state: the world's own, or `(worlds, dofs)` of those."""
        chosen = slice(None) if which is None else which  # a slice is a view
        engine, count = self.engine, self.count if which is None else int(which.sum())
        if not self._is_new:
            self.batch.reset(which, stage=self._mujoco.mjtStage.mjSTAGE_NONE.value)
            self.batch.warning[chosen] = 0
            self._forces[chosen], self._commands[chosen] = 0.0, engine.actuation.initial
        self._is_new = False
        self._pull()
        if self.own_activations.shape[1]:
            controls, activations = self.own_controls[chosen], self.own_activations[chosen]
            engine.begin_activations(controls, activations)
            self.own_controls[chosen], self.own_activations[chosen] = controls, activations
        self._mark_changed()
        self.alive[chosen], self._due[chosen] = True, 0.0
        self._is_first[chosen] = self._is_coasting[chosen] = self._first_step_differs
        self._is_commanded[chosen] = False
        own = [
            self._initial_values(values, name, count)
            for values, name in ((positions, "positions"), (velocities, "velocities"))
        ]
        commands = self._commands[chosen]
        if all(values.strides[0] == 0 or (values == values[:1]).all() for values in own):  # once for all worlds
            own, count = [values[:1] for values in own], 1
            commands = commands[:1]
        qpos, qvel = self.qpos[chosen][:count], self.qvel[chosen][:count]
        engine.coordinates.set_positions(own[0], qpos)
        engine.coordinates.set_velocities(self._possible(own[1]), qpos, qvel)
        engine.actuation.set_speeds(qpos, qvel, engine.actuation.clipped(commands), velocities=False)
        self.qpos[chosen], self.qvel[chosen] = qpos, qvel
        if which is None:
            is_rotating = bool(engine.actuation.initial[self.compiled.rotating_coordinates].any())
            self._forces_rotate = is_rotating or self._edges is not None
        else:
            self._update_forces_rotate()

    def _initial_values(self, values: Array | None, name: str, count: int) -> Array:
        if values is None:
            own = [getattr(j, name) for m in self.engine.world.models for j in m.joints if not j.loop]
            values = np.array([number for one in own for number in one], dtype=np.float64)
        return self._broadcast(values, count)

    def _checked(self, values: Any) -> Array:
        return self._broadcast(values, self.count)

    def _broadcast(self, values: Any, count: int) -> Array:
        shape = (count, self.engine.coordinates.count)
        found = numbers("coordinates, velocities, forces and commands", values)
        try:
            return np.broadcast_to(found, shape)
        except ValueError:
            raise ExoskelError(f"expected an array of shape {shape}, not {found.shape}") from None

    @property
    def time(self) -> Array:
        """The time of each world in s, `(worlds)`."""
        return np.array(self._clock)

    @property
    def device_name(self) -> str:
        """The device that steps them; an empty string for the CPU."""
        return ""

    @property
    def dof_names(self) -> list[str]:
        return self.engine.coordinates.names

    @property
    def positions(self) -> Array:
        self._pull()
        return self.engine.coordinates.positions(self.qpos)

    @property
    def velocities(self) -> Array:
        self._pull()
        return self.engine.coordinates.velocities(self.qpos, self.qvel)

    @property
    def controls(self) -> Array:
        """The controls of the actuators of the world until they are changed, `(worlds, actuators)`."""
        return self.engine.controls_of(self.own_controls)

    @controls.setter
    def controls(self, values: Any) -> None:
        shape, found = (self.count, len(self.engine.actuator_names)), numbers("controls", values)
        try:
            wanted = np.broadcast_to(found, shape)
        except ValueError:
            raise ExoskelError(f"expected controls of shape {shape}, not {found.shape}") from None
        self._mark_changed()
        self.engine.set_controls(self.own_controls, wanted)

    @property
    def actuator_names(self) -> list[str]:
        """The names of the actuators, in the order of their controls."""
        return self.engine.actuator_names

    @property
    def sample(self) -> Samples:
        """The current state of the worlds."""
        self._pull()
        return MujocoStates(self.converter, self.qpos[:, None], self.qvel[:, None], self._arrived()[:, None])

    def _arrived(self) -> Mask:
        """Which worlds have made all their steps, including those that diverged in the last one."""
        return np.asarray(np.rint(self._clock / self.engine.time_step) >= self._due)

    @cached_property
    def converter(self) -> StateConverter:
        return StateConverter(self.engine.coordinates, self.batch.nthread, self.count * self.samples)

    @property
    def can_step_unattended(self) -> bool:
        """Whether MuJoCo can make the next steps without new forces from here in between."""
        if self.impulse_step is not None or self._rotations is not None or self._forces_rotate:
            return False
        return not (self._is_first | self._is_coasting).any()

    def saved_state(self) -> dict[str, Array | Mask]:
        """Everything that the motion depends on, besides parameters."""
        self._pull()
        bound = {name: self.batch.bind(name).copy() for name in _STATES}
        return bound | {name: getattr(self, name).copy() for name in _INPUTS}

    def restore(self, saved: dict[str, Array | Mask]) -> None:
        """Continue in a state that worlds with the same scene and options saved."""
        for name in _STATES:
            self.batch.bind(name)[...] = saved[name]
        for name in _INPUTS:
            getattr(self, name)[...] = saved[name]
        self.batch.warning[:] = 0
        self._is_new = False
        self._update_forces_rotate()
        self._mark_changed()

    # --- motion ---------------------------------------------------------------------------------------

    def step(self, count: int = 1) -> None:
        """Advance by some time steps; worlds that are no longer alive keep their state."""
        if count > 0 and (self._is_first | self._is_coasting).any():
            self._take_first_step()
            count -= 1
        if self._forces_rotate and self.impulse_step is None:
            for _ in range(count):
                self._apply()
                self._advance(1)
        elif count > 0:
            self._advance(count)

    def can_roll_out(self, stride: int) -> bool:
        """Whether `roll_out` is the fastest way to get samples at this stride."""
        return stride == 1

    def roll_out(self, chunks: Iterable[Chunk]) -> Iterator[Samples]:
        """Advance chunk by chunk; the samples of a chunk are valid until the next is requested."""
        for chunk in chunks:
            yield self._roll_out(chunk)

    def _roll_out(self, chunk: Chunk) -> Samples:
        cuts, forces = chunk.cuts, chunk.forces
        if forces is not None and len(forces) > 1:
            forces = forces[self.alive]
        count = cuts[-1]
        running = self.alive.copy()
        before = self._clock[running]
        alive, states = int(running.sum()), (("qpos", self.qpos), ("qvel", self.qvel))
        items = [self._recorded_item(name, now.shape[1], count) for name, now in states]
        recorded = {
            item: released_memory.empty((alive, count, first + now.shape[1]))
            for (item, first), (_, now) in zip(items, states, strict=True)
        }
        try:
            self.batch.rollout(
                count,
                control=forces,
                control_spec=int(self._mujoco.mjtState.mjSTATE_QFRC_APPLIED),
                record=tuple(recorded),
                ids=self._ids(),
                out=recorded,
            )
        except RuntimeError:  # a world raised and kept its state; the others went on
            self.alive &= self.batch.status == 0
        self._due += count
        steps = np.rint((self._clock[running] - before) / self.engine.time_step)  # fewer in worlds that diverged
        moved = np.zeros((self.count, count), dtype=bool)
        moved[running] = (np.arange(count) < steps[:, None]) & self.alive[running, None]
        qpos, qvel = (
            _all_worlds(recorded[item][..., first:], now, running)
            for (item, first), (_, now) in zip(items, states, strict=True)
        )
        self._update_alive()
        if len(cuts) < count:
            chosen = np.array(cuts) - 1
            qpos, qvel, moved = (one.take(chosen, axis=1) for one in (qpos, qvel, moved))
        return MujocoStates(self.converter, qpos, qvel, moved, owned=True, last=(self.qpos, self.qvel))

    def _recorded_item(self, name: str, width: int, count: int) -> tuple[str | int, int]:
        """What MuJoCo records of a number of steps, and the column where `qpos` or `qvel` begins.

        The time precedes it if the coordinates of all samples then have space in the memory of the states.
        """
        if not released_memory.is_padded(width, count, self.samples * self.engine.coordinates.count):
            return name, 0
        kinds = self._mujoco.mjtState
        own = kinds.mjSTATE_QPOS if name == "qpos" else kinds.mjSTATE_QVEL
        return int(kinds.mjSTATE_TIME) | int(own), 1

    def _ids(self) -> Mask | None:
        return None if self.alive.all() else self.alive

    def _advance(self, count: int) -> None:
        if self._guard is not None and not self._forces_rotate:
            self._advance_within_limits(self._guard, count)
        elif self.impulse_step is not None:
            self._advance_one_by_one(self.impulse_step, count)
        elif self._rotations is not None:
            for _ in range(count):
                self._simulate(1)
                self._update_alive()
                self._correct_rotations(self._rotations, self.alive)
        else:
            self._simulate(count)
        self._due += count
        self._update_alive()

    def _simulate(self, count: int) -> None:
        """Make steps of MuJoCo itself."""
        try:
            self.batch.step(self._ids(), nstep=count)
        except RuntimeError:  # a world raised; the others went on
            self.alive &= self.batch.status == 0

    def _correct_rotations(self, rotations: TruncatedRotations, which: Mask) -> None:
        """Rotate as DART does in the step that some worlds have made."""
        if which.all():
            rotations.correct(self.qpos, self.qvel)
            return
        qpos = self.qpos[which]
        rotations.correct(qpos, self.qvel[which])
        self.qpos[which] = qpos

    def _advance_one_by_one(self, impulse_step: ImpulseStep, count: int) -> None:
        for number in np.flatnonzero(self.alive).tolist():
            _, model, values = self._step_models[number % len(self._step_models)]
            inputs = impulse_step.inputs(self._forces[number], self.clipped_commands(number))
            coasts = bool(self._is_coasting[number])
            with self._data_of(number) as data:
                for _ in range(count):
                    impulse_step.step(model, data, inputs, coasts, values)
                    if data.warning.number.any():
                        break

    @contextmanager
    def _data_of(self, number: int) -> Iterator[Any]:
        """MuJoCo's data of one world, to step it alone."""
        data = self.batch.get_data(number, self._step_data)
        yield data
        self.qpos[number], self.qvel[number], self._clock[number] = data.qpos, data.qvel, data.time
        self.batch.bind("qacc_warmstart")[number] = data.qacc_warmstart
        self.batch.warning[number, :, 1] = data.warning.number

    def _advance_within_limits(self, guard: LimitGuard, count: int) -> None:
        """Let MuJoCo take the steps, and repeat those of worlds in which a limit is passed one by one."""
        warm_start, states = self.batch.bind("qacc_warmstart"), {"qpos": self.qpos, "qvel": self.qvel}
        for first in range(0, count, guard.most_steps):
            steps, running = min(count - first, guard.most_steps), self.alive.copy()
            before = [array.copy() for array in (self.qpos, self.qvel, self._clock, warm_start)]
            was_outside = (guard.is_outside(self.qpos, self.qvel) | guard.moves_locked(self.qvel))[running]
            found = {name: np.empty((len(was_outside), steps, array.shape[1])) for name, array in states.items()}
            try:
                self.batch.rollout(steps, record=tuple(found), ids=self._ids(), out=found)
            except RuntimeError:  # a world raised; the others went on
                self.alive &= self.batch.status == 0
            if self._rotations is not None:
                self._correct_rotations(self._rotations, self.alive)
            passes = was_outside | guard.is_outside(found["qpos"], found["qvel"]).any(axis=1)
            for number in np.flatnonzero(running)[passes & self.alive[running]].tolist():
                for array, values in zip((self.qpos, self.qvel, self._clock, warm_start), before, strict=True):
                    array[number] = values[number]
                self._repeat(guard, number, steps)
            self._update_alive()

    def _repeat(self, guard: LimitGuard, number: int, count: int) -> None:
        """Take steps of one world again, from where they began."""
        self.batch.warning[number] = 0
        inputs = partial(guard.impulse_step.inputs, self._forces[number], self.clipped_commands(number))
        model, step_model, values = self._step_models[number % len(self._step_models)]
        with self._data_of(number) as data:
            guard.advance((model, step_model), data, inputs, count, values)

    def copy_to(self, engine: MujocoWorld, number: int) -> None:
        """Set a copy of the engine to the state and the parameters of one world."""
        self._pull()
        if self.impulse_step is not None:
            engine.use_model(*self._step_models[number % len(self._step_models)])
        elif self._has_own_models:
            own = None if engine.model is self.engine.model else engine.model
            engine.use_model(self.batch.get_model(number, own), None, None)
        self.batch.get_data(number, engine.data)
        engine.copy_inputs(self, number)

    @property
    def _has_own_models(self) -> bool:
        names = mujoco_import.load_batch().MODEL_FIELDS
        return any(self.batch.expanded(name) is not None for name in names)

    @cached_property
    def _step_data(self) -> Any:
        return self._mujoco.MjData(self.model)

    @cached_property
    def _joint_values(self) -> JointValues:
        """Springs, dampers and friction of all worlds, `(worlds, nv)` where they vary."""
        assert self.impulse_step is not None
        found = {name: self.batch.expanded(name) for name in ("dof_damping", "jnt_stiffness", "qpos_spring")}
        return self.impulse_step.varied_values(self.joint_friction, found)

    @cached_property
    def _step_models(self) -> list[tuple[Any, StepModel, JointValues]]:
        """MuJoCo's model of each world, that for `ImpulseStep.step`, and its values; a single one if all are equal."""
        assert self.impulse_step is not None
        varies = self.joint_friction.ndim > 1 or self._has_own_models
        friction = np.broadcast_to(self.joint_friction, (self.count, self.model.nv))
        found = []
        for number in range(self.count if varies else 1):
            model = self.batch.get_model(number)
            model.opt.disableflags = self.engine.model.opt.disableflags  # springs act in the steps
            own = self.impulse_step.prepare(model, friction[number])
            found.append((model, own, self._joint_values.of(number)))
        return found

    def _update_alive(self) -> None:
        kinds = self._mujoco.mjtWarning
        bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
        full = (kinds.mjWARN_CONTACTFULL, kinds.mjWARN_CNSTRFULL)
        if self.batch.warning.any():
            self.alive &= ~self.batch.warning[:, [int(kind) for kind in bad + full], 1].any(axis=1)

    # --- observation ----------------------------------------------------------------------------------

    @property
    def body_poses(self) -> Array:
        """World poses of all bodies as x y z qw qx qy qz, `(worlds, bodies, 7)`."""
        self._pull()
        positions, rotations = self.batch.bind("xpos"), self.batch.bind("xmat")
        self.batch.forward(stage=self._mujoco.mjtStage.mjSTAGE_POS.value)
        ids = self.engine.body_ids
        quaternions = spatial.quaternion(rotations[:, ids].reshape(self.count, -1, 3, 3))
        return np.concatenate([positions[:, ids], quaternions], axis=-1)

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy in J, springs included, `(worlds, 2)`."""
        if not self._records_energy:
            raise ExoskelError("these worlds do not record energies")
        self._pull()
        names = ("energy", "cvel", "xipos", "subtree_com", "ximat")
        bound = {name: self.batch.bind(name) for name in names}
        self.batch.forward(stage=self._mujoco.mjtStage.mjSTAGE_VEL.value)
        masses, inertias = self._model_field("body_mass"), self._model_field("body_inertia")
        potential = bound.pop("energy")[:, 0].copy()
        gravity = self._model_field("opt.gravity")
        armature = np.where(self.engine.compiled.prescribed_dofs, 0.0, self._model_field("dof_armature"))
        with np.errstate(over="ignore", invalid="ignore"):  # in worlds that diverged, whose energy is not recorded
            both = mechanical_energy(
                self.model,
                potential,
                **bound,
                masses=masses,
                inertias=inertias,
                gravity=gravity,
                armature=armature,
                qvel=self.qvel,
            )
        if self._computes_springs:
            assert self.impulse_step is not None
            both = both[0], both[1] + self.impulse_step.spring_energy(self.positions, self._joint_values, self.qpos)
        elif self._edges is not None:
            both = both[0], both[1] + self._edges.edge_energy(self.qpos)
        return np.stack(both, axis=-1)

    def _model_field(self, name: str) -> Array:
        found = self.batch.expanded(name)
        if found is not None:
            return np.asarray(found)
        own = self.model.opt.gravity if name == "opt.gravity" else getattr(self.model, name)
        return np.broadcast_to(own, (self.count, *own.shape))


_STATES = (
    *("time", "qpos", "qvel", "act", "history", "plugin_state", "qacc_warmstart"),
    *("ctrl", "qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata"),
)
"""What MuJoCo's next step depends on: `mjSTATE_INTEGRATION`."""
_INPUTS = ("alive", "_due", "_forces", "_commands", "_is_first", "_is_coasting", "_is_commanded")


def _all_worlds(rows: Array, now: Array, running: Mask) -> Array:
    """The records of all worlds, from those of the running ones."""
    if running.all():
        return rows
    out = np.repeat(now[:, None], rows.shape[1], axis=1)
    out[running] = rows
    return out
