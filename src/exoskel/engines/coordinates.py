"""Between MuJoCo's coordinates and the scene's, for whole worlds at once.

Most joints have the same coordinates in both.  A ball joint is a rotation vector in its joint frame here and a
quaternion there; a free joint a rotation vector and a translation here, a place in the world there.  Velocities
differ likewise: there is a matrix with `v_mujoco = A(q) v_scene`, the identity but for these joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.engines.rounds import Place, RoundKind, Rounds
from exoskel.formats.mjcf.joints import Link, links, stop_spring
from exoskel.formats.mjcf.write import link_names
from exoskel.scene.joint import Joint, spring_of
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.world import World
from exoskel.spatial import Array

LEAST_IMPEDANCE = 1e-4
"""The share of the acceleration that a spring takes over: MuJoCo knows no less."""


class Coordinates:
    """All coordinates of a world, in state order, and their places in a compiled model.

    `followers` are the slides of screws: the coordinate they follow, their addresses, and the travel for a radian.
    `static` are coordinates of what does not move, with their values.
    """

    def __init__(self, world: World, model: Any) -> None:
        self.names = [name for m in world.models for name in m.dof_names]
        self.count = len(self.names)
        self.nq, self.nv = int(model.nq), int(model.nv)
        self.followers: list[tuple[int, int, int, float]] = []
        self.static: list[tuple[int, float]] = []
        self._plain: list[tuple[int, int, int]] = []
        self._soft_stops: dict[int, tuple[float, float]] = {}
        self._places: dict[RoundKind, list[Place]] = {"ball": [], "free": [], "inner": []}
        ids = _Ids(model)
        first = 0
        for one in world.models:
            for joint in one.joints:
                if joint.loop:
                    continue
                if one.static:
                    self.static += [(first + i, value) for i, value in enumerate(joint.positions)]
                else:
                    chain = links(joint)
                    self._add(joint, first, chain, [ids.addresses(name) for name in link_names(one, joint, chain)])
                first += joint.dof_count
        plain = np.array(self._plain, dtype=np.intp).reshape(-1, 3)
        self.ours, self.qpos, self.qvel = plain[:, 0], plain[:, 1], plain[:, 2]
        zero = _zero_poses(world) if any(self._places.values()) else {}
        self.rounds = [
            Rounds(kind, places, np.array([zero[id(place.joint.child)] for place in places]))
            for kind, places in self._places.items()
            if places
        ]

    def _add(self, joint: Joint, first: int, chain: list[Link], addresses: list[tuple[int, int]]) -> None:
        for link, (qpos, qvel) in zip(chain, addresses, strict=True):
            if link.type in ("ball", "free"):
                kind: RoundKind = "inner" if len(chain) == 4 else "free" if link.type == "free" else "ball"
                self._places[kind].append(Place(joint, first, qpos, qvel, addresses[0]))
            elif link.coordinates and joint.kind not in ("free", "amotor"):
                self._plain.append((first + link.coordinates[0], qpos, qvel))
                soft = stop_spring(joint, link.coordinates[0])
                if soft is not None:
                    self._soft_stops[first + link.coordinates[0]] = soft
            elif joint.kind == "screw":
                self.followers.append((first, qpos, qvel, joint.pitch / (2 * np.pi)))

    def set_axis_values(self, model: Any) -> None:
        """Damping and friction about each axis of a ball: MJCF states one value, a compiled model holds three."""
        for group in self.rounds:
            for number, place in enumerate(group.places):
                if group.kind == "free" or place.joint._dofs is None:
                    continue
                for field, target in (("damping", model.dof_damping), ("friction", model.dof_frictionloss)):
                    values = group.axis_values(number, field)
                    if values is not None:
                        target[place.qvel : place.qvel + 3] = values
        self._stiffen_friction(model)
        self._soften_stops(model)

    def _soften_stops(self, model: Any) -> None:
        """Give ODE's springy stops their stiffness and damping: MuJoCo's are for each unit of inertia there."""
        addresses = dict(zip(self.ours.tolist(), self.qvel.tolist(), strict=True))
        for coordinate, (erp, cfm) in self._soft_stops.items():
            stiffness, damping = spring_of(erp, cfm, model.opt.timestep)
            address = addresses[coordinate]
            inverse, joint = model.dof_invweight0[address], model.dof_jntid[address]
            model.jnt_solref[joint] = (-stiffness * inverse, -damping * inverse)
            model.jnt_solimp[joint, :2] = LEAST_IMPEDANCE  # it adds a force, instead of ruling the acceleration

    def _stiffen_friction(self, model: Any) -> None:
        """Let friction act as in DART, on the plain inertia, not on what springs and dampers add to it implicitly.

        MuJoCo's is the more by as much as the step h makes implicit: 1 + (h d + h² k) / m for a single joint.
        """
        if not model.dof_frictionloss.any():
            return
        stiffness = np.zeros(model.nv)
        stiffness[model.jnt_dofadr] = model.jnt_stiffness
        h = model.opt.timestep
        model.dof_frictionloss[:] *= 1.0 + (h * model.dof_damping + h * h * stiffness) * model.dof_invweight0

    def positions(self, qpos: Array) -> Array:
        """The scene's positions, from MuJoCo's."""
        out = np.zeros(self.count)
        out[self.ours] = qpos[self.qpos]
        for group in self.rounds:
            group.positions(qpos, out)
        for index, value in self.static:
            out[index] = value
        return out

    def set_positions(self, positions: Array, qpos: Array) -> None:
        qpos[self.qpos] = positions[self.ours]
        for group in self.rounds:
            group.set_positions(positions, qpos)
        for first, position, _, travel in self.followers:
            qpos[position] = travel * positions[first]

    def matrix(self, qpos: Array) -> Array:
        """A with v_mujoco = A v_scene, `(nv, count)`."""
        out = np.zeros((self.nv, self.count))
        out[self.qvel, self.ours] = 1.0
        for group in self.rounds:
            out[group.rows[:, :, None], group.ours[:, None, :]] = group.blocks(qpos)
        for first, _, velocity, travel in self.followers:
            out[velocity, first] = travel
        return out

    def velocities(self, qpos: Array, qvel: Array) -> Array:
        """The scene's velocities, from MuJoCo's."""
        out = np.zeros(self.count)
        out[self.ours] = qvel[self.qvel]
        for group in self.rounds:
            out[group.ours] = np.linalg.solve(group.blocks(qpos), qvel[group.rows][:, :, None])[:, :, 0]
        return out

    def set_velocities(self, velocities: Array, qpos: Array, qvel: Array) -> None:
        qvel[self.qvel] = velocities[self.ours]
        for group in self.rounds:
            qvel[group.rows] = (group.blocks(qpos) @ velocities[group.ours][:, :, None])[:, :, 0]
        for first, _, velocity, travel in self.followers:
            qvel[velocity] = travel * velocities[first]

    def forces(self, qpos: Array, forces: Array) -> Array:
        """Generalised forces for MuJoCo that do the same work as the scene's; on a screw, its hinge does it all."""
        out = np.zeros(self.nv)
        out[self.qvel] = forces[self.ours]
        for group in self.rounds:
            across = np.swapaxes(group.blocks(qpos), -1, -2)
            out[group.rows] = np.linalg.solve(across, forces[group.ours][:, :, None])[:, :, 0]
        return out


class _Ids:
    """Addresses of MuJoCo's joints by name, found once for all: asking one by one makes an object each time."""

    def __init__(self, model: Any) -> None:
        names = model.names
        starts = np.asarray(model.name_jntadr)
        self._numbers = {names[s : names.index(b"\0", s)].decode(): i for i, s in enumerate(starts.tolist())}
        self._qpos, self._qvel = model.jnt_qposadr.tolist(), model.jnt_dofadr.tolist()

    def addresses(self, name: str) -> tuple[int, int]:
        number = self._numbers[name]
        return self._qpos[number], self._qvel[number]


def _zero_poses(world: World) -> dict[int, Array]:
    """The zero pose of each body in its parent (the world, if it has none), by id."""
    bodies = list(world.bodies())
    places = dict(zip(map(id, bodies), Kinematics(world.models).zero_poses, strict=True))
    out: dict[int, Array] = {}
    for model in world.models:
        for joint in model.joints:
            if not joint.loop:
                own = places[id(joint.child)]
                above = None if joint.parent is None else places[id(joint.parent)]
                out[id(joint.child)] = own if above is None else spatial.inverse(above) @ own
    return out
