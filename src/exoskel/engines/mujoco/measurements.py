"""Velocities, accelerations and joint reactions of MuJoCo's bodies, and distances between collision shapes.

Velocities, accelerations and reactions are `(nbody, 6)`, in world axes.  Rows have the rotational part first.  Linear
parts are those of the body's origin; torques are about it.  Distances are for the poses of any engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.formats.mjcf.model.joints import needs_duplicate
from exoskel.formats.mjcf.model.layout import duplicate_name
from exoskel.scene.body import Body
from exoskel.scene.item import qualified_name
from exoskel.scene.shape import Shape
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


_MAX_DISTANCE = 1e9
"""Metres beyond which distances are not computed."""


class Distances:
    """The collision shapes of a world, and the distances between them."""

    def __init__(self, world: World) -> None:
        self._mujoco = mujoco_import.load()
        self._model: Any = CompiledWorld(world).model
        self._data: Any = self._mujoco.MjData(self._model)
        self._geoms: dict[int, list[int]] = {}
        self._owner: dict[int, int] = {}
        numbers = {self._model.geom(i).name: i for i in range(self._model.ngeom)}
        bodies = [(model, body) for model in world.models for body in model.bodies]
        for number, (model, body) in enumerate(bodies):
            for place, shape in enumerate(body.collisions):
                name = qualified_name(model.name, body.name, f"collision{place}")
                found = [i for geom, i in numbers.items() if geom == name or geom.startswith(f"{name}/")]
                self._geoms[id(shape)] = found
                self._owner |= dict.fromkeys(found, number)

    def between(self, first: Body | Shape, second: Body | Shape, poses: Array) -> float | None:
        """The distance in m, negative for shapes that overlap; None if one of them has no shape with a surface."""
        pairs = [(a, b) for a in self._geoms_of(first) for b in self._geoms_of(second)]
        if not pairs:
            return None
        places = [self._place(geom, poses) for pair in pairs for geom in pair]
        radii = np.array([self._model.geom_rbound[[a, b]].sum() if self._bounded(a, b) else np.inf for a, b in pairs])
        apart = np.linalg.norm(np.array(places[::2]) - np.array(places[1::2]), axis=1)
        least = _MAX_DISTANCE
        for index in np.argsort(apart - radii).tolist():
            if apart[index] - radii[index] > least:
                break
            found = self._mujoco.mj_geomDistance(self._model, self._data, *pairs[index], _MAX_DISTANCE, np.zeros(6))
            least = min(least, float(found))
        return least

    def _geoms_of(self, item: Body | Shape) -> list[int]:
        shapes = [item] if isinstance(item, Shape) else item.collisions
        return [geom for shape in shapes for geom in self._geoms.get(id(shape), [])]

    def _bounded(self, *geoms: int) -> bool:
        """Whether all have a bounding sphere: planes have none."""
        return bool((self._model.geom_rbound[list(geoms)] > 0.0).all())

    def _place(self, geom: int, poses: Array) -> Array:
        """Place a geom by the pose of its body; returns its position."""
        own = spatial.transform(spatial.quaternion_matrix(self._model.geom_quat[geom]), self._model.geom_pos[geom])
        placed = poses[self._owner[geom]] @ own
        self._data.geom_xpos[geom] = placed[:3, 3]
        self._data.geom_xmat[geom] = placed[:3, :3].ravel()
        return np.array(placed[:3, 3])
