"""The XML Schema of a vocabulary.

SKEL lets children stand in any order, some once and some many times, which XML Schema 1.0 cannot say
directly.  Three devices say it together: `xs:all` where nothing repeats; elsewhere a repeated choice, in
which an identity constraint on each simple child counts it (a constraint's field must not find two nodes);
and, for the few complex children that may stand only once there, the orders they can come in, written out.
"""

from __future__ import annotations

from itertools import count

from lxml import etree

from exoskel.source.document import Tree
from exoskel.source.vocabulary import Attribute, Element, Kind, Vocabulary

_XS = "http://www.w3.org/2001/XMLSchema"


def schema(vocabulary: Vocabulary) -> bytes:
    """The schema as a document."""
    root = _Writer(vocabulary).write()
    etree.indent(root, "  ")
    out: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return out


class _Writer:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.root = etree.Element(f"{{{_XS}}}schema", nsmap={"xs": _XS})
        self.types: dict[int, str] = {}
        self.numbers = count(1)

    def write(self) -> Tree:
        self._document(self.root, f"{self.vocabulary.title}. Made from the vocabulary; do not edit.")
        self._element(self.root, self.vocabulary.root, occurs=False)
        for kind in self.vocabulary.kinds().values():
            self._simple_type(kind)
        return self.root

    # --- elements -------------------------------------------------------------------------------------

    def _element(self, parent: Tree, rule: Element, *, occurs: bool, once: bool = False) -> None:
        """Declare an element.  `once`: inside `xs:all`, where the cardinality can be stated."""
        node = _sub(parent, "element", name=rule.name)
        if occurs and once and rule.card in "?*":
            node.set("minOccurs", "0")
        if rule.kind is not None:
            node.set("type", _type_name(rule.kind))
            return
        node.set("type", self._complex_type(rule))
        for child in _counted(rule):
            self._constraint(node, child)

    def _constraint(self, node: Tree, child: Element) -> None:
        """At most one such child; exactly one if it is required."""
        word = "key" if child.card == "1" else "unique"
        constraint = _sub(node, word, name=f"one.{node.get('name')}.{child.name}.{next(self.numbers)}")
        _sub(constraint, "selector", xpath=".")
        _sub(constraint, "field", xpath=child.name)

    def _complex_type(self, rule: Element) -> str:
        """The named type of a container, made when first needed."""
        if id(rule) in self.types:
            return self.types[id(rule)]
        taken = set(self.types.values())
        name = rule.name
        while name in taken:
            name = f"{rule.name}.{next(self.numbers)}"
        self.types[id(rule)] = name
        node = etree.Element(f"{{{_XS}}}complexType", name=name)
        self._document(node, rule.meaning)
        self._content(node, rule)
        for attribute in rule.attributes.values():
            self._attribute(node, attribute)
        _sub(node, "anyAttribute", namespace="##other", processContents="lax")
        self.root.append(node)
        return name

    def _attribute(self, node: Tree, attribute: Attribute) -> None:
        declared = _sub(node, "attribute", name=attribute.name, type=_type_name(attribute.kind))
        if attribute.required:
            declared.set("use", "required")
        self._document(declared, attribute.meaning)

    # --- content models -------------------------------------------------------------------------------

    def _content(self, node: Tree, rule: Element) -> None:
        children = list(rule.children.values())
        if not children:
            return
        if rule.choice:
            self._one_of(node, children)
        elif not any(child.many for child in children):
            every = _sub(node, "all")
            for child in children:
                self._element(every, child, occurs=True, once=True)
        elif len(children) == 1:
            sequence = _sub(node, "sequence")
            self._element(sequence, children[0], occurs=True)
            sequence[0].set("minOccurs", "1" if children[0].card == "+" else "0")
            sequence[0].set("maxOccurs", "unbounded")
        else:
            alone = [child for child in children if not child.many and not child.is_leaf]
            free = [child for child in children if child.many or child.is_leaf]
            self._orders(_sub(node, "sequence"), alone, free, at_least_one=rule is self.vocabulary.root)

    def _one_of(self, node: Tree, children: list[Element]) -> None:
        """One of the containers, with the leaves (misplaced neighbours) before or behind it."""
        options = [child for child in children if not child.is_leaf]
        beside = [child for child in children if child.is_leaf]
        outer = _sub(node, "choice")
        behind = _sub(outer, "sequence")
        self._choice(behind, options)
        for child in beside:
            self._element(behind, child, occurs=True, once=True)
        if beside:
            before = _sub(outer, "sequence")
            for child in beside:
                self._element(before, child, occurs=False)
            self._choice(before, options)

    def _choice(self, parent: Tree, options: list[Element]) -> None:
        choice = _sub(parent, "choice")
        for child in options:
            self._element(choice, child, occurs=False)

    def _orders(self, sequence: Tree, alone: list[Element], free: list[Element], at_least_one: bool) -> None:
        """`free` children anywhere and at will, each of `alone` at most once among them, in any order."""
        if at_least_one:
            choice = _sub(sequence, "choice")
            self._orders(_sub(choice, "sequence"), alone, free, at_least_one=False)
            self._require_first(choice[0], alone)
            return
        self._anywhere(sequence, free)
        if not alone:
            return
        choice = _sub(sequence, "choice", minOccurs="0")
        for child in alone:
            branch = _sub(choice, "sequence")
            self._element(branch, child, occurs=False)
            self._orders(branch, [other for other in alone if other is not child], free, at_least_one=False)

    def _require_first(self, sequence: Tree, alone: list[Element]) -> None:
        """Turn `free*, (alone, …)?` into `(alone, …) | free+, (alone, …)?`: the root holds something."""
        first, rest = sequence[0], sequence[1]
        alternative = etree.fromstring(etree.tostring(rest))
        alternative.set("minOccurs", "1")
        first.set("minOccurs", "1")
        choice = sequence.getparent()
        choice.insert(0, alternative)
        for duplicate in alternative.iter(f"{{{_XS}}}key", f"{{{_XS}}}unique"):
            duplicate.set("name", f"{duplicate.get('name')}.{next(self.numbers)}")

    def _anywhere(self, sequence: Tree, free: list[Element]) -> None:
        choice = _sub(sequence, "choice", minOccurs="0", maxOccurs="unbounded")
        for child in free:
            self._element(choice, child, occurs=False)
        _sub(choice, "any", namespace="##other", processContents="lax")

    # --- simple types ---------------------------------------------------------------------------------

    def _simple_type(self, kind: Kind) -> None:
        described = kind.schema_type()
        node = _sub(self.root, "simpleType", name=_type_name(kind))
        self._document(node, kind.meaning)
        restriction = _sub(node, "restriction", base=described.base)
        if described.pattern:
            _sub(restriction, "pattern", value=described.pattern)
        for word in described.enumeration:
            _sub(restriction, "enumeration", value=word)

    def _document(self, node: Tree, text: str) -> None:
        _sub(_sub(node, "annotation"), "documentation").text = text


def _counted(rule: Element) -> list[Element]:
    """The simple children whose number the content model cannot limit."""
    children = list(rule.children.values())
    if rule.choice or len(children) < 2 or not any(child.many for child in children):
        return []
    return [child for child in children if child.is_leaf and not child.many]


def _type_name(kind: Kind) -> str:
    return "value." + kind.name.replace(" ", "-")


def _sub(parent: Tree, tag: str, **attributes: str) -> Tree:
    return etree.SubElement(parent, f"{{{_XS}}}{tag}", attributes)
