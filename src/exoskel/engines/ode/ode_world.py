"""ODE, the engine of the XODE format, in a child process that receives records computed from the scene.

Everything is computed here, in double precision; the child knows no scenes.  It steps with ODE's exact solver:
`quickStep` is for large scenes, and the error of its joints and contacts depends on the iterations.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.engine_process import EngineProcess
from exoskel.engines.interface import (
    AppliedWrench,
    AppliedWrenches,
    Contact,
    Engine,
    EngineCapabilities,
    InvalidInertia,
    StateProblem,
    check_step_count,
    contacts_from_rows,
)
from exoskel.engines.inverse_kinematics import InverseKinematics
from exoskel.engines.ode.model import STATIC, OdeBodies, OdeJoints, connected_numbers
from exoskel.scene.body import Body
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Mesh,
    MultiSphere,
    Plane,
    Ray,
    Sphere,
    TriMesh,
    simplest_geometry,
)
from exoskel.scene.world import World
from exoskel.source.meshes import MeshFiles, Triangles
from exoskel.source.surface import Surfaces
from exoskel.spatial import Array


class GeomRecords:
    """The records of all collision shapes.

    `body` is the number of the owner among moving bodies, `index` that among all bodies, `model` the number of its
    model: geoms of one model do not collide.  Neither do two geoms with a common bit in `filter_bits`.
    """

    def __init__(self, bodies: OdeBodies) -> None:
        self.bodies = bodies
        self.records: list[dict[str, Any]] = []
        self._meshes = MeshFiles()
        self._surfaces = Surfaces(files=self._meshes)
        for number, model in enumerate(bodies.world.models):
            for body in model.bodies:
                self._body(body, number)

    def _body(self, body: Body, model: int) -> None:
        owner = self.bodies.number[id(body)]
        index = self.bodies.index[id(body)]
        frame = self.bodies.start[index] if owner == STATIC else _centred(body)
        for number, shape in enumerate(body.collisions):
            if not shape.collidable:
                continue
            if type(shape.geometry) is Plane and owner != STATIC:
                raise ExoskelError(f"ODE's planes are static, but the plane of body {body.name!r} moves with it")
            filter_bits = _filter_bits(self.bodies.world, shape.name if number or not body.name else body.name)
            for geometry, offset in _parts(shape.geometry):
                made = self._geometry(geometry, frame @ shape.pose.matrix() @ offset)
                if made is not None:
                    self.records.append(
                        {**made, "body": owner, "index": index, "model": model, "filter_bits": filter_bits}
                    )

    def _geometry(self, geometry: Geometry, pose: Array) -> dict[str, Any] | None:
        """The geom; None if the geometry is not solid or cannot be loaded."""
        record: dict[str, Any]
        geometry = simplest_geometry(geometry)
        match geometry:
            case Box(size=size):
                record = {"type": "box", "size": size}
            case Sphere(radius=radius):
                record = {"type": "sphere", "size": [radius]}
            case Cylinder(radius=radius, height=height):
                record = {"type": "cylinder", "size": [radius, height]}
            case Capsule(radius=radius, height=height):
                record = {"type": "capsule", "size": [radius, height]}
            case Plane(normal=normal, offset=offset):
                rotated = pose[:3, :3] @ np.array(normal)
                return {"type": "plane", "size": [*rotated.tolist(), float(offset + rotated @ pose[:3, 3])]}
            case Ray():
                return None
            case _:
                found = self._triangles(geometry)
                if found is None:
                    return None
                record = {"type": "mesh", "vertices": found[0].tolist(), "triangles": found[1].tolist()}
        return record | {"pose": spatial.pose7(pose).tolist()}

    def _triangles(self, geometry: Geometry) -> tuple[Array, Triangles] | None:
        if isinstance(geometry, Mesh | TriMesh):
            return self._meshes.triangles(geometry)
        surface = self._surfaces.of(geometry)
        return None if surface is None else surface.merge_vertices()


def _centred(body: Body) -> Array:
    """The body's frame relative to its centre of mass, which is the origin of ODE's bodies."""
    return spatial.transform(np.eye(3), -np.array(body.com))


def _parts(geometry: Geometry) -> list[tuple[Geometry, Array]]:
    """A multi-sphere as its spheres: ODE has no convex hulls."""
    if not isinstance(geometry, MultiSphere):
        return [(geometry, np.eye(4))]
    return [(Sphere(ball.radius), spatial.transform(np.eye(3), ball.position)) for ball in geometry.spheres]


def _filter_bits(world: World, name: str) -> int:
    """One bit for each collision-exempt group whose name parts the name contains."""
    return sum(1 << number for number in world.exempt_groups_of(name))


DEFAULT_FRICTION = 1.0
"""The coefficient of all contacts: the default of MuJoCo and DART; XODE has none."""


def available() -> bool:
    return importlib.util.find_spec("panda3d") is not None and importlib.util.find_spec("panda3d.ode") is not None


class OdeWorld:
    """A world in ODE: see `engines.interface.EngineWorld`.

    `limits` switches position limits on or off for all joints, `step` is the time step in s (default: the world's),
    `friction` the coefficient of all contacts; `quick` selects ODE's iterative solver.
    """

    controls = None
    constraint_error = 0.0

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
        self._inverse_kinematics = InverseKinematics(world.models)
        self._positions = self._inverse_kinematics.kinematics.initial
        load = {
            "gravity": world.gravity,
            "step": self.time_step,
            "erp": world.erp,
            "cfm": world.cfm,
            "friction": DEFAULT_FRICTION if friction is None else friction,
            "quick": quick,
            "connected": connected_numbers(self._bodies) if world.self_collision else None,
            "bodies": self._bodies.records(),
            "joints": self._joints.records,
            "motors": self._joints.motors.records,
            "geoms": GeomRecords(self._bodies).records,
        }
        self.state_problem: StateProblem | None = None
        """What makes the state invalid; the last valid one is preserved."""
        self._pull: dict[str, Any] | None = None
        self.wrenches = AppliedWrenches(len(self.bodies))
        self.soft_points: list[Array] | None = None
        self.soft_velocities: list[Array] | None = None
        self._child = EngineProcess("ODE", "exoskel.engines.ode.worker")
        self._update(self._child.ask({"load": load}))

    def step(self, count: int = 1) -> None:
        check_step_count(count)
        self._update(self._child.ask({"step": count, "pull": self._pull, "wrenches": self._moving_wrenches()}))

    def apply_wrench(self, body: int, wrench: AppliedWrench) -> None:
        """Apply a force and a torque to a body, by its number, until they are replaced."""
        self.wrenches.replace(body, wrench)

    def _moving_wrenches(self) -> list[dict[str, Any]]:
        """The forces and torques on bodies that move, by their numbers among these, with points from their centres."""
        moving = {int(row): number for number, row in enumerate(self._bodies.rows)} if self.wrenches.acting else {}
        return [
            {**row, "body": number, "point": (np.array(row["point"]) - self._bodies.coms[number]).tolist()}
            for row in self.wrenches.rows()
            if (number := moving.get(row["body"])) is not None
        ]

    def _update(self, state: dict[str, Any]) -> None:
        self._time = float(state["time"])
        self.contact_count = int(state["contacts"])
        """The number of contact points in the last step."""
        rows = np.array(state["bodies"], dtype=np.float64).reshape(-1, 13)
        if state["diverged"] is not None:
            lost = self._bodies.moving[state["diverged"]].name
            self.state_problem = StateProblem(f"the motion of {lost!r} diverged in ODE")
            return
        self._poses = self._bodies.poses(rows[:, :7])
        self._twists = rows[:, 7:]
        near = self._positions.copy()
        for coordinate, joint, axis in self._joints.coordinates:
            near[coordinate] = state["tracks"][joint][axis]
        self._positions = self._inverse_kinematics.positions(self._poses, near)

    @property
    def time(self) -> float:
        return self._time

    @property
    def positions(self) -> Array:
        """The scene's coordinates, from the poses of the bodies; whole turns are counted."""
        return self._positions.copy()

    @property
    def velocities(self) -> Array:
        return self._inverse_kinematics.velocities(self._poses, self.body_velocities)

    @property
    def body_velocities(self) -> Array:
        """The angular velocity and that of the origin of each body, `(bodies, 6)`, in world axes."""
        return self._bodies.origin_twists(self._poses, self._twists)

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

    def measure(self) -> dict[int, tuple[float | None, float]]:
        """ODE's own joint coordinates by number: position (None if ODE does not know it) and rate."""
        answer = self._child.ask({"measure": True})["joints"]
        return {
            coordinate: (answer[joint]["positions"][axis], answer[joint]["rates"][axis])
            for coordinate, joint, axis in self._joints.coordinates
        }

    @property
    def contacts(self) -> list[Contact]:
        """The contacts of the last step.  Forces between sleeping bodies are 0."""
        return contacts_from_rows(self.bodies, self._child.ask({"contacts": True})["contacts"])

    # --- pulling with the mouse -----------------------------------------------------------------------

    def pull(self, body: int, point: Array, target: Array) -> None:
        """Pull a point of a body (its number and frame, m) to a target in the world, until `release`.

        The spring fits the mass of the body alone, without connected bodies.
        """
        found = np.flatnonzero(self._bodies.rows == body)
        if found.size:
            own = np.asarray(point) - self._bodies.coms[found[0]]
            self._pull = {"body": int(found[0]), "point": own.tolist(), "target": np.asarray(target).tolist()}

    def pull_force(self, body: int) -> Array | None:
        """None: the process of ODE does not report it."""
        return None

    def release(self) -> None:
        """Stop pulling."""
        self._pull = None

    def close(self) -> None:
        self._child.close()


ODE = Engine(
    "ode",
    "ODE",
    package="panda3d",
    install="pip install 'exoskel[ode]'",
    limitations="screw, euler, planar and translational joints; hinge2 joints to static bodies; springs on ball and "
    "free joints; stops beyond half a revolution; capsule-cylinder contacts; soft skins; single precision, in its own "
    "process",
    capabilities=EngineCapabilities(
        unsupported_joints=frozenset({"screw", "euler", "translational", "translational2d", "planar"}),
        sleeping_bodies=True,
        invalid_inertia=InvalidInertia.REFUSED,
        keeps_actuator_velocity=True,
    ),
    start=OdeWorld,
)
