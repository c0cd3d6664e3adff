"""Diagnostics as SARIF 2.1.0, the exchange format of code review tools."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from exoskel.diagnostics import Catalogue, Diagnostic, Severity, Topic
from exoskel.version import __version__

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def report(diagnostics: Sequence[Diagnostic], catalogues: Iterable[Catalogue]) -> dict[str, Any]:
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
                        "rules": [_rule(topics[code]) for code in used],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(diagnostic, index[diagnostic.code]) for diagnostic in diagnostics],
            }
        ],
    }


def _rule(topic: Topic) -> dict[str, Any]:
    worst = min((m.severity or Severity.INFO for m in topic.messages), key=list(Severity).index)
    return {
        "id": topic.code,
        "name": topic.title.title().replace(" ", "").replace(",", ""),
        "shortDescription": {"text": topic.title},
        "fullDescription": {"text": topic.text},
        "defaultConfiguration": {"level": _LEVELS[worst]},
    }


def _result(diagnostic: Diagnostic, rule: int) -> dict[str, Any]:
    message = diagnostic.message + (f" ({diagnostic.hint})" if diagnostic.hint else "")
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
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": message},
        "locations": [location],
    }


def _uri(file: str) -> str:
    """A relative path as a relative URI, an absolute one as a `file:` URI."""
    if file.startswith("<") or "://" in file:
        return quote(os.fsencode(file), safe=":/")
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
