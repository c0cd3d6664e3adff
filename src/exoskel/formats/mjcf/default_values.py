"""MuJoCo's defaults of attributes, for new elements in a document whose default class states others."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.source.document import Document

_SOLVER: dict[str, Value] = {"solref": "0.02 1", "solimp": "0.9 0.95 0.001 0.5 2"}
_NO_ROTATION = "1 0 0 0"
_DEFAULTS: dict[str, dict[str, Value]] = {
    "joint": {
        **dict.fromkeys(("group", "stiffness", "damping", "armature", "frictionloss", "springref", "ref", "margin"), 0),
        **{"pos": "0 0 0", "axis": "0 0 1", "springdamper": "0 0", "limited": "false", "range": "0 0"},
        **dict.fromkeys(("solreflimit", "solreffriction"), "0.02 1"),
        **dict.fromkeys(("solimplimit", "solimpfriction"), "0.9 0.95 0.001 0.5 2"),
        **{"actuatorfrclimited": "false", "actuatorfrcrange": "0 0", "actuatorgravcomp": "false", "type": "hinge"},
    },
    "geom": {
        **dict.fromkeys(("group", "priority", "margin", "gap", "shellinertia"), 0),
        **{"contype": 1, "conaffinity": 1, "condim": 3, "friction": "1 0.005 0.0001", "solmix": 1, **_SOLVER},
        **{"pos": "0 0 0", "quat": _NO_ROTATION, "rgba": "0.5 0.5 0.5 1", "density": 1000, "fluidshape": "none"},
        **{"fitscale": 1, "fluidcoef": "0.5 0.25 1.5 1 1", "shellinertia": "false", "type": "sphere"},
    },
    "site": {
        **{"group": 0, "type": "sphere", "pos": "0 0 0", "quat": _NO_ROTATION, "size": "0.005 0.005 0.005"},
        **{"rgba": "0.5 0.5 0.5 1"},
    },
    "camera": {
        **{"mode": "fixed", "pos": "0 0 0", "quat": _NO_ROTATION, "fovy": 45, "ipd": 0.068, "resolution": "1 1"},
        **{"projection": "perspective", "orthographic": "false", "focal": "0 0", "focalpixel": "0 0"},
        **{"principal": "0 0", "principalpixel": "0 0", "sensorsize": "0 0"},
    },
    "light": {
        **{"mode": "fixed", "pos": "0 0 0", "dir": "0 0 -1", "type": "spot", "directional": "false", "active": "true"},
        **{"castshadow": "true", "attenuation": "1 0 0", "cutoff": 45, "exponent": 10, "ambient": "0 0 0"},
        **{"diffuse": "0.7 0.7 0.7", "specular": "0.3 0.3 0.3", "intensity": 0, "range": 10, "bulbradius": 0.02},
    },
    "mesh": {"scale": "1 1 1", "inertia": "legacy", "maxhullvert": -1},
    "material": {
        **{"texrepeat": "1 1", "texuniform": "false", "emission": 0, "specular": 0.5, "shininess": 0.5},
        **{"reflectance": 0, "metallic": 0, "roughness": 1, "rgba": "1 1 1 1"},
    },
    "equality": {"active": "true", **_SOLVER},
    "tendon": {
        **dict.fromkeys(("group", "margin", "stiffness", "damping", "frictionloss", "armature"), 0),
        **{"limited": "false", "range": "0 0", "actuatorfrclimited": "false", "actuatorfrcrange": "0 0"},
        **{"springlength": -1, "width": 0.003, "rgba": "0.5 0.5 0.5 1"},
        **dict.fromkeys(("solreflimit", "solreffriction"), "0.02 1"),
        **dict.fromkeys(("solimplimit", "solimpfriction"), "0.9 0.95 0.001 0.5 2"),
    },
    "actuator": {
        **{"group": 0, "ctrllimited": "false", "ctrlrange": "0 0", "forcelimited": "false", "forcerange": "0 0"},
        **{"actlimited": "false", "actrange": "0 0", "lengthrange": "0 0", "gear": "1 0 0 0 0 0", "cranklength": 0},
        **{"actdim": -1, "actearly": "false", "inheritrange": 0, "armature": 0, "damping": 0},
    },
}
"""The values of attributes that an element may have, by the kind of the element."""
_GAINS: dict[str, Value] = {
    **{"dyntype": "none", "gaintype": "fixed", "biastype": "none", "dynprm": "1 0 0 0 0 0 0 0 0 0"},
    **{"gainprm": "1 0 0 0 0 0 0 0 0 0", "biasprm": "0 0 0 0 0 0 0 0 0 0"},
}
"""The values of an actuator that the words `motor`, `position` and `velocity` set themselves."""
_OF_GAINS = frozenset({*_GAINS, "kp", "kv", "dampratio", "timeconst"})
_ALTERNATIVES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("quat", "euler", "axisangle", "xyaxes", "zaxis"), ("quat",)),
    **dict.fromkeys(("type", "directional"), ("type", "directional")),
    **dict.fromkeys(("projection", "orthographic"), ("projection", "orthographic")),
}
"""Attributes that state the same in different ways: the first counts if none of them is stated."""
_ONLY_STATED = frozenset({("geom", "size"), ("geom", "mass")})
"""Attributes that a new element states itself where they have a meaning, by the kind of the element."""
_USER = "user"
"""Data of the author, which have the same size for all elements."""
_ACTUATORS = frozenset(
    {"general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion", "dcmotor"}
)
_KINDS = {
    **dict.fromkeys(("connect", "weld", "flex", "flexvert", "flexstrain"), "equality"),
    **dict.fromkeys(("fixed", "spatial"), "tendon"),
    **dict.fromkeys(_ACTUATORS, "actuator"),
}
_SECTIONS = ("equality", "tendon", "actuator")
"""Sections whose elements have the defaults of their section."""


def mujoco_defaults(tag: str, names: Collection[str], given: Mapping[str, str]) -> dict[str, str]:
    """MuJoCo's defaults of those of some attributes that an element does not state itself in any form."""
    defaults, found = _DEFAULTS.get(tag, {}), dict[str, str]()
    for name in sorted(names):
        words = _ALTERNATIVES.get(name, (name,))
        if (tag, name) not in _ONLY_STATED and not any(word in given for word in (name, *words)):
            found |= {word: str(defaults[word]) for word in words[:1] if word in defaults}
    return found


class UnknownDefaultError(Exception):
    """A default class states something that an element cannot undo."""


class DocumentDefaults:
    """What the main default class of a document states, and its name."""

    def __init__(self, document: Document) -> None:
        self.name = "main"
        self.stated: dict[str, set[str]] = {}
        tags, parents = document.outline.tags, document.outline.parents
        self.has_classes = "default" in tags
        main = {node for node, tag in enumerate(tags) if tag == "default" and parents[node] == 0}
        for node in main:
            self.name = document.attribute_text(node, "class") or self.name
        for node, tag in enumerate(tags):
            if parents[node] in main and tag != "default":
                self.stated.setdefault(_KINDS.get(tag, tag), set()).update(document.attributes(node))

    def override(self, element: MjcfElement, section: str = "") -> None:
        """State MuJoCo's defaults where the main class has other values.  Raises UnknownDefaultError."""
        kind = section if section in _SECTIONS else element.tag
        stated = self.stated.get(kind, set())
        defaults, given = _DEFAULTS.get(kind, {}), element.attributes
        if kind == "actuator" and element.tag == "general" and stated & _OF_GAINS:
            for name, value in _GAINS.items():
                given.setdefault(name, value)
        for name in sorted(stated):
            self._override(kind, name, given, defaults)

    @staticmethod
    def _override(kind: str, name: str, given: dict[str, Value], defaults: Mapping[str, Value]) -> None:
        words = _ALTERNATIVES.get(name, (name,))
        if name == _USER or (kind, name) in _ONLY_STATED or any(word in given for word in (name, *words)):
            return
        if kind == "actuator" and name in _OF_GAINS:
            return
        wanted = next((word for word in words if word in defaults), None)
        if wanted is None:
            raise UnknownDefaultError(name)
        given[wanted] = defaults[wanted]
