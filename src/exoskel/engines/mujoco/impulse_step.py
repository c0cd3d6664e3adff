"""A time step in two stages, as in DART: springs and dampers, then impulses of joint friction, limits and servos.

The first stage is implicit: the inertia of a coordinate includes `h d + h² k`.  The impulses of the second act on the
plain inertia.  MuJoCo solves both together, on the inertia of the first stage.  Here MuJoCo computes inertia and bias
forces, `ImpulseStep` the accelerations, and MuJoCo takes the step with the forces that result in them.  For trees of
bodies with contacts or equality constraints, MuJoCo's solver replaces the second stage: see `step_model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.engines.mujoco.step_model import CONSTRAINT_MIXING, StepModel
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoints
from exoskel.scene.joint import PRESCRIBED_ACTUATORS, Dof, Joint
from exoskel.spatial import Array, Indices, Mask

MAX_RETURN_SPEED = 10.0
"""The speed at which DART returns a joint beyond a limit into its range, m/s or rad/s."""
BLOCK_SIZE = 32
"""Trees are solved together up to this number of degrees of freedom."""
ROUNDING = 1e-14
"""The relative error up to which a number satisfies a bound."""
PATIENCE = 10
"""Iterations without progress after which `solve_boxed_lcp` changes one variable at a time."""


_Rows = tuple[Indices, Array, Array, Array]
"""Constraints: places in a block, wanted changes of velocity, lower and upper bounds of impulses."""
_NO_ROWS: _Rows = (np.empty(0, dtype=np.intp), np.empty(0), np.empty(0), np.empty(0))


# --- the step ------------------------------------------------------------------------------------------


class JointValues(Struct):
    """Springs, dampers and friction of the coordinates of one world, `(nv)`, or of many, `(worlds, nv)`."""

    damping: Array
    stiffness: Array
    rest: Array
    friction: Array

    def of(self, number: int) -> JointValues:
        """The values of one of many worlds."""
        every = (self.damping, self.stiffness, self.rest, self.friction)
        return JointValues(*(values[number] if values.ndim > 1 else values for values in every))


class JointInputs(Struct, frozen=True):
    """Forces and commands that act for some steps, `(nv)`.

    `forces` are the scene's, and given only if they have to be converted in each step: those of ball and free joints.
    """

    applied: Array
    commands: Array
    forces: Array | None


class EnforcedLimits(Struct, frozen=True):
    """Lower and upper limits of positions and velocities, `(2, nv)`; infinite where they are not enforced."""

    positions: Array
    velocities: Array


class _Block(Struct, frozen=True):
    """Some trees: their degrees of freedom, where MuJoCo stores their inertia, and which of them are free.

    `own` are the free ones among all degrees of freedom.  `square`, `free_square` and `coupling` select the rows and
    columns of matrices: of all degrees of freedom, of the free ones, and of the free ones with the prescribed ones.
    """

    dofs: Indices
    rows: Indices
    columns: Indices
    entries: Indices
    free: Indices
    prescribed: Indices
    own: Indices
    square: tuple[Indices, ...]
    free_square: tuple[Indices, ...]
    coupling: tuple[Indices, ...]
    is_rotational: bool
    is_constrained: bool
    has_limits: bool
    has_servos: bool

    def inertia(self, data: Any) -> Array:
        """The joint-space inertia."""
        out = np.zeros((len(self.dofs), len(self.dofs)))
        out[self.rows, self.columns] = out[self.columns, self.rows] = data.M[self.entries]
        return out


class _State(Struct, frozen=True):
    """What the accelerations of a step follow from, `(nv)`.

    `prescribed` are the accelerations of prescribed joints, `felt` those that others react to: a locked joint stops
    without a reaction.  `change` is the matrix from the scene's velocities to MuJoCo's; None for the identity.  The
    friction, limits and servos of joints that are `solved` are computed by MuJoCo's solver.
    """

    positions: Array
    velocities: Array
    prescribed: Array
    felt: Array
    commands: Array
    values: JointValues
    change: Array | None
    solved: Mask
    braking: list[_Brake]


class _Brake(Struct, frozen=True):
    """What changes below a body when a locked joint above it stops: the forces on these degrees of freedom, `(nv)`."""

    below: Mask
    forces: Array


class ImpulseStep:
    """Steps a world, or copies of it with other `JointValues`.

    Arrays are `(nv)`, ordered like MuJoCo's degrees of freedom.  The coordinates are the scene's: those of ball and
    free joints are rotated relative to MuJoCo's.
    """

    def __init__(self, compiled: CompiledWorld, limits: bool | None = None) -> None:
        self._mujoco = mujoco_import.load()
        self.compiled = compiled
        count = int(compiled.model.nv)
        self._step_size = float(compiled.model.opt.timestep)
        self.values = JointValues(*(np.zeros(count) for _ in range(4)))
        self._servo, self._limited = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        unlimited = np.array([[-np.inf], [np.inf]]).repeat(count, axis=1)
        self._position_limits, self._velocity_limits, self._force_limits = (unlimited.copy() for _ in range(3))
        self._scene, self._addresses = self._find_addresses()
        self._read_joints(limits)
        self._velocity = self._to_mujoco(compiled.actuation.velocity)
        self._acceleration = self._to_mujoco(compiled.actuation.acceleration)
        self._rotational_servo = np.zeros(count, dtype=bool)
        """Servos of ball and free joints, for which MuJoCo has no constraint."""
        for group in compiled.coordinates.rotational:
            self._rotational_servo[group.qvel] = self._servo[group.qvel]
        self._locked = self._to_mujoco(compiled.actuation.locked)
        self._prescribed = self._velocity | self._acceleration | self._locked
        self._servo_motors = self._find_servo_motors()
        self._has_velocity, self._has_locked = bool(self._velocity.any()), bool(self._locked.any())
        self._rotational_groups: list[RotationalJoints] = []
        self._placed: set[int] = set()
        self._blocks: list[_Block] = []
        self._set_blocks(self.values)

    @property
    def enforced_limits(self) -> EnforcedLimits:
        unlimited = np.array([[-np.inf], [np.inf]])
        chosen = (np.where(self._limited, one, unlimited) for one in (self._position_limits, self._velocity_limits))
        return EnforcedLimits(*chosen)

    def _find_addresses(self) -> tuple[Indices, Indices]:
        """The numbers of the scene's coordinates that MuJoCo has, and of its degrees of freedom for them."""
        coordinates = self.compiled.coordinates
        scene = [coordinates.scene, *(group.scene.ravel() for group in coordinates.rotational)]
        addresses = [coordinates.qvel, *(group.qvel.ravel() for group in coordinates.rotational)]
        return np.concatenate(scene), np.concatenate(addresses)

    def _to_mujoco(self, values: Any) -> Any:
        """The scene's values in MuJoCo's order; zero where the scene has no coordinate."""
        out = np.zeros(self.compiled.model.nv, dtype=values.dtype)
        out[self._addresses] = values[self._scene]
        return out

    def _read_joints(self, limits: bool | None) -> None:
        addresses = dict(zip(self._scene.tolist(), self._addresses.tolist(), strict=True))
        first = 0
        for joint in self.compiled.world.joints():
            for number, dof in enumerate((joint._dofs or [])[: joint.dof_count], first):
                if number in addresses:
                    self._read_dof(joint, dof, addresses[number], limits)
            if joint.actuator == "servo":
                own = [addresses[n] for n in range(first, first + joint.dof_count) if n in addresses]
                self._servo[own] = True
            first += joint.dof_count

    def _read_dof(self, joint: Joint, dof: Dof, at: int, limits: bool | None) -> None:
        values = self.values
        values.damping[at], values.stiffness[at], values.rest[at] = dof.damping, dof.stiffness, dof.rest
        self._velocity_limits[:, at], self._force_limits[:, at] = dof.velocity_limits, dof.force_limits
        self._position_limits[:, at] = dof.position_limits
        if joint.actuator not in PRESCRIBED_ACTUATORS:
            values.friction[at] = dof.friction
            self._limited[at] = joint.limits_enforced if limits is None else limits

    def _set_blocks(self, values: JointValues) -> None:
        """Group the trees in which something has to be computed here, and find the joints with axes of their own."""
        model = self.compiled.model
        concerned = self._prescribed | self._servo | self._limited
        for one in (values.damping, values.stiffness, values.friction):
            concerned |= _any_world(one)
        self._rotational_groups = [
            group for group in self.compiled.coordinates.rotational if concerned[group.qvel].any()
        ]
        depends = self._servo | self._limited | _any_world(values.stiffness)
        self._placed = {id(group) for group in self._rotational_groups if depends[group.qvel].any()}
        trees = np.asarray(model.dof_treeid)
        blocks: list[list[int]] = []
        for tree in np.unique(trees[concerned]).tolist():
            dofs = np.flatnonzero(trees == tree).tolist()
            if blocks and len(blocks[-1]) + len(dofs) <= BLOCK_SIZE:
                blocks[-1] += dofs
            else:
                blocks.append(dofs)
        constrained = self._servo | self._limited | _any_world(values.friction)
        self._blocks = [self._build_block(np.array(dofs, dtype=np.intp), constrained) for dofs in blocks]

    def _build_block(self, dofs: Indices, constrained: Mask) -> _Block:
        model = self.compiled.model
        place = {int(dof): i for i, dof in enumerate(dofs)}
        rows: list[int] = []
        columns: list[int] = []
        entries: list[int] = []
        for dof in dofs.tolist():
            begin = int(model.M_rowadr[dof])
            for entry in range(begin, begin + int(model.M_rownnz[dof])):
                rows.append(place[dof])
                columns.append(place[int(model.M_colind[entry])])
                entries.append(entry)
        prescribed = self._prescribed[dofs]
        free, driven = np.flatnonzero(~prescribed), np.flatnonzero(prescribed)
        return _Block(
            dofs,
            rows=np.array(rows, dtype=np.intp),
            columns=np.array(columns, dtype=np.intp),
            entries=np.array(entries, dtype=np.intp),
            free=free,
            prescribed=driven,
            own=dofs[free],
            square=np.ix_(dofs, dofs),
            free_square=np.ix_(free, free),
            coupling=np.ix_(free, driven),
            is_rotational=any(bool(np.isin(group.qvel, dofs).any()) for group in self._rotational_groups),
            is_constrained=bool(constrained[dofs].any()),
            has_limits=bool(self._limited[dofs[free]].any()),
            has_servos=bool(self._servo[dofs[free]].any()),
        )

    def varied_values(self, friction: Array, fields: Mapping[str, Array | None]) -> JointValues:
        """The values of many worlds, from their joint friction and their fields of MuJoCo's model that vary."""
        model, own = self.compiled.model, self.values
        coordinates = self.compiled.coordinates
        rest, joints = own.rest, np.asarray(model.dof_jntid)
        damping = _replace(own.damping, model.dof_damping, fields["dof_damping"])
        stiffness = fields["jnt_stiffness"]
        stiffness = None if stiffness is None else stiffness[:, joints]
        springs = fields["qpos_spring"]
        if springs is not None:
            rest = np.broadcast_to(rest, (len(springs), model.nv)).copy()
            rest[:, coordinates.qvel] = springs[:, coordinates.qpos]
        out = JointValues(
            damping,
            _replace(own.stiffness, model.jnt_stiffness[joints], stiffness),
            rest,
            _replace(own.friction, self.compiled.stated_friction, friction),
        )
        self._set_blocks(out)
        return out

    def spring_energy(self, positions: Array, values: JointValues | None = None) -> Array:
        """The energy of the springs at the scene's positions, J; positions and values may be those of many worlds."""
        values = values or self.values
        stiffness, rest = (one[..., self._addresses] for one in (values.stiffness, values.rest))
        return np.asarray(0.5 * np.sum(stiffness * (positions[..., self._scene] - rest) ** 2, axis=-1))

    # --- stepping -------------------------------------------------------------------------------------

    def prepare(self, model: Any, friction: Array) -> StepModel:
        """A copy of a model for `step`: springs and dampers are computed here."""
        bounded = np.zeros(len(friction), dtype=bool)
        bounded[self.compiled.coordinates.qvel] = True
        bounded &= self._limited & np.isfinite(self._velocity_limits).any(axis=0)
        return StepModel(model, friction, bounded)

    def inputs(self, forces: Array, commands: Array) -> JointInputs:
        """Forces and commands of the scene, for any number of steps."""
        actuation, coordinates = self.compiled.actuation, self.compiled.coordinates
        total = forces + actuation.commanded_forces(commands)
        rotates = bool(total[self.compiled.rotating_coordinates].any())
        applied = coordinates.forces(self.compiled.model.qpos0, total)
        return JointInputs(applied, self._to_mujoco(actuation.clipped(commands)), total if rotates else None)

    @np.errstate(all="ignore")  # a motion that diverges is reported by MuJoCo
    def step(
        self, step_model: StepModel, data: Any, inputs: JointInputs, coasts: bool, values: JointValues | None = None
    ) -> None:
        """Advance by one step; `step_model` is from `prepare`.

        If it `coasts`, joints with a velocity actuator keep their velocity, whatever the command.
        """
        mujoco, model = self._mujoco, step_model.model
        self._set_servo_speeds(data, inputs.commands)
        solved = step_model.begin(data)
        braking: list[_Brake] = []
        if self._has_locked and data.qvel[self._locked].any():
            data.cdof_dot[self._locked] = 0.0
            mujoco.mj_rne(model, data, 0, data.qfrc_bias)
            braking = self._brakes(model, data)
        applied = inputs.applied
        if inputs.forces is not None:
            applied = self.compiled.coordinates.forces(data.qpos, inputs.forces)
        data.qfrc_applied[:] = applied
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        state = self._state(data, inputs.commands, coasts, values or self.values, solved, braking)
        smooth = data.qfrc_smooth.copy()
        for block in self._blocks:
            data.qfrc_applied[block.dofs] += self._force(block, data, smooth[block.dofs], state)
        if step_model.limits_velocities(data):
            step_model.limit_velocities(data, *self._velocity_bounds(state.positions, slice(None)), self._step_size)
        mujoco.mj_step2(model, data)
        data.qfrc_applied[:] = applied
        if self._has_locked:
            data.qvel[self._locked] = 0.0  # a rounding error would brake in the next step, too

    def _find_servo_motors(self) -> tuple[Indices, Indices, Indices]:
        """The degrees of freedom of flywheels, of their joints, and the addresses of the positions of these."""
        coordinates = self.compiled.coordinates
        places = dict(zip(coordinates.scene.tolist(), range(len(coordinates.scene)), strict=True))
        found = [(wheel, places[number]) for number, wheel in self.compiled.actuation.flywheels if number in places]
        wheels, own = np.array(found, dtype=np.intp).reshape(-1, 2).T
        return wheels, np.asarray(coordinates.qvel)[own], np.asarray(coordinates.qpos)[own]

    def _set_servo_speeds(self, data: Any, commands: Array) -> None:
        """Let the motors of servos, which act in contact, aim at positions within the limits."""
        wheels, dofs, places = self._servo_motors
        if len(wheels):
            allowed = (self._position_limits[:, dofs] - data.qpos[places]) / self._step_size
            data.qvel[wheels] = np.clip(commands[dofs], *allowed)

    def _state(
        self,
        data: Any,
        wanted: Array,
        coasts: bool,
        values: JointValues,
        solved: Mask,
        braking: list[_Brake],
    ) -> _State:
        positions, velocities, change = self._coordinates(data)
        felt = np.where(self._acceleration, wanted, 0.0)
        if self._has_velocity and not coasts:
            felt = np.where(self._velocity, (wanted - velocities) / self._step_size, felt)
        prescribed = np.where(self._locked, -velocities / self._step_size, felt) if self._has_locked else felt
        return _State(positions, velocities, prescribed, felt, wanted, values, change, solved, braking)

    def _brakes(self, model: Any, data: Any) -> list[_Brake]:
        """The effect of locked joints that stop in this step, one for each body that moves below them.

        DART stops them between two passes of its algorithm: bodies below are accelerated by the Coriolis acceleration
        of their parents without the locked joints, but their forces contain that of the moving ones.
        """
        twists = data.cdof * data.qvel[:, None]
        found: list[_Brake] = []
        stopped: dict[int, Array] = {0: np.zeros(6)}  # the velocity of each body that is due to locked joints
        for body in range(1, model.nbody):
            first, count = int(model.body_dofadr[body]), int(model.body_dofnum[body])
            own = range(first, first + count)
            above = stopped[int(model.body_parentid[body])]
            is_locked = any(self._locked[dof] for dof in own)
            stopped[body] = above + sum((twists[dof] for dof in own), np.zeros(6)) if is_locked else above
            if count and above.any() and not is_locked:
                lost = -_motion_cross(above, np.sum([twists[dof] for dof in own], axis=0))
                found.append(self._brake(model, data, body, lost))
        return found

    def _brake(self, model: Any, data: Any, body: int, acceleration: Array) -> _Brake:
        """The forces on all joints below a body that is accelerated."""
        is_below = np.zeros(model.nbody, dtype=bool)
        for other in range(body + 1, model.nbody):
            parent = int(model.body_parentid[other])
            is_below[other] = parent == body or is_below[parent]
        below = is_below[model.dof_bodyid]
        forces = np.zeros(model.nv)
        for dof in np.flatnonzero(below):
            forces[dof] = data.cdof[dof] @ _inertia_times(data.crb[model.dof_bodyid[dof]], acceleration)
        return _Brake(below, forces)

    def _coordinates(self, data: Any) -> tuple[Array, Array, Array | None]:
        """The scene's positions and velocities, and the matrix from these velocities to MuJoCo's, `(nv, nv)`.

        The matrix is None for the identity.  Joints without forces, limits or actuators keep MuJoCo's coordinates.
        Ball and free joints have positions only if springs, limits or servos depend on them.
        """
        coordinates, qpos, qvel = self.compiled.coordinates, data.qpos, data.qvel
        if len(qpos) == len(qvel):  # neither ball nor free joints
            return qpos, qvel, None
        positions = np.zeros(len(qvel))
        positions[coordinates.qvel] = qpos[coordinates.qpos]
        if not self._rotational_groups:
            return positions, qvel, None
        velocities, change = qvel.copy(), np.eye(len(qvel))
        own = np.zeros(coordinates.count)
        for group in self._rotational_groups:
            if id(group) in self._placed:
                group.positions(qpos, own)
                positions[group.qvel] = own[group.scene]
            blocks = group.velocity_blocks(qpos)
            velocities[group.qvel] = group.scene_velocities(blocks, qvel[group.qvel])
            change[group.qvel[:, :, None], group.qvel[:, None, :]] = blocks
        return positions, velocities, change

    def _force(self, block: _Block, data: Any, smooth: Array, state: _State) -> Array:
        """The forces to add to those of MuJoCo for the accelerations of DART."""
        inertia = block.inertia(data)
        try:
            if state.change is None or not block.is_rotational:
                return inertia @ self._accelerations(block, inertia, smooth, state) - smooth
            change = state.change[block.square]
            wanted = self._accelerations(block, change.T @ inertia @ change, change.T @ smooth, state)
        except np.linalg.LinAlgError:
            return np.full(len(block.dofs), np.nan)
        return inertia @ (change @ wanted) - smooth

    def _accelerations(self, block: _Block, inertia: Array, smooth: Array, state: _State) -> Array:
        """The accelerations of a block, in the scene's coordinates."""
        h, values = self._step_size, state.values
        out: Array = state.prescribed[block.dofs]
        if not len(block.free):
            return out
        own = block.own
        damping, stiffness = values.damping[own], values.stiffness[own]
        positions, velocities = state.positions[own], state.velocities[own]
        force = smooth[block.free] - stiffness * (positions + h * velocities - values.rest[own]) - damping * velocities
        plain = inertia
        if len(block.prescribed):
            felt = state.felt[block.dofs[block.prescribed]]
            force -= inertia[block.coupling] @ felt
            plain = inertia[block.free_square]
        implicit = plain.copy()
        implicit.ravel()[:: len(own) + 1] += h * damping + h * h * stiffness
        accelerations = np.linalg.solve(implicit, force)
        for brake in state.braking:
            accelerations += self._braking_acceleration(block, implicit, brake, state.change)
        if block.is_constrained:
            accelerations += self._velocity_change(block, plain, velocities + h * accelerations, state) / h
        out[block.free] = accelerations
        return out

    def _braking_acceleration(self, block: _Block, implicit: Array, brake: _Brake, change: Array | None) -> Array:
        out = np.zeros(len(block.own))
        at = np.flatnonzero(brake.below[block.own])
        if len(at):
            forces = brake.forces if change is None else change.T @ brake.forces
            out[at] = np.linalg.solve(implicit[np.ix_(at, at)], -forces[block.own[at]])
        return out

    # --- impulses -------------------------------------------------------------------------------------

    def _velocity_change(self, block: _Block, inertia: Array, velocities: Array, state: _State) -> Array:
        """What friction, limits and servos do to velocities: impulses on the plain inertia."""
        own = block.own
        limits = self._limit_rows(own, velocities, state) if block.has_limits else _NO_ROWS
        rows = [limits, self._friction_rows(own, velocities, state)]
        if block.has_servos:
            rows.append(self._servo_rows(own, velocities, state, limits[0]))
        rows = [row for row in rows if len(row[0])]
        if not rows:
            return np.zeros(len(own))
        at, wanted, low, high = rows[0]
        if len(rows) > 1:
            at = np.concatenate([row[0] for row in rows])
            wanted, low, high = (np.concatenate([row[i] for row in rows]) for i in (1, 2, 3))
        selected = np.zeros((len(own), len(at)))
        selected[at, np.arange(len(at))] = 1.0
        response: Array = np.asarray(np.linalg.solve(inertia, selected), dtype=np.float64)
        matrix = response[at]
        matrix.ravel()[:: len(at) + 1] *= 1.0 + CONSTRAINT_MIXING
        change: Array = response @ solve_boxed_lcp(matrix, wanted, low, high)
        return change

    def _friction_rows(self, own: Indices, velocities: Array, state: _State) -> _Rows:
        """Friction brakes what moves."""
        friction = state.values.friction[own]
        at = np.flatnonzero((friction != 0.0) & (velocities != 0.0) & ~state.solved[own])
        bound = friction[at] * self._step_size
        return at, -velocities[at], -bound, bound

    def _servo_rows(self, own: Indices, velocities: Array, state: _State, at_limits: Indices) -> _Rows:
        """A servo aims at positions within the limits, enforced or not, and is off where a limit acts."""
        allowed = (self._position_limits[:, own] - state.positions[own]) / self._step_size
        wanted = np.clip(state.commands[own], *allowed) - velocities
        is_active = np.where(state.solved, self._rotational_servo, self._servo)[own] & (wanted != 0.0)
        is_active[at_limits] = False
        at = np.flatnonzero(is_active)
        low, high = self._force_limits[:, own[at]] * self._step_size
        return at, wanted[at], low, high

    def _limit_rows(self, own: Indices, velocities: Array, state: _State) -> _Rows:
        """The next position stays within the limits; one beyond them returns."""
        low, high = self._position_limits[:, own] - state.positions[own]
        lower, upper = self._velocity_bounds(state.positions, own)
        is_low = (low > 0.0) | ((high >= 0.0) & (velocities < lower))
        is_high = ~is_low & ((high < 0.0) | (velocities > upper))
        at = np.flatnonzero(self._limited[own] & (is_low | is_high) & ~state.solved[own])
        pushes_up = is_low[at]
        wanted = np.where(pushes_up, lower[at], upper[at]) - velocities[at]
        return at, wanted, np.where(pushes_up, 0.0, -np.inf), np.where(pushes_up, np.inf, 0.0)

    def _velocity_bounds(self, positions: Array, own: Indices | slice) -> tuple[Array, Array]:
        """The velocities with which joints stay within their limits, or return to them."""
        low, high = (self._position_limits[:, own] - positions[own]) / self._step_size
        slowest, fastest = self._velocity_limits[:, own]
        lower = np.where(low > 0.0, np.minimum(low, MAX_RETURN_SPEED), np.maximum(slowest, low))
        upper = np.where(high < 0.0, np.maximum(high, -MAX_RETURN_SPEED), np.minimum(fastest, high))
        return lower, upper


def _any_world(values: Array) -> Mask:
    """Which values are not zero in at least one world, `(nv)`."""
    return np.asarray((values != 0.0).reshape(-1, values.shape[-1]).any(axis=0))


def _replace(own: Array, before: Array, after: Array | None) -> Array:
    """The own values, except where others changed."""
    return own if after is None else np.where(after != before, after, own)


def _motion_cross(velocity: Array, motion: Array) -> Array:
    """The rate of change of a motion vector (rotation first) that is carried along with a spatial velocity."""
    spin, speed = velocity[:3], velocity[3:]
    return np.concatenate([np.cross(spin, motion[:3]), np.cross(spin, motion[3:]) + np.cross(speed, motion[:3])])


def _inertia_times(inertia: Array, motion: Array) -> Array:
    """MuJoCo's spatial inertia (six moments, mass times centre, mass) times a motion vector."""
    xx, yy, zz, xy, xz, yz = inertia[:6]
    moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    centre, mass = inertia[6:9], inertia[9]
    spin, speed = motion[:3], motion[3:]
    return np.concatenate([moments @ spin + np.cross(centre, speed), mass * speed - np.cross(centre, spin)])


def solve_boxed_lcp(matrix: Array, wanted: Array, low: Array, high: Array) -> Array:
    """The x within bounds for which `matrix @ x` is as wanted, or beyond it where a bound holds x back.

    `matrix` is symmetric and positive definite, so that there is one solution.  Block principal pivoting: guess which x
    are at their bounds, solve for the others, and correct the guess.
    """
    if len(wanted) == 1:
        single: Array = np.clip(wanted / matrix[0], low, high)
        return single
    alone = wanted / matrix.diagonal()
    side = (alone > high).astype(np.int8) - (alone < low)
    fewest, patience = len(wanted) + 1, PATIENCE
    out = np.zeros(len(wanted))
    for _ in range(100 * len(wanted) + 100):
        free = side == 0
        out = np.where(side < 0, low, np.where(side > 0, high, 0.0))
        if free.any():
            out[free] = np.linalg.solve(matrix[np.ix_(free, free)], (wanted - matrix @ out)[free])
        excess = matrix @ out - wanted
        beyond = ROUNDING * np.abs(out).max()
        is_outside = (out < low - beyond) | (out > high + beyond)
        wrong = np.where(free, is_outside, side * excess > ROUNDING * np.abs(wanted).max())
        count = int(wrong.sum())
        if not count:
            break
        if count < fewest:
            fewest, patience = count, PATIENCE
        elif patience:
            patience -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        side = np.where(wrong, np.where(free, np.where(out < low, -1, 1), 0), side)
    return np.clip(out, low, high)
