"""Edits of a document as splices of its bytes: everything else stays as its author wrote it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from exoskel.source.document import Document
from exoskel.source.encoding import EncodingRoundTripError
from exoskel.source.markup import INDENT, Markup, append_lines, escape_attribute, escape_text
from exoskel.source.positions import Elements, Span, region_end

_SPACES = (b" ", b"\t")
_LINE_ENDS = (b"\n", b"\r")
_TOKEN = re.compile(rb"[^ \t\r\n]+")

TokenSpan = tuple[int, int]
"""The start and end of a token, as byte offsets."""

Splice = tuple[int, int, bytes]
"""The start and end of a range of bytes, and its replacement."""


class OverlapError(Exception):
    """Two edits overlap."""


class Patch:
    """Edits of one document, applied together.  Element numbers are those of the unedited document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text
        self.scan = document.scan
        self.elements = Elements(self.scan)
        self.codec = self.scan.codec
        self.newline = _newline(self.text)
        self.splices: list[Splice] = []

    def __bool__(self) -> bool:
        return bool(self.splices)

    # --- edits ----------------------------------------------------------------------------------------

    def set_text(self, node: int, text: str, old: str = "") -> None:
        """Set the text of a leaf; spaces and comments around it stay.

        If `old` has as many tokens as the document, tokens that do not change stay as written.
        """
        if self.elements.is_empty_tag(node):
            end = self.scan.tag_end(node)
            name = self.elements.tag(node)
            self._splice(end - 2, end, self._encode(f">{escape_text(text)}</{name}>"))
            return
        content = self.scan.content(node)
        spans = self._token_spans(content.start, content.end)
        tokens, before = text.split(), old.split()
        if spans is not None and len(spans) == len(tokens) == len(before):
            for (start, end), token, known in zip(spans, tokens, before, strict=True):
                if token != known:
                    self._splice(start, end, self._encode(escape_text(token)))
        elif spans:
            self._splice(spans[0][0], spans[-1][1], self._encode(escape_text(text)))
        else:
            self._splice(content.start, content.end, self._encode(escape_text(text)))

    def _token_spans(self, start: int, end: int) -> list[TokenSpan] | None:
        """The tokens of a text outside comments; None if it has CDATA sections."""
        spans: list[TokenSpan] = []
        while start < end:
            cut = self.text.find(b"<", start, end)
            spans += [found.span() for found in _TOKEN.finditer(self.text, start, end if cut < 0 else cut)]
            if cut < 0:
                break
            if self.text.startswith(b"<![", cut):
                return None
            start = region_end(self.text, cut)
        return spans

    def set_attribute(self, node: int, name: str, text: str) -> None:
        value = self._encode(escape_attribute(text))
        span = self.scan.attribute(node, name)
        if span is not None:
            self._splice(span.start, span.end, value.replace(b"'", b"&apos;"))
            return
        spans = self.scan.attributes(node)
        at = max((one.end + 1 for one in spans.values()), default=self.scan.tag(node).end)
        self._splice(at, at, b" " + self._encode(name) + b'="' + value + b'"')

    def remove_attribute(self, node: int, name: str) -> None:
        span = self.scan.attribute(node, name)
        if span is not None:
            start = self.text.rfind(self._encode(name), 0, span.start)
            while self.text[start - 1 : start].isspace():
                start -= 1
            self._splice(start, span.end + 1, b"")

    def rename_attribute(self, node: int, name: str, other: str) -> None:
        span = self.scan.attribute(node, name)
        if span is not None:
            start = self.text.rfind(self._encode(name), 0, span.start)
            self._splice(start, start + len(self._encode(name)), self._encode(other))

    def rename(self, node: int, tag: str) -> None:
        """Rename an element in its start and end tag."""
        name = self.scan.tag(node)
        self._splice(name.start + 1, name.end, self._encode(tag))
        if not self.elements.is_empty_tag(node):
            end = self.elements.span(node).end
            start = self.text.rfind(b"</", 0, end) + 2
            self._splice(start, start + name.end - name.start - 1, self._encode(tag))

    def wrap(self, node: int, tag: str) -> None:
        """Wrap an element in a new one, on the same line."""
        span = self.elements.span(node)
        self._splice(span.start, span.start, self._encode(f"<{tag}>"))
        self._splice(span.end, span.end, self._encode(f"</{tag}>"))

    def enclose_content(self, node: int, tag: str, attributes: Mapping[str, str]) -> None:
        """Put the content of an element into a new one."""
        stated = "".join(f' {name}="{escape_attribute(value)}"' for name, value in attributes.items())
        opening = self.scan.tag_end(node)
        closing = self.text.rfind(b"</", 0, self.elements.span(node).end)
        self._splice(opening, opening, self._encode(f"<{tag}{stated}>"))
        self._splice(closing, closing, self._encode(f"</{tag}>"))

    def set_span(self, span: Span, text: str) -> None:
        """Replace some bytes of a text or attribute value."""
        self._splice(span.start, span.end, self._encode(escape_attribute(text)).replace(b"'", b"&apos;"))

    def remove(self, node: int) -> None:
        """Remove an element with its content, and its lines if nothing else is on them."""
        span = self.elements.span(node)
        start, end = span.start, span.end
        begin = start
        while begin > 0 and self.text[begin - 1 : begin] in _SPACES:
            begin -= 1
        stop = self._skip_spaces(end)
        if self.text[begin - 1 : begin] in _LINE_ENDS and self.text[stop : stop + 1] in (*_LINE_ENDS, b""):
            stop += 2 if self.text.startswith(b"\r\n", stop) else 1
            start, end = begin, min(stop, len(self.text))
        self._splice(start, end, b"")

    def replace(self, node: int, element: Markup) -> None:
        span = self.elements.span(node)
        self._splice(span.start, span.end, self._lines(element, self.elements.margin(node), node).lstrip(b" \t"))

    def insert(self, parent: int, element: Markup, after: int = -1) -> None:
        """Insert a child after the sibling `after`, or as the first child (-1), with the indentation of the file."""
        self.insert_all(parent, [element], after)

    def insert_all(self, parent: int, elements: Sequence[Markup], after: int = -1) -> None:
        """Insert several children at one place."""
        margin = self._new_margin(parent, after)
        separator = b"" if margin is None else self.newline
        piece = b"".join(separator + self._lines(element, margin, parent) for element in elements)
        if after >= 0:
            at = self.elements.span(after).end
            at = at if margin is None else self._end_of_line_comments(at)
            self._splice(at, at, piece)
            return
        opening = self.scan.tag_end(parent)
        closing = b"" if margin is None else self.newline + (self.elements.margin(parent) or b"")
        if self.elements.is_empty_tag(parent):
            end = self._encode(f"</{self.elements.tag(parent)}>")
            self._splice(opening - 2, opening, b">" + piece + closing + end)
        else:
            is_empty = self.text[opening : opening + 2] == b"</"
            self._splice(opening, opening, piece + (closing if is_empty else b""))

    def _new_margin(self, parent: int, after: int) -> bytes | None:
        """The margin of a new child; None if its siblings share one line, where it is added."""
        sibling = after if after >= 0 else self.elements.first(parent)
        if sibling >= 0:
            return self.elements.margin(sibling)
        outer = self.elements.margin(parent)
        return None if outer is None else outer + self._indent(parent)

    # --- the result -----------------------------------------------------------------------------------

    def apply(self) -> bytes:
        """The bytes of the edited document, in its own encoding.

        Raises OverlapError, and EncodingRoundTripError if the encoding would change more than was edited.
        """
        parts: list[bytes] = []
        done = 0
        for start, end, piece in sorted(self.splices, key=lambda splice: splice[:2]):
            if start < done:
                raise OverlapError
            parts += [self.text[done:start], piece]
            done = end
        text = b"".join([*parts, self.text[done:]])
        encoding, data = self.document.encoding, self.document.data
        mark, body = data[: encoding.mark], data[encoding.mark :]
        if encoding.scannable:
            return mark + text
        if body.decode(encoding.codec).encode(encoding.codec, "replace") != body:
            raise EncodingRoundTripError(
                f"the encoding {encoding.declared} has several byte sequences for some characters"
            )
        return mark + text.decode("utf-8", "surrogatepass").encode(encoding.codec, "xmlcharrefreplace")

    # --- places ---------------------------------------------------------------------------------------

    def _skip_spaces(self, at: int) -> int:
        while self.text[at : at + 1] in _SPACES:
            at += 1
        return at

    def _end_of_line_comments(self, at: int) -> int:
        """The end of comments that fill the line, so that they stay with the element before them."""
        end = at
        while self.text.startswith(b"<!--", begin := self._skip_spaces(end)):
            end = region_end(self.text, begin)
            if any(mark in self.text[begin:end] for mark in _LINE_ENDS):
                return at
        stop = self._skip_spaces(end)
        return stop if self.text[stop : stop + 1] in (*_LINE_ENDS, b"") else at

    def _indent(self, node: int) -> bytes:
        return self.elements.indent(node) or INDENT.encode()

    def _lines(self, element: Markup, margin: bytes | None, near: int) -> bytes:
        """The text of an element: indented lines, or all on one line."""
        lines: list[str] = []
        if margin is None:
            append_lines(element, "", "", lines)
            return b"".join(map(self._encode, lines))
        append_lines(element, margin.decode("ascii"), self._indent(near).decode("ascii"), lines)
        return self.newline.join(self._encode(line.replace("\n", self.newline.decode())) for line in lines)

    def _encode(self, text: str) -> bytes:
        return text.encode(self.codec, "xmlcharrefreplace")

    def _splice(self, start: int, end: int, piece: bytes) -> None:
        self.splices.append((start, end, piece))


def _newline(text: bytes) -> bytes:
    """The most common line end of a text."""
    both = text.count(b"\r\n")
    counts = {b"\n": text.count(b"\n") - both, b"\r\n": both, b"\r": text.count(b"\r") - both}
    return max(counts, key=lambda end: counts[end])
