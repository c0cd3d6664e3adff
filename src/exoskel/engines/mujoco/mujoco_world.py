"""MuJoCo: the default engine."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.interface import (
    DIVERGED,
    AppliedWrench,
    AppliedWrenches,
    Contact,
    Engine,
    EngineCapabilities,
    InvalidInertia,
    StateProblem,
    StepDynamics,
    check_step_count,
)
from exoskel.engines.mujoco.commanded_worlds import CommandedWorlds, mechanical_energy
from exoskel.engines.mujoco.measurements import (
    LoopConstraint,
    body_accelerations,
    body_twists,
    find_loops,
    joint_reactions,
    loop_reactions,
)
from exoskel.engines.mujoco.servo_forces import ControlledActuators
from exoskel.engines.mujoco.stepped_world import SteppedWorld
from exoskel.engines.mujoco.truncated_rotations import TruncatedRotations
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import CompiledWorld, compile_seconds
from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.scene.body import Body
from exoskel.scene.world import World
from exoskel.spatial import Array


class MujocoWorld(SteppedWorld, ControlledActuators):
    """A world in MuJoCo: see `engines.interface.ControllableWorld`."""

    def __init__(
        self,
        world: World,
        *,
        limits: bool | None = None,
        integrator: str = "discrete",
        step: float | None = None,
        friction: float | None = None,
        layout: WorldLayout | None = None,
        skins: bool = True,
    ) -> None:
        compiled = CompiledWorld(
            world, limits=limits, integrator=integrator, step=step, friction=friction, layout=layout, skins=skins
        )
        super().__init__(compiled, limits, integrator)
        self._has_skins = skins
        mujoco = self._mujoco
        self.rotations = TruncatedRotations.find(compiled) if self._has_default_integrator else None
        """Corrects the rotations of ball and free joints after each step, if they have to be those of DART."""
        self._mj_step: Any = self.rotations.step if self.rotations else mujoco.mj_step
        self.world = world
        if not compiled.layout.is_plain or compiled.skins or not skins:  # otherwise none are needed
            self.use_impulse_steps(world)
        try:
            data = mujoco.MjData(self.model)
        except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as error:
            raise ExoskelError(f"MuJoCo cannot compile the world: {error}") from None
        self.actuation = compiled.actuation
        self.bodies = compiled.bodies
        self._takes_first_step = True
        """Whether the next step needs attention: it is the first one, or forces on bodies act."""
        self.wrenches = AppliedWrenches(len(self.bodies))
        if compiled.layout.has_zero_state and compiled.layout.is_zero_at_reset:  # as new data
            self._new_data = data
            self._begin()
        else:
            self._use(data)
            self.reset()

    def copy(self) -> MujocoWorld:
        """Another world in the same state, whose state and parameters change on their own."""
        self.read_scene()
        out = copy.copy(self)
        out._use(copy.copy(self.data))
        for name in ("_forces", "_commands", "_is_first", "_is_coasting", "_is_commanded"):
            setattr(out, name, getattr(self, name).copy())
        out.wrenches = AppliedWrenches(len(self.bodies))
        return out

    def copy_inputs(self, worlds: CommandedWorlds, number: int) -> None:
        super().copy_inputs(worlds, number)
        self._update_takes_first_step()
        self._is_stale = True

    @cached_property
    def coordinates(self) -> Coordinates:
        return self.compiled.coordinates

    @cached_property
    def dof_names(self) -> list[str]:
        """The names of the scene's coordinates, in state order."""
        return self.coordinates.names

    @property
    def controls(self) -> MujocoWorld:
        return self

    # --- state ----------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Return to the initial state."""
        self.restart(*self.compiled.layout.initial_state())
        self._forward(self.data)

    def restart(self, positions: Array, velocities: Array | None) -> None:
        """Begin again in a state, without computing what depends on it.  Without velocities, nothing moves."""
        self._mujoco.mj_resetData(self.model, self.data)
        self.begin_activations(self.data.ctrl, self.data.act)
        self._begin()
        checked = self._checked(positions)
        if checked.any() or not self.compiled.layout.is_zero_at_reset:
            self.coordinates.set_positions(checked, self.qpos)
        if velocities is not None:
            if velocities.any():
                self.velocities = velocities
            self.actuation.set_speeds(self.qpos, self.qvel, self.clipped_commands(), velocities=False)

    def _begin(self) -> None:
        """Forget forces, commands and steps."""
        self._forces[:], self._commands[:] = 0.0, self.actuation.initial
        self._is_commanded[...], self._forces_rotate = False, self._edges is not None
        self._is_first[...] = self._is_coasting[...] = self._takes_first_step = self._is_stale = True
        self.wrenches.clear()

    @property
    def time(self) -> float:
        return float(self.data.time)

    @property
    def time_step(self) -> float:
        return float(self.model.opt.timestep)

    @property
    def positions(self) -> Array:
        return self.coordinates.positions(self.qpos)

    @positions.setter
    def positions(self, values: Array) -> None:
        checked, velocities = self._checked(values), self.velocities
        self.coordinates.set_positions(checked, self.qpos)
        # Those of MuJoCo are about axes of the child, and differ at other positions.
        self.coordinates.set_free_velocities(velocities, self.qpos, self.qvel)
        self._is_stale = True

    @property
    def velocities(self) -> Array:
        return self.coordinates.velocities(self.qpos, self.qvel)

    @velocities.setter
    def velocities(self, values: Array) -> None:
        self.coordinates.set_velocities(self._possible(self._checked(values)), self.qpos, self.qvel)
        # Without a command, a prescribed velocity holds for one step.
        self._is_coasting[...] = not self._is_commanded
        if self._is_commanded:
            self._set_speeds(self.qpos, self.qvel, self.clipped_commands())
        self._update_takes_first_step()

    def _checked(self, values: Any) -> Array:
        array = spatial.array(values)
        count = self.compiled.layout.dof_count
        if array.shape != (count,):
            raise ExoskelError(f"expected {count} values, not an array of shape {array.shape}")
        if not np.isfinite(array).all():
            raise ExoskelError("coordinates, velocities, forces and commands must be finite")
        return array

    @property
    def state(self) -> Array:
        """Everything that the motion depends on, as one array: MuJoCo's state, forces and commands."""
        spec = self._mujoco.mjtState.mjSTATE_INTEGRATION
        own = np.empty(self._mujoco.mj_stateSize(self.model, spec))
        self._mujoco.mj_getState(self.model, self.data, own, spec)
        flags = np.array((self._is_first, self._is_coasting, self._is_commanded), dtype=np.float64)
        return np.concatenate([own, self._forces, self._commands, flags, self.wrenches.array()])

    @state.setter
    def state(self, values: Array) -> None:
        spec = self._mujoco.mjtState.mjSTATE_INTEGRATION
        size, count = self._mujoco.mj_stateSize(self.model, spec), self.coordinates.count
        array, parts = spatial.array(values), np.cumsum([size, count, count, 3]).tolist()
        total = parts[-1] + len(self.wrenches.array())
        if array.shape != (total,):
            raise ExoskelError(f"a state has {total} numbers, not an array of shape {array.shape}")
        own, forces, commands, flags, wrenches = np.split(array, parts)
        self._mujoco.mj_setState(self.model, self.data, own.copy(), spec)
        self._forces[:], self._commands[:] = forces, commands
        self.wrenches.set_array(wrenches)
        for mask, flag in zip((self._is_first, self._is_coasting, self._is_commanded), flags, strict=True):
            mask[...] = bool(flag)
        self._update_takes_first_step()
        self._update_forces_rotate()
        warm_start = self.data.qacc_warmstart.copy()
        self._forward(self.data)
        self.data.qacc_warmstart[:] = warm_start  # the motion depends on it

    # --- motion ---------------------------------------------------------------------------------------

    def step(self, count: int = 1) -> None:
        try:
            if type(count) is not int or count < 1 or self._takes_first_step or self._forces_rotate:
                self._step(count)
            elif not self._has_impulse_steps:
                self._mj_step(self.model, self.data, count)  # calls of methods matter: a step of a pendulum takes 5 µs
            else:
                self._advance(count)
        except self._mujoco.FatalError as error:
            raise mujoco_import.stop_error(error) from None

    def _step(self, count: int) -> None:
        check_step_count(count)
        if count > 0 and self._takes_first_step:
            if self.wrenches.acting:
                self._push(count)
                return
            self._take_first_step()
            self._takes_first_step = False
            count -= 1
        if self._forces_rotate and not self._has_impulse_steps:
            for _ in range(count):
                self._apply()
                self._simulate(1)
        elif count > 0:
            self._advance(count)

    def _simulate(self, count: int) -> None:
        """Make steps of the engine itself."""
        self._mj_step(self.model, self.data, count)

    def _advance(self, count: int) -> None:
        if self.impulse_step is None or self._step_model is None:
            self._simulate(count)
            return
        if self.limit_guard is not None and not (self._may_rotate and self._joint_inputs().forces is not None):
            models = (self.model, self._step_model)
            self.limit_guard.advance(models, self.data, self._joint_inputs, count, self._joint_values)
            return
        inputs, coasts = self._joint_inputs(), bool(self._is_coasting)
        for _ in range(count):
            self.impulse_step.step(self._step_model, self.data, inputs, coasts, self._joint_values)

    def refresh(self) -> None:
        """Recompute everything that depends on the state."""
        self._forward(self.data)
        self._is_stale = False

    @property
    def state_problem(self) -> StateProblem | None:
        """What makes the state invalid; None if nothing does."""
        kinds = self._mujoco.mjtWarning
        if any(self.data.warning[kind].number for kind in (kinds.mjWARN_CONTACTFULL, kinds.mjWARN_CNSTRFULL)):
            return StateProblem("MuJoCo ran out of memory for contacts")
        bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
        return DIVERGED if any(self.data.warning[kind].number for kind in bad) else None

    @property
    def body_poses(self) -> Array:
        """World poses of all bodies, in state order."""
        self._mujoco.mj_kinematics(self.model, self.data)
        return spatial.transform(self.data.xmat[self.body_ids].reshape(-1, 3, 3), self.data.xpos[self.body_ids])

    @property
    def soft_points(self) -> list[Array] | None:
        """World positions of the points of each soft body, in state order; None if skins are not simulated."""
        if not self.compiled.skins:
            return [] if self._has_skins else None
        self._mujoco.mj_kinematics(self.model, self.data)
        found = []
        for skin, ids in zip(self.compiled.skins, self.compiled.point_ids, strict=True):
            number = int(self.body_ids[self._numbers[id(skin.body)]])
            at_rest = skin.skin.points @ self.data.xmat[number].reshape(3, 3).T + self.data.xpos[number]
            found.append(self.data.xpos[ids] if skin.moves else at_rest)
        return found

    @property
    def soft_velocities(self) -> list[Array] | None:
        """World velocities of the points of each soft body, in state order; None if skins are not simulated."""
        if not self.compiled.skins:
            return [] if self._has_skins else None
        twists = self._all_velocities()
        found = []
        for skin, ids in zip(self.compiled.skins, self.compiled.point_ids, strict=True):
            number = int(self.body_ids[self._numbers[id(skin.body)]])
            arms = skin.skin.points @ self.data.xmat[number].reshape(3, 3).T
            at_rest = twists[number, 3:] + np.cross(twists[number, :3], arms)
            found.append(twists[ids, 3:] if skin.moves else at_rest)
        return found

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy in J, springs included."""
        model, data = self._step_model.model if self._step_model else self.model, self.data
        # A step leaves everything but the state as it was before the step.
        self._mujoco.mj_kinematics(model, data)
        self._mujoco.mj_comPos(model, data)
        self._mujoco.mj_energyPos(model, data)
        self._mujoco.mj_comVel(model, data)
        kinetic, potential = mechanical_energy(
            model,
            data.energy[0],
            **{name: getattr(data, name) for name in ("cvel", "xipos", "ximat", "subtree_com", "qvel")},
            masses=model.body_mass,
            inertias=model.body_inertia,
            gravity=model.opt.gravity,
            armature=self.compiled.stated_armature,
        )
        if self.impulse_step is not None:
            potential = potential + self.impulse_step.spring_energy(self.positions, qpos=self.qpos)
        elif self._edges is not None:
            potential = potential + self._edges.edge_energy(self.qpos)
        return float(kinetic), float(potential)

    @property
    def constraint_error(self) -> float:
        """The largest error of joints that are constraints (screws, loops, mimics), in m or rad."""
        return float(np.abs(self.data.efc_pos[: self.data.ne]).max(initial=0.0))

    @property
    def contacts(self) -> list[Contact]:
        """The contacts of the last step, or of the positions that were set since."""
        if self._is_stale:
            self.refresh()
        found: list[Contact] = []
        wrench = np.zeros(6)
        for i, one in enumerate(self.data.contact[: self.data.ncon]):
            names = tuple(self._colliding_body(self.model.geom_bodyid[g]) for g in (one.geom1, one.geom2))
            self._mujoco.mj_contactForce(self.model, self.data, i, wrench)
            force = wrench[:3] @ one.frame.reshape(3, 3)
            found.append(Contact((names[0], names[1]), one.pos.copy(), one.frame[:3].copy(), -float(one.dist), force))
        return found

    def _colliding_body(self, number: int) -> str:
        """The name of one of MuJoCo's bodies, or that of the body whose skin it is a point of."""
        if number in self._points:
            number = int(self.model.body_parentid[number])
        return str(self.model.body(number).name)

    @cached_property
    def _points(self) -> set[int]:
        """MuJoCo's bodies that are points of skins."""
        return {int(number) for ids in self.compiled.point_ids for number in ids}

    @property
    def contact_count(self) -> int:
        """The number of contact points in the last step, or at the positions that were set since."""
        if self._is_stale:
            self.refresh()
        return int(self.data.ncon)

    @property
    def body_velocities(self) -> Array:
        """The angular velocity and that of the origin of each body, `(bodies, 6)`, in world axes."""
        return self._all_velocities()[self.body_ids]

    def _all_velocities(self) -> Array:
        """The velocities of all of MuJoCo's bodies."""
        self._mujoco.mj_kinematics(self.model, self.data)
        self._mujoco.mj_comPos(self.model, self.data)
        self._mujoco.mj_comVel(self.model, self.data)
        return body_twists(self.model, self.data)

    # --- forces on bodies -----------------------------------------------------------------------------

    def apply_wrench(self, body: int, wrench: AppliedWrench) -> None:
        """Apply a force and a torque to a body, by its number, until they are replaced."""
        self.wrenches.replace(body, wrench)
        self.data.xfrc_applied[self.body_ids[body]] = 0.0
        self._update_takes_first_step()

    def _update_takes_first_step(self) -> None:
        self._takes_first_step = bool(self._is_first or self._is_coasting or self.wrenches.acting)

    def _push(self, count: int) -> None:
        """Step with forces on bodies, whose points move."""
        for _ in range(count):
            self._set_wrenches()
            if self._is_first or self._is_coasting:
                self._take_first_step()
            else:
                if self._forces_rotate and not self._has_impulse_steps:
                    self._apply()
                self._advance(1)

    def _set_wrenches(self) -> None:
        """Convert forces at points of bodies to forces at their centres of mass, at the present positions."""
        self._mujoco.mj_kinematics(self.model, self.data)
        for body, one in self.wrenches.acting.items():
            number = int(self.body_ids[body])
            point = self.data.xmat[number].reshape(3, 3) @ one.point + self.data.xpos[number]
            arm = point - self.data.xipos[number]
            self.data.xfrc_applied[number, :3] = one.force
            self.data.xfrc_applied[number, 3:] = one.torque + np.cross(arm, one.force)

    # --- pulling with the mouse -----------------------------------------------------------------------

    def pull(self, body: int, point: Array, target: Array) -> None:
        """Pull a point of a body (its number and frame, m) to a target in the world with a critically damped spring.

        The force is that of the current state: call it again as the body moves, and `release` at the end.
        """
        mujoco, number = self._mujoco, int(self.body_ids[body])
        position = self.data.xmat[number].reshape(3, 3) @ spatial.array(point) + self.data.xpos[number]
        perturbation = mujoco.MjvPerturb()
        perturbation.select, perturbation.active = number, int(mujoco.mjtPertBit.mjPERT_TRANSLATE)
        perturbation.localpos[:], perturbation.refselpos[:] = point, target
        perturbation.localmass = self._mass_at(number, position)
        mujoco.mjv_applyPerturbForce(self.model, self.data, perturbation)

    def pull_force(self, body: int) -> Array | None:
        """The force in the world with which a body is pulled, N."""
        found: Array = self.data.xfrc_applied[self.body_ids[body], :3].copy()
        return found

    def release(self) -> None:
        """Stop pulling; forces that are applied to bodies act again."""
        self.data.xfrc_applied[:] = 0.0

    def _mass_at(self, number: int, position: Array) -> float:
        """The effective mass of a body at a point in the world, kg; 0 if the body cannot move."""
        if not self.model.nv:
            return 0.0
        jacobian, solved = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        self._mujoco.mj_jac(self.model, self.data, jacobian, None, position, number)
        self._mujoco.mj_solveM(self.model, self.data, solved, jacobian)
        mobility = float(np.sum(jacobian * solved))
        return 3.0 / mobility if mobility > 0.0 else 0.0

    def close(self) -> None:
        """Do nothing: MuJoCo runs in this process."""

    # --- dynamics -------------------------------------------------------------------------------------

    def mass_matrix(self) -> Array:
        """The mass matrix in the scene's coordinates, `(dofs, dofs)`."""
        with self._scene_dynamics():
            change = self.coordinates.velocity_matrix(self.data.qpos)
            full = np.zeros((self.model.nv, self.model.nv))
            self._mujoco.mj_fullM(self.model, self.data, full)
            out: Array = change.T @ full @ change
            return out

    @contextmanager
    def _scene_dynamics(self) -> Iterator[None]:
        """Compute the dynamics with the scene's masses, and without the armature of prescribed joints."""
        model, factors, own = self.model, self.compiled.mass_factors, self.data
        if not self.compiled.prescribed_dofs.any() and (factors == 1.0).all():
            self._compute_dynamics()
            yield
            return
        masses, inertias, inertia = model.body_mass.copy(), model.body_inertia.copy(), model.dof_M0.copy()
        armature = self.compiled.stated_armature
        # MuJoCo takes the inertia of bodies that move alone from the compiled model.
        model.dof_M0[:] = (inertia - model.dof_armature) * factors[model.dof_bodyid] + armature
        model.dof_armature[:] = armature
        model.body_mass[:] *= factors
        model.body_inertia[:] *= factors[:, None]
        self._use(copy.copy(own))
        try:
            self._compute_dynamics()
            yield
        finally:
            self._use(own)
            model.dof_armature[:] = self.actuation.armature
            model.body_mass[:], model.body_inertia[:], model.dof_M0[:] = masses, inertias, inertia

    def _compute_dynamics(self) -> None:
        """Compute inertia and bias forces; contacts stay those of the last step."""
        model, data, mujoco = self.model, self.data, self._mujoco
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_passive(model, data)
        mujoco.mj_rne(model, data, 0, data.qfrc_bias)

    def bias_forces(self) -> Array:
        """Coriolis, centrifugal and gravity forces, `(dofs)`: the forces for zero acceleration."""
        with self._scene_dynamics():
            # The scene's velocities are constant where MuJoCo's are: about which axes they rotate makes no difference.
            change = self.coordinates.velocity_matrix(self.data.qpos)
            out: Array = change.T @ (self.data.qfrc_bias - self.data.qfrc_gravcomp)
            return out

    def gravity_forces(self) -> Array:
        """The part of the bias forces that gravity causes, `(dofs)`."""
        velocities = self.data.qvel.copy()
        self.data.qvel[:] = 0.0
        try:
            return self.bias_forces()
        finally:
            self.data.qvel[:] = velocities

    def step_dynamics(self) -> StepDynamics:
        """What the next step does at the present state, with the present forces and commands; nothing changes."""
        positions, velocities, is_first = self.qpos.copy(), self.qvel.copy(), self._takes_first_step
        with self._trial_step() as data:
            rates = (data.qvel - velocities) / self.time_step
            data.qpos[:], data.qvel[:] = positions, velocities
            if self.model.opt.integrator == self._mujoco.mjtIntegrator.mjINT_RK4:  # it ends at another state
                self._mujoco.mj_forward(self.model, data)
            elif is_first:  # it stops locked joints before it computes the velocities of bodies
                self._mujoco.mj_comVel(self.model, data)
            data.qacc[:] = rates
            reactions = joint_reactions(self.model, data)
            loops = loop_reactions(self.model, data, reactions, self._loops)
            bodies = body_accelerations(self.model, data)[self.body_ids]
        accelerations = self.coordinates.velocities(positions, rates)
        accelerations[[index for index, _, _ in self.coordinates.static]] = 0.0
        return StepDynamics(accelerations, bodies, reactions[self.body_ids], loops)

    @cached_property
    def _loops(self) -> list[LoopConstraint]:
        numbers = {one: int(number) for one, number in zip(self._numbers, self.body_ids, strict=True)}
        return find_loops(self.model, self.world, numbers)

    @contextmanager
    def _trial_step(self) -> Iterator[Any]:
        """Take a step with a copy of the data; the world is unchanged afterwards."""
        own, takes_first_step = self.data, self._takes_first_step
        masks = (self._is_first, self._is_coasting, self._is_commanded)
        kept = [mask.copy() for mask in masks]
        try:
            self._use(copy.copy(own))
            self.step(1)
            yield self.data
        finally:
            self._use(own)
            self._takes_first_step = takes_first_step
            for mask, before in zip(masks, kept, strict=True):
                mask[...] = before

    def _use(self, data: Any) -> None:
        self.data = data
        self.qpos, self.qvel = data.qpos, data.qvel
        self._applied, self._wrenches = data.qfrc_applied, data.xfrc_applied

    def jacobian(self, body: Body, point: Array = np.zeros(3)) -> Array:  # noqa: B008 - never changed
        """The Jacobian of a point in a body's frame: `(6, dofs)`, angular velocity first, both in world axes."""
        self._mujoco.mj_kinematics(self.model, self.data)
        self._mujoco.mj_comPos(self.model, self.data)
        number = int(self.body_ids[self._numbers[id(body)]])
        position = self.data.xmat[number].reshape(3, 3) @ spatial.array(point) + self.data.xpos[number]
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        self._mujoco.mj_jac(self.model, self.data, linear, angular, position, number)
        out: Array = np.vstack([angular, linear]) @ self.coordinates.velocity_matrix(self.data.qpos)
        return out


MUJOCO = Engine(
    "mujoco",
    "MuJoCo",
    package="mujoco",
    install="pip install mujoco",
    limitations="contacts of soft skins between their points; stops of amotors and limits of single axes of a ball "
    "joint in contact",
    capabilities=EngineCapabilities(
        mimic_joints=True,
        soft_bodies=True,
        point_contacts=True,
        ball_servos=False,
        angular_motor_stops=False,
        max_depth=1000,  # a little less than what the stack of its compiler allows
        compile_seconds=compile_seconds,
        invalid_inertia=InvalidInertia.REPAIRED,
        needs_triangle_inequality=True,
        convex_meshes=True,
        isotropic_balls=True,
        armature=True,
        actuators=True,
        tendons=True,
        joint_forces_in_one_stage=True,
        impulse_steps=True,
        stiff_constraints=True,
    ),
    start=MujocoWorld,
    start_from_layout=MujocoWorld,
)
