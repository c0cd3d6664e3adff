"""Velocities, accelerations and joint reactions of MuJoCo's bodies, in world axes, `(nbody, 6)`.

Rows have the rotational part first.  Linear parts are those of the body's origin; torques are about it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel.formats.mjcf import mujoco_import
from exoskel.spatial import Array


def _arms(model: Any, data: Any) -> Array:
    """From the points that MuJoCo's spatial vectors refer to, the centres of trees, to the origins of bodies."""
    out: Array = data.xpos - data.subtree_com[model.body_rootid]
    return out


def body_twists(model: Any, data: Any) -> Array:
    """Angular velocities, and velocities of the origins."""
    spin = data.cvel[:, :3]
    return np.hstack([spin, data.cvel[:, 3:] + np.cross(spin, _arms(model, data))])


def joint_reactions(model: Any, data: Any) -> Array:
    """Torques about the origins, and forces, that bodies get from their parents, for the accelerations `data.qacc`.

    It changes `data`: `cacc` is computed, too.
    """
    weightless = model.body_gravcomp[:, None] * model.body_mass[:, None] * model.opt.gravity
    data.xfrc_applied[:, :3] -= weightless  # forces of gravity compensation are not among MuJoCo's external forces
    mujoco_import.load().mj_rnePostConstraint(model, data)
    force = data.cfrc_int[:, 3:]
    return np.hstack([data.cfrc_int[:, :3] - np.cross(_arms(model, data), force), force])


def body_accelerations(model: Any, data: Any) -> Array:
    """Angular accelerations, and accelerations of the origins, from `data.cacc`, which contains that of gravity."""
    spin, arms = data.cacc[:, :3], _arms(model, data)
    twists = body_twists(model, data)
    linear = data.cacc[:, 3:] + np.cross(spin, arms) + np.cross(twists[:, :3], twists[:, 3:])
    return np.hstack([spin, linear + model.opt.gravity])
