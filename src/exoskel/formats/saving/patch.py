"""Saves a scene into the document it came from: only the bytes of what was edited change.

The scene is compared with a new reading of its source.  Where an item differs, its canonical text before and after the
edit is compared, and the differences are applied to the document.  The result is read back.  Unless that gives the
scene that was to be saved, nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from msgspec import Struct, structs

from exoskel.diagnostics import ExoskelError, SaveError
from exoskel.formats import registry
from exoskel.formats.interface import ReadOptions
from exoskel.formats.saving.changes import Changes, compare
from exoskel.formats.saving.editor import DocumentEditor
from exoskel.formats.saving.embedded_edits import EmbeddedDataEditor, update_fingerprints
from exoskel.formats.saving.grouping_edits import GroupingEditor
from exoskel.formats.saving.verification import Match, accept_derived_fields, match
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import CLOCK, no_edits
from exoskel.scene.fields import transform_differences
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.validation import first_joint_problem, first_non_finite_number
from exoskel.scene.world import Model, Scene, World
from exoskel.source.document import Document
from exoskel.source.embedded_format import NAMESPACED, EmbeddedDataFormat
from exoskel.source.encoding import EncodingRoundTripError
from exoskel.source.splice import OverlapError, Patch
from exoskel.spatial import Array


class VerifiedDocument(Struct):
    """The bytes of an edited document, the scene that was read back, and how it compares with the scene to be saved."""

    data: bytes
    reread: Scene
    match: Match

    @property
    def problem(self) -> str:
        return self.match.problem


class PatchedDocument(Struct):
    """The bytes to be saved; `verified` is None if they are those of the source."""

    data: bytes
    verified: VerifiedDocument | None = None


def is_unedited(scene: Scene) -> bool:
    """Whether nothing has been edited since the scene was read, by the clock of edits."""
    return scene.stamp >= 0 and scene.stamp == CLOCK.ticks


def unchanged_bytes(scene: Scene) -> bytes | None:
    """The bytes that a scene was read from; None if the scene differs from them."""
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or scene.stamp < 0:
        return None
    if is_unedited(scene):
        return document.data
    with no_edits():  # reading is not an edit
        base = _Patcher(scene, document).read(document.data)
        changes = compare(base, scene)
    return None if changes else document.data


def patch_document(scene: Scene) -> PatchedDocument:
    """Apply the edits of a scene to its document.  Raises SaveError if that is not possible."""
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or len(scene.documents) != 1:
        raise SaveError("the scene does not come from one document; save it to a new file")
    if is_unedited(scene):
        return PatchedDocument(document.data)
    try:
        with no_edits():  # reading is not an edit
            return _Patcher(scene, document).patch()
    except ValueError as error:
        problem = first_non_finite_number(scene)
        if not problem and not isinstance(error, ExoskelError):
            raise
        raise SaveError(f"the scene cannot be saved: {problem or error}") from None


class _Patcher:
    def __init__(self, scene: Scene, document: Document) -> None:
        self.scene = scene
        self.document = document
        self.options = scene.options if isinstance(scene.options, ReadOptions) else ReadOptions()
        self.format = registry.by_name(scene.reading.format)

    @property
    def embedding(self) -> EmbeddedDataFormat:
        return self.format.embedding or NAMESPACED

    def read(self, data: bytes, *, native: bool = False) -> Scene:
        """Read the bytes of the document in the way the scene was read; `native` ignores embedded data."""
        options = structs.replace(self.options, apply_embedded_data=False) if native else self.options
        return self.format.reader()(self._document(data), options)

    def _document(self, data: bytes) -> Document:
        return Document(data, self.document.name, self.document.location, self.document.path_style)

    def patch(self) -> PatchedDocument:
        base = self.read(self.document.data)
        changes = compare(base, self.scene)
        if not changes:
            return PatchedDocument(self.document.data)
        if changes.reordered is not None:
            raise SaveError("the order of the parts of a file cannot be changed")
        problem = first_joint_problem(_changed_joints(changes))
        if problem:
            raise SaveError(f"the scene cannot be saved: {problem}")
        self._editor = self.format.editor()
        self._editor.mark_replaced_items(changes)
        problem = "the edits overlap"
        for embed in (False, True):  # only what the format cannot express is embedded
            for replace_elements in (False, True):
                edited, reason = self._attempt(base, changes, replace_elements=replace_elements, embed=embed)
                problem = reason or problem
                if edited is not None:
                    edited = self._without_stale_data(edited, base, changes)
                    if embed:
                        self._check_native_poses(edited)
                    clash = self._editor.find_name_clash(base, edited.reread)
                    if clash:
                        raise SaveError(clash)
                    return PatchedDocument(edited.data, edited)
        raise SaveError(f"this edit cannot be made in the file itself ({problem})")

    def _attempt(
        self, base: Scene, changes: Changes, *, replace_elements: bool, embed: bool
    ) -> tuple[VerifiedDocument | None, str]:
        """Apply the edits in one way; None, with a reason if known, if the result is not the scene."""
        patch = Patch(self.document)
        format_editor = self._editor(
            self.format, self.document, self.options, patch.elements, base, self.scene, changes
        )
        editor = DocumentEditor(format_editor, self.embedding, patch, changes, replace_elements=replace_elements)
        editor.write_canonical_elements(base, self.scene, self.document.location.directory)
        try:
            data = editor.apply()
        except OverlapError:
            return None, ""
        except EncodingRoundTripError as problem:
            raise SaveError(str(problem)) from None
        if editor.unsupported and not embed:
            return None, ""
        edited = self._regroup(self._verify(data, changes, editor.unsupported), base, editor)
        if embed and _stale(edited.reread) and not _stale(base):
            edited = self._regroup(self._update_fingerprints(edited, changes, editor.unsupported), base, editor)
        for _ in range(2 if embed else 0):  # embedded data may itself show what else has to be embedded
            if not edited.problem or edited.match.failure:
                break
            more = self._embed(edited)
            if more is None:
                break
            edited = self._verify(more, changes, ())
        return (None, edited.problem) if edited.problem else (edited, "")

    def _verify(self, data: bytes, changes: Changes, unsupported: Collection[int]) -> VerifiedDocument:
        """Read an edited document and compare it with the scene."""
        reread = self.read(data)
        found = match(self.scene, reread, unsupported)
        accept_derived_fields(found, changes, self._editor.derived_fields)
        return VerifiedDocument(data, reread, found)

    def _regroup(self, edited: VerifiedDocument, base: Scene, editor: DocumentEditor) -> VerifiedDocument:
        """Update the embedded grouping of bodies into models, where the format has no elements for models."""
        if self._editor.has_model_elements or not _is_misgrouped(edited, base):
            return edited
        native = self.read(edited.data, native=True)
        document = self._document(edited.data)
        data = GroupingEditor(self.embedding, document, native, editor.changes, editor.name_in_file).regroup(self.scene)
        return edited if data is None else self._verify(data, editor.changes, editor.unsupported)

    def _update_fingerprints(
        self, edited: VerifiedDocument, changes: Changes, unsupported: Collection[int]
    ) -> VerifiedDocument:
        native = self.read(edited.data, native=True)
        data = update_fingerprints(self.embedding, self._document(edited.data), native, _stale(edited.reread))
        return self._verify(data, changes, unsupported)

    def _embed(self, edited: VerifiedDocument) -> bytes | None:
        """The document with what was not read back embedded; None if that is not possible."""
        try:
            native = self.read(edited.data, native=True)
            document = self._document(edited.data)
            return EmbeddedDataEditor(self.embedding, self._editor, document, native).embed(edited.match)
        except (OverlapError, ExoskelError):
            return None

    def _without_stale_data(self, edited: VerifiedDocument, base: Scene, changes: Changes) -> VerifiedDocument:
        """Remove embedded values that an edit has made stale."""
        stale = _stale(edited.reread)
        if len(stale) <= len(_stale(base)):
            return edited
        document = edited.reread.documents[0]
        assert isinstance(document, Document)
        patch = Patch(document)
        for owner in {self.embedding.owner(document.outline.parents, node) for node in stale}:
            self.embedding.remove(patch, owner, stale)
        cleaned = self._verify(patch.apply(), changes, ())
        return edited if cleaned.problem else cleaned

    def _check_native_poses(self, edited: VerifiedDocument) -> None:
        """Refuse a document in which readers that ignore embedded data would find bodies in other places."""
        native = self.read(edited.data, native=True)
        poses = {body.node: pose for world in native.worlds for body, pose in _poses(world)}
        pairs = [(pose, poses[b.node]) for w in edited.reread.worlds for b, pose in _poses(w) if b.node in poses]
        if (
            pairs
            and transform_differences(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])).max()
            > _SAME_POSE
        ):
            raise SaveError(f"other readers of {self.format.name.upper()} would place the bodies elsewhere")


_SAME_POSE = 1e-9


def _poses(world: World) -> list[tuple[Body, Array]]:
    return list(zip(world.bodies(), Kinematics(world.models).poses(), strict=True))


def _changed_joints(changes: Changes) -> Iterator[Joint]:
    new = [item for added in changes.added for item in (added.item, *getattr(added.item, "joints", ()))]
    return (item for item in (*(item for _, item in changes.edited), *new) if isinstance(item, Joint))


def _is_misgrouped(edited: VerifiedDocument, base: Scene) -> bool:
    """Whether models did not come back, or the edit has made embedded rows invalid."""
    if edited.match.failure or any(isinstance(one.one, Model) for one in edited.match.differences):
        return True
    return len(_broken(edited.reread)) > len(_broken(base))


def _broken(scene: Scene) -> list[int]:
    return [diagnostic.place.node for diagnostic in scene.diagnostics if diagnostic.key.endswith(".broken")]


def _stale(scene: Scene) -> list[int]:
    return [diagnostic.place.node for diagnostic in scene.diagnostics if diagnostic.key.endswith(".stale")]
