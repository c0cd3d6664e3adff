"""Names that an edit would give to two things: XODE has them unique in the whole document."""

from __future__ import annotations

from collections import Counter

from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.element_context import Elements

_CODE = "X208"


def new_clash(base: Scene, again: Scene) -> str:
    """What is wrong with the names of a document that were not so before the edit; empty if nothing is."""
    found = _clashes(again)
    if not found:
        return ""
    known = Counter(name for _, name, _ in _clashes(base))
    for tag, name, message in found:
        known[name] -= 1
        if known[name] < 0:
            return f"the {tag} cannot be called so, as names are unique in a whole XODE file: {message}"
    return ""


def _clashes(scene: Scene) -> list[tuple[str, str, str]]:
    """The element, the name, and what is said about it, of each thing that has the name of another."""
    nodes = [(found.place.node, found.message) for found in scene.diagnostics if found.code == _CODE]
    document = scene.documents[0] if nodes else None
    if not isinstance(document, Document):
        return []
    elements = Elements(document.scan)
    return [(elements.tag(node), elements.attribute(node, "name") or "", message) for node, message in nodes]
