"""MuJoCo's model for `ImpulseStep`: its solver has the joint constraints of some trees only.

Friction, limits and servos of a tree of bodies are computed by `ImpulseStep`.  If the tree touches something or is part
of an equality constraint, MuJoCo's solver has to compute them: it needs all constraints of a tree at once.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf import mujoco_import
from exoskel.spatial import Array, Indices, Mask

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

    `bounded` are the degrees of freedom of hinges and slides whose velocities are limited.
    """

    def __init__(self, model: Any, friction: Array, bounded: Mask) -> None:
        self._mujoco = mujoco_import.load()
        self.model: Any = copy.copy(model)
        own = self.model
        own.dof_damping[:], own.jnt_stiffness[:] = 0.0, 0.0  # springs and dampers are computed by `ImpulseStep`
        self._dof_tree, self._body_tree = np.asarray(own.dof_treeid), np.asarray(own.body_treeid)
        self._joint_tree = self._dof_tree[own.jnt_dofadr]
        self._tendon_tree = np.array([self._first_tree(number) for number in range(own.ntendon)], dtype=np.intp)
        self._motor_tree = self._joint_tree[own.actuator_trnid[:, 0]]
        self._is_bounded = bounded[own.jnt_dofadr]
        own.jnt_margin[self._is_bounded] = _EVERYWHERE
        own.jnt_solimp[self._is_bounded], own.jnt_solref[self._is_bounded] = _STIFFEST, (-1.0, 0.0)
        own.dof_invweight0[bounded] *= CONSTRAINT_MIXING / (1.0 - _STIFFEST[1])
        limited = np.where(self._is_bounded, 1, own.jnt_limited)
        self._stated = _JointConstraints(
            friction.copy(), limited, own.tendon_frictionloss.copy(), own.actuator_biasprm.copy()
        )
        self._linked = self._linked_trees()
        self._solved = np.zeros(own.ntree, dtype=bool)
        self._use_constraints(self._solved)

    def _first_tree(self, tendon: int) -> int:
        joint = int(self.model.wrap_objid[self.model.tendon_adr[tendon]])
        return int(self._joint_tree[joint])

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
        solved = self.touched_trees(data)
        if not np.array_equal(solved, self._solved):
            self._use_constraints(solved)
            self._mujoco.mj_step1(self.model, data)
        return np.asarray(self._solved[self._dof_tree])

    def touched_trees(self, data: Any) -> Mask:
        """The trees with contacts or equality constraints, `(ntree)`."""
        out = np.zeros(self.model.ntree, dtype=bool)
        if data.ne:
            out[self._linked] = True
        if data.ncon:
            trees = self._body_tree[self.model.geom_bodyid[data.contact.geom.ravel()]]
            out[trees[trees >= 0]] = True
        return out

    def _use_constraints(self, trees: Mask) -> None:
        """Let MuJoCo have the constraints of these trees alone."""
        model, stated = self.model, self._stated
        model.dof_frictionloss[:] = np.where(trees[self._dof_tree], stated.friction, 0.0)
        model.jnt_limited[:] = np.where(trees[self._joint_tree], stated.limited, 0)
        model.tendon_frictionloss[:] = np.where(trees[self._tendon_tree], stated.motor_friction, 0.0)
        model.actuator_biasprm[:] = np.where(trees[self._motor_tree][:, None], stated.motor_bias, 0.0)
        self._solved = trees

    def limits_velocities(self, data: Any) -> bool:
        """Whether MuJoCo's solver limits velocities in this step."""
        return bool(data.nl and self._is_bounded.any())

    def limited_dofs(self, data: Any) -> Indices:
        """The degrees of freedom at whose limits MuJoCo's constraints act."""
        return np.asarray(self.model.jnt_dofadr[data.efc_id[self._limit_rows(data)]])

    def _limit_rows(self, data: Any) -> Indices:
        return np.flatnonzero(data.efc_type[: data.nefc] == self._mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT)

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
