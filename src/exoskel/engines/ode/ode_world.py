"""ODE: the engine XODE was made for, real and in a child process, fed with plain data made from the scene.

Everything is worked out here, in double precision; the child knows nothing of scenes.  It steps with ODE's exact
solver: `quickStep` is for large scenes, but leaves joints and contacts as wrong as its iterations happen to.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.engines.child_process import Child
from exoskel.engines.contacts import Contact, told_contacts
from exoskel.engines.inverse_kinematics import InverseKinematics
from exoskel.engines.ode.bodies import OdeBodies
from exoskel.engines.ode.geoms import Geoms
from exoskel.engines.ode.joints import OdeJoints, joined
from exoskel.scene.world import World
from exoskel.spatial import Array

DEFAULT_FRICTION = 1.0
"""The coefficient of all contacts: MuJoCo's and DART's default; XODE states none."""


def available() -> bool:
    return importlib.util.find_spec("panda3d") is not None and importlib.util.find_spec("panda3d.ode") is not None


class OdeWorld:
    """A world in ODE.  The same face as MuJoCo's, as far as motion goes.

    `limits` switches position limits on or off for all joints, `step` is the time step in s (default: the world's),
    `friction` the coefficient of all contacts, `quick` takes ODE's iterative solver.
    """

    name = "ode"

    def __init__(
        self,
        world: World,
        *,
        limits: bool | None = None,
        step: float | None = None,
        friction: float | None = None,
        quick: bool = False,
    ) -> None:
        if not available():
            raise ExoskelError("ODE is not installed: pip install 'exoskel[ode]'")
        self.world = world
        self.time_step = step or world.time_step
        self.bodies = [(m.name, b.name) for m in world.models for b in m.bodies]
        self.dof_names = [name for m in world.models for name in m.dof_names]
        self._bodies = OdeBodies(world)
        self._joints = OdeJoints(self._bodies, limits, self.time_step)
        self._recovery = InverseKinematics(world.models)
        self._positions = self._recovery.kinematics.initial
        load = {
            "gravity": world.gravity,
            "step": self.time_step,
            "erp": world.erp,
            "cfm": world.cfm,
            "friction": DEFAULT_FRICTION if friction is None else friction,
            "quick": quick,
            "joined": joined(self._bodies) if world.self_collision else None,
            "bodies": self._bodies.records(),
            "joints": self._joints.records,
            "motors": self._joints.motors.records,
            "geoms": Geoms(self._bodies).records,
        }
        self.trouble = ""
        """What makes the state worthless, if anything does; the last sound one is kept."""
        self._hand: dict[str, Any] | None = None
        self._child = Child("ODE", "exoskel.engines.ode.worker")
        self._take(self._child.ask({"load": load}))

    def step(self, count: int = 1) -> None:
        self._take(self._child.ask({"step": count, "hand": self._hand}))

    def _take(self, state: dict[str, Any]) -> None:
        self._time = float(state["time"])
        self.contact_count = int(state["contacts"])
        """How many points touched in the last step."""
        rows = np.array(state["bodies"], dtype=np.float64).reshape(-1, 13)
        if state["exploded"] is not None:
            lost = self._bodies.moving[state["exploded"]].name
            self.trouble = f"in ODE the motion of {lost!r} exploded"
            return
        self._poses = self._bodies.poses(rows[:, :7])
        self._twists = rows[:, 7:]
        near = self._positions.copy()
        for coordinate, joint, axis in self._joints.coordinates:
            near[coordinate] = state["tracks"][joint][axis]
        self._positions = self._recovery.positions(self._poses, near)

    @property
    def time(self) -> float:
        return self._time

    @property
    def positions(self) -> Array:
        """The scene's coordinates, from where the bodies are; turns are counted."""
        return self._positions.copy()

    @property
    def velocities(self) -> Array:
        twists = self._bodies.origin_twists(self._poses, self._twists)
        return self._recovery.velocities(self._poses, twists)

    @property
    def body_poses(self) -> Array:
        """World poses of all bodies, in state order."""
        return self._poses.copy()

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy in J, the joints' springs included."""
        kinetic, potential = self._bodies.energy(self._poses, self._twists)
        return kinetic, potential + self._spring_energy()

    def _spring_energy(self) -> float:
        total, first = 0.0, 0
        for joint in (joint for model in self.world.models for joint in model.joints if not joint.loop):
            for number, dof in enumerate(joint._dofs or ()):
                total += 0.5 * dof.stiffness * float(self._positions[first + number] - dof.rest) ** 2
            first += joint.dof_count
        return total

    def measured(self) -> dict[int, tuple[float | None, float]]:
        """What ODE itself says of joint coordinates, by their number: position (None: it does not know) and rate."""
        answer = self._child.ask({"measure": True})["joints"]
        return {
            coordinate: (answer[joint]["positions"][axis], answer[joint]["rates"][axis])
            for coordinate, joint, axis in self._joints.coordinates
        }

    @property
    def contacts(self) -> list[Contact]:
        """Who touched whom in the last step; forces are known from the step on that follows the first question."""
        return told_contacts(self.bodies, self._child.ask({"touching": True})["contacts"])

    # --- a hand ---------------------------------------------------------------------------------------

    def pull(self, body: int, point: Array, target: Array) -> None:
        """Draw a point of a body (its number and frame, m) to a target in the world, until `release`.

        The spring is made for the mass of the body alone, whatever hangs on it.
        """
        found = np.flatnonzero(self._bodies.rows == body)
        if found.size:
            own = np.asarray(point) - self._bodies.coms[found[0]]
            self._hand = {"body": int(found[0]), "point": own.tolist(), "target": np.asarray(target).tolist()}

    def release(self) -> None:
        """Let go of what was pulled."""
        self._hand = None

    def close(self) -> None:
        self._child.close()
