"""The canonical layout of a document: one element a line, two blanks a level, a fixed order, nothing lost.

Work is done on the document's own bytes.  Comments, references, CDATA marks, quotes that are needed, the
spelling of names and numbers: all of it is copied, never written anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from msgspec import Struct

from exoskel.source import encoding as encodings
from exoskel.source.canonical_order import CanonicalOrder, ChildOrder, NumberFormatter
from exoskel.source.document import Document
from exoskel.source.raw_tree import RawElement, RawNode, count_line_ends, parse_raw_tree, split_attributes
from exoskel.source.vocabulary import Vocabulary

_INDENT = b"  "


def format_document(document: Document, vocabulary: Vocabulary, *, numbers: bool = False) -> bytes:
    """The file in canonical layout, in its own encoding, byte-order mark and line ends.

    The document has to be well-formed (`document.parse` tells); its root need not be in the vocabulary.
    `numbers` asks for the shortest spelling of numbers that reads back to the same values.  Raises
    `encoding.IrreversibleEncodingError` for a file whose bytes do not come back from its own encoding.
    """
    text = document.text
    layout = _Layout(text, parse_raw_tree(text), CanonicalOrder(vocabulary), NumberFormatter(shortest=numbers))
    return encodings.encode_like_source(layout.text(), document.data, document.encoding)


class _Unit(Struct, gc=False):
    """An element, the comments on lines of their own before it, and those behind it on its line."""

    element: RawElement
    place: ChildOrder | None = None
    before: Sequence[RawNode] = ()
    behind: Sequence[RawNode] = ()


class _Family(Struct, gc=False):
    """An element with children, which has yet to be laid out."""

    element: RawElement
    place: ChildOrder | None
    depth: int


_Part = bytes | _Family


class _Layout:
    """One document on its way to its layout."""

    def __init__(self, text: bytes, tree: RawElement, book: CanonicalOrder, spelling: NumberFormatter) -> None:
        self.source = text
        self.tree = tree
        self.book = book
        self.spelling = spelling
        self.line_end = _line_end(text)
        self.margins: list[bytes] = []
        self.gaps: list[bytes] | None = None

    def text(self) -> bytes:
        """The document laid out.

        Where line ends are mixed, only those that are written anew are counted: those inside comments and
        values stay, and must not have another say the next time.
        """
        if _counts(self.source)[self.line_end] < count_line_ends(self.source):
            self.gaps = []
            self._laid_out()
            between = b" ".join(self.gaps)
            self.line_end = _line_end(between if count_line_ends(between) else self.source)
            self.gaps = None
            self.margins.clear()
        return self._laid_out()

    def _laid_out(self) -> bytes:
        """Everything.  A stack in place of recursion: depth is the user's to choose."""
        out: list[bytes] = []
        waiting: list[Iterator[_Part]] = [iter([*self._document(), self.line_end])]
        while waiting:
            for part in waiting[-1]:
                if isinstance(part, bytes):
                    out.append(part)
                else:
                    waiting.append(iter(self._family(part)))
                    break
            else:
                waiting.pop()
        return b"".join(out)

    def _document(self) -> list[_Part]:
        """The root and what stands around it, in the order it stands in."""
        self._remember_gaps(self.tree)
        units, last = _units(self.tree.children)
        for unit in units:
            unit.place = self.book.root if unit.element.name == self.book.root.name else None
        return self._lines(units, last, 0)[1:]  # no line ends before the first

    # --- one element ----------------------------------------------------------------------------------

    def _family(self, family: _Family) -> list[_Part]:
        """An element with its children, each on a line of its own."""
        element, place, depth = family.element, family.place, family.depth
        self._remember_gaps(element)
        head = b"<" + self._tag(element, place) + b">"
        children: Sequence[RawElement | RawNode] = element.children
        if element.has_pieces:
            beside = _beside_the_start_tag(element)
            head += b"".join(b" " + self._copy(piece) for piece in beside)
            units, last = _units(children[len(beside) :])
        else:
            units, last = [_Unit(child) for child in children if isinstance(child, RawElement)], []
        if place is not None:
            units = _arranged(units, place)
        lines = self._lines(units, last, depth + 1)
        if lines:
            lines[0] = self._break(0, depth + 1)  # no blank line before the first child
        lines.append(self._break(0, depth) + b"</" + element.name + b">")
        lines.insert(0, head)
        return lines

    def _lines(self, units: list[_Unit], last: list[RawNode], depth: int) -> list[_Part]:
        """Every element and comment behind a line end; those that follow on a line behind a blank."""
        parts: list[_Part] = []
        for unit in units:
            for piece in unit.before:
                parts += (self._break(piece.breaks, depth), self._copy(piece))
            element, place = unit.element, unit.place
            parts.append(self._break(element.breaks, depth))
            if element.children and not element.has_text and not _is_untouchable(element, place):
                parts.append(_Family(element, place, depth))
            else:
                parts.append(self._on_one_line(element, place))
            for piece in unit.behind:
                parts += (b" ", self._copy(piece))
        for piece in last:
            parts += (self._break(piece.breaks, depth), self._copy(piece))
        return parts

    def _on_one_line(self, element: RawElement, place: ChildOrder | None) -> bytes:
        """An element whose content stays with its tags, and mostly as it is."""
        tag = self._tag(element, place)
        content = self._content(element, place)
        was_closed = element.inside == element.end
        if not content and (was_closed or (place is not None and not place.opaque)):
            return b"<" + tag + b"/>"
        return b"<" + tag + b">" + content + b"</" + element.name + b">"

    def _content(self, element: RawElement, place: ChildOrder | None) -> bytes:
        content = self.source[element.inside : element.outside]
        if place is None or place.opaque or element.children:
            return content
        if place.kind is not None:
            return self.spelling.of(place.kind, content)
        return content if element.has_text or _keeps_blanks(element) else b""

    def _tag(self, element: RawElement, place: ChildOrder | None) -> bytes:
        """Name and attributes, one blank between them; those that are unknown come last."""
        if not element.attributes:
            return element.name
        pairs = split_attributes(element.attributes)
        if place is not None and len(pairs) > 1:
            ranks = place.attributes
            pairs.sort(key=lambda pair: ranks.get(pair[0], len(ranks)))
        return b" ".join([element.name, *(name + b"=" + self._value(name, quoted, place) for name, quoted in pairs)])

    def _value(self, name: bytes, quoted: bytes, place: ChildOrder | None) -> bytes:
        value = quoted[1:-1]
        if self.spelling.shortest and place is not None and name in place.kinds:
            value = self.spelling.of(place.kinds[name], value)
        quote = b"'" if b'"' in value else b'"'
        return quote + value + quote

    # --- pieces of text -------------------------------------------------------------------------------

    def _copy(self, piece: RawNode) -> bytes:
        return self.source[piece.start : piece.end]

    def _break(self, breaks: int, depth: int) -> bytes:
        """The end of a line and the next one's indentation; a blank line between if the author left some."""
        while depth >= len(self.margins):
            self.margins.append(self.line_end + _INDENT * len(self.margins))
        return self.line_end + self.margins[depth] if breaks > 1 else self.margins[depth]

    def _remember_gaps(self, element: RawElement) -> None:
        """Keep what stands between the children, where somebody asks for it."""
        if self.gaps is not None:
            at = element.inside
            for child in element.children:
                self.gaps.append(self.source[at : child.start])
                at = child.end
            self.gaps.append(self.source[at : element.outside])


def _units(children: Sequence[RawElement | RawNode]) -> tuple[list[_Unit], list[RawNode]]:
    """Elements with the comments that belong to them, and the comments behind the last that do not."""
    units: list[_Unit] = []
    before: list[RawNode] = []
    behind: list[RawNode] = []
    for child in children:
        if isinstance(child, RawElement):
            units.append(_Unit(child, None, before, behind := []))
            before = []
        elif units and not before and child.breaks == 0:
            behind.append(child)
        else:
            before.append(child)
    return units, before


def _arranged(units: list[_Unit], place: ChildOrder) -> list[_Unit]:
    """In the order of the vocabulary, each with its place; what it does not know stays behind its sibling."""
    rank, in_order = -1, True
    ranks: list[int] = []
    for unit in units:
        own, unit.place = place.row(unit.element.name)
        if own is not None:
            in_order = in_order and own >= rank
            rank = own
        ranks.append(rank)
    if in_order or place.is_ordered:
        return units
    return [units[i] for i in sorted(range(len(units)), key=ranks.__getitem__)]


def _beside_the_start_tag(element: RawElement) -> list[RawNode]:
    """The comments on the line of the start tag, if nothing but the line's end follows them."""
    children = element.children
    beside = [c for c in takewhile(lambda c: c.breaks == 0, children) if isinstance(c, RawNode)]
    count = len(beside)
    following = children[count].breaks if count < len(children) else element.last_breaks
    return beside if following else []


def _is_untouchable(element: RawElement, place: ChildOrder | None) -> bool:
    """Whether the children of an element stay as they are: in an extension, or where a value is meant."""
    if (place is not None and place.opaque) or _keeps_blanks(element):
        return True
    is_container = place is not None and place.kind is None
    return not is_container and not element.has_elements


def _keeps_blanks(element: RawElement) -> bool:
    if b"xml:space" not in element.attributes:
        return False
    return any(
        name == b"xml:space" and quoted[1:-1] == b"preserve" for name, quoted in split_attributes(element.attributes)
    )


def _counts(text: bytes) -> dict[bytes, int]:
    """How many lines end in LF, in CR LF and in a lone CR."""
    pairs = text.count(b"\r\n")
    return {b"\n": text.count(b"\n") - pairs, b"\r\n": pairs, b"\r": text.count(b"\r") - pairs}


def _line_end(text: bytes) -> bytes:
    """What most lines of some text end in; LF where there are none."""
    counts = _counts(text)
    return max(counts, key=counts.__getitem__)
