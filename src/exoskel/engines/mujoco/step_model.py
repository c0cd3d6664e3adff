"""The worlds in which MuJoCo's own step differs from DART's, and MuJoCo's model for `ImpulseStep` there.

Friction, limits and servos of a tree of bodies are computed by `ImpulseStep`.  If the tree touches something or is part
of an equality constraint, MuJoCo's solver has to compute them: it needs all constraints of a tree at once.
"""

from __future__ import annotations

import copy
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.controls import actuator_count
from exoskel.formats.mjcf.model.joints import needs_duplicate
from exoskel.formats.mjcf.write import TOLERANCE
from exoskel.scene.joint import PRESCRIBED_ACTUATORS, Drive, Joint
from exoskel.scene.soft_skin import has_surface
from exoskel.scene.world import World
from exoskel.spatial import Array, Indices, Mask


def needs_impulse_step(world: World, limits: bool | None = None) -> bool:
    """Whether MuJoCo's own step would differ from DART's, or from ODE's; `limits` as in `MujocoWorld`."""
    if world.tendons or world.equalities:  # MuJoCo's solver has to compute them together with friction and limits
        return False
    if any(one.activation is not None for one in world.actuators):  # MuJoCo's step advances activations
        return False
    is_found = False
    for model in world.models:
        for joint in model.joints if not model.static else ():
            if joint.loop or not joint.is_plain:
                if joint.solver is not None or (joint.loop and needs_duplicate(joint)):
                    return False
                is_found = is_found or (_is_acting(joint) and _joint_needs_impulses(joint, limits))
    return is_found or has_colliding_skins(world)


def has_colliding_skins(world: World) -> bool:
    """Whether soft skins may touch something: impulses of contacts act on their points without springs and dampers."""
    if not any(body.soft for model in world.models for body in model.bodies):
        return False
    collides = [any(body.collisions or body.soft for body in model.bodies) for model in world.models]
    return any(
        (world.self_collision or sum(collides) > 1)
        and any(body.soft and has_surface(body.soft) for body in model.bodies)
        for model in world.models
        if not model.static
    )


def has_only_limits(world: World, limits: bool | None) -> bool:
    """Whether limits and stops of joints with fixed axes are all that makes MuJoCo's step differ.

    Locked joints make no difference while they do not move.
    """
    joints = [joint for model in world.models if not model.static for joint in model.joints if _is_acting(joint)]
    return not has_colliding_skins(world) and not any(
        (joint.actuator in PRESCRIBED_ACTUATORS and joint.actuator != "locked")
        or _joint_needs_impulses(joint, limits=False)
        or (joint.kind in ("ball", "free") and _is_limited(joint, limits))
        for joint in joints
    )


def _is_acting(joint: Joint) -> bool:
    """Whether a joint has coordinates, or is an angular motor."""
    return not joint.loop or joint.kind == "amotor"


def has_stops(drive: Drive) -> bool:
    """Whether an axis has a finite stop."""
    return any(stop is not None and isfinite(stop) for stop in (drive.low_stop, drive.high_stop))


def _joint_needs_impulses(joint: Joint, limits: bool | None) -> bool:
    """Whether MuJoCo has nothing that does what this joint alone does in DART."""
    if joint.is_plain:
        return False
    if joint.kind == "amotor":
        return any(drive.max_force or has_stops(drive) for drive in joint.drives)
    if any(drive.max_force and drive.cfm is not None for drive in joint.drives):  # MuJoCo's motors do not yield
        return True
    if joint.actuator in ("velocity", "servo"):
        return bool(joint.dof_count)
    if joint.actuator in PRESCRIBED_ACTUATORS:  # MuJoCo has no joint that stops without a reaction
        return joint.actuator == "locked" and any(joint.velocities)
    if _has(joint, "friction"):  # MuJoCo's friction is soft: what it holds creeps
        return True
    if _is_limited(joint, limits):
        return True
    if joint.kind == "ball":
        return _has(joint, "stiffness") or len({dof.damping for dof in joint._dofs or ()}) > 1
    return joint.kind == "free" and _has(joint, "stiffness", "damping")


def _is_limited(joint: Joint, limits: bool | None) -> bool:
    """Whether limits of positions or velocities are enforced."""
    is_enforced = joint.limits_enforced if limits is None else limits
    bounds = (value for dof in joint._dofs or () for value in (*dof.position_limits, *dof.velocity_limits))
    return is_enforced and any(map(isfinite, bounds))


def _has(joint: Joint, *fields: str) -> bool:
    return any(getattr(dof, field) for dof in joint._dofs or () for field in fields)


_EVERYWHERE = 1e10
"""The margin with which MuJoCo always has the limits of a joint as constraints."""
_STIFFEST = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""The impedance of the stiffest constraints that MuJoCo makes."""
CONSTRAINT_MIXING = 1e-9
"""DART's constraint force mixing: the relative increase of the diagonal of the inverse inertia in the second stage."""


class _JointConstraints(Struct, frozen=True):
    """The values that make MuJoCo's constraints: friction, limits, and the motors of servos."""

    friction: Array
    limited: Array
    motor_friction: Array
    motor_bias: Array


class StepModel:
    """A copy of MuJoCo's model, and which of its trees MuJoCo's solver handles now.

    `bounded` are the degrees of freedom of hinges and slides whose velocities are limited.  Trees with the same number
    in `joined` are handled together: angular motors act between them.
    """

    def __init__(self, model: Any, friction: Array, bounded: Mask, joined: Indices) -> None:
        self._mujoco = mujoco_import.load()
        self._own_model: Any = model
        self.model: Any = copy.copy(model)
        # Arrays are slow to compare with a member of an enumeration.
        self._joint_limit = int(self._mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT)
        own = self.model
        # Springs and dampers are computed by `ImpulseStep`, and so are the actuators of joints.
        own.dof_damping[:], own.jnt_stiffness[:], own.tendon_stiffness[:] = 0.0, 0.0, 0.0
        at_joints = own.actuator_trntype != self._mujoco.mjtTrn.mjTRN_SITE
        own.actuator_gainprm[at_joints], own.actuator_biasprm[at_joints] = 0.0, 0.0
        self._dof_tree, self._body_tree = np.asarray(own.dof_treeid), np.asarray(own.body_treeid)
        self._joint_tree, self._geom_tree = self._dof_tree[own.jnt_dofadr], self._body_tree[own.geom_bodyid]
        self._tendon_tree = np.array([self._first_tree(number) for number in range(own.ntendon)], dtype=np.intp)
        self._motor_tree = np.array([self._driven_tree(number) for number in range(actuator_count(own))], dtype=np.intp)
        self._joined = joined if (joined != np.arange(own.ntree)).any() else None
        self._is_bounded = bounded[own.jnt_dofadr]
        self._has_bounded = bool(self._is_bounded.any())
        if self._has_bounded:
            own.opt.tolerance = TOLERANCE
        own.jnt_margin[self._is_bounded] = _EVERYWHERE
        own.jnt_solimp[self._is_bounded], own.jnt_solref[self._is_bounded] = _STIFFEST, (-1.0, 0.0)
        own.dof_invweight0[bounded] *= CONSTRAINT_MIXING / (1.0 - _STIFFEST[1])
        limited = np.where(self._is_bounded, 1, own.jnt_limited)
        self._stated = _JointConstraints(
            friction.copy(), limited, own.tendon_frictionloss.copy(), own.actuator_biasprm.copy()
        )
        self._linked = self._linked_trees()
        self._use_constraints(np.zeros(own.ntree, dtype=bool))

    @cached_property
    def unlimited_model(self) -> Any:
        """A copy of MuJoCo's own model without limits."""
        model = copy.copy(self._own_model)
        model.jnt_limited[:] = 0
        return model

    def _first_tree(self, tendon: int) -> int:
        joint = int(self.model.wrap_objid[self.model.tendon_adr[tendon]])
        return int(self._joint_tree[joint])

    def _driven_tree(self, actuator: int) -> int:
        """The tree of an actuator: of a joint, or between two sites, of which one may be static."""
        model, target = self.model, self.model.actuator_trnid[actuator]
        if model.actuator_trntype[actuator] != self._mujoco.mjtTrn.mjTRN_SITE:
            return int(self._joint_tree[target[0]])
        return int(self._body_tree[model.site_bodyid[target]].max())

    def _linked_trees(self) -> Indices:
        """The trees with equality constraints: of joints, or of bodies."""
        model, kinds = self.model, self._mujoco.mjtObj
        found: set[int] = set()
        for number in range(model.neq):
            of_bodies = model.eq_objtype[number] == kinds.mjOBJ_BODY
            of_joints = model.eq_type[number] == self._mujoco.mjtEq.mjEQ_JOINT
            trees = self._body_tree if of_bodies else self._joint_tree
            if of_bodies or of_joints:
                both = (int(model.eq_obj1id[number]), int(model.eq_obj2id[number]))
                found |= {int(trees[one]) for one in both if one >= 0}
        return np.array(sorted(found - {-1}), dtype=np.intp)

    # --- each step ------------------------------------------------------------------------------------

    def begin(self, data: Any) -> Mask:
        """Compute what depends on the state; returns which degrees of freedom MuJoCo's solver handles, `(nv)`."""
        self._mujoco.mj_step1(self.model, data)
        if not (data.ncon or data.ne or self._solves):
            return self._solved_dofs
        solved = self.touched_trees(data)
        if not np.array_equal(solved, self._solved):
            self._use_constraints(solved)
            self._mujoco.mj_step1(self.model, data)
        return self._solved_dofs

    def begin_alone(self, data: Any) -> bool:
        """Begin a step with MuJoCo's own springs and dampers; returns whether nothing touches."""
        self._mujoco.mj_step1(self._own_model, data)
        return not data.ncon

    def finish_alone(self, data: Any) -> None:
        """Finish a step that `begin_alone` began."""
        self._mujoco.mj_step2(self._own_model, data)

    def touched_trees(self, data: Any) -> Mask:
        """The trees with contacts or equality constraints, `(ntree)`."""
        out = np.zeros(self.model.ntree, dtype=bool)
        if data.ne:
            out[self._linked] = True
        if data.ncon and len(out) == 1:  # static bodies do not touch each other
            out[0] = True
        elif data.ncon:
            trees = self._geom_tree[data.contact.geom.ravel()]
            out[trees[trees >= 0]] = True
        if self._joined is not None and out.any():
            out = np.isin(self._joined, self._joined[out])
        return out

    def _use_constraints(self, trees: Mask) -> None:
        """Let MuJoCo have the constraints of these trees alone."""
        model, stated = self.model, self._stated
        model.dof_frictionloss[:] = np.where(trees[self._dof_tree], stated.friction, 0.0)
        model.jnt_limited[:] = np.where(trees[self._joint_tree], stated.limited, 0)
        model.tendon_frictionloss[:] = np.where(trees[self._tendon_tree], stated.motor_friction, 0.0)
        model.actuator_biasprm[:] = np.where(trees[self._motor_tree][:, None], stated.motor_bias, 0.0)
        self._solved, self._solves = trees, bool(trees.any())
        self._solved_dofs: Mask = trees[self._dof_tree]

    def limits_velocities(self, data: Any) -> bool:
        """Whether MuJoCo's solver limits velocities in this step."""
        return bool(data.nl) and self._has_bounded

    def limited_dofs(self, data: Any) -> Indices:
        """The degrees of freedom at whose limits MuJoCo's constraints act."""
        return np.asarray(self.model.jnt_dofadr[data.efc_id[self._limit_rows(data)]])

    def _limit_rows(self, data: Any) -> Indices:
        return np.flatnonzero(data.efc_type[: data.nefc] == self._joint_limit)

    def limit_velocities(self, data: Any, lowest: Array, highest: Array, step_size: float) -> None:
        """Keep the next velocities within bounds, `(nv)`; call it between `begin` and `mj_step2`."""
        rows = self._limit_rows(data)
        rows = rows[self._is_bounded[data.efc_id[rows]]]
        dofs = self.model.jnt_dofadr[data.efc_id[rows[::2]]]  # each joint has a row for the lower and the upper limit
        accelerations = np.empty(len(rows))
        accelerations[::2] = (lowest - data.qvel)[dofs] / step_size
        accelerations[1::2] = (data.qvel - highest)[dofs] / step_size
        speeds = np.empty(len(rows))
        speeds[::2], speeds[1::2] = data.qvel[dofs], -data.qvel[dofs]
        # MuJoCo computes the acceleration from the position at the end of the step, by a spring of stiffness 1.
        stiffness = 1.0 / _STIFFEST[1]
        stiffness /= 1.0 + step_size**2 * stiffness
        data.efc_margin[rows] = 0.0
        data.efc_pos[rows] = -accelerations / stiffness - step_size * speeds
