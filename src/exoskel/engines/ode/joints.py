"""Joints as ODE has them, at zero positions: there ODE's coordinates are zero too, so that its stops are ours.

ODE measures its first body relative to the second.  A joint that has its coordinate the other way round gets its
axes reversed, which is the same joint with the same coordinate.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.ode.bodies import STILL, OdeBodies
from exoskel.engines.ode.motors import Motors
from exoskel.scene.collision_filter import connected_pairs
from exoskel.scene.joint import UNLIMITED, Drive, Joint
from exoskel.scene.world import Model
from exoskel.spatial import Array

TYPES = {
    "revolute": "hinge",
    "prismatic": "slider",
    "universal": "universal",
    "ball": "ball",
    "weld": "fixed",
    "hinge2": "hinge2",
    "amotor": "amotor",
}
KINEMATIC = ("velocity", "acceleration", "locked")
"""Actuators that move their joint whatever the forces: limits do not hold them."""
PARAMETERS = {
    "velocity": "Vel",
    "max_force": "FMax",
    "fudge_factor": "FudgeFactor",
    "bounce": "Bounce",
    "cfm": "CFM",
    "stop_erp": "StopERP",
    "stop_cfm": "StopCFM",
    "suspension_erp": "SuspensionERP",
    "suspension_cfm": "SuspensionCFM",
}
_SQUARE = 1e-3
"""Cosine up to which two axes count as perpendicular."""


class Ends(Struct, frozen=True):
    """The two bodies of a joint by number, the first one never still, and how its axes are to be turned."""

    first: int
    second: int
    child_first: bool

    @property
    def sign(self) -> float:
        return 1.0 if self.child_first else -1.0

    @property
    def pair(self) -> list[int]:
        return [self.first, self.second]


class OdeJoints:
    """Makes the records of all joints; `limits` switches stops on or off, by default each joint says."""

    def __init__(self, bodies: OdeBodies, limits: bool | None, step: float) -> None:
        self.bodies = bodies
        self.limits = limits
        self.records: list[dict[str, Any]] = []
        self.motors = Motors(step)
        self.coordinates: list[tuple[int, int, int]] = []
        """Of those that ODE measures: their number in the state, the joint's, and that of the axis there."""
        first = 0
        for model in bodies.world.models:
            for joint in model.joints:
                if not model.static:
                    self._add(model, joint, first)
                first += joint.dof_count

    def _add(self, model: Model, joint: Joint, first: int) -> None:
        ends = self._ends(joint)
        if ends is None:
            return
        self._refuse(model, joint, ends)
        frame = self.bodies.zero[self.bodies.place[id(joint.child)]] @ joint.pose.matrix()
        axes = [frame[:3, :3] @ spatial.unit(axis) for axis in joint.axes]
        order = _order(joint, ends)
        if joint.kind == "amotor":
            self._amotor(joint, ends, axes)
        elif joint.kind in TYPES:
            self.records.append(
                {
                    "type": TYPES[joint.kind],
                    "bodies": ends.pair,
                    "anchor": frame[:3, 3].tolist(),
                    "axes": [(ends.sign * axes[i]).tolist() for i in order],
                    "parameters": [self._parameters(joint, i) for i in order],
                    "start": [joint.positions[i] for i in order],
                }
            )
            if not joint.loop:
                self.coordinates += [(first + i, len(self.records) - 1, at) for at, i in enumerate(order)]
        self.motors.add(joint, ends, frame, axes, order, len(self.records) - 1)

    def _ends(self, joint: Joint) -> Ends | None:
        """None where neither side moves."""
        child = self.bodies.number[id(joint.child)]
        parent = STILL if joint.parent is None else self.bodies.number[id(joint.parent)]
        if child == parent == STILL:
            return None
        child_first = joint.swapped if joint.kind == "hinge2" else True
        if STILL in (child, parent):
            child_first = child != STILL
        return Ends(child, parent, True) if child_first else Ends(parent, child, False)

    def _amotor(self, joint: Joint, ends: Ends, axes: list[Array]) -> None:
        """One motor for each axis, all fixed in the world: the same rows as one motor with three axes."""
        for number, axis in enumerate(axes):
            drive = joint.drives[number] if number < len(joint.drives) else Drive()
            stops = {"LoStop": drive.low_stop, "HiStop": drive.high_stop}
            given = {name: value for name, value in stops.items() if value is not None and self.limits is not False}
            self.records.append(
                {
                    "type": "amotor",
                    "bodies": ends.pair,
                    "frame": 0,
                    "axes": [(ends.sign * axis).tolist()],
                    "parameters": [given | _drive_parameters(drive)],
                    "start": [0.0],
                }
            )

    def _parameters(self, joint: Joint, coordinate: int) -> dict[str, float]:
        out: dict[str, float] = {}
        if coordinate < len(joint.drives):
            out |= _drive_parameters(joint.drives[coordinate])
        limited = joint.limits_enforced if self.limits is None else self.limits
        low, high = joint.dofs[coordinate].position_limits if joint._dofs else UNLIMITED
        if limited and low <= high and joint.actuator not in KINEMATIC:
            out |= {name: value for name, value in (("LoStop", low), ("HiStop", high)) if abs(value) != inf}
        return out

    def _refuse(self, model: Model, joint: Joint, ends: Ends) -> None:
        name = f"joint {joint.name!r} of model {model.name!r}"
        if joint.kind != "free" and joint.kind not in TYPES:
            raise ExoskelError(f"ODE has no {joint.kind} joints ({name})")
        if joint.kind == "hinge2" and STILL in ends.pair:
            raise ExoskelError(f"ODE's hinge2 joints need two bodies that move, and one side of {name} does not")
        if joint.kind == "universal" and abs(float(np.prod(spatial.unit(joint.axes), axis=0).sum())) > _SQUARE:
            raise ExoskelError(f"ODE's universal joints have axes at right angles, and those of {name} are not")


def _order(joint: Joint, ends: Ends) -> list[int]:
    """The coordinates that belong to ODE's axes.

    The first of two axes is fixed in the first body.  A universal joint may change the sides of both; with the
    environment first, ODE gets one of its angles wrong.
    """
    if joint.kind != "universal":
        return list(range(len(joint.axes)))
    in_child = 0 if joint.swapped else 1
    return [in_child, 1 - in_child] if ends.child_first else [1 - in_child, in_child]


def _drive_parameters(drive: Drive) -> dict[str, float]:
    found = {name: getattr(drive, field) for field, name in PARAMETERS.items()}
    return {name: value for name, value in found.items() if value is not None}


def joined(bodies: OdeBodies) -> list[list[int]]:
    """Pairs of bodies by number that a joint keeps from meeting."""
    number, models = bodies.number, bodies.world.models
    pairs = [[number[id(parent)], number[id(child)]] for model in models for parent, child in connected_pairs(model)]
    return pairs + [[number[id(j.child)], STILL] for model in models for j in model.joints if j.parent is None]
