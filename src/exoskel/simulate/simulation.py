"""A world in motion, in a chosen engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from exoskel.simulate.measured_world import MeasuredWorld
from exoskel.simulate.motion_recorder import Controller, record_motion
from exoskel.simulate.records import Sensor
from exoskel.simulate.trajectory import Trajectory


class Simulation(MeasuredWorld):
    """A world compiled by an engine, at its initial state.

    Positions, velocities, forces and commands are one number per degree of freedom, in the scene's order
    (`dof_names`) and the conventions of the SKEL reference; poses are `(bodies, 4, 4)` in the world, in the order of
    `bodies`.  Arrays are read-only copies.  `joint`, `body` and `model` give access by name.  `step` in s replaces the
    world's time step; `limits` switches position limits on or off; `friction` is the coefficient of all contacts;
    `integrator` is MuJoCo's.  `diagnostics` lists what the engine does differently from the world; `warn` says whether
    an EngineWarning reports the important part.  An operation that the engine does not support raises ExoskelError.
    """

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
