"""The kinds of attribute values in URDF."""

from __future__ import annotations

from typing import Any

from exoskel.source import numbers
from exoskel.source.vocabulary import ABSENT, Finding, Kind, Outcome, Text

_SPACE = " \t\r\n"


class Real(Kind):
    """A finite decimal number."""

    def __init__(self) -> None:
        super().__init__("number", "a decimal number", pattern=rf"\s*{numbers.DECIMAL}\s*")

    def parse_valid(self, text: str) -> float | None:
        return numbers.parse_decimal(text.strip(_SPACE))

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (_number_finding(text.strip(_SPACE)),))


class NumberRow(Kind):
    """A fixed number of numbers, separated by spaces."""

    def __init__(self, name: str, count: int) -> None:
        more = rf"(\s+{numbers.DECIMAL}){{{count - 1}}}"
        meaning = f"{count} decimal numbers, separated by spaces"
        super().__init__(name, meaning, pattern=rf"\s*{numbers.DECIMAL}{more}\s*")
        self.count = count

    def parse_valid(self, text: str) -> tuple[float, ...] | None:
        values = [numbers.parse_decimal(token) for token in text.split()]
        found = tuple(value for value in values if value is not None)
        return found if len(found) == len(values) == self.count else None

    def examine(self, text: str, literal: bool) -> Outcome:
        tokens = text.split()
        wrong = next((token for token in tokens if numbers.parse_decimal(token) is None), None)
        if wrong is not None:
            return Outcome(ABSENT, (_number_finding(wrong),))
        return Outcome(ABSENT, (_finding("UR203", text.strip(_SPACE), wanted=self.count, found=len(tokens)),))


class Choice(Kind):
    """One of a few texts."""

    def __init__(self, name: str, choices: tuple[str, ...]) -> None:
        super().__init__(name, "one of " + ", ".join(f"`{word}`" for word in choices), enumeration=choices)
        self.choices = choices

    def parse_valid(self, text: str) -> str | None:
        return text if text in self.choices else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_SPACE)
        return Outcome(ABSENT, (_finding("UR204", token, choices=", ".join(self.choices)),))


class Name(Kind):
    """Any text that is not empty."""

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(name, meaning, pattern=r"[\s\S]*\S[\s\S]*")

    def parse_valid(self, text: str) -> str | None:
        return text if text.strip(_SPACE) else None

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (Finding("UR205"),))


def _number_finding(token: str) -> Finding:
    is_not_finite = numbers.parse_infinity(token) is not None or numbers.is_nan(token) or numbers.overflows(token)
    return _finding("UR202" if is_not_finite else "UR201", token)


def _finding(key: str, token: str, **details: Any) -> Finding:
    return Finding(key, token, {"value": token, **details})


JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")

REAL = Real()
VECTOR = NumberRow("vector", 3)
RGBA = NumberRow("colour", 4)
NAME = Name("name", "any text")
LINK = Name("link name", "the name of a link")
FILE = Name("file", "a path or URI, for example `package://NAME/…`")
JOINT_TYPE = Choice("joint type", JOINT_TYPES)
TEXT = Text("text", "any text")
