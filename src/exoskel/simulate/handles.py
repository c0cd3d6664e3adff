"""Joints, bodies and models of a simulation by name: their state, forces and commands, and measurements.

Vectors are in world axes, in SI units.  Accelerations and reactions are those of the next step: they follow from the
present state, forces and commands.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from exoskel import spatial
from exoskel.diagnostics import ExoskelError, pluralize
from exoskel.scene.body import Body
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose
from exoskel.simulate.options import vector3
from exoskel.spatial import Array


class Wrench(Struct, frozen=True, eq=False):
    """A force (N) and a torque (N·m) about a point, in world axes."""

    force: Array
    torque: Array


class HandleOwner(Protocol):
    """The part of a simulation that handles use; positions, velocities, forces and commands can be set."""

    @property
    def dof_names(self) -> list[str]: ...

    @property
    def positions(self) -> Array: ...

    @property
    def velocities(self) -> Array: ...

    @property
    def forces(self) -> Array: ...

    @property
    def commands(self) -> Array: ...

    @property
    def accelerations(self) -> Array: ...

    @property
    def body_poses(self) -> Array: ...

    @property
    def body_velocities(self) -> Array: ...

    def skin_motion(self, model: Model) -> tuple[Array, Array, Array]: ...

    @property
    def body_masses(self) -> Array: ...

    @property
    def body_moments(self) -> Array: ...

    @property
    def body_accelerations(self) -> Array: ...

    def contact_force(self, first: None, second: SimulatedBody) -> Array: ...

    def joint_reaction(self, joint: Joint) -> Wrench: ...

    def apply_wrench(
        self, body: int, *, force: Array | None = None, point: Array | None = None, torque: Array | None = None
    ) -> None: ...


class _CoordinatePart:
    """A part of the coordinates of a simulation: `positions`, `velocities`, `forces` and `commands` of one joint or
    model, in the units and order of the simulation.  They can be set."""

    __slots__ = ("_dofs", "_label", "_simulation")  # a misspelt name is an error

    def __init__(self, simulation: HandleOwner, label: str, dofs: slice) -> None:
        self._simulation = simulation
        self._label = label
        self._dofs = dofs

    @property
    def dofs(self) -> slice:
        """The place of its degrees of freedom among those of the simulation."""
        return self._dofs

    @property
    def dof_names(self) -> list[str]:
        """The names of the degrees of freedom."""
        return self._simulation.dof_names[self._dofs]

    @property
    def positions(self) -> Array:
        """Positions, rad or m."""
        return self._simulation.positions[self._dofs]

    @positions.setter
    def positions(self, values: ArrayLike) -> None:
        self._set("positions", self._simulation.positions, values)

    @property
    def velocities(self) -> Array:
        """Velocities, rad/s or m/s."""
        return self._simulation.velocities[self._dofs]

    @velocities.setter
    def velocities(self, values: ArrayLike) -> None:
        self._set("velocities", self._simulation.velocities, values)

    @property
    def forces(self) -> Array:
        """External generalised forces that act until they are changed, N·m or N."""
        return self._simulation.forces[self._dofs]

    @forces.setter
    def forces(self, values: ArrayLike) -> None:
        self._set("forces", self._simulation.forces, values)

    @property
    def commands(self) -> Array:
        """The commands of actuators until they are changed: forces, velocities or accelerations."""
        return self._simulation.commands[self._dofs]

    @commands.setter
    def commands(self, values: ArrayLike) -> None:
        self._set("commands", self._simulation.commands, values)

    @property
    def accelerations(self) -> Array:
        """Accelerations in the next step, rad/s² or m/s²."""
        return self._simulation.accelerations[self._dofs]

    def _set(self, what: str, everything: Array, values: ArrayLike) -> None:
        count = self._dofs.stop - self._dofs.start
        try:
            row = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ExoskelError(f"the {what} of {self._label} are {values!r}, but must be numbers") from None
        if row.shape not in ((), (count,)):
            raise ExoskelError(f"the {what} of {self._label} have the shape {row.shape}, but must have {count} numbers")
        out = np.array(everything)
        out[self._dofs] = row
        setattr(self._simulation, what, out)


class SimulatedJoint(_CoordinatePart):
    """A joint of a simulation.

    `positions`, `velocities`, `forces` and `commands` have a number for each degree of freedom.  A joint with one
    degree of freedom also has `position`, `velocity`, `force` and `command`.  All can be set.
    """

    __slots__ = ("joint",)

    def __init__(self, simulation: HandleOwner, model: Model, joint: Joint, first: int) -> None:
        label = f"joint {qualified_name(model.name, joint.name)!r}"
        super().__init__(simulation, label, slice(first, first + joint.dof_count))
        self.joint = joint

    @property
    def name(self) -> str:
        return self.joint.name

    @property
    def position(self) -> float:
        """The position of a joint with one degree of freedom, rad or m."""
        return self._one(self.positions, "positions")

    @position.setter
    def position(self, value: float) -> None:
        self._one(self.positions, "positions")
        self.positions = np.array([value])

    @property
    def velocity(self) -> float:
        """The velocity of a joint with one degree of freedom, rad/s or m/s."""
        return self._one(self.velocities, "velocities")

    @velocity.setter
    def velocity(self, value: float) -> None:
        self._one(self.velocities, "velocities")
        self.velocities = np.array([value])

    @property
    def force(self) -> float:
        """The external force on a joint with one degree of freedom, N·m or N, that acts until it is changed."""
        return self._one(self.forces, "forces")

    @force.setter
    def force(self, value: float) -> None:
        self._one(self.forces, "forces")
        self.forces = np.array([value])

    @property
    def command(self) -> float:
        """The command of a joint with one degree of freedom, until it is changed."""
        return self._one(self.commands, "commands")

    @command.setter
    def command(self, value: float) -> None:
        self._one(self.commands, "commands")
        self.commands = np.array([value])

    @property
    def acceleration(self) -> float:
        """The acceleration of a joint with one degree of freedom in the next step, rad/s² or m/s²."""
        return self._one(self.accelerations, "accelerations")

    def _one(self, row: Array, plural: str) -> float:
        if len(row) != 1:
            raise ExoskelError(f"{self._label} has {len(row)} degrees of freedom; use {plural}")
        return float(row[0])

    @property
    def reaction(self) -> Wrench:
        """The force and torque of the parent on the child in the next step, about the joint's origin.

        It includes actuators, springs, dampers and external forces on the joint.
        """
        return self._simulation.joint_reaction(self.joint)

    def __repr__(self) -> str:
        return f"SimulatedJoint({self.joint.name!r}, {self.joint.kind}, {', '.join(self.dof_names)})"


class SimulatedBody:
    """A body of a simulation: where it is, how it moves, and forces on it."""

    __slots__ = ("_simulation", "body", "model_name", "number")

    def __init__(self, simulation: HandleOwner, model: Model, body: Body, number: int) -> None:
        self._simulation = simulation
        self.number = number
        self.model_name = model.name
        self.body = body

    @property
    def name(self) -> str:
        return self.body.name

    @property
    def path(self) -> str:
        """The name with that of the model: `model/body`."""
        return qualified_name(self.model_name, self.body.name)

    @property
    def pose(self) -> Pose:
        """The pose of the body's frame in the world."""
        return Pose.from_matrix(self._simulation.body_poses[self.number])

    @property
    def position(self) -> Array:
        """The origin of the body's frame, `(3)`, m."""
        return self._simulation.body_poses[self.number, :3, 3]

    @property
    def com(self) -> Array:
        """The centre of mass, `(3)`, m."""
        pose = self._simulation.body_poses[self.number]
        out: Array = pose[:3, :3] @ spatial.array(self.body.com) + pose[:3, 3]
        return out

    @property
    def velocity(self) -> Array:
        """The velocity of the body's origin, `(3)`, m/s."""
        return self._simulation.body_velocities[self.number, 3:]

    @property
    def angular_velocity(self) -> Array:
        """The angular velocity, `(3)`, rad/s."""
        return self._simulation.body_velocities[self.number, :3]

    def velocity_at(self, point: ArrayLike) -> Array:
        """The velocity of a point in the body's frame, `(3)`, m/s."""
        rotation = self._simulation.body_poses[self.number, :3, :3]
        twist = self._simulation.body_velocities[self.number]
        arm = rotation @ vector3(f"the point of body {self.path!r}", point)
        out: Array = twist[3:] + np.cross(twist[:3], arm)
        return out

    @property
    def acceleration(self) -> Array:
        """The acceleration of the body's origin in the next step, `(3)`, m/s²; gravity is part of it."""
        return self._simulation.body_accelerations[self.number, 3:]

    @property
    def angular_acceleration(self) -> Array:
        """The angular acceleration in the next step, `(3)`, rad/s²."""
        return self._simulation.body_accelerations[self.number, :3]

    @property
    def contact_force(self) -> Array:
        """The sum of all contact forces on the body in the last step, `(3)`, N."""
        return self._simulation.contact_force(None, self)

    def apply_force(self, force: ArrayLike, *, at: ArrayLike | None = None) -> None:
        """Apply a force in world axes (N) to a point of the body's frame (m; by default its centre of mass).

        It acts until it is changed: another call replaces it, and `apply_force((0, 0, 0))` removes it.  The point
        moves with the body, the direction does not.
        """
        label = f"body {self.path!r}"
        point = self.body.com if at is None else at
        self._simulation.apply_wrench(
            self.number, force=vector3(f"the force on {label}", force), point=vector3(f"the point of {label}", point)
        )

    def apply_torque(self, torque: ArrayLike) -> None:
        """Apply a torque in world axes, N·m.  It acts until another call replaces it."""
        self._simulation.apply_wrench(self.number, torque=vector3(f"the torque on body {self.path!r}", torque))

    def __repr__(self) -> str:
        return f"SimulatedBody({self.path!r})"


class SimulatedModel(_CoordinatePart):
    """A model of a simulation: its coordinates, centre of mass and momentum."""

    __slots__ = ("_bodies", "model")

    def __init__(self, simulation: HandleOwner, model: Model, dofs: slice, bodies: slice) -> None:
        super().__init__(simulation, f"model {model.name!r}", dofs)
        self._bodies = bodies
        self.model = model

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def mass(self) -> float:
        """The total mass, kg, with that of soft skins if the engine moves them."""
        return float(self._masses.sum() + self._simulation.skin_motion(self.model)[0].sum())

    @property
    def _masses(self) -> Array:
        return self._simulation.body_masses[self._bodies]

    def _centres(self) -> Array:
        """The centres of mass of the bodies in the world, `(bodies, 3)`."""
        poses = self._simulation.body_poses[self._bodies]
        coms = np.array([body.com for body in self.model.bodies]).reshape(-1, 3)
        out: Array = poses[:, :3, 3] + (poses[:, :3, :3] @ coms[..., None])[..., 0]
        return out

    def _centre_velocities(self) -> Array:
        twists, poses = self._simulation.body_velocities[self._bodies], self._simulation.body_poses[self._bodies]
        arms = self._centres() - poses[:, :3, 3]
        out: Array = twists[:, 3:] + np.cross(twists[:, :3], arms)
        return out

    @property
    def com(self) -> Array:
        """The centre of mass, `(3)`, m."""
        if not self.mass > 0.0:
            raise ExoskelError(f"{self._label} has no mass, so it has no centre of mass")
        masses, points, _ = self._simulation.skin_motion(self.model)
        out: Array = (self._masses @ self._centres() + masses @ points) / self.mass
        return out

    @property
    def momentum(self) -> Array:
        """The linear momentum, `(3)`, kg·m/s."""
        masses, _, velocities = self._simulation.skin_motion(self.model)
        out: Array = self._masses @ self._centre_velocities() + masses @ velocities
        return out

    @property
    def angular_momentum(self) -> Array:
        """The angular momentum about the centre of mass, `(3)`, kg·m²/s."""
        rotations = self._simulation.body_poses[self._bodies, :3, :3]
        spins = self._simulation.body_velocities[self._bodies, :3]
        moments = spatial.moment_matrix(self._simulation.body_moments[self._bodies])
        own = (spatial.rotate_moment(rotations, moments) @ spins[..., None])[..., 0]
        arms = self._centres() - self.com
        orbital = np.cross(arms, self._masses[:, None] * self._centre_velocities())
        masses, points, velocities = self._simulation.skin_motion(self.model)
        skin = np.cross(points - self.com, masses[:, None] * velocities)
        out: Array = (own + orbital).sum(axis=0) + skin.sum(axis=0)
        return out

    def __repr__(self) -> str:
        bodies, dofs = pluralize(len(self.model.bodies), "body", "bodies"), pluralize(len(self.dof_names), "dof")
        return f"SimulatedModel({self.model.name!r}, {bodies}, {dofs})"
