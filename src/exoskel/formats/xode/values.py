"""The kinds of value in XODE, all of them attributes."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from typing import Any

from exoskel.source import numbers
from exoskel.source.vocabulary import ABSENT, Finding, Outcome, Text, ValueType

_WHITESPACE = " \t\r\n"
_INFINITE = r"[+-]?([iI][nN][fF]|[iI][nN][fF][iI][nN][iI][tT][yY])"


class Float(ValueType):
    """A decimal number.  `infinite` allows infinities; `positive` requires a number greater than zero."""

    def __init__(self, name: str, *, infinite: bool = False, positive: bool = False) -> None:
        extra = ", greater than 0" if positive else ", or `inf`" if infinite else ""
        meaning = f"a decimal number{extra}"
        if positive:
            super().__init__(name, meaning, base="xs:double", pattern=numbers.DECIMAL, above="0")
        else:
            number = f"({numbers.DECIMAL}|{_INFINITE})" if infinite else numbers.DECIMAL
            super().__init__(name, meaning, pattern=rf"\s*{number}\s*")
        self.infinite = infinite
        self.positive = positive

    def parse_valid(self, text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            return None
        if not isfinite(value) or "_" in text or not text.isascii():
            return None
        return None if self.positive and value <= 0.0 else value

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_WHITESPACE)
        value = numbers.parse_decimal(token)
        if value is not None:
            return Outcome(ABSENT, (_finding("X306", token),))
        limit = numbers.parse_infinity(token)
        if limit is not None and self.infinite:
            return Outcome(limit)
        if limit is not None or numbers.is_nan(token) or numbers.overflows(token):
            return Outcome(ABSENT, (_finding("X303", token),))
        return Outcome(ABSENT, (_finding("X302", token),))


class Integer(ValueType):
    """An integer; one written with a zero fraction is accepted."""

    def parse_valid(self, text: str) -> int | None:
        token = text.strip(_WHITESPACE)
        return int(token) if re.fullmatch(r"[+-]?[0-9]{1,18}", token) else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_WHITESPACE)
        value = numbers.parse_decimal(token)
        if value is not None and value == int(value) and abs(value) < 2**53:
            whole = int(value)
            return Outcome(whole, (_finding("X304.float", token, whole=whole),))
        return Outcome(ABSENT, (_finding("X304", token),))


class XodeChoice(Integer):
    """One of a few integers.  `odd` interprets other texts; by default they are errors."""

    def __init__(self, name: str, choices: tuple[int, ...], odd: Callable[[str], Outcome] | None = None) -> None:
        words = tuple(map(str, choices))
        super().__init__(name, "one of " + ", ".join(words), base="xs:integer", enumeration=words)
        self.choices = choices
        self.odd = odd

    def parse_valid(self, text: str) -> int | None:
        value = super().parse_valid(text)
        return value if value in self.choices else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_WHITESPACE)
        if self.odd is not None and (outcome := self.odd(token)).value is not ABSENT:
            return outcome
        value = Integer.parse_valid(self, text)
        if value is None:
            outcome = super().examine(text, literal)
            if outcome.value is ABSENT or outcome.value in self.choices:
                return outcome
        return Outcome(ABSENT, (_finding("X307", token, choices=", ".join(map(str, self.choices))),))


def _odd_gravity_mode(token: str) -> Outcome:
    """Accept `true` and `false`, and integers other than 0 and 1, which PyODE reads as 1."""
    word = {"true": 1, "false": 0}.get(token.lower())
    if word is None and re.fullmatch(r"[+-]?[0-9]{1,18}", token):
        word = 1
    return Outcome() if word is None else Outcome(word, (_finding("X307.gravity", token, meant=word),))


_TRUTH = {"true": True, "false": False, "1": True, "0": False}


class XodeBoolean(ValueType):
    """`true` or `false`."""

    def __init__(self) -> None:
        super().__init__("bool", "`true` or `false`", enumeration=("true", "false"))

    def parse_valid(self, text: str) -> bool | None:
        return {"true": True, "false": False}.get(text)

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_WHITESPACE)
        value = _TRUTH.get(token.lower())
        if value is None:
            return Outcome(ABSENT, (_finding("X305", token),))
        return Outcome(value, (_finding("X305.spelling", token, word="true" if value else "false"),))


class AngleFormat(ValueType):
    """`radians` or `degrees`, case-insensitive."""

    def __init__(self) -> None:
        pattern = r"\s*([rR][aA][dD][iI][aA][nN][sS]|[dD][eE][gG][rR][eE][eE][sS])\s*"
        super().__init__("angle format", "`radians` or `degrees`", pattern=pattern)

    def parse_valid(self, text: str) -> str | None:
        word = text.strip(_WHITESPACE).lower()
        return word if word in ("radians", "degrees") else None

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (_finding("X307", text.strip(_WHITESPACE), choices="radians, degrees"),))


class XodeName(ValueType):
    """Any text that is not empty."""

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(name, meaning, pattern=r"[\s\S]+")

    def parse_valid(self, text: str) -> str | None:
        return text or None

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (Finding("X209"),))


class BodyName(XodeName):
    """The name of a body; an empty one counts as absent, which the joint reader reports."""

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT)


def _finding(key: str, token: str, **details: Any) -> Finding:
    return Finding(key, token, {"value": token, **details})


FLOAT = Float("float")
STOP = Float("stop", infinite=True)
POSITIVE = Float("positive float", positive=True)
INTEGER = Integer("int", "an integer", base="xs:integer")
FLAG = XodeChoice("gravity mode", (0, 1), _odd_gravity_mode)
MODE = XodeChoice("rotation mode", (0, 1))
BOOLEAN = XodeBoolean()
ANGLE_FORMAT = AngleFormat()
NAME = XodeName("name", "any text")
BODY = BodyName("body name", "the name of a body")
TEXT = Text("text", "any text")
VERSION_PATTERN = r"1\.[0-9]+(r[0-9]+)?"
VERSION = Text("version", "such as `1.0r22`", pattern=VERSION_PATTERN)
"""Any text; the reader checks whether it is a version."""
