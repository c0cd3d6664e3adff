"""What MJCF does not support, or only approximately: a table of conditions for each item of a world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite

import numpy as np

from exoskel.formats.mjcf.model.inertials import Inertials
from exoskel.formats.mjcf.model.joints import joint_chain, motors_of_chain
from exoskel.formats.mjcf.model.motors import has_force_motor
from exoskel.scene.body import Body
from exoskel.scene.joint import DOF_DYNAMICS, UNLIMITED, Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Cone, Mesh, MultiSphere, Plane, Pyramid, Ray, Shape, TriMesh
from exoskel.scene.world import World
from exoskel.source.output_context import Loss


def losses(world: World) -> list[Loss]:
    """Each part that is written approximately or not at all, with the reason."""
    return list(_found(world))


def _found(world: World) -> Iterator[Loss]:
    for model in world.models:
        if model.static and any(joint.motion for joint in model.joints):
            yield Loss(model, "the joints of a static model are written at their initial positions")
        for joint in model.joints if not model.static else ():
            yield from (Loss(joint, text, fields) for text, fields, applies in _JOINTS if applies(joint))
            if joint.actuator == "servo" and not _has_flywheel(joint) and joint.motion:
                yield Loss(joint, NO_BALL_MOTOR, ("actuator", "force_limits"), is_dropped=True)
            if _has_rotated_axes(model, joint):
                yield Loss(joint, ROTATED_AXES, DOF_DYNAMICS, changes_effect=True)
            if _has_rotated_friction(joint):
                yield Loss(joint, ROTATED_FRICTION, ("friction",), changes_effect=True)
        floating = moving(model)
        for joint in model.joints if world.self_collision else ():
            if joint.collide_connected and not joint.loop and id(joint.parent) in floating:
                yield Loss(joint, PARENTS, ("collide_connected",))
        for body in model.bodies:
            yield from (
                Loss(s, FLOATING_PLANE) for s in body.shapes if id(body) in floating and isinstance(s.geometry, Plane)
            )
            yield from (Loss(body, text, fields) for text, fields, applies in _BODIES if applies(body))
            yield from (
                Loss(s, text, ("geometry",)) for s in body.shapes for text, applies in _SHAPES.items() if applies(s)
            )
    free_bodies = [body for model in world.models if not model.static for body in model.bodies]
    for repair in Inertials(free_bodies).repairs:
        yield Loss(repair.body, f"MuJoCo rejects these mass properties: {_REPAIRS[repair.fault]}", ("inertia",))


PARENTS = "MuJoCo does not collide a body with its parent: the connected bodies do not collide"
ROTATED_AXES = "springs, dampers and friction of the free joint act along the axes of the body, not of its parent"
ROTATED_FRICTION = "friction of the ball joint acts about the axes of the body, not of the joint"
FLOATING_PLANE = "a plane on a moving body is not written"


def moving(model: Model) -> set[int]:
    """The ids of bodies that can move."""
    found: set[int] = set()
    for joint in model.joints if not model.static else ():
        if not joint.loop and (joint.motion or (joint.parent is not None and id(joint.parent) in found)):
            found.add(id(joint.child))
    return found


def _has_flywheel(joint: Joint) -> bool:
    """Whether a motor of the joint is written.  ODE switches a motor off between equal stops."""
    if joint.actuator == "servo":
        return any(motor is not None for motor in motors_of_chain(joint, joint_chain(joint)))
    return joint.kind != "amotor" and any(drive.max_force for drive in joint.drives)


def _limited(name: str) -> Callable[[Joint], bool]:
    return lambda joint: any(getattr(dof, name) != UNLIMITED for dof in joint._dofs or ())


def _uneven(joint: Joint) -> bool:
    rows = [(dof.damping, dof.stiffness, dof.friction) for dof in (joint._dofs or ())[:3]]
    return joint.kind in ("ball", "free") and len(set(rows)) > 1


def _has_rotated_friction(joint: Joint) -> bool:
    """Whether the same friction about all axes of a ball acts about other axes than those of its child."""
    if joint.kind != "ball" or _uneven(joint) or not any(dof.friction for dof in joint._dofs or ()):
        return False
    squares = joint.pose.matrix()[:3, :3] ** 2
    return bool(np.abs(squares - squares.round()).max() > _SAME_AXES)


def _has_rotated_axes(model: Model, joint: Joint) -> bool:
    """Whether springs, dampers or friction of a free joint act along other axes than in the scene.

    There they act along the axes of the parent.  MuJoCo's slides have the axes of the joint at zero positions, and its
    ball those of the child.
    """
    if joint.kind != "free" or joint._dofs is None:
        return False
    rotations, translations = joint._dofs[:3], joint._dofs[3:]
    if any(dof.friction for dof in rotations):
        return True
    active = [dof for dof in joint._dofs if dof.damping or dof.stiffness or dof.friction]
    if not active or (joint.pose.is_identity and _is_upright(model, joint)):
        return False
    depends_on_axes = any(dof.stiffness or dof.friction for dof in active)
    return not joint.pose.is_identity or depends_on_axes or len({dof.damping for dof in translations}) > 1


def _is_upright(model: Model, joint: Joint) -> bool:
    """Whether the child has the orientation of its parent at zero positions."""
    child = model.pose.matrix() @ joint.child.pose.matrix()
    parent = np.eye(4) if joint.parent is None else model.pose.matrix() @ joint.parent.pose.matrix()
    return bool(np.abs(parent[:3, :3] - child[:3, :3]).max() < _SAME_AXES)


_SAME_AXES = 1e-12
_JOINTS: tuple[tuple[str, tuple[str, ...], Callable[[Joint], bool]], ...] = (
    ("velocity limits are not written", ("velocity_limits",), _limited("velocity_limits")),
    ("acceleration limits are not written", ("acceleration_limits",), _limited("acceleration_limits")),
    (
        "force limits without a motor are not written",
        ("force_limits",),
        lambda j: (
            j.actuator != "servo"
            and any(d.force_limits != UNLIMITED and not has_force_motor(j, d) for d in j._dofs or ())
        ),
    ),
    (
        "a joint with prescribed motion is written as a very large inertia",
        ("actuator",),
        lambda j: j.actuator in ("velocity", "acceleration", "locked"),
    ),
    (
        "the motor is written as a flywheel coupled by dry friction",
        ("actuator", "force_limits", "drives"),
        _has_flywheel,
    ),
    (
        "the motor is written as torques about its axes, which track its speed",
        ("drives",),
        lambda j: j.kind == "amotor" and any(d.max_force for d in j.drives),
    ),
    (
        "MuJoCo has no motor for rotations about three axes: that of the free joint is not driven",
        ("actuator", "force_limits"),
        lambda j: j.kind == "free" and j.actuator == "servo" and _has_flywheel(j),
    ),
    ("a ball joint has one damping, stiffness and friction for all axes: the mean is written", DOF_DYNAMICS, _uneven),
    (
        "the rest position of a ball joint's springs is not written",
        ("rest",),
        lambda j: j.kind in ("ball", "free") and any(dof.stiffness and dof.rest for dof in (j._dofs or ())[:3]),
    ),
    (
        "a ball joint's limits become one angle: the widest is written",
        ("position_limits",),
        lambda j: j.kind == "ball" and any(isfinite(bound) for dof in j._dofs or () for bound in dof.position_limits),
    ),
    (
        "equal limits at infinity are not written",
        ("position_limits",),
        lambda j: any(dof.has_limits_at_infinity for dof in j._dofs or ()),
    ),
    (
        "forces and accelerations of the first step are not written",
        ("force", "acceleration"),
        lambda j: any(dof.force or dof.acceleration for dof in j._dofs or ()),
    ),
    (
        "soft stops are written as hard stops",
        ("position_limits", "drives"),
        lambda j: any(d.stop_cfm for d in j.drives),
    ),
    ("the collapse of a universal joint in DART is not written", ("kind",), lambda j: j.collapses),
)
"""Losses of joints: the reason, the fields that it concerns, and the condition."""
NO_BALL_MOTOR = "MuJoCo has no motor for ball and free joints: the servo is not written"
_BODIES: tuple[tuple[str, tuple[str, ...], Callable[[Body], bool]], ...] = (
    ("the soft skin is not written", ("soft",), lambda body: body.soft is not None),
    (
        "forces and torques of the first step are not written",
        ("state",),
        lambda body: body.state is not None and any((*body.state.force, *body.state.torque)),
    ),
    (
        "the sleeping body is written as awake",
        ("state",),
        lambda body: body.state is not None and not body.state.enabled,
    ),
)
_SHAPES: dict[str, Callable[[Shape], bool]] = {
    "the mesh was not found and is not written": lambda s: isinstance(s.geometry, Mesh) and s.geometry.path is None,
    "the ray is not written": lambda s: isinstance(s.geometry, Ray),
    "the shape is written as a convex mesh": lambda s: isinstance(s.geometry, Cone | Pyramid | MultiSphere),
    "MuJoCo reads vertices in single precision": lambda s: isinstance(s.geometry, TriMesh),
    "the plane's frame is rotated so that z is its normal": lambda s: (
        isinstance(s.geometry, Plane) and s.geometry.normal != (0.0, 0.0, 1.0)
    ),
}
_REPAIRS = {
    "massless": "the body gets the smallest mass that MuJoCo accepts",
    "moment": "principal moments that are not positive are raised to the smallest value that MuJoCo accepts",
    "triangle": "the smaller principal moments are raised until their sum equals the largest",
}
