"""What DART 6.20's SDF reader ignores, although the file states it."""

from __future__ import annotations

from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.scene.item import Item
from exoskel.scene.joint import UNLIMITED, Joint
from exoskel.scene.shape import Plane, Shape
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext


def record_ignored_parts(world: World, output: OutputContext) -> None:
    """Record what DART's reader ignores."""
    if world.self_collision:
        _ignored(output, world, "collisions within a model", "self_collision")
    if world.collision_detector:
        _ignored(output, world, "the collision detector", "collision_detector")
    for model in world.models:
        for body in model.bodies:
            for shape in body.shapes:
                if isinstance(shape.geometry, Plane):
                    output.add_loss(shape, CATALOGUE["SD216.plane"], "geometry", changes_effect=True)
            for shape in body.collisions:
                _record_shape(shape, output)
        for joint in model.joints if not model.static else ():
            _record_joint(joint, output)


def _record_shape(shape: Shape, output: OutputContext) -> None:
    for field, words in (("friction", "friction of shapes"), ("restitution", "restitution of shapes")):
        if getattr(shape, field) is not None:
            _ignored(output, shape, words, field)
    if not shape.collidable:
        _ignored(output, shape, "that the shape does not collide", "collidable")


def _record_joint(joint: Joint, output: OutputContext) -> None:
    for field, words in (("velocity_limits", "velocity limits of joints"), ("force_limits", "force limits of joints")):
        if any(getattr(dof, field) != UNLIMITED for dof in joint._dofs or ()):
            _ignored(output, joint, words, field)


def _ignored(output: OutputContext, item: Item, what: str, field: str) -> None:
    output.add_loss(item, CATALOGUE["SD216"], field, changes_effect=True, what=what)
