"""Models whose trees of bodies were connected by constraints that an edited scene does not have any more.

A document does not state which trees of bodies are one model, and what its name is.  The names of their first bodies
have to tell then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from exoskel.formats.mjcf.added_names import AddedNames
from exoskel.formats.mjcf.document_references import renamed_references
from exoskel.formats.mjcf.shape_edits import CannotEditError
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.formats.saving.changes import Changes
from exoskel.scene.body import Body
from exoskel.scene.equality import known_equalities
from exoskel.scene.item import Item, qualified_name
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.source.document import Document


class _BodyNames(Protocol):
    """What names elements of a document."""

    document: Document
    names: AddedNames
    tree: list[MjcfElement]
    values: dict[tuple[int, str], str]
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
                name = _rename(inserter, body, node, inserter.file_name("body", body, node))
                if inserter.names.stated is not None or name != model.name or len(bodies) > 1:
                    inserter.names.qualify_root(name, qualified_name(model.name, body.name))


def _rename(inserter: _BodyNames, body: Body, node: int, name: str) -> str:
    """Rename the element of an edited body and all references to it; returns its name."""
    source = inserter.sources.get(id(body), body)
    assert isinstance(source, Body)
    if source.name in (body.name, "") or name != source.name or set("~&<>\"'/ ") & set(body.name):
        return name
    if not inserter.names.is_free("body", body.name):
        raise CannotEditError
    inserter.values[node, "name"] = inserter.tree[node].attributes["name"] = body.name
    for user, attribute, value in renamed_references(inserter.document, "body", name, body.name):
        inserter.values[user, attribute] = value
    return body.name


def divided_models(base: World, world: World, changes: Changes) -> Iterator[tuple[Model, list[Body]]]:
    """The models of a world that need other names to stay what they are, or got a name, with the first bodies of trees.

    Their trees were connected in `base`, which was read from the document.  A model has the name of its first tree: if
    that was removed, it is among the bodies, too.
    """
    for model in world.models:
        source = changes.sources.get(id(model))
        if not isinstance(source, Model) or model.static or not (trees := _trees(model)):
            continue
        kept = [changes.sources.get(id(body)) for body in trees]
        first = changes.sources.get(id(trees[0]))
        is_renamed = isinstance(first, Body) and first.name != trees[0].name and any(map(len, _referring(world)))
        if isinstance(first, Body) and (source.name != model.name or is_renamed):
            yield model, trees
            continue
        others = [body for body in _trees(source) if not any(body is one for one in kept)]
        if _count_parts(world, model) > 1 == _count_parts(base, source):
            yield model, trees
        elif others and others[0] is _trees(source)[0]:
            yield model, [*trees, *others]


def _referring(world: World) -> Iterator[Sequence[object]]:
    """What states the names of models, in paths."""
    yield from (world.actuators, world.sensors, world.tendons, world.equalities)
    yield from (world.cameras, world.lights, world.keyframes)


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
