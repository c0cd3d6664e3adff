"""Parsing numbers: decimal numbers as in SKEL and XODE, and the prefix that C's `strtod` reads."""

from __future__ import annotations

import re
from math import inf, isfinite, nan

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
