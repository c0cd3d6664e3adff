"""Many worlds on the threads of this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from exoskel.engines.mujoco import MujocoWorld
from exoskel.simulate.batch.knobs import Variation
from exoskel.simulate.batch.plan import Plan
from exoskel.simulate.batch.tape import Tape
from exoskel.simulate.batch.worlds import Worlds
from exoskel.spatial import Array

Progress = Callable[[int], None]
_BLOCK = 1 << 17
"""Bytes of MuJoCo's states that a thread turns into the scene's coordinates at once: what its cache holds."""


def run(
    plan: Plan,
    tape: Tape,
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


def go(plan: Plan, worlds: Worlds, tape: Tape, progress: Progress | None = None) -> None:
    """Move worlds that are at their start, as the plan says."""
    _Runner(plan, worlds, tape, progress or (lambda _: None)).run()


def prepare(plan: Plan, engine: MujocoWorld | None = None, make: Callable[..., Worlds] = Worlds) -> Worlds:
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
    def __init__(self, plan: Plan, worlds: Worlds, tape: Tape, progress: Progress) -> None:
        self.plan = plan
        self.worlds = worlds
        self.tape = tape
        self.progress = progress
        self.at = 0
        self.looks_closer = not {"positions", "velocities"}.issuperset(plan.record)

    def run(self) -> None:
        self._tell_steady()
        self._sample()
        cuts = self.plan.cuts
        while self.tape.done < len(cuts):
            wanted = cuts[self.tape.done]
            if self._rolls():
                self._roll(cuts)
            else:
                self._go(wanted)
                self._sample()
            self.progress(self.at)

    def _tell_steady(self) -> None:
        """What is the same at all times is told once."""
        for name in ("forces", "commands"):
            told = getattr(self.plan, name)
            if told is not None:
                setattr(self.worlds, name, told[:, 0])

    def _changes(self, told: Array | None) -> bool:
        return told is not None and told.shape[1] > 1

    # --- step by step ---------------------------------------------------------------------------------

    def _go(self, wanted: int) -> None:
        plan, worlds = self.plan, self.worlds
        steady = plan.policy is None and not (self._changes(plan.forces) or self._changes(plan.commands))
        while self.at < wanted:
            count = wanted - self.at
            if not steady:
                count = min(count, self._tell())
            worlds.step(count)
            self.at += count

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
                    worlds.forces = np.asarray(forces)
            lasting = min(lasting, plan.hold - self.at % plan.hold)
        return lasting

    def _sample(self) -> None:
        worlds = self.worlds
        rows = {name: getattr(worlds, name)[:, None] for name in self.plan.record}
        self.tape.write(rows, worlds.alive[:, None])

    # --- in bulk --------------------------------------------------------------------------------------

    def _rolls(self) -> bool:
        """Whether MuJoCo can be left alone for a while, and there is much to write down."""
        plan, worlds = self.plan, self.worlds
        if plan.policy is not None or self._changes(plan.commands) or self.looks_closer or not worlds.is_plain:
            return False
        if self._changes(plan.forces):
            return not len(worlds.engine.turning)
        return worlds.can_roll(plan.stride)

    def _roll(self, cuts: list[int]) -> None:
        plan, worlds = self.plan, self.worlds
        engine = worlds.engine
        width = 8 * plan.count * (1 + engine.coordinates.nq + engine.coordinates.nv)
        room = plan.stride if self._changes(plan.forces) or plan.stride == 1 else 1
        samples = max(1, worlds.buffer // (width * room))
        wanted = cuts[self.tape.done : self.tape.done + samples]
        end = wanted[-1]
        qpos, qvel, moved = worlds.roll([cut - self.at for cut in wanted], self._told(end - self.at))
        self.tape.write(self._turned(qpos, qvel), moved)
        self.at = end

    def _turned(self, qpos: Array, qvel: Array) -> dict[str, Array]:
        """The scene's coordinates of MuJoCo's, `(worlds, count, ...)`, on all threads, some worlds at a time."""
        worlds, coordinates = self.worlds, self.worlds.engine.coordinates
        out = {name: np.empty((*qpos.shape[:-1], coordinates.count)) for name in self.plan.record}
        block = max(1, _BLOCK // max(1, qpos[0].nbytes))

        def turn(first: int) -> None:
            part = slice(first, first + block)
            if "positions" in out:
                out["positions"][part] = coordinates.positions(qpos[part])
            if "velocities" in out:
                out["velocities"][part] = coordinates.velocities(qpos[part], qvel[part])

        firsts = range(0, worlds.count, block)
        if len(firsts) == 1:
            turn(0)
        else:
            list(self.pool.map(turn, firsts))
        return out

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.worlds.batch.nthread)

    def _told(self, count: int) -> Array | None:
        """MuJoCo's forces for the next steps, `(living worlds, count, nv)`; None if those that hold go on."""
        plan, worlds = self.plan, self.worlds
        if plan.forces is None or not self._changes(plan.forces):
            return None
        told = plan.forces[:, self.at : self.at + count]
        if len(told) > 1:
            told = told[worlds.alive]
        steady = worlds.engine.actuation.clipped(worlds.commands)[worlds.alive][:, None]
        nowhere = np.zeros((1, worlds.engine.coordinates.nq))
        return worlds.engine.coordinates.forces(nowhere, told + steady)
