"""How much a reader is willing to take on."""

from __future__ import annotations

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds on the input.  Exceeding one is an error diagnostic that names the limit."""

    bytes: int = 512 * 2**20
    depth: int = 200
    elements: int = 10_000_000
    attributes: int = 1_000
    """Of one element: the parser looks each of them up among all, which takes time in the square of their number."""
    mesh_bytes: int = 512 * 2**20


DEFAULT_LIMITS = Limits()
