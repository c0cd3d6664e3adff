"""What `<option><flag>` switches off: the scene is read as if it were not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exoskel.formats.mjcf.reading.compiled import Compiled

CONSTRAINTS = frozenset({"equality", "frictionloss", "limit", "contact"})
"""What `constraint` stands for."""
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
"""Flags that a scene can follow, and how it does."""


def switched_off(compiled: Compiled) -> frozenset[str]:
    """The names of all that is switched off."""
    import mujoco

    bits = int(compiled.model.opt.disableflags)
    kinds: Any = mujoco.mjtDisableBit
    found = {name for name in (*MEANINGS, "filterparent") if bits & int(getattr(kinds, f"mjDSBL_{name.upper()}"))}
    return frozenset(found | CONSTRAINTS if "constraint" in found else found)


def tell(compiled: Compiled, flags: list[int], report: Callable[..., None]) -> None:
    """Say what is switched off, at the last of the elements that may do so."""
    off = switched_off(compiled)
    node = flags[-1] if flags else 0
    for name, meaning in MEANINGS.items():
        if name in off and not (name in CONSTRAINTS and "constraint" in off):
            report("MJ108", node, attribute=name, name=name, meaning=meaning)
    if "filterparent" in off:
        report("MJ108.filterparent", node, attribute="filterparent")
