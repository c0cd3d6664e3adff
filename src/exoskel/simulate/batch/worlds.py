"""Many copies of one world, each in a state of its own, stepped together on the threads of this machine."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.simulate.batch.state_conversion import Samples, StateConverter, States
from exoskel.simulate.options import numbers
from exoskel.spatial import Array

Mask = NDArray[np.bool_]
ENERGY = 2
"""MuJoCo's flag that has it tell the energy."""


class Chunk(Struct, frozen=True):
    """Some plain steps: those after which samples are taken, the last one the end, and MuJoCo's generalised forces
    for each of the steps, `(worlds or 1, steps, nv)`, if they change."""

    cuts: list[int]
    forces: Array | None = None


class Worlds:
    """As `Simulation`, with the worlds in front: `positions`, `velocities`, `forces`, `commands` are `(worlds, dofs)`.

    `indices` are the numbers of the worlds in the whole rollout, of which this may be a part; `parameters` what each
    was given by `vary`.  They have to be put somewhere with `reset` first.  A world whose motion explodes stops:
    `alive` says which have not.
    """

    buffer = 1 << 24
    """Bytes of MuJoCo's states that are recorded before they are turned into the scene's coordinates."""
    pieces = 1
    """Into how many pieces a motion is cut, where there are so many samples."""
    breath = 1 << 15
    """Steps of a thread after which progress is told and an interruption heard."""
    rolls_from_start = False
    """Whether the first sample of a chunk may be the state it begins with."""

    def __init__(self, engine: MujocoWorld, count: int, *, first: int = 0, threads: int = 0, energy: bool = False):
        import mujoco
        from mujoco.batch import Batch

        self._mujoco = mujoco
        self._energy = energy
        self.engine = engine
        self.model: Any = copy.copy(engine.model) if energy else engine.model
        if energy:
            self.model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        self.batch: Any = Batch(self.model, count, threads)
        self.count = count
        self.indices = np.arange(first, first + count)
        self.parameters: dict[str, Array] = {}
        self.alive: Mask = np.ones(count, dtype=bool)
        self.qpos, self.qvel = self.batch.bind("qpos"), self.batch.bind("qvel")
        self._clock = self.batch.bind("time")
        self._applied, self._pushed = self.batch.bind("qfrc_applied"), self.batch.bind("xfrc_applied")
        self._due = np.zeros(count)
        self._fresh: Mask = np.ones(count, dtype=bool)
        self._coasting: Mask = np.ones(count, dtype=bool)
        self._commanded: Mask = np.zeros(count, dtype=bool)
        self._forces = np.zeros((count, engine.coordinates.count))
        self._commands = np.tile(engine.actuation.initial, (count, 1))
        self._turning = False
        self._is_new = True
        self._begins_apart = bool(len(engine.pushes)) or engine.actuation.begins_apart

    # --- state ----------------------------------------------------------------------------------------

    def reset(self, which: Mask | None = None, positions: Array | None = None, velocities: Array | None = None) -> None:
        """Put worlds (default all) at their start: the world's own, or `(worlds, dofs)` of those."""
        chosen = slice(None) if which is None else which  # a slice is a view
        engine, count = self.engine, self.count if which is None else int(which.sum())
        if not self._is_new:
            self.batch.reset(which, stage=self._mujoco.mjtStage.mjSTAGE_NONE.value)
            self.batch.warning[chosen] = 0
        self._is_new = False
        self._pull()
        self._touched()
        self.alive[chosen], self._due[chosen] = True, 0.0
        self._fresh[chosen] = self._coasting[chosen] = self._begins_apart
        self._commanded[chosen] = False
        self._forces[chosen], self._commands[chosen] = 0.0, engine.actuation.initial
        own = [self._start(values, count) for values in ((positions, "positions"), (velocities, "velocities"))]
        if all((values == values[:1]).all() for values in own):  # worked out once for all
            own, count = [values[:1] for values in own], 1
        qpos, qvel = self.qpos[chosen][:count], self.qvel[chosen][:count]
        engine.coordinates.set_positions(own[0], qpos)
        engine.coordinates.set_velocities(np.where(engine.actuation.locked, 0.0, own[1]), qpos, qvel)
        engine.actuation.set_speeds(qpos, qvel, self._commands[chosen][:count], velocities=False)
        self.qpos[chosen], self.qvel[chosen] = qpos, qvel
        if which is None:
            self._turning = bool(engine.actuation.initial[engine.turning].any())
        else:
            self._note_turning()

    def _start(self, told: tuple[Array | None, str], count: int) -> Array:
        values, word = told
        if values is None:
            own = [getattr(j, word) for m in self.engine.world.models for j in m.joints if not j.loop]
            values = np.array([number for one in own for number in one], dtype=np.float64)
        return self._counted(values, count)

    def _counted(self, values: Any, count: int | None = None) -> Array:
        shape = (self.count if count is None else count, self.engine.coordinates.count)
        found = numbers("coordinates, velocities, forces and commands", values)
        try:
            return np.broadcast_to(found, shape)
        except ValueError:
            raise ExoskelError(f"an array of shape {shape} is needed, not {found.shape}") from None

    @property
    def time(self) -> Array:
        """Seconds since the start of each world, `(worlds)`."""
        return np.array(self._clock)

    @property
    def place(self) -> str:
        """The device they are stepped on."""
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
    def sample(self) -> Samples:
        """The worlds as they are now."""
        self._pull()
        return States(self.turner, self.qpos[:, None], self.qvel[:, None], self._arrived()[:, None])

    def _arrived(self) -> Mask:
        """Which worlds have made all their steps: one that explodes in the last of them has, too."""
        return np.asarray(np.rint(self._clock / self.engine.time_step) >= self._due)

    @cached_property
    def turner(self) -> StateConverter:
        return StateConverter(self.engine.coordinates, self.batch.nthread)

    def _pull(self) -> None:
        """Bring states here from where they are stepped: on threads, they are here."""

    def _touched(self) -> None:
        """What is here was written to."""

    @property
    def forces(self) -> Array:
        """Generalised forces from outside, in N or N·m, that act until they are changed."""
        return self._forces.copy()

    @forces.setter
    def forces(self, values: Array) -> None:
        self._forces[:] = self._counted(values)
        self._note_turning()
        self._apply()

    @property
    def commands(self) -> Array:
        """What actuators are told, until they are told otherwise: see `exoskel.engines.mujoco.actuation`."""
        return self._commands.copy()

    @commands.setter
    def commands(self, values: Array) -> None:
        self._commands[:] = self._counted(values)
        self._commanded[:] = True
        self._note_turning()
        self._pull()
        self.engine.actuation.set_speeds(self.qpos, self.qvel, self._commands)
        self._apply()

    @property
    def is_plain(self) -> bool:
        """Whether the next steps are MuJoCo's alone: nothing has to be told to it in between."""
        return not (self._turning or (self._fresh | self._coasting).any())

    def _apply(self) -> None:
        if self._turning or self.engine.actuation.acceleration.any():
            self._pull()
        self._touched()
        self._applied[:] = self.engine.actuation.applied(self.qpos, self._forces, self._commands)

    def _note_turning(self) -> None:
        """See whether a force is held whose axes turn against MuJoCo's: it has to be told anew before each step."""
        turning = self.engine.turning
        self._turning = bool(self._forces[:, turning].any() or self._commands[:, turning].any())

    # --- motion ---------------------------------------------------------------------------------------

    def step(self, count: int = 1) -> None:
        """Go on by so many time steps; worlds that are no longer alive stay where they are."""
        if count > 0 and (self._fresh | self._coasting).any():
            self._first_step()
            count -= 1
        if self._turning:
            for _ in range(count):
                self._apply()
                self._advance(1)
        elif count > 0:
            self._advance(count)

    def can_roll(self, stride: int) -> bool:
        """Whether `roll` is the way to get a sample every so many steps, when nothing has to be told in between."""
        return stride == 1

    def rolls(self, chunks: Iterable[Chunk]) -> Iterator[Samples]:
        """Go on chunk by chunk; what a chunk gives is forgotten when the next is asked for."""
        for chunk in chunks:
            yield self._roll(chunk)

    def _roll(self, chunk: Chunk) -> Samples:
        """Go on by plain steps, and return samples."""
        cuts, forces = chunk.cuts, chunk.forces
        if forces is not None and len(forces) > 1:
            forces = forces[self.alive]
        count = cuts[-1]
        here = self.alive.copy()
        before = self._clock[here]
        widths = {"qpos": self.qpos.shape[1], "qvel": self.qvel.shape[1]}
        told = {name: np.empty((int(here.sum()), count, width)) for name, width in widths.items()}
        try:
            self.batch.rollout(
                count,
                control=forces,
                control_spec=int(self._mujoco.mjtState.mjSTATE_QFRC_APPLIED),
                record=tuple(told),
                ids=self._ids(),
                out=told,
            )
        except RuntimeError:  # some world raised and stayed where it was: the others went on
            self.alive &= self.batch.status == 0
        self._due += count
        went = np.rint((self._clock[here] - before) / self.engine.time_step)  # one that explodes goes no further
        moved = np.zeros((self.count, count), dtype=bool)
        moved[here] = (np.arange(count) < went[:, None]) & self.alive[here, None]
        qpos, qvel = (_everywhere(told[name], now, here) for name, now in (("qpos", self.qpos), ("qvel", self.qvel)))
        self._see_who_lives()
        if len(cuts) < count:
            kept = np.array(cuts) - 1
            qpos, qvel, moved = qpos[:, kept], qvel[:, kept], moved[:, kept]
        return States(self.turner, qpos, qvel, moved)

    def _ids(self) -> Mask | None:
        return None if self.alive.all() else self.alive

    def _advance(self, count: int) -> None:
        try:
            self.batch.step(self._ids(), nstep=count)
        except RuntimeError:  # some world raised: the others went on
            self.alive &= self.batch.status == 0
        self._due += count
        self._see_who_lives()

    def _see_who_lives(self) -> None:
        kinds = self._mujoco.mjtWarning
        bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
        full = (kinds.mjWARN_CONTACTFULL, kinds.mjWARN_CNSTRFULL)
        if self.batch.warning.any():
            self.alive &= ~self.batch.warning[:, [int(kind) for kind in bad + full], 1].any(axis=1)

    def _first_step(self) -> None:
        """What a file states as forces, and the velocity of a joint that is told none, hold for one step."""
        actuation = self.engine.actuation
        first = actuation.first_forces + actuation.first_accelerations
        fresh, begun = self._fresh.copy(), self._fresh | self._coasting
        told = self._commands
        untold = fresh & ~self._commanded
        if first.any() and untold.any():
            self._commands = told + np.where(untold[:, None], first, 0.0)
        if self._commands.any() or self._turning:
            self._apply()
        pushes = self.engine.pushes
        if len(pushes) and fresh.any():
            self._touched()
            self._pushed[fresh] = pushes
        self._advance(1)
        self._commands = told
        if len(pushes) and fresh.any():
            self._pushed[fresh] = 0.0
        self._settle(begun & ~(fresh & self._commanded))
        self._touched()
        self._fresh[:] = self._coasting[:] = False

    def _settle(self, which: Mask) -> None:
        """After the first step, only what was told goes on."""
        actuation = self.engine.actuation
        self._pull()
        qpos, qvel = self.qpos[which], self.qvel[which]
        self._applied[which] = actuation.applied(qpos, self._forces[which], self._commands[which])
        actuation.set_speeds(qpos, qvel, self._commands[which])
        self.qvel[which] = qvel

    # --- looking --------------------------------------------------------------------------------------

    @property
    def body_poses(self) -> Array:
        """World poses of all bodies as x y z qw qx qy qz, `(worlds, bodies, 7)`."""
        self._pull()
        places, turns = self.batch.bind("xpos"), self.batch.bind("xmat")
        self.batch.forward(stage=self._mujoco.mjtStage.mjSTAGE_POS.value)
        ids = self.engine.body_ids
        turned = spatial.quaternion(turns[:, ids].reshape(self.count, -1, 3, 3))
        return np.concatenate([places[:, ids], turned], axis=-1)

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy in J, springs included, `(worlds, 2)`."""
        if not self._energy:
            raise ExoskelError("these worlds do not keep account of energy")
        self._pull()
        names = ("energy", "cvel", "xipos", "subtree_com", "ximat")
        bound = {name: self.batch.bind(name) for name in names}
        self.batch.forward(stage=self._mujoco.mjtStage.mjSTAGE_VEL.value)
        masses, inertias = self._model_field("body_mass"), self._model_field("body_inertia")
        spin = bound["cvel"][..., :3]
        arm = bound["xipos"] - bound["subtree_com"][:, self.model.body_rootid]
        speed = bound["cvel"][..., 3:] + np.cross(spin, arm)
        turned = np.einsum("wnji,wnj->wni", bound["ximat"].reshape(self.count, -1, 3, 3), spin)
        with np.errstate(over="ignore", invalid="ignore"):  # in worlds that exploded, of which it is not kept
            moving = np.sum(masses * np.sum(speed**2, axis=-1), axis=-1)
            kinetic = moving + np.sum(inertias * turned**2, axis=(-1, -2))
        potential = bound["energy"][:, 0].copy()
        weightless = self.model.body_gravcomp > 0.0
        if weightless.any():  # MuJoCo counts the height of what it holds up
            gravity = self._model_field("opt.gravity")
            weight = masses * np.sum(bound["xipos"] * gravity[:, None, :], axis=-1)
            potential += weight[:, weightless].sum(axis=-1)
        return np.stack([0.5 * kinetic, potential], axis=-1)

    def _model_field(self, name: str) -> Array:
        found = self.batch.expanded(name)
        if found is not None:
            return np.asarray(found)
        own = self.model.opt.gravity if name == "opt.gravity" else getattr(self.model, name)
        return np.broadcast_to(own, (self.count, *own.shape))


def _everywhere(rows: Array, now: Array, here: Mask) -> Array:
    """Records of all worlds, from those of some."""
    if here.all():
        return rows
    out = np.repeat(now[:, None], rows.shape[1], axis=1)
    out[here] = rows
    return out
