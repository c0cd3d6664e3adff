"""Which order children and attributes stand in, by the vocabulary, and where order must not be touched."""

from __future__ import annotations

import re

from exoskel.source import numbers
from exoskel.source.vocabulary import Element, Kind, Vocabulary

_DECIMALS = re.compile(rf"[ \t\r\n]*{numbers.DECIMAL}([ \t\r\n]+{numbers.DECIMAL})*[ \t\r\n]*")
_MOST_REMEMBERED = 100_000


class ChildOrder:
    """What the layout has to know of an element in one place.  Names are bytes, as they stand in files.

    `attributes` are their ranks, `kinds` their kinds of value.
    """

    __slots__ = ("_book", "_children", "_rows", "attributes", "is_ordered", "kind", "kinds", "name", "opaque")

    def __init__(self, book: CanonicalOrder, rule: Element) -> None:
        self.name = rule.name.encode()
        self.kind = rule.kind
        self.opaque = rule.opaque
        self.is_ordered = rule.ordered
        self.attributes = {name.encode(): rank for rank, name in enumerate(rule.attributes)}
        self.kinds = {name.encode(): attribute.kind for name, attribute in rule.attributes.items()}
        self._book = book
        self._children = _ranks(rule)
        self._rows: dict[bytes, RankedChild] = {}

    def row(self, name: bytes) -> RankedChild:
        """The rank and the place of a child of this name."""
        found = self._rows.get(name)
        if found is None:
            found = self._rows[name] = self._look_up(name)
        return found

    def _look_up(self, name: bytes) -> RankedChild:
        found = self._children.get(name)
        if found is None and b":" in name and self._book.ignores_prefixes:
            found = self._children.get(name.rpartition(b":")[2])
        if found is None:
            return UNKNOWN
        rank, rule = found
        return None if rule.opaque else rank, self._book.place(rule)


RankedChild = tuple[int | None, ChildOrder | None]
"""No rank: the element stays behind the sibling it follows.  No place: the vocabulary does not know it."""

UNKNOWN: RankedChild = (None, None)


class CanonicalOrder:
    """The places of one vocabulary, made as they are met."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.ignores_prefixes = bool(vocabulary.codes.namespaced)
        self._places: dict[int, ChildOrder] = {}
        self.root = self.place(vocabulary.root)

    def place(self, rule: Element) -> ChildOrder:
        place = self._places.get(id(rule))
        if place is None:
            place = self._places[id(rule)] = ChildOrder(self, rule)
        return place


def _ranks(rule: Element) -> dict[bytes, tuple[int, Element]]:
    """The order of the table; names that share a rank keep the order in which the document has them.

    Objects (whatever a reader takes one by one, or holds such) share one rank: their order in the document
    numbers and names them.  So do alternatives of which one is wanted: the first may win.  An `ordered`
    element is a computation that may look at the objects beside it, and stands behind them.
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
    """Rewrites values of numbers: single blanks between them and, if asked, their shortest spelling.

    A text is only touched where its kind of value takes it as numbers and makes the same of the new text.
    """

    def __init__(self, *, shortest: bool) -> None:
        self.shortest = shortest
        self._seen: dict[tuple[int, bytes], bytes] = {}

    def of(self, kind: Kind, raw: bytes) -> bytes:
        if not self.shortest and b" ".join(raw.split()) == raw:
            return raw  # nearly all are as they should be
        key = (id(kind), raw)
        found = self._seen.get(key)
        if found is None:
            if len(self._seen) >= _MOST_REMEMBERED:
                self._seen.clear()
            found = self._seen[key] = self._respelled(kind, raw)
        return found

    def _respelled(self, kind: Kind, raw: bytes) -> bytes:
        try:
            text = raw.decode("ascii")
        except UnicodeDecodeError:
            return raw
        if _DECIMALS.fullmatch(text) is None:
            return raw
        value = kind.clean(text)
        if value is None or isinstance(value, str | bool):
            return raw
        tokens = text.split()
        new = " ".join(map(numbers.shortest_number, tokens) if self.shortest else tokens)
        return new.encode() if kind.clean(new) == value else raw
