"""Compose a USD file and read it back for its certificate.

This is not a general USD reader: files of other programs are not supported.  Physics comes from the properties that
every reader sees.  The `customData` of the writer only selects between equivalent choices of joint coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import field

from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.formats.usd.codes import catalogue_error
from exoskel.formats.usd.collision_filter import read_collision_rules
from exoskel.formats.usd.joint_axes import fits
from exoskel.formats.usd.mapping import JOINTS, SHAPES
from exoskel.formats.usd.preserved_prims import add_preserved
from exoskel.formats.usd.reader.bodies import UsdBodyReader, UsdShapeReader
from exoskel.formats.usd.reader.cameras_and_lights import WrittenView, add_written_views, is_view
from exoskel.formats.usd.reader.joints import UsdJointReader, sort_joints
from exoskel.formats.usd.reader.prims import apis, custom_data, is_preserved, name_of, values
from exoskel.formats.usd.reader.written_actuators import add_written_actuators
from exoskel.formats.usd.source_copy import copy_source
from exoskel.formats.usd.tree import BINARY, TEXT, open_layer, to_bytes
from exoskel.formats.usd.usd_process import error_reason
from exoskel.formats.usd.write import LOWERED_KINDS, write
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import CollisionRules
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.lowering import joint_passes
from exoskel.scene.lowering.joint_passes import LoweredWorld
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape, Texture
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.world import Scene, World
from exoskel.source.output_context import ComposedFile, OutputContext
from exoskel.source.usdz_archive import FIRST_LAYER, SIGNATURE, pack, unpack

_TEXT, _BINARY = b"#usda", b"PXR-USDC"


class ReadBack(Scene, eq=False):
    """A scene with its shapes by prim path, and the collision rules of each world.

    `counterparts` are the shapes by the ids of the shapes that they were written from.
    """

    shapes: dict[str, Shape] = field(default_factory=dict)
    counterparts: dict[int, Shape] = field(default_factory=dict)
    rules: list[CollisionRules] = field(default_factory=list)


def read_back(data: bytes, textures: Mapping[str, Texture] | None = None) -> ReadBack:
    """The scene in a file that Exoskel wrote.  `textures` are known by their references.  Raises UsdError."""
    layer = _layer(next(iter(unpack(data).values())) if data.startswith(SIGNATURE) else data)
    if not str(layer.customLayerData.get("creator", "")).startswith("exoskel"):
        raise catalogue_error("US002.other_program", reason="the creator is missing")
    made = ReadBack(source_info=SourceInfo("usd"))
    shapes = UsdShapeReader(layer, textures or {})
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
        raise catalogue_error("US001", what="writing USD") from None
    extension = TEXT if data.startswith(_TEXT) else BINARY if data.startswith(_BINARY) else ""
    if not extension:
        raise catalogue_error("US002", reason="it is neither usda nor usdc")
    try:
        if extension == TEXT:
            data.decode()  # usd-core's own error for invalid UTF-8 is not readable
        return open_layer(data, extension, Sdf)
    except (Tf.ErrorException, UnicodeDecodeError) as problem:
        raise catalogue_error("US002", reason=error_reason(problem)) from None


def _world(prim: Any, shapes: UsdShapeReader) -> tuple[World, CollisionRules]:
    found = values(prim.nameChildren["PhysicsScene"])
    gravity = np.array(found["physics:gravityDirection"], dtype=np.float64) * float(found["physics:gravityMagnitude"])
    x, y, z = gravity.tolist()
    bodies = UsdBodyReader()
    joints = UsdJointReader(bodies)
    models = {str(one.path): _model(one, bodies, joints, shapes) for one in _own_children(prim, "component")}
    bodies.finish()
    joints.finish()
    world = World(name=name_of(prim), gravity=(x, y, z), time_step=found["mjc:option:timestep"])
    world.models += models.values()
    views: list[WrittenView] = [
        (one, None) for one in prim.nameChildren if is_view(one.typeName) and not is_preserved(one)
    ]
    add_written_views(world, [*views, *shapes.views])
    shapes.views.clear()
    add_written_actuators(world, prim, joints, shapes)
    pairs = [*joints.non_colliding, *bodies.filtered_pairs()]
    return world, read_collision_rules(prim, models, bodies.by_path(), shapes.found, pairs)


def _own_children(prim: Any, kind: str) -> list[Any]:
    """The children of a kind that the writer made."""
    return [one for one in prim.nameChildren if one.kind == kind and not is_preserved(one)]


def _model(prim: Any, bodies: UsdBodyReader, joints: UsdJointReader, shapes: UsdShapeReader) -> Model:
    prims = _own_children(prim, "subcomponent")
    model = Model(name=name_of(prim), bodies=[bodies.read(one) for one in prims])
    for one, body in zip(prims, model.bodies, strict=True):
        shapes.read(one, body)
    model.static = bool(prims) and not any("PhysicsRigidBodyAPI" in apis(one) for one in prims)
    made = joints.read(prim.nameChildren.get("joints"))
    with_joint = {id(joint.child) for joint in made if not joint.loop}
    free = [one for one, body in zip(prims, model.bodies, strict=True) if id(body) not in with_joint]
    made += [joints.floating_joint(str(one.path), custom_data(one), static=model.static) for one in free]
    model.joints = sort_joints(model, made)
    return model


def compose(scene: Scene, output: OutputContext) -> ComposedFile:
    """Compose the file in the form for its extension."""
    layer = write(scene, output)
    made = add_preserved(scene, layer, output)
    if made is None:
        data = to_bytes(layer, output.extension or TEXT, output.given_numbers, output.members)
    else:
        data = pack({FIRST_LAYER: made.data, **output.members}) if output.is_archive else made.data
    native = read_back(data, layer.textures)
    prims = [(path, prim.item) for path, prim in layer.paths() if prim.item is not None]
    native.counterparts = {id(item): native.shapes[path] for path, item in prims if path in native.shapes}
    elements = frozenset(id(item) for _, item in prims)
    return ComposedFile(data, native, _counterparts(scene, native), elements)


def shapes_of(native: Scene) -> Mapping[int, Shape]:
    """The shapes read back, by the ids of the shapes they were written from."""
    return native.counterparts if isinstance(native, ReadBack) else {}


def collision_rules_read_back(scene: Scene, world: World) -> CollisionRules:
    """The collision rules of a world that was read back."""
    assert isinstance(scene, ReadBack)
    return next(rules for one, rules in zip(scene.worlds, scene.rules, strict=True) if one is world)


def _counterparts(scene: Scene, native: Scene) -> dict[int, Item]:
    """Match worlds, models and bodies by order, joints by their child, and loop joints by name."""
    found: dict[int, Item] = {}
    for world, other in zip(scene.worlds, native.worlds, strict=True):
        found[id(world)] = other
        for model, same in zip(world.models, other.models, strict=True):
            found[id(model)] = same
            found |= {id(mine): theirs for mine, theirs in zip(model.bodies, same.bodies, strict=True)}
            parent_joints = {id(joint.child): joint for joint in same.joints if not joint.loop}
            loops = {joint.name: joint for joint in same.joints if joint.loop}
            for joint in model.joints:
                theirs = loops.get(joint.name) if joint.loop else parent_joints.get(id(found[id(joint.child)]))
                if theirs is not None:
                    found[id(joint)] = theirs
    return found


# --- the writer ----------------------------------------------------------------------------------------


NATIVE_JOINTS = frozenset(kind for kind, row in JOINTS.items() if row.prim) | {"amotor"}
"""Universal, hinge2 and euler joints are lowered unless `fits` returns True."""
_WITH_AXES = NATIVE_JOINTS - {"ball", "weld"}
_RENAMED = "renamed to an identifier; the name is the display name"
_IN_FRAME = "as the frame of the joint"
_GROUPS = Verdict(Fate.LOWERED, "as collision groups")


def lower_joints(world: World) -> LoweredWorld | None:
    """Replace the joints that USD lacks; None if all are supported."""
    if not joint_passes.joints_to_lower(world, LOWERED_KINDS, _lacks):
        return None
    return joint_passes.lower_joints(world, LOWERED_KINDS, only=_lacks)


def _lacks(joint: Joint) -> bool:
    return not fits(joint)


CAPABILITIES = WriterCapabilities(
    native_joints=NATIVE_JOINTS,
    compose=compose,
    copy_source=copy_source,
    fields=item_fields(
        {
            World: (
                *("name", "gravity", "time_step", "collision_exempt_groups", "self_collision"),
                *("actuators", "tendons"),
            ),
            Model: ("name", "pose", "static"),
            Body: ("name", "pose", "inertia", "gravity", "soft"),
            Shape: ("geometry", "name", "pose", "color", "collidable", "friction", "restitution", "material"),
            Joint: ("name", "kind", "parent", "child", "mimic", "loop", "collide_connected"),
        }
    ),
    targets_without_actuators=frozenset({"isaac"}),
    reads_mesh_textures=False,
    dof_fields={
        **dict.fromkeys(("position_limits", "stiffness", "rest"), _WITH_AXES),
        **dict.fromkeys(("damping", "friction", "armature", "velocity_limits"), _WITH_AXES | {"ball"}),
        "force_limits": frozenset({"revolute", "prismatic"}),
        **dict.fromkeys(("position", "velocity"), NATIVE_JOINTS),
    },
    drive_fields={
        **dict.fromkeys(("low_stop", "high_stop"), "as limits of its axis"),
        **dict.fromkeys(("velocity", "max_force"), "as a drive"),
        **dict.fromkeys(("stop_erp", "stop_cfm", "suspension_erp", "suspension_cfm"), "as a spring and a damper"),
    },
    rewritten_fields={
        (World, "name"): _RENAMED,
        (Model, "name"): _RENAMED,
        (Body, "name"): _RENAMED,
        (Joint, "name"): _RENAMED,
        (Shape, "name"): "renamed to an identifier that is unique in its body",
        (Model, "pose"): "in the poses of its bodies",
        (Model, "static"): "its bodies are not rigid bodies",
        (Body, "pose"): "as the initial pose and the frames of its joint",
        (Joint, "pose"): "in a frame that is rotated to its axes",
        (Joint, "axes"): _IN_FRAME,
        (Joint, "order"): _IN_FRAME,
        (Joint, "plane"): _IN_FRAME,
        (Joint, "swapped"): _IN_FRAME,
        (World, "cameras"): "as prims of type Camera",
        (World, "lights"): "as lights of UsdLux",
    },
    shapes=frozenset(kind for kind, row in SHAPES.items() if row.prim),
    precision=1e-6,  # UsdPhysics has masses, frames of joints and limits in single precision
    has_initial_state=True,
    lower_joints=lower_joints,
    collision_rules=collision_rules_read_back,
    shapes_read_back=shapes_of,
    field_fates={
        (World, "collision_exempt_groups"): _GROUPS,
        (World, "self_collision"): _GROUPS,
    },
    shape_fates={
        kind: Verdict(
            Fate.DROPPED if not row.prim else Fate.APPROXIMATED if "US207" in row.codes else Fate.EXACT, row.how
        )
        for kind, row in SHAPES.items()
    },
)
