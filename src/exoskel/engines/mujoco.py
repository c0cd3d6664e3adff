"""MuJoCo: the default engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.coordinates import Coordinates
from exoskel.formats.mjcf.tree import markup
from exoskel.formats.mjcf.write import path, write
from exoskel.scene.body import Body
from exoskel.scene.world import World
from exoskel.source.markup import serialise
from exoskel.spatial import Array

INTEGRATORS = ("discrete", "Euler", "RK4", "implicit", "implicitfast")


def _ignore(_message: str) -> None:
    """Warnings are looked up in the data, where they are counted."""


class Contact:
    """Two bodies that touch: where, along which normal (from the first to the second), how deep (m)."""

    __slots__ = ("bodies", "depth", "normal", "position")

    def __init__(self, bodies: tuple[str, str], position: Array, normal: Array, depth: float) -> None:
        self.bodies = bodies
        self.position = position
        self.normal = normal
        self.depth = depth


class MujocoWorld:
    """A compiled world.  Coordinates and velocities are the scene's; poses are in the world, `(bodies, 4, 4)`."""

    name = "mujoco"

    def __init__(self, world: World, *, limits: bool | None = None, integrator: str = "discrete") -> None:
        import mujoco

        # MuJoCo would write its warnings to a file in the working directory.
        mujoco.set_mju_user_warning(_ignore)
        self._mujoco = mujoco
        self.world = world
        chosen = next((name for name in INTEGRATORS if name.lower() == integrator.lower()), "")
        if not chosen:
            raise ExoskelError(f"there is no integrator {integrator!r}; there are {', '.join(INTEGRATORS)}")
        text = serialise(markup(write(world, limits=limits, integrator=chosen)))
        try:
            self.model: Any = mujoco.MjModel.from_xml_string(text)
        except ValueError as error:
            raise ExoskelError(f"MuJoCo cannot compile the world: {error}") from None
        self.data: Any = mujoco.MjData(self.model)
        self.coordinates = Coordinates(world, self.model)
        self.bodies = [(m.name, b.name) for m in world.models for b in m.bodies]
        self._ids = np.array([self.model.body(path(*names)).id for names in self.bodies], dtype=np.intp)
        self._numbers = {id(body): i for i, body in enumerate(world.bodies())}
        self.reset()

    # --- state ----------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to the initial state."""
        self._mujoco.mj_resetData(self.model, self.data)
        joints = [j for m in self.world.models for j in m.joints if not j.loop]
        self.positions = np.array([q for j in joints for q in j.positions], dtype=float)
        # A locked joint does not move, whatever velocity the file gives it.
        self.velocities = np.array([v if j.actuator != "locked" else 0.0 for j in joints for v in j.velocities])
        self._mujoco.mj_forward(self.model, self.data)

    @property
    def time(self) -> float:
        return float(self.data.time)

    @property
    def time_step(self) -> float:
        return float(self.model.opt.timestep)

    @property
    def positions(self) -> Array:
        return self.coordinates.positions(self.data.qpos)

    @positions.setter
    def positions(self, values: Array) -> None:
        self.coordinates.set_positions(self._counted(values), self.data.qpos)

    @property
    def velocities(self) -> Array:
        return self.coordinates.velocities(self.data.qpos, self.data.qvel)

    @velocities.setter
    def velocities(self, values: Array) -> None:
        self.coordinates.set_velocities(self._counted(values), self.data.qpos, self.data.qvel)

    def set_forces(self, values: Array) -> None:
        """Generalised forces that act until they are changed."""
        self.data.qfrc_applied[:] = self.coordinates.forces(self.data.qpos, self._counted(values))

    def _counted(self, values: Array) -> Array:
        array = spatial.array(values)
        if array.shape != (self.coordinates.count,):
            raise ExoskelError(f"{self.coordinates.count} values are needed, not an array of shape {array.shape}")
        return array

    @property
    def state(self) -> Array:
        """Everything that the motion depends on, as one array."""
        spec = self._mujoco.mjtState.mjSTATE_INTEGRATION
        out = np.empty(self._mujoco.mj_stateSize(self.model, spec))
        self._mujoco.mj_getState(self.model, self.data, out, spec)
        return out

    @state.setter
    def state(self, values: Array) -> None:
        self._mujoco.mj_setState(self.model, self.data, values, self._mujoco.mjtState.mjSTATE_INTEGRATION)
        self._mujoco.mj_forward(self.model, self.data)

    # --- motion ---------------------------------------------------------------------------------------

    def step(self, count: int = 1) -> None:
        self._mujoco.mj_step(self.model, self.data, count)

    def refresh(self) -> None:
        """Bring everything that follows from the state up to date."""
        self._mujoco.mj_forward(self.model, self.data)

    @property
    def body_poses(self) -> Array:
        """World poses of all bodies, in state order."""
        self._mujoco.mj_kinematics(self.model, self.data)
        return spatial.transform(self.data.xmat[self._ids].reshape(-1, 3, 3), self.data.xpos[self._ids])

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy in J, springs included."""
        self._mujoco.mj_energyPos(self.model, self.data)
        self._mujoco.mj_energyVel(self.model, self.data)
        potential, kinetic = self.data.energy.tolist()
        return kinetic, potential

    @property
    def contacts(self) -> list[Contact]:
        found: list[Contact] = []
        for one in self.data.contact[: self.data.ncon]:
            names = tuple(self.model.body(self.model.geom_bodyid[g]).name for g in (one.geom1, one.geom2))
            found.append(Contact((names[0], names[1]), one.pos.copy(), one.frame[:3].copy(), -float(one.dist)))
        return found

    @property
    def contact_count(self) -> int:
        """How many points touch."""
        return int(self.data.ncon)

    def close(self) -> None:
        """Nothing to end: MuJoCo runs in this process."""

    # --- dynamics -------------------------------------------------------------------------------------

    def mass_matrix(self) -> Array:
        """In the scene's coordinates, `(dofs, dofs)`."""
        full = np.zeros((self.model.nv, self.model.nv))
        self._mujoco.mj_fullM(self.model, self.data, full)
        change = self.coordinates.matrix(self.data.qpos)
        out: Array = change.T @ full @ change
        return out

    def jacobian(self, body: Body, point: Array = np.zeros(3)) -> Array:  # noqa: B008 - never changed
        """Of a point of a body, in its frame: `(6, dofs)`, angular velocity first, both in world axes."""
        number = int(self._ids[self._numbers[id(body)]])
        place = self.data.xmat[number].reshape(3, 3) @ spatial.array(point) + self.data.xpos[number]
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        self._mujoco.mj_jac(self.model, self.data, linear, angular, place, number)
        out: Array = np.vstack([angular, linear]) @ self.coordinates.matrix(self.data.qpos)
        return out
