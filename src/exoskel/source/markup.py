"""Elements to be written: a small tree, and its text in canonical layout.

Two blanks a level, one element a line, values on the line of their tags, a line end at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from msgspec import Struct, field

from exoskel.diagnostics import ExoskelError

INDENT = "  "
RAW_TAG = "#raw"
"""The tag of an element that is written as it is."""


class Markup(Struct, eq=False):
    """An element.  `item` is the part of the scene it stands for, if it stands for one.

    `verbatim` is XML that is written as it is, in place of children: data that is nobody's business here.
    """

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list[Markup] = field(default_factory=list)
    item: Any = None
    verbatim: str = ""
    placeholder: bool = False
    """The element is for other readers: what it stands for is carried elsewhere."""
    comments: list[str] = field(default_factory=list)
    """Comments that stand in front of the element."""
    endings: list[str] = field(default_factory=list)
    """Comments that stand at the end of the element, behind all children."""
    behind: list[str] = field(default_factory=list)
    """Comments behind the whole document, for the root."""

    def add(self, tag: str, text: str = "", **attributes: str) -> Markup:
        """A new child at the end; returns it."""
        child = Markup(tag, attributes, text)
        self.children.append(child)
        return child

    def iter(self) -> Iterator[Markup]:
        """The element and all below it, in document order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += element.children[::-1]


_LEAST = 2.2250738585072014e-308
"""Numbers below this have lost digits already, and C's parsers refuse them: they are written as zero."""


class UnwritableError(ExoskelError, ValueError):
    """A value that has no form in a file."""


def format_number(value: float) -> str:
    """The shortest text that reads back to the same number; no minus zero, no infinity."""
    if abs(value) < _LEAST:
        return "0"
    if not isfinite(value):
        raise UnwritableError(f"{value} is a number that no file can hold")
    text = repr(float(value))
    return text.removesuffix(".0")


def format_numbers(values: Any) -> str:
    return " ".join(format_number(value) for value in values)


_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
)


# Most texts need no escapes, and looking for them is many times as fast as putting in none.
_in_text = re.compile("[&<>\r]").search
_in_attribute = re.compile('[&<>"\n\t\r]').search


def escape_text(text: str) -> str:
    return text.translate(_TEXT) if _in_text(text) else text


def escape_attribute(text: str) -> str:
    return text.translate(_ATTRIBUTE) if _in_attribute(text) else text


def serialize(root: Markup) -> str:
    """A whole document, in UTF-8 by its declaration."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    append_lines(root, "", INDENT, lines)
    lines += [f"<!--{comment}-->" for comment in root.behind]
    return "\n".join(lines) + "\n"


def append_lines(element: Markup, margin: str, indent: str, lines: list[str]) -> None:
    """Append the lines of an element that begins at `margin`."""
    for comment in element.comments:
        lines.append(f"{margin}<!--{comment}-->")
    tag = element.tag
    if tag == RAW_TAG:
        lines.append(margin + element.verbatim)
        return
    opening = f"{margin}<{tag}"
    for name, value in element.attributes.items():
        opening += f' {name}="{escape_attribute(value)}"'
    if element.children or element.endings:
        lines.append(opening + ">")
        inside = margin + indent
        for child in element.children:
            append_lines(child, inside, indent, lines)
        lines += [f"{margin}{indent}<!--{comment}-->" for comment in element.endings]
        lines.append(f"{margin}</{tag}>")
    elif element.text or element.verbatim:
        lines.append(f"{opening}>{element.verbatim or escape_text(element.text)}</{tag}>")
    else:
        lines.append(opening + "/>")
