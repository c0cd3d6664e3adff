"""A world in motion, in a chosen engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exoskel.diagnostics import Diagnostic, ExoskelError
from exoskel.engines.interface import Contact, ControllableWorld, EngineWorld
from exoskel.engines.preflight import require
from exoskel.engines.registry import engine as find_engine
from exoskel.formats.mjcf.model.layout import simulation_layout
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.validation import require_valid
from exoskel.scene.world import SceneLike, as_scene
from exoskel.simulate.options import check_positive
from exoskel.source.gc_pause import garbage_collection_paused
from exoskel.spatial import Array


class Simulation:
    """A world compiled by an engine, at its initial state.

    Positions, velocities, forces and commands are one number per degree of freedom, in the scene's order
    (`dof_names`) and the conventions of the SKEL reference; poses are `(bodies, 4, 4)` in the world, in the order of
    `bodies`.  `step` in s replaces the world's time step; `limits` switches position limits on or off; `friction` is
    the coefficient of all contacts; `integrator` is MuJoCo's.  `diagnostics` lists what the engine does differently
    from the world.  An operation that the engine does not support raises ExoskelError.
    """

    def __init__(
        self,
        world: SceneLike,
        engine: str = "mujoco",
        *,
        step: float | None = None,
        integrator: str | None = None,
        limits: bool | None = None,
        friction: float | None = None,
    ) -> None:
        scene = as_scene(world)  # its diagnostics point into its file
        self.world = scene.world
        check_positive("the time step", step)
        check_positive("the friction coefficient", friction, or_zero=True)
        options: dict[str, Any] = {"step": step, "limits": limits, "friction": friction}
        chosen = find_engine(engine)
        self.engine: EngineWorld
        with garbage_collection_paused(), no_edits():  # the world stays as it is
            require_valid(scene)
            if chosen.start_from_layout is not None:
                layout = simulation_layout(self.world)
                self.diagnostics: list[Diagnostic] = require(
                    scene, engine, limits=limits, inertials=layout.inertials, integrator=integrator
                )
                integrator = "discrete" if integrator is None else integrator
                self.engine = chosen.start_from_layout(self.world, integrator=integrator, layout=layout, **options)
            else:
                self.diagnostics = require(scene, engine, limits=limits)
                if integrator is not None:
                    raise ExoskelError(f"the {engine} engine has its own integrator; {integrator!r} is MuJoCo's")
                self.engine = chosen.start(self.world, **options)
        self.name = engine
        self.step: Callable[..., None] = self.engine.step
        """Advance by so many time steps (default one).  The engine's own method: a call in between costs time."""
        self.bodies: list[tuple[str, str]] = self.engine.bodies
        self.dof_names = [name for model in self.world.models for name in model.dof_names]

    # --- motion ---------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Return to the initial state."""
        self._controls("reset").reset()

    @property
    def time(self) -> float:
        return float(self.engine.time)

    @property
    def time_step(self) -> float:
        return float(self.engine.time_step)

    @property
    def positions(self) -> Array:
        return np.asarray(self.engine.positions)

    @positions.setter
    def positions(self, values: Array) -> None:
        self._controls("setting positions").positions = np.asarray(values, dtype=np.float64)

    @property
    def velocities(self) -> Array:
        return np.asarray(self.engine.velocities)

    @velocities.setter
    def velocities(self, values: Array) -> None:
        self._controls("setting velocities").velocities = np.asarray(values, dtype=np.float64)

    @property
    def forces(self) -> Array:
        """External generalised forces that act until they are changed."""
        return np.asarray(self._controls("forces").forces)

    @forces.setter
    def forces(self, values: Array) -> None:
        self._controls("forces").forces = np.asarray(values, dtype=np.float64)

    @property
    def commands(self) -> Array:
        """The commands of actuators until they are changed: forces, velocities or accelerations."""
        return np.asarray(self._controls("commands").commands)

    @commands.setter
    def commands(self, values: Array) -> None:
        self._controls("commands").commands = np.asarray(values, dtype=np.float64)

    @property
    def state(self) -> Array:
        """Everything that the motion depends on, as one array that can be set later."""
        return np.asarray(self._controls("saving the state").state)

    @state.setter
    def state(self, values: Array) -> None:
        self._controls("setting the state").state = np.asarray(values, dtype=np.float64)

    # --- observation ----------------------------------------------------------------------------------

    @property
    def body_poses(self) -> Array:
        return np.asarray(self.engine.body_poses)

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy in J, springs included."""
        kinetic, potential = self.engine.energy
        return float(kinetic), float(potential)

    @property
    def contact_count(self) -> int:
        return int(self.engine.contact_count)

    @property
    def contacts(self) -> list[Contact]:
        """The contacts: `bodies`, `position` (m), `normal` from the first to the second, `depth` (m), `force` (N).

        Of sleeping bodies, DART reports no contacts and ODE no forces.
        """
        return list(self.engine.contacts)

    @property
    def constraint_error(self) -> float:
        """The largest error of joints that are constraints (screws, loops, mimics), in m or rad; 0 without any."""
        return float(self.engine.constraint_error)

    # --- dynamics -------------------------------------------------------------------------------------

    def mass_matrix(self) -> Array:
        """The mass matrix, `(dofs, dofs)`."""
        return np.asarray(self._controls("the mass matrix").mass_matrix())

    def bias_forces(self) -> Array:
        """Coriolis, centrifugal and gravity forces, `(dofs)`."""
        return np.asarray(self._controls("bias forces").bias_forces())

    def jacobian(self, body: Body | str, point: Array | None = None) -> Array:
        """The Jacobian of a point in a body's frame (m): `(6, dofs)`, angular velocity first, both in world axes."""
        found = self._body(body) if isinstance(body, str) else body
        return np.asarray(self._controls("jacobians").jacobian(found, np.zeros(3) if point is None else point))

    def _body(self, name: str) -> Body:
        same = [body for body in self.world.bodies() if body.name == name]
        if len(same) != 1:
            known = ", ".join(sorted({body.name for body in self.world.bodies()})[:10])
            raise ExoskelError(f"{len(same)} bodies are named {name!r}; bodies: {known}")
        return same[0]

    # --- engines --------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the process of the engine, if it has one."""
        self.engine.close()

    def __repr__(self) -> str:
        return f"Simulation({self.world.name!r}, {self.name}, {len(self.bodies)} bodies, {len(self.dof_names)} dofs)"

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _controls(self, operation: str) -> ControllableWorld:
        found = self.engine.controls
        if found is None:
            raise ExoskelError(f"the {self.name} engine does not support {operation}")
        return found
