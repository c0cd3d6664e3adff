"""Bodies that float alone and tumble: MuJoCo steps them by another rule than it does all else.

Its implicit integrators treat the gyroscopic torque of a free joint with nothing that moves below it implicitly; that
of every other body, and all of DART's, is explicit.  After a second the two are 1e-4 to 1e-2 rad apart.  As three
slides and a ball, such a body moves by the common rule.
"""

from __future__ import annotations

from exoskel.formats.mjcf.joints import MujocoJoint, free_links, links
from exoskel.formats.mjcf.world_layout import WorldLayout
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model, World

_ALIKE = 1e-9
"""Moments that differ by less, relative to the largest, turn about any axis alike."""


def layout_of(world: World) -> WorldLayout:
    """What a world is to MuJoCo when it is run."""
    tumbling = {id(joint) for model in world.models if not model.static for joint in _tumbling(model)}

    def chain(joint: Joint) -> list[MujocoJoint]:
        return free_links(joint, whole=False) if id(joint) in tumbling else links(joint)

    return WorldLayout(world, chain if tumbling else links)


def _tumbling(model: Model) -> list[Joint]:
    spinning = [j for j in model.joints if j.kind == "free" and j.parent is None and any(j.velocities[:3])]
    return [joint for joint in spinning if _is_uneven(joint.child) and not _moves_below(model, joint)]


def _is_uneven(body: Body) -> bool:
    xx, yy, zz, *products = body.moment
    spread = max(xx, yy, zz) - min(xx, yy, zz)
    return max(spread, *map(abs, products)) > _ALIKE * max(xx, yy, zz)


def _moves_below(model: Model, root: Joint) -> bool:
    """Whether any joint below moves; parents stand before their children."""
    below = {id(root.child)}
    for joint in model.joints:
        if not joint.loop and id(joint.parent) in below:
            below.add(id(joint.child))
            if joint.dof_count:
                return True
    return False
