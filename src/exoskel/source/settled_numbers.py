"""Computed numbers of a written document without rounding errors, which differ between processors.

A number that the source states is written with all of its digits.  All others are results of computations, and are
rounded to 13 digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from exoskel.source import encoding
from exoskel.source.document import Document
from exoskel.source.markup import Markup, format_number
from exoskel.spatial import SETTLED_DIGITS

GivenNumbers = frozenset[float]
"""The numbers of a source with more than 13 digits, without their signs."""

_GIVEN = re.compile(rb"[0-9.]{%d,}(?:[eE][-+]?[0-9]+)?" % (SETTLED_DIGITS + 1))
_LONG = re.compile(rf"(?<!\S)-?(?=[0-9.]{{{SETTLED_DIGITS + 1}}})([0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?)(?!\S)")
"""A number with a fraction in the text of a value, between spaces."""
_STRING_OR_LONG = re.compile(rf'"(?:[^"\\]|\\.)*"|-?(?=[0-9.]{{{SETTLED_DIGITS + 1}}})[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?')
"""A string, or a number with a fraction, in JSON."""


def given_numbers(documents: Iterable[Any]) -> GivenNumbers:
    """The numbers in the texts of documents that are not settled."""
    found: set[float] = set()
    for document in documents:
        if not isinstance(document, Document):
            continue
        try:
            text = document.text
        except (encoding.UnknownEncodingError, UnicodeDecodeError):
            continue  # nothing was read from it
        for number in _GIVEN.finditer(text):
            try:
                found.add(float(number[0]))
            except ValueError:  # dots of a version or a name
                continue
    return frozenset(found)


def settle_number(value: float, given: GivenNumbers) -> float:
    """A number, rounded unless it is given."""
    return value if abs(value) in given else float(f"{value:.{SETTLED_DIGITS}g}")


def settle_json(text: str, given: GivenNumbers) -> str:
    """A JSON text with its numbers rounded unless they are given; strings stay as they are."""

    def settle(found: re.Match[str]) -> str:
        return found[0] if found[0][0] == '"' else repr(settle_number(float(found[0]), given))

    return _STRING_OR_LONG.sub(settle, text)


def settle_markup(root: Markup, given: GivenNumbers) -> None:
    """Round the numbers in the attributes and texts of a document that is about to be serialized."""

    def settle(number: re.Match[str]) -> str:
        value = float(number[0])
        settled = settle_number(value, given)
        return number[0] if settled == value else format_number(settled)

    for element in root.iter():
        if len(element.text) > SETTLED_DIGITS:
            element.text = _LONG.sub(settle, element.text)
        for name, value in element.attributes.items():
            if len(value) > SETTLED_DIGITS:
                element.attributes[name] = _LONG.sub(settle, value)
