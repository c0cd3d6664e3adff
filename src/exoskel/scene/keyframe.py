"""Keyframes: named states of all joints of a world."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from exoskel import spatial
from exoskel.scene.edit_tracking import CheckedValue
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model


class KeyframeJoint(CheckedValue, frozen=True):
    """The positions and velocities of one joint, in the units of `Dof`; `joint` is its path, `model/joint`."""

    joint: str
    positions: tuple[float, ...] = ()
    velocities: tuple[float, ...] = ()


class Keyframe(CheckedValue, frozen=True):
    """A named state of the joints of a world, at `time` in s.

    Joints that it does not list are in the initial state, and so are those of static models.
    """

    name: str = ""
    time: float = 0.0
    joints: tuple[KeyframeJoint, ...] = ()

    def states(self, models: Iterable[Model]) -> Iterator[tuple[Joint, KeyframeJoint]]:
        """Yield the joints of some models with their states, in state order; unknown joints are skipped."""
        known = {state.joint: state for state in self.joints}
        for owner, joint in ((model, joint) for model in models for joint in model.joints if joint.dof_count):
            path = qualified_name(owner.name, joint.name)
            state = None if owner.static else known.get(path)
            is_known = state is not None and len(state.positions) == len(state.velocities) == joint.dof_count
            yield joint, state if state is not None and is_known else state_of(path, joint)

    def positions(self, models: Iterable[Model]) -> tuple[float, ...]:
        """The positions of all coordinates, in state order."""
        return tuple(value for _, state in self.states(models) for value in state.positions)

    def velocities(self, models: Iterable[Model]) -> tuple[float, ...]:
        """The velocities of all coordinates, in state order."""
        return tuple(value for _, state in self.states(models) for value in state.velocities)

    def comparable(self, models: Iterable[Model]) -> tuple[object, ...]:
        """Name, time and state for comparisons: rotations of ball and free joints as matrices."""
        rows: list[object] = [self.name, self.time]
        for joint, state in self.states([model for model in models if not model.static]):
            has_rotation_vector = joint.kind in ("ball", "free", "amotor")
            matrix = spatial.exp(np.array(state.positions[:3])).ravel().tolist() if has_rotation_vector else []
            rows += [(*matrix, *state.positions[3 * has_rotation_vector :]), state.velocities]
        return tuple(rows)

    def __repr__(self) -> str:
        return f"Keyframe({self.name!r}, time={self.time:g}, joints={len(self.joints)})"


def joint_paths(models: Iterable[Model]) -> Iterator[tuple[str, Joint]]:
    """Yield the joints that move, and their paths, in state order."""
    for model in models:
        for joint in model.joints:
            if joint.dof_count and not model.static:
                yield qualified_name(model.name, joint.name), joint


def state_of(path: str, joint: Joint) -> KeyframeJoint:
    """The initial state of a joint."""
    return KeyframeJoint(path, joint.positions, joint.velocities)
