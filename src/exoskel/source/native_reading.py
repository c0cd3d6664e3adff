"""A document that was read before data was embedded in it: what it states itself need not be read again.

Only the element numbers differ.  Elements are numbered in document order, so embedded elements increase the numbers of
all elements after them.  Just the embedded elements are parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from lxml import etree
from msgspec import Struct, structs

from exoskel.diagnostics import Catalogue, Diagnostic
from exoskel.scene.item import AppearanceItem, Item
from exoskel.scene.merge import copy_scene, world_items
from exoskel.scene.world import Scene
from exoskel.source.document import Document, Tree
from exoskel.source.embedded_format import (
    EmbeddedElement,
    elements_in_part,
    embedded_declaration,
    embedded_lines,
)
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.well_formedness import MalformedError

_EMBEDDED, _DECLARATION = re.compile(embedded_lines()), embedded_declaration()
_LESS, _SLASH, _QUESTION_MARK = b"</?"
_GREATER, _LINE_FEED = b">\n"

Numbers = npt.NDArray[np.intp]


class NativeReading(Struct, frozen=True):
    """A document without embedded data, and the scene that was read from it."""

    text: bytes
    scene: Scene

    def apply(
        self, document: Document, scene: Scene, catalogue: Catalogue, limits: Limits = DEFAULT_LIMITS
    ) -> list[EmbeddedElement] | None:
        """Set what the reader would find in `document` besides embedded data, and return that data.

        None if the document differs in something else, or may not be well-formed.  `scene` is still empty.
        """
        known = self.scene
        if b"<!" in self.text or not _have_no_lines(known.diagnostics, catalogue):
            return None
        try:
            text = document.checked_text(limits)
        except MalformedError:
            return None
        found = _EmbeddedParts.between(self.text, text)
        embedded = None if found is None else found.elements(document)
        if found is None or embedded is None:
            return None
        numbers = found.numbers_of_others()
        copied = copy_scene(known)
        _renumber((item for world in copied.worlds for item in world_items(world)), numbers)
        scene.worlds, scene.source_info = copied.worlds, copied.source_info
        scene.extensions = [structs.replace(one, node=numbers[one.node]) for one in known.extensions]
        scene.diagnostics += [_renumbered(one, numbers, document) for one in known.diagnostics]
        return embedded


class _EmbeddedParts(Struct, frozen=True):
    """Where a document has embedded elements, and where all its elements are.

    `spans` are the embedded parts of the text.  `starts` are the offsets of all elements, `levels` how many elements
    are around each.
    """

    text: bytes
    spans: list[tuple[int, int]]
    starts: Numbers
    levels: Numbers

    @classmethod
    def between(cls, before: bytes, after: bytes) -> _EmbeddedParts | None:
        """Compare a document with what it was before; None unless they differ only in embedded elements."""
        spans = [match.span() for match in _EMBEDDED.finditer(after)]
        declared = after.find(_DECLARATION)
        if declared >= 0:
            spans = sorted([(declared, declared + len(_DECLARATION)), *spans])
        ends = [0, *(end for _, end in spans)]
        begins = [*(start for start, _ in spans), len(after)]
        if not spans or b"".join([after[a:b] for a, b in zip(ends, begins, strict=True)]) != before:
            return None
        elements = _find_elements(after)
        return None if elements is None else cls(after, spans, *elements)

    def numbers_of_others(self) -> list[int]:
        """The numbers of the elements that are not embedded."""
        spans = np.array(self.spans)
        last = np.searchsorted(spans[:, 0], self.starts, side="right") - 1
        is_embedded = (last >= 0) & (self.starts < np.append(spans[:, 1], 0)[last])
        others: list[int] = np.flatnonzero(~is_embedded).tolist()
        return others

    def elements(self, document: Document) -> list[EmbeddedElement] | None:
        """The embedded elements, in document order; None if they may not be well-formed."""
        text = self.text
        spans = [span for span in self.spans if text[span[0]] == _LINE_FEED]  # not the declaration
        if any(text[start - 1] != _GREATER for start, _ in spans):  # inside a text
            return None
        first = np.searchsorted(self.starts, np.array([start for start, _ in spans], dtype=np.intp))
        root = self._parse([text[start:end] for start, end in spans], document)
        if root is None or len(root) != len(spans) or not self.levels[first].all():
            return None
        places = zip(root, first.tolist(), self._parents(first).tolist(), strict=True)
        return [element for part, number, parent in places for element in elements_in_part(part, number, parent)]

    def _parse(self, parts: Sequence[bytes], document: Document) -> Tree | None:
        """Parse the root element with only these parts; None if they may not be well-formed."""
        text, start = self.text, int(self.starts[0])
        opening, closing = text[start : text.find(b">", start) + 1], text[text.rfind(b"</") :]
        parser = document.parser()
        try:
            root: Tree = etree.fromstring(b"".join((opening, *parts, closing)), parser)
        except etree.XMLSyntaxError:
            return None
        return None if len(parser.error_log) else root

    def _parents(self, nodes: Numbers) -> Numbers:
        """The numbers of the elements around some elements."""
        parents, levels = np.full(len(nodes), -1), self.levels[nodes]
        for level in np.unique(levels).tolist():
            outer = np.flatnonzero(self.levels == level - 1)
            chosen = levels == level
            parents[chosen] = outer[np.searchsorted(outer, nodes[chosen]) - 1]
        return parents


def _find_elements(text: bytes) -> tuple[Numbers, Numbers] | None:
    """Where elements start in a document without comments and the like, and how many are around each.

    None if a bracket is not that of a tag: in texts and values, we escape all of them.
    """
    letters = np.frombuffer(text, np.uint8)
    begins, ends = np.flatnonzero(letters == _LESS), np.flatnonzero(letters == _GREATER)
    if len(begins) != len(ends):
        return None
    following = letters[begins + 1]
    is_closing, is_start = following == _SLASH, (following != _SLASH) & (following != _QUESTION_MARK)
    opens = is_start & (letters[ends - 1] != _SLASH)
    levels = np.cumsum(opens.astype(np.intp) - is_closing) - opens
    return begins[is_start], levels[is_start]


def _have_no_lines(diagnostics: Iterable[Diagnostic], catalogue: Catalogue) -> bool:
    """Whether no message states the line of another element."""
    return not any("{line" in catalogue[key].text for key in {one.key for one in diagnostics})


def _renumber(items: Iterable[Item], numbers: Sequence[int]) -> None:
    for item in items:
        if item.node >= 0:
            item.node = numbers[item.node]
        if isinstance(item, AppearanceItem) and item.appearance_node >= 0:
            item.appearance_node = numbers[item.appearance_node]


def _renumbered(diagnostic: Diagnostic, numbers: Sequence[int], document: Document) -> Diagnostic:
    place = diagnostic.place
    if place.node >= 0:
        place = structs.replace(place, node=numbers[place.node])
    return structs.replace(diagnostic, place=place, source=document)
