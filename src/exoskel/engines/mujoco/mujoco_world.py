"""MuJoCo: the default engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.contacts import Contact
from exoskel.engines.mujoco.actuation import Actuation, is_carried
from exoskel.engines.mujoco.coordinates import CompiledCoordinates, names_of
from exoskel.engines.mujoco.free_body_layout import layout_of
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.emitters import to_spec
from exoskel.formats.mjcf.loop_constraints import needs_stand_in, stand_ins
from exoskel.formats.mjcf.world_layout import WorldLayout, path, stand_in
from exoskel.formats.mjcf.write import write
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.world import World
from exoskel.spatial import Array

INTEGRATORS = ("discrete", "Euler", "RK4", "implicit", "implicitfast")


_LITTLE = 1e-6
"""Seconds, for derivatives."""


def _ignore(_message: str) -> None:
    """Warnings are looked up in the data, where they are counted."""


class MujocoWorld:
    """A compiled world.  Coordinates and velocities are the scene's; poses are in the world, `(bodies, 4, 4)`."""

    name = "mujoco"

    def __init__(
        self,
        world: World,
        *,
        limits: bool | None = None,
        integrator: str = "discrete",
        step: float | None = None,
        friction: float | None = None,
        layout: WorldLayout | None = None,
    ) -> None:
        mujoco = mujoco_import.load()
        # MuJoCo would write its warnings to a file in the working directory.
        mujoco.set_mju_user_warning(_ignore)
        self._mujoco = mujoco
        self.world = world
        chosen = next((name for name in INTEGRATORS if name.lower() == integrator.lower()), "")
        if not chosen:
            raise ExoskelError(f"there is no integrator {integrator!r}; there are {', '.join(INTEGRATORS)}")
        layout = layout or layout_of(world)
        tree = write(world, limits=limits, integrator=chosen, friction=friction, time_step=step, layout=layout)
        try:
            self.model: Any = mujoco_import.apart(to_spec(tree).compile)
            self.data: Any = mujoco.MjData(self.model)
        except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as error:
            raise ExoskelError(f"MuJoCo cannot compile the world: {error}") from None
        # Numbers that are none stay so, and are told; MuJoCo would begin anew without a word.
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        self.coordinates = CompiledCoordinates(layout, self.model)
        self.coordinates.set_axis_values(self.model)
        self.actuation = Actuation(layout, self.model, self.coordinates)
        self.bodies = [(m.name, b.name) for m in world.models for b in m.bodies]
        numbers = {name: number for number, name in enumerate(names_of(self.model, self.model.name_bodyadr))}
        self.body_ids = np.array([numbers[path(*names)] for names in self.bodies], dtype=np.intp)
        groups = [group.ours.ravel() for group in self.coordinates.rounds]
        self.turning = np.concatenate(groups) if groups else np.empty(0, dtype=np.intp)
        """The coordinates whose axes turn against MuJoCo's."""
        self._is_stale = False
        self._numbers = {id(body): i for i, body in enumerate(layout.bodies)}
        self._joints: list[Joint] = [j for m in world.models for j in m.joints if not j.loop]
        self._carried = is_carried(self.actuation.armature)
        self._shares = self._find_shares()
        self.reset()

    # --- state ----------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to the initial state."""
        self._mujoco.mj_resetData(self.model, self.data)
        self._forces = np.zeros(self.coordinates.count)
        self._commands = self.actuation.initial.copy()
        self._is_commanded = False
        self._is_fresh = True
        self._is_coasting = True
        self._is_turning = False
        self.positions = np.array([q for j in self._joints for q in j.positions], dtype=float)
        self.velocities = np.array([v for j in self._joints for v in j.velocities], dtype=float)
        self.actuation.set_speeds(self.data.qpos, self.data.qvel, self._commands, velocities=False)
        self._mujoco.mj_forward(self.model, self.data)

    @property
    def time(self) -> float:
        return float(self.data.time)

    @property
    def time_step(self) -> float:
        return float(self.model.opt.timestep)

    @property
    def positions(self) -> Array:
        return self.coordinates.positions(self.data.qpos)

    @positions.setter
    def positions(self, values: Array) -> None:
        self.coordinates.set_positions(self._counted(values), self.data.qpos)
        self._is_stale = True

    @property
    def velocities(self) -> Array:
        return self.coordinates.velocities(self.data.qpos, self.data.qvel)

    @velocities.setter
    def velocities(self, values: Array) -> None:
        # A locked joint does not move, whatever velocity it is given; a prescribed velocity holds for one step.
        wanted = np.where(self.actuation.locked, 0.0, self._counted(values))
        self.coordinates.set_velocities(wanted, self.data.qpos, self.data.qvel)
        self._is_coasting = True

    @property
    def forces(self) -> Array:
        """Generalised forces from outside, in N or N·m, that act until they are changed."""
        return self._forces.copy()

    @forces.setter
    def forces(self, values: Array) -> None:
        self._forces = self._counted(values).copy()
        self._note_turning()
        self._apply()

    @property
    def commands(self) -> Array:
        """What actuators are told, until they are told otherwise: see `exoskel.engines.mujoco.actuation`."""
        return self._commands.copy()

    @commands.setter
    def commands(self, values: Array) -> None:
        self._commands = self._counted(values).copy()
        self._is_commanded = True
        self._note_turning()
        self.actuation.set_speeds(self.data.qpos, self.data.qvel, self._commands)
        self._apply()

    def _apply(self) -> None:
        self.data.qfrc_applied[:] = self.actuation.applied(self.data.qpos, self._forces, self._commands)

    def _counted(self, values: Array) -> Array:
        array = spatial.array(values)
        if array.shape != (self.coordinates.count,):
            raise ExoskelError(f"{self.coordinates.count} values are needed, not an array of shape {array.shape}")
        if not np.isfinite(array).all():
            raise ExoskelError("coordinates, velocities, forces and commands have to be finite")
        return array

    @property
    def state(self) -> Array:
        """Everything that the motion depends on, as one array: MuJoCo's state, and what actuators are told."""
        spec = self._mujoco.mjtState.mjSTATE_INTEGRATION
        own = np.empty(self._mujoco.mj_stateSize(self.model, spec))
        self._mujoco.mj_getState(self.model, self.data, own, spec)
        flags = (self._is_fresh, self._is_coasting, self._is_commanded)
        return np.concatenate([own, self._forces, self._commands, np.array(flags, dtype=np.float64)])

    @state.setter
    def state(self, values: Array) -> None:
        spec = self._mujoco.mjtState.mjSTATE_INTEGRATION
        size, count = self._mujoco.mj_stateSize(self.model, spec), self.coordinates.count
        array = spatial.array(values)
        if array.shape != (size + 2 * count + 3,):
            raise ExoskelError(f"a state has {size + 2 * count + 3} numbers, not an array of shape {array.shape}")
        self._mujoco.mj_setState(self.model, self.data, array[:size].copy(), spec)
        self._forces, self._commands = array[size : size + count].copy(), array[size + count : -3].copy()
        self._is_fresh, self._is_coasting, self._is_commanded = (bool(flag) for flag in array[-3:])
        self._note_turning()
        self._mujoco.mj_forward(self.model, self.data)

    # --- motion ---------------------------------------------------------------------------------------

    def step(self, count: int = 1) -> None:
        if count > 0 and (self._is_fresh or self._is_coasting):
            self._first_step()
            count -= 1
        if count > 0:
            if self._is_turning:
                self._step_by_step(count)
            else:
                self._mujoco.mj_step(self.model, self.data, count)

    def _note_turning(self) -> None:
        """See whether a force is held whose axes turn against MuJoCo's: it has to be told anew before each step."""
        held = np.abs(self._forces[self.turning]) + np.abs(self._commands[self.turning])
        self._is_turning = bool(held.any())

    def _step_by_step(self, count: int) -> None:
        for _ in range(count):
            self._apply()
            self._mujoco.mj_step(self.model, self.data, 1)

    def _first_step(self) -> None:
        """What a file states as forces, and the velocity of a joint that is told none, hold for one step."""
        told = self._commands
        if self._is_fresh and not self._is_commanded:
            self._commands = told + self.actuation.first_forces + self.actuation.first_accelerations
        if self._commands.any() or self._is_turning:
            self._apply()
        pushed = self._is_fresh and self._push()
        self._mujoco.mj_step(self.model, self.data, 1)
        self._commands = told
        if pushed:
            self.data.xfrc_applied[:] = 0.0
        if not (self._is_fresh and self._is_commanded):
            self._apply()
            self.actuation.set_speeds(self.data.qpos, self.data.qvel, told)
        self._is_fresh = self._is_coasting = False

    def _push(self) -> bool:
        """Apply the forces (N, at the centre of mass) and torques (N·m) that a source states for bodies."""
        if not len(self.pushes):
            return False
        self.data.xfrc_applied[:] = self.pushes
        return True

    @cached_property
    def pushes(self) -> Array:
        """Forces and torques of the first step by MuJoCo's bodies, `(bodies, 6)`; empty if there are none."""
        out = np.zeros((self.model.nbody, 6))
        for body, number in zip(self.world.bodies(), self.body_ids.tolist(), strict=True):
            if body.state is not None:
                out[number] = (*body.state.force, *body.state.torque)
        return out if out.any() else np.empty((0, 6))

    def refresh(self) -> None:
        """Bring everything that follows from the state up to date."""
        self._mujoco.mj_forward(self.model, self.data)
        self._is_stale = False

    @property
    def trouble(self) -> str:
        """What MuJoCo has met that makes the state worthless; it starts anew then, or goes on without contacts."""
        kinds = self._mujoco.mjtWarning
        if any(self.data.warning[kind].number for kind in (kinds.mjWARN_CONTACTFULL, kinds.mjWARN_CNSTRFULL)):
            return "MuJoCo has no memory left for contacts"
        bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
        return "the motion exploded" if any(self.data.warning[kind].number for kind in bad) else ""

    @property
    def body_poses(self) -> Array:
        """World poses of all bodies, in state order."""
        self._mujoco.mj_kinematics(self.model, self.data)
        return spatial.transform(self.data.xmat[self.body_ids].reshape(-1, 3, 3), self.data.xpos[self.body_ids])

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy in J, springs included."""
        # A step leaves everything but the state as it was before it.
        self._mujoco.mj_kinematics(self.model, self.data)
        self._mujoco.mj_comPos(self.model, self.data)
        self._mujoco.mj_energyPos(self.model, self.data)
        potential = float(self.data.energy[0])
        weightless = self.model.body_gravcomp > 0.0
        if weightless.any():  # MuJoCo counts the height of what it holds up
            weight = self.model.body_mass * (self.data.xipos @ self.model.opt.gravity)
            potential += float(weight[weightless].sum())
        return self._kinetic(), potential

    def _kinetic(self) -> float:
        """From the bodies' own motion: what carries prescribed joints along does not count."""
        self._mujoco.mj_comVel(self.model, self.data)
        spin = self.data.cvel[:, :3]
        arm = self.data.xipos - self.data.subtree_com[self.model.body_rootid]
        speed = self.data.cvel[:, 3:] + np.cross(spin, arm)
        turned = np.einsum("nji,nj->ni", self.data.ximat.reshape(-1, 3, 3), spin)
        linear = float(self.model.body_mass @ np.sum(speed**2, axis=1))
        return 0.5 * (linear + float(np.sum(self.model.body_inertia * turned**2)))

    @property
    def constraint_error(self) -> float:
        """How far joints that constraints hold (screws, loops, mimics) are off, in m or rad."""
        return float(np.abs(self.data.efc_pos[: self.data.ne]).max(initial=0.0))

    @property
    def contacts(self) -> list[Contact]:
        if self._is_stale:
            self.refresh()
        found: list[Contact] = []
        wrench = np.zeros(6)
        for i, one in enumerate(self.data.contact[: self.data.ncon]):
            names = tuple(self.model.body(self.model.geom_bodyid[g]).name for g in (one.geom1, one.geom2))
            self._mujoco.mj_contactForce(self.model, self.data, i, wrench)
            force = wrench[:3] @ one.frame.reshape(3, 3)
            found.append(Contact((names[0], names[1]), one.pos.copy(), one.frame[:3].copy(), -float(one.dist), force))
        return found

    @property
    def contact_count(self) -> int:
        """How many points touch: in the last step, or where bodies were put since."""
        if self._is_stale:
            self.refresh()
        return int(self.data.ncon)

    # --- a hand ---------------------------------------------------------------------------------------

    def pull(self, body: int, point: Array, target: Array) -> None:
        """Draw a point of a body (its number and frame, m) to a target in the world with a spring, damped critically.

        The force is that of this moment: it has to be told anew as the body moves, and ends with `release`.
        """
        mujoco, number = self._mujoco, int(self.body_ids[body])
        place = self.data.xmat[number].reshape(3, 3) @ spatial.array(point) + self.data.xpos[number]
        hand = mujoco.MjvPerturb()
        hand.select, hand.active = number, int(mujoco.mjtPertBit.mjPERT_TRANSLATE)
        hand.localpos[:], hand.refselpos[:] = point, target
        hand.localmass = self._mass_at(number, place)
        mujoco.mjv_applyPerturbForce(self.model, self.data, hand)

    def release(self) -> None:
        """Let go of what was pulled."""
        self.data.xfrc_applied[:] = 0.0

    def _mass_at(self, number: int, place: Array) -> float:
        """How heavy a body feels to a hand that takes it at a place in the world, kg; 0 if nothing moves it."""
        if not self.model.nv:
            return 0.0
        along, eased = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        self._mujoco.mj_jac(self.model, self.data, along, None, place, number)
        self._mujoco.mj_solveM(self.model, self.data, eased, along)
        ease = float(np.sum(along * eased))
        return 3.0 / ease if ease > 0.0 else 0.0

    def close(self) -> None:
        """Nothing to end: MuJoCo runs in this process."""

    # --- dynamics -------------------------------------------------------------------------------------

    def mass_matrix(self) -> Array:
        """In the scene's coordinates, `(dofs, dofs)`."""
        with self._as_in_the_scene():
            change = self.coordinates.matrix(self.data.qpos)
            out: Array = change.T @ self._full() @ change
            return out

    def _full(self) -> Array:
        """MuJoCo's own mass matrix."""
        full = np.zeros((self.model.nv, self.model.nv))
        self._mujoco.mj_fullM(self.model, self.data, full)
        return full

    def _find_shares(self) -> Array:
        """What the masses of bodies have to be multiplied by to be the scene's: stand-ins have a part of some."""
        out = np.ones(self.model.nbody)
        counts = stand_ins(self.world)
        if not counts:
            return out
        for number, body in zip(self.body_ids.tolist(), self.world.bodies(), strict=True):
            out[number] = counts.get(id(body), 0) + 1
        for model in self.world.models:
            for joint in model.joints:
                if joint.loop and not model.static and needs_stand_in(joint):
                    out[self.model.body(stand_in(model, joint)).id] = 0.0
        return out

    @contextmanager
    def _as_in_the_scene(self) -> Iterator[None]:
        """Dynamics of the tree as the scene has it: whole masses, and nothing that carries joints along."""
        model, mujoco = self.model, self._mujoco
        if not self._carried.any() and (self._shares == 1.0).all():
            mujoco.mj_fwdPosition(model, self.data)
            mujoco.mj_fwdVelocity(model, self.data)
            yield
            return
        masses, inertias = model.body_mass.copy(), model.body_inertia.copy()
        model.dof_armature[:] = 0.0
        model.body_mass[:] *= self._shares
        model.body_inertia[:] *= self._shares[:, None]
        try:
            mujoco.mj_kinematics(model, self.data)
            mujoco.mj_comPos(model, self.data)
            mujoco.mj_makeM(model, self.data)
            mujoco.mj_comVel(model, self.data)
            mujoco.mj_passive(model, self.data)
            mujoco.mj_rne(model, self.data, 0, self.data.qfrc_bias)
            yield
        finally:
            model.dof_armature[:] = self.actuation.armature
            model.body_mass[:], model.body_inertia[:] = masses, inertias
            mujoco.mj_forward(model, self.data)

    def bias_forces(self) -> Array:
        """Coriolis, centrifugal and gravity forces, `(dofs)`: what holds the state at zero acceleration."""
        mujoco, model, data = self._mujoco, self.model, self.data
        with self._as_in_the_scene():
            change = self.coordinates.matrix(data.qpos)
            bias = data.qfrc_bias - data.qfrc_gravcomp
            if self.coordinates.rounds:  # the scene's velocities turn against MuJoCo's
                ahead, behind = data.qpos.copy(), data.qpos.copy()
                mujoco.mj_integratePos(model, ahead, data.qvel, _LITTLE)
                mujoco.mj_integratePos(model, behind, data.qvel, -_LITTLE)
                rate = (self.coordinates.matrix(ahead) - self.coordinates.matrix(behind)) / (2 * _LITTLE)
                bias = bias + self._full() @ (rate @ self.velocities)
            out: Array = change.T @ bias
            return out

    def jacobian(self, body: Body, point: Array = np.zeros(3)) -> Array:  # noqa: B008 - never changed
        """Of a point of a body, in its frame: `(6, dofs)`, angular velocity first, both in world axes."""
        self._mujoco.mj_kinematics(self.model, self.data)
        self._mujoco.mj_comPos(self.model, self.data)
        number = int(self.body_ids[self._numbers[id(body)]])
        place = self.data.xmat[number].reshape(3, 3) @ spatial.array(point) + self.data.xpos[number]
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        self._mujoco.mj_jac(self.model, self.data, linear, angular, place, number)
        out: Array = np.vstack([angular, linear]) @ self.coordinates.matrix(self.data.qpos)
        return out
