"""What a URDF document states and the vocabulary does not know: it is written to URDF again as it is."""

from __future__ import annotations

from exoskel.formats.urdf.vocabulary import URDF
from exoskel.source.document import Document
from exoskel.source.source_elements import UnreadParts
from exoskel.source.vocabulary import Element


def find_unread(document: Document) -> UnreadParts:
    """The unknown elements and attributes of other programs, and the known elements that they may be in."""
    outline = document.outline
    rows: dict[int, Element] = {0: URDF.root}
    elements: list[int] = []
    attributes: list[tuple[int, str]] = []
    for node, tag in enumerate(outline.tags):
        around = rows.get(outline.parents[node]) if node else None
        if node and around is not None and not around.opaque:
            row = around.children.get(tag)
            if row is None:
                elements.append(node)
            elif row.many or outline.ordinal(node) <= 1:  # a repeated one is reported, and not written
                rows[node] = row
        if node in rows:
            known = rows[node].attributes
            unknown = (name for name in document.attributes(node) if name not in known and _is_foreign(name))
            attributes += ((node, name) for name in unknown)
    return UnreadParts(frozenset(elements), tuple(attributes), dict.fromkeys(rows, False))


def _is_foreign(name: str) -> bool:
    """Whether an attribute belongs to another program: misspelt ones are not written again."""
    return ":" in name and not name.startswith(("xmlns:", "xsi:"))
