"""From joints of UsdPhysics to those of a scene, with positions from where the bodies stand."""

from __future__ import annotations

from math import inf, pi, radians
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.usd.reading.specs import Specs
from exoskel.formats.usd.writing.freedoms import AXES, ROTATIONS, TRANSLATIONS, Freedom, Plan, plan
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint, Kind, Mimic
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import Pose, Vector
from exoskel.scene.world import Model
from exoskel.spatial import Array

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_UNITS: dict[str, Vector] = dict(zip(AXES, (_X, _Y, _Z), strict=True))
_SINGLE: dict[str, Kind] = {
    "PhysicsFixedJoint": "weld",
    "PhysicsRevoluteJoint": "revolute",
    "PhysicsPrismaticJoint": "prismatic",
    "PhysicsSphericalJoint": "ball",
}
_GENERIC: dict[tuple[str, ...], Kind] = {
    TRANSLATIONS: "translational",
    ("transX", "transY"): "translational2d",
    ("transX", "transY", "rotZ"): "planar",
    ("rotX", "rotY"): "universal",
    ("transX", "rotX", "rotY"): "hinge2",
    ("transY", "rotX", "rotY"): "hinge2",
    ROTATIONS: "euler",
    (*TRANSLATIONS, *ROTATIONS): "free",
}
"""What a generic joint is, by its axes that move."""
_SAME = 1e-4
"""How far the places of bodies may be from the positions stated beside them: both are given in single precision."""
Frames = tuple[Array, Array]


class Placed(Struct):
    """A body where it stands, and how it moves: velocity of its origin and angular velocity, in world axes."""

    body: Body
    transform: Array
    speed: Array
    spin: Array


_WORLD = Placed(Body(name=""), np.eye(4), np.zeros(3), np.zeros(3))


class JointReader:
    """The joints of one model."""

    def __init__(self, specs: Specs, placed: dict[str, Placed]) -> None:
        self.specs = specs
        self.placed = placed
        self.joints: list[Joint] = []
        self.frames: dict[int, Frames] = {}
        """The frame of each joint in its parent and in its child, in the axes of the scene's joint, by id."""
        self.names: dict[str, str] = {}
        self.following: list[tuple[Joint, str, float, float]] = []

    def read(self, prim: Any) -> None:
        words = self.specs.words(prim)
        parent = self.placed.get(self.specs.target(prim, "physics:body0"))
        child = self.placed[self.specs.target(prim, "physics:body1")]
        joint = self._joint(prim, words, child, parent)
        made = self._planned(joint)
        back = spatial.transform(made.turn.T, np.zeros(3))
        outer, inner = self._frame(prim, "0") @ back, self._frame(prim, "1") @ back
        joint.pose = Pose.from_matrix(inner)
        self._add(joint, (outer, inner))
        self._dynamics(prim, joint, made)
        self._positions(joint, parent or _WORLD, child)
        self._motion(joint, parent or _WORLD, child)
        self._mimic(prim, joint, made)
        self.names[str(prim.path)] = joint.name

    def _joint(self, prim: Any, words: dict[str, str], child: Placed, parent: Placed | None) -> Joint:
        axes: tuple[Vector, ...] = ()
        kind = _SINGLE.get(prim.typeName)
        swapped = words.get("exoskelSwapped") == "true"
        if kind is None:
            kind = _GENERIC[self._moving(prim)]
        if kind == "universal" and words.get("exoskelKind") == "hinge2":
            kind = "hinge2"  # without suspension
        if kind in ("revolute", "prismatic"):
            axes = (_UNITS[self.specs.value(prim, "physics:axis", "X")],)
        elif kind in ("universal", "hinge2"):
            axes = (_Y, _X) if swapped else (_X, _Y)
        joint = Joint(name=self.specs.name(prim), kind=kind, child=child.body, axes=axes, swapped=swapped)
        joint.parent = parent.body if parent is not None else None
        joint.order = words.get("exoskelOrder", "xyz")
        joint.loop = bool(self.specs.value(prim, "physics:excludeFromArticulation", False))
        return joint

    @staticmethod
    def _planned(joint: Joint) -> Plan:
        """How the writer had it; joints have no positions yet, and those with one axis have it in their own frame."""
        return plan(joint) or Plan("", np.eye(3))

    def _moving(self, prim: Any) -> tuple[str, ...]:
        """Crossed limits lock an axis."""
        return tuple(
            name
            for name in (*TRANSLATIONS, *ROTATIONS)
            if self.specs.value(prim, f"limit:{name}:physics:low", -inf)
            <= self.specs.value(prim, f"limit:{name}:physics:high", inf)
        )

    def _frame(self, prim: Any, side: str) -> Array:
        turn = spatial.quaternion_matrix(self.specs.value(prim, f"physics:localRot{side}", (1.0, 0.0, 0.0, 0.0)))
        return spatial.transform(turn, self.specs.value(prim, f"physics:localPos{side}", (0.0, 0.0, 0.0)))

    def _add(self, joint: Joint, frames: Frames) -> None:
        self.frames[id(joint)] = frames
        self.joints.append(joint)

    # --- axes -----------------------------------------------------------------------------------------

    def _dynamics(self, prim: Any, joint: Joint, made: Plan) -> None:
        friction = float(self.specs.value(prim, "newton:friction", 0.0))
        damping = float(self.specs.value(prim, "newton:damping", 0.0))
        for dof in joint.dofs if friction or damping else ():
            dof.friction, dof.damping = friction, damping / radians(1.0)
        for freedom in made.freedoms:
            if freedom.coordinate is not None:
                self._axis(prim, joint, freedom)

    def _axis(self, prim: Any, joint: Joint, freedom: Freedom) -> None:
        unit = radians(1.0) if freedom.is_turn else 1.0
        limit, drive, state = (f"{head}:{freedom.name}:physics" for head in ("limit", "drive", "state"))
        if prim.typeName == "PhysicsJoint":
            names = (f"{limit}:low", f"{limit}:high")
        else:
            names = ("physics:lowerLimit", "physics:upperLimit")
        low, high = (unit * float(self.specs.value(prim, n, d)) for n, d in zip(names, (-inf, inf), strict=True))
        dof = joint.dofs[freedom.coordinate or 0]
        dof.position_limits = (low, high) if freedom.sign > 0.0 else (-high, -low)
        stiffness = float(self.specs.value(prim, f"{drive}:stiffness", 0.0))
        damping = float(self.specs.value(prim, f"{drive}:damping", 0.0))
        if self.specs.value(prim, f"{drive}:stiffness", None) is not None and not self._is_motor(prim, drive):
            dof.stiffness, dof.damping = stiffness / unit, damping / unit
            dof.rest = freedom.sign * unit * float(self.specs.value(prim, f"{drive}:targetPosition", 0.0))
        dof.position = freedom.sign * unit * float(self.specs.value(prim, f"{state}:position", 0.0))
        dof.velocity = freedom.sign * unit * float(self.specs.value(prim, f"{state}:velocity", 0.0))

    def _is_motor(self, prim: Any, drive: str) -> bool:
        from exoskel.formats.usd.writing.joints import MOTOR_DAMPING

        gain = float(self.specs.value(prim, f"{drive}:damping", 0.0))
        return any(abs(gain / (MOTOR_DAMPING * unit) - 1.0) < 1e-5 for unit in (1.0, pi / 180.0))

    def _positions(self, joint: Joint, parent: Placed, child: Placed) -> None:
        """Positions that lead to where the bodies stand, which is known better than what is stated beside it.

        What is stated tells how often a hinge has turned, and which of two sets of angles is meant.
        """
        if joint.loop or not joint.motion:
            return
        outer, inner = self.frames[id(joint)]
        here = spatial.inverse(parent.transform @ outer) @ child.transform @ inner
        measured = _measured(joint, here)
        if joint.kind not in ("ball", "free"):
            stated = np.array(joint.positions)
            turns = np.array([motion == "r" for motion in joint.motion])
            measured += np.where(turns, 2.0 * pi * np.round((stated - measured) / (2.0 * pi)), 0.0)
            far = np.abs(_moved(joint) - here).max() > _SAME * (1.0 + np.abs(here).max())
            if not far and np.abs(measured - stated).max() > _SAME * (1.0 + np.abs(stated).max()):
                return  # other angles for the same rotation
        joint.positions = tuple(measured.tolist())

    def _motion(self, joint: Joint, parent: Placed, child: Placed) -> None:
        """Velocities of balls and free joints, which have no others than those of the bodies."""
        if joint.loop or joint.kind not in ("ball", "free"):
            return
        turn = joint.pose.matrix()[:3, :3]
        above = parent.transform[:3, :3]
        spin = above.T @ (child.spin - parent.spin)
        if joint.kind == "ball":
            joint.velocities = tuple((turn.T @ child.transform[:3, :3].T @ (child.spin - parent.spin)).tolist())
            return
        offset = child.transform[:3, 3] - parent.transform[:3, 3]
        speed = above.T @ (child.speed - parent.speed - np.cross(parent.spin, offset))
        at_joint = speed - np.cross(joint.pose.position, spin)
        joint.velocities = (*(turn.T @ spin).tolist(), *(turn.T @ at_joint).tolist())

    def _mimic(self, prim: Any, joint: Joint, made: Plan) -> None:
        leader = self.specs.target(prim, "newton:mimicJoint")
        if leader:
            unit = radians(1.0) if made.freedoms and made.freedoms[0].is_turn else 1.0
            offset = unit * float(self.specs.value(prim, "newton:mimicCoef0", 0.0))
            self.following.append((joint, leader, float(self.specs.value(prim, "newton:mimicCoef1", 1.0)), offset))

    # --- bodies without a joint -----------------------------------------------------------------------

    def finish(self, prims: list[Any], *, static: bool) -> list[Joint]:
        """All joints, parents before children: bodies that no joint holds float, or stand still."""
        for joint, leader, multiplier, offset in self.following:
            joint.mimic = Mimic(self.names[leader], multiplier, offset)
        held = {id(joint.child) for joint in self.joints if not joint.loop}
        for prim in prims:
            placed = self.placed[str(prim.path)]
            if id(placed.body) not in held:
                self._floating(prim, placed, "weld" if static else "free")
        holders = {id(joint.child): joint for joint in self.joints if not joint.loop}
        ordered: dict[int, Joint] = {}
        for placed in self.placed.values():
            chain: list[Joint] = []
            here: Body | None = placed.body
            while here is not None and id(holders[id(here)]) not in ordered:
                chain.append(holders[id(here)])
                here = chain[-1].parent
            ordered |= {id(joint): joint for joint in reversed(chain)}
        return [*ordered.values(), *(joint for joint in self.joints if joint.loop)]

    def _floating(self, prim: Any, placed: Placed, kind: Kind) -> None:
        words = self.specs.words(prim)
        name = words.get("exoskelJoint", f"{placed.body.name}_root")
        joint = Joint(name=name, kind=kind, child=placed.body)
        above = self.placed.get(words.get("exoskelParent", ""))
        joint.parent = above.body if above is not None else None
        outer, inner = _of_words(words.get("exoskelFrame0")), _of_words(words.get("exoskelFrame1"))
        if inner is None or outer is None:
            inner = np.eye(4)
            outer = placed.transform if above is None else spatial.inverse(above.transform) @ placed.transform
        joint.pose = Pose.from_matrix(inner)
        self._add(joint, (outer, inner))
        self._positions(joint, above or _WORLD, placed)
        self._motion(joint, above or _WORLD, placed)


def _of_words(text: str | None) -> Array | None:
    if text is None:
        return None
    row = [float(word) for word in text.split()]
    return spatial.transform(spatial.quaternion_matrix(row[3:]), row[:3])


def _moved(joint: Joint) -> Array:
    """The frame on the child's side in that on the parent's, at the joint's positions."""
    alone = Joint(
        name="", kind=joint.kind, child=Body(name=""), axes=joint.axes, order=joint.order, swapped=joint.swapped
    )
    alone.plane = joint.plane
    alone.positions = joint.positions
    moved: Array = Kinematics([Model(name="", bodies=[alone.child], joints=[alone])]).poses()[0]
    return moved


def _measured(joint: Joint, here: Array) -> Array:
    """Positions from the frame on the child's side in that on the parent's."""
    turn, shift = here[:3, :3], here[:3, 3]
    match joint.kind:
        case "ball":
            return spatial.log(turn)
        case "free":
            return np.concatenate([spatial.log(turn), shift])
        case "prismatic":
            return np.array([shift @ joint.axes[0]])
        case "translational" | "translational2d":
            return shift[: len(joint.motion)].copy()
        case "planar":
            return np.array([*shift[:2], np.arctan2(turn[1, 0], turn[0, 0])])
        case "revolute":
            return np.array([spatial.log(turn) @ joint.axes[0]])
    made = plan(joint) or Plan("", np.eye(3))
    angles = spatial.euler_xyz(made.turn.T @ turn @ made.turn)
    found = np.zeros(len(joint.motion))
    for freedom in made.freedoms:
        if freedom.coordinate is not None:
            found[freedom.coordinate] = freedom.sign * angles[ROTATIONS.index(freedom.name)]
    return found
