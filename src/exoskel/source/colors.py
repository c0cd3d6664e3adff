"""Colours as screens show them, which is how scenes state them, and as light, which is how renderers reckon."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exoskel import spatial
from exoskel.spatial import Array


def srgb_to_linear(colors: ArrayLike) -> Array:
    """Red, green and blue of sRGB as shares of light; what follows them (alpha) stays."""
    given = spatial.array(colors)
    out = given.copy()
    shown = given[..., :3]
    out[..., :3] = np.where(shown <= 0.04045, shown / 12.92, ((np.maximum(shown, 0.0) + 0.055) / 1.055) ** 2.4)
    return out


def linear_to_srgb(colors: ArrayLike) -> Array:
    """The way back from `srgb_to_linear`."""
    given = spatial.array(colors)
    out = given.copy()
    light = given[..., :3]
    out[..., :3] = np.where(light <= 0.0031308, light * 12.92, 1.055 * np.maximum(light, 0.0) ** (1 / 2.4) - 0.055)
    return out
