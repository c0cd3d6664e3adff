"""Saving a scene into the document it came from: only what was edited changes.

The scene is held against a new reading of its source.  Where an item differs, its canonical text before and after
the edit is compared, and what changed there is changed in the document.  The result is read again: unless it is
the scene that was to be saved, nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.formats import registry
from exoskel.formats.options import ReadOptions
from exoskel.formats.saving.carrying import Carrier, remove_ours
from exoskel.formats.saving.changes import Changes, compare
from exoskel.formats.saving.editor import Editor
from exoskel.formats.saving.errors import SaveError
from exoskel.formats.saving.verification import Match, match, settle
from exoskel.formats.saving.words import Words
from exoskel.scene.clock import CLOCK
from exoskel.scene.content import walk
from exoskel.scene.item import Item
from exoskel.scene.shape import Mesh, Shape
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.encoding import Irreversible
from exoskel.source.location import Location
from exoskel.source.output import Output
from exoskel.source.splice import Overlap, Patch


class Patched(Struct):
    """The bytes of an edited document, and what reading them gives (None: they are those of the source)."""

    data: bytes
    again: Scene | None = None
    match: Match | None = None


def unedited(scene: Scene) -> bool:
    """Whether nothing at all has been edited since the scene was read; costs nothing."""
    return scene.stamp >= 0 and scene.stamp == CLOCK.ticks


def patched(scene: Scene, target: Location | None = None) -> Patched:
    """A scene's own document with the edits of the scene in it, for a file at `target` (None: where it is)."""
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or len(scene.documents) != 1:
        raise SaveError("the scene does not come from one document; give it a new file to be saved to")
    moves = target is not None and _is_elsewhere(target, document.location)
    if unedited(scene) and not (moves and _refers(scene)):
        return Patched(document.data)
    before = CLOCK.ticks
    try:
        return _Patching(scene, document, target if moves else None).run()
    finally:
        CLOCK.ticks = before  # reading is no edit


def _is_elsewhere(target: Location, source: Location) -> bool:
    """Whether references lead elsewhere from there."""
    return (
        source.directory is not None
        and os.path.realpath(target.path) != os.path.realpath(source.path)
        and (os.path.realpath(str(target.directory)) != os.path.realpath(str(source.directory)))
    )


def _refers(scene: Scene) -> bool:
    """Whether a scene has parts in other files."""
    return any(isinstance(item, Shape) and isinstance(item.geometry, Mesh) for item, _, _ in walk(scene))


class _Patching:
    def __init__(self, scene: Scene, document: Document, target: Location | None) -> None:
        self.scene = scene
        self.document = document
        self.target = target
        self.options = scene.options if isinstance(scene.options, ReadOptions) else ReadOptions()
        self.format = registry.by_name(scene.reading.format)
        self._words: type[Words] = self.format.part("edit", "WORDS")
        self.failure = "the edits touch each other"

    def read(self, data: bytes, *, source: bool = False, carried: bool = True) -> Scene:
        location = self.document.location if source or self.target is None else self.target
        document = Document(data, self.document.name, location, self.document.path_style)
        options = self.options
        if not carried:
            options = ReadOptions(**{f: getattr(options, f) for f in options.__struct_fields__} | {"carried": False})
        return self.format.reader()(document, options)

    def run(self) -> Patched:
        base = self.read(self.document.data, source=True)
        changes = compare(base, self.scene)
        if self.target is not None:
            self._refer_anew(changes)
        if not changes:
            return Patched(self.document.data)
        if changes.reordered is not None:
            raise SaveError("the parts of a file cannot be put in another order; save to a new file instead")
        for carrying in (False, True):  # only what cannot be said is carried
            for thorough in (False, True):
                done = self._attempt(base, changes, thorough, carrying)
                if done is not None:
                    return self._tidied(done, base, changes)
        raise SaveError(f"this edit cannot be made in the file itself ({self.failure}); save to a new file instead")

    def _refer_anew(self, changes: Changes) -> None:
        """Shapes whose files are elsewhere, seen from another folder."""
        assert self.target is not None
        output = Output(self.target.directory)
        edited = {id(item) for _, item in changes.edited}
        for world in self.scene.worlds:
            for model in world.models:
                for item in _shapes_of(model):
                    source = changes.sources.get(id(item))
                    if source is None or id(item) in edited or not isinstance(item.geometry, Mesh):
                        continue
                    if output.reference(item.geometry) != item.geometry.uri:
                        changes.edited.append((source, item))
                        changes.models[id(model)] = model
                        origin = changes.sources[id(model)]
                        changes.models[id(origin)] = origin  # type: ignore[assignment]

    def _attempt(self, base: Scene, changes: Changes, thorough: bool, carrying: bool) -> Patched | None:
        """One way to make the edits; None, and a reason in `failure`, if it does not lead to the scene."""
        patch = Patch(self.document)
        words = self._words(self.format, self.document, self.options, patch.elements, base, changes)
        editor = Editor(words, patch, changes, thorough=thorough)
        target = self.target or self.document.location
        editor.write(base, self.scene, self.document.location.directory, target.directory)
        try:
            data = editor.run()
        except Overlap:
            return None
        except Irreversible as problem:
            raise SaveError(str(problem)) from None
        if editor.unsaid and not carrying:
            return None
        done = self._proved(data, changes, editor.unsaid)
        for _ in range(2 if carrying else 0):  # what is carried may itself show what else has to be
            if done is None or not self.failure:
                break
            assert done.match is not None
            more = self._carried(done.data, done.match)
            done = None if more is None else self._proved(more, changes, ())
        return None if self.failure else done

    def _proved(self, data: bytes, changes: Changes, unsaid: Collection[int]) -> Patched | None:
        """What reading an edited document gives; None if that cannot be matched with the scene at all."""
        again = self.read(data)
        found = match(self.scene, again, unsaid)
        settle(found, changes, self._words.follows)
        self.failure = found.problem
        return None if found.failure else Patched(data, again, found)

    def _carried(self, data: bytes, found: Match) -> bytes | None:
        """With what the format has no words for carried along."""
        try:
            native = self.read(data, carried=False)
            document = Document(data, self.document.name, self.document.location, self.document.path_style)
            return Carrier(self.format, document, native).carry(found)
        except (Overlap, ExoskelError):
            return None

    def _tidied(self, done: Patched, base: Scene, changes: Changes) -> Patched:
        """Without carried values that an edit has overtaken."""
        assert done.again is not None
        stale = _stale(done.again)
        if len(stale) <= len(_stale(base)):
            return done
        document = done.again.documents[0]
        assert isinstance(document, Document)
        patch = Patch(document)
        for node in {document.outline.parents[node] for node in stale}:
            owner = node if self.format.name == "skel" else document.outline.parents[node]
            remove_ours(patch, owner, stale, self.format.name)
        tidy = self._proved(patch.apply(), changes, ())
        return done if tidy is None or self.failure else tidy


def _stale(scene: Scene) -> list[int]:
    return [found.place.node for found in scene.diagnostics if found.key.endswith(".stale")]


def _shapes_of(model: Item) -> Iterator[Shape]:
    for body in model.bodies:  # type: ignore[attr-defined]
        yield from body.shapes
