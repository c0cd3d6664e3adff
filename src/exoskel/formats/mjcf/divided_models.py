"""Models whose trees of bodies were connected by constraints that an edited scene does not have any more.

A document does not state which trees of bodies are one model.  The names of their first bodies have to tell then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from exoskel.formats.mjcf.added_names import AddedNames
from exoskel.formats.saving.changes import Changes
from exoskel.scene.body import Body
from exoskel.scene.equality import known_equalities
from exoskel.scene.item import Item, qualified_name
from exoskel.scene.model import Model
from exoskel.scene.world import World


class _BodyNames(Protocol):
    """What names elements of a document."""

    names: AddedNames
    new: set[int]
    sources: dict[int, Item]

    def body_node(self, body: object) -> int: ...
    def file_name(self, kind: str, item: Item, node: int) -> str: ...


def name_divided(inserter: _BodyNames, models: Iterable[tuple[Model, list[Body]]]) -> None:
    """Give the first bodies of the trees of models names that tell which model they belong to."""
    for model, bodies in models:
        for body in bodies:
            if id(body) not in inserter.new:
                node = inserter.body_node(body) if id(body) in inserter.sources else body.node
                name = inserter.file_name("body", body, node)
                inserter.names.qualify_root(name, qualified_name(model.name, body.name))


def divided_models(base: World, world: World, changes: Changes) -> Iterator[tuple[Model, list[Body]]]:
    """The models of a world that need other names to stay what they are, with the first bodies of their trees.

    Their trees were connected in `base`, which was read from the document.  A model has the name of its first tree: if
    that was removed, it is among the bodies, too.
    """
    for model in world.models:
        source = changes.sources.get(id(model))
        if not isinstance(source, Model) or model.static or not (trees := _trees(model)):
            continue
        kept = [changes.sources.get(id(body)) for body in trees]
        others = [body for body in _trees(source) if not any(body is one for one in kept)]
        if _count_parts(world, model) > 1 == _count_parts(base, source):
            yield model, trees
        elif others and others[0] is _trees(source)[0]:
            yield model, [*trees, *others]


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
