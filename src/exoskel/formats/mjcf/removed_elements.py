"""The elements of a document that are removed with items of a scene, and those that refer to them."""

from __future__ import annotations

from exoskel.formats.mjcf.dependent_elements import find_definitions
from exoskel.formats.mjcf.document_references import find_dependents
from exoskel.formats.mjcf.keyframe_edits import StateEditError, import_base
from exoskel.formats.mjcf.shape_edits import CannotEditError
from exoskel.formats.mjcf.world_list_edits import LISTS, removed_elements
from exoskel.formats.saving.changes import Changes, changed_fields
from exoskel.scene.body import Body, Marker
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document


class RemovedElements:
    """Finds what the removed items of a scene are in its document.

    `base` is the scene that was read from the document, `changes` are the differences since.
    """

    def __init__(self, document: Document, base: Scene, changes: Changes) -> None:
        self.document = document
        self.tags = document.outline.tags
        self.base = base
        self.changes = changes

    def find(self) -> tuple[set[int], set[int]]:
        """The removed elements, and those that refer to them.  Raises CannotEditError."""
        items = self.changes.removed
        gone = {id(one) for item in items for one in (item.bodies if isinstance(item, Model) else [item])}
        nodes: set[int] = set()
        for item in items:
            parts = self._removed_parts(item)
            if any(not isinstance(one, Body | Shape | Marker) or one.node <= 0 or one.document != 0 for one in parts):
                if isinstance(item, Joint) and item.implicit:
                    continue
                if isinstance(item, Joint) and not {id(item.child), id(item.parent)}.isdisjoint(gone):
                    continue  # in the element of a removed body, or a constraint that refers to it
                if isinstance(item, Joint) and self._is_within(item.node, items):
                    continue
                if not self._is_equality(item):
                    raise CannotEditError
            nodes |= {one.node for one in parts}
        if not items:  # those that refer to removed bodies are found in the document
            nodes |= self._removed_from_lists()
        nodes |= self._removed_keyframes()
        if not nodes:
            return set(), set()
        found = find_dependents(self.document, nodes, self._names_of_copies(nodes))
        if found is None:
            raise CannotEditError
        if self.changes.is_selection:
            ends = self.document.outline.ends
            lost = {inner for node in nodes | found for inner in range(node, ends[node])}
            nodes |= find_definitions(self.document, lost)
        return nodes, found

    def _removed_parts(self, item: Item) -> list[Item]:
        """The removed items that have elements of their own: of the body of the world, what is in it."""
        bodies = item.bodies if isinstance(item, Model) else [item]
        found: list[Item] = []
        for one in bodies:
            if isinstance(one, Body) and one.document == 0 and (one.node < 0 or self.tags[one.node] == "worldbody"):
                found += [*one.shapes, *one.markers]
            else:
                found.append(one)
        return found

    def _names_of_copies(self, nodes: set[int]) -> set[tuple[str, str]]:
        """The names of removed items whose elements are copied; all copies of an element must be removed together."""
        ends = self.document.outline.ends
        copied = [node for node, tag in enumerate(self.tags) if tag == "replicate"]
        inside = {inner for node in copied for inner in range(node, ends[node])}
        lost = {inner for node in nodes for inner in range(node, ends[node])} & inside
        if not lost:
            return set()
        removed = {id(one) for item in self.changes.removed for one in _with_parts(item)}
        names: set[tuple[str, str]] = set()
        for model in self.base.world.models:
            for one in (part for body in model.bodies for part in _with_parts(body)):
                if one.node in lost and id(one) not in removed:
                    raise CannotEditError
                if one.node in lost:
                    names.add((_TAGS[type(one)], str(getattr(one, "name", ""))))
        return names

    def _is_equality(self, item: Item) -> bool:
        """Whether an item is a constraint that closes a loop."""
        if not isinstance(item, Joint) or item.node <= 0 or item.document != 0:
            return False
        return self.tags[self.document.outline.parents[item.node]] == "equality"

    def _removed_from_lists(self) -> set[int]:
        """The elements of actuators, tendons, sensors, cameras and lights that were removed."""
        nodes: set[int] = set()
        for source, item in self.changes.edited:
            if not isinstance(source, World) or not isinstance(item, World):
                continue
            for name in LISTS & {*changed_fields(source, item)}:
                found = removed_elements(self.document, name, source, item)
                nodes |= self._unnamed_elements(name, source, item) if found is None else found
        return nodes

    def _unnamed_elements(self, field: str, source: World, world: World) -> set[int]:
        """The elements of removed actuators, some of which have no name in the document."""
        try:
            compiled = import_base(self.base).compiled
        except StateEditError as problem:
            raise CannotEditError from problem
        if field != "actuators" or compiled is None or len(compiled.control_slices) != len(source.actuators):
            raise CannotEditError
        kept = {one.name for one in world.actuators}
        gone = [number for number, one in enumerate(source.actuators) if one.name not in kept]
        return {compiled.actuators.node(number) for number in gone}

    def _removed_keyframes(self) -> set[int]:
        """The elements of keyframes that were removed.

        Raises CannotEditError if they have states of actuators that are no part of the scene.
        """
        found: set[int] = set()
        parents = self.document.outline.parents
        count = sum(parents[node] > 0 and self.tags[parents[node]] == "actuator" for node in range(len(self.tags)))
        for source, item in self.changes.edited:
            if isinstance(source, World) and isinstance(item, World):
                names = {one.name for one in source.keyframes} - {one.name for one in item.keyframes} - {""}
                keys = (node for node, tag in enumerate(self.tags) if tag == "key")
                found |= {node for node in keys if self.document.attribute_text(node, "name") in names}
                if found and count != len(source.actuators):
                    raise CannotEditError
        return found

    def _is_within(self, node: int, items: list[Item]) -> bool:
        """Whether an element is inside that of a removed body."""
        ends = self.document.outline.ends
        parts = (one for item in items for one in (item.bodies if isinstance(item, Model) else [item]))
        return any(one.node <= node < ends[one.node] for one in parts if isinstance(one, Body))


def _with_parts(item: Item) -> list[Item]:
    """A removed item, and the bodies, shapes and markers in it."""
    bodies = item.bodies if isinstance(item, Model) else [item]
    inside = [part for one in bodies if isinstance(one, Body) for part in (*one.shapes, *one.markers)]
    return [*bodies, *inside]


_TAGS: dict[type[Item], str] = {Body: "body", Shape: "geom", Marker: "site", Joint: "joint"}
