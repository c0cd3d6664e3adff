"""Read back the bytes that the writer wrote, to certify them: poses of bodies, and the metadata in `extras`."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import numpy as np

from exoskel import spatial
from exoskel.scene.body import Body
from exoskel.scene.inertia import Inertia
from exoskel.scene.joint import Joint
from exoskel.scene.pose import Pose, Vector
from exoskel.scene.shape import Box, Shape
from exoskel.scene.world import Model, Reading, Scene, World

_HEAD, _CHUNK = 12, 8
_STAND_IN = Box((1.0, 1.0, 1.0))
"""The geometry of shapes that are read back: only their poses are read."""

Node = dict[str, Any]


def read_back(data: bytes) -> Scene:
    """The scene in a file that Exoskel wrote: all joints are fixed, and shapes have a placeholder geometry."""
    (size,) = struct.unpack_from("<I", data, _HEAD)
    document: dict[str, Any] = msgspec.json.decode(data[_HEAD + _CHUNK : _HEAD + _CHUNK + size])
    nodes: list[Node] = document.get("nodes", [])
    return Scene(
        worlds=[_world(one, nodes) for one in document.get("scenes", [])],
        reading=Reading("gltf"),
    )


def _world(document: dict[str, Any], nodes: list[Node]) -> World:
    extras = document["extras"]
    root = nodes[document["nodes"][0]]
    models = [_model(nodes[number], nodes) for number in root.get("children", ())]
    return World(
        name=document["name"], gravity=_vector(extras["gravity"]), time_step=float(extras["time_step"]), models=models
    )


def _model(node: Node, nodes: list[Node]) -> Model:
    model = Model(name=node["name"], static=True)
    for number in node.get("children", ()):
        body = _body(nodes[number], nodes)
        model.bodies.append(body)
        joint = nodes[number]["extras"].get("joint") or {"name": f"{body.name}_joint"}
        model.joints.append(Joint(name=joint["name"], kind="weld", child=body))
    return model


def _body(node: Node, nodes: list[Node]) -> Body:
    extras = node["extras"]
    inertia = Inertia()
    if "mass" in extras:
        xx, yy, zz, xy, xz, yz = (float(entry) for entry in extras["inertia"])
        inertia = Inertia(float(extras["mass"]), _vector(extras["com"]), (xx, yy, zz, xy, xz, yz))
    inside = [nodes[number] for number in node.get("children", ())]
    shapes = [Shape(geometry=_STAND_IN, pose=_pose(one), name=one["name"]) for one in inside if "mesh" in one]
    gravity = extras.get("gravity", True)
    return Body(name=node["name"], pose=_pose(node), inertia=inertia, gravity=gravity, visuals=shapes)


def _pose(node: Node) -> Pose:
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    rotation = spatial.quaternion_matrix(np.array([w, x, y, z]))
    return Pose.from_matrix(spatial.transform(rotation, np.array(node.get("translation", (0.0, 0.0, 0.0)))))


def _vector(values: Any) -> Vector:
    x, y, z = (float(value) for value in values)
    return (x, y, z)
