"""What a format has no words for, carried along in a document that is being edited."""

from __future__ import annotations

from exoskel.formats.registry import Format
from exoskel.formats.saving.verification import Match
from exoskel.scene.content import Difference, gap, value, walk
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.packing import field_value, fingerprint, pack_item, text_of
from exoskel.scene.world import Scene
from exoskel.source.carriage import EXTENSION, NAMESPACE, PREFIX
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.splice import Patch

CARRIABLE = ("visuals", "collisions", "markers", "joints")


class Carrier:
    """Puts into a document what did not come back from it.  `native` is the document without anything carried."""

    def __init__(self, format: Format, document: Document, native: Scene) -> None:
        self.namespaced = format.name == "skel"
        self.patch = Patch(document)
        self.elements = self.patch.elements
        self.native = _index(native)

    def carry(self, found: Match) -> bytes | None:
        """The document with what it has to carry; None if there is no place for it."""
        counterparts = {id(one): other for one, other in found.pairs}
        for one in found.differences:
            if not self._field(one):
                return None
        for item, holder, name in found.lost:
            other = counterparts.get(id(holder))
            if other is None or other.node < 0 or name not in CARRIABLE or _key(other) not in self.native:
                return None
            place = next(i for i, one in enumerate(getattr(holder, name)) if one is item)
            made = Markup("add", {"to": name, "at": str(place)}, text_of(pack_item(item)))
            self._insert(other.node, made)
        return self.patch.apply()

    def _field(self, found: Difference) -> bool:
        native = self.native.get(_key(found.other))
        if native is None or found.other.node < 0:
            return False
        attributes = {"field": found.field}
        if isinstance(found.other, Joint) and found.other.implicit:
            attributes = {"of": "joint", **attributes}
        present = self._present(found.other.node, attributes)
        if gap(value(found.one, found.field), value(native, found.field)) == 0.0:
            if present >= 0:
                self._remove(present)
            return present >= 0
        attributes["was"] = fingerprint(field_value(native, found.field))
        element = Markup("carry", attributes, text_of(field_value(found.one, found.field)))
        if present >= 0:
            self.patch.set_attribute(present, "was", attributes["was"])
            self.patch.set_text(present, element.text)
        else:
            self._insert(found.other.node, element)
        return True

    def _present(self, node: int, attributes: dict[str, str]) -> int:
        """The element that carries a field already, or -1."""
        for child in self._ours(node):
            given = self.elements.attributes(child)
            is_carry = self.elements.tag(child).rpartition(":")[2] == "carry"
            if is_carry and all(given.get(name, "") == attributes.get(name, "") for name in ("of", "field")):
                return child
        return -1

    def _ours(self, node: int) -> list[int]:
        children = self.elements.children(node)
        if self.namespaced:
            return [child for child in children if self.elements.tag(child).startswith(f"{PREFIX}:")]
        return [inner for child in children if self._is_extension(child) for inner in self.elements.children(child)]

    def _is_extension(self, node: int) -> bool:
        return self.elements.tag(node) == "ext" and self.elements.attribute(node, "ename") == EXTENSION

    def _remove(self, node: int) -> None:
        self.patch.remove(node)

    def _insert(self, node: int, element: Markup) -> None:
        children = self.elements.children(node)
        if self.namespaced:
            element.tag = f"{PREFIX}:{element.tag}"
            if self.elements.attribute(0, f"xmlns:{PREFIX}") is None:
                element.attributes = {f"xmlns:{PREFIX}": NAMESPACE, **element.attributes}
            self.patch.insert(node, element, children[-1] if children else -1)
            return
        home = next((child for child in children if self._is_extension(child)), -1)
        if home >= 0:
            inside = self.elements.children(home)
            self.patch.insert(home, element, inside[-1] if inside else -1)
        else:
            holder = Markup("ext", {"ename": EXTENSION}, children=[element])
            self.patch.insert(node, holder, children[-1] if children else -1)


Key = tuple[type[Item], int, bool]


def _key(item: Item) -> Key:
    return type(item), item.node, isinstance(item, Joint) and item.implicit


def _index(scene: Scene) -> dict[Key, Item]:
    return {_key(item): item for item, _, _ in walk(scene)}
