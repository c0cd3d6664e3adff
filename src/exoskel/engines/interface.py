"""The interface of engines: a world that an engine runs, and what only some engines support.

Coordinates, forces and commands are the scene's, one number per degree of freedom in state order.  Poses are
`(bodies, 4, 4)` in the world, in the order of `bodies`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from msgspec import Struct, field

from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import Body
from exoskel.scene.item import qualified_name
from exoskel.scene.world import World
from exoskel.spatial import Array

if TYPE_CHECKING:  # the processes of engines import this module
    from exoskel.formats.mjcf.model.layout import WorldLayout

PULL_STIFFNESS = 100.0
"""The stiffness of the spring that pulls a body, in N/m per kg: the same as MuJoCo's."""


class StateProblem(Struct, frozen=True):
    """What makes a state invalid; `is_explained` unless the engine only knows that something diverged."""

    text: str
    is_explained: bool = True


DIVERGED = StateProblem("the motion diverged", is_explained=False)


class Contact:
    """A contact between two bodies: its position, the normal from the first to the second, the depth (m).

    `force` in N, in world axes, is the force of the first on the second, friction included.
    """

    __slots__ = ("bodies", "depth", "force", "normal", "position")

    def __init__(
        self, bodies: tuple[str, str], position: Array, normal: Array, depth: float, force: Array | None = None
    ) -> None:
        self.bodies = bodies
        self.position = position
        self.normal = normal
        self.depth = depth
        self.force = np.zeros(3) if force is None else force

    def __repr__(self) -> str:
        position, force = (", ".join(f"{value:.4g}" for value in row) for row in (self.position, self.force))
        return f"Contact({self.bodies[0]!r}, {self.bodies[1]!r}, position=({position}), force=({force}))"


def check_step_count(count: object) -> None:
    """Raise ExoskelError unless a number of steps is a whole number that is not negative."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise ExoskelError(f"the number of steps is {count!r}, but must be a whole number that is not negative")


class StepDynamics(Struct, frozen=True, eq=False):
    """What the next step does at the present state: accelerations, and what joints transmit.

    `accelerations` are those of the coordinates, `(dofs)`.  `body_accelerations` `(bodies, 6)` are the angular
    acceleration and that of the body's origin.  `reactions` `(bodies, 6)` are the torque about the body's origin and
    the force that a body gets from its parent through its joint.  `loop_reactions` `(loops, 6)` are the same for the
    joints that close loops, in the world's order.  All are in world axes.
    """

    accelerations: Array
    body_accelerations: Array
    reactions: Array
    loop_reactions: Array = field(default_factory=lambda: np.empty((0, 6)))


class AppliedWrench(Struct, frozen=True, eq=False):
    """A force (N) on a point of a body (m, body frame) and a torque (N·m), in world axes."""

    force: Array
    point: Array
    torque: Array

    @property
    def is_zero(self) -> bool:
        return not (self.force.any() or self.torque.any())


class AppliedWrenches:
    """The forces and torques that act on the bodies of a world, by the number of the body."""

    def __init__(self, bodies: int) -> None:
        self.acting: dict[int, AppliedWrench] = {}
        self._bodies = bodies

    def clear(self) -> None:
        self.acting.clear()

    def replace(self, body: int, wrench: AppliedWrench) -> None:
        self.acting.pop(body, None)
        if not wrench.is_zero:
            self.acting[body] = wrench

    def array(self) -> Array:
        """All forces, points and torques as one array, as a part of the state."""
        out = np.zeros((self._bodies, 3, 3))
        for body, one in self.acting.items():
            out[body] = one.force, one.point, one.torque
        return out.ravel()

    def set_array(self, values: Array) -> None:
        """Replace all by those of an array from `array`."""
        self.clear()
        rows = values.reshape(-1, 3, 3)
        for body in np.flatnonzero(rows[:, ::2].any(axis=(1, 2))).tolist():
            self.replace(body, AppliedWrench(*rows[body].copy()))

    def rows(self) -> list[dict[str, Any]]:
        """The data for an engine's own process."""
        return [
            {"body": body, "force": one.force.tolist(), "point": one.point.tolist(), "torque": one.torque.tolist()}
            for body, one in self.acting.items()
        ]


def contacts_from_rows(bodies: Sequence[tuple[str, str]], rows: Sequence[dict[str, Any]]) -> list[Contact]:
    """Contacts from the rows of an engine's own process; bodies are numbers there, -1 for the world."""
    names = [*(qualified_name(*names) for names in bodies), "world"]
    return [
        Contact(
            (names[row["bodies"][0]], names[row["bodies"][1]]),
            np.array(row["position"]),
            np.array(row["normal"]),
            float(row["depth"]),
            np.array(row["force"]),
        )
        for row in rows
    ]


def pull_force(mass: float, stretch: Array, velocity: Array) -> Array:
    """The force of a critically damped spring on a mass (kg), N; `stretch` points to the target, m."""
    force: Array = mass * (PULL_STIFFNESS * stretch - 2.0 * PULL_STIFFNESS**0.5 * velocity)
    return force


# --- worlds --------------------------------------------------------------------------------------------


class EngineWorld(Protocol):
    """A world in an engine, as far as its motion goes."""

    @property
    def bodies(self) -> list[tuple[str, str]]:
        """The names of model and body of each body."""

    @property
    def dof_names(self) -> list[str]:
        """The names of the coordinates, in state order."""

    @property
    def controls(self) -> ControllableWorld | None:
        """The same world, if the engine also takes states and commands; else None."""

    @property
    def time(self) -> float: ...

    @property
    def time_step(self) -> float: ...

    @property
    def positions(self) -> Array: ...

    @property
    def velocities(self) -> Array: ...

    @property
    def body_poses(self) -> Array: ...

    @property
    def wrenches(self) -> AppliedWrenches:
        """The forces and torques on bodies; `apply_wrench` changes them."""

    @property
    def body_velocities(self) -> Array:
        """The angular velocity and that of the origin of each body, `(bodies, 6)`, in world axes."""

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy in J, springs included."""

    @property
    def contact_count(self) -> int: ...

    @property
    def contacts(self) -> list[Contact]: ...

    @property
    def constraint_error(self) -> float:
        """The largest error of joints that are constraints (screws, loops, mimics), in m or rad; 0 if unknown."""

    @property
    def state_problem(self) -> StateProblem | None:
        """What makes the state invalid; None if nothing does."""

    def step(self, count: int = 1) -> None:
        """Advance by `count` time steps."""

    def apply_wrench(self, body: int, wrench: AppliedWrench) -> None:
        """Apply a force and a torque to a body, by its number, until they are replaced."""

    def pull(self, body: int, point: Array, target: Array) -> None:
        """Pull a point of a body (its number and frame, m) to a target in the world with a damped spring."""

    def pull_force(self, body: int) -> Array | None:
        """The force in the world with which a body is pulled, N; None if the engine does not report it."""

    def release(self) -> None:
        """Stop pulling."""

    def close(self) -> None:
        """End the process of the engine, if it has one."""

    @property
    def soft_points(self) -> list[Array] | None:
        """World positions of the points of each soft body, in state order; None if the engine does not report them."""

    @property
    def soft_velocities(self) -> list[Array] | None:
        """World velocities of the points of each soft body, in state order."""


class ControllableWorld(EngineWorld, Protocol):
    """A world whose state can be set, that takes forces and commands, and whose dynamics are known."""

    @property
    def positions(self) -> Array: ...

    @positions.setter
    def positions(self, values: Array) -> None: ...

    @property
    def velocities(self) -> Array: ...

    @velocities.setter
    def velocities(self, values: Array) -> None: ...

    @property
    def forces(self) -> Array:
        """External generalised forces, in N or N·m, that act until they are changed."""

    @forces.setter
    def forces(self, values: Array) -> None: ...

    @property
    def commands(self) -> Array:
        """The commands of actuators until they are changed: forces, velocities or accelerations."""

    @commands.setter
    def commands(self, values: Array) -> None: ...

    @property
    def state(self) -> Array:
        """Everything that the motion depends on, as one array."""

    @state.setter
    def state(self, values: Array) -> None: ...

    def reset(self) -> None:
        """Return to the initial state."""

    def mass_matrix(self) -> Array:
        """`(dofs, dofs)`."""

    def bias_forces(self) -> Array:
        """Coriolis, centrifugal and gravity forces, `(dofs)`."""

    def gravity_forces(self) -> Array:
        """The part of the bias forces that gravity causes, `(dofs)`."""

    def step_dynamics(self) -> StepDynamics:
        """What the next step does at the present state, with the present forces and commands; nothing changes."""

    def jacobian(self, body: Body, point: Array) -> Array:
        """The Jacobian of a point in a body's frame: `(6, dofs)`, angular velocity first, both in world axes."""


@runtime_checkable
class SensingWorld(Protocol):
    """A world with sensors."""

    def sensor_values(self) -> dict[str, Array]:
        """The values of all sensors in the present state, by name."""


@runtime_checkable
class ConstrainedWorld(Protocol):
    """A world with equality constraints."""

    @property
    def equality_states(self) -> dict[str, bool]:
        """Whether each constraint is active, by name."""

    def set_equality(self, name: str, active: bool) -> None:
        """Let a constraint act or not, from the next step on."""


@runtime_checkable
class ActuatedWorld(Protocol):
    """A world with actuators."""

    actuator_controls: Array
    """The controls of actuators, within their ranges, until they are changed."""

    @property
    def actuator_inputs(self) -> Array:
        """What the forces of actuators depend on: their controls, or their activations."""

    @property
    def actuator_names(self) -> list[str]:
        """The names of the actuators that drive a joint or tendon, in the order of their controls."""


class EngineFactory(Protocol):
    """Builds a world in an engine.

    `limits` switches position limits on or off (by default each joint decides); `step` in s replaces the world's;
    `friction` is the coefficient of all contacts.
    """

    def __call__(
        self,
        world: World,
        *,
        limits: bool | None = None,
        step: float | None = None,
        friction: float | None = None,
    ) -> EngineWorld: ...


class LayoutFactory(Protocol):
    """Builds a world from its layout, which preflight shares, with a named integrator; otherwise an `EngineFactory`."""

    def __call__(
        self,
        world: World,
        *,
        layout: WorldLayout,
        integrator: str,
        limits: bool | None = None,
        step: float | None = None,
        friction: float | None = None,
    ) -> EngineWorld: ...


# --- engines -------------------------------------------------------------------------------------------


class InvalidInertia(Enum):
    """What an engine does with a mass or moment of inertia that no solid has."""

    ACCEPTED = "accepted"
    REPAIRED = "repaired"
    REFUSED = "refused"


class EngineCapabilities(Struct, frozen=True):
    """What an engine supports of a world, and what it does in its own way."""

    unsupported_joints: frozenset[str] = frozenset()
    """Kinds of joint that the engine, or its parser, lacks."""
    loops: bool = True
    """Joints that close loops."""
    mimic_joints: bool = False
    armature: bool = False
    """Inertia of joints."""
    actuators: bool = False
    """Motors and servos of a world; others are lowered to springs, dampers and force limits."""
    tendons: bool = False
    """Tendons and equality constraints of a world."""
    soft_bodies: bool = False
    point_contacts: bool = False
    """Soft skins collide at their points, not between them."""
    sleeping_bodies: bool = False
    """A disabled body sleeps until something touches it."""
    velocity_limits: bool = False
    ball_servos: bool = True
    """Servos of ball and free joints."""
    angular_motor_stops: bool = True
    zero_axes: bool = False
    """Joint axes without direction, along which nothing moves."""
    max_depth: int | None = None
    """The depth of body trees; None: any."""
    compile_seconds: Callable[[World], float] | None = None
    """The least processor time to compile a world, in s; None: it is compiled at once."""
    invalid_inertia: InvalidInertia = InvalidInertia.ACCEPTED
    needs_triangle_inequality: bool = False
    """Moments of inertia that violate the triangle inequality are invalid too."""
    convex_meshes: bool = False
    """Moving meshes collide as their convex hulls; rays, and meshes that cannot be loaded, do not collide."""
    crashes_on_missing_meshes: bool = False
    """The engine crashes where it needs the size of a mesh that cannot be loaded."""
    isotropic_balls: bool = False
    """The rotations of a ball or free joint have one stiffness, about zero, and one cone as their limits."""
    joint_forces_in_one_stage: bool = False
    """Joint friction and servos act together with springs and dampers; velocity actuators exert no reaction."""
    impulse_steps: bool = False
    """The default integrator avoids these, and isotropic balls: see `exoskel.engines.mujoco.impulse_step`."""
    stiff_constraints: bool = False
    """Motors, loops and contacts are as stiff as the step allows; ERP and CFM are ignored."""
    keeps_actuator_velocity: bool = False
    """A velocity actuator without a command keeps its initial velocity."""


class Engine(Struct, frozen=True):
    """An engine: its package, how to install that, what it supports, and how to start a world."""

    name: str
    title: str
    package: str
    install: str
    limitations: str
    """Its limitations, as text for people."""
    capabilities: EngineCapabilities
    start: EngineFactory
    start_from_layout: LayoutFactory | None = None
    """Starts a world from its layout; None if the engine uses no layout, and has its own integrator."""

    @property
    def version(self) -> str | None:
        """The version of the installed package; None if it is not installed."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version(self.package)
        except PackageNotFoundError:
            return None
