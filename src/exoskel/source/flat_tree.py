"""Flattened subtrees, and cached plans for reading subtrees of the same shape.

Large files contain thousands of subtrees of the same shape: the same tags in the same positions with different
texts.  How the vocabulary reads such a shape is determined once and cached as a plan; for the next subtree of
that shape, only its texts are read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from exoskel.scene.item import NO_FIELDS
from exoskel.source.document import Tree
from exoskel.source.vocabulary import ABSENT, Element


class Node(Struct, gc=False):
    """One element as read with the vocabulary.

    `fields` contains values of leaves, nodes of containers, lists where an element may repeat, and
    attributes under `@name`.  An invalid value is missing there and listed in `invalid`.
    """

    number: int
    fields: dict[str, Any]
    invalid: set[str] | None = None

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)

    def nodes(self, name: str) -> list[Node]:
        """The nodes of a repeatable child."""
        found: list[Node] = self.fields.get(name, [])
        return found

    def is_invalid(self, name: str) -> bool:
        """Whether `name` is present with an invalid value."""
        return self.invalid is not None and name in self.invalid

    def stated_fields(self, rule: Element) -> frozenset[str]:
        """The scene fields that the element states; `rule` is its row."""
        return rule.stated_fields(self.fields)

    def invalid_fields(self, rule: Element) -> frozenset[str]:
        """The scene fields whose text is invalid."""
        return rule.stated_fields(sorted(self.invalid)) if self.invalid else NO_FIELDS

    def mark_invalid(self, name: str) -> None:
        if self.invalid is None:
            self.invalid = set()
        self.invalid.add(name)


def stated_fields(*elements: tuple[Node | None, Element]) -> frozenset[str]:
    """The scene fields that several elements state about the same item; each with its row."""
    found = [rule.stated_fields(node.fields) for node, rule in elements if node is not None]
    return found[0] if len(found) == 1 else merge_fields(*found)


def invalid_fields(*elements: tuple[Node | None, Element]) -> frozenset[str]:
    """The scene fields of one item whose text is invalid in several elements; each with its row."""
    return merge_fields(*[node.invalid_fields(rule) for node, rule in elements if node is not None])


@lru_cache(maxsize=4096)
def merge_fields(*fields: frozenset[str]) -> frozenset[str]:
    """The union of some sets; files repeat a few of them over and over, so the result is shared."""
    return NO_FIELDS.union(*fields)


class FlatTree:
    """A subtree as parallel lists in document order; `base` is the number of its first element.

    The list of elements keeps lxml's element objects alive; otherwise lxml would create each of them again.
    """

    __slots__ = ("base", "counts", "elements", "tags", "texts")

    def __init__(self, element: Tree, base: int) -> None:
        self.base = base
        self.elements = elements = list(element.iter())
        self.tags = [e.tag for e in elements]
        self.texts = [e.text for e in elements]
        self.counts = [len(e) for e in elements]

    def has_text_in_containers(self) -> bool:
        return bool([1 for text, count in zip(self.texts, self.counts, strict=True) if count and text is not None])

    def inside(self, at: int) -> int:
        """The number of descendants of the element at `at`."""
        return sum(1 for _ in self.elements[at].iter()) - 1 if self.counts[at] else 0

    def shape(self, rule: Element) -> tuple[int, tuple[str, ...], tuple[int, ...]]:
        """The key of a plan: subtrees with equal shapes can use the same plan."""
        return id(rule), tuple(self.tags), tuple(self.counts)


ReadLeaf = Callable[[FlatTree, int, Element, Node], Any]
ReadAttributes = Callable[[Tree, Element, Node], None]


class SubtreePlan:
    """How to read subtrees of one shape.

    `containers` are (index, position of the parent among them, name, repeatable, declaration if it has
    attributes or is opaque); `leaves` likewise, with the cached values and the declaration.
    """

    __slots__ = ("containers", "depth", "empties", "leaves")

    def __init__(self, flat: FlatTree, rule: Element) -> None:
        self.containers: list[tuple[int, int, str, bool, Element | None]] = []
        self.leaves: list[tuple[int, int, str, bool, dict[str, Any], Element]] = []
        self.empties: list[int] = []
        self.depth = 0
        self._add_container(flat, 0, -1, rule, 0)

    def _add_container(self, flat: FlatTree, at: int, parent: int, rule: Element, depth: int) -> int:
        slot = len(self.containers)
        self.depth = max(self.depth, depth + bool(flat.counts[at]))
        self.containers.append((at, parent, rule.name, rule.many, rule if rule.attributes or rule.opaque else None))
        if rule.opaque:
            return self._skip(flat, at, depth)
        if not flat.counts[at]:
            self.empties.append(at)
        k = at + 1
        for _ in range(flat.counts[at]):
            name, many, memo, _remark, child = rule.rows[flat.tags[k]]
            if memo is None:
                k = self._add_container(flat, k, slot, child, depth + 1)
            else:
                self.leaves.append((k, slot, name, many, memo, child))
                k += 1
        return k

    def _skip(self, flat: FlatTree, at: int, depth: int) -> int:
        """The index after a subtree that is not examined."""
        waiting = [flat.counts[at]]
        """The number of children that follow, of the element at `at` and of those around the current one."""
        k = at + 1
        while waiting:
            if not waiting[-1]:
                waiting.pop()
                continue
            waiting[-1] -= 1
            self.depth = max(self.depth, depth + len(waiting))
            waiting.append(flat.counts[k])
            k += 1
        return k

    def fits(self, flat: FlatTree) -> bool:
        """Whether the plan applies to a subtree of its shape: empty containers must not have text."""
        return all(flat.texts[at] is None for at in self.empties)

    def read(
        self, flat: FlatTree, read_leaf: ReadLeaf, read_attributes: ReadAttributes, read_opaque: ReadAttributes
    ) -> Node:
        base, texts = flat.base, flat.texts
        nodes: list[Node] = []
        for at, parent, name, many, rule in self.containers:
            node = Node(base + at, {})
            if rule is not None:
                (read_opaque if rule.opaque else read_attributes)(flat.elements[at], rule, node)
            if parent >= 0:
                fields = nodes[parent].fields
                if many:
                    fields.setdefault(name, []).append(node)
                else:
                    fields[name] = node
            nodes.append(node)
        for at, parent, name, many, memo, child in self.leaves:
            node = nodes[parent]
            value = memo.get(texts[at])
            if value is None:
                value = read_leaf(flat, at, child, node)
            if many:
                node.fields.setdefault(name, []).append(value)
            elif value is not ABSENT:
                node.fields[name] = value
        return nodes[0]
