"""What glTF has no words for: conditions, asked of each part of a world."""

from __future__ import annotations

from collections.abc import Sequence

from exoskel.formats.gltf.codes import tell
from exoskel.scene.body import Body, BodyState
from exoskel.scene.joint import UNLIMITED, Dof, Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext


def tell_losses(world: World, output: OutputContext) -> None:
    """Tell of all parts that are left out, but for shapes, which the writer knows best."""
    if world.collision_exempt_groups:
        tell(output, world, "GL303", "collision_exempt_groups")
    if world.erp is not None or world.cfm is not None:
        tell(output, world, "GL306.world", "erp", "cfm")
    for joint in world.joints():
        if _is_more_than_words(joint):
            tell(output, joint, "GL301", kind=joint.kind)
        if any(joint.velocities):
            tell(output, joint, "GL302", "velocity")
    for body in world.bodies():
        if body.state is not None:
            _tell_state(body, body.state, output)


def _tell_state(body: Body, state: BodyState, output: OutputContext) -> None:
    if any((*state.linear_velocity, *state.angular_velocity)):
        tell(output, body, "GL302", "state")
    if any((*state.force, *state.torque)) or state.finite_rotation.mode != 0:
        tell(output, body, "GL306", "state")


def differ(ones: Sequence[Shape], others: Sequence[Shape]) -> bool:
    """Whether two lists of shapes are not the same bodies of matter."""
    return len(ones) != len(others) or any(
        one.geometry != other.geometry or one.pose != other.pose for one, other in zip(ones, others, strict=True)
    )


def _is_more_than_words(joint: Joint) -> bool:
    """Welds, and bodies that float with nothing to hold them, lose nothing."""
    if joint.kind == "weld" and not joint.loop:
        return False
    if joint.kind != "free" or joint.loop or joint.parent is not None:
        return True
    return bool(joint.drives or joint.mimic is not None or any(map(_is_bound, joint._dofs or ())))


def _is_bound(dof: Dof) -> bool:
    limits = (dof.position_limits, dof.velocity_limits, dof.acceleration_limits, dof.force_limits)
    forces = (dof.damping, dof.friction, dof.stiffness, dof.force, dof.acceleration)
    return any(forces) or any(limit != UNLIMITED for limit in limits)
