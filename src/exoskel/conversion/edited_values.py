"""The fates of the nodes of a document whose scene was edited, and of edited values that the document does not state.

Nodes of what is not in the scene any more are dropped.  A value that was set in Python has no node if it was absent or
a default before: its loss would be silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import takewhile
from typing import NamedTuple

from exoskel.conversion.node_fates import FateRecorder
from exoskel.conversion.output_fates import LISTED, in_part
from exoskel.fates import Fate, NodeFate, Verdict
from exoskel.formats.saving.changes import Changes, changed_fields
from exoskel.formats.saving.removed_parts import NOT_FOLLOWING, OTHER_KIND, RemovedParts
from exoskel.scene.body import Body, BodyState, Marker
from exoskel.scene.fields import CHILD_LISTS, DOF_FIELDS, FIELDS
from exoskel.scene.item import Item, item_name, qualified_name
from exoskel.scene.joint import Dof, Drive, Joint
from exoskel.scene.shape import Material
from exoskel.scene.world import Scene

_NAMED = (*LISTED, "actuators")
"""Fields of a world that list objects by name, which have fates of their own."""
_NOT_PRESERVED = Verdict(Fate.DROPPED, "it refers to something that is not in the scene any more")
_WITHOUT_MOTION = frozenset({"name", "color", "material", "cameras", "lights"})

ScenePlace = tuple[object, ...]
"""Where an item is in a scene, by names: passes before writing copy items, and add others."""


class _FieldEdit(NamedTuple):
    """An edited field, or parts of it; without a field, the whole item is new."""

    item: Item
    field: str = ""
    parts: Sequence[str] = ()


class EditedFateRecorder(FateRecorder):
    """Determines the fates of the nodes of a document, and of the values that were set since it was read."""

    _changes = Changes()
    _edited = Scene()
    _removed: RemovedParts | None = None

    def note_edits(self, scene: Scene, changes: Changes, base: Scene) -> None:
        """Note how the scene that is converted differs from what was read, `base`."""
        self._edited, self._changes = scene, changes
        self._asked: set[tuple[int, str, str]] = set()
        """The parts of the fields of items, by id, that nodes state."""
        self._removed = RemovedParts(base, scene, changes)
        self.found_objects: set[tuple[str, str]] = set()
        """The removed objects of worlds that nodes state, by the names of their fields and their own."""
        rebuilt = _at_places(self._edited, self.scene, self._removed.rebuilt)
        self._former_dofs = {id(item): self._changes.sources[key] for key, item in rebuilt}
        """The joints that were read with other degrees of freedom, by the ids of those that are written."""
        lost = _at_places(self._edited, self.scene, self._removed.not_following)
        self._not_following = {id(item) for _, item in lost}
        """The ids of joints that were written without what they mimicked in the document."""
        self._open_document()

    def field_verdict(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        self._asked.update((id(item), field, part) for part in parts or ("",))
        former = self._former_dofs.get(id(item)) if field == "dofs" else None
        if isinstance(former, Joint) and _states_any(former, parts or DOF_FIELDS):
            return OTHER_KIND
        if field == "mimic" and id(item) in self._not_following:
            return NOT_FOLLOWING
        return super().field_verdict(item, field, parts)

    def _unused_nodes(self) -> dict[tuple[int, str], Verdict]:
        found = super()._unused_nodes()
        if self._removed is None:
            return found
        removed = self._removed.nodes.get(self.number, {})
        lost = dict.fromkeys(self._not_preserved_nodes(), _NOT_PRESERVED)
        return found | {(node, ""): verdict for node, verdict in {**lost, **removed}.items()}

    def _not_preserved_nodes(self) -> Iterator[int]:
        """Elements that documents of the same format usually have again, and this one does not."""
        if self.source is self.target and not self.target.embeds_data:
            for one in self.scene.diagnostics:
                is_own = one.source is self.document and one.place.node not in self.preserved.unknown
                if is_own and not one.place.attribute and one.key.startswith(self.mapping.diagnostics.preserved):
                    yield one.place.node

    def _node_verdict(self, owner: Item | None, path: str, node: int, attribute: str = "") -> Verdict:
        is_kept = node in self.preserved.unknown and node not in self.preserved.lost
        objects = {} if self._removed is None or is_kept else self._removed.objects
        if objects and (found := self._object_verdict(objects, owner, path, node)) is not None:
            self._depends_on_others = True
            return found
        return super()._node_verdict(owner, path, node, attribute)

    def _object_verdict(
        self, objects: Mapping[tuple[str, str], Verdict], owner: Item | None, path: str, node: int
    ) -> Verdict | None:
        """The verdict on an element of an object that is not in the world any more; None for all other elements."""
        row = self._find_row(owner, path)
        field = "actuators" if row is not None and row.owner == "actuator" else row.name if row is not None else ""
        stated, _ = self.objects.object_of(node)
        if stated == "equalities":
            field = stated
        if not any(field == one for one, _ in objects):
            return None
        for name in self._names_of_objects(field, node):
            if (verdict := objects.get((field, name))) is not None:
                self.found_objects.add((field, name))
                return verdict
        return None

    def _names_of_objects(self, field: str, node: int) -> Iterator[str]:
        """The names that the object in an element may have in the scene."""
        stated, named = self.objects.object_of(node)
        if stated == field:
            yield named
        if field in LISTED:
            yield from self.objects.listed_names(field, node)
        for one in takewhile(lambda one: one not in self.items, self.outline.ancestry(node)[::-1]):
            yield from filter(None, (self.document.attribute_text(one, name) for name in ("name", "joint", "tendon")))
            if not self.source.is_xml:
                yield self.document.path_of(one).rpartition("/")[2]

    def fates(self) -> list[NodeFate]:
        """All fates of nodes, and then the losses of values without one."""
        found = super().fates()
        return found if self.number else [*found, *self._lost_edits(found)]

    def _lost_edits(self, found: Sequence[NodeFate]) -> list[NodeFate]:
        written = {place: item for item, place in _places(self.scene)}
        places = {id(item): place for item, place in _places(self._edited)}
        asked = frozenset(self._asked)
        known = {key[0] for key in asked}
        made: list[NodeFate] = []
        for edit in _edits(self._changes):
            place = places.get(id(edit.item))
            item = written.get(place) if place is not None else None
            if place is None or item is None or type(item) is not type(edit.item):  # not selected, or lowered
                continue
            parts = [part for part in edit.parts or ("",) if (id(item), edit.field, part) not in asked]
            if edit.field and not parts:
                continue
            stated = tuple(part for part in parts if part)
            verdict = self.field_verdict(item, edit.field, stated) if edit.field else self._item_verdict(item)
            if verdict.loss and (id(item) in known or not self._is_reported(item, verdict, found)):
                made.append(self._edit_fate(edit._replace(item=item, parts=stated), place, verdict))
        return made

    def _item_verdict(self, item: Item) -> Verdict:
        """The verdict on a new item with all its values."""
        own = self.field_verdict(item, "")
        if own.loss:
            return own
        stated = [name for name in FIELDS[type(item)] if getattr(item, name) not in (None, (), [], "")]
        lost = [name for name in stated if self.field_verdict(item, name).loss]
        return in_part(lost) if lost else own

    def _is_reported(self, item: Item, verdict: Verdict, found: Sequence[NodeFate]) -> bool:
        """Whether a node of an item has this loss: the fates of repeated elements are copied."""
        if item.node < 0 or item.document != 0:
            return False
        inside = range(item.node, self.outline.ends[item.node])
        return any(one.loss and one.node in inside and not one.file and one.why == verdict.why for one in found)

    def _edit_fate(self, edit: _FieldEdit, place: ScenePlace, verdict: Verdict) -> NodeFate:
        item, field = edit.item, "/".join((edit.field, *edit.parts)) if edit.parts else edit.field
        line = self.document.lines([item.node])[0] if item.node >= 0 and item.document == 0 else 0
        names = qualified_name(*map(str, place[1:]))
        path = f"{type(item).__name__.lower()}:{names}" + (f".{field}" if field else "")
        is_seen = isinstance(item, Marker) or id(item) in self.related.visual_shapes
        affects_motion = not is_seen and edit.field not in _WITHOUT_MOTION
        return NodeFate(line, path, verdict.fate, verdict.why, loss=True, affects_motion=affects_motion)


def _at_places(scene: Scene, other: Scene, wanted: Set[int]) -> Iterator[tuple[int, Item]]:
    """The items of another scene at the places of items with some ids, with these ids."""
    places = {place: id(item) for item, place in _places(scene) if id(item) in wanted} if wanted else {}
    yield from ((places[place], item) for item, place in _places(other) if place in places)


def _states_any(joint: Joint, parts: Sequence[str]) -> bool:
    """Whether a joint has values of its degrees of freedom that are not the defaults."""
    return joint._dofs is not None and any(
        getattr(dof, part) != getattr(_DEFAULT_DOF, part) for dof in joint.dofs for part in parts
    )


_DEFAULT_DOF = Dof()


def _places(scene: Scene) -> Iterator[tuple[Item, ScenePlace]]:
    for number, world in enumerate(scene.worlds):
        yield world, (number, world.name)
        for model in world.models:
            yield model, (number, model.name)
            for joint in model.joints:
                yield joint, (number, model.name, joint.name)
            for body in model.bodies:
                yield body, (number, model.name, body.name)
                for name in CHILD_LISTS[Body]:
                    for index, part in enumerate(getattr(body, name)):
                        yield part, (number, model.name, body.name, item_name(part) or f"{name}{index}")


# --- edits ---------------------------------------------------------------------------------------------


def _edits(changes: Changes) -> Iterator[_FieldEdit]:
    for source, item in changes.edited:
        for field in changed_fields(source, item):
            parts = _changed_parts(source, item, field)
            if parts is not None:
                yield _FieldEdit(item, field, parts)
    for added in changes.added:
        yield from (_FieldEdit(item) for item in _with_content(added.item))


def _with_content(item: Item) -> Iterator[Item]:
    yield item
    for name in CHILD_LISTS.get(type(item), ()):
        for part in getattr(item, name):
            yield from _with_content(part)


def _changed_parts(source: Item, item: Item, field: str) -> Sequence[str] | None:
    """The parts of a field that have other values; empty if it has none, None if nothing of it can be lost."""
    before, after = getattr(source, field), getattr(item, field)
    match field:
        case "dofs":
            return _changed_dofs(before, after)
        case "drives":
            return list(_changed_drives(before, after))
        case "state":
            return _different(before or BodyState(), after or BodyState(), BodyState.__struct_fields__) or None
        case "material":
            return _different(before or Material(), after or Material(), Material.__struct_fields__) or None
    if isinstance(after, list) and not after:
        return None
    if field in _NAMED:
        return [one.name for one in after if one not in before] or None
    return ()


def _different(one: object, other: object, names: Sequence[str]) -> list[str]:
    return [name for name in names if getattr(one, name) != getattr(other, name)]


def _changed_dofs(before: Sequence[Dof], after: Sequence[Dof]) -> list[str] | None:
    known = before if len(before) == len(after) else [Dof() for _ in after]
    changed = {name for one, other in zip(known, after, strict=True) for name in _different(one, other, DOF_FIELDS)}
    return sorted(changed) or None


def _changed_drives(before: Sequence[Drive], after: Sequence[Drive]) -> Iterator[str]:
    """The parameters of axes; a name without a number is that of the first axis."""
    for number, drive in enumerate(after, 1):
        known = before[number - 1] if number <= len(before) else Drive()
        for name in _different(known, drive, Drive.__struct_fields__):
            yield name if number == 1 else f"{name}/{number}"
