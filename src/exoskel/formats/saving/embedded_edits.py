"""What a format has no words for, carried along in a document that is being edited."""

from __future__ import annotations

from collections.abc import Collection

from exoskel.formats.interface import Format
from exoskel.formats.saving.verification import Match
from exoskel.scene.body import Body
from exoskel.scene.fields import Difference, comparable_value, iter_items, relative_difference
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.json_codec import field_value, fingerprint, name_in_file
from exoskel.scene.world import Model, Scene
from exoskel.source.document import Document
from exoskel.source.element_context import Elements
from exoskel.source.embedded_data import EXTENSION, NAMESPACE, PLACING, PREFIX
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext
from exoskel.source.splice import Patch

_TIES = ("child", "parent", "loop")
"""What makes a joint the joint it is; one that comes back with others is another one."""
CARRIABLE = ("visuals", "collisions", "markers", "joints")


def our_elements(elements: Elements, node: int, format: str) -> list[int]:
    """The elements of ours in an element: what is carried along with it."""
    children = elements.children(node)
    if format == "skel":
        return [child for child in children if elements.tag(child).startswith(f"{PREFIX}:")]
    return [inner for child in children if _is_extension(elements, child) for inner in elements.children(child)]


def _is_extension(elements: Elements, node: int) -> bool:
    return elements.tag(node) == "ext" and elements.attribute(node, "ename") == EXTENSION


def remove_ours(patch: Patch, node: int, gone: Collection[int], format: str) -> None:
    """Remove elements of ours from an element, and extensions with nothing left in them."""
    if format == "skel":
        for one in gone:
            patch.remove(one)
        return
    for child in patch.elements.children(node):
        inside = patch.elements.children(child) if _is_extension(patch.elements, child) else []
        leaving = [one for one in inside if one in gone]
        for one in [child] if leaving and leaving == inside else leaving:
            patch.remove(one)


class EmbeddedDataEditor:
    """Puts into a document what did not come back from it.  `native` is the document without anything carried."""

    def __init__(self, format: Format, document: Document, native: Scene) -> None:
        self.format = format.name
        self.patch = Patch(document)
        self.elements = self.patch.elements
        self.native = {_key(item): item for item, _, _ in iter_items(native)}
        self.output = OutputContext(document.location.directory)
        self.new: dict[int, list[Markup]] = {}
        self.gone: dict[int, list[int]] = {}
        self.held: set[int] = set()
        """Joints, by id, of static models: for other readers each of them holds its body where it is."""

    def carry(self, found: Match) -> bytes | None:
        """The document with what it has to carry; None if there is no place for it."""
        static = [one for one, _ in found.pairs if isinstance(one, Model) and one.static]
        self.held = {id(joint) for model in static for joint in model.joints} if self.format == "xode" else set()
        counterparts = {id(one): other for one, other in found.pairs} if found.lost else {}
        for one in found.differences:
            if not self._field(one):
                return None
        for item, holder, name in found.lost:
            other = counterparts.get(id(holder))
            if other is None or _key(other) not in self.native or name not in CARRIABLE:
                return None
            place = next(i for i, one in enumerate(getattr(holder, name)) if one is item)
            made = Markup("add", {"to": name, "at": str(place)}, self.output.carried(item))
            self.new.setdefault(other.node, []).append(made)
        for node, nodes in self.gone.items():
            remove_ours(self.patch, node, nodes, self.format)
        for node, elements in self.new.items():
            self._insert(node, elements)
        return self.patch.apply()

    def _field(self, found: Difference) -> bool:
        native = self.native.get(_key(found.other))
        if native is None or (found.field in _TIES and id(found.one) not in self.held):
            return False
        if self.format == "xode" and isinstance(found.one, Model):  # no element of its own; rows tell about it
            return False
        node = found.other.node
        attributes = {"field": name_in_file(found.field)}
        if isinstance(found.other, Joint) and node == found.other.child.node:
            attributes = {"of": "joint", **attributes}
        present = self._present(node, attributes)
        if relative_difference(comparable_value(found.one, found.field), comparable_value(native, found.field)) == 0.0:
            if present >= 0:
                self.gone.setdefault(node, []).append(present)
            return present >= 0
        attributes["was"] = fingerprint(field_value(native, found.field))
        text = self.output.carried(found.one, found.field)
        if present >= 0:
            self.patch.set_attribute(present, "was", attributes["was"])
            self.patch.set_text(present, text)
        else:
            self.new.setdefault(node, []).append(Markup("carry", attributes, text))
        return True

    def _present(self, node: int, attributes: dict[str, str]) -> int:
        """The element that carries a field already, or -1."""
        for child in our_elements(self.elements, node, self.format):
            given = self.elements.attributes(child)
            is_carry = self.elements.tag(child).rpartition(":")[2] == "carry"
            if is_carry and all(given.get(name, "") == attributes.get(name, "") for name in ("of", "field")):
                return child
        return -1

    def _insert(self, node: int, new: list[Markup]) -> None:
        children = self.elements.children(node)
        after = children[-1] if children else -1
        if self.format == "skel":
            for element in new:
                element.tag = f"{PREFIX}:{element.tag}"
                if self.elements.attribute(0, f"xmlns:{PREFIX}") is None:
                    element.attributes = {f"xmlns:{PREFIX}": NAMESPACE, **element.attributes}
                self.patch.insert(node, element, after)
            return
        homes = [child for child in children if _is_extension(self.elements, child)]
        homes = [home for home in homes if not self.gone.get(node)]
        if not homes:
            self.patch.insert(node, Markup("ext", {"ename": EXTENSION}, children=new), after)
            return
        inside = self.elements.children(homes[0])
        for element in new:
            self.patch.insert(homes[0], element, inside[-1] if inside else -1)


def refreshed(format: Format, document: Document, native: Scene, stale: Collection[int]) -> bytes:
    """Places that are carried, held against what an edited document says now.

    They would all be left out otherwise, those too that the edit has nothing to do with.
    """
    patch = Patch(document)
    parents = document.outline.parents
    holders = {joint.child.node: joint for world in native.worlds for joint in world.joints() if not joint.loop}
    items = {item.node: item for item, _, _ in iter_items(native) if not isinstance(item, Model)}
    items |= {item.node: item for item, _, _ in iter_items(native) if isinstance(item, Body)}
    for node in stale:
        given = patch.elements.attributes(node)
        owner = parents[node] if format.name == "skel" else parents[parents[node]]
        item = holders.get(owner) if given.get("of") == "joint" else items.get(owner)
        if item is not None and given.get("field") in PLACING:
            patch.set_attribute(node, "was", fingerprint(field_value(item, given["field"])))
    return patch.apply()


Key = tuple[type[Item], int, bool]


def _key(item: Item) -> Key | None:
    """What an item of one document is known by in another reading of it; None if it has no element there."""
    if item.node < 0 or item.document < 0:
        return None
    return type(item), item.node, isinstance(item, Joint) and item.implicit
