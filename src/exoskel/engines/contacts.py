"""What all engines can tell of contacts, and how a hand pulls at a body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exoskel.scene.item import qualified_name
from exoskel.spatial import Array

PULL = 100.0
"""The stiffness of the spring by which a hand pulls, in N/m for each kg; MuJoCo's own is the same."""


class Contact:
    """Two bodies that touch: where, along which normal (from the first to the second), how deep (m).

    `force` in N, in world axes, is what the first does to the second, friction included.
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


def told_contacts(bodies: Sequence[tuple[str, str]], told: Sequence[dict[str, Any]]) -> list[Contact]:
    """Contacts as an engine in a process of its own tells them; bodies are numbers there, -1 for the world."""
    names = [*(qualified_name(*names) for names in bodies), "world"]
    return [
        Contact(
            (names[one["bodies"][0]], names[one["bodies"][1]]),
            np.array(one["position"]),
            np.array(one["normal"]),
            float(one["depth"]),
            np.array(one["force"]),
        )
        for one in told
    ]


def spring(mass: float, stretch: Array, velocity: Array) -> Array:
    """The force on a mass (kg) that a critically damped spring exerts, N; `stretch` leads to where it pulls, m."""
    force: Array = mass * (PULL * stretch - 2.0 * PULL**0.5 * velocity)
    return force
