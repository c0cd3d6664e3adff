"""Tables of MJCF elements and attributes that a scene does not support.

All other elements and attributes are compiled by MuJoCo.
"""

from __future__ import annotations

from msgspec import Struct


class Unsupported(Struct, frozen=True):
    """Why an element is ignored: the key of its message and the text for it.

    A section is reported child by child.  With `within`, only children of those elements are ignored.
    """

    key: str
    what: str
    is_section: bool = False
    within: tuple[str, ...] = ()


_NOT_PHYSICS, _PHYSICS = "MJ201", "MJ202"

UNSUPPORTED: dict[str, Unsupported] = {
    "camera": Unsupported(_NOT_PHYSICS, "a camera is"),
    "light": Unsupported(_NOT_PHYSICS, "a light is"),
    "sensor": Unsupported(_NOT_PHYSICS, "a sensor is", is_section=True),
    "visual": Unsupported(_NOT_PHYSICS, "visual settings are"),
    "statistic": Unsupported(_NOT_PHYSICS, "statistics are"),
    "custom": Unsupported(_NOT_PHYSICS, "custom data is", is_section=True),
    "texture": Unsupported(_NOT_PHYSICS, "a texture is"),
    "layer": Unsupported(_NOT_PHYSICS, "a texture is"),
    "skin": Unsupported(_NOT_PHYSICS, "a skin is"),
    "extension": Unsupported(_PHYSICS, "plugins", is_section=True),
    "plugin": Unsupported(_PHYSICS, "plugins", within=("body", "geom", "mesh", "actuator", "sensor", "composite")),
    "deformable": Unsupported(_PHYSICS, "deformable bodies", is_section=True),
    "flexcomp": Unsupported(_PHYSICS, "deformable bodies"),
    "flex": Unsupported(_PHYSICS, "deformable bodies"),
    "flexvert": Unsupported(_PHYSICS, "deformable bodies"),
    "flexstrain": Unsupported(_PHYSICS, "deformable bodies"),
    "model": Unsupported(_PHYSICS, "attached models", within=("asset",)),
    "attach": Unsupported(_PHYSICS, "attached models"),
    "pair": Unsupported(_PHYSICS, "contact pairs", within=("contact",)),
}

_SOLVER = dict.fromkeys(("solref", "solimp", "margin", "gap", "solmix", "priority"), False)
_DELAY = {"delay": True, "nsample": False, "interp": False}
_ACTUATORS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion")
IGNORED_ATTRIBUTES: dict[str, dict[str, bool]] = {
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
"""Attributes that are ignored, and whether they change the physics beyond settings of an engine."""
REMOVED_ATTRIBUTES = frozenset(_DELAY)
"""Ignored attributes that MuJoCo must not see: it would allocate memory for up to a million samples each."""
