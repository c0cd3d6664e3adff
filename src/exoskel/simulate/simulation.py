"""A world in motion in a chosen engine, and a run that records its motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from exoskel.diagnostics import ExoskelError, closest_name
from exoskel.scene.item import qualified_name
from exoskel.scene.world import SceneLike, as_scene
from exoskel.simulate.measured_world import DivergedError, MeasuredWorld, fastest_body
from exoskel.simulate.motion_recorder import Controller, Progress, check_times, record_motion
from exoskel.simulate.records import Sensor
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.convex_decomposition import decomposed
from exoskel.spatial import Array


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
        if name not in self.__dict__ and "_is_complete" in self.__dict__ and not hasattr(type(self), name):
            near = closest_name(name, ["positions", "velocities", "forces", "commands", "state"])
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
    progress: Progress | None = None,
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
