"""Which worlds and models of a scene are converted."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from exoskel.diagnostics import ExoskelError
from exoskel.formats.interface import Format
from exoskel.scene.edit_tracking import TrackedList, no_edits
from exoskel.scene.fields import iter_items
from exoskel.scene.item import NameIndex
from exoskel.scene.world import Model, Scene, World

NOT_CHOSEN = "this model was not chosen"

_ONE_WORLD = ("skel", "mjcf", "urdf")
"""Formats whose documents hold one world, or less."""


def of_world(scene: Scene, name: str | None, format: Format) -> Scene:
    """The scene with only the world that is asked for."""
    if name is None:
        if format.name in _ONE_WORLD and len(scene.worlds) > 1:
            names = ", ".join(repr(world.name) for world in scene.worlds)
            raise ExoskelError(
                f"{format.label} holds one world, and the scene has {len(scene.worlds)}; "
                f"choose one of {names} with --world (world=)"
            )
        return scene
    found = [world for world in scene.worlds if world.name == name]
    if not found:
        names = ", ".join(repr(world.name) for world in scene.worlds)
        raise ExoskelError(f"there is no world called {name!r}; there is {names}")
    return with_worlds(scene, [found[0]])


def with_worlds(scene: Scene, worlds: list[World]) -> Scene:
    """The scene with other worlds in the place of its own."""
    return Scene(worlds, scene.diagnostics, scene.documents, scene.reading, scene.extensions)


def named_model(scene: Scene, name: str) -> Model:
    """The model of that name in the scene's only world."""
    if len(scene.worlds) != 1:
        raise ExoskelError("one model can be chosen out of one world; choose that first: --world (world=)")
    return scene.world.model(name)


def of_model(scene: Scene, model: Model) -> Scene:
    """The scene with only that model in its only world."""
    return with_worlds(scene, [with_models(scene.world, [model])])


def with_models(world: World, models: Sequence[Model]) -> World:
    """The world with these models, which it shares with others."""
    with no_edits():  # choosing is none
        made = copy(world)
        made._index = NameIndex()
        made.models = TrackedList(models)
    return made


def left_out(whole: Scene, chosen: Scene) -> set[int]:
    """The elements that are, or are in, models that were not chosen."""
    kept = {id(model) for world in chosen.worlds for model in world.models}
    worlds = {world.name for world in chosen.worlds}
    others: list[Model] = [m for w in whole.worlds if w.name in worlds for m in w.models if id(m) not in kept]
    own = {item.node for item, _, _ in iter_items(chosen)}
    found = {item.node for model in others for item in (model, *model.bodies, *model.joints) if item.document == 0}
    return found - own
