"""Saves scenes, and reports what the saved file does not contain of the file that a scene was read from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from copy import copy

import numpy as np
from msgspec import structs

from exoskel.conversion.pipeline import Conversion
from exoskel.conversion.report import Report
from exoskel.diagnostics import Collector, Diagnostic, ExoskelError, Position
from exoskel.fates import Fate, NodeFate
from exoskel.formats.interface import Format
from exoskel.formats.save import save_document
from exoskel.formats.saving.patch import changes_since_reading
from exoskel.formats.saving.removed_parts import REMOVED, RemovedParts
from exoskel.formats.shared_codes import CATALOGUE
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.item import item_name
from exoskel.scene.merge import without_unknown_references
from exoskel.scene.world import Scene, SceneLike
from exoskel.source.document import Document
from exoskel.source.numbers import given_numbers
from exoskel.source.output_context import OutputContext

_NAME = "name"
_OF_SAVING = frozenset({"SC116", "FM201", "FM202", "FM203", "FM204"})
"""Diagnostics about a scene that is saved, not about its document."""


def save(
    scene: SceneLike, path: str | os.PathLike[str] | None = None, *, format: str | None = None, force: bool = False
) -> None:
    """Write a scene, world or model to a file, by default the one it was read from.

    In the format of its source, only the bytes of what was edited change.  A new document in canonical layout is
    written for another format, for a scene built by a program, and for a new file if the source's own text cannot be
    edited.  Either way the result is read back first.  Unless that gives the same scene, SaveError is raised and
    nothing is written.

    SKEL and XODE files hold everything.  Other files do not: an edited scene is written as a new document, as far as
    the format can express it, and FM201 is added to the scene's diagnostics.  What the source contains and the saved
    file does not is FM204, unless it was removed from the scene itself.  MJCF and URDF files are edited in place as far
    as possible.

    A file that another program has changed since it was read is not overwritten: FileChangedError is raised, unless
    `force` is set.  The same is true of files with macros and of included files that the scene comes from: SaveError is
    raised.  If the file has other names (hard links), these keep the old content, and FM202 is added to the scene's
    diagnostics.  Actuators in a SKEL or XODE file are embedded; FM203 states how other programs read them.
    """
    save_document(scene, path, format=format, force=force, find_losses=find_losses)


def find_losses(scene: Scene, format: Format, output: OutputContext) -> list[Diagnostic]:
    """What a new document of a scene does not contain of the document of the same format that it was read from."""
    source = scene.documents[0] if scene.documents else None
    if not isinstance(source, Document) or output.folder is None:
        return []
    known, _ = without_unknown_references(scene)
    known = copy(known)
    known.diagnostics = [one for one in known.diagnostics if one.code not in _OF_SAVING]
    conversion = Conversion(
        known, source, given_numbers(scene.documents), format, "portable", lower=False, up=None, meshes=output.meshes
    )
    path = output.folder / output.file_name
    with no_edits(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            report = conversion.report(known, conversion.write(known, path, may_copy=False))
        except (ExoskelError, ValueError):  # the document was written in another way
            return []
    lost_names = _lost_names(source, conversion, report)
    documents = {"": source} | {one.name: one for one in scene.documents[1:] if isinstance(one, Document)}
    lost = [*_outermost(report.items), *lost_names, *_lost_comments(report.items, documents)]
    lost.sort(key=lambda fate: (fate.file, fate.line))
    found: list[Diagnostic] = []
    for fate in lost:
        found += _diagnostics(fate, documents.get(fate.file, source))
    return found


def _lost_names(source: Document, conversion: Conversion, report: Report) -> Iterator[NodeFate]:
    """The names that no text of the output contains, except those of what was removed or renamed.

    The names of materials, filters and others are not in a scene.
    """
    changes = changes_since_reading(conversion.scene)
    if not conversion.format.is_xml or changes is None or changes.changes is None or changes.base is None:
        return
    objects = RemovedParts(changes.base, conversion.scene, changes.changes).objects
    edited = [before for before, after in changes.changes.edited if item_name(before) != item_name(after)]
    known = {name for _, name in objects} | {item_name(item) for item in edited}
    output = report.data.decode("utf-8", "replace")
    end = -1
    for fate in report.items:
        if fate.file or fate.node < end:  # in something that is reported or was removed
            continue
        if not fate.attribute and fate.fate is Fate.DROPPED:
            end = fate.end
        elif fate.attribute == _NAME and not fate.loss and fate.fate is not Fate.KEPT:
            name = source.attribute_text(fate.node, _NAME)
            if name not in known and name not in output:
                known.add(name)  # others refer to it
                yield structs.replace(fate, fate=Fate.DROPPED, why="the output has another name, or none", loss=True)


def _lost_comments(fates: Iterable[NodeFate], documents: Mapping[str, Document]) -> list[NodeFate]:
    """The comments that are not in the output, except those in elements that were removed from the scene."""
    removed: set[tuple[str, int]] = set()
    found: list[NodeFate] = []
    for fate in fates:
        if fate.path.startswith("comment[") and fate.fate is Fate.DROPPED:
            found.append(fate)
        elif fate.why == REMOVED.why and not fate.attribute and fate.file in documents:
            (last,) = documents[fate.file].lines([fate.end - 1])
            removed |= {(fate.file, line) for line in range(fate.line, last + 1)}
    return [fate for fate in found if (fate.file, fate.line) not in removed]


def _outermost(fates: Iterable[NodeFate]) -> Iterator[NodeFate]:
    """The losses that are not inside of others."""
    around: dict[str, NodeFate] = {}
    for fate in fates:
        outer = around.get(fate.file)
        is_inside = fate.node >= 0 and outer is not None and outer.contains(fate)
        if is_inside and outer is not None and (outer.fate is Fate.DROPPED or fate.why == outer.why):
            continue
        if fate.loss and not fate.attribute and fate.node >= 0:
            around[fate.file] = fate
        if fate.loss:
            yield fate


def _diagnostics(fate: NodeFate, document: Document) -> list[Diagnostic]:
    collector = Collector(CATALOGUE, document)
    key = "FM204.lost" if fate.fate is Fate.DROPPED else "FM204.approximated"
    position = Position(fate.line, 1, 1) if fate.node < 0 and fate.line else None
    collector.report(
        key, fate.node, attribute=fate.attribute, position=position, path=[fate.path], why=[fate.why or "not supported"]
    )
    return collector.diagnostics
