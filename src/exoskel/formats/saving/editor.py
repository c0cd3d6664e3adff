"""Applies the edits of a scene to the text of its document.

The canonical text of an item before and after an edit is compared.  What differs there is changed in the document:
attributes, values in a text, and whole elements only where nothing smaller is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from exoskel.diagnostics import SaveError
from exoskel.formats.interface import FormatEditor
from exoskel.formats.lowered_actuators import without_actuators
from exoskel.formats.saving.changes import AddedItem, Changes, changed_fields
from exoskel.scene.body import Body
from exoskel.scene.field_checks import kind_name
from exoskel.scene.fields import CHILD_LISTS, FIELDS
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.embedded_format import EmbeddedDataFormat, EmbeddedTag
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext
from exoskel.source.splice import Patch
from exoskel.source.vocabulary import Element

_VECTOR = frozenset({"x", "y", "z", "absolute"})

Ordinal = tuple[str, int]
"""The tag of a child element, and its number among the children of that tag."""


class DocumentEditor:
    """One attempt at the edits of a scene.

    With `replace_elements`, elements that differ are replaced as a whole instead of updated.
    """

    def __init__(
        self,
        editor: FormatEditor,
        embedding: EmbeddedDataFormat,
        patch: Patch,
        changes: Changes,
        *,
        replace_elements: bool = False,
    ) -> None:
        self.editor = editor
        self.embedding = embedding
        self.patch = patch
        self.elements = patch.elements
        self.changes = changes
        self.replace_elements = replace_elements
        self.unsupported: set[int] = set()
        """Ids of new items that the format cannot express."""
        self.edited: list[tuple[Item, Item]] = []
        """Pairs of edited items, and of those whose text may change because of them."""
        self.before: dict[int, Markup] = {}
        self.after: dict[int, Markup] = {}
        """Canonical elements by the ids of their items, before and after the edit."""

    def write_canonical_elements(self, base: Scene, scene: Scene, folder: Path | None) -> None:
        """Write the canonical elements of all items that may differ."""
        restore = self.editor.update_dependent_fields()
        try:
            self.edited = [*self.changes.edited, *self.editor.affected_items()]
            self.after = self._canonical_elements(scene, folder)
        finally:
            restore()
        self.before = self._canonical_elements(base, folder)

    def _canonical_elements(self, scene: Scene, folder: Path | None) -> dict[int, Markup]:
        """The canonical elements of items by their ids.  Only models with differences are written."""
        wanted = self._wanted_items()
        new = {id(added.item) for added in self.changes.added}
        originals: dict[int, Item] = {}
        parts: list[World] = []
        for world in scene.worlds:
            models = [model for model in world.models if id(model) in self.changes.models]
            reduced = [_part(model, wanted) if self._can_reduce(model, new) else model for model in models]
            originals.update({id(part): model for part, model in zip(reduced, models, strict=True)})
            fields = {name: getattr(world, name) for name in (*FIELDS[World], "document", "node")}
            parts.append(World(**fields, models=reduced))
            originals[id(parts[-1])] = world
        output = OutputContext(folder)
        lowered = without_actuators(Scene(parts), self.editor.format, output)
        root = self.editor.format.writer()(lowered.scene, output)
        found: dict[int, Markup] = {}
        for element in root.iter():
            if isinstance(element.item, Item):
                part = lowered.originals.get(id(element.item), element.item)
                found[id(originals.get(id(part), part))] = element
        return found

    def _can_reduce(self, model: Model, new: set[int]) -> bool:
        return id(model) not in new and self.editor.writes_alone(model)

    def _wanted_items(self) -> set[int]:
        """The ids of items whose text may differ, on both sides, and of the owners of new items."""
        wanted = {id(item) for pair in self.edited for item in pair}
        for added in self.changes.added:
            wanted.update((id(added.item), id(added.owner)))
        return wanted

    def apply(self) -> bytes:
        """The bytes of the edited document."""
        removed = set(self._removed_elements())
        self._remove_embedded_lists()
        for source, item in self.edited:
            self._edit(source, item)
        for node in removed:
            self.patch.remove(node)
        for added in self.changes.added:
            self._add(added, removed)
        return self.patch.apply()

    def _removed_elements(self) -> Iterator[int]:
        """The elements of removed items, outermost ones only."""
        nodes = sorted(item.node for removed in self.changes.removed for item in self._items_with_elements(removed))
        last = -1
        for node in nodes:
            if last < 0 or not self.elements.encloses(last, node):
                last = node
                yield node

    def _items_with_elements(self, item: Item) -> Iterator[Item]:
        """An item that has an element of its own, or the items inside that have one."""
        if self.editor.has_element(item):
            yield item
        else:
            for name in CHILD_LISTS.get(type(item), ()):
                for inner in getattr(item, name):
                    yield from self._items_with_elements(inner)

    def _remove_embedded_lists(self) -> None:
        """Remove the embedded items of a list when one of them has changed; the whole list is embedded again."""
        touched = {id(source) for source, _ in self.changes.edited} | {id(item) for item in self.changes.removed}
        for model in self.changes.models.values():
            for owner in (model, *model.bodies):
                source = self.changes.sources.get(id(owner))
                if source is None or source.node < 0:
                    continue
                names = [
                    name
                    for name in CHILD_LISTS[type(owner)]
                    if any(item.document < 0 and id(item) in touched for item in getattr(source, name))
                ]
                if names:
                    added = self.embedding.find(self.elements, source.node, EmbeddedTag.ITEM)
                    outdated = [found.number for found in added if found.list_name in names]
                    self.embedding.remove(self.patch, source.node, outdated)
                    embedded = [item for name in names for item in getattr(owner, name) if item.document < 0]
                    self.unsupported.update(map(id, embedded))

    def name_in_file(self, body: Body) -> str | None:
        """The name of a body in the edited document; None if it has no name there."""
        source = self.changes.sources.get(id(body))
        if source is None:
            element = self.after.get(id(body))
            return None if element is None else element.attributes.get("name")
        if source.node < 0:
            return None
        has_same_name = isinstance(source, Body) and source.name == body.name
        return self.elements.attribute(source.node, "name") if has_same_name else body.name

    # --- edited items ---------------------------------------------------------------------------------

    def _edit(self, source: Item, item: Item) -> None:
        old, new = self.before.get(id(source)), self.after.get(id(item))
        if isinstance(source, Joint) and source.implicit:
            self._make_explicit(source, item, new)
        elif old is not None and new is not None and self.editor.has_element(source):
            adapted = self.editor.adapt_edited(source, item, old, new)
            rule = self._rule(new.tag)
            if self.replace_elements and isinstance(item, Joint):
                self._rewrite(source.node, Markup(new.tag, adapted[1].attributes, children=new.children), rule)
            else:
                self._merge(source.node, *adapted, rule)

    def _make_explicit(self, source: Joint, item: Item, new: Markup | None) -> None:
        """Add an element for a joint that the document does not state, if more than a body's name has changed."""
        same_bodies = [name for name in ("child", "parent") if _body_node(source, name) == _body_node(item, name)]
        if new is not None and set(changed_fields(source, item)) - set(same_bodies):
            owner = next((m for m in self.changes.models.values() if any(j is item for j in m.joints)), None)
            before = owner.joints[: _index(owner.joints, item)][::-1] if owner else ()
            self._add(AddedItem(item, owner, "joints", before), set())

    def _rule(self, tag: str) -> Element | None:
        return next((row for _, row in self.editor.format.vocabulary().find(tag) if row.children), None)

    def _merge(self, node: int, old: Markup, new: Markup, rule: Element | None) -> None:
        """Apply the differences between `old` and `new` to an element of the document."""
        self._merge_attributes(node, old, new)
        if old.text != new.text:
            self.patch.set_text(node, new.text, old.text)
        before, after = _by_ordinal(old), _by_ordinal(new)
        replaced: set[int] = set()
        for ordinal, child in after.items():
            if ordinal not in before or not before[ordinal].is_same(child):
                replaced.add(self._merge_child(node, ordinal, before.get(ordinal), child, new, rule, replaced))
        for ordinal in before.keys() - after.keys():
            found = self.editor.find_child(node, before[ordinal], ordinal[1], rule)
            if found >= 0 and found not in replaced:
                self.patch.remove(found)

    def _merge_attributes(self, node: int, old: Markup, new: Markup) -> None:
        both = old.attributes | new.attributes
        names = [name for name in both if not _is_equal(old.attributes.get(name), new.attributes.get(name))]
        if new.item is None and not _VECTOR.isdisjoint(names):
            # A vector that the document states in another frame or length is written as a whole.
            present = self.elements.attributes(node)
            if not all(_is_equal(present.get(n, v), v) for n, v in old.attributes.items() if n in _VECTOR):
                given = _VECTOR.intersection(new.attributes)
                names += sorted(n for n in given - set(names) if not _is_equal(present.get(n), new.attributes[n]))
        for name in names:
            if name in new.attributes:
                self.patch.set_attribute(node, name, new.attributes[name])
            else:
                self.patch.remove_attribute(node, name)

    def _merge_child(
        self,
        node: int,
        ordinal: Ordinal,
        old: Markup | None,
        new: Markup,
        parent: Markup,
        rule: Element | None,
        replaced: set[int],
    ) -> int:
        """Update, replace or insert a child; returns the element of another tag that it replaced, or -1."""
        found = self.editor.find_child(node, old or new, ordinal[1], rule)
        if found >= 0:
            if old is None or self.replace_elements:
                self.patch.replace(found, new)
            else:
                self._merge(found, old, new, rule.children.get(new.tag) if rule else None)
            return -1
        alternatives: tuple[str, ...] = ()
        if rule is not None:  # elements that exclude each other: the new one replaces the present one
            alternatives = rule.one_of if new.tag in rule.one_of else rule.exclusive_children
        for child in self.elements.children(node):
            if self.elements.tag(child) in alternatives and child not in replaced:
                self.patch.replace(child, new)
                return child
        self.patch.insert(node, new, self._sibling_before(node, new, parent, rule))
        return -1

    def _sibling_before(self, node: int, new: Markup, parent: Markup, rule: Element | None) -> int:
        """The child that a new one is inserted after: that of its nearest sibling, or by the vocabulary's order."""
        index = next(i for i, child in enumerate(parent.children) if child is new)
        for sibling in reversed(parent.children[:index]):
            source = self.changes.sources.get(id(sibling.item))
            if source is not None:
                found = source.node if source.node in self.elements.children(node) else -1
            else:
                found = self.editor.find_child(node, sibling, 0, rule) if sibling.item is None else -1
            if found >= 0:
                return max(found, self._predecessor(node, new.tag, rule))
        return self._predecessor(node, new.tag, rule)

    def _rewrite(self, node: int, new: Markup, rule: Element | None) -> None:
        """Replace the attributes and known children of a joint; comments and unknown elements stay."""
        present = self.elements.attributes(node)
        for name, text in new.attributes.items():
            if not _is_equal(present.get(name), text):
                self.patch.set_attribute(node, name, text)
        updated: set[int] = set()
        for ordinal, child in _by_ordinal(new).items():
            found = self.editor.find_child(node, child, ordinal[1], rule)
            if found >= 0:
                updated.add(found)
                self.patch.replace(found, child)
            else:
                self.patch.insert(node, child, self._predecessor(node, child.tag, rule))
        known = (rule.children.keys() if rule is not None else set()) - self.embedding.containers
        for other in self.elements.children(node):
            if other not in updated and self.elements.tag(other) in known:
                self.patch.remove(other)

    def _predecessor(self, node: int, tag: str, rule: Element | None, removed: Iterable[int] = ()) -> int:
        """The child of the document that a new one of some tag is inserted after, by the vocabulary's order."""
        order = {name: index for index, name in enumerate(rule.children)} if rule is not None else {}
        index = order.get(tag, len(order))
        children = [child for child in self.elements.children(node) if child not in removed]
        before = [child for child in children if order.get(self.elements.tag(child), len(order)) <= index]
        return before[-1] if before else -1

    # --- added items ----------------------------------------------------------------------------------

    def _add(self, added: AddedItem, removed: set[int]) -> None:
        elements = list(self._new_elements(added.item))
        self._note_unsupported(added.item)
        if not elements and isinstance(added.item, Model):
            raise SaveError(f"{self.editor.format.name.upper()} cannot express a model without bodies")
        for item, element in elements:
            adapted = self.editor.adapt_added(item, element)
            container = self.editor.container(item, added.owner)
            if container < 0:
                raise SaveError(f"the file has no place for the new {kind_name(item)}")
            after = self._neighbour(added, container, removed) if item is added.item else -1
            if after < 0:
                rule = self._rule(self.elements.tag(container))
                after = self._predecessor(container, adapted.tag, rule, removed)
            self.patch.insert(container, adapted, after)
            if isinstance(item, Joint) and not item.loop:
                self._remove_embedded_joint(item)

    def _remove_embedded_joint(self, joint: Joint) -> None:
        """Remove fields of a joint that are embedded in its child body, because the joint has an element now."""
        child = self.changes.sources.get(id(joint.child))
        if child is not None and child.node >= 0:
            fields = self.embedding.find(self.elements, child.node, EmbeddedTag.FIELD)
            self.embedding.remove(self.patch, child.node, [one.number for one in fields if one.is_of_parent_joint])

    def _new_elements(self, item: Item) -> Iterator[tuple[Item, Markup]]:
        own = self.after.get(id(item))
        if own is not None:
            yield item, own
        elif isinstance(item, Model):  # a format without elements for models
            for inner in (*item.bodies, *item.joints):
                yield from self._new_elements(inner)

    def _note_unsupported(self, item: Item) -> None:
        is_root = isinstance(item, Joint) and item.kind == "free" and item.parent is None
        if id(item) not in self.after and not isinstance(item, Model) and not is_root:
            self.unsupported.add(id(item))
        for name in CHILD_LISTS.get(type(item), ()):
            for inner in getattr(item, name):
                self._note_unsupported(inner)

    def _neighbour(self, added: AddedItem, container: int, removed: set[int]) -> int:
        """The element of the nearest preceding item that is in the same container and stays, or -1."""
        children: set[int] | None = None
        for item in added.before:
            source = self.changes.sources.get(id(item))
            if source is None or not self.editor.has_element(source) or source.node in removed:
                continue
            if self.editor.writes_items_alone and added.owner is not None and added.owner.node == container:
                return source.node
            children = set(self.elements.children(container)) if children is None else children
            if source.node in children:
                return source.node
        return -1


def _part(model: Model, wanted: set[int]) -> Model:
    """A model with only the wanted bodies and joints, and those that contain wanted items."""
    joints = [joint for joint in model.joints if id(joint) in wanted]
    connected = {id(body) for joint in joints for body in (joint.child, joint.parent)}
    bodies = [
        body
        for body in model.bodies
        if id(body) in wanted
        or id(body) in connected
        or any(id(part) in wanted for parts in (body.visuals, body.collisions, body.markers) for part in parts)
    ]
    fields = {name: getattr(model, name) for name in (*FIELDS[Model], "document", "node")}
    return Model(**fields, bodies=bodies, joints=joints)


def _body_node(item: Item, name: str) -> int:
    body = getattr(item, name)
    return -2 if body is None else int(body.node)


def _index(items: list[Joint], wanted: Item) -> int:
    return next(index for index, item in enumerate(items) if item is wanted)


def _by_ordinal(element: Markup) -> dict[Ordinal, Markup]:
    """Children by tag and number, without those that are items of their own."""
    found: dict[Ordinal, Markup] = {}
    counts: dict[str, int] = {}
    for child in element.children:
        number = counts.get(child.tag, 0)
        counts[child.tag] = number + 1
        if child.item is None:
            found[child.tag, number] = child
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_equal(one: str | None, other: str | None) -> bool:
    """Whether two attributes have the same value, compared as numbers if both are numbers."""
    if one == other or one is None or other is None:
        return one == other
    return _is_number(one) and _is_number(other) and float(one) == float(other)
