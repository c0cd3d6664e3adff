"""Embeds the data that a format cannot express in a document that is being edited."""

from __future__ import annotations

from collections.abc import Collection

from exoskel.formats.saving.format_editor import FormatEditor
from exoskel.formats.saving.verification import Match
from exoskel.scene.body import Body
from exoskel.scene.fields import Difference, comparable_value, iter_items, relative_difference
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.json_codec import field_value, fingerprint, name_in_file
from exoskel.scene.world import Model, Scene
from exoskel.source.document import Document
from exoskel.source.embedded_data import POSE_FIELDS
from exoskel.source.embedded_format import EmbeddedDataFormat
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext
from exoskel.source.splice import Patch

_CONNECTIONS = ("child", "parent", "loop")
"""What identifies a joint: one that comes back with other connections is another joint."""
_EMBEDDABLE_LISTS = ("visuals", "collisions", "markers", "joints")


class EmbeddedDataEditor:
    """Embeds in a document what was not read back from it.

    `native` is the scene read from the document without its embedded data.
    """

    def __init__(
        self, embedding: EmbeddedDataFormat, editor: type[FormatEditor], document: Document, native: Scene
    ) -> None:
        self.embedding = embedding
        self.editor = editor
        self.patch = Patch(document)
        self.elements = self.patch.elements
        self.native = {_key(item): item for item, _, _ in iter_items(native)}
        self.output = OutputContext(document.location.directory)
        self.new: dict[int, list[Markup]] = {}
        """Elements to be embedded, by the number of the element around them."""
        self.removed: dict[int, list[int]] = {}
        self.static_joints: set[int] = set()
        """Joints of static models, by id, where the format writes each of them as a fixed joint."""

    def embed(self, found: Match) -> bytes | None:
        """The document with the missing data embedded; None if there is no place for some of it."""
        if self.editor.fixes_static_bodies:
            static = [item for item, _ in found.pairs if isinstance(item, Model) and item.static]
            self.static_joints = {id(joint) for model in static for joint in model.joints}
        counterparts = {id(item): other for item, other in found.pairs} if found.lost else {}
        for difference in found.differences:
            if not self._embed_field(difference):
                return None
        for item, container, name in found.lost:
            other = counterparts.get(id(container))
            if other is None or _key(other) not in self.native or name not in _EMBEDDABLE_LISTS:
                return None
            index = next(i for i, one in enumerate(getattr(container, name)) if one is item)
            element = Markup("add", {"to": name, "at": str(index)}, self.output.embedded_text(item))
            self.new.setdefault(other.node, []).append(element)
        for node, nodes in self.removed.items():
            self.embedding.remove(self.patch, node, nodes)
        for node, elements in self.new.items():
            children = self.elements.children(node)
            # An extension that may be removed as a whole must not get new elements.
            can_join = not self.removed.get(node)
            self.embedding.insert(self.patch, node, elements, children[-1] if children else -1, can_join=can_join)
        return self.patch.apply()

    def _embed_field(self, found: Difference) -> bool:
        """Embed one field; False if that is not possible."""
        native = self.native.get(_key(found.other))
        if native is None or (found.field in _CONNECTIONS and id(found.one) not in self.static_joints):
            return False
        if isinstance(found.one, Model) and not self.editor.has_model_elements:  # the grouping describes it
            return False
        node = found.other.node
        attributes = {"field": name_in_file(found.field)}
        if isinstance(found.other, Joint) and node == found.other.child.node:
            attributes = {"of": "joint", **attributes}
        present = self._embedded_element(node, attributes)
        if relative_difference(comparable_value(found.one, found.field), comparable_value(native, found.field)) == 0.0:
            if present >= 0:
                self.removed.setdefault(node, []).append(present)
            return present >= 0
        attributes["was"] = fingerprint(field_value(native, found.field))
        text = self.output.embedded_text(found.one, found.field)
        if present >= 0:
            self.patch.set_attribute(present, "was", attributes["was"])
            self.patch.set_text(present, text)
        else:
            self.new.setdefault(node, []).append(Markup("carry", attributes, text))
        return True

    def _embedded_element(self, node: int, attributes: dict[str, str]) -> int:
        """The element that holds an embedded field already, or -1."""
        for child in self.embedding.elements_in(self.elements, node):
            given = self.elements.attributes(child)
            is_field = self.elements.tag(child).rpartition(":")[2] == "carry"
            if is_field and all(given.get(name, "") == attributes.get(name, "") for name in ("of", "field")):
                return child
        return -1


def update_fingerprints(
    embedding: EmbeddedDataFormat, document: Document, native: Scene, stale: Collection[int]
) -> bytes:
    """The document with new fingerprints of embedded poses, so that they stay valid after an edit.

    Otherwise one moved body would invalidate all embedded poses of its model.
    """
    patch = Patch(document)
    parents = document.outline.parents
    parent_joints = {joint.child.node: joint for world in native.worlds for joint in world.joints() if not joint.loop}
    items = {item.node: item for item, _, _ in iter_items(native) if not isinstance(item, Model)}
    items |= {item.node: item for item, _, _ in iter_items(native) if isinstance(item, Body)}
    for node in stale:
        given = patch.elements.attributes(node)
        owner = embedding.owner(parents, node)
        item = parent_joints.get(owner) if given.get("of") == "joint" else items.get(owner)
        if item is not None and given.get("field") in POSE_FIELDS:
            patch.set_attribute(node, "was", fingerprint(field_value(item, given["field"])))
    return patch.apply()


Key = tuple[type[Item], int, bool]


def _key(item: Item) -> Key | None:
    """What identifies an item in several readings of a document; None if it has no element there."""
    if item.node < 0 or item.document < 0:
        return None
    return type(item), item.node, isinstance(item, Joint) and item.implicit
