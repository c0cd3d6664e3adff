"""Compose a USD file and read it back for its certificate."""

from __future__ import annotations

from collections.abc import Mapping

from exoskel.formats.usd.emitters import TEXT, to_bytes
from exoskel.formats.usd.read_back import ReadBack, read_back
from exoskel.formats.usd.write import write
from exoskel.scene.collision_filter import CollisionRules
from exoskel.scene.item import Item
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World
from exoskel.source.output_context import Composed, OutputContext


def compose(scene: Scene, output: OutputContext) -> Composed:
    """Compose the file in the form for its extension."""
    layer = write(scene, output)
    data = to_bytes(layer, output.extension or TEXT)
    native = read_back(data)
    prims = [(path, prim.item) for path, prim in layer.paths() if prim.item is not None]
    native.counterparts = {id(item): native.shapes[path] for path, item in prims if path in native.shapes}
    elements = frozenset(id(item) for _, item in prims)
    return Composed(data, native, _counterparts(scene, native), elements)


def shapes_of(native: Scene) -> Mapping[int, Shape]:
    """The shapes read back, by the ids of the shapes they were written from."""
    assert isinstance(native, ReadBack)
    return native.counterparts


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
