"""Comments in documents that suppress diagnostics: `<!-- exoskel: ignore SK055 -->`.

A comment on a line of its own applies to the element that follows it, with everything inside; before the root element,
to the whole file.  A comment after other text of its line applies to that line.  A hyphen or colon begins a reason:
`<!-- exoskel: ignore SK055 - set by the controller -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from exoskel.diagnostics import Diagnostic, Position
from exoskel.formats.registry import code_prefixes
from exoskel.source.document import Document
from exoskel.source.encoding import UnknownEncodingError
from exoskel.source.well_formedness import MalformedError

_MARK = b"exoskel:"
_COMMENT = re.compile(r"\s*exoskel:\s*ignore\b\s*:?(?P<codes>[A-Za-z0-9,\s]*)(?:[-:–].*)?$", re.DOTALL)
_WHOLE = -1
"""The number that stands for the whole document among those of elements."""


class Suppressions:
    """The codes, or beginnings of codes, that the comments of a document suppress, by elements and by lines."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._elements: dict[int, frozenset[str]] = {}
        self._lines: dict[int, frozenset[str]] = {}
        try:
            if _MARK in document.text:
                self._read()
        except (MalformedError, UnknownEncodingError, UnicodeDecodeError):  # nothing to suppress: it is not read at all
            pass

    def _read(self) -> None:
        for at, text in self.document.comments(_MARK):
            if match := _COMMENT.match(text):
                self._add(at, frozenset(re.findall(r"\w+", match["codes"].upper())) & code_prefixes())

    def _add(self, at: Position, codes: frozenset[str]) -> None:
        document = self.document
        if document.line_text(at.line)[: at.column - 1].strip():
            self._lines[at.line] = self._lines.get(at.line, frozenset()) | codes
            return
        start = document.scan.offset(at.line, at.column)
        node = int(np.searchsorted(document.scan.starts, start))
        if node >= len(document.outline.ends) or b"</" in document.text[start : int(document.scan.starts[node])]:
            return  # no element follows it in its parent
        number = node or _WHOLE
        self._elements[number] = self._elements.get(number, frozenset()) | codes

    def cover(self, diagnostic: Diagnostic) -> bool:
        """Whether a comment suppresses a diagnostic of the document."""
        if not (self._elements or self._lines):
            return False
        if _matches(diagnostic.code, self._elements.get(_WHOLE)):
            return True
        if self._lines and _matches(diagnostic.code, self._lines.get(diagnostic.line or 0)):
            return True
        node = self.document.element(diagnostic.place) if diagnostic.place.node >= 0 else -1
        while node >= 0:
            if _matches(diagnostic.code, self._elements.get(node)):
                return True
            node = self.document.outline.parents[node]
        return False


def _matches(code: str, beginnings: frozenset[str] | None) -> bool:
    return beginnings is not None and any(code[:length] in beginnings for length in range(1, len(code) + 1))


def unsuppressed(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics that no comment suppresses."""
    found: dict[int, Suppressions] = {}
    kept: list[Diagnostic] = []
    for diagnostic in diagnostics:
        document = diagnostic.source
        if isinstance(document, Document):
            if id(document) not in found:
                found[id(document)] = Suppressions(document)
            if found[id(document)].cover(diagnostic):
                continue
        kept.append(diagnostic)
    return kept
