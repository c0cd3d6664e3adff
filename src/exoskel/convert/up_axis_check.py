"""Conversions that turn the world: what was turned, and the proof that nothing else was done to it."""

from __future__ import annotations

import numpy as np

from exoskel import spatial
from exoskel.convert.certificate import check
from exoskel.convert.report import Check
from exoskel.convert.selection import with_worlds
from exoskel.scene.fields import relative_difference, transform_differences
from exoskel.scene.initial_velocities import initial_twists
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.up_axis import UP_AXIS_PASS, Reoriented, Up, rotate_up_axis
from exoskel.scene.world import Scene, World

_REST = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


class UpAxisCheck:
    """A scene before the pass and after it."""

    def __init__(self, scene: Scene, up: Up) -> None:
        self.before = scene
        self.passes = [rotate_up_axis(world, up) for world in scene.worlds]
        worlds = [one.world if one is not None else w for one, w in zip(self.passes, scene.worlds, strict=True)]
        self.after = with_worlds(scene, worlds)

    @property
    def is_turned(self) -> bool:
        return any(one is not None for one in self.passes)

    def checks(self) -> list[Check]:
        """The scene before the pass, turned, against the one after it."""
        pairs = zip(self.before.worlds, self.passes, strict=True)
        return [check for world, done in pairs if done is not None for check in _checks(world, done)]


def _checks(world: World, done: Reoriented) -> list[Check]:
    label, turn = f"before {UP_AXIS_PASS}: ", done.rotation
    whole = spatial.transform(turn, np.zeros(3))
    first, second = Kinematics(world.models), Kinematics(done.world.models)
    poses = transform_differences(whole @ first.poses(), second.poses())
    trial = np.random.default_rng(0).uniform(-1.0, 1.0, first.dof_count)
    moved = transform_differences(whole @ first.poses(trial), second.poses(trial))
    mine, theirs = initial_twists(world.models, first), initial_twists(done.world.models, second)
    speeds = 0.0
    for body, other in zip(world.bodies(), done.world.bodies(), strict=True):
        for one, two in zip(mine.get(id(body), _REST), theirs.get(id(other), _REST), strict=True):
            speeds = max(speeds, relative_difference(turn @ one, np.array(two)))
    return [
        check(label + "gravity", relative_difference(turn @ world.gravity, np.array(done.world.gravity))),
        check(label + "poses at the start", float(poses.max(initial=0.0))),
        check(label + "poses at a random configuration", float(moved.max(initial=0.0))),
        check(label + "initial velocities", speeds),
    ]
