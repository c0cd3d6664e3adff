"""Edits with values that are refused where they are set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from exoskel.scene.edit_tracking import CLOCK, no_edits


@contextmanager
def unchecked_values() -> Iterator[None]:
    """Set values that only the validation checks, as those of files."""
    with no_edits():
        yield
    CLOCK.tick()
