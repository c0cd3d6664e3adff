"""A time step in two stages, as in DART: springs and dampers, then impulses of joint friction, limits and servos.

The first stage is implicit: the inertia of a coordinate includes `h d + h² k`.  The impulses of the second act on the
plain inertia.  MuJoCo solves both together, on the inertia of the first stage.  Here MuJoCo computes inertia and bias
forces, `ImpulseStep` the accelerations, and MuJoCo takes the step with the forces that result in them.  For trees of
bodies with contacts or equality constraints, MuJoCo's solver replaces the second stage: see `step_model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.engines.mujoco.drive_rows import DriveRows, EnforcedLimits, find_springs
from exoskel.engines.mujoco.linear_systems import (
    BoxedProblem,
    Brake,
    ConstraintBlocks,
    InertiaPlaces,
    any_world,
    braking_acceleration,
    find_brakes,
    replace_changed,
)
from exoskel.engines.mujoco.servo_forces import JointValues, ServoForces
from exoskel.engines.mujoco.step_model import CONSTRAINT_MIXING, StepModel
from exoskel.engines.mujoco.truncated_rotations import TruncatedRotations
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoints
from exoskel.scene.actuator import ROTATION_VECTORS
from exoskel.scene.joint import PRESCRIBED_ACTUATORS, Dof, Joint
from exoskel.spatial import Array, Indices, Mask

MAX_RETURN_SPEED = 10.0
"""The speed at which DART returns a joint beyond a limit into its range, m/s or rad/s."""


_Rows = tuple[Indices, Array, Array, Array]
"""Constraints: degrees of freedom, wanted changes of velocity, lower and upper bounds of impulses."""
_NO_ROWS: _Rows = (np.empty(0, dtype=np.intp), np.empty(0), np.empty(0), np.empty(0))
_NO_COLUMNS = np.empty((0, 0))


# --- the step ------------------------------------------------------------------------------------------


class JointInputs(Struct, frozen=True):
    """Forces and commands that act for some steps, `(nv)`.

    `forces` are the scene's, and given only if they have to be converted in each step: those of ball and free joints.
    """

    applied: Array
    commands: Array
    forces: Array | None


class _RotatingJoints(Struct, frozen=True):
    """Ball or free joints with forces, limits or actuators of their own, and where MuJoCo stores their inertia.

    `entries` has the places of the lower triangle for the joints `coupled`.  The inertia of the joints `alone` is
    diagonal in MuJoCo: they are the only ones of their bodies, and the matrix has no place for anything else.
    """

    group: RotationalJoints
    is_placed: bool
    has_springs: bool
    coupled: Indices
    alone: Indices
    entries: Indices


class _State(Struct, frozen=True):
    """What the accelerations of a step follow from: arrays of the scene's values, `(nv)`, and MuJoCo's data.

    `blocks` are the matrices from MuJoCo's velocities to the scene's for each `_RotatingJoints`.  The friction, limits
    and servos of joints that are `solved` are computed by MuJoCo's solver.
    """

    positions: Array
    velocities: Array
    commands: Array
    values: JointValues
    blocks: list[Array]
    solved: Mask
    data: Any


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
        self.rotations = TruncatedRotations.find(compiled)
        self.values = JointValues(*(np.zeros(count) for _ in range(4)))
        self._servo, self._limited = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        unlimited = np.array([[-np.inf], [np.inf]]).repeat(count, axis=1)
        self._position_limits, self._velocity_limits, self._force_limits = (unlimited.copy() for _ in range(3))
        self._scene, self._addresses = self._find_addresses()
        self._read_joints(limits)
        self._drives = DriveRows(compiled, limits)
        values, springs = self.values, find_springs(compiled, self._addresses, self._drives.spring_dofs)
        values.stiffness[springs.dofs], values.damping[springs.dofs] = springs.stiffness, springs.damping
        values.rest[springs.dofs] = springs.rest
        self._springs, self._actuators = springs, ServoForces(compiled)
        self._skin = compiled.skin_springs
        if self._skin is not None:
            points = self._skin.points
            self.values.stiffness[points.dofs], self.values.damping[points.dofs] = points.stiffness, self._skin.damping
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
        motors = self._position_limits[:, self._servo_motors[1]]
        self._has_limited_motors = bool(np.isfinite(motors).any())
        self._inertia = InertiaPlaces(compiled.model, self._prescribed)
        self._set_layout(self.values)

    @property
    def enforced_limits(self) -> EnforcedLimits:
        unlimited = np.array([[-np.inf], [np.inf]])
        positions, velocities = (
            np.where(self._limited, one, unlimited) for one in (self._position_limits, self._velocity_limits)
        )
        for dof, *stops in self._drives.stops:
            positions[:, dof] = stops
        return EnforcedLimits(positions, velocities, self._drives.motor_stops)

    @property
    def locked_dofs(self) -> Indices:
        """The degrees of freedom of locked joints."""
        return np.flatnonzero(self._locked)

    @property
    def has_others(self) -> bool:
        """Whether a world has motors of ODE, equality constraints or soft skins besides limits."""
        return self._has_drives or self._skin is not None or bool(self.compiled.model.neq)

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
        if joint.actuator not in PRESCRIBED_ACTUATORS:
            values.friction[at] = dof.friction
        if joint.drives and joint.kind not in ROTATION_VECTORS:  # ODE's stops
            return
        self._position_limits[:, at] = dof.position_limits
        if joint.actuator not in PRESCRIBED_ACTUATORS:
            bounds = (*dof.position_limits, *dof.velocity_limits)
            self._limited[at] = (joint.limits_enforced if limits is None else limits) and any(map(isfinite, bounds))

    def _set_layout(self, values: JointValues) -> None:
        """Find the trees in which something has to be computed here, and what that is."""
        has_springs = any_world(values.damping) | any_world(values.stiffness) | self._actuators.has_feedback
        has_friction = any_world(values.friction)
        constrained = self._servo | self._limited | has_friction
        concerned = self._prescribed | constrained | has_springs
        self._set_rotations(concerned, self._servo | self._limited | any_world(values.stiffness), has_springs)
        constrained, concerned = constrained | self._drives.dofs, concerned | self._drives.dofs
        self._has_springs, self._has_prescribed = bool(has_springs.any()), bool(self._prescribed.any())
        self._has_drives = bool(self._drives.axes)
        self._friction_dofs, self._limited_dofs, self._servo_dofs = (
            np.flatnonzero(which & ~self._prescribed) for which in (has_friction, self._limited, self._servo)
        )
        self._has_joint_rows = any(map(len, (self._friction_dofs, self._limited_dofs, self._servo_dofs)))
        trees = self._drives.joined_trees[self.compiled.model.dof_treeid]
        acts = np.zeros(self.compiled.model.ntree, dtype=bool)
        acts[trees[concerned]] = True
        acting = acts[trees]
        self._elsewhere = None if acting.all() else np.flatnonzero(~acting)
        self._is_constrained = bool(constrained.any())
        self._blocks = ConstraintBlocks(trees, constrained)
        model, springs = self.compiled.model, any(rotation.has_springs for rotation in self._rotations)
        has_rows = self._is_constrained or self._has_prescribed or self._has_drives or len(self._springs.dofs)
        self._may_step_alone = not (has_rows or springs or model.nu or model.neq)
        """Whether MuJoCo may take the steps without contacts: its own differ only there, with soft skins."""

    def _set_rotations(self, concerned: Mask, placed: Mask, has_springs: Mask) -> None:
        """Find the ball and free joints with something to compute; those that are `placed` need their positions."""
        self._rotations: list[_RotatingJoints] = []
        self._is_rotating = np.zeros(len(concerned), dtype=bool)
        for group in self.compiled.coordinates.rotational:
            dofs = group.qvel
            if concerned[dofs].any():
                self._is_rotating[dofs] = True
                alone = np.array([self._inertia.is_diagonal(own) for own in dofs], dtype=bool)
                coupled = np.flatnonzero(~alone)
                entries = np.array([self._inertia.triangle(own) for own in dofs[coupled]], dtype=np.intp)
                flags = bool(placed[dofs].any()), bool(has_springs[dofs].any())
                self._rotations.append(_RotatingJoints(group, *flags, coupled, np.flatnonzero(alone), entries))

    def varied_values(self, friction: Array, fields: Mapping[str, Array | None]) -> JointValues:
        """The values of many worlds, from their joint friction and their fields of MuJoCo's model that vary."""
        model, own = self.compiled.model, self.values
        coordinates = self.compiled.coordinates
        rest, joints = own.rest, np.asarray(model.dof_jntid)
        damping = replace_changed(own.damping, model.dof_damping, fields["dof_damping"])
        stiffness = fields["jnt_stiffness"]
        stiffness = None if stiffness is None else stiffness[:, joints]
        springs = fields["qpos_spring"]
        if springs is not None:
            rest = np.broadcast_to(rest, (len(springs), model.nv)).copy()
            rest[:, coordinates.qvel] = springs[:, coordinates.qpos]
        out = JointValues(
            damping,
            replace_changed(own.stiffness, model.jnt_stiffness[joints], stiffness),
            rest,
            replace_changed(own.friction, self.compiled.stated_friction, friction),
        )
        self._set_layout(out)
        return out

    def spring_energy(self, positions: Array, values: JointValues | None = None, qpos: Array | None = None) -> Array:
        """The energy of the springs at the scene's positions, J; positions and values may be those of many worlds.

        With MuJoCo's positions, that of soft skins is included.
        """
        values = values or self.values
        stiffness, rest = (one[..., self._addresses] for one in (values.stiffness, values.rest))
        out = np.asarray(0.5 * np.sum(stiffness * (positions[..., self._scene] - rest) ** 2, axis=-1))
        if self._springs.suspension_count and qpos is not None:
            out = out + self._springs.suspension_energy(qpos)
        return out if self._skin is None or qpos is None else out + self._skin.energy(qpos)

    # --- stepping -------------------------------------------------------------------------------------

    def prepare(self, model: Any, friction: Array) -> StepModel:
        """A copy of a model for `step`: springs and dampers are computed here."""
        bounded = np.zeros(len(friction), dtype=bool)
        bounded[self.compiled.coordinates.qvel] = True
        bounded &= self._limited & np.isfinite(self._velocity_limits).any(axis=0)
        return StepModel(model, friction, bounded, self._drives.joined_trees)

    def inputs(self, forces: Array, commands: Array) -> JointInputs:
        """Forces and clipped commands of the scene, for any number of steps."""
        actuation, coordinates = self.compiled.actuation, self.compiled.coordinates
        total = forces + actuation.commanded_forces(commands)
        rotates = bool(total[self.compiled.rotating_coordinates].any())
        applied = coordinates.forces(self.compiled.model.qpos0, total)
        return JointInputs(applied, self._to_mujoco(commands), total if rotates else None)

    @np.errstate(all="ignore")  # a motion that diverges is reported by MuJoCo
    def step(
        self, step_model: StepModel, data: Any, inputs: JointInputs, coasts: bool, values: JointValues | None = None
    ) -> None:
        """Advance by one step; `step_model` is from `prepare`.

        If it `coasts`, joints with a velocity actuator keep their velocity, whatever the command.
        """
        self._set_servo_speeds(data, inputs.commands)
        is_alone = self._may_step_alone and not data.ncon and step_model.begin_alone(data)
        if not is_alone:
            solved = step_model.begin(data)
            is_alone = self._may_step_alone and not data.ncon and step_model.begin_alone(data)
        applied = inputs.applied
        if inputs.forces is not None:
            applied = self.compiled.coordinates.forces(data.qpos, inputs.forces)
        data.qfrc_applied[:] = applied
        if self._skin is not None:
            data.qfrc_applied += self._skin.edge_forces(data.qpos, data.qvel, self._step_size)
        if is_alone:
            step_model.finish_alone(data)
        else:
            self._finish(step_model, data, inputs.commands, values or self.values, coasts, solved)
        if self.rotations is not None:
            self.rotations.correct(data.qpos, data.qvel)
        data.qfrc_applied[:] = applied
        if self._has_locked:
            data.qvel[self._locked] = 0.0  # a rounding error would brake in the next step, too

    def _finish(
        self, step_model: StepModel, data: Any, commands: Array, values: JointValues, coasts: bool, solved: Mask
    ) -> None:
        """Finish a step in two stages."""
        mujoco, model = self._mujoco, step_model.model
        braking: list[Brake] = []
        if self._has_locked and data.qvel[self._locked].any():
            data.cdof_dot[self._locked] = 0.0
            mujoco.mj_rne(model, data, 0, data.qfrc_bias)
            braking = find_brakes(model, data, self._locked)
        values = self._actuators.apply(data, values)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        state = self._state(data, commands, values, solved)
        force = self._force(model, state, coasts, braking)
        if force is not None:
            data.qfrc_applied += force
        if step_model.limits_velocities(data):
            step_model.limit_velocities(data, *self._velocity_bounds(state.positions, slice(None)), self._step_size)
        mujoco.mj_step2(model, data)

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
        if self._has_limited_motors:
            allowed = (self._position_limits[:, dofs] - data.qpos[places]) / self._step_size
            data.qvel[wheels] = np.clip(commands[dofs], *allowed)
        elif len(wheels):
            data.qvel[wheels] = commands[dofs]

    def _state(self, data: Any, commands: Array, values: JointValues, solved: Mask) -> _State:
        """The scene's positions and velocities, and what else a step depends on.

        Joints without forces, limits or actuators keep MuJoCo's coordinates.  Ball and free joints have positions only
        if springs, limits or servos depend on them.
        """
        coordinates, qpos, qvel = self.compiled.coordinates, data.qpos, data.qvel
        if len(qpos) == len(qvel):  # neither ball nor free joints
            return _State(qpos, qvel, commands, values, [], solved, data)
        positions = np.zeros(len(qvel))
        positions[coordinates.qvel] = qpos[coordinates.qpos]
        positions[self._springs.dofs] = qpos[self._springs.places]
        if self._skin is not None:
            positions[self._skin.points.dofs] = qpos[self._skin.points.qpos]
        for rotation in self._rotations:
            if rotation.is_placed:
                own = np.zeros(coordinates.count)
                rotation.group.positions(qpos, own)
                positions[rotation.group.qvel] = own[rotation.group.scene]
        groups = [rotation.group for rotation in self._rotations]
        blocks = [group.inverse_blocks(group.velocity_blocks(qpos)) for group in groups]
        return _State(positions, self._scene_velocities(qvel, blocks), commands, values, blocks, solved, data)

    def _scene_velocities(self, qvel: Array, blocks: Sequence[Array]) -> Array:
        """The scene's velocities, or accelerations, for MuJoCo's."""
        if not blocks:
            return qvel
        out = qvel.copy()
        for rotation, own in zip(self._rotations, blocks, strict=True):
            out[rotation.group.qvel] = (own @ qvel[rotation.group.qvel][..., None])[..., 0]
        return out

    def _mujoco_velocities(self, velocities: Array, blocks: Sequence[Array]) -> Array:
        """The inverse of `_scene_velocities`."""
        out = velocities.copy()
        for rotation, own in zip(self._rotations, blocks, strict=True):
            out[rotation.group.qvel] = np.linalg.solve(own, velocities[rotation.group.qvel][..., None])[..., 0]
        return out

    def _mujoco_forces(self, forces: Array, blocks: Sequence[Array]) -> Array:
        """MuJoCo's forces for the scene's, `(..., nv)`."""
        if not blocks:
            return forces
        out = forces.copy()
        for rotation, own in zip(self._rotations, blocks, strict=True):
            dofs = rotation.group.qvel
            out[..., dofs] = (forces[..., dofs][..., None, :] @ own)[..., 0, :]
        return out

    def _prescribed_accelerations(self, state: _State, coasts: bool) -> tuple[Array, Array]:
        """MuJoCo's accelerations of prescribed joints, and those that others react to.

        A locked joint stops without a reaction.
        """
        felt = np.where(self._acceleration, state.commands, 0.0)
        if self._has_velocity and not coasts:
            felt = np.where(self._velocity, (state.commands - state.velocities) / self._step_size, felt)
        exact = np.where(self._locked, -state.velocities / self._step_size, felt) if self._has_locked else felt
        if not state.blocks:
            return exact, felt
        return self._mujoco_velocities(exact, state.blocks), self._mujoco_velocities(felt, state.blocks)

    def _force(self, model: Any, state: _State, coasts: bool, braking: list[Brake]) -> Array | None:
        """The forces that give MuJoCo the accelerations of DART; None means zero forces."""
        data, h, has_own = state.data, self._step_size, self._has_springs or self._has_prescribed
        plain = data.M.copy() if has_own else None
        prescribed = self._prescribed_accelerations(state, coasts) if self._has_prescribed else None
        try:
            accelerations = self._smooth_accelerations(model, state, plain, prescribed, braking)
            change = self._velocity_change(model, state, data.qvel + h * accelerations)
        except np.linalg.LinAlgError:
            return np.full(len(data.qvel), np.nan)
        if change is not None:
            accelerations += change / h
        elif not has_own:
            return None
        if plain is not None and prescribed is not None:
            self._use_inertia(model, data, plain)
            accelerations[self._prescribed] = prescribed[0][self._prescribed]
        force = np.empty(len(accelerations))
        self._mujoco.mj_mulM(model, data, force, accelerations)
        force -= data.qfrc_smooth
        if self._elsewhere is not None:
            force[self._elsewhere] = 0.0
        return force

    def _use_inertia(self, model: Any, data: Any, inertia: Array) -> None:
        data.M[:] = inertia
        self._mujoco.mj_factorM(model, data)

    def _smooth_accelerations(
        self,
        model: Any,
        state: _State,
        plain: Array | None,
        prescribed: tuple[Array, Array] | None,
        braking: list[Brake],
    ) -> Array:
        """MuJoCo's accelerations in the first stage.  Leaves the inertia of free joints without springs in the data."""
        data, h, values = state.data, self._step_size, state.values
        right, out = data.qfrc_smooth.copy()[None], np.empty((1, len(data.qvel)))
        if plain is None:  # `qacc_smooth` need not be the solution
            self._mujoco.mj_solveM(model, data, out, right)
            return np.asarray(out[0])
        if self._has_springs:
            ahead = state.positions + h * state.velocities - values.rest
            force = -values.stiffness * ahead - values.damping * state.velocities
            right[0] += self._mujoco_forces(force, state.blocks)
        if prescribed is not None:
            self._mujoco.mj_mulM(model, data, out[0], prescribed[1])
            right -= out
            right[0, self._prescribed] = 0.0
            plain = self._inertia.without_prescribed(plain)
        implicit, rotated, factors = plain, [], None
        if self._has_springs:
            implicit = plain.copy()
            rotated = self._add_springs(state, implicit)
            if prescribed is None:  # copies are faster than factorising again
                factors = data.qLD.copy(), data.qLDiagInv.copy()
        self._use_inertia(model, data, implicit)
        self._mujoco.mj_solveM(model, data, out, right)
        for dofs, own in rotated:
            out[0, dofs] = np.linalg.solve(own, right[0, dofs][..., None])[..., 0]
        if braking:
            full = np.empty((len(data.qvel), len(data.qvel)))
            self._mujoco.mj_fullM(model, data, full)
            for brake in braking:
                out[0] += braking_acceleration(brake, ~self._prescribed, full)
        if factors is not None:
            data.M[:], data.qLD[:], data.qLDiagInv[:] = plain, *factors
        elif self._has_springs:
            self._use_inertia(model, data, plain)
        return np.asarray(out[0])

    def _add_springs(self, state: _State, inertia: Array) -> list[tuple[Indices, Array]]:
        """Add springs and dampers to the inertia; returns the inertia of joints for which it has no places."""
        values, h, other = state.values, self._step_size, []
        added, diagonal = h * values.damping + h * h * values.stiffness, self._inertia.diagonal
        if not self._rotations:
            inertia[diagonal] += added
            return []
        inertia[diagonal] += np.where(self._is_rotating, 0.0, added)
        for rotation, blocks in zip(self._rotations, state.blocks, strict=True):
            if rotation.has_springs:
                dofs = rotation.group.qvel
                own = np.swapaxes(blocks, -1, -2) @ (added[dofs][..., None] * blocks)
                if len(rotation.coupled):
                    rows, columns = np.tril_indices(dofs.shape[1])
                    inertia[rotation.entries] += own[rotation.coupled][:, rows, columns]
                if len(rotation.alone):
                    alone, dofs = own[rotation.alone], dofs[rotation.alone]
                    np.einsum("nii->ni", alone)[...] += inertia[diagonal[dofs]]
                    other.append((dofs, alone))
        return other

    # --- impulses -------------------------------------------------------------------------------------

    def _velocity_change(self, model: Any, state: _State, qvel: Array) -> Array | None:
        """The change of MuJoCo's velocities by impulses, with the inertia in the data; None without impulses."""
        dofs, wanted, low, high = _NO_ROWS
        if self._has_joint_rows:
            dofs, wanted, low, high = self._joint_rows(self._scene_velocities(qvel, state.blocks), state)
        count = len(dofs)
        joints = BoxedProblem(dofs, _NO_COLUMNS, wanted, low, high, np.full(count, CONSTRAINT_MIXING), np.zeros(count))
        drives = self._drives.constraints(state) if self._has_drives else None
        if drives is None:
            return self._respond(model, state, joints) if count else None
        columns = np.where(self._prescribed, 0.0, drives.columns) if self._has_prescribed else drives.columns
        start: Array | None = None
        if drives.forces is not None:
            start = np.empty(len(qvel))
            self._mujoco.mj_solveM(model, state.data, start[None], self._step_size * drives.forces[None])
            qvel = qvel + start
            if count:
                wanted -= self._scene_velocities(start, state.blocks)[dofs]
        own = drives.wanted - np.concatenate([qvel[drives.dofs], columns @ qvel])
        rigid = np.zeros(len(own))
        driven = BoxedProblem(drives.dofs, columns, own, drives.low, drives.high, rigid, drives.softness)
        change = self._respond(model, state, driven.after(joints) if count else driven)
        return change if start is None else change + start

    def _respond(self, model: Any, state: _State, problem: BoxedProblem) -> Array:
        """The change of MuJoCo's velocities by the impulses that solve a problem."""
        ranks, members = self._blocks.divide(problem)
        count = len(problem.dofs)
        rows = np.zeros((int(ranks.max()) + 1, model.nv))
        rows[ranks[:count], problem.dofs] = 1.0
        if state.blocks and self._is_rotating[problem.dofs].any():
            rows = self._mujoco_forces(rows, state.blocks)
        for rank, column in zip(ranks[count:].tolist(), problem.columns, strict=True):
            rows[rank] += column
        response = np.empty_like(rows)
        self._mujoco.mj_solveM(model, state.data, response, rows)
        return problem.solve(rows, response, members)

    def _joint_rows(self, velocities: Array, state: _State) -> _Rows:
        """The constraints of limits, friction and servos."""
        limits = self._limit_rows(velocities, state) if len(self._limited_dofs) else _NO_ROWS
        rows = [limits]
        if len(self._friction_dofs):
            rows.append(self._friction_rows(velocities, state))
        if len(self._servo_dofs):
            rows.append(self._servo_rows(velocities, state, limits[0]))
        rows = [one for one in rows if len(one[0])]
        if len(rows) < 2:
            return rows[0] if rows else _NO_ROWS
        dofs, wanted, low, high = (np.concatenate([one[i] for one in rows]) for i in range(4))
        return dofs, wanted, low, high

    def _friction_rows(self, velocities: Array, state: _State) -> _Rows:
        """Friction brakes what moves."""
        own = self._friction_dofs
        friction, speeds = state.values.friction[own], velocities[own]
        at = (friction != 0.0) & (speeds != 0.0) & ~state.solved[own]
        bound = friction[at] * self._step_size
        return own[at], -speeds[at], -bound, bound

    def _servo_rows(self, velocities: Array, state: _State, at_limits: Indices) -> _Rows:
        """A servo aims at positions within the limits, enforced or not, and is off where a limit acts."""
        own = self._servo_dofs
        allowed = (self._position_limits[:, own] - state.positions[own]) / self._step_size
        wanted = np.clip(state.commands[own], *allowed) - velocities[own]
        is_active = ~state.solved[own] | self._rotational_servo[own]
        is_active &= wanted != 0.0
        if len(at_limits):
            is_active &= ~np.isin(own, at_limits)
        low, high = self._force_limits[:, own[is_active]] * self._step_size
        return own[is_active], wanted[is_active], low, high

    def _limit_rows(self, velocities: Array, state: _State) -> _Rows:
        """The next position stays within the limits; one beyond them returns."""
        own = self._limited_dofs
        speeds = velocities[own]
        low, high = self._position_limits[:, own] - state.positions[own]
        lower, upper = self._velocity_bounds(state.positions, own)
        is_low = (low > 0.0) | ((high >= 0.0) & (speeds < lower))
        is_high = ~is_low & ((high < 0.0) | (speeds > upper))
        at = np.flatnonzero((is_low | is_high) & ~state.solved[own])
        pushes_up = is_low[at]
        wanted = np.where(pushes_up, lower[at], upper[at]) - speeds[at]
        return own[at], wanted, np.where(pushes_up, 0.0, -np.inf), np.where(pushes_up, np.inf, 0.0)

    def _velocity_bounds(self, positions: Array, own: Indices | slice) -> tuple[Array, Array]:
        """The velocities with which joints stay within their limits, or return to them."""
        low, high = (self._position_limits[:, own] - positions[own]) / self._step_size
        slowest, fastest = self._velocity_limits[:, own]
        lower = np.where(low > 0.0, np.minimum(low, MAX_RETURN_SPEED), np.maximum(slowest, low))
        upper = np.where(high < 0.0, np.maximum(high, -MAX_RETURN_SPEED), np.minimum(fastest, high))
        return lower, upper
