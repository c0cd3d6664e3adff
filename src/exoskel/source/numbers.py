"""Numbers in documents: how they are parsed, and how computed ones are rounded.

Decimal numbers are those of SKEL and XODE; C's `strtod` reads a prefix.  A number that the source states is written
with all of its digits.  All others are results of computations, whose rounding errors differ between processors.  They
are rounded to 13 digits, those of vectors to the 13th digit of the largest component, or computed again from rounded
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import cycle
from math import copysign, inf, isfinite, nan, ulp
from typing import Any

from exoskel.source import encoding
from exoskel.source.document import Document
from exoskel.source.markup import Markup, format_number
from exoskel.spatial import COMPUTED_DIGITS, NOISE, decimal_exponent

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


GivenNumbers = dict[float, float]
"""The numbers of a source with more than 13 digits, without their signs, by themselves and by their first 13 digits."""

_GIVEN = re.compile(rb"[0-9.]{%d,}(?:[eE][-+]?[0-9]+)?" % (COMPUTED_DIGITS + 1))
_DIGIT = b"0"
_DIGITS = bytes.maketrans(b"123456789.", _DIGIT * 10)
_DIGITS_OF_LONG = _DIGIT * (COMPUTED_DIGITS + 1)
_LONG = re.compile(rf"(?<!\S)-?(?=[0-9.]{{{COMPUTED_DIGITS + 1}}})([0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?)(?!\S)")
"""A number with a fraction in the text of a value, between spaces."""
_STRING_OR_LONG = re.compile(
    r'"uvs": \[(?:\[[^\[\]]*\](?:, )?)*\]|"(?:[^"\\]|\\.)*"'
    rf"|-?(?=[0-9.]{{{COMPUTED_DIGITS + 1}}})[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?"
)
"""A string, or a number with a fraction, in JSON; texture coordinates are not computed, and like a string."""


def given_numbers(documents: Iterable[object]) -> GivenNumbers:
    """The numbers in the texts of documents with more than 13 digits."""
    found: dict[float, float] = {}
    for document in documents:
        if not isinstance(document, Document):
            continue
        try:
            text = document.text
        except (encoding.UnknownEncodingError, UnicodeDecodeError):
            continue  # nothing was read from it
        if _DIGITS_OF_LONG not in text.translate(_DIGITS):
            continue  # equal bytes are found ten times faster than a pattern
        for number in _GIVEN.finditer(text):
            try:
                value = float(number[0])
            except ValueError:  # dots of a version or a name
                continue
            found[value] = value
    return {_shortened(value): value for value in sorted(found, reverse=True)} | found


def _shortened(value: float) -> float:
    return float(f"{value:.{COMPUTED_DIGITS}g}")


def round_computed(value: float, given: GivenNumbers) -> float:
    """A number, rounded unless it is given."""
    known = _as_given(value, given)
    return _shortened(value) if known is None else known


_ROUNDING_ERRORS = 4
"""How many units in the last place a given number may be off after a computation that gives it again."""


def _as_given(value: float, given: GivenNumbers) -> float | None:
    """The given number that a computed one is, up to its rounding errors."""
    if not given or (abs(value) in given and given[abs(value)] == abs(value)):
        return value if given else None
    short = _shortened(abs(value))
    known = given.get(short)
    if known is None or short == abs(value) or abs(known - abs(value)) > _ROUNDING_ERRORS * ulp(known):
        return None
    return copysign(known, value)


def given_values(values: Iterable[float], given: GivenNumbers) -> tuple[float, ...] | None:
    """Computed numbers as they are given, up to rounding errors; None unless all of them are."""
    found: list[float] = []
    for value in values:
        known = value if _LONG.fullmatch(repr(value)) is None else _as_given(value, given)
        if known is None:
            return None
        found.append(known)
    return tuple(found)


def round_value(value: Any, given: GivenNumbers) -> Any:
    """A value of a scene, a list or a dict of such values, with its numbers rounded unless they are given."""
    if isinstance(value, float):
        return round_computed(value, given)
    if isinstance(value, tuple | list):
        return type(value)([round_value(one, given) for one in value])
    if isinstance(value, dict):
        return {key: round_value(one, given) for key, one in value.items()}
    return value


def round_vector(values: Sequence[float], given: GivenNumbers) -> list[float]:
    """The components of a vector or tensor; those that are not given are rounded to the 13th digit of the largest.

    A component that is small beside the others is what is left of larger numbers, with their absolute error, unless
    it has few digits: then it is not the result of a computation.
    """
    size = max(map(abs, values), default=0.0)
    if not 0.0 < size < inf:
        return list(values)
    decimals = COMPUTED_DIGITS - 1 - decimal_exponent(size)
    rounded: list[float] = []
    for value in values:
        short = round(value, decimals) + 0.0
        if short != value:
            is_stated = abs(value) > NOISE * size and _LONG.fullmatch(repr(value)) is None
            known = value if is_stated else _as_given(value, given)
            short = short if known is None else known
        rounded.append(short)
    return rounded


_JSON_NUMBER = "-?[0-9][-+0-9.eE]*"
_JSON_VECTOR = re.compile(rf'("(?:position|angles|wxyz|com|moment)": ?\[)({_JSON_NUMBER}(?:, ?{_JSON_NUMBER})*)\]')
"""A vector, rotation or tensor in JSON; quotation marks inside strings are escaped, so that none is in a string."""


def round_json(text: str, given: GivenNumbers) -> str:
    """A JSON text with its numbers rounded unless they are given; strings stay as they are."""

    def rounded(found: re.Match[str]) -> str:
        return found[0] if found[0][0] == '"' else repr(round_computed(float(found[0]), given))

    def rounded_vector(found: re.Match[str]) -> str:
        values = [float(token) for token in found[2].split(",")]
        return found[1] + ", ".join(map(repr, round_vector(values, given))) + "]"

    return _STRING_OR_LONG.sub(rounded, _JSON_VECTOR.sub(rounded_vector, text))


_VECTORS = {
    **dict.fromkeys(("xyz", "rpy", "pos", "axis", "euler", "anchor", "gravity", "offset", "normal"), (3,)),
    **dict.fromkeys(("vertex", "pose", "transformation"), (3,)),
    "quat": (4,),
    "fullinertia": (6,),
    "fromto": (6,),
    "relpose": (3, 4),
}
"""Texts and attributes with vectors, one after the other: the numbers of components."""
_COMPONENTS = (
    frozenset("xyzw"),
    frozenset(("ixx", "iyy", "izz", "ixy", "ixz", "iyz")),
    frozenset(f"m{i}{j}" for i in range(4) for j in range(4)),
)
"""Components of a vector or tensor in attributes or elements of their own."""


_EXACT = frozenset({"texcoord"})
"""Attributes with numbers that are not computed: texture coordinates, which MuJoCo counts from the other end."""


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
            text = _round_vectors(element.tag, element.text, given)
            element.text = _LONG.sub(rounded, text)
        if element.children:
            _round_moments(element, given)
        attributes = element.attributes
        if not attributes or max(map(len, attributes.values())) <= COMPUTED_DIGITS:
            continue  # most values are short
        _round_components(element, given)
        for name, value in attributes.items():
            if len(value) > COMPUTED_DIGITS and name not in _EXACT:
                text = _round_vectors(name, value, given)
                attributes[name] = _LONG.sub(rounded, text)


def _round_vectors(name: str, text: str, given: GivenNumbers) -> str:
    """A text with one or several vectors, if that is what the name says."""
    sizes = _VECTORS.get(name)
    if sizes is None or _LONG.search(text) is None:
        return text
    tokens = text.split()
    found: list[str] = []
    for size in cycle(sizes):
        part = tokens[len(found) : len(found) + size]
        if not part:
            return " ".join(found)
        found += _round_tokens(part, given)
    return text


def _round_components(element: Markup, given: GivenNumbers) -> None:
    """Round a vector or tensor whose components are attributes."""
    if len(element.attributes) > 1:
        for names in _COMPONENTS:
            chosen = [name for name in element.attributes if name in names]
            if len(chosen) > 1:
                texts = _round_tokens([element.attributes[name] for name in chosen], given)
                element.attributes.update(zip(chosen, texts, strict=True))


def _round_moments(element: Markup, given: GivenNumbers) -> None:
    """Round a moment of inertia whose components are elements of their own."""
    moments = [child for child in element.children if child.tag in _COMPONENTS[1]]
    if not moments:
        return
    for child, text in zip(moments, _round_tokens([child.text for child in moments], given), strict=True):
        child.text = text


def _round_tokens(tokens: list[str], given: GivenNumbers) -> list[str]:
    """The texts of the components of a vector; short ones stay as they are."""
    if not any(map(_LONG.fullmatch, tokens)):
        return tokens
    try:
        values = [float(token) for token in tokens]
    except ValueError:  # no vector
        return tokens
    return [
        token if short == value or _LONG.fullmatch(token) is None else format_number(short)
        for token, value, short in zip(tokens, values, round_vector(values, given), strict=True)
    ]
