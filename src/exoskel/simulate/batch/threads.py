"""Many worlds on the threads of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.simulate.batch.parameters import Variation
from exoskel.simulate.batch.plan import TURNED, RolloutPlan
from exoskel.simulate.batch.recorder import Recorder
from exoskel.simulate.batch.worlds import Chunk, Worlds
from exoskel.spatial import Array

Progress = Callable[[int], None]


def run(
    plan: RolloutPlan,
    tape: Recorder,
    progress: Progress | None = None,
    engine: MujocoWorld | None = None,
    make: Callable[..., Worlds] = Worlds,
) -> Worlds:
    """Do what the plan says, and write it down; `progress` is told how many steps are done.

    `make` makes the worlds: those on threads, or others that are stepped elsewhere.
    """
    worlds = prepare(plan, engine, make)
    go(plan, worlds, tape, progress)
    return worlds


def go(plan: RolloutPlan, worlds: Worlds, tape: Recorder, progress: Progress | None = None) -> None:
    """Move worlds that are at their start, as the plan says."""
    _Runner(plan, worlds, tape, progress or (lambda _: None)).run()


def prepare(plan: RolloutPlan, engine: MujocoWorld | None = None, make: Callable[..., Worlds] = Worlds) -> Worlds:
    """The worlds of a plan, at their start."""
    engine = engine or plan.compile()
    energy = "energy" in plan.record
    worlds = make(engine, plan.count, first=plan.first, threads=plan.threads, energy=energy)
    variation = Variation(engine, plan.vary)
    drawn = variation.draw(plan.seed, worlds.indices)
    variation.apply(worlds, drawn)
    worlds.reset(None, *plan.starts(engine, variation, drawn))
    return worlds


class _Runner:
    def __init__(self, plan: RolloutPlan, worlds: Worlds, tape: Recorder, progress: Progress) -> None:
        self.plan = plan
        self.worlds = worlds
        self.tape = tape
        self.progress = progress
        self.at = 0
        self.looks_closer = not TURNED.issuperset(plan.record)
        self._breath = max(1, worlds.max_thread_steps * worlds.batch.nthread // plan.count)
        self._spoken = 0
        self._buffer = max(worlds.buffer_bytes, tape.buffer_bytes)
        self._width = 8 * plan.count * (1 + worlds.engine.coordinates.nq + worlds.engine.coordinates.nv)

    def run(self) -> None:
        self._tell_steady()
        if not (self._rolls() and self.worlds.chunk_may_start_at_zero):
            self._sample()
        cuts = self.plan.cuts
        while self.tape.done < len(cuts):
            if self._rolls():
                self._roll()
            else:
                self._go(cuts[self.tape.done])
                self._sample()
                self._speak()

    def _speak(self) -> None:
        self._spoken = self.at
        self.progress(self.at)

    def _tell_steady(self) -> None:
        """What is the same at all times is told once."""
        for name in ("forces", "commands"):
            told = getattr(self.plan, name)
            if told is not None and told.shape[1]:  # nothing is told for no steps
                setattr(self.worlds, name, told[:, 0])

    def _changes(self, told: Array | None) -> bool:
        return told is not None and told.shape[1] > 1

    # --- step by step ---------------------------------------------------------------------------------

    def _go(self, wanted: int) -> None:
        plan, worlds = self.plan, self.worlds
        steady = plan.policy is None and not (self._changes(plan.forces) or self._changes(plan.commands))
        while self.at < wanted:
            count = min(wanted - self.at, self._breath)
            if not steady:
                count = min(count, self._tell())
            worlds.step(count)
            self.at += count
            if self._breath <= self.at - self._spoken and self.at < wanted:
                self._speak()

    def _tell(self) -> int:
        """Tell the worlds what holds from now on, and return for how many steps at most it does."""
        plan, worlds = self.plan, self.worlds
        lasting = plan.steps
        for name in ("forces", "commands"):
            told = getattr(plan, name)
            if self._changes(told):
                setattr(worlds, name, told[:, self.at])
                lasting = 1
        if plan.policy is not None:
            if self.at % plan.hold == 0:
                forces = plan.policy(worlds)
                if forces is not None:
                    worlds.forces = forces
            lasting = min(lasting, plan.hold - self.at % plan.hold)
        return lasting

    def _sample(self) -> None:
        worlds = self.worlds
        others = {name: getattr(worlds, name) for name in self.plan.record if name not in TURNED}
        self.tape.take(worlds.sample, others)

    # --- in bulk --------------------------------------------------------------------------------------

    def _rolls(self) -> bool:
        """Whether MuJoCo can be left alone for a while, and there is much to write down."""
        plan, worlds = self.plan, self.worlds
        if (
            plan.policy is not None
            or self._changes(plan.commands)
            or self.looks_closer
            or not worlds.can_step_unattended
        ):
            return False
        if self._changes(plan.forces):  # they are written down for every step, whether it is kept or not
            return not len(worlds.compiled.rotating_coordinates) and plan.stride <= min(
                self._breath, self._buffer // self._width
            )
        return worlds.can_roll_out(plan.stride)

    def _roll(self) -> None:
        """Leave MuJoCo alone up to the end."""
        for samples in self.worlds.roll_out(self._chunks()):
            self.tape.take(samples, {})
            self.at = self.plan.cuts[self.tape.done - 1]
            self._speak()

    def _chunks(self) -> Iterator[Chunk]:
        """The samples that are still to be taken, as many at a time as there is room for."""
        plan, worlds = self.plan, self.worlds
        room = plan.stride if self._changes(plan.forces) or plan.stride == 1 else 1
        cuts, at = plan.cuts[self.tape.done :], self.at
        samples = min(
            self._buffer // (self._width * room), -(-len(cuts) // worlds.min_chunks), self._breath // plan.stride
        )
        samples = max(1, samples)
        for first in range(0, len(cuts), samples):
            wanted = cuts[first : first + samples]
            yield Chunk([cut - at for cut in wanted], self._told(at, wanted[-1]))
            at = wanted[-1]

    def _told(self, begin: int, end: int) -> Array | None:
        """MuJoCo's forces for some steps, `(worlds or 1, steps, nv)`; None if those that hold go on."""
        plan, worlds = self.plan, self.worlds
        if plan.forces is None or not self._changes(plan.forces):
            return None
        steady = worlds.engine.actuation.commanded_forces(worlds.commands)[:, None]
        nowhere = np.zeros((1, worlds.engine.coordinates.nq))
        return worlds.engine.coordinates.forces(nowhere, plan.forces[:, begin:end] + steady)
