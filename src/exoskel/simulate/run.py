"""Runs a world for some time, and records its motion."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.item import qualified_name
from exoskel.scene.world import SceneLike, as_scene
from exoskel.simulate.options import sample_stride, step_chunks, step_count
from exoskel.simulate.simulation import Simulation
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.convex_decomposition import decomposed
from exoskel.spatial import Array
from exoskel.version import __version__

Controller = Callable[[Simulation], Array | None]
Progress = Callable[[float], None]
FRAMES_A_SECOND = 100
_MAX_DISTANCE = 1e6
"""Metres from the origin beyond which a motion has diverged."""
_MAX_COORDINATE = 1e10
"""A coordinate (rad, m) or speed beyond which a motion has diverged."""


class DivergedError(ExoskelError):
    """The motion diverged.  `trajectory` has the valid samples; the last one is the last valid state."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


class Summary(Struct, frozen=True):
    """The summary of a run: simulated and wall time in s, energies in J, the maximum number of contacts.

    `constraint_error` is the largest error of joints that are constraints (screws, loops, mimics), in m or rad.
    """

    simulated: float
    wall: float
    energy_first: float
    energy_last: float
    most_contacts: int
    constraint_error: float = 0.0
    interrupted: bool = False

    @property
    def real_time_factor(self) -> float:
        return self.simulated / self.wall if self.wall > 0.0 else float("inf")


def run(
    world: SceneLike,
    duration: float = 5.0,
    *,
    engine: str = "mujoco",
    step: float | None = None,
    every: float | None = None,
    integrator: str | None = None,
    limits: bool | None = None,
    friction: float | None = None,
    decompose: bool = False,
    start: Trajectory | None = None,
    controller: Controller | None = None,
    progress: Progress | None = None,
) -> Trajectory:
    """Simulate a world for `duration` s, and return samples that are `every` s apart (default 100 per second).

    `step` is the time step in s, by default the world's own.  `controller` is called before every step with the
    simulation; it may set its commands, or return generalised forces.  `limits` switches position limits on or off
    for all joints; `friction` is the coefficient of all contacts.  `decompose` replaces concave meshes that collide
    with convex parts (`exoskel[decompose]`).  `start` is a motion to continue, from its last sample.  An interrupt
    (Ctrl-C) ends the run and returns the samples so far; a motion that diverges raises DivergedError; a world that the
    engine cannot run raises NotRunnableError.
    """
    if not (np.isfinite(duration) and duration >= 0.0):
        raise ExoskelError(f"the duration must be finite and not negative, not {duration}")
    if every is not None and not (np.isfinite(every) and every > 0.0):
        raise ExoskelError(f"the time between samples must be positive and finite, not {every}")
    scene = as_scene(world)
    made = decomposed(scene) if decompose else scene
    with Simulation(made, engine, step=step, integrator=integrator, limits=limits, friction=friction) as simulation:
        if start is not None:
            _continue_from(simulation, start)
        trajectory = _RunRecorder(simulation, duration, every, controller, progress).run()
        trajectory.scene = scene
        return trajectory


def _continue_from(simulation: Simulation, motion: Trajectory) -> None:
    if not len(motion) or list(motion.dof_names) != simulation.dof_names:
        raise ExoskelError("the initial motion belongs to a different scene: its coordinates have other names")
    simulation.positions = motion.positions[-1]
    simulation.velocities = motion.velocities[-1]


class _RunRecorder:
    def __init__(
        self,
        simulation: Simulation,
        duration: float,
        every: float | None,
        controller: Controller | None,
        progress: Progress | None,
    ) -> None:
        self.simulation = simulation
        self.steps = step_count(duration, simulation.time_step)
        if duration > 0.0 and not self.steps:
            raise ExoskelError(f"the time step of {simulation.time_step:g} s is too long for a run of {duration:g} s")
        wanted = 1.0 / FRAMES_A_SECOND if every is None else every
        self.stride = sample_stride(wanted, simulation.time_step)
        self.controller = controller
        self.progress = progress
        self.rows: list[tuple[float, Array, Array, Array, tuple[float, float]]] = []
        initial = np.abs(simulation.body_poses[:, :3, 3])
        self.max_distance = _MAX_DISTANCE + 10.0 * float(np.nan_to_num(initial).max(initial=0.0))
        self.most_contacts = 0
        self.constraint_error = 0.0

    def run(self) -> Trajectory:
        begin = clock.perf_counter()
        interrupted = False
        self._record()
        done = 0
        try:
            while done < self.steps:
                count = min(self.stride, self.steps - done)
                self._advance(count)
                done += count
                self._record()
                if self.progress is not None:
                    self.progress(self.simulation.time)
        except KeyboardInterrupt:
            interrupted = True
        except DivergedError:
            raise
        except ExoskelError as error:  # from the engine, such as a child process that crashed
            raise DivergedError(f"{error}, after {self.rows[-1][0]:.4g} s", self._trajectory(0.0, False)) from None
        return self._trajectory(clock.perf_counter() - begin, interrupted)

    def _advance(self, count: int) -> None:
        if self.controller is None:
            for chunk in step_chunks(count):
                self.simulation.step(chunk)
                count -= chunk
                if self.progress is not None and count:
                    self.progress(self.simulation.time)
            return
        for _ in range(count):
            forces = self.controller(self.simulation)
            if forces is not None:
                self.simulation.forces = forces
            self.simulation.step()

    def _record(self) -> None:
        one = self.simulation
        poses = one.body_poses
        row = (one.time, spatial.pose7(poses), one.positions, one.velocities, one.energy)
        self._check(poses, row[2], row[3])
        self.most_contacts = max(self.most_contacts, one.contact_count)
        self.constraint_error = max(self.constraint_error, one.constraint_error)
        self.rows.append(row)

    def _check(self, poses: Array, *coordinates: Array) -> None:
        """Raise DivergedError if the state is invalid; it is not recorded."""
        positions = poses[:, :3, 3]
        bad = ~np.isfinite(positions).all(axis=1) | (np.abs(positions) > self.max_distance).any(axis=1)
        is_in_bounds = all((np.abs(values) < _MAX_COORDINATE).all() for values in coordinates)
        problem = self.simulation.engine.state_problem
        if is_in_bounds and not bad.any() and not problem:
            return
        diverged = np.flatnonzero(bad)
        if len(diverged):
            problem = f"the motion of {qualified_name(*self.simulation.bodies[int(diverged[0])])!r} diverged"
        problem = problem or "the motion of a joint diverged"
        if not self.rows:
            raise ExoskelError(f"{problem} before the first step: the initial state is invalid")
        when = f"between {self.rows[-1][0]:.4g} and {self.simulation.time:.4g} s"
        raise DivergedError(f"{problem} {when}; try a smaller time step", self._trajectory(0.0, interrupted=False))

    def _trajectory(self, wall: float, interrupted: bool) -> Trajectory:
        times, poses, positions, velocities, energies = zip(*self.rows, strict=True)
        energy = np.array(energies)
        summary = Summary(
            simulated=float(times[-1]),
            wall=wall,
            energy_first=float(energy[0].sum()),
            energy_last=float(energy[-1].sum()),
            most_contacts=self.most_contacts,
            constraint_error=self.constraint_error,
            interrupted=interrupted,
        )
        bodies = self.simulation.bodies
        meta: dict[str, Any] = {
            "engine": self.simulation.name,
            "exoskel": __version__,
            "world": self.simulation.world.name,
            "time_step": self.simulation.time_step,
            "bodies": [list(pair) for pair in bodies],
            "dof_pairs": [[m.name, name] for m in self.simulation.world.models for name in m.dof_names],
            "summary": {name: getattr(summary, name) for name in summary.__struct_fields__},
        }
        return Trajectory(
            np.array(times),
            [qualified_name(*pair) for pair in bodies],
            np.array(poses).reshape(len(times), len(bodies), 7),
            self.simulation.dof_names,
            np.array(positions).reshape(len(times), -1),
            np.array(velocities).reshape(len(times), -1),
            energy,
            meta,
        )
