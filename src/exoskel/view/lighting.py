"""Light directions, background colours, and conversion between sRGB and linear light."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.scene.pose import Vector
from exoskel.view.rasterizer import Floats

SUN_DIRECTION: Vector = (0.5, -0.9, 1.6)
FILL_DIRECTION: Vector = (0.6, 1.0, 0.3)
"""Directions towards the lights: forward, left, up."""


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
