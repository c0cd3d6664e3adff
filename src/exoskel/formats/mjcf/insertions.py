"""New elements of a document and their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.model import Model

WORLDBODY = "worldbody"
_IDENTITY = (1.0, 0.0, 0.0, 0.0)


class Insertion(Struct):
    """A new child of an element, after a sibling (-1: as the first child)."""

    parent: int
    after: int
    element: MjcfElement
    section: str = ""
    """The section that the element is in, if it is not in a body."""


def in_sections(parent: int, members: Sequence[Insertion]) -> list[MjcfElement]:
    """The new elements at one place; in the root, they are in new sections."""
    if parent:
        return [one.element for one in members]
    sections: dict[str, MjcfElement] = {}
    for one in members:
        tag = one.section or WORLDBODY
        sections.setdefault(tag, MjcfElement(tag)).children.append(one.element)
    return list(sections.values())


def shorten(element: MjcfElement) -> None:
    """Omit the values that bodies have by default, and the zeros of diagonal moments."""
    given: dict[str, Any] = element.attributes
    if element.tag == "body":
        if "pos" in given and not any(given["pos"]):
            del given["pos"]
        if "quat" in given and tuple(given["quat"]) == _IDENTITY:
            del given["quat"]
    elif element.tag == "inertial" and "fullinertia" in given and not any(given["fullinertia"][3:]):
        given["diaginertia"] = tuple(given.pop("fullinertia"))[:3]


def contents(item: Item) -> Iterator[Item]:
    """An item and what is in it."""
    parts: tuple[Item, ...] = (*item.bodies, *item.joints) if isinstance(item, Model) else ()
    for one in (item, *parts):
        yield one
        if isinstance(one, Body):
            yield from (*one.shapes, *one.markers)
