"""A light tree of a well-formed document, whose nodes are byte ranges, and the canonical order of its nodes.

lxml's tree loses quotes, references, CDATA marks and the spaces between attributes.  Here nothing is
decoded: every node has its start and end, and the number of line ends before it.
"""

from __future__ import annotations

import re

from msgspec import Struct

from exoskel.source import numbers
from exoskel.source.vocabulary import Element, ValueType, Vocabulary

_DECIMALS = re.compile(rf"[ \t\r\n]*{numbers.DECIMAL}([ \t\r\n]+{numbers.DECIMAL})*[ \t\r\n]*")
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
        if _DECIMALS.fullmatch(text) is None:
            return raw
        value = kind.parse_valid(text)
        if value is None or isinstance(value, str | bool):
            return raw
        tokens = text.split()
        new = " ".join(map(numbers.shortest_number, tokens) if self.shortest else tokens)
        return new.encode() if kind.parse_valid(new) == value else raw


# --- order ---------------------------------------------------------------------------------------------


_QUOTED = rb"""(?:"[^"]*"|'[^']*')"""
_ATTRIBUTE = rb"[ \t\r\n]+[^ \t\r\n=/>]+[ \t\r\n]*=[ \t\r\n]*" + _QUOTED
_COMMENT = rb"<!--.*?-->|<\?.*?\?>"
_SUBSET = rb"""\[(?:%b|%b|[^\]"'])*+\][ \t\r\n]*""" % (_COMMENT, _QUOTED)
_DOCTYPE = rb"""<!DOCTYPE(?:%b|[^"'\[>])*+(?:%b)?>""" % (_QUOTED, _SUBSET)
_TOKEN = re.compile(
    rb"([^<]+)"  # 1: text
    rb"|</([^ \t\r\n>]+)[ \t\r\n]*>"  # 2: an end tag
    rb"|<([^ \t\r\n/>!?]+)((?:%b)*+)[ \t\r\n]*+"  # 3, 4: a start tag and its attributes,
    rb"(?:>([^<]*+)(</)\3[ \t\r\n]*+>|(/)>|>)"  # 5, 6: and all of a leaf up to its end tag; 7: an empty one
    rb"|(%b|%b)"  # 8: a comment, an instruction, the document type declaration
    rb"|(<!\[CDATA\[.*?\]\]>)" % (_ATTRIBUTE, _COMMENT, _DOCTYPE),  # 9
    re.DOTALL,
)
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
    ancestors: list[RawElement] = []
    breaks = at = 0
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        if start != at:
            break
        at = end
        kind = match.lastindex
        if kind == _TEXT:
            breaks = count_line_ends(match[1])
            here.has_text |= not match[1].isspace()
            continue
        if kind == _LEAF:
            inside, outside = match.span(5)
            has_text = outside > inside and not match[5].isspace()
            _add_child(
                here, RawElement(match[3], match[4], start, inside, outside, end, breaks, 0, has_text, _NO_CHILDREN)
            )
        elif kind in (_START, _EMPTY):
            node = RawElement(match[3], match[4], start, end, end, end, breaks, 0, False, _NO_CHILDREN)
            _add_child(here, node)
            if kind == _START:
                ancestors.append(here)
                here = node
        elif kind == _END:
            if here.name != match[2]:
                at = start
                break
            here.outside, here.end, here.last_line_breaks = start, end, breaks
            here = ancestors.pop()
        elif kind == _PIECE:
            _add_child(here, RawNode(start, end, breaks))
            here.has_comments = True
        else:
            here.has_text = True
        breaks = 0
    if ancestors or at != len(text):
        raise ValueError(f"the document is not well-formed at byte {at}")
    top.last_line_breaks = breaks
    return top


def _add_child(parent: RawElement, child: RawElement | RawNode) -> None:
    if parent.children is _NO_CHILDREN:
        parent.children = [child]
    else:
        parent.children.append(child)


def split_attributes(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Names and quoted values of attributes, in the order of the document."""
    return _ONE_ATTRIBUTE.findall(raw)


def count_line_ends(text: bytes) -> int:
    """The number of line ends in a text: LF, CR LF and a lone CR each are one."""
    feeds = text.count(b"\n")
    return feeds + text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else feeds
