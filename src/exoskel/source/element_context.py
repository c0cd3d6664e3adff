"""Elements near a position of a document, read from its bytes on demand.

Nothing here scans the whole document: the cost of editing one body does not depend on the size of the file.
"""

from __future__ import annotations

import re

import numpy as np

from exoskel.source.positions import Scan, Span, region_end

_TAG = re.compile(rb"<(/?)([^\s/>]+)((?:[^>\"']|\"[^\"]*\"|'[^']*')*?)(/?)>")
_SPACE = b" \t"
_LINE_ENDS = (b"\n", b"\r")


class Elements:
    """Spans, children and attributes of elements, by their numbers in document order."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.text = scan.text
        self._cache: dict[int, tuple[Span, list[int]]] = {}

    def span(self, node: int) -> Span:
        """The span from the start of the start tag to the end of the end tag."""
        return self._span_and_children(node)[0]

    def children(self, node: int) -> list[int]:
        return self._span_and_children(node)[1]

    def _span_and_children(self, node: int) -> tuple[Span, list[int]]:
        if node not in self._cache:
            starts, end = self._scan_children(node)
            span = Span(int(self.scan.starts[node]), end)
            self._cache[node] = span, np.searchsorted(self.scan.starts, starts).tolist()
        return self._cache[node]

    def _scan_children(self, node: int, wanted: bytes = b"") -> tuple[list[int], int]:
        """The starts of an element's children, and its end; stops at the first child called `wanted`."""
        at = self.scan.tag_end(node)
        starts: list[int] = []
        depth = 0 if self.is_empty_tag(node) else 1
        while depth:
            at = self.text.find(b"<", at)
            if self.text[at + 1 : at + 2] in (b"!", b"?"):
                at = region_end(self.text, at)
                continue
            tag = _TAG.match(self.text, at)
            assert tag is not None, "the document was parsed before"
            if depth == 1 and not tag[1]:
                starts.append(at)
                if tag[2] == wanted:
                    break
            depth += -1 if tag[1] else 0 if tag[4] else 1
            at = tag.end()
        return starts, at

    def is_empty_tag(self, node: int) -> bool:
        """Whether the element is written `<tag/>`."""
        end = self.scan.tag_end(node)
        return self.text[end - 2 : end] == b"/>"

    def tag(self, node: int) -> str:
        """The tag as written."""
        span = self.scan.tag(node)
        return self.text[span.start + 1 : span.end].decode(self.scan.codec)

    def attribute(self, node: int, name: str) -> str | None:
        span = self.scan.attribute(node, name)
        return None if span is None else self._value(span)

    def attributes(self, node: int) -> dict[str, str]:
        return {name: self._value(span) for name, span in self.scan.attributes(node).items()}

    def _value(self, span: Span) -> str:
        from html import unescape

        return unescape(self.text[span.start : span.end].decode(self.scan.codec, "replace"))

    def child(self, node: int, tag: str) -> int:
        """The first child of that name, or -1.  Nothing after it is scanned."""
        if node in self._cache:
            return next((child for child in self.children(node) if self.tag(child) == tag), -1)
        starts, _ = self._scan_children(node, tag.encode(self.scan.codec))
        found = int(np.searchsorted(self.scan.starts, starts[-1])) if starts else -1
        return found if found >= 0 and self.tag(found) == tag else -1

    def first(self, node: int) -> int:
        """The first child, or -1."""
        if self.is_empty_tag(node):
            return -1
        end = self.scan.content(node).end
        return node + 1 if self.text[end + 1 : end + 2] not in (b"/", b"") else -1

    def encloses(self, outer: int, inner: int) -> bool:
        """Whether one element is inside another, or the same."""
        span = self.span(outer)
        return span.start <= int(self.scan.starts[inner]) < span.end

    # --- layout ---------------------------------------------------------------------------------------

    def margin(self, node: int) -> bytes | None:
        """The indentation of an element that is first on its line; None if it is not first."""
        start = int(self.scan.starts[node])
        begin = start
        while begin > 0 and self.text[begin - 1] in _SPACE:
            begin -= 1
        return self.text[begin:start] if begin == 0 or self.text[begin - 1 : begin] in _LINE_ENDS else None

    def indent(self, node: int) -> bytes:
        """The indentation that the file adds per level near an element; empty if it cannot be determined."""
        own = self.margin(node)
        if own is None:
            return b""
        child = self.first(node)
        inner = self.margin(child) if child >= 0 else None
        if inner is not None and inner.startswith(own) and len(inner) > len(own):
            return inner[len(own) :]
        for other in range(node - 1, -1, -1):
            outer = self.margin(other)
            if outer is not None and own.startswith(outer) and len(outer) < len(own):
                return own[len(outer) :]
        return b""
