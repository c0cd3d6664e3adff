"""A world that an engine steps: its state, what acts on it, and measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from exoskel.diagnostics import Diagnostic, ExoskelError, pluralize
from exoskel.engines.interface import (
    ActuatedWorld,
    AppliedWrench,
    ConstrainedWorld,
    Contact,
    ControllableWorld,
    EngineWorld,
    SensingWorld,
    StepDynamics,
)
from exoskel.engines.mujoco.measurements import Distances
from exoskel.engines.preflight import require, warn_about
from exoskel.engines.registry import engine as find_engine
from exoskel.formats.mjcf.model.layout import simulation_layout
from exoskel.scene.actuator import driven_dofs
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.item import UnknownNameError, not_found_message, qualified_name
from exoskel.scene.joint import Dof, Joint
from exoskel.scene.lowering.actuators import lower_actuators
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.validation import require_valid
from exoskel.scene.world import SceneLike, World, as_scene
from exoskel.simulate.coordinate_array import ActuatorControls, CoordinateArray, SoftPoints
from exoskel.simulate.handles import SimulatedBody, SimulatedJoint, SimulatedModel, Wrench
from exoskel.simulate.options import check_positive, vector3
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.document import garbage_collection_paused
from exoskel.spatial import Array

_ZERO = np.zeros(3)


BodyLike = str | Body | SimulatedBody
"""A body, by its name or path, in the scene, or in the simulation."""
Handle = TypeVar("Handle", SimulatedJoint, SimulatedBody, SimulatedModel)


class DivergedError(ExoskelError):
    """The motion diverged.  `trajectory` has the valid samples; the last one is the last valid state.

    It is empty if a program steps a simulation itself.
    """

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


class _HandleTable(Generic[Handle]):
    """Parts of a simulation by name, by path and by their object in the scene."""

    def __init__(self, kind: str, world: str) -> None:
        self._kind = kind
        self._owner = f"world {world!r}"
        self._by_name: dict[str, list[Handle]] = {}
        self._by_path: dict[str, Handle] = {}
        self._by_item: dict[int, Handle] = {}

    def add(self, handle: Handle, item: object, *names: str) -> None:
        self._by_name.setdefault(names[-1], []).append(handle)
        self._by_path[qualified_name(*names)] = handle
        self._by_item[id(item)] = handle

    def find(self, name: object) -> Handle:
        """The part; raises UnknownNameError with suggestions, also if several parts have the name."""
        if not isinstance(name, str):
            found = self._by_item.get(id(name))
            if found is None:
                raise UnknownNameError(f"{name!r} is not in {self._owner}")
            return found
        same = self._by_name.get(name, [])
        if len(same) == 1:
            return same[0]
        if name in self._by_path:
            return self._by_path[name]
        if same:
            paths = [repr(path) for path, handle in self._by_path.items() if handle in same]
            raise UnknownNameError(f"{len(same)} models have a {self._kind} called {name!r}; use {' or '.join(paths)}")
        known = list(self._by_path if "/" in name else self._by_name)
        raise UnknownNameError(not_found_message(name, known, self._kind, self._owner))


class MeasuredWorld:
    """A world in an engine: see `Simulation`."""

    def __init__(
        self,
        world: SceneLike,
        engine: str = "mujoco",
        *,
        step: float | None = None,
        integrator: str | None = None,
        limits: bool | None = None,
        friction: float | None = None,
        warn: bool = True,
    ) -> None:
        with no_edits():  # its fields need no checks
            scene = as_scene(world)  # its diagnostics point into its file
        self.scene = scene
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
                chosen_integrator = "discrete" if integrator is None else integrator
                self.engine = chosen.start_from_layout(
                    self.world, integrator=chosen_integrator, layout=layout, **options
                )
            else:
                self.diagnostics = require(scene, engine, limits=limits)
                if integrator is not None:
                    raise ExoskelError(f"the {engine} engine has its own integrator; {integrator!r} is MuJoCo's")
                lowered = self.world if chosen.capabilities.actuators else lower_actuators(self.world).world
                self.engine = chosen.start(lowered, **options)
        self._has_implicit_springs = integrator is None or integrator.lower() == "discrete"
        self._set_engine(engine)
        if warn:
            warn_about(self.diagnostics, engine)

    @classmethod
    def around(cls, world: World, engine: EngineWorld, name: str) -> Self:
        """Measures a world that an engine with this name has compiled already."""
        out = cls.__new__(cls)
        out.world, out.engine, out.diagnostics = world, engine, []
        out._set_engine(name)
        return out

    def _set_engine(self, name: str) -> None:
        self.name = name
        self.step: Callable[..., None] = self.engine.step
        """Advance by `count` time steps (default one).  The engine's own method: a call in between costs time."""
        self.bodies: list[tuple[str, str]] = self.engine.bodies

    @cached_property
    def dof_names(self) -> list[str]:
        """The names of all degrees of freedom, in the order of their coordinates."""
        return list(self.engine.dof_names)

    @cached_property
    def body_masses(self) -> Array:
        """The masses of all bodies, `(bodies)`, kg."""
        return np.array([body.mass for body in self.world.bodies()])

    @cached_property
    def body_moments(self) -> Array:
        """The moments of inertia about the centres of mass, `(bodies, 6)`: xx, yy, zz, xy, xz, yz, kg·m²."""
        return np.array([body.moment for body in self.world.bodies()]).reshape(-1, 6)

    # --- motion ---------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Return to the initial state, without forces and commands."""
        self._controls("reset").reset()

    @property
    def time(self) -> float:
        return float(self.engine.time)

    @property
    def time_step(self) -> float:
        return float(self.engine.time_step)

    @property
    def positions(self) -> CoordinateArray:
        """The positions of all degrees of freedom, rad or m."""
        return CoordinateArray.of(self, "positions", self._sound(self.engine.positions))

    @positions.setter
    def positions(self, values: ArrayLike) -> None:
        self._controls("setting positions").positions = self._checked("positions", values)

    @property
    def velocities(self) -> CoordinateArray:
        """The velocities of all degrees of freedom, rad/s or m/s."""
        return CoordinateArray.of(self, "velocities", self._sound(self.engine.velocities))

    @velocities.setter
    def velocities(self, values: ArrayLike) -> None:
        self._controls("setting velocities").velocities = self._checked("velocities", values)

    @property
    def forces(self) -> CoordinateArray:
        """External generalised forces that act until they are changed."""
        return CoordinateArray.of(self, "forces", self._controls("forces").forces)

    @forces.setter
    def forces(self, values: ArrayLike) -> None:
        self._controls("forces").forces = self._checked("forces", values)

    @property
    def commands(self) -> CoordinateArray:
        """The commands of actuators until they are changed: forces, velocities or accelerations."""
        return CoordinateArray.of(self, "commands", self._controls("commands").commands)

    @commands.setter
    def commands(self, values: ArrayLike) -> None:
        self._controls("commands").commands = self._checked("commands", values)

    @property
    def sensors(self) -> dict[str, Array]:
        """The values of the sensors of the world in the present state, by name: `simulation.sensors["imu"]`."""
        if not isinstance(self.engine, SensingWorld):
            raise ExoskelError(f"the {self.name} engine has no sensors; use the mujoco engine")
        return self.engine.sensor_values()

    @property
    def equalities(self) -> dict[str, bool]:
        """Whether each equality constraint of the world is active, by name."""
        return self.engine.equality_states if isinstance(self.engine, ConstrainedWorld) else {}

    def set_equality(self, name: str, active: bool) -> None:
        """Let an equality constraint of the world act or not, from the next step on."""
        if name not in self.equalities or not isinstance(self.engine, ConstrainedWorld):
            raise UnknownNameError(not_found_message(name, [*self.equalities], "equality constraint", "the simulation"))
        self.engine.set_equality(name, bool(active))

    @property
    def controls(self) -> ActuatorControls:
        """The controls of the actuators of the world, by name: `simulation.controls["servo"] = 0.5`."""
        return self._actuator_controls()

    @controls.setter
    def controls(self, values: Mapping[str, float] | ArrayLike) -> None:
        controls = self._actuator_controls()
        if not isinstance(values, Mapping):
            try:
                numbers = np.asarray(values, dtype=np.float64)
            except (TypeError, ValueError, OverflowError):
                raise ExoskelError(f"the controls are {values!r}, but must be numbers") from None
            if numbers.shape != (len(controls),):
                raise ExoskelError(
                    f"the controls have the shape {numbers.shape}, but must have {len(controls)} numbers"
                )
            values = dict(zip(controls, numbers.tolist(), strict=True))
        controls.update(values)

    def _actuator_controls(self) -> ActuatorControls:
        engine = self.engine
        if not isinstance(engine, ActuatedWorld):
            raise ExoskelError(f"the {self.name} engine has no actuators: they are springs and force limits there")

        def apply(values: Array) -> None:
            engine.actuator_controls = values

        return ActuatorControls(engine.actuator_names, engine.actuator_controls, apply)

    @property
    def state(self) -> Array:
        """Everything that the motion depends on, as one array that can be set later."""
        return np.asarray(self._controls("saving the state").state)

    @state.setter
    def state(self, values: ArrayLike) -> None:
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ExoskelError(f"a state must be an array of numbers, not {values!r}") from None
        if not np.isfinite(array).all():
            raise ExoskelError("a state must be finite; this one has numbers that are not")
        self._controls("setting the state").state = array

    def _sound(self, values: Array) -> Array:
        """A part of the state; simulations raise DivergedError if it is not finite."""
        return values

    def _checked(self, what: str, values: ArrayLike) -> Array:
        """Finite numbers, one per degree of freedom."""
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ExoskelError(f"the {what} are {values!r}, but must be numbers") from None
        if array.shape != (len(self.dof_names),):
            count = len(self.dof_names)
            raise ExoskelError(f"the {what} have the shape {array.shape}, but must have {count} numbers")
        if not np.isfinite(array).all():
            wrong = int(np.flatnonzero(~np.isfinite(array))[0])
            raise ExoskelError(f"the {what} of {self.dof_names[wrong]!r} are {array[wrong]}, but must be finite")
        return array

    # --- access by name -------------------------------------------------------------------------------

    def joint(self, name: str | Joint) -> SimulatedJoint:
        """The joint of that name: its state, force and command, and its reaction.

        If several models have one, use `model/joint`.  An unknown name raises UnknownNameError.
        """
        return self._joints.find(name)

    def body(self, name: str | Body) -> SimulatedBody:
        """The body of that name: its pose, velocity and acceleration, and forces on it.

        If several models have one, use `model/body`.  An unknown name raises UnknownNameError.
        """
        return self._bodies.find(name)

    def model(self, name: str) -> SimulatedModel:
        """The model of that name: its coordinates, centre of mass and momentum."""
        return self._models.find(name)

    @cached_property
    def _joints(self) -> _HandleTable[SimulatedJoint]:
        table, first = _HandleTable[SimulatedJoint]("joint", self.world.name), 0
        for model in self.world.models:
            for joint in model.joints:
                table.add(SimulatedJoint(self, model, joint, first), joint, model.name, joint.name)
                first += joint.dof_count
        return table

    @cached_property
    def _bodies(self) -> _HandleTable[SimulatedBody]:
        table = _HandleTable[SimulatedBody]("body", self.world.name)
        owners = [(model, body) for model in self.world.models for body in model.bodies]
        for number, (model, body) in enumerate(owners):
            table.add(SimulatedBody(self, model, body, number), body, model.name, body.name)
        return table

    @cached_property
    def _models(self) -> _HandleTable[SimulatedModel]:
        table, dof, body = _HandleTable[SimulatedModel]("model", self.world.name), 0, 0
        for model in self.world.models:
            dofs, bodies = slice(dof, dof + model.dof_count), slice(body, body + len(model.bodies))
            table.add(SimulatedModel(self, model, dofs, bodies), model, model.name)
            dof, body = dofs.stop, bodies.stop
        return table

    @cached_property
    def _dof_numbers(self) -> dict[str, int]:
        """The numbers of degrees of freedom by their names, without those that several have."""
        repeated = {name for name in self.dof_names if self.dof_names.count(name) > 1} if self.dof_names else set()
        return {name: number for number, name in enumerate(self.dof_names) if name not in repeated}

    def dof_slice(self, name: str) -> slice:
        """The degrees of freedom of a joint, or one of them, by name."""
        number = self._dof_numbers.get(name)
        return self.joint(name).dofs if number is None else slice(number, number + 1)

    # --- observation ----------------------------------------------------------------------------------

    @property
    def body_poses(self) -> Array:
        return _read_only(self._sound(self.engine.body_poses))

    @property
    def soft_points(self) -> SoftPoints:
        """Positions of the points of soft bodies, `(points, 3)`, m, by the name of the body."""
        found = self.engine.soft_points
        if found is None:
            raise ExoskelError(f"the {self.name} engine does not report the points of soft bodies")
        return SoftPoints(self.soft_bodies, [_read_only(points) for points in found])

    def skin_motion(self, model: Model) -> tuple[Array, Array, Array]:
        """Masses, positions and velocities of all points of soft bodies of a model; none if they are not known."""
        points, velocities = self.engine.soft_points, self.engine.soft_velocities
        if not self.soft_bodies or points is None or velocities is None:
            return np.empty(0), np.empty((0, 3)), np.empty((0, 3))
        own = [body.soft for body in model.bodies if body.soft]
        at = [number for number, (name, _) in enumerate(self.soft_bodies) if name == model.name]
        masses = [
            np.full(len(points[i]), soft.total_mass / max(1, len(points[i]))) for i, soft in zip(at, own, strict=True)
        ]
        places, speeds = (np.vstack([np.empty((0, 3)), *(rows[i] for i in at)]) for rows in (points, velocities))
        return np.concatenate([np.empty(0), *masses]), places, speeds

    @cached_property
    def soft_bodies(self) -> list[tuple[str, str]]:
        """The models and names of the soft bodies, in state order."""
        return [(model.name, body.name) for model in self.world.models for body in model.bodies if body.soft]

    @property
    def body_velocities(self) -> Array:
        """The angular velocity and that of the origin of each body, `(bodies, 6)`, in world axes."""
        return _read_only(self._sound(self.engine.body_velocities))

    @property
    def accelerations(self) -> CoordinateArray:
        """The accelerations of all degrees of freedom in the next step, with the present forces and commands."""
        found = self.step_dynamics("accelerations").accelerations
        return CoordinateArray.of(self, "accelerations", found, settable=False)

    @property
    def body_accelerations(self) -> Array:
        """The angular acceleration and that of the origin of each body in the next step, `(bodies, 6)`."""
        return _read_only(self.step_dynamics("accelerations").body_accelerations)

    def step_dynamics(self, operation: str = "accelerations and joint reactions") -> StepDynamics:
        """Accelerations of coordinates and bodies, and joint reactions, all from one trial of the next step."""
        return self._controls(operation).step_dynamics()

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

    def contact_force(self, first: BodyLike | None, second: BodyLike) -> Array:
        """The sum of the contact forces of one body on another in the last step, `(3)`, N, in world axes.

        `first` None stands for all other bodies.
        """
        from_path = None if first is None else self._found_body(first).path
        to_path = self._found_body(second).path
        total = np.zeros(3)
        for contact in self.engine.contacts:
            one, other = contact.bodies
            if other == to_path and from_path in (None, one):
                total += contact.force
            elif one == to_path and from_path in (None, other):
                total -= contact.force
        return total

    def distance(self, first: BodyLike | Shape, second: BodyLike | Shape) -> float:
        """The distance between the collision shapes of two bodies, or of two shapes, m; negative if they overlap."""
        pair = [one if isinstance(one, Shape) else self._found_body(one).body for one in (first, second)]
        found = self._distances.between(pair[0], pair[1], self.body_poses)
        if found is None:
            names = " and ".join(repr(one.name) for one in pair)
            raise ExoskelError(f"{names} have no distance: one of them has no collision shape with a surface")
        return found

    @cached_property
    def _distances(self) -> Distances:
        with no_edits():
            return Distances(self.world)

    def joint_reaction(self, joint: str | Joint) -> Wrench:
        """The force and torque of a joint on its child in the next step: see `SimulatedJoint.reaction`."""
        return self.reaction_from(self.step_dynamics("joint reactions"), self.joint(joint).joint)

    def reaction_from(self, dynamics: StepDynamics, joint: Joint) -> Wrench:
        """The reaction of a joint, about the joint's origin, from the result of `step_dynamics`."""
        if joint.kind == "amotor":
            raise ExoskelError(f"joint {joint.name!r} is an angular motor, which has no reaction")
        number = self.body(joint.child).number
        row = dynamics.reactions[number]
        if joint.loop:
            row = dynamics.loop_reactions[[one for one in self.world.joints() if one.loop].index(joint)]
        arm = self.body_poses[number, :3, :3] @ np.array(joint.pose.position)
        return Wrench(row[3:], row[:3] - np.cross(arm, row[3:]))

    @property
    def constraint_error(self) -> float:
        """The largest error of joints that are constraints (screws, loops, mimics), in m or rad; 0 without any."""
        return float(self.engine.constraint_error)

    # --- forces on bodies -----------------------------------------------------------------------------

    def apply_wrench(
        self, body: int, *, force: Array | None = None, point: Array | None = None, torque: Array | None = None
    ) -> None:
        """Replace the force (at a point in the body's frame) or the torque on a body, by its number."""
        before = self.engine.wrenches.acting.get(body) or AppliedWrench(_ZERO, _ZERO, _ZERO)
        wrench = AppliedWrench(
            before.force if force is None else force,
            before.point if point is None else point,
            before.torque if torque is None else torque,
        )
        self.engine.apply_wrench(body, wrench)

    # --- dynamics -------------------------------------------------------------------------------------

    def mass_matrix(self) -> Array:
        """The mass matrix, `(dofs, dofs)`."""
        return _read_only(self._controls("the mass matrix").mass_matrix())

    def bias_forces(self) -> Array:
        """Coriolis, centrifugal and gravity forces, `(dofs)`."""
        return _read_only(self._controls("bias forces").bias_forces())

    def gravity_forces(self) -> Array:
        """The forces that hold the bodies against gravity, `(dofs)`: the bias forces at rest."""
        return _read_only(self._controls("gravity forces").gravity_forces())

    def inverse_dynamics(self, accelerations: ArrayLike) -> Array:
        """The forces with which the next step has these accelerations, `(dofs)`, springs and dampers included.

        Contacts, loops, equality constraints, joint friction and limits are not taken into account.
        """
        wanted = self._checked("accelerations", accelerations)
        if self.world.tendons:
            raise ExoskelError(f"inverse dynamics do not support tendons, and world {self.world.name!r} has some")
        damping, stiffness, rest = self._joint_springs
        positions, velocities = np.asarray(self.positions), np.asarray(self.velocities)
        step = self.time_step if self._has_implicit_springs else 0.0
        springs = stiffness * (positions + step * velocities - rest) + damping * velocities
        implicit = (step * damping + step * step * stiffness) * wanted
        out: Array = self.mass_matrix() @ wanted + self.bias_forces() + springs + implicit
        if isinstance(self.engine, ActuatedWorld) and self.world.actuators:
            out -= self._actuator_forces(positions + step * (velocities + step * wanted), velocities + step * wanted)
        return out

    def _actuator_forces(self, positions: Array, velocities: Array) -> Array:
        """The forces of actuators with the present controls and activations at a state, `(dofs)`."""
        assert isinstance(self.engine, ActuatedWorld)
        out, inputs = np.zeros(len(self.dof_names)), self.engine.actuator_inputs.tolist()
        known = dict(zip(self.engine.actuator_names, inputs, strict=True))
        places = {id(dof): place for place, dof in enumerate(_state_dofs(self.world))}
        for actuator, _, dof in driven_dofs(self.world.actuators, self.world.models):
            at = places[id(dof)]
            out[at] += actuator.force(known[actuator.name], float(positions[at]), float(velocities[at]))
        limits = np.array([dof.force_limits for dof in _state_dofs(self.world)]).reshape(-1, 2)
        driven = [places[id(dof)] for _, _, dof in driven_dofs(self.world.actuators, self.world.models)]
        out[driven] = np.clip(out[driven], *limits[driven].T)
        return out

    @cached_property
    def _joint_springs(self) -> tuple[Array, Array, Array]:
        """Damping, stiffness and rest positions of all degrees of freedom."""
        dofs = _state_dofs(self.world)
        rows = np.array([(dof.damping, dof.stiffness, dof.rest) for dof in dofs], dtype=np.float64).reshape(-1, 3)
        return rows[:, 0], rows[:, 1], rows[:, 2]

    def jacobian(self, body: Body | str, point: ArrayLike | None = None) -> Array:
        """The Jacobian of a point in a body's frame (m): `(6, dofs)`, angular velocity first, both in world axes."""
        place = _ZERO if point is None else vector3(f"the point of body {self.body(body).path!r}", point)
        return _read_only(self._controls("jacobians").jacobian(self.body(body).body, place))

    def _found_body(self, body: BodyLike) -> SimulatedBody:
        return body if isinstance(body, SimulatedBody) else self.body(body)

    # --- engines --------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the process of the engine, if it has one."""
        self.engine.close()

    def __repr__(self) -> str:
        counts = f"{pluralize(len(self.bodies), 'body', 'bodies')}, {pluralize(len(self.dof_names), 'dof')}"
        return f"{type(self).__name__}({self.world.name!r}, {self.name}, {counts})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _controls(self, operation: str) -> ControllableWorld:
        found = self.engine.controls
        if found is None:
            raise ExoskelError(f"the {self.name} engine does not support {operation}")
        return found


def _state_dofs(world: World) -> list[Dof]:
    """The degrees of freedom in the order of the state."""
    return [dof for joint in world.joints() if not joint.loop for dof in joint.dofs]


def fastest_body(world: World, velocities: Array) -> str:
    """The path of the body whose joint has the largest velocity, or one that is not finite."""
    worst, first = int(np.argmax(np.nan_to_num(np.abs(velocities), nan=np.inf))), 0
    for model in world.models:
        for joint in model.joints:
            if worst < first + joint.dof_count:
                return qualified_name(model.name, joint.child.name)
            first += joint.dof_count
    return world.name


def _read_only(values: ArrayLike) -> Array:
    out = np.asarray(values, dtype=np.float64).view()
    out.flags.writeable = False
    return out
