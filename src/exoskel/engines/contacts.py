"""Contacts, and the spring that pulls a body: the same in all engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exoskel.scene.item import qualified_name
from exoskel.spatial import Array

PULL_STIFFNESS = 100.0
"""The stiffness of the spring that pulls a body, in N/m per kg: the same as MuJoCo's."""


class Contact:
    """A contact between two bodies: its position, the normal from the first to the second, the depth (m).

    `force` in N, in world axes, is the force of the first on the second, friction included.
    """

    __slots__ = ("bodies", "depth", "force", "normal", "position")

    def __init__(
        self, bodies: tuple[str, str], position: Array, normal: Array, depth: float, force: Array | None = None
    ) -> None:
        self.bodies = bodies
        self.position = position
        self.normal = normal
        self.depth = depth
        self.force = np.zeros(3) if force is None else force


def contacts_from_rows(bodies: Sequence[tuple[str, str]], rows: Sequence[dict[str, Any]]) -> list[Contact]:
    """Contacts from the rows of an engine's own process; bodies are numbers there, -1 for the world."""
    names = [*(qualified_name(*names) for names in bodies), "world"]
    return [
        Contact(
            (names[row["bodies"][0]], names[row["bodies"][1]]),
            np.array(row["position"]),
            np.array(row["normal"]),
            float(row["depth"]),
            np.array(row["force"]),
        )
        for row in rows
    ]


def pull_force(mass: float, stretch: Array, velocity: Array) -> Array:
    """The force of a critically damped spring on a mass (kg), N; `stretch` points to the target, m."""
    force: Array = mass * (PULL_STIFFNESS * stretch - 2.0 * PULL_STIFFNESS**0.5 * velocity)
    return force
