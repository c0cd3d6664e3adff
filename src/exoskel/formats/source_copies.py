"""Writes a scene as the document that it was read from, with the values that were edited since.

Such a document also says what a scene does not contain.  An edited one is read back and compared with the scene.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set

from msgspec import Struct, structs

from exoskel.fates import Fate, Verdict
from exoskel.formats.inserted_items import COLLISION_RULES, changes_after_insertion
from exoskel.formats.interface import Format, NodeKey, SourceCopy
from exoskel.formats.joint_frames import FORMS, ROTATING, move_alike
from exoskel.formats.saving.changes import AddedItem, Changes, SourceChanges, changed_fields
from exoskel.formats.saving.verification import TOLERANCE, Match, match
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import (
    DOF_FIELDS,
    Difference,
    comparable_value,
    dof_rows,
    iter_items,
    relative_difference,
    transform_differences,
)
from exoskel.scene.item import Item, qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.merge import copy_world
from exoskel.scene.model import Model
from exoskel.scene.pose import pose_matrices
from exoskel.scene.shape import Shape
from exoskel.scene.validation import require_valid
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.output_context import OutputContext

ReadCopy = Callable[[bytes], Scene]


class CopiedSource(Struct, frozen=True):
    """A copy of a document, the scene that was read back from it, and the items in that by the ids of those written."""

    copy: SourceCopy
    native: Scene
    counterparts: dict[int, Item]


def copy_of_source(
    scene: Scene, changes: SourceChanges | None, format: Format, output: OutputContext, read: ReadCopy
) -> CopiedSource | None:
    """The document of a scene as a new document; None if it cannot be used.

    `read` reads a document in the folder of the output.
    """
    capabilities = format.capabilities()
    copier = capabilities.copy_source
    if changes is None or copier is None or output.target not in capabilities.copy_targets:
        return None
    if scene.source_info.format != format.name or (changes and capabilities.edit_source is None):
        return None
    forget_files = output.mark_files()
    copied = copier(scene, output)
    found = None
    if copied is not None:
        found = _edited(scene, changes, copied, format, read, output) if changes else _unedited(scene, copied, read)
    if found is not None and capabilities.adapt_copy is not None:
        found = _adapted(found, capabilities.adapt_copy(found.copy, scene, output), read)
    if found is None:  # a new document may have others
        forget_files()
    return found


def _unedited(scene: Scene, copied: SourceCopy, read: ReadCopy) -> CopiedSource | None:
    counterparts = _same_items(scene, native := read(copied.data))
    return None if counterparts is None else CopiedSource(copied, native, counterparts)


def _adapted(found: CopiedSource, adapted: SourceCopy, read: ReadCopy) -> CopiedSource | None:
    """A copy that was adapted to a program; None if it is not the same scene."""
    if adapted is found.copy:
        return found
    native = read(adapted.data)
    items = _same_items(found.native, native)
    if items is None:
        return None
    counterparts = {key: items[id(item)] for key, item in found.counterparts.items()}
    return CopiedSource(adapted, native, counterparts)


def _same_items(scene: Scene, other: Scene) -> dict[int, Item] | None:
    """The items of another reading by the ids of those of a scene; None if they differ in number or type."""
    mine, theirs = ([item for item, _, _ in iter_items(one)] for one in (scene, other))
    if [type(item) for item in mine] != [type(item) for item in theirs]:
        return None
    return {id(item): other for item, other in zip(mine, theirs, strict=True)}


# --- edited scenes -------------------------------------------------------------------------------------


class _EditedDocument(Struct, frozen=True):
    """A document, the scene that was read from it, and what was edited since.

    `numbers` are the elements in the source, with the content of included files, by those of the document: -1 for new
    ones, None if all are the same.
    """

    document: Document
    base: Scene
    changes: Changes
    numbers: Sequence[int] | None = None
    fates: Mapping[NodeKey, Verdict] = {}
    """The fates of what has new values, by the elements of the source."""
    removed: Set[int] = frozenset()
    """The elements of the source that are not in the document."""
    moved: Set[int] = frozenset()
    """Those that are in other elements."""


def _edited(
    scene: Scene, changes: SourceChanges, copied: SourceCopy, format: Format, read: ReadCopy, output: OutputContext
) -> CopiedSource | None:
    document = scene.documents[0]
    base, found = changes.base, changes.changes
    if base is None or found is None or not isinstance(document, Document):
        return None
    found = _with_same_welds(found)
    require_valid(scene)
    if copied.inserted:  # elements have other numbers
        again = read(copied.data)
        items = _same_items(base, again)
        if items is None:
            return None
        base, found = again, _changes_of(found, items)
    whole = Document(copied.data, document.name, document.location)
    tried = _edited_document(_EditedDocument(whole, base, found), scene, format, read, output)
    if tried is None and (expanded := _with_copies(_EditedDocument(whole, base, found), format, read)) is not None:
        tried = _edited_document(expanded, scene, format, read, output)
    if tried is None:
        return None
    start, (edited, matched, native) = tried
    counterparts = {id(item): other for item, other in matched.pairs}
    numbers = _original_numbers(document, copied, len(whole.outline.tags))
    edited = _numbered_as_source(edited, start)
    own = {_original(key, numbers): fate for key, fate in edited.fates.items()}
    fates = {**copied.fates, **own}
    fates |= {key: fate for key, fate in copied.fates.items() if (key[0], "") in copied.fates}  # included content
    fates |= _fates_of_includes(copied, edited, numbers)
    own_numbers = edited.source_numbers if edited.source_numbers is not None else range(len(numbers))
    source_numbers = [numbers[node] if node >= 0 else -1 for node in own_numbers]
    made = SourceCopy(
        edited.data,
        fates,
        copied.inserted,
        is_edited=True,
        source_numbers=source_numbers,
        inserted_numbers=own_numbers,
        removed=edited.removed,
        moved=edited.moved,
    )
    return CopiedSource(made, native, counterparts)


_Edited = tuple[SourceCopy, Match, Scene]
"""A document with edited values, and the scene that is read from it."""


def _edited_document(
    first: _EditedDocument, scene: Scene, format: Format, read: ReadCopy, output: OutputContext
) -> tuple[_EditedDocument, _Edited] | None:
    """The document with what was added to a scene, and that with edited values; None if a new document is needed."""
    start = _with_new_items(first, scene, format, read, output)
    result = _edit_until_same(start, scene, format, read) if start is not None else None
    return None if start is None or result is None else (start, result)


def _with_copies(start: _EditedDocument, format: Format, read: ReadCopy) -> _EditedDocument | None:
    """The document with elements for the copies that it counts, if there are such and some were edited."""
    expand = format.capabilities().expand_copies
    made = expand(start.document, start.changes) if expand is not None else None
    if made is None or made.source_numbers is None:
        return None
    again = read(made.data)
    items = _same_items(start.base, again)
    if items is None or match(start.base, again).problem:
        return None
    document = Document(made.data, start.document.name, start.document.location)
    changes = _changes_of(start.changes, items)
    return _EditedDocument(document, again, changes, made.source_numbers, made.fates, made.removed, made.moved)


def _with_same_welds(changes: Changes) -> Changes:
    """The changes without welds in place of those that no element states: these are the same."""
    gone = {id(one.child): one for one in changes.removed if isinstance(one, Joint) and one.implicit}
    same: list[tuple[Item, AddedItem]] = []
    for one in changes.added if gone else ():
        joint = one.item
        if not isinstance(joint, Joint) or joint.kind != "weld" or joint.loop:
            continue
        source = gone.get(id(changes.sources.get(id(joint.child))))
        parent = None if joint.parent is None else changes.sources.get(id(joint.parent))
        if source is not None and source.kind == "weld" and source.parent is parent:
            same.append((source, one))
    if not same:
        return changes
    welds, items = {id(source) for source, _ in same}, {id(one) for _, one in same}
    return structs.replace(
        changes,
        added=[one for one in changes.added if id(one) not in items],
        removed=[one for one in changes.removed if id(one) not in welds],
        edited=[*changes.edited, *((s, one.item) for s, one in same if changed_fields(s, one.item))],
        sources={**changes.sources, **{id(one.item): source for source, one in same}},
    )


def _with_new_items(
    start: _EditedDocument, scene: Scene, format: Format, read: ReadCopy, output: OutputContext
) -> _EditedDocument | None:
    """The document with what was added to a scene; None if a new document is needed."""
    insert = format.capabilities().insert_items
    if insert is None:
        return start
    made = insert(start.document, start.base, scene, start.changes, output)
    if made is None or made.data == start.document.data or made.source_numbers is None:
        return start if made is not None else None
    again = read(made.data)
    changes = changes_after_insertion(
        start.changes,
        start.base,
        again,
        scene,
        made.source_numbers,
        is_rotated=output.rotation is not None,
        replaced_items=made.replaced_items,
    )
    if changes is None:
        return None
    document = Document(made.data, start.document.name, start.document.location)
    whole = _numbered_as_source(made, start)
    return _EditedDocument(document, again, changes, whole.source_numbers, whole.fates, whole.removed, whole.moved)


def _edit_until_same(start: _EditedDocument, scene: Scene, format: Format, read: ReadCopy) -> _Edited | None:
    """The document with the edited values, and the scene that is read from it; None if it is another one."""
    edit = format.capabilities().edit_source
    restated: set[int] = set()
    for _ in range(_MOST_ROUNDS if edit is not None else 0):
        edited = edit(start.document, start.base, scene, start.changes, restated) if edit is not None else None
        if edited is None:
            return None
        native = read(edited.data)
        matched = _match_without_empty_models(scene, native)
        _accept_derived_values(matched, start.changes)
        if not matched.problem:
            return edited, matched, native
        more = {id(one.one) for one in matched.differences if one.field in _RESTATED} - restated
        if matched.failure or not more:
            return None
        restated |= more
    return None


def _match_without_empty_models(scene: Scene, native: Scene) -> Match:
    """Compare a scene with the one that was read back; models without bodies have no elements."""
    empty = {id(model) for world in scene.worlds for model in world.models if not model.bodies}
    matched = match(scene, native, empty)
    matched.lost = [one for one in matched.lost if id(one[0]) not in empty]
    return matched


def _numbered_as_source(edited: SourceCopy, start: _EditedDocument) -> SourceCopy:
    """An edited document with the numbers of the elements before new ones were inserted, and the fates of that."""
    numbers = start.numbers
    if numbers is None:
        return edited
    own = edited.source_numbers if edited.source_numbers is not None else range(len(numbers))
    fates = {(numbers[node], name): fate for (node, name), fate in edited.fates.items() if numbers[node] >= 0}
    removed = frozenset(numbers[node] for node in edited.removed if numbers[node] >= 0)
    return structs.replace(
        edited,
        fates={**start.fates, **fates},
        source_numbers=[numbers[node] if node >= 0 else -1 for node in own],
        removed=start.removed | removed,
        moved=start.moved | {numbers[node] for node in edited.moved if numbers[node] >= 0},
    )


def _fates_of_includes(copied: SourceCopy, edited: SourceCopy, numbers: list[int]) -> dict[NodeKey, Verdict]:
    """The fates of elements that include files of which something is removed: its own elements have none."""
    found: dict[NodeKey, Verdict] = {}
    for (node, name), fate in edited.fates.items():
        source = numbers[node]
        if name or fate.fate is not Fate.DROPPED or source not in copied.inserted:
            continue
        if fate.loss:
            found[source, ""] = Verdict(Fate.APPROXIMATED, f"in part: {fate.why}")
        else:
            found.setdefault((source, ""), Verdict(Fate.LOWERED, "replaced by what remains of the content of the file"))
    return found


_MOST_ROUNDS = 3
_PLACES = ("pose", "offset", "quaternion")
_RESTATED = ("inertia", "dofs")
"""Fields that may follow from others: they are stated if they would change."""


def _changes_of(changes: Changes, items: dict[int, Item]) -> Changes:
    """The same changes, relative to another reading of the source."""
    return structs.replace(
        changes,
        edited=[(items[id(source)], item) for source, item in changes.edited],
        removed=[items[id(item)] for item in changes.removed],
        sources={key: items[id(source)] for key, source in changes.sources.items()},
    )


def _original(key: NodeKey, numbers: list[int]) -> NodeKey:
    return numbers[key[0]], key[1]


def _original_numbers(document: Document, copied: SourceCopy, count: int) -> list[int]:
    """The numbers in the source of the elements of a copy; for included ones, of the element that includes them."""
    if not copied.inserted:
        return list(range(count))
    found: list[int] = []
    for node in range(len(document.outline.tags)):
        found += [node] * copied.inserted.get(node, 1)
    return found


def _accept_derived_values(matched: Match, changes: Changes) -> None:
    """Accept values that follow from other items, and that were not edited.

    These are names of models and of implied joints, and the form of the collision filter between other bodies.
    """

    regrouped = _same_places(matched)
    alike = _joints_in_other_frames(matched)
    renamed = {
        id(one): other.name for one, other in matched.pairs if isinstance(one, Model) and isinstance(other, Model)
    }

    def is_derived(difference: Difference) -> bool:
        one, source = difference.one, changes.sources.get(id(difference.one))
        if isinstance(one, World) and (
            difference.field in changes.derived or _is_without_unknown(one, difference, renamed)
        ):
            return True
        if id(one) in changes.moved and difference.field in _PLACES:
            return True
        if id(one) in regrouped and difference.field == "pose":
            return True
        if isinstance(one, Model) and difference.field == "static" and not one.dof_count:
            return True
        if difference.field == "name" and isinstance(difference.other, Joint) and difference.other.implicit:
            return True
        if id(one) in alike and difference.field in _MOTION:
            return True
        if isinstance(one, Joint) and difference.field == "solver" and not one.loop and one.mimic is None:
            return True  # of a constraint that was removed
        if difference.field == "keyframes" and _have_same_states(difference):
            return True
        if difference.field == "dofs" and _have_other_names_only(difference):
            return True
        if id(one) in changes.inserted and _is_same_when_new(difference):
            return True
        if source is None or difference.field in changed_fields(source, one):
            return False
        if isinstance(one, World):
            return difference.field in COLLISION_RULES and bool(changes.removed)
        is_named_after_others = isinstance(one, Model) or (isinstance(one, Joint) and one.implicit)
        is_named_after_others |= isinstance(one, Shape) and not one.name  # named to state which shapes collide
        return is_named_after_others and difference.field == "name"

    with no_edits():
        matched.differences = [one for one in matched.differences if not is_derived(one)]


def _same_places(matched: Match) -> set[int]:
    """The ids of models with other frames, and of their bodies, if all bodies are at the same places in the world."""
    others = {id(one): other for one, other in matched.pairs if isinstance(one, Model | Body)}
    found: set[int] = set()
    for one, other in matched.pairs:
        if not isinstance(one, Model) or not isinstance(other, Model) or one.pose == other.pose:
            continue
        pairs = [(body, others.get(id(body))) for body in one.bodies]
        there = [body for _, body in pairs if isinstance(body, Body)]
        if len(there) < len(pairs):
            continue
        mine = one.pose.matrix() @ pose_matrices([body.pose for body in one.bodies])
        theirs = other.pose.matrix() @ pose_matrices([body.pose for body in there])
        if transform_differences(mine, theirs).max(initial=0.0) <= TOLERANCE:
            found |= {id(one), *map(id, one.bodies)}
    return found


def _joints_in_other_frames(matched: Match) -> set[int]:
    """The ids of joints that are stated in another frame, or with other axes, and move alike."""
    fields: dict[int, set[str]] = {}
    for difference in matched.differences:
        fields.setdefault(id(difference.one), set()).add(difference.field)
    return {
        id(one)
        for one, other in ((difference.one, difference.other) for difference in matched.differences)
        if isinstance(one, Joint)
        and isinstance(other, Joint)
        and (fields[id(one)] & FORMS or one.kind != other.kind)
        and ("dofs" not in fields[id(one)] or one.kind in ROTATING)
        and move_alike(one, other, TOLERANCE)
    }


def _have_same_states(difference: Difference) -> bool:
    """Whether worlds have the same keyframes, of joints in another order."""
    worlds = (difference.one, difference.other)
    sides = [
        [keyframe.comparable(one.models, by_name=True) for keyframe in one.keyframes]
        for one in worlds
        if isinstance(one, World)
    ]
    return relative_difference(*sides) <= TOLERANCE


def _have_other_names_only(difference: Difference) -> bool:
    """Whether joints differ in the names of their coordinates only, which the scene does not state."""
    one, other = difference.one, difference.other
    assert isinstance(one, Joint) and isinstance(other, Joint)
    rows, others = dof_rows(one), dof_rows(other)
    name = DOF_FIELDS.index("name")
    if len(rows) != len(others) or any(row[name] and len(rows) > 1 for row in rows):
        return False
    pairs = ([(*row[:name], *row[name + 1 :]) for row in every] for every in (rows, others))
    return relative_difference(*pairs) <= TOLERANCE


def _is_without_unknown(world: World, difference: Difference, names: Mapping[int, str]) -> bool:
    """Whether the difference is that items are missing which refer to removed bodies, or that models have other names.

    `names` are those of the models in the document, by the ids of the models of the world.
    """
    known = copy_world(world)
    known.drop_dangling_references()
    if names:
        paths = {qualified_name(m.name): qualified_name(names[id(m)]) for m in world.models if id(m) in names}

        def in_document(path: str) -> str:
            model, slash, rest = path.partition("/")
            return paths.get(model, model) + slash + rest

        known.map_references(in_document, in_document)
        for copied, model in zip(known.models, world.models, strict=True):
            copied.name = names.get(id(model), model.name)
    if comparable_value(known, difference.field) == comparable_value(difference.other, difference.field):
        return True
    return (
        relative_difference(*(comparable_value(one, difference.field) for one in (known, difference.other)))
        <= TOLERANCE
    )


def _is_same_when_new(difference: Difference) -> bool:
    """Whether a difference of a new item means nothing.

    A shape without a colour has the default one of the document, and none collides if contacts are disabled.  Its name
    has a number if another shape has it.  The joints of static models are written as welds at their positions.
    Certificates compare collisions and places.
    """
    one, other = difference.one, difference.other
    if isinstance(one, Shape):
        if difference.field == "name":
            return isinstance(other, Shape) and _NUMBERED.fullmatch(other.name.removeprefix(one.name)) is not None
        return difference.field == "collidable" or (difference.field == "color" and one.color is None)
    if isinstance(one, Model | Body):  # the reader places bodies in the world, not in their model
        return difference.field == "pose"
    if not isinstance(one, Joint) or not isinstance(other, Joint):
        return False
    return other.kind == "weld" and other.implicit


_MOTION = FORMS | {"kind", "dofs"}
_NUMBERED = re.compile("_[0-9]+")
"""What follows the name of a shape if another one has the name."""
