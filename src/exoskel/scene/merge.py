"""Deep copies of scenes, worlds and models, and merging several scenes into one world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import TypeVar

from msgspec import structs

from exoskel.diagnostics import Catalogue, Collector, Diagnostic, NoSource, Topic, info, warning
from exoskel.scene.actuator import Actuator
from exoskel.scene.cameras_and_keyframes import Keyframe, SceneCamera, SceneLight
from exoskel.scene.edit_tracking import TrackedList, no_edits, register_owner, set_field
from exoskel.scene.editing import copy_body, copy_joint, items_of
from exoskel.scene.equality import Equality
from exoskel.scene.item import Item, NameIndex, Names, renamed_models, unique_name
from exoskel.scene.model import Model
from exoskel.scene.sensor import SceneSensor
from exoskel.scene.tendon import Tendon
from exoskel.scene.validation import find_invalid
from exoskel.scene.world import Scene, SceneLike, World, as_scene


def copy_scene(scene: Scene) -> Scene:
    new = copy(scene)
    new.worlds = [copy_world(world) for world in scene.worlds]
    return new


OBJECT_LISTS = ("cameras", "lights", "keyframes", "actuators", "tendons", "sensors", "equalities")
"""The fields of a world that list objects which refer to bodies, joints and each other."""


def without_unknown_references(scene: Scene) -> tuple[Scene, list[Diagnostic]]:
    """A scene without actuators, sensors and others that refer to nothing, and the warnings about them.

    The scene itself is returned if it has none.
    """
    if not any(getattr(world, name) for world in scene.worlds for name in OBJECT_LISTS):
        return scene, []
    found = [one for one in find_invalid(scene) if one.code == "SC116"]
    if not found:
        return scene, []
    new = copy_scene(scene)
    for world in new.worlds:
        world.drop_dangling_references()
    return new, found


def with_bodies_in_order(scene: Scene) -> Scene:
    """A scene whose models list their bodies in the order of the joints that lead to them, as readers do.

    The scene itself is returned if it is so.
    """
    orders = {
        id(model): order
        for world in scene.worlds
        for model in world.models
        if (order := _changed_order(model)) is not None
    }
    if not orders:
        return scene
    new = copy_scene(scene)
    for world, before in zip(new.worlds, scene.worlds, strict=True):
        for model, original in zip(world.models, before.models, strict=True):
            if id(original) in orders:
                model.bodies = [model.bodies[number] for number in orders[id(original)]]
    return new


def _changed_order(model: Model) -> list[int] | None:
    """The numbers of the bodies in the order of their joints; None if they are in this order."""
    ranks = {id(joint.child): rank for rank, joint in enumerate(model.joints) if not joint.loop}
    order = sorted(range(len(model.bodies)), key=lambda number: ranks.get(id(model.bodies[number]), len(ranks)))
    return None if order == list(range(len(order))) else order


def copy_world(world: World) -> World:
    new = copy(world)
    register_owner(new)
    new._index = NameIndex()
    new.collision_exempt_groups = list(world.collision_exempt_groups)
    new.cameras, new.lights, new.keyframes = list(world.cameras), list(world.lights), list(world.keyframes)
    new.actuators, new.tendons, new.sensors = list(world.actuators), list(world.tendons), list(world.sensors)
    new.equalities = list(world.equalities)
    new.models = [copy_model(model) for model in world.models]
    return new


def with_models(world: World, models: Sequence[Model]) -> World:
    """A copy of the world with these models, which both share."""
    with no_edits():
        made = copy(world)
        made._index = NameIndex()
        made.models = TrackedList(models)
        made.cameras, made.lights = TrackedList(world.cameras), TrackedList(world.lights)
        made.keyframes, made.actuators = TrackedList(world.keyframes), TrackedList(world.actuators)
        made.tendons, made.sensors = TrackedList(world.tendons), TrackedList(world.sensors)
        made.equalities = TrackedList(world.equalities)
        made.drop_dangling_references()
    return made


def copy_model(model: Model) -> Model:
    bodies = {id(body): copy_body(body) for body in model.bodies}
    new = copy(model)
    new._index = None
    new.bodies = list(bodies.values())
    new.joints = [copy_joint(joint, bodies) for joint in model.joints]
    return new


CATALOGUE = Catalogue(
    "",
    (
        Topic(
            "MG001",
            "Model renamed",
            "The models of a world have unique names. A second model of the same name gets (1), (2), … appended.",
            info("MG001", "model '{name}' of {source} is renamed to '{renamed}'"),
        ),
        Topic(
            "MG002",
            "Settings differ",
            "The merged world takes gravity, time step, collision detector, ERP, CFM and self-collision from the first "
            "scene.",
            warning("MG002", "{setting} is {first} in {source} and {other} in {other_source}; {first} is used"),
        ),
    ),
)

_SETTINGS = {
    "gravity": "gravity",
    "time_step": "time step",
    "collision_detector": "collision detector",
    "erp": "ERP",
    "cfm": "CFM",
    "self_collision": "self-collision",
}


def merge(first: SceneLike, *others: SceneLike) -> Scene:
    """Merge the models of all scenes into one; the inputs are not changed.

    The settings of the world come from `first`.  Diagnostics report what was renamed or overridden, after those of
    the inputs.
    """
    scenes = [as_scene(source) for source in (first, *others)]
    merged = Scene(source_info=scenes[0].source_info)
    world = copy_world(scenes[0].world)
    merged.worlds.append(world)
    names = Names(model.name for model in world.models)
    findings = Collector(CATALOGUE, NoSource())
    for number, scene in enumerate(scenes):
        if number:
            added = copy_world(scene.world)
            _compare_settings(world, added, scenes[0], scene, findings)
            _renumber(added, len(merged.documents))
            world.collision_exempt_groups += [
                group for group in added.collision_exempt_groups if group not in world.collision_exempt_groups
            ]
            before = [model.name for model in added.models]
            for model in added.models:
                _add_model(world, model, names, scene, findings)
            renamed = renamed_models(dict(zip(before, [model.name for model in added.models], strict=True)))
            added.map_references(renamed, renamed)
            world.cameras += _with_unique_names(world.cameras, added.cameras)
            world.lights += _with_unique_names(world.lights, added.lights)
            actuators = _with_unique_names(world.actuators, added.actuators)
            keyframes = _with_renamed_actuators(added, [one.name for one in actuators])
            world.keyframes += _with_unique_names(world.keyframes, keyframes)
            tendons = _with_unique_names(world.tendons, added.tendons)
            renamed_tendons = {a.name: b.name for a, b in zip(added.tendons, tendons, strict=True)}
            renamed_actuators = {a.name: b.name for a, b in zip(added.actuators, actuators, strict=True)}
            names_of_targets = {"tendon": renamed_tendons, "actuator": renamed_actuators}
            sensors = [
                structs.replace(one, target=names_of_targets.get(one.target_kind, {}).get(one.target, one.target))
                for one in _with_unique_names(world.sensors, added.sensors)
            ]
            world.sensors += sensors
            world.tendons += tendons
            equalities = [one.with_tendons(renamed_tendons) for one in added.equalities]
            world.equalities += _with_unique_names(world.equalities, equalities)
            world.actuators += [structs.replace(one, tendon=renamed_tendons.get(one.tendon, "")) for one in actuators]
        merged.documents.extend(scene.documents)
        merged.diagnostics.extend(scene.diagnostics)
    merged.diagnostics.extend(findings.diagnostics)
    return merged


ListedValue = TypeVar("ListedValue", SceneCamera, SceneLight, Keyframe, Actuator, Tendon, SceneSensor, Equality)


def _with_unique_names(known: list[ListedValue], added: list[ListedValue]) -> list[ListedValue]:
    names = Names(one.name for one in known)
    found: list[ListedValue] = []
    for one in added:
        name = unique_name(one.name, names) if one.name else ""
        names.add(name)
        found.append(structs.replace(one, name=name))
    return found


def _with_renamed_actuators(world: World, names: list[str]) -> list[Keyframe]:
    """The keyframes of a world with new names of its actuators."""
    renamed = dict(zip([one.name for one in world.actuators], names, strict=True))
    return [
        structs.replace(
            one,
            controls=tuple((renamed.get(name, name), control) for name, control in one.controls),
            activations=tuple((renamed.get(name, name), value) for name, value in one.activations),
        )
        for one in world.keyframes
    ]


def _add_model(world: World, model: Model, names: Names, scene: Scene, findings: Collector) -> None:
    renamed = unique_name(model.name, names)
    if renamed != model.name:
        findings.report("MG001", name=model.name, source=_source_name(scene), renamed=renamed)
        set_field(model, "name", renamed)  # all paths are mapped together
    names.add(renamed)
    world.models.append(model)


def _compare_settings(world: World, other: World, first: Scene, scene: Scene, findings: Collector) -> None:
    for field, setting in _SETTINGS.items():
        mine, theirs = getattr(world, field), getattr(other, field)
        if field == "collision_detector" and not (mine and theirs):
            continue
        if field == "self_collision" and not (world.self_collision_matters or other.self_collision_matters):
            continue
        if mine != theirs:
            findings.report(
                "MG002",
                setting=setting,
                first=mine,
                source=_source_name(first),
                other=theirs,
                other_source=_source_name(scene),
            )


def _source_name(scene: Scene) -> str:
    return scene.source.name if scene.source else "a scene"


def _renumber(world: World, shift: int) -> None:
    """Increase the document numbers of all items by `shift`."""
    if shift:
        for item in world_items(world):
            if item.document >= 0:
                item.document += shift


def world_items(world: World) -> Iterator[Item]:
    """A world with all items that it contains, degrees of freedom included."""
    yield world
    for model in world.models:
        yield model
        yield from items_of(model.bodies, model.joints)
