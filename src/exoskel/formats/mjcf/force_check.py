"""Compares generalised forces of a world with those of its compiled document, at random states.

Coefficients alone do not show about which axes springs and dampers act.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import addresses
from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.model.motors import force_motor_name, has_force_motor
from exoskel.scene.joint import Joint
from exoskel.scene.world import World
from exoskel.spatial import Array

_STATES = 4
_RANGE = 1.0
"""Random positions and velocities are up to this, rad or m, and rad/s or m/s."""


def force_difference(world: World, model: object, inexact: Collection[int]) -> float:
    """The largest difference of forces of springs, dampers, friction and motors, relative to 1 or the force itself.

    `inexact` are the ids of joints that are known to be written approximately.
    """
    return _ForceComparison(world, model, inexact).difference()


class _ForceComparison:
    """One world and its MuJoCo model."""

    def __init__(self, world: World, model: Any, inexact: Collection[int]) -> None:
        self.model = model
        self.layout = WorldLayout(world)
        self.coordinates = Coordinates(self.layout, addresses(model))
        joints = [
            (joint, model_of_joint.static)
            for model_of_joint in world.models
            for joint in model_of_joint.joints
            if not joint.loop
        ]
        count = self.coordinates.count
        self.damping, self.friction, self.stiffness, self.rest = np.zeros((4, count))
        self.is_compared = np.zeros(count, dtype=bool)
        first = 0
        for joint, static in joints:
            own = slice(first, first + joint.dof_count)
            self.is_compared[own] = not static and id(joint) not in inexact
            self._add(joint, own)
            first += joint.dof_count
        self.motors = self._motors(world, inexact)

    def _add(self, joint: Joint, own: slice) -> None:
        if joint._dofs is None:
            return
        for name in ("damping", "friction", "stiffness", "rest"):
            getattr(self, name)[own] = [getattr(dof, name) for dof in joint._dofs]

    def _motors(self, world: World, inexact: Collection[int]) -> list[tuple[int, int, float, float]]:
        """Numbers of actuators and the degrees of freedom they drive, with the limits of the force."""
        found = []
        for one in world.models:
            for joint in one.joints if not one.static else ():
                if joint.loop or id(joint) in inexact:
                    continue
                for name, link in zip(*reversed(self.layout.chain(one, joint)), strict=True):
                    for dof in (joint.dofs[c] for c in link.coordinates if joint._dofs is not None):
                        if has_force_motor(joint, dof):
                            number = self.model.actuator(force_motor_name(name)).id
                            at = self.model.joint(name).dofadr[0]
                            found.append((int(number), int(at), *dof.force_limits))
        return found

    def difference(self) -> float:
        if not (self.damping.any() or self.stiffness.any() or self.friction.any() or self.motors):
            return 0.0
        data = mujoco_import.load().MjData(self.model)
        rng = np.random.default_rng(0)
        return max(self._difference_at_random_state(data, rng) for _ in range(_STATES))

    def _difference_at_random_state(self, data: Any, rng: np.random.Generator) -> float:
        count = self.coordinates.count
        positions, velocities = rng.uniform(-_RANGE, _RANGE, (2, count))
        self.coordinates.set_positions(positions, data.qpos)
        self.coordinates.set_velocities(velocities, data.qpos, data.qvel)
        forces = -self.stiffness * (positions - self.rest) - self.damping * velocities
        forces -= self.friction * np.sign(velocities)
        wanted = self.coordinates.forces(data.qpos, forces)
        commands = rng.uniform(-_RANGE, _RANGE, len(self.motors))
        for (number, at, low, high), command in zip(self.motors, commands.tolist(), strict=True):
            data.ctrl[number] = command * high * 2.0
            wanted[at] += min(max(command * high * 2.0, low), high)
        difference = np.abs(self._forces(data) - wanted) / np.maximum(np.abs(wanted), 1.0)
        return float(difference[self._compared_dofs()].max(initial=0.0))

    def _forces(self, data: Any) -> Array:
        """What MuJoCo applies at the state."""
        mujoco = mujoco_import.load()
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_transmission):
            stage(self.model, data)
        mujoco.mj_fwdVelocity(self.model, data)
        mujoco.mj_fwdActuation(self.model, data)
        friction = self.model.dof_frictionloss * np.sign(data.qvel)
        total: Array = data.qfrc_spring + data.qfrc_damper + data.qfrc_actuator - friction
        return total

    def _compared_dofs(self) -> Array:
        """MuJoCo's degrees of freedom that have a counterpart which is written exactly."""
        single = self.coordinates.qvel[self.is_compared[self.coordinates.scene]]
        groups = [g.qvel[self.is_compared[g.scene[:, 0]]].ravel() for g in self.coordinates.rotational]
        return np.concatenate([single, *groups])
