"""Loads scenes from paths, URIs, bytes and texts.

Misspelt names hide problems: a misspelt element is not read, and its content neither.  So the document is read again
with the corrected names, where only one name fits.  The scene stays as it is: only its diagnostics are completed.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from exoskel.diagnostics import (
    Diagnostic,
    ExoskelError,
    Fix,
    LoadError,
    Place,
    Severity,
    SourceError,
    format_detail,
    has_errors,
)
from exoskel.formats import registry
from exoskel.formats.fixer import Fixes
from exoskel.formats.interface import Dialect, Format, Reader, ReadOptions, SceneReader, Semantics, VelocityAxes
from exoskel.scene.edit_tracking import CLOCK, TrackedList, no_edits, set_field
from exoskel.scene.fields import iter_items
from exoskel.scene.inertia import InertiaRule
from exoskel.scene.shape import Mesh, Shape, texture_of
from exoskel.scene.validation import mark_read
from exoskel.scene.world import Scene
from exoskel.source.contained_files import split_path
from exoskel.source.document import Document, garbage_collection_paused
from exoskel.source.encoding import UnknownEncodingError, detect_encoding
from exoskel.source.file_access import read_source
from exoskel.source.file_lookup import Location, PackagePath, Resolver, SearchPaths, locate_document, lower_first
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.vocabulary import Vocabulary

Source = str | os.PathLike[str] | bytes


def load(
    source: Source,
    *,
    format: str | None = None,
    name: str | None = None,
    base: str | os.PathLike[str] | None = None,
    semantics: Semantics = "written",
    dialect: Dialect = "auto",
    strict: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    package_path: PackagePath = (),
    resolver: Resolver | None = None,
    confine: bool = False,
    inertia_rule: InertiaRule = "all_shapes",
    free_velocity_axes: VelocityAxes = "parent",
    index_base: Literal[0, 1] | None = None,
    expand: bool = True,
    arguments: Mapping[str, object] | None = None,
) -> Scene:
    """Read a scene from a path, a `file:` or `dart://sample/…` URI, bytes, or text that starts with `<` or `#usda`.

    The scene contains everything valid in the file; `scene.diagnostics` lists the problems.  Invalid files do not
    raise, except:

    * SourceError (an OSError) if the source cannot be opened;
    * ExoskelError if an option has an unsupported value;
    * LoadError if `strict` is set and the file has errors, by the strict severities of its format (in SKEL every
      warning is an error there).

    Options:
        format: the format of the file; by default it is detected by content, then by the extension.
        name: the name of the source in messages; by default its path.
        base: the directory, or a file in it, that references in bytes or text are relative to.
        semantics: for SKEL, `written` (as documented) or `dart` (as DART 6.20 loads it).
        dialect: for XODE, `spec`, `pyode`, or `auto` (detected in the file).
        limits: the largest size, depth and number of elements.
        package_path: directories to find packages in, or a mapping from package names to directories.
        resolver: called first with each reference; returns a path, or None for the default.
        confine: refuse references to files outside the directory of the document.
        inertia_rule: `all_shapes` derives missing moments of inertia as DART 6.20, `first_shape` as DART up to 6.19.
        free_velocity_axes: `child` reads a free joint's initial velocity as DART up to 6.16.
        index_base: for XODE, the index of the first vertex of a mesh, 0 or 1; by default it is detected in the mesh.
        expand: for URDF, SDF and MJCF, expand xacro if its package is installed.  It evaluates expressions of the file
            as Python and reads any file that they name, so `confine` prevents it.
        arguments: for xacro, the values of its arguments by name.
    """
    if limits is not DEFAULT_LIMITS:
        limits.check()
    options = ReadOptions(
        semantics=semantics,
        inertia_rule=inertia_rule,
        free_velocity_axes=free_velocity_axes,
        dialect=dialect,
        index_base=index_base,
        strict=strict,
        expand=expand,
        arguments=arguments or {},
        limits=limits,
        paths=SearchPaths(packages=package_path, resolver=resolver, confine=confine),
    )
    document = open_document(source, name=name, base=base, limits=limits)
    chosen = registry.by_name(format) if format else registry.detect(document.data, document.name, document.plain_root)
    now = CLOCK.ticks
    with garbage_collection_paused(), no_edits():  # building a scene is not an edit
        scene = _reader(chosen)(document, options)
        if chosen.has_state_file:
            from exoskel.formats.initial_state import apply_state_files

            apply_state_files(scene, document, options, chosen)
        if arguments:
            from exoskel.formats.macro_expansion import report_unused_arguments

            report_unused_arguments(scene, document, options, expands_xacro=chosen.expands_xacro)
        if scene.diagnostics:
            _complete(scene, chosen, options)
        set_field(scene, "worlds", TrackedList(scene.worlds))
        set_field(scene, "options", options)
        set_field(scene, "stamp", now)
        mark_read(scene.worlds, now)
    if strict and has_errors(scene.diagnostics):
        raise LoadError(scene.diagnostics)
    return scene


@cache
def _reader(chosen: Format) -> Reader:
    """The reader of a format.  To find it, its module is imported, which takes time even if it has been before."""
    return chosen.reader()


def _complete(scene: Scene, chosen: Format, options: ReadOptions) -> None:
    """Report what misspelt names hide."""
    if not [d for d in scene.diagnostics if d.fix is not None and _renames(d.fix)]:  # as in most files
        return
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document):
        return

    def read(data: bytes) -> Scene:
        return _reader(chosen)(Document(data, document.name, document.location), options)

    complete_diagnostics(scene, read, chosen.vocabulary if chosen.has_vocabulary else None)


def open_document(
    source: Source,
    *,
    name: str | None = None,
    base: str | os.PathLike[str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Document:
    """Read the bytes of a source, with their name and location."""
    if isinstance(source, bytes):
        return Document(source, name or "<bytes>", _base_location(base))
    text = os.fspath(source)
    if text.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(_DOCUMENT_STARTS):
        return Document(
            _encode_as_declared(text.removeprefix(_BYTE_ORDER_MARK)), name or "<text>", _base_location(base)
        )
    location = locate_document(text)
    document = Document(_read_file(location.path, text, limits), name or text, location)
    document.stored = document.data
    return document


_BYTE_ORDER_MARK = "\ufeff"

_DOCUMENT_STARTS = ("<", "#usda")
"""What texts begin with that are XML or USD, and no paths."""
_LONGEST_NAME = 200
"""Characters of a path in a message: a longer one is a text of another kind."""


def _encode_as_declared(text: str) -> bytes:
    """Encode a text in the encoding that its XML declaration names.

    Where that is not possible, it is UTF-8 with a byte-order mark, which overrides the declaration.
    """
    data = text.encode("utf-8", "surrogatepass")
    try:
        encoding = detect_encoding(data)
        return data if encoding.codec == "utf-8" else text.encode(encoding.codec)
    except (UnknownEncodingError, UnicodeError):
        return BOM_UTF8 + data


def _base_location(base: str | os.PathLike[str] | None) -> Location:
    """The location of a document; a directory is replaced by a file in it."""
    if base is None:
        return Location()
    location = locate_document(os.fspath(base))
    if os.path.isdir(location.path):
        return Location(path=os.path.join(location.path, "document"), uri=location.uri, is_base=True)
    return Location(path=location.path, uri=location.uri, is_base=True)


def _read_file(path: str, shown: str, limits: Limits) -> bytes:
    """The bytes of a file, at most one more than the limit, which shows that it is too large."""
    try:
        return read_source(path, limits.bytes)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        name = repr(shown if len(shown) <= _LONGEST_NAME else f"{shown[:_LONGEST_NAME]}…")
        raise SourceError(f"cannot read {name}: {lower_first(reason)}") from None


_MOST_CORRECTIONS = 1000
"""In a file with more misspelt names than that, nothing more is searched."""
_MOST_READS = 6
"""Corrected elements may contain more misspelt names."""
_MOST_CAUSES = 8
"""Up to this number, names are corrected one by one, to find which of them causes another problem."""
_NEIGHBOURS = 3


def complete_diagnostics(scene: Scene, read: SceneReader, vocabulary: Callable[[], Vocabulary] | None) -> None:
    """Add the problems that misspelt names hide, and mark those that follow from them.

    `read` reads other content of the same file.  A name that would repeat another element is probably not the one that
    was meant, and is not corrected.
    """
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or document.is_generated:
        return
    first = _corrections(scene.diagnostics, document)
    if not first or len(first) > _MOST_CORRECTIONS:
        return
    repeated = frozenset[str]() if vocabulary is None else _repeated_keys(vocabulary())
    found = _read_corrected(document, read, first, repeated)
    if found is None or not found.corrections:
        return
    names = _MisspeltNames(document, found.corrections)
    before = {_key(d) for d in scene.diagnostics}
    after = {_key(d): d for d in [*found.corrections, *found.diagnostics]}
    gone = [
        d
        for d in scene.diagnostics
        if d.source is document and d.severity is not Severity.INFO and _key(d) not in after
    ]
    causes = _causes(document, read, found.corrections, names, {_key(d) for d in gone}) if gone else {}
    follow_ups = {id(d): causes.get(_key(d)) or names.nearest(d) for d in gone}
    kept = [
        structs.replace(d, note=f"follows from {follow_ups[id(d)].written}") if id(d) in follow_ups else d
        for d in scene.diagnostics
    ]
    hidden = [
        structs.replace(_relocated(d, document), fix=None, note=names.nearest(d).reading, assumed=True)
        for key, d in after.items()
        if key not in before
    ]
    scene.diagnostics[:] = sorted([*kept, *hidden], key=lambda d: d.place.node) if hidden else kept


def _repeated_keys(vocabulary: Vocabulary) -> frozenset[str]:
    """The keys of diagnostics about repeated elements."""
    return frozenset({vocabulary.codes.repeated, *(row.repeated for _, row in vocabulary.rows())} - {""})


class _CorrectedReading(Struct):
    """The diagnostics of a document with corrected names, and those that were corrected."""

    diagnostics: list[Diagnostic]
    corrections: list[Diagnostic]


def _corrections(diagnostics: Iterable[Diagnostic], document: Document) -> list[Diagnostic]:
    """The diagnostics about names that have one likely correction."""
    return [
        d
        for d in diagnostics
        if d.fix is not None and d.source is document and _is_correction(d.fix, d.place, document)
    ]


def _renames(fix: Fix) -> bool:
    """Whether a fix replaces a name by the only one that is likely."""
    return fix.safe and not fix.preserves_meaning and fix.action in ("rename", "rename_attribute", "replace")


def _is_correction(fix: Fix, place: Place, document: Document) -> bool:
    if not _renames(fix):
        return False
    is_taken = fix.action == "rename_attribute" and fix.name in document.attributes(document.element(place))
    return not is_taken


def _read_corrected(
    document: Document, read: SceneReader, corrections: list[Diagnostic], repeated: frozenset[str]
) -> _CorrectedReading | None:
    """Read a document with corrected names, and with those that only then are found inside; None if it fails.

    Corrections change no numbers of elements.
    """
    refused: set[tuple[str, int, str, str]] = set()
    current, applied = document, list[Diagnostic]()
    result = None
    for _ in range(_MOST_READS):
        fixes = Fixes(current)
        for one in corrections:
            fixes.add(one)
        data = fixes.apply()
        if not fixes.done:
            break
        try:
            scene = read(data)
        except ExoskelError:
            return result
        after = scene.documents[0] if scene.documents else None
        if not isinstance(after, Document):
            return result
        wrong = {after.element(d.place) for d in scene.diagnostics if d.key in repeated and d.source is after}
        clashes = {_key(d) for d in fixes.done if current.element(d.place) in wrong}
        if clashes:  # again from here, without them
            refused |= clashes
            corrections = [d for d in fixes.done if _key(d) not in refused]
            continue
        applied += [_relocated(d, document) for d in fixes.done]
        result = _CorrectedReading(scene.diagnostics, applied)
        current = after
        corrections = [d for d in _corrections(scene.diagnostics, after) if _key(d) not in refused]
    return result


def _causes(
    document: Document,
    read: SceneReader,
    corrections: list[Diagnostic],
    names: _MisspeltNames,
    effects: set[tuple[str, int, str, str]],
) -> dict[tuple[str, int, str, str], _MisspeltName]:
    """The name that causes each of some diagnostics, by their keys; searched only among a few names.

    Correcting it alone removes the diagnostic, or else correcting all others does not.
    """
    if not 1 < len(corrections) <= _MOST_CAUSES:
        return {}

    def left(applied: list[Diagnostic]) -> set[tuple[str, int, str, str]] | None:
        """The diagnostics of the document with these corrections; None if it cannot be read."""
        fixes = Fixes(document)
        for one in applied:
            fixes.add(one)
        data = fixes.apply()
        try:
            return {_key(d) for d in read(data).diagnostics} if fixes.done else None
        except ExoskelError:
            return None

    found: dict[tuple[str, int, str, str], _MisspeltName] = {}
    for one in corrections:
        remaining = left([one])
        if remaining is not None:
            found |= dict.fromkeys(effects - remaining - found.keys(), names.by_key[_key(one)])
    if effects <= found.keys():
        return found
    for one in corrections:
        remaining = left([other for other in corrections if other is not one])
        if remaining is not None:
            found |= dict.fromkeys((effects & remaining) - found.keys(), names.by_key[_key(one)])
    return found


def _key(diagnostic: Diagnostic) -> tuple[str, int, str, str]:
    place, source = diagnostic.place, diagnostic.source
    node = source.element(place) if isinstance(source, Document) and place.node >= 0 else place.node
    return diagnostic.key, node, place.attribute, place.token


def _relocated(diagnostic: Diagnostic, document: Document) -> Diagnostic:
    """A diagnostic of a corrected document at the same place of the original one."""
    place, corrected = diagnostic.place, diagnostic.source
    if isinstance(corrected, Document) and place.node >= 0 and place.child:
        node = corrected.element(place)
        text = "" if place.attribute else corrected.value_text(node).strip()
        is_tag = text.startswith("<")  # of an element with elements inside
        place = Place(node, "", place.attribute, place.token or ("" if is_tag else text))
    return structs.replace(diagnostic, place=place, source=document)


class _MisspeltName(Struct):
    """A misspelt name as notes show it, and how it is read."""

    key: tuple[str, int, str, str]
    node: int
    written: str
    reading: str


class _MisspeltNames:
    """The corrected names of a document."""

    def __init__(self, document: Document, corrections: list[Diagnostic]) -> None:
        self.document = document
        described = [self._describe(d, d.fix) for d in corrections if d.fix is not None]
        self.names = sorted(described, key=lambda name: name.node)
        self.nodes = [name.node for name in self.names]
        self.by_key = {name.key: name for name in self.names}

    def nearest(self, diagnostic: Diagnostic) -> _MisspeltName:
        """The innermost name around a diagnostic, or else the closest one in the innermost element with any."""
        own, outline = _key(diagnostic), self.document.outline
        node = max(own[1], 0)
        chain = outline.ancestry(node)[::-1]
        around = [name for above in chain for name in self._between(above, above + 1) if name.key != own]
        if around:
            return around[0]
        for above in chain:
            close = [name for name in self._between(above, outline.ends[above], node) if name.key != own]
            if close:
                return min(close, key=lambda name: abs(name.node - node))
        return self.names[0]

    def _between(self, start: int, end: int, close_to: int = -1) -> list[_MisspeltName]:
        """The names at elements with numbers in a range; only some of them if they should be close to an element."""
        low, high = bisect_left(self.nodes, start), bisect_left(self.nodes, end)
        if close_to >= 0:
            middle = bisect_left(self.nodes, close_to, low, high)
            low, high = max(low, middle - _NEIGHBOURS), min(high, middle + _NEIGHBOURS)
        return self.names[low:high]

    def _describe(self, correction: Diagnostic, fix: Fix) -> _MisspeltName:
        place = correction.place
        node = self.document.element(place)
        line = self.document.lines([node])[0]
        if fix.action == "rename":
            written, meant = f"<{self.document.outline.tags[node]}>", f"<{fix.name}>"
        elif fix.action == "rename_attribute":
            written, meant = f"'{place.attribute}'", f"'{fix.name}'"
        else:
            written, meant = f"'{place.token or self._value(place)}'", f"'{fix.text}'"
        shown = f"{format_detail(written)} in line {line}"
        return _MisspeltName(_key(correction), node, shown, f"found by reading {shown} as {format_detail(meant)}")

    def _value(self, place: Place) -> str:
        span = self.document.span(place)
        return self.document.text[span.start : span.end].decode(self.document.scan.codec, "replace")


def source_files(scene: Scene) -> list[Path]:
    """The files that a scene was read from, with the files they include and the meshes they use."""
    locations = [document.location for document in scene.documents if isinstance(document, Document)]
    files = [location.path for location in locations if location.path and not location.is_base]
    shapes = [item for item, _, _ in iter_items(scene) if isinstance(item, Shape)]
    meshes = (shape.geometry.path for shape in shapes if isinstance(shape.geometry, Mesh))
    textures = (split_path(image.path or "")[0] for shape in shapes if (image := texture_of(shape)) is not None)
    included = (path for document in scene.documents if isinstance(document, Document) for path in document.included)
    return [Path(path) for path in dict.fromkeys((*files, *included, *meshes, *textures)) if path]
