"""Who meets whom in one model, where its bodies meet each other at all (`World.self_collision`)."""

from __future__ import annotations

from collections.abc import Iterator

from exoskel.scene.body import Body
from exoskel.scene.world import Model

WEIGHTLESS = 1e-9
"""A body without shapes that weighs no more, kg, is a part of the joints that it is between, not something that they
tie: one joint of a format can be several of a scene.  MuJoCo runs no body without any mass, so that it is not zero."""

Pair = tuple[Body, Body]


def tied(model: Model, loops: bool = True) -> Iterator[Pair]:
    """Parents and children that a joint ties, so that they pass each other, directly or by way of what weighs nothing.

    Joints that let what they tie touch are left out, and those that close loops if they are not asked for.
    """
    holders = {id(joint.child): joint.parent for joint in model.joints if not joint.loop}
    for joint in model.joints:
        if joint.parent is None or joint.touching or (joint.loop and not loops):
            continue
        yield joint.parent, joint.child
        above: Body | None = joint.parent
        while above is not None and not joint.loop and _is_between(above):
            above = holders.get(id(above))
            if above is not None:
                yield above, joint.child


def _is_between(body: Body) -> bool:
    return not body.collisions and body.mass <= WEIGHTLESS
