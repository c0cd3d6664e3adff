"""How notebooks display scenes and motions: as the viewer's page.

The viewer stands floors above what is displayed, so it is not imported from there: whoever has both says so here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _nothing(_shown: Any) -> str | None:
    return None


page: Callable[[Any], str | None] = _nothing
"""The page of a scene or motion, as HTML; None where there is none, and notebooks print it instead."""
