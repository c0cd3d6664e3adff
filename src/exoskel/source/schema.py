"""The XML Schema of a vocabulary, and its elements as data for people and editors.

Children may come in any order, some once and some many times, which XML Schema 1.0 cannot express directly.
It takes three means: `xs:all` where nothing repeats and no unknown element is allowed; elsewhere a repeated choice
with an identity constraint for each child that has a text or a required attribute (the field of a constraint must not
select two nodes); and, for the few others, all possible orders.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from lxml import etree
from msgspec import Struct

from exoskel.source.document import Tree
from exoskel.source.vocabulary import Attribute, Element, ValueType, Vocabulary

_XS = "http://www.w3.org/2001/XMLSchema"
_EMPTY_NAMESPACE = "urn:exoskel:empty"
"""A namespace without elements: with a wildcard for it, an element may contain whitespace but no children."""
_MAX_ORDERED = 2
"""The orders of the four states of a `dof` would take up more than half of SKEL's schema."""
_MAX_ITEMS = 4
"""How many children may have all their orders listed: four have 24 orders, ten have millions."""


def build_schema(vocabulary: Vocabulary) -> bytes:
    """The schema as an XML document."""
    root = _SchemaWriter(vocabulary).write()
    etree.indent(root, "  ")
    out: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return out


class _ChildCount(Struct, frozen=True):
    """A child whose count can only be limited by listing orders: one of `options`, `number` times."""

    options: tuple[Element, ...]
    required: bool
    number: int = 1
    free_afterwards: bool = False


class _Content(Struct):
    """The children of an element, by how their count is limited."""

    free: list[Element]
    counted: list[Element]
    items: list[_ChildCount]

    @classmethod
    def of(cls, rule: Element) -> _Content:
        content = cls([], [], [])
        children = [child for child in rule.children.values() if child.in_schema]
        options = tuple(child for child in children if child.name in rule.one_of)
        if options:
            content.items.append(_ChildCount(options, required=True))
        for child in children:
            if child.name in rule.one_of or child.name in rule.exclusive_children:
                continue
            if child.card == "*":
                content.free.append(child)
            elif child.card == "+":
                content.items.append(_ChildCount((child,), required=True, number=child.least, free_afterwards=True))
            elif child.card.isdigit() and int(child.card) > 1:
                content.items.append(_ChildCount((child,), required=True, number=int(child.card)))
            elif _countable(child):
                content.counted.append(child)
            else:
                content.items.append(_ChildCount((child,), required=child.card == "1"))
        if len(content.items) > _MAX_ITEMS:
            content._drop_limits()
        return content

    def _drop_limits(self) -> None:
        """Do not limit children that would need too many orders; `exoskel check` counts them."""
        self.free += [option for item in self.items for option in item.options]
        self.items.clear()

    @property
    def repeats(self) -> bool:
        return bool(self.free) or any(item.number > 1 or item.free_afterwards for item in self.items)


class _SchemaWriter:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.root = etree.Element(f"{{{_XS}}}schema", nsmap={"xs": _XS})
        self.types: dict[int, str] = {}
        self.numbers = count(1)

    def write(self) -> Tree:
        self._document(self.root, f"{self.vocabulary.title}. Generated from the vocabulary; do not edit.")
        self._element(self.root, self.vocabulary.root)
        for kind in self.vocabulary.kinds().values():
            self._simple_type(kind)
        return self.root

    # --- elements -------------------------------------------------------------------------------------

    def _element(self, parent: Tree, rule: Element, low: int | None = None, high: str = "") -> None:
        """Declare an element that occurs at least `low` and at most `high` times, where given."""
        node = _sub(parent, "element", name=rule.name)
        if low is not None and low != 1:
            node.set("minOccurs", str(low))
        if high:
            node.set("maxOccurs", high)
        if rule.kind is not None:
            node.set("type", _type_name(rule.kind))
            return
        node.set("type", self._complex_type(rule))
        content = _Content.of(rule)
        if not self._has_fixed_layout(rule, content):
            for child in content.counted:
                self._constraint(node, child)

    def _constraint(self, node: Tree, child: Element) -> None:
        """At most one such child; exactly one if it is required."""
        kind = "key" if child.card == "1" else "unique"
        constraint = _sub(node, kind, name=f"one.{node.get('name')}.{child.name}.{next(self.numbers)}")
        _sub(constraint, "selector", xpath=".")
        _sub(constraint, "field", xpath=_countable(child))

    def _complex_type(self, rule: Element) -> str:
        """The named type of a container, created when first needed."""
        if id(rule) in self.types:
            return self.types[id(rule)]
        taken = set(self.types.values())
        name = rule.name
        while name in taken:
            name = f"{rule.name}.{next(self.numbers)}"
        self.types[id(rule)] = name
        node = etree.Element(f"{{{_XS}}}complexType", name=name)
        self._document(node, rule.meaning)
        if rule.opaque:
            node.set("mixed", "true")
            anything = _sub(node, "sequence")
            _sub(anything, "any", minOccurs="0", maxOccurs="unbounded", processContents="skip")
        else:
            self._content(node, rule)
        if not len(node.findall(f"{{{_XS}}}*")[1:]):  # only the annotation: whitespace must stay allowed
            namespace = "##other" if self.vocabulary.codes.prefix_excuses else _EMPTY_NAMESPACE
            _sub(_sub(node, "sequence"), "any", namespace=namespace, minOccurs="0", processContents="lax")
        for attribute in rule.attributes.values():
            if attribute.in_schema:
                self._attribute(node, attribute)
        _sub(node, "anyAttribute", namespace="##other", processContents="lax")
        self.root.append(node)
        return name

    def _attribute(self, node: Tree, attribute: Attribute) -> None:
        declared = _sub(node, "attribute", name=attribute.name, type=_type_name(attribute.kind))
        if attribute.required or attribute.demanded:
            declared.set("use", "required")
        self._document(declared, attribute.meaning)

    # --- content models -------------------------------------------------------------------------------

    def _content(self, node: Tree, rule: Element) -> None:
        content = _Content.of(rule)
        if rule.ordered:
            self._in_order(_sub(node, "sequence"), rule)
        elif self._has_fixed_layout(rule, content):
            self._at_most_once(node, content)
        else:
            place = _sub(node, "choice") if rule.exclusive_children else node
            for name in rule.exclusive_children:
                self._element(place, rule.children[name])
            sequence = _sub(place, "sequence")
            self._orders(sequence, content.items, content.free + content.counted, rule.nonempty)

    def _has_fixed_layout(self, rule: Element, content: _Content) -> bool:
        """Whether the content model itself limits all counts, so that no constraints are needed.

        `xs:all` does, but does not allow unknown elements.  Where these are allowed, it is only used for elements
        with too many children to list their orders.
        """
        allows_unknown = self.vocabulary.codes.prefix_excuses and len(content.items) <= _MAX_ORDERED
        return rule.ordered or not (allows_unknown or content.repeats or rule.one_of or rule.exclusive_children)

    def _in_order(self, sequence: Tree, rule: Element) -> None:
        alternatives = [child for child in rule.children.values() if child.in_schema and child.name in rule.one_of]
        if alternatives:
            choice = _sub(sequence, "choice", minOccurs="0")
            for child in alternatives:
                self._element(choice, child)
        for child in rule.children.values():
            if child.in_schema and child.name not in rule.one_of:
                low, high = int(child.card in "1+"), "unbounded" if child.card in "*+" else ""
                self._element(sequence, child, low, high)

    def _at_most_once(self, node: Tree, content: _Content) -> None:
        children = content.counted + [option for item in content.items for option in item.options]
        if children:
            every = _sub(node, "all")
            for child in children:
                self._element(every, child, int(child.card == "1"))

    def _orders(self, sequence: Tree, items: list[_ChildCount], free: list[Element], nonempty: bool = False) -> None:
        """Allow `free` children anywhere, and the items among them in any order; `nonempty`: at least one child."""
        if nonempty and free:
            choice = _sub(sequence, "choice")
            self._branches(choice, items, free)
            beginning = _sub(choice, "sequence")
            self._anywhere(beginning, free, "1")
            if items:
                self._branches(_sub(beginning, "choice", minOccurs="0"), items, free)
            return
        self._anywhere(sequence, free, "0")
        if items:
            optional = {} if any(item.required for item in items) else {"minOccurs": "0"}
            self._branches(_sub(sequence, "choice", **optional), items, free)

    def _branches(self, choice: Tree, items: list[_ChildCount], free: list[Element]) -> None:
        """Add one branch for each item that may come next."""
        for item in items:
            rest = [other for other in items if other is not item]
            last = item.number == 1
            if not last:
                rest.append(_ChildCount(item.options, item.required, item.number - 1, item.free_afterwards))
            then_free = [*free, *item.options] if item.free_afterwards and last else free
            branch = _sub(choice, "sequence")
            if len(item.options) == 1:
                self._element(branch, item.options[0])
            else:
                inner = _sub(branch, "choice")
                for option in item.options:
                    self._element(inner, option)
            self._orders(branch, rest, then_free)

    def _anywhere(self, sequence: Tree, free: list[Element], low: str) -> None:
        allows_unknown = self.vocabulary.codes.prefix_excuses
        if not free and not allows_unknown:
            return
        choice = _sub(sequence, "choice", minOccurs=low, maxOccurs="unbounded")
        for child in free:
            self._element(choice, child)
        if allows_unknown:
            _sub(choice, "any", namespace="##other", processContents="lax")

    # --- simple types ---------------------------------------------------------------------------------

    def _simple_type(self, kind: ValueType) -> None:
        described = kind.schema_type
        node = _sub(self.root, "simpleType", name=_type_name(kind))
        self._document(node, kind.meaning)
        restriction = _sub(node, "restriction", base=described.base)
        if described.pattern:
            _sub(restriction, "pattern", value=described.pattern)
        if described.above:
            _sub(restriction, "minExclusive", value=described.above)
        for value in described.enumeration:
            _sub(restriction, "enumeration", value=value)

    def _document(self, node: Tree, text: str) -> None:
        _sub(_sub(node, "annotation"), "documentation").text = text


def _countable(child: Element) -> str:
    """What an identity constraint can count a child by: its text, or an attribute it must have."""
    if child.is_leaf:
        return child.name
    required = next((name for _, name in child.required_attributes), "")
    return f"{child.name}/@{required}" if required else ""


def _type_name(kind: ValueType) -> str:
    return "value." + kind.name.replace(" ", "-")


def _sub(parent: Tree, tag: str, **attributes: str) -> Tree:
    return etree.SubElement(parent, f"{{{_XS}}}{tag}", attributes)


# --- descriptions -----------------------------------------------------------------------------------


_CARDINALITY = {
    "1": "exactly one",
    "2": "exactly two",
    "3": "exactly three",
    "?": "at most one",
    "+": "at least one",
    "*": "any number",
}


def describe_element(path: str, element: Element) -> dict[str, Any]:
    """An element of the vocabulary with its attributes and children, as data for JSON."""
    return {
        "path": path,
        "name": element.name,
        "meaning": element.meaning,
        "occurs": _occurs(element),
        **_facts(element),
        "attributes": [_attribute(attribute) for attribute in element.attributes.values()],
        "children": [
            {
                "name": child.name,
                "occurs": _occurs(child),
                "meaning": child.meaning,
                **_facts(child),
            }
            for child in element.children.values()
        ],
    }


def _occurs(element: Element) -> str:
    return f"at least {element.least}" if element.least > 1 else _CARDINALITY[element.card]


def _facts(element: Element) -> dict[str, Any]:
    return {
        "type": element.kind.name if element.kind else None,
        "unit": element.unit or None,
        "default": element.default or None,
        "engine": element.reader_note or None,
        "code": element.occurrence_code.partition(".")[0] or None,
    }


def _attribute(attribute: Attribute) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "required": attribute.required or attribute.demanded,
        "meaning": attribute.meaning,
        "type": attribute.kind.name,
        "unit": attribute.unit or None,
        "default": attribute.default or None,
        "engine": attribute.reader_note or None,
    }
