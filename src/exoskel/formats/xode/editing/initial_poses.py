"""Where bodies stand at the start, which is what XODE says of them, if that is not where their poses say."""

from __future__ import annotations

from collections.abc import Iterable

from exoskel.scene.body import Body
from exoskel.scene.fields import relative_difference
from exoskel.scene.initial_velocities import bodies_moved_by_initial_positions
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import Pose, poses_from_matrices
from exoskel.scene.world import Model

_DUST = 1e-13
"""What the way through a chain of joints may cost without anything having moved."""


class Places:
    """The places of bodies: of those of moved models and of joints that start away from zero, worked out."""

    def __init__(self) -> None:
        self._found: dict[int, Pose] = {}

    def note(self, models: Iterable[Model]) -> None:
        """Work out where the bodies of some models stand, as the models are now."""
        moved = [model for model in models if not model.pose.is_identity or bodies_moved_by_initial_positions(model)]
        if moved:
            bodies = [body for model in moved for body in model.bodies]
            self._found.update(zip(map(id, bodies), poses_from_matrices(Kinematics(moved).poses()), strict=True))

    def of(self, body: Body) -> Pose:
        return self._found.get(id(body), body.pose)

    def differ(self, source: Body, body: Body) -> bool:
        if id(source) in self._found or id(body) in self._found:
            return relative_difference(self.of(source), self.of(body)) > _DUST
        return source.pose != body.pose

    def __bool__(self) -> bool:
        return bool(self._found)
