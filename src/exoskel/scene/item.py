"""What all parts of a scene share: where they came from, and how they are found by name."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Protocol

from exoskel.diagnostics import ExoskelError, closest_name, printable
from exoskel.scene.edit_tracking import Tracked

NO_FIELDS: frozenset[str] = frozenset()


class Item(Tracked, eq=False, kw_only=True):
    """A part of a scene.

    `document` and `node` are the number of the source document and of the element in it (both -1 for
    something made by a program).  `given` names the fields that the source states; all others hold
    defaults.  `repaired` names the fields whose source text was wrong and was replaced.
    """

    document: int = -1
    node: int = -1
    given: frozenset[str] = NO_FIELDS
    repaired: frozenset[str] = NO_FIELDS

    def provenance(self, field: str) -> str:
        """How `field` came by its value: `explicit`, `default` or `repaired`."""
        if field in self.repaired:
            return "repaired"
        return "explicit" if field in self.given else "default"


class UnknownNameError(ExoskelError, KeyError):
    """Nothing is called so.  The message lists what there is."""

    def __str__(self) -> str:
        return str(self.args[0])


class TakenNameError(ExoskelError, ValueError):
    """Something is called so already."""


class Named(Protocol):
    @property
    def name(self) -> str: ...


class NameIndex:
    """From names to places in a list, made when first needed and checked at every hit.

    The list may be changed freely: a stale entry is noticed and the index made anew.
    """

    __slots__ = ("places", "size")

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.size = 0

    def place(self, items: Sequence[Named], name: str) -> int:
        """Where the first item called `name` stands, or -1."""
        at = self.places.get(name, -1)
        if 0 <= at < len(items) and items[at].name == name:
            return at
        if at >= 0 or self.size != len(items):
            self.rebuild(items)
            at = self.places.get(name, -1)
        return at

    def rebuild(self, items: Sequence[Named]) -> None:
        self.places = {}
        for i, item in enumerate(items):
            self.places.setdefault(item.name, i)
        self.size = len(items)

    def added(self, items: Sequence[Named]) -> None:
        """Take note that one item was appended."""
        if self.size == len(items) - 1:
            self.places.setdefault(items[-1].name, self.size)
            self.size += 1


def require_index(index: NameIndex, items: Sequence[Named], name: str, kind: str, owner: str) -> int:
    """Like `place`, but a name that is not there is an error that says what is."""
    at = index.place(items, name)
    if at < 0:
        index.rebuild(items)
        at = index.places.get(name, -1)
    if at < 0:
        raise UnknownNameError(_not_found(name, list(index.places), kind, owner))
    return at


_MOST_NAMES_LISTED = 12


def _not_found(name: str, known: list[str], kind: str, owner: str) -> str:
    near = closest_name(name, known)
    hint = f"; did you mean {near!r}?" if near else "."
    shown = ", ".join(repr(printable(n)) for n in known[:_MOST_NAMES_LISTED])
    more = f" and {len(known) - _MOST_NAMES_LISTED} more" if len(known) > _MOST_NAMES_LISTED else ""
    listing = f" It has {shown}{more}." if known else " It has none."
    return f"no {kind} called {printable(name)!r} in {owner}{hint}{listing}"


class Names(set[str]):
    """Names in use, for `unique_name`: a set that only grows, and knows how far the numbers of each name go.

    Thousands of namesakes would otherwise each be counted up from 1.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__(names)
        self.reached: dict[str, int] = {}


def unique_name(name: str, taken: Container[str]) -> str:
    """`name`, or `name(1)`, `name(2)`, … when it is taken: DART's way of telling namesakes apart."""
    if name not in taken:
        return name
    reached = taken.reached if isinstance(taken, Names) else {}
    number = reached.get(name, 1)
    while f"{name}({number})" in taken:
        number += 1
    reached[name] = number
    return f"{name}({number})"


def qualified_name(*names: str) -> str:
    """Names joined by slashes, such as `model/body`: a slash within a name becomes `~1`, a tilde `~0`."""
    joined = "/".join(names)
    if "~" not in joined and joined.count("/") == len(names) - 1:
        return joined
    return "/".join(name.replace("~", "~0").replace("/", "~1") for name in names)
