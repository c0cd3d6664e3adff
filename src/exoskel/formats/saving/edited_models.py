"""Reads an edited document again by its edited models alone.

The other models have the bytes that they were read from, and a model of a format such as SKEL is read independently of
the others.  So they are taken from the reading before the edit, and the edited ones are read in a document without the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy

import numpy as np
from msgspec import Struct, structs

from exoskel.formats.saving.changes import Changes
from exoskel.scene.edit_tracking import TrackedList
from exoskel.scene.fields import iter_items
from exoskel.scene.item import Item, NameIndex
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.embedded_format import might_contain_embedded_data
from exoskel.source.positions import Span
from exoskel.source.splice import Patch

_MANY_MODELS = 100
"""The number of models from which reading them all takes longer than finding out which ones were edited."""
_LARGEST_SHARE = 0.5
"""The largest share of edited models for which the others are not read again."""


class PartialReading(Struct, frozen=True):
    """The scene of an edited document, and its edited models, which are all that was read again."""

    scene: Scene
    models: Sequence[Model]


def reread_edited_models(
    base: Scene, changes: Changes, patch: Patch, edited: Document, read: Callable[[bytes], Scene]
) -> PartialReading | None:
    """Read `edited`, which is what `patch` makes of the document of `base`.

    None if it has to be read as a whole: if something else than values of items in models was edited, if elements were
    added or removed, if a reading has diagnostics, or if there is embedded data.
    """
    models = _edited_models(base, changes)
    if not models or not _has_one_encoding(patch.document) or might_contain_embedded_data(edited.data):
        return None
    spans = [patch.elements.span(model.node) for model in models]
    moved = _moved_spans(spans, patch)
    if moved is None:
        return None
    first, last = (patch.elements.span(base.worlds[0].models[i].node) for i in (0, -1))
    growth = len(edited.data) - len(patch.document.data)
    inside = [edited.data[span.start : span.end] for span in moved]
    part = read(edited.data[: first.start] + b"".join(inside) + edited.data[last.end + growth :])
    if part.diagnostics or part.extensions or len(part.worlds) != 1 or len(part.world.models) != len(models):
        return None
    sizes = [int(np.searchsorted(patch.scan.starts, s.end)) - m.node for m, s in zip(models, spans, strict=True)]
    if not _are_whole_elements(part, first.start, inside, sizes):
        return None
    for model, found in zip(models, part.world.models, strict=True):
        _renumber(found, model.node - found.node)
    replaced = dict(zip(map(id, models), part.world.models, strict=True))
    return PartialReading(_with_models(base, replaced, edited), part.world.models)


def _are_whole_elements(part: Scene, start: int, texts: Sequence[bytes], sizes: Sequence[int]) -> bool:
    """Whether the texts, which follow each other from `start`, are the elements of the models, of these sizes.

    Each then is well-formed on its own.  The sizes are numbers of elements: without a change, all elements of the
    document keep their numbers.
    """
    document, nodes = _document(part), [model.node for model in part.world.models]
    ends = document.outline.ends
    if [ends[node] - node for node in nodes] != list(sizes):
        return False
    expected = np.cumsum([start, *map(len, texts[:-1])])
    return bool((document.scan.starts[nodes] == expected).all())


def _edited_models(base: Scene, changes: Changes) -> list[Model]:
    """The models of the source with edited values; none if there are other edits, or not much would be gained."""
    if base.diagnostics or base.extensions or len(base.worlds) != 1 or changes.added or changes.removed:
        return []
    if any(isinstance(source, World | Model) for source, _ in changes.edited):
        return []
    models = base.worlds[0].models
    found = [model for model in models if id(model) in changes.models]
    is_worthwhile = len(models) >= _MANY_MODELS and len(found) <= _LARGEST_SHARE * len(models)
    nodes = [model.node for model in models]
    return found if is_worthwhile and nodes[0] >= 0 and nodes == sorted(set(nodes)) else []


def _has_one_encoding(document: Document) -> bool:
    """Whether the bytes that are scanned are those of the document."""
    return document.encoding.scannable and not document.encoding.mark


def _moved_spans(spans: Sequence[Span], patch: Patch) -> list[Span] | None:
    """The spans of elements after the edit; None if something outside of them was edited."""
    found: list[Span] = []
    splices = sorted(patch.splices, key=lambda splice: splice[:2])
    at = shift = 0
    for span in spans:
        start = span.start + shift
        while at < len(splices) and splices[at][1] <= span.end:
            begin, end, piece = splices[at]
            if begin <= span.start or end >= span.end:
                return None
            shift += len(piece) - (end - begin)
            at += 1
        found.append(Span(start, span.end + shift))
    return found if at == len(splices) else None


def _document(scene: Scene) -> Document:
    document = scene.documents[0]
    assert isinstance(document, Document)
    return document


def _renumber(model: Model, offset: int) -> None:
    """Add an offset to the numbers of the elements of all items of a model."""
    for item in _all_items(model):
        if item.node >= 0:
            item.node += offset


def _all_items(model: Model) -> Iterator[Item]:
    for item, _, _ in iter_items(Scene([World(models=[model])])):
        if isinstance(item, World):
            continue
        yield item
        if isinstance(item, Joint):
            yield from item._dofs or ()
    yield from (body.soft for body in model.bodies if body.soft is not None)


def _with_models(base: Scene, replaced: dict[int, Model], document: Document) -> Scene:
    """The scene of another document, with other models in place of those with some ids."""
    world = copy(base.worlds[0])
    world._index = NameIndex()
    world.models = TrackedList(replaced.get(id(model), model) for model in world.models)
    return structs.replace(base, worlds=[world], diagnostics=[], documents=[document])
