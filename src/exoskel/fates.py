"""What becomes of every part of a document when it is converted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct


class Fate(StrEnum):
    """What became of a node.

    `exact`: it says the same in the output.  `lowered`: it is said in other words, by a named pass, with the same
    physics.  `approximated`: it is said, but not quite.  `kept`: the output's format has no words for it; it
    survives beside them.  `dropped`: it is gone.
    """

    EXACT = "exact"
    LOWERED = "lowered"
    APPROXIMATED = "approximated"
    KEPT = "kept"
    DROPPED = "dropped"


LOSSES = frozenset({Fate.APPROXIMATED, Fate.DROPPED})


class Verdict(NamedTuple):
    """A fate and its reason.  `harmless`: what is not in the output is what a reader takes for granted anyway."""

    fate: Fate
    why: str = ""
    harmless: bool = False

    @property
    def loss(self) -> bool:
        return self.fate in LOSSES and not self.harmless


def idle(why: str) -> Verdict:
    """The verdict on what has no effect where it stands."""
    return Verdict(Fate.DROPPED, why, harmless=True)


class NodeFate(Struct, frozen=True):
    """The fate of one element, attribute, comment or instruction.

    `node` is the number of the element (-1: none), `attribute` the attribute's name (empty: the element itself).
    """

    line: int
    path: str
    fate: Fate
    why: str = ""
    node: int = -1
    attribute: str = ""
    loss: bool = False
    """Something that meant something, or might have, is gone or not quite the same."""
    file: str = ""
    """The included file that it stands in; empty: the document itself."""


def count(fates: Iterable[NodeFate]) -> dict[str, int]:
    """How many nodes had each fate, every fate listed."""
    found = Counter(item.fate for item in fates)
    return {fate.value: found[fate] for fate in Fate}
