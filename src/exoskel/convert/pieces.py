"""One document for each model: formats that hold a robot and not a world."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from exoskel.convert.report import Certificate, Check, Report
from exoskel.fates import Fate, NodeFate
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
    """For each node the fate that it has where it is used."""
    return [min(same, key=_rank) for same in zip(*lists, strict=True)]


def _rank(fate: NodeFate) -> int:
    """What is in one of the documents is not lost; what is lost in one is told before what meant nothing in another."""
    if fate.fate is not Fate.DROPPED:
        return 0
    return 3 if fate.why == NOT_CHOSEN else 1 if fate.loss else 2
