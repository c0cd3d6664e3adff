"""Elements of bodies and joints that repeat, so that the fates of their content are found once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

import numpy as np

from exoskel.fates import NodeFate
from exoskel.formats.interface import SourceMapping
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.source.document import Document

_REPEATED = (Body, Joint)
_MOST_ELEMENTS = 200
"""Elements with more content are not compared: elements may be nested."""


class RepeatedElements:
    """Finds the elements of bodies and joints that have the same structure, and verdicts of the same class.

    `irregular` are elements that have, or whose attributes have, fates of their own.  `verdict_class` returns what the
    verdicts on the fields of an item depend on; None if that is not the same for others.
    """

    def __init__(
        self,
        document: Document,
        items: Mapping[int, Item],
        irregular: Collection[int],
        mapping: SourceMapping,
        verdict_class: Callable[[Item], Hashable | None],
    ) -> None:
        self.document = document
        self.items = items
        self.verdict_class = verdict_class
        self.ends = document.outline.ends
        tags = document.outline.tags
        numbers = {tag: number for number, tag in enumerate(dict.fromkeys(tags))}
        elsewhere = {number for tag, number in numbers.items() if tag in mapping.joint_elements | mapping.includes}
        kinds = np.array([numbers[tag] for tag in tags], dtype=np.int32)
        sizes = np.array(self.ends, dtype=np.int32) - np.arange(len(tags), dtype=np.int32)
        self.structure = np.column_stack((kinds, sizes))
        """The tag and the number of elements of each element, which together are the structure of a document."""
        is_irregular = np.isin(kinds, [*elsewhere])
        is_irregular[[node for node in irregular if 0 <= node < len(tags)]] = True
        self.irregular_before = _counts_before(is_irregular)
        self.others_before = _counts_before(~np.array(document.without_attributes, dtype=bool))
        is_item = np.zeros(len(tags), dtype=bool)
        self.nodes_of_items = sorted(node for node in items if 0 <= node < len(tags))
        is_item[self.nodes_of_items] = True
        self.items_before = _counts_before(is_item)

    def key(self, node: int) -> Hashable | None:
        """A key that is the same for elements whose contents have the same fates; None if there may be no other."""
        item, end = self.items.get(node), self.ends[node]
        if not isinstance(item, _REPEATED) or end - node > _MOST_ELEMENTS:
            return None
        if self.irregular_before[end] > self.irregular_before[node]:
            return None
        if self.others_before[end] > self.others_before[node + 1]:  # paths and fates depend on attributes
            return None
        classes: list[Hashable] = []
        for inner in self.nodes_of_items[self.items_before[node] : self.items_before[end]]:
            if (found := self.verdict_class(self.items[inner])) is None:
                return None
            classes += (inner - node, found)
        return self.structure[node:end].tobytes(), *self.document.attributes(node), *classes


def _counts_before(found: np.ndarray) -> list[int]:
    """How many of the elements before each element have a property."""
    counts: list[int] = [0, *np.cumsum(found).tolist()]
    return counts


class FatePattern:
    """The fates of an element and its content, relative to the element."""

    def __init__(self, found: Sequence[NodeFate]) -> None:
        first = found[0]
        self.rows = [
            (
                one.node - first.node,
                one.path.removeprefix(first.path),
                one.fate,
                one.why,
                one.attribute,
                one.loss,
                one.file,
                one.affects_motion,
                one.end - first.node,
                one.unselected,
            )
            for one in found
        ]

    def repeat(self, node: int, path: str, lines: Sequence[int]) -> list[NodeFate]:
        """The fates of another such element and its content."""
        return [
            NodeFate(lines[node + at], path + step, fate, why, node + at, name, loss, file, moves, node + end, part)
            for at, step, fate, why, name, loss, file, moves, end, part in self.rows
        ]
