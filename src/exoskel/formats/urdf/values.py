"""The kinds of value in URDF, all of them attributes."""

from __future__ import annotations

from typing import Any

from exoskel.source import numbers
from exoskel.source.vocabulary import ABSENT, Finding, Kind, Outcome, SchemaType

_BLANK = " \t\r\n"


class Real(Kind):
    """A finite decimal number."""

    def __init__(self, name: str = "number") -> None:
        super().__init__(name, "a decimal number")

    def clean(self, text: str) -> float | None:
        return numbers.parse_decimal(text.strip(_BLANK))

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (_wrong_number(text.strip(_BLANK)),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=rf"\s*{numbers.DECIMAL}\s*")

    def example(self) -> str:
        return "0.5"


class NumberRow(Kind):
    """Some numbers with blanks between them."""

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, f"{count} decimal numbers, separated by blanks")
        self.count = count

    def clean(self, text: str) -> tuple[float, ...] | None:
        values = [numbers.parse_decimal(token) for token in text.split()]
        found = tuple(value for value in values if value is not None)
        return found if len(found) == len(values) == self.count else None

    def examine(self, text: str, literal: bool) -> Outcome:
        tokens = text.split()
        wrong = next((token for token in tokens if numbers.parse_decimal(token) is None), None)
        if wrong is not None:
            return Outcome(ABSENT, (_wrong_number(wrong),))
        return Outcome(ABSENT, (_finding("UR203", text.strip(_BLANK), wanted=self.count, found=len(tokens)),))

    def schema_type(self) -> SchemaType:
        more = rf"(\s+{numbers.DECIMAL}){{{self.count - 1}}}"
        return SchemaType(self.name, pattern=rf"\s*{numbers.DECIMAL}{more}\s*")

    def example(self) -> str:
        return " ".join(["0"] * (self.count - 1) + ["1"])


class Word(Kind):
    """One of a few words."""

    def __init__(self, name: str, words: tuple[str, ...]) -> None:
        super().__init__(name, "one of " + ", ".join(f"`{word}`" for word in words))
        self.words = words

    def clean(self, text: str) -> str | None:
        return text if text in self.words else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_BLANK)
        return Outcome(ABSENT, (_finding("UR204", token, choices=", ".join(self.words)),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, enumeration=self.words)

    def example(self) -> str:
        return self.words[0]


class Name(Kind):
    """Any text but none at all."""

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(name, meaning)

    def clean(self, text: str) -> str | None:
        return text if text.strip(_BLANK) else None

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (Finding("UR205"),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=r"[\s\S]*\S[\s\S]*")

    def example(self) -> str:
        return "arm"


class Text(Kind):
    """Any text, also none."""

    def __init__(self) -> None:
        super().__init__("text", "any text")

    def clean(self, text: str) -> str:
        return text

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name)

    def example(self) -> str:
        return "…"


def _wrong_number(token: str) -> Finding:
    strange = numbers.parse_infinity(token) is not None or numbers.is_nan(token) or numbers.overflows(token)
    return _finding("UR202" if strange else "UR201", token)


def _finding(key: str, token: str, **details: Any) -> Finding:
    return Finding(key, token, {"value": token, **details})


JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")

REAL = Real()
VECTOR = NumberRow("vector", 3)
RGBA = NumberRow("colour", 4)
NAME = Name("name", "any text")
LINK = Name("link name", "the name of a link")
FILE = Name("file", "a path or URI, `package://NAME/…` among them")
JOINT_TYPE = Word("joint type", JOINT_TYPES)
TEXT = Text()
