"""Parses the comment that PyBrain appends to a scene: collision exemptions, fixed parts and colours.

The comment is read as data: Python literals are parsed as literals and never evaluated.
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
    """The contents of the comment.  `problems` are the lines that could not be parsed, with their numbers.

    Geoms of one group in `exempt_groups` do not collide with each other.
    """

    exempt_groups: list[tuple[str, ...]] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)
    colors: dict[str, Color] = field(default_factory=dict)
    centre: str = ""
    problems: list[tuple[int, str]] = field(default_factory=list)


def parse(text: str) -> Parameters:
    """Parse the sections of a comment that starts with the mark."""
    parameters = Parameters()
    section = ""
    for number, line in enumerate(text.lstrip().splitlines()[1:], 2):
        content = line.strip()
        opening = _SECTION.fullmatch(content)
        if opening:
            section = opening[1]
            if section == "end":
                break
        elif content and section in _READERS and not _READERS[section](parameters, content):
            parameters.problems.append((number, content))
    return parameters


def _read_exempt_group(parameters: Parameters, line: str) -> bool:
    value = _parse_literal(line)
    if isinstance(value, list | tuple) and value and all(isinstance(part, str) for part in value):
        parameters.exempt_groups.append(tuple(value))
        return True
    return False


def _read_fixed(parameters: Parameters, line: str) -> bool:
    parameters.fixed.append(line)
    return True


def _read_centre(parameters: Parameters, line: str) -> bool:
    parameters.centre = line
    return True


def _read_colour(parameters: Parameters, line: str) -> bool:
    match _parse_literal(line):
        case (str(name), (red, green, blue, *rest)) if len(rest) < 2:
            parts = [_finite_number(part) for part in (red, green, blue, *(rest or [1.0]))]
            if None in parts:
                return False
            r, g, b, a = (part or 0.0 for part in parts)
            parameters.colors[name] = (r, g, b, a)
            return True
        case _:
            return False


def _finite_number(value: object) -> float | None:
    """A number as a double, or None; integers in a comment may be too large."""
    return float(value) if isinstance(value, int | float) and abs(value) <= float_info.max else None


def _parse_literal(line: str) -> object:
    if len(line) > _LONGEST_LINE:
        return None
    try:
        return ast.literal_eval(line)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


_READERS: dict[str, Callable[[Parameters, str], bool]] = {
    "passpairs": _read_exempt_group,
    "affixToEnvironment": _read_fixed,
    "centerOn": _read_centre,
    "colors": _read_colour,
}
