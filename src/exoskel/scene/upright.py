"""Which way is up: scenes do not say, but their gravity does."""

from __future__ import annotations

import numpy as np

from exoskel.scene.pose import Vector


def up_of(gravity: Vector) -> Vector:
    """The coordinate axis, with its sign, that is most against gravity; z without any."""
    if not any(gravity) or not np.isfinite(gravity).all():
        return (0.0, 0.0, 1.0)
    strongest = int(np.argmax(np.abs(gravity)))
    x, y, z = (-float(np.sign(gravity[i])) if i == strongest else 0.0 for i in range(3))
    return (x, y, z)
