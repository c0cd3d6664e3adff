"""Updates the embedded rows that group bodies into models after an edit."""

from __future__ import annotations

from collections.abc import Callable

from exoskel.formats.embedded_writer import GroupingRow, grouping_row, has_native_grouping
from exoskel.formats.saving.changes import Changes
from exoskel.scene.body import Body
from exoskel.scene.fields import relative_difference
from exoskel.scene.json_codec import encode_json
from exoskel.scene.world import Model, Scene, World
from exoskel.source.document import Document
from exoskel.source.embedded_format import EmbeddedDataFormat
from exoskel.source.markup import Markup
from exoskel.source.splice import Patch

NameInFile = Callable[[Body], "str | None"]


class GroupingEditor:
    """Rewrites the rows of a document where they do not match the scene.

    `native` is the scene read from the document without its embedded data, `name_in_file` gives the name that a body
    of the scene has in the document.
    """

    def __init__(
        self,
        embedding: EmbeddedDataFormat,
        document: Document,
        native: Scene,
        changes: Changes,
        name_in_file: NameInFile,
    ) -> None:
        self.embedding = embedding
        self.patch = Patch(document)
        self.elements = self.patch.elements
        self.native = native
        self.changes = changes
        self.name_in_file = name_in_file

    def regroup(self, scene: Scene) -> bytes | None:
        """The document with new rows; None if nothing changes, or bodies cannot be identified."""
        if len(scene.worlds) != len(self.native.worlds):
            return None
        for world, other in zip(scene.worlds, self.native.worlds, strict=True):
            rows = self._rows(world, other)
            if rows is None:
                return None
            self._set_rows(other.node, rows)
        return self.patch.apply() if self.patch else None

    def _rows(self, world: World, other: World) -> list[GroupingRow] | None:
        """The rows of a world; an empty list where the native document groups the bodies in the same way."""
        bodies = self._counterparts(world, other)
        models = {id(body): model for model in other.models for body in model.bodies}
        rows: list[GroupingRow] = []
        is_same = len(world.models) == len(other.models)
        for index, model in enumerate(world.models):
            if self._has_no_element(model):
                continue
            members = [bodies[id(body)] for body in model.bodies if id(body) in bodies]
            if len(members) != len(model.bodies):
                return None
            name = self._name(model, members, models[id(members[0])]) if members else model.name
            rows.append(grouping_row(model, name, index, [body.name for body in members]))
            is_same = is_same and bool(members) and _is_grouped(model, name, members, other.models[index])
        return [] if is_same else rows

    def _counterparts(self, world: World, other: World) -> dict[int, Body]:
        """The bodies of the document by the ids of those of the scene.  Equal names are matched in document order."""
        waiting: dict[str | None, list[Body]] = {}
        for body in sorted(other.bodies(), key=lambda body: body.node):
            if body.node >= 0:
                waiting.setdefault(self.elements.attribute(body.node, "name"), []).append(body)
        found: dict[int, Body] = {}
        for body in sorted(world.bodies(), key=self._document_order):
            same = waiting.get(self.name_in_file(body))
            if same:
                found[id(body)] = same.pop(0)
        return found

    def _document_order(self, body: Body) -> float:
        source = self.changes.sources.get(id(body))
        return float("inf") if source is None else source.node

    def _has_no_element(self, model: Model) -> bool:
        """Whether a model is the environment: static geoms always form a model of their own."""
        source = self.changes.sources.get(id(model))
        return source is not None and source.document < 0

    def _name(self, model: Model, members: list[Body], native: Model) -> str:
        """The name of a model.  A default name follows the first body if the native model has the same bodies."""
        source = self.changes.sources.get(id(model))
        has_default_name = isinstance(source, Model) and has_native_grouping(source) and source.name == model.name
        is_whole = {id(body) for body in members} == {id(body) for body in native.bodies}
        return native.name if has_default_name and is_whole else model.name

    def _set_rows(self, node: int, rows: list[GroupingRow]) -> None:
        present = [
            element
            for element in self.embedding.elements_in(self.elements, node)
            if self.elements.tag(element) == "models"
        ]
        if not rows:
            self.embedding.remove(self.patch, node, present)
        elif present:
            self.patch.set_text(present[0], encode_json(rows))
        else:
            self.embedding.insert(self.patch, node, [Markup("models", {}, encode_json(rows))], self._before_space(node))

    def _before_space(self, node: int) -> int:
        """The child of a world in front of its first space, or -1."""
        after = -1
        for child in self.elements.children(node):
            if self.elements.tag(child) == "space":
                break
            after = child
        return after


def _is_grouped(model: Model, name: str, members: list[Body], other: Model) -> bool:
    return (
        name == other.name
        and model.static == other.static
        and relative_difference(model.pose, other.pose) == 0.0
        and len(members) == len(other.bodies)
        and all(mine is theirs for mine, theirs in zip(members, other.bodies, strict=True))
    )
