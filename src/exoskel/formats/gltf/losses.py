"""Record the values of a world that glTF does not support."""

from __future__ import annotations

from collections.abc import Sequence

from exoskel.formats.gltf.codes import record_loss
from exoskel.scene.body import Body, BodyState
from exoskel.scene.joint import UNLIMITED, Dof, Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext


def record_losses(world: World, output: OutputContext) -> None:
    """Record all losses except those of shapes, which the writer records."""
    if world.collision_exempt_groups:
        record_loss(output, world, "GL303", "collision_exempt_groups")
    if world.erp is not None or world.cfm is not None:
        record_loss(output, world, "GL306.world", "erp", "cfm")
    for joint in world.joints():
        if _loses_dynamics(joint):
            record_loss(output, joint, "GL301", kind=joint.kind)
        if any(joint.velocities):
            record_loss(output, joint, "GL302", "velocity")
    for body in world.bodies():
        if body.state is not None:
            _record_state_losses(body, body.state, output)


def _record_state_losses(body: Body, state: BodyState, output: OutputContext) -> None:
    if any((*state.linear_velocity, *state.angular_velocity)):
        record_loss(output, body, "GL302", "state")
    if any((*state.force, *state.torque)) or state.finite_rotation.mode != 0:
        record_loss(output, body, "GL306", "state")


def shapes_differ(ones: Sequence[Shape], others: Sequence[Shape]) -> bool:
    """Whether two lists of shapes differ in geometry or pose."""
    return len(ones) != len(others) or any(
        one.geometry != other.geometry or one.pose != other.pose for one, other in zip(ones, others, strict=True)
    )


def _loses_dynamics(joint: Joint) -> bool:
    """Whether a joint has more than its name, kind and parent; welds and plain free joints do not."""
    if joint.kind == "weld" and not joint.loop:
        return False
    if joint.kind != "free" or joint.loop or joint.parent is not None:
        return True
    return bool(joint.drives or joint.mimic is not None or any(map(_has_dynamics, joint._dofs or ())))


def _has_dynamics(dof: Dof) -> bool:
    limits = (dof.position_limits, dof.velocity_limits, dof.acceleration_limits, dof.force_limits)
    forces = (dof.damping, dof.friction, dof.stiffness, dof.force, dof.acceleration)
    return any(forces) or any(limit != UNLIMITED for limit in limits)
