"""The kinds of value in SDFormat: how text is parsed, and the findings for invalid text."""

from __future__ import annotations

import re
from math import inf, isfinite
from typing import Any

from exoskel.diagnostics import did_you_mean
from exoskel.scene.joint import JointKind
from exoskel.source import numbers
from exoskel.source.vocabulary import ABSENT, Finding, Outcome, Text, ValueType

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


class SdfReal(ValueType):
    """One number; `infinite` also allows infinity, for limits."""

    def __init__(self, name: str = "real", infinite: bool = False) -> None:
        pattern = rf"\s*({_NUMBER}|[+-]?inf)\s*" if infinite else rf"\s*{_NUMBER}\s*"
        super().__init__(name, "a decimal number" + (", or `inf`" if infinite else ""), pattern=pattern)
        self.infinite = infinite

    def parse_valid(self, text: str) -> float | None:
        found = number(text.strip(_SPACE), self.infinite)
        return found if isinstance(found, float) else None

    def examine(self, text: str, literal: bool) -> Outcome:
        found = number(text.strip(_SPACE), self.infinite)
        return Outcome(ABSENT, (found,)) if isinstance(found, Finding) else Outcome(found)


class SdfReals(ValueType):
    """Several numbers; `counts` are the allowed counts."""

    def __init__(self, name: str, meaning: str, *counts: int) -> None:
        least, most = min(counts) - 1, max(counts) - 1
        super().__init__(name, meaning, pattern=rf"\s*{_NUMBER}(\s+{_NUMBER}){{{least},{most}}}\s*")
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


_TRUTH = {"true": True, "1": True, "false": False, "0": False}


class SdfBoolean(ValueType):
    """A boolean."""

    def __init__(self) -> None:
        super().__init__("boolean", "`true` or `false`, also `1` or `0`", pattern=r"\s*([tT]rue|[fF]alse|1|0)\s*")

    def parse_valid(self, text: str) -> bool | None:
        return _TRUTH.get(text.strip(_SPACE).lower())

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (Finding("SD023", text.strip(_SPACE)),))


class OptionalText(Text):
    """A text without surrounding spaces, for example a reference; an empty one counts as absent."""

    def parse_valid(self, text: str) -> str:
        return text.strip(_SPACE)


class RequiredText(ValueType):
    """A text without surrounding spaces: a name or a reference."""

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(name, meaning, pattern=r"\s*\S[\s\S]*")

    def parse_valid(self, text: str) -> str | None:
        return text.strip(_SPACE) or None

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (Finding("SD016.blank", ""),))


class SdfChoice(ValueType):
    """One of a few texts."""

    def __init__(self, name: str, meaning: str, choices: tuple[str, ...]) -> None:
        super().__init__(name, meaning, enumeration=choices)
        self.choices = choices

    def parse_valid(self, text: str) -> str | None:
        token = text.strip(_SPACE)
        return token if token in self.choices else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_SPACE)
        details = {"allowed": list(self.choices), "suggestion": did_you_mean(token, self.choices)}
        return Outcome(ABSENT, (Finding("SD024", token, details),))


class Bitmask(ValueType):
    """A bit mask, decimal or hexadecimal."""

    def __init__(self) -> None:
        pattern = r"\s*(0[xX][0-9a-fA-F]+|[0-9]+)\s*"
        super().__init__("mask", "an unsigned number, decimal or `0x…`", pattern=pattern)

    def parse_valid(self, text: str) -> int | None:
        try:
            value = int(text.strip(_SPACE), 0)
        except ValueError:
            return None
        return value if value >= 0 else None

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (Finding("SD020", text.strip(_SPACE)),))


def finite_or_infinite(value: float) -> float:
    """A limit, with numbers of 1e16 and more as infinity."""
    return value if isfinite(value) and abs(value) < UNBOUNDED else inf if value > 0.0 else -inf


REAL = SdfReal()
LIMIT = SdfReal("limit", infinite=True)
VECTOR = SdfReals("vector", "three numbers", 3)
PAIR = SdfReals("pair", "two numbers", 2)
COLOR = SdfReals("color", "red, green, blue and optionally alpha, from 0 to 1", 3, 4)
POSE_EULER = SdfReals("pose", "`x y z roll pitch yaw`: m and rad", 6)
POSE_QUATERNION = SdfReals("pose", "`x y z qx qy qz qw`", 7)
BOOLEAN = SdfBoolean()
NAME = RequiredText("name", "a name; `::` and the form `__name__` are reserved")
LINK_NAME = RequiredText("link name", "the name of a link or frame; `a::b` is `b` in `a`")
REFERENCE = OptionalText("reference", "the name of a frame, link, joint or model; `a::b` is `b` in `a`")
URI = RequiredText("uri", "a file relative to this document, or a `model:`, `package:` or `file:` URI")
VERSION = RequiredText("version", "a version such as 1.6")
TEXT = OptionalText("text", "any text")
MASK = Bitmask()
ROTATION_FORMAT = SdfChoice("rotation format", "the representation of the rotation", ("euler_rpy", "quat_xyzw"))
AXIS_NAME = SdfChoice("axis name", "which axis of a joint", ("axis", "axis2"))
JOINT_KINDS: dict[str, JointKind] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "weld",
    "ball": "ball",
    "universal": "universal",
    "screw": "screw",
    "revolute2": "hinge2",
}
"""The joint kinds of SDFormat's supported joint types; of several types with the same kind, the first is written."""
JOINT_TYPE = SdfChoice("joint type", "a joint type", (*JOINT_KINDS, "gearbox"))


def is_zero(text: str) -> bool:
    """Whether all of some numbers are zero."""
    return all(numbers.parse_decimal(one) == 0.0 for one in text.split())
