"""Velocities, accelerations and joint reactions of MuJoCo's bodies, in world axes, `(nbody, 6)`.

Rows have the rotational part first.  Linear parts are those of the body's origin; torques are about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.model.joints import needs_duplicate
from exoskel.formats.mjcf.model.layout import duplicate_name
from exoskel.scene.item import qualified_name
from exoskel.scene.world import World
from exoskel.spatial import Array


def _arms(model: Any, data: Any) -> Array:
    """From the points that MuJoCo's spatial vectors refer to, the centres of trees, to the origins of bodies."""
    out: Array = data.xpos - data.subtree_com[model.body_rootid]
    return out


def body_twists(model: Any, data: Any) -> Array:
    """Angular velocities, and velocities of the origins."""
    spin = data.cvel[:, :3]
    return np.hstack([spin, data.cvel[:, 3:] + np.cross(spin, _arms(model, data))])


def joint_reactions(model: Any, data: Any) -> Array:
    """Torques about the origins, and forces, that bodies get from their parents, for the accelerations `data.qacc`.

    It changes `data`: `cacc` is computed, too.
    """
    weightless = model.body_gravcomp[:, None] * model.body_mass[:, None] * model.opt.gravity
    data.xfrc_applied[:, :3] -= weightless  # forces of gravity compensation are not among MuJoCo's external forces
    mujoco_import.load().mj_rnePostConstraint(model, data)
    force = data.cfrc_int[:, 3:]
    return np.hstack([data.cfrc_int[:, :3] - np.cross(_arms(model, data), force), force])


class LoopConstraint(Struct, frozen=True):
    """How MuJoCo closes a loop: equality constraints that act on a body, or a duplicate of the body behind a joint."""

    body: int
    equalities: list[int]
    duplicate: int | None = None


def find_loops(model: Any, world: World, bodies: Mapping[int, int]) -> list[LoopConstraint]:
    """The joints that close loops, in the world's order; `bodies` are MuJoCo's numbers by the identity of a body."""
    numbers = {model.equality(i).name: i for i in range(model.neq)}
    found = []
    for one in world.models:
        for joint in one.joints:
            if not joint.loop:
                continue
            name = qualified_name(one.name, joint.name)
            own = [numbers[constraint] for constraint in (name, f"{name}/0", f"{name}/1") if constraint in numbers]
            has_duplicate = needs_duplicate(joint) and not one.static
            duplicate = int(model.body(duplicate_name(one, joint)).id) if has_duplicate else None
            found.append(LoopConstraint(bodies[id(joint.child)], own, duplicate))
    return found


def loop_reactions(model: Any, data: Any, reactions: Array, loops: Sequence[LoopConstraint]) -> Array:
    """Torques about the origins, and forces, that bodies get through joints that close loops, `(loops, 6)`.

    `reactions` are those of `joint_reactions`.
    """
    out = np.zeros((len(loops), 6))
    for row, loop in enumerate(loops):
        if loop.duplicate is not None:
            out[row] = reactions[loop.duplicate]
        for number in loop.equalities:
            out[row] += _equality_wrench(model, data, number, loop.body)
    return out


def _equality_wrench(model: Any, data: Any, number: int, body: int) -> Array:
    """The torque about the origin of a body, and the force, of a constraint of which it is the first body."""
    kinds = mujoco_import.load()
    is_own = (data.efc_type == kinds.mjtConstraint.mjCNSTR_EQUALITY) & (data.efc_id == number)
    values, parameters = data.efc_force[is_own], model.eq_data[number]
    if not len(values):  # the constraint is inactive
        return np.zeros(6)
    is_weld = model.eq_type[number] == kinds.mjtEq.mjEQ_WELD
    force, torque = values[:3], np.zeros(3)
    if is_weld:  # its rotational rows are half the error, in the axes of the second body
        axes = data.xmat[model.eq_obj2id[number]].reshape(3, 3)
        torque = 0.5 * parameters[10] * (axes @ values[3:])
    arm = data.xmat[body].reshape(3, 3) @ (parameters[3:6] if is_weld else parameters[:3])
    return np.concatenate([torque + np.cross(arm, force), force])


def body_accelerations(model: Any, data: Any) -> Array:
    """Angular accelerations, and accelerations of the origins, from `data.cacc`, which contains that of gravity."""
    spin, arms = data.cacc[:, :3], _arms(model, data)
    twists = body_twists(model, data)
    linear = data.cacc[:, 3:] + np.cross(spin, arms) + np.cross(twists[:, :3], twists[:, 3:])
    return np.hstack([spin, linear + model.opt.gravity])
