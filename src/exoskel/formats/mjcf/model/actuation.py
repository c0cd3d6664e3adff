"""What commands do in MuJoCo: forces, speeds of flywheels, speeds and accelerations of prescribed joints.

A command is one number per coordinate, in state order, as in the SKEL reference: a force for `force` actuators
(clipped to the force limits), a velocity for `servo` (tracked within the force limits), ODE's motors and
`velocity`, an acceleration for `acceleration`; `passive` and `locked` joints take none.  Velocities and accelerations
are clipped to their limits, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.model.joints import motors_of_chain, needs_duplicate
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.model.motors import PRESCRIBED_ARMATURE, Motor, flywheel_name, motors_of
from exoskel.scene.joint import Dof, Interval, Joint
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.spatial import Array, Mask

ModelFields = Callable[[str], Array]
"""The writable arrays of a compiled model by name: of one world, or of many with these as the first axis."""
_SITE_TRANSMISSION = 4
"""MuJoCo's number for actuators that act at a site."""


class Actuation:
    """The kind of actuator of each coordinate, as masks, and the initial commands.

    `first_forces` and `first_accelerations` act during the first step only, as in DART; so do the initial velocities
    of `velocity` actuators.  Arrays may have any leading shape, for many worlds at once.
    """

    def __init__(self, layout: WorldLayout, model: Any, coordinates: Coordinates) -> None:
        self.coordinates = coordinates
        actuators = _actuators(layout.world)
        self.force: Mask = actuators == "force"
        self.velocity: Mask = actuators == "velocity"
        self.acceleration: Mask = actuators == "acceleration"
        self.locked: Mask = actuators == "locked"
        count = coordinates.count
        low, high = np.full(count, -np.inf), np.full(count, np.inf)
        self.command_limits = low, high
        self.first_forces, self.first_accelerations = np.zeros(count), np.zeros(count)
        for number, dof in _stated_dofs(layout.world):
            low[number], high[number] = _command_limits(actuators[number], dof)
            self.first_forces[number], self.first_accelerations[number] = dof.force, dof.acceleration
        self.first_forces *= self.force
        self.first_accelerations *= self.acceleration
        self.initial = np.zeros(count)
        self.flywheels: list[tuple[int, int]] = []
        """Of each commanded motor: its coordinate, and MuJoCo's degree of freedom of its flywheel."""
        self.constant_speeds: list[tuple[int, float]] = []
        """Flywheels of joints that close loops: their degree of freedom, and the speed that the file states."""
        self._find_flywheels(model, layout)
        self.armature = np.asarray(model.dof_armature, dtype=np.float64).copy()
        self._bias: Array = model.actuator_biasprm.copy()

    @property
    def first_step_differs(self) -> bool:
        """Whether something acts in the first step alone, or is set right after it."""
        acts = self.first_forces.any() or self.first_accelerations.any()
        moves = self.velocity.any() or self.acceleration.any() or self.flywheels or self.constant_speeds
        return bool(acts or moves)

    def _find_flywheels(self, model: Any, layout: WorldLayout) -> None:
        first = 0
        for one in layout.world.models:
            for joint in one.joints if not one.static else ():
                for name, motor in joints_with_motors(layout, one, joint):
                    address = int(model.joint(flywheel_name(name)).dofadr[0])
                    if joint.loop:  # no coordinate of the scene, so no command changes its speed
                        self.constant_speeds.append((address, motor.velocity))
                        continue
                    number = first + motor.coordinate
                    self.initial[number] = motor.velocity
                    self.force[number] = False
                    self.flywheels.append((number, address))
                first += joint.dof_count
            first += one.dof_count if one.static else 0

    def set_motor_gains(self, model: Any, fields: ModelFields) -> None:
        """Let angular motors remove a difference in speed within one step, for the inertia that they move.

        MJCF states gains for one body alone; connected bodies add to its inertia.  Twice the gain would oscillate.
        """
        at_sites = np.flatnonzero(np.asarray(model.actuator_trntype) == _SITE_TRANSMISSION)
        if not len(at_sites):
            return
        speed = -self._bias[at_sites, 0] / self._bias[at_sites, 2]
        gain = 1.0 / (model.opt.timestep * fields("actuator_acc0")[..., at_sites])
        gain = np.maximum(gain, -self._bias[at_sites, 2])
        target = fields("actuator_biasprm")
        target[..., at_sites, 0], target[..., at_sites, 2] = gain * speed, -gain

    def clipped(self, commands: Array) -> Array:
        """Commands within the limits of force, velocity or acceleration, as in DART."""
        return np.clip(commands, *self.command_limits)

    def commanded_forces(self, commands: Array) -> Array:
        """The generalised forces among commands, clipped to the force limits."""
        return np.where(self.force, self.clipped(commands), 0.0)

    def applied_forces(self, qpos: Array, forces: Array, commands: Array) -> Array:
        """MuJoCo's generalised forces for external forces and commands."""
        out = self.coordinates.forces(qpos, forces + self.commanded_forces(commands))
        if self.acceleration.any():
            wanted = np.zeros_like(out)
            self.coordinates.set_velocities(np.where(self.acceleration, self.clipped(commands), 0.0), qpos, wanted)
            out += self.armature * wanted
        return out

    def set_speeds(self, qpos: Array, qvel: Array, commands: Array, velocities: bool = True) -> None:
        """Set the commanded speeds of flywheels and, if `velocities`, of joints with a velocity actuator."""
        commands = self.clipped(commands)
        for address, speed in self.constant_speeds:
            qvel[..., address] = speed
        for number, address in self.flywheels:
            qvel[..., address] = commands[..., number]
        if velocities and self.velocity.any():
            current = self.coordinates.velocities(qpos, qvel)
            self.coordinates.set_velocities(np.where(self.velocity, commands, current), qpos, qvel)


def _command_limits(actuator: str, dof: Dof) -> Interval:
    """What DART clips a command to."""
    if actuator in ("velocity", "servo"):
        return dof.velocity_limits
    return dof.acceleration_limits if actuator == "acceleration" else dof.force_limits


def _actuators(world: World) -> NDArray[np.object_]:
    """The actuator of each coordinate; static models have none."""
    names: list[str] = []
    for model in world.models:
        for joint in model.joints:
            names += ["" if model.static else joint.actuator] * joint.dof_count
    return np.array(names, dtype=object)


def _stated_dofs(world: World) -> Iterator[tuple[int, Dof]]:
    """The coordinates for which the scene states values, by number."""
    first = 0
    for joint in world.joints():
        count = joint.dof_count
        if joint._dofs is not None:
            yield from enumerate(joint._dofs[:count], first)
        first += count


def joints_with_motors(layout: WorldLayout, model: Model, joint: Joint) -> Iterator[tuple[str, Motor]]:
    """The names of a joint's MuJoCo joints that a motor drives, with the motors."""
    if not motors_of(joint) or (joint.loop and not needs_duplicate(joint)):
        return
    chain, names = layout.chain(model, joint)
    for name, motor in zip(names, motors_of_chain(joint, chain), strict=True):
        if motor is not None:
            yield name, motor


def is_prescribed(armature: Array) -> Mask:
    """Which of MuJoCo's degrees of freedom move regardless of forces."""
    return np.asarray(armature >= 0.5 * PRESCRIBED_ARMATURE)
