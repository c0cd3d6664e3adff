"""The fates of values that were edited since a document was read, and that the document does not state.

Fates are those of nodes.  A value that was set in Python has no node if it was absent or a default before: its loss
would be silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from exoskel.conversion.node_fates import FateRecorder
from exoskel.conversion.output_fates import LISTED, in_part
from exoskel.fates import NodeFate, Verdict
from exoskel.formats.saving.changes import Changes, changed_fields
from exoskel.scene.body import Body, BodyState, Marker
from exoskel.scene.fields import CHILD_LISTS, DOF_FIELDS, FIELDS
from exoskel.scene.item import Item, item_name, qualified_name
from exoskel.scene.joint import Dof, Drive
from exoskel.scene.shape import Material
from exoskel.scene.world import Scene

_NAMED = (*LISTED, "actuators")
"""Fields of a world that list objects by name, which have fates of their own."""
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

    def note_edits(self, scene: Scene, changes: Changes) -> None:
        """Note how the scene that is converted differs from what was read."""
        self._edited, self._changes = scene, changes
        self._asked: set[tuple[int, str, str]] = set()
        """The parts of the fields of items, by id, that nodes state."""

    def field_verdict(self, item: Item, field: str, parts: Sequence[str] = ()) -> Verdict:
        self._asked.update((id(item), field, part) for part in parts or ("",))
        return super().field_verdict(item, field, parts)

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
