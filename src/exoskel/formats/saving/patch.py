"""Saves a scene into the document it came from: only the bytes of what was edited change.

The scene is compared with its source, read again.  Where an item differs, its canonical text before and after the
edit is compared, and the differences are applied to the document.  The result is read back.  Unless that gives the
scene that was to be saved, nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import numpy as np
from msgspec import Struct, field, structs

from exoskel.diagnostics import Diagnostic, ExoskelError, SaveError
from exoskel.formats import registry
from exoskel.formats.embedded_writer import has_native_grouping
from exoskel.formats.interface import FormatEditor, ReadOptions
from exoskel.formats.saving.changes import Changes, SourceChanges, compare
from exoskel.formats.saving.edited_models import reread_edited_models
from exoskel.formats.saving.editor import DocumentEditor
from exoskel.formats.saving.verification import Match, accept_derived_fields, match, match_models
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import CLOCK, no_edits
from exoskel.scene.fields import Difference, comparable_value, iter_items, relative_difference, transform_differences
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.json_codec import field_value, fingerprint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.merge import OBJECT_LISTS, without_unknown_references
from exoskel.scene.model import Model
from exoskel.scene.validation import require_valid
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.embedded_data import POSE_FIELDS
from exoskel.source.embedded_format import (
    NAMESPACED,
    EmbeddedDataFormat,
    EmbeddedElement,
    EmbeddedTag,
    GroupingRow,
    embedded_element,
    grouping_element,
    might_contain_embedded_data,
)
from exoskel.source.encoding import EncodingRoundTripError
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext
from exoskel.source.splice import OverlapError, Patch
from exoskel.spatial import Array

_CONNECTIONS = ("child", "parent", "loop")
"""What identifies a joint: one that comes back with other connections is another joint."""
_EMBEDDABLE_LISTS = ("visuals", "collisions", "markers", "joints")


class EmbeddedDataEditor:
    """Embeds in a document the values that were not read back from it.

    `native` is the scene read from the document without its embedded data.
    """

    def __init__(
        self, embedding: EmbeddedDataFormat, editor: type[FormatEditor], document: Document, native: Scene
    ) -> None:
        self.embedding = embedding
        self.editor = editor
        self.patch = Patch(document)
        self.elements = self.patch.elements
        self.native = {_key(item): item for item, _, _ in iter_items(native)}
        self.output = OutputContext(document.location.directory)
        self.new: dict[int, list[Markup]] = {}
        """Elements to be embedded, by the number of the element around them."""
        self.removed: dict[int, list[int]] = {}
        self.static_joints: set[int] = set()
        """Joints of static models, by id, where the format writes each of them as a fixed joint."""

    def embed(self, found: Match) -> bytes | None:
        """The document with the missing data embedded; None if there is no place for some of it."""
        if self.editor.fixes_static_bodies:
            static = [item for item, _ in found.pairs if isinstance(item, Model) and item.static]
            self.static_joints = {id(joint) for model in static for joint in model.joints}
        counterparts = {id(item): other for item, other in found.pairs} if found.lost else {}
        for difference in found.differences:
            if not self._embed_field(difference):
                return None
        for item, container, name in found.lost:
            other = counterparts.get(id(container))
            if other is None or other.node < 0 or _key(other) not in self.native or name not in _EMBEDDABLE_LISTS:
                return None
            index = next(i for i, one in enumerate(getattr(container, name)) if one is item)
            text = self.output.embedded_text(item)
            element = EmbeddedElement(EmbeddedTag.ITEM, text, list_name=name, index=index)
            self.new.setdefault(other.node, []).append(element.markup())
        for node, nodes in self.removed.items():
            self.embedding.remove(self.patch, node, nodes)
        for node, elements in self.new.items():
            children = self.elements.children(node)
            # An extension that may be removed as a whole must not get new elements.
            can_join = not self.removed.get(node)
            self.embedding.insert(self.patch, node, elements, children[-1] if children else -1, can_join=can_join)
        return self.patch.apply()

    def _embed_field(self, found: Difference) -> bool:
        """Embed one field; False if that is not possible."""
        native = self.native.get(_key(found.other))
        node = found.other.node
        if native is None or node < 0 or (found.field in _CONNECTIONS and id(found.one) not in self.static_joints):
            return False
        if isinstance(found.one, Model) and not self.editor.has_model_elements:  # the grouping describes it
            return False
        element = EmbeddedElement(EmbeddedTag.FIELD, field=found.field)
        element.is_of_parent_joint = isinstance(found.other, Joint) and node == found.other.child.node
        present = self._present_element(node, element)
        if relative_difference(comparable_value(found.one, found.field), comparable_value(native, found.field)) == 0.0:
            if present >= 0:
                self.removed.setdefault(node, []).append(present)
            return present >= 0
        element.fingerprint = fingerprint(field_value(native, found.field))
        element.text = self.output.embedded_text(found.one, found.field)
        if present >= 0:
            self.embedding.set_field(self.patch, present, element.fingerprint, element.text)
        else:
            self.new.setdefault(node, []).append(element.markup())
        return True

    def _present_element(self, node: int, wanted: EmbeddedElement) -> int:
        """The element that holds an embedded field already, or -1."""
        for found in self.embedding.find(self.elements, node, wanted.tag):
            if found.field == wanted.field and found.is_of_parent_joint == wanted.is_of_parent_joint:
                return found.number
        return -1


def update_fingerprints(
    embedding: EmbeddedDataFormat, document: Document, native: Scene, stale: Collection[int]
) -> bytes:
    """The document with new fingerprints of embedded poses, so that they stay valid after an edit.

    Otherwise one moved body would invalidate all embedded poses of its model.
    """
    patch = Patch(document)
    parent_joints = {joint.child.node: joint for world in native.worlds for joint in world.joints() if not joint.loop}
    items = {item.node: item for item, _, _ in iter_items(native) if not isinstance(item, Model)}
    items |= {item.node: item for item, _, _ in iter_items(native) if isinstance(item, Body)}
    for node in stale:
        element = embedded_element(document, node)
        if element is None or element.field not in POSE_FIELDS:
            continue
        item = parent_joints.get(element.owner) if element.is_of_parent_joint else items.get(element.owner)
        if item is not None:
            embedding.set_field(patch, node, fingerprint(field_value(item, element.field)))
    return patch.apply()


ItemKey = tuple[type[Item], int, bool]


def _key(item: Item) -> ItemKey | None:
    """What identifies an item in several readings of a document; None if it has no element there."""
    if item.node < 0 or item.document < 0:
        return None
    return type(item), item.node, isinstance(item, Joint) and item.implicit


NameInFile = Callable[[Body], "str | None"]


class GroupingEditor:
    """Rewrites the rows of a document where they do not match the scene.

    `native` is the scene read from the document without its embedded data, `name_in_file` gives the name that a body
    of the scene has in the document.
    """

    def __init__(
        self,
        embedding: EmbeddedDataFormat,
        document: Document,
        native: Scene,
        changes: Changes,
        name_in_file: NameInFile,
    ) -> None:
        self.embedding = embedding
        self.patch = Patch(document)
        self.elements = self.patch.elements
        self.native = native
        self.changes = changes
        self.name_in_file = name_in_file

    def regroup(self, scene: Scene) -> bytes | None:
        """The document with new rows; None if nothing changes, or bodies cannot be identified."""
        if len(scene.worlds) != len(self.native.worlds):
            return None
        for world, other in zip(scene.worlds, self.native.worlds, strict=True):
            rows = self._rows(world, other)
            if rows is None:
                return None
            self._set_rows(other.node, rows)
        return self.patch.apply() if self.patch else None

    def _rows(self, world: World, other: World) -> list[GroupingRow] | None:
        """The rows of a world; an empty list where the native document groups the bodies in the same way."""
        bodies = self._counterparts(world, other)
        models = {id(body): model for model in other.models for body in model.bodies}
        rows: list[GroupingRow] = []
        is_same = len(world.models) == len(other.models)
        for index, model in enumerate(world.models):
            if self._has_no_element(model):
                continue
            members = [bodies[id(body)] for body in model.bodies if id(body) in bodies]
            if len(members) != len(model.bodies):
                return None
            name = self._name(model, members, models[id(members[0])]) if members else model.name
            rows.append(GroupingRow.of(model, name, index, [body.name for body in members]))
            is_same = is_same and bool(members) and _is_grouped(model, name, members, other.models[index])
        return [] if is_same else rows

    def _counterparts(self, world: World, other: World) -> dict[int, Body]:
        """The bodies of the document by the ids of those of the scene.  Equal names are matched in document order."""
        waiting: dict[str | None, list[Body]] = {}
        for body in sorted(other.bodies(), key=lambda body: body.node):
            if body.node >= 0:
                waiting.setdefault(self.elements.attribute(body.node, "name"), []).append(body)
        found: dict[int, Body] = {}
        for body in sorted(world.bodies(), key=self._document_order):
            same = waiting.get(self.name_in_file(body))
            if same:
                found[id(body)] = same.pop(0)
        return found

    def _document_order(self, body: Body) -> float:
        source = self.changes.sources.get(id(body))
        return float("inf") if source is None else source.node

    def _has_no_element(self, model: Model) -> bool:
        """Whether a model is the environment: static geoms always form a model of their own."""
        source = self.changes.sources.get(id(model))
        return source is not None and source.document < 0

    def _name(self, model: Model, members: list[Body], native: Model) -> str:
        """The name of a model.  A default name follows the first body if the native model has the same bodies."""
        source = self.changes.sources.get(id(model))
        has_default_name = isinstance(source, Model) and has_native_grouping(source) and source.name == model.name
        is_whole = {id(body) for body in members} == {id(body) for body in native.bodies}
        return native.name if has_default_name and is_whole else model.name

    def _set_rows(self, node: int, rows: list[GroupingRow]) -> None:
        present = [found.number for found in self.embedding.find(self.elements, node, EmbeddedTag.GROUPING)]
        element = grouping_element(rows).markup()
        if not rows:
            self.embedding.remove(self.patch, node, present)
        elif present:
            self.patch.set_text(present[0], element.text)
        else:
            self.embedding.insert_grouping(self.patch, node, element)


def _is_grouped(model: Model, name: str, members: list[Body], other: Model) -> bool:
    return (
        name == other.name
        and model.static == other.static
        and relative_difference(model.pose, other.pose) == 0.0
        and len(members) == len(other.bodies)
        and all(mine is theirs for mine, theirs in zip(members, other.bodies, strict=True))
    )


class VerifiedDocument(Struct):
    """The bytes of an edited document, the scene that was read back, and how it compares with the scene to be saved."""

    data: bytes
    reread: Scene
    match: Match

    @property
    def problem(self) -> str:
        return self.match.problem


class PatchedDocument(Struct):
    """The bytes to be saved; `verified` is None if they are those of the source.

    `base` is the scene that was read from the source, if anything was edited, and `changes` what was.  `unknown` are
    warnings about what refers to nothing, which is not in the file.
    """

    data: bytes
    verified: VerifiedDocument | None = None
    base: Scene | None = None
    changes: Changes = field(default_factory=Changes)
    unknown: list[Diagnostic] = field(default_factory=list)


def is_unedited(scene: Scene) -> bool:
    """Whether nothing has been edited since the scene was read, by the clock of edits."""
    return scene.stamp >= 0 and scene.stamp == CLOCK.ticks


def changes_since_reading(scene: Scene) -> SourceChanges | None:
    """How a scene differs from the document it was read from; None if it does not come from one."""
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or scene.stamp < 0:
        return None
    if is_unedited(scene):
        return SourceChanges()
    with no_edits():  # reading is not an edit
        base = _Patcher(scene, document).read(document.data)
        return SourceChanges(base, compare(base, scene))


def changes_of_selection(scene: Scene, selected: Scene, *, is_part: bool = True) -> SourceChanges | None:
    """How a selection of models differs from the document that the whole scene was read from; None as above.

    If it is no part of the models, it is the scene after a pass.
    """
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or scene.stamp < 0:
        return None
    with no_edits():  # reading is not an edit
        base = _Patcher(scene, document).read(document.data)
        changes = compare(base, selected)
        changes.is_selection = is_part
        return SourceChanges(base, changes)


def unchanged_bytes(scene: Scene) -> bytes | None:
    """The bytes that a scene was read from; None if the scene differs from them."""
    document = scene.documents[0] if scene.documents else None
    found = changes_since_reading(scene)
    return document.data if isinstance(document, Document) and found is not None and not found else None


def patch_document(scene: Scene, base: Scene | None = None) -> PatchedDocument:
    """Apply the edits of a scene to its document.  Raises SaveError if that is not possible.

    `base` is the same scene as it was read, if that is known; otherwise the document is read again.
    """
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or len(scene.documents) != 1:
        raise SaveError("the scene does not come from one document; save it to a new file")
    if is_unedited(scene):
        return PatchedDocument(document.data)
    try:
        with no_edits(), _known_references(scene) as unknown:  # reading is not an edit
            patched = _Patcher(scene, document).patch(base)
            patched.unknown = unknown
            return patched
    except ValueError as error:
        if not isinstance(error, ExoskelError):
            require_valid(scene, trust_reader=False)
            raise
        raise SaveError(f"the scene cannot be saved: {error}") from None


@contextmanager
def _known_references(scene: Scene) -> Iterator[list[Diagnostic]]:
    """Leave out of a scene for a while what refers to nothing, and yield the warnings about it."""
    known, unknown = without_unknown_references(scene)
    pairs = list(zip(scene.worlds, known.worlds, strict=True)) if unknown else []
    whole = [(world, name, list(getattr(world, name))) for world, _ in pairs for name in OBJECT_LISTS]
    for world, other in pairs:
        for name in OBJECT_LISTS:
            getattr(world, name)[:] = getattr(other, name)
    try:
        yield unknown
    finally:
        for world, name, objects in whole:
            getattr(world, name)[:] = objects


class _Patcher:
    def __init__(self, scene: Scene, document: Document) -> None:
        self.scene = scene
        self.document = document
        self.options = ReadOptions.of(scene)
        self.format = registry.by_name(scene.source_info.format)
        self._needs_embedding = False
        """The format cannot express a new item."""

    @property
    def embedding(self) -> EmbeddedDataFormat:
        return self.format.embedding or NAMESPACED

    def read(self, data: bytes, *, native: bool = False) -> Scene:
        """Read the bytes of the document in the way the scene was read; `native` ignores embedded data."""
        options = structs.replace(self.options, apply_embedded_data=False) if native else self.options
        with no_edits():  # reading is not an edit, and accepts any number
            return self.format.reader()(self._document(data), options)

    def _document(self, data: bytes) -> Document:
        return Document(data, self.document.name, self.document.location, self.document.path_style)

    def patch(self, base: Scene | None = None) -> PatchedDocument:
        require_valid(self.scene)
        base = base or self.read(self.document.data)
        changes = compare(base, self.scene)
        if not changes:
            return PatchedDocument(self.document.data)
        if changes.reordered is not None:
            raise SaveError("the order of the parts of a file cannot be changed")
        self._editor = self.format.editor()
        self._editor.mark_replaced_items(changes)
        problem = "the edits overlap"
        for embed in (False, True):  # only what the format cannot express is embedded
            for replace_elements in (False, True):
                if self._needs_embedding and not embed:
                    continue
                edited, reason = self._attempt(base, changes, replace_elements=replace_elements, embed=embed)
                problem = reason or problem
                if edited is not None:
                    edited = self._without_stale_data(edited, base, changes)
                    if embed:
                        self._check_native_poses(edited)
                    clash = self._editor.find_name_clash(base, edited.reread)
                    if clash:
                        raise SaveError(clash)
                    return PatchedDocument(edited.data, edited, base, changes)
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
            self._needs_embedding = True
            return None, ""
        edited = None if embed or editor.unsupported else self._verify_edited_models(data, base, changes, patch)
        edited = self._regroup(edited or self._verify(data, changes, editor.unsupported), base, editor)
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

    def _verify_edited_models(
        self, data: bytes, base: Scene, changes: Changes, patch: Patch
    ) -> VerifiedDocument | None:
        """Read just the edited models of a document, and compare them with the scene; None if that is not possible.

        The other models were compared with the source, and have the same text.
        """
        if not self._editor.has_independent_models or len(data) > self.options.limits.bytes:
            return None
        reading = reread_edited_models(base, changes, patch, self._document(data), self.read)
        if reading is None:
            return None
        edited = [model for model in self.scene.worlds[0].models if id(model) in changes.models]
        found = match_models(edited, reading.models)
        accept_derived_fields(found, changes, self._editor.derived_fields)
        return VerifiedDocument(data, reading.scene, found)

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
        """The document with embedded data for all values that were not read back; None if that is not possible."""
        try:
            has_data = might_contain_embedded_data(edited.data)
            native = self.read(edited.data, native=True) if has_data else edited.reread
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


def _is_misgrouped(edited: VerifiedDocument, base: Scene) -> bool:
    """Whether models did not come back, or the edit has made embedded rows invalid."""
    if edited.match.failure or any(isinstance(one.one, Model) for one in edited.match.differences):
        return True
    return len(_broken(edited.reread)) > len(_broken(base))


def _broken(scene: Scene) -> list[int]:
    return [diagnostic.place.node for diagnostic in scene.diagnostics if diagnostic.key.endswith(".broken")]


def _stale(scene: Scene) -> list[int]:
    return [diagnostic.place.node for diagnostic in scene.diagnostics if diagnostic.key.endswith(".stale")]
