"""What the reader of MJCF leaves to others, as tables: elements and attributes that a scene has no words for.

All the rest of the language is MuJoCo's own business: it compiles the document.
"""

from __future__ import annotations

from msgspec import Struct


class LeftOut(Struct, frozen=True):
    """Why an element is left out: the key of its message and what it is.

    A section is reported child by child.  With `within`, only elements below those tags are meant.
    """

    key: str
    what: str
    is_section: bool = False
    within: tuple[str, ...] = ()


_SEEN, _PHYSICS = "MJ201", "MJ202"

LEFT_OUT: dict[str, LeftOut] = {
    "camera": LeftOut(_SEEN, "a camera is"),
    "light": LeftOut(_SEEN, "a light is"),
    "sensor": LeftOut(_SEEN, "a sensor is", is_section=True),
    "visual": LeftOut(_SEEN, "visual settings are"),
    "statistic": LeftOut(_SEEN, "statistics are"),
    "custom": LeftOut(_SEEN, "custom data is", is_section=True),
    "texture": LeftOut(_SEEN, "a texture is"),
    "layer": LeftOut(_SEEN, "a texture is"),
    "skin": LeftOut(_SEEN, "a skin is"),
    "extension": LeftOut(_PHYSICS, "plugins", is_section=True),
    "plugin": LeftOut(_PHYSICS, "plugins", within=("body", "geom", "mesh", "actuator", "sensor", "composite")),
    "deformable": LeftOut(_PHYSICS, "deformable bodies", is_section=True),
    "flexcomp": LeftOut(_PHYSICS, "deformable bodies"),
    "flex": LeftOut(_PHYSICS, "deformable bodies"),
    "flexvert": LeftOut(_PHYSICS, "deformable bodies"),
    "flexstrain": LeftOut(_PHYSICS, "deformable bodies"),
    "model": LeftOut(_PHYSICS, "attached models", within=("asset",)),
    "attach": LeftOut(_PHYSICS, "attached models"),
    "pair": LeftOut(_PHYSICS, "contact pairs", within=("contact",)),
}

_SOLVER = dict.fromkeys(("solref", "solimp", "margin", "gap", "solmix", "priority"), False)
_DELAY = {"delay": True, "nsample": False, "interp": False}
_ACTUATORS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion")
UNREAD: dict[str, dict[str, bool]] = {
    **dict.fromkeys((*_ACTUATORS, "dcmotor"), _DELAY),
    "geom": _SOLVER | {"fluidshape": True, "fluidcoef": True, "adhesion": True},
    "joint": {
        **dict.fromkeys(("solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin", "group"), False),
        "springdamper": False,
        "actuatorgravcomp": True,
    },
    "option": {
        **dict.fromkeys(
            ("integrator", "cone", "jacobian", "solver", "iterations", "tolerance", "impratio", "ls_iterations"), False
        ),
        **dict.fromkeys(("wind", "density", "viscosity", "magnetic"), True),
    },
    "connect": {"solref": False, "solimp": False},
    "weld": {"solref": False, "solimp": False},
    "site": {"type": False, "size": False, "rgba": False, "quat": False, "euler": False, "zaxis": False},
}
"""Attributes that are not read, and whether the motion depends on them beyond what an engine decides by itself."""
WITHHELD = frozenset(_DELAY)
"""Of these, attributes that MuJoCo is not shown: it would set aside room for each of a million samples to remember."""
