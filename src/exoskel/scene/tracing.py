"""Worlds with joints that a format lacks, taken apart, and the way back to the parts of the world before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exoskel.scene import lower
from exoskel.scene.item import Item
from exoskel.scene.lower import Choice, Lowered
from exoskel.scene.world import World

Original = Callable[[Any], Any]
"""From a part of a world to the one that it is a copy of; None for what the pass has added."""


def lowered(world: World, kinds: frozenset[str] = lower.KINDS, only: Choice = lower.every) -> tuple[World, Original]:
    """The world with chains of simple joints for the chosen ones of these kinds; itself if there are none."""
    if not lower.candidates(world, kinds, only):
        return world, lambda item: item
    done = lower.joints(world, kinds, only=only)
    known = _originals(world, done)
    return done.world, lambda item: known.get(id(item))


def _originals(world: World, done: Lowered) -> dict[int, Item]:
    """The pass copies everything in its order, with bodies and joints of its own in between."""
    added = {id(body) for chain in done.chains for body in chain.bodies}
    links = {id(link) for chain in done.chains for link in chain.links[:-1]}
    known: dict[int, Item] = {id(done.world): world}
    for before, after in zip(world.models, done.world.models, strict=True):
        known[id(after)] = before
        kept = [body for body in after.bodies if id(body) not in added]
        for old, new in zip(before.bodies, kept, strict=True):
            known[id(new)] = old
            known |= {id(copy): shape for shape, copy in zip(old.shapes, new.shapes, strict=True)}
        joints = [joint for joint in after.joints if id(joint) not in links]
        known |= {id(new): joint for joint, new in zip(before.joints, joints, strict=True)}
    return known
