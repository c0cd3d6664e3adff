"""Loads scenes from paths, URIs, bytes and texts."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import Literal

from exoskel.diagnostics import LoadError, SourceError, has_errors
from exoskel.formats import registry
from exoskel.formats.interface import Dialect, Format, ReadOptions, Semantics, VelocityAxes
from exoskel.formats.misspelt_names import complete_diagnostics
from exoskel.scene.edit_tracking import CLOCK, TrackedList, no_edits
from exoskel.scene.inertia import InertiaRule
from exoskel.scene.validation import mark_valid
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.encoding import UnknownEncodingError, detect_encoding
from exoskel.source.file_access import read_source
from exoskel.source.file_lookup import Location, PackagePath, Resolver, SearchPaths, locate_document, lower_first
from exoskel.source.gc_pause import garbage_collection_paused
from exoskel.source.limits import DEFAULT_LIMITS, Limits

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
    arguments: Mapping[str, str] | None = None,
) -> Scene:
    """Read a scene from a path, a `file:` or `dart://sample/…` URI, bytes, or text that starts with `<`.

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
        expand: for URDF, expand xacro if the package xacro is installed.  It evaluates expressions of the file as
            Python and reads any file that they name, so `confine` prevents it.
        arguments: for xacro, the values of its arguments by name.
    """
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
    chosen = registry.by_name(format) if format else registry.detect(document.data, document.name)
    now = CLOCK.ticks
    with garbage_collection_paused(), no_edits():  # building a scene is not an edit
        scene = chosen.reader()(document, options)
        _complete(scene, chosen, options)
        scene.worlds, scene.options, scene.stamp = TrackedList(scene.worlds), options, now
        mark_valid(scene.worlds, now)
    if strict and has_errors(scene.diagnostics):
        raise LoadError(scene.diagnostics)
    return scene


def _complete(scene: Scene, chosen: Format, options: ReadOptions) -> None:
    """Report what misspelt names hide."""
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or not chosen.has_vocabulary:
        return

    def read(data: bytes) -> Scene:
        return chosen.reader()(Document(data, document.name, document.location), options)

    complete_diagnostics(scene, read, chosen.vocabulary)


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
    if text.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] == "<":
        return Document(
            _encode_as_declared(text.removeprefix(_BYTE_ORDER_MARK)), name or "<text>", _base_location(base)
        )
    location = locate_document(text)
    document = Document(_read_file(location.path, text, limits), name or text, location)
    document.stored = document.data
    return document


_BYTE_ORDER_MARK = "\ufeff"


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
        raise SourceError(f"cannot read {shown!r}: {lower_first(reason)}") from None
