"""Edits as splices of a document's bytes: everything that is not edited stays as its author wrote it."""

from __future__ import annotations

import re

from exoskel.source.document import Document
from exoskel.source.element_context import Elements
from exoskel.source.encoding import EncodingRoundTripError
from exoskel.source.markup import INDENT, Markup, append_lines, escape_attribute, escape_text
from exoskel.source.positions import Span, region_end

_BLANKS = (b" ", b"\t")
_LINE_ENDS = (b"\n", b"\r")
_TOKEN = re.compile(rb"[^ \t\r\n]+")

TokenSpan = tuple[int, int]

Splice = tuple[int, int, bytes]
"""From, to, and the bytes that take the place of what stands there."""


class OverlapError(Exception):
    """Two edits of the same place."""


class Patch:
    """Some edits of one document, applied together.  Numbers are those of the unedited document."""

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
        """The value of a leaf; blanks and comments around it stay.

        Where `old` has as many words as the document, words that do not differ from it stay too.
        """
        if self.elements.is_empty_tag(node):
            end = self.scan.tag_end(node)
            name = self.elements.tag(node)
            self._splice(end - 2, end, self._encode(f">{escape_text(text)}</{name}>"))
            return
        content = self.scan.content(node)
        ink = self._ink(content.start, content.end)
        words, before = text.split(), old.split()
        if ink is not None and len(ink) == len(words) == len(before):
            for (start, end), word, known in zip(ink, words, before, strict=True):
                if word != known:
                    self._splice(start, end, self._encode(escape_text(word)))
        elif ink:
            self._splice(ink[0][0], ink[-1][1], self._encode(escape_text(text)))
        else:
            self._splice(content.start, content.end, self._encode(escape_text(text)))

    def _ink(self, start: int, end: int) -> list[TokenSpan] | None:
        """The words of a text between comments; None if there are CDATA marks in it."""
        words: list[TokenSpan] = []
        while start < end:
            cut = self.text.find(b"<", start, end)
            words += [found.span() for found in _TOKEN.finditer(self.text, start, end if cut < 0 else cut)]
            if cut < 0:
                break
            if self.text.startswith(b"<![", cut):
                return None
            start = region_end(self.text, cut)
        return words

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
        """Another name for an element, in its start and end tag."""
        name = self.scan.tag(node)
        self._splice(name.start + 1, name.end, self._encode(tag))
        if not self.elements.is_empty_tag(node):
            end = self.elements.span(node).end
            start = self.text.rfind(b"</", 0, end) + 2
            self._splice(start, start + name.end - name.start - 1, self._encode(tag))

    def wrap(self, node: int, tag: str) -> None:
        """Put an element into a new one, on the line where it stands."""
        span = self.elements.span(node)
        self._splice(span.start, span.start, self._encode(f"<{tag}>"))
        self._splice(span.end, span.end, self._encode(f"</{tag}>"))

    def set_span(self, span: Span, text: str) -> None:
        """Other characters in the place of some bytes of a text or an attribute's value."""
        self._splice(span.start, span.end, self._encode(escape_attribute(text)).replace(b"'", b"&apos;"))

    def remove(self, node: int) -> None:
        """An element with all that is inside, and its line where nothing else stands on it."""
        span = self.elements.span(node)
        start, end = span.start, span.end
        begin = start
        while begin > 0 and self.text[begin - 1 : begin] in _BLANKS:
            begin -= 1
        stop = self._blanks_end(end)
        if self.text[begin - 1 : begin] in _LINE_ENDS and self.text[stop : stop + 1] in (*_LINE_ENDS, b""):
            stop += 2 if self.text.startswith(b"\r\n", stop) else 1
            start, end = begin, min(stop, len(self.text))
        self._splice(start, end, b"")

    def replace(self, node: int, element: Markup) -> None:
        span = self.elements.span(node)
        self._splice(span.start, span.end, self._lines(element, self.elements.margin(node), node).lstrip(b" \t"))

    def insert(self, parent: int, element: Markup, after: int = -1) -> None:
        """A new child behind the sibling `after`, or as the first child (-1), in the file's own indentation."""
        margin = self._new_margin(parent, after)
        lines = self._lines(element, margin, parent)
        piece = lines if margin is None else self.newline + lines
        if after >= 0:
            at = self.elements.span(after).end
            at = at if margin is None else self._remark_end(at)
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
        """The margin of a new child; None where its neighbours share one line, and it joins them there."""
        sibling = after if after >= 0 else self.elements.first(parent)
        if sibling >= 0:
            return self.elements.margin(sibling)
        outer = self.elements.margin(parent)
        return None if outer is None else outer + self._indent(parent)

    # --- the result -----------------------------------------------------------------------------------

    def apply(self) -> bytes:
        """The bytes of the edited document, in its own encoding.

        Raises Overlap, and Irreversible where the encoding would change more than was edited.
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
                f"its encoding, {encoding.declared}, spells some characters in more than one way"
            )
        return mark + text.decode("utf-8", "surrogatepass").encode(encoding.codec, "xmlcharrefreplace")

    # --- places ---------------------------------------------------------------------------------------

    def _blanks_end(self, at: int) -> int:
        while self.text[at : at + 1] in _BLANKS:
            at += 1
        return at

    def _remark_end(self, at: int) -> int:
        """Behind blanks and comments that fill the line, so that these stay with what they are about."""
        end = at
        while self.text.startswith(b"<!--", begin := self._blanks_end(end)):
            end = region_end(self.text, begin)
            if any(mark in self.text[begin:end] for mark in _LINE_ENDS):
                return at
        stop = self._blanks_end(end)
        return stop if self.text[stop : stop + 1] in (*_LINE_ENDS, b"") else at

    def _indent(self, node: int) -> bytes:
        return self.elements.indent(node) or INDENT.encode()

    def _lines(self, element: Markup, margin: bytes | None, near: int) -> bytes:
        """The text of an element: lines at a margin, or all on one line."""
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
    """How most lines of a text end."""
    both = text.count(b"\r\n")
    counts = {b"\n": text.count(b"\n") - both, b"\r\n": both, b"\r": text.count(b"\r") - both}
    return max(counts, key=lambda end: counts[end])
