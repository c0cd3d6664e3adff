"""Moves the elements of bodies that got another parent into those of their new parents.

The content of an element moves with it as it is written.  Keyframes get the order that their numbers have then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from exoskel.formats.interface import ReadOptions
from exoskel.formats.mjcf.joint_edits import body_around
from exoskel.formats.mjcf.model.coordinates import SIZES
from exoskel.formats.mjcf.reader.complete_document import compile_complete, state_elements
from exoskel.formats.mjcf.shape_edits import CannotEditError
from exoskel.formats.saving.changes import Changes
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.markup import RAW_TAG, Markup
from exoskel.source.positions import Elements
from exoskel.source.splice import Patch

_GENERATORS = frozenset({"replicate", "composite", "attach", "flexcomp"})
"""Elements that copy what is in them, or make other elements of it."""
_WORLDBODY = "worldbody"
_LISTS = ("qpos", "qvel", "mpos", "mquat")
_KeyframeColumns = dict[str, dict[tuple[int, int], range]]
"""The numbers in the lists of keyframes, by an element and the number of its copy."""


class MovedBody(Struct, frozen=True):
    """The element of a body, and the one that contains it in the edited scene."""

    node: int
    owner: int


def find_moved(document: Document, changes: Changes, replaced: Sequence[tuple[Item, Item]]) -> list[MovedBody]:
    """The bodies whose joints got another parent; `replaced` are joints in place of others."""
    tags, ends = document.outline.tags, document.outline.ends
    world = max((node for node, tag in enumerate(tags) if tag == _WORLDBODY), default=-1)
    found: list[MovedBody] = []
    for source, item in (*changes.edited, *replaced):
        if not isinstance(source, Joint) or not isinstance(item, Joint) or source.loop or item.loop:
            continue
        parent = None if item.parent is None else changes.sources.get(id(item.parent))
        if parent is source.parent or changes.sources.get(id(item.child)) is not source.child:
            continue
        if (item.parent is not None and parent is None) or source.child.document != 0 or (parent and parent.document):
            raise CannotEditError
        node, owner = source.child.node, world if parent is None or parent.node < 0 else parent.node
        if owner < 0 or node <= 0 or tags[node] != "body" or tags[owner] not in ("body", _WORLDBODY):
            raise CannotEditError
        above = {tags[one] for side in (node, owner) for one in document.outline.ancestry(side)}
        if above & _GENERATORS or node <= owner < ends[node]:
            raise CannotEditError
        if owner != body_around(document, node):
            found.append(MovedBody(node, owner))
    return found


def kept_classes(document: Document, moved: Sequence[MovedBody], main: str) -> dict[tuple[int, str], str]:
    """The default classes that moved elements have to state to keep theirs; `main` is the class of all others."""
    found: dict[tuple[int, str], str] = {}
    for one in moved:
        before, after = _inherited_class(document, one.node), _class_inside(document, one.owner)
        if before != after and not document.attribute_text(one.node, "childclass"):
            found[one.node, "childclass"] = before or main
    return found


def _class_inside(document: Document, node: int) -> str:
    """The default class of what is in an element."""
    return document.attribute_text(node, "childclass") or _inherited_class(document, node)


def _inherited_class(document: Document, node: int) -> str:
    """The default class that the elements around one state for it."""
    above = document.outline.parents[node]
    while above > 0:
        if stated := document.attribute_text(above, "childclass"):
            return stated
        above = document.outline.parents[above]
    return ""


def move_bodies(
    data: bytes, numbers: Sequence[int], moved: Sequence[MovedBody], base: Scene
) -> tuple[bytes, list[int]]:
    """A document with its bodies in other places, and the elements of the source by those of the result.

    `numbers` are the elements of the source by those of `data`; `moved` are elements of the source.
    """
    found = list(numbers)
    for one in moved:
        document = Document(data)
        data, order = _move(document, found.index(one.node), found.index(one.owner))
        data = _with_keyframes(Document(data), document, order, base)
        found = [found[node] for node in order]
    return data, found


def _move(document: Document, node: int, owner: int) -> tuple[bytes, list[int]]:
    """The document with an element as the last child of another one, and its former numbers."""
    outline, patch = document.outline, Patch(document)
    span = Elements(document.scan).span(node)
    text = document.text[span.start : span.end].decode(document.scan.codec).replace("\r\n", "\n")
    last, child = -1, owner + 1
    while child < outline.ends[owner]:
        last, child = child if child != node else last, outline.ends[child]
    patch.insert(owner, Markup(RAW_TAG, verbatim=text), last)
    patch.remove(node)
    inside = range(node, outline.ends[node])
    order = [one for one in range(len(outline.tags)) if one not in inside]
    place = order.index(owner) + 1
    while place < len(order) and order[place] < outline.ends[owner]:
        place += 1
    return patch.apply(), [*order[:place], *inside, *order[place:]]


# --- keyframes ---------------------------------------------------------------------------------------------


def _with_keyframes(document: Document, former: Document, order: Sequence[int], base: Scene) -> bytes:
    """The data of a document with the numbers of its keyframes in its own order; `former` had another one."""
    keys = [node for node, tag in enumerate(document.outline.tags) if tag == "key"]
    if not any(document.attribute_text(node, name) for node in keys for name in _LISTS):
        return document.data
    bare = Patch(document)
    for node in keys:
        for name in _LISTS:
            bare.remove_attribute(node, name)
    mine, theirs = _columns(former, None, base), _columns(Document(bare.apply()), order, base)
    patch = Patch(document)
    for node in keys:
        for name in _LISTS:
            numbers = document.attribute_text(node, name).split()
            if not numbers:
                continue
            if mine[name].keys() != theirs[name].keys() or len(numbers) != sum(map(len, mine[name].values())):
                raise CannotEditError
            places = sorted(theirs[name], key=lambda key: theirs[name][key].start)
            moved = " ".join(numbers[place] for key in places for place in mine[name][key])
            if moved != " ".join(numbers):
                patch.set_attribute(node, name, moved)
    return patch.apply() if patch else document.data


def state_lists(document: Document) -> list[tuple[int, str]]:
    """The lists of keyframes that may get another order, as elements and attributes."""
    return [(node, name) for node, tag in enumerate(document.outline.tags) if tag == "key" for name in _LISTS]


def _columns(document: Document, order: Sequence[int] | None, base: Scene) -> _KeyframeColumns:
    """The places of numbers in keyframes, by elements: those of another document if its `order` is given."""
    source = base.documents[0]
    assert isinstance(source, Document)
    compiled = compile_complete(Document(document.data, source.name, source.location), ReadOptions.of(base))
    if compiled is None:
        raise CannotEditError
    model: Any = compiled.model
    found: dict[str, list[tuple[int, range]]] = {name: [] for name in _LISTS}
    for kind, node, position, speed in zip(
        compiled.types, state_elements(compiled, document).joints, model.jnt_qposadr, model.jnt_dofadr, strict=True
    ):
        found["qpos"].append((node, range(int(position), int(position) + SIZES[kind][0])))
        found["qvel"].append((node, range(int(speed), int(speed) + SIZES[kind][1])))
    for body, number in enumerate(model.body_mocapid.tolist()):
        if number >= 0:
            node = compiled.bodies.node(body)
            found["mpos"].append((node, range(3 * number, 3 * number + 3)))
            found["mquat"].append((node, range(4 * number, 4 * number + 4)))
    return {name: dict(_by_copies(pairs, order)) for name, pairs in found.items()}


def _by_copies(
    pairs: Sequence[tuple[int, range]], order: Sequence[int] | None
) -> Iterator[tuple[tuple[int, int], range]]:
    copies: Counter[int] = Counter()
    for node, places in pairs:
        own = node if order is None or node < 0 else order[node]
        yield (own, copies[own]), places
        copies[own] += 1
