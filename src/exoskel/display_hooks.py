"""Tables for notebooks, and hooks through which lower layers use the viewer (its page, and rendering without OpenGL)
and mesh files.

Lower layers do not import these; the package sets the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Paint = Callable[[Any], Any]
"""Draws a world at poses of its bodies, `(bodies, 7)`, and returns an RGB image, `(height, width, 3)`."""


def _no_html(_shown: Any) -> str | None:
    return None


def _no_painter(_world: Any, _size: tuple[int, int], _camera: int | None) -> Paint | None:
    return None


render_html: Callable[[Any], str | None] = _no_html
"""Renders a scene or trajectory as HTML; None if the viewer is missing, and notebooks print the object instead."""
create_painter: Callable[[Any, tuple[int, int], int | None], Paint | None] = _no_painter
"""Creates a function that draws a world on the CPU at a size in pixels (width, height); None without the viewer.

The last argument is the number of a camera of the world; without one, the picture follows the moving bodies.
"""

locate_mesh: Callable[[Any], Any] | None = None
"""Returns a mesh that a program builds with the path and extent of its file."""
locate_texture: Callable[[Any], Any] | None = None
"""Returns a texture that a program builds with the path of its file."""

MAX_ROWS = 100
"""The most rows of a table for notebooks."""


def html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table for notebooks, with a title if it is not empty.  Texts are escaped."""
    from html import escape

    lines = [_row("td", row) for row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        lines.append(f'<tr><td colspan="{len(head)}">and {len(rows) - MAX_ROWS} more</td></tr>')
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}{_row('th', head)}{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[object]) -> str:
    from html import escape

    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"
