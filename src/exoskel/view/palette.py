"""Distinct colours for light and dark backgrounds: red, green, blue and alpha from 0 to 1."""

from __future__ import annotations

from exoskel.scene.shape import Color

MODELS: tuple[Color, ...] = (
    (0.29, 0.53, 0.75, 1.0),
    (0.88, 0.48, 0.30, 1.0),
    (0.42, 0.66, 0.45, 1.0),
    (0.91, 0.72, 0.30, 1.0),
    (0.56, 0.45, 0.70, 1.0),
    (0.33, 0.70, 0.68, 1.0),
    (0.80, 0.45, 0.60, 1.0),
    (0.60, 0.48, 0.42, 1.0),
)
"""For shapes without a colour; models take these in turn."""
STATIC: Color = (0.74, 0.76, 0.78, 1.0)
PLANE_ALPHA = 0.15
"""The opacity of planes other than the ground, so that walls do not hide the scene."""
COLLISION: Color = (0.95, 0.55, 0.20, 0.35)
PLACEHOLDER: Color = (0.85, 0.15, 0.55, 0.6)
"""For missing meshes."""
SKIN: Color = (0.90, 0.55, 0.60, 0.55)
SELECTED: Color = (1.0, 0.80, 0.15, 1.0)
CONTACT: Color = (0.85, 0.20, 0.20, 1.0)
GHOST: Color = (0.45, 0.50, 0.95, 0.35)
MASS: Color = (0.95, 0.85, 0.25, 0.45)
JOINT: Color = (0.25, 0.65, 0.95, 1.0)


def bytes_of(color: Color) -> tuple[int, int, int]:
    """Convert a colour to red, green and blue from 0 to 255."""
    red, green, blue = (round(255 * min(max(part, 0.0), 1.0)) for part in color[:3])
    return (red, green, blue)
