"""Conversion of colours between sRGB, which scenes use, and linear RGB, which renderers use."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exoskel import spatial
from exoskel.spatial import Array


def srgb_to_linear(colors: ArrayLike) -> Array:
    """Convert sRGB colours to linear RGB; alpha is not changed."""
    given = spatial.array(colors)
    out = given.copy()
    srgb = given[..., :3]
    out[..., :3] = np.where(srgb <= 0.04045, srgb / 12.92, ((np.maximum(srgb, 0.0) + 0.055) / 1.055) ** 2.4)
    return out


def linear_to_srgb(colors: ArrayLike) -> Array:
    """Convert linear RGB colours to sRGB; alpha is not changed."""
    given = spatial.array(colors)
    out = given.copy()
    linear = given[..., :3]
    out[..., :3] = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * np.maximum(linear, 0.0) ** (1 / 2.4) - 0.055)
    return out
