"""The poses of bodies in the initial state, which is what XODE states."""

from __future__ import annotations

from collections.abc import Iterable

from exoskel.scene.body import Body
from exoskel.scene.fields import relative_difference
from exoskel.scene.initial_velocities import bodies_moved_by_initial_positions
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import Pose, poses_from_matrices
from exoskel.scene.world import Model

_ROUNDING = 1e-13
"""The largest rounding error of forward kinematics along a chain of joints."""


class InitialPoses:
    """Initial poses of bodies.  They are computed for models with a pose or with initial joint positions."""

    def __init__(self) -> None:
        self._computed: dict[int, Pose] = {}

    def compute(self, models: Iterable[Model]) -> None:
        """Compute the initial poses of the bodies of some models in their present state."""
        moved = [model for model in models if not model.pose.is_identity or bodies_moved_by_initial_positions(model)]
        if moved:
            bodies = [body for model in moved for body in model.bodies]
            self._computed.update(zip(map(id, bodies), poses_from_matrices(Kinematics(moved).poses()), strict=True))

    def of(self, body: Body) -> Pose:
        return self._computed.get(id(body), body.pose)

    def differ(self, source: Body, body: Body) -> bool:
        if id(source) in self._computed or id(body) in self._computed:
            return relative_difference(self.of(source), self.of(body)) > _ROUNDING
        return source.pose != body.pose

    def __bool__(self) -> bool:
        return bool(self._computed)
