"""Runs a world for some time, and records its motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exoskel.diagnostics import ExoskelError
from exoskel.scene.world import SceneLike, as_scene
from exoskel.simulate.motion_recorder import Controller, Progress, check_times
from exoskel.simulate.records import Sensor
from exoskel.simulate.simulation import Simulation
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.convex_decomposition import decomposed


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
    world that the engine cannot run raises NotRunnableError.  What the engine does differently from the scene is in
    `meta["diagnostics"]`; with `warn`, an EngineWarning reports it, too.
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
