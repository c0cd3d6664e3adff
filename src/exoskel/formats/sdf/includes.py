"""Find and open the files that a document includes; nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

from exoskel.diagnostics import SourceError
from exoskel.formats.sdf.context import Source
from exoskel.formats.sdf.versions import parse_version
from exoskel.source.document import Document
from exoskel.source.files import read_at_most
from exoskel.source.limits import Limits
from exoskel.source.location import Location, uri_scheme
from exoskel.source.well_formedness import MalformedError

MAX_DEPTH = 50
MIN_ELEMENTS = 1000
"""The minimum number of elements that an include counts for: placing even a small model takes time."""
_REMOTE = frozenset({"http", "https", "fuel"})
_CONFIG = "model.config"


def find(source: Source, uri: str, number: int) -> Path | None:
    """Find the file of an include, which names a file or the folder of a model."""
    if uri_scheme(uri).lower() in _REMOTE:
        source.report("SD040.remote", number, "uri", token=uri, uri=uri)
        return None
    outside = False
    for candidate in (uri, f"{uri.rstrip('/')}/{_CONFIG}", f"{uri.rstrip('/')}/model.sdf"):
        found = source.find(candidate)
        outside = outside or "outside" in found.findings
        if found.path is not None:
            return _choose_file(source, found.path) if found.path.name == _CONFIG else found.path
    source.report("SD040.outside" if outside else "SD040.missing", number, "uri", token=uri, uri=uri)
    return None


def _choose_file(source: Source, config: Path) -> Path:
    """The file that `model.config` names for the newest supported version."""
    default = config.with_name("model.sdf")
    try:
        tree = Document(_read(config, source.options.limits)).parse(source.options.limits)
    except (MalformedError, SourceError):
        return default
    named = [(parse_version(e.get("version", "")), (e.text or "").strip()) for e in tree.iter("sdf")]
    known = [(version, text) for version, text in named if text and version <= (1, 12)]
    return config.with_name(Path(max(known)[1]).name) if known else default


def open_document(path: Path, limits: Limits) -> Document | None:
    """The document, or None if it cannot be read."""
    try:
        return Document(_read(path, limits), str(path), Location(path=str(path)))
    except SourceError:
        return None


def _read(path: Path, limits: Limits) -> bytes:
    try:
        return read_at_most(path, limits.bytes)
    except OSError as error:
        raise SourceError(str(error)) from None
