"""Features that `<option><flag>` disables: the scene is read without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exoskel.formats.mjcf.reading.compiled import Compiled

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


def disabled_flags(compiled: Compiled) -> frozenset[str]:
    """The names of all disabled flags."""
    import mujoco

    bits = int(compiled.model.opt.disableflags)
    kinds: Any = mujoco.mjtDisableBit
    found = {name for name in (*MEANINGS, "filterparent") if bits & int(getattr(kinds, f"mjDSBL_{name.upper()}"))}
    return frozenset(found | CONSTRAINTS if "constraint" in found else found)


def report_disabled_flags(compiled: Compiled, flags: list[int], report: Callable[..., None]) -> None:
    """Report all disabled flags at the last <flag> element."""
    disabled = disabled_flags(compiled)
    node = flags[-1] if flags else 0
    for name, meaning in MEANINGS.items():
        if name in disabled and not (name in CONSTRAINTS and "constraint" in disabled):
            report("MJ108", node, attribute=name, name=name, meaning=meaning)
    if "filterparent" in disabled:
        report("MJ108.filterparent", node, attribute="filterparent")
