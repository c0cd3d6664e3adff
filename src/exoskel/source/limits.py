"""Limits on the size of the input."""

from __future__ import annotations

from msgspec import Struct

from exoskel.diagnostics import ExoskelError

MAX_DEPTH = 500
"""The largest limit on the depth: as deep as MuJoCo reads."""


class LimitError(ExoskelError, ValueError):
    """A limit cannot be applied."""


class Limits(Struct, frozen=True, kw_only=True):
    """Limits on the input.  Exceeding one is an error diagnostic that names it."""

    bytes: int = 512 * 2**20
    depth: int = 200
    elements: int = 10_000_000
    attributes: int = 1_000
    """Per element, because the time of the parser grows with the square of their number."""
    mesh_bytes: int = 512 * 2**20
    seconds: float = 7.0
    """The processor time of MuJoCo's compiler for a document of up to 1 MB; for larger ones it grows quadratically."""

    def check(self) -> None:
        """Raise LimitError for a limit that cannot be applied."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not value > 0:
                raise LimitError(f"the limit {name} is {value}, but must be positive")
        if self.depth > MAX_DEPTH:
            raise LimitError(f"the limit depth is {self.depth}, but can be at most {MAX_DEPTH}")


DEFAULT_LIMITS = Limits()
