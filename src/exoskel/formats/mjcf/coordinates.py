"""Between MuJoCo's coordinates and the scene's, for whole worlds at once.

Most joints have the same coordinates in both.  A ball joint is a rotation vector in its joint frame here and a
quaternion there; a free joint a rotation vector and a translation here, a place in the world there.  Velocities
differ likewise: there is a matrix with `v_mujoco = A(q) v_scene`, the identity but for these joints.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf import component_math
from exoskel.formats.mjcf.joints import MujocoJoint, stop_spring
from exoskel.formats.mjcf.rotational_joints import RotationalJoint, RotationalJoints, RoundKind
from exoskel.formats.mjcf.tree import Element
from exoskel.formats.mjcf.world_layout import WorldLayout
from exoskel.scene.joint import Joint
from exoskel.spatial import Array

SIZES = {"free": (7, 6), "ball": (4, 3), "hinge": (1, 1), "slide": (1, 1)}
"""How many numbers MuJoCo's joints have in a position and in a velocity."""


class Addresses(Struct, frozen=True):
    """Where MuJoCo's joints have their coordinates, by name: the first in a position and in a velocity."""

    nq: int
    nv: int
    places: dict[str, tuple[int, int]]


def addresses(document: Element) -> Addresses:
    """Those that a document will have when it is compiled: depth first, in document order."""
    places: dict[str, tuple[int, int]] = {}
    nq = nv = 0
    waiting = [document.child("worldbody")]
    while waiting:
        body = waiting.pop()
        for joint in (child for child in body.children if child.tag == "joint"):
            places[str(joint.attributes["name"])] = (nq, nv)
            width = SIZES[str(joint.attributes["type"])]
            nq, nv = nq + width[0], nv + width[1]
        waiting += [child for child in reversed(body.children) if child.tag == "body"]
    return Addresses(nq, nv, places)


class Coordinates:
    """All coordinates of a world, in state order, and their places among MuJoCo's.

    `followers` are the slides of screws: the coordinate they follow, their addresses, and the travel for a radian.
    `static` are coordinates of what does not move, with their values.  Arrays may have any leading shape, `(..., nq)`
    and `(..., nv)` there and `(..., count)` here: many worlds, many times.
    """

    def __init__(self, layout: WorldLayout, found: Addresses) -> None:
        world = layout.world
        self.names = [name for m in world.models for name in m.dof_names]
        self.count = len(self.names)
        self.nq, self.nv = found.nq, found.nv
        self.followers: list[tuple[int, int, int, float]] = []
        self.static: list[tuple[int, float]] = []
        self._plain: list[tuple[int, int, int]] = []
        self.soft_stops: dict[int, tuple[float, float]] = {}
        self._places: dict[RoundKind, list[RotationalJoint]] = {"ball": [], "free": [], "inner": []}
        first = 0
        for one in world.models:
            for joint in one.joints:
                if joint.loop:
                    continue
                if one.static:
                    self.static += [(first + i, value) for i, value in enumerate(joint.positions)]
                else:
                    chain, names = layout.chain(one, joint)
                    self._add(joint, first, chain, [found.places[name] for name in names])
                first += joint.dof_count
        plain = np.array(self._plain, dtype=np.intp).reshape(-1, 3)
        self.ours, self.qpos, self.qvel = plain[:, 0], plain[:, 1], plain[:, 2]
        self._ours, self._qpos, self._qvel = component_math.columns(plain)
        self.rounds = [
            RotationalJoints(kind, places, np.array([layout.zero[id(place.joint.child)] for place in places]))
            for kind, places in self._places.items()
            if places
        ]
        told = len(self.ours) + sum(group.ours.size for group in self.rounds)
        self._leaves_some = told < self.count
        """Whether there are coordinates that MuJoCo has none for: of what stands still, and of motors of angles."""

    def _add(self, joint: Joint, first: int, chain: list[MujocoJoint], addresses: list[tuple[int, int]]) -> None:
        for link, (qpos, qvel) in zip(chain, addresses, strict=True):
            if link.type in ("ball", "free"):
                kind: RoundKind = "inner" if len(chain) == 4 else "free" if link.type == "free" else "ball"
                self._places[kind].append(RotationalJoint(joint, first, qpos, qvel, addresses[0]))
            elif link.coordinates and joint.kind not in ("free", "amotor"):
                self._plain.append((first + link.coordinates[0], qpos, qvel))
                soft = stop_spring(joint, link.coordinates[0])
                if soft is not None:
                    self.soft_stops[first + link.coordinates[0]] = soft
            elif joint.kind == "screw":
                self.followers.append((first, qpos, qvel, joint.pitch / (2 * np.pi)))

    def positions(self, qpos: Array, out: Array | None = None) -> Array:
        """The scene's positions, from MuJoCo's; into `out`, if that is given."""
        if out is None:
            out = np.empty((*qpos.shape[:-1], self.count))
        if self._leaves_some:
            out[...] = 0.0
        out[..., self._ours] = qpos[..., self._qpos]
        for group in self.rounds:
            group.positions(qpos, out)
        for index, value in self.static:
            out[..., index] = value
        return out

    def set_positions(self, positions: Array, qpos: Array) -> None:
        qpos[..., self.qpos] = positions[..., self.ours]
        for group in self.rounds:
            group.set_positions(positions, qpos)
        for first, position, _, travel in self.followers:
            qpos[..., position] = travel * positions[..., first]

    def matrix(self, qpos: Array) -> Array:
        """A with v_mujoco = A v_scene, `(nv, count)`, for one world."""
        out = np.zeros((self.nv, self.count))
        out[self.qvel, self.ours] = 1.0
        for group in self.rounds:
            out[group.rows[:, :, None], group.ours[:, None, :]] = group.blocks(qpos)
        for first, _, velocity, travel in self.followers:
            out[velocity, first] = travel
        return out

    def velocities(self, qpos: Array, qvel: Array, out: Array | None = None) -> Array:
        """The scene's velocities, from MuJoCo's; into `out`, if that is given."""
        if out is None:
            out = np.empty((*qvel.shape[:-1], self.count))
        if self._leaves_some:
            out[...] = 0.0
        out[..., self._ours] = qvel[..., self._qvel]
        for group in self.rounds:
            group.velocities(qpos, qvel, out)
        return out

    def set_velocities(self, velocities: Array, qpos: Array, qvel: Array) -> None:
        """A v: MuJoCo's velocities; what is no coordinate of the scene stays as it is."""
        qvel[..., self.qvel] = velocities[..., self.ours]
        for group in self.rounds:
            group.set_velocities(velocities, qpos, qvel)
        for first, _, velocity, travel in self.followers:
            qvel[..., velocity] = travel * velocities[..., first]

    def forces(self, qpos: Array, forces: Array) -> Array:
        """Generalised forces for MuJoCo that do the same work as the scene's; on a screw, its hinge does it all."""
        out = np.zeros((*forces.shape[:-1], self.nv))
        out[..., self.qvel] = forces[..., self.ours]
        for group in self.rounds:
            group.forces(qpos, forces, out)
        return out
