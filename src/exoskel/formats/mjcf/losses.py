"""What MJCF has no words for, or only near ones: a table of conditions, asked of each part of a world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite

from exoskel.formats.mjcf.inertials import Inertials
from exoskel.formats.mjcf.motors import is_pushed
from exoskel.scene.body import Body
from exoskel.scene.joint import UNLIMITED, Joint
from exoskel.scene.shape import Cone, Mesh, MultiSphere, Plane, Pyramid, Ray, Shape, TriMesh
from exoskel.scene.world import Model, World
from exoskel.source.output_context import Loss


def losses(world: World) -> list[Loss]:
    """Each part that is written approximately or not at all, with the reason."""
    return list(_found(world))


def _found(world: World) -> Iterator[Loss]:
    for model in world.models:
        if model.static and any(joint.motion for joint in model.joints):
            yield Loss(model, "a static model's joints are written as they stand")
        for joint in model.joints if not model.static else ():
            yield from (Loss(joint, text, fields) for text, fields, applies in _JOINTS if applies(joint))
        afloat = moving(model)
        for joint in model.joints if world.self_collision else ():
            if joint.collide_connected and not joint.loop and id(joint.parent) in afloat:
                yield Loss(joint, PARENTS, ("collide_connected",))
        for body in model.bodies:
            yield from (
                Loss(s, FLOATING_PLANE) for s in body.shapes if id(body) in afloat and isinstance(s.geometry, Plane)
            )
            yield from (Loss(body, text, fields) for text, fields, applies in _BODIES if applies(body))
            yield from (
                Loss(s, text, ("geometry",)) for s in body.shapes for text, applies in _SHAPES.items() if applies(s)
            )
    loose = [body for model in world.models if not model.static for body in model.bodies]
    for repair in Inertials(loose).repairs:
        yield Loss(repair.body, f"MuJoCo takes no such mass properties: {_REPAIRS[repair.fault]}", ("inertia",))


PARENTS = "a body passes the one that it is in: what the joint ties cannot touch"
FLOATING_PLANE = "a plane on a body that moves is left out"


def moving(model: Model) -> set[int]:
    """The ids of bodies that can move."""
    found: set[int] = set()
    for joint in model.joints if not model.static else ():
        if not joint.loop and (joint.motion or (joint.parent is not None and id(joint.parent) in found)):
            found.add(id(joint.child))
    return found


def _limited(name: str) -> Callable[[Joint], bool]:
    return lambda joint: any(getattr(dof, name) != UNLIMITED for dof in joint._dofs or ())


def _uneven(joint: Joint) -> bool:
    rows = [(dof.damping, dof.stiffness, dof.friction) for dof in (joint._dofs or ())[:3]]
    return joint.kind in ("ball", "free") and len(set(rows)) > 1


_DYNAMICS = ("damping", "friction", "stiffness", "rest")
_JOINTS: tuple[tuple[str, tuple[str, ...], Callable[[Joint], bool]], ...] = (
    ("velocity limits are left out", ("velocity_limits",), _limited("velocity_limits")),
    ("acceleration limits are left out", ("acceleration_limits",), _limited("acceleration_limits")),
    (
        "force limits that no motor has are left out",
        ("force_limits",),
        lambda j: (
            j.actuator != "servo" and any(d.force_limits != UNLIMITED and not is_pushed(j, d) for d in j._dofs or ())
        ),
    ),
    (
        "a prescribed joint is an inertia that no force moves",
        ("actuator",),
        lambda j: j.actuator in ("velocity", "acceleration", "locked"),
    ),
    (
        "a motor is a flywheel behind dry friction",
        ("actuator", "force_limits", "drives"),
        lambda j: j.actuator == "servo" or any(d.max_force for d in j.drives),
    ),
    ("a ball has one damping, stiffness and friction for all its axes, their mean", _DYNAMICS, _uneven),
    (
        "a ball's limits are one angle, the widest",
        ("position_limits",),
        lambda j: j.kind == "ball" and any(isfinite(bound) for dof in j._dofs or () for bound in dof.position_limits),
    ),
    (
        "forces and accelerations of the first step are left out",
        ("force", "acceleration"),
        lambda j: any(dof.force or dof.acceleration for dof in j._dofs or ()),
    ),
    (
        "springy stops are written as hard ones",
        ("position_limits", "drives"),
        lambda j: any(d.stop_cfm for d in j.drives),
    ),
    ("a universal joint's collapse in DART is left out", ("kind",), lambda j: j.collapses),
)
"""Losses of joints: the reason, the fields that it concerns, and the condition."""
_BODIES: tuple[tuple[str, tuple[str, ...], Callable[[Body], bool]], ...] = (
    ("the soft skin is left out", ("soft",), lambda body: body.soft is not None),
    (
        "forces and torques of the first step are left out",
        ("state",),
        lambda body: body.state is not None and any((*body.state.force, *body.state.torque)),
    ),
    ("a sleeping body is awake", ("state",), lambda body: body.state is not None and not body.state.enabled),
)
_SHAPES: dict[str, Callable[[Shape], bool]] = {
    "the mesh was not found and is left out": lambda s: isinstance(s.geometry, Mesh) and s.geometry.path is None,
    "a ray is left out": lambda s: isinstance(s.geometry, Ray),
    "it is written as a convex mesh": lambda s: isinstance(s.geometry, Cone | Pyramid | MultiSphere),
    "vertices are read in single precision by MuJoCo": lambda s: isinstance(s.geometry, TriMesh),
    "the plane's normal is turned to its z axis": lambda s: (
        isinstance(s.geometry, Plane) and s.geometry.normal != (0.0, 0.0, 1.0)
    ),
}
_REPAIRS = {
    "massless": "the body gets the least mass it takes",
    "moment": "principal moments that are not positive get the least it takes",
    "triangle": "the smaller principal moments are raised until they add up to the largest",
}
