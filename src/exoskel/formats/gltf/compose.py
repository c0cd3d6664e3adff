"""Compose a glTF file and read it back for its certificate."""

from __future__ import annotations

from exoskel.formats.gltf.read_back import read_back
from exoskel.formats.gltf.write import write
from exoskel.scene.item import Item
from exoskel.scene.world import Scene
from exoskel.source.output_context import Composed, OutputContext


def compose(scene: Scene, output: OutputContext) -> Composed:
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
    return Composed(data, native, found, _written(scene, output))


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
