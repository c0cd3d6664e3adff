"""DART, the engine of the SKEL format, in a child process: we write SKEL, and DART's own parser reads it."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.engines.engine_process import EngineProcess
from exoskel.engines.interface import (
    AppliedWrench,
    AppliedWrenches,
    Contact,
    Engine,
    EngineCapabilities,
    StateProblem,
    StepDynamics,
    check_step_count,
    contacts_from_rows,
)
from exoskel.scene.body import Body
from exoskel.scene.world import Scene, World
from exoskel.source.atomic_write import TemporaryFolder
from exoskel.spatial import Array

INSTALL = "pip install 'exoskel[dart]' (on macOS and Windows: Python 3.12 or later)"


def available() -> bool:
    return importlib.util.find_spec("dartpy") is not None


class DartWorld:
    """A world in DART: see `engines.interface.ControllableWorld`.

    DART clears forces and commands after each step; here they act until they are changed.
    """

    state_problem: StateProblem | None = None
    constraint_error = 0.0

    def __init__(
        self,
        world: World,
        *,
        limits: bool | None = None,
        step: float | None = None,
        friction: float | None = None,
    ) -> None:
        if not available():
            raise ExoskelError(f"DART is not installed: {INSTALL}")
        self.world = world
        self.bodies = [(m.name, b.name) for m in world.models for b in m.bodies]
        self.dof_names = [name for m in world.models for name in m.dof_names]
        self.time_step = step or world.time_step
        self._folder = TemporaryFolder()
        file = self._folder.path / "world.skel"
        from exoskel.formats.write import write  # other engines do not need it

        file.write_bytes(write(Scene([world]), "skel", folder=file.parent).data)
        self._child = EngineProcess("DART", "exoskel.engines.dart.worker")
        enforced = {
            m.name: {j.name: j.limits_enforced if limits is None else limits for j in m.joints if not j.loop}
            for m in world.models
        }
        # DART ignores <collidable>.
        collidable = [[s.collidable for s in b.collisions] for m in world.models for b in m.bodies]
        self._load = {
            "load": str(file),
            "limits": enforced,
            "collidable": collidable,
            "step": step,
            "friction": friction,
        }
        self.reset()

    @property
    def controls(self) -> DartWorld:
        return self

    def reset(self) -> None:
        """Return to the initial state."""
        self._forces = self._commands = np.zeros(len(self.dof_names))
        self.wrenches = AppliedWrenches(len(self.bodies))
        self.soft_points: list[Array] | None = None
        self.soft_velocities: list[Array] | None = None
        self._pull: dict[str, Any] | None = None
        self._state = self._child.ask(self._load)

    def step(self, count: int = 1) -> None:
        check_step_count(count)
        self._state = self._child.ask({"step": count, **self._actions()})

    def _actions(self) -> dict[str, Any]:
        """The pull, forces and torques that act on bodies during steps."""
        return {"pull": self._pull, "wrenches": self.wrenches.rows()}

    def apply_wrench(self, body: int, wrench: AppliedWrench) -> None:
        """Apply a force and a torque to a body, by its number, until they are replaced."""
        self.wrenches.replace(body, wrench)

    def _set(self, name: str, values: Array) -> Array:
        if np.shape(values) != (len(self.dof_names),):
            raise ExoskelError(f"expected {len(self.dof_names)} values, not an array of shape {np.shape(values)}")
        self._state = self._child.ask({"set": name, "values": np.asarray(values).tolist()})
        return np.array(values, dtype=np.float64)

    @property
    def time(self) -> float:
        return float(self._state["time"])

    @property
    def positions(self) -> Array:
        return np.array(self._state["positions"])

    @positions.setter
    def positions(self, values: Array) -> None:
        self._set("positions", values)

    @property
    def velocities(self) -> Array:
        return np.array(self._state["velocities"])

    @velocities.setter
    def velocities(self, values: Array) -> None:
        self._set("velocities", values)

    @property
    def forces(self) -> Array:
        """External generalised forces, in N or N·m."""
        return self._forces.copy()

    @forces.setter
    def forces(self, values: Array) -> None:
        self._forces = self._set("forces", values)

    @property
    def commands(self) -> Array:
        """The commands of actuators until they are changed."""
        return self._commands.copy()

    @commands.setter
    def commands(self, values: Array) -> None:
        self._commands = self._set("commands", values)

    @property
    def state(self) -> Array:
        """Time, positions, velocities, forces, commands, and forces on bodies."""
        inputs = self._forces, self._commands, self.wrenches.array()
        return np.concatenate([[self.time], self.positions, self.velocities, *inputs])

    @state.setter
    def state(self, values: Array) -> None:
        count = len(self.dof_names)
        total = 1 + 4 * count + len(self.wrenches.array())
        if np.shape(values) != (total,):
            raise ExoskelError(f"a state has {total} numbers, not an array of shape {np.shape(values)}")
        self.positions, self.velocities, self.forces, self.commands = np.split(values[1 : 1 + 4 * count], 4)
        self.wrenches.set_array(values[1 + 4 * count :])
        self._state = self._child.ask({"time": float(values[0])})

    @property
    def body_poses(self) -> Array:
        return np.array(self._state["poses"], dtype=np.float64).reshape(-1, 4, 4)

    @property
    def body_velocities(self) -> Array:
        """The angular velocity and that of the origin of each body, `(bodies, 6)`, in world axes."""
        return np.array(self._child.ask({"twists": True})["twists"], dtype=np.float64).reshape(-1, 6)

    @property
    def energy(self) -> tuple[float, float]:
        kinetic, potential = self._state["energy"]
        return kinetic, potential

    @property
    def contact_count(self) -> int:
        """The number of contact points in the last step."""
        return int(self._state["contacts"])

    @property
    def contacts(self) -> list[Contact]:
        """The contacts of the last step."""
        return contacts_from_rows(self.bodies, self._child.ask({"contacts": True})["contacts"])

    # --- pulling with the mouse -----------------------------------------------------------------------

    def pull(self, body: int, point: Array, target: Array) -> None:
        """Pull a point of a body (its number and frame, m) to a target in the world, until `release`."""
        self._pull = {"body": body, "point": np.asarray(point).tolist(), "target": np.asarray(target).tolist()}

    def pull_force(self, body: int) -> Array | None:
        """None: the process of DART does not report it."""
        return None

    def release(self) -> None:
        """Stop pulling."""
        self._pull = None

    # --- dynamics -------------------------------------------------------------------------------------

    def _dynamics(self) -> dict[str, Any]:
        return self._child.ask({"dynamics": True})

    def mass_matrix(self) -> Array:
        """The mass matrix, `(dofs, dofs)`; different models are independent."""
        blocks = [np.array(block) for block in self._dynamics()["mass"]]
        out, first = np.zeros((len(self.dof_names),) * 2), 0
        for block in blocks:
            out[first : first + len(block), first : first + len(block)] = block
            first += len(block)
        return out

    def bias_forces(self) -> Array:
        """Coriolis, centrifugal and gravity forces, `(dofs)`."""
        return np.array(self._dynamics()["bias"], dtype=np.float64)

    def gravity_forces(self) -> Array:
        """The part of the bias forces that gravity causes, `(dofs)`."""
        return np.array(self._dynamics()["gravity"], dtype=np.float64)

    def step_dynamics(self) -> StepDynamics:
        """What the next step does at the present state, with the present forces and commands; nothing changes."""
        found = self._child.ask({"trial": True, **self._actions()})
        rows = (np.array(found[name], dtype=np.float64).reshape(-1, 6) for name in ("bodies", "reactions"))
        return StepDynamics(np.array(found["accelerations"], dtype=np.float64), *rows)

    def jacobian(self, body: Body, point: Array) -> Array:
        """The Jacobian of a point in a body's frame: `(6, dofs)`, angular velocity first, both in world axes."""
        number = next(i for i, one in enumerate(self.world.bodies()) if one is body)
        answer = self._child.ask({"jacobian": number, "point": np.asarray(point).tolist()})
        out = np.zeros((6, len(self.dof_names)))
        block = np.array(answer["block"]).reshape(6, -1)
        out[:, answer["first"] : answer["first"] + block.shape[1]] = block
        return out

    def close(self) -> None:
        self._child.close()
        self._folder.close()


DART = Engine(
    "dart",
    "DART",
    package="dartpy",
    install=INSTALL,
    limitations="screw, translational2d, hinge2 and amotor joints; loops; runs in its own process",
    capabilities=EngineCapabilities(
        unsupported_joints=frozenset({"screw", "translational2d", "hinge2", "amotor"}),
        loops=False,
        soft_bodies=True,
        velocity_limits=True,
        zero_axes=True,
        crashes_on_missing_meshes=True,
    ),
    start=DartWorld,
)
