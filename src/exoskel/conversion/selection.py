"""The worlds and models of a scene that are converted, and the files for one document per model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import Format
from exoskel.scene.cameras_and_keyframes import View, view_part
from exoskel.scene.fields import iter_items
from exoskel.scene.item import Item, Names, unique_name
from exoskel.scene.merge import with_models
from exoskel.scene.model import Model
from exoskel.scene.sensor import sensor_part
from exoskel.scene.world import Scene, World
from exoskel.source.output_context import Target

MODEL_NOT_SELECTED = Verdict(Fate.DROPPED, "this model was not selected", unselected="model")
WORLD_NOT_SELECTED = Verdict(Fate.DROPPED, "this world was not selected", unselected="world")

_INVALID_IN_FILE_NAMES = re.compile(r"[^\w.+-]+")


def select_world(
    scene: Scene, name: str | None, format: Format, target: Target = "portable", *, split: bool = False
) -> Scene:
    """The scene with only the named world; None: all worlds, if the format holds several and the target reads them.

    With `split`, files contain one model each, so that there must be one world.
    """
    names = ", ".join(repr(world.name) for world in scene.worlds)
    if name is None:
        needs_one = format.holds_one_world or target in format.one_world_targets
        if (needs_one or split) and len(scene.worlds) > 1:
            reader = "" if format.holds_one_world else f" for {target!r}"
            limit = "--split (split=) writes the models of" if split else f"{format.label} files{reader} contain"
            raise ExoskelError(
                f"{limit} one world, but the scene has {len(scene.worlds)}; choose one of {names} with --world (world=)"
            )
        return scene
    found = [world for world in scene.worlds if world.name == name]
    if not found:
        raise ExoskelError(f"unknown world {name!r}; choose one of {names}")
    return with_worlds(scene, [found[0]])


def with_worlds(scene: Scene, worlds: list[World]) -> Scene:
    """The scene with these worlds in place of its own."""
    return Scene(worlds, scene.diagnostics, scene.documents, scene.source_info, scene.extensions, options=scene.options)


def find_model(scene: Scene, name: str) -> Model:
    """The model of that name in the scene's only world."""
    if len(scene.worlds) != 1:
        raise ExoskelError("the scene has several worlds; choose one first with --world (world=)")
    return scene.world.model(name)


def select_model(scene: Scene, model: Model) -> Scene:
    """The scene with only that model in its only world."""
    return with_worlds(scene, [with_models(scene.world, [model])])


class Unselected(Struct, frozen=True):
    """The names of the worlds, and of the models in the selected worlds, that were not selected."""

    worlds: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


def find_unselected(whole: Scene, selected: Scene) -> Unselected:
    """Compare a scene with the selection from it."""
    worlds = {world.name for world in selected.worlds}
    return Unselected(
        tuple(world.name for world in whole.worlds if world.name not in worlds),
        tuple(model.name for model in _unselected_models(whole, selected)),
    )


def _unselected_models(whole: Scene, selected: Scene) -> list[Model]:
    wanted = {id(model) for world in selected.worlds for model in world.models}
    worlds = {world.name for world in selected.worlds}
    return [m for w in whole.worlds if w.name in worlds for m in w.models if id(m) not in wanted]


def unselected_nodes(whole: Scene, selected: Scene) -> set[int]:
    """The elements of models, of what is in them, and of what only they use, that were not selected."""
    others = _unselected_models(whole, selected)
    if not others:
        return set()
    own = {item.node for item, _, _ in iter_items(selected)}
    found = {item.node for model in others for item in _parts(model) if item.document == 0}
    found |= _unselected_views(whole, selected)
    found -= own
    return found | {node for node, users in whole.source_info.users.items() if users and found.issuperset(users)}


def _parts(model: Model) -> Iterator[Item]:
    """A model and everything in it."""
    yield from (model, *model.bodies, *model.joints)
    for body in model.bodies:
        yield from (*body.shapes, *body.markers)


def _unselected_views(whole: Scene, selected: Scene) -> set[int]:
    """The elements of cameras, lights and sensors of the selected worlds that were not selected with them."""
    names = {world.name for world in selected.worlds}
    lost = _named_parts([world for world in whole.worlds if world.name in names]) - _named_parts(selected.worlds)
    info = whole.source_info
    stated = {key: [view_part(one) for one in views] for key, views in info.views.items()}
    for key, sources in info.sensors.items():
        stated.setdefault(key, []).extend(sensor_part(name) for one in sources for name, *_ in one.sensors)
    return {node for (document, node), parts in stated.items() if document == 0 and parts and lost.issuperset(parts)}


def _named_parts(worlds: Iterable[World]) -> set[str]:
    """The names of cameras, lights and sensors, as losses name them."""
    found: set[str] = set()
    for world in worlds:
        views: list[View] = [*world.cameras, *world.lights]
        found |= set(map(view_part, views))
        found |= {sensor_part(one.name) for one in world.sensors}
    return found


def file_names(models: Sequence[str], extension: str) -> list[str]:
    """A unique file name for each model, valid on any system, also where upper and lower case are the same."""
    taken = Names()
    made: list[str] = []
    for model in models:
        name = _INVALID_IN_FILE_NAMES.sub("_", model).strip("._") or "model"
        unique = unique_name(name.casefold(), taken)
        taken.add(unique)
        made.append(name + unique.removeprefix(name.casefold()) + extension)
    return made
