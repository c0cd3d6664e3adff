"""A document that was read before data was embedded in it: what it states itself need not be read again.

Only the element numbers differ.  Elements are numbered in document order, so embedded elements increase the numbers of
all elements after them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct, structs

from exoskel.diagnostics import Catalogue, Diagnostic
from exoskel.scene.item import AppearanceItem, Item
from exoskel.scene.merge import copy_scene, world_items
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.embedded_format import embedded_lines

_EMBEDDED = re.compile(embedded_lines())
_LESS, _SLASH, _QUESTION_MARK = b"</?"


class NativeReading(Struct, frozen=True):
    """A document without embedded data, and the scene that was read from it."""

    text: bytes
    scene: Scene

    def apply(self, document: Document, scene: Scene, catalogue: Catalogue) -> bool:
        """Set what the reader would find in `document` besides embedded data, if that is the same document otherwise.

        Returns whether it is.  `scene` is still empty.
        """
        known = self.scene
        if b"<!" in self.text or not _have_no_lines(known.diagnostics, catalogue):
            return False
        numbers = _numbers_after_embedding(self.text, document.text)
        if numbers is None:
            return False
        copied = copy_scene(known)
        _renumber((item for world in copied.worlds for item in world_items(world)), numbers)
        scene.worlds, scene.source_info = copied.worlds, copied.source_info
        scene.extensions = [structs.replace(one, node=numbers[one.node]) for one in known.extensions]
        scene.diagnostics += [_renumbered(one, numbers, document) for one in known.diagnostics]
        return True


def _numbers_after_embedding(before: bytes, after: bytes) -> Sequence[int] | None:
    """The numbers in `after` of the elements of `before`; None unless the texts differ only in embedded elements."""
    if _EMBEDDED.sub(b"", after) != before:
        return None
    spans = np.array([found.span() for found in _EMBEDDED.finditer(after)]).reshape(-1, 2)
    starts = _start_tags(after)
    last = np.searchsorted(spans[:, 0], starts, side="right") - 1
    is_embedded = (last >= 0) & (starts < np.append(spans[:, 1], 0)[last])
    return np.flatnonzero(~is_embedded).tolist()


def _start_tags(text: bytes) -> npt.NDArray[np.intp]:
    """Where elements start in a document without comments and the like: that byte is escaped everywhere else."""
    letters = np.frombuffer(text, np.uint8)
    starts = np.flatnonzero(letters == _LESS)
    following = letters[starts + 1]
    found: npt.NDArray[np.intp] = starts[(following != _SLASH) & (following != _QUESTION_MARK)]
    return found


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
