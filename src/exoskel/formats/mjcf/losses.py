"""What MJCF does not support, or only approximately: a table of conditions for each item of a world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, isfinite

import numpy as np

from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.dart_losses import dart_losses
from exoskel.formats.mjcf.model.inertials import Inertials
from exoskel.formats.mjcf.model.joints import UNLIMITED_RANGE, has_force_motor, joint_chain, motors_of_chain
from exoskel.formats.mjcf.model.soft_bodies import BodySkin
from exoskel.formats.mjcf.reader_losses import reader_losses
from exoskel.scene.body import Body
from exoskel.scene.cameras_and_keyframes import lost_view_part, shown_name, view_part
from exoskel.scene.joint import DOF_DYNAMICS, UNLIMITED, Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Cone, Mesh, MultiSphere, Plane, Pyramid, Ray, Shape, TriMesh
from exoskel.scene.world import World
from exoskel.source.losses import Loss, loss
from exoskel.source.output_context import Target


def losses(world: World) -> list[Loss]:
    """Each part that is written approximately or not at all, with the reason."""
    return list(_found(world))


def _found(world: World) -> Iterator[Loss]:
    for model in world.models:
        if model.static and any(joint.motion for joint in model.joints):
            yield loss(model, CATALOGUE["MJ510"], "joints")
        for joint in model.joints if not model.static else ():
            yield from (loss(joint, CATALOGUE[key], *fields) for key, fields, applies in _JOINTS if applies(joint))
            if joint.actuator == "servo" and joint.kind == "free" and joint.loop:
                yield loss(joint, CATALOGUE["MJ608.loop"], "actuator", "force_limits", is_dropped=True)
            if _has_rotated_axes(model, joint):
                yield loss(joint, CATALOGUE["MJ502"], *DOF_DYNAMICS, changes_effect=True)
            if _has_rotated_friction(joint):
                yield loss(joint, CATALOGUE["MJ502.friction"], "friction", changes_effect=True)
        floating = moving(model)
        for joint in model.joints if world.self_collision else ():
            if joint.collide_connected and not joint.loop and id(joint.parent) in floating:
                yield loss(joint, CATALOGUE["MJ607"], "collide_connected")
        for body in model.bodies:
            yield from (
                loss(s, CATALOGUE["MJ606.plane"])
                for s in body.shapes
                if id(body) in floating and isinstance(s.geometry, Plane)
            )
            yield from (loss(body, CATALOGUE[key], *fields) for key, fields, applies in _BODIES if applies(body))
            if body.soft is not None and not BodySkin(model, body, body.soft).moves:
                yield loss(body, CATALOGUE["MJ605"], "soft")
            yield from (
                loss(s, CATALOGUE[key], "geometry")
                for s in body.shapes
                for key, applies in _SHAPES.items()
                if applies(s)
            )
    fixed = {id(body) for model in world.models if model.static for body in model.bodies}
    for repair in Inertials(list(world.bodies())).repairs:
        if id(repair.body) not in fixed:
            yield loss(repair.body, CATALOGUE[f"MJ507.{repair.fault}"], "inertia")
        elif repair.fault != "massless" or repair.body.mass > 0.0:
            yield loss(repair.body, CATALOGUE["MJ507.static"], "inertia")


_WITHOUT_PROJECTIONS: frozenset[Target] = frozenset({"mujoco3"})
"""Programs of which some versions refuse the attribute for orthographic cameras that others have."""


def projection_losses(world: World, target: Target) -> Iterator[Loss]:
    """The orthographic cameras that have a perspective for a certain program."""
    for camera in world.cameras if target in _WITHOUT_PROJECTIONS else ():
        if camera.orthographic:
            parts = [lost_view_part(camera, field) for field in ("orthographic", "field_of_view")]
            yield loss(world, CATALOGUE["MJ512"], view_part(camera), *parts, name=shown_name(camera))


_OTHER_SOLVERS: dict[Target, str] = {"newton": "Newton", "dart": "DART", "isaac": "Isaac Sim"}
"""Programs that ignore the integrator of a file."""


def target_losses(world: World, target: Target, integrator: str | None) -> Iterator[Loss]:
    """What a certain program, or the integrator of a file for it, changes."""
    if integrator == "implicitfast":
        yield loss(world, CATALOGUE["MJ508"], "time_step", changes_effect=True)
    yield from reader_losses(world, target)
    yield from projection_losses(world, target)
    if target in _OTHER_SOLVERS:
        program = _OTHER_SOLVERS[target]
        yield loss(world, CATALOGUE["MJ508.solver"], "time_step", changes_effect=True, program=program)
    if target == "dart":
        yield from dart_losses(world)


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
    rows = [(dof.damping, dof.stiffness, dof.friction, dof.armature) for dof in (joint._dofs or ())[:3]]
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
    ("MJ601.velocity", ("velocity_limits",), _limited("velocity_limits")),
    ("MJ601.acceleration", ("acceleration_limits",), _limited("acceleration_limits")),
    (
        "MJ601.force",
        ("force_limits",),
        lambda j: (
            j.actuator != "servo"
            and any(d.force_limits != UNLIMITED and not has_force_motor(j, d) for d in j._dofs or ())
        ),
    ),
    (
        "MJ504.prescribed",
        ("actuator",),
        lambda j: j.actuator in ("velocity", "acceleration", "locked"),
    ),
    (
        "MJ504",
        ("actuator", "force_limits", "drives"),
        _has_flywheel,
    ),
    (
        "MJ504.torques",
        ("drives",),
        lambda j: j.kind == "amotor" and any(d.max_force for d in j.drives),
    ),
    (
        "MJ608",
        ("actuator", "force_limits"),
        lambda j: j.actuator == "servo" and (j.kind == "ball" or (j.kind == "free" and not j.loop)),
    ),
    ("MJ503", (*DOF_DYNAMICS, "armature"), _uneven),
    (
        "MJ602",
        ("rest",),
        lambda j: j.kind in ("ball", "free") and any(dof.stiffness and dof.rest for dof in (j._dofs or ())[:3]),
    ),
    (
        "MJ503.limits",
        ("position_limits",),
        lambda j: j.kind == "ball" and any(isfinite(bound) for dof in j._dofs or () for bound in dof.position_limits),
    ),
    (
        "MJ601.large",
        ("position_limits",),
        lambda j: any(UNLIMITED_RANGE <= abs(b) < inf for dof in j._dofs or () for b in dof.position_limits),
    ),
    (
        "MJ601.infinite",
        ("position_limits",),
        lambda j: any(dof.has_limits_at_infinity for dof in j._dofs or ()),
    ),
    (
        "MJ603.joint",
        ("force", "acceleration"),
        lambda j: any(dof.force or dof.acceleration for dof in j._dofs or ()),
    ),
    (
        "MJ505",
        ("position_limits", "drives"),
        lambda j: any(d.stop_cfm for d in j.drives),
    ),
    ("MJ604", ("kind",), lambda j: j.collapses),
)
"""Losses of joints: the key of the message, the fields that it concerns, and the condition."""
_BODIES: tuple[tuple[str, tuple[str, ...], Callable[[Body], bool]], ...] = (
    (
        "MJ603.body",
        ("state", "state/force", "state/torque"),
        lambda body: body.state is not None and any((*body.state.force, *body.state.torque)),
    ),
    (
        "MJ509",
        ("state", "state/enabled"),
        lambda body: body.state is not None and not body.state.enabled,
    ),
)
_SHAPES: dict[str, Callable[[Shape], bool]] = {
    "MJ606.mesh": lambda s: isinstance(s.geometry, Mesh) and s.geometry.path is None,
    "MJ606.ray": lambda s: isinstance(s.geometry, Ray),
    "MJ506": lambda s: isinstance(s.geometry, Cone | Pyramid | MultiSphere),
    "MJ506.vertices": lambda s: isinstance(s.geometry, TriMesh),
    "MJ506.plane": lambda s: isinstance(s.geometry, Plane) and s.geometry.normal != (0.0, 0.0, 1.0),
}
