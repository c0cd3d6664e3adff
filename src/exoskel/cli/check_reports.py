"""The output of `exoskel check` for other programs: SARIF, annotations of GitHub, JUnit; and its statistics."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import Struct

from exoskel.cli.checked_file import Replacement, proposed_fix
from exoskel.diagnostics import Catalogue, Diagnostic, Severity, Topic, pluralize, printable
from exoskel.source.markup import escape_attribute, escape_text
from exoskel.version import __version__

if TYPE_CHECKING:
    from exoskel.cli.checked_file import CheckedFile

# --- SARIF ------------------------------------------------------------------------------------------------


_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_HOMEPAGE = "https://pypi.org/project/exoskel/"
_NEWLINES = ["\r\n", "\n", "\r"]
"""The line ends by which lines are counted; by default, not by a carriage return alone."""
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(diagnostics: Sequence[Diagnostic], catalogues: Iterable[Catalogue]) -> dict[str, Any]:
    """Return a SARIF log of one run: all diagnostics and the rules they refer to."""
    topics = {code: topic for catalogue in catalogues for code, topic in catalogue.topics.items()}
    used = sorted({diagnostic.code for diagnostic in diagnostics})
    index = {code: i for i, code in enumerate(used)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "exoskel",
                        "version": __version__,
                        "informationUri": _HOMEPAGE,
                        "rules": [_rule(topics[code]) for code in used],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "newlineSequences": _NEWLINES,
                "results": [_result(diagnostic, index[diagnostic.code]) for diagnostic in diagnostics],
            }
        ],
    }


def _rule(topic: Topic) -> dict[str, Any]:
    worst = min((m.severity or Severity.INFO for m in topic.messages), key=list(Severity).index)
    return {
        "id": topic.code,
        "name": re.sub(r"\W", "", topic.title.title()),
        "shortDescription": {"text": topic.title},
        "fullDescription": {"text": topic.text},
        "defaultConfiguration": {"level": _LEVELS[worst]},
    }


def _message(diagnostic: Diagnostic) -> str:
    """The message with hint and note in parentheses."""
    return diagnostic.message + "".join(f" ({one})" for one in (diagnostic.hint, diagnostic.note) if one)


def _result(diagnostic: Diagnostic, rule: int) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(diagnostic.file)}},
    }
    position = diagnostic.position
    if position is not None:
        location["physicalLocation"]["region"] = {
            "startLine": position.line,
            "startColumn": position.column,
            "endColumn": position.column + position.length,
        }
    if diagnostic.path:
        location["logicalLocations"] = [{"fullyQualifiedName": diagnostic.path}]
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": _message(diagnostic)},
        "locations": [location],
    }
    fix = proposed_fix(diagnostic)
    if fix.replacements:
        changes = [_replacement(one) for one in fix.replacements]
        change = {"artifactLocation": {"uri": _uri(diagnostic.file)}, "replacements": changes}
        result["fixes"] = [{"description": {"text": fix.title}, "artifactChanges": [change]}]
    return result


def _replacement(one: Replacement) -> dict[str, Any]:
    region = {
        "startLine": one.start.line,
        "startColumn": one.start.column,
        "endLine": one.end.line,
        "endColumn": one.end.column,
    }
    return {"deletedRegion": region, "insertedContent": {"text": one.text}}


def _uri(file: str) -> str:
    """A relative path as a relative URI, an absolute one as a `file:` URI."""
    if file.startswith("<") or "://" in file:
        return quote(os.fsencode(file), safe=":/")
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))


# --- GitHub -----------------------------------------------------------------------------------------------


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github(diagnostics: Iterable[Diagnostic]) -> str:
    """Workflow commands of GitHub Actions, one per line: they become annotations of the lines."""
    return "".join(f"{_command(one)}\n" for one in diagnostics)


def _command(diagnostic: Diagnostic) -> str:
    position = diagnostic.position
    properties: dict[str, str | int] = {"file": printable(diagnostic.file)}
    if position is not None:
        properties |= {
            "line": position.line,
            "col": position.column,
            "endLine": position.line,
            "endColumn": position.column + position.length,
        }
    properties["title"] = f"exoskel {diagnostic.code}"
    shown = ",".join(f"{name}={_encode(str(value), ':,')}" for name, value in properties.items())
    return f"::{_COMMANDS[diagnostic.severity]} {shown}::{_encode(_message(diagnostic))}"


def _encode(text: str, reserved: str = "") -> str:
    """Percent signs, line ends and reserved characters in the encoding of workflow commands."""
    return "".join(f"%{ord(one):02X}" if one in "%\r\n" + reserved else one for one in text)


# --- JUnit ------------------------------------------------------------------------------------------------


def junit(files: Sequence[CheckedFile], bad: frozenset[Severity]) -> bytes:
    """A JUnit report: one suite per file; problems of the severities in `bad` are failures, others are output."""
    suites = [_suite(one, bad) for one in files]
    tests, failures, errors = (sum(suite.counts[i] for suite in suites) for i in range(3))
    head = f'<testsuites name="exoskel check" tests="{tests}" failures="{failures}" errors="{errors}">'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head, *(suite.text for suite in suites), "</testsuites>"]
    return "".join(f"{line}\n" for line in lines).encode()


class _Suite(Struct, frozen=True):
    """The XML of a suite, and the numbers of its tests, failures and errors."""

    text: str
    counts: tuple[int, int, int]


def _suite(checked: CheckedFile, bad: frozenset[Severity]) -> _Suite:
    name = _quoted(checked.file)
    failed = [one for one in checked.diagnostics if one.severity in bad]
    others = [one for one in checked.diagnostics if one.severity not in bad]
    cases = [_failure(one, name) for one in failed]
    if checked.problem:
        message = _quoted(checked.problem)
        cases.append(f'    <testcase name="open" classname={name}><error message={message}/></testcase>')
    elif not failed:
        cases.append(f'    <testcase name="check" classname={name}/>')
    if others:
        shown = "\n".join(escape_text(printable(str(one))) for one in others)
        cases.append(f"    <system-out>{shown}</system-out>")
    tests, errors = max(1, len(failed)), int(bool(checked.problem))
    head = f'  <testsuite name={name} tests="{tests}" failures="{len(failed)}" errors="{errors}">'
    return _Suite("\n".join([head, *cases, "  </testsuite>"]), (tests, len(failed), errors))


def _quoted(text: str) -> str:
    """An attribute's value, with its quotes."""
    return f'"{escape_attribute(printable(text))}"'


def _failure(diagnostic: Diagnostic, file: str) -> str:
    line = f' line="{diagnostic.line}"' if diagnostic.line else ""
    message = _quoted(diagnostic.message)
    text = escape_text(printable(str(diagnostic)))
    failure = f'<failure type="{diagnostic.severity}" message={message}>{text}</failure>'
    return f'    <testcase name="{diagnostic.code}" classname={file}{line}>{failure}</testcase>'


# --- statistics -------------------------------------------------------------------------------------------


class CodeCount(Struct):
    """How often a code was reported with a severity, and the first place."""

    code: str
    severity: Severity
    example: str
    count: int = 0


def statistics(diagnostics: Iterable[Diagnostic]) -> list[CodeCount]:
    """The codes that were reported, the most frequent first."""
    found: dict[tuple[str, Severity], CodeCount] = {}
    for one in diagnostics:
        key = one.code, one.severity
        if key not in found:
            position = one.position
            where = f"{one.file}:{position.line}:{position.column}" if position else one.file
            found[key] = CodeCount(*key, f"{where}: {one.message}")
        found[key].count += 1
    return sorted(found.values(), key=lambda row: (-row.count, row.code))


def grand_total(files: Sequence[CheckedFile], tally: str) -> str:
    """`12 files checked: 3 errors, 1 note (10 files without problems)`."""
    clean = sum(not one.diagnostics and not one.problem for one in files)
    without = f" ({pluralize(clean, 'file')} without problems)" if 0 < clean < len(files) else ""
    return f"{pluralize(len(files), 'file')} checked: {tally}{without}"
