"""What glTF has no words for: conditions, asked of each part of a world."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from exoskel.formats.gltf.codes import tell
from exoskel.scene.body import Body
from exoskel.scene.joint import UNLIMITED, Dof, Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext


def tell_losses(world: World, output: OutputContext) -> None:
    """Tell of all parts that are left out, but for shapes, which the writer knows best."""
    for key, is_lost in _WORLDS.items():
        if is_lost(world):
            tell(output, world, key)
    for joint in world.joints():
        for key, has in _JOINTS.items():
            if has(joint):
                tell(output, joint, key, kind=joint.kind)
    for body in world.bodies():
        if body.state is not None:
            for key, says in _STATES.items():
                if says(body):
                    tell(output, body, key)


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


_WORLDS: dict[str, Callable[[World], bool]] = {
    "GL303": lambda world: bool(world.collision_exempt_groups),
    "GL306.world": lambda world: world.erp is not None or world.cfm is not None,
}
_JOINTS: dict[str, Callable[[Joint], bool]] = {
    "GL301": _is_more_than_words,
    "GL302": lambda joint: any(joint.velocities),
}
_STATES: dict[str, Callable[[Body], bool]] = {
    "GL302": lambda b: b.state is not None and any((*b.state.linear_velocity, *b.state.angular_velocity)),
    "GL306": lambda b: (
        b.state is not None and (any((*b.state.force, *b.state.torque)) or b.state.finite_rotation.mode != 0)
    ),
}
