"""Opening files: from a path, URI, bytes or text to a scene."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from typing import Literal

from exoskel.diagnostics import LoadError, SourceError, has_errors
from exoskel.formats import registry
from exoskel.formats.read_options import Dialect, ReadOptions, Semantics, VelocityAxes
from exoskel.scene.edit_tracking import CLOCK, TrackedList, no_edits
from exoskel.scene.inertia import Rule
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.encoding import UnknownEncodingError, detect_encoding
from exoskel.source.files import read_at_most
from exoskel.source.gc_pause import garbage_collection_paused
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.location import Location, PackagePath, Resolver, SearchPaths, locate_document

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
    inertia_rule: Rule = "all_shapes",
    free_velocity_axes: VelocityAxes = "parent",
    index_base: Literal[0, 1] | None = None,
) -> Scene:
    """Read a scene from a path, a `file:` or `dart://sample/…` URI, bytes, or text that begins with `<`.

    The scene holds all that is sound in the file; `scene.diagnostics` says what is not.  Wrong input never
    raises, except:

    * SourceError (an OSError) when the source cannot be opened at all;
    * ExoskelError when an option has a value that is no choice;
    * LoadError when `strict` is set and the file has errors, by the stricter of its format's two columns of
      severities (in SKEL every warning is an error there).

    Options:
        format: the format to read it as; otherwise told by content, then by the ending.
        name: what messages call the source; default its path.
        base: where relative references in bytes or text start from, a directory or a file in it.
        semantics: for SKEL, `written` (what the file says) or `dart` (what DART 6.20 makes of it).
        dialect: for XODE, `spec`, `pyode`, or `auto` (by what the file shows).
        limits: bounds on size, depth and number of elements.
        package_path: where `package://` leads: directories, or a mapping from names to directories.
        resolver: called with each reference first; returns a path, or None to leave it to us.
        confine: refuse references that leave the directory tree of the document.
        inertia_rule: `all_shapes` derives missing moments as DART 6.20, `first_shape` as DART up to 6.19.
        free_velocity_axes: `child` reads a free joint's initial velocity as DART up to 6.16.
        index_base: for XODE, whether meshes count vertices from 0 or from 1; otherwise told by the mesh.
    """
    options = ReadOptions(
        semantics=semantics,
        inertia_rule=inertia_rule,
        free_velocity_axes=free_velocity_axes,
        dialect=dialect,
        index_base=index_base,
        strict=strict,
        limits=limits,
        paths=SearchPaths(packages=package_path, resolver=resolver, confine=confine),
    )
    document = open_document(source, name=name, base=base, limits=limits)
    chosen = registry.by_name(format) if format else registry.detect(document.data, document.name)
    now = CLOCK.ticks
    with garbage_collection_paused(), no_edits():  # making a scene is none
        scene = chosen.reader()(document, options)
        scene.worlds, scene.options, scene.stamp = TrackedList(scene.worlds), options, now
    if strict and has_errors(scene.diagnostics):
        raise LoadError(scene.diagnostics)
    return scene


def open_document(
    source: Source,
    *,
    name: str | None = None,
    base: str | os.PathLike[str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Document:
    """The bytes behind a source, with their name and place."""
    if isinstance(source, bytes):
        return Document(source, name or "<bytes>", _base_location(base))
    text = os.fspath(source)
    if text.removeprefix(_MARK).lstrip()[:1] == "<":
        return Document(_as_declared(text.removeprefix(_MARK)), name or "<text>", _base_location(base))
    location = locate_document(text)
    return Document(_read(location.path, text, limits), name or text, location)


_MARK = "\ufeff"


def _as_declared(text: str) -> bytes:
    """A text in the encoding that it names itself, so that its bytes say the same as it does.

    Where that cannot be, it becomes UTF-8 with a byte-order mark, which outweighs the declaration.
    """
    data = text.encode("utf-8", "surrogatepass")
    try:
        encoding = detect_encoding(data)
        return data if encoding.codec == "utf-8" else text.encode(encoding.codec)
    except (UnknownEncodingError, UnicodeError):
        return BOM_UTF8 + data


def _base_location(base: str | os.PathLike[str] | None) -> Location:
    """A directory stands for any file in it."""
    if base is None:
        return Location()
    location = locate_document(os.fspath(base))
    if os.path.isdir(location.path):
        return Location(path=os.path.join(location.path, "document"), uri=location.uri, is_base=True)
    return Location(path=location.path, uri=location.uri, is_base=True)


def _read(path: str, shown: str, limits: Limits) -> bytes:
    """The bytes of a file; one more than the limit is enough to know that it is too large."""
    try:
        return read_at_most(path, limits.bytes)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError(f"cannot read {shown!r}: {reason[:1].lower()}{reason[1:]}") from None
