"""One document for each model: formats that hold a robot and not a world."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from exoskel.convert.report import Certificate, Check, Report
from exoskel.fates import NodeFate
from exoskel.scene.item import Names, unique_name

NOT_CHOSEN = "this model was not chosen"

_UNFIT = re.compile(r"[^\w.+-]+")


def file_names(models: Sequence[str], ending: str) -> list[str]:
    """A file name for each model, fit for any system."""
    taken = Names()
    made: list[str] = []
    for model in models:
        name = unique_name(_UNFIT.sub("_", model).strip("._") or "model", taken)
        taken.add(name)
        made.append(name + ending)
    return made


def combined(parts: Sequence[Report], names: Sequence[str], output: Path | None) -> Report:
    """One report for all: a node has the fate that it has in the document of its own model."""
    checks = [
        Check(f"{name}: {check.name}", check.max_error, check.tolerance, check.passed)
        for name, part in zip(names, parts, strict=True)
        for check in part.certificate.checks
    ]
    hints = list(dict.fromkeys(line for part in parts for line in part.hint.splitlines()))
    return structs.replace(
        parts[0],
        output=str(output) if output is not None else "",
        items=_fates([part.items for part in parts]),
        certificate=Certificate.of(checks),
        data=b"".join(part.data for part in parts),
        hint="\n".join(hints),
        parts=list(parts),
    )


def _fates(lists: Sequence[Sequence[NodeFate]]) -> list[NodeFate]:
    """For each node the first fate that is not only that its model is in another document."""
    return [next((one for one in same if one.why != NOT_CHOSEN), same[0]) for same in zip(*lists, strict=True)]
