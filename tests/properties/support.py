"""How generated documents are read, and scenes held against each other."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import Phase, settings

import exoskel
from exoskel.scene.fields import differences, iter_items
from tests.support.generate import Generated

FEW = 40
"""Enough to try each rule of the vocabularies now and then, and few enough to wait for."""

tried = (
    settings()
    if os.environ.get("EXOSKEL_EXAMPLES")
    # Whole documents take minutes to shrink: one that fails is shown as it is.
    else settings(max_examples=FEW, phases=(Phase.explicit, Phase.generate))
)
"""How the properties are tried: on a few documents, always the same ones, or on as many as were asked for."""

SAME = 1e-12
"""How far rotations and moments that are spelled otherwise may be off, in rad and relative."""


def load(document: Generated, folder: Path) -> exoskel.Scene:
    return exoskel.load(document.data, base=folder, format=document.format)


def unlike(one: exoskel.Scene, other: exoskel.Scene, tolerance: float = SAME) -> list[str]:
    """In what two scenes differ.  Numbers that are not of rotations or moments have to be the very same."""
    ours, theirs = list(iter_items(one)), list(iter_items(other))
    if [type(row[0]) for row in ours] != [type(row[0]) for row in theirs]:
        return ["not the same parts in the same order"]
    pairs = [(a[0], b[0]) for a, b in zip(ours, theirs, strict=True)]
    return [
        f"{d.one!r}.{d.field}: {d.error}"
        for d in differences(pairs)
        if d.error > (tolerance if d.field in ("pose", "axes", "inertia", "dofs", "soft") else 0.0)
    ]
