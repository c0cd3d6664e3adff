"""Joints that close loops, as constraints between bodies that the tree holds already."""

from __future__ import annotations

from collections import Counter

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.motors import motors
from exoskel.scene.joint import UNLIMITED, Joint
from exoskel.scene.world import World
from exoskel.spatial import Array

STIFF_STEPS = 2.0
"""Time constant of constraints in time steps: the stiffest that a step resolves."""
STIFF = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""Impedance of constraints: nearly rigid, whatever the distance."""


def stand_ins(world: World) -> dict[int, int]:
    """How many stand-ins each body has, by id.

    A joint that points cannot make holds a stand-in of its child, and both are welded together.  They share the
    child's mass: as one body they weigh what it weighs, and a light stand-in would make for a soft weld.
    """
    loops = [j for m in world.models if not m.static for j in m.joints if j.loop and needs_stand_in(j)]
    return Counter(id(joint.child) for joint in loops)


def needs_stand_in(joint: Joint) -> bool:
    return joint.kind not in ("weld", "free", "amotor") and anchors(joint) is None


def anchors(joint: Joint) -> list[Array] | None:
    """Points of the child that stay where they are in the parent, or None if points alone do not make the joint."""
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
    """Whether something acts on its coordinates, which a plain constraint does not have."""
    return bool(motors(joint)) or any(
        dof.damping or dof.stiffness or dof.friction or (joint.limits_enforced and dof.position_limits != UNLIMITED)
        for dof in joint._dofs or ()
    )
