"""Light directions, colours of backgrounds and shapes, and conversion between sRGB and linear light."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.scene.pose import Vector, vector_from_array
from exoskel.scene.shape import Color
from exoskel.spatial import Array
from exoskel.view.camera import PRESETS, Camera
from exoskel.view.rasterizer import Floats

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
TENDON: Color = (0.80, 0.30, 0.30, 1.0)
CONSTRAINT: Color = (0.60, 0.25, 0.80, 1.0)


def bytes_of(color: Color) -> tuple[int, int, int]:
    """Convert a colour to red, green and blue from 0 to 255."""
    red, green, blue = (round(255 * min(max(part, 0.0), 1.0)) for part in color[:3])
    return (red, green, blue)


# --- lighting ------------------------------------------------------------------------------------------


SUN_DIRECTION: Vector = (0.5, -0.9, 1.6)
FILL_DIRECTION: Vector = (0.6, 1.0, 0.3)
"""Directions towards the lights for the default camera: forward, left, up."""


def light_directions(camera: Camera, frame: Array) -> tuple[Vector, Vector]:
    """The directions towards the sun and the fill light: forward, left, up.

    They rotate with the camera about the vertical, so that the sun shines from its right and shadows are visible.
    """
    forward, left, _ = frame @ (np.array(camera.position) - np.array(camera.target))
    ahead, aside, _ = PRESETS["default"]
    azimuth = np.arctan2(left, forward) - np.arctan2(aside, ahead)
    c, s = np.cos(azimuth), np.sin(azimuth)
    rotation = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return vector_from_array(rotation @ SUN_DIRECTION), vector_from_array(rotation @ FILL_DIRECTION)


class Lighting(Struct, frozen=True):
    """The colours around a scene, in sRGB from 0 to 1."""

    sky: Vector = (0.93, 0.95, 0.97)
    horizon: Vector = (1.0, 1.0, 1.0)
    ground: Vector = (0.93, 0.935, 0.94)
    line: Vector = (0.72, 0.75, 0.79)


LIGHT = Lighting()
DARK = Lighting((0.07, 0.08, 0.10), (0.13, 0.14, 0.17), (0.16, 0.17, 0.19), (0.30, 0.33, 0.37))


def srgb_to_linear(color: Any) -> Floats:
    """Convert sRGB colours to linear light."""
    c = np.clip(np.asarray(color, dtype=np.float32), 0.0, 1.0)
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4).astype(np.float32)


def linear_to_srgb(light: Floats) -> Floats:
    """Convert linear light to sRGB."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055).astype(np.float32)
