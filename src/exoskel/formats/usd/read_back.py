"""Read back the bytes that the writer wrote, to certify them: masses, poses, joints, limits, dynamics, shapes, and the
collision filter.

This is not a general USD reader: files of other programs are not supported.  Physics comes from the properties that
every reader sees.  The `customData` of the writer only selects between equivalent choices of joint coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import field

from exoskel.formats.usd.codes import catalogue_error
from exoskel.formats.usd.collision_filter import read_collision_rules
from exoskel.formats.usd.emitters import BINARY, TEXT, open_layer
from exoskel.formats.usd.reading.bodies import BodyReader
from exoskel.formats.usd.reading.joints import JointReader, sort_joints
from exoskel.formats.usd.reading.prim_values import apis, name_of, values
from exoskel.formats.usd.reading.shapes import ShapeReader
from exoskel.scene.collision_filter import CollisionRules
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, Reading, Scene, World

_TEXT, _BINARY = b"#usda", b"PXR-USDC"


class ReadBack(Scene, eq=False):
    """A scene with its shapes by prim path, and the collision rules of each world.

    `counterparts` are the shapes by the ids of the shapes that they were written from.
    """

    shapes: dict[str, Shape] = field(default_factory=dict)
    counterparts: dict[int, Shape] = field(default_factory=dict)
    rules: list[CollisionRules] = field(default_factory=list)


def read_back(data: bytes) -> ReadBack:
    """The scene in a file that Exoskel wrote.  Raises UsdError."""
    layer = _layer(data)
    if not str(layer.customLayerData.get("creator", "")).startswith("exoskel"):
        raise catalogue_error("US002.other_program", reason="the creator is missing")
    made = ReadBack(reading=Reading("usd"))
    shapes = ShapeReader(layer)
    try:
        for prim in layer.rootPrims:
            if prim.kind == "assembly":
                world, rules = _world(prim, shapes)
                made.worlds.append(world)
                made.rules.append(rules)
        shapes.finish()
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as problem:
        raise catalogue_error("US002.other_program", reason=f"it was modified ({problem})") from problem
    made.shapes = shapes.found
    return made


def _layer(data: bytes) -> Any:
    try:
        from pxr import Sdf, Tf
    except ImportError:
        raise catalogue_error("US001", what="reading USD") from None
    extension = TEXT if data.startswith(_TEXT) else BINARY if data.startswith(_BINARY) else ""
    if not extension:
        raise catalogue_error("US002", reason="it is neither usda nor usdc")
    try:
        if extension == TEXT:
            data.decode()  # usd-core's own error for invalid UTF-8 is not readable
        return open_layer(data, extension, Sdf)
    except (Tf.ErrorException, UnicodeDecodeError) as problem:
        raise catalogue_error("US002", reason=str(problem).strip().splitlines()[-1]) from None


def _world(prim: Any, shapes: ShapeReader) -> tuple[World, CollisionRules]:
    found = values(prim.nameChildren["PhysicsScene"])
    gravity = np.array(found["physics:gravityDirection"], dtype=np.float64) * float(found["physics:gravityMagnitude"])
    x, y, z = gravity.tolist()
    bodies = BodyReader()
    joints = JointReader(bodies)
    models = {
        str(one.path): _model(one, bodies, joints, shapes) for one in prim.nameChildren if one.kind == "component"
    }
    bodies.finish()
    joints.finish()
    world = World(name=name_of(prim), gravity=(x, y, z), time_step=found["mjc:option:timestep"])
    world.models += models.values()
    return world, read_collision_rules(prim, models, bodies, shapes.found, joints.non_colliding)


def _model(prim: Any, bodies: BodyReader, joints: JointReader, shapes: ShapeReader) -> Model:
    prims = [one for one in prim.nameChildren if one.kind == "subcomponent"]
    model = Model(name=name_of(prim), bodies=[bodies.read(one) for one in prims])
    for one, body in zip(prims, model.bodies, strict=True):
        shapes.read(one, body)
    model.static = bool(prims) and not any("PhysicsRigidBodyAPI" in apis(one) for one in prims)
    made = joints.read(prim.nameChildren.get("joints"))
    with_joint = {id(joint.child) for joint in made if not joint.loop}
    free = [one for one, body in zip(prims, model.bodies, strict=True) if id(body) not in with_joint]
    made += [joints.floating_joint(one, static=model.static) for one in free]
    model.joints = sort_joints(model, made)
    return model
