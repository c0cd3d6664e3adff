"""PyBrain's comment behind the scene: which geoms pass through each other, what is fixed, and colours.

It is read as data: Python literals are parsed as literals and nothing is ever evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from sys import float_info

from msgspec import Struct, field

from exoskel.scene.shape import Color

MARK = b"odeenvironment parameters"

_SECTION = re.compile(r"<(\w+)>")
_LONGEST_LINE = 10_000


class Parameters(Struct):
    """What the comment says.  `problems` are lines that could not be understood, by number."""

    passing: list[tuple[str, ...]] = field(default_factory=list)
    affixed: list[str] = field(default_factory=list)
    colors: dict[str, Color] = field(default_factory=dict)
    centre: str = ""
    problems: list[tuple[int, str]] = field(default_factory=list)


def parse(text: str) -> Parameters:
    """The sections of a comment that begins with the mark."""
    found = Parameters()
    section = ""
    for number, line in enumerate(text.lstrip().splitlines()[1:], 2):
        content = line.strip()
        opening = _SECTION.fullmatch(content)
        if opening:
            section = opening[1]
            if section == "end":
                break
        elif content and section in _READERS and not _READERS[section](found, content):
            found.problems.append((number, content))
    return found


def _passing(found: Parameters, line: str) -> bool:
    value = _literal(line)
    if isinstance(value, list | tuple) and value and all(isinstance(part, str) for part in value):
        found.passing.append(tuple(value))
        return True
    return False


def _affixed(found: Parameters, line: str) -> bool:
    found.affixed.append(line)
    return True


def _centre(found: Parameters, line: str) -> bool:
    found.centre = line
    return True


def _colour(found: Parameters, line: str) -> bool:
    match _literal(line):
        case (str(name), (red, green, blue, *rest)) if len(rest) < 2:
            parts = [_finite(part) for part in (red, green, blue, *(rest or [1.0]))]
            if None in parts:
                return False
            r, g, b, a = (part or 0.0 for part in parts)
            found.colors[name] = (r, g, b, a)
            return True
        case _:
            return False


def _finite(value: object) -> float | None:
    """A number that a double holds; whole numbers in a comment may have hundreds of digits."""
    return float(value) if isinstance(value, int | float) and abs(value) <= float_info.max else None


def _literal(line: str) -> object:
    if len(line) > _LONGEST_LINE:
        return None
    try:
        return ast.literal_eval(line)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


_READERS: dict[str, Callable[[Parameters, str], bool]] = {
    "passpairs": _passing,
    "affixToEnvironment": _affixed,
    "centerOn": _centre,
    "colors": _colour,
}
