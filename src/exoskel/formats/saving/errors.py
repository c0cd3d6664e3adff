"""What goes wrong when a scene is saved."""

from __future__ import annotations

from exoskel.diagnostics import ExoskelError


class SaveError(ExoskelError):
    """The scene cannot be saved so that reading it gives it back.  Nothing was written."""
