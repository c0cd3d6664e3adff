"""The dialect of an XODE document, its PyBrain comment, and the state that all parts of the reader share."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache
from sys import float_info

from msgspec import Struct, field

from exoskel.diagnostics import Collector
from exoskel.formats.interface import Dialect, ReadOptions
from exoskel.scene.shape import Color
from exoskel.source.document import Document
from exoskel.source.flat_tree import Node
from exoskel.source.positions import Span

_PYBRAIN_MARK = b"odeenvironment parameters"

_SECTION = re.compile(r"<(\w+)>")
_LONGEST_LINE = 10_000


class PybrainParameters(Struct):
    """The contents of a PyBrain comment.  `problems` are the lines that could not be parsed, with their numbers.

    Geoms of one group in `exempt_groups` do not collide with each other.
    """

    exempt_groups: list[tuple[str, ...]] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)
    colors: dict[str, Color] = field(default_factory=dict)
    centre: str = ""
    problems: list[tuple[int, str]] = field(default_factory=list)


def parse_pybrain_comment(text: str) -> PybrainParameters:
    """Parse the sections of a comment that starts with the mark."""
    parameters = PybrainParameters()
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


def _read_exempt_group(parameters: PybrainParameters, line: str) -> bool:
    value = _parse_literal(line)
    if isinstance(value, list | tuple) and value and all(isinstance(part, str) for part in value):
        parameters.exempt_groups.append(tuple(value))
        return True
    return False


def _read_fixed(parameters: PybrainParameters, line: str) -> bool:
    parameters.fixed.append(line)
    return True


def _read_centre(parameters: PybrainParameters, line: str) -> bool:
    parameters.centre = line
    return True


def _read_colour(parameters: PybrainParameters, line: str) -> bool:
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


@lru_cache(maxsize=256)
def _parse_literal(line: str) -> object:
    if len(line) > _LONGEST_LINE:
        return None
    try:
        return ast.literal_eval(line)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


_READERS: dict[str, Callable[[PybrainParameters, str], bool]] = {
    "passpairs": _read_exempt_group,
    "affixToEnvironment": _read_fixed,
    "centerOn": _read_centre,
    "colors": _read_colour,
}


DOCUMENT = 0
"""The number of the document: a scene that was just read has one."""


class XodeContext:
    """State shared while one document is read in a known dialect."""

    def __init__(self, document: Document, options: ReadOptions, collector: Collector, dialect: str) -> None:
        self.document = document
        self.options = options
        self.report = collector.report
        self.suggestions = collector.suggestions
        self.dialect = dialect
        self.euler_angles: list[int] = []
        """Nodes with nonzero Euler angles, whose direction depends on the dialect."""
        self.ambiguous_matrices: list[int] = []
        self.ambiguous_anchors: list[int] = []
        """Anchors whose position depends on the dialect."""

    def line(self, node: int) -> int:
        return self.document.lines([node])[0]

    def choose_first(self, node: Node, present: list[str], key: str) -> str:
        """The first of several children in document order where only one is allowed; the others are reported."""
        ordered = sorted(present, key=lambda name: node.fields[name].number)
        for other in ordered[1:]:
            line = self.line(node.fields[ordered[0]].number)
            self.report(key, node.fields[other].number, element=other, line=line)
        return ordered[0]


# --- the context ---------------------------------------------------------------------------------------


def find_pybrain_comment(document: Document) -> tuple[Span, str] | None:
    """The first comment with PyBrain parameters, and its text."""
    return next(document.comments(_PYBRAIN_MARK), None)


def choose_dialect(wanted: Dialect, root: Node, *, has_pybrain_comment: bool) -> tuple[str, str]:
    """The dialect and the reason for it; the reason is empty if the caller has set the dialect."""
    if wanted != "auto":
        return wanted, ""
    if has_pybrain_comment:
        return "pyode", "the file has a PyBrain comment"
    if "@version" not in root.fields:
        return "pyode", "the document has no version, like those of PyODE"
    return "spec", "the file shows no sign of PyODE"


def report_choice(context: XodeContext, reason: str) -> None:
    """Report the chosen dialect if it affects the result."""
    if not reason:
        return
    if context.euler_angles or context.ambiguous_anchors or context.ambiguous_matrices:
        context.report("X901", 0, dialect=context.dialect, reason=reason)
    count = len(context.euler_angles)
    if context.dialect == "spec" and count:
        rotations = "1 rotation" if count == 1 else f"{count} rotations"
        context.report("X517", min(context.euler_angles), count=rotations)
