"""Reads a small document in one pass over its elements, as long as its structure and all values are valid.

Most documents are.  All others are left to the `StructureReader`, which examines them step by step and reports every
problem, so nothing is reported here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from lxml import etree
from msgspec import Struct

from exoskel.source.document import Tree
from exoskel.source.flat_tree import Node
from exoskel.source.vocabulary import AttributeRow, Element

COUNT_ATTRIBUTES = etree.XPath("count(descendant-or-self::*/@*)")
SMALL_DOCUMENT = 100_000
"""In documents of more bytes, subtrees of the same shape are read with plans."""
_SPACES = " \t\r\n"


class NotValidError(Exception):
    """The document may have a problem."""


StreamedNode = tuple[Node, Element, Node, Element]
"""A streamed node and its declaration, and its parent with its own."""
UnknownAttribute = tuple[str, Tree, Element, int]
"""The name of an attribute, its element, the declaration of that, and its number."""


class ValidStructure(Struct):
    """A document as read with its vocabulary.  `attributes` is how many of them it has in known elements."""

    root: Node
    attributes: int
    streamed: list[StreamedNode]
    unknown_attributes: list[UnknownAttribute]
    """Nearly every XODE document has some, in other namespaces."""
    opaque: list[tuple[int, int, Tree]]
    """Opaque elements in containers of streamed ones, with the number of the container and their own."""


def read_valid(root: Tree, rule: Element, depth: int) -> ValidStructure | None:
    """Read a document that has no problems other than unknown attributes; None if it may have others.

    `rule` is the declaration of the root.  Elements may be nested up to `depth` deep.
    """
    if root.text is not None or not len(root) or depth < 2:
        return None
    try:
        return _read(root, rule, depth)
    except NotValidError:
        return None


def _read(root: Tree, rule: Element, depth: int) -> ValidStructure:  # noqa: PLR0915 - calls take longer
    fields: dict[str, Any] = {}
    found = ValidStructure(Node(0, fields), 0, [], [], [])
    node, rows, values, is_shallow, left = found.root, rule.rows, rule.plain_values, True, len(root)
    _read_attributes(root, rule, node, found)
    around: list[tuple[Node, Element, bool, int]] = []
    """The containers around the current one, with the numbers of children that follow in them."""
    elements = islice(root.iter(), 1, None)
    number = 0
    for element in elements:
        number += 1
        tag = element.tag
        memo = values.get(tag)
        if memo is not None:  # a leaf that occurs once, like most elements
            text = element.text
            value = memo.get(text)
            if value is None:
                value = leaf_value(rows[tag][4], text)
            if tag in fields or len(element) or element.tail is not None:
                raise NotValidError
            fields[tag] = value
            left -= 1
            if left:
                continue
        else:
            row = rows.get(tag)
            if row is None or element.tail is not None or (tag in fields and not row[1]):
                raise NotValidError
            _, many, memo, occurrence_code, child = row
            text, count, inner = element.text, len(element), Node(number, {})
            if memo is not None or occurrence_code:
                raise NotValidError
            if child.opaque:
                if is_shallow:
                    found.opaque.append((node.number, number, element))
                number, count = number + _skip_content(element, elements, depth - len(around) - 2, found), 0
            elif text is not None and (count or text.strip(_SPACES)):
                raise NotValidError
            if child.attributes:
                _read_attributes(element, child, inner, found)
            if is_shallow and child.streamed:
                found.streamed.append((inner, child, node, rule))
            elif many:
                fields.setdefault(tag, []).append(inner)
            else:
                fields[tag] = inner
            if count:
                around.append((node, rule, is_shallow, left - 1))
                if len(around) >= depth - 1:
                    raise NotValidError
                node, rule, left = inner, child, count
                fields, rows, values = inner.fields, child.rows, child.plain_values
                is_shallow = is_shallow and child.holds_streamed and not child.streamed
                continue
            if child.required:
                check_required(child, inner, found)
            left -= 1
        while not left:
            if rule.required and not rule.required <= fields.keys():
                check_required(rule, node, found)
            if not around:
                break
            node, rule, is_shallow, left = around.pop()
            fields, rows, values = node.fields, rule.rows, rule.plain_values
    return found


def leaf_value(rule: Element, text: str | None) -> Any:
    """The value of a leaf that is not cached."""
    value = None if text is None or rule.kind is None or not text.strip(_SPACES) else rule.kind.value(text)
    if value is None:
        raise NotValidError
    return value


def _read_attributes(element: Tree, rule: Element, node: Node, found: ValidStructure) -> None:
    fields, known = node.fields, rule.attribute_rows
    items = element.items()
    found.attributes += len(items)
    for name, text in items:
        row = known.get(name)
        if row is None:
            found.unknown_attributes.append((name, element, rule, node.number))
            continue
        fields[row[0]] = attribute_value(row, text)
    if not rule.has_required_attributes(fields):
        raise NotValidError


def attribute_value(row: AttributeRow, text: str) -> Any:
    """The value of an attribute."""
    _, memo, kind = row
    value = memo.get(text)
    if value is None:
        value = kind.value(text)
        if value is None:
            raise NotValidError
    return value


def _skip_content(element: Tree, elements: Iterator[Tree], depth: int, found: ValidStructure) -> int:
    """Skip the content of an opaque element; returns the number of elements in it."""
    size = sum(1 for _ in element.iter()) - 1
    if size > depth:  # they may be nested deeper than that
        raise NotValidError
    if size:
        found.attributes += int(COUNT_ATTRIBUTES(element)) - len(element.attrib)
        for _ in range(size):
            next(elements)
    return size


def check_required(rule: Element, node: Node, found: ValidStructure) -> None:
    """Check that the required children of a container are there, also those that are passed on."""
    present = {child.name for _, child, parent, _ in found.streamed if parent is node}
    if not rule.required <= present | node.fields.keys():
        raise NotValidError
