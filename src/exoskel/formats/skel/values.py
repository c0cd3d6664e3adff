"""The kinds of value in SKEL: how text is read, what is forgiven, and what DART makes of the rest."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from exoskel.diagnostics import did_you_mean
from exoskel.scene.pose import Euler, Pose
from exoskel.source import numbers
from exoskel.source.vocabulary import ABSENT, Finding, Kind, Outcome, SchemaType

_BLANK = " \t\r\n"
_BLANKS = re.compile(r"[ \t\r\n]+")
_NOT_BLANK = r"\s*\S[\s\S]*"
_SEPARATORS = re.compile(r"[ \t\r\n]*,[ \t\r\n]*|[ \t\r\n]+")
_NUMBER = numbers.DECIMAL
_OR_INFINITE = rf"({_NUMBER}|[+-]?([iI][nN][fF]|[iI][nN][fF][iI][nN][iI][tT][yY]))"


def tokens(text: str) -> list[str]:
    """The pieces between blanks.  Only XML's four blanks separate; a no-break space does not."""
    return _BLANKS.split(text.strip(_BLANK))


def _plain(text: str) -> bool:
    """Whether Python's own number parsing can be trusted with `text`: it is ASCII and has no underscore."""
    return text.isascii() and "_" not in text


def _all_finite(values: tuple[float, ...]) -> bool:
    """Whether all are finite.  Their sum tells, unless it overflows where they do not."""
    return isfinite(sum(values)) or all(map(isfinite, values))


def _number(token: str, infinite: bool = False) -> tuple[float | None, Finding | None]:
    """A token as a number, or what is wrong with it."""
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


def _literal_number(token: str) -> float | None:
    """DART's reading of a token: `strtod`, which throws on overflow."""
    return None if numbers.overflows(token) else numbers.parse_c_prefix(token)


def _beginning(token: str) -> float:
    """The number that a token of numbers and commas begins with."""
    return numbers.parse_c_prefix(token) or 0.0


class Real(Kind):
    """One real number; `infinite` admits the infinities, as limits do."""

    def __init__(self, name: str = "real", infinite: bool = False) -> None:
        super().__init__(name, "a decimal number" + (", or `inf`" if infinite else ""))
        self.infinite = infinite

    def clean(self, text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            return None
        return value if isfinite(value) and _plain(text) else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_BLANK)
        value, finding = _number(token, self.infinite)
        if finding is None:
            return Outcome(value)
        if literal:
            value = _literal_number(token)
        return Outcome(ABSENT if value is None else value, (finding,))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=rf"\s*{_OR_INFINITE if self.infinite else _NUMBER}\s*")

    def example(self) -> str:
        return "0.5"


class Reals(Kind):
    """Several reals.  `counts` says how many there may be (None: any number)."""

    def __init__(self, name: str, meaning: str, counts: tuple[int, ...] | None) -> None:
        super().__init__(name, meaning)
        self.counts = counts

    def clean(self, text: str) -> Any:
        parts = text.split()
        if self.counts is not None and len(parts) not in self.counts:
            return None
        try:
            values = tuple(map(float, parts))
        except ValueError:
            return None
        if not (_all_finite(values) and _plain(text)) or self.excess(values):
            return None
        return self.made(values)

    def made(self, values: tuple[float, ...]) -> Any:
        """The value that stands for the numbers."""
        return values

    def excess(self, values: tuple[float, ...]) -> int | None:
        """One plus the place of the first number out of range, if one is."""

    def seen_through_commas(self, values: tuple[float, ...]) -> Any:
        """What DART makes of the numbers it sees where commas stand between them.

        None: what happens to lie in memory, so that there is nothing to agree with.
        """

    def examine(self, text: str, literal: bool) -> Outcome:
        whole = text.strip(_BLANK)
        parts = tokens(text)
        findings: list[Finding] = []
        if "," in whole and (split := self._without_commas(whole)):
            findings.append(Finding("SK025", whole))
            if literal and (seen := self.seen_through_commas(tuple(map(_beginning, parts)))) is not None:
                return Outcome(seen, tuple(findings))
            parts = split
        values: list[float] = []
        for part in parts:
            value, finding = _number(part)
            if finding is not None:
                findings.append(finding)
                value = _literal_number(part) if literal else None
            if value is not None:
                values.append(value)
        if len(values) < len(parts):
            return Outcome(ABSENT, tuple(findings))
        return self.counted(whole, tuple(values), findings, literal)

    def _without_commas(self, whole: str) -> list[str]:
        """The tokens when commas separate them as well, if that makes the numbers right."""
        split = [part for part in _SEPARATORS.split(whole) if part]
        fits = self.counts is None or len(split) in self.counts
        return split if fits and all(numbers.parse_decimal(part) is not None for part in split) else []

    def counted(self, whole: str, values: tuple[float, ...], findings: list[Finding], literal: bool) -> Outcome:
        if self.counts is not None and len(values) not in self.counts:
            return Outcome(ABSENT, (*findings, self.miscounted(whole, len(values))))
        if at := self.excess(values):
            separated = [part for part in _SEPARATORS.split(whole) if part]  # by commas too, which may be read
            findings.append(Finding("SK067.range", separated[at - 1]))
        return Outcome(self.made(values), tuple(findings))

    def miscounted(self, whole: str, found: int) -> Finding:
        return Finding("SK024", whole, {"found": found, "expected": (self.counts or (0,))[0]})

    def schema_type(self) -> SchemaType:
        repeat = "*" if self.counts is None else f"{{{min(self.counts) - 1},{max(self.counts) - 1}}}"
        return SchemaType(self.name, pattern=rf"\s*{_NUMBER}(\s+{_NUMBER}){repeat}\s*")

    def example(self) -> str:
        return " ".join(["0"] * (self.counts or (1,))[0])


class Transformation(Reals):
    """Translation in metres, then intrinsic XYZ Euler angles in radians."""

    def __init__(self) -> None:
        meaning = "`x y z a b c`: a translation in m, then intrinsic X-Y-Z Euler angles in rad"
        super().__init__("transformation", meaning, (6,))

    def made(self, values: tuple[float, ...]) -> Pose:
        x, y, z, a, b, c = values
        if not _all_finite(values):  # DART logs such a pose and keeps the identity
            return Pose()
        return Pose((x, y, z), Euler((a, b, c)))

    def seen_through_commas(self, values: tuple[float, ...]) -> Pose:
        return self.made(values + (0.0,) * (6 - len(values)))

    def counted(self, whole: str, values: tuple[float, ...], findings: list[Finding], literal: bool) -> Outcome:
        if len(values) == 3:
            x, y, z = values
            return Outcome(Pose((x, y, z)), (*findings, Finding("SK024.translation", whole)))
        if literal and len(values) < 6:
            padded = values + (0.0,) * (6 - len(values))
            return Outcome(self.made(padded), (*findings, self.miscounted(whole, len(values))))
        return super().counted(whole, values, findings, literal)


class Color(Reals):
    """Red, green, blue, and perhaps alpha."""

    def __init__(self) -> None:
        super().__init__("color", "3 or 4 decimal numbers from 0 to 1: red, green, blue, alpha", (3, 4))

    def made(self, values: tuple[float, ...]) -> tuple[float, float, float, float]:
        red, green, blue, *alpha = values
        return (red, green, blue, alpha[0] if alpha else 1.0)

    def seen_through_commas(self, values: tuple[float, ...]) -> Any:
        return self.made(values) if len(values) in (3, 4) else ABSENT

    def excess(self, values: tuple[float, ...]) -> int | None:
        return next((i for i, value in enumerate(values, 1) if not 0.0 <= value <= 1.0), None)

    def miscounted(self, whole: str, found: int) -> Finding:
        return Finding("SK067.count", whole, {"found": found})

    def example(self) -> str:
        return "0.8 0.3 0.3"


_TRUTH = {"1": True, "0": False, "true": True, "false": False}


class Boolean(Kind):
    """`1`, `0`, `true` or `false`, the words in any case."""

    def __init__(self) -> None:
        super().__init__("boolean", "`1`, `0`, `true` or `false`")

    def clean(self, text: str) -> bool | None:
        return _TRUTH.get(text.lower())

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_BLANK)
        value = _TRUTH.get(token.lower())
        if value is None:
            return Outcome(False if literal else ABSENT, (Finding("SK027", token),))
        return Outcome(False if literal else value, (Finding("SK028.trimmed", token),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=r"\s*(1|0|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])\s*")

    def example(self) -> str:
        return "true"


class Collidable(Kind):
    """A number used as a flag; DART reads no words here."""

    def __init__(self) -> None:
        super().__init__("flag", "`0` or `1`")

    def clean(self, text: str) -> bool | None:
        return {"0": False, "1": True}.get(text.strip(_BLANK))

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_BLANK)
        word = _TRUTH.get(token.lower())
        if word is not None:
            return Outcome(word, (Finding("SK027.word", token, {"digit": int(word)}),))
        number, finding = _number(token)
        if finding is None:
            return Outcome(number != 0.0, (Finding("SK027.number", token, {"digit": int(number != 0.0)}),))
        if literal and (prefix := _literal_number(token)) is not None:
            return Outcome(prefix != 0.0, (finding,))
        return Outcome(ABSENT, (Finding("SK027", token),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=r"\s*(0|1|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])\s*")

    def example(self) -> str:
        return "0"


class Word(Kind):
    """One of a few words.

    `unknown` is reported for any other; `literal` is what DART falls back to when the text is not exactly
    one of the words (None: DART fails there, and the forgiving reading is kept).  With `keep` an unknown
    word is kept as the value.
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
        super().__init__(name, "one of " + ", ".join(f"`{word}`" for word in words))
        self.words = words
        self.unknown = unknown
        self.literal = literal
        self.keep = keep
        self.aliases = aliases or {}

    def clean(self, text: str) -> str | None:
        return text if text in self.words else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_BLANK)
        outcome = self._forgiving(text, token)
        if literal and self.literal is not None:
            return Outcome(self.literal, outcome.findings)
        return outcome

    def _forgiving(self, text: str, token: str) -> Outcome:
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

    def schema_type(self) -> SchemaType:
        if self.keep:
            return SchemaType(self.name)
        return SchemaType(self.name, base="xs:token", enumeration=(*self.words, *self.aliases))

    def example(self) -> str:
        return self.words[0]


class Name(Kind):
    """A name.  Blanks around it are dropped, which DART does not do.  One that is `needed` is not blank."""

    def __init__(self, name: str = "name", meaning: str = "a name", needed: bool = False) -> None:
        super().__init__(name, meaning)
        self.needed = needed

    def clean(self, text: str) -> str | None:
        return text if text and text[0] not in _BLANK and text[-1] not in _BLANK else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_BLANK)
        if not token:
            return Outcome(ABSENT)
        return Outcome(text if literal else token, (Finding("SK028.trimmed", token),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=_NOT_BLANK if self.needed else "")

    def example(self) -> str:
        return "arm"


class Text(Kind):
    """Any text, as it stands.  One that is `needed` is not blank."""

    def __init__(self, name: str, meaning: str, needed: bool = False) -> None:
        super().__init__(name, meaning)
        self.needed = needed

    def clean(self, text: str) -> str | None:
        return text

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=_NOT_BLANK if self.needed else "")

    def example(self) -> str:
        return "…"


class Count(Kind):
    """A positive whole number."""

    def __init__(self) -> None:
        super().__init__("count", "a positive integer")

    def clean(self, text: str) -> int | None:
        token = text.strip(_BLANK)
        return int(token) if token.isascii() and token.isdigit() and 0 < len(token) < 10 and int(token) > 0 else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_BLANK)
        prefix = re.match(r"[0-9]{1,9}", token)
        key = "SK023.count" if numbers.parse_c_prefix(token) is not None else "SK022"
        value = int(prefix[0]) if literal and prefix and int(prefix[0]) > 0 else ABSENT
        return Outcome(value, (Finding(key, token),))

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, base="xs:positiveInteger")

    def example(self) -> str:
        return "8"


_TOO_MANY = 1e9
"""From here on a whole number is no count of anything in a file."""


class Fragments(Kind):
    """Three whole numbers, each at least 3."""

    def __init__(self) -> None:
        super().__init__("fragments", "3 integers of at least 3: vertices along each edge")

    def clean(self, text: str) -> tuple[int, int, int] | None:
        parts = text.split()
        if len(parts) != 3 or not all(p.isascii() and p.isdigit() and len(p) < 10 for p in parts):
            return None
        a, b, c = map(int, parts)
        return (a, b, c) if min(a, b, c) >= 3 else None

    def examine(self, text: str, literal: bool) -> Outcome:
        parts = tokens(text)
        findings: list[Finding] = []
        values: list[int] = []
        for part in parts:
            value, finding = _number(part)
            if finding is None and value is not None and abs(value) >= _TOO_MANY:
                finding = Finding("SK026.overflow", part)
            if finding is None and value is not None and (value == int(value) or literal):
                values.append(int(value))
            else:
                findings.append(finding or Finding("SK023.count", part))
        if len(parts) != 3:
            findings.append(Finding("SK024", text.strip(_BLANK), {"found": len(parts), "expected": 3}))
        if findings or len(values) != 3:
            return Outcome(ABSENT, tuple(findings))
        a, b, c = (max(3, value) for value in values)
        low = Finding("SK068.low", text.strip(_BLANK))
        return Outcome((a, b, c), (low,) if min(values) < 3 else ())

    def schema_type(self) -> SchemaType:
        return SchemaType(self.name, pattern=r"\s*[0-9]+(\s+[0-9]+){2}\s*")

    def example(self) -> str:
        return "3 3 3"


REAL = Real()
LIMIT = Real("limit", infinite=True)
VECTOR = Reals("vector", "3 decimal numbers separated by spaces", (3,))
TRANSFORMATION = Transformation()
COORDINATES = Reals("coordinates", "as many decimal numbers as the joint has degrees of freedom", None)
COLOR = Color()
BOOLEAN = Boolean()
COLLIDABLE = Collidable()
NAME = Name()
BODY_NAME = Name("body name", "the name of a body of the same skeleton", needed=True)
FILE_NAME = Text("file name", "a path or URI, relative to the document", needed=True)
VERSION = Text("version", "`1.0`")
INDEX = Text("index", "an integer, counted from 0")
COUNT = Count()
FRAGMENTS = Fragments()
DETECTOR = Word("detector", ("fcl", "fcl_mesh", "dart", "bullet", "ode"), "SK032", literal="fcl", keep=True)
JOINT_TYPE = Word(
    "joint type",
    (
        "weld",
        "revolute",
        "prismatic",
        "screw",
        "universal",
        "ball",
        "euler",
        "translational",
        "translational2d",
        "planar",
        "free",
    ),
    "SK070.unknown",
)
ACTUATOR = Word(
    "actuator",
    ("force", "passive", "servo", "acceleration", "velocity", "locked"),
    "SK076.unknown",
    literal="force",
    aliases={"torque": ("force", "SK076.torque")},
)
AXIS_ORDER = Word("axis order", ("xyz", "zyx"), "SK078.unknown", literal="xyz")
PLANE_TYPE = Word(
    "plane type",
    ("xy", "yz", "zx", "arbitrary"),
    "SK079.unknown",
    literal="xy",
)
