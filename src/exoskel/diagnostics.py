"""Messages, diagnostics, and the errors that the library raises.

A *message* is a row of a catalogue: a code, a severity, a template.  A *diagnostic* is one message
about one place in one file.  Readers collect diagnostics; nothing in the library prints them.
Positions are only computed on request, so that a valid file costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace


class Severity(StrEnum):
    """How serious a diagnostic is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Position(Struct, frozen=True):
    """A range in one line of a source file.  Lines and columns count from 1, columns in characters."""

    line: int
    column: int
    length: int = 1


class Place(Struct, frozen=True):
    """The part of a document that a diagnostic refers to.

    `node` is the element's number in document order (-1: the whole document).  `child` is a path of first
    children from there (`inertia/mass`), `attribute` the name of an attribute, `token` the piece of text to
    point at.  A `position` states the position directly, for documents without elements.
    """

    node: int = -1
    child: str = ""
    attribute: str = ""
    token: str = ""
    position: Position | None = None


class Locator(Protocol):
    """Computes the positions of diagnostics; documents are locators."""

    @property
    def name(self) -> str: ...

    def position(self, place: Place) -> Position | None: ...

    def lines(self, nodes: Sequence[int]) -> list[int]: ...

    def path(self, place: Place) -> str: ...

    def line_text(self, line: int) -> str: ...

    def origin(self, place: Place) -> tuple[Locator, Place]:
        """The file in which a place was written, and the place there; differs for documents that were generated."""


class NoSource(Struct, frozen=True):
    """The locator of items that do not come from a file."""

    name: str = "<scene>"

    def position(self, place: Place) -> Position | None:
        return None

    def lines(self, nodes: Sequence[int]) -> list[int]:
        return [0] * len(nodes)

    def path(self, place: Place) -> str:
        return ""

    def line_text(self, line: int) -> str:
        return ""

    def origin(self, place: Place) -> tuple[Locator, Place]:
        return self, place


class Message(Struct, frozen=True):
    """One row of a catalogue.  `text` and `hint` are templates; `reader_note` states what the original reader does.

    `severity` applies by default, `strict` in strict mode; None: not reported.
    """

    key: str
    severity: Severity | None
    text: str
    hint: str = ""
    reader_note: str = ""
    strict: Severity | None = Severity.ERROR

    @property
    def code(self) -> str:
        return self.key.partition(".")[0]

    def severity_in(self, strict: bool) -> Severity | None:
        """The severity by default or in strict mode; None: not reported."""
        return self.strict if strict else self.severity


def error(key: str, text: str, hint: str = "", reader_note: str = "") -> Message:
    return Message(key, Severity.ERROR, text, hint, reader_note)


def warning(key: str, text: str, hint: str = "", reader_note: str = "") -> Message:
    """A warning, which is an error in strict mode."""
    return Message(key, Severity.WARNING, text, hint, reader_note)


def info(key: str, text: str, hint: str = "", reader_note: str = "") -> Message:
    return Message(key, Severity.INFO, text, hint, reader_note, strict=Severity.INFO)


_COLUMN = {"E": Severity.ERROR, "W": Severity.WARNING, "I": Severity.INFO, "-": None}


def message_with_severities(key: str, severities: str, text: str, hint: str = "", reader_note: str = "") -> Message:
    """A message with both severities, strict first: `E/W`, `W/W`, `-/W`."""
    strict, lenient = severities.split("/")
    return Message(key, _COLUMN[lenient], text, hint, reader_note, strict=_COLUMN[strict])


class Topic:
    """The explanation of a code, which `exoskel explain CODE` shows, and its messages."""

    def __init__(self, code: str, title: str, text: str, *messages: Message) -> None:
        self.code = code
        self.title = title
        self.text = text
        self.messages = messages


class Fix(Struct, frozen=True):
    """A change of the document that resolves a diagnostic: a template in a catalogue, or a filled-in template.

    `action` is what to do (see `formats.fixer`), `name` the new element or attribute, `text` its value, `title` a
    description.  Templates may use the details of the diagnostic, `{token}`, and `{nearest}`, the suggested name.

    A fix that `preserves_meaning` writes what the file is read as anyway.  Others change what is read.
    Only `safe` fixes are applied by default; a suggestion is safe if there is no other candidate.
    """

    action: str
    title: str
    name: str = ""
    text: str = ""
    preserves_meaning: bool = True
    safe: bool = True

    def fill(self, details: Mapping[str, Any], token: str) -> Fix | None:
        """Fill in the details of a diagnostic; None if the fix needs a suggestion and has none."""
        suggestion = details.get("suggestion")
        nearest = suggestion.word if isinstance(suggestion, Suggestion) else ""
        needs_suggestion = "{nearest}" in self.name + self.text
        if needs_suggestion and not nearest:
            return None
        values = {**details, "token": token, "nearest": nearest}
        safe = self.safe and (not needs_suggestion or (isinstance(suggestion, Suggestion) and suggestion.sure))
        name, text, title = (template.format(**values) for template in (self.name, self.text, self.title))
        return replace(self, name=name, text=text, title=format_detail(title), safe=safe)


class Catalogue:
    """All topics of one format by code, and fixes for some of their messages by key."""

    def __init__(self, original_reader: str, topics: Iterable[Topic], fixes: Mapping[str, Fix] | None = None) -> None:
        self.original_reader = original_reader
        self.fixes = fixes or {}
        self.topics = {topic.code: topic for topic in topics}
        self.messages = {m.key: m for topic in self.topics.values() for m in topic.messages}
        self.codes = {key: message.code for key, message in self.messages.items()}

    def __getitem__(self, key: str) -> Message:
        return self.messages[key]

    def exception_text(self, key: str, **details: object) -> str:
        """A message with its hint and code, for an exception."""
        message = self.messages[key]
        text = message.text.format(**{name: format_detail(value) for name, value in details.items()})
        return f"{text}{f'; {message.hint}' if message.hint else ''} ({message.code})"


class Diagnostic(Struct, frozen=True):
    """One message about one place in a file.  `reader_note` states what the original reader does; often empty."""

    code: str
    severity: Severity
    message: str
    hint: str
    reader_note: str
    place: Place
    source: Locator
    key: str = ""
    fix: Fix | None = None
    note: str = ""
    """How it is related to a misspelt name: it follows from it, or was found by reading the name that was meant."""
    assumed: bool = False
    """It is in a part of the document that is not read, because of a misspelt name."""

    @property
    def is_follow_up(self) -> bool:
        """Whether a misspelt name elsewhere is its cause."""
        return bool(self.note) and not self.assumed

    @property
    def origin(self) -> tuple[Locator, Place]:
        """The file that the place was written in, and the place there."""
        return self.source.origin(self.place)

    @property
    def file(self) -> str:
        return self.origin[0].name

    @property
    def position(self) -> Position | None:
        source, place = self.origin
        return source.position(place)

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
        """The source line, and a second line with carets under the position; empty without a position."""
        position = self.position
        if position is None:
            return ""
        return caret_excerpt(self.origin[0].line_text(position.line), position)

    def __repr__(self) -> str:
        return f"Diagnostic({self.code!r}, {self.severity.value}, {self.message!r})"

    def as_dict(self) -> dict[str, str | int | None]:
        """One entry of `check --json`."""
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
            "note": self.note or None,
        }

    def __str__(self) -> str:
        position = self.position
        where = f"{self.file}:{position.line}:{position.column}" if position else self.file
        return f"{where}: {self.severity}[{self.code}]: {self.message}"


class Collector:
    """Collects the diagnostics of one document.

    The template of a message may use the details of the report, and `{token}`, the text it points at.  `strict`
    selects the severities of strict mode.
    """

    def __init__(self, catalogue: Catalogue, source: Locator, strict: bool = False) -> None:
        self.catalogue = catalogue
        self.source = source
        self.strict = strict
        self.diagnostics: list[Diagnostic] = []
        self.suggestions = Suggestions()

    def is_reported(self, key: str) -> bool:
        """Whether a message is reported at this strictness."""
        return self.catalogue[key].severity_in(self.strict) is not None

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
        """Add a diagnostic, unless its message is not reported at this strictness."""
        catalogue = self.catalogue
        message = catalogue.messages[key]
        severity = message.strict if self.strict else message.severity
        if severity is None:
            return
        shown = {name: format_detail(value) for name, value in details.items()}
        shown["token"] = format_detail(token) if token else ""
        fix = catalogue.fixes.get(key)
        hint, note = message.hint, message.reader_note
        self.diagnostics.append(
            Diagnostic(
                code=catalogue.codes[key],
                severity=severity,
                message=message.text.format_map(shown),
                hint=_fill(hint, shown) if hint else hint,
                reader_note=_fill(note, shown) if note else note,
                place=Place(node, child, attribute, token, position),
                source=self.source,
                key=key,
                fix=None if fix is None else fix.fill(details, token),
            )
        )


def _fill(template: str, details: Mapping[str, str]) -> str:
    """Fill in a template; most hints and notes have nothing to fill in."""
    return template.format_map(details) if "{" in template else template


class ExoskelError(Exception):
    """The base class of all errors of the library; `diagnostics` has the reasons, for errors that list them."""

    diagnostics: Sequence[Diagnostic] = ()


class SourceError(ExoskelError, OSError):
    """The input could not be opened or read."""


class SaveError(ExoskelError):
    """The scene cannot be saved so that reading the file gives it back.  Nothing was written."""


class LoadError(ExoskelError):
    """A file has errors in strict mode.  `diagnostics` has all diagnostics."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = diagnostics
        first = next((d for d in diagnostics if d.severity is Severity.ERROR), diagnostics[0])
        others = len(diagnostics) - 1
        super().__init__(str(first) + (f" (and {others} more)" if others else ""))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def sort_by_position(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort diagnostics by file and position; those without a position come first."""

    def key(d: Diagnostic) -> tuple[str, int, int]:
        position = d.position
        return (d.file, position.line, position.column) if position else (d.file, 0, 0)

    return sorted(diagnostics, key=key)


def count_by_severity(diagnostics: Iterable[Diagnostic]) -> dict[str, int]:
    """The number of diagnostics of each severity, as `info --json` reports it."""
    totals = {severity.value: 0 for severity in Severity}
    for diagnostic in diagnostics:
        totals[diagnostic.severity.value] += 1
    return totals


_MAX_QUOTE = 60

# C0 and C1 controls, line and paragraph separators, and the bidirectional controls that can make a
# terminal show something else than what the file says.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def pluralize(number: int, singular: str, plural: str = "") -> str:
    """`1 body`, `2 bodies`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def is_plural(name: str) -> bool:
    """Whether the name of a field is a plural: axes and limits, but not axis, mass and radius."""
    return name.endswith("s") and not name.endswith(("is", "ss", "us"))


def printable(text: str) -> str:
    """`text` with all characters that could control a terminal escaped."""
    if text.isascii() and text.isprintable():  # nearly always, and much faster
        return text
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def format_detail(value: object) -> str:
    """Format a detail for a message: safe to print, and shortened if it is long, except for lists."""
    if type(value) is str and len(value) <= _MAX_QUOTE and value.isascii() and value.isprintable():
        return value
    if isinstance(value, list):
        return printable(", ".join(value))
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = printable(" ".join(text.split()) if "\n" in text else text)
    return text if len(text) <= _MAX_QUOTE else text[: _MAX_QUOTE - 1] + "…"


_MAX_EXCERPT = 120


def caret_excerpt(line: str, position: Position) -> str:
    """The source line, shortened if it is long, and a second line with carets under `position`."""
    start = position.column - 1
    first = max(0, start - _MAX_EXCERPT // 2) if len(line) > _MAX_EXCERPT else 0
    window = line[first : first + _MAX_EXCERPT].replace("\t", " ")
    head = "…" if first else ""
    tail = "…" if first + _MAX_EXCERPT < len(line) else ""
    length = max(1, min(position.length, len(window) - (start - first)))
    before = printable(window[: start - first])
    marked = printable(window[start - first : start - first + length])
    after = printable(window[start - first + length :])
    carets = " " * (len(head) + len(before)) + "^" * max(1, len(marked))
    return f"{head}{before}{marked}{after}{tail}".rstrip() + "\n" + carets


_COMPARISON_BUDGET = 10_000
"""How many pairs of names are compared letter by letter per document, at about 30 µs each."""

_MAX_NAME_LENGTH = 60
"""Longer names are not compared: the time grows with the square of their length."""


class Suggestions:
    """Creates "did you mean" suggestions for one document.

    A file with thousands of unknown names only gets suggestions for the first of them, since comparing
    each with all known names would take minutes.
    """

    def __init__(self, budget: int = _COMPARISON_BUDGET) -> None:
        self.budget = budget

    def among(self, known: Iterable[str], are_terms: bool = False) -> KnownNames:
        """Known names: of parts of the document, or the terms of its format."""
        return KnownNames(known, self, are_terms)


class Suggestion(str):
    """The hint `did you mean 'x'?`, or an empty string; `word` is x, which is `sure` if only one typo explains it."""

    word: str
    sure: bool

    def __new__(cls, word: str = "", sure: bool = False) -> Suggestion:
        suggestion = super().__new__(cls, f"did you mean '{word}'?" if word else "")
        suggestion.word, suggestion.sure = word, sure
        return suggestion


_MIN_TYPO_LENGTH = 2
"""In shorter names of parts nothing is a typo."""
_MIN_TERM_LENGTH, _MIN_REPLACED_TERM_LENGTH = 3, 4
"""The same for words of a format, and their length from which on a different letter is a typo."""
_SHORT = 4

_DIGITS = re.compile(r"[^0-9]+")


def is_typo(word: str, meant: str, is_term: bool = False) -> bool:
    """Whether a word differs from another by one typo: an extra, missing or wrong letter, or two swapped letters.

    Different digits and other first letters, as in lmotor and amotor, are not typos.  Terms are words of a format: many
    short ones differ by a letter, as xy and xz do.
    """
    if abs(len(word) - len(meant)) > 1 or len(meant) < (_MIN_TERM_LENGTH if is_term else _MIN_TYPO_LENGTH):
        return False
    if not is_term and (len(word) < _MIN_TYPO_LENGTH or word[::-1] == meant):  # xy and yx are two names
        return False
    if _DIGITS.sub(" ", word).strip() != _DIGITS.sub(" ", meant).strip():
        return False
    head = next((i for i, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant)))
    tail, other = word[head:], meant[head:]
    swapped = tail[:2] == other[:2][::-1] and tail[2:] == other[2:]
    is_replaced = head > 0 and tail[1:] == other[1:] and (len(meant) >= _MIN_REPLACED_TERM_LENGTH or not is_term)
    return swapped or is_replaced or tail[1:] == other or tail == other[1:]


@lru_cache(maxsize=256)
def _close_matches(word: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The nearest of some names, if it is near.  Files repeat a few unknown names, and each takes about 30 µs."""
    from difflib import get_close_matches

    return tuple(get_close_matches(word, known, n=1, cutoff=0.6))


class KnownNames:
    """A set of known names, which finds the one nearest to an unknown name."""

    def __init__(self, known: Iterable[str], suggestions: Suggestions | None = None, are_terms: bool = False) -> None:
        self._suggestions = suggestions or Suggestions()
        self._are_terms = are_terms
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
        """The known name nearest to `word`, and whether it is sure; empty if none is near."""
        folded = word.lower()
        if folded not in self._found:
            near = (
                self._folded.get(folded)
                or self._by_letters.get("".join(sorted(folded)))  # same letters in another order, as in xz for zx
                or self._nearest(folded)
            )
            self._found[folded] = Suggestion(near, self._is_sure(folded, near.lower()))
        return self._found[folded]

    def closest(self, word: str) -> str:
        """The known name nearest to `word`, or an empty string."""
        return self.suggestion(word).word

    def _is_sure(self, folded: str, near: str) -> bool:
        """Whether `near` is the only known name that differs by a typo."""
        if folded == near:
            return folded not in self._ambiguous
        if not is_typo(folded, near, self._are_terms) or not self._spend_budget():
            return False
        return sum(is_typo(folded, known, self._are_terms) for known in self._folded) == 1

    def _spend_budget(self) -> bool:
        if self._suggestions.budget < len(self._folded):
            return False
        self._suggestions.budget -= len(self._folded)
        return True

    def _nearest(self, folded: str) -> str:
        if len(folded) > _MAX_NAME_LENGTH or not self._spend_budget():
            return ""
        comparable = [known for known in self._folded if len(known) <= _MAX_NAME_LENGTH]
        matches = [*_close_matches(folded, tuple(comparable))]
        if not matches and len(folded) < _SHORT:  # half of the letters may be right
            matches = [known for known in comparable if is_typo(folded, known, self._are_terms)]
        return self._folded[matches[0]] if matches else ""

    def did_you_mean(self, word: str) -> Suggestion:
        """`did you mean 'x'?`, or an empty string if no known name is near."""
        return self.suggestion(word)


def closest_name(word: str, known: Iterable[str]) -> str:
    """The known name nearest to `word`, or an empty string."""
    return KnownNames(known).closest(word)


def did_you_mean(word: str, known: Iterable[str]) -> Suggestion:
    """`did you mean 'x'?`, or an empty string if no known name is near."""
    return KnownNames(known).did_you_mean(word)


LIMIT_HINT = "if you trust the file, raise the limit: {option}"
PACKAGE_HINT = "set --package-path DIR (package_path=)"


def repeats(count: int) -> str:
    """The end of a message that stands for several equal ones: ` (3 times, first here)`; empty for one."""
    return f" ({count} times, first here)" if count > 1 else ""
