"""Writes a scene as the document that it was read from, with the values that were edited since.

Such a document also says what a scene does not contain.  An edited one is read back and compared with the scene.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set

import numpy as np
from msgspec import Struct, structs

from exoskel.fates import Fate, Verdict
from exoskel.formats.inserted_items import COLLISION_RULES, changes_after_insertion
from exoskel.formats.interface import Format, NodeKey, SourceCopy
from exoskel.formats.saving.changes import Changes, SourceChanges, changed_fields
from exoskel.formats.saving.verification import TOLERANCE, Match, match
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import (
    Difference,
    comparable_value,
    iter_items,
    relative_difference,
    transform_differences,
)
from exoskel.scene.item import Item
from exoskel.scene.joint import PLANES, Joint
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


def _edited(
    scene: Scene, changes: SourceChanges, copied: SourceCopy, format: Format, read: ReadCopy, output: OutputContext
) -> CopiedSource | None:
    document = scene.documents[0]
    base, found = changes.base, changes.changes
    if base is None or found is None or not isinstance(document, Document):
        return None
    require_valid(scene)
    if copied.inserted:  # elements have other numbers
        again = read(copied.data)
        items = _same_items(base, again)
        if items is None:
            return None
        base, found = again, _changes_of(found, items)
    whole = Document(copied.data, document.name, document.location)
    start = _with_new_items(_EditedDocument(whole, base, found), scene, format, read, output)
    result = _edit_until_same(start, scene, format, read) if start is not None else None
    if start is None or result is None:
        return None
    edited, matched, native = result
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
    )
    return CopiedSource(made, native, counterparts)


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
    return _EditedDocument(document, again, changes, made.source_numbers, made.fates, made.removed)


def _edit_until_same(
    start: _EditedDocument, scene: Scene, format: Format, read: ReadCopy
) -> tuple[SourceCopy, Match, Scene] | None:
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

    def is_derived(difference: Difference) -> bool:
        one, source = difference.one, changes.sources.get(id(difference.one))
        if isinstance(one, World) and (difference.field in changes.derived or _is_without_unknown(one, difference)):
            return True
        if id(one) in changes.moved and difference.field in _PLACES:
            return True
        if id(one) in regrouped and difference.field == "pose":
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


def _is_without_unknown(world: World, difference: Difference) -> bool:
    """Whether the difference is that items are missing which refer to removed bodies."""
    known = copy_world(world)
    known.drop_dangling_references()
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
    if one.kind == other.kind and difference.field in _FORMS:
        return _move_alike(one, other)
    return other.kind == "weld" and other.implicit


def _move_alike(one: Joint, other: Joint) -> bool:
    """Whether two joints of the same kind move along the same axes, which may be stated in another form."""
    if one.kind == "euler" or not (one.axes or one.kind in _IN_PLANES):
        return one.pose == other.pose and (one.kind != "euler" or one.order == other.order)
    frames = [joint.pose.matrix() for joint in (one, other)]
    axes = [np.array(PLANES.get(j.plane, j.axes) if j.kind in _IN_PLANES else j.axes) for j in (one, other)]
    turned = [own @ frame[:3, :3].T for own, frame in zip(axes, frames, strict=True)]
    if turned[0].shape != turned[1].shape or one.pitch != other.pitch:
        return False
    places = [frame[:3, 3] for frame in frames]
    return max(float(np.abs(np.subtract(*pair)).max()) for pair in (turned, places)) <= TOLERANCE


_FORMS = ("pose", "axes", "plane", "order")
"""Fields of a joint that state its axes, if its kind has any."""
_NUMBERED = re.compile("_[0-9]+")
"""What follows the name of a shape if another one has the name."""
_IN_PLANES = frozenset({"planar", "translational2d"})
"""Kinds of joints whose axes may be stated as the name of a plane."""
