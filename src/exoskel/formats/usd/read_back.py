"""Reading what the writer wrote, from its bytes, to certify it: masses, places, joints, limits, dynamics, shapes, and
who passes whom.

No reader of USD at large: the files of other programs are none of its business.  Physics comes from
what every reader sees; the scene's own words, which the writer leaves in `customData`, only tell which of several
ways of counting the same coordinates is meant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import field

from exoskel.formats.usd.codes import failure
from exoskel.formats.usd.emitters import BINARY, TEXT, opened
from exoskel.formats.usd.reading.bodies import BodyReader
from exoskel.formats.usd.reading.collision_filter import rules_of
from exoskel.formats.usd.reading.joints import JointReader, in_order
from exoskel.formats.usd.reading.prim_values import apis, name_of, values
from exoskel.formats.usd.reading.shapes import ShapeReader
from exoskel.scene.collision_filter import CollisionRules
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, Reading, Scene, World

_TEXT, _BINARY = b"#usda", b"PXR-USDC"


class ReadBack(Scene, eq=False):
    """A scene with its shapes by the paths of their prims, and the rules of each world of who passes whom.

    `counterparts` are the shapes by the ids of those that they were written from, for who knows them.
    """

    shapes: dict[str, Shape] = field(default_factory=dict)
    counterparts: dict[int, Shape] = field(default_factory=dict)
    rules: list[CollisionRules] = field(default_factory=list)


def read_back(data: bytes) -> ReadBack:
    """The scene in a file that exoskel wrote.  Raises UsdError."""
    layer = _layer(data)
    if not str(layer.customLayerData.get("creator", "")).startswith("exoskel"):
        raise failure("US002.foreign", reason="it does not say so")
    made = ReadBack(reading=Reading("usd"))
    shapes = ShapeReader(layer)
    try:
        for prim in layer.rootPrims:
            if prim.kind == "assembly":
                world, rules = _world(prim, shapes)
                made.worlds.append(world)
                made.rules.append(rules)
        shapes.settle()
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as problem:
        raise failure("US002.foreign", reason=f"it was changed since ({problem})") from problem
    made.shapes = shapes.found
    return made


def _layer(data: bytes) -> Any:
    try:
        from pxr import Sdf, Tf
    except ImportError:
        raise failure("US001", what="reading USD") from None
    ending = TEXT if data.startswith(_TEXT) else BINARY if data.startswith(_BINARY) else ""
    if not ending:
        raise failure("US002", reason="it is neither usda nor usdc")
    try:
        if ending == TEXT:
            data.decode()  # usd-core's own complaint about bytes that are no text cannot be read
        return opened(data, ending, Sdf)
    except (Tf.ErrorException, UnicodeDecodeError) as problem:
        raise failure("US002", reason=str(problem).strip().splitlines()[-1]) from None


def _world(prim: Any, shapes: ShapeReader) -> tuple[World, CollisionRules]:
    found = values(prim.nameChildren["PhysicsScene"])
    gravity = np.array(found["physics:gravityDirection"], dtype=np.float64) * float(found["physics:gravityMagnitude"])
    x, y, z = gravity.tolist()
    bodies = BodyReader()
    joints = JointReader(bodies)
    models = {
        str(one.path): _model(one, bodies, joints, shapes) for one in prim.nameChildren if one.kind == "component"
    }
    bodies.settle()
    joints.settle()
    world = World(name=name_of(prim), gravity=(x, y, z), time_step=found["mjc:option:timestep"])
    world.models += models.values()
    return world, rules_of(prim, models, bodies, shapes.found, joints.tied)


def _model(prim: Any, bodies: BodyReader, joints: JointReader, shapes: ShapeReader) -> Model:
    prims = [one for one in prim.nameChildren if one.kind == "subcomponent"]
    model = Model(name=name_of(prim), bodies=[bodies.read(one) for one in prims])
    for one, body in zip(prims, model.bodies, strict=True):
        shapes.read(one, body)
    model.static = bool(prims) and not any("PhysicsRigidBodyAPI" in apis(one) for one in prims)
    made = joints.read(prim.nameChildren.get("joints"))
    held = {id(joint.child) for joint in made if not joint.loop}
    free = [one for one, body in zip(prims, model.bodies, strict=True) if id(body) not in held]
    made += [joints.floating(one, static=model.static) for one in free]
    model.joints = in_order(model, made)
    return model
