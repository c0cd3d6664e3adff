"""Inverse kinematics: joint positions with which bodies are at given poses, within the limits of the joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import Body
from exoskel.scene.item import UnknownNameError, not_found_message, qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import Pose
from exoskel.scene.world import SceneLike, World, as_scene
from exoskel.simulate.options import check_positive, numbers, vector3, whole_number
from exoskel.spatial import Array, Indices

_STEP = 1e-6
_MOST_ITERATIONS = 200


class IKSolution(Struct, frozen=True, eq=False):
    """Joint positions of a whole world, `(dofs)`, and how far the bodies are from their targets.

    `distance` (m) and `angle` (rad) are the largest errors; `reached` says whether both are within the tolerance.
    """

    positions: Array
    dof_names: list[str]
    distance: float
    angle: float
    reached: bool

    def __getitem__(self, name: str) -> float:
        """The position of a degree of freedom."""
        if name not in self.dof_names:
            raise UnknownNameError(not_found_message(name, self.dof_names, "joint", "the solution"))
        return float(self.positions[self.dof_names.index(name)])

    def __repr__(self) -> str:
        state = "reached" if self.reached else "not reached"
        return f"IKSolution({state}, distance={self.distance:.3g} m, angle={self.angle:.3g} rad)"


def ik(
    world: SceneLike,
    targets: Mapping[str, Pose | ArrayLike] | Mapping[Body, Pose | ArrayLike],
    *,
    start: ArrayLike | Mapping[str, float] | None = None,
    limits: bool = True,
    tolerance: float = 1e-6,
    attempts: int = 10,
    seed: int = 0,
) -> IKSolution:
    """Joint positions with which bodies are at given poses in the world, and within the limits of their joints.

    `targets` are poses by the body, its name or its path: a `Pose`, a 4x4 matrix, or a position (3 numbers) that
    leaves the rotation free.  The search begins at `start` (default: the initial positions), which is a number for each
    degree of freedom, or numbers by name.  Other joints stay there.
    If it ends elsewhere, it begins again at random positions, up to `attempts` times; `seed` makes these reproducible.
    `tolerance` is in m and rad.  The nearest solution is returned, whether the targets are reached or not.
    """
    if not isinstance(targets, Mapping):
        raise ExoskelError(f"the targets are {targets!r}, but must be a dict of bodies and poses")
    check_positive("the tolerance", tolerance)
    attempts = whole_number("attempts", attempts, 1)
    return _PoseSearch(as_scene(world).world, targets, limits).solve(start, tolerance, attempts, seed)


class _Goal(Struct, frozen=True):
    """Where a body has to be; without a rotation, only its position counts."""

    body: int
    position: Array
    rotation: Array | None


class _PoseSearch:
    def __init__(self, world: World, targets: Mapping[Any, Pose | ArrayLike], limits: bool) -> None:
        self.world = world
        self.kinematics = Kinematics(world.models)
        self.names = [name for model in world.models for name in model.dof_names]
        self.goals = [self._goal(name, target) for name, target in targets.items()]
        if not self.goals:
            raise ExoskelError("inverse kinematics needs at least one target")
        self.low, self.high = self._bounds(limits)
        self.followers = self._followers()
        self.free = self._free()

    # --- what is given --------------------------------------------------------------------------------

    def _goal(self, body: Body | str, target: Any) -> _Goal:
        number = self._number(body)
        name = body.name if isinstance(body, Body) else body
        if isinstance(target, Pose):
            matrix = target.matrix()
            return _Goal(number, matrix[:3, 3], matrix[:3, :3])
        if np.shape(target) == (4, 4):
            values = numbers(f"the target of body {name!r}", target)
            rotation = values[:3, :3]
            if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-6 or np.linalg.det(rotation) < 0.0:
                raise ExoskelError(f"the target of body {name!r} is a matrix whose upper left part is not a rotation")
            return _Goal(number, values[:3, 3], rotation)
        return _Goal(number, vector3(f"the target of body {name!r}", target), None)

    def _number(self, body: Body | str) -> int:
        """The number of a body in the world."""
        own = [(model, one) for model in self.world.models for one in model.bodies]
        if not isinstance(body, str):
            same = [number for number, (_, one) in enumerate(own) if one is body]
            if not same:
                raise UnknownNameError(f"{body!r} is not in world {self.world.name!r}")
            return same[0]
        names = [(qualified_name(model.name, one.name), one.name) for model, one in own]
        found = [number for number, both in enumerate(names) if body in both]
        if len(found) > 1:
            raise UnknownNameError(f"{len(found)} models have a body called {body!r}; use model/body")
        if not found:
            known = [path if "/" in body else plain for path, plain in names]
            raise UnknownNameError(not_found_message(body, known, "body", f"world {self.world.name!r}"))
        return found[0]

    def _bounds(self, limits: bool) -> tuple[Array, Array]:
        dofs = [dof for joint in self._joints() for dof in joint.dofs]
        rows = np.array([dof.position_limits for dof in dofs], dtype=np.float64).reshape(-1, 2)
        return (rows[:, 0], rows[:, 1]) if limits else (np.full(len(rows), -np.inf), np.full(len(rows), np.inf))

    def _joints(self) -> list[Joint]:
        return [joint for joint in self.world.joints() if not joint.loop]

    def _followers(self) -> list[tuple[int, int, float, float]]:
        """Degrees of freedom that mimic others: their number, that of the other, multiplier and offset."""
        out: list[tuple[int, int, float, float]] = []
        first = 0
        for model in self.world.models:
            numbers: dict[str, int] = {}
            for joint in (one for one in model.joints if not one.loop):
                numbers[joint.name] = first
                first += joint.dof_count
            for joint in (one for one in model.joints if not one.loop and one.mimic is not None):
                assert joint.mimic is not None
                other = numbers.get(joint.mimic.joint)
                if other is not None and joint.dof_count:
                    out.append((numbers[joint.name], other, joint.mimic.multiplier, joint.mimic.offset))
        return out

    def _free(self) -> Indices:
        """The degrees of freedom that move a target: those above it that are neither locked, static nor followers."""
        static = {id(joint) for model in self.world.models if model.static for joint in model.joints}
        joints, known = self._joints(), self.kinematics
        above = {int(child): number for number, child in enumerate(known.child)}
        wanted: set[int] = set()
        for goal in self.goals:
            body = goal.body
            while body in above and above[body] not in wanted:
                wanted.add(above[body])
                body = int(known.parent[above[body]])
        wanted |= {self._joint_of(other) for number, other, *_ in self.followers if self._joint_of(number) in wanted}
        self._refuse_loops({id(joints[number].child) for number in wanted})
        follow = {number for number, *_ in self.followers}
        return np.array(
            [
                dof
                for number in sorted(wanted)
                if id(joints[number]) not in static and joints[number].actuator != "locked"
                for dof in range(int(known.first_dof[number]), int(known.first_dof[number + 1]))
                if dof not in follow
            ],
            dtype=np.intp,
        )

    def _joint_of(self, dof: int) -> int:
        return int(np.searchsorted(self.kinematics.first_dof, dof, side="right")) - 1

    def _refuse_loops(self, bodies: set[int]) -> None:
        for joint in self.world.joints():
            if joint.loop and {id(joint.child), id(joint.parent)} & bodies:
                raise ExoskelError(f"joint {joint.name!r} closes a loop; inverse kinematics supports trees only")

    # --- the search -----------------------------------------------------------------------------------

    def _start(self, start: ArrayLike | Mapping[str, float] | None) -> Array:
        """The positions at which the search begins."""
        first = np.array(self.kinematics.initial, dtype=np.float64)
        if isinstance(start, Mapping):
            for name, value in start.items():
                if name not in self.names:
                    raise UnknownNameError(not_found_message(name, self.names, "joint", f"world {self.world.name!r}"))
                first[self.names.index(name)] = numbers(f"the start of {name!r}", value)
        elif start is not None:
            first = np.array(numbers("the start", start))
        if first.shape != (len(self.names),):
            raise ExoskelError(f"the start must be {len(self.names)} finite numbers, not {start!r}")
        return first

    def solve(
        self, start: ArrayLike | Mapping[str, float] | None, tolerance: float, attempts: int, seed: int
    ) -> IKSolution:
        first = self._start(start)
        rng = np.random.default_rng(seed)
        best: tuple[float, Array] | None = None
        for attempt in range(attempts):
            q = self._allowed(first if attempt == 0 else self._random(first, rng))
            q = self._descend(q, tolerance)
            error = max(self._errors(q))
            if best is None or error < best[0]:
                best = error, q
            if error <= tolerance or not len(self.free):
                break
        assert best is not None
        distance, angle = self._errors(best[1])
        return IKSolution(best[1], self.names, distance, angle, max(distance, angle) <= tolerance)

    def _random(self, first: Array, rng: np.random.Generator) -> Array:
        q = first.copy()
        low, high = (np.where(np.isfinite(b), b, first + s * np.pi) for b, s in ((self.low, -1), (self.high, 1)))
        q[self.free] = rng.uniform(low[self.free], high[self.free])
        return q

    def _allowed(self, q: Array) -> Array:
        """Positions within the limits, with joints that mimic others where these put them."""
        out = q.copy()
        out[self.free] = np.clip(out[self.free], self.low[self.free], self.high[self.free])
        for number, other, multiplier, offset in self.followers:
            out[number] = multiplier * out[other] + offset
        return out

    def _residual(self, q: Array) -> Array:
        """Differences of positions, and rotation vectors from the target, of all goals."""
        poses = self.kinematics.poses(q)
        parts: list[Array] = []
        for goal in self.goals:
            parts.append(poses[goal.body, :3, 3] - goal.position)
            if goal.rotation is not None:
                parts.append(spatial.log(goal.rotation.T @ poses[goal.body, :3, :3]))
        return np.concatenate(parts)

    def _errors(self, q: Array) -> tuple[float, float]:
        poses = self.kinematics.poses(q)
        distance = max(float(np.linalg.norm(poses[g.body, :3, 3] - g.position)) for g in self.goals)
        rotations = [spatial.log(g.rotation.T @ poses[g.body, :3, :3]) for g in self.goals if g.rotation is not None]
        return distance, max((float(np.linalg.norm(rotation_vector)) for rotation_vector in rotations), default=0.0)

    def _jacobian(self, q: Array) -> Array:
        columns = []
        for dof in self.free:
            ahead, behind = q.copy(), q.copy()
            ahead[dof], behind[dof] = q[dof] + _STEP, q[dof] - _STEP
            for number, other, multiplier, offset in self.followers:
                ahead[number], behind[number] = (multiplier * one[other] + offset for one in (ahead, behind))
            columns.append((self._residual(ahead) - self._residual(behind)) / (2 * _STEP))
        return np.array(columns).T

    def _descend(self, q: Array, tolerance: float) -> Array:
        """Levenberg-Marquardt steps; positions at a limit that would leave it stay."""
        damping = 1e-3
        residual = self._residual(q)
        for _ in range(_MOST_ITERATIONS):
            if not len(self.free) or np.abs(residual).max() <= 0.01 * tolerance:
                break
            jacobian = self._jacobian(q)
            gradient = jacobian.T @ residual
            own = q[self.free]
            stuck = ((own <= self.low[self.free]) & (gradient > 0.0)) | (
                (own >= self.high[self.free]) & (gradient < 0.0)
            )
            moving = np.flatnonzero(~stuck)
            if not len(moving) or np.abs(gradient[moving]).max() < 1e-14:
                break
            found = self._step(q, residual, jacobian[:, moving], moving, damping)
            if found is None:
                break
            q, residual, damping = found
        return q

    def _step(
        self, q: Array, residual: Array, jacobian: Array, moving: Indices, damping: float
    ) -> tuple[Array, Array, float] | None:
        """The next positions, their smaller residual, and the damping; None if no step makes the residual smaller."""
        normal = jacobian.T @ jacobian
        for _ in range(12):
            matrix = normal + damping * np.eye(len(moving))
            change = np.linalg.solve(matrix, -(jacobian.T @ residual))
            trial = q.copy()
            trial[self.free[moving]] += change
            trial = self._allowed(trial)
            after = self._residual(trial)
            if after @ after < (residual @ residual) * (1.0 - 1e-9):
                return trial, after, max(damping / 10.0, 1e-12)
            damping *= 10.0
        return None
