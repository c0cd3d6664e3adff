"""Models whose trees of bodies were connected by constraints that an edited scene does not have any more.

A document does not state which trees of bodies are one model.  The names of their first bodies have to tell then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from exoskel.formats.saving.changes import Changes
from exoskel.scene.body import Body
from exoskel.scene.equality import known_equalities
from exoskel.scene.item import qualified_name
from exoskel.scene.model import Model
from exoskel.scene.world import World


def divided_models(base: World, world: World, changes: Changes) -> Iterator[tuple[Model, list[Body]]]:
    """The models of a world that need other names to stay what they are, with the first bodies of their trees.

    Their trees were connected in `base`, which was read from the document.
    """
    for model in world.models:
        source = changes.sources.get(id(model))
        if not isinstance(source, Model) or model.static or not (trees := _trees(model)):
            continue
        if _count_parts(world, model) > 1 == _count_parts(base, source):
            yield model, trees


def _trees(model: Model) -> list[Body]:
    return [joint.child for joint in model.joints if joint.parent is None and not joint.loop]


def _count_parts(world: World, model: Model) -> int:
    """The number of parts of a model that neither joints nor constraints connect."""
    leader = {id(body): id(body) for body in model.bodies}

    def find(body: int) -> int:
        while leader[body] != body:
            body = leader[body]
        return body

    for one, other in _connected(world, model):
        if id(one) in leader and id(other) in leader:
            leader[find(id(one))] = find(id(other))
    return len({find(body) for body in leader})


def _connected(world: World, model: Model) -> Iterator[tuple[Body, Body]]:
    yield from ((joint.child, joint.parent) for joint in model.joints if joint.parent is not None)
    bodies = {qualified_name(model.name, body.name): body for body in model.bodies}
    for one in known_equalities(world.equalities, world.models, world.tendons):
        if one.kind in ("connect", "weld"):
            ends = list(_ends(bodies, (one.target, one.other)))
            yield from [(ends[0], ends[1])] if len(ends) > 1 else []


def _ends(bodies: dict[str, Body], paths: Iterable[str]) -> Iterator[Body]:
    """The bodies that the ends of a constraint are, or that have the markers that they are."""
    for path in paths:
        body = bodies.get(path) or bodies.get(path.rpartition("/")[0])
        if body is not None:
            yield body
