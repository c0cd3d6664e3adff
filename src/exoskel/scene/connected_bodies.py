"""Who meets whom in one model, where its bodies meet each other at all (`World.self_collision`)."""

from __future__ import annotations

from collections.abc import Iterator

from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model

WEIGHTLESS = 1e-9
"""A body without shapes that weighs no more, kg, is a part of the joints that it is between, not something that they
tie: one joint of a format can be several of a scene.  MuJoCo runs no body without any mass, so that it is not zero."""

Pair = tuple[Body, Body]


def tied(model: Model, loops: bool = True) -> Iterator[Pair]:
    """Parents and children that a joint ties, so that they pass each other, directly or by way of what weighs nothing.

    Joints that let what they tie touch are left out, and those that close loops if they are not asked for.
    """
    for joint, one, other in ties(model):
        if not joint.collide_connected and (loops or not joint.loop):
            yield one, other


def ties(model: Model) -> Iterator[tuple[Joint, Body, Body]]:
    """All pairs of parents and children as in `tied`, with the joints that tie them, those that let touch included."""
    holders = {id(joint.child): joint.parent for joint in model.joints if not joint.loop}
    for joint in model.joints:
        above = joint.parent
        while above is not None:
            yield joint, above, joint.child
            above = holders.get(id(above)) if not joint.loop and _is_between(above) else None


def _is_between(body: Body) -> bool:
    return not body.collisions and body.mass <= WEIGHTLESS
