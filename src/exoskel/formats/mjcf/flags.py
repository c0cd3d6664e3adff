"""The flags of MuJoCo that a scene is read without the features of."""

from __future__ import annotations

CONSTRAINTS = frozenset({"equality", "frictionloss", "limit", "contact"})
"""The flags that `constraint` includes."""
MEANINGS: dict[str, str] = {
    "constraint": "constraints, dry friction, limits and contacts are ignored",
    "equality": "equality constraints are ignored",
    "frictionloss": "joints have no dry friction",
    "limit": "joints have no limits",
    "contact": "shapes do not collide",
    "spring": "joints have no springs",
    "damper": "joints have no damping",
    "actuation": "actuators are ignored",
    "clampctrl": "the control ranges of motors are ignored",
    "gravity": "gravity is zero",
}
"""Supported flags, and the effect of disabling them."""
