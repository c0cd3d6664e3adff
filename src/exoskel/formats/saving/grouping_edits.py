"""The row that tells how bodies are grouped into models, brought in line with an edited scene."""

from __future__ import annotations

from collections.abc import Callable

from exoskel.formats.model_grouping import Row, is_native, row_of
from exoskel.formats.saving.changes import Changes
from exoskel.formats.saving.embedded_edits import our_elements, remove_ours
from exoskel.scene.body import Body
from exoskel.scene.fields import relative_difference
from exoskel.scene.json_codec import encode_json
from exoskel.scene.world import Model, Scene, World
from exoskel.source.document import Document
from exoskel.source.embedded_data import EXTENSION
from exoskel.source.markup import Markup
from exoskel.source.splice import Patch

_FORMAT = "xode"
"""The only format whose models have no element of their own."""

NameInFile = Callable[[Body], "str | None"]


class GroupingEditor:
    """Writes the rows of a document anew where they do not tell what the scene does.

    `native` is the document without anything carried, `named` gives the name that a body of the scene has in it.
    """

    def __init__(self, document: Document, native: Scene, changes: Changes, named: NameInFile) -> None:
        self.patch = Patch(document)
        self.elements = self.patch.elements
        self.native = native
        self.changes = changes
        self.named = named

    def regroup(self, scene: Scene) -> bytes | None:
        """The document with other rows; None if there is nothing to change, or bodies cannot be told apart."""
        if len(scene.worlds) != len(self.native.worlds):
            return None
        for world, other in zip(scene.worlds, self.native.worlds, strict=True):
            rows = self._rows(world, other)
            if rows is None:
                return None
            self._put(other.node, rows)
        return self.patch.apply() if self.patch else None

    def _rows(self, world: World, other: World) -> list[Row] | None:
        """The rows of a world; none at all where the file groups its bodies in the same way by itself."""
        bodies = self._counterparts(world, other)
        holders = {id(body): model for model in other.models for body in model.bodies}
        rows: list[Row] = []
        same = len(world.models) == len(other.models)
        for place, model in enumerate(world.models):
            if self._has_no_element(model):
                continue
            members = [bodies[id(body)] for body in model.bodies if id(body) in bodies]
            if len(members) != len(model.bodies):
                return None
            name = self._name(model, members, holders[id(members[0])]) if members else model.name
            rows.append(row_of(model, name, place, [body.name for body in members]))
            same = same and bool(members) and _is_grouped(model, name, members, other.models[place])
        return [] if same else rows

    def _counterparts(self, world: World, other: World) -> dict[int, Body]:
        """The bodies of the file, by the ids of those of the scene: in the order of the file among namesakes."""
        waiting: dict[str | None, list[Body]] = {}
        for body in sorted(other.bodies(), key=lambda body: body.node):
            if body.node >= 0:
                waiting.setdefault(self.elements.attribute(body.node, "name"), []).append(body)
        found: dict[int, Body] = {}
        for body in sorted(world.bodies(), key=self._order):
            same = waiting.get(self.named(body))
            if same:
                found[id(body)] = same.pop(0)
        return found

    def _order(self, body: Body) -> float:
        source = self.changes.sources.get(id(body))
        return float("inf") if source is None else source.node

    def _has_no_element(self, model: Model) -> bool:
        """What stands still in XODE is a model by itself, always."""
        source = self.changes.sources.get(id(model))
        return source is not None and source.document < 0

    def _name(self, model: Model, members: list[Body], holder: Model) -> str:
        """The name of a model; one that nobody has given goes with the first body, as long as all are one model."""
        source = self.changes.sources.get(id(model))
        unnamed = isinstance(source, Model) and is_native(source) and source.name == model.name
        whole = {id(body) for body in members} == {id(body) for body in holder.bodies}
        return holder.name if unnamed and whole else model.name

    def _put(self, node: int, rows: list[Row]) -> None:
        ours = our_elements(self.elements, node, _FORMAT)
        present = [one for one in ours if self.elements.tag(one) == "models"]
        if not rows:
            remove_ours(self.patch, node, present, _FORMAT)
        elif present:
            self.patch.set_text(present[0], encode_json(rows))
        else:
            self._insert(node, Markup("models", {}, encode_json(rows)), ours)

    def _insert(self, node: int, element: Markup, ours: list[int]) -> None:
        if ours:
            home = self.patch.document.outline.parents[ours[-1]]
            self.patch.insert(home, element, ours[-1])
            return
        after = -1
        for child in self.elements.children(node):
            if self.elements.tag(child) == "space":
                break
            after = child
        self.patch.insert(node, Markup("ext", {"ename": EXTENSION}, children=[element]), after)


def _is_grouped(model: Model, name: str, members: list[Body], other: Model) -> bool:
    return (
        name == other.name
        and model.static == other.static
        and relative_difference(model.pose, other.pose) == 0.0
        and len(members) == len(other.bodies)
        and all(mine is theirs for mine, theirs in zip(members, other.bodies, strict=True))
    )
