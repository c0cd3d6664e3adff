"""What the viewer does for those that stand floors below it: pages for notebooks, and pictures without OpenGL.

It is not imported from there: whoever has both says so here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Paint = Callable[[Any], Any]
"""Draws a world at poses of its bodies, `(bodies, 7)`, as `(height, width, 3)` of red, green and blue."""


def _nothing(_shown: Any) -> str | None:
    return None


def _nobody(_world: Any, _size: tuple[int, int]) -> Paint | None:
    return None


render_html: Callable[[Any], str | None] = _nothing
"""The page of a scene or motion, as HTML; None where there is none, and notebooks print it instead."""
create_painter: Callable[[Any, tuple[int, int]], Paint | None] = _nobody
"""What draws a world in so many pixels (width, height) with nothing but the processor; None where nobody does."""
