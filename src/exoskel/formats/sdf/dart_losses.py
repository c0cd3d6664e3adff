"""What DART 6.20's SDF reader ignores, although the file states it."""

from __future__ import annotations

from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.scene.item import Item
from exoskel.scene.joint import STOPS, UNLIMITED, Drive, Joint
from exoskel.scene.shape import Material, Plane, Shape
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext


def record_ignored_parts(world: World, output: OutputContext) -> None:
    """Record what DART's reader ignores."""
    if world.self_collision:
        _ignored(output, world, "collisions within a model", "self_collision")
    if world.collision_detector:
        _ignored(output, world, "the collision detector", "collision_detector")
    for field, words in (("erp", "the ERP of the world"), ("cfm", "the CFM of the world")):
        if getattr(world, field) is not None:
            _ignored(output, world, words, field)
    for model in world.models:
        for body in model.bodies:
            for shape in body.shapes:
                if isinstance(shape.geometry, Plane):
                    output.add_loss(shape, CATALOGUE["SD216.plane"], "geometry", changes_effect=True)
                _record_material(shape, output)
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


_SURFACE = ("roughness", "metalness")
"""The fields of materials that are written; textures are not."""


def _record_material(shape: Shape, output: OutputContext) -> None:
    material = shape.material or Material()
    if parts := [f"material/{part}" for part in _SURFACE if getattr(material, part) is not None]:
        _ignored(output, shape, "materials of shapes, but for their colours", *parts)


_DRIVES = tuple(part for part in Drive.__struct_fields__ if part not in STOPS)


def _record_joint(joint: Joint, output: OutputContext) -> None:
    stated = [part for part in _DRIVES if any(getattr(drive, part) is not None for drive in joint.drives)]
    if stated:
        _ignored(output, joint, "ODE's parameters of joints", *(f"drives/{part}" for part in stated))
    for field, words in (("velocity_limits", "velocity limits of joints"), ("force_limits", "force limits of joints")):
        if any(getattr(dof, field) != UNLIMITED for dof in joint._dofs or ()):
            _ignored(output, joint, words, field)


def _ignored(output: OutputContext, item: Item, what: str, *fields: str) -> None:
    output.add_loss(item, CATALOGUE["SD216"], *fields, changes_effect=True, what=what)
