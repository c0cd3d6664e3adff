"""The canonical order of children and attributes by the vocabulary, and the canonical spelling of numbers."""

from __future__ import annotations

import re

from exoskel.source import numbers
from exoskel.source.vocabulary import Element, Kind, Vocabulary

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

    def format(self, kind: Kind, raw: bytes) -> bytes:
        if not self.shortest and b" ".join(raw.split()) == raw:
            return raw  # nearly all are in canonical form
        key = (id(kind), raw)
        found = self._seen.get(key)
        if found is None:
            if len(self._seen) >= _MAX_CACHED:
                self._seen.clear()
            found = self._seen[key] = self._rewrite(kind, raw)
        return found

    def _rewrite(self, kind: Kind, raw: bytes) -> bytes:
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
