"""Hooks through which lower layers use the viewer: HTML for notebooks, and rendering without OpenGL.

Lower layers do not import the viewer; the package sets these functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Paint = Callable[[Any], Any]
"""Draws a world at poses of its bodies, `(bodies, 7)`, and returns an RGB image, `(height, width, 3)`."""


def _no_html(_shown: Any) -> str | None:
    return None


def _no_painter(_world: Any, _size: tuple[int, int]) -> Paint | None:
    return None


render_html: Callable[[Any], str | None] = _no_html
"""Renders a scene or trajectory as HTML; None if the viewer is missing, and notebooks print the object instead."""
create_painter: Callable[[Any, tuple[int, int]], Paint | None] = _no_painter
"""Creates a function that draws a world on the CPU at a size in pixels (width, height); None without the viewer."""
