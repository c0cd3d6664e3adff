"""The linear systems of a time step: the inertia in MuJoCo, impulses within bounds, and locked joints that stop.

DART stops locked joints between two passes of its algorithm: bodies below are accelerated by the Coriolis acceleration
of their parents without the locked joints, but their forces contain that of the moving ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.model.rotational_joints import as_slice
from exoskel.spatial import Array, Indices, Mask

BlockMembers = list[tuple[slice | Indices, slice | Indices]]
"""The constraints of each block, and its degrees of freedom."""

ROUNDING = 1e-14
"""The relative error up to which a number satisfies a bound."""
FEW = 48
"""The number of unknowns up to which MuJoCo solves a problem in less time."""
BLOCK_SIZE = 32
"""The constraints of trees are solved together up to this number of degrees of freedom."""
PATIENCE = 10
"""Iterations without progress after which `solve_boxed_lcp` changes its method."""


class InertiaPlaces:
    """Where MuJoCo stores the inertia of degrees of freedom, and that between `prescribed` ones and others."""

    def __init__(self, model: Any, prescribed: Mask) -> None:
        self._model = model
        self.diagonal: Indices = np.asarray(model.M_rowadr + model.M_rownnz - 1, dtype=np.intp)
        rows = np.repeat(np.arange(model.nv), model.M_rownnz)
        is_coupling = (prescribed[rows] | prescribed[model.M_colind]) & (rows != model.M_colind)
        self._coupling, self._prescribed = np.flatnonzero(is_coupling), self.diagonal[prescribed]

    def is_diagonal(self, dofs: Indices) -> bool:
        """Whether MuJoCo has only the diagonal for some degrees of freedom."""
        return bool((self._model.M_rownnz[dofs] == 1).all())

    def triangle(self, dofs: Indices) -> list[int]:
        """The places of the lower triangle for the degrees of freedom of a joint."""
        model, found = self._model, []
        for row, column in zip(*np.tril_indices(len(dofs)), strict=True):
            late, early = max(dofs[row], dofs[column]), min(dofs[row], dofs[column])
            begin = int(model.M_rowadr[late])
            own = model.M_colind[begin : begin + int(model.M_rownnz[late])]
            found.append(begin + int(np.flatnonzero(own == early)[0]))
        return found

    def without_prescribed(self, inertia: Array) -> Array:
        """The inertia of free joints alone: the prescribed ones have 1, without coupling."""
        out = inertia.copy()
        out[self._coupling], out[self._prescribed] = 0.0, 1.0
        return out


class BoxedProblem(Struct, frozen=True):
    """Constraints that are solved at once: on degrees of freedom, and on combinations of MuJoCo's, `(..., nv)`.

    The velocities should change as `wanted`, with impulses within bounds.  `mixing` increases the diagonal of the
    inverse inertia in proportion, `softness` by its value.
    """

    dofs: Indices
    columns: Array
    wanted: Array
    low: Array
    high: Array
    mixing: Array
    softness: Array

    def after(self, other: BoxedProblem) -> BoxedProblem:
        """The constraints on degrees of freedom of another problem, and then these."""
        dofs = np.concatenate([other.dofs, self.dofs])
        names = ("wanted", "low", "high", "mixing", "softness")
        values = (np.concatenate([getattr(other, name), getattr(self, name)]) for name in names)
        return BoxedProblem(dofs, self.columns, *values)

    def solve(self, rows: Array, response: Array, members: BlockMembers) -> Array:
        """The change of MuJoCo's velocities, `(nv)`.

        `rows` are the constraints, and `response` the changes by their unit impulses, as `ConstraintBlocks.divide`
        arranges them.
        """
        out = np.zeros(rows.shape[1])
        for own, dofs in members:
            wanted = self.wanted[own]
            size = len(wanted)
            matrix = rows[:size, dofs] @ response[:size, dofs].T
            diagonal = matrix.ravel()[:: size + 1]
            diagonal += self.mixing[own] * diagonal + self.softness[own]
            out[dofs] = solve_boxed_lcp(matrix, wanted, self.low[own], self.high[own]) @ response[:size, dofs]
        return out


class ConstraintBlocks:
    """The trees of bodies with constraints, in blocks that are solved together."""

    def __init__(self, trees: Indices, constrained: Mask) -> None:
        blocks: list[list[int]] = []
        for tree in np.unique(trees[constrained]).tolist():
            dofs = np.flatnonzero(trees == tree).tolist()
            if blocks and len(blocks[-1]) + len(dofs) <= BLOCK_SIZE:
                blocks[-1] += dofs
            else:
                blocks.append(dofs)
        self._places = [as_slice(np.array(sorted(dofs), dtype=np.intp)) for dofs in blocks]
        self._numbers = np.zeros(len(trees), dtype=np.intp)
        for number, dofs in enumerate(blocks):
            self._numbers[dofs] = number

    def divide(self, problem: BoxedProblem) -> tuple[Indices, BlockMembers]:
        """The numbers of constraints within their blocks; and for each block its constraints and its place.

        Trees do not affect each other, so that constraints with the same number share a row.
        """
        count = len(problem.wanted)
        if len(self._places) == 1:
            return np.arange(count), [(slice(None), slice(None))]
        firsts = problem.dofs
        if len(problem.columns):
            firsts = np.concatenate([firsts, (problem.columns != 0.0).argmax(axis=1)])
        blocks, ranks = self._numbers[firsts], np.empty(count, dtype=np.intp)
        order = np.argsort(blocks, kind="stable")
        numbers, begins = np.unique(blocks[order], return_index=True)
        members = np.split(order, begins[1:])
        for own in members:
            ranks[own] = np.arange(len(own))
        return ranks, list(zip(members, (self._places[number] for number in numbers.tolist()), strict=True))


def solve_boxed_lcp(matrix: Array, wanted: Array, low: Array, high: Array) -> Array:
    """The x within bounds for which `matrix @ x` is as wanted, or beyond it where a bound holds x back.

    `matrix` is symmetric and positive definite, so that there is one solution.  Block principal pivoting: guess which x
    are at their bounds, solve for the others, and correct the guess.  MuJoCo does it in less time for small problems.
    """
    if len(wanted) == 1:
        single: Array = np.clip(wanted / matrix[0], low, high)
        return single
    if len(wanted) <= FEW and (low < high).all():
        small = np.zeros(len(wanted))
        mujoco_import.load().mju_boxQP(
            small, np.empty((len(wanted), len(wanted) + 7)), None, matrix, -wanted, low, high
        )
        if _is_solution(small, matrix, wanted, low, high):
            return small
    alone = wanted / matrix.diagonal()
    side = (alone > high).astype(np.int8) - (alone < low)
    fewest, patience = len(wanted) + 1, PATIENCE
    out = np.zeros(len(wanted))
    while patience:
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
            return np.clip(out, low, high)
        patience = PATIENCE if count < fewest else patience - 1
        fewest = min(fewest, count)
        side = np.where(wrong, np.where(free, np.where(out < low, -1, 1), 0), side)
    return solve_by_active_set(matrix, wanted, low, high)


def _is_solution(x: Array, matrix: Array, wanted: Array, low: Array, high: Array) -> bool:
    """Whether x within the bounds solves a small problem, up to rounding."""
    most = ROUNDING * len(x) * max(matrix.max() * np.abs(x).max(), np.abs(wanted).max())
    each = zip((matrix @ x - wanted).tolist(), x.tolist(), low.tolist(), high.tolist(), strict=True)
    return all(
        abs(excess) <= most or own == (least if excess > 0.0 else greatest) for excess, own, least, greatest in each
    )


def solve_by_active_set(matrix: Array, wanted: Array, low: Array, high: Array) -> Array:
    """The same as `solve_boxed_lcp`, slower, but also if `matrix` is almost singular.

    Friction and a limit of the same joint make it so.  The method minimises `x @ matrix @ x / 2 - wanted @ x` from
    within the bounds, and never increases it.
    """
    out = np.clip(np.zeros(len(wanted)), low, high)
    free = np.zeros(len(wanted), dtype=bool)
    for _ in range(10 * len(wanted) + 10):
        own = np.flatnonzero(free)
        if len(own):
            change = np.linalg.solve(matrix[np.ix_(own, own)], (wanted - matrix @ out)[own])
            room = np.where(change < 0.0, low[own], high[own]) - out[own]
            share = np.divide(room, change, out=np.full(len(own), np.inf), where=change != 0.0)
            out[own] = np.clip(out[own] + min(1.0, share.min()) * change, low[own], high[own])
            if share.min() < 1.0:
                blocking = own[share.argmin()]
                out[blocking], free[blocking] = (low if change[share.argmin()] < 0.0 else high)[blocking], False
                continue
        excess = matrix @ out - wanted
        gain = np.maximum(np.where(out < high, -excess, 0.0), np.where(out > low, excess, 0.0))
        gain[own] = 0.0
        if not gain.max() > ROUNDING * (np.abs(matrix) @ np.abs(out) + np.abs(wanted)).max():
            break
        free[gain.argmax()] = True
    return out


# --- locked joints -------------------------------------------------------------------------------------


class Brake(Struct, frozen=True):
    """What changes below a body when a locked joint above it stops: the forces on these degrees of freedom, `(nv)`."""

    below: Mask
    forces: Array


def find_brakes(model: Any, data: Any, locked: Mask) -> list[Brake]:
    """The effect of locked joints that stop in this step, one for each body that moves below them."""
    twists = data.cdof * data.qvel[:, None]
    found: list[Brake] = []
    stopped: dict[int, Array] = {0: np.zeros(6)}  # the velocity of each body that is due to locked joints
    for body in range(1, model.nbody):
        first, count = int(model.body_dofadr[body]), int(model.body_dofnum[body])
        own = range(first, first + count)
        above = stopped[int(model.body_parentid[body])]
        is_locked = any(locked[dof] for dof in own)
        stopped[body] = above + sum((twists[dof] for dof in own), np.zeros(6)) if is_locked else above
        if count and above.any() and not is_locked:
            lost = -_motion_cross(above, np.sum([twists[dof] for dof in own], axis=0))
            found.append(_brake(model, data, body, lost))
    return found


def _brake(model: Any, data: Any, body: int, acceleration: Array) -> Brake:
    """The forces on all joints below a body that is accelerated."""
    is_below = np.zeros(model.nbody, dtype=bool)
    for other in range(body + 1, model.nbody):
        parent = int(model.body_parentid[other])
        is_below[other] = parent == body or is_below[parent]
    below = is_below[model.dof_bodyid]
    forces = np.zeros(model.nv)
    for dof in np.flatnonzero(below):
        forces[dof] = data.cdof[dof] @ _inertia_times(data.crb[model.dof_bodyid[dof]], acceleration)
    return Brake(below, forces)


def braking_acceleration(brake: Brake, free: Mask, implicit: Array) -> Array:
    """What a brake adds to MuJoCo's accelerations of free joints, with all inertia in the first stage, `(nv, nv)`."""
    out = np.zeros(len(free))
    at = np.flatnonzero(brake.below & free)
    if len(at):
        out[at] = np.linalg.solve(implicit[np.ix_(at, at)], -brake.forces[at])
    return out


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


def any_world(values: Array) -> Mask:
    """Which values are not zero in at least one world, `(nv)`."""
    return np.asarray((values != 0.0).reshape(-1, values.shape[-1]).any(axis=0))


def replace_changed(own: Array, before: Array, after: Array | None) -> Array:
    """The own values, except where others changed."""
    return own if after is None else np.where(after != before, after, own)
