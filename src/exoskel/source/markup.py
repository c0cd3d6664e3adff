"""A small tree of elements to be written, and its serialization in canonical layout.

Two spaces per level, one element per line, values on the line of their tags, a line end at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from math import isfinite
from typing import Any

from msgspec import Struct, field

from exoskel.diagnostics import ExoskelError, printable
from exoskel.scene.item import Item
from exoskel.scene.world import Scene

INDENT = "  "
_ELEMENTS = re.compile(r"<!--.*?-->|<([^/!?])", re.DOTALL)
"""Finds comments, and the first letters of elements outside of them."""
RAW_TAG = "#raw"
"""The tag of an element whose `verbatim` text is written unchanged."""


class Markup(Struct, eq=False):
    """An element.  `item` is the part of the scene that it represents, if any.

    `verbatim` is XML that is written unchanged instead of children: data of other applications.
    """

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list[Markup] = field(default_factory=list)
    item: Item | Scene | None = None
    verbatim: str = ""
    placeholder: bool = False
    """The element is only for other readers: the data that it represents is embedded elsewhere."""
    is_rounded: bool = False
    """The numbers are computed from rounded ones, and are written with all digits."""
    comments: list[str] = field(default_factory=list)
    """Comments before the element."""
    closing_comments: list[str] = field(default_factory=list)
    """Comments at the end of the element, after all children."""
    trailing_comments: list[str] = field(default_factory=list)
    """Comments after the root element, at the end of the document."""

    def add(self, tag: str, text: str = "", **attributes: str) -> Markup:
        """Append a child; returns it."""
        child = Markup(tag, attributes, text)
        self.children.append(child)
        return child

    def without(self, *tags: str) -> Markup:
        """A copy without the children of some tags, and without comments."""
        rest = [child for child in self.children if child.tag not in tags]
        return Markup(self.tag, self.attributes, self.text, rest, self.item, self.verbatim)

    def is_same(self, other: Markup) -> bool:
        """Whether another element has the same text, attributes and children."""
        return (
            self.tag == other.tag
            and self.text == other.text
            and self.attributes == other.attributes
            and len(self.children) == len(other.children)
            and all(one.is_same(another) for one, another in zip(self.children, other.children, strict=True))
        )

    def iter(self) -> Iterator[Markup]:
        """Yield the element and its descendants, in document order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            if element.children:
                waiting += element.children[::-1]

    def numbered(self) -> Iterator[tuple[int, Markup]]:
        """The element and its descendants with their numbers in the document, in which `verbatim` has elements, too."""
        number = 0
        for element in self.iter():
            yield number, element
            number += element.tag != RAW_TAG
            if element.verbatim:
                number += sum(bool(found) for found in _ELEMENTS.findall(element.verbatim))


_SMALLEST_NORMAL = 2.2250738585072014e-308
"""Smaller numbers are denormal, have lost digits, and are rejected by C's parsers: they are written as zero."""
_SMALLEST_SINGLE = 1.1754943508222875e-38
"""The same in single precision."""


class UnwritableError(ExoskelError, ValueError):
    """The value cannot be written to a file."""


@lru_cache(maxsize=1 << 14)  # bodies that are alike have many numbers in common
def format_number(value: float) -> str:
    """The shortest text that reads back to the same number; minus zero becomes 0.  Raises UnwritableError."""
    if abs(value) < _SMALLEST_NORMAL:
        return "0"
    if not isfinite(value):
        raise UnwritableError(f"{value} is not finite: it cannot be written to a file")
    text = repr(float(value))
    return text.removesuffix(".0")


def format_numbers(values: Any) -> str:
    return " ".join(map(format_number, values))


def format_color(values: Iterable[float]) -> str:
    """Channels of a colour: readers store them in single precision, and some refuse smaller numbers."""
    return format_numbers(0.0 if abs(value) < _SMALLEST_SINGLE else value for value in values)


_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
)


# Most texts need no escapes, and searching is much faster than translating.
_in_text = re.compile("[&<>\r]").search
_in_attribute = re.compile('[&<>"\n\t\r]').search


def escape_text(text: str) -> str:
    return text.translate(_TEXT) if _in_text(text) else text


def escape_attribute(text: str) -> str:
    return text.translate(_ATTRIBUTE) if _in_attribute(text) else text


_INVALID_IN_ASCII = bytes(code for code in range(0x20) if chr(code) not in "\t\n\r")


@cache
def _invalid_character() -> re.Pattern[str]:
    """Matches a character that XML does not allow.  Compiling it takes as long as reading a small file."""
    return re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def _check_characters(text: str) -> None:
    """Raise UnwritableError for characters that XML does not allow; they come from file names, for example."""
    if text.isascii() and len(text.encode().translate(None, _INVALID_IN_ASCII)) == len(text):
        return  # found several times faster than with a pattern
    found = _invalid_character().search(text)
    if found is None:
        return
    start = max(text.rfind(mark, 0, found.start()) for mark in '"<>') + 1
    end = min(at for mark in '"<>' if (at := text.find(mark, found.end())) >= 0)
    value = printable(text[start:end])
    is_byte = "\udc80" <= found[0] <= "\udcff"
    problem = "bytes that are not UTF-8" if is_byte else f"the character U+{ord(found[0]):04X}"
    raise UnwritableError(f"'{value}' cannot be written to a file: it contains {problem}, which XML does not allow")


def serialize(root: Markup) -> str:
    """The text of a whole document, whose declaration says UTF-8.  Raises UnwritableError."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    values = [value for element in root.iter() if element.attributes for value in element.attributes.values()]
    append_lines(root, "", INDENT, lines, are_plain=_in_attribute("".join(values)) is None)
    lines += [f"<!--{comment}-->" for comment in root.trailing_comments]
    text = "\n".join(lines) + "\n"
    _check_characters(text)
    return text


def append_lines(root: Markup, margin: str, indent: str, lines: list[str], *, are_plain: bool = False) -> None:
    """Append the lines of an element that is indented by `margin`.  If attributes `are_plain`, they need no escapes."""
    spell = _plain_attributes if are_plain else format_attributes
    # Each entry has the elements that are still to be written, the lines after them, and the margin.
    waiting: list[tuple[Iterator[Markup], list[str], str]] = [(iter((root,)), [], margin)]
    while waiting:
        siblings, closing, margin = waiting[-1]
        for element in siblings:
            if element.comments:
                lines += [f"{margin}<!--{comment}-->" for comment in element.comments]
            tag = element.tag
            attributes = spell(element.attributes) if element.attributes else ""
            if element.children or element.closing_comments:
                inside = margin + indent
                lines.append(f"{margin}<{tag}{attributes}>")
                after = [f"{margin}</{tag}>"]
                if element.closing_comments:
                    after = [f"{inside}<!--{comment}-->" for comment in element.closing_comments] + after
                waiting.append((iter(element.children), after, inside))
                break
            if tag == RAW_TAG:
                lines.append(margin + element.verbatim)
            elif element.text or element.verbatim:
                lines.append(f"{margin}<{tag}{attributes}>{element.verbatim or escape_text(element.text)}</{tag}>")
            else:
                lines.append(f"{margin}<{tag}{attributes}/>")
        else:
            lines += closing
            waiting.pop()


def format_attributes(attributes: dict[str, str]) -> str:
    """The attributes of a start tag, each after a space."""
    if _in_attribute("".join(attributes.values())):
        attributes = {name: escape_attribute(value) for name, value in attributes.items()}
    return _plain_attributes(attributes)


def _plain_attributes(attributes: dict[str, str]) -> str:
    return "".join([f' {name}="{value}"' for name, value in attributes.items()])
