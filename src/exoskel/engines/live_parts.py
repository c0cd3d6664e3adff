"""Shared by all builders of live objects: maps of names, labels of shapes, joints as sequences of simple motions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.scene.body import Body
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.joint import Dof, Joint
from exoskel.scene.kinematics import Kinematics, free_twist, plane_frames
from exoskel.scene.lowering.actuators import LoweredActuators
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.spatial import Array


class NameMap:
    """The names in another program, by kind and by path in the scene.

    Names of a kind are unique, and so are those of kinds that are `shared`, which `reserved` names are not given to.
    """

    def __init__(self, shared: Collection[str] = (), reserved: Iterable[str] = ()) -> None:
        self._names: dict[str, dict[str, str]] = {}
        self._taken = dict.fromkeys(shared, Names(reserved))

    def add(self, kind: str, name: str, *path: str) -> None:
        self._names.setdefault(kind, {})[qualified_name(*path)] = name

    def unique(self, kind: str, *path: str) -> str:
        """Choose and return the last name of a path; if it is taken, prepend the names before it."""
        taken = self._taken.setdefault(kind, Names())
        name = unique_name(path[-1] if path[-1] not in taken else "_".join(path), taken)
        taken.add(name)
        self.add(kind, name, *path)
        return name

    def listed(self) -> Mapping[str, Mapping[str, str]]:
        return self._names


def shape_labels(body: Body) -> Iterator[tuple[str, Shape]]:
    """Yield the shapes of a body with the labels that MJCF gives them: `collision0`, `visual0`, …"""
    for kind, shapes in (("collision", body.collisions), ("visual", body.visuals)):
        for number, shape in enumerate(shapes):
            yield f"{kind}{number}", shape


class SimpleMotion(Struct, frozen=True):
    """A rotation about an axis, or a translation along it, in the frame of a joint, by one of its coordinates."""

    rotates: bool
    axis: Array
    dof: int


def simple_motions(joint: Joint) -> list[SimpleMotion]:
    """The motions that make up that of a joint, from parent to child; none for balls, free joints and welds."""
    match joint.kind:
        case "revolute" | "prismatic":
            return [SimpleMotion(joint.kind == "revolute", spatial.unit(np.array(joint.axes[0])), 0)]
        case "universal" | "hinge2":
            motions = [SimpleMotion(True, spatial.unit(np.array(joint.axes[i])), i) for i in (0, 1)]
            return motions[::-1] if joint.swapped else motions
        case "euler":
            return [SimpleMotion(True, np.eye(3)["xyz".index(letter)], i) for i, letter in enumerate(joint.order)]
        case "translational":
            return [SimpleMotion(False, np.eye(3)[i], i) for i in range(3)]
        case "translational2d" | "planar":
            first, second, normal = plane_frames([joint])
            motions = [SimpleMotion(False, first[0], 0), SimpleMotion(False, second[0], 1)]
            return [*motions, SimpleMotion(True, normal[0], 2)] if joint.kind == "planar" else motions
        case _:
            return []


class PlacedJoint(Struct, frozen=True):
    """A joint with its frames in its two bodies, and where its child is in the initial state."""

    model: Model
    joint: Joint
    from_parent: Array
    from_child: Array
    relative: Array
    """The child in its parent."""
    pose: Array
    """The child in the world."""

    def free_twist(self) -> tuple[Array, Array]:
        """The initial velocity of a free joint: linear and angular velocity of the joint's frame in the child."""
        spin, speed = free_twist(self.joint, np.array(self.joint.velocities))
        rotation, frame = self.relative[:3, :3], self.from_child
        spin, speed = rotation.T @ spin, rotation.T @ speed
        return frame[:3, :3].T @ (speed + np.cross(spin, frame[:3, 3])), frame[:3, :3].T @ spin


def placed_joints(world: World) -> Iterator[PlacedJoint]:
    """Yield the joints of a world except loops, parents first."""
    kinematics = Kinematics(world.models)
    poses, relative = kinematics.poses(), kinematics.relative(kinematics.initial)
    joints = [(model, joint) for model in world.models for joint in model.joints if not joint.loop]
    for number, (model, joint) in enumerate(joints):
        frames = kinematics.from_parent[number], kinematics.from_child[number]
        yield PlacedJoint(model, joint, *frames, relative[number], poses[kinematics.child[number]])


def actuator_losses(lowered: LoweredActuators) -> Iterator[str]:
    """Yield a sentence for each actuator: what replaces it in a library without actuators."""
    for one in lowered.actuators:
        name = f"actuator {one.actuator.name!r}"
        match one.result:
            case "dropped" if one.actuator.tendon:
                yield f"{name}: it is missing; it drives a tendon"
            case "dropped" if one.grows:
                yield f"{name}: it is missing; it integrates its control"
            case "dropped":
                yield f"{name}: it is missing; its feedback is not that of a spring and damper"
            case "spring":
                limits = ", without limits" if one.loses_limits else ""
                yield f"{name}: as a spring and damper, with its control fixed at {one.control:g}{limits}"
            case "force limits":
                yield f"{name}: as force limits of its joint"
            case _:
                yield f"{name}: a motor without limits is missing"
        if one.loses_activation:
            yield f"{name}: its activation is missing; the control acts at once"


_WORDS = {
    "position_limits": "position limits",
    "velocity_limits": "velocity limits",
    "acceleration_limits": "acceleration limits",
    "force_limits": "force limits",
    "damping": "damping",
    "friction": "friction",
    "stiffness": "springs",
    "armature": "armature",
    "force": "a force during the first step",
    "acceleration": "an acceleration during the first step",
}
"""What is lost of the degrees of freedom of a joint."""
CARTESIAN = frozenset({"ball", "free", "amotor"})
"""Joints whose velocities are vectors, not the rates of single motions."""
_DEFAULT_DOF = Dof()


def dof_losses(program: str, joint: Joint, supported: Collection[str]) -> Iterator[str]:
    """Yield what degrees of freedom of a joint state besides the fields that a program supports."""
    for field, words in _WORDS.items():
        is_stated = any(getattr(dof, field) != getattr(_DEFAULT_DOF, field) for dof in joint._dofs or ())
        if field == "position_limits":
            is_stated = is_stated and joint.limits_enforced
        if is_stated and field not in supported:
            yield f"joint {joint.name!r} ({joint.kind}): {words} not supported by {program}"


def common_value(joint: Joint, field: str, part: slice) -> float | None:
    """The value of a field that some degrees of freedom of a joint share, so that it is the same along all axes."""
    values = {float(getattr(dof, field)) for dof in joint.dofs[part]}
    return values.pop() if len(values) == 1 else None


def commanded_losses(joint: Joint) -> Iterator[str]:
    """Yield a sentence for an actuator that follows commands, in a library without such actuators."""
    if joint.actuator in ("servo", "velocity", "acceleration", "locked"):
        yield f"joint {joint.name!r}: its actuator ({joint.actuator}) is missing; it moves freely"


def common_losses(world: World) -> Iterator[str]:
    """Yield what none of the programs has: soft skins, tendons, equality constraints, motors of ODE, and others."""
    for tendon in world.tendons:
        yield f"tendon {tendon.name!r}: tendons are not supported; its spring, damper and limits are missing"
    for equality in world.equalities:
        if equality.active:
            yield f"{equality.kind} constraint {equality.name!r}: it is missing; equality constraints are not supported"
    for words, listed in (
        ("cameras", world.cameras),
        ("lights", world.lights),
        ("sensors", world.sensors),
        ("keyframes", world.keyframes),
    ):
        if listed:
            yield f"{words} are not supported: {', '.join(repr(one.name) for one in listed)}"
    for body in world.bodies():
        if body.soft is not None:
            yield f"body {body.name!r}: soft bodies are not supported; the skin and its mass are missing"
        if body.markers:
            yield f"body {body.name!r}: markers are not supported"
        if body.state is not None and (any(body.state.force) or any(body.state.torque)):
            yield f"body {body.name!r}: its force during the first step is missing"
    for joint in world.joints():
        if any(drive.max_force for drive in joint.drives):
            yield f"joint {joint.name!r}: motors of ODE are not supported; its motor is missing"
