"""Which element or attribute of a format feeds which field of the scene: a table, and looking things up in it."""

from __future__ import annotations

from operator import itemgetter

from msgspec import Struct

from exoskel.scene.item import Item

STRUCTURE = ""
"""The field of an element that says nothing by itself: it holds others, or names the kind of its parent."""


class Feed(Struct, frozen=True):
    """`field` is what it feeds of the item around it; without one it is structure.

    `idle` says why it feeds nothing, where that is so; `physical`, that this changes the motion.  `parts` are the parts
    of the field that it feeds, where it does not feed all of it.  `of` leads from the item around it to those that it
    feeds: `child`, `body`, `world`, `driven`, the joint that its attribute `joint`
    names, or all `joints`, `shapes` and `bodies` there are.  `words` says how it is in the
    scene, where no single field has it.
    """

    field: str = STRUCTURE
    idle: str = ""
    parts: tuple[str, ...] = ()
    of: str = ""
    physical: bool = False
    words: str = ""


class Feeds:
    """The table of one format: rows of (path below the item's element, feed).

    A path ends in `/**` where everything below counts, unless a longer one does; `@name` is an attribute.
    Items are told by type.
    """

    def __init__(self, rows: dict[type[Item] | None, dict[str, str | Feed]]) -> None:
        self._exact: dict[tuple[type[Item] | None, str], Feed] = {}
        self._below: dict[type[Item] | None, list[tuple[str, Feed]]] = {}
        for kind, paths in rows.items():
            for path, feed in paths.items():
                row = feed if isinstance(feed, Feed) else Feed(feed)
                if path.endswith("/**"):
                    self._below.setdefault(kind, []).append((path[:-2], row))
                    self._exact.setdefault((kind, path[:-3]), row)
                else:
                    self._exact[kind, path] = row

    def find(self, kind: type[Item] | None, path: str) -> Feed | None:
        """What a path below an item's element feeds; None if the table does not know it."""
        found = self._exact.get((kind, path))
        if found is None:
            around = [(len(start), row) for start, row in self._below.get(kind, ()) if path.startswith(start)]
            found = max(around, key=itemgetter(0))[1] if around else None
            if found is not None:
                self._exact[kind, path] = found
        return found
