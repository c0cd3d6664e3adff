"""Between MuJoCo's coordinates and the scene's, for whole worlds at once.

Most joints have the same coordinates in both.  A ball joint is a rotation vector in its joint frame here and a
quaternion there; a free joint a rotation vector and a translation here, a place in the world there.  Velocities
differ likewise: there is a matrix with `v_mujoco = A(q) v_scene`, the identity but for these joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.joints import links
from exoskel.formats.mjcf.write import link_names
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.world import World
from exoskel.spatial import Array


class Round:
    """A joint with a rotation of its own: where its coordinates are on both sides.

    `frame` is the joint's frame in the child, `zero` the child's zero pose in its parent.  `slides` are the
    addresses of MuJoCo's three slides below a free joint that is not at the root, none otherwise.
    """

    def __init__(
        self, joint: Joint, first: int, qpos: int, qvel: int, zero: Array, slides: tuple[int, int] | None
    ) -> None:
        self.kind = "ball" if joint.kind == "ball" else "free" if slides is None else "inner"
        self.first = first
        self.qpos = qpos
        self.qvel = qvel
        self.zero = zero
        self.slides = slides
        self.joint = joint
        self.frame = joint.pose.matrix()
        self.turn = self.frame[:3, :3]
        self.back = spatial.inverse(self.frame)

    def to_scene(self, qpos: Array, out: Array) -> None:
        i = self.first
        if self.kind == "free":
            placed = spatial.transform(
                spatial.quaternion_matrix(qpos[self.qpos + 3 : self.qpos + 7]), qpos[self.qpos : self.qpos + 3]
            )
            moved = self.back @ spatial.inverse(self.zero) @ placed @ self.frame
            out[i : i + 3], out[i + 3 : i + 6] = spatial.log(moved[:3, :3]), moved[:3, 3]
            return
        turned = spatial.quaternion_matrix(qpos[self.qpos : self.qpos + 4])
        out[i : i + 3] = self.turn.T @ spatial.log(turned)
        if self.slides is not None:
            out[i + 3 : i + 6] = qpos[self.slides[0] : self.slides[0] + 3]

    def to_mujoco(self, q: Array, out: Array) -> None:
        i = self.first
        if self.kind == "free":
            motion = spatial.transform(spatial.exp(q[i : i + 3]), q[i + 3 : i + 6])
            placed = self.zero @ self.frame @ motion @ self.back
            out[self.qpos : self.qpos + 3] = placed[:3, 3]
            out[self.qpos + 3 : self.qpos + 7] = spatial.quaternion(placed[:3, :3])
            return
        turned = self.turn @ spatial.exp(q[i : i + 3]) @ self.turn.T
        out[self.qpos : self.qpos + 4] = spatial.quaternion(turned)
        if self.slides is not None:
            out[self.slides[0] : self.slides[0] + 3] = q[i + 3 : i + 6]

    def axis_values(self, field: str) -> Array | None:
        """A value for each of MuJoCo's three axes of rotation, if the joint's axes are those in some order."""
        own = np.array([getattr(dof, field) for dof in self.joint.dofs[:3]])
        share = self.turn**2
        return share @ own if np.allclose(share, share.round(), rtol=0, atol=1e-12) else None

    def block(self, qpos: Array) -> tuple[list[int], Array]:
        """MuJoCo's velocity addresses, and the matrix that gives them from the scene's velocities."""
        if self.kind == "ball":
            return list(range(self.qvel, self.qvel + 3)), self.turn
        cross = spatial.cross_matrix(self.frame[:3, 3])
        twist = np.zeros((6, 6))  # angular and linear velocity of the child's origin, in the axes of the parent
        twist[:3, :3] = self.turn
        twist[3:, :3] = cross @ self.turn
        twist[3:, 3:] = self.turn
        if self.kind == "free":
            rotation = spatial.quaternion_matrix(qpos[self.qpos + 3 : self.qpos + 7])
            rows = list(range(self.qvel, self.qvel + 6))
            return rows, np.vstack([twist[3:], rotation.T @ twist[:3]])
        return self._inner_block(qpos, twist)

    def _inner_block(self, qpos: Array, twist: Array) -> tuple[list[int], Array]:
        assert self.slides is not None
        turned = spatial.quaternion_matrix(qpos[self.qpos : self.qpos + 4])
        motion = self.turn.T @ turned @ self.turn  # exp(w), in the joint frame
        relative = self.zero[:3, :3] @ turned  # the child's rotation in the parent
        side = self.zero[:3, :3] @ self.turn  # the joint frame on the parent's side
        arm = motion @ self.back[:3, 3]  # from the joint to the child's origin, in the joint frame
        spin = side.T @ twist[:3]
        slide = side.T @ twist[3:] + spatial.cross_matrix(arm) @ spin
        rows = [*range(self.slides[1], self.slides[1] + 3), *range(self.qvel, self.qvel + 3)]
        return rows, np.vstack([slide, relative.T @ twist[:3]])


class Coordinates:
    """All coordinates of a world, in state order, and their places in a compiled model."""

    def __init__(self, world: World, model: Any) -> None:
        self.names = [name for m in world.models for name in m.dof_names]
        self.count = len(self.names)
        self.nq, self.nv = int(model.nq), int(model.nv)
        ours, qpos, qvel = [], [], []
        self.rounds: list[Round] = []
        self.followers: list[tuple[int, int, int, float]] = []
        self.static: list[tuple[int, float]] = []
        zero = _zero_poses(world)
        first = 0
        for one in world.models:
            for joint in (joint for joint in one.joints if not joint.loop):
                chain = links(joint)
                if one.static:
                    self.static += [(first + i, value) for i, value in enumerate(joint.positions)]
                    first += joint.dof_count
                    continue
                addresses = [_address(model, name) for name in link_names(one, joint, chain)]
                for link, (position, velocity) in zip(chain, addresses, strict=True):
                    if link.type in ("hinge", "slide") and link.coordinates and joint.kind not in ("free", "amotor"):
                        ours.append(first + link.coordinates[0])
                        qpos.append(position)
                        qvel.append(velocity)
                    elif link.type in ("ball", "free"):
                        slides = addresses[0] if len(chain) == 4 else None
                        self.rounds.append(Round(joint, first, position, velocity, zero[id(joint.child)], slides))
                    elif joint.kind == "screw":  # its slide
                        self.followers.append((first, position, velocity, joint.pitch / (2 * np.pi)))
                first += joint.dof_count
        self.ours, self.qpos, self.qvel = (np.array(a, dtype=np.intp) for a in (ours, qpos, qvel))
        self.constant = not self.rounds and not self.followers

    def set_axis_values(self, model: Any) -> None:
        """Damping and friction about each axis of a ball: MJCF states one value, a compiled model holds three."""
        for one in self.rounds:
            if one.kind == "free" or one.joint._dofs is None:
                continue
            for field, target in (("damping", model.dof_damping), ("friction", model.dof_frictionloss)):
                values = one.axis_values(field)
                if values is not None:
                    target[one.qvel : one.qvel + 3] = values
        self._stiffen_friction(model)

    def _stiffen_friction(self, model: Any) -> None:
        """Let friction act as in DART, on the plain inertia, not on what springs and dampers add to it implicitly.

        MuJoCo's is the more by as much as the step h makes implicit: 1 + (h d + h² k) / m for a single joint.
        """
        stiffness = np.zeros(model.nv)
        for joint in range(model.njnt):
            stiffness[model.jnt_dofadr[joint]] = model.jnt_stiffness[joint]
        h = model.opt.timestep
        model.dof_frictionloss[:] *= 1.0 + (h * model.dof_damping + h * h * stiffness) * model.dof_invweight0

    def positions(self, qpos: Array) -> Array:
        """The scene's positions, from MuJoCo's."""
        out = np.zeros(self.count)
        out[self.ours] = qpos[self.qpos]
        for one in self.rounds:
            one.to_scene(qpos, out)
        for index, value in self.static:
            out[index] = value
        return out

    def set_positions(self, positions: Array, qpos: Array) -> None:
        qpos[self.qpos] = positions[self.ours]
        for one in self.rounds:
            one.to_mujoco(positions, qpos)
        for first, position, _, travel in self.followers:
            qpos[position] = travel * positions[first]

    def matrix(self, qpos: Array) -> Array:
        """A with v_mujoco = A v_scene, `(nv, count)`."""
        out = np.zeros((self.nv, self.count))
        out[self.qvel, self.ours] = 1.0
        for one in self.rounds:
            rows, block = one.block(qpos)
            out[np.ix_(rows, range(one.first, one.first + block.shape[1]))] = block
        for first, _, velocity, travel in self.followers:
            out[velocity, first] = travel
        return out

    def velocities(self, qpos: Array, qvel: Array) -> Array:
        """The scene's velocities, from MuJoCo's."""
        out = np.zeros(self.count)
        out[self.ours] = qvel[self.qvel]
        for one in self.rounds:
            rows, block = one.block(qpos)
            out[one.first : one.first + block.shape[1]] = np.linalg.solve(block, qvel[rows])
        return out

    def set_velocities(self, velocities: Array, qpos: Array, qvel: Array) -> None:
        qvel[self.qvel] = velocities[self.ours]
        for one in self.rounds:
            rows, block = one.block(qpos)
            qvel[rows] = block @ velocities[one.first : one.first + block.shape[1]]
        for first, _, velocity, travel in self.followers:
            qvel[velocity] = travel * velocities[first]

    def forces(self, qpos: Array, forces: Array) -> Array:
        """Generalised forces for MuJoCo, from the scene's: those that do the same work."""
        if self.constant:
            out = np.zeros(self.nv)
            out[self.qvel] = forces[self.ours]
            return out
        matrix = self.matrix(qpos)
        return np.asarray(np.linalg.lstsq(matrix.T, forces, rcond=None)[0], dtype=np.float64)


def _address(model: Any, name: str) -> tuple[int, int]:
    joint = model.joint(name)
    return int(joint.qposadr[0]), int(joint.dofadr[0])


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
