"""Reading a tree by its vocabulary: structure is checked, values are turned, everything else is reported.

The hot path visits an element in about a microsecond.  It owes that to three things: a subtree is
flattened into lists before it is walked; values seen before are remembered; and what is nearly always
absent (stray text, unknown attributes) is looked for in the whole document at once, not at each element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lxml import etree
from msgspec import Struct

from exoskel.diagnostics import Collector, did_you_mean
from exoskel.source.document import Document, Tree, literal_tag
from exoskel.source.limits import Limits
from exoskel.source.malformed import Malformed
from exoskel.source.vocabulary import ABSENT, Element, Kind, Vocabulary

_MIXED_TEXT = etree.XPath("descendant-or-self::*[*]/text()")
_COUNT_ATTRIBUTES = etree.XPath("count(descendant-or-self::*/@*)")
_WITH_ATTRIBUTES = etree.XPath("descendant-or-self::*[@*]")
_SHALLOW_VOCABULARY = 16


class Node(Struct):
    """One element as the vocabulary understands it.

    `fields` holds values of leaves, nodes of containers, lists where an element may repeat, and
    attributes under `@name`.  A value that could not be used is missing there and named in `broken`.
    """

    number: int
    fields: dict[str, Any]
    broken: set[str] | None = None

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)

    def nodes(self, name: str) -> list[Node]:
        """The nodes of a repeatable child."""
        found: list[Node] = self.fields.get(name, [])
        return found

    def spoiled(self, name: str) -> bool:
        """Whether `name` is there but its value was too wrong to be used."""
        return self.broken is not None and name in self.broken

    def spoil(self, name: str) -> None:
        if self.broken is None:
            self.broken = set()
        self.broken.add(name)


Streamed = Callable[[Element, Node, Node], None]
"""Called with the parent's row, the parent's node as far as it has been read, and the streamed node."""


class StructureReader:
    """Walks one document.  `literal` asks for the old reader's values where a text is odd."""

    def __init__(
        self, document: Document, vocabulary: Vocabulary, collector: Collector, limits: Limits, literal: bool
    ) -> None:
        self.vocabulary = vocabulary
        self.codes = vocabulary.codes
        self.collector = collector
        self.limits = limits
        self.literal = literal
        self.split = document.split_texts()
        self.next_number = 0
        self.attributes_seen = 0
        self.strays: dict[Tree, str] = {}
        self.on_streamed: Streamed = lambda rule, parent, node: None

    def read(self, root: Tree, on_streamed: Streamed) -> Node:
        """Read the whole document.  The root's own name has been checked before."""
        self.on_streamed = on_streamed
        if self.limits.depth < _SHALLOW_VOCABULARY:
            self._check_depth(root, 1)
        self._find_strays(root)
        node = self._shallow(root, self.vocabulary.root)
        if self.attributes_seen != _COUNT_ATTRIBUTES(root):
            self._report_unknown_attributes(root)
        return node

    # --- containers of streamed elements, walked without flattening -----------------------------------

    def _shallow(self, element: Tree, rule: Element) -> Node:
        node = Node(self.next_number, {})
        self.next_number += 1
        self._attributes(element, rule, node)
        self._stray_text(element, node)
        for child in element:
            found = self._rule(child, rule)
            if found is None:
                self._stranger(child, rule, node)
            elif not found.many and found.name in node.fields:
                self._repeated(child, found)
            elif found.streamed:
                self.on_streamed(rule, node, self._subtree(child, found))
            elif _holds_streamed(found):
                self._keep(node, found, self._shallow(child, found))
            else:
                self._keep(node, found, self._subtree(child, found))
        return node

    def _keep(self, node: Node, rule: Element, value: Any) -> None:
        if rule.many:
            node.fields.setdefault(rule.name, []).append(value)
        else:
            node.fields[rule.name] = value
        if rule.remark:
            self.collector.report(rule.remark, value.number, element=rule.name)

    # --- everything else, flattened -------------------------------------------------------------------

    def _subtree(self, element: Tree, rule: Element) -> Node:
        flat = _Flat(element, self.next_number)
        if rule.is_leaf:
            node = Node(self.next_number, {})
            value = self._leaf(flat, 0, rule, node)
            node.fields[rule.name] = value
        else:
            node, _ = self._container(flat, 0, rule)
        self.next_number += len(flat.tags)
        return node

    def _container(self, flat: _Flat, at: int, rule: Element) -> tuple[Node, int]:
        """Read the container at index `at`; returns its node and the index behind its subtree."""
        tags, texts, counts = flat.tags, flat.texts, flat.counts
        fields: dict[str, Any] = {}
        node = Node(flat.base + at, fields)
        children = rule.children
        split = self.split
        if rule.attributes:
            self._attributes(flat.elements[at], rule, node)
        if self.strays or (texts[at] is not None and counts[at] == 0):
            self._stray_text(flat.elements[at], node)
        remarked = False
        k = at + 1
        for _ in range(counts[at]):
            child = children.get(tags[k])
            if child is None:
                child = self._rule(flat.elements[k], rule)
                if child is None:
                    k += self._stranger(flat.elements[k], rule, node, flat.base + k)
                    continue
            name = child.name
            if name in fields and not child.many:
                k += self._repeated(flat.elements[k], child, flat.base + k)
                continue
            kind = child.kind
            value: Any
            if kind is None:
                value, end = self._container(flat, k, child)
            else:
                end = k + 1
                value = kind.memo.get(texts[k])
                if value is None or split or counts[k]:
                    value = self._leaf(flat, k, child, node)
                    end = k + 1 + flat.inside(k)
            if child.many:
                fields.setdefault(name, []).append(value)
            elif value is not ABSENT:
                fields[name] = value
            if child.remark:
                remarked = True
                self.collector.report(child.remark, flat.base + k, element=name)
            k = end
        if remarked:
            self._resolve_aliases(rule, node)
        if not rule.required <= fields.keys():
            self._missing(rule, node)
        return node, k

    def _leaf(self, flat: _Flat, at: int, rule: Element, parent: Node) -> Any:
        """The value of a leaf that was not met before, or needs a comment."""
        element, number = flat.elements[at], flat.base + at
        if flat.counts[at]:
            for child in element:
                if isinstance(child.tag, str):
                    self._stranger(child, rule, parent, flat.base + flat.elements.index(child, at))
        text = _own_text(element)
        if number in self.split:
            self.collector.report(self.codes.split_text, number, token=self.split[number], first=self.split[number])
            text = self.split[number] if self.literal else text
        if not text.strip(" \t\r\n"):
            self.collector.report(self.codes.empty, number, element=rule.name)
            parent.spoil(rule.name)
            return ABSENT
        assert rule.kind is not None
        return self._value(rule.kind, rule.name, text, parent, number)

    def _value(self, kind: Kind, name: str, text: str, parent: Node, number: int, attribute: str = "") -> Any:
        value = kind.value(text)
        if value is not None:
            return value
        outcome = kind.examine(text, self.literal)
        for finding in outcome.findings:
            self.collector.report(
                finding.key,
                number,
                attribute=attribute,
                token=finding.token,
                name=attribute or name,
                **finding.details,
            )
        if outcome.value is ABSENT:
            parent.spoil(f"@{attribute}" if attribute else name)
        return outcome.value

    # --- attributes -----------------------------------------------------------------------------------

    def _attributes(self, element: Tree, rule: Element, node: Node) -> None:
        for name, text in element.items():
            self.attributes_seen += 1
            known = rule.attributes.get(name)
            if known is None:
                self._unknown_attribute(name, element, rule, node.number)
                continue
            value = known.kind.memo.get(text)
            if value is None:
                value = self._value(known.kind, name, text, node, node.number, attribute=name)
            if value is not ABSENT:
                node.fields["@" + name] = value
        for name in rule.required_attributes:
            if "@" + name not in node.fields and not node.spoiled("@" + name):
                self.collector.report(self.codes.missing_attribute, node.number, attribute_name=name, element=rule.name)

    def _unknown_attribute(self, name: str, element: Tree, rule: Element, number: int) -> None:
        prefixed = name.startswith("{")
        shown = _prefixed_attribute(element, name) if prefixed else name
        key = self.codes.unknown_prefixed_attribute if prefixed else self.codes.unknown_attribute
        self.collector.report(
            key,
            number,
            attribute=shown,
            name=shown,
            element=rule.name,
            suggestion=did_you_mean(shown, rule.attributes),
        )

    def _report_unknown_attributes(self, root: Tree) -> None:
        """The document has attributes on elements that take none: find them all."""
        numbers = {element: i for i, element in enumerate(root.iter())}
        for element in _WITH_ATTRIBUTES(root):
            rule = self._rule_of(element)
            if rule is not None and not rule.attributes:
                for name in element.keys():  # noqa: SIM118 - lxml elements iterate over children
                    self._unknown_attribute(name, element, rule, numbers[element])

    def _rule_of(self, element: Tree) -> Element | None:
        """The row an element was read by; None inside of unknown elements and beside the first of a kind."""
        chain = [element, *element.iterancestors()][::-1]
        rule = self.vocabulary.root
        for step in chain[1:]:
            found = self._rule(step, rule)
            if found is None or (not found.many and _namesake_before(step)):
                return None
            rule = found
        return rule

    # --- what is not in the vocabulary ----------------------------------------------------------------

    def _rule(self, element: Tree, parent: Element) -> Element | None:
        """The row for a child; a default namespace is no part of a name, a prefix is."""
        tag = element.tag
        if not isinstance(tag, str):
            return None
        found = parent.children.get(tag)
        if found is None and tag.startswith("{") and element.prefix is None:
            found = parent.children.get(tag.rpartition("}")[2])
        return found

    def _stranger(self, element: Tree, parent: Element, node: Node, number: int = -1) -> int:
        """Report an unknown element and step over it; returns the size of its subtree."""
        if number < 0:
            number = self.next_number
            self.next_number += sum(1 for _ in element.iter())
        if isinstance(element.tag, str):
            tag = literal_tag(element)
            if ":" in tag:
                key = self.codes.unknown_prefixed_element
            else:
                key = parent.stranger or self.codes.unknown_element
                if parent.stranger:
                    node.spoil("?")
            self.collector.report(
                key,
                number,
                element=tag,
                parent=parent.name,
                suggestion=did_you_mean(tag, parent.children),
                allowed=", ".join(parent.children),
            )
        return self._step_over(element)

    def _repeated(self, element: Tree, rule: Element, number: int = -1) -> int:
        if number < 0:
            number = self.next_number
            self.next_number += sum(1 for _ in element.iter())
        self.collector.report(rule.repeated or self.codes.repeated, number, element=rule.name)
        return self._step_over(element)

    def _step_over(self, element: Tree) -> int:
        """The size of a subtree that is not read.  Its attributes are nobody's business."""
        self.attributes_seen += int(_COUNT_ATTRIBUTES(element))
        depth = 1 + sum(1 for _ in element.iterancestors())
        self._check_depth(element, depth)
        return sum(1 for _ in element.iter())

    def _check_depth(self, element: Tree, depth: int) -> None:
        deepest = depth
        for event, _ in etree.iterwalk(element, events=("start", "end")):
            depth += 1 if event == "start" else -1
            deepest = max(deepest, depth - 1)
            if deepest > self.limits.depth:
                raise Malformed(f"elements are nested deeper than the limit of {self.limits.depth}", limit="depth")

    # --- text, aliases, absences ----------------------------------------------------------------------

    def _find_strays(self, root: Tree) -> None:
        for text in _MIXED_TEXT(root):
            if text.strip(" \t\r\n"):
                owner = text.getparent()
                self.strays.setdefault(owner.getparent() if text.is_tail else owner, str(text))

    def _stray_text(self, element: Tree, node: Node) -> None:
        text = self.strays.get(element) or (element.text if len(element) == 0 else "") or ""
        if text.strip(" \t\r\n"):
            self.collector.report(self.codes.stray_text, node.number, element=literal_tag(element), text=text.strip())

    def _resolve_aliases(self, rule: Element, node: Node) -> None:
        """Let an alias stand in for the name it replaces, unless the old reader would not have."""
        for child in rule.children.values():
            if child.alias_of and child.name in node.fields and not (self.literal and child.dead_in_engine):
                node.fields.setdefault(child.alias_of, node.fields[child.name])

    def _missing(self, rule: Element, node: Node) -> None:
        """Report required children that are not there, those of one kind in one message."""
        absent: dict[str, list[str]] = {}
        for name, child in rule.children.items():
            if name in rule.required and name not in node.fields and not node.spoiled(name):
                absent.setdefault(child.missing or self.codes.missing_child, []).append(name)
        for key, names in absent.items():
            self.collector.report(key, node.number, element=">, <".join(names), parent=rule.name)


class _Flat:
    """A subtree as parallel lists in document order.

    The list of elements keeps lxml's element objects alive; it would make each of them anew otherwise.
    """

    __slots__ = ("base", "counts", "elements", "tags", "texts")

    def __init__(self, element: Tree, base: int) -> None:
        self.base = base
        self.elements = elements = list(element.iter())
        self.tags = [e.tag for e in elements]
        self.texts = [e.text for e in elements]
        self.counts = [len(e) for e in elements]

    def inside(self, at: int) -> int:
        """How many elements lie inside the one at `at`."""
        return sum(1 for _ in self.elements[at].iter()) - 1 if self.counts[at] else 0


def _holds_streamed(rule: Element) -> bool:
    return any(child.streamed for child in rule.children.values())


def _own_text(element: Tree) -> str:
    """The text of a leaf.  References to entities nobody declared stay as they are written."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag is etree.Entity:
            pieces.append(child.text + (child.tail or ""))
    return "".join(pieces)


def _prefixed_attribute(element: Tree, name: str) -> str:
    space, _, local = name[1:].partition("}")
    prefix = next((p for p, uri in element.nsmap.items() if uri == space and p), "")
    if not prefix and space == "http://www.w3.org/XML/1998/namespace":
        prefix = "xml"
    return f"{prefix}:{local}" if prefix else local


def _namesake_before(element: Tree) -> bool:
    return any(True for _ in element.itersiblings(element.tag, preceding=True))
