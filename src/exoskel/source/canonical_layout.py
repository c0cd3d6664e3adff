"""The canonical layout of a document: one element per line, two spaces per level, a fixed order of children.

It works on the bytes of the document.  Comments, references, CDATA sections, quotes where they matter, names and
numbers are copied as written: lxml's tree would lose quotes, references, CDATA marks and the spaces between attributes.
In the tree here nothing is decoded.  Every node has its start and end, and the number of line ends before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from msgspec import Struct

from exoskel.source import encoding as encodings
from exoskel.source import numbers, similar_elements
from exoskel.source.document import Document
from exoskel.source.similar_elements import ElementShape, NotSimilarError, SimilarElements, Template, has_stubs
from exoskel.source.vocabulary import Element, ValueType, Vocabulary

_INDENT = b"  "


def format_document(
    document: Document, vocabulary: Vocabulary, *, numbers: bool = False, similar: SimilarElements | None = None
) -> bytes:
    """Format a document in canonical layout; its encoding, byte-order mark and line ends stay.

    The document has to be well-formed (`document.parse` checks this); its root need not be in the vocabulary.
    With `numbers`, numbers get the shortest spelling that reads back to the same values.  `similar` are the bodies and
    joints of a large document, which makes it faster; it has no effect on the result, and excludes `numbers`.  Raises
    `encoding.EncodingRoundTripError` if the bytes of the file do not survive decoding and encoding.
    """
    order, formatter = CanonicalOrder(vocabulary), NumberFormatter(shortest=numbers)
    text = None if similar is None else _format_similar(similar, order, formatter)
    if text is None:
        text = _Layout(document.text, parse_raw_tree(document.text), order, formatter).text()
    return encodings.encode_like_source(text, document.data, document.encoding)


def _format_similar(similar: SimilarElements, order: CanonicalOrder, formatter: NumberFormatter) -> bytes | None:
    """The formatted text of a document whose bodies and joints are cut out; None if these cannot be put back."""
    try:
        text = _Layout(similar.frame, parse_raw_tree(similar.frame), order, formatter, similar).text()
    except ValueError:  # what was cut out is not one element
        return None
    return None if has_stubs(text) else text  # a stub is in content that is copied


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

    def __init__(
        self,
        text: bytes,
        tree: RawElement,
        orders: CanonicalOrder,
        numbers: NumberFormatter,
        similar: SimilarElements | None = None,
    ) -> None:
        self.source = text
        self.tree = tree
        self.orders = orders
        self.numbers = numbers
        self.line_end = _line_end(text)
        self.margins: list[bytes] = []
        self.gaps: list[bytes] | None = None
        self.similar = similar
        self.templates: dict[tuple[int, int, int], Template] = {}
        """How elements are written that stubs stand for, by their shapes, their orders (by id) and their depths."""

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
        return self._join([*self._document(), self.line_end])

    def _join(self, parts: Sequence[_Part]) -> bytes:
        """Format everything, with a stack instead of recursion, because documents may be deeply nested."""
        out: list[bytes] = []
        add = out.append
        waiting: list[Iterator[_Part]] = [iter(parts)]
        while waiting:
            for part in waiting[-1]:
                if isinstance(part, bytes):
                    add(part)
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
        if element.has_comments:
            first = _comments_after_start_tag(element)
            head += b"".join(b" " + self._copy(comment) for comment in first)
            units, last = _units(element.children[len(first) :])
            lines = self._lines(_sort_units(units, order) if order is not None else units, last, depth + 1)
        else:
            lines = self._lines_without_comments(element, order, depth + 1)
        if lines:
            lines[0] = self._break(0, depth + 1)  # no empty line before the first child
        lines.append(self._break(0, depth) + b"</" + element.name + b">")
        lines.insert(0, head)
        return lines

    def _lines_without_comments(self, element: RawElement, order: ChildOrder | None, depth: int) -> list[_Part]:
        """The same as `_lines` for an element that contains elements only, as nearly all do."""
        children: list[RawElement] = element.children  # type: ignore[assignment]
        ranked = [UNKNOWN] * len(children) if order is None else order.rank(children)
        if order is not None and len(children) > 1 and (places := _sorted_places(ranked, order)) is not None:
            children, ranked = [children[i] for i in places], [ranked[i] for i in places]
        margin = self._break(0, depth)
        wide_margin = self.line_end + margin
        parts: list[_Part] = []
        for child, (_, own) in zip(children, ranked, strict=True):
            parts += (
                wide_margin if child.line_breaks > 1 else margin,
                self._element(child, own, depth) if child.children else self._leaf(child, own, depth),
            )
        return parts

    def _element(self, element: RawElement, order: ChildOrder | None, depth: int) -> _Part:
        if element.children and not element.has_text and not _has_fixed_content(element, order):
            return _Container(element, order, depth)
        return self._on_one_line(element, order, depth)

    def _leaf(self, element: RawElement, order: ChildOrder | None, depth: int) -> bytes:
        """An element without children; nearly all consist of tags and a value in canonical form."""
        if order is not None and order.kind is not None and not element.attributes and not order.opaque:
            inside, outside, size = element.inside, element.outside, len(element.name)
            if inside - element.start == size + 2 and element.end - outside == size + 3 and outside > inside:
                content = self.source[inside:outside]
                if self.numbers.format(order.kind, content) == content:
                    return self.source[element.start : element.end]
        return self._on_one_line(element, order, depth)

    def _lines(self, units: list[_Unit], last: list[RawNode], depth: int) -> list[_Part]:
        """Every element and comment after a line break; comments that follow an element on its line after a space."""
        parts: list[_Part] = []
        for unit in units:
            for comment in unit.before:
                parts += (self._break(comment.line_breaks, depth), self._copy(comment))
            element, order = unit.element, unit.order
            parts += (self._break(element.line_breaks, depth), self._element(element, order, depth))
            for comment in unit.after:
                parts += (b" ", self._copy(comment))
        for comment in last:
            parts += (self._break(comment.line_breaks, depth), self._copy(comment))
        return parts

    def _on_one_line(self, element: RawElement, order: ChildOrder | None, depth: int) -> bytes:
        """An element whose content stays on the line of its tags, mostly unchanged; or what a stub stands for."""
        if self.similar is not None and (number := self.similar.stub_number(element.attributes)) is not None:
            shape, values = self.similar.elements[number]
            key = shape, id(order), depth
            if key not in self.templates:
                self.templates[key] = self._template(self.similar.shapes[shape], order, depth)
            return self.templates[key].fill(values)
        tag = self._tag(element, order)
        content = self._content(element, order)
        was_closed = element.inside == element.end
        if not content and (was_closed or (order is not None and not order.opaque)):
            return b"<" + tag + b"/>"
        return b"<" + tag + b">" + content + b"</" + element.name + b">"

    def _template(self, shape: ElementShape, order: ChildOrder | None, depth: int) -> Template:
        """How elements of a shape are written.  Raises ValueError if the shape is not that of one element."""
        text = similar_elements.with_placeholders(shape)
        tree = parse_raw_tree(text)
        layout = _Layout(text, tree, self.orders, self.numbers)
        (element,) = tree.children
        if not isinstance(element, RawElement) or tree.has_text:
            raise NotSimilarError("more than one element was cut out")
        layout.line_end = self.line_end
        return Template.of(layout._join([layout._element(element, order, depth)]), len(shape) - 1)

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
    ranked = [order.child(unit.element.name) for unit in units]
    for unit, (_, own) in zip(units, ranked, strict=True):
        unit.order = own
    places = _sorted_places(ranked, order)
    return units if places is None else [units[i] for i in places]


def _sorted_places(ranked: list[RankedChild], order: ChildOrder) -> list[int] | None:
    """The places of children in the order of the vocabulary; None if they are in order."""
    rank, in_order = -1, True
    ranks: list[int] = []
    for own, _ in ranked:
        if own is not None:
            in_order = in_order and own >= rank
            rank = own
        ranks.append(rank)
    return None if in_order or order.is_ordered else sorted(range(len(ranked)), key=ranks.__getitem__)


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


# --- the order of children, and the spelling of numbers -----------------------------------------------


DECIMALS = re.compile(rf"[ \t\r\n]*{numbers.DECIMAL}([ \t\r\n]+{numbers.DECIMAL})*[ \t\r\n]*")
_MAX_CACHED = 100_000


class ChildOrder:
    """The canonical order inside one element of the vocabulary.  Names are bytes, as in files.

    `attributes` are the ranks of attributes, `kinds` their kinds of value.
    """

    __slots__ = ("_children", "_orders", "_ranked", "attributes", "is_ordered", "kind", "kinds", "name", "opaque")

    def __init__(self, orders: CanonicalOrder, rule: Element) -> None:
        self.name = rule.name.encode()
        self.kind = rule.kind
        self.opaque = rule.opaque
        self.is_ordered = rule.ordered
        self.attributes = {name.encode(): rank for rank, name in enumerate(rule.attributes)}
        self.kinds = {name.encode(): attribute.kind for name, attribute in rule.attributes.items()}
        self._orders = orders
        self._children = _ranks(rule)
        self._ranked: dict[bytes, RankedChild] = {}

    def child(self, name: bytes) -> RankedChild:
        """The rank of a child of this name, and the order inside it."""
        found = self._ranked.get(name)
        if found is None:
            found = self._ranked[name] = self._look_up(name)
        return found

    def rank(self, children: Sequence[RawElement]) -> list[RankedChild]:
        """The ranks of children, and the orders inside them."""
        known = self._ranked
        return [known.get(child.name) or self.child(child.name) for child in children]

    def _look_up(self, name: bytes) -> RankedChild:
        found = self._children.get(name)
        if found is None and b":" in name and self._orders.ignores_prefixes:
            found = self._children.get(name.rpartition(b":")[2])
        if found is None:
            return UNKNOWN
        rank, rule = found
        return None if rule.opaque else rank, self._orders.child_order(rule)


RankedChild = tuple[int | None, ChildOrder | None]
"""No rank: the element stays after the sibling it follows.  No order: it is not in the vocabulary."""

UNKNOWN: RankedChild = (None, None)


class CanonicalOrder:
    """The canonical orders of all elements of a vocabulary, created on demand."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.ignores_prefixes = bool(vocabulary.codes.namespaced)
        self._child_orders: dict[int, ChildOrder] = {}
        self.root = self.child_order(vocabulary.root)

    def child_order(self, rule: Element) -> ChildOrder:
        order = self._child_orders.get(id(rule))
        if order is None:
            order = self._child_orders[id(rule)] = ChildOrder(self, rule)
        return order


def _ranks(rule: Element) -> dict[bytes, tuple[int, Element]]:
    """The ranks of children in the order of the vocabulary; names of equal rank keep the order of the document.

    Objects (what a reader reads one by one, or containers of these) share one rank: their order in the document
    numbers and names them.  So do alternatives, because the first one may win.  An `ordered` element is a
    computation that may use the objects beside it, and comes after them.
    """
    names = list(rule.children)
    tolerated = {name for name, child in rule.children.items() if rule.one_of and not child.in_schema}
    first = min((names.index(name) for name in rule.one_of), default=0)
    ranks: dict[bytes, tuple[int, Element]] = {}
    for place, (name, child) in enumerate(rule.children.items()):
        rank = place
        if child.streamed or child.holds_streamed:
            rank = len(names)
        elif child.ordered:
            rank = len(names) + 1
        elif name in rule.one_of or name in tolerated:
            rank = first
        ranks[name.encode()] = (rank, child)
    return ranks


class NumberFormatter:
    """Rewrites values of numbers: with one space between them and, if `shortest`, in their shortest spelling.

    A text only changes if its kind of value reads it as numbers, and reads the new text as the same numbers.
    """

    def __init__(self, *, shortest: bool) -> None:
        self.shortest = shortest
        self._seen: dict[tuple[int, bytes], bytes] = {}

    def format(self, kind: ValueType, raw: bytes) -> bytes:
        if not self.shortest and b" ".join(raw.split()) == raw:
            return raw  # nearly all are in canonical form
        key = (id(kind), raw)
        found = self._seen.get(key)
        if found is None:
            if len(self._seen) >= _MAX_CACHED:
                self._seen.clear()
            found = self._seen[key] = self._rewrite(kind, raw)
        return found

    def _rewrite(self, kind: ValueType, raw: bytes) -> bytes:
        try:
            text = raw.decode("ascii")
        except UnicodeDecodeError:
            return raw
        if DECIMALS.fullmatch(text) is None:
            return raw
        value = kind.parse_valid(text)
        if value is None or isinstance(value, str | bool):
            return raw
        tokens = text.split()
        new = " ".join(map(numbers.shortest_number, tokens) if self.shortest else tokens)
        return new.encode() if kind.parse_valid(new) == value else raw


# --- a light tree, whose nodes are byte ranges --------------------------------------------------------


_QUOTED = rb"""(?:"[^"]*"|'[^']*')"""
_ATTRIBUTE = rb"[ \t\r\n]+[^ \t\r\n=/>]+[ \t\r\n]*=[ \t\r\n]*" + _QUOTED
_COMMENT = rb"<!--.*?-->|<\?.*?\?>"
_SUBSET = rb"""\[(?:%b|%b|[^\]"'])*+\][ \t\r\n]*""" % (_COMMENT, _QUOTED)
_DOCTYPE = rb"""<!DOCTYPE(?:%b|[^"'\[>])*+(?:%b)?>""" % (_QUOTED, _SUBSET)
_TOKEN = re.compile(
    rb"([^<]*+)(?:"  # 1: text before
    rb"</([^ \t\r\n>]+)[ \t\r\n]*>"  # 2: an end tag
    rb"|<([^ \t\r\n/>!?]+)((?:%b)*+)[ \t\r\n]*+"  # 3, 4: a start tag and its attributes,
    rb"(?:>([^<]*+)(</)\3[ \t\r\n]*+>|(/)>|>)"  # 5, 6: and all of a leaf up to its end tag; 7: an empty one
    rb"|(%b|%b)"  # 8: a comment, an instruction, the document type declaration
    rb"|(<!\[CDATA\[.*?\]\]>)"  # 9
    rb"|\Z)" % (_ATTRIBUTE, _COMMENT, _DOCTYPE),
    re.DOTALL,
)
_MAX_SPACES = 1000
_TEXT, _END, _START, _LEAF, _EMPTY, _PIECE = 1, 2, 4, 6, 7, 8

_ONE_ATTRIBUTE = re.compile(rb"([^ \t\r\n=]+)[ \t\r\n]*=[ \t\r\n]*(%b)" % _QUOTED)


class RawNode(Struct, gc=False):
    """A comment, an instruction or the document type declaration; `line_breaks` line ends come before it."""

    start: int
    end: int
    line_breaks: int


class RawElement(Struct, gc=False):
    """An element: from `start` to `end`, its content from `inside` to `outside`.

    `attributes` are the bytes after the name.  `line_breaks` line ends come before the start tag,
    `last_line_breaks` before the end tag.  `has_text`: it contains text other than whitespace, or a CDATA section.
    A tree has no cycles, so the garbage collector need not track it.
    """

    name: bytes
    attributes: bytes
    start: int
    inside: int
    outside: int
    end: int
    line_breaks: int
    last_line_breaks: int
    has_text: bool
    children: list[RawElement | RawNode]
    has_comments: bool = False

    @property
    def has_elements(self) -> bool:
        return any(type(child) is RawElement for child in self.children)


_NO_CHILDREN: list[RawElement | RawNode] = []
"""Shared by all leaves, and never modified."""


def parse_raw_tree(text: bytes) -> RawElement:
    """Parse a well-formed document; returns a nameless element that contains the root and what surrounds it.

    Raises ValueError for text that is not well-formed; callers parse it with lxml first, which gives the reason.
    """
    top = here = RawElement(b"", b"", 0, 0, len(text), len(text), 0, 0, False, [])
    siblings = top.children
    ancestors: list[RawElement] = []
    breaks = at = 0
    spaces = {b"": 0}  # the line ends in texts between tags: nearly all are a line end and an indentation
    for match in _TOKEN.finditer(text):
        start, following = match.span()
        if start != at:
            break
        before, name, attributes, content = match.group(1, 3, 4, 5)
        start, at = start + len(before), following
        found = spaces.get(before)
        if found is not None:
            breaks = found
        else:
            breaks = count_line_ends(before)
            if not before.isspace():
                here.has_text = True
            elif len(spaces) < _MAX_SPACES:
                spaces[before] = breaks
        kind = match.lastindex
        if kind == _LEAF:
            inside, outside = match.span(5)
            has_text = outside > inside and not content.isspace()
            siblings.append(RawElement(name, attributes, start, inside, outside, at, breaks, 0, has_text, _NO_CHILDREN))
        elif kind == _START:
            ancestors.append(here)
            here = RawElement(name, attributes, start, at, at, at, breaks, 0, False, [])
            siblings.append(here)
            siblings = here.children
        elif kind == _END:
            if here.name != match[2]:
                at = -1
                break
            here.outside, here.end, here.last_line_breaks = start, at, breaks
            here = ancestors.pop()
            siblings = here.children
        elif kind == _EMPTY:
            siblings.append(RawElement(name, attributes, start, at, at, at, breaks, 0, False, _NO_CHILDREN))
        elif kind == _PIECE:
            siblings.append(RawNode(start, at, breaks))
            here.has_comments = True
        elif kind != _TEXT:
            here.has_text = True
    if ancestors or at != len(text):
        raise ValueError("the document is not well-formed")
    top.last_line_breaks = breaks
    return top


def split_attributes(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Names and quoted values of attributes, in the order of the document."""
    return _ONE_ATTRIBUTE.findall(raw)


def count_line_ends(text: bytes) -> int:
    """The number of line ends in a text: LF, CR LF and a lone CR each are one."""
    line_feeds = text.count(b"\n")
    return line_feeds + text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else line_feeds
