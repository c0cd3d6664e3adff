"""What the judges have found, kept in a file: the light tests go by it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import ceil, log10
from pathlib import Path
from typing import Any

from tests.foreign.judging import Brief, Outcomes
from tests.foreign.verdicts import QUANTITIES, Errors
from tests.support.places import GOLDEN

FILE = GOLDEN / "foreign.json"
LEAST = 1e-15
"""Smaller errors are all the same: they differ from machine to machine."""

Record = dict[str, Any]
"""`date`, versions by judge, the quantities, and by scene and format: the digest, errors by judge, and limits met."""


def load(file: Path = FILE) -> Record:
    if not file.exists():
        return {"scenes": {}}
    found: Record = json.loads(file.read_text(encoding="utf-8"))
    return found


def made(briefs: list[Brief], outcomes: Outcomes, versions: Mapping[str, str], date: str, before: Record) -> Record:
    """The record with these in it: what was not judged now stays as it was."""
    scenes: dict[str, Any] = {name: dict(formats) for name, formats in before["scenes"].items()}
    for brief in briefs:
        row: dict[str, Any] = {"sha256": brief.sha256}
        found = {name: outcomes[brief.case, brief.format, name] for name in brief.judges}
        row["errors"] = {name: _row(outcome.errors) for name, outcome in found.items() if outcome.errors}
        met = {name: sorted({limit.why for limit in outcome.limits}) for name, outcome in found.items()}
        if any(met.values()):
            row["limits"] = {name: whys for name, whys in met.items() if whys}
        scenes.setdefault(brief.case, {})[brief.format] = row
    new = {"date": date, "judges": dict(versions), "errors": list(QUANTITIES), "scenes": dict(sorted(scenes.items()))}
    same = {key: value for key, value in before.items() if key != "date"} == {
        key: value for key, value in new.items() if key != "date"
    }
    return before if same else new


def _row(errors: Errors) -> list[float | None]:
    return [_up(errors[name]) if name in errors else None for name in QUANTITIES]


def _up(error: float) -> float:
    """To the next power of ten."""
    return float(f"1e{ceil(log10(max(error, LEAST)) - 1e-9)}")


def save(record: Record, file: Path = FILE) -> None:
    """One line for each scene and format, so that changes can be seen."""
    head = {key: value for key, value in record.items() if key != "scenes"}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    scenes = []
    for name, formats in record["scenes"].items():
        rows = [f"{json.dumps(format)}: {json.dumps(row)}" for format, row in formats.items()]
        scenes.append(f"{json.dumps(name)}: {{\n" + ",\n".join(f"  {row}" for row in rows) + "\n}")
    text = "{\n" + "\n".join(lines) + '\n"scenes": {\n' + ",\n".join(scenes) + "\n}}\n"
    file.write_text(text, encoding="utf-8")


def lost(outcomes: Outcomes, before: Record) -> list[str]:
    """Cases that meet a limit that they have not met before: it may not spread without a word."""
    found = []
    for (case, format, judge), outcome in outcomes.items():
        was = before["scenes"].get(case, {}).get(format, {})
        new = {limit.why for limit in outcome.limits} - {*was.get("limits", {}).get(judge, [])}
        found += [
            f"{case} {format} {judge}: was judged before, but now: {why}"
            for why in new
            if judge in was.get("errors", {})
        ]
    return found
