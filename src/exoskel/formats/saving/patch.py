"""Saving a scene into the document it came from: only what was edited changes.

The scene is held against a new reading of its source.  Where an item differs, its canonical text before and after
the edit is compared, and what changed there is changed in the document.  The result is read again: unless it is
the scene that was to be saved, nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from msgspec import Struct, structs

from exoskel.diagnostics import ExoskelError
from exoskel.formats import registry
from exoskel.formats.read_options import ReadOptions
from exoskel.formats.saving.changes import Changes, compare
from exoskel.formats.saving.editor import Editor
from exoskel.formats.saving.embedded_edits import EmbeddedDataEditor, refreshed, remove_ours
from exoskel.formats.saving.errors import SaveError
from exoskel.formats.saving.grouping_edits import GroupingEditor
from exoskel.formats.saving.verification import Match, match, settle
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import CLOCK, no_edits
from exoskel.scene.fields import transform_differences
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.validation import first_joint_problem, first_non_finite_number
from exoskel.scene.world import Model, Scene, World
from exoskel.source.document import Document
from exoskel.source.encoding import EncodingRoundTripError
from exoskel.source.splice import OverlapError, Patch
from exoskel.spatial import Array


class Patched(Struct):
    """The bytes of an edited document, and what reading them gives (None: they are those of the source)."""

    data: bytes
    again: Scene | None = None
    match: Match | None = None


class Proved(Struct):
    """The bytes of an edited document, and how what they read as compares with the scene."""

    data: bytes
    again: Scene
    match: Match


def unedited(scene: Scene) -> bool:
    """Whether nothing at all has been edited since the scene was read; costs nothing."""
    return scene.stamp >= 0 and scene.stamp == CLOCK.ticks


def unchanged(scene: Scene) -> bytes | None:
    """The bytes that a scene was read from, if they still say what it holds."""
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or scene.stamp < 0:
        return None
    if unedited(scene):
        return document.data
    with no_edits():  # reading is none
        base = _Patching(scene, document).read(document.data)
        changes = compare(base, scene)
    return None if changes else document.data


def patched(scene: Scene) -> Patched:
    """A scene's own document with the edits of the scene in it."""
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or len(scene.documents) != 1:
        raise SaveError("the scene does not come from one document; give it a new file to be saved to")
    if unedited(scene):
        return Patched(document.data)
    try:
        with no_edits():  # reading is none
            return _Patching(scene, document).run()
    except ValueError as error:
        problem = first_non_finite_number(scene)
        if not problem and not isinstance(error, ExoskelError):
            raise
        raise SaveError(f"the scene cannot be saved: {problem or error}") from None


class _Patching:
    def __init__(self, scene: Scene, document: Document) -> None:
        self.scene = scene
        self.document = document
        self.options = scene.options if isinstance(scene.options, ReadOptions) else ReadOptions()
        self.format = registry.by_name(scene.reading.format)
        self.failure = "the edits touch each other"

    def read(self, data: bytes, *, carried: bool = True) -> Scene:
        options = self.options if carried else structs.replace(self.options, carried=False)
        return self.format.reader()(self._copy(data), options)

    def _copy(self, data: bytes) -> Document:
        """A document in the place of the scene's own."""
        return Document(data, self.document.name, self.document.location, self.document.path_style)

    def run(self) -> Patched:
        base = self.read(self.document.data)
        changes = compare(base, self.scene)
        if not changes:
            return Patched(self.document.data)
        if changes.reordered is not None:
            raise SaveError("the parts of a file cannot be put in another order")
        problem = first_joint_problem(_changed_joints(changes))
        if problem:
            raise SaveError(f"the scene cannot be saved: {problem}")
        self._words = self.format.editor()
        self._words.recast(changes)
        for carrying in (False, True):  # only what cannot be said is carried
            for thorough in (False, True):
                done = self._attempt(base, changes, thorough, carrying)
                if done is not None:
                    tidy = self._tidied(done, base, changes)
                    if carrying:
                        self._check_places(tidy)
                    clash = self._words.clash(base, tidy.again)
                    if clash:
                        raise SaveError(clash)
                    return Patched(tidy.data, tidy.again, tidy.match)
        raise SaveError(f"this edit cannot be made in the file itself ({self.failure})")

    def _check_places(self, done: Proved) -> None:
        """Bodies stand where the scene has them for readers too that know nothing of what is carried."""
        native = self.read(done.data, carried=False)
        seen = {body.node: pose for world in native.worlds for body, pose in _placed(world)}
        pairs = [(pose, seen[b.node]) for w in done.again.worlds for b, pose in _placed(w) if b.node in seen]
        if (
            pairs
            and transform_differences(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])).max()
            > _SAME_PLACE
        ):
            title = self.format.name.upper()
            raise SaveError(f"other readers of {title} would see the bodies elsewhere")

    def _attempt(self, base: Scene, changes: Changes, thorough: bool, carrying: bool) -> Proved | None:
        """One way to make the edits; None, and a reason in `failure`, if it does not lead to the scene."""
        patch = Patch(self.document)
        words = self._words(self.format, self.document, self.options, patch.elements)
        words.about(base, self.scene, changes)
        editor = Editor(words, patch, changes, thorough=thorough)
        editor.write(base, self.scene, self.document.location.directory)
        try:
            data = editor.run()
        except OverlapError:
            return None
        except EncodingRoundTripError as problem:
            raise SaveError(str(problem)) from None
        if editor.unsaid and not carrying:
            return None
        done: Proved | None = self._grouped(self._proved(data, changes, editor.unsaid), base, editor)
        if carrying and done is not None and _stale(done.again) and not _stale(base):
            done = self._grouped(self._refreshed(done, changes, editor.unsaid), base, editor)
        for _ in range(2 if carrying else 0):  # what is carried may itself show what else has to be
            if done is None or not self.failure or done.match.failure:
                break
            more = self._carried(done)
            done = None if more is None else self._proved(more, changes, ())
        return None if self.failure else done

    def _proved(self, data: bytes, changes: Changes, unsaid: Collection[int]) -> Proved:
        """What reading an edited document gives, held against the scene."""
        again = self.read(data)
        found = match(self.scene, again, unsaid)
        settle(found, changes, self._words.follows)
        self.failure = found.problem
        return Proved(data, again, found)

    def _grouped(self, done: Proved, base: Scene, editor: Editor) -> Proved:
        """With the bodies in the models that the scene has them in, where the format does not say."""
        if not self._words.groups or not _is_misgrouped(done, base):
            return done
        native = self.read(done.data, carried=False)
        regrouping = GroupingEditor(self._copy(done.data), native, editor.changes, editor.name_in_file)
        data = regrouping.regroup(self.scene)
        return done if data is None else self._proved(data, editor.changes, editor.unsaid)

    def _refreshed(self, done: Proved, changes: Changes, unsaid: Collection[int]) -> Proved:
        native = self.read(done.data, carried=False)
        data = refreshed(self.format, self._copy(done.data), native, _stale(done.again))
        return self._proved(data, changes, unsaid)

    def _carried(self, done: Proved) -> bytes | None:
        """With what the format has no words for carried along."""
        try:
            native = self.read(done.data, carried=False)
            return EmbeddedDataEditor(self.format, self._copy(done.data), native).carry(done.match)
        except (OverlapError, ExoskelError):
            return None

    def _tidied(self, done: Proved, base: Scene, changes: Changes) -> Proved:
        """Without carried values that an edit has overtaken."""
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
        return done if self.failure else tidy


_SAME_PLACE = 1e-9


def _placed(world: World) -> list[tuple[Body, Array]]:
    return list(zip(world.bodies(), Kinematics(world.models).poses(), strict=True))


def _changed_joints(changes: Changes) -> Iterator[Joint]:
    new = [item for added in changes.added for item in (added.item, *getattr(added.item, "joints", ()))]
    return (item for item in (*(item for _, item in changes.edited), *new) if isinstance(item, Joint))


def _is_misgrouped(done: Proved, base: Scene) -> bool:
    """Whether models did not come back, or a row that tells about them makes no sense any more."""
    if done.match.failure or any(isinstance(one.one, Model) for one in done.match.differences):
        return True
    return len(_broken(done.again)) > len(_broken(base))


def _broken(scene: Scene) -> list[int]:
    return [found.place.node for found in scene.diagnostics if found.key.endswith(".broken")]


def _stale(scene: Scene) -> list[int]:
    return [found.place.node for found in scene.diagnostics if found.key.endswith(".stale")]
