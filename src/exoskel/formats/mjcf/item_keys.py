"""Keys of shapes and markers that still lead to the same ones when a scene was copied and edited.

The elements of an included file have the number of the element that includes it, and many geoms have no name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct

from exoskel.scene.body import Body, Marker
from exoskel.scene.shape import Shape

_Kept = TypeVar("_Kept")


class PartKey(Struct, frozen=True):
    """The element and name of a shape or marker, and its place among those with the same ones.

    Without a `count`, it is the key of all of them together.
    """

    kind: str
    node: int
    name: str
    place: int = 0
    count: int = 0

    @property
    def shared(self) -> PartKey:
        return PartKey(self.kind, self.node, self.name)


def item_keys(bodies: Iterable[Body]) -> dict[int, PartKey]:
    """The keys of the shapes and markers of bodies that were read from the first document, by their ids."""
    groups: dict[PartKey, list[int]] = {}
    for body in bodies:
        parts: tuple[Shape | Marker, ...] = (*body.shapes, *body.markers)
        for one in parts:
            if one.document == 0:
                kind = "geom" if isinstance(one, Shape) else "site"
                groups.setdefault(PartKey(kind, one.node, one.name), []).append(id(one))
    return {
        item: PartKey(key.kind, key.node, key.name, place, len(items))
        for key, items in groups.items()
        for place, item in enumerate(items)
    }


def values_by_key(
    items: Mapping[int, Shape | Marker], values: Mapping[int, _Kept], keys: Mapping[int, PartKey]
) -> dict[PartKey, _Kept]:
    """Values of shapes or markers by their keys; `items` and `values` have the same numbers.

    Where all items with the same element and name have one value, it is also that of their shared key.
    """
    found: dict[PartKey, _Kept] = {}
    groups: dict[PartKey, list[_Kept | None]] = {}
    for number, item in items.items():
        key = keys.get(id(item))
        if key is None:
            continue
        if number in values:
            found[key] = values[number]
        groups.setdefault(key.shared, []).append(values.get(number))
    for shared, members in groups.items():
        first = members[0]
        if first is not None and all(one == first for one in members):
            found[shared] = first
    return found


def find_value(values: Mapping[PartKey, _Kept], key: PartKey | None) -> _Kept | None:
    """The own value of a shape or marker, else the one for all with its element and name; None without either."""
    if key is None:
        return None
    return values.get(key, values.get(key.shared))
