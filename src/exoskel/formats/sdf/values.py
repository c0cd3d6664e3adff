"""The kinds of value in SDFormat: how text is parsed, and the findings for invalid text."""

from __future__ import annotations

import re
from math import inf, isfinite
from typing import Any

from exoskel.diagnostics import did_you_mean
from exoskel.source import numbers
from exoskel.source.vocabulary import ABSENT, Finding, Kind, Outcome, SchemaType

_SPACE = " \t\r\n"
_SPACES = re.compile(r"[ \t\r\n]+")
_NUMBER = numbers.DECIMAL

UNBOUNDED = 1e16
"""The number for an infinite limit in SDFormat up to 1.8; readers still support it."""


def tokens(text: str) -> list[str]:
    return _SPACES.split(text.strip(_SPACE))


def number(token: str, infinite: bool = False) -> float | Finding:
    """Parse a token as a number; returns a finding if it is invalid."""
    value = numbers.parse_decimal(token)
    if value is not None:
        return value
    limit = numbers.parse_infinity(token)
    if limit is not None and infinite:
        return limit
    if limit is not None or numbers.is_nan(token) or numbers.overflows(token):
        return Finding("SD022", token)
    return Finding("SD020", token)


class Real(Kind):
    """One number; `infinite` also allows infinity, for limits."""

    def __init__(self, name: str = "real", infinite: bool = False) -> None:
        super().__init__(name, "a decimal number" + (", or `inf`" if infinite else ""))
        self.infinite = infinite

    def parse_valid(self, text: str) -> float | None:
        found = number(text.strip(_SPACE), self.infinite)
        return found if isinstance(found, float) else None

    def examine(self, text: str, literal: bool) -> Outcome:
        found = number(text.strip(_SPACE), self.infinite)
        return Outcome(ABSENT, (found,)) if isinstance(found, Finding) else Outcome(found)

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=rf"\s*({_NUMBER}|[+-]?inf)\s*" if self.infinite else rf"\s*{_NUMBER}\s*")

    def example(self) -> str:
        return "0.5"


class Reals(Kind):
    """Several numbers; `counts` are the allowed counts."""

    def __init__(self, name: str, meaning: str, *counts: int) -> None:
        super().__init__(name, meaning)
        self.counts = counts

    def parse_valid(self, text: str) -> Any:
        outcome = self.examine(text, literal=False)
        return None if outcome.findings else outcome.value

    def examine(self, text: str, literal: bool) -> Outcome:
        found = [number(token) for token in tokens(text)]
        wrong = tuple(one for one in found if isinstance(one, Finding))
        if wrong:
            return Outcome(ABSENT, wrong)
        if len(found) not in self.counts:
            expected = " or ".join(map(str, self.counts))
            return Outcome(ABSENT, (Finding("SD021", text.strip(_SPACE), {"found": len(found), "expected": expected}),))
        return Outcome(tuple(found))

    def schema_type(self) -> SchemaType:
        least, most = min(self.counts) - 1, max(self.counts) - 1
        return SchemaType(self.name, pattern=rf"\s*{_NUMBER}(\s+{_NUMBER}){{{least},{most}}}\s*")

    def example(self) -> str:
        return " ".join(["0"] * self.counts[0])


_TRUTH = {"true": True, "1": True, "false": False, "0": False}


class Boolean(Kind):
    """A boolean."""

    def __init__(self) -> None:
        super().__init__("boolean", "`true` or `false`, also `1` or `0`")

    def parse_valid(self, text: str) -> bool | None:
        return _TRUTH.get(text.strip(_SPACE).lower())

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (Finding("SD023", text.strip(_SPACE)),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=r"\s*([tT]rue|[fF]alse|1|0)\s*")

    def example(self) -> str:
        return "true"


class Text(Kind):
    """A text without surrounding spaces: a name or a reference."""

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(name, meaning)

    def parse_valid(self, text: str) -> str | None:
        return text.strip(_SPACE) or None

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (Finding("SD016.blank", ""),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=r"\s*\S[\s\S]*")

    def example(self) -> str:
        return "arm"


class OptionalText(Text):
    """A reference that may be empty, which means that it is absent."""

    def parse_valid(self, text: str) -> str | None:
        return text.strip(_SPACE)

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name)


class Choice(Kind):
    """One of a few texts."""

    def __init__(self, name: str, meaning: str, choices: tuple[str, ...]) -> None:
        super().__init__(name, meaning)
        self.choices = choices

    def parse_valid(self, text: str) -> str | None:
        token = text.strip(_SPACE)
        return token if token in self.choices else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_SPACE)
        details = {"allowed": list(self.choices), "suggestion": did_you_mean(token, self.choices)}
        return Outcome(ABSENT, (Finding("SD024", token, details),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, enumeration=self.choices)

    def example(self) -> str:
        return self.choices[0]


class Mask(Kind):
    """A bit mask, decimal or hexadecimal."""

    def __init__(self) -> None:
        super().__init__("mask", "an unsigned number, decimal or `0x…`")

    def parse_valid(self, text: str) -> int | None:
        try:
            value = int(text.strip(_SPACE), 0)
        except ValueError:
            return None
        return value if value >= 0 else None

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (Finding("SD020", text.strip(_SPACE)),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=r"\s*(0[xX][0-9a-fA-F]+|[0-9]+)\s*")

    def example(self) -> str:
        return "0xffff"


def finite_or_infinite(value: float) -> float:
    """A limit, with numbers of 1e16 and more as infinity."""
    return value if isfinite(value) and abs(value) < UNBOUNDED else inf if value > 0.0 else -inf


REAL = Real()
LIMIT = Real("limit", infinite=True)
VECTOR = Reals("vector", "three numbers", 3)
PAIR = Reals("pair", "two numbers", 2)
COLOR = Reals("color", "red, green, blue and optionally alpha, from 0 to 1", 3, 4)
POSE_EULER = Reals("pose", "`x y z roll pitch yaw`: m and rad", 6)
POSE_QUATERNION = Reals("pose", "`x y z qx qy qz qw`", 7)
BOOLEAN = Boolean()
NAME = Text("name", "a name; `::` and the form `__name__` are reserved")
REFERENCE = OptionalText("reference", "the name of a frame, link, joint or model; `a::b` is `b` in `a`")
URI = Text("uri", "a file relative to this document, or a `model:`, `package:` or `file:` URI")
VERSION = Text("version", "a version such as 1.6")
TEXT = OptionalText("text", "any text")
MASK = Mask()
ROTATION_FORMAT = Choice("rotation format", "the representation of the rotation", ("euler_rpy", "quat_xyzw"))
AXIS_NAME = Choice("axis name", "which axis of a joint", ("axis", "axis2"))
JOINT_TYPES = (
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "ball",
    "universal",
    "screw",
    "revolute2",
    "gearbox",
)
JOINT_TYPE = Choice("joint type", "a joint type", JOINT_TYPES)
