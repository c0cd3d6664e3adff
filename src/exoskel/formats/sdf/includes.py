"""Finding and opening the files that a document includes; nothing is fetched from a network."""

from __future__ import annotations

from pathlib import Path

from exoskel.diagnostics import SourceError
from exoskel.formats.sdf.context import Source
from exoskel.formats.sdf.versions import version_of
from exoskel.source.document import Document
from exoskel.source.files import read_at_most
from exoskel.source.limits import Limits
from exoskel.source.location import Location, uri_scheme
from exoskel.source.well_formedness import MalformedError

DEEPEST = 50
LEAST = 1000
"""How many elements an include counts for at least: placing a model takes as long, however small it is."""
_REMOTE = frozenset({"http", "https", "fuel"})
_CONFIG = "model.config"


def find(source: Source, uri: str, number: int) -> Path | None:
    """The file behind the address of an include: a file, or the folder of a model."""
    if uri_scheme(uri).lower() in _REMOTE:
        source.report("SD040.remote", number, "uri", token=uri, uri=uri)
        return None
    outside = False
    for spelling in (uri, f"{uri.rstrip('/')}/{_CONFIG}", f"{uri.rstrip('/')}/model.sdf"):
        found = source.find(spelling)
        outside = outside or "outside" in found.remarks
        if found.path is not None:
            return _chosen(source, found.path) if found.path.name == _CONFIG else found.path
    source.report("SD040.outside" if outside else "SD040.missing", number, "uri", token=uri, uri=uri)
    return None


def _chosen(source: Source, config: Path) -> Path:
    """The file that a model's own description names: that of the newest version we know."""
    plain = config.with_name("model.sdf")
    try:
        tree = Document(_read(config, source.options.limits)).parse(source.options.limits)
    except (MalformedError, SourceError):
        return plain
    named = [(version_of(e.get("version", "")), (e.text or "").strip()) for e in tree.iter("sdf")]
    sound = [(version, text) for version, text in named if text and version <= (1, 12)]
    return config.with_name(Path(max(sound)[1]).name) if sound else plain


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
