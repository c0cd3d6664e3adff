"""Running a world for a while, and keeping what happened."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco import MujocoWorld
from exoskel.formats.mjcf.write import path
from exoskel.scene.world import Scene, World
from exoskel.simulate.trajectory import Trajectory
from exoskel.spatial import Array
from exoskel.version import __version__

Controller = Callable[[MujocoWorld], Array | None]
Progress = Callable[[float], None]
FRAMES_A_SECOND = 100
_FARTHEST = 1e6
"""Metres and metres per second beyond which a scene has exploded."""


class Diverged(ExoskelError):
    """The motion ceased to be one.  `trajectory` holds what was sound; `state` is the last sound state."""

    def __init__(self, message: str, trajectory: Trajectory, state: Array) -> None:
        super().__init__(message)
        self.trajectory = trajectory
        self.state = state


class Summary(Struct, frozen=True):
    """How a run went: simulated and wall time in s, energies in J, the most contacts at once."""

    simulated: float
    wall: float
    energy_first: float
    energy_last: float
    most_contacts: int
    interrupted: bool = False

    @property
    def real_time_factor(self) -> float:
        return self.simulated / self.wall if self.wall > 0.0 else float("inf")


def run(
    world: World | Scene,
    duration: float = 5.0,
    *,
    step: float | None = None,
    every: float | None = None,
    integrator: str = "discrete",
    limits: bool | None = None,
    controller: Controller | None = None,
    progress: Progress | None = None,
) -> Trajectory:
    """Simulate a world for `duration` s, and return samples taken `every` so many s (default 100 a second).

    `step` is the time step in s, by default the world's own.  `controller` is called before every step with the
    simulation, and may return generalised forces.  `limits` switches position limits on or off for all joints.
    An interruption (Ctrl-C) ends the run and keeps what was simulated; a motion that explodes raises Diverged.
    """
    if not (np.isfinite(duration) and duration >= 0.0):
        raise ExoskelError(f"a duration has to be finite and not negative, not {duration}")
    chosen = world.world if isinstance(world, Scene) else world
    simulation = MujocoWorld(chosen, limits=limits, integrator=integrator)
    if step is not None:
        if not (np.isfinite(step) and step > 0.0):
            raise ExoskelError(f"a time step has to be positive and finite, not {step}")
        simulation.model.opt.timestep = step
    return _Recorder(simulation, duration, every, controller, progress).run()


class _Recorder:
    def __init__(
        self,
        simulation: MujocoWorld,
        duration: float,
        every: float | None,
        controller: Controller | None,
        progress: Progress | None,
    ) -> None:
        self.simulation = simulation
        self.steps = round(duration / simulation.time_step)
        wanted = 1.0 / FRAMES_A_SECOND if every is None else every
        self.stride = max(1, round(wanted / simulation.time_step))
        self.controller = controller
        self.progress = progress
        self.rows: list[tuple[float, Array, Array, Array, tuple[float, float]]] = []
        self.most_contacts = 0
        self.sound = simulation.state

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
                self._check()
                self._record()
                if self.progress is not None:
                    self.progress(self.simulation.time)
        except KeyboardInterrupt:
            interrupted = True
        return self._trajectory(clock.perf_counter() - begin, interrupted)

    def _advance(self, count: int) -> None:
        if self.controller is None:
            self.simulation.step(count)
            return
        for _ in range(count):
            forces = self.controller(self.simulation)
            if forces is not None:
                self.simulation.set_forces(forces)
            self.simulation.step()

    def _check(self) -> None:
        data = self.simulation.data
        places = data.xpos
        bad = ~np.isfinite(places).all(axis=1) | (np.abs(places) > _FARTHEST).any(axis=1)
        warned = int(data.warning[int(self.simulation._mujoco.mjtWarning.mjWARN_BADQACC)].number)
        if not bad.any() and np.isfinite(data.qvel).all() and not warned:
            self.sound = self.simulation.state
            return
        culprits = np.flatnonzero(bad)
        name = self.simulation.model.body(int(culprits[0])).name if len(culprits) else "a body"
        after = self.rows[-1][0] if self.rows else 0.0
        raise Diverged(
            f"the motion of {name!r} exploded after {after:.4g} s; a smaller time step may help",
            self._trajectory(0.0, interrupted=True),
            self.sound,
        )

    def _record(self) -> None:
        one = self.simulation
        self.most_contacts = max(self.most_contacts, int(one.data.ncon))
        self.rows.append((one.time, spatial.pose7(one.body_poses), one.positions, one.velocities, one.energy))

    def _trajectory(self, wall: float, interrupted: bool) -> Trajectory:
        times, poses, positions, velocities, energies = zip(*self.rows, strict=True)
        energy = np.array(energies)
        summary = Summary(
            simulated=float(times[-1]),
            wall=wall,
            energy_first=float(energy[0].sum()),
            energy_last=float(energy[-1].sum()),
            most_contacts=self.most_contacts,
            interrupted=interrupted,
        )
        bodies = self.simulation.bodies
        meta: dict[str, Any] = {
            "engine": "mujoco",
            "exoskel": __version__,
            "world": self.simulation.world.name,
            "time_step": self.simulation.time_step,
            "bodies": [list(pair) for pair in bodies],
            "summary": {name: getattr(summary, name) for name in summary.__struct_fields__},
        }
        return Trajectory(
            np.array(times),
            [path(*pair) for pair in bodies],
            np.array(poses).reshape(len(times), len(bodies), 7),
            self.simulation.coordinates.names,
            np.array(positions).reshape(len(times), -1),
            np.array(velocities).reshape(len(times), -1),
            energy,
            meta,
        )
