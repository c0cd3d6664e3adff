"""A neutral USD layer, prims with typed properties and valid names, for the emitters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

_INVALID = re.compile(r"[^A-Za-z0-9_]")


class Identifiers:
    """The names of the children of one prim."""

    def __init__(self, reserved: tuple[str, ...] = ()) -> None:
        self._taken = set(reserved)
        self._counters: dict[str, int] = {}

    def unique(self, name: str, otherwise: str) -> str:
        """`name` in letters, digits and underscores, with a number appended if a sibling has the same name.

        USD allows letters of all scripts since 2024, but not all readers do.
        """
        fit = _INVALID.sub("_", name.strip()) or otherwise
        if fit[0].isdigit():
            fit = "_" + fit
        chosen = fit
        number = self._counters.get(fit, 0)
        while chosen in self._taken:
            number += 1
            chosen = f"{fit}_{number}"
        self._counters[fit] = number
        self._taken.add(chosen)
        return chosen


def display_name(name: str, identifier: str) -> dict[str, str]:
    """The metadata for the original name, if it differs from the identifier."""
    return {"displayName": name} if name and name != identifier else {}


# --- the layer -----------------------------------------------------------------------------------------


class PrimPath(str):
    """The path of a prim, for relationships."""

    __slots__ = ()


class Varying(Struct, frozen=True):
    """A property with one value for each vertex."""

    values: Any


Properties = dict[str, Any]
"""Values by declaration, such as `point3f physics:centerOfMass`.

A value is a number, text, path, tuple of numbers, list or array of these, or None for a declaration without a value.
Lengths are in m, masses in kg, and angles in degrees, as in UsdPhysics."""


class Prim(Struct, eq=False):
    """A prim.  `item` is the part of the scene that it represents, if any."""

    type: str
    name: str
    apis: list[str] = field(default_factory=list)
    properties: Properties = field(default_factory=dict)
    children: list[Prim] = field(default_factory=list)
    item: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    specifier: str = "def"

    def iter(self) -> Iterator[Prim]:
        """The prim and its descendants, in document order."""
        yield self
        for child in self.children:
            yield from child.iter()

    def paths(self, above: str = "") -> Iterator[tuple[str, Prim]]:
        """Like `iter`, with the paths of prims below the path `above`."""
        own = f"{above}/{self.name}"
        yield own, self
        for child in self.children:
            yield from child.paths(own)


class Layer(Struct, eq=False):
    """A whole layer."""

    metadata: dict[str, Any]
    prims: list[Prim] = field(default_factory=list)

    def iter(self) -> Iterator[Prim]:
        """All prims, in document order."""
        for prim in self.prims:
            yield from prim.iter()

    def paths(self) -> Iterator[tuple[str, Prim]]:
        """Like `iter`, with the paths of prims."""
        for prim in self.prims:
            yield from prim.paths()
