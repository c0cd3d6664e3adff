"""Numbers in documents: how they are parsed, and how computed ones are rounded.

Decimal numbers are those of SKEL and XODE; C's `strtod` reads a prefix.  A number that the source states is written
with all of its digits.  All others are results of computations, whose rounding errors differ between processors.  They
are rounded to 13 digits, or computed again from rounded numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf, isfinite, nan
from typing import Any

from exoskel.source import encoding
from exoskel.source.document import Document
from exoskel.source.markup import Markup, format_number
from exoskel.spatial import COMPUTED_DIGITS

DECIMAL = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DECIMAL = re.compile(DECIMAL)
_INFINITE = re.compile(r"([+-]?)(inf|infinity)", re.IGNORECASE)
_NAN = re.compile(r"[+-]?nan", re.IGNORECASE)
_C_PREFIX = re.compile(
    r"[+-]?(0[xX][0-9a-fA-F]+(\.[0-9a-fA-F]*)?([pP][+-]?[0-9]+)?|[0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?"
    r"|\.[0-9]+([eE][+-]?[0-9]+)?|inf(inity)?|nan)",
    re.IGNORECASE,
)


def parse_decimal(token: str) -> float | None:
    """The value of a finite decimal number, or None for anything else, overflow included."""
    if _DECIMAL.fullmatch(token) is None:
        return None
    value = float(token)
    return value if isfinite(value) else None


def parse_infinity(token: str) -> float | None:
    """Plus or minus infinity for `inf` and `parse_infinity` in any case and sign, else None."""
    match = _INFINITE.fullmatch(token)
    return None if match is None else -inf if match[1] == "-" else inf


def is_nan(token: str) -> bool:
    return _NAN.fullmatch(token) is not None


def overflows(token: str) -> bool:
    """Whether a token has the form of a number but is too large for one."""
    return _DECIMAL.fullmatch(token) is not None and not isfinite(float(token))


def parse_c_prefix(token: str) -> float | None:
    """What C's `strtod` reads from the start of a token; None when not even a prefix is a number."""
    match = _C_PREFIX.match(token)
    if match is None:
        return None
    text = match[0]
    if "x" in text.lower():
        return float.fromhex(text)
    if is_nan(text):
        return nan
    limit = parse_infinity(text)
    return float(text) if limit is None else limit


def leading_number(token: str) -> str:
    """The text of the decimal number that a token starts with, or of the prefix that `strtod` takes; else empty."""
    match = _DECIMAL.match(token) or _C_PREFIX.match(token)
    return "" if match is None else match[0]


def shortest_number(token: str) -> str:
    """A decimal number in the fewest digits that read back to the same double, its sign included."""
    value = float(token)
    return repr(value).removesuffix(".0") if isfinite(value) else token


GivenNumbers = frozenset[float]
"""The numbers of a source with more than 13 digits, without their signs."""

_GIVEN = re.compile(rb"[0-9.]{%d,}(?:[eE][-+]?[0-9]+)?" % (COMPUTED_DIGITS + 1))
_LONG = re.compile(rf"(?<!\S)-?(?=[0-9.]{{{COMPUTED_DIGITS + 1}}})([0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?)(?!\S)")
"""A number with a fraction in the text of a value, between spaces."""
_STRING_OR_LONG = re.compile(rf'"(?:[^"\\]|\\.)*"|-?(?=[0-9.]{{{COMPUTED_DIGITS + 1}}})[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?')
"""A string, or a number with a fraction, in JSON."""


def given_numbers(documents: Iterable[object]) -> GivenNumbers:
    """The numbers in the texts of documents with more than 13 digits."""
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


def round_computed(value: float, given: GivenNumbers) -> float:
    """A number, rounded unless it is given."""
    return value if abs(value) in given else float(f"{value:.{COMPUTED_DIGITS}g}")


def round_value(value: Any, given: GivenNumbers) -> Any:
    """A value of a scene, a list or a dict of such values, with its numbers rounded unless they are given."""
    if isinstance(value, float):
        return round_computed(value, given)
    if isinstance(value, tuple | list):
        return type(value)([round_value(one, given) for one in value])
    if isinstance(value, dict):
        return {key: round_value(one, given) for key, one in value.items()}
    return value


def round_json(text: str, given: GivenNumbers) -> str:
    """A JSON text with its numbers rounded unless they are given; strings stay as they are."""

    def rounded(found: re.Match[str]) -> str:
        return found[0] if found[0][0] == '"' else repr(round_computed(float(found[0]), given))

    return _STRING_OR_LONG.sub(rounded, text)


def round_markup(root: Markup, given: GivenNumbers) -> None:
    """Round the numbers in the attributes and texts of a document that is about to be serialized."""

    def rounded(number: re.Match[str]) -> str:
        value = float(number[0])
        short = round_computed(value, given)
        return number[0] if short == value else format_number(short)

    for element in root.iter():
        if element.is_rounded:
            continue
        if len(element.text) > COMPUTED_DIGITS:
            element.text = _LONG.sub(rounded, element.text)
        for name, value in element.attributes.items():
            if len(value) > COMPUTED_DIGITS:
                element.attributes[name] = _LONG.sub(rounded, value)
