"""Saving scenes: a minimal patch of the document they come from, or a new one."""

from exoskel.formats.saving.errors import SaveError

__all__ = ["SaveError"]
