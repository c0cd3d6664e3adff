"""Edits of scenes, also with values that are refused where they are set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import exoskel
from exoskel.scene.edit_tracking import CLOCK, no_edits, set_field


@contextmanager
def unchecked_values() -> Iterator[None]:
    """Set values that only the validation checks, as those of files."""
    with no_edits():
        yield
    CLOCK.tick()


def edited(source: str | bytes | Path) -> exoskel.Scene:
    """A scene that differs from its document in a way that needs a new document, not a copy of the source."""
    scene = exoskel.load(source)
    scene.world.name += " (edited)"
    set_field(scene, "stamp", -1)  # as if what was edited were not known
    return scene
