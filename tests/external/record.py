"""The results of external readers, recorded in a file that the quick tests use."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import ceil, log10
from pathlib import Path
from typing import Any

from tests.external.comparison import QUANTITIES, Errors
from tests.external.runner import ComparisonJob, Outcomes
from tests.support.places import GOLDEN

FILE = GOLDEN / "external_readers.json"
LEAST = 1e-15
"""Smaller errors are rounded up to this: they differ between machines."""
_NOISE = 10.5
"""Errors within this factor of the recorded ones are those of another processor, and are not recorded again."""

Record = dict[str, Any]
"""`date`, versions by reader, what still has to be compared (`pending`), the quantities, and by scene and format: digest, errors by reader, limits reached."""


def load(file: Path = FILE) -> Record:
    if not file.exists():
        return {"scenes": {}}
    found: Record = json.loads(file.read_text(encoding="utf-8"))
    return found


def updated(
    jobs: list[ComparisonJob], outcomes: Outcomes, versions: Mapping[str, str], date: str, before: Record
) -> Record:
    """The record with these results; scenes that were not compared now stay as they were.

    Without other results, the versions of older readers are not recorded.
    """
    scenes: dict[str, Any] = {name: dict(formats) for name, formats in before["scenes"].items()}
    for job in jobs:
        row: dict[str, Any] = {"sha256": job.sha256}
        found = {name: outcomes[job.case, job.format, name] for name in job.readers}
        was = scenes.get(job.case, {}).get(job.format, {}).get("errors", {})
        row["errors"] = {
            name: steady(_row(outcome.errors), was.get(name)) for name, outcome in found.items() if outcome.errors
        }
        met = {name: sorted({limit.why for limit in outcome.limits}) for name, outcome in found.items()}
        if any(met.values()):
            row["limits"] = {name: whys for name, whys in met.items() if whys}
        scenes.setdefault(job.case, {})[job.format] = row
    recorded = before.get("readers", {})
    is_newer = any(is_older(recorded.get(name, ""), found) for name, found in versions.items())
    if before["scenes"] == scenes and before.get("errors") == list(QUANTITIES) and not is_newer:
        return before
    return {"date": date, "readers": dict(versions), "errors": list(QUANTITIES), "scenes": dict(sorted(scenes.items()))}


def is_older(version: str, other: str) -> bool:
    one, two = ([int(number) for number in re.findall(r"\d+", text)] for text in (version, other))
    return one < two


Row = list[float | None]
"""The largest error of each quantity."""


def steady(found: Row, recorded: Sequence[float | None] | None) -> Row:
    """Errors as they are recorded: those that differ only as processors do stay as they were."""
    if recorded is None or len(recorded) != len(found):
        return found
    return [was if _is_noise(error, was) else error for error, was in zip(found, recorded, strict=True)]


def _is_noise(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return False
    small, large = sorted((max(one, LEAST), max(other, LEAST)))
    return large <= small * _NOISE


def _row(errors: Errors) -> Row:
    return [round_up(errors[name]) if name in errors else None for name in QUANTITIES]


def round_up(error: float) -> float:
    """Round up to the next power of ten."""
    return float(f"1e{ceil(log10(max(error, LEAST)) - 1e-9)}")


def save(record: Record, file: Path = FILE) -> None:
    """Write one line for each scene and format, which keeps diffs readable."""
    head = {key: value for key, value in record.items() if key != "scenes"}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    scenes = []
    for name, formats in record["scenes"].items():
        rows = [f"{json.dumps(format)}: {json.dumps(row)}" for format, row in formats.items()]
        scenes.append(f"{json.dumps(name)}: {{\n" + ",\n".join(f"  {row}" for row in rows) + "\n}")
    text = "{\n" + "\n".join(lines) + '\n"scenes": {\n' + ",\n".join(scenes) + "\n}}\n"
    file.write_text(text, encoding="utf-8")


def new_limits(outcomes: Outcomes, before: Record) -> list[str]:
    """Cases that reach a limit for the first time: a limit must not spread silently."""
    found = []
    for (case, format, reader), outcome in outcomes.items():
        was = before["scenes"].get(case, {}).get(format, {})
        new = {limit.why for limit in outcome.limits} - {*was.get("limits", {}).get(reader, [])}
        found += [
            f"{case} {format} {reader}: was compared before, but now: {why}"
            for why in new
            if reader in was.get("errors", {})
        ]
    return found
