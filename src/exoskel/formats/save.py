"""Saves scenes to files, and continues them with the saved document."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from exoskel.diagnostics import Collector, Diagnostic, ExoskelError, SaveError
from exoskel.fates import Fate
from exoskel.formats import registry
from exoskel.formats.interface import Format, SourceCopy
from exoskel.formats.saving.changes import changed_fields
from exoskel.formats.saving.patch import PatchedDocument, changes_since_reading, patch_document, unchanged_bytes
from exoskel.formats.saving.removed_parts import NOT_FOLLOWING, RemovedParts
from exoskel.formats.saving.verification import Match, match
from exoskel.formats.shared_codes import CATALOGUE
from exoskel.formats.write import Written, reread, write, write_copy
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import CLOCK, no_edits
from exoskel.scene.fields import CHILD_LISTS, DOF_FIELDS
from exoskel.scene.item import Item
from exoskel.scene.joint import STOPS, Drive, Joint
from exoskel.scene.lowering.actuators import lower_actuators
from exoskel.scene.merge import without_unknown_references
from exoskel.scene.shape import texture_of
from exoskel.scene.validation import require_valid
from exoskel.scene.world import Scene, SceneLike, World, as_scene
from exoskel.source.atomic_write import make_folder, write_atomically
from exoskel.source.contained_files import path_inside, split_path
from exoskel.source.document import Document, garbage_collection_paused
from exoskel.source.output_context import OutputContext

_ORIGIN = ("document", "node", "given", "repaired")
_set: Any = Struct.__setattr__
"""Sets a field without advancing the clock of edits."""


def rebase(scene: Scene, saved: PatchedDocument) -> None:
    """Make a scene equal to the one read back from its saved document; its objects stay the same."""
    now = CLOCK.ticks
    verified = saved.verified
    with no_edits():
        if verified is not None:
            for item, other in verified.match.pairs:
                for name in _ORIGIN:
                    if getattr(item, name) != getattr(other, name):
                        _set(item, name, getattr(other, name))
                if isinstance(item, Joint) and isinstance(other, Joint) and item.implicit != other.implicit:
                    _set(item, "implicit", other.implicit)
            for item, other in verified.match.inexact:
                _copy_fields(item, other)
            _reorder(verified.match)
            scene.documents[:] = verified.reread.documents
            scene.diagnostics[:] = verified.reread.diagnostics
            scene.extensions[:] = verified.reread.extensions
        for world in scene.worlds if saved.unknown else ():
            world.drop_dangling_references()
    _set(scene, "stamp", now)


def _copy_fields(item: Item, other: Item) -> None:
    """Copy values that differ in their last bits, so that saving again finds nothing to change."""
    for name in changed_fields(item, other):
        if isinstance(item, Joint) and isinstance(other, Joint) and name in ("child", "parent", "dofs"):
            if name == "dofs":
                _copy_dofs(item, other)
        elif isinstance(item, Body) and isinstance(other, Body) and name == "inertia":
            for field in item.inertia.__struct_fields__:
                _set(item.inertia, field, getattr(other.inertia, field))
        elif name == "state" and getattr(item, name) is not None and getattr(other, name) is not None:
            for field in getattr(item, name).__struct_fields__:
                _set(getattr(item, name), field, getattr(getattr(other, name), field))
        elif name != "soft":
            found = getattr(other, name)
            _set(item, name, structs.replace(found) if name == "state" and found is not None else found)


def _copy_dofs(item: Joint, other: Joint) -> None:
    for mine, theirs in zip(item.dofs, other.dofs, strict=True):
        for field in (*DOF_FIELDS, *_ORIGIN):
            _set(mine, field, getattr(theirs, field))


def _reorder(match: Match) -> None:
    """Put all lists in the order of the file."""
    mine = {id(other): item for item, other in match.pairs}
    for item, other in match.pairs:
        for name in CHILD_LISTS.get(type(item), ()):
            theirs = getattr(other, name)
            ours = getattr(item, name)
            wanted = [mine[id(one)] for one in theirs]
            if len(ours) > 1 and any(a is not b for a, b in zip(ours, wanted, strict=True)):
                list.__setitem__(ours, slice(None), wanted)


# --- saving --------------------------------------------------------------------------------------------


FindLosses = Callable[[Scene, Format, OutputContext], list[Diagnostic]]
"""Finds what a new document of a scene does not contain of the document that the scene was read from."""


def save_document(
    scene: SceneLike, path: str | os.PathLike[str] | None, *, format: str | None, force: bool, find_losses: FindLosses
) -> None:
    """Write a scene, world or model to a file; see `exoskel.save`."""
    scene = as_scene(scene)
    own = _own_path(scene)
    if path is None and not own:
        raise ExoskelError("the scene does not come from a file of its own; pass the path to save it to")
    target = Path(own if path is None else path)
    chosen = registry.by_name(format) if format else _format_of(target, scene)
    is_own = bool(own) and _is_same(target, Path(own))
    if not is_own and not force:
        _protect_sources(scene, target)
    with garbage_collection_paused():
        patched = _patch(scene, chosen, target.parent, is_own=is_own) if _can_patch(scene, chosen) else None
        output = OutputContext(target.parent)
        output.keeps_names = True
        output.file_name, output.extension = target.name, target.suffix.lower()
        lost: list[Diagnostic] = []
        if patched is not None:
            data, lost = patched.data, [*patched.unknown, *_lost_objects(scene, patched)]
        else:
            data = _new_document(scene, chosen, output, lambda: find_losses(scene, chosen, output))
        source = scene.documents[0] if is_own else None
        expected = source.stored if isinstance(source, Document) and not force else None
        sources = [Path(own)] if own else []
        other_names = write_atomically(target, data, expected, sources=sources)
        for name, content in output.companions.items():
            companion = target.parent / name
            if companion.parent != target.parent:
                make_folder(companion.parent)
            write_atomically(companion, content, sources=sources)
        if patched is not None and is_own:
            rebase(scene, patched)
        del patched
        if is_own:
            _relocate_images(scene, target, output)
            _continue_with(scene, data, other_names)
            _report_actuators(scene, chosen)
        scene.diagnostics.extend(lost)


def _relocate_images(scene: Scene, target: Path, output: OutputContext) -> None:
    """Let textures whose images are inside of the own file of a scene refer to where they are in the new file."""
    names = {os.path.realpath(path): name for name, path in output.mesh_paths()[0].items()}
    own = os.path.realpath(target)
    for shape in (shape for world in scene.worlds for body in world.bodies() for shape in body.shapes):
        image = texture_of(shape)
        container, inside = split_path(image.path or "") if image is not None else ("", "")
        material = shape.material
        if image is None or material is None or not inside or os.path.realpath(container) != own:
            continue
        name = names.get(os.path.realpath(image.path or ""))
        if name is not None and name != inside:
            moved = structs.replace(image, uri=name, path=path_inside(container, name))
            with no_edits():
                _set(shape, "material", structs.replace(material, texture=moved))


def _continue_with(scene: Scene, data: bytes, other_names: int) -> None:
    """Remember what was written to the own file of a scene, and report other names of the old file."""
    source = scene.documents[0]
    if not isinstance(source, Document):
        return
    source.stored = data
    if other_names:
        collector = Collector(CATALOGUE, source)
        collector.report("FM202", count=other_names)
        scene.diagnostics += collector.diagnostics


_LOWERED = {"force limits": "FM203", "nothing": "FM203.nothing", "spring": "FM203.spring", "dropped": "FM203.dropped"}
"""What actuators become for other programs, with the keys of the reports."""


def _report_actuators(scene: Scene, format: Format) -> None:
    """Report how other programs read the embedded actuators of a saved file."""
    source = scene.documents[0]
    if format.embedding is None or (World, "actuators") in format.capabilities().fields:
        return
    assert isinstance(source, Document)
    scene.diagnostics[:] = [one for one in scene.diagnostics if one.code != "FM203"]
    collector = Collector(CATALOGUE, source)
    for world in scene.worlds:
        for one in lower_actuators(world).actuators:
            fixes_force = one.fixes_control and one.result != "spring"
            key = "FM203.force" if fixes_force else _LOWERED[one.result]
            collector.report(key, world.node, actuator=one.actuator.name, control=one.actuator.control)
    scene.diagnostics += collector.diagnostics


def saved_bytes(scene: Scene, format: str | None = None, *, base: Scene | None = None) -> bytes:
    """The bytes that `save` would write; `base` is the scene as it was read, if that is known."""
    chosen = registry.by_name(format or scene.source_info.format or registry.DEFAULT.name)
    with garbage_collection_paused():
        if _can_patch(scene, chosen):
            return patch_document(scene, base).data
        data = _unchanged(scene, chosen)
        return canonical_bytes(scene, chosen.name, None) if data is None else data


def _patch(scene: Scene, format: Format, folder: Path, *, is_own: bool) -> PatchedDocument | None:
    """The edited source; None if it cannot be edited and another file is to be written.

    A source that cannot be edited is never replaced by a new document.
    """
    try:
        return patch_document(scene)
    except SaveError as refusal:
        if not is_own:
            return None
        try:
            canonical_bytes(scene, format.name, folder)
        except SaveError:
            raise refusal from None
        raise SaveError(f"{refusal}; save to a new file, which is written in canonical layout") from None


def _lost_objects(scene: Scene, patched: PatchedDocument) -> list[Diagnostic]:
    """Reports of the objects of worlds that were lost with what they refer to, in a document that was edited."""
    source = scene.documents[0]
    if patched.base is None or not isinstance(source, Document):
        return []
    collector = Collector(CATALOGUE, source)
    parts = RemovedParts(patched.base, scene, patched.changes)
    for one in parts.lost_objects:
        collector.report("FM204.object", scene.worlds[0].node, what=one.what, name=one.name)
    _report_lost_values(parts, collector)
    _report_lost_drives(patched, collector)
    return collector.diagnostics


def _report_lost_values(parts: RemovedParts, collector: Collector) -> None:
    """Report the values of joints that got another kind."""
    for one in parts.lost_values:
        names = " and ".join(repr(dof.name) for dof in one.joint.dofs if dof.name)
        fields = [f"the names {names}" if field == "name" else field.replace("_", " ") for field in one.fields]
        collector.report("FM204.values", one.joint.node, fields=fields, joint=one.joint.name)


_STOPS = dict.fromkeys(STOPS)


def _report_lost_drives(saved: PatchedDocument, collector: Collector) -> None:
    """Report parameters of ODE that the new kind of a joint does not have."""
    for item, other in saved.verified.match.pairs if saved.verified is not None else ():
        if isinstance(item, Joint) and isinstance(other, Joint) and item.drives != other.drives:
            mine, theirs = ([structs.replace(one, **_STOPS) for one in joint.drives] for joint in (item, other))
            if any(one != Drive() and one not in theirs for one in mine):
                source = saved.changes.sources.get(id(item), item)
                collector.report("FM204.values", source.node, fields=["drives"], joint=item.name)


def _new_document(
    scene: Scene, format: Format, output: OutputContext, find_losses: Callable[[], list[Diagnostic]]
) -> bytes:
    data = _unchanged(scene, format)
    if data is not None:
        copier = format.capabilities().copy_source
        copied = copier(scene, output) if copier is not None else None
        is_moved = output.folder != _folder_of(scene)  # its references would lead to other files
        has_other_form = not format.is_xml and _extension(output.file_name) != _extension(scene.documents[0].name)
        if copied is None and not format.is_xml and (is_moved or has_other_form):
            return canonical_bytes(scene, format.name, output.folder, output)
        if copied is not None and (copied.is_converted or is_moved):
            data = copied.data
        if format.has_state_file and any(any((*j.positions, *j.velocities)) for w in scene.worlds for j in w.joints()):
            canonical_bytes(scene, format.name, output.folder, output)  # for the state beside the document
        return data
    edited = _edited_source(scene, format, output)
    if edited is not None:
        return edited
    data = canonical_bytes(scene, format.name, output.folder, output)
    source = scene.documents[0] if scene.documents else None
    if scene.source_info.format == format.name and isinstance(source, Document):
        if format.embedding is None:
            collector = Collector(CATALOGUE, source)
            collector.report("FM201", 0, format=format.name.upper())
            scene.diagnostics += collector.diagnostics
        scene.diagnostics += find_losses()
    return data


def _extension(name: str) -> str:
    return Path(name).suffix.lower()


def _edited_source(scene: Scene, format: Format, output: OutputContext) -> bytes | None:
    """The document of a scene with its edits, in formats that have more than a scene; None for a new document."""
    if format.capabilities().edit_source is None or format.name != scene.source_info.format:
        return None
    try:
        require_valid(scene)
        changes = changes_since_reading(scene)
        found = write_copy(scene, format.name, output, changes)
    except (ExoskelError, ValueError) as error:
        raise SaveError(f"the scene cannot be saved: {error}") from None
    if found is None or changes is None:
        return None
    if found.copy is not None:
        _report_dependents(scene, found.copy)
        if changes.base is not None and changes.changes is not None:
            collector = Collector(CATALOGUE, changes.base.documents[0])
            _report_lost_values(RemovedParts(changes.base, scene, changes.changes), collector)
            scene.diagnostics += collector.diagnostics
    return found.data


def _report_dependents(scene: Scene, copy: SourceCopy) -> None:
    """Report what was removed from the document because it refers to removed items."""
    document = scene.documents[0]
    if not isinstance(document, Document):
        return
    tags, parents = document.outline.tags, document.outline.parents
    verdicts = {node: verdict for (node, name), verdict in copy.fates.items() if not name and verdict.loss}
    own = {node: verdict for node, verdict in verdicts.items() if verdict == NOT_FOLLOWING}
    gone = {node for node, verdict in verdicts.items() if verdict.fate is Fate.DROPPED} - own.keys()
    collector = Collector(CATALOGUE, document)
    for node in sorted(gone):
        if parents[node] not in gone:
            named = document.attribute_text(node, "name")
            collector.report("FM204", node, tag=tags[node], name=f" '{named}'" if named else "")
    for node, verdict in own.items():
        collector.report("FM204.lost", node, path=[document.path_of(node)], why=[verdict.why])
    for node in sorted(verdicts.keys() & copy.inserted.keys()):
        collector.report("FM204.included", node)
    reported = "".join(one.message for one in collector.diagnostics)
    unknown = [one for one in without_unknown_references(scene)[1] if one.message.split("'")[1] not in reported]
    scene.diagnostics += [*unknown, *collector.diagnostics]


def _folder_of(scene: Scene) -> Path | None:
    """The folder that the references of a scene's document are relative to."""
    source = scene.documents[0] if scene.documents else None
    return source.location.directory if isinstance(source, Document) else None


def _unchanged(scene: Scene, format: Format) -> bytes | None:
    """The source's own bytes, if the format is not edited in place and nothing was edited."""
    return unchanged_bytes(scene) if format.embedding is None and format.name == scene.source_info.format else None


def canonical_bytes(scene: Scene, format: str, folder: Path | None, output: OutputContext | None = None) -> bytes:
    """A scene as a new document, verified by reading it back; `output` gets the files beside it."""
    original = scene
    try:
        require_valid(scene)
        scene, unknown = without_unknown_references(scene)
        written = write(scene, format, folder=folder, output=output)
    except (ExoskelError, ValueError) as error:
        raise SaveError(f"the scene cannot be saved: {error}") from None
    original.diagnostics += unknown
    if written.native_only:
        _check_native(scene, written, format)
        return written.data
    options: dict[str, Any] = written.output.read_options()
    problem = match(scene, reread(written.data, format, folder, **options)).problem
    if problem:
        raise SaveError(f"the scene cannot be written as {format.upper()} without changes: {problem}")
    return written.data


def _check_native(scene: Scene, written: Written, format: str) -> None:
    """Refuse a document without embedded data that is read without some bodies."""
    lost = [b for world in scene.worlds for b in world.bodies() if id(b) not in written.counterparts]
    if lost:
        raise SaveError(f"the scene cannot be written as {format.upper()}: body {lost[0].name!r} is lost")


def _protect_sources(scene: Scene, target: Path) -> None:
    """Raise SaveError if a file is one that the scene was read from, but does not hold the whole scene."""
    included = scene.source_info.included
    for number, document in enumerate(scene.documents):
        if not isinstance(document, Document):
            continue
        paths = [*document.included, *([document.location.path] if number in included else [])]
        if any(path and _is_same(target, Path(path)) for path in paths):
            reason = "it has macros" if document.is_generated else "it is included"
            raise SaveError(f"{str(target)!r} is a source of the scene, and {reason}; save the scene to another file")


def _own_path(scene: Scene) -> str:
    """The file that a scene was read from; empty for text and for bundled samples."""
    source = scene.documents[0] if scene.documents else None
    if not isinstance(source, Document) or source.location.is_base or source.location.uri:
        return ""
    return source.location.path


def _can_patch(scene: Scene, format: Format) -> bool:
    """Whether the scene comes from one document of a format that is edited in place."""
    is_one_document = len(scene.documents) == 1 and isinstance(scene.documents[0], Document)
    return format.embedding is not None and is_one_document and format.name == scene.source_info.format


def _is_same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _format_of(target: Path, scene: Scene) -> Format:
    """The format by the extension.  A document keeps its format under an extension that several formats share."""
    own = scene.source_info.format
    found = registry.by_extension(str(target))
    if own and (found is None or target.suffix.lower() in registry.SHARED_EXTENSIONS):
        registry.refuse_other_files(str(target))
        return registry.by_name(own)
    return registry.for_output(str(target))
