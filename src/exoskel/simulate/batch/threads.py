"""Rollouts on the threads of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.simulate.batch.parameters import Variation
from exoskel.simulate.batch.plan import STATE_RECORDS, WORLD_RECORDS, RolloutPlan
from exoskel.simulate.batch.recorder import Recorder
from exoskel.simulate.batch.worlds import Chunk, Worlds
from exoskel.simulate.measured_world import MeasuredWorld
from exoskel.simulate.records import RECORD_KINDS, Measurements, RecordKind
from exoskel.spatial import Array

StepProgress = Callable[[int], None]
_INPUTS = ("forces", "commands", "controls")
"""The values of a plan that may differ from step to step."""


def run(
    plan: RolloutPlan,
    recorder: Recorder,
    progress: StepProgress | None = None,
    engine: MujocoWorld | None = None,
    factory: Callable[..., Worlds] = Worlds,
) -> Worlds:
    """Run a plan and record its samples; `progress` is called with the number of steps that are done.

    `factory` creates the worlds: those on threads, or on another device.
    """
    worlds = create_worlds(plan, engine, factory)
    run_worlds(plan, worlds, recorder, progress)
    return worlds


def run_worlds(plan: RolloutPlan, worlds: Worlds, recorder: Recorder, progress: StepProgress | None = None) -> None:
    """Run worlds that are in their initial states, as planned."""
    _Runner(plan, worlds, recorder, progress or (lambda _: None)).run()


def create_worlds(
    plan: RolloutPlan, engine: MujocoWorld | None = None, factory: Callable[..., Worlds] = Worlds
) -> Worlds:
    """The worlds of a plan, in their initial states."""
    engine = engine or plan.compile()
    energy = "energy" in plan.record
    variation = Variation(engine, plan.vary)
    engine.use_impulse_steps(variation.example())
    worlds = factory(engine, plan.count, first=plan.first, threads=plan.threads, energy=energy)
    worlds.samples = plan.samples
    drawn = variation.draw(plan.seed, worlds.indices)
    variation.apply(worlds, drawn)
    worlds.reset(None, *plan.initial_states(engine, variation, drawn))
    return worlds


class _Runner:
    def __init__(self, plan: RolloutPlan, worlds: Worlds, recorder: Recorder, progress: StepProgress) -> None:
        self.plan = plan
        self.worlds = worlds
        self.recorder = recorder
        self.progress = progress
        self.at = 0
        self.records_more_than_states = not STATE_RECORDS.issuperset(plan.record)
        self._report_steps = max(1, worlds.max_thread_steps * worlds.batch.nthread // plan.count)
        self._reported = 0
        self._buffer = max(worlds.buffer_bytes, recorder.buffer_bytes)
        self._width = 8 * plan.count * (1 + worlds.engine.coordinates.nq + worlds.engine.coordinates.nv)

    def run(self) -> None:
        self._set_constant_inputs()
        if not (self._can_roll_out() and self.worlds.chunk_may_start_at_zero):
            self._sample()
        cuts = self.plan.cuts
        while self.recorder.done < len(cuts):
            if self._can_roll_out():
                self._roll_out()
            else:
                self._step_to(cuts[self.recorder.done])
                self._sample()
                self._report()

    def _report(self) -> None:
        self._reported = self.at
        self.progress(self.at)

    def _set_constant_inputs(self) -> None:
        """Set the inputs of the first step; constant ones need no further update."""
        for name in _INPUTS:
            values = getattr(self.plan, name)
            if values is not None and values.shape[1]:  # without steps there are no values
                setattr(self.worlds, name, values[:, 0])

    def _changes(self, values: Array | None) -> bool:
        return values is not None and values.shape[1] > 1

    # --- step by step ---------------------------------------------------------------------------------

    def _step_to(self, wanted: int) -> None:
        plan, worlds = self.plan, self.worlds
        is_constant = plan.policy is None and not any(self._changes(getattr(plan, name)) for name in _INPUTS)
        while self.at < wanted:
            count = min(wanted - self.at, self._report_steps)
            if not is_constant:
                count = min(count, self._update_inputs())
            worlds.step(count)
            self.at += count
            if self._report_steps <= self.at - self._reported and self.at < wanted:
                self._report()

    def _update_inputs(self) -> int:
        """Set the inputs of the next step, and return for how many steps they are valid."""
        plan, worlds = self.plan, self.worlds
        valid_steps = plan.steps
        for name in _INPUTS:
            values = getattr(plan, name)
            if self._changes(values):
                setattr(worlds, name, values[:, self.at])
                valid_steps = 1
        if plan.policy is not None:
            if self.at % plan.hold == 0:
                forces = plan.policy(worlds)
                if forces is not None:
                    worlds.forces = forces
            valid_steps = min(valid_steps, plan.hold - self.at % plan.hold)
        return valid_steps

    def _sample(self) -> None:
        worlds = self.worlds
        others = {name: getattr(worlds, name) for name in self.plan.record if name in WORLD_RECORDS}
        measured = [name for name in self.plan.record if name not in STATE_RECORDS | WORLD_RECORDS]
        if measured:
            rows = self.measured_worlds.measure_all([RECORD_KINDS[name] for name in measured])
            others |= dict(zip(measured, rows, strict=True))
        self.recorder.record(worlds.sample, others)

    @cached_property
    def measured_worlds(self) -> _MeasuredWorlds:
        return _MeasuredWorlds(self.worlds)

    # --- many steps at a time -------------------------------------------------------------------------

    def _can_roll_out(self) -> bool:
        """Whether MuJoCo can run and record many steps by itself, and that is faster."""
        plan, worlds = self.plan, self.worlds
        if (
            plan.policy is not None
            or self._changes(plan.commands)
            or self._changes(plan.controls)
            or self.records_more_than_states
            or not worlds.can_step_unattended
        ):
            return False
        if self._changes(plan.forces):  # they are stored for every step, whether it is recorded or not
            return not len(worlds.compiled.rotating_coordinates) and plan.stride <= min(
                self._report_steps, self._buffer // self._width
            )
        return worlds.can_roll_out(plan.stride)

    def _roll_out(self) -> None:
        """Let MuJoCo run to the end."""
        for samples in self.worlds.roll_out(self._chunks()):
            self.recorder.record(samples, {})
            self.at = self.plan.cuts[self.recorder.done - 1]
            self._report()

    def _chunks(self) -> Iterator[Chunk]:
        """The remaining samples, as many at a time as the buffer holds."""
        plan, worlds = self.plan, self.worlds
        states_per_sample = plan.stride if self._changes(plan.forces) or plan.stride == 1 else 1
        cuts, at = plan.cuts[self.recorder.done :], self.at
        samples = min(
            self._buffer // (self._width * states_per_sample),
            -(-len(cuts) // worlds.min_chunks),
            self._report_steps // plan.stride,
        )
        samples = max(1, samples)
        for first in range(0, len(cuts), samples):
            wanted = cuts[first : first + samples]
            yield Chunk([cut - at for cut in wanted], self._mujoco_forces(at, wanted[-1]))
            at = wanted[-1]

    def _mujoco_forces(self, begin: int, end: int) -> Array | None:
        """MuJoCo's forces for some steps, `(worlds or 1, steps, nv)`; None if they do not change."""
        plan, worlds = self.plan, self.worlds
        if plan.forces is None or not self._changes(plan.forces):
            return None
        constant = worlds.engine.actuation.commanded_forces(worlds.clipped_commands())[:, None]
        any_position = np.zeros((1, worlds.engine.coordinates.nq))
        return worlds.engine.coordinates.forces(any_position, plan.forces[:, begin:end] + constant)


class _MeasuredWorlds:
    """Measures worlds with a copy of their engine, which takes the state and the parameters of one after the other."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._engine = worlds.engine.copy()
        self._measured = MeasuredWorld.around(self._engine.world, self._engine, "mujoco")
        self._masses, self._moments = self._measured.body_masses, self._measured.body_moments

    def measure_all(self, kinds: Sequence[RecordKind]) -> list[Array]:
        """The records of all worlds, `(worlds, …)`; zeros for worlds whose motion diverged."""
        out = [np.zeros((self._worlds.count, *kind.shape(self._measured))) for kind in kinds]
        for number in np.flatnonzero(self._worlds.alive).tolist():
            self._worlds.copy_to(self._engine, number)
            self._update_masses()
            sample = Measurements(self._measured)
            for kind, rows in zip(kinds, out, strict=True):
                rows[number] = np.asarray(kind.measure(sample), dtype=np.float64).reshape(rows.shape[1:])
        return out

    def _update_masses(self) -> None:
        """Take the masses of the world that is measured; a moment varies by the same factor for all axes."""
        own, ids = self._worlds.engine.compiled.model, self._engine.body_ids
        varied = self._engine.model
        if varied is self._worlds.engine.model:
            return
        factors = _ratio(varied.body_mass[ids], own.body_mass[ids])
        moments = _ratio(varied.body_inertia[ids].max(axis=1), own.body_inertia[ids].max(axis=1))
        self._measured.body_masses = self._masses * factors
        self._measured.body_moments = self._moments * moments[:, None]


def _ratio(values: Array, by: Array) -> Array:
    return np.divide(values, by, out=np.ones_like(by), where=by > 0.0)
