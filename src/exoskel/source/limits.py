"""Limits on the size of the input."""

from __future__ import annotations

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True):
    """Limits on the input.  Exceeding one is an error diagnostic that names it."""

    bytes: int = 512 * 2**20
    depth: int = 200
    elements: int = 10_000_000
    attributes: int = 1_000
    """Per element, because the time of the parser grows with the square of their number."""
    mesh_bytes: int = 512 * 2**20


DEFAULT_LIMITS = Limits()
