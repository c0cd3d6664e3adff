"""The fate of each part of a document in a conversion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, NamedTuple

from msgspec import Struct


class Fate(StrEnum):
    """What happened to a node in a conversion.

    - `exact`: the output has the same value.
    - `lowered`: the output expresses it in another way, by a named pass, with the same physics.
    - `approximated`: the output has it approximately.
    - `kept`: preserved as extra data that the output's format does not express, or written to the same format as it is.
    - `dropped`: it is not in the output.
    """

    EXACT = "exact"
    LOWERED = "lowered"
    APPROXIMATED = "approximated"
    KEPT = "kept"
    DROPPED = "dropped"


LOSSES = frozenset({Fate.APPROXIMATED, Fate.DROPPED})
UnselectedPart = Literal["", "world", "model"]
"""What a node belongs to, if that was not selected for the conversion; empty: everything around it was selected."""


class Verdict(NamedTuple):
    """A fate and its reason.

    It is `harmless` if the missing value has no effect, or is what readers assume by default.
    """

    fate: Fate
    why: str = ""
    harmless: bool = False
    unselected: UnselectedPart = ""

    @property
    def loss(self) -> bool:
        return not self.harmless and self.fate in LOSSES


def no_effect(why: str) -> Verdict:
    """The verdict on a node that has no effect where it is."""
    return Verdict(Fate.DROPPED, why, harmless=True)


class NodeFate(Struct, frozen=True, gc=False):
    """The fate of one element, attribute, comment or instruction.

    `node` is the number of the element (-1: none), `end` that of the first element after its content, `attribute` the
    attribute's name (empty: the element itself).
    """

    line: int
    path: str
    fate: Fate
    why: str = ""
    node: int = -1
    attribute: str = ""
    loss: bool = False
    """A value that has, or may have, a meaning is missing or differs in the output."""
    file: str = ""
    """The included file that the node is in; empty: the document itself."""
    affects_motion: bool = True
    """It is not only a name, a part of the appearance, or data of another application."""
    end: int = -1
    unselected: UnselectedPart = ""
    """The node belongs to a world or model that was not selected."""

    def contains(self, other: NodeFate) -> bool:
        """Whether another node is an attribute of this element, or inside of it."""
        is_inside = not self.attribute and self.node <= other.node < self.end
        return is_inside and self.file == other.file and (self.node, self.attribute) != (other.node, other.attribute)


def count_fates(fates: Iterable[NodeFate]) -> dict[str, int]:
    """The number of nodes with each fate; all fates are listed."""
    found = Counter(item.fate for item in fates)
    return {fate.value: found[fate] for fate in Fate}
