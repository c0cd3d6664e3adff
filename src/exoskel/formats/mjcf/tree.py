"""A neutral MJCF document: elements with typed values, for the emitters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from msgspec import Struct, field

from exoskel.source.markup import Markup, UnwritableError, format_number, format_numbers
from exoskel.spatial import Array

Value = str | float | int | bool | Sequence[float] | Sequence[int] | Array
"""Use an array row for many numbers: MuJoCo accepts it in half the time."""


_MAX_DEPTH = 499
"""MuJoCo's XML parser rejects 500 nested elements."""


class MjcfElement(Struct, eq=False):
    """An element of MJCF.  Values are typed, not text: lengths in m, angles in rad, kg, s."""

    tag: str
    attributes: dict[str, Value] = field(default_factory=dict)
    children: list[MjcfElement] = field(default_factory=list)
    item: Any = None
    """The item of the scene that it represents, if any."""

    def add(self, tag: str, **attributes: Value | None) -> MjcfElement:
        """Add a child at the end; attributes that are None are omitted."""
        child = MjcfElement(tag, {name: value for name, value in attributes.items() if value is not None})
        self.children.append(child)
        return child

    def child(self, tag: str) -> MjcfElement:
        """The child with that tag, created if it does not exist."""
        return next((one for one in self.children if one.tag == tag), None) or self.add(tag)

    def iter(self) -> Iterator[MjcfElement]:
        waiting = [self]
        while waiting:
            found = waiting.pop()
            yield found
            waiting += found.children[::-1]


def markup(root: MjcfElement) -> Markup:
    """The document as markup: numbers in the shortest form that reads back to the same value.

    Raises UnwritableError for bodies that are nested deeper than MuJoCo reads.
    """
    out = _spelled(root)
    waiting = [(root, out, 1)]
    while waiting:
        element, made, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            raise UnwritableError(
                f"elements are nested deeper than {_MAX_DEPTH} levels, which MuJoCo cannot read: "
                "the chain of bodies is too long for an MJCF file"
            )
        made.children = [_spelled(child) for child in element.children]
        waiting += zip(element.children, made.children, repeat(depth + 1))
    return out


def _spelled(element: MjcfElement) -> Markup:
    """The element as markup, without its children."""
    return Markup(element.tag, {name: _text(value) for name, value in element.attributes.items()}, item=element.item)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return " ".join(str(v) for v in value) if all(isinstance(v, int) for v in value) else format_numbers(value)
