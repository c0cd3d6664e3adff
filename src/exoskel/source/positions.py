"""Positions of elements, attributes and text in a document, by scanning its bytes.

The parser's line numbers stop at 65,535, so they are not used.  In well-formed XML every `<` outside
comments, CDATA sections, processing instructions and the document type declaration opens a tag; the
n-th start tag is the n-th element in document order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel.diagnostics import Position

_SLASH, _BANG, _QUERY, _LESS = b"/!?<"

_CDATA = b"<![CDATA["
_REGIONS = (
    (b"<!--", b"-->", "comment"),
    (_CDATA, b"]]>", "CDATA section"),
    (b"<?", b"?>", "processing instruction"),
)
_TAG_NAME = re.compile(rb"<([^\s/>]+)")
_ATTRIBUTE = re.compile(rb"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""")
_SPACE = b" \t\r\n"
_NON_SPACE = re.compile(rb"[^ \t\r\n]")
_REGION = re.compile(rb"<[!?]")
_SHORT = 2**16
"""The number of bytes below which NumPy takes longer than a regular expression."""
_FEW = 4
_WINDOW = 64
"""Bytes that are searched backwards at a time."""


Offsets = NDArray[np.intp]
_TAG_OR_REGION = re.compile(rb"<(?:!--.*?--|\?.*?\?|!\[CDATA\[.*?\]\])>|(<)[^/!?]", re.DOTALL)
_PART = 2**22
"""The number of bytes that are scanned at once: intermediate results need several times as much memory."""


class Span(Struct, frozen=True):
    """A range of bytes, end excluded."""

    start: int
    end: int


class Scan:
    """The start tags and lines of one document."""

    def __init__(self, text: bytes, codec: str = "utf-8") -> None:
        self.text = text
        self.codec = codec
        self._single_lookups = 0
        self._first_starts: list[int] = []
        self._last_line = (0, "")
        self._last_tag: tuple[int | None, dict[str, Span], int] = (None, {}, 0)

    @cached_property
    def starts(self) -> Offsets:
        """Byte offsets of all start tags, in document order."""
        found = [opens[(after != _SLASH) & (after != _BANG) & (after != _QUERY)] for opens, after in self._tags()]
        starts: Offsets = _join(found)
        if not self.regions:
            return starts
        begins, ends = np.array(self.regions).T
        region = np.searchsorted(begins, starts, side="right") - 1
        outside: Offsets = starts[(region < 0) | (starts >= ends[region])]
        return outside

    @cached_property
    def regions(self) -> list[tuple[int, int]]:
        """Comments, CDATA sections, processing instructions and the document type declaration."""
        regions: list[tuple[int, int]] = []
        done = 0
        if len(self.text) < _SHORT:
            while match := _REGION.search(self.text, done):
                done = region_end(self.text, match.start())
                regions.append((match.start(), done))
            return regions
        for opens, after in self._tags():
            for start in opens[(after == _BANG) | (after == _QUERY)].tolist():
                if start >= done:
                    done = region_end(self.text, start)
                    regions.append((start, done))
        return regions

    def _tags(self) -> Iterator[tuple[Offsets, NDArray[np.uint8]]]:
        """The offsets of all `<`, and the bytes after them; part by part, because a large text has many."""
        data = np.frombuffer(self.text, dtype=np.uint8)
        for begin in range(0, max(1, len(data) - 1), _PART):
            part = data[begin : begin + _PART + 1]
            opens = np.flatnonzero(part[:-1] == _LESS)
            yield opens + begin, part[opens + 1]

    def elements_with_regions_in_text(self) -> list[int]:
        """Elements with a comment or instruction next to text, or with a CDATA section."""
        nodes: set[int] = set()
        for start, end in self.regions:
            before, after = _last_non_space(self.text, start), _next_non_space(self.text, end)
            is_text = self.text.startswith(_CDATA, start)
            if start > 0 and (is_text or before != b">" or after not in (b"<", b"")):
                nodes.add(int(np.searchsorted(self.starts, start, side="right")) - 1)
        return sorted(node for node in nodes if node >= 0)

    def text_pieces(self, node: int) -> list[str]:
        """The pieces of an element's text between comments and CDATA marks, without empty ones."""
        span = self.content(node)
        pieces: list[bytes] = []
        at = span.start
        while (cut := self.text.find(b"<", at, span.end)) >= 0:
            end = region_end(self.text, cut)
            pieces.append(self.text[at:cut])
            if self.text.startswith(_CDATA, cut):
                pieces.append(self.text[cut + len(_CDATA) : end - 3])
            at = end
        pieces.append(self.text[at : span.end])
        return [self._decode(piece.strip(_SPACE)) for piece in pieces if piece.strip(_SPACE)]

    @cached_property
    def line_starts(self) -> Offsets:
        """Byte offsets of the starts of lines.  LF, CR LF and a lone CR each end a line."""
        data = np.frombuffer(self.text, dtype=np.uint8)
        line_feeds = _join([np.flatnonzero(data[i : i + _PART] == 10) + i for i in range(0, len(data) or 1, _PART)])
        if b"\r" in self.text:
            returns = np.flatnonzero(data == 13)
            lone = returns[(returns + 1 >= len(data)) | (data[np.minimum(returns + 1, len(data) - 1)] != 10)]
            line_feeds = np.sort(np.concatenate([line_feeds, lone]))
        return np.concatenate([[0], line_feeds + 1])

    def position(self, span: Span) -> Position:
        """The line, column and length of a span, cut at the end of its first line."""
        line = int(self.line_starts.searchsorted(span.start, side="right"))
        begin = int(self.line_starts[line - 1])
        end = min(span.end, self.line_end(line))
        return Position(line, self.characters(begin, span.start) + 1, max(1, self.characters(span.start, end)))

    def characters(self, start: int, end: int) -> int:
        """The number of characters in a range.  Decoding it each time would be slow if one line is the whole file."""
        if not len(self._continuations):
            return end - start
        first, last = self._continuations.searchsorted((start, end)).tolist()
        return int(end - start - (last - first))

    @cached_property
    def _continuations(self) -> Offsets:
        """The offsets of UTF-8 continuation bytes; other scannable encodings have none."""
        if self.codec != "utf-8" or self.text.isascii():
            return np.array([], dtype=np.intp)
        return np.flatnonzero((np.frombuffer(self.text, dtype=np.uint8) & 0xC0) == 0x80)

    def lines(self, nodes: Sequence[int]) -> list[int]:
        """The line numbers of many elements at once."""
        if len(nodes) == 1 and self._single_lookups < _FEW and len(self.text) < _SHORT:
            self._single_lookups += 1
            if b"\r" not in self.text and b"<!D" not in self.text:
                return [self.text.count(b"\n", 0, self._start_in_short_text(nodes[0])) + 1]
        offsets = self.starts[np.array(nodes, dtype=np.intp)]
        found: list[int] = np.searchsorted(self.line_starts, offsets, side="right").tolist()
        return found

    def _start_in_short_text(self, node: int) -> int:
        """The byte offset of one start tag: faster than with arrays for all of them."""
        known = self._first_starts
        if node >= len(known):
            rest = _TAG_OR_REGION.finditer(self.text, known[-1] + 1 if known else 0)
            tags = (match.start() for match in rest if match[1])
            known.extend(islice(tags, node + 1 - len(known)))
        return known[node]

    def offset(self, line: int, column: int) -> int:
        """The byte offset of a line and column, clamped to the text."""
        line = min(max(line, 1), len(self.line_starts))
        begin = int(self.line_starts[line - 1])
        text = self._decode(self.text[begin : self.line_end(line)])
        return begin + len(text[: max(0, column - 1)].encode(self.codec, "replace"))

    def line_text(self, line: int) -> str:
        if not 1 <= line <= len(self.line_starts):
            return ""
        if line != self._last_line[0]:  # diagnostics come line by line, and one line may be the whole file
            begin = int(self.line_starts[line - 1])
            self._last_line = (line, self._decode(self.text[begin : self.line_end(line)]))
        return self._last_line[1]

    def line_end(self, line: int) -> int:
        """The end of a line, without its line end."""
        end = int(self.line_starts[line]) if line < len(self.line_starts) else len(self.text)
        while end > 0 and self.text[end - 1 : end] in (b"\n", b"\r") and end > self.line_starts[line - 1]:
            end -= 1
        return end

    def _decode(self, piece: bytes) -> str:
        return piece.decode(self.codec, "replace")

    def tag(self, node: int) -> Span:
        """The span from `<` to the end of the tag's name."""
        start = int(self.starts[node])
        match = _TAG_NAME.match(self.text, start)
        return Span(start, match.end() if match else start + 1)

    def tag_end(self, node: int) -> int:
        """The offset after the `>` of the start tag."""
        return self._attributes_and_end(node)[1]

    def attribute(self, node: int, name: str) -> Span | None:
        """The span of an attribute value, without quotes."""
        return self._attributes_and_end(node)[0].get(name)

    def attributes(self, node: int) -> dict[str, Span]:
        return self._attributes_and_end(node)[0]

    def _attributes_and_end(self, node: int) -> tuple[dict[str, Span], int]:
        if self._last_tag[0] != node:  # diagnostics come by element, and an element may have a million attributes
            self._last_tag = (node, *self._scan_attributes(node))
        return self._last_tag[1:]

    def _scan_attributes(self, node: int) -> tuple[dict[str, Span], int]:
        at = self.tag(node).end
        if self.text[at : at + 1] == b">":  # most elements of many formats have no attributes
            return {}, at + 1
        found: dict[str, Span] = {}
        while match := _ATTRIBUTE.match(self.text, at):
            found[self._decode(match[1])] = Span(match.start(2) + 1, match.end(2) - 1)
            at = match.end()
        end = self.text.find(b">", at)
        return found, len(self.text) if end < 0 else end + 1

    def content(self, node: int) -> Span:
        """The span of an element's text up to its first child or end tag, including comments and CDATA marks."""
        begin = at = self.tag_end(node)
        if self.text[begin - 2 : begin] == b"/>":
            return Span(begin, begin)
        while (at := self.text.find(b"<", at)) >= 0 and self.text[at + 1 : at + 2] in (b"!", b"?"):
            at = region_end(self.text, at)
        return Span(begin, len(self.text) if at < 0 else at)

    def value(self, node: int, token: str = "") -> Span:
        """The part of an element's text to point at: the token, or the text without surrounding spaces."""
        span = self.content(node)
        if token:
            wanted = token.encode(self.codec, "replace")
            at = self.text.find(wanted, span.start, span.end)
            if at < 0:  # text after a child, or text with character references
                at = self.text.find(wanted, span.end)
            if at >= 0:
                return Span(at, at + len(wanted))
        piece = self.text[span.start : span.end]
        stripped = piece.strip(_SPACE)
        if not stripped:
            return self.tag(node)
        start = span.start + piece.index(stripped)
        return Span(start, start + len(stripped))


def _join(parts: Sequence[Offsets]) -> Offsets:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def may_split_text(text: bytes) -> bool:
    """Whether a comment or CDATA section may be next to the text of an element: False for most documents."""
    if text.find(b"!") < 0:  # single letters are found ten times faster than words
        return False
    if text.find(b"[") >= 0 and _CDATA in text:
        return True
    if text.find(b"?", text.find(b"?", 2) + 2) >= 0 and text.find(b"<?", 1) >= 0:
        return True
    end, at = 0, -1
    while (at := text.find(b"!", at + 1)) >= 0:
        if text.startswith(b"<!--", at - 1):
            between, end = text[end : at - 1].strip(_SPACE), text.find(b"-->", at) + 3
            if between and not (between.startswith(b"<") and between.endswith(b">")):
                return True
            at = end if end > at else len(text)
        elif text.startswith(b"<!", at - 1):
            return True
    rest = text[end:].strip(_SPACE)
    return not (rest.startswith(b"<") and rest.endswith(b">")) if rest else False


def _last_non_space(text: bytes, end: int) -> bytes:
    """The last byte before `end` that is not whitespace."""
    while end > 0:
        part = text[max(0, end - _WINDOW) : end].rstrip(_SPACE)
        if part:
            return part[-1:]
        end -= _WINDOW
    return b""


def _next_non_space(text: bytes, start: int) -> bytes:
    found = _NON_SPACE.search(text, start)
    return found[0] if found else b""


def region_end(text: bytes, start: int) -> int:
    """The end of the comment, CDATA section, instruction or declaration that opens at `start`."""
    for opening, closing, _ in _REGIONS:
        if text.startswith(opening, start):
            end = text.find(closing, start + len(opening))
            return len(text) if end < 0 else end + len(closing)
    return _declaration_end(text, start)


def unclosed_region(text: bytes, start: int) -> str:
    """The name of the region that opens at `start` if it is not closed; otherwise an empty string."""
    for opening, closing, name in _REGIONS:
        if text.startswith(opening, start):
            return name if text.find(closing, start + len(opening)) < 0 else ""
    return ""


_DECLARATION_MARK = re.compile(rb"""["'\[\]<>]""")


def _declaration_end(text: bytes, start: int) -> int:
    """The end of `<!DOCTYPE …>`; quoted text is skipped, brackets and inner declarations nest."""
    depth = 0
    at = start
    while match := _DECLARATION_MARK.search(text, at):
        mark = match[0]
        at = match.end()
        if mark in b"\"'":
            closing = text.find(mark, at)
            at = len(text) if closing < 0 else closing + 1
        elif mark == b"<" and text.startswith((b"<!--", b"<?"), match.start()):
            at = region_end(text, match.start())
        elif mark in b"<[":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return at
    return len(text)


_TAG = re.compile(rb"<(/?)([^\s/>]+)((?:[^>\"']|\"[^\"]*\"|'[^']*')*?)(/?)>")
_INDENT = b" \t"
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

    def spans(self) -> list[Span]:
        """The spans of all elements, in one pass."""
        starts, at = self.scan.starts.tolist(), 0
        ends, open_nodes, node = [0] * len(starts), list[int](), 0
        while (at := self.text.find(b"<", at)) >= 0:
            if self.text[at + 1 : at + 2] in (b"!", b"?"):
                at = region_end(self.text, at)
                continue
            tag = _TAG.match(self.text, at)
            assert tag is not None, "the document was parsed before"
            at = tag.end()
            if tag[1]:
                ends[open_nodes.pop()] = at
            elif tag[4]:
                ends[node] = at
            else:
                open_nodes.append(node)
            node += 0 if tag[1] else 1
        return [Span(start, end) for start, end in zip(starts, ends, strict=True)]

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
        while begin > 0 and self.text[begin - 1] in _INDENT:
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
