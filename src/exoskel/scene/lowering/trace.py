"""Worlds with joints that a format lacks, taken apart, and the way back to the parts of the world before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exoskel.scene.lowering import joint_passes
from exoskel.scene.lowering.hinges import map_to_originals
from exoskel.scene.lowering.joint_passes import JointFilter
from exoskel.scene.world import World

Original = Callable[[Any], Any]
"""From a part of a world to the one that it is a copy of; None for what the pass has added."""


def lower_with_origins(
    world: World, kinds: frozenset[str] = joint_passes.KINDS, only: JointFilter = joint_passes.any_joint
) -> tuple[World, Original]:
    """The world with chains of simple joints for the chosen ones of these kinds; itself if there are none."""
    if not joint_passes.joints_to_lower(world, kinds, only):
        return world, lambda item: item
    done = joint_passes.lower_joints(world, kinds, only=only)
    known = map_to_originals(world, done)
    return done.world, lambda item: known.get(id(item))
