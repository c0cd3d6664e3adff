"""Names that USD can hold: identifiers, unique among their siblings."""

from __future__ import annotations

import re

_UNFIT = re.compile(r"[^A-Za-z0-9_]")


class Identifiers:
    """The names of the children of one prim."""

    def __init__(self, reserved: tuple[str, ...] = ()) -> None:
        self._taken = set(reserved)
        self._reached: dict[str, int] = {}

    def fresh(self, name: str, otherwise: str) -> str:
        """`name` in letters, digits and underscores, with a number behind it if a sibling is called so already.

        USD allows letters of all scripts since 2024; its readers do not all.
        """
        fit = _UNFIT.sub("_", name.strip()) or otherwise
        if fit[0].isdigit():
            fit = "_" + fit
        chosen = fit
        number = self._reached.get(fit, 0)
        while chosen in self._taken:
            number += 1
            chosen = f"{fit}_{number}"
        self._reached[fit] = number
        self._taken.add(chosen)
        return chosen


def displayed(name: str, identifier: str) -> dict[str, str]:
    """The name as it was, where the identifier is another."""
    return {"displayName": name} if name and name != identifier else {}
