"""Deep copies of scenes, worlds and models, which share no mutable object with the original."""

from __future__ import annotations

from copy import copy

from exoskel.scene.editing import copy_body, copy_joint
from exoskel.scene.item import NameIndex
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World


def copy_scene(scene: Scene) -> Scene:
    new = copy(scene)
    new.worlds = [copy_world(world) for world in scene.worlds]
    return new


def copy_world(world: World) -> World:
    new = copy(world)
    new._index = NameIndex()
    new.collision_exempt_groups = list(world.collision_exempt_groups)
    new.models = [copy_model(model) for model in world.models]
    return new


def copy_model(model: Model) -> Model:
    bodies = {id(body): copy_body(body) for body in model.bodies}
    new = copy(model)
    new._index = None
    new.bodies = list(bodies.values())
    new.joints = [copy_joint(joint, bodies) for joint in model.joints]
    return new
