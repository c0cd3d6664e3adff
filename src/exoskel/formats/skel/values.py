"""The kinds of value in SKEL: how text is read, what is tolerated, and what DART reads instead."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, get_args

from exoskel.diagnostics import did_you_mean
from exoskel.scene.joint import PLANES, TRAITS, JointActuator
from exoskel.scene.pose import NO_ROTATION, Euler, Pose
from exoskel.scene.world import COLLISION_DETECTORS
from exoskel.source import numbers
from exoskel.source.vocabulary import ABSENT, Finding, Outcome, Text, ValueType

_WHITESPACE = " \t\r\n"
_WHITESPACE_RUN = re.compile(r"[ \t\r\n]+")
_NOT_EMPTY = r"\s*\S[\s\S]*"
_SEPARATORS = re.compile(r"[ \t\r\n]*,[ \t\r\n]*|[ \t\r\n]+")
_NUMBER = numbers.DECIMAL
_OR_INFINITE = rf"({_NUMBER}|[+-]?([iI][nN][fF]|[iI][nN][fF][iI][nN][iI][tT][yY]))"


def split_tokens(text: str) -> list[str]:
    """Split at whitespace.  Only the four whitespace characters of XML separate; a no-break space does not."""
    return _WHITESPACE_RUN.split(text.strip(_WHITESPACE))


def _is_plain_ascii(text: str) -> bool:
    """Whether `text` is ASCII without underscores, so that Python parses numbers in it as SKEL does."""
    return text.isascii() and "_" not in text


def _all_finite(values: tuple[float, ...]) -> bool:
    """Whether all values are finite.  The sum is a fast test; it may overflow although all are finite."""
    return isfinite(sum(values)) or all(map(isfinite, values))


def _parse_number(token: str, infinite: bool = False) -> tuple[float | None, Finding | None]:
    """Parse a token as a number; returns the value or the problem."""
    value = numbers.parse_decimal(token)
    if value is not None:
        return value, None
    limit = numbers.parse_infinity(token)
    if limit is not None and infinite:
        return limit, None
    if limit is not None or numbers.is_nan(token):
        return None, Finding("SK026", token)
    if numbers.overflows(token):
        return None, Finding("SK026.overflow", token)
    if leading := numbers.leading_number(token):
        return None, Finding("SK023", token, {"leading": leading})
    return None, Finding("SK022", token)


def _parse_like_dart(token: str) -> float | None:
    """The number that DART reads from a token with `strtod`; None on overflow, where DART throws."""
    return None if numbers.overflows(token) else numbers.parse_c_prefix(token)


def _leading_value(token: str) -> float:
    """The number at the start of a token of numbers and commas."""
    return numbers.parse_c_prefix(token) or 0.0


class SkelReal(ValueType):
    """One real number; `infinite` allows infinities, as for limits."""

    def __init__(self, name: str = "real", infinite: bool = False) -> None:
        number = _OR_INFINITE if infinite else _NUMBER
        super().__init__(name, "a decimal number" + (", or `inf`" if infinite else ""), pattern=rf"\s*{number}\s*")
        self.infinite = infinite

    def parse_valid(self, text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            return None
        return value if isfinite(value) and _is_plain_ascii(text) else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_WHITESPACE)
        value, finding = _parse_number(token, self.infinite)
        if finding is None:
            return Outcome(value)
        if literal:
            value = _parse_like_dart(token)
        return Outcome(ABSENT if value is None else value, (finding,))


class SkelReals(ValueType):
    """Several real numbers.  `counts` are the allowed counts (None: any)."""

    def __init__(self, name: str, meaning: str, counts: tuple[int, ...] | None) -> None:
        repeat = "*" if counts is None else f"{{{min(counts) - 1},{max(counts) - 1}}}"
        super().__init__(name, meaning, pattern=rf"\s*{_NUMBER}(\s+{_NUMBER}){repeat}\s*")
        self.counts = counts

    def parse_valid(self, text: str) -> Any:
        parts = text.split()
        if self.counts is not None and len(parts) not in self.counts:
            return None
        try:
            values = tuple(map(float, parts))
        except ValueError:
            return None
        if not (_all_finite(values) and _is_plain_ascii(text)) or self.first_out_of_range(values):
            return None
        return self.build_value(values)

    def build_value(self, values: tuple[float, ...]) -> Any:
        """The scene value built from the numbers."""
        return values

    def first_out_of_range(self, values: tuple[float, ...]) -> int | None:
        """The 1-based position of the first number that is out of range, or None."""

    def dart_value_with_commas(self, values: tuple[float, ...]) -> Any:
        """The value that DART reads from numbers separated by commas.

        None if DART reads uninitialised memory, so that no value is defined.
        """

    def examine(self, text: str, literal: bool) -> Outcome:
        stripped = text.strip(_WHITESPACE)
        parts = split_tokens(text)
        findings: list[Finding] = []
        if "," in stripped and (split := self._without_commas(stripped)):
            findings.append(Finding("SK025", stripped))
            if literal and (seen := self.dart_value_with_commas(tuple(map(_leading_value, parts)))) is not None:
                return Outcome(seen, tuple(findings))
            parts = split
        values: list[float] = []
        for part in parts:
            value, finding = _parse_number(part)
            if finding is not None:
                findings.append(finding)
                value = _parse_like_dart(part) if literal else None
            if value is not None:
                values.append(value)
        if len(values) < len(parts):
            return Outcome(ABSENT, tuple(findings))
        return self.check_count(stripped, tuple(values), findings, literal)

    def _without_commas(self, stripped: str) -> list[str]:
        """The tokens separated by spaces and commas, if all are numbers and their count is right; else empty."""
        split = [part for part in _SEPARATORS.split(stripped) if part]
        fits = self.counts is None or len(split) in self.counts
        return split if fits and all(numbers.parse_decimal(part) is not None for part in split) else []

    def check_count(self, stripped: str, values: tuple[float, ...], findings: list[Finding], literal: bool) -> Outcome:
        if self.counts is not None and len(values) not in self.counts:
            return Outcome(ABSENT, (*findings, self.count_finding(stripped, len(values))))
        if at := self.first_out_of_range(values):
            separated = [part for part in _SEPARATORS.split(stripped) if part]  # commas are accepted as separators
            findings.append(Finding("SK067.range", separated[at - 1]))
        return Outcome(self.build_value(values), tuple(findings))

    def count_finding(self, stripped: str, found: int) -> Finding:
        return Finding("SK024", stripped, {"found": found, "expected": (self.counts or (0,))[0]})


NOT_FINITE = Pose()
"""The value of a transformation with a number that is not finite: an object of its own, equal to the identity."""


class Transformation(SkelReals):
    """Translation in metres, then intrinsic XYZ Euler angles in radians."""

    def __init__(self) -> None:
        meaning = "`x y z a b c`: a translation in m, then intrinsic X-Y-Z Euler angles in rad"
        super().__init__("transformation", meaning, (6,))

    def build_value(self, values: tuple[float, ...]) -> Pose:
        x, y, z, a, b, c = values
        if not _all_finite(values):  # `place_like_dart` does what DART does
            return NOT_FINITE
        return Pose((x, y, z), Euler((a, b, c)) if a or b or c else NO_ROTATION)

    def dart_value_with_commas(self, values: tuple[float, ...]) -> Pose:
        return self.build_value(values + (0.0,) * (6 - len(values)))

    def check_count(self, stripped: str, values: tuple[float, ...], findings: list[Finding], literal: bool) -> Outcome:
        if len(values) == 3:
            x, y, z = values
            return Outcome(Pose((x, y, z)), (*findings, Finding("SK024.translation", stripped)))
        if literal and len(values) < 6:
            padded = values + (0.0,) * (6 - len(values))
            return Outcome(self.build_value(padded), (*findings, self.count_finding(stripped, len(values))))
        return super().check_count(stripped, values, findings, literal)


class ColorComponents(SkelReals):
    """Red, green, blue and an optional alpha."""

    def __init__(self) -> None:
        super().__init__("color", "3 or 4 decimal numbers from 0 to 1: red, green, blue, alpha", (3, 4))

    def build_value(self, values: tuple[float, ...]) -> tuple[float, float, float, float]:
        red, green, blue, *alpha = values
        return (red, green, blue, alpha[0] if alpha else 1.0)

    def dart_value_with_commas(self, values: tuple[float, ...]) -> Any:
        return self.build_value(values) if len(values) in (3, 4) else ABSENT

    def first_out_of_range(self, values: tuple[float, ...]) -> int | None:
        return next((i for i, value in enumerate(values, 1) if not 0.0 <= value <= 1.0), None)

    def count_finding(self, stripped: str, found: int) -> Finding:
        return Finding("SK067.count", stripped, {"found": found})


_TRUTH = {"1": True, "0": False, "true": True, "false": False}


class SkelBoolean(ValueType):
    """`1`, `0`, `true` or `false`, case-insensitive."""

    def __init__(self) -> None:
        pattern = r"\s*(1|0|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])\s*"
        super().__init__("boolean", "`1`, `0`, `true` or `false`", pattern=pattern)

    def parse_valid(self, text: str) -> bool | None:
        return _TRUTH.get(text.lower())

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_WHITESPACE)
        value = _TRUTH.get(token.lower())
        if value is None:
            return Outcome(False if literal else ABSENT, (Finding("SK027", token),))
        return Outcome(False if literal else value, (Finding("SK028.trimmed", token),))


class Collidable(ValueType):
    """A number used as a flag; DART does not accept `true` and `false` here."""

    def __init__(self) -> None:
        super().__init__("flag", "`0` or `1`", pattern=r"\s*(0|1|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])\s*")

    def parse_valid(self, text: str) -> bool | None:
        return {"0": False, "1": True}.get(text.strip(_WHITESPACE))

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_WHITESPACE)
        word = _TRUTH.get(token.lower())
        if word is not None:
            return Outcome(word, (Finding("SK027.word", token, {"digit": int(word)}),))
        number, finding = _parse_number(token)
        if finding is None:
            return Outcome(number != 0.0, (Finding("SK027.number", token, {"digit": int(number != 0.0)}),))
        if literal and (prefix := _parse_like_dart(token)) is not None:
            return Outcome(prefix != 0.0, (finding,))
        return Outcome(ABSENT, (Finding("SK027", token),))


class Keyword(ValueType):
    """One of a few keywords.

    `unknown` is the key of the diagnostic for any other text.  `literal` is the value that DART uses when the
    text is not exactly one of the keywords (None: DART fails, and the lenient value is used).  With `keep`, an
    unknown keyword becomes the value.
    """

    def __init__(
        self,
        name: str,
        words: tuple[str, ...],
        unknown: str,
        *,
        literal: str | None = None,
        keep: bool = False,
        aliases: dict[str, tuple[str, str]] | None = None,
    ) -> None:
        self.words = words
        self.unknown = unknown
        self.literal = literal
        self.keep = keep
        self.aliases = aliases or {}
        meaning = "one of " + ", ".join(f"`{word}`" for word in words)
        if keep:
            super().__init__(name, meaning)
        else:
            super().__init__(name, meaning, base="xs:token", enumeration=(*words, *self.aliases))

    def parse_valid(self, text: str) -> str | None:
        return text if text in self.words else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_WHITESPACE)
        outcome = self._examine_leniently(text, token)
        if literal and self.literal is not None:
            return Outcome(self.literal, outcome.findings)
        return outcome

    def _examine_leniently(self, text: str, token: str) -> Outcome:
        findings: list[Finding] = []
        if token != text:
            findings.append(Finding("SK028.trimmed", token))
        if token in self.words:
            return Outcome(token, tuple(findings))
        if token in self.aliases:
            meant, key = self.aliases[token]
            return Outcome(meant, (*findings, Finding(key, token, {"meant": meant})))
        if token.lower() in self.words:
            findings.append(Finding("SK028.case", token, {"word": token.lower()}))
            return Outcome(token.lower(), tuple(findings))
        suggestion = did_you_mean(token, self.words) or f"use one of: {', '.join(self.words)}"
        findings.append(Finding(self.unknown, token, {"suggestion": suggestion}))
        return Outcome(token if self.keep else ABSENT, tuple(findings))


class SkelName(ValueType):
    """A name.  Spaces around it are removed, unlike in DART."""

    def parse_valid(self, text: str) -> str | None:
        return text if text and text[0] not in _WHITESPACE and text[-1] not in _WHITESPACE else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_WHITESPACE)
        if not token:
            return Outcome(ABSENT)
        return Outcome(text if literal else token, (Finding("SK028.trimmed", token),))


class Count(ValueType):
    """A positive integer."""

    def __init__(self) -> None:
        super().__init__("count", "a positive integer", base="xs:positiveInteger")

    def parse_valid(self, text: str) -> int | None:
        token = text.strip(_WHITESPACE)
        return int(token) if token.isascii() and token.isdigit() and 0 < len(token) < 10 and int(token) > 0 else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_WHITESPACE)
        prefix = re.match(r"[0-9]{1,9}", token)
        key = "SK023.count" if numbers.parse_c_prefix(token) is not None else "SK022"
        value = int(prefix[0]) if literal and prefix and int(prefix[0]) > 0 else ABSENT
        return Outcome(value, (Finding(key, token),))


_COUNT_LIMIT = 1e9
"""Larger integers are rejected as counts."""


class Fragments(ValueType):
    """Three integers, each at least 3."""

    def __init__(self) -> None:
        meaning = "3 integers of at least 3: vertices along each edge"
        super().__init__("fragments", meaning, pattern=r"\s*[0-9]+(\s+[0-9]+){2}\s*")

    def parse_valid(self, text: str) -> tuple[int, int, int] | None:
        parts = text.split()
        if len(parts) != 3 or not all(p.isascii() and p.isdigit() and len(p) < 10 for p in parts):
            return None
        a, b, c = map(int, parts)
        return (a, b, c) if min(a, b, c) >= 3 else None

    def examine(self, text: str, literal: bool) -> Outcome:
        parts = split_tokens(text)
        findings: list[Finding] = []
        values: list[int] = []
        for part in parts:
            value, finding = _parse_number(part)
            if finding is None and value is not None and abs(value) >= _COUNT_LIMIT:
                finding = Finding("SK026.overflow", part)
            if finding is None and value is not None and (value == int(value) or literal):
                values.append(int(value))
            else:
                findings.append(finding or Finding("SK023.count", part))
        if len(parts) != 3:
            findings.append(Finding("SK024", text.strip(_WHITESPACE), {"found": len(parts), "expected": 3}))
        if findings or len(values) != 3:
            return Outcome(ABSENT, tuple(findings))
        a, b, c = (max(3, value) for value in values)
        low = Finding("SK068.low", text.strip(_WHITESPACE))
        return Outcome((a, b, c), (low,) if min(values) < 3 else ())


REAL = SkelReal()
LIMIT = SkelReal("limit", infinite=True)
VECTOR = SkelReals("vector", "3 decimal numbers separated by spaces", (3,))
TRANSFORMATION = Transformation()
COORDINATES = SkelReals("coordinates", "as many decimal numbers as the joint has degrees of freedom", None)
COLOR = ColorComponents()
BOOLEAN = SkelBoolean()
COLLIDABLE = Collidable()
NAME = SkelName("name", "a name")
BODY_NAME = SkelName("body name", "the name of a body of the same skeleton", pattern=_NOT_EMPTY)
FILE_NAME = Text("file name", "a path or URI, relative to the document", pattern=_NOT_EMPTY)
VERSION = Text("version", "`1.0`")
INDEX = Text("index", "an integer, counted from 0")
COUNT = Count()
FRAGMENTS = Fragments()
DETECTOR = Keyword("detector", COLLISION_DETECTORS, "SK032", literal="fcl", keep=True)
JOINT_KINDS = tuple(kind for kind in TRAITS if kind not in ("hinge2", "amotor"))
"""SKEL's joint types have the names of the kinds of the scene; those of ODE are missing."""
JOINT_TYPE = Keyword("joint type", JOINT_KINDS, "SK070.unknown")
ACTUATOR = Keyword(
    "actuator",
    get_args(JointActuator),
    "SK076.unknown",
    literal="force",
    aliases={"torque": ("force", "SK076.torque")},
)
AXIS_ORDER = Keyword("axis order", ("xyz", "zyx"), "SK078.unknown", literal="xyz")
PLANE_TYPE = Keyword("plane type", (*PLANES, "arbitrary"), "SK079.unknown", literal="xy")
