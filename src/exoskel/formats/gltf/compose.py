"""Compose a glTF file and read it back for its certificate."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from exoskel import spatial
from exoskel.fates import Fate, Verdict
from exoskel.formats.gltf.cameras_and_lights import LIGHTS, is_view, written_view
from exoskel.formats.gltf.source_copy import copy_source
from exoskel.formats.gltf.write import SHAPES, GltfNode, write
from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.scene.body import Body
from exoskel.scene.cameras_and_keyframes import SceneCamera
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import Item, qualified_name
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, Vector
from exoskel.scene.shape import Box, Shape
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.world import Scene, World
from exoskel.source.glb import header_bytes
from exoskel.source.output_context import ComposedFile, OutputContext

_STAND_IN = Box((1.0, 1.0, 1.0))
"""The geometry of shapes that are read back: only their poses are read."""


def read_back(data: bytes) -> Scene:
    """The scene in a file that Exoskel wrote: all joints are fixed, and shapes have a placeholder geometry."""
    document: dict[str, Any] = msgspec.json.decode(header_bytes(data) if data.startswith(b"glTF") else data)
    return Scene(
        worlds=[_world(one, document) for one in document.get("scenes", [])],
        source_info=SourceInfo("gltf"),
    )


def _world(scene: dict[str, Any], document: dict[str, Any]) -> World:
    extras = scene["extras"]
    nodes: list[GltfNode] = document["nodes"]
    root = nodes[scene["nodes"][0]]
    inside = [nodes[number] for number in root.get("children", ())]
    views = [(node, "") for node in inside if is_view(node)]
    models: list[Model] = []
    for one in inside:
        if not is_view(one):
            model = _model(one, nodes)
            models.append(model)
            for number, body in zip(one.get("children", ()), model.bodies, strict=True):
                children = (nodes[child] for child in nodes[number].get("children", ()))
                path = qualified_name(model.name, body.name)
                views += [(node, path) for node in children if is_view(node)]
    world = World(
        name=scene["name"], gravity=_vector(extras["gravity"]), time_step=float(extras["time_step"]), models=models
    )
    for node, path in views:
        view = written_view(document, node, _pose(node).matrix(), path)
        if isinstance(view, SceneCamera):
            world.cameras.append(view)
        else:
            world.lights.append(view)
    return world


def _model(node: GltfNode, nodes: list[GltfNode]) -> Model:
    model = Model(name=node["name"], static=True)
    for number in node.get("children", ()):
        body = _body(nodes[number], nodes)
        model.bodies.append(body)
        joint = nodes[number]["extras"].get("joint") or {"name": f"{body.name}_joint"}
        model.joints.append(Joint(name=joint["name"], kind="weld", child=body))
    return model


def _body(node: GltfNode, nodes: list[GltfNode]) -> Body:
    extras = node["extras"]
    inertia = Inertia()
    if "mass" in extras:
        xx, yy, zz, xy, xz, yz = (float(entry) for entry in extras["inertia"])
        inertia = Inertia(float(extras["mass"]), _vector(extras["com"]), (xx, yy, zz, xy, xz, yz))
    inside = [nodes[number] for number in node.get("children", ())]
    shapes = [Shape(geometry=_STAND_IN, pose=_pose(one), name=one["name"]) for one in inside if "mesh" in one]
    gravity = extras.get("gravity", True)
    return Body(name=node["name"], pose=_pose(node), inertia=inertia, gravity=gravity, visuals=shapes)


def _pose(node: GltfNode) -> Pose:
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    rotation = spatial.quaternion_matrix(np.array([w, x, y, z]))
    return Pose.from_matrix(spatial.transform(rotation, np.array(node.get("translation", (0.0, 0.0, 0.0)))))


def _vector(values: Any) -> Vector:
    x, y, z = (float(value) for value in values)
    return (x, y, z)


# --- writing and certifying ----------------------------------------------------------------------------


def compose(scene: Scene, output: OutputContext) -> ComposedFile:
    """Compose the file and match its parts with the scene."""
    data = write(scene, output)
    native = read_back(data)
    found: dict[int, Item] = {}
    for world, other in zip(scene.worlds, native.worlds, strict=True):
        found[id(world)] = other
        for model, same in zip(world.models, other.models, strict=True):
            found[id(model)] = same
            found |= {id(mine): theirs for mine, theirs in zip(model.bodies, same.bodies, strict=True)}
            parent_joints = {id(joint.child): joint for joint in same.joints}
            found |= {id(j): parent_joints[id(found[id(j.child)])] for j in model.joints if not j.loop}
    return ComposedFile(data, native, found, _written(scene, output))


def _written(scene: Scene, output: OutputContext) -> frozenset[int]:
    """The parts that have a node: all except hidden shapes and shapes without a surface."""
    without = {id(loss.item) for loss in output.losses if loss.code == "GL305"}
    made: set[int] = set()
    for world in scene.worlds:
        made.add(id(world))
        for model in world.models:
            made.add(id(model))
            for body in model.bodies:
                seen = body.visuals or ([] if body.soft is not None else body.collisions)
                made |= {id(body), *(id(s) for s in seen if id(s) not in without), *map(id, body.markers)}
    return frozenset(made)


# --- the writer ----------------------------------------------------------------------------------------


_METADATA = Verdict(Fate.KEPT, "as `extras` of its node")
_EXACT = Verdict(Fate.EXACT)
_NO_CONTACTS = "glTF has no contacts"

CAPABILITIES = WriterCapabilities(
    native_joints=frozenset(TRAITS),  # joints are not written, so none has to be lowered
    compose=compose,
    copy_source=copy_source,
    fields=item_fields({Shape: ("geometry", "name", "pose", "color", "material")}),
    precision=1e-6,
    reads_mesh_textures=False,
    has_initial_state=True,
    is_picture=True,
    field_fates={
        (World, "name"): _EXACT,
        (World, "gravity"): _METADATA,
        (World, "time_step"): _METADATA,
        (Model, "name"): _EXACT,
        (Model, "pose"): Verdict(Fate.LOWERED, "in the poses of its bodies"),
        (Model, "static"): _METADATA,
        (Body, "name"): _EXACT,
        (Body, "pose"): Verdict(Fate.LOWERED, "as the pose in the initial state"),
        (Body, "inertia"): _METADATA,
        (Body, "gravity"): _METADATA,
        (Body, "soft"): Verdict(Fate.APPROXIMATED, "rigid, in its shape at rest"),
        **dict.fromkeys([(Joint, field) for field in ("", "name", "kind", "parent", "child")], _METADATA),
        (Shape, "collidable"): Verdict(Fate.DROPPED, _NO_CONTACTS, harmless=True),
        (Shape, "friction"): Verdict(Fate.DROPPED, _NO_CONTACTS),
        (Shape, "restitution"): Verdict(Fate.DROPPED, _NO_CONTACTS),
    },
    shape_fates={kind: Verdict(row.fate, row.why) for kind, row in SHAPES.items()},
    rewritten_fields={
        (World, "cameras"): "as cameras of nodes",
        (World, "lights"): f"as lights of {LIGHTS}",
    },
    hidden_shape_reason="other shapes of its body are drawn instead",
)
