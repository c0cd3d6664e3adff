"""Reads a tree with a vocabulary: structure is checked, values are converted, problems are reported.

The hot path takes about a microsecond per element, because subtrees are flattened into lists before they are read,
shapes and values are cached, and what is rare (stray text, unknown attributes) is searched in the whole document at
once instead of at each element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lxml import etree

from exoskel.diagnostics import Collector, KnownNames, Suggestion
from exoskel.source.document import Document, Tree, tag_as_written
from exoskel.source.embedded_format import TAG_START
from exoskel.source.flat_tree import FlatTree, Node, SubtreePlan
from exoskel.source.limits import Limits
from exoskel.source.valid_structure import COUNT_ATTRIBUTES, SMALL_DOCUMENT, ValidStructure, read_valid
from exoskel.source.vocabulary import ABSENT, ChildRow, Element, ValueType, Vocabulary
from exoskel.source.well_formedness import MalformedError

MIXED_TEXT = etree.XPath("descendant::text()[../*]")
_WITH_ATTRIBUTES = etree.XPath("descendant-or-self::*[@*]")
_MAX_PLAN_SIZE = 200
_MAX_PLANS = 500
_NO_VALUES: dict[str, dict[str, Any]] = {}


Streamed = Callable[[Node, Element, Node, Element], None]
"""Called with a streamed node and its declaration, and with its parent as read so far, and its declaration."""


def ignore_streamed(_node: Node, _rule: Element, _parent: Node, _home: Element) -> None:
    """Do nothing with a streamed node."""


class StructureReader:
    """Reads one document.  With `literal`, invalid texts get the values that the original reader gives them."""

    def __init__(
        self, document: Document, vocabulary: Vocabulary, collector: Collector, limits: Limits, literal: bool
    ) -> None:
        self.document = document
        self.vocabulary = vocabulary
        self.codes = vocabulary.codes
        self.collector = collector
        self.limits = limits
        self.literal = literal
        self.split = document.split_texts()
        self.next_number = 0
        self.attributes_seen = 0
        self.stray_texts: dict[Tree, str] = {}
        self.unsearched: Tree | None = None
        """The root of a small document, until an element with text beside other elements is found."""
        self.namespaces: set[str] = set()
        self.known_names: dict[int, KnownNames] = {}
        self.first_of: dict[tuple[int, str], int] = {}
        """The number of the first of repeated elements, by number of the parent and name."""
        self.is_large = len(document.data) > SMALL_DOCUMENT
        self.plans: dict[object, SubtreePlan] = {}
        self.planning = False
        self.structural_findings = 0
        """How many diagnostics the structure of containers has caused: a shape with any gets no plan."""
        self.on_streamed: Streamed = ignore_streamed
        self.opaque_elements: dict[int, list[tuple[int, Tree]]] = {}
        """The children of containers of streamed elements that are not examined, with their numbers, by container."""
        self.first_number = 0
        """The number of the first element in the tree that is read."""
        self.unknown_attributes: list[tuple[str, str, Element, int]] = []
        """Attributes to report at the end: key, name as shown, declaration and number of the element."""

    def read(self, root: Tree, on_streamed: Streamed) -> Node:
        """Read the whole document.  The root's own name has been checked before.

        Raises MalformedError if it exceeds a limit.
        """
        if not (self.is_large or self.split):
            valid = read_valid(root, self.vocabulary.root, self.limits.depth)
            if valid is not None and self._has_all_attributes(root, valid.attributes):
                return self.accept(valid, on_streamed)
        self.on_streamed = on_streamed
        if self.is_large:
            self._find_stray_texts(root)
            self.planning = not (self.stray_texts or self.split)
        else:
            self.unsearched = root
        try:
            node = self._read_shallow(root, self.vocabulary.root)
        finally:
            self.on_streamed = ignore_streamed  # it refers to this object: what was read would stay in memory
            self.unsearched = None
        if not self._has_all_attributes(root, self.attributes_seen):
            self._find_unknown_attributes(root)
        self._report_unknown_attributes()
        return node

    def _has_all_attributes(self, root: Tree, seen: int) -> bool:
        """Whether a number of attributes is that of all elements."""
        text = self.document.text
        others = 0 if self.document.prolog.doctype else len(root.nsmap)  # a document type may declare some
        if text.startswith(b"<?xml"):
            others += text.count(b"=", 0, text.find(b"?>"))
        # Each attribute has an equals sign: if all others are known, they need not be counted in the tree.
        return bool(self.document.equals_signs - others == seen or seen == COUNT_ATTRIBUTES(root))

    def accept(self, valid: ValidStructure, on_streamed: Streamed) -> Node:
        """Report and pass on what was read in one pass."""
        for name, element, rule, number in valid.unknown_attributes:
            self._unknown_attribute(name, element, rule, number)
        for container, number, element in valid.opaque:
            self.opaque_elements.setdefault(container, []).append((number, element))
        for node, rule, parent, home in valid.streamed:
            on_streamed(node, rule, parent, home)
        return valid.root

    # --- containers of streamed elements, read without flattening -------------------------------------

    def _read_shallow(self, element: Tree, rule: Element, depth: int = 1) -> Node:
        node = Node(self.next_number, {})
        self.next_number += 1
        self._check_nesting(depth, node.number)
        self._attributes(element, rule, node)
        children = list(element)
        if self.unsearched is not None and (element.text is not None or _have_tails(children)):
            self._find_stray_texts(self.unsearched)
        if self.stray_texts or not children:
            self._stray_text(element, node)
        for child in children:
            inner = self._shallow_child(child, rule, node, depth)
            if inner is not None:
                self._store(node, inner, self._read_shallow(child, inner, depth + 1))
        if not rule.required <= node.fields.keys():
            self._missing(rule, node)
        return node

    def _shallow_child(self, child: Tree, rule: Element, node: Node, depth: int) -> Element | None:
        """Read a child of a container of streamed elements; `rule`, `node` and `depth` are those of the container.

        If the child is such a container, its declaration is returned: the caller reads it, with fewer calls per level.
        """
        found = self._rule(child, rule)
        if found is None:
            self._unknown_element(child, rule, node)
        elif not found.many and found.name in node.fields:
            self._repeated(child, found, node)
        elif found.streamed:
            self.on_streamed(self._subtree(child, found, depth + 1), found, node, rule)
        elif found.holds_streamed:
            return found
        else:
            if found.opaque:
                self._keep_opaque(child, node)
            self._store(node, found, self._subtree(child, found, depth + 1))
        return None

    def _keep_opaque(self, element: Tree, parent: Node) -> None:
        self.opaque_elements.setdefault(parent.number, []).append((self.next_number, element))

    def _store(self, node: Node, rule: Element, value: Any) -> None:
        if rule.many:
            node.fields.setdefault(rule.name, []).append(value)
        else:
            node.fields[rule.name] = value
        if rule.occurrence_code:
            self.collector.report(rule.occurrence_code, value.number, element=rule.name, meant=rule.alias_of)

    # --- everything else, flattened -------------------------------------------------------------------

    def _subtree(self, element: Tree, rule: Element, depth: int) -> Node:
        flat = FlatTree(element, self.next_number)
        self.next_number += len(flat.tags)
        if self.unsearched is not None and (_have_tails(flat.elements) or flat.has_text_in_containers()):
            self._find_stray_texts(self.unsearched)
        if not self.planning or len(flat.tags) > _MAX_PLAN_SIZE:
            return self._container(flat, 0, rule, depth)[0]
        shape = flat.shape(rule)
        plan = self.plans.get(shape)
        if plan is not None and plan.fits(flat) and depth + plan.depth <= self.limits.depth:
            return plan.read(flat, self._leaf, self._attributes, self._opaque_attributes)
        before = self.structural_findings
        node, _ = self._container(flat, 0, rule, depth)
        if self.structural_findings == before and len(self.plans) < _MAX_PLANS:
            self.plans[shape] = SubtreePlan(flat, rule)
        return node

    def _container(self, flat: FlatTree, at: int, rule: Element, depth: int) -> tuple[Node, int]:
        """Read the container at index `at`; returns its node and the index after its subtree."""
        if rule.opaque:
            return self._opaque(flat, at, rule)
        if depth >= self.limits.depth:
            self._check_nesting(depth + bool(flat.counts[at]), flat.base + at)
        tags, texts, counts = flat.tags, flat.texts, flat.counts
        fields: dict[str, Any] = {}
        node = Node(flat.base + at, fields)
        rows = rule.rows
        if rule.attributes:
            self._attributes(flat.elements[at], rule, node)
        if self.stray_texts or (texts[at] is not None and counts[at] == 0):
            self._stray_text(flat.elements[at], node)
        reported, split = False, self.split
        values = _NO_VALUES if split else rule.plain_values
        k = at + 1
        for _ in range(counts[at]):
            tag = tags[k]
            memo = values.get(tag)
            if memo is not None and tag not in fields and not counts[k] and node.invalid is None:  # nearly all leaves
                value = memo.get(texts[k])
                if value is not None:
                    fields[tag] = value
                    k += 1
                    continue
            row = rows.get(tag) or self._row(flat.elements[k], rule)
            if row is None:
                k += self._unknown_element(flat.elements[k], rule, node, flat.base + k)
                continue
            name, many, memo, occurrence_code, child = row
            if not many and (name in fields or (node.invalid is not None and name in node.invalid)):
                k += self._repeated(flat.elements[k], child, node, flat.base + k)
                continue
            if memo is None:
                value, end = self._container(flat, k, child, depth + 1)
            else:
                value, end = self._leaf(flat, k, child, node), k + 1 + flat.inside(k)
            if many:
                fields.setdefault(name, []).append(value)
            elif value is not ABSENT:
                fields[name] = value
            if occurrence_code:
                reported = True
                self.structural_findings += 1
                self.collector.report(occurrence_code, flat.base + k, element=name, meant=child.alias_of)
            k = end
        if reported:
            self._resolve_aliases(rule, node)
        if rule.required and not rule.required <= fields.keys():
            self._missing(rule, node)
        return node, k

    def _opaque(self, flat: FlatTree, at: int, rule: Element) -> tuple[Node, int]:
        """An element whose content is not examined."""
        element = flat.elements[at]
        node = Node(flat.base + at, {})
        self._attributes(element, rule, node)
        self.attributes_seen -= len(element.attrib)
        return node, at + self._skip(element, node.number)

    def _opaque_attributes(self, element: Tree, rule: Element, node: Node) -> None:
        """Read the attributes of an element whose content is not examined; those in the content are counted as seen."""
        self._attributes(element, rule, node)
        if len(element):
            self.attributes_seen += int(COUNT_ATTRIBUTES(element)) - len(element.attrib)

    def _check_nesting(self, depth: int, number: int) -> None:
        if depth > self.limits.depth:
            raise self._too_deep(number)

    def _too_deep(self, number: int) -> MalformedError:
        scan = self.document.scan
        reason = f"elements are nested deeper than the limit of {self.limits.depth}"
        return MalformedError(reason, scan.position(scan.tag(number)), limit="depth")

    def _leaf(self, flat: FlatTree, at: int, rule: Element, parent: Node) -> Any:
        """The value of a leaf that is not cached, or that has something to report."""
        element, number = flat.elements[at], flat.base + at
        if flat.counts[at]:
            within = number + 1
            for child in element:
                within += self._unknown_element(child, rule, parent, within)
        text = element.text or ""
        if number in self.split:
            self.collector.report(self.codes.split_text, number, token=self.split[number], first=self.split[number])
            text = self.split[number] if self.literal else text
        if not text.strip(" \t\r\n"):
            self.collector.report(self.codes.empty, number, element=rule.name)
            parent.mark_invalid(rule.name)
            return ABSENT
        assert rule.kind is not None
        return self._value(rule.kind, rule.name, text, parent, number)

    def _value(self, kind: ValueType, name: str, text: str, parent: Node, number: int, attribute: str = "") -> Any:
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
            parent.mark_invalid(f"@{attribute}" if attribute else name)
        return outcome.value

    # --- attributes -----------------------------------------------------------------------------------

    def _attributes(self, element: Tree, rule: Element, node: Node) -> None:
        fields, known = node.fields, rule.attribute_rows
        items = element.items()
        self.attributes_seen += len(items)
        for name, text in items:
            row = known.get(name)
            if row is None:
                self._unknown_attribute(name, element, rule, node.number)
                continue
            field, memo, kind = row
            value = memo.get(text)
            if value is None:
                value = self._value(kind, name, text, node, node.number, attribute=name)
            if value is not ABSENT:
                fields[field] = value
        for key, name in rule.required_attributes:
            if key not in fields and not node.is_invalid(key):
                self.collector.report(self.codes.missing_attribute, node.number, attribute_name=name, element=rule.name)

    def _unknown_attribute(self, name: str, element: Tree, rule: Element, number: int) -> None:
        key = self._unknown_attribute_key(name, rule)
        if key:
            self._report_unknown_attribute(key, _shown_attribute(element, name), rule, number)

    def _unknown_attribute_key(self, name: str, rule: Element) -> str:
        """The key for an unknown attribute; empty if it is not reported, even if it is misspelt."""
        prefixed = name.startswith("{") or ":" in name  # the latter: an undeclared prefix
        own = rule.unknown_attribute_code or self.codes.unknown_attribute
        key = self.codes.unknown_prefixed_attribute if prefixed else own
        return key if reports_name(self.collector, key) else ""

    def _report_unknown_attribute(self, key: str, shown: str, rule: Element, number: int) -> None:
        suggestion = self._did_you_mean(shown, rule.attributes)
        self.collector.report(
            self._misspelt_key(key, suggestion),
            number,
            attribute=shown,
            name=shown,
            element=rule.name,
            suggestion=suggestion,
        )

    def _find_unknown_attributes(self, root: Tree) -> None:
        """Find attributes of elements that have none in the vocabulary."""
        numbers = {element: i for i, element in enumerate(root.iter(), self.first_number)}
        for element in _WITH_ATTRIBUTES(root):
            rule = self._rule_of(element)
            if rule is not None and not rule.attributes:
                for name in element.keys():  # noqa: SIM118 - lxml elements iterate over children
                    if key := self._unknown_attribute_key(name, rule):
                        shown = _shown_attribute(element, name)
                        self.unknown_attributes.append((key, shown, rule, numbers[element]))

    def _report_unknown_attributes(self) -> None:
        for key, shown, rule, number in self.unknown_attributes:
            self._report_unknown_attribute(key, shown, rule, number)

    def _rule_of(self, element: Tree) -> Element | None:
        """The declaration that an element was read with; None inside unknown elements and for repeated ones."""
        chain = [element, *element.iterancestors()][::-1]
        rule = self.vocabulary.root
        for step in chain[1:]:
            found = self._rule(step, rule)
            if found is None or (not found.many and _repeats_earlier(step)):
                return None
            rule = found
        return rule

    # --- what is not in the vocabulary ----------------------------------------------------------------

    def _row(self, element: Tree, parent: Element) -> ChildRow | None:
        """The row of the vocabulary for a child; a prefix is part of its name, a default namespace is not."""
        tag = element.tag
        found = parent.rows.get(tag)
        if found is None and tag.startswith("{"):
            self.structural_findings += 1  # plans look up names as written
            if self.codes.namespaced:
                found = self._namespaced(element, parent)
            elif element.prefix is None:
                found = parent.rows.get(tag.rpartition("}")[2])
        return found

    def _namespaced(self, element: Tree, parent: Element) -> ChildRow | None:
        """The row of an element in an unexpected namespace, which is reported once per namespace."""
        space, _, local = element.tag[1:].partition("}")
        found = parent.rows.get(local)
        if found is not None and space not in self.namespaces:
            self.namespaces.add(space)
            everything = element.getroottree().getroot().iter()
            number = next(i for i, other in enumerate(everything, self.first_number) if other is element)
            self.collector.report(self.codes.namespaced, number, element=local, namespace=space)
        return found

    def _rule(self, element: Tree, parent: Element) -> Element | None:
        row = self._row(element, parent)
        return None if row is None else row[-1]

    def _unknown_element(self, element: Tree, parent: Element, node: Node, number: int = -1) -> int:
        """Report an unknown element and skip it; returns the size of its subtree."""
        self.structural_findings += 1
        if number < 0:
            number = self.next_number
            self.next_number += sum(1 for _ in element.iter())
        if element.tag.startswith(TAG_START):
            return self._skip(element, number)
        tag = tag_as_written(element)
        if ":" in tag and (self.codes.prefix_excuses or not parent.unknown_child_code):
            key = self.codes.unknown_prefixed_element
        elif self.codes.misplaced and tag in self.vocabulary.known:
            key = self.codes.misplaced
        else:
            key = parent.unknown_child_code or self.codes.unknown_element
        if parent.unknown_child_code:
            node.mark_invalid("?")
        suggestion = self._did_you_mean(tag, parent.children)
        self.collector.report(
            self._misspelt_key(key, suggestion),
            number,
            element=tag,
            parent=parent.name,
            suggestion=suggestion,
            allowed=[name for name, child in parent.children.items() if child.in_schema],
        )
        return self._skip(element, number)

    def _misspelt_key(self, key: str, suggestion: Suggestion) -> str:
        """The key for an unknown name that is certainly misspelt, in formats that distinguish it from extensions."""
        misspelt = _misspelt(key)
        return misspelt if suggestion.sure and misspelt in self.collector.catalogue.messages else key

    def _did_you_mean(self, name: str, known: Mapping[str, object]) -> Suggestion:
        """A suggestion for an unknown name; `known` is part of the vocabulary, and always the same object."""
        names = self.known_names.get(id(known))
        if names is None:
            names = self.known_names[id(known)] = self.collector.suggestions.among(known, are_terms=True)
        return names.did_you_mean(name)

    def _repeated(self, element: Tree, rule: Element, parent: Node, number: int = -1) -> int:
        self.structural_findings += 1
        if number < 0:
            number = self.next_number
            self.next_number += sum(1 for _ in element.iter())
        key = (parent.number, rule.name)
        if key not in self.first_of:
            siblings = element.getparent().iterchildren()
            first = next(child for child in siblings if isinstance(child.tag, str) and local_name(child) == rule.name)
            self.first_of[key] = number - _distance(first, element)
        line = self.document.lines([self.first_of[key]])[0]
        self.collector.report(rule.repeated or self.codes.repeated, number, element=rule.name, line=line)
        return self._skip(element, number)

    def _skip(self, element: Tree, number: int) -> int:
        """The size of a subtree that is not read; its attributes are counted as seen."""
        depth = sum(1 for _ in element.iterancestors())
        if not len(element):
            self.attributes_seen += len(element.attrib)
            self._check_nesting(depth + 1, number)
            return 1
        self.attributes_seen += int(COUNT_ATTRIBUTES(element))
        size = 0
        for event, _ in etree.iterwalk(element, events=("start", "end")):
            if event == "end":
                depth -= 1
                continue
            self._check_nesting(depth := depth + 1, number + size)
            size += 1
        return size

    # --- text, aliases, absences ----------------------------------------------------------------------

    def _find_stray_texts(self, root: Tree) -> None:
        self.unsearched = None
        for text in MIXED_TEXT(root):
            if text.strip(" \t\r\n"):
                owner = text.getparent()
                self.stray_texts.setdefault(owner.getparent() if text.is_tail else owner, str(text))

    def _stray_text(self, element: Tree, node: Node) -> bool:
        """Report the text of a container; returns whether it has any."""
        text = self.stray_texts.get(element) or (element.text if len(element) == 0 else "") or ""
        if not text.strip(" \t\r\n"):
            return False
        self.structural_findings += 1
        stray = text.strip()
        self.collector.report(
            self.codes.stray_text, node.number, token=stray, element=tag_as_written(element), text=stray
        )
        return True

    def _resolve_aliases(self, rule: Element, node: Node) -> None:
        """Use the value of an alias for the name it replaces, unless the original reader ignores the alias."""
        for child in rule.children.values():
            if child.alias_of and child.name in node.fields and not (self.literal and child.ignored_by_reader):
                node.fields.setdefault(child.alias_of, node.fields[child.name])

    def _missing(self, rule: Element, node: Node) -> None:
        """Report missing required children, those with the same code in one message, and use documented defaults."""
        self.structural_findings += 1
        absent: dict[str, list[str]] = {}
        for name, child in rule.children.items():
            if name in rule.required and name not in node.fields and not node.is_invalid(name):
                own = child.refused if self.literal and child.refused else child.missing
                absent.setdefault(own or self.codes.missing_child, []).append(name)
                if child.refused and child.kind is not None and not self.literal:
                    node.fields[name] = child.kind.value(child.default)
        for key, names in absent.items():
            self.collector.report(key, node.number, element=">, <".join(names), parent=rule.name)


def _have_tails(elements: Sequence[Tree]) -> bool:
    """Whether text follows any of these elements.  The parser has removed spaces."""
    return [element.tail for element in elements].count(None) != len(elements)


def reports_name(collector: Collector, key: str) -> bool:
    """Whether unknown names are reported with a key, or at least misspelt ones."""
    return collector.is_reported(key) or _misspelt(key) in collector.catalogue.messages


def _misspelt(key: str) -> str:
    """The key for a name that is certainly misspelt."""
    return f"{key}.misspelt"


def local_name(element: Tree) -> str:
    name: str = element.tag.rpartition("}")[2]
    return name


def _distance(first: Tree, later: Tree) -> int:
    """The number of elements from one sibling up to a later one."""
    count = 0
    while first is not later:
        count += sum(1 for _ in first.iter())
        first = first.getnext()
    return count


def _shown_attribute(element: Tree, name: str) -> str:
    """The name of an attribute as written, with its prefix."""
    if not name.startswith("{"):
        return name
    space, _, local = name[1:].partition("}")
    prefix = next((p for p, uri in element.nsmap.items() if uri == space and p), "")
    if not prefix and space == "http://www.w3.org/XML/1998/namespace":
        prefix = "xml"
    return f"{prefix}:{local}" if prefix else local


def _repeats_earlier(element: Tree) -> bool:
    return any(True for _ in element.itersiblings(element.tag, preceding=True))
