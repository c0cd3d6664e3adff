"""The effects of diagnostics on the fates of the nodes that they are about.

A diagnostic, notes aside, means a loss unless the format's table lists it as harmless.  So a new message counts as a
loss by default.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from functools import cached_property

from exoskel.diagnostics import Diagnostic, Severity
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import Format, NodeKey
from exoskel.scene.world import Scene
from exoskel.source.document import Document


class DiagnosticFates:
    """The effects of a scene's diagnostics on the nodes of one of its documents.

    `read_nodes` are the elements that are items of the scene: an error about one of them is about a part of it.
    """

    def __init__(self, scene: Scene, document: Document, source: Format, read_nodes: Collection[int]) -> None:
        self.document = document
        self.read_nodes = read_nodes
        mapping = source.source_mapping()
        self.effects = mapping.diagnostics
        self.includes = mapping.includes
        self.unused: dict[NodeKey, Diagnostic] = {}
        """Nodes without effect, and the diagnostic that reports it."""
        self.changed: dict[NodeKey, Diagnostic] = {}
        """Nodes whose effect differs from what is written, and the diagnostic that reports it."""
        self.also_reported = scene.source_info.also_reported
        for diagnostic in scene.diagnostics:
            if diagnostic.source is document and diagnostic.place.node >= 0 and not diagnostic.assumed:
                self._classify(diagnostic)

    def limit(self, found: Verdict, node: int, attribute: str = "") -> Verdict:
        """The verdict on a node, which is no better than how it was read."""
        if not self.changed:
            return found
        diagnostic = self.changed.get((node, attribute))
        if diagnostic is None or found.loss:
            return found
        return Verdict(Fate.DROPPED if found.fate is Fate.DROPPED else Fate.APPROXIMATED, describe(diagnostic))

    def first_unused_in(self, node: int) -> Diagnostic | None:
        """The first diagnostic about an unused node at or in an element."""
        place = bisect_left(self._in_order, (node, ""))
        if place == len(self._in_order) or self._in_order[place][0] >= self.document.outline.ends[node]:
            return None
        return self.unused[self._in_order[place]]

    @cached_property
    def _in_order(self) -> list[NodeKey]:
        return sorted(self.unused)

    def _is_unused(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.key.startswith(self.effects.used):
            return False
        return diagnostic.severity is Severity.ERROR or diagnostic.key.startswith(self.effects.ignored)

    def _is_harmless(self, diagnostic: Diagnostic) -> bool:
        return diagnostic.severity is Severity.INFO and (
            bool(diagnostic.place.attribute) or not self._is_unused(diagnostic)
        )

    def _is_changed(self, diagnostic: Diagnostic) -> bool:
        if self._is_unused(diagnostic) or diagnostic.severity is Severity.INFO:
            return False
        return diagnostic.severity is Severity.ERROR or not diagnostic.key.startswith(self.effects.lossless)

    def _classify(self, diagnostic: Diagnostic) -> None:
        node = self.document.element(diagnostic.place)
        names = self.effects.attributes.get(diagnostic.key, (diagnostic.place.attribute,))
        keys = self._existing_keys(node, names, all_similar=diagnostic.key in self.effects.all_similar)
        is_within = self.document.outline.tags[node] in self.includes and diagnostic.place.attribute != "file"
        if is_within and not self._is_harmless(diagnostic):
            self.changed[node, ""] = diagnostic  # the diagnostic is about a part of the included file
        elif self._is_unused(diagnostic) and keys and not self._is_read(keys):
            self.unused |= dict.fromkeys(keys, diagnostic)
        elif self._is_unused(diagnostic) or self._is_changed(diagnostic):
            # A diagnostic about a default is reported at the element that uses it.
            self.changed |= dict.fromkeys(
                [*(keys or [(node, "")]), *self.also_reported.get(diagnostic.key, ())], diagnostic
            )

    def _is_read(self, keys: Sequence[NodeKey]) -> bool:
        return all(not attribute and node in self.read_nodes for node, attribute in keys)

    def _existing_keys(self, node: int, names: Sequence[str], *, all_similar: bool) -> list[NodeKey]:
        """The attributes of these names that exist; the empty name is the element itself."""
        tags = self.document.outline.tags
        similar = [other for other, tag in enumerate(tags) if tag == tags[node]] if all_similar else [node]
        given = {one: self.document.attributes(one) for one in similar} if any(names) else {}
        return [(one, name) for one in similar for name in names if not name or name in given[one]]


def describe(diagnostic: Diagnostic) -> str:
    """The message with its code."""
    return f"{diagnostic.message} ({diagnostic.code})"
