"""Writing scenes: a canonical document, with embedded data for what the format cannot express."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from exoskel.diagnostics import Severity
from exoskel.fates import Fate, Verdict
from exoskel.formats import registry
from exoskel.formats.comments_and_extensions import PreservedData, preserve, preserve_comments
from exoskel.formats.embedded_writer import TOLERANCE, EmbeddedField, EmbeddedWriter, WrittenItems
from exoskel.formats.initial_state import add_state_files
from exoskel.formats.interface import Dialect, Format, ReadOptions, SourceCopy
from exoskel.formats.lowered_actuators import without_actuators
from exoskel.formats.saving.changes import SourceChanges
from exoskel.formats.shared_codes import CATALOGUE
from exoskel.formats.source_copies import copy_of_source
from exoskel.formats.unread_elements import ALL_READ, UnreadElements
from exoskel.scene.body import Marker
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.exact_comparison import have_same_values
from exoskel.scene.fields import iter_items
from exoskel.scene.item import Item
from exoskel.scene.merge import copy_scene
from exoskel.scene.shape import Mesh, Shape
from exoskel.scene.validation import require_valid
from exoskel.scene.world import Scene, World
from exoskel.source.canonical_layout import format_document
from exoskel.source.document import Document
from exoskel.source.file_lookup import Location
from exoskel.source.limits import Limits
from exoskel.source.losses import with_owners
from exoskel.source.markup import Markup, UnwritableError, serialize
from exoskel.source.native_reading import NativeReading
from exoskel.source.numbers import round_markup
from exoskel.source.output_context import ComposedFile, MeshPaths, OutputContext, Target

_OWN_LIMITS = Limits(depth=1000)
"""For documents that were written here, from a scene that passed the limits."""


class Written(Struct):
    """A document that was written from a scene.

    `native` is what was read back from the document before any data was embedded.  `counterparts` are the items in it,
    by the id of the item they were written from; `elements` are the ids of items that have an element of their own.
    `reread` is the scene that our own reader reads from `data`, `reread_native` the same without the embedded data.
    If the document is `native_only`, it has no embedded data, and all three scenes are the same.  `compiled` is the
    engine's model of the document, in formats that are compiled to be read.
    """

    data: bytes
    native: Scene
    counterparts: dict[int, Item]
    embedded: list[EmbeddedField]
    output: OutputContext
    preserved: PreservedData
    reread: Scene
    reread_native: Scene
    native_only: bool = False
    elements: frozenset[int] = frozenset()
    compiled: object | None = None
    native_data: bytes = b""
    """The document before any data was embedded."""
    placeholders: int = 0
    """The number of placeholders in it."""
    copy: SourceCopy | None = None
    """The copy of the document that the scene was read from, if that is what was written."""


def write(
    scene: Scene,
    format: str,
    *,
    folder: Path | None = None,
    target: Target = "portable",
    output: OutputContext | None = None,
    changes: SourceChanges | None = None,
) -> Written:
    """Write a scene in a format, for a document in `folder`.

    Portable documents are stable: reading one and writing it again gives the same bytes.  `output` states how mesh
    files are referred to, `changes` how the scene differs from all that was read from its document, if this is known.
    """
    require_valid(scene)
    output = output or OutputContext(folder, target)
    try:
        if not embeds_data(registry.by_name(format), output.target):
            scene = without_actuators(scene, registry.by_name(format), output).scene
        return _write_until_stable(scene, format, output, changes)
    except ValueError:
        require_valid(scene, trust_reader=False)
        raise


def embeds_data(format: Format, target: Target) -> bool:
    """Whether documents for a target contain what the format cannot express."""
    return format.embedding is not None and target == "portable"


_MOST_ROUNDS = 4


def _write_until_stable(scene: Scene, format: str, output: OutputContext, changes: SourceChanges | None) -> Written:
    readings = _Readings(format)
    written = write_copy(scene, format, output, changes, readings) or _write_once(scene, format, output, readings)
    if written.native_only:
        return written
    for number in range(_MOST_ROUNDS):
        written.reread, written.reread_native = readings.read(written.data, output)
        if number == 0 and _is_same_scene(scene, written, registry.by_name(format)):
            return written
        again_output = output.empty_copy()
        root = _compose(written.reread, registry.by_name(format), again_output)
        if number == 0 and _is_surely_stable(scene, written, root, again_output):
            return written
        again = _write_once(written.reread, format, again_output, readings, root)
        if again.data == written.data:
            return written
        # Rounding: numbers that were decomposed and recombined differ in the last bit.
        written.data = again.data
    written.reread, written.reread_native = readings.read(written.data, output)
    return written


def _is_same_scene(scene: Scene, written: Written, format: Format) -> bool:
    """Whether a scene came back with the same values to the bit, so that it is written as the same document again."""
    if format.capabilities().depends_on_source or not _has_no_other_data(written):
        return False
    return have_same_values(scene, written.reread)


def _has_no_other_data(written: Written) -> bool:
    """Whether a document has no data besides that of the scene, and no problems were found when it was read back."""
    preserved = written.preserved
    has_other_data = preserved.has_comments or preserved.has_other_data
    return not has_other_data and len(written.reread.diagnostics) == len(written.native.diagnostics)


def _is_surely_stable(scene: Scene, written: Written, again: Markup, output: OutputContext) -> bool:
    """Whether embedding data in `again`, the native document of the scene that was read back, gives the same document.

    This is the common case, and shown without embedding the data again.  If the native documents are the same, what
    was read back differs from them in just the embedded fields.  They are embedded again unless rounding makes a
    small difference vanish.  The texts of whole items are compared.
    """
    reread = written.reread
    if not _has_no_other_data(written):
        return False
    if any(one.field == "geometry" or one.error <= 2 * TOLERANCE for one in written.embedded):
        return False
    if [_groups(world) for world in scene.worlds] != [_groups(world) for world in reread.worlds]:
        return False
    if serialize(again).encode() != written.native_data:
        return False
    if sum(element.placeholder for element in again.iter()) != written.placeholders:
        return False
    whole = {id(one.item): one.text for one in written.embedded if not one.field}
    return not whole or _are_embedded_again(whole, scene, written, again, output)


def _are_embedded_again(
    texts: dict[int, str], scene: Scene, written: Written, again: Markup, output: OutputContext
) -> bool:
    """Whether items, by their ids, that were embedded as these texts are embedded as the same ones after reading.

    They are shapes or markers at the same place of the scene, again without an element.
    """
    with_elements = {id(element.item) for element in again.iter() if element.item is not None}
    for one, other in zip_longest(iter_items(scene), iter_items(written.reread)):
        if one is None or other is None or type(one[0]) is not type(other[0]) or one[2] != other[2]:
            return False
        text = texts.get(id(one[0]))
        if text is None:
            continue
        item = other[0]
        if not isinstance(item, Shape | Marker) or (isinstance(item, Shape) and isinstance(item.geometry, Mesh)):
            return False
        if id(item) in with_elements or output.embedded_text(item) != text:
            return False
    return True


def _groups(world: World) -> list[tuple[object, ...]]:
    """The models of a world as they are described by embedded data."""
    return [(m.name, m.static, m.pose, [b.name for b in m.bodies], [j.name for j in m.joints]) for m in world.models]


class _Readings:
    """Scenes that were read back, so that the same document with the same mesh files is read once."""

    def __init__(self, format: str) -> None:
        self.format = format
        self.known: list[tuple[bytes, MeshPaths, _Both]] = []
        self.compiled: object | None = None
        """The engine's model of the document that was read last."""

    def read(self, data: bytes, output: OutputContext, *, is_own: bool = True) -> _Both:
        """Read a document with its embedded data and without it; `is_own` is false for a copy of its source."""
        now = output.mesh_paths()
        for known, paths, found in self.known:
            if known == data and paths == now:
                return found
        native: list[Scene] = []
        scene = read_back(
            data,
            self.format,
            output,
            on_native_scene=lambda one: native.append(copy_scene(one)),
            on_compiled=self._keep_compiled,
            native_reading=self._native_reading(now),
            is_own=is_own,
        )
        self.known.append((data, now, (scene, output.restore(native[0]) if native else scene)))
        return self.known[-1][2]

    def _native_reading(self, paths: MeshPaths) -> NativeReading | None:
        """The document that was read first, before data was embedded, if it refers to no files that are restored."""
        if not self.known or any(paths):
            return None
        text, _, (scene, _) = self.known[0]
        return NativeReading(text, scene)

    def _keep_compiled(self, model: object) -> None:
        self.compiled = model


_Both = tuple[Scene, Scene]


def _compose(scene: Scene, chosen: Format, output: OutputContext) -> Markup:
    """Write the native document of a scene, without embedded data."""
    lowered = without_actuators(scene, chosen, output)
    root = chosen.writer()(lowered.scene, output)
    if lowered.originals:
        for element in root.iter():
            element.item = lowered.originals.get(id(element.item), element.item)
        output.losses[:] = with_owners(output.losses, lambda item: lowered.originals.get(id(item), item))
    if output.given_numbers is not None:
        round_markup(root, output.given_numbers)
    return root


def _write_once(
    scene: Scene, format: str, output: OutputContext, readings: _Readings, root: Markup | None = None
) -> Written:
    """Write a scene and embed what its native document lacks; `root` is that document, if it is known."""
    chosen = registry.by_name(format)
    capabilities = chosen.capabilities()
    output.resolves_model_uris = capabilities.resolves_model_uris
    output.source_format = scene.source_info.format
    _record_lost_textures(scene, output, reads_files=capabilities.reads_mesh_textures)
    if capabilities.compose is not None:
        composed = capabilities.compose(scene, output)
        preserved = PreservedData(attributes=output.preserved_attributes, unknown=output.preserved_nodes)
        preserved.lost_attributes |= output.lost_attributes
        return _native_only(composed, output, preserved)
    if root is None:
        root = _compose(scene, chosen, output)
    embedding = chosen.embedding
    preserved = PreservedData()
    if embedding is None:
        is_same = scene.source_info.format == format
        mapping, unread = chosen.source_mapping(), ALL_READ
        if is_same and output.target == "portable":
            changed = frozenset(output.changed_nodes)
            keys, settings = mapping.diagnostics.preserved, mapping.settings
            unread = UnreadElements(
                output.source_elements,
                scene.diagnostics,
                keys,
                settings,
                output.folder,
                changed,
                output.source_copies,
                output.frame_names,
                output.resolve_pose,
                output.is_moved,
                output.inner_models,
                mapping.find_unread,
                mapping.may_carry,
                frozenset(scene.source_info.couplings),
            )
        preserved = preserve_comments(root, scene, is_part=output.is_part, unread=unread, is_rotated=output.is_rotated)
        if preserved.unknown and capabilities.update_version is not None:
            capabilities.update_version(root)
        preserved.attributes |= output.preserved_attributes
        output.carried_nodes |= dict.fromkeys(preserved.resolved, _IN_DEFAULT_FRAME)
        preserved.unknown |= _with_content(output.preserved_nodes, scene, chosen.source_mapping().includes)
    data = native_data = serialize(root).encode()
    native, _ = readings.read(data, output)
    _require_worlds(scene, native, chosen.label)
    items = WrittenItems(scene, native, root, has_all_elements=embedding is not None)
    elements = frozenset(items.elements)
    if chosen.has_state_file:
        add_state_files(scene, native, items.counterparts, output, chosen)
    if embedding is None or output.target != "portable":
        written = _native_only(ComposedFile(data, native, items.counterparts, elements), output, preserved)
        written.compiled = readings.compiled
        return written
    writer = EmbeddedWriter(items, embedding, output)
    writer.embed()
    preserved = preserve(root, scene, embedding)
    if writer.has_changed or preserved.has_comments or preserved.has_other_data:
        data = serialize(root).encode()
    if preserved.has_other_data:  # it has a layout of its own
        data = format_document(Document(data), chosen.vocabulary())
    return Written(
        data,
        native,
        items.counterparts,
        writer.fields,
        output,
        preserved,
        reread=native,
        reread_native=native,
        elements=elements,
        native_data=native_data,
        placeholders=writer.placeholders,
    )


_IN_DEFAULT_FRAME = Verdict(Fate.LOWERED, "the same pose, in its default frame")


def write_copy(
    scene: Scene,
    format: str,
    output: OutputContext,
    changes: SourceChanges | None,
    readings: _Readings | None = None,
) -> Written | None:
    """Write the document that a scene was read from; None if a new document is needed."""
    if changes is None:
        return None
    chosen = registry.by_name(format)
    read = (readings or _Readings(format)).read
    found = copy_of_source(scene, changes, chosen, output, lambda data: read(data, output, is_own=False)[0])
    if found is None:
        return None
    composed = ComposedFile(found.copy.data, found.native, found.counterparts, frozenset(found.counterparts))
    written = _native_only(composed, output, PreservedData())
    written.copy = found.copy  # not `compiled`: its names are those of the source
    return written


def _with_content(nodes: set[int], scene: Scene, includes: frozenset[str]) -> set[int]:
    """Elements of the source, and elements inside of them unless these are listed too.

    Elements of an included file have the number of the element that includes it, which has a fate of its own.
    """
    document = scene.documents[0] if nodes else None
    if not isinstance(document, Document):
        return set()
    outline = document.outline
    listed = [node for node in nodes if outline.tags[node] not in includes]
    outer = {outline.parents[node] for node in listed} & nodes
    return set(outer).union(*(range(node, outline.ends[node]) for node in listed if node not in outer))


def _record_lost_textures(scene: Scene, output: OutputContext, *, reads_files: bool) -> None:
    """Record the loss of the textures of mesh files that are seen."""
    known: dict[str | None, bool] = {}
    for body in (body for world in scene.worlds for body in world.bodies()):
        for shape in body.shown_shapes:
            mesh = shape.geometry
            if not isinstance(mesh, Mesh):
                continue
            if mesh.path not in known:
                known[mesh.path] = output.loses_textures(mesh, reads_files=reads_files)
            if known[mesh.path]:
                output.add_loss(shape, CATALOGUE["FM303"], "geometry", changes_effect=True)


class UnreadableOutputError(UnwritableError):
    """A document that was written cannot be read back."""


def _require_worlds(scene: Scene, native: Scene, label: str) -> None:
    """Raise UnreadableOutputError if a document has no world although one was written: MuJoCo does not compile it."""
    errors = [found for found in native.diagnostics if found.severity is Severity.ERROR]
    if scene.worlds and not native.worlds and errors:
        hint = f"; {errors[0].hint}" if errors[0].hint else ""
        raise UnreadableOutputError(
            f"the {label} document cannot be read back: {errors[0].message}{hint} ({errors[0].code})"
        )


def _native_only(composed: ComposedFile, output: OutputContext, preserved: PreservedData) -> Written:
    return Written(
        composed.data,
        composed.native,
        composed.counterparts,
        [],
        output,
        preserved,
        reread=composed.native,
        reread_native=composed.native,
        native_only=True,
        elements=composed.elements,
    )


def read_back(data: bytes, format: str, output: OutputContext, **options: Any) -> Scene:
    """Read a document before its mesh files exist, with references to missing files as its source has them."""
    limits = structs.replace(_OWN_LIMITS, seconds=output.compiler_seconds)
    options = {**output.read_options(), **options, "limits": limits}
    return output.restore(reread(data, format, output.folder, output.target, **options))


def reread(
    data: bytes,
    format: str,
    folder: Path | None,
    target: Target = "portable",
    *,
    limits: Limits = _OWN_LIMITS,
    is_own: bool = True,
    **options: Any,
) -> Scene:
    """Read a document that was written; `is_own` is false for a copy of its source."""
    location = Location(path=str(folder / f"scene.{format}")) if folder is not None else Location()
    document = Document(data, f"<{format}>", location)
    dialect: Dialect = "pyode" if target == "pyode" else "spec"
    with no_edits():  # reading is not an edit, and accepts any number
        return registry.by_name(format).reader()(
            document, ReadOptions(dialect=dialect, limits=limits, is_own=is_own, **options)
        )
