"""Conversion between MuJoCo's coordinates and the scene's, for whole worlds at once.

Most joints have the same coordinates in both.  The scene has a rotation vector in the joint frame for a ball joint,
MuJoCo a quaternion.  For a free joint the scene has a rotation vector and a translation, MuJoCo a pose in the world.
Velocities follow `v_mujoco = A(q) v_scene`, where A is the identity except for these joints.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf.model import rotational_joints
from exoskel.formats.mjcf.model.joints import MujocoJoint, stop_spring
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoint, RotationalJoints, RotationKind
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.joint import Joint
from exoskel.spatial import Array

SIZES = {"free": (7, 6), "ball": (4, 3), "hinge": (1, 1), "slide": (1, 1)}
"""The number of position and of velocity coordinates of MuJoCo's joints."""


class Addresses(Struct, frozen=True):
    """Where MuJoCo's joints have their coordinates, by name: the first index in `qpos` and in `qvel`."""

    nq: int
    nv: int
    by_name: dict[str, tuple[int, int]]


def document_addresses(document: MjcfElement) -> Addresses:
    """The addresses that a document will have when it is compiled: depth first, in document order."""
    by_name: dict[str, tuple[int, int]] = {}
    nq = nv = 0
    waiting = [document.child("worldbody")]
    while waiting:
        body = waiting.pop()
        for joint in (child for child in body.children if child.tag == "joint"):
            by_name[str(joint.attributes["name"])] = (nq, nv)
            width = SIZES[str(joint.attributes["type"])]
            nq, nv = nq + width[0], nv + width[1]
        waiting += [child for child in reversed(body.children) if child.tag == "body"]
    return Addresses(nq, nv, by_name)


class Coordinates:
    """All coordinates of a world, in state order, and their addresses among MuJoCo's.

    `scene`, `qpos` and `qvel` are the numbers of single coordinates, which are the same in both; `rotational` are
    the joints that need a conversion.  `followers` are the slides of screws: the coordinate they follow, their
    addresses, and the travel per radian.  `static` are the coordinates of static models, with their positions and
    velocities: as in DART, these do not move them.  Arrays may have any leading shape (many worlds, many times):
    `(..., nq)` and `(..., nv)` for MuJoCo's, `(..., count)` for the scene's.
    """

    def __init__(self, layout: WorldLayout, addresses: Addresses) -> None:
        world = layout.world
        self.names = [name for m in world.models for name in m.dof_names]
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.count = len(self.names)
        self.nq, self.nv = addresses.nq, addresses.nv
        self.followers: list[tuple[int, int, int, float]] = []
        self.static: list[tuple[int, float, float]] = []
        self.soft_stops: dict[int, tuple[float, float]] = {}
        """ODE's ERP and CFM of soft stops, by coordinate."""
        self._single: list[tuple[int, int, int]] = []
        self._members: dict[RotationKind, list[RotationalJoint]] = {"ball": [], "free": [], "inner": []}
        first = 0
        for one in world.models:
            for joint in one.joints:
                if joint.loop:
                    continue
                if one.static:
                    both = zip(joint.positions, joint.velocities, strict=True)
                    self.static += [(first + i, *values) for i, values in enumerate(both)]
                else:
                    chain, names = layout.chain(one, joint)
                    self._add(joint, first, chain, [addresses.by_name[name] for name in names])
                first += joint.dof_count
        single = np.array(self._single, dtype=np.intp).reshape(-1, 3)
        self.scene, self.qpos, self.qvel = single[:, 0], single[:, 1], single[:, 2]
        self._scene, self._qpos, self._qvel = rotational_joints.columns(single)
        zero = layout.zero_poses_in_parent
        self.rotational = [
            RotationalJoints(kind, members, np.array([zero[id(member.joint.child)] for member in members]))
            for kind, members in self._members.items()
            if members
        ]
        converted = len(self.scene) + sum(group.scene.size for group in self.rotational)
        self._has_unmapped = converted < self.count
        """Whether MuJoCo lacks some coordinates: those of static models, and of angular motors."""
        own = list(range(self.count))
        self._are_equal = self.nq == self.nv == self.count and self.scene.tolist() == own == self.qpos.tolist()
        """Whether both have the same coordinates in the same order."""

    def _add(self, joint: Joint, first: int, chain: list[MujocoJoint], addresses: list[tuple[int, int]]) -> None:
        for link, (qpos, qvel) in zip(chain, addresses, strict=True):
            if link.type in ("ball", "free"):
                kind: RotationKind = "inner" if len(chain) == 4 else "free" if link.type == "free" else "ball"
                anchor = (0.0, 0.0, 0.0) if link.at_origin else joint.pose.position
                self._members[kind].append(RotationalJoint(joint, first, qpos, qvel, addresses[0], anchor))
            elif link.coordinates and joint.kind not in ("free", "amotor"):
                self._single.append((first + link.coordinates[0], qpos, qvel))
                soft = stop_spring(joint, link.coordinates[0])
                if soft is not None:
                    self.soft_stops[first + link.coordinates[0]] = soft
            elif joint.kind == "screw":
                self.followers.append((first, qpos, qvel, joint.pitch / (2 * np.pi)))

    def positions(self, qpos: Array, out: Array | None = None) -> Array:
        """The scene's positions from MuJoCo's, in `out` if it is given."""
        if out is None:
            if self._are_equal:
                return qpos.copy()
            out = np.empty((*qpos.shape[:-1], self.count))
        if self._has_unmapped:
            out[...] = 0.0
        out[..., self._scene] = qpos[..., self._qpos]
        for group in self.rotational:
            group.positions(qpos, out)
        for index, position, _ in self.static:
            out[..., index] = position
        return out

    def set_positions(self, positions: Array, qpos: Array) -> None:
        """Convert the scene's positions to MuJoCo's, into `qpos`."""
        qpos[..., self.qpos] = positions[..., self.scene]
        for group in self.rotational:
            group.set_positions(positions, qpos)
        for first, position, _, travel in self.followers:
            qpos[..., position] = travel * positions[..., first]

    def velocity_matrix(self, qpos: Array) -> Array:
        """A with v_mujoco = A v_scene, `(nv, count)`, for one world."""
        out = np.zeros((self.nv, self.count))
        out[self.qvel, self.scene] = 1.0
        for group in self.rotational:
            out[group.qvel[:, :, None], group.scene[:, None, :]] = group.velocity_blocks(qpos)
        for first, _, velocity, travel in self.followers:
            out[velocity, first] = travel
        return out

    def velocities(self, qpos: Array, qvel: Array, out: Array | None = None) -> Array:
        """The scene's velocities from MuJoCo's, in `out` if it is given."""
        if out is None:
            if self._are_equal:
                return qvel.copy()
            out = np.empty((*qvel.shape[:-1], self.count))
        if self._has_unmapped:
            out[...] = 0.0
        out[..., self._scene] = qvel[..., self._qvel]
        for group in self.rotational:
            group.velocities(qpos, qvel, out)
        for index, _, velocity in self.static:
            out[..., index] = velocity
        return out

    def set_velocities(self, velocities: Array, qpos: Array, qvel: Array) -> None:
        """Convert the scene's velocities to MuJoCo's, into `qvel`; other entries are left unchanged."""
        qvel[..., self.qvel] = velocities[..., self.scene]
        for group in self.rotational:
            group.set_velocities(velocities, qpos, qvel)
        for first, _, velocity, travel in self.followers:
            qvel[..., velocity] = travel * velocities[..., first]

    def set_free_velocities(self, velocities: Array, qpos: Array, qvel: Array) -> None:
        """Convert the scene's velocities of free joints alone: MuJoCo's depend on the positions."""
        for group in self.rotational:
            if group.kind != "ball":
                group.set_velocities(velocities, qpos, qvel)

    def forces(self, qpos: Array, forces: Array) -> Array:
        """MuJoCo's generalised forces that do the same work as the scene's; on a screw, its hinge does it all."""
        out = np.zeros((*forces.shape[:-1], self.nv))
        out[..., self.qvel] = forces[..., self.scene]
        for group in self.rotational:
            group.forces(qpos, forces, out)
        return out
