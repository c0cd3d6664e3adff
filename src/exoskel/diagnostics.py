"""What the library says about a file: messages, diagnostics, and the errors it raises.

A *message* is a row of a catalogue: a code, a severity, a template.  A *diagnostic* is one message
about one place in one file.  Readers collect diagnostics; nothing in the library prints them.
Positions are looked up only when somebody asks for them, so a clean file pays nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Position(Struct, frozen=True):
    """A stretch of a source file.  Lines and columns count from 1, columns in characters."""

    line: int
    column: int
    length: int = 1


class Place(Struct, frozen=True):
    """Which part of a document a diagnostic is about, in the document's own numbering.

    `node` is the element's number in document order (-1: the document as a whole).  `child` walks
    on from there through first children (`inertia/mass`), `attribute` names one of the attributes,
    `token` is the piece of text to point at.  A `position` states the place outright, for documents
    that are no tree.
    """

    node: int = -1
    child: str = ""
    attribute: str = ""
    token: str = ""
    position: Position | None = None


class Locator(Protocol):
    """Where diagnostics look their positions up; documents are locators."""

    @property
    def name(self) -> str: ...

    def position(self, place: Place) -> Position | None: ...

    def lines(self, nodes: Sequence[int]) -> list[int]: ...

    def path(self, place: Place) -> str: ...

    def line_text(self, line: int) -> str: ...


class Nowhere(Struct, frozen=True):
    """The locator of things that come from no file."""

    name: str = "<scene>"

    def position(self, place: Place) -> Position | None:
        return None

    def lines(self, nodes: Sequence[int]) -> list[int]:
        return [0] * len(nodes)

    def path(self, place: Place) -> str:
        return ""

    def line_text(self, line: int) -> str:
        return ""


class Message(Struct, frozen=True):
    """One row of a catalogue.  `text` and `hint` are templates; `engine` tells what the old reader does.

    `severity` is that of a lenient reading, `strict` that of a strict one; None: silent there.
    """

    key: str
    severity: Severity | None
    text: str
    hint: str = ""
    engine: str = ""
    strict: Severity | None = Severity.ERROR

    @property
    def code(self) -> str:
        return self.key.partition(".")[0]


def error(key: str, text: str, hint: str = "", engine: str = "") -> Message:
    return Message(key, Severity.ERROR, text, hint, engine)


def warning(key: str, text: str, hint: str = "", engine: str = "") -> Message:
    """A warning that a strict reading takes as an error."""
    return Message(key, Severity.WARNING, text, hint, engine)


def info(key: str, text: str, hint: str = "", engine: str = "") -> Message:
    return Message(key, Severity.INFO, text, hint, engine, strict=Severity.INFO)


_COLUMN = {"E": Severity.ERROR, "W": Severity.WARNING, "I": Severity.INFO, "-": None}


def columns(key: str, severities: str, text: str, hint: str = "", engine: str = "") -> Message:
    """A message with both its severities stated, strict first: `E/W`, `W/W`, `-/W`."""
    strict, lenient = severities.split("/")
    return Message(key, _COLUMN[lenient], text, hint, engine, strict=_COLUMN[strict])


class Topic(Struct, frozen=True):
    """What a code means as a whole: the page that `exoskel explain CODE` shows."""

    code: str
    title: str
    text: str
    messages: tuple[Message, ...] = ()


class Catalogue:
    """All topics of one format, by code."""

    def __init__(self, engine: str, topics: Iterable[Topic]) -> None:
        self.engine = engine
        self.topics = {topic.code: topic for topic in topics}
        self.messages = {m.key: m for topic in self.topics.values() for m in topic.messages}

    def __getitem__(self, key: str) -> Message:
        return self.messages[key]


class Diagnostic(Struct, frozen=True):
    """One finding.  `engine` says what the old reader of the format would have done, and is often empty."""

    code: str
    severity: Severity
    message: str
    hint: str
    engine: str
    place: Place
    source: Locator
    key: str = ""

    @property
    def file(self) -> str:
        return self.source.name

    @property
    def position(self) -> Position | None:
        return self.source.position(self.place)

    @property
    def line(self) -> int | None:
        position = self.position
        return position.line if position else None

    @property
    def column(self) -> int | None:
        position = self.position
        return position.column if position else None

    @property
    def path(self) -> str:
        return self.source.path(self.place)

    @property
    def excerpt(self) -> str:
        """The source line and a second line with carets under the place; empty if there is no place."""
        position = self.position
        if position is None:
            return ""
        return caret_excerpt(self.source.line_text(position.line), position)

    def as_dict(self) -> dict[str, str | int | None]:
        """The shape of one entry of `check --json`."""
        position = self.position
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "file": self.file,
            "line": position.line if position else None,
            "column": position.column if position else None,
            "path": self.path,
            "hint": self.hint or None,
        }

    def __str__(self) -> str:
        position = self.position
        where = f"{self.file}:{position.line}:{position.column}" if position else self.file
        return f"{where}: {self.severity}[{self.code}]: {self.message}"


class Collector:
    """Gathers the diagnostics of one document.

    A message's template may use the details given with it, and `{token}`, the text it points at.  `strict`
    takes the strict column of severities.
    """

    def __init__(self, catalogue: Catalogue, source: Locator, strict: bool = False) -> None:
        self.catalogue = catalogue
        self.source = source
        self.strict = strict
        self.diagnostics: list[Diagnostic] = []
        self.suggestions = Suggestions()

    def report(
        self,
        key: str,
        node: int = -1,
        child: str = "",
        *,
        attribute: str = "",
        token: str = "",
        position: Position | None = None,
        **details: object,
    ) -> None:
        message = self.catalogue[key]
        severity = message.strict if self.strict else message.severity
        if severity is None:
            return
        shown = {name: readable(value) for name, value in details.items()}
        shown["token"] = readable(token)
        self.diagnostics.append(
            Diagnostic(
                code=message.code,
                severity=severity,
                message=message.text.format(**shown),
                hint=message.hint.format(**shown),
                engine=message.engine.format(**shown),
                place=Place(node, child, attribute, token, position),
                source=self.source,
                key=key,
            )
        )


class ExoskelError(Exception):
    """The base of everything the library raises on purpose."""


class SourceError(ExoskelError, OSError):
    """The input could not be opened or read at all."""


class LoadError(ExoskelError):
    """A strict reading found errors.  `diagnostics` holds all of them."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        first = next((d for d in diagnostics if d.severity is Severity.ERROR), diagnostics[0])
        others = len(diagnostics) - 1
        super().__init__(str(first) + (f" (and {others} more)" if others else ""))


def in_file_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by file, then position; a diagnostic without a position comes first."""

    def key(d: Diagnostic) -> tuple[str, int, int]:
        position = d.position
        return (d.file, position.line, position.column) if position else (d.file, 0, 0)

    return sorted(diagnostics, key=key)


def count(diagnostics: Iterable[Diagnostic]) -> dict[str, int]:
    """How many of each severity, in the shape `info --json` reports."""
    totals = {severity.value: 0 for severity in Severity}
    for diagnostic in diagnostics:
        totals[diagnostic.severity.value] += 1
    return totals


_LONGEST_QUOTE = 60

# C0 and C1 controls, line and paragraph separators, and the bidirectional controls that can make a
# terminal show something else than what the file says.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """`text` with every character that could steer a terminal written as an escape."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def readable(value: object) -> str:
    """A detail as it stands in a message: safe to print, and cut when it is long; lists of words are not."""
    if isinstance(value, list):
        return ", ".join(map(printable, value))
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = printable(" ".join(text.split()) if "\n" in text else text)
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"


_WIDEST_EXCERPT = 120


def caret_excerpt(line: str, position: Position) -> str:
    """The source line with carets under `position`, on two lines, windowed when the line is long."""
    start = position.column - 1
    first = max(0, start - _WIDEST_EXCERPT // 2) if len(line) > _WIDEST_EXCERPT else 0
    window = line[first : first + _WIDEST_EXCERPT].replace("\t", " ")
    head = "…" if first else ""
    tail = "…" if first + _WIDEST_EXCERPT < len(line) else ""
    length = max(1, min(position.length, len(window) - (start - first)))
    before = printable(window[: start - first])
    marked = printable(window[start - first : start - first + length])
    after = printable(window[start - first + length :])
    carets = " " * (len(head) + len(before)) + "^" * max(1, len(marked))
    return f"{head}{before}{marked}{after}{tail}".rstrip() + "\n" + carets


_PATIENCE = 10_000
"""How many pairs of words are compared letter by letter for one document, at some 30 µs a pair."""

_LONGEST_WORD = 60
"""Longer words are not compared: that takes time in the square of their length."""


class Suggestions:
    """What "did you mean" offers throughout one document.

    A file with thousands of unknown names gets suggestions for the first of them only, since comparing
    each with all known ones would take minutes.
    """

    def __init__(self, patience: int = _PATIENCE) -> None:
        self.patience = patience

    def among(self, known: Iterable[str]) -> Lexicon:
        return Lexicon(known, self)


class Lexicon:
    """Some known words, and which of them is nearest to a word that is not among them."""

    def __init__(self, known: Iterable[str], suggestions: Suggestions | None = None) -> None:
        self._suggestions = suggestions or Suggestions()
        self._folded = {word.lower(): word for word in known}
        self._by_letters: dict[str, str] = {}
        for folded, word in self._folded.items():
            self._by_letters.setdefault("".join(sorted(folded)), word)
        self._found: dict[str, str] = {}

    def closest(self, word: str) -> str:
        """The known word nearest to `word`, or an empty string."""
        folded = word.lower()
        if folded not in self._found:
            self._found[folded] = (
                self._folded.get(folded)
                or self._by_letters.get("".join(sorted(folded)))  # in another order, as in xz for zx
                or self._nearest(folded)
            )
        return self._found[folded]

    def _nearest(self, folded: str) -> str:
        from difflib import get_close_matches

        if len(folded) > _LONGEST_WORD or self._suggestions.patience < len(self._folded):
            return ""
        self._suggestions.patience -= len(self._folded)
        comparable = [known for known in self._folded if len(known) <= _LONGEST_WORD]
        matches = get_close_matches(folded, comparable, n=1, cutoff=0.6)
        return self._folded[matches[0]] if matches else ""

    def did_you_mean(self, word: str) -> str:
        """`did you mean 'x'?`, or an empty string when nothing known is near."""
        near = self.closest(word)
        return f"did you mean '{near}'?" if near else ""


def closest(word: str, known: Iterable[str]) -> str:
    """The known word nearest to `word`, or an empty string: what "did you mean" offers."""
    return Lexicon(known).closest(word)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, or an empty string when nothing known is near."""
    return Lexicon(known).did_you_mean(word)
