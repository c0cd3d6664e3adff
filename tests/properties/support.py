"""Reading generated documents and comparing scenes."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import Phase, settings

import exoskel
from exoskel.scene.fields import differences, iter_items
from tests.support.generate import Generated

FEW = 40
"""Enough to test each rule of the vocabularies now and then, and few enough to be fast."""

tried = (
    settings()
    if os.environ.get("EXOSKEL_EXAMPLES")
    # Whole documents take minutes to shrink: a failing one is shown unchanged.
    else settings(max_examples=FEW, phases=(Phase.explicit, Phase.generate))
)
"""Settings of the property tests: a few documents, always the same ones, or as many as requested."""

SAME = 1e-12
"""The tolerance of rotations in rad, and of moments relative to their size, that are written in another form."""


def load(document: Generated, folder: Path) -> exoskel.Scene:
    return exoskel.load(document.data, base=folder, format=document.format)


def unlike(one: exoskel.Scene, other: exoskel.Scene, tolerance: float = SAME) -> list[str]:
    """The differences of two scenes.  Numbers other than rotations and moments have to be equal."""
    ours, theirs = list(iter_items(one)), list(iter_items(other))
    if [type(row[0]) for row in ours] != [type(row[0]) for row in theirs]:
        return ["not the same parts in the same order"]
    pairs = [(a[0], b[0]) for a, b in zip(ours, theirs, strict=True)]
    return [
        f"{d.one!r}.{d.field}: {d.error}"
        for d in differences(pairs)
        if d.error > (tolerance if d.field in ("pose", "axes", "inertia", "dofs", "soft") else 0.0)
    ]
