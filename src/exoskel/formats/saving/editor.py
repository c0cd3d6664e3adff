"""Makes edits in the text of a document.

The canonical text of an item before and after an edit is compared, and what changed there is changed in the
document: attributes, words of a text, whole elements where there is no other way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from exoskel.formats.saving.bulk_compare import changed_fields
from exoskel.formats.saving.changes import Added, Changes
from exoskel.formats.saving.embedded_edits import our_elements, remove_ours
from exoskel.formats.saving.errors import SaveError
from exoskel.formats.saving.format_editor import FormatEditor
from exoskel.scene.body import Body
from exoskel.scene.fields import CHILD_LISTS, FIELDS
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model, Scene, World
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext
from exoskel.source.splice import Patch
from exoskel.source.vocabulary import Element

_VECTOR = frozenset({"x", "y", "z", "absolute"})

Place = tuple[str, int]


class Editor:
    """One try at an edit.  With `thorough`, what differs is written anew instead of brought up to date."""

    def __init__(self, words: FormatEditor, patch: Patch, changes: Changes, *, thorough: bool = False) -> None:
        self.words = words
        self.patch = patch
        self.elements = patch.elements
        self.changes = changes
        self.thorough = thorough
        self.unsaid: set[int] = set()
        """Ids of new items that the format has no words for."""
        self.after: dict[int, Markup] = {}
        self.before: dict[int, Markup] = {}

    def write(self, base: Scene, scene: Scene, folder: Path | None) -> None:
        """Get the canonical text of everything that could differ."""
        restore = self.words.prepare()
        try:
            self.after = self._canonical(scene, folder)
        finally:
            restore()
        self.before = self._canonical(base, folder)

    def _canonical(self, scene: Scene, folder: Path | None) -> dict[int, Markup]:
        """The canonical elements of items by their ids; only what holds differences is written."""
        wanted = self._wanted()
        new = {id(added.item) for added in self.changes.added}
        originals: dict[int, Item] = {}
        parts: list[World] = []
        for world in scene.worlds:
            models = [model for model in world.models if id(model) in self.changes.models]
            if self.words.is_local:
                made = [model if id(model) in new else _part(model, wanted) for model in models]
                originals.update({id(part): model for part, model in zip(made, models, strict=True)})
                models = made
            fields = {name: getattr(world, name) for name in (*FIELDS[World], "document", "node")}
            parts.append(World(**fields, models=models))
            originals[id(parts[-1])] = world
        root = self.words.format.writer()(Scene(parts), OutputContext(folder))
        found: dict[int, Markup] = {}
        for element in root.iter():
            if isinstance(element.item, Item):
                found[id(originals.get(id(element.item), element.item))] = element
        return found

    def _wanted(self) -> set[int]:
        """The ids of items that differ, of both sides, and of those that hold new ones."""
        wanted = {id(item) for pair in self.changes.edited for item in pair}
        for added in self.changes.added:
            wanted.update((id(added.item), id(added.holder)))
        return wanted

    def run(self) -> bytes:
        gone = set(self._gone())
        self._loose()
        for source, item in [*self.changes.edited, *self.words.more()]:
            self._edit(source, item)
        for node in gone:
            self.patch.remove(node)
        for added in self.changes.added:
            self._add(added, gone)
        return self.patch.apply()

    def _gone(self) -> Iterator[int]:
        """The elements of removed items, outermost ones only."""
        nodes = sorted(item.node for one in self.changes.removed for item in self._owners(one))
        last = -1
        for node in nodes:
            if last < 0 or not self.elements.encloses(last, node):
                last = node
                yield node

    def _owners(self, item: Item) -> Iterator[Item]:
        """An item that has an element of its own, or those inside that have one."""
        if self.words.has_element(item):
            yield item
        else:
            for name in CHILD_LISTS.get(type(item), ()):
                for inner in getattr(item, name):
                    yield from self._owners(inner)

    def _loose(self) -> None:
        """Items that are carried whole: all of a list are carried anew when one of them has changed."""
        touched = {id(source) for source, _ in self.changes.edited} | {id(item) for item in self.changes.removed}
        for model in self.changes.models.values():
            for holder in (model, *model.bodies):
                source = self.changes.sources.get(id(holder))
                if source is None or source.node < 0:
                    continue
                names = [
                    name
                    for name in CHILD_LISTS[type(holder)]
                    if any(item.document < 0 and id(item) in touched for item in getattr(source, name))
                ]
                if names:
                    self._carry_anew(source.node, names)
                    loose = [item for name in names for item in getattr(holder, name) if item.document < 0]
                    self.unsaid.update(map(id, loose))

    def _carry_anew(self, node: int, names: list[str]) -> None:
        ours = our_elements(self.elements, node, self.words.format.name)
        gone = [one for one in ours if self.elements.attribute(one, "to") in names]
        remove_ours(self.patch, node, gone, self.words.format.name)

    def name_in_file(self, body: Body) -> str | None:
        """What a body of the scene is called in the document once it is edited; None if it has no name there."""
        source = self.changes.sources.get(id(body))
        if source is None:
            made = self.after.get(id(body))
            return None if made is None else made.attributes.get("name")
        if source.node < 0:
            return None
        named = isinstance(source, Body) and source.name == body.name
        return self.elements.attribute(source.node, "name") if named else body.name

    # --- edits ----------------------------------------------------------------------------------------

    def _edit(self, source: Item, item: Item) -> None:
        old, new = self.before.get(id(source)), self.after.get(id(item))
        if isinstance(source, Joint) and source.implicit:
            self._make_explicit(source, item, new)
        elif old is not None and new is not None and self.words.has_element(source):
            adapted = self.words.adapt(source, item, old, new)
            rule = self._rule(new.tag)
            if self.thorough and isinstance(item, Joint):
                self._rewrite(source.node, Markup(new.tag, adapted[1].attributes, children=new.children), rule)
            else:
                self._merge(source.node, *adapted, rule)

    def _make_explicit(self, source: Joint, item: Item, new: Markup | None) -> None:
        """A joint that the document does not state, once it is to be something of its own."""
        renamed = [one for one in ("child", "parent") if _end(source, one) == _end(item, one)]
        if new is not None and set(changed_fields(source, item)) - set(renamed):
            holder = next((m for m in self.changes.models.values() if any(j is item for j in m.joints)), None)
            before = holder.joints[: _place(holder.joints, item)][::-1] if holder else ()
            self._add(Added(item, holder, "joints", before), set())

    def _rule(self, tag: str) -> Element | None:
        return next((row for _, row in self.words.format.vocabulary().find(tag) if row.children), None)

    def _merge(self, node: int, old: Markup, new: Markup, rule: Element | None) -> None:
        """Bring an element of the document from what `old` says to what `new` says."""
        self._merge_attributes(node, old, new)
        if old.text != new.text:
            self.patch.set_text(node, new.text, old.text)
        before, after = _numbered(old), _numbered(new)
        replaced: set[int] = set()
        for place, child in after.items():
            if place not in before or not _alike(before[place], child):
                replaced.add(self._merge_child(node, place, before.get(place), child, new, rule, replaced))
        for place in before.keys() - after.keys():
            found = self.words.find(node, before[place], place[1], rule)
            if found >= 0 and found not in replaced:
                self.patch.remove(found)

    def _merge_attributes(self, node: int, old: Markup, new: Markup) -> None:
        both = old.attributes | new.attributes
        names = [name for name in both if not _equal(old.attributes.get(name), new.attributes.get(name))]
        if new.item is None and not _VECTOR.isdisjoint(names):
            # Where the document puts a vector otherwise (another frame, another length), it is put anew.
            present = self.elements.attributes(node)
            if not all(_equal(present.get(n, v), v) for n, v in old.attributes.items() if n in _VECTOR):
                given = _VECTOR.intersection(new.attributes)
                names += sorted(n for n in given - set(names) if not _equal(present.get(n), new.attributes[n]))
        for name in names:
            if name in new.attributes:
                self.patch.set_attribute(node, name, new.attributes[name])
            else:
                self.patch.remove_attribute(node, name)

    def _merge_child(
        self,
        node: int,
        place: Place,
        old: Markup | None,
        new: Markup,
        parent: Markup,
        rule: Element | None,
        replaced: set[int],
    ) -> int:
        """Returns the element that was replaced by another, or -1."""
        found = self.words.find(node, old or new, place[1], rule)
        if found >= 0:
            if old is None or self.thorough:
                self.patch.replace(found, new)
            else:
                self._merge(found, old, new, rule.children.get(new.tag) if rule else None)
            return -1
        rivals: tuple[str, ...] = ()
        if rule is not None:  # where only one of some can be, or one stands alone, a new one takes its place
            rivals = rule.one_of if new.tag in rule.one_of else rule.alone
        for child in self.elements.children(node):
            if self.elements.tag(child) in rivals and child not in replaced:
                self.patch.replace(child, new)
                return child
        self.patch.insert(node, new, self._before(node, new, parent, rule))
        return -1

    def _before(self, node: int, new: Markup, parent: Markup, rule: Element | None) -> int:
        """The child that a new one goes behind: that of its nearest sibling in front, or by the vocabulary's order."""
        place = next(i for i, child in enumerate(parent.children) if child is new)
        for sibling in reversed(parent.children[:place]):
            source = self.changes.sources.get(id(sibling.item))
            if source is not None:
                found = source.node if source.node in self.elements.children(node) else -1
            else:
                found = self.words.find(node, sibling, 0, rule) if sibling.item is None else -1
            if found >= 0:
                return max(found, self._predecessor(node, new.tag, rule))
        return self._predecessor(node, new.tag, rule)

    def _rewrite(self, node: int, new: Markup, rule: Element | None) -> None:
        """Make a joint say what `new` says and no more; comments and what is unknown stay."""
        present = self.elements.attributes(node)
        for name, text in new.attributes.items():
            if not _equal(present.get(name), text):
                self.patch.set_attribute(node, name, text)
        taken: set[int] = set()
        for place, child in _numbered(new).items():
            found = self.words.find(node, child, place[1], rule)
            if found >= 0:
                taken.add(found)
                self.patch.replace(found, child)
            else:
                self.patch.insert(node, child, self._predecessor(node, child.tag, rule))
        known = (rule.children.keys() if rule is not None else set()) - {"ext"}
        for other in self.elements.children(node):
            if other not in taken and self.elements.tag(other) in known:
                self.patch.remove(other)

    def _predecessor(self, node: int, tag: str, rule: Element | None, gone: Iterable[int] = ()) -> int:
        """The child of the document that a new one of some tag goes behind, by the vocabulary's order."""
        order = {name: place for place, name in enumerate(rule.children)} if rule is not None else {}
        place = order.get(tag, len(order))
        children = [child for child in self.elements.children(node) if child not in gone]
        before = [child for child in children if order.get(self.elements.tag(child), len(order)) <= place]
        return before[-1] if before else -1

    # --- additions ------------------------------------------------------------------------------------

    def _add(self, added: Added, gone: set[int]) -> None:
        elements = list(self._new_elements(added.item))
        self._note_unsaid(added.item)
        if not elements and isinstance(added.item, Model):
            raise SaveError(f"{self.words.format.name.upper()} has no words for a model without bodies")
        for item, element in elements:
            fresh = self.words.fresh(item, element)
            home = self.words.home(item, added.holder)
            if home < 0:
                raise SaveError(f"there is no place in the file for the new {type(item).__name__.lower()}")
            after = self._neighbour(added, home, gone) if item is added.item else -1
            if after < 0:
                after = self._predecessor(home, fresh.tag, self._rule(self.elements.tag(home)), gone)
            self.patch.insert(home, fresh, after)
            if isinstance(item, Joint) and not item.loop:
                self._leave_child(item)

    def _leave_child(self, joint: Joint) -> None:
        """What a body carries for a joint that the document does not state goes once it is stated."""
        child = self.changes.sources.get(id(joint.child))
        if child is not None and child.node >= 0:
            ours = our_elements(self.elements, child.node, self.words.format.name)
            gone = [one for one in ours if self.elements.attribute(one, "of") == "joint"]
            remove_ours(self.patch, child.node, gone, self.words.format.name)

    def _new_elements(self, item: Item) -> Iterator[tuple[Item, Markup]]:
        own = self.after.get(id(item))
        if own is not None:
            yield item, own
        elif isinstance(item, Model):  # a format where a model has no element of its own
            for inner in (*item.bodies, *item.joints):
                yield from self._new_elements(inner)

    def _note_unsaid(self, item: Item) -> None:
        is_root = isinstance(item, Joint) and item.kind == "free" and item.parent is None
        if id(item) not in self.after and not isinstance(item, Model) and not is_root:
            self.unsaid.add(id(item))
        for name in CHILD_LISTS.get(type(item), ()):
            for inner in getattr(item, name):
                self._note_unsaid(inner)

    def _neighbour(self, added: Added, home: int, gone: set[int]) -> int:
        """The element of the nearest item in front that stands in the same element and stays."""
        children: set[int] | None = None
        for item in added.before:
            source = self.changes.sources.get(id(item))
            if source is None or not self.words.has_element(source) or source.node in gone:
                continue
            if self.words.is_local and added.holder is not None and added.holder.node == home:
                return source.node
            children = set(self.elements.children(home)) if children is None else children
            if source.node in children:
                return source.node
        return -1


def _part(model: Model, wanted: set[int]) -> Model:
    """A model with only those of its bodies and joints that are wanted, or hold what is."""
    joints = [joint for joint in model.joints if id(joint) in wanted]
    ends = {id(body) for joint in joints for body in (joint.child, joint.parent)}
    bodies = [
        body
        for body in model.bodies
        if id(body) in wanted
        or id(body) in ends
        or any(id(part) in wanted for parts in (body.visuals, body.collisions, body.markers) for part in parts)
    ]
    fields = {name: getattr(model, name) for name in (*FIELDS[Model], "document", "node")}
    return Model(**fields, bodies=bodies, joints=joints)


def _end(item: Item, name: str) -> int:
    body = getattr(item, name)
    return -2 if body is None else int(body.node)


def _place(items: list[Joint], wanted: Item) -> int:
    return next(place for place, item in enumerate(items) if item is wanted)


def _numbered(element: Markup) -> dict[Place, Markup]:
    """Children by tag and number among their namesakes; those that are items of their own are left out."""
    found: dict[Place, Markup] = {}
    seen: dict[str, int] = {}
    for child in element.children:
        number = seen.get(child.tag, 0)
        seen[child.tag] = number + 1
        if child.item is None:
            found[child.tag, number] = child
    return found


def _alike(one: Markup, other: Markup) -> bool:
    return (
        one.tag == other.tag
        and one.text == other.text
        and one.attributes == other.attributes
        and len(one.children) == len(other.children)
        and all(_alike(a, b) for a, b in zip(one.children, other.children, strict=True))
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _equal(one: str | None, other: str | None) -> bool:
    """Whether two attributes say the same: as numbers, if they are such."""
    if one == other or one is None or other is None:
        return one == other
    return _is_number(one) and _is_number(other) and float(one) == float(other)
