"""Which field of the scene an element or attribute sets, and looking it up by path."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

from msgspec import Struct

from exoskel.scene.item import Item


class SceneField(Struct, frozen=True):
    """The field of a scene item that an element or attribute sets.

    Without a `name` it sets none by itself: it holds other elements, or names the kind of its parent.
    """

    name: str = ""
    parts: tuple[str, ...] = ()
    """The parts of the field that it sets, where it does not set all of it."""
    owner: str = ""
    """Whose field it is, if not that of the item around the element: `child`, `body`, `world`, all `joints`, `shapes`
    or `bodies`, or the joints `driven` by an actuator, which its attribute `joint` names."""
    unused: str = ""
    """Why it sets nothing."""
    affects_motion: bool = False
    """It would change the motion if it were used."""
    elsewhere: str = ""
    """Where the scene has it, if no single field does."""


STRUCTURE = SceneField()
FLATTENED = SceneField("flattened")
"""The scene has it in the items inside of the element, or in those that refer to it."""

Rows = Mapping[type[Item] | None, Mapping[str, SceneField | str]]
"""Fields by the type of the item around an element and the path from the item's own element.

A path is empty for the item's own element and ends in `@name` for an attribute.  One that ends in `/**` counts for
everything below, unless a longer path does.  A text is the name of a field.
"""


def dof_field(*parts: str, owner: str = "") -> SceneField:
    """Fields of the degrees of freedom of a joint."""
    return SceneField("dofs", parts, owner)


def unused(reason: str, *, affects_motion: bool = False) -> SceneField:
    return SceneField(unused=reason, affects_motion=affects_motion)


class SceneFieldTable:
    """The fields that the elements of one format set."""

    def __init__(self, rows: Rows) -> None:
        self._exact: dict[tuple[type[Item] | None, str], SceneField] = {}
        self._below: dict[type[Item] | None, list[tuple[str, SceneField]]] = {}
        for kind, paths in rows.items():
            for path, row in paths.items():
                field = SceneField(row) if isinstance(row, str) else row
                if path.endswith("/**"):
                    self._below.setdefault(kind, []).append((path[:-2], field))
                    self._exact.setdefault((kind, path[:-3]), field)
                else:
                    self._exact[kind, path] = field

    def find(self, kind: type[Item] | None, path: str) -> SceneField | None:
        """The field that an element sets; None if the table does not have the element."""
        found = self._exact.get((kind, path))
        if found is None:
            around = [(len(start), field) for start, field in self._below.get(kind, ()) if path.startswith(start)]
            found = max(around, key=itemgetter(0))[1] if around else None
            if found is not None:
                self._exact[kind, path] = found
        return found
