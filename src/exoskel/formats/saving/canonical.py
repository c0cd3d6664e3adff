"""Saving a scene as a new document."""

from __future__ import annotations

from pathlib import Path

from exoskel.diagnostics import ExoskelError
from exoskel.formats.saving.errors import SaveError
from exoskel.formats.saving.verification import match
from exoskel.formats.write import reread, write
from exoskel.scene.world import Scene


def canonical(scene: Scene, format: str, folder: Path | None) -> bytes:
    """A scene as a new document, proved by reading it back."""
    try:
        written = write(scene, format, folder=folder)
    except (ExoskelError, ValueError) as error:
        raise SaveError(f"the scene cannot be saved: {error}") from None
    failure = match(scene, reread(written.data, format, folder)).problem
    if failure:
        raise SaveError(f"the scene cannot be written as {format.upper()} without a change: {failure}")
    return written.data
