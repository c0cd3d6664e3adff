"""What commands mean to MuJoCo: forces, speeds of flywheels, speeds and accelerations of prescribed joints.

Commands are one number a coordinate, in state order, as in the SKEL reference: a force for `force` actuators
(clipped to the force limits), a velocity for `servo` (tracked within the force limits), ODE's motors and
`velocity`, an acceleration for `acceleration`; `passive` and `locked` joints take none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exoskel.engines.mujoco.coordinates import CompiledCoordinates, Fields
from exoskel.formats.mjcf.loop_constraints import needs_stand_in
from exoskel.formats.mjcf.motors import PRESCRIBED_ARMATURE, Motor, flywheel, motors
from exoskel.formats.mjcf.world_layout import WorldLayout
from exoskel.scene.joint import Dof, Joint
from exoskel.scene.world import Model, World
from exoskel.spatial import Array

Mask = NDArray[np.bool_]
_AT_SITE = 4
"""MuJoCo's number for actuators that push at a site."""


class Actuation:
    """Who is driven how, as masks over coordinates, and the commands at the start.

    `first_forces` and `first_accelerations` act during the first step only, as DART has it; what `velocity`
    actuators start with, too.  Arrays may have any leading shape: many worlds at once.
    """

    def __init__(self, layout: WorldLayout, model: Any, coordinates: CompiledCoordinates) -> None:
        self.coordinates = coordinates
        words = _words(layout.world)
        self.force: Mask = words == "force"
        self.velocity: Mask = words == "velocity"
        self.acceleration: Mask = words == "acceleration"
        self.locked: Mask = words == "locked"
        count = coordinates.count
        low, high = np.full(count, -np.inf), np.full(count, np.inf)
        self.force_limits = low, high
        self.first_forces, self.first_accelerations = np.zeros(count), np.zeros(count)
        for number, dof in _stated(layout.world):
            low[number], high[number] = dof.force_limits
            self.first_forces[number], self.first_accelerations[number] = dof.force, dof.acceleration
        self.first_forces *= self.force
        self.first_accelerations *= self.acceleration
        self.initial = np.zeros(count)
        self.flywheels: list[tuple[int, int]] = []
        self.steady: list[tuple[int, float]] = []
        self._find_flywheels(model, layout)
        self.is_prescribed = bool((self.velocity | self.acceleration | self.locked).any())
        self.armature = np.asarray(model.dof_armature, dtype=np.float64).copy()
        self.bias: Array = model.actuator_biasprm.copy()
        self.settle(model, lambda name: getattr(model, name))

    @property
    def begins_apart(self) -> bool:
        """Whether the first step is unlike the others: something acts in it alone, or is set right after it."""
        acts = self.first_forces.any() or self.first_accelerations.any()
        moves = self.velocity.any() or self.acceleration.any() or self.flywheels or self.steady
        return bool(acts or moves)

    def _find_flywheels(self, model: Any, layout: WorldLayout) -> None:
        first = 0
        for one in layout.world.models:
            for joint in one.joints if not one.static else ():
                for name, motor in _driven(layout, one, joint):
                    address = int(model.joint(flywheel(name)).dofadr[0])
                    if joint.loop:  # no coordinate of the scene: it turns as the file says
                        self.steady.append((address, motor.velocity))
                        continue
                    number = first + motor.coordinate
                    self.initial[number] = motor.velocity
                    self.force[number] = False
                    self.flywheels.append((number, address))
                first += joint.dof_count
            first += one.dof_count if one.static else 0

    def settle(self, model: Any, fields: Fields) -> None:
        """Let angular motors answer a difference in speed with what makes it up in a step, for the inertia they move.

        MJCF goes by that of one body; what hangs on it adds to it.  Twice as much would overshoot for ever.
        """
        motors_at_sites = np.flatnonzero(np.asarray(model.actuator_trntype) == _AT_SITE)
        if not len(motors_at_sites):
            return
        speed = -self.bias[motors_at_sites, 0] / self.bias[motors_at_sites, 2]
        steep = 1.0 / (model.opt.timestep * fields("actuator_acc0")[..., motors_at_sites])
        steep = np.maximum(steep, -self.bias[motors_at_sites, 2])
        target = fields("actuator_biasprm")
        target[..., motors_at_sites, 0], target[..., motors_at_sites, 2] = steep * speed, -steep

    def clipped(self, commands: Array) -> Array:
        """The generalised forces among commands."""
        return np.where(self.force, np.clip(commands, *self.force_limits), 0.0)

    def applied(self, qpos: Array, forces: Array, commands: Array) -> Array:
        """MuJoCo's generalised forces for outer forces and commands."""
        out = self.coordinates.forces(qpos, forces + self.clipped(commands))
        if self.acceleration.any():
            wanted = np.zeros_like(out)
            self.coordinates.set_velocities(np.where(self.acceleration, commands, 0.0), qpos, wanted)
            out += self.armature * wanted
        return out

    def set_speeds(self, qpos: Array, qvel: Array, commands: Array, velocities: bool = True) -> None:
        """Give flywheels, and joints whose velocity is prescribed, the speeds that commands ask for."""
        for address, speed in self.steady:
            qvel[..., address] = speed
        for number, address in self.flywheels:
            qvel[..., address] = commands[..., number]
        if velocities and self.velocity.any():
            current = self.coordinates.velocities(qpos, qvel)
            self.coordinates.set_velocities(np.where(self.velocity, commands, current), qpos, qvel)


def _words(world: World) -> NDArray[np.object_]:
    """What drives each coordinate; nothing drives what is static."""
    words: list[str] = []
    for model in world.models:
        for joint in model.joints:
            words += ["" if model.static else joint.actuator] * joint.dof_count
    return np.array(words, dtype=object)


def _stated(world: World) -> Iterator[tuple[int, Dof]]:
    """The coordinates that the scene says something about, by number."""
    first = 0
    for joint in world.joints():
        count = joint.dof_count
        if joint._dofs is not None:
            yield from enumerate(joint._dofs[:count], first)
        first += count


def _driven(layout: WorldLayout, model: Model, joint: Joint) -> Iterator[tuple[str, Motor]]:
    """The MuJoCo joints of a joint that have a motor behind them."""
    by_coordinate = {motor.coordinate: motor for motor in motors(joint)}
    if not by_coordinate or (joint.loop and not needs_stand_in(joint)):
        return
    for link, name in zip(*layout.chain(model, joint), strict=True):
        if link.type in ("hinge", "slide") and link.coordinates and link.coordinates[0] in by_coordinate:
            yield name, by_coordinate[link.coordinates[0]]


def is_carried(armature: Array) -> Mask:
    """Which of MuJoCo's degrees of freedom go their way whatever the forces."""
    return np.asarray(armature >= 0.5 * PRESCRIBED_ARMATURE)
