"""Joints that close loops, as equality constraints between bodies of the tree.

Some kinds follow from fixed points alone.  For the others the child body is duplicated: the joint connects its parent
and the duplicate, which is welded to the child.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.model.motors import motors_of
from exoskel.scene.joint import UNLIMITED, Joint
from exoskel.scene.world import World
from exoskel.spatial import Array

STIFF_STEPS = 2.0
"""Time constant of constraints in time steps: the stiffest that a step resolves."""
STIFF = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""Impedance of constraints: nearly rigid at any distance."""


def duplicate_counts(world: World) -> dict[int, int]:
    """The number of duplicates of each body, by id.

    A body and its duplicates share its mass equally: a light duplicate would result in a soft weld.
    """
    loops = [j for m in world.models if not m.static for j in m.joints if j.loop and needs_duplicate(j)]
    return Counter(id(joint.child) for joint in loops)


def needs_duplicate(joint: Joint) -> bool:
    """Whether a joint that closes a loop connects its parent to a duplicate of its child."""
    return joint.kind not in ("weld", "free", "amotor") and anchors(joint) is None


def anchors(joint: Joint) -> list[Array] | None:
    """Points of the child that are fixed in the parent; None if points alone do not define the joint."""
    centre = np.array(joint.pose.position)
    if _is_driven(joint):
        return None
    if joint.kind == "ball":
        return [centre]
    if joint.kind == "revolute":
        axis = joint.pose.matrix()[:3, :3] @ spatial.unit(joint.axes[0])
        return [centre - 0.5 * axis, centre + 0.5 * axis]
    return None


def _is_driven(joint: Joint) -> bool:
    """Whether something acts on its coordinates: a constraint between points has none."""
    return bool(motors_of(joint)) or any(
        dof.damping or dof.stiffness or dof.friction or (joint.limits_enforced and dof.position_limits != UNLIMITED)
        for dof in joint._dofs or ()
    )
