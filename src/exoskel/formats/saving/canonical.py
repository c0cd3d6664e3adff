"""Saving a scene as a new document."""

from __future__ import annotations

from pathlib import Path

from exoskel.diagnostics import ExoskelError, Severity
from exoskel.formats.saving.errors import SaveError
from exoskel.formats.saving.verification import match
from exoskel.formats.write import Written, reread, write
from exoskel.scene.world import Scene


def canonical(scene: Scene, format: str, folder: Path | None) -> bytes:
    """A scene as a new document, proved by reading it back."""
    try:
        written = write(scene, format, folder=folder)
    except (ExoskelError, ValueError) as error:
        raise SaveError(f"the scene cannot be saved: {error}") from None
    if written.plain:
        _check(scene, written, format)
        return written.data
    failure = match(scene, reread(written.data, format, folder)).problem
    if failure:
        raise SaveError(f"the scene cannot be written as {format.upper()} without a change: {failure}")
    return written.data


def _check(scene: Scene, written: Written, format: str) -> None:
    """What has no place for everything must at least be read without errors, and hold all bodies."""
    errors = [d for d in written.native.diagnostics if d.severity is Severity.ERROR]
    if errors and not written.native.worlds:
        raise SaveError(f"the scene cannot be written as {format.upper()}: {errors[0].message} ({errors[0].code})")
    lost = [b for world in scene.worlds for b in world.bodies() if id(b) not in written.counterparts]
    if lost:
        raise SaveError(f"the scene cannot be written as {format.upper()}: body {lost[0].name!r} does not come back")
