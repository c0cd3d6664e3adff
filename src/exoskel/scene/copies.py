"""Deep copies of scenes, worlds and models, which share no mutable object with the original."""

from __future__ import annotations

from copy import copy

from exoskel.scene.body import Body
from exoskel.scene.item import NameIndex
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model, Scene, World


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
    bodies = {id(body): _copy_body(body) for body in model.bodies}
    new = copy(model)
    new._index = None
    new.bodies = list(bodies.values())
    new.joints = [_copy_joint(joint, bodies) for joint in model.joints]
    return new


def _copy_body(body: Body) -> Body:
    new = copy(body)
    new.inertia = copy(body.inertia)
    new.visuals = [copy(shape) for shape in body.visuals]
    new.collisions = [copy(shape) for shape in body.collisions]
    new.markers = [copy(marker) for marker in body.markers]
    new.soft = copy(body.soft)
    new.state = copy(body.state)
    new.ignored_values = dict(body.ignored_values) if body.ignored_values else None
    return new


def _copy_joint(joint: Joint, bodies: dict[int, Body]) -> Joint:
    new = copy(joint)
    new.child = bodies[id(joint.child)]
    new.parent = None if joint.parent is None else bodies[id(joint.parent)]
    new._dofs = None if joint._dofs is None else [copy(dof) for dof in joint._dofs]
    return new
