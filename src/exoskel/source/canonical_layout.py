"""The canonical layout of a document: one element per line, two spaces per level, a fixed order of children.

It works on the bytes of the document.  Comments, references, CDATA sections, quotes where they matter, names and
numbers are copied as written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from msgspec import Struct

from exoskel.source import encoding as encodings
from exoskel.source.document import Document
from exoskel.source.raw_tree import (
    CanonicalOrder,
    ChildOrder,
    NumberFormatter,
    RawElement,
    RawNode,
    count_line_ends,
    parse_raw_tree,
    split_attributes,
)
from exoskel.source.vocabulary import Vocabulary

_INDENT = b"  "


def format_document(document: Document, vocabulary: Vocabulary, *, numbers: bool = False) -> bytes:
    """Format a document in canonical layout; its encoding, byte-order mark and line ends stay.

    The document has to be well-formed (`document.parse` checks this); its root need not be in the vocabulary.
    With `numbers`, numbers get the shortest spelling that reads back to the same values.  Raises
    `encoding.EncodingRoundTripError` if the bytes of the file do not survive decoding and encoding.
    """
    text = document.text
    layout = _Layout(text, parse_raw_tree(text), CanonicalOrder(vocabulary), NumberFormatter(shortest=numbers))
    return encodings.encode_like_source(layout.text(), document.data, document.encoding)


class _Unit(Struct, gc=False):
    """An element, the comments on the lines before it, and those after it on its line."""

    element: RawElement
    order: ChildOrder | None = None
    before: Sequence[RawNode] = ()
    after: Sequence[RawNode] = ()


class _Container(Struct, gc=False):
    """An element with children that is not formatted yet."""

    element: RawElement
    order: ChildOrder | None
    depth: int


_Part = bytes | _Container


class _Layout:
    """Formats one document."""

    def __init__(self, text: bytes, tree: RawElement, orders: CanonicalOrder, numbers: NumberFormatter) -> None:
        self.source = text
        self.tree = tree
        self.orders = orders
        self.numbers = numbers
        self.line_end = _line_end(text)
        self.margins: list[bytes] = []
        self.gaps: list[bytes] | None = None

    def text(self) -> bytes:
        """The formatted document.

        If line ends are mixed, only those that are rewritten decide: those inside comments and values stay, and
        must not change the result when the file is formatted again.
        """
        if _count_line_ends(self.source)[self.line_end] < count_line_ends(self.source):
            self.gaps = []
            self._format()
            between = b" ".join(self.gaps)
            self.line_end = _line_end(between if count_line_ends(between) else self.source)
            self.gaps = None
            self.margins.clear()
        return self._format()

    def _format(self) -> bytes:
        """Format everything, with a stack instead of recursion, because documents may be deeply nested."""
        out: list[bytes] = []
        waiting: list[Iterator[_Part]] = [iter([*self._document(), self.line_end])]
        while waiting:
            for part in waiting[-1]:
                if isinstance(part, bytes):
                    out.append(part)
                else:
                    waiting.append(iter(self._container(part)))
                    break
            else:
                waiting.pop()
        return b"".join(out)

    def _document(self) -> list[_Part]:
        """The root and what surrounds it, in the order of the document."""
        self._record_gaps(self.tree)
        units, last = _units(self.tree.children)
        for unit in units:
            unit.order = self.orders.root if unit.element.name == self.orders.root.name else None
        return self._lines(units, last, 0)[1:]  # no line end before the first

    # --- one element ----------------------------------------------------------------------------------

    def _container(self, container: _Container) -> list[_Part]:
        """An element with its children, each on its own line."""
        element, order, depth = container.element, container.order, container.depth
        self._record_gaps(element)
        head = b"<" + self._tag(element, order) + b">"
        children: Sequence[RawElement | RawNode] = element.children
        if element.has_comments:
            first = _comments_after_start_tag(element)
            head += b"".join(b" " + self._copy(comment) for comment in first)
            units, last = _units(children[len(first) :])
        else:
            units, last = [_Unit(child) for child in children if isinstance(child, RawElement)], []
        if order is not None:
            units = _sort_units(units, order)
        lines = self._lines(units, last, depth + 1)
        if lines:
            lines[0] = self._break(0, depth + 1)  # no empty line before the first child
        lines.append(self._break(0, depth) + b"</" + element.name + b">")
        lines.insert(0, head)
        return lines

    def _lines(self, units: list[_Unit], last: list[RawNode], depth: int) -> list[_Part]:
        """Every element and comment after a line break; comments that follow an element on its line after a space."""
        parts: list[_Part] = []
        for unit in units:
            for comment in unit.before:
                parts += (self._break(comment.line_breaks, depth), self._copy(comment))
            element, order = unit.element, unit.order
            parts.append(self._break(element.line_breaks, depth))
            if element.children and not element.has_text and not _has_fixed_content(element, order):
                parts.append(_Container(element, order, depth))
            else:
                parts.append(self._on_one_line(element, order))
            for comment in unit.after:
                parts += (b" ", self._copy(comment))
        for comment in last:
            parts += (self._break(comment.line_breaks, depth), self._copy(comment))
        return parts

    def _on_one_line(self, element: RawElement, order: ChildOrder | None) -> bytes:
        """An element whose content stays on the line of its tags, mostly unchanged."""
        tag = self._tag(element, order)
        content = self._content(element, order)
        was_closed = element.inside == element.end
        if not content and (was_closed or (order is not None and not order.opaque)):
            return b"<" + tag + b"/>"
        return b"<" + tag + b">" + content + b"</" + element.name + b">"

    def _content(self, element: RawElement, order: ChildOrder | None) -> bytes:
        content = self.source[element.inside : element.outside]
        if order is None or order.opaque or element.children:
            return content
        if order.kind is not None:
            return self.numbers.format(order.kind, content)
        return content if element.has_text or _preserves_spaces(element) else b""

    def _tag(self, element: RawElement, order: ChildOrder | None) -> bytes:
        """The name and attributes of an element, separated by one space; unknown attributes come last."""
        if not element.attributes:
            return element.name
        pairs = split_attributes(element.attributes)
        if order is not None and len(pairs) > 1:
            ranks = order.attributes
            pairs.sort(key=lambda pair: ranks.get(pair[0], len(ranks)))
        return b" ".join([element.name, *(name + b"=" + self._value(name, quoted, order) for name, quoted in pairs)])

    def _value(self, name: bytes, quoted: bytes, order: ChildOrder | None) -> bytes:
        value = quoted[1:-1]
        if self.numbers.shortest and order is not None and name in order.kinds:
            value = self.numbers.format(order.kinds[name], value)
        quote = b"'" if b'"' in value else b'"'
        return quote + value + quote

    # --- pieces of text -------------------------------------------------------------------------------

    def _copy(self, node: RawNode) -> bytes:
        return self.source[node.start : node.end]

    def _break(self, line_breaks: int, depth: int) -> bytes:
        """A line end and the indentation of the next line; with an empty line in between if the author left one."""
        while depth >= len(self.margins):
            self.margins.append(self.line_end + _INDENT * len(self.margins))
        return self.line_end + self.margins[depth] if line_breaks > 1 else self.margins[depth]

    def _record_gaps(self, element: RawElement) -> None:
        """Record the text between the children, if it is needed."""
        if self.gaps is not None:
            at = element.inside
            for child in element.children:
                self.gaps.append(self.source[at : child.start])
                at = child.end
            self.gaps.append(self.source[at : element.outside])


def _units(children: Sequence[RawElement | RawNode]) -> tuple[list[_Unit], list[RawNode]]:
    """Elements with the comments that belong to them, and the remaining comments after the last element."""
    units: list[_Unit] = []
    before: list[RawNode] = []
    after: list[RawNode] = []
    for child in children:
        if isinstance(child, RawElement):
            units.append(_Unit(child, None, before, after := []))
            before = []
        elif units and not before and child.line_breaks == 0:
            after.append(child)
        else:
            before.append(child)
    return units, before


def _sort_units(units: list[_Unit], order: ChildOrder) -> list[_Unit]:
    """Sort elements in the order of the vocabulary; unknown elements stay after the sibling they follow."""
    rank, in_order = -1, True
    ranks: list[int] = []
    for unit in units:
        own, unit.order = order.child(unit.element.name)
        if own is not None:
            in_order = in_order and own >= rank
            rank = own
        ranks.append(rank)
    if in_order or order.is_ordered:
        return units
    return [units[i] for i in sorted(range(len(units)), key=ranks.__getitem__)]


def _comments_after_start_tag(element: RawElement) -> list[RawNode]:
    """The comments on the line of the start tag, if the line ends after them."""
    children = element.children
    first = [c for c in takewhile(lambda c: c.line_breaks == 0, children) if isinstance(c, RawNode)]
    count = len(first)
    following = children[count].line_breaks if count < len(children) else element.last_line_breaks
    return first if following else []


def _has_fixed_content(element: RawElement, order: ChildOrder | None) -> bool:
    """Whether the children of an element are not formatted: in an extension, or where the vocabulary has a value."""
    if (order is not None and order.opaque) or _preserves_spaces(element):
        return True
    is_container = order is not None and order.kind is None
    return not is_container and not element.has_elements


def _preserves_spaces(element: RawElement) -> bool:
    if b"xml:space" not in element.attributes:
        return False
    return any(
        name == b"xml:space" and quoted[1:-1] == b"preserve" for name, quoted in split_attributes(element.attributes)
    )


def _count_line_ends(text: bytes) -> dict[bytes, int]:
    """How many lines end in LF, in CR LF and in a lone CR."""
    pairs = text.count(b"\r\n")
    return {b"\n": text.count(b"\n") - pairs, b"\r\n": pairs, b"\r": text.count(b"\r") - pairs}


def _line_end(text: bytes) -> bytes:
    """The most common line end of a text; LF if it has none."""
    counts = _count_line_ends(text)
    return max(counts, key=counts.__getitem__)
