"""What the library says about a file: messages, diagnostics, and the errors it raises.

A *message* is a row of a catalogue: a code, a severity, a template.  A *diagnostic* is one message
about one place in one file.  Readers collect diagnostics; nothing in the library prints them.
Positions are looked up only when somebody asks for them, so a clean file pays nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace


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


class NoSource(Struct, frozen=True):
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


def message_with_severities(key: str, severities: str, text: str, hint: str = "", engine: str = "") -> Message:
    """A message with both its severities stated, strict first: `E/W`, `W/W`, `-/W`."""
    strict, lenient = severities.split("/")
    return Message(key, _COLUMN[lenient], text, hint, engine, strict=_COLUMN[strict])


class Topic(Struct, frozen=True):
    """What a code means as a whole: the page that `exoskel explain CODE` shows."""

    code: str
    title: str
    text: str
    messages: tuple[Message, ...] = ()


class Fix(Struct, frozen=True):
    """A change of the document that does away with a finding: a row of a table, or such a row filled in.

    `action` names what is done at the place of the finding (see `source.fixes`), `name` the element or
    attribute that comes into being, `text` its value; both are templates in a table, and may use the details
    of the finding, `{token}`, and `{nearest}`, the word it suggests.  `title` says it in words.

    A fix that `keeps` spells out what the file is read as anyway.  Others give a meaning to what had none.
    Only a `safe` one is applied unasked; a suggestion is safe where no other word can have been meant.
    """

    action: str
    title: str
    name: str = ""
    text: str = ""
    keeps: bool = True
    safe: bool = True

    def filled(self, details: Mapping[str, Any], token: str) -> Fix | None:
        """With the details of a finding; None where it needs a suggestion and there is none."""
        suggestion = details.get("suggestion")
        nearest = suggestion.word if isinstance(suggestion, Suggestion) else ""
        wants_word = "{nearest}" in self.name + self.text
        if wants_word and not nearest:
            return None
        words = {**details, "token": token, "nearest": nearest}
        safe = self.safe and (not wants_word or (isinstance(suggestion, Suggestion) and suggestion.sure))
        name, text, title = (template.format(**words) for template in (self.name, self.text, self.title))
        return replace(self, name=name, text=text, title=format_detail(title), safe=safe)


class Catalogue:
    """All topics of one format, by code, and the fixes for some of their messages, by key."""

    def __init__(self, engine: str, topics: Iterable[Topic], fixes: Mapping[str, Fix] | None = None) -> None:
        self.engine = engine
        self.fixes = fixes or {}
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
    fix: Fix | None = None

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
        shown = {name: format_detail(value) for name, value in details.items()}
        shown["token"] = format_detail(token)
        fix = self.catalogue.fixes.get(key)
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
                fix=None if fix is None else fix.filled(details, token),
            )
        )


class ExoskelError(Exception):
    """The base of everything the library raises on purpose."""


class SourceError(ExoskelError, OSError):
    """The input could not be opened or read at all."""


class SaveError(ExoskelError):
    """The scene cannot be saved so that reading the file gives it back.  Nothing was written."""


class LoadError(ExoskelError):
    """A strict reading found errors.  `diagnostics` holds all of them."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        first = next((d for d in diagnostics if d.severity is Severity.ERROR), diagnostics[0])
        others = len(diagnostics) - 1
        super().__init__(str(first) + (f" (and {others} more)" if others else ""))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def sort_by_position(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by file, then position; a diagnostic without a position comes first."""

    def key(d: Diagnostic) -> tuple[str, int, int]:
        position = d.position
        return (d.file, position.line, position.column) if position else (d.file, 0, 0)

    return sorted(diagnostics, key=key)


def count_by_severity(diagnostics: Iterable[Diagnostic]) -> dict[str, int]:
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


def format_detail(value: object) -> str:
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

    def among(self, known: Iterable[str]) -> KnownNames:
        return KnownNames(known, self)


class Suggestion(str):
    """A hint, `did you mean 'x'?`, or an empty string; `word` is x, and it is `sure` if it is one slip away."""

    word: str
    sure: bool

    def __new__(cls, word: str = "", sure: bool = False) -> Suggestion:
        made = super().__new__(cls, f"did you mean '{word}'?" if word else "")
        made.word, made.sure = word, sure
        return made


_SHORTEST_SLIP = 4
"""In shorter words one letter makes too much of a difference."""

_DIGITS = re.compile(r"[^0-9]+")


def is_typo(word: str, meant: str) -> bool:
    """Whether a word is another with one slip of the fingers: a letter too many, missing, wrong, or two swapped.

    Digits are no letters: they tell words apart.
    """
    if abs(len(word) - len(meant)) > 1 or len(meant) < _SHORTEST_SLIP:
        return False
    if _DIGITS.sub(" ", word).strip() != _DIGITS.sub(" ", meant).strip():
        return False
    head = next((i for i, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant)))
    tail, other = word[head:], meant[head:]
    swapped = tail[:2] == other[:2][::-1] and tail[2:] == other[2:]
    return swapped or tail[1:] == other[1:] or tail[1:] == other or tail == other[1:]


class KnownNames:
    """Some known words, and which of them is nearest to a word that is not among them."""

    def __init__(self, known: Iterable[str], suggestions: Suggestions | None = None) -> None:
        self._suggestions = suggestions or Suggestions()
        self._folded: dict[str, str] = {}
        self._ambiguous: set[str] = set()
        for word in known:
            folded = word.lower()
            if self._folded.get(folded, word) != word:
                self._ambiguous.add(folded)
            self._folded[folded] = word
        self._by_letters: dict[str, str] = {}
        for folded, word in self._folded.items():
            self._by_letters.setdefault("".join(sorted(folded)), word)
        self._found: dict[str, Suggestion] = {}

    def suggestion(self, word: str) -> Suggestion:
        """The known word nearest to `word`, and how sure that is; an empty one when nothing known is near."""
        folded = word.lower()
        if folded not in self._found:
            near = (
                self._folded.get(folded)
                or self._by_letters.get("".join(sorted(folded)))  # in another order, as in xz for zx
                or self._nearest(folded)
            )
            self._found[folded] = Suggestion(near, self._is_sure(folded, near.lower()))
        return self._found[folded]

    def closest(self, word: str) -> str:
        """The known word nearest to `word`, or an empty string."""
        return self.suggestion(word).word

    def _is_sure(self, folded: str, near: str) -> bool:
        """Whether nothing else can have been meant."""
        if folded == near:
            return folded not in self._ambiguous
        if not is_typo(folded, near) or not self._has_patience():
            return False
        return sum(is_typo(folded, known) for known in self._folded) == 1

    def _has_patience(self) -> bool:
        if self._suggestions.patience < len(self._folded):
            return False
        self._suggestions.patience -= len(self._folded)
        return True

    def _nearest(self, folded: str) -> str:
        from difflib import get_close_matches

        if len(folded) > _LONGEST_WORD or not self._has_patience():
            return ""
        comparable = [known for known in self._folded if len(known) <= _LONGEST_WORD]
        matches = get_close_matches(folded, comparable, n=1, cutoff=0.6)
        return self._folded[matches[0]] if matches else ""

    def did_you_mean(self, word: str) -> Suggestion:
        """`did you mean 'x'?`, or an empty string when nothing known is near."""
        return self.suggestion(word)


def closest_name(word: str, known: Iterable[str]) -> str:
    """The known word nearest to `word`, or an empty string: what "did you mean" offers."""
    return KnownNames(known).closest(word)


def did_you_mean(word: str, known: Iterable[str]) -> Suggestion:
    """`did you mean 'x'?`, or an empty string when nothing known is near."""
    return KnownNames(known).did_you_mean(word)
