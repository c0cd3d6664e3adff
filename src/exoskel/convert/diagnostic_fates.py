"""What the reader's findings mean for the fates of nodes: what was not used at all, and what was not read as it stands.

A finding, notes aside, means a loss unless its format's table says that nothing is lost by it: a new message is
counted before anybody has thought about it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from exoskel.diagnostics import Diagnostic, Severity
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import Format
from exoskel.scene.world import Scene
from exoskel.source.document import Document

Spot = tuple[int, str]
"""The number of an element, and the name of one of its attributes (empty: the element itself)."""


class DiagnosticFates:
    """What a scene's diagnostics say about the nodes of one of its documents."""

    def __init__(self, scene: Scene, document: Document, source: Format) -> None:
        self.document = document
        mapping = source.source_mapping()
        self.effects = mapping.diagnostics
        self.includes = mapping.includes
        self.unused: dict[Spot, Diagnostic] = {}
        """What has no effect, and the finding that says so."""
        self.changed: dict[Spot, Diagnostic] = {}
        """What has one, but not quite as it is written."""
        for finding in scene.diagnostics:
            if finding.source is document and finding.place.node >= 0:
                self._sort(finding)

    def capped(self, found: Verdict, node: int, attribute: str = "") -> Verdict:
        """The verdict on a node, which is no better than what the reader has made of it."""
        finding = self.changed.get((node, attribute))
        if finding is None or found.loss:
            return found
        return Verdict(Fate.DROPPED if found.fate is Fate.DROPPED else Fate.APPROXIMATED, told(finding))

    def within(self, node: int) -> Diagnostic | None:
        """The first finding about something at or in an element that is not used, and may be why it is not."""
        place = bisect_left(self._in_order, (node, ""))
        if place == len(self._in_order) or self._in_order[place][0] >= self.document.outline.ends[node]:
            return None
        return self.unused[self._in_order[place]]

    @cached_property
    def _in_order(self) -> list[Spot]:
        return sorted(self.unused)

    def _is_unused(self, finding: Diagnostic) -> bool:
        if finding.key.startswith(self.effects.used):
            return False
        return finding.severity is Severity.ERROR or finding.key.startswith(self.effects.ignored)

    def _is_harmless(self, finding: Diagnostic) -> bool:
        return finding.severity is Severity.INFO and (bool(finding.place.attribute) or not self._is_unused(finding))

    def _is_changed(self, finding: Diagnostic) -> bool:
        if self._is_unused(finding) or finding.severity is Severity.INFO:
            return False
        return finding.severity is Severity.ERROR or not finding.key.startswith(self.effects.lossless)

    def _sort(self, finding: Diagnostic) -> None:
        node = self.document.element(finding.place)
        names = self.effects.attributes.get(finding.key, (finding.place.attribute,))
        spots = self._spots(node, names, everywhere=finding.key in self.effects.all_similar)
        is_within = self.document.outline.tags[node] in self.includes and finding.place.attribute != "file"
        if is_within and not self._is_harmless(finding):
            self.changed[node, ""] = finding  # it is about a part of the included file
        elif self._is_unused(finding) and spots:
            self.unused |= dict.fromkeys(spots, finding)
        elif self._is_unused(finding) or self._is_changed(finding):
            # What a default states is said at the element that it counts for.
            self.changed |= dict.fromkeys(spots or [(node, "")], finding)

    def _spots(self, node: int, names: Sequence[str], *, everywhere: bool) -> list[Spot]:
        """The attributes of these names (an empty one is the element itself) that there are."""
        tags = self.document.outline.tags
        alike = [other for other, tag in enumerate(tags) if tag == tags[node]] if everywhere else [node]
        given = {one: self.document.scan.attributes(one) for one in alike}
        return [(one, name) for one in alike for name in names if not name or name in given[one]]


def told(finding: Diagnostic) -> str:
    return f"{finding.message} ({finding.code})"
