"""A world in motion for people who look at it: played, stopped, wound back, posed, and pulled at.

What was simulated is kept, so that it can be looked at again; playing goes through what is kept first, and simulates
on from its end.  The engine is started when it is first needed.
"""

from __future__ import annotations

import time as clock
from copy import copy
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import Vector
from exoskel.scene.world import World
from exoskel.simulate.simulation import Simulation
from exoskel.simulate.trajectory import Trajectory
from exoskel.spatial import Array
from exoskel.view.draw_batches import Rows, compact

MOST_NUMBERS = 40_000_000
"""How many pose numbers a record holds (single precision, so 160 MB) before its older half is thinned out."""
_PATIENCE = 0.03
"""Wall time in s that simulating may take between two pictures: what is slower than real time is slow motion."""
_BETWEEN_PULLS = 4
"""Steps for which a pull's force is held."""


class PlayerFrame(Struct):
    """One moment: time in s, poses of all bodies as x y z qw qx qy qz, coordinates."""

    time: float
    poses: Rows
    positions: Array


class PullHandle(Struct):
    """What pulls: the body's number, where it is held (body frame, m), and where to (world, m)."""

    body: int
    point: Array
    target: Array


class Player:
    """Plays one world.  `poses` `(bodies, 7)`, `positions` and `time` are those on show."""

    def __init__(self, world: World, engine: str = "mujoco", *, recorded: Trajectory | None = None) -> None:
        self.world = world
        self.engine = engine
        self.speed = 1.0
        self.gravity = True
        self.is_playing = False
        self.trouble = ""
        self.can_simulate = recorded is None
        self.hand: PullHandle | None = None
        self._simulation: Simulation | None = None
        self._kinematics = Kinematics(world.models)
        self._began = 0.0
        """The time of the record at which the engine's own time is zero."""
        self._owed = 0.0
        """Simulated time in s that the last tick did not get to."""
        self._wanted: tuple[Array, Array] | None = None
        """The state that an engine is to begin in, once it is started."""
        self.frames: list[PlayerFrame] = []
        if recorded is None:
            self._keep_initial()
        else:
            self._keep_recorded(recorded)
        self._shown = 0
        self._replayed = self.frames[0].time

    def _keep_initial(self) -> None:
        q = self._kinematics.initial.copy()
        self.frames = [PlayerFrame(0.0, _compact(self._kinematics.poses(q)), q)]

    def _keep_recorded(self, recorded: Trajectory) -> None:
        if not len(recorded):
            raise ExoskelError("there is nothing to show: the trajectory is empty")
        count = sum(len(model.bodies) for model in self.world.models)
        if recorded.body_poses.shape[1] != count:
            held = recorded.body_poses.shape[1]
            raise ExoskelError(f"the motion is of another scene: it has {held} bodies, the scene {count}")
        rows = zip(recorded.time.tolist(), compact(recorded.body_poses), recorded.positions, strict=True)
        self.frames = [PlayerFrame(time, poses, positions) for time, poses, positions in rows]

    # --- what is on show ------------------------------------------------------------------------------

    @property
    def frame(self) -> PlayerFrame:
        return self.frames[self._shown]

    @property
    def time(self) -> float:
        return self.frame.time

    @property
    def positions(self) -> Array:
        return self.frame.positions

    @property
    def poses(self) -> Rows:
        """Rows of x y z qw qx qy qz, in single precision unless they are far away."""
        return self.frame.poses

    @property
    def span(self) -> tuple[float, float]:
        """The first and last time there is a picture of."""
        return self.frames[0].time, self.frames[-1].time

    @property
    def is_at_end(self) -> bool:
        return self._shown == len(self.frames) - 1

    @property
    def needs_engine(self) -> bool:
        """Whether an engine has to be started for going on."""
        return self.can_simulate and self._simulation is None and self.is_at_end

    @property
    def contacts(self) -> list[Any]:
        """Who touches whom now; nothing while the past or a recorded motion is on show: only engines know."""
        if self._simulation is None or not self.is_at_end:
            return []
        return self._simulation.contacts

    # --- playing --------------------------------------------------------------------------------------

    def play(self) -> None:
        if self.is_at_end and not self.can_simulate:
            self.seek(self.span[0])
        self.is_playing = True
        self.trouble = ""
        self._owed = 0.0
        self._replayed = self.time

    def pause(self) -> None:
        self.is_playing = False

    def tick(self, elapsed: float) -> bool:
        """Go on for `elapsed` s of wall time; returns whether there is something new to see."""
        if not self.is_playing:
            return False
        if not self.is_at_end:
            return self._replay(elapsed * self.speed)
        if not self.can_simulate:
            self.is_playing = False
            return False
        return self._simulate(elapsed * self.speed)

    def step(self) -> None:
        """One time step, or one kept picture."""
        if not self.is_at_end:
            self._show(self._shown + 1)
        elif self.can_simulate:
            simulation = self._started()
            self._pull(simulation)
            self._advance(simulation, 1)

    def advance_to(self, time: float) -> None:
        """Go on until a time, s, whatever that takes; before the end of what is kept, show that."""
        if time <= self.span[1]:
            self.seek(time)
            return
        self._show(len(self.frames) - 1)
        simulation = self._started()
        steps = round((time - self.time) / simulation.time_step)
        if steps > 0:
            self._advance(simulation, steps)
        if self.trouble:
            raise ExoskelError(self.trouble)

    def seek(self, time: float) -> None:
        """Show the kept picture nearest to a time, s."""
        times = np.array([frame.time for frame in self.frames])
        self._show(int(np.argmin(np.abs(times - time))))
        self._replayed = self.time

    def reset(self) -> None:
        """Back to the beginning; what was simulated is forgotten."""
        self.is_playing = False
        self.trouble = ""
        self.release()
        if self.can_simulate:
            self._stop()
            self._keep_initial()
        self._show(0)

    def _replay(self, duration: float) -> bool:
        self._replayed += duration
        number = self._shown
        while number + 1 < len(self.frames) and self.frames[number + 1].time <= self._replayed:
            number += 1
        changed = number != self._shown
        self._show(number)
        return changed

    def _simulate(self, duration: float) -> bool:
        try:
            simulation = self._started()
        except ExoskelError as error:
            self._fail(str(error))
            return False
        self._owed = min(self._owed + duration, 0.25)
        steps = int(self._owed / simulation.time_step)
        deadline, done = clock.perf_counter() + _PATIENCE, 0
        chunk = _BETWEEN_PULLS if self.hand is not None else max(1, steps // 8)
        while done < steps and clock.perf_counter() < deadline:
            self._pull(simulation)
            count = min(chunk, steps - done)
            simulation.step(count)
            done += count
        self._owed = 0.0 if done < steps else self._owed - done * simulation.time_step
        return done > 0 and self._record(simulation)

    def _advance(self, simulation: Simulation, count: int) -> None:
        simulation.step(count)
        self._record(simulation)

    def _record(self, simulation: Simulation) -> bool:
        poses, positions = simulation.body_poses, simulation.positions
        trouble = str(getattr(simulation.engine, "trouble", ""))
        if trouble or not (np.isfinite(poses).all() and np.isfinite(positions).all()):
            self._fail(trouble or "the motion exploded")
            return False
        self.frames.append(PlayerFrame(self._began + simulation.time, _compact(poses), positions))
        if len(self.frames) * poses.shape[0] * 7 > MOST_NUMBERS and len(self.frames) > 4:
            older = len(self.frames) // 2
            self.frames = self.frames[:older:2] + self.frames[older:]
        self._show(len(self.frames) - 1)
        return True

    def _show(self, number: int) -> None:
        self._shown = max(0, min(number, len(self.frames) - 1))

    def _fail(self, message: str) -> None:
        self.is_playing = False
        self.trouble = message

    # --- changing -------------------------------------------------------------------------------------

    def pose(self, dof: int, value: float) -> None:
        """Set one coordinate (rad or m) of what is on show; the motion goes on from there, from rest."""
        q = self.positions.copy()
        q[dof] = value
        self.is_playing = False
        time = self.time
        self.frames = [*self.frames[: self._shown], PlayerFrame(time, _compact(self._kinematics.poses(q)), q)]
        self._show(len(self.frames) - 1)
        self._restart(q, np.zeros_like(q), time)

    def use(self, engine: str) -> None:
        """Go on in another engine."""
        if engine != self.engine:
            self.engine = engine
            self._change()

    def set_gravity(self, on: bool) -> None:
        if on != self.gravity:
            self.gravity = on
            self._change()

    def _change(self) -> None:
        """Go on from the end of the record in an engine that is built anew."""
        if self._simulation is None:
            return
        state = self._simulation.positions, self._simulation.velocities
        self._restart(*state, self._began + self._simulation.time)

    def _restart(self, positions: Array, velocities: Array, time: float) -> None:
        was_needed = self._simulation is not None
        self._stop()
        self._wanted = (positions, velocities)
        self._began = time
        if was_needed:
            try:
                self._started()
            except ExoskelError as error:
                self._fail(str(error))

    def _started(self) -> Simulation:
        if self._simulation is None:
            simulation = Simulation(self._falling(), self.engine)
            if self._wanted is not None:
                try:
                    simulation.positions, simulation.velocities = self._wanted
                except ExoskelError as error:  # not every engine takes a state from outside
                    simulation.close()
                    raise ExoskelError(f"{error}; a reset begins anew in it") from None
                self._wanted = None
            self._simulation = simulation
        return self._simulation

    def _falling(self) -> World:
        """The world, with gravity switched as it is; it shares all but that with the scene."""
        if self.gravity:
            return self.world
        with no_edits():  # the scene itself stays as it is
            other = copy(self.world)
            other.gravity = (0.0, 0.0, 0.0)
        return other

    def _stop(self) -> None:
        if self._simulation is not None:
            self._simulation.close()
        self._simulation = None
        self._began = 0.0
        self._wanted = None

    # --- pulling --------------------------------------------------------------------------------------

    def pull(self, body: int, point: Vector | Array, target: Vector | Array) -> None:
        """Pull a point of a body (its frame, m) towards a place in the world while the motion goes on."""
        self.hand = PullHandle(body, spatial.array(point), spatial.array(target))

    def release(self) -> None:
        self.hand = None
        if self._simulation is not None:
            self._simulation.engine.release()

    def _pull(self, simulation: Simulation) -> None:
        if self.hand is not None:
            simulation.engine.pull(self.hand.body, self.hand.point, self.hand.target)

    def close(self) -> None:
        """Let an engine in a process of its own end."""
        self._stop()


def _compact(poses: Array) -> Rows:
    return compact(spatial.pose7(poses))
