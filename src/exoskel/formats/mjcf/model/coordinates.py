"""Coordinates of the scene from those of MuJoCo, and back.

Most joints have the same coordinates in MuJoCo and in the scene.  For a ball joint the scene has a rotation vector in
the joint frame, MuJoCo a quaternion.  For a free joint the scene has a rotation vector and a translation, MuJoCo a pose
in the world.  Velocities follow `v_mujoco = A(q) v_scene`, where A is the identity except for these joints.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf.model import rotational_joints
from exoskel.formats.mjcf.model.joints import FREE_CHAIN, MujocoJoint, stop_spring
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoint, RotationalJoints, RotationKind
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.edit_tracking import CLOCK
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.pose import ZERO
from exoskel.spatial import Array, Indices

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
        self.names = layout.dof_names
        self.count = len(self.names)
        self.nq, self.nv = addresses.nq, addresses.nv
        self.followers: list[tuple[int, int, int, float]] = []
        self.static: list[tuple[int, float, float]] = []
        self.soft_stops: dict[int, tuple[float, float]] = {}
        """ODE's ERP and CFM of soft stops, by coordinate."""
        self._single: list[tuple[int, int, int]] = []
        self._members: dict[RotationKind, list[RotationalJoint]] = {"ball": [], "free": [], "inner": []}
        joints, zero = layout.tree_joints
        numbers: dict[int, int] = {}
        """The places of rotational joints in `joints`, by id."""
        first, by_name = 0, addresses.by_name
        for number, (model, joint) in enumerate(joints):
            if model.static:
                both = zip(joint.positions, joint.velocities, strict=True)
                self.static += [(first + i, *values) for i, values in enumerate(both)]
                first += len(TRAITS[joint.kind].motion)
                continue
            chain, names = layout.chain(model, joint)
            if chain is FREE_CHAIN:  # as in most worlds with many bodies
                address = by_name[names[0]]
                anchor = ZERO if chain[0].at_origin else joint.pose.position
                self._members["free"].append(RotationalJoint(joint, first, *address, address, anchor))
                numbers[id(joint)] = number
                first += 6
                continue
            if len(chain) == 1 and joint.kind in ("revolute", "prismatic") and not joint.drives:
                self._single.append((first, *by_name[names[0]]))
                first += 1
                continue
            self._add(joint, first, chain, [by_name[name] for name in names])
            numbers[id(joint)] = number
            first += len(TRAITS[joint.kind].motion)
        single = np.array(self._single, dtype=np.intp).reshape(-1, 3)
        self.scene, self.qpos, self.qvel = single[:, 0], single[:, 1], single[:, 2]
        self.rotational = [
            RotationalJoints(kind, members, zero[[numbers[id(member.joint)] for member in members]])
            for kind, members in self._members.items()
            if members
        ]
        self.are_equal = self.nq == self.nv == self.count and (
            self.scene.tolist() == list(range(self.count)) == self.qpos.tolist()
        )
        """Whether both have the same coordinates in the same order."""

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The numbers of the scene's coordinates by name."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _unmapped(self) -> Indices:
        """The coordinates that MuJoCo lacks: those of static models, and of angular motors."""
        converted = [self.scene, *(group.scene.ravel() for group in self.rotational)]
        if sum(map(len, converted)) == self.count:
            return np.zeros(0, dtype=np.intp)
        return np.setdiff1d(np.arange(self.count), np.concatenate(converted))

    @cached_property
    def _scene(self) -> slice | Indices:
        return rotational_joints.as_slice(self.scene)

    @cached_property
    def _qpos(self) -> slice | Indices:
        return rotational_joints.as_slice(self.qpos)

    @cached_property
    def _qvel(self) -> slice | Indices:
        return rotational_joints.as_slice(self.qvel)

    def _add(self, joint: Joint, first: int, chain: list[MujocoJoint], addresses: list[tuple[int, int]]) -> None:
        for link, (qpos, qvel) in zip(chain, addresses, strict=True):
            if link.type in ("ball", "free"):
                kind: RotationKind = "inner" if len(chain) == 4 else "free" if link.type == "free" else "ball"
                anchor = ZERO if link.at_origin else joint.pose.position
                self._members[kind].append(RotationalJoint(joint, first, qpos, qvel, addresses[0], anchor))
            elif link.coordinates and joint.kind not in ("free", "amotor"):
                self._single.append((first + link.coordinates[0], qpos, qvel))
                soft = stop_spring(joint, link.coordinates[0])
                if soft is not None:
                    self.soft_stops[first + link.coordinates[0]] = soft
            elif joint.kind == "screw":
                self.followers.append((first, qpos, qvel, joint.pitch / (2 * np.pi)))

    def limited_to(self, numbers: Indices) -> tuple[Coordinates, Indices]:
        """The coordinates of only those joints that have some of the scene's coordinates, and where these are then."""
        groups = [(group, np.flatnonzero(np.isin(group.scene, numbers).any(axis=1))) for group in self.rotational]
        whole = [group.scene[chosen].ravel() for group, chosen in groups]
        kept = np.unique(np.concatenate([numbers, *whole]))
        out = copy.copy(self)
        for name in ("_scene", "_qpos", "_qvel", "numbers", "_unmapped", "_inner"):
            out.__dict__.pop(name, None)
        out.names, out.count = [self.names[number] for number in kept.tolist()], len(kept)
        single = np.isin(self.scene, kept)
        out.scene, out.qpos, out.qvel = np.searchsorted(kept, self.scene[single]), self.qpos[single], self.qvel[single]
        out.rotational = [group.subset(chosen, kept) for group, chosen in groups if len(chosen)]
        places = {number: place for place, number in enumerate(kept.tolist())}
        out.static = [(places[number], q, v) for number, q, v in self.static if number in places]
        out.are_equal = False
        return out, np.searchsorted(kept, numbers)

    def is_compiled(self, states: int) -> bool:
        """Whether that many states are converted by compiled functions: see `rotational_joints.are_compiled`."""
        return rotational_joints.are_compiled(states * sum(len(group) for group in self.rotational))

    def positions(self, qpos: Array, out: Array | None = None) -> Array:
        """The scene's positions from MuJoCo's, in `out` if it is given."""
        if out is None:
            if self.are_equal:
                return qpos.copy()
            out = np.empty((*qpos.shape[:-1], self.count))
        out[..., self._scene] = qpos[..., self._qpos]
        for group in self.rotational:
            group.positions(qpos, out)
        self._set_unmapped(out, [(index, position) for index, position, _ in self.static])
        return out

    def _set_unmapped(self, out: Array, static: Sequence[tuple[int, float]]) -> None:
        """Set what MuJoCo lacks: the coordinates of static models, and zeros."""
        if len(self._unmapped):
            out[..., self._unmapped] = 0.0
        for index, value in static:
            out[..., index] = value

    def set_positions(self, positions: Array, qpos: Array) -> None:
        """Convert the scene's positions to MuJoCo's, into `qpos`."""
        if len(self.scene):
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
            if self.are_equal:
                return qvel.copy()
            out = np.empty((*qvel.shape[:-1], self.count))
        out[..., self._scene] = qvel[..., self._qvel]
        for group in self.rotational:
            group.velocities(qpos, qvel, out)
        self._set_unmapped(out, [(index, velocity) for index, _, velocity in self.static])
        return out

    @property
    def can_replace_states(self) -> bool:
        """Whether compiled functions may write coordinates over the states from which they compute them."""
        return not self._inner

    @cached_property
    def _inner(self) -> list[RotationalJoints]:
        return [group for group in self.rotational if group.kind == "inner"]

    @property
    def has_others(self) -> bool:
        """Whether there are coordinates that compiled functions do not convert."""
        return bool(self._inner or self.static or len(self._unmapped))

    def set_other_positions(self, qpos: Array, out: Array) -> None:
        """Set the positions that compiled functions do not convert, in `out`."""
        for group in self._inner:
            group.positions(qpos, out)
        self._set_unmapped(out, [(index, position) for index, position, _ in self.static])

    def set_other_velocities(self, qpos: Array, qvel: Array, out: Array) -> None:
        """Set the velocities that compiled functions do not convert, in `out`."""
        for group in self._inner:
            group.velocities(qpos, qvel, out)
        self._set_unmapped(out, [(index, velocity) for index, _, velocity in self.static])

    def set_velocities(self, velocities: Array, qpos: Array, qvel: Array) -> None:
        """Convert the scene's velocities to MuJoCo's, into `qvel`; other entries are left unchanged."""
        if len(self.scene):
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


class LateCoordinates:
    """The coordinates of a compiled world.  They are created for their first use, or before a scene is edited."""

    def __init__(self, layout: WorldLayout, addresses: Callable[[], Addresses]) -> None:
        self._layout = layout
        self._addresses = addresses
        CLOCK.notify_before_edit(self)

    @cached_property
    def coordinates(self) -> Coordinates:
        return Coordinates(self._layout, self._addresses())

    def read_scene(self) -> None:
        """Read the scene, which may change afterwards."""
        self.coordinates  # noqa: B018 - they are created once
