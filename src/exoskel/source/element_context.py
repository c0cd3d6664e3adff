"""The elements around a place of a document, read off its bytes where they are needed.

Nothing here looks at the whole document: an edit of one body in a hundred thousand costs that body.
"""

from __future__ import annotations

import re
from html import unescape

import numpy as np

from exoskel.source.positions import Scan, Span, region_end

_TAG = re.compile(rb"<(/?)([^\s/>]+)((?:[^>\"']|\"[^\"]*\"|'[^']*')*?)(/?)>")
_BLANK = b" \t"
_LINE_ENDS = (b"\n", b"\r")


class Elements:
    """Elements by their numbers in document order: where they begin and end, what they hold."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.text = scan.text
        self._walked: dict[int, tuple[Span, list[int]]] = {}

    def span(self, node: int) -> Span:
        """From the `<` of the start tag to behind the end tag."""
        return self._walk(node)[0]

    def children(self, node: int) -> list[int]:
        return self._walk(node)[1]

    def _walk(self, node: int) -> tuple[Span, list[int]]:
        if node not in self._walked:
            starts, end = self._inside(node)
            span = Span(int(self.scan.starts[node]), end)
            self._walked[node] = span, np.searchsorted(self.scan.starts, starts).tolist()
        return self._walked[node]

    def _inside(self, node: int, wanted: bytes = b"") -> tuple[list[int], int]:
        """Where the children of an element begin, and where it ends; no further than to a child of a wanted name."""
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
        """The name as it stands in the file."""
        span = self.scan.tag(node)
        return self.text[span.start + 1 : span.end].decode(self.scan.codec)

    def attribute(self, node: int, name: str) -> str | None:
        span = self.scan.attribute(node, name)
        return None if span is None else self._value(span)

    def attributes(self, node: int) -> dict[str, str]:
        return {name: self._value(span) for name, span in self.scan.attributes(node).items()}

    def _value(self, span: Span) -> str:
        return unescape(self.text[span.start : span.end].decode(self.scan.codec, "replace"))

    def child(self, node: int, tag: str) -> int:
        """The first child of that name, or -1.  Nothing behind it is looked at."""
        if node in self._walked:
            return next((child for child in self.children(node) if self.tag(child) == tag), -1)
        starts, _ = self._inside(node, tag.encode(self.scan.codec))
        found = int(np.searchsorted(self.scan.starts, starts[-1])) if starts else -1
        return found if found >= 0 and self.tag(found) == tag else -1

    def first(self, node: int) -> int:
        """The first child, or -1."""
        if self.is_empty_tag(node):
            return -1
        end = self.scan.content(node).end
        return node + 1 if self.text[end + 1 : end + 2] not in (b"/", b"") else -1

    def encloses(self, outer: int, inner: int) -> bool:
        """Whether one element lies in another, or is the same."""
        span = self.span(outer)
        return span.start <= int(self.scan.starts[inner]) < span.end

    # --- layout ---------------------------------------------------------------------------------------

    def margin(self, node: int) -> bytes | None:
        """The blanks in front of an element that begins its line; None if something else does."""
        start = int(self.scan.starts[node])
        begin = start
        while begin > 0 and self.text[begin - 1] in _BLANK:
            begin -= 1
        return self.text[begin:start] if begin == 0 or self.text[begin - 1 : begin] in _LINE_ENDS else None

    def indent(self, node: int) -> bytes:
        """What the file adds at each level around an element; empty if it does not tell."""
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
