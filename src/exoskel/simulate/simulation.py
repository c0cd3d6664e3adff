"""A world in motion in a chosen engine: it is stepped for some time, and its motion is recorded."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from exoskel import spatial
from exoskel.diagnostics import ExoskelError, closest_name
from exoskel.engines.preflight import engine_notes
from exoskel.scene.item import qualified_name
from exoskel.scene.world import SceneLike, as_scene
from exoskel.simulate.measured_world import DivergedError, MeasuredWorld, fastest_body
from exoskel.simulate.options import check_positive, sample_stride, step_chunks, step_count
from exoskel.simulate.records import SampleRecorder, Sensor
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.convex_decomposition import decomposed
from exoskel.spatial import Array
from exoskel.version import __version__

Controller = Callable[["Simulation"], ArrayLike | None]
RunProgress = Callable[[float], None]
FRAMES_A_SECOND = 100
_MAX_DISTANCE = 1e6
"""Metres from the origin beyond which a motion has diverged."""
_MAX_COORDINATE = 1e10
"""A coordinate (rad, m) or speed beyond which a motion has diverged."""


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


def record_motion(
    simulation: Simulation,
    duration: float,
    *,
    every: float | None = None,
    controller: Controller | None = None,
    record: str | Sequence[str] = (),
    sensors: Mapping[str, Sensor] | None = None,
    progress: RunProgress | None = None,
) -> Trajectory:
    """Simulate from the present state of a simulation, and return samples: see `run`."""
    check_times(duration, every)
    recorder = SampleRecorder(simulation, record, sensors)
    return _RunRecorder(simulation, duration, every, controller, recorder, progress).run()


def check_times(duration: float, every: float | None) -> None:
    if duration is None:
        raise ExoskelError("the duration must be finite and not negative, not None")
    check_positive("the duration", duration, or_zero=True)
    check_positive("the time between samples", every)


class _RunRecorder:
    def __init__(
        self,
        simulation: Simulation,
        duration: float,
        every: float | None,
        controller: Controller | None,
        recorder: SampleRecorder,
        progress: RunProgress | None,
    ) -> None:
        self.simulation = simulation
        self.steps = step_count(duration, simulation.time_step)
        if duration > 0.0 and not self.steps:
            raise ExoskelError(f"the time step of {simulation.time_step:g} s is too long for a run of {duration:g} s")
        wanted = 1.0 / FRAMES_A_SECOND if every is None else every
        self.stride = sample_stride(wanted, simulation.time_step)
        self.controller = controller
        self.recorder = recorder
        self.progress = progress
        self.rows: list[tuple[float, Array, Array, Array, tuple[float, float]]] = []
        initial = np.abs(simulation.engine.body_poses[:, :3, 3])
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
        except ExoskelError as error:  # such as a child process that crashed; its samples are worth keeping
            if not done and self.controller is not None:  # a mistake, such as a wrong number of forces
                raise
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
            self._control(self.controller)
            self.simulation.step()

    def _control(self, controller: Controller) -> None:
        try:
            forces = controller(self.simulation)
            if forces is not None:
                self.simulation.forces = forces
        except Exception:
            one = self.simulation.engine
            self._check(one.body_poses, one.positions, one.velocities)  # a state that diverged is the reason
            raise

    def _record(self) -> None:
        one = self.simulation
        poses = one.engine.body_poses
        positions, velocities = np.asarray(one.engine.positions), np.asarray(one.engine.velocities)
        self._check(poses, positions, velocities)
        row = (one.time, spatial.pose7(poses), positions, velocities, one.energy)
        self.recorder.take()
        self.most_contacts = max(self.most_contacts, one.contact_count)
        self.constraint_error = max(self.constraint_error, one.constraint_error)
        self.rows.append(row)

    def _check(self, poses: Array, *coordinates: Array) -> None:
        """Raise DivergedError if the state is invalid; it is not recorded."""
        positions = poses[:, :3, 3]
        bad = ~np.isfinite(positions).all(axis=1) | (np.abs(positions) > self.max_distance).any(axis=1)
        is_in_bounds = all((np.abs(values) < _MAX_COORDINATE).all() for values in coordinates)
        problem = self.simulation.engine.state_problem
        if is_in_bounds and not bad.any() and problem is None:
            return
        diverged = np.flatnonzero(bad)
        if len(diverged):
            text = f"the motion of {qualified_name(*self.simulation.bodies[int(diverged[0])])!r} diverged"
        elif problem is not None and problem.is_explained:
            text = problem.text
        else:
            text = f"the motion of {fastest_body(self.simulation.world, coordinates[-1])!r} diverged"
        if not self.rows:
            raise ExoskelError(f"{text} before the first step: the initial state is invalid")
        when = f"between {self.rows[-1][0]:.4g} and {self.simulation.time:.4g} s"
        raise DivergedError(f"{text} {when}; try a smaller time step", self._trajectory(0.0, interrupted=False))

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
            "diagnostics": engine_notes(self.simulation.diagnostics),
        }
        trajectory = Trajectory(
            np.array(times),
            [qualified_name(*pair) for pair in bodies],
            np.array(poses).reshape(len(times), len(bodies), 7),
            self.simulation.dof_names,
            np.array(positions).reshape(len(times), -1),
            np.array(velocities).reshape(len(times), -1),
            energy,
            meta,
            self.recorder.records(len(times)),
            self.recorder.contacts(len(times)),
        )
        trajectory.scene = self.simulation.scene
        return trajectory


class Simulation(MeasuredWorld):
    """A world compiled by an engine, at its initial state.

    Positions, velocities, forces and commands are one number per degree of freedom, in the scene's order
    (`dof_names`) and the conventions of the SKEL reference; poses are `(bodies, 4, 4)` in the world, in the order of
    `bodies`.  Arrays are read-only copies.  `joint`, `body` and `model` give access by name.  `step` in s replaces the
    world's time step; `limits` switches position limits on or off; `friction` is the coefficient of all contacts;
    `integrator` is MuJoCo's.  `diagnostics` lists what the engine does differently from the world; `warn` says whether
    an EngineWarning reports the important part.  A state that is not finite raises DivergedError where it is read.  An
    operation that the engine does not support raises ExoskelError.
    """

    def _set_engine(self, name: str) -> None:
        super()._set_engine(name)
        self._is_complete = True

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_is_complete" in own and name not in own and not hasattr(type(self), name):
            near = closest_name(name, ["positions", "velocities", "forces", "commands", "controls", "state"])
            hint = f"; did you mean {near!r}?" if near else ""
            raise AttributeError(f"simulations have no attribute {name!r}{hint}")
        super().__setattr__(name, value)

    def _sound(self, values: Array) -> Array:
        if np.isfinite(values).all():
            return values
        velocities = np.asarray(self.engine.velocities)
        bodies, dofs = [qualified_name(*pair) for pair in self.bodies], len(self.dof_names)
        shapes = ((0, len(bodies), 7), (0, dofs), (0, dofs), (0, 2))
        poses, positions, speeds, energy = (np.empty(shape) for shape in shapes)
        empty = Trajectory(np.empty(0), bodies, poses, self.dof_names, positions, speeds, energy)
        body = fastest_body(self.world, velocities) if len(velocities) else self.world.name
        raise DivergedError(f"the motion of {body!r} diverged before {self.time:.4g} s; try a smaller time step", empty)

    def run(
        self,
        duration: float,
        *,
        every: float | None = None,
        controller: Controller | None = None,
        record: str | Sequence[str] = (),
        sensors: Mapping[str, Sensor] | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Trajectory:
        """Simulate from the present state for `duration` s; options and result are those of `exoskel.run`."""
        return record_motion(
            self, duration, every=every, controller=controller, record=record, sensors=sensors, progress=progress
        )


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
    record: str | Sequence[str] = (),
    sensors: Mapping[str, Sensor] | None = None,
    progress: RunProgress | None = None,
    warn: bool = True,
) -> Trajectory:
    """Simulate a world for `duration` s, and return samples that are `every` s apart (default 100 per second).

    `step` is the time step in s, by default the world's own.  `controller` is called before every step with the
    simulation; it may set its commands, or return generalised forces.  `limits` switches position limits on or off
    for all joints; `friction` is the coefficient of all contacts.  `decompose` replaces concave meshes that collide
    with convex parts (`exoskel[decompose]`).  `start` is a motion to continue, from its last sample.

    `record` names what is recorded besides the motion: `forces`, `commands`, `accelerations`, `body_velocities`,
    `body_accelerations`, `reactions`, `com`, `momentum`, `contacts`.  `sensors` are functions of the simulation by
    name, such as `{"gap": lambda simulation: simulation.distance("hand", "ball")}`.

    An interrupt (Ctrl-C) ends the run and returns the samples so far; a motion that diverges raises DivergedError; a
    world that the engine cannot run raises NotRunnableError.  `meta["diagnostics"]` lists what the engine does
    differently from the scene; with `warn`, an EngineWarning reports it, too.
    """
    check_times(duration, every)
    scene = as_scene(world)
    made = decomposed(scene) if decompose else scene
    options: dict[str, Any] = {"step": step, "integrator": integrator, "limits": limits, "friction": friction}
    with Simulation(made, engine, warn=warn, **options) as simulation:
        if start is not None:
            _continue_from(simulation, start)
        trajectory = simulation.run(
            duration,
            every=every,
            controller=controller,
            record=record,
            sensors=sensors,
            progress=progress,
        )
        trajectory.scene = scene
        return trajectory


def _continue_from(simulation: Simulation, motion: Trajectory) -> None:
    if not len(motion) or list(motion.dof_names) != simulation.dof_names:
        raise ExoskelError("the initial motion belongs to a different scene: its coordinates have other names")
    simulation.positions = motion.positions[-1]
    simulation.velocities = motion.velocities[-1]
