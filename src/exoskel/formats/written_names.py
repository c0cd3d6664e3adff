"""The names of links, joints and frames in a document that is written, by the names in its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from msgspec import Struct

from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.output_context import InnerModel

ElementOwner = Item | InnerModel | None
"""What contains an element: an item, a model of the source that is a part of one, or the document."""

_SEPARATOR = "::"


class _ModelPath(Struct, frozen=True):
    """The model of the scene that an item is part of, and the path from there to the model of its document."""

    model: Model
    path: str = ""


class WrittenNames:
    """The names of links and joints in the output, by how the documents of a scene refer to them.

    A scene has no models in models: the names of their links and joints begin with the path of the model.
    """

    def __init__(
        self, scene: Scene, elements: Mapping[int, Markup], frames: Mapping[tuple[int, str], str | None] | None = None
    ) -> None:
        self.scene = scene
        self.elements = elements
        self.frames = {} if frames is None else frames

    @cached_property
    def _places(self) -> dict[int, _ModelPath]:
        """The places of models, links, shapes and joints, by id."""
        found: dict[int, _ModelPath] = {}
        for model in self._models():
            found[id(model)] = _ModelPath(model)
            for body in model.bodies:
                place = found[id(body)] = _ModelPath(model, self._path(body))
                found.update((id(shape), place) for shape in body.shapes)
            found.update((id(joint), _ModelPath(model, self._path(joint))) for joint in model.joints)
        return found

    @cached_property
    def _paths(self) -> dict[tuple[int, str], str | None]:
        """The names in the output by the ids of models and the names in the scene."""
        return {(id(model), item.name): self._name_of(item) for model in self._models() for item in _members(model)}

    @cached_property
    def _stated(self) -> dict[tuple[int, str, int, str], str | None]:
        """The names in the output by those in the documents, in each model that a document is a part of.

        A name is None if it may mean several things: a file may be merged into a model more than once.
        """
        found: dict[tuple[int, str, int, str], str | None] = {}
        nodes: dict[tuple[int, str, int, str], int] = {}
        for model in self._models():
            for item in _members(model):
                place = self._places[id(item)]
                key = (id(model), place.path, item.document, self._stated_name(item))
                found[key] = None if nodes.get(key) == item.node else self._name_of(item)
                nodes[key] = item.node
        return found

    def _models(self) -> Iterator[Model]:
        for world in self.scene.worlds:
            yield from world.models

    def _name_of(self, item: Body | Joint) -> str | None:
        element = self.elements.get(id(item))
        return None if element is None else element.attributes.get("name")

    def _stated_name(self, item: Body | Joint) -> str:
        document = self.scene.documents[item.document] if item.document >= 0 else None
        return document.attribute_text(item.node, "name") if isinstance(document, Document) else item.name

    def _path(self, item: Body | Joint) -> str:
        """The path of the model that contains a link or joint; its own name may be edited, or contain `::`."""
        parts = item.name.split(_SEPARATOR)
        own = self._stated_name(item).count(_SEPARATOR) + 1
        return "".join(f"{part}{_SEPARATOR}" for part in parts[:-own])

    def find_path(self, name: str, item: ElementOwner) -> str | None:
        """The name in the output of a link or joint by its path from the model around an item."""
        place = self.place(item)
        return name if place is None else self._paths.get((id(place.model), place.path + name), name)

    def place(self, item: ElementOwner) -> _ModelPath | None:
        return _ModelPath(item.model, item.prefix) if isinstance(item, InnerModel) else self._places.get(id(item))

    def find_stated(self, name: str, place: _ModelPath, document: int) -> str | None:
        """The name in the output of what a document calls so; None if it is not written; the name if it is unknown."""
        key = (id(place.model), place.path, document, name)
        if key in self._stated:
            return self._stated[key]
        return self._paths.get((id(place.model), place.path + name), name)

    def find_frame(self, name: str, item: ElementOwner, document: int) -> str | None:
        """The name in the output of what an item of a document calls so: a frame, link or joint; None if unknown.

        A world refers to its models and to what is in them, too.
        """
        if isinstance(item, World):
            return self._find_in_world(name, item, document)
        place = self.place(item)
        if place is None:
            return None
        if name == _MODEL_FRAME:
            return name if not place.path and place.model.document == document else None
        key = (id(place.model), place.path + name)
        if key in self.frames:
            return self.frames[key]
        return self.find_stated(name, place, document) if self.is_known(name, place, document) else None

    def _find_in_world(self, name: str, world: World, document: int) -> str | None:
        if name == _WORLD_FRAME or (id(world), name) in self.frames:
            return self.frames.get((id(world), name), name)
        for model in world.models:
            element = self.elements.get(id(model))
            own = "" if element is None else element.attributes.get("name", "")
            if name == model.name:
                return own or None
            inside = name.removeprefix(f"{model.name}{_SEPARATOR}")
            if own and inside != name:
                found = self.find_frame(inside, model, model.document)
                return None if found is None else f"{own}{_SEPARATOR}{found}"
        return None

    def is_known(self, name: str, place: _ModelPath, document: int) -> bool:
        is_stated = (id(place.model), place.path, document, name) in self._stated
        return is_stated or (id(place.model), place.path + name) in self._paths


class IncludedNames:
    """The names in the output of what an included file calls by other names."""

    def __init__(self, written: WrittenNames, document: Document, number: int) -> None:
        self.written = written
        self.document = document
        self.number = number

    @cached_property
    def _members(self) -> frozenset[str]:
        """The names of all links and joints in the file, whether or not they are read."""
        tags, parents = self.document.outline.tags, self.document.outline.parents
        nodes = (node for node, tag in enumerate(tags) if tag in _MEMBERS and tags[parents[node]] == "model")
        return frozenset(self.document.attribute_text(node, "name") for node in nodes)

    def find(self, name: str, item: ElementOwner) -> str | None:
        """The name of a link or joint in the output; None if it is not written."""
        place = self.written.place(item)
        if place is None:
            return name
        if self.written.is_known(name, place, self.number):
            return self.written.find_stated(name, place, self.number)
        return None if name in self._members else name

    def find_frame(self, name: str, item: ElementOwner) -> str | None:
        """The name of a frame in the output: a frame, link or joint; None if it is not written."""
        return self.written.find_frame(name, item, self.number)


_MODEL_FRAME, _WORLD_FRAME = "__model__", "world"
_MEMBERS = ("link", "joint")


def _members(model: Model) -> Iterator[Body | Joint]:
    """The links and joints that a document states."""
    yield from model.bodies
    yield from (joint for joint in model.joints if not joint.implicit)
