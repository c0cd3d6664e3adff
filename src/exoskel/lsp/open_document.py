"""A document that is open in an editor, with its scene, positions, diagnostics and quick fixes.

Editors count lines from 0 and columns in code units, by default of UTF-16; documents count bytes.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable
from functools import cached_property
from threading import Lock

import numpy as np
from lsprotocol import types
from msgspec import Struct, structs

from exoskel.diagnostics import Diagnostic, Severity
from exoskel.diagnostics import Position as SourcePosition
from exoskel.formats import registry
from exoskel.formats.fixer import Fixes, apply_fixes, fixable_diagnostics, unsuppressed
from exoskel.formats.interface import Dialect, Semantics
from exoskel.formats.load import load
from exoskel.formats.macro_codes import is_about_unexpanded_macros
from exoskel.formats.registry import original_reader
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.expanded_document import ExpandedDocument
from exoskel.source.file_lookup import Location
from exoskel.source.limits import Limits
from exoskel.source.positions import Offsets, Scan, Span
from exoskel.source.splice import Splice

_LIMITS = Limits(seconds=2.0)
"""While a document is read, the editor waits for its diagnostics."""


_MARK = "\ufeff"
_EXPAND_HINT = "set `expand` in the settings of the language server to check it here"


class Settings(Struct, frozen=True, kw_only=True, rename="camel"):
    """How files are read; editors can send these as initialization options."""

    semantics: Semantics = "written"
    dialect: Dialect = "auto"
    package_path: tuple[str, ...] = ()
    confine: bool = False
    expand: bool = False
    """Expand macros of xacro, which evaluates expressions of the file as Python."""
    arguments: dict[str, str] = {}
    """The arguments of xacro files by name."""


def editor_document(text: str, name: str, location: Location) -> Document:
    """Create a document from the text of an editor.

    The byte-order mark overrides the encoding that the text declares: the editor has already decoded the file.
    """
    return Document(BOM_UTF8 + text.removeprefix(_MARK).encode("utf-8", "surrogatepass"), name, location)


class OpenDocument:
    """One version of the text of a file; its scene and positions are computed once."""

    def __init__(self, text: str, path: str, settings: Settings, units: str) -> None:
        self.path = path
        self.settings = settings
        self.units = units
        self._scene: Scene | None = None
        self._lock = Lock()
        self._has_mark = text.startswith(_MARK)
        location = Location(path=path) if path else Location()
        self.document = editor_document(text, path or "<untitled>", location)
        self.format = registry.detect(self.document.data, self.document.name)
        self.vocabulary = self.format.vocabulary() if self.format.has_vocabulary else None

    @property
    def text(self) -> bytes:
        return self.document.text

    @cached_property
    def positions(self) -> EditorPositions:
        return EditorPositions(self.document.scan, self.units, self._has_mark)

    @property
    def scene(self) -> Scene:
        """The scene; threads that need it at the same time wait until one of them has read it."""
        with self._lock:
            if self._scene is None:
                self._scene = self.read(self.document.data)
            return self._scene

    @property
    def source(self) -> Document:
        """The document that the scene's diagnostics and items refer to."""
        found = self.scene.documents[0] if self.scene.documents else None
        return found if isinstance(found, Document) else self.document

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The diagnostics of this document that no comment suppresses.

        They are not cached: in Python 3.11, a cached property of one document locks out all other documents.
        """
        own = [found for found in self.scene.diagnostics if found.source is self.source]
        return self._expanded_diagnostics() if any(map(self._is_about_macros, own)) else unsuppressed(own)

    def _is_about_macros(self, found: Diagnostic) -> bool:
        return is_about_unexpanded_macros(found.key, self.format.catalogue())

    def _expanded_diagnostics(self) -> list[Diagnostic]:
        """The diagnostics of a document with macros, at the elements of this document."""
        if not self.settings.expand:
            found = [one for one in self.scene.diagnostics if self._is_about_macros(one)]
            return [structs.replace(one, severity=Severity.INFO, hint=_EXPAND_HINT) for one in found]
        scene = self._load(self.document.data, expand=True)
        return list(dict.fromkeys(self._in_this_document(one) for one in unsuppressed(scene.diagnostics)))

    def _in_this_document(self, found: Diagnostic) -> Diagnostic:
        """A diagnostic of the expanded document; one of an included file is placed at the include or macro call."""
        if not isinstance(found.source, ExpandedDocument):
            return structs.replace(found, source=self.source, fix=None)
        origin, place = found.origin
        if origin is found.source.main:
            return structs.replace(found, source=self.source, place=place, fix=None)
        message = f"{found.file}:{found.line}: {found.message}"
        place = found.source.main_place(found.place)
        return structs.replace(found, source=self.source, place=place, message=message, fix=None)

    def read(self, data: bytes) -> Scene:
        """Read other content of the same file with the same settings.  Macros are not expanded: positions are those of
        the text in the editor."""
        return self._load(data, expand=False)

    def _load(self, data: bytes, expand: bool) -> Scene:
        settings = self.settings
        return load(
            data,
            format=self.format.name,
            name=self.document.name,
            base=self.path or None,
            semantics=settings.semantics,
            dialect=settings.dialect,
            package_path=settings.package_path,
            confine=settings.confine,
            limits=_LIMITS,
            expand=expand,
            arguments=settings.arguments if expand else {},
        )


# --- positions and changes ----------------------------------------------------------------------------


_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class EditorPositions:
    """Converts byte offsets of a document's text to editor positions and back.

    A byte-order mark, which is no part of the text here, is a character for an editor that sends it.
    """

    def __init__(self, scan: Scan, units: str = "utf-16", has_mark: bool = False) -> None:
        self.scan = scan
        self.text = scan.text
        self.codec, self.size = _UNITS.get(units, _UNITS["utf-16"])
        self._mark = len(_MARK.encode(self.codec)) // self.size if has_mark else 0

    def position(self, offset: int) -> types.Position:
        line = int(np.searchsorted(self.scan.line_starts, offset, side="right")) - 1
        return self._position(line, self._units_between(int(self.scan.line_starts[line]), offset))

    def _position(self, line: int, character: int) -> types.Position:
        return types.Position(line, character + self._mark if line == 0 else character)

    def offset(self, position: types.Position) -> int:
        """The byte offset of a position, limited to the text."""
        if position.line >= len(self.scan.line_starts):
            return len(self.text)
        start = int(self.scan.line_starts[position.line])
        line = self.scan.line_text(position.line + 1)
        character = max(0, position.character - self._mark) if position.line == 0 else position.character
        prefix = line.encode(self.codec, "replace")[: character * self.size].decode(self.codec, "ignore")
        return start + len(prefix.encode())

    def range(self, span: Span) -> types.Range:
        return types.Range(self.position(span.start), self.position(span.end))

    def diagnostic_range(self, document: Document, found: Diagnostic) -> types.Range:
        """The range of a diagnostic; the start of the text if it concerns the whole document."""
        place = found.place
        if place.position is not None:
            return self._source_range(place.position)
        if place.node < 0:
            return self.range(Span(0, 0))
        span = document.span(place)
        line = int(np.searchsorted(self.scan.line_starts, span.start, side="right"))
        return self.range(Span(span.start, max(span.start, min(span.end, self.scan.line_end(line)))))

    def _source_range(self, position: SourcePosition) -> types.Range:
        line = self.scan.line_text(position.line)
        start = position.column - 1
        ends = (line[:start], line[: start + position.length])
        first, last = (self._position(position.line - 1, self._units(part)) for part in ends)
        return types.Range(first, last)

    def edit(self, splice: Splice) -> types.TextEdit:
        start, end, piece = splice
        return types.TextEdit(self.range(Span(start, end)), piece.decode("utf-8", "replace"))

    def _units_between(self, start: int, end: int) -> int:
        """The number of code units between two offsets, without decoding: one line may be a whole file."""
        if self.size == 1:
            return end - start
        first, last = np.searchsorted(self._pairs, (start, end)).tolist() if self.size == 2 else (0, 0)
        return int(self.scan.characters(start, end) + last - first)

    @cached_property
    def _pairs(self) -> Offsets:
        """The offsets of characters that take two code units in UTF-16."""
        if self.text.isascii():
            return np.array([], dtype=np.intp)
        return np.flatnonzero(np.frombuffer(self.text, dtype=np.uint8) >= 0xF0)

    def _units(self, text: str) -> int:
        return len(text.encode(self.codec, "replace")) // self.size


def line_splices(old: bytes, new: bytes) -> list[Splice]:
    """The splices that change one text into another: changed lines, each reduced to its difference."""
    ours, theirs = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if len(ours) != len(theirs):
        return _trim(0, old, new)
    pieces: list[Splice] = []
    at = 0
    for one, other in zip(ours, theirs, strict=True):
        if one != other:
            pieces += _trim(at, one, other)
        at += len(one)
    return pieces


def _trim(at: int, old: bytes, new: bytes) -> list[Splice]:
    """One splice without the common prefix and suffix; never splits a character."""
    if old == new:
        return []
    shortest = min(len(old), len(new))
    head = _common_prefix_length(old[:shortest], new[:shortest])
    while head and _is_continuation_byte(old, head):
        head -= 1
    tail = _common_prefix_length(old[head:][::-1], new[head:][::-1])
    while tail and _is_continuation_byte(old, len(old) - tail):
        tail -= 1
    return [(at + head, at + len(old) - tail, new[head : len(new) - tail])]


def _common_prefix_length(one: bytes, other: bytes) -> int:
    """The length of the common prefix of two texts, in bytes."""
    length = min(len(one), len(other))
    a, b = (np.frombuffer(text[:length], dtype=np.uint8) for text in (one, other))
    different = np.flatnonzero(a != b)
    return int(different[0]) if len(different) else length


def _is_continuation_byte(text: bytes, at: int) -> bool:
    return at < len(text) and text[at] & 0xC0 == 0x80


# --- diagnostics and quick fixes, the same as those of `exoskel check` --------------------------------


_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}

FIX_ALL = "source.fixAll.exoskel"


def diagnostics(opened: OpenDocument) -> list[types.Diagnostic]:
    return [_to_lsp(opened, found) for found in opened.diagnostics]


def _to_lsp(opened: OpenDocument, found: Diagnostic) -> types.Diagnostic:
    note = f"\n{original_reader(found.code)}: {found.reader_note}" if found.reader_note else ""
    hint = "".join(f"\n{one}" for one in (found.hint, found.note) if one)
    return types.Diagnostic(
        range=opened.positions.diagnostic_range(opened.source, found),
        message=f"{found.message}{hint}{note}",
        severity=_SEVERITIES[found.severity],
        code=found.code,
        source="exoskel",
    )


def code_actions(
    opened: OpenDocument, uri: str, selection: types.Range, only: Iterable[str] | None
) -> list[types.CodeAction]:
    """The quick fixes for diagnostics in a range, and one action that applies all safe fixes."""
    found: list[types.CodeAction] = []
    if _is_requested(types.CodeActionKind.QuickFix, only):
        found += _quick_fixes(opened, uri, selection)
    if _is_requested(FIX_ALL, only) and fixable_diagnostics(opened.scene):
        found += _fix_all(opened, uri)
    return found


def _is_requested(kind: str, only: Iterable[str] | None) -> bool:
    return only is None or any(kind == one or kind.startswith(f"{one}.") for one in only)


def _quick_fixes(opened: OpenDocument, uri: str, selection: types.Range) -> list[types.CodeAction]:
    code_actions: list[types.CodeAction] = []
    for found in opened.diagnostics:
        if found.fix is None:
            continue
        place = opened.positions.diagnostic_range(opened.source, found)
        if place.end < selection.start or selection.end < place.start:
            continue
        splices = Fixes(opened.source).add(found)
        if splices:
            code_actions.append(
                types.CodeAction(
                    title=found.fix.title,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[_to_lsp(opened, found)],
                    is_preferred=found.fix.safe,
                    edit=types.WorkspaceEdit({uri: [opened.positions.edit(splice) for splice in splices]}),
                )
            )
    return code_actions


def _fix_all(opened: OpenDocument, uri: str) -> list[types.CodeAction]:
    result = apply_fixes(opened.scene, opened.read)
    if not result.done:
        return []
    return [
        types.CodeAction(
            title=f"Apply all {len(result.done)} safe fixes" if len(result.done) > 1 else "Apply the only safe fix",
            kind=FIX_ALL,
            edit=types.WorkspaceEdit({uri: edits_for(opened, result.data)}),
        )
    ]


def edits_for(opened: OpenDocument, data: bytes) -> list[types.TextEdit]:
    """The edits that replace the open text by new content of the same file."""
    mark = opened.source.encoding.mark
    return [opened.positions.edit(splice) for splice in line_splices(opened.text, data[mark:])]
