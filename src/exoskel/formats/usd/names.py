"""Valid USD names: identifiers that are unique among their siblings."""

from __future__ import annotations

import re

_INVALID = re.compile(r"[^A-Za-z0-9_]")


class Identifiers:
    """The names of the children of one prim."""

    def __init__(self, reserved: tuple[str, ...] = ()) -> None:
        self._taken = set(reserved)
        self._counters: dict[str, int] = {}

    def unique(self, name: str, otherwise: str) -> str:
        """`name` in letters, digits and underscores, with a number appended if a sibling has the same name.

        USD allows letters of all scripts since 2024, but not all readers do.
        """
        fit = _INVALID.sub("_", name.strip()) or otherwise
        if fit[0].isdigit():
            fit = "_" + fit
        chosen = fit
        number = self._counters.get(fit, 0)
        while chosen in self._taken:
            number += 1
            chosen = f"{fit}_{number}"
        self._counters[fit] = number
        self._taken.add(chosen)
        return chosen


def display_name(name: str, identifier: str) -> dict[str, str]:
    """The metadata for the original name, if it differs from the identifier."""
    return {"displayName": name} if name and name != identifier else {}
