"""The `extras` of nodes in glTF: data of Exoskel, and data of other programs, which are preserved from glTF to glTF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXTRAS = "extras"
OWN_EXTRAS = frozenset({"mass", "com", "inertia", "gravity", "joint", "static", "loops", "marker", "time_step"})
"""The names of the data of Exoskel."""


def other_extras(node: Mapping[str, Any], *, is_own: bool) -> dict[str, Any]:
    """The extras of other programs; `is_own`: Exoskel wrote the file."""
    found = node.get(EXTRAS)
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if not is_own or name not in OWN_EXTRAS}
