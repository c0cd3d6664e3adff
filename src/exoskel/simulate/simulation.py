"""A world in motion, in an engine of one's choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exoskel.diagnostics import Diagnostic, ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.preflight import require
from exoskel.engines.registry import engine as engine_called
from exoskel.formats.mjcf.model.layout import simulation_layout
from exoskel.scene.body import Body
from exoskel.scene.world import Scene, World
from exoskel.simulate.options import check_positive
from exoskel.source.gc_pause import garbage_collection_paused
from exoskel.spatial import Array


class Simulation:
    """A world compiled by an engine, at its initial state.

    Positions, velocities, forces and commands are one number a degree of freedom, in the scene's order (`dof_names`)
    and the conventions of the SKEL reference; poses are `(bodies, 4, 4)` in the world, in the order of `bodies`.
    `step` in s replaces the world's time step; `limits` switches position limits on or off; `friction` is the
    coefficient of all contacts; `integrator` is MuJoCo's.  `diagnostics` says what the engine does otherwise than
    the world says.  What an engine cannot tell or set is an ExoskelError.
    """

    def __init__(
        self,
        world: World | Scene,
        engine: str = "mujoco",
        *,
        step: float | None = None,
        integrator: str | None = None,
        limits: bool | None = None,
        friction: float | None = None,
    ) -> None:
        self.world = world.world if isinstance(world, Scene) else world
        check_positive("a time step", step)
        check_positive("a friction coefficient", friction, or_zero=True)
        with garbage_collection_paused():
            layout = simulation_layout(self.world) if engine == "mujoco" else None
            inertials = layout.inertials if layout else None
            self.diagnostics: list[Diagnostic] = require(world, engine, limits=limits, inertials=inertials)
            options = {"step": step, "limits": limits, "friction": friction} | ({"layout": layout} if layout else {})
            self.engine: Any = _compile(self.world, engine, integrator, **options)
        self.name = engine
        self.step: Callable[..., None] = self.engine.step
        """Go on by so many time steps (default one).  The engine's own: a layer in between would show."""
        self.bodies: list[tuple[str, str]] = self.engine.bodies
        self.dof_names = [name for model in self.world.models for name in model.dof_names]

    # --- motion ---------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to the initial state."""
        self._call("reset")

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
        self._set("positions", values)

    @property
    def velocities(self) -> Array:
        return np.asarray(self.engine.velocities)

    @velocities.setter
    def velocities(self, values: Array) -> None:
        self._set("velocities", values)

    @property
    def forces(self) -> Array:
        """Generalised forces from outside, that act until they are changed."""
        return np.asarray(self._get("forces"))

    @forces.setter
    def forces(self, values: Array) -> None:
        self._set("forces", values)

    @property
    def commands(self) -> Array:
        """What actuators are told, until they are told otherwise: forces, velocities or accelerations."""
        return np.asarray(self._get("commands"))

    @commands.setter
    def commands(self, values: Array) -> None:
        self._set("commands", values)

    @property
    def state(self) -> Array:
        """Everything that the motion depends on, as one array, to be set again later."""
        return np.asarray(self._get("state"))

    @state.setter
    def state(self, values: Array) -> None:
        self._set("state", values)

    # --- looking --------------------------------------------------------------------------------------

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
    def contacts(self) -> list[Any]:
        """Who touches whom: `bodies`, `position` (m), `normal` from the first to the second, `depth` (m)."""
        return list(self._get("contacts"))

    @property
    def constraint_error(self) -> float:
        """How far joints that constraints hold (screws, loops, mimics) are off, in m or rad; 0 where there are none."""
        return float(getattr(self.engine, "constraint_error", 0.0))

    # --- dynamics -------------------------------------------------------------------------------------

    def mass_matrix(self) -> Array:
        """`(dofs, dofs)`."""
        return np.asarray(self._call("mass_matrix"))

    def bias_forces(self) -> Array:
        """Coriolis, centrifugal and gravity forces, `(dofs)`."""
        return np.asarray(self._call("bias_forces"))

    def jacobian(self, body: Body | str, point: Array | None = None) -> Array:
        """Of a point of a body, in its frame (m): `(6, dofs)`, angular velocity first, both in world axes."""
        found = self._body(body) if isinstance(body, str) else body
        return np.asarray(self._call("jacobian", found, np.zeros(3) if point is None else point))

    def _body(self, name: str) -> Body:
        same = [body for body in self.world.bodies() if body.name == name]
        if len(same) != 1:
            known = ", ".join(sorted({body.name for body in self.world.bodies()})[:10])
            raise ExoskelError(f"there are {len(same)} bodies called {name!r}; bodies: {known}")
        return same[0]

    # --- engines --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let an engine that lives in a process of its own end."""
        self.engine.close()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, name: str) -> Any:
        if not hasattr(type(self.engine), name):
            raise ExoskelError(f"the {self.name} engine does not tell {name.replace('_', ' ')}")
        return getattr(self.engine, name)

    def _set(self, name: str, values: Array) -> None:
        known = getattr(type(self.engine), name, None)
        if not isinstance(known, property) or known.fset is None:
            raise ExoskelError(f"{name} cannot be set in the {self.name} engine")
        setattr(self.engine, name, np.asarray(values, dtype=np.float64))

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._get(name)(*arguments)


def _compile(world: World, name: str, integrator: str | None, **options: Any) -> Any:
    chosen = engine_called(name)
    if integrator is None:
        return chosen.start(world, **options)
    if name != "mujoco":
        raise ExoskelError(f"the {name} engine has an integrator of its own; {integrator!r} is MuJoCo's")
    return MujocoWorld(world, integrator=integrator, **options)
